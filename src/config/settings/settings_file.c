/* SPDX-License-Identifier: MIT
 * settings_file.c - reads one settings file. */
#include "config/settings/settings_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/io/file.h"

static int parse(struct settings_file *f, struct err *err)
{
	struct err why = { 0 };
	size_t mark = str_starts(buf_str(&f->text), STR("\xef\xbb\xbf")) ? 3 : 0;

	/* An editor that was interrupted leaves an empty file, which sets nothing. Values point into the text, always. */
	if (!str_trim((struct str){ buf_str(&f->text).p + mark, f->text.n - mark }).n)
		buf_addstr(&f->text, "{}\n");
	struct str text = { f->text.p + mark, f->text.n - mark };
	f->reader.limits.bytes = MAX(f->reader.limits.bytes, text.n);
	if (json_parse(&f->reader, text.p, text.n, &f->root, &why) < 0) {
		/* The reader reports "line 3, column 14: what"; people and editors expect "PATH:3:14: what". */
		const char *path = f->path;
		unsigned line;
		unsigned column;
		int used = 0;
		if (sscanf(why.text, "line %u, column %u: %n", &line, &column, &used) == 2 && used > 0)
			return err_set(err, ERR_USAGE, "%s:%u:%u: %s", path, line, column, why.text + used);
		return err_set(err, ERR_USAGE, "%s: %s", path, why.text);
	}
	if (!json_is(f->root, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "%s:1:1: expected an object", f->path);
	return 0;
}

int settings_file_parse_up_to(struct settings_file *f, const char *path, struct str text, size_t limit_bytes,
			      struct err *err)
{
	*f = (struct settings_file){ .path = xstrdup(path),
				     .reader.limits = { .bytes = limit_bytes, .depth = SETTINGS_FILE_DEPTH } };
	buf_add(&f->text, text.p, text.n);
	int status = text.n > limit_bytes ? err_set(err, ERR_USAGE, "%s: more than %zu bytes", path, limit_bytes)
					  : parse(f, err);
	if (status < 0)
		settings_file_release(f);
	return status;
}

int settings_file_parse(struct settings_file *f, const char *path, struct str text, struct err *err)
{
	return settings_file_parse_up_to(f, path, text, SETTINGS_FILE_LIMIT, err);
}

/* Only regular files: a pipe would make us wait, a directory is a mistake worth a message. */
int settings_file_read_up_to(struct settings_file *f, const char *path, size_t limit_bytes, struct err *err)
{
	struct err why = { 0 };
	struct stat st;
	int status = 0;

	*f = (struct settings_file){ .path = xstrdup(path),
				     .reader.limits = { .bytes = limit_bytes, .depth = SETTINGS_FILE_DEPTH } };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		status = err_set(err, ERR_USAGE, "cannot open %s: %m", path);
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		status = err_set(err, ERR_USAGE, "%s: not a regular file", path);
	else if (file_read_fd(fd, limit_bytes, &f->text, &why) < 0)
		status = err_set(err, ERR_USAGE, "%s: %s", path, why.text);
	else
		status = parse(f, err);
	if (status < 0)
		settings_file_release(f);
	return status;
}

int settings_file_read(struct settings_file *f, const char *path, struct err *err)
{
	return settings_file_read_up_to(f, path, SETTINGS_FILE_LIMIT, err);
}

void settings_file_release(struct settings_file *f)
{
	free(f->path);
	buf_release(&f->text);
	json_reader_release(&f->reader);
	*f = (struct settings_file){ 0 };
}

void settings_cursor_move(struct settings_cursor *c, const struct settings_file *f, const struct json *value)
{
	const char *at = value ? json_raw(value).p : NULL;

	if (!at || !f->text.n || at < f->text.p || at >= f->text.p + f->text.n) {
		*c = (struct settings_cursor){ 0 };
		return;
	}
	if (!c->line_start || at < c->line_start)
		*c = (struct settings_cursor){ .line_start = f->text.p, .line = 1 };
	for (const char *nl; (nl = memchr(c->line_start, '\n', (size_t)(at - c->line_start))); c->line++)
		c->line_start = nl + 1;
	c->column = (unsigned)(at - c->line_start) + 1;
}

unsigned settings_line(const struct settings_file *f, const struct json *value)
{
	struct settings_cursor cursor = { 0 };

	settings_cursor_move(&cursor, f, value);
	return cursor.line;
}
