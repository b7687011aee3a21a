/* SPDX-License-Identifier: MIT
 * todo_book.c - the task list as one session has it open. */
#include "tools/tasks/todo_list.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lib/base/id.h"
#include "lib/base/map.h"

enum {
	LINGER_MS = 4,        /* after a change, for the next one */
	LONGEST_HOLD_MS = 25, /* then others have their turn ... */
	PAUSE_MS = 8,         /* ... for so long */
	FRESH_MS = 30,        /* a file this young may change again without a new time */
	MOST_STALE = 1000,    /* texts of items that have changed since */
};

struct known {
	struct todo todo;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct todo_book {
	struct loop *loop;
	struct timer linger;
	char *dir;
	struct map items;   /* number -> struct known, in the arena */
	struct arena arena; /* of them */
	unsigned users;     /* lists that are open ... */
	int dir_fd;         /* ... and then this is */
	unsigned stale;     /* texts in the arena that no item has any more */
	struct stat looked; /* of the item that todo_book_find() did not know, before it was read */
	int lock;           /* of the change before; -1: none is held */
	struct dir_lock whole, item;
	int64_t taken_ms, resumes_ms;
};

static void book_unlock(struct todo_book *b)
{
	timer_stop(b->loop, &b->linger);
	dir_lock_leave(&b->item);
	dir_lock_leave(&b->whole);
	if (b->lock >= 0)
		close(b->lock);
	b->lock = -1;
}

static void on_linger(struct timer *timer)
{
	book_unlock(CONTAINER_OF(timer, struct todo_book, linger));
}

struct todo_book *todo_book_of(const struct tool_env *env)
{
	if (!env->todos)
		return NULL;
	if (!*env->todos)
		*env->todos = xnew(struct todo_book, .loop = env->loop, .linger.fire = on_linger, .lock = -1);
	return *env->todos;
}

static void book_forget(struct todo_book *b)
{
	map_release(&b->items);
	arena_release(&b->arena);
	b->stale = 0;
}

void todo_book_free(struct todo_book *b)
{
	if (!b)
		return;
	book_unlock(b);
	book_forget(b);
	free(b->dir);
	free(b);
}

bool todo_book_begin(struct todo_book *b, const char *dir)
{
	bool other = !b->dir || strcmp(b->dir, dir) != 0;

	if (b->users && other)
		return false;
	if (!b->users && (other || b->stale > MOST_STALE)) {
		book_unlock(b);
		book_forget(b);
		free(b->dir);
		b->dir = xstrdup(dir);
	}
	if (!b->users++)
		b->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return true;
}

void todo_book_end(struct todo_book *b)
{
	if (!--b->users && b->dir_fd >= 0)
		close(b->dir_fd);
}

struct arena *todo_book_arena(struct todo_book *b)
{
	return &b->arena;
}

bool todo_book_find(struct todo_book *b, unsigned id, struct todo *ret)
{
	char name[24];

	int n = snprintf(name, sizeof name, "%u.json", id);
	struct str key = { name, (size_t)n - 5 };
	if (fstatat(b->dir_fd, name, &b->looked, AT_SYMLINK_NOFOLLOW) < 0)
		b->looked = (struct stat){ 0 };
	const struct stat *st = &b->looked;
	const struct known *k = map_get(&b->items, key);
	if (!k || st->st_ino != k->inode || st->st_size != k->size || st->st_mtim.tv_sec != k->changed.tv_sec ||
	    st->st_mtim.tv_nsec != k->changed.tv_nsec)
		return false;
	*ret = k->todo;
	return true;
}

void todo_book_note(struct todo_book *b, const struct todo *t)
{
	const struct stat *st = &b->looked;
	int64_t changed_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
	char key[16];

	snprintf(key, sizeof key, "%u", t->id);
	struct known *k = map_get(&b->items, str_from(key));
	if (!st->st_ino || id_wall_ms() - changed_ms < FRESH_MS) {
		map_remove(&b->items, str_from(key));
		b->stale += k ? 2 : 1;
		return;
	}
	b->stale += k != NULL;
	if (!k)
		k = arena_alloc(&b->arena, sizeof *k);
	*k = (struct known){ *t, st->st_ino, st->st_size, st->st_mtim };
	map_set(&b->items, str_from(key), k);
}

int todo_book_lend(struct todo_book *b, struct todo_list *l)
{
	/* The loop's clock stands still while many calls run in one turn of it. */
	int64_t now = (int64_t)clock_ms(CLOCK_MONOTONIC);

	if (b->lock >= 0 && now - b->taken_ms >= LONGEST_HOLD_MS) {
		book_unlock(b);
		b->resumes_ms = now + PAUSE_MS;
	}
	if (now < b->resumes_ms)
		return -ERR_BUSY;
	if (b->lock < 0) {
		b->taken_ms = now;
		return 0;
	}
	timer_stop(b->loop, &b->linger);
	if (!dir_lock_is_ours(&b->whole)) { /* another program found it stale */
		book_unlock(b);
		return 0;
	}
	l->lock = b->lock;
	l->whole = b->whole;
	if (b->item.path) {
		l->locked = xrealloc(l->locked, sizeof *l->locked);
		l->locked[0] = b->item;
		l->spare_lock = true;
	}
	b->lock = -1;
	b->whole = b->item = (struct dir_lock){ 0 };
	return 1;
}

void todo_book_return(struct todo_book *b, struct todo_list *l)
{
	if (l->locked_count || l->spare_lock)
		b->item = l->locked[0];
	for (size_t i = 1; i < l->locked_count; i++)
		dir_lock_leave(&l->locked[i]);
	b->lock = l->lock;
	b->whole = l->whole;
	timer_start(b->loop, &b->linger, LINGER_MS);
}
