/* SPDX-License-Identifier: MIT
 * unpack.c - names are only ever opened below the descriptor of the target, part by part, without links. */
#include "defs/plugin/unpack.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include "lib/base/utf8.h"

enum { NAME_SHOWN = 80 };

const char *unpack_name_problem(struct str name)
{
	unsigned depth = 0;

	if (!name.n || name.n > UNPACK_NAME_LIMIT)
		return "has a name that is empty or too long";
	if (name.p[0] == '/')
		return "has an absolute path";
	if (!utf8_valid(name))
		return "has a name that is not UTF-8";
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < ' ' || name.p[i] == 0x7f || name.p[i] == '\\')
			return "has a control character or a backslash in its name";
	for (struct str rest = str_ends(name, STR("/")) ? (struct str){ name.p, name.n - 1 } : name; rest.p;) {
		struct str part = str_cut(&rest, '/');
		if (!part.n || str_is(part, ".") || str_is(part, ".."))
			return "has a path that leads elsewhere";
		if (part.n > NAME_MAX || ++depth > UNPACK_DEPTH_LIMIT)
			return "has a path that is too deep or too long";
	}
	return NULL;
}

int unpack_refuse(struct unpack *u, struct str name, const char *what)
{
	return err_set(u->err, ERR_PARSE, "'%.*s' %s", (int)MIN(name.n, NAME_SHOWN), name.p, what);
}

static int system_error(struct unpack *u, struct str name)
{
	if (errno == EEXIST || errno == ENOTDIR || errno == ELOOP || errno == EISDIR)
		return unpack_refuse(u, name, "is in the way of another name");
	return err_set(u->err, ERR_IO, "cannot unpack '%.*s': %m", (int)MIN(name.n, NAME_SHOWN), name.p);
}

/* Opens, and makes where needed, the directory of a name; *rest becomes the last part. Returns a descriptor, or -1. */
static int enter(int dir, struct str *rest)
{
	AUTO_CLOSE int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char part[NAME_MAX + 1];

	while (at >= 0 && memchr(rest->p, '/', rest->n)) {
		struct str name = str_cut(rest, '/');
		memcpy(part, name.p, name.n);
		part[name.n] = '\0';
		if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
			return -1;
		int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	int entered = at;
	at = -1;
	return entered;
}

int unpack_create(struct unpack *u, struct str name, bool executable, int *ret_fd)
{
	struct str rest = name;
	char last[NAME_MAX + 1];
	AUTO_CLOSE int dir = enter(u->dir, &rest);

	if (dir < 0)
		return system_error(u, name);
	*ret_fd = -1;
	if (!rest.n)
		return 0; /* a directory */
	memcpy(last, rest.p, rest.n);
	last[rest.n] = '\0';
	*ret_fd = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, executable ? 0755 : 0644);
	return *ret_fd < 0 ? system_error(u, name) : 0;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);
		if (done < 0 && errno != EINTR)
			return -1;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

int unpack_write(struct unpack *u, struct str name, int fd, const void *p, size_t n)
{
	u->total += n;
	if (u->total > UNPACK_LIMIT)
		return err_set(u->err, ERR_LIMIT, "unpacks to more than %d MB", UNPACK_LIMIT >> 20);
	return write_all(fd, p, n) < 0 ? system_error(u, name) : 0;
}
