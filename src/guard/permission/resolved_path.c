/* SPDX-License-Identifier: MIT
 * resolved_path.c - where a path leads, which paths are special, and which files a command names. */
#include "guard/permission/resolved_path.h"
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <strings.h>
#include "guard/shell/shell_options.h"
#include "lib/base/buf.h"
#include "lib/io/file.h"

enum { MAX_LINKS = 40 };

/* Follows links component by component, also one that points to what does not exist yet: a write would make it. */
static const char *resolve_links(struct arena *a, const char *path)
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
			while (at.n && at.p[--at.n] != '/')
				;
			at.p[at.n] = '\0';
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
		const char *slash = rest.p ? "/" : "";
		rest = str_from(arena_printf(a, "%.*s%s" STR_FMT, (int)n, link, slash, STR_ARG(rest)));
	}
	return at.n ? arena_dup(a, at.p, at.n) : "/";
}

struct resolved_path resolved_path_find(struct arena *a, const char *cwd, struct str path)
{
	const char *absolute = path_absolute(a, cwd, path);

	return (struct resolved_path){ .path = absolute, .target = resolve_links(a, absolute) };
}

/* The same, with .. taken after links as the kernel does it: what a shell command opens. */
static struct resolved_path resolve_as_kernel(struct arena *a, const char *cwd, struct str path)
{
	struct resolved_path p = { .path = path_absolute(a, cwd, path) };
	const char *home = getenv("HOME");
	struct str tail = path;

	if (home && path.n && path.p[0] == '~' && (path.n == 1 || path.p[1] == '/')) {
		cwd = home;
		tail = (struct str){ path.p + MIN(path.n, 2), path.n - MIN(path.n, 2) };
	}
	p.target = resolve_links(a, tail.n && tail.p[0] == '/' ? arena_str(a, tail).p
							       : arena_printf(a, "%s/" STR_FMT, cwd, STR_ARG(tail)));
	return p;
}

bool resolved_path_is_inside(struct arena *a, const struct resolved_path *p, const char *dir)
{
	if (!p->target)
		return false;
	if (path_is_inside(p->path, dir) && path_is_inside(p->target, dir))
		return true;
	const char *real = resolve_links(a, dir);
	return real && path_is_inside(p->target, real) &&
	       (path_is_inside(p->path, dir) || path_is_inside(p->path, real));
}

static const char protected_dirs[] = ".git|.hg|.vscode|.idea|.husky|.cargo|.devcontainer|.yarn|.mvn|.claude";

static const char protected_files[] =
	".gitconfig|.gitmodules|.bashrc|.bash_profile|.bash_login|.bash_aliases|.bash_logout|.zshrc|.zprofile|"
	".zshenv|.zlogin|.zlogout|.profile|.envrc|.npmrc|.yarnrc|.yarnrc.yml|.pnp.cjs|.pnp.loader.mjs|"
	".pnpmfile.cjs|bunfig.toml|.bunfig.toml|.bazelrc|.bazelversion|.bazeliskrc|.pre-commit-config.yaml|"
	"lefthook.yml|lefthook.yaml|.lefthook.yml|.lefthook.yaml|gradle-wrapper.properties|"
	"maven-wrapper.properties|.devcontainer.json|.ripgreprc|pyrightconfig.json|.mcp.json|.claude.json";

/* In the home itself: what shells, desktops and programs run or obey, and keys. A session may have been started there. */
static const char home_names[] =
	".ssh|.gnupg|.pam_environment|.xprofile|.xinitrc|.xsession|.xsessionrc|.kshrc|.cshrc|.tcshrc|.login|.logout|.inputrc|"
	".vimrc|.vim|.exrc|.nvimrc|.emacs|.emacs.d|.gdbinit|.lldbinit|.netrc|.curlrc|.wgetrc|.hgrc|.tmux.conf|.screenrc|"
	".direnvrc|.mailcap|.aws|.kube|.docker|.pypirc|bin";
static const char home_config_names[] = "autostart|direnv|environment.d|fish|nvim|pip|systemd";

static bool is_of_home(const char *path)
{
	const char *home = getenv("HOME");
	size_t n = home ? strlen(home) : 0;

	if (n < 2 || strncmp(path, home, n) != 0 || path[n] != '/')
		return false;
	struct str rest = str_from(path + n + 1);
	struct str first = str_cut(&rest, '/');
	struct str second = rest.p ? str_cut(&rest, '/') : STR("");
	return str_is_one_of_nocase(first, home_names) ||
	       (str_is_nocase(first, ".config") && str_is_one_of_nocase(second, home_config_names)) ||
	       (str_is_nocase(first, ".local") &&
		(str_is_nocase(second, "bin") ||
		 (str_is_nocase(second, "share") && str_starts(rest, STR("applications")))));
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
		if (!worktrees && str_is_one_of_nocase(part, protected_dirs))
			return true;
		if (str_is_nocase(before, ".config") && str_is_nocase(part, "git"))
			return true;
		if (!rest.p && str_is_one_of_nocase(part, protected_files))
			return true;
		before = part;
	}
	return is_of_home(path);
}

bool path_is_critical(const char *path, const char *cwd)
{
	const char *home = getenv("HOME");

	return !strchr(path + 1, '/') || path_is_inside(cwd, path) || (home && path_is_inside(home, path));
}

/* Which words of a command are files. Programs that guard/shell/shell_options.c does not list take none that we know of. An
 * option that is not known may have a file as its value. */

enum { EXPANDED_MAX = 1000 };

bool command_only_edits(const struct shell_command *c)
{
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);

	return p && (p->flags & PROGRAM_EDITS) && shell_options_are_harmless(p, c, first);
}

struct str operand_glob_dir(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && !char_in(text.p[i], "*?[{"); i++)
		if (text.p[i] == '/')
			n = i + 1;
	return (struct str){ text.p, n };
}

/* The forms of one command share most of their words. */
static const struct operand *operand_find(const struct operands *o, const struct operand *same)
{
	for (size_t i = 0; o && i < o->count; i++) {
		const struct operand *e = &o->list[i];
		if (e->use == same->use && e->from == same->from && e->known == same->known &&
		    e->globs == same->globs && str_eq(e->text, same->text))
			return e;
	}
	return NULL;
}

static void add_word(struct operands *o, struct arena *a, enum operand_use use, const struct shell_word *w,
		     struct str text, const char *const *cwds)
{
	struct operand one = { .use = use, .text = text, .known = w->literal };

	one.globs = !w->literal && w->globs && !w->splits && !w->quoted && !w->tilde &&
		    !memchr(w->source.p, '$', w->source.n);
	for (; *cwds; cwds++) {
		one.from = *cwds;
		if (operand_find(o, &one))
			continue;
		const struct operand *before = operand_find(o->earlier, &one);
		one.file =
			before ? before->file : resolve_as_kernel(a, *cwds, one.globs ? operand_glob_dir(text) : text);
		*arena_push(a, o->list, o->count) = one;
	}
}

static void add_operands(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);
	enum operand_use nature = shell_runs(c, "cd|pushd|popd") ? OPERAND_ENTER : OPERAND_READ;
	struct shell_part part;

	/* None of its options is known to name a file, and no operand is one: echo */
	if (!p || (!p->letters && p->texts == PROGRAM_NO_FILES))
		return;
	if (p->flags & PROGRAM_WRITES)
		nature = OPERAND_WRITE;
	for (struct shell_parts parts = shell_parts_of(p, c, first); shell_next_part(&parts, &part);) {
		enum operand_use use = nature;
		if (part.kind == PART_OPTION || (part.kind == PART_PATTERN && !*part.marks))
			continue;
		if ((part.kind == PART_TEXT || part.kind == PART_PATTERN) && part.word->literal)
			continue; /* else it may become another word, and that a file */
		if (part.kind == PART_READ || part.kind == PART_WRITE)
			use = part.kind == PART_READ ? OPERAND_READ : OPERAND_WRITE;
		if (part.text.n)
			add_word(o, a, use, part.word, part.text, cwds);
	}
}

void operands_add(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	add_operands(o, a, c, cwds);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		bool harmless = r->target.literal &&
				str_is_one_of(r->target.text, "/dev/null|/dev/stdin|/dev/stdout|/dev/stderr");
		if (r->writes_file && !harmless)
			add_word(o, a, OPERAND_REDIRECT, &r->target, r->target.text, cwds);
		if ((r->op == SHELL_READ || r->op == SHELL_READ_WRITE) && !harmless)
			add_word(o, a, OPERAND_READ, &r->target, r->target.text, cwds);
	}
}

void operands_add_globs(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (!c->words[i].literal && c->words[i].globs)
			add_word(o, a, OPERAND_READ, &c->words[i], c->words[i].text, cwds);
}

bool operands_expand(struct operands *o, struct arena *a, const struct operand *pattern)
{
	const char *text = pattern->text.n && pattern->text.p[0] == '/'
				   ? arena_str(a, pattern->text).p
				   : arena_printf(a, "%s/" STR_FMT, pattern->from, STR_ARG(pattern->text));
	const struct operand one = *pattern;
	glob_t found = { 0 };

	bool whole =
		glob(text, GLOB_NOSORT | GLOB_BRACE, NULL, &found) != GLOB_NOSPACE && found.gl_pathc <= EXPANDED_MAX;
	for (size_t i = 0; i < found.gl_pathc && i < EXPANDED_MAX; i++) {
		struct operand *more = arena_push(a, o->list, o->count);
		*more = one;
		more->known = true;
		more->globs = false;
		more->file = resolve_as_kernel(a, "/", str_from(found.gl_pathv[i]));
	}
	globfree(&found);
	return whole;
}
