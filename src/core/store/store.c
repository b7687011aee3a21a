/* SPDX-License-Identifier: MIT
 * store.c - paths of sessions and appending to their files. */
#include "core/store/store.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "core/store/line_file.h"

enum { LONGEST_KEY = 200 };

/* A file to sync. The thread opens it by its path: a journal may be closed for another one, or freed, at any time. */
struct sync_item {
	struct sync_item *next;
	struct journal *journal; /* NULL: freed meanwhile */
	char *path;              /* owned */
	uint64_t upto;           /* lines that it covers */
	bool named;              /* the directory needs no sync */
	int error;               /* errno of the file's sync; 0: done */
	int directory_error;
};

struct journal {
	struct store *store; /* borrowed */
	char *path;
	int fd;                             /* -1: closed, opened again with the next line */
	struct journal *newer, *older;      /* in the store's list while fd >= 0 */
	uint64_t written, synced;           /* lines; those that are synced */
	bool named;                         /* its directory, which names it, is synced as well */
	struct sync_item *queued, *running; /* in the store's queue, in its batch; NULL: not there */
	struct kick *waiter;                /* requested the sync; may be NULL */
	int sync_error;                     /* errno of a failed sync: the state on disk is unknown */
};

/* A sync that no one waits for is put off: it joins a later one, or happens in store_release(), without a thread. */
enum { IDLE_SYNC_MS = 100 };

/* Other programs replace UTF-16 units, so a character outside the basic plane becomes two dashes. */
void store_project_key(struct buf *out, struct str cwd)
{
	size_t start = out->n;
	uint32_t hash = 5381;

	for (size_t i = 0; i < cwd.n; i++) {
		unsigned char c = (unsigned char)cwd.p[i];
		hash = hash * 33 + c;
		if (char_is_alnum((char)c))
			buf_addch(out, (char)c);
		else if ((c & 0xc0) != 0x80)
			buf_addstr(out, c >= 0xf0 ? "--" : "-");
	}
	if (out->n - start > LONGEST_KEY) {
		out->n = start + LONGEST_KEY;
		buf_addf(out, "-%x", hash);
	}
}

char *store_project_dir(struct arena *a, const char *config_dir, const char *cwd)
{
	AUTO_BUF struct buf key = { 0 };

	store_project_key(&key, str_from(cwd));
	return arena_printf(a, "%s/projects/%s", config_dir, key.p);
}

struct journal *journal_new(struct store *s, const char *path)
{
	return xnew(struct journal, .store = s, .path = xstrdup(path), .fd = -1);
}

const char *journal_path(const struct journal *j)
{
	return j->path;
}

static void unlink_open(struct journal *j)
{
	*(j->newer ? &j->newer->older : &j->store->newest) = j->older;
	*(j->older ? &j->older->newer : &j->store->oldest) = j->newer;
	j->newer = j->older = NULL;
}

static void link_newest(struct journal *j)
{
	struct store *s = j->store;

	j->newer = NULL;
	j->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = j;
	s->newest = j;
}

static void journal_close(struct journal *j)
{
	if (j->fd < 0)
		return;
	unlink_open(j);
	close(j->fd);
	j->fd = -1;
	j->store->open_count--;
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	if (j->queued) {
		j->queued->journal = NULL;
		timer_start(j->store->loop, &j->store->sync_timer, IDLE_SYNC_MS);
	}
	if (j->running)
		j->running->journal = NULL;
	journal_close(j);
	free(j->path);
	free(j);
}

struct sync_batch {
	uv_work_t work;
	uv_thread_t thread; /* of a last batch, in place of the pool */
	bool is_last;       /* store_finish() began it: end_last() ends it */
	struct store *store;
	struct sync_item *items;
};

static void queue_sync(struct journal *j)
{
	struct store *s = j->store;

	if (j->queued)
		return;
	j->queued = xnew(struct sync_item, .journal = j, .path = xstrdup(j->path), .named = j->named);
	*s->queue_end = j->queued;
	s->queue_end = &j->queued->next;
}

/* A file that is gone needs no sync (a session can be pruned), and one that cannot be synced (a pipe) has no disk. */
static int sync_path(const char *path, int flags)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);

	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	return fsync(fd) < 0 && errno != EINVAL ? errno : 0;
}

static void sync_files(struct sync_item *items)
{
	for (struct sync_item *i = items; i; i = i->next)
		i->error = sync_path(i->path, 0);
}

/* May run beside sync_files(). */
static void sync_directories(struct sync_item *items)
{
	for (struct sync_item *i = items; i; i = i->next) {
		if (i->named)
			continue;
		AUTO_FREE char *dir = xstrndup(i->path, (size_t)(strrchr(i->path, '/') - i->path));
		i->directory_error = sync_path(dir, O_DIRECTORY);
	}
}

static void on_sync_thread(uv_work_t *work)
{
	struct sync_batch *b = CONTAINER_OF(work, struct sync_batch, work);

	sync_files(b->items);
	sync_directories(b->items);
}

/* The syncs are over. */
static void end_items(struct sync_item *items)
{
	for (struct sync_item *i = items, *next; i; i = next) {
		struct journal *j = i->journal;
		next = i->next;
		if (j) {
			j->running = NULL;
			j->sync_error = i->error ? i->error : i->directory_error;
			j->synced = j->sync_error ? j->synced : i->upto;
			j->named = j->named || !j->sync_error;
			if (j->waiter)
				loop_kick(j->store->loop, TAKE(j->waiter));
		}
		free(i->path);
		free(i);
	}
}

static void on_synced(uv_work_t *work, int status)
{
	struct sync_batch *b = CONTAINER_OF(work, struct sync_batch, work);
	struct store *s = b->store;

	end_items(b->items);
	free(b);
	s->batch = NULL;
	if (s->queue)
		loop_kick(s->loop, &s->kick);
}

/* Makes the queue the batch. */
static void batch_take(struct store *s)
{
	s->batch = xcalloc(1, sizeof *s->batch);
	s->batch->store = s;
	s->batch->items = TAKE(s->queue);
	s->queue_end = &s->queue;
	for (struct sync_item *i = s->batch->items; i; i = i->next) {
		if (!i->journal)
			continue;
		i->upto = i->journal->written;
		i->journal->running = TAKE(i->journal->queued);
	}
}

static void on_last_thread(void *batch)
{
	sync_files(((struct sync_batch *)batch)->items);
}

static void end_last(struct store *s)
{
	if (!s->batch || !s->batch->is_last)
		return;
	sync_directories(s->batch->items); /* beside the files: one commit of the file system for both */
	uv_thread_join(&s->batch->thread);
	on_synced(&s->batch->work, 0);
}

/* One group commit at a time; requests meanwhile join the next one. */
static void on_sync_kick(struct kick *kick)
{
	struct store *s = CONTAINER_OF(kick, struct store, kick);

	end_last(s);
	if (s->batch || !s->queue)
		return;
	batch_take(s);
	(void)uv_queue_work(loop_uv(s->loop), &s->batch->work, on_sync_thread,
			    on_synced); /* fails without a function only */
}

static void on_sync_late(struct timer *timer)
{
	on_sync_kick(&CONTAINER_OF(timer, struct store, sync_timer)->kick);
}

void store_init(struct store *s, struct loop *loop, const char *config_dir)
{
	*s = (struct store){ .config_dir = xstrdup(config_dir),
			     .loop = loop,
			     .most_open = STORE_OPEN_FILES,
			     .kick = { .step = on_sync_kick },
			     .sync_timer = { .fire = on_sync_late } };
	s->queue_end = &s->queue;
}

/* A thousand running children write in turn: with fewer files than children each line would open its file again. */
size_t store_open_files(size_t descriptor_limit)
{
	return MIN(MAX(descriptor_limit / 8, (size_t)STORE_OPEN_FILES), (size_t)STORE_MOST_OPEN_FILES);
}

void store_finish(struct store *s)
{
	if (s->batch || !s->queue)
		return;
	batch_take(s);
	s->batch->is_last = uv_thread_create(&s->batch->thread, on_last_thread, s->batch) == 0;
	if (!s->batch->is_last) {
		on_sync_thread(&s->batch->work);
		on_synced(&s->batch->work, 0);
	}
}

void store_release(struct store *s)
{
	if (s->loop)
		timer_stop(s->loop, &s->sync_timer);
	end_last(s);
	while (s->batch)
		loop_run(s->loop);
	sync_files(s->queue);
	sync_directories(s->queue);
	end_items(s->queue);
	assert(!s->newest);
	kick_cancel(&s->kick);
	free(s->config_dir);
	buf_release(&s->line);
	*s = (struct store){ 0 };
}

int journal_sync(struct journal *j, struct kick *kick, struct err *err)
{
	if (j->sync_error) {
		errno = j->sync_error;
		return err_set(err, ERR_IO, "cannot sync the transcript %s to the disk: %m", j->path);
	}
	if (j->synced == j->written || !j->store->loop)
		return 1;
	if (kick)
		j->waiter = kick;
	if (!j->running || j->running->upto < j->written)
		queue_sync(j);
	if (kick)
		loop_kick(j->store->loop, &j->store->kick);
	else
		timer_start(j->store->loop, &j->store->sync_timer, IDLE_SYNC_MS);
	return 0;
}

int journal_settle(struct journal *j, struct kick *kick, struct err *err)
{
	return j && j->store->power ? journal_sync(j, kick, err) : 1;
}

/* Blocks of a file system that can share them (FICLONE), or a copy that never leaves the kernel, or one through memory. */
static int copy_bytes(int in, int out, uint64_t bytes)
{
	char piece[1 << 16];
	struct stat st;

	if (fstat(in, &st) < 0 || (uint64_t)st.st_size < bytes) {
		errno = ENODATA;
		return -1;
	}
	if (ioctl(out, FICLONE, in) == 0)
		return ftruncate(out, (off_t)bytes);
	while (bytes) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, bytes, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 && (n == 0 || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
			n = read(in, piece, MIN(sizeof piece, bytes));
			if (n > 0 && file_write_all(out, piece, (size_t)n) < 0)
				return -1;
		}
		if (n <= 0)
			return -1;
		bytes -= (uint64_t)n;
	}
	return 0;
}

int journal_begin_with(struct journal *j, const char *from, uint64_t bytes, struct err *err)
{
	AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	struct store *s = j->store;
	struct line_file lines = { 0 };
	struct line_span span;
	struct str line;

	if (in < 0)
		return err_set(err, ERR_IO, "cannot read the transcript %s: %m", from);
	if (file_make_parents(j->path, err) < 0)
		return -(int)err->kind;
	AUTO_CLOSE int out = open(j->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0 || copy_bytes(in, out, bytes) < 0) {
		err_set(err, ERR_IO, "cannot copy the transcript %s to %s: %m", from, j->path);
		if (out >= 0)
			(void)unlink(j->path);
		return -ERR_IO;
	}
	if (s->on_line && line_file_open(&lines, j->path, NULL) == 0)
		while (line_file_next(&lines, &line, &span, NULL) > 0)
			s->on_line(s->data, j->path, line);
	line_file_close(&lines);
	return 0;
}

static int journal_open(struct journal *j, struct err *err)
{
	if (j->fd >= 0) {
		unlink_open(j);
		link_newest(j);
		return 0;
	}
	if (j->store->open_count >= j->store->most_open)
		journal_close(j->store->oldest);
	bool made_parents = false;
	while ((j->fd = open(j->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0) {
		if (errno == ENOENT && !made_parents && file_make_parents(j->path, err) == 0) {
			made_parents = true;
			continue;
		}
		if (errno == EMFILE && j->store->oldest) { /* others took the descriptors: ours are the spare ones */
			journal_close(j->store->oldest);
			continue;
		}
		return err_set(err, ERR_IO, "cannot write the transcript %s: %m", j->path);
	}
	link_newest(j);
	j->store->open_count++;
	return 0;
}

int journal_append(struct journal *j, struct buf *line, struct err *err)
{
	struct stat st;
	ssize_t n;

	if (journal_open(j, err) < 0)
		return -ERR_IO;
	buf_addch(line, '\n');
	crash_point(line_before);
#ifdef CADRE_CRASH_POINTS
	if (fstat(j->fd, &st) == 0) { /* simulates a kill inside write(2); undone if the process lives */
		(void)!write(j->fd, line->p, line->n / 2);
		crash_point(line_torn);
		(void)!ftruncate(j->fd, st.st_size);
	}
#endif
	do
		n = write(j->fd, line->p, line->n);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)line->n) {
		size_t wanted = line->n;
		int saved = n < 0 ? errno : ENOSPC;
		if (n > 0 && fstat(j->fd, &st) == 0)
			(void)!ftruncate(j->fd, st.st_size - n);
		errno = saved;
		return err_set(err, ERR_IO, "cannot write %zu bytes to the transcript %s: %m", wanted, j->path);
	}
	crash_point(line_written);
	j->written++;
	if (j->store->power)
		queue_sync(j);
	if (j->store->on_line)
		j->store->on_line(j->store->data, j->path, (struct str){ line->p, line->n - 1 });
	return 0;
}
