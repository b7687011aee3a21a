/* SPDX-License-Identifier: MIT
 * place.c - where a path leads, and which paths are special. */
#include "guard/permission/place.h"
#include <errno.h>
#include <limits.h>
#include <strings.h>
#include "lib/base/buf.h"
#include "lib/io/file.h"

enum { MAX_LINKS = 40 };

/* ---- links ----------------------------------------------------------------------------------------------------- */

static void go_up(struct buf *at)
{
	while (at->n && at->p[--at->n] != '/')
		;
	if (at->p)
		at->p[at->n] = '\0';
}

static void push(struct arena *a, struct str *rest, struct str link)
{
	AUTO_BUF struct buf joined = { 0 };

	buf_add(&joined, link.p, link.n);
	if (rest->p) {
		buf_addch(&joined, '/');
		buf_add(&joined, rest->p, rest->n);
	}
	*rest = arena_str(a, buf_str(&joined));
}

/* Follows links component by component, also one that points to what does not exist yet: a write would make it. */
static const char *resolve(struct arena *a, const char *path)
{
	AUTO_BUF struct buf at = { 0 };
	struct str rest = str_from(path);
	unsigned links = 0;
	bool exists = true;
	char link[PATH_MAX];

	buf_addstr(&at, "");
	while (rest.p) {
		struct str part = str_cut(&rest, '/');
		if (!part.n || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			go_up(&at);
			exists = true;
			continue;
		}
		size_t before = at.n;
		buf_addch(&at, '/');
		buf_add(&at, part.p, part.n);
		ssize_t n = exists ? readlink(at.p, link, sizeof link) : -1;
		if (n < 0) {
			exists = exists && errno != ENOENT;
			continue;
		}
		if (++links > MAX_LINKS || n == sizeof link)
			return NULL;
		at.n = link[0] == '/' ? 0 : before;
		push(a, &rest, (struct str){ link, (size_t)n });
	}
	return at.n ? arena_dup(a, at.p, at.n) : "/";
}

struct place place_find(struct arena *a, const char *cwd, struct str path)
{
	struct place p = { .path = path_absolute(a, cwd, path) };

	p.target = resolve(a, p.path);
	return p;
}

struct place place_find_raw(struct arena *a, const char *cwd, struct str path)
{
	struct place p = { .path = path_absolute(a, cwd, path) };
	const char *home = getenv("HOME");
	struct str tail = path;

	if (home && path.n && path.p[0] == '~' && (path.n == 1 || path.p[1] == '/')) {
		cwd = home;
		tail = (struct str){ path.p + MIN(path.n, 2), path.n - MIN(path.n, 2) };
	}
	p.target = resolve(a, tail.n && tail.p[0] == '/' ? arena_str(a, tail).p
							 : arena_printf(a, "%s/" STR_FMT, cwd, STR_ARG(tail)));
	return p;
}

bool place_is_inside(struct arena *a, const struct place *p, const char *dir)
{
	if (!p->target)
		return false;
	if (path_is_inside(p->path, dir) && path_is_inside(p->target, dir))
		return true;
	const char *real = resolve(a, dir);
	return real && path_is_inside(p->target, real) &&
	       (path_is_inside(p->path, dir) || path_is_inside(p->path, real));
}

/* ---- protected ------------------------------------------------------------------------------------------------- */

static const char *const protected_dirs[] = { ".git",          ".vscode", ".idea", ".husky", ".cargo",
					      ".devcontainer", ".yarn",   ".mvn",  ".claude" };

static const char *const protected_files[] = {
	".gitconfig",
	".gitmodules",
	".bashrc",
	".bash_profile",
	".bash_login",
	".bash_aliases",
	".bash_logout",
	".zshrc",
	".zprofile",
	".zshenv",
	".zlogin",
	".zlogout",
	".profile",
	".envrc",
	".npmrc",
	".yarnrc",
	".yarnrc.yml",
	".pnp.cjs",
	".pnp.loader.mjs",
	".pnpmfile.cjs",
	"bunfig.toml",
	".bunfig.toml",
	".bazelrc",
	".bazelversion",
	".bazeliskrc",
	".pre-commit-config.yaml",
	"lefthook.yml",
	"lefthook.yaml",
	".lefthook.yml",
	".lefthook.yaml",
	"gradle-wrapper.properties",
	"maven-wrapper.properties",
	".devcontainer.json",
	".ripgreprc",
	"pyrightconfig.json",
	".mcp.json",
	".claude.json",
};

static bool is_in(const char *const *list, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_is_nocase(name, list[i]))
			return true;
	return false;
}

/* Case is ignored: some file systems do so too. Worktrees lie below .claude and are made to be written. */
bool path_is_protected(const char *path)
{
	struct str rest = str_from(path);
	struct str before = STR("");

	while (rest.p) {
		struct str part = str_cut(&rest, '/');
		struct str after = rest;
		struct str next = rest.p ? str_cut(&after, '/') : STR("");
		bool worktrees = str_is_nocase(part, ".claude") && str_is(next, "worktrees") && after.p;
		if (!worktrees && is_in(protected_dirs, COUNT_OF(protected_dirs), part))
			return true;
		if (str_is_nocase(before, ".config") && str_is_nocase(part, "git"))
			return true;
		if (!rest.p && is_in(protected_files, COUNT_OF(protected_files), part))
			return true;
		before = part;
	}
	return false;
}

/* ---- critical -------------------------------------------------------------------------------------------------- */

bool path_is_critical(const char *path, const char *cwd)
{
	const char *home = getenv("HOME");

	return !strchr(path + 1, '/') || path_is_inside(cwd, path) || (home && path_is_inside(home, path));
}
