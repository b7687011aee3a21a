/* SPDX-License-Identifier: MIT
 * copy.c - whole directories. A reader sees the old one or the new one, never half of one. */
#include "defs/plugin/fetch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"

struct copy {
	const char *root; /* real path that no link may leave */
	size_t files, bytes;
	struct err *err;
};

/* ---- copying ---- */

static int copy_directory(struct copy *c, const char *from, const char *to, unsigned depth);

static int copy_entry(struct copy *c, const char *from, const char *to, unsigned depth)
{
	AUTO_FREE char *real = realpath(from, NULL);
	struct stat st;

	if (!real || stat(real, &st) < 0)
		return err_set(c->err, ERR_IO, "cannot read %s: %m", from);
	if (!path_is_inside(real, c->root))
		return err_set(c->err, ERR_DENIED, "%s is a link that leads out of the plugin", from);
	if (++c->files > COPY_FILE_LIMIT)
		return err_set(c->err, ERR_LIMIT, "more than %d files", COPY_FILE_LIMIT);
	if (S_ISDIR(st.st_mode))
		return copy_directory(c, real, to, depth + 1);
	if (S_ISREG(st.st_mode)) {
		char block[64 << 10];
		AUTO_CLOSE int in = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (in < 0)
			return err_set(c->err, ERR_IO, "cannot open %s: %m", real);
		AUTO_CLOSE int out =
			open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & S_IXUSR ? 0755 : 0644);
		if (out < 0)
			return err_set(c->err, ERR_IO, "cannot write %s: %m", to);
		for (ssize_t n; (n = read(in, block, sizeof block));) {
			if (n < 0 || write(out, block, (size_t)n) != n)
				return err_set(c->err, ERR_IO, "cannot copy %s: %m", real);
			c->bytes += (size_t)n;
			if (c->bytes > COPY_BYTE_LIMIT)
				return err_set(c->err, ERR_LIMIT, "more than %d MB", COPY_BYTE_LIMIT >> 20);
		}
		return 0;
	}
	return err_set(c->err, ERR_DENIED, "%s is neither a file nor a directory", from);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int copy_directory(struct copy *c, const char *from, const char *to, unsigned depth)
{
	CLEANUP(close_dir) DIR *dir = opendir(from);
	int status = 0;

	if (!dir || (mkdir(to, 0755) < 0 && errno != EEXIST))
		return err_set(c->err, ERR_IO, "cannot copy %s: %m", from);
	if (depth > COPY_DEPTH_LIMIT)
		return err_set(c->err, ERR_LIMIT, "%s: more than %d directories in each other", from, COPY_DEPTH_LIMIT);
	for (struct dirent *e; status == 0 && (e = readdir(dir));) {
		AUTO_ARENA struct arena a = { 0 };
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, ".git"))
			status = copy_entry(c, path_join(&a, from, e->d_name), path_join(&a, to, e->d_name), depth);
	}
	return status;
}

int directory_copy(const char *from, const char *to, struct err *err)
{
	AUTO_FREE char *real = realpath(from, NULL);
	struct copy c = { .root = real, .err = err };

	if (!real)
		return err_set(err, ERR_NOT_FOUND, "cannot read %s: %m", from);
	int status = copy_directory(&c, real, to, 0);
	if (status < 0)
		(void)directory_remove(to, NULL);
	return status;
}

/* ---- removing ---- */

int directory_remove(const char *path, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = xstrndup(path, slash ? (size_t)(slash - path) + 1 : 0);

	int status = file_at_find(*parent ? parent : ".", path + strlen(parent), 0, &at, err);
	if (status == -ERR_NOT_FOUND)
		return 0;
	return status < 0 ? status : file_at_remove_tree(&at, err);
}

/* ---- putting in place ---- */

static char *beside(struct arena *a, const char *target)
{
	char random[9];

	id_random(random, sizeof random - 1, "0123456789abcdefghijklmnopqrstuvwxyz");
	const char *slash = strrchr(target, '/');
	return arena_printf(a, "%.*s/.cadre-%s.tmp", (int)(slash - target), target, random);
}

int directory_begin(struct arena *a, const char *target, const char **ret_temp, struct err *err)
{
	char *temp = beside(a, target);
	int status = file_make_parents(temp, err);

	if (status < 0)
		return status;
	if (mkdir(temp, 0700) < 0)
		return err_set(err, ERR_IO, "cannot make the directory %s: %m", temp);
	*ret_temp = temp;
	return 0;
}

int directory_put(const char *temp, const char *target, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char *old = beside(&a, target);
	bool replaced = rename(target, old) == 0;

	if (rename(temp, target) == 0) {
		(void)directory_remove(old, NULL);
		return 0;
	}
	int status = err_set(err, ERR_IO, "cannot move %s into place: %m", target);
	if (replaced)
		(void)rename(old, target);
	(void)directory_remove(temp, NULL);
	return status;
}
