/* SPDX-License-Identifier: MIT
 * state_file.c - changes in the state file. */
#include "config/settings/state_file.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/io/file.h"
#include "config/settings/settings_store.h"
#include "config/settings/trust.h"

/* The lock file stays: removing it would let two writers hold locks on two files. */
static int lock(const char *state_file, int *ret_fd, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };

	buf_addf(&path, "%s.cadre-lock", state_file);
	AUTO_CLOSE int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path.p);
	int status = file_lock_byte(fd, -1, path.p, err);
	if (status < 0)
		return status;
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

int state_file_lock(const char *state_file, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	int status = file_make_parents(state_file, err);

	if (status == 0)
		status = lock(state_file, &fd, err);
	if (status == 0)
		status = create(state_file, err);
	if (status < 0)
		return status;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int state_file_set(const char *state_file, const struct str *names, size_t count, struct str json, struct err *err)
{
	AUTO_CLOSE int lock_fd = -1;
	int status = state_file_lock(state_file, &lock_fd, err);

	if (status < 0)
		return status;
	return settings_set_member_up_to(state_file, TRUST_FILE_LIMIT, names, count, json, err);
}
