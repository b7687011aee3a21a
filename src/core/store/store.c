/* SPDX-License-Identifier: MIT
 * store.c - paths of sessions and appending to their files. */
#include "core/store/store.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/crash.h"
#include "lib/io/file.h"

enum { LONGEST_KEY = 200 };

struct journal {
	struct store *store; /* borrowed */
	char *path;
	int fd;                        /* -1: closed, opened again with the next line */
	struct journal *newer, *older; /* in the store's list while fd >= 0 */
};

void store_init(struct store *s, const char *config_dir)
{
	*s = (struct store){ .config_dir = xstrdup(config_dir) };
}

void store_release(struct store *s)
{
	assert(!s->newest);
	free(s->config_dir);
	buf_release(&s->line);
	*s = (struct store){ 0 };
}

/* Other programs replace UTF-16 units, so a character outside the basic plane becomes two dashes. */
void store_project_key(struct buf *out, struct str cwd)
{
	size_t start = out->n;
	uint32_t hash = 5381;

	for (size_t i = 0; i < cwd.n; i++) {
		unsigned char c = (unsigned char)cwd.p[i];
		hash = hash * 33 + c;
		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
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
	struct journal *j = xcalloc(1, sizeof *j);

	j->store = s;
	j->path = xstrdup(path);
	j->fd = -1;
	return j;
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

static void close_file(struct journal *j)
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
	close_file(j);
	free(j->path);
	free(j);
}

static int open_file(struct journal *j, struct err *err)
{
	if (j->fd >= 0) {
		unlink_open(j);
		link_newest(j);
		return 0;
	}
	if (j->store->open_count >= STORE_OPEN_FILES)
		close_file(j->store->oldest);
	bool made_parents = false;
	while ((j->fd = open(j->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0) {
		if (errno == ENOENT && !made_parents && file_make_parents(j->path, err) == 0) {
			made_parents = true;
			continue;
		}
		if (errno == EMFILE && j->store->oldest) { /* others took the descriptors: ours are the spare ones */
			close_file(j->store->oldest);
			continue;
		}
		return err_set(err, ERR_IO, "cannot write the transcript %s: %m", j->path);
	}
	link_newest(j);
	j->store->open_count++;
	return 0;
}

static int take_back(struct journal *j, ssize_t written, size_t wanted, struct err *err)
{
	int saved = written < 0 ? errno : ENOSPC;
	struct stat st;

	if (written > 0 && fstat(j->fd, &st) == 0)
		(void)!ftruncate(j->fd, st.st_size - written);
	errno = saved;
	return err_set(err, ERR_IO, "cannot write %zu bytes to the transcript %s: %m", wanted, j->path);
}

#ifdef CADRE_CRASH_POINTS
/* What a kill inside write(2) leaves; taken back again if nobody died. */
static void write_torn(struct journal *j, const struct buf *line)
{
	struct stat st;

	if (fstat(j->fd, &st) < 0)
		return;
	(void)!write(j->fd, line->p, line->n / 2);
	crash_point(line_torn);
	(void)!ftruncate(j->fd, st.st_size);
}
#endif

int journal_append(struct journal *j, struct buf *line, struct err *err)
{
	ssize_t n;

	if (open_file(j, err) < 0)
		return -ERR_IO;
	buf_addch(line, '\n');
	crash_point(line_before);
#ifdef CADRE_CRASH_POINTS
	write_torn(j, line);
#endif
	do
		n = write(j->fd, line->p, line->n);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)line->n)
		return take_back(j, n, line->n, err);
	crash_point(line_written);
	if (j->store->on_line)
		j->store->on_line(j->store->data, j->path, (struct str){ line->p, line->n - 1 });
	return 0;
}

int journal_sync(struct journal *j, struct err *err)
{
	if (open_file(j, err) < 0)
		return -ERR_IO;
	if (fsync(j->fd) < 0)
		return err_set(err, ERR_IO, "cannot sync %s: %m", j->path);
	return 0;
}
