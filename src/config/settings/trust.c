/* SPDX-License-Identifier: MIT
 * trust.c - the folders that the user trusts. How writers take turns: state_file.h. */
#include "config/settings/trust.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/git/git_head.h"
#include "config/settings/settings_file.h"
#include "config/settings/state_file.h"
#include "config/settings/trust_int.h"

enum { TRIES = 20 };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int trust_read(struct trust *t, const char *state_file, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };
	int status = settings_file_read_up_to(&file, state_file, TRUST_FILE_LIMIT, err);

	*t = (struct trust){ 0 };
	if (status < 0)
		return status;
	const struct json *projects = json_get(file.root, "projects");
	t->folders = arena_alloc(&t->arena, (projects ? projects->count + 1 : 1) * sizeof *t->folders);
	for (struct json_member m = json_members(projects); m.key; m = json_member_next(projects, m)) {
		const char *folder = json_cstr(m.key, &t->arena);
		if (folder && json_bool(json_get(m.value, "hasTrustDialogAccepted")))
			t->folders[t->count++] = folder;
	}
	return 0;
}

void trust_release(struct trust *t)
{
	arena_release(&t->arena);
	*t = (struct trust){ 0 };
}

bool trust_has(const struct trust *t, const char *folder)
{
	AUTO_FREE char *real = realpath(folder, NULL);

	for (size_t i = 0; real && i < t->count; i++)
		if (!strcmp(t->folders[i], real))
			return true;
	return false;
}

const char *trust_folder(struct arena *a, const char *dir)
{
	const char *home = getenv("HOME");
	const char *root = git_root(a, dir);
	const char *main_root = root ? git_main_checkout(a, root) : NULL;

	if (main_root)
		root = main_root;
	return root && !(home && !strcmp(root, home)) ? root : arena_strdup(a, dir);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool is_unchanged(const char *path, const struct stat *before)
{
	struct stat now;

	return stat(path, &now) == 0 && now.st_ino == before->st_ino && now.st_size == before->st_size &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec && now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/* -ERR_BUSY: another program wrote in between. */
static int try_once(const char *state_file, struct str folder, bool trusted, bool *ret_changed, struct err *err)
{
	AUTO_BUF struct buf old = { 0 };
	AUTO_BUF struct buf new = { 0 };
	struct stat before;

	if (stat(state_file, &before) < 0)
		return err_set(err, ERR_IO, "cannot read %s: %m", state_file);
	int status = file_read(state_file, TRUST_FILE_LIMIT, &old, err);
	if (status < 0)
		return status;
	status = trust_edit(&new, state_file, buf_str(&old), folder, trusted, ret_changed, err);
	if (status < 0 || !*ret_changed)
		return status;
	if (!is_unchanged(state_file, &before))
		return err_set(err, ERR_BUSY, "%s is being changed by another program", state_file);
	return file_replace_linked(state_file, buf_str(&new), err);
}

int trust_record(struct arena *a, const char *state_file, const char *folder, bool trusted, const char **ret_folder,
		 bool *ret_changed, struct err *err)
{
	AUTO_FREE char *real = realpath(folder, NULL);
	AUTO_CLOSE int lock_fd = -1;
	struct stat st;

	if (!real || stat(real, &st) < 0)
		return err_set(err, ERR_USAGE, "%s: %m", folder);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s: not a directory", folder);
	int status = state_file_lock(state_file, &lock_fd, err);
	for (int i = 0; status == 0 && i < TRIES; i++) {
		status = try_once(state_file, str_from(real), trusted, ret_changed, err);
		if (status != -ERR_BUSY)
			break;
		status = i + 1 < TRIES ? 0 : status;
	}
	if (status == 0)
		*ret_folder = arena_strdup(a, real);
	return status;
}
