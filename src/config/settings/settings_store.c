/* SPDX-License-Identifier: MIT
 * settings_store.c - writes a decision of the user to a settings file.
 *
 * A lock on the directory serialises our writers and leaves no file in the project. Writes of other programs are
 * detected by the stamp of the file: if it changed between reading and replacing, the edit is repeated. */
#include "config/settings/settings_store.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "config/settings/text_edit.h"

enum { TRIES = 20 };

/* ---- taking turns ------------------------------------------------------------------------------------------------ */

/* The directory in which the file will be replaced. The lock dies with its descriptor. */
static int lock(const char *path, int *ret_fd, struct err *err)
{
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *dir = xstrdup(real ? real : path);
	char *slash = strrchr(dir, '/');

	if (slash)
		slash[slash == dir] = '\0';
	AUTO_CLOSE int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", dir);
	int status = file_lock(fd, slash ? dir : ".", err);
	if (status < 0)
		return status;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

struct stamp {
	bool exists;
	struct stat st;
};

static struct stamp take_stamp(const char *path)
{
	struct stamp s = { 0 };

	s.exists = stat(path, &s.st) == 0;
	return s;
}

static bool is_unchanged(const char *path, const struct stamp *before)
{
	struct stamp now = take_stamp(path);

	if (!now.exists || !before->exists)
		return now.exists == before->exists;
	return now.st.st_ino == before->st.st_ino && now.st.st_size == before->st.st_size &&
	       now.st.st_ctim.tv_sec == before->st.st_ctim.tv_sec &&
	       now.st.st_ctim.tv_nsec == before->st.st_ctim.tv_nsec;
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

static int fail_type(const struct settings_file *f, const struct json *value, const char *what, struct err *err)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, f, value);
	return err_set(err, ERR_USAGE, "%s:%u:%u: expected %s", f->path, at.line, at.column, what);
}

static bool has(const struct json *list, struct str rule)
{
	AUTO_ARENA struct arena a = { 0 };

	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (json_is(v, JSON_STRING) && str_eq(json_str(v, &a), rule))
			return true;
	return false;
}

/* An edit of a file: the new text goes to out; empty: nothing to change. */
struct change {
	int (*make)(struct buf *out, const struct settings_file *f, const struct change *c, struct err *err);
	const struct str *names; /* members in each other, from the outside in */
	size_t count;
	const char *kind;   /* add_text: what should be there, for errors */
	struct str value;   /* a text, or JSON; p == NULL: the member is removed */
	size_t limit_bytes; /* of the file */
};

static int add_text(struct buf *out, const struct settings_file *f, const struct change *c, struct err *err)
{
	const struct json *at = f->root;
	size_t there = 0;
	AUTO_BUF struct buf value = { 0 };

	for (const struct json *next; there < c->count && (next = json_get_str(at, c->names[there])); at = next) {
		there++;
		if (there < c->count && !json_is(next, JSON_OBJECT))
			return fail_type(f, next, "an object", err);
		if (there == c->count && !json_is(next, JSON_ARRAY))
			return fail_type(f, next, c->kind, err);
	}
	if (there == c->count && has(at, c->value))
		return 0;
	json_add_quoted(&value, c->value);
	text_append(out, f, at,
		    &(struct text_addition){ .names = c->names + there,
					     .count = c->count - there,
					     .list = there < c->count,
					     .value = buf_str(&value) });
	return 0;
}

static int set_member(struct buf *out, const struct settings_file *f, const struct change *c, struct err *err)
{
	const struct json *at = f->root;

	for (size_t i = 0; i < c->count; i++) {
		const struct json *next = json_get_str(at, c->names[i]);
		if (!json_is(at, JSON_OBJECT))
			return fail_type(f, at, "an object", err);
		if (next && i + 1 == c->count && !c->value.p)
			text_remove_member(out, f, at, c->names[i]);
		if (!next && c->value.p)
			text_append(out, f, at,
				    &(struct text_addition){
					    .names = c->names + i, .count = c->count - i, .value = c->value });
		if (!next || (i + 1 == c->count && !c->value.p))
			return 0;
		at = next;
	}
	if (!str_eq(json_raw(at), c->value))
		text_replace_value(out, f, at, c->value);
	return 0;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* -ERR_BUSY: another program wrote in between. */
static int try_once(const char *path, const struct change *c, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct stamp before = take_stamp(path);
	int status = settings_file_read_up_to(&f, path, c->limit_bytes, err);

	if (status == 0 && !f.root) {
		settings_file_release(&f);
		status = settings_file_parse(&f, path, STR("{\n}\n"), err);
	}
	if (status == 0)
		status = c->make(&out, &f, c, err);
	if (status < 0 || !out.n)
		return status;
	if (!is_unchanged(path, &before))
		return err_set(err, ERR_BUSY, "%s is being changed by another program", path);
	return file_replace_linked(path, buf_str(&out), err);
}

static int store(const char *path, const struct change *c, struct err *err)
{
	AUTO_CLOSE int lock_fd = -1;
	int status = file_make_parents(path, err);

	if (status == 0)
		status = lock(path, &lock_fd, err);
	if (status < 0)
		return status;
	for (int i = 0; i < TRIES; i++) {
		status = try_once(path, c, err);
		if (status != -ERR_BUSY)
			break;
	}
	return status;
}

int settings_add_rule(const char *path, const char *list, struct str rule, struct err *err)
{
	const struct str names[] = { STR("permissions"), str_from(list) };

	return store(path,
		     &(struct change){ .make = add_text,
				       .names = names,
				       .count = COUNT_OF(names),
				       .kind = "a list of rules",
				       .value = rule,
				       .limit_bytes = SETTINGS_FILE_LIMIT },
		     err);
}

int settings_add_text(const char *path, const char *list, struct str text, struct err *err)
{
	const struct str name = str_from(list);

	return store(path,
		     &(struct change){ .make = add_text,
				       .names = &name,
				       .count = 1,
				       .kind = "a list of texts",
				       .value = text,
				       .limit_bytes = SETTINGS_FILE_LIMIT },
		     err);
}

int settings_set_member_up_to(const char *path, size_t limit_bytes, const struct str *names, size_t count,
			      struct str json, struct err *err)
{
	return store(
		path,
		&(struct change){
			.make = set_member, .names = names, .count = count, .value = json, .limit_bytes = limit_bytes },
		err);
}

int settings_set_member(const char *path, const struct str *names, size_t count, struct str json, struct err *err)
{
	return settings_set_member_up_to(path, SETTINGS_FILE_LIMIT, names, count, json, err);
}
