/* SPDX-License-Identifier: MIT
 * control_place.c - where live sessions listen. */
#include "product/observe/control.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include "lib/base/id.h"
#include "lib/io/file.h"

enum { STALE_S = 60 };

static const char suffix[] = ".sock";

/* The name of a socket has little room; where the runtime directory leaves too little, everybody goes to /tmp. */
static bool has_room(const char *dir)
{
	struct sockaddr_un name;

	return strlen(dir) + 1 + UUID_LEN + sizeof suffix <= sizeof name.sun_path;
}

static char *choose_dir(struct arena *a)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *dir = runtime && runtime[0] == '/' ? arena_printf(a, "%s/cadre", runtime) : NULL;

	return dir && has_room(dir) ? dir : arena_printf(a, "/tmp/cadre-%u", (unsigned)getuid());
}

int control_dir(struct arena *a, bool make, const char **ret_dir, struct err *err)
{
	char *dir = choose_dir(a);

	if (make && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot make %s: %m", dir);
	/* A directory that another user created or can write to is not trusted. */
	struct stat st;
	if (lstat(dir, &st) < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %m", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 077))
		return err_set(err, ERR_DENIED, "%s must be a directory of yours that is closed to others (mode 0700)",
			       dir);
	*ret_dir = dir;
	return 0;
}

char *control_path(struct arena *a, const char *dir, const char *session)
{
	return arena_printf(a, "%s/%s%s", dir, session, suffix);
}

void control_each(const char *dir, control_place_fn *fn, void *data)
{
	struct str tail = STR(".sock");
	DIR *d = opendir(dir);

	for (const struct dirent *e; d && (e = readdir(d));) {
		struct str name = str_from(e->d_name);
		if (!str_ends(name, tail) || !id_is_uuid((struct str){ name.p, name.n - tail.n }))
			continue;
		AUTO_ARENA struct arena a = { 0 };
		fn(data, arena_dup(&a, name.p, name.n - tail.n), path_join(&a, dir, e->d_name));
	}
	if (d)
		closedir(d);
}

int control_connect(const char *path, struct err *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, ERR_IO, "socket: %m");
	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	if (connect(fd, (struct sockaddr *)&name, sizeof name) == 0)
		return fd;
	enum err_kind kind = errno == ECONNREFUSED || errno == ENOENT ? ERR_NOT_FOUND
			     : errno == EAGAIN                        ? ERR_BUSY
								      : ERR_IO;
	err_set(err, kind, "%s: %m", path);
	close(fd);
	return -(int)err->kind;
}

/* Between bind and listen a socket refuses too, so a young one is left alone. */
static void sweep_one(void *data, const char *session, const char *path)
{
	struct stat st;
	struct err err = { 0 };

	(void)data;
	(void)session;
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || time(NULL) - st.st_mtime < STALE_S)
		return;
	int fd = control_connect(path, &err);
	if (fd >= 0)
		close(fd);
	else if (err.kind == ERR_NOT_FOUND)
		(void)unlink(path);
}

void control_sweep(const char *dir)
{
	control_each(dir, sweep_one, NULL);
}

int control_listen(const char *path, struct err *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, ERR_IO, "socket: %m");
	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	(void)unlink(path); /* of an earlier process of this session */
	if (bind(fd, (struct sockaddr *)&name, sizeof name) < 0 || listen(fd, CONTROL_VISITS) < 0)
		return err_set(err, ERR_IO, "cannot listen on %s: %m", path);
	int taken = fd;
	fd = -1;
	return taken;
}
