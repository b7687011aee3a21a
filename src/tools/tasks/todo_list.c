/* SPDX-License-Identifier: MIT
 * todo_list.c - the task list of a session. */
#include "tools/tasks/todo_list.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/json/json.h"

enum { CALL_WAIT_MS = 30000, CALL_PAUSE_MS = 10 };

/* The numbers before may belong to the book: they stay. */
static bool drop_id(struct arena *a, struct todo_ids *ids, unsigned id)
{
	size_t n = 0;
	unsigned *kept = arena_alloc(a, (ids->count + 1) * sizeof *kept);

	for (size_t i = 0; i < ids->count; i++)
		if (ids->ids[i] != id)
			kept[n++] = ids->ids[i];
	bool found = n < ids->count;
	*ids = (struct todo_ids){ kept, n };
	return found;
}

static bool read_item(struct todo_list *l, unsigned id, struct todo *ret)
{
	AUTO_BUF struct buf text = { 0 };
	struct arena *a = l->book ? todo_book_arena(l->book) : &l->arena;

	if (l->book && todo_book_find(l->book, id, ret))
		return true;
	if (file_read(arena_printf(&l->arena, "%s/%u.json", l->dir, id), LARGEST_ITEM, &text, NULL) < 0 ||
	    !todo_read_text(buf_str(&text), id, a, ret))
		return false;
	if (l->book)
		todo_book_note(l->book, ret);
	return true;
}

static int compare_id(const void *a, const void *b)
{
	const struct todo *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void find_items(struct todo_list *l)
{
	size_t cap = 0;
	AUTO_DIR DIR *d = opendir(l->dir);

	for (struct dirent *e; l->count < TODO_MOST && (e = dir_next(d));) {
		struct str name = str_from(e->d_name);
		unsigned id;
		if (!str_ends(name, STR(".json")) || !todo_read_id((struct str){ name.p, name.n - 5 }, &id))
			continue;
		l->highest = MAX(l->highest, id);
		*xpush(l->items, l->count, cap) = (struct todo){ .id = id };
	}
	if (l->count)
		qsort(l->items, l->count, sizeof *l->items, compare_id);
}

void todo_read_all(struct todo_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct todo t = l->items[i];
		if (t.is_read || read_item(l, t.id, &t)) /* one that cannot be understood is passed over */
			l->items[n++] = t;
	}
	l->count = n;
}

/* 0: none was deleted yet */
static unsigned highest_deleted(struct todo_list *l)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned id = 0;

	if (file_read(arena_printf(&l->arena, "%s/.highwatermark", l->dir), 32, &text, NULL) == 0)
		(void)todo_read_id(str_trim(buf_str(&text)), &id);
	return id;
}

static int todo_list_lock(struct todo_list *l, struct err *err)
{
	char text[16] = "";
	unsigned highest;

	int lent = l->book && !l->wait_ms ? todo_book_lend(l->book, l) : 0;
	if (lent < 0)
		return err_set(err, ERR_BUSY, "the task list is locked by another process: try again");
	if (!lent) {
		const char *path = arena_printf(&l->arena, "%s/.lock", l->dir);
		if (file_make_dirs(l->dir, 0700, err) < 0)
			return -(int)err->kind;
		l->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (l->lock < 0)
			return err_set(err, ERR_IO, "cannot open the task list in %s: %m", l->dir);
		if (file_lock(l->lock, l->dir, l->wait_ms, err) < 0 ||
		    dir_lock_take(&l->whole, arena_printf(&l->arena, "%s.lock", path), l->wait_ms, NULL, err) < 0)
			return err_set(err, ERR_BUSY,
				       "another process is changing the task list at this moment: try again");
	}
	ssize_t n = pread(l->lock, text, sizeof text - 1, 0);
	if (n > 0 && todo_read_id(str_trim((struct str){ text, (size_t)n }), &highest))
		l->highest = highest;
	highest = highest_deleted(l);
	l->highest = MAX(l->highest, highest);
	return 0;
}

/* An item is read when it is found: a change of one costs no look at all the others. */
static int todo_list_open_parts(struct todo_list *l, struct todo_book *book, const char *dir, bool to_change,
				unsigned wait_ms, struct err *err)
{
	*l = (struct todo_list){ .lock = -1, .wait_ms = wait_ms, .book = book };
	l->dir = arena_strdup(&l->arena, dir);
	if (book && !todo_book_begin(book, dir))
		l->book = NULL;
	if (to_change && todo_list_lock(l, err) < 0)
		return -(int)err->kind;
	find_items(l);
	return 0;
}

int todo_list_open(struct todo_list *l, const char *dir, bool to_change, struct err *err)
{
	int status = todo_list_open_parts(l, NULL, dir, to_change, 0, err);

	if (status == 0)
		todo_read_all(l);
	return status;
}

void todo_list_close(struct todo_list *l)
{
	if (l->book && l->whole.path && !l->wait_ms) {
		todo_book_return(l->book, l);
		l->lock = -1;
	} else {
		for (size_t i = 0; i < l->locked_count; i++)
			dir_lock_leave(&l->locked[i]);
		dir_lock_leave(&l->whole);
	}
	if (l->book)
		todo_book_end(l->book);
	if (l->dir && l->lock >= 0)
		close(l->lock);
	free(l->locked);
	free(l->items);
	arena_release(&l->arena);
	*l = (struct todo_list){ .lock = -1 };
}

struct todo *todo_find_id(struct todo_list *l, unsigned id)
{
	for (size_t i = 0; i < l->count; i++) {
		struct todo *t = &l->items[i];
		if (t->id == id)
			return t->is_read || read_item(l, id, t) ? t : NULL;
	}
	return NULL;
}

struct todo *todo_find(struct todo_list *l, struct str id)
{
	unsigned wanted;

	if (str_starts(id, STR("#")))
		id = str_tail(id, 1);
	return todo_read_id(id, &wanted) ? todo_find_id(l, wanted) : NULL;
}

bool todo_is_open(struct todo_list *l, unsigned id)
{
	const struct todo *t = todo_find_id(l, id);

	return t && t->status != TODO_COMPLETED;
}

int todo_hold(struct todo_list *l, struct todo *t, struct err *err)
{
	const char *path = arena_printf(&l->arena, "%s/%u.json.lock", l->dir, t->id);

	for (size_t i = 0; i < l->locked_count; i++)
		if (!strcmp(l->locked[i].path, path))
			return 0;
	l->locked = xrealloc(l->locked, (l->locked_count + 1) * sizeof *l->locked);
	struct dir_lock *lock = &l->locked[l->locked_count];
	bool moved = l->spare_lock && dir_lock_move(lock, path);
	if (l->spare_lock && !moved)
		dir_lock_leave(lock);
	l->spare_lock = false;
	if (!moved)
		*lock = (struct dir_lock){ 0 };
	if (!moved && dir_lock_take(lock, path, l->wait_ms, NULL, err) < 0)
		return err_set(err, ERR_BUSY, "another process is changing task #%u at this moment: try again", t->id);
	l->locked_count++;
	if (!read_item(l, t->id, t))
		return err_set(err, ERR_NOT_FOUND, "task #%u no longer exists", t->id);
	return 0;
}

/* Depth first along what an item waits for; a list is small. */
static bool leads_to(struct todo_list *l, unsigned from, unsigned to, unsigned depth, struct buf *way)
{
	const struct todo *t = depth > l->count ? NULL : todo_find_id(l, from);

	for (size_t k = 0; t && k < t->blocked_by.count; k++) {
		size_t before = way->n;
		buf_addf(way, " -> #%u", t->blocked_by.ids[k]);
		if (t->blocked_by.ids[k] == to || leads_to(l, t->blocked_by.ids[k], to, depth + 1, way))
			return true;
		way->n = before;
	}
	return false;
}

bool todo_makes_cycle(struct todo_list *l, const struct todo *first, const struct todo *then, struct buf *way)
{
	buf_addf(way, "#%u -> #%u", first->id, then->id);
	return leads_to(l, then->id, first->id, 0, way);
}

bool todo_block(struct todo_list *l, struct todo *blocker, struct todo *blocked)
{
	bool new = todo_add_id(&l->arena, &blocker->blocks, blocked->id);

	return todo_add_id(&l->arena, &blocked->blocked_by, blocker->id) || new;
}

int todo_write(struct todo_list *l, const struct todo *t, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);

	if (l->count >= TODO_MOST && t->id > l->highest)
		return err_set(err, ERR_LIMIT, "the task list is full: %d items", TODO_MOST);
	if (t->id > l->highest) { /* taken before the item is there: after a crash it is lost, never given twice */
		char number[16];
		int n = snprintf(number, sizeof number, "%u\n", t->id);
		if (pwrite(l->lock, number, (size_t)n, 0) != n)
			return err_set(err, ERR_IO, "cannot write to the task list in %s: %m", l->dir);
		l->highest = t->id;
	}
	todo_put(&w, t, true);
	buf_addch(&text, '\n');
	return file_replace(arena_printf(&l->arena, "%s/%u.json", l->dir, t->id), text.p, text.n, err);
}

int todo_remove(struct todo_list *l, const struct todo *t, struct err *err)
{
	unsigned id = t->id;

	todo_read_all(l);
	t = todo_find_id(l, id);
	if (!t)
		return 0;
	for (size_t i = 0; i < l->count; i++) {
		struct todo *other = &l->items[i];
		bool named = drop_id(&l->arena, &other->blocks, t->id);
		named = drop_id(&l->arena, &other->blocked_by, t->id) || named;
		if (named && other != t && todo_write(l, other, err) < 0)
			return -(int)err->kind;
	}
	if (unlink(arena_printf(&l->arena, "%s/%u.json", l->dir, t->id)) < 0 && errno != ENOENT)
		return err_set(err, ERR_IO, "cannot remove an item of the task list in %s: %m", l->dir);
	unsigned highest = highest_deleted(l);
	const char *text = arena_printf(&l->arena, "%u", MAX(highest, t->id));
	return file_replace(arena_printf(&l->arena, "%s/.highwatermark", l->dir), text, strlen(text), err);
}

/* In the call's arena */
struct todo_wait {
	struct timer timer;
	struct tool_call *call;
	todo_again_fn *again;
};

static void on_wait_over(struct timer *timer)
{
	struct todo_wait *w = CONTAINER_OF(timer, struct todo_wait, timer);

	if (w->call->cancelled)
		tool_call_fail(w->call, "The call was cancelled.");
	else
		w->again(w->call);
}

bool todo_try_again(struct tool_call *call, todo_again_fn *again)
{
	if (loop_now_ms(call->env->loop) - call->started_ms >= CALL_WAIT_MS)
		return false;
	struct todo_wait *w =
		arena_new(&call->arena, struct todo_wait, .timer.fire = on_wait_over, .call = call, .again = again);
	call->state = NULL; /* no hooks of it run */
	timer_start(call->env->loop, &w->timer, CALL_PAUSE_MS);
	return true;
}

bool todo_open_parts(struct tool_call *call, struct todo_list *l, todo_again_fn *again)
{
	struct err err = { 0 };

	if (!call->env->todo_dir) {
		tool_call_fail(call, "No task list: the session is not kept on disk.");
		return false;
	}
	int status = todo_list_open_parts(l, todo_book_of(call->env), call->env->todo_dir, again != NULL, 0, &err);
	if (status == -ERR_BUSY && todo_try_again(call, again))
		return false;
	if (status < 0)
		tool_call_fail(call, "%s", err.text);
	return status == 0;
}

bool todo_open(struct tool_call *call, struct todo_list *l, todo_again_fn *again)
{
	bool is_open = todo_open_parts(call, l, again);

	if (is_open)
		todo_read_all(l);
	return is_open;
}

void todo_add_open(struct buf *out, struct todo_list *l, const struct todo_ids *ids)
{
	size_t start = out->n;

	for (size_t i = 0; i < ids->count; i++)
		if (todo_is_open(l, ids->ids[i]))
			buf_addf(out, "%s#%u", out->n > start ? ", " : "", ids->ids[i]);
}

static bool todo_is_owed(const struct todo *t, const char *owner)
{
	return t->status != TODO_COMPLETED && (!owner || (t->owner && !strcmp(t->owner, owner)));
}

unsigned todo_tasks_of(const struct tool_env *env, const char *owner, struct buf *out)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	unsigned at_it = 0;

	if (!env->todo_dir || todo_list_open_parts(&l, todo_book_of(env), env->todo_dir, false, 0, NULL) < 0)
		return 0;
	todo_read_all(&l);
	for (size_t i = 0; i < l.count; i++) {
		const struct todo *t = &l.items[i];
		AUTO_BUF struct buf open = { 0 };
		bool free_ones = owner && !owner[0];
		if (free_ones)
			todo_add_open(&open, &l, &t->blocked_by);
		if (free_ones ? open.n || t->status != TODO_PENDING || (t->owner && t->owner[0])
			      : !todo_is_owed(t, owner))
			continue;
		at_it += t->status == TODO_IN_PROGRESS;
		buf_addf(out, "#%u [%s] %s\n", t->id, todo_status_name(t->status), t->subject);
	}
	return at_it;
}

int todo_release_tasks(const char *dir, const char *owner, unsigned wait_ms, struct buf *out, struct err *err)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	int status = todo_list_open_parts(&l, NULL, dir, true, wait_ms, err);

	if (status < 0)
		return status;
	todo_read_all(&l);
	for (size_t i = 0; i < l.count; i++) { /* all are held before the first one is written */
		struct todo *t = &l.items[i];
		status = todo_is_owed(t, owner) ? todo_hold(&l, t, err) : 0;
		if (status == -ERR_NOT_FOUND)
			t->status = TODO_COMPLETED; /* it was removed just now */
		else if (status < 0)
			return status;
	}
	for (size_t i = 0; i < l.count; i++) {
		struct todo *t = &l.items[i];
		if (!todo_is_owed(t, owner))
			continue;
		buf_addf(out, "#%u [%s] %s\n", t->id, todo_status_name(t->status), t->subject);
		t->owner = NULL;
		t->status = TODO_PENDING;
		if (todo_write(&l, t, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

static struct todo_info info_of(struct arena *a, const struct todo *t)
{
	return (struct todo_info){ arena_printf(a, "%u", t->id), arena_strdup(a, t->subject),
				   arena_strdup(a, t->description) };
}

int todo_claim_next(const struct tool_env *env, const char *owner, bool again, struct arena *a, struct todo_info *ret)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	struct todo *next = NULL;
	struct err err = { 0 };

	if (!env->todo_dir)
		return 0;
	int status = todo_list_open_parts(&l, todo_book_of(env), env->todo_dir, true, 0, &err);
	if (status < 0)
		return status == -ERR_BUSY ? status : 0;
	todo_read_all(&l);
	for (size_t i = 0; i < l.count; i++) {
		struct todo *t = &l.items[i];
		AUTO_BUF struct buf open = { 0 };
		bool owned = t->owner && t->owner[0], mine = owned && !strcmp(t->owner, owner);
		if (mine && t->status != TODO_COMPLETED && !(again && t->status == TODO_PENDING))
			return 0;
		if (t->status != TODO_PENDING || (owned && !mine) || (next && !mine))
			continue;
		todo_add_open(&open, &l, &t->blocked_by);
		if (!open.n)
			next = t;
	}
	status = next ? todo_hold(&l, next, &err) : -ERR_NOT_FOUND;
	bool free_still = status == 0 && next->status == TODO_PENDING &&
			  (!next->owner || !next->owner[0] || !strcmp(next->owner, owner));
	if (free_still) {
		next->owner = owner;
		status = todo_write(&l, next, &err);
	}
	if (status < 0 || !free_still)
		return status == -ERR_BUSY ? status : 0;
	*ret = info_of(a, next);
	return 1;
}

bool todo_task_at(const char *dir, const char *owner, unsigned n, struct arena *a, struct todo_info *ret)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };

	if (todo_list_open(&l, dir, false, NULL) < 0)
		return false;
	for (size_t i = 0; i < l.count; i++) {
		const struct todo *t = &l.items[i];
		if (t->status != TODO_IN_PROGRESS || !t->owner || strcmp(t->owner, owner) != 0 || n-- > 0)
			continue;
		*ret = info_of(a, t);
		return true;
	}
	return false;
}

void todo_open_tasks(const char *dir, struct buf *out)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	struct json_out w = json_out(out);

	if (todo_list_open(&l, dir, false, NULL) < 0)
		return;
	for (size_t i = 0; i < l.count; i++) {
		if (l.items[i].status == TODO_COMPLETED)
			continue;
		if (!w.depth)
			json_open(&w, '[');
		todo_put(&w, &l.items[i], true);
	}
	if (w.depth)
		json_close(&w);
}

/* The reminder of open items, after the conversation was compacted. */

enum { LARGEST_LIST = 1 << 20, MAX_REMINDED = 100 };

/* Of the agent's own list (TodoWrite) */
static void add_own_todos(struct buf *out, const char *path)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (file_read(path, LARGEST_LIST, &text, NULL) < 0 || json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return;
	for (const struct json *t = json_first(root); t; t = json_next(root, t)) {
		if (json_str_is(json_get(t, "status"), "completed"))
			continue;
		buf_addf(out, "- [" STR_FMT "] " STR_FMT "\n", STR_ARG(json_str(json_get(t, "status"), &a)),
			 STR_ARG(json_str(json_get(t, "content"), &a)));
	}
}

void todo_add_reminder(struct tool_env *env, struct buf *out)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	size_t shown = 0;

	if (env->todo_file)
		add_own_todos(out, env->todo_file);
	if (!env->todo_dir || todo_list_open(&l, env->todo_dir, false, NULL) < 0)
		return;
	for (size_t i = 0; i < l.count && shown < MAX_REMINDED; i++) {
		const struct todo *t = &l.items[i];
		if (t->status == TODO_COMPLETED)
			continue;
		buf_addf(out, "- [%s] #%u %s\n", todo_status_name(t->status), t->id, t->subject);
		shown++;
	}
}
