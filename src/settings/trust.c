/* SPDX-License-Identifier: MIT
 * trust.c - the folders that the user trusts.
 *
 * Writers of ours take turns by a lock on a file of its own beside the state file. Programs that do not know that lock are
 * seen by the stamp of the state file: if it has changed between reading and replacing it, all is done again. */
#include "settings/trust.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "io/file.h"
#include "settings/git_head.h"
#include "settings/settings_file.h"
#include "settings/trust_int.h"

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

bool trust_covers(const struct trust *t, const char *folder)
{
	AUTO_FREE char *real = realpath(folder, NULL);

	for (size_t i = 0; real && i < t->count; i++)
		if (t->folders[i][0] == '/' && path_is_inside(real, t->folders[i]))
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

/* The lock dies with its descriptor. The file stays: removing it would let two writers hold locks on two files. */
static int lock(const char *state_file, int *ret_fd, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	buf_addf(&path, "%s.cadre-lock", state_file);
	AUTO_CLOSE int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path.p);
	while (fcntl(fd, F_OFD_SETLKW, &whole) < 0)
		if (errno != EINTR)
			return err_set(err, ERR_IO, "cannot lock %s: %m", path.p);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* Keys may be put into the file later, so it is for its owner's eyes from the start. */
static int create(const char *state_file, struct err *err)
{
	AUTO_CLOSE int fd = open(state_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || write(fd, "{}\n", 3) != 3)
		return err_set(err, ERR_IO, "cannot write %s: %m", state_file);
	return 0;
}

static bool is_unchanged(const char *path, const struct stat *before)
{
	struct stat now;

	return stat(path, &now) == 0 && now.st_ino == before->st_ino && now.st_size == before->st_size &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec && now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/* -ERR_BUSY: somebody else wrote in between. */
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
	return file_replace(state_file, new.p, new.n, err);
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
	int status = file_make_parents(state_file, err);
	if (status == 0)
		status = lock(state_file, &lock_fd, err);
	if (status == 0)
		status = create(state_file, err);
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
