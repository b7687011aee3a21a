/* SPDX-License-Identifier: MIT
 * settings_file.c - reads one settings file. */
#include "settings/settings_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "io/file.h"

/* The reader says "line 3, column 14: what"; people and editors want "PATH:3:14: what". */
static int fail_json(const char *path, const struct err *why, struct err *err)
{
	unsigned line;
	unsigned column;
	int used = 0;

	if (sscanf(why->text, "line %u, column %u: %n", &line, &column, &used) == 2 && used > 0)
		return err_set(err, ERR_USAGE, "%s:%u:%u: %s", path, line, column, why->text + used);
	return err_set(err, ERR_USAGE, "%s: %s", path, why->text);
}

static int parse(struct settings_file *f, struct err *err)
{
	struct err why = { 0 };
	struct str text = buf_str(&f->text);

	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = (struct str){ text.p + 3, text.n - 3 };
	if (!str_trim(text).n)
		text = STR("{}"); /* an editor that was interrupted leaves an empty file; it says nothing */
	if (json_parse(&f->reader, text.p, text.n, &f->root, &why) < 0)
		return fail_json(f->path, &why, err);
	if (!json_is(f->root, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "%s:1:1: expected an object", f->path);
	return 0;
}

int settings_file_parse(struct settings_file *f, const char *path, struct str text, struct err *err)
{
	*f = (struct settings_file){ .path = xstrdup(path), .reader.limits.bytes = SETTINGS_FILE_LIMIT };
	buf_add(&f->text, text.p, text.n);
	int status = text.n > SETTINGS_FILE_LIMIT
			     ? err_set(err, ERR_USAGE, "%s: more than %d bytes", path, SETTINGS_FILE_LIMIT)
			     : parse(f, err);
	if (status < 0)
		settings_file_release(f);
	return status;
}

/* Only regular files: a pipe would make us wait, a directory is a mistake worth a message. */
static int read_regular(const char *path, struct buf *out, struct err *err)
{
	struct stat st;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ERR_NOT_FOUND;
	if (fd < 0)
		return err_set(err, ERR_USAGE, "cannot open %s: %m", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "%s: not a regular file", path);
	if (file_read_fd(fd, SETTINGS_FILE_LIMIT, out, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

int settings_file_read(struct settings_file *f, const char *path, struct err *err)
{
	struct err why = { 0 };

	*f = (struct settings_file){ .path = xstrdup(path), .reader.limits.bytes = SETTINGS_FILE_LIMIT };
	int status = read_regular(path, &f->text, &why);
	if (status == -ERR_NOT_FOUND)
		return 0;
	if (status < 0)
		status = err_set(err, ERR_USAGE, "%s", why.text);
	else
		status = parse(f, err);
	if (status < 0)
		settings_file_release(f);
	return status;
}

void settings_file_release(struct settings_file *f)
{
	free(f->path);
	buf_release(&f->text);
	json_reader_release(&f->reader);
	*f = (struct settings_file){ 0 };
}

unsigned settings_line(const struct settings_file *f, const struct json *value)
{
	unsigned line = 1;

	if (!value || !f->text.n || value->text < f->text.p || value->text > f->text.p + f->text.n)
		return 0;
	for (const char *p = f->text.p; p < value->text; p++)
		line += *p == '\n';
	return line;
}
