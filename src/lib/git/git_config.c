/* SPDX-License-Identifier: MIT
 * git_config.c - reads the configuration of a repository as git would find it from a directory. */
#include "lib/git/git_config.h"
#include <strings.h>
#include "lib/base/buf.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"

enum { LARGEST_CONFIG = 256 << 10, LARGEST_PATH = 4096 };

/* Sections of which no key names a program, a file or another repository; with keys: only those. A name with a blank is a section with
 * a name of its own: [remote "origin"]. Values that run something and that the environment overrides are harmless as well. */
static const struct {
	const char *section, *keys; /* NULL: all */
} harmless[] = {
	{ "advice", NULL },
	{ "alias", NULL }, /* never in place of a command of git */
	{ "apply", NULL },
	{ "branch", "autosetupmerge autosetuprebase sort" },
	{ "branch ", NULL },
	{ "checkout", NULL },
	{ "color", NULL },
	{ "color ", NULL },
	{ "column", NULL },
	{ "commit", "gpgsign verbose status cleanup" },
	{ "core",
	  "abbrev autocrlf bare bigfilethreshold checkstat commitgraph compression deltabasecachelimit eol filemode fscache "
	  "fsmonitor hidedotfiles hookspath ignorecase ignorestat logallrefupdates longpaths multipackindex pager "
	  "precomposeunicode preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf sharedrepository "
	  "sparsecheckout sparsecheckoutcone splitindex symlinks trustctime untrackedcache whitespace" },
	{ "diff",
	  "algorithm colormoved colormovedws context indentheuristic interhunkcontext mnemonicprefix noprefix renamelimit "
	  "renames statgraphwidth suppressblankempty wserrorhighlight" },
	{ "extensions", "objectformat refstorage worktreeconfig" },
	{ "feature", NULL },
	{ "fetch", "all fsckobjects output parallel prune prunetags writecommitgraph" },
	{ "format", "pretty" },
	{ "fsmonitor", NULL },
	{ "gc", NULL },
	{ "grep", "column extendedregexp fallbacktonoindex fullname linenumber patterntype threads" },
	{ "help", NULL },
	{ "i18n", NULL },
	{ "index", NULL },
	{ "init", "defaultbranch" },
	{ "lfs", "repositoryformatversion" },
	{ "log",
	  "abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap showroot" },
	{ "maintenance", "auto strategy" },
	{ "merge", "branchdesc conflictstyle ff log renamelimit renames stat suppressdest" },
	{ "pack", NULL },
	{ "pull", "ff rebase" },
	{ "push", "autosetupremote default followtags" },
	{ "rebase", NULL },
	{ "receive", NULL },
	{ "remote", "pushdefault" },
	{ "remote ",
	  "url fetch push pushurl tagopt prune prunetags mirror gh-resolved skipdefaultupdate skipfetchall" },
	{ "repack", NULL },
	{ "rerere", NULL },
	{ "stash", NULL },
	{ "status", NULL },
	{ "tag", "sort" },
	{ "user", NULL },
	{ "versionsort", NULL },
};

static bool is_harmless(struct str section, struct str key)
{
	size_t i = 0;

	while (i < COUNT_OF(harmless) && (section.n != strlen(harmless[i].section) ||
					  strncasecmp(section.p, harmless[i].section, section.n) != 0))
		i++;
	if (i == COUNT_OF(harmless) || !harmless[i].keys)
		return i < COUNT_OF(harmless);
	for (struct str rest = str_from(harmless[i].keys); rest.p;) {
		struct str one = str_cut(&rest, ' ');
		if (one.n == key.n && !strncasecmp(one.p, key.p, key.n))
			return true;
	}
	return false;
}

/* The first setting that is not known to be harmless, in the arena. A line that is not understood is one, and so is a value that continues
 * in the next line. */
static const char *find_setting(struct arena *a, struct str text)
{
	struct str section = STR("");

	while (text.p) {
		struct str line = str_trim(str_cut(&text, '\n'));
		if (!line.n || char_in(line.p[0], "#;"))
			continue;
		if (line.p[0] == '[') {
			const char *end = memrchr(line.p, ']', line.n);
			const char *quote = memchr(line.p, '"', line.n);
			if (!end || end != line.p + line.n - 1) /* a key may follow in the same line */
				return arena_str(a, line).p;
			const char *stop = quote ? quote : end;
			section = (struct str){ line.p + 1, (size_t)(stop - line.p - 1) };
			if (memchr(section.p, '.', section.n))
				return arena_str(a, line).p;
			if (!quote)
				section = str_trim(section);
			else if (!str_ends(section, STR(" ")))
				return arena_str(a, line).p;
			while (quote && section.n > 1 && section.p[section.n - 2] == ' ')
				section.n--;
			continue;
		}
		struct str rest = line;
		struct str key = str_trim(str_cut(&rest, '='));
		if (!is_harmless(section, key) || line.p[line.n - 1] == '\\')
			return arena_printf(a, "[" STR_FMT "] " STR_FMT, STR_ARG(str_trim(section)), STR_ARG(key));
	}
	return NULL;
}

/* Where git finds the configuration and the objects of a git directory. In the arena. */
static const char *common_dir(struct arena *a, const char *dir)
{
	AUTO_BUF struct buf text = { 0 };

	if (file_read(path_join(a, dir, "commondir"), LARGEST_PATH, &text, NULL) < 0)
		return dir;
	return path_join(a, dir, arena_str(a, str_trim(buf_str(&text))).p);
}

/* All worktrees of a repository are one: the main checkout. */
static const char *main_root(struct arena *a, const char *dir)
{
	const char *top = git_root_of_anyone(a, dir);
	const char *main_checkout = top ? git_main_checkout(a, top) : NULL;

	return main_checkout ? main_checkout : top;
}

const char *git_config_runs(struct arena *a, const char *cwd, const char *root, bool trusted)
{
	const char *top = git_root_of_anyone(a, cwd);
	const char *trusted_top = trusted && root ? main_root(a, root) : NULL;

	for (char *dir = arena_strdup(a, cwd); *dir;) {
		if (top && !strcmp(dir, top))
			break;
		/* As git decides it: HEAD, and the rest here or where commondir says. */
		const char *store = file_exists(path_join(a, dir, "HEAD")) ? common_dir(a, dir) : NULL;
		if (store && file_exists(path_join(a, store, "objects")) && file_exists(path_join(a, store, "refs")))
			return arena_printf(a, "%s looks like a repository of git", dir);
		*strrchr(dir, '/') = '\0';
	}
	if (!top || (trusted_top && !strcmp(main_root(a, cwd), trusted_top)))
		return NULL;
	const char *dir = git_dir(a, top);
	const char *common = common_dir(a, dir);
	const char *files[] = { path_join(a, dir, "config"), path_join(a, dir, "config.worktree"),
				common != dir ? path_join(a, common, "config") : NULL };
	for (size_t i = 0; i < COUNT_OF(files) && files[i]; i++) {
		AUTO_BUF struct buf text = { 0 };
		struct err err = { 0 };
		if (file_read(files[i], LARGEST_CONFIG, &text, &err) < 0 && err.kind != ERR_NOT_FOUND)
			return arena_printf(a, "%s", err.text);
		const char *setting = find_setting(a, buf_str(&text));
		if (setting)
			return arena_printf(a, "%s has %s", files[i], setting);
	}
	return NULL;
}

static bool keeps_variable(const char *entry)
{
	static const char *const kept[] = { "GIT_SSH",
					    "GIT_SSL_",
					    "GIT_EXEC_PATH=",
					    "GIT_ASKPASS=",
					    "GIT_CONFIG_GLOBAL=",
					    "GIT_CONFIG_SYSTEM=",
					    "GIT_CONFIG_NOSYSTEM=" };

	if (strncmp(entry, "GIT_", 4) != 0)
		return strncmp(entry, "LC_ALL=", 7) != 0 && strncmp(entry, "LANGUAGE=", 9) != 0;
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		if (!strncmp(entry, kept[i], strlen(kept[i])))
			return true;
	return false;
}

const char **git_environment(struct arena *a, size_t more, size_t *ret_n)
{
	const char **env = arena_calloc(a, (str_count((const char *const *)environ) + more + 3) * sizeof *env);
	size_t n = 0;

	for (char **entry = environ; *entry; entry++)
		if (keeps_variable(*entry))
			env[n++] = *entry;
	env[n++] = "LC_ALL=C";
	env[n++] = "GIT_TERMINAL_PROMPT=0";
	*ret_n = n;
	return env;
}
