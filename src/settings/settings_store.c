/* SPDX-License-Identifier: MIT
 * settings_store.c - adds to a settings file what the user decided.
 *
 * Writers of ours take turns by a lock on the directory, so that nothing is left in a project. Other programs are seen by
 * the stamp of the file: if it has changed between reading and replacing it, all is done again. */
#include "settings/settings_store.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "io/file.h"
#include "json/json_write.h"
#include "settings/text_edit.h"

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
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_set(err, ERR_IO, "cannot lock %s: %m", dir);
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

/* Nothing in out: the rule is there already. */
static int change(struct buf *out, const struct settings_file *f, const char *list, struct str rule, struct err *err)
{
	const struct str names[] = { STR("permissions"), str_from(list) };
	const struct json *permissions = json_get(f->root, "permissions");
	const struct json *rules = json_get(permissions, list);
	size_t there = !!permissions + !!rules;
	AUTO_BUF struct buf value = { 0 };

	if (permissions && !json_is(permissions, JSON_OBJECT))
		return fail_type(f, permissions, "an object", err);
	if (rules && !json_is(rules, JSON_ARRAY))
		return fail_type(f, rules, "a list of rules", err);
	if (has(rules, rule))
		return 0;
	json_add_quoted(&value, rule);
	text_append(out, f,
		    rules         ? rules
		    : permissions ? permissions
				  : f->root,
		    &(struct text_addition){ .names = names + there,
					     .count = COUNT_OF(names) - there,
					     .list = !rules,
					     .value = buf_str(&value) });
	return 0;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* -ERR_BUSY: somebody else wrote in between. */
static int try_once(const char *path, const char *list, struct str rule, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct stamp before = take_stamp(path);
	int status = settings_file_read(&f, path, err);

	if (status == 0 && !f.root) {
		settings_file_release(&f);
		status = settings_file_parse(&f, path, STR("{\n}\n"), err);
	}
	if (status == 0)
		status = change(&out, &f, list, rule, err);
	if (status < 0 || !out.n)
		return status;
	if (!is_unchanged(path, &before))
		return err_set(err, ERR_BUSY, "%s is being changed by another program", path);
	return file_replace(path, out.p, out.n, err);
}

int settings_add_rule(const char *path, const char *list, struct str rule, struct err *err)
{
	AUTO_CLOSE int lock_fd = -1;
	int status = file_make_parents(path, err);

	if (status == 0)
		status = lock(path, &lock_fd, err);
	if (status < 0)
		return status;
	for (int i = 0; i < TRIES; i++) {
		status = try_once(path, list, rule, err);
		if (status != -ERR_BUSY)
			break;
	}
	return status;
}
