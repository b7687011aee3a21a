/* SPDX-License-Identifier: MIT
 * path.c - names of files as text: nothing here looks at the file system. */
#include "lib/io/file.h"

char *path_join(struct arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir);

	if (name[0] == '/' || !n)
		return arena_strdup(a, name);
	return arena_printf(a, "%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

/* out holds an absolute path without a slash at its end ("" is the root). */
static void add_parts(struct buf *out, struct str path)
{
	while (path.p) {
		struct str part = str_cut(&path, '/');
		if (!part.n || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			while (out->n && out->p[--out->n] != '/')
				;
			continue;
		}
		buf_addch(out, '/');
		buf_add(out, part.p, part.n);
	}
}

char *path_absolute(struct arena *a, const char *cwd, struct str path)
{
	AUTO_BUF struct buf out = { 0 };
	const char *home = getenv("HOME");

	if (home && path.n && path.p[0] == '~' && (path.n == 1 || path.p[1] == '/')) {
		add_parts(&out, str_from(home));
		path = (struct str){ path.p + 1, path.n - 1 };
	} else if (!path.n || path.p[0] != '/') {
		add_parts(&out, str_from(cwd));
	}
	if (path.n)
		add_parts(&out, path);
	return out.n ? arena_dup(a, out.p, out.n) : arena_strdup(a, "/");
}

bool path_is_inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return !strncmp(path, dir, n) && (path[n] == '\0' || path[n] == '/');
}
