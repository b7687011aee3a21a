/* SPDX-License-Identifier: MIT
 * checkpoint.c - keeps files before they are changed. */
#include "core/store/checkpoint.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

struct checkpoint {
	struct store *store; /* borrowed */
	char *dir;
	struct journal *journal;
	bool looked; /* at the end of the file that an earlier process left */
};

char *checkpoint_dir(struct arena *a, const char *config_dir, const char *session_id)
{
	return arena_printf(a, "%s/file-history/%s", config_dir, session_id);
}

char *checkpoint_history_path(struct arena *a, const char *dir)
{
	return arena_printf(a, "%s/history.jsonl", dir);
}

char *checkpoint_content_path(struct arena *a, const char *dir, const struct file_version *v)
{
	return arena_printf(a, "%s/%s", dir, v->sha256);
}

struct checkpoint *checkpoint_new(struct store *store, const char *dir)
{
	struct checkpoint *c = xcalloc(1, sizeof *c);
	AUTO_ARENA struct arena a = { 0 };

	c->store = store;
	c->dir = xstrdup(dir);
	c->journal = journal_new(store, checkpoint_history_path(&a, dir));
	return c;
}

void checkpoint_free(struct checkpoint *c)
{
	if (!c)
		return;
	journal_free(c->journal);
	free(c->dir);
	free(c);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static bool is_torn(const char *path)
{
	struct stat st;
	char last;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* A torn line of an earlier process gets an end, so that it takes none of ours with it: a reader passes over it. */
static struct json_out begin_line(struct checkpoint *c, const char *type)
{
	struct buf *line = &c->store->line;
	char time[ISO_TIME_LEN + 1];

	buf_clear(line);
	if (!c->looked && is_torn(journal_path(c->journal)))
		buf_addch(line, '\n');
	c->looked = true;
	id_iso_time(id_wall_ms(), time);
	struct json_out w = json_out(line);
	json_open(&w, '{');
	json_kcstr(&w, "type", type);
	json_kcstr(&w, "time", time);
	return w;
}

static int end_line(struct checkpoint *c, struct json_out *w, struct err *err)
{
	json_close(w);
	/* The contents may be private. */
	if (file_make_dirs(c->dir, 0700, err) < 0)
		return -(int)err->kind;
	return journal_append(c->journal, &c->store->line, err);
}

int checkpoint_mark(struct checkpoint *c, const char *uuid, const char *rewind_to, struct err *err)
{
	struct json_out w = begin_line(c, "mark");

	json_kcstr(&w, "uuid", uuid);
	if (rewind_to)
		json_kcstr(&w, "rewindTo", rewind_to);
	return end_line(c, &w, err);
}

static void put_version(struct json_out *w, const char *key, const struct file_version *v)
{
	json_key(w, key);
	if (!v->exists) {
		json_put_null(w);
		return;
	}
	json_open(w, '{');
	json_kcstr(w, "sha256", v->sha256);
	if (v->mode)
		json_ki64(w, "mode", v->mode);
	json_close(w);
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static int store_version(struct checkpoint *c, const struct file_version *v, const struct buf *bytes, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *path = checkpoint_content_path(&a, c->dir, v);

	if (!v->exists || file_exists(path))
		return 0;
	if (file_make_dirs(c->dir, 0700, err) < 0)
		return -(int)err->kind;
	return file_replace_mode(path, buf_str(bytes), 0600, err);
}

int checkpoint_change(struct checkpoint *c, const char *path, const struct file_version *after, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct file_version before;

	if (file_version_read("/", path, &before, &bytes, err) < 0)
		return -(int)err->kind;
	if (file_version_same(&before, after))
		return 0;
	if (store_version(c, &before, &bytes, err) < 0)
		return err_wrap(err, "cannot store the file before the change");
	struct json_out w = begin_line(c, "change");
	json_kcstr(&w, "path", path);
	put_version(&w, "before", &before);
	put_version(&w, "after", after);
	return end_line(c, &w, err);
}
