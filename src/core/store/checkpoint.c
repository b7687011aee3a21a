/* SPDX-License-Identifier: MIT
 * checkpoint.c - states of files, kept before they are changed. */
#include "core/store/checkpoint.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/id.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"

struct checkpoint {
	struct store *store; /* borrowed */
	char *dir;
	struct journal *journal;
	bool tail_checked; /* for a torn line of an earlier process */
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
	AUTO_ARENA struct arena a = { 0 };

	return xnew(struct checkpoint, .store = store, .dir = xstrdup(dir),
		    .journal = journal_new(store, checkpoint_history_path(&a, dir)));
}

void checkpoint_free(struct checkpoint *c)
{
	if (!c)
		return;
	journal_free(c->journal);
	free(c->dir);
	free(c);
}

static struct json_out begin_line(struct checkpoint *c, const char *type)
{
	struct buf *line = &c->store->line;
	struct stat st;
	char last;

	buf_clear(line);
	if (!c->tail_checked) {
		/* A torn line of an earlier process gets an end, so that ours stays whole: a reader skips the torn one. */
		AUTO_CLOSE int fd = open(journal_path(c->journal), O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 &&
		    last != '\n')
			buf_addch(line, '\n');
		c->tail_checked = true;
	}
	struct json_out w = json_out(line);
	json_putf(&w, "{type:'%s', time:'%s'", type, id_iso_now().text);
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

	json_putf(&w, "uuid:'%s', rewindTo?:'%s'", uuid, rewind_to);
	return end_line(c, &w, err);
}

static void put_version(struct json_out *w, const char *key, const struct file_version *v)
{
	json_key(w, key);
	if (!v->exists) {
		json_put_null(w);
		return;
	}
	json_putf(w, "{sha256:'%s', mode?:%lld}", v->sha256, (long long)v->mode);
}

int checkpoint_change(struct checkpoint *c, const char *path, const struct file_version *after, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct file_version before;

	if (file_version_read("/", path, &before, &bytes, err) < 0)
		return -(int)err->kind;
	if (file_version_same(&before, after))
		return 0;
	const char *content = checkpoint_content_path(&a, c->dir, &before);
	if (before.exists && !file_exists(content) &&
	    (file_make_dirs(c->dir, 0700, err) < 0 || file_replace_mode(content, buf_str(&bytes), 0600, err) < 0))
		return err_wrap(err, "cannot store the file before the change");
	struct json_out w = begin_line(c, "change");
	json_kcstr(&w, "path", path);
	put_version(&w, "before", &before);
	put_version(&w, "after", after);
	return end_line(c, &w, err);
}

struct file_version file_version_of(struct str bytes)
{
	struct file_version v = { .exists = true };

	sha256_hex(bytes, v.sha256);
	return v;
}

int file_version_read(const char *root, const char *below, struct file_version *ret_version, struct buf *bytes,
		      struct err *err)
{
	size_t start = bytes->n;
	struct err why = { 0 };
	struct stat st;
	AUTO_CLOSE int fd = file_below_open(root, below, &st, &why);

	if (fd == -ERR_NOT_FOUND) {
		*ret_version = (struct file_version){ 0 };
		return 0;
	}
	if (fd < 0)
		return err_set(err, why.kind, "%s", why.text);
	if (file_read_known(fd, &st, FILE_VERSION_LIMIT, bytes, err) < 0)
		return err_wrap(err, "%s%s%s", root[1] ? root : "", below[0] == '/' ? "" : "/", below);
	*ret_version = file_version_of((struct str){ bytes->p ? bytes->p + start : "", bytes->n - start });
	ret_version->mode = st.st_mode & 07777;
	return 0;
}
