/* SPDX-License-Identifier: MIT
 * fetch.c - gets repositories by git and packages by npm. */
#include "defs/plugin/fetch.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/base/buf.h"
#include "lib/git/git_config.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/spawn.h"
#include "lib/base/id.h"
#include "lib/io/file_at.h"
#include "lib/io/url.h"

struct program {
	const char *const *argv; /* argv[0] is found on PATH */
	const char *const *envp;
	const char *cwd;  /* NULL: ours */
	const char *what; /* for the error: "git clone ADDRESS" */
};

enum { CAP_MS = 10 * 60 * 1000, OUTPUT_LIMIT = 16 << 10, OUTPUT_SHOWN = 140 };

/* Runs a program and waits for it: no terminal, at most ten minutes. It has a loop and a spawner of its own, so a loop of the
 * caller never runs inside; what the program leaves running is ended. -ERR_IO with what it printed, if it ends with anything
 * but 0; -ERR_TIMEOUT. */
static int program_run(const struct program *p, struct err *err)
{
	struct child_options options = { .argv = p->argv, .envp = p->envp, .cwd = p->cwd };
	struct loop *loop = loop_new(0);
	struct spawner *spawner = spawner_new(loop);
	AUTO_BUF struct buf output = { 0 };
	int ended = 0;
	int status = spawn_wait(spawner, &options, CAP_MS, OUTPUT_LIMIT, &output, &ended, err);
	struct str said = str_trim(buf_str(&output));

	if (status > 0)
		status = err_set(err, ERR_TIMEOUT, "%.80s took more than ten minutes", p->what);
	else if (status == 0 && (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0))
		status = err_set(err, ERR_IO, "%.80s: %.*s", p->what, (int)MIN(said.n, (size_t)OUTPUT_SHOWN), said.p);
	spawner_free(spawner);
	loop_run(loop); /* lets closing handles close */
	loop_free(loop);
	return status;
}

#define GIT "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"

/* ext:: would run a program. A redirect leads to no weaker protocol, and no server to files of this machine; an address of the user's
 * settings (insteadOf) may stand for https. */
static const char *git_protocols(const char *url)
{
	static const char *const rows[][2] = { { "https:", "GIT_ALLOW_PROTOCOL=https:ssh" },
					       { "http:", "GIT_ALLOW_PROTOCOL=http:https:ssh" },
					       { "git:", "GIT_ALLOW_PROTOCOL=git:https:ssh" },
					       { "ssh:", "GIT_ALLOW_PROTOCOL=ssh" },
					       { "git@", "GIT_ALLOW_PROTOCOL=ssh" } };

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (!strncmp(url, rows[i][0], strlen(rows[i][0])))
			return rows[i][1];
	return "GIT_ALLOW_PROTOCOL=file";
}

static int git_run(const char *const *argv, const char *url, const char *what, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	size_t n;
	const char **env = git_environment(&a, 1, &n);

	env[n] = git_protocols(url);
	return program_run(&(struct program){ .argv = argv, .envp = env, .what = what }, err);
}

/* Without the user and password of an address. */
static const char *address_shown(struct arena *a, const char *url)
{
	const char *host = strstr(url, "://");
	const char *at = host ? memchr(host + 3, '@', strcspn(host + 3, "/?#")) : NULL;

	return at ? arena_printf(a, "%.*s%s", (int)(host + 3 - url), url, at + 1) : url;
}

/* A commit that is pinned may be anywhere in the history, so all of it comes, and no branch is unpacked before. */
int git_clone(const struct git_source *source, const char *dir, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *argv[20] = { GIT, "clone", "--quiet", "--no-recurse-submodules" };
	size_t n = 10;

	argv[n++] = source->sha ? "--no-checkout" : "--depth=1";
	if (source->ref) {
		argv[n++] = "--branch";
		argv[n++] = source->ref;
	}
	argv[n++] = "--";
	argv[n++] = source->url;
	argv[n] = dir;
	int status = git_run(argv, source->url, arena_printf(&a, "git clone %s", address_shown(&a, source->url)), err);
	if (status < 0 || !source->sha)
		return status;
	const char *const checkout[] = { GIT, "-C", dir, "checkout", "--quiet", "--detach", source->sha, NULL };
	return git_run(checkout, source->url, arena_printf(&a, "git checkout %s", source->sha), err);
}

static bool npm_is_part(struct str part)
{
	return part.n <= 214 && str_is_name(part, "._-") && part.p[0] != '.' && part.p[0] != '-';
}

int npm_source_read(struct arena *a, const struct json *source, struct npm_source *ret_source, struct err *err)
{
	struct npm_source s = { .package = json_cstr(json_get(source, "package"), a),
				.version = json_cstr(json_get(source, "version"), a),
				.registry = json_cstr(json_get(source, "registry"), a) };

	struct str name = str_from(s.package);
	struct str scope = str_starts(name, STR("@")) ? str_cut(&name, '/') : STR("@x");
	if (!s.package || !name.p || !npm_is_part(name) || !npm_is_part(str_tail(scope, 1)))
		return err_set(err, ERR_USAGE, "package: expected the name of an npm package");
	/* What has a slash or a colon could be an address or a path, which npm would take as well. */
	struct str version = str_from(s.version);
	if (json_get(source, "version") &&
	    (!str_is_name(version, ".+-^~*<>=| ") || version.p[0] == '-' || version.n > 100))
		return err_set(err, ERR_USAGE, "version: expected a version, a range or a tag");
	struct str address = str_from(s.registry);
	bool is_registry = str_starts(address, STR("https://")) || (s.registry && url_is_loopback(s.registry));
	if (json_get(source, "registry") && !is_registry)
		return err_set(err, ERR_USAGE, "registry: expected an address that begins with https://");
	*ret_source = s;
	return 0;
}

int npm_fetch(const struct npm_source *s, const char *dir, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	const char *spec = arena_printf(&a, "%s%s%s", s->package, s->version ? "@" : "", s->version ? s->version : "");
	const char *argv[12] = { "npm", "pack", "--ignore-scripts", "--silent", "--pack-destination" };
	size_t n = 5;
	const char *archive = NULL;
	const char *temp = NULL; /* gcc does not see that it is set */

	int status = directory_begin(&a, dir, &temp, err);
	if (status < 0)
		return status;
	argv[n++] = temp;
	if (s->registry) {
		argv[n++] = "--registry";
		argv[n++] = s->registry;
	}
	argv[n++] = "--";
	argv[n] = spec;
	/* In a directory of its own: no project's configuration applies. */
	status = program_run(
		&(struct program){ .argv = argv, .cwd = temp, .what = arena_printf(&a, "npm pack %s", spec) }, err);
	AUTO_DIR DIR *list = status == 0 ? opendir(temp) : NULL;
	for (struct dirent *e; (e = dir_next(list));)
		if (str_ends(str_from(e->d_name), STR(".tgz")))
			archive = path_join(&a, temp, e->d_name);
	if (status == 0)
		status = archive ? file_read(archive, UNPACK_FILE_LIMIT, &bytes, err)
				 : err_set(err, ERR_IO, "npm pack left no archive");
	if (status == 0)
		status = unpack_archive(UNPACK_TARBALL, buf_str(&bytes), dir, err);
	(void)directory_remove(temp, NULL);
	return status < 0 ? err_wrap(err, "the package %.80s", s->package) : 0;
}

/* Whole directories. A reader sees the old one or the new one, never half of one. */

struct copy {
	const char *root; /* real path that no link may leave */
	size_t files, bytes;
	struct err *err;
};

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

static int copy_directory(struct copy *c, const char *from, const char *to, unsigned depth)
{
	AUTO_DIR DIR *dir = opendir(from);
	int status = 0;

	if (!dir || (mkdir(to, 0755) < 0 && errno != EEXIST))
		return err_set(c->err, ERR_IO, "cannot copy %s: %m", from);
	if (depth > COPY_DEPTH_LIMIT)
		return err_set(c->err, ERR_LIMIT, "%s: more than %d directories in each other", from, COPY_DEPTH_LIMIT);
	for (struct dirent *e; status == 0 && (e = dir_next(dir));) {
		AUTO_ARENA struct arena a = { 0 };
		if (strcmp(e->d_name, ".git") != 0)
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

static char *path_beside(struct arena *a, const char *target)
{
	char random[9];

	id_random(random, sizeof random - 1, "0123456789abcdefghijklmnopqrstuvwxyz");
	const char *slash = strrchr(target, '/');
	return arena_printf(a, "%.*s/.cadre-%s.tmp", (int)(slash - target), target, random);
}

int directory_begin(struct arena *a, const char *target, const char **ret_temp, struct err *err)
{
	char *temp = path_beside(a, target);
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
	char *old = path_beside(&a, target);
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
