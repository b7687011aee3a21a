/* SPDX-License-Identifier: MIT
 * profile.c - from belief to paths. A command that passed as reading may read what a command of its kind may name without a
 * question (guard/permission/evaluate_file.c), and what programs need to run at all. */
#include "guard/sandbox/profile.h"
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include "lib/git/git_head.h"
#include "lib/git/git_objects.h"
#include "lib/io/file.h"
#include "guard/permission/permission.h"
#include "guard/permission/resolved_path.h"
#include "guard/sandbox/sandbox_int.h"
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

static const char *real_path(struct arena *a, const char *path)
{
	char real[PATH_MAX];

	return path && realpath(path, real) ? arena_strdup(a, real) : path;
}

static struct file_id file_id_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? (struct file_id){ 0 } : (struct file_id){ st.st_dev, st.st_ino };
}

bool profile_identify(const struct paths *programs, struct file_id *ids)
{
	bool moved = false;

	for (size_t i = 0; i < programs->count; i++) {
		struct file_id now = file_id_of(programs->list[i]);
		moved = moved || now.dev != ids[i].dev || now.ino != ids[i].ino;
		ids[i] = now;
	}
	return moved;
}

/* A file that exists, and the directories above it: a directory that is none of them does not hold it, whatever links lead there. */
struct lineage {
	size_t count; /* 0: not known */
	struct file_id list[64];
};

static void lineage_of(struct lineage *l, struct arena *a, const char *target)
{
	char *up = arena_strdup(a, target);

	for (l->count = 0; l->count < COUNT_OF(l->list); l->count++) {
		l->list[l->count] = file_id_of(up[0] ? up : "/");
		if (!l->list[l->count].ino)
			break;
		if (!up[0]) {
			l->count++;
			return;
		}
		*strrchr(up, '/') = '\0';
	}
	l->count = 0;
}

/* ids: of these paths; NULL: they are not known. */
static bool paths_hold_known(const struct paths *p, const char *path, const struct file_id *ids)
{
	AUTO_ARENA struct arena a = { 0 };
	struct resolved_path file = resolved_path_find(&a, "/", str_from(path));
	struct lineage above;

	if (!file.target)
		return false;
	for (size_t i = 0; i < p->count; i++) /* links in the lists are rare, and to follow them takes time */
		if (path_is_inside(path, p->list[i]) && path_is_inside(file.target, p->list[i]))
			return true;
	lineage_of(&above, &a, file.target);
	for (size_t i = 0; i < p->count; i++) {
		struct file_id id = ids ? ids[i] : file_id_of(p->list[i]);
		bool possible = !above.count;
		for (size_t k = 0; k < above.count && !possible; k++)
			possible = above.list[k].ino == id.ino && above.list[k].dev == id.dev;
		if (possible && resolved_path_is_inside(&a, &file, p->list[i]))
			return true;
	}
	return false;
}

bool paths_hold(const struct paths *p, const char *path)
{
	return paths_hold_known(p, path, NULL);
}

/* Programs, their libraries and what those look up for everybody. Not here: /etc as a whole (shadow, keys), /var, /run, homes. */
static const char *const system_places[] = {
	"/usr",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/opt",
	"/nix/store",
	"/gnu/store",
	"/snap",
	"/run/current-system",
	"/run/opengl-driver",
	"/proc",
	"/sys/devices/system",
	"/sys/fs/cgroup",
	"/sys/kernel/mm",
	"/dev/null",
	"/dev/zero",
	"/dev/full",
	"/dev/random",
	"/dev/urandom",
	"/dev/tty",
	"/etc/ld.so.cache",
	"/etc/ld.so.preload",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/alternatives",
	"/etc/nsswitch.conf",
	"/etc/passwd",
	"/etc/group",
	"/etc/localtime",
	"/etc/timezone",
	"/etc/locale.alias",
	"/etc/locale.conf",
	"/etc/default/locale",
	"/etc/hostname",
	"/etc/hosts",
	"/etc/host.conf",
	"/etc/os-release",
	"/etc/lsb-release",
	"/etc/debian_version",
	"/etc/gitconfig",
	"/etc/gitattributes",
	"/etc/magic",
	"/etc/magic.mime",
	"/etc/mime.types",
	"/etc/terminfo",
	"/etc/inputrc",
	"/etc/mtab",
	"/etc/filesystems",
	"/etc/python3",
	"/etc/perl",
	"/etc/php",
	"/etc/java",
	"/etc/ssl/openssl.cnf",
	"/etc/ssl/certs", /* public; npm reads the file that its configuration names before all else */
	"/etc/DIR_COLORS",
	"/etc/manpath.config",
	"/etc/npmrc",
	"/etc/wgetrc",
	"/etc/xml",
};

/* Of the home: what says how a program that reads behaves. None of these holds a secret by custom; .config/git/credentials does. */
static const char *const home_files[] = { ".gitconfig",
					  ".config/git/config",
					  ".config/git/ignore",
					  ".config/git/attributes",
					  ".jq",
					  ".inputrc",
					  ".dir_colors",
					  ".dircolors",
					  ".gitignore",
					  ".locale",
					  ".gitattributes",
					  ".rustup",
					  ".cargo/config.toml",
					  ".cargo/registry",
					  ".cargo/git" };

/* Places where version managers keep programs; a directory of PATH in one of them brings all of it. */
static const char *const managers[] = { ".nvm",
					".pyenv",
					".rbenv",
					".asdf",
					".volta",
					".fnm",
					".sdkman",
					".bun",
					".deno",
					".rustup",
					".cargo/bin",
					".local/share/mise",
					".local/share/fnm",
					".local/share/pnpm",
					".nodenv",
					".goenv",
					".jenv",
					".nix-profile",
					".local/state/nix" };

static void add_program_dir(struct paths *to, struct arena *a, const char *dir, const char *home)
{
	static const char *const beside[] = { "lib", "lib64", "libexec", "share", "pyvenv.cfg" };
	const char *slash = strrchr(dir, '/');
	const char *up = slash > dir ? arena_dup(a, dir, (size_t)(slash - dir)) : "/";
	bool plain = home && (!strcmp(up, home) || !strcmp(up, arena_printf(a, "%s/.local", home)));

	paths_add(to, a, dir);
	for (size_t i = 0; home && i < COUNT_OF(managers); i++) {
		const char *manager = arena_printf(a, "%s/%s", home, managers[i]);
		if (path_is_inside(dir, manager))
			paths_add(to, a, manager);
	}
	if (!strcmp(slash, "/bin") || !strcmp(slash, "/sbin"))
		for (size_t i = 0; i < (plain ? 1 : COUNT_OF(beside)); i++)
			paths_add(to, a, path_join(a, up, beside[i]));
}

/* A directory of PATH that holds the home, or all, would open too much. */
void profile_programs(struct paths *ret, struct arena *a, const char *path, const char *home, const char *shell)
{
	struct str rest = str_from(path ? path : "");

	*ret = (struct paths){ 0 };
	for (size_t i = 0; i < COUNT_OF(system_places); i++)
		paths_add(ret, a, system_places[i]);
	for (size_t i = 0; home && i < COUNT_OF(home_files); i++)
		paths_add(ret, a, path_join(a, home, home_files[i]));
	while (rest.p) {
		struct str part = str_cut(&rest, ':');
		if (part.n < 2 || part.p[0] != '/')
			continue;
		const char *dir = path_absolute(a, "/", part);
		if (dir[1] && !(home && path_is_inside(home, dir)))
			add_program_dir(ret, a, dir, home);
	}
	if (shell && shell[0] == '/')
		paths_add(ret, a, arena_strdup(a, shell));
}

/* Git runs, and beside it only programs whose files were judged one by one. Another one, which only the kernel holds to reading, would
 * read the rest of the checkout as well. */
static bool asks_git_alone(struct arena *a, const char *command)
{
	struct shell_script script;
	bool asks = false, alone = true;

	if (!strstr(command, "git"))
		return false;
	shell_parse(a, str_from(command), &script);
	for (size_t i = 0; i < script.count; i++) {
		const struct shell_command *c = &script.commands[i];
		struct shell_command stripped = shell_strip_for_allow(c);
		bool git = shell_runs(&stripped, "git");
		asks = asks || git;
		alone = alone && (git || shell_is_read_only(c));
		for (size_t k = 0; k < c->word_count && !git; k++)
			alone = alone && c->words[k].literal && !str_is(c->words[k].text, "xargs");
	}
	return asks && alone && script.understood;
}

/* Where git keeps what belongs to this directory, which may lie above it or in another checkout; and the rest of the checkout
 * if git is asked about it. A home that is a repository opens no more than its .git. What lies elsewhere counts if it names the
 * checkout itself, or if the user trusts the folder. */
static void add_git(struct profile *p, struct arena *a, const struct profile_facts *f, const char *dir)
{
	const char *root = git_root(a, dir);
	const char *main_root = root ? git_main_checkout(a, root) : NULL;
	const struct permission *of_main = permission_main(f->env->permission);
	AUTO_BUF struct buf alternates = { 0 };
	bool trusted = of_main && of_main->trusted;
	const char *own = !root ? NULL : trusted ? git_dir(a, root) : git_own_dir(a, root);
	if (!own)
		return;
	const char *common = path_join(a, main_root ? main_root : root, ".git");
	paths_add(&p->reads, a, own);
	paths_add(&p->reads, a, path_join(a, root, ".git"));
	paths_add(&p->reads, a, common);
	if (root[1] && !(f->home && path_is_inside(f->home, root)) && asks_git_alone(a, f->command))
		paths_add(&p->reads, a, root);
	if (!trusted ||
	    file_read(arena_printf(a, "%s/objects/info/alternates", common), 64 * 1024, &alternates, NULL) < 0)
		return;
	struct str rest = buf_str(&alternates);
	while (rest.p) {
		struct str line = str_trim(str_cut(&rest, '\n'));
		if (line.n && line.p[0] == '/')
			paths_add(&p->reads, a, arena_str(a, line).p);
	}
}

/* What the limits of an agent and of all its ancestors have in common. */
static void add_working_dirs(struct paths *to, struct arena *a, const struct profile_facts *f)
{
	const char *const alone[] = { f->cwd, NULL };
	const char *const *dirs = f->env->dirs ? f->env->dirs : alone;

	for (; *dirs; dirs++) {
		bool inside = true;
		const char *const *narrower = NULL;
		for (const struct permission *p = f->env->permission; p; p = p->parent) {
			if (p->write_root && path_is_inside(*dirs, p->write_root))
				break;
			bool holds = !p->dirs;
			for (const char *const *d = p->dirs; d && *d && !holds; d++)
				holds = path_is_inside(*dirs, *d);
			narrower = holds ? narrower : p->dirs;
			inside = inside && holds;
		}
		if (inside)
			paths_add(to, a, arena_strdup(a, *dirs));
		for (; narrower && *narrower; narrower++)
			if (path_is_inside(*narrower, *dirs))
				paths_add(to, a, arena_strdup(a, *narrower));
	}
}

/* Files that the command names. */
static void find_operands(struct operands *ret, struct arena *a, const struct profile_facts *f)
{
	const char *const cwds[] = { f->cwd, NULL };
	struct shell_script script;

	shell_parse(a, str_from(f->command), &script);
	for (size_t i = 0; i < script.count; i++) {
		operands_add(ret, a, &script.commands[i], cwds);
		operands_add_globs(ret, a, &script.commands[i], cwds);
	}
	for (size_t i = 0, count = ret->count; i < count; i++)
		if (ret->list[i].globs)
			(void)operands_expand(ret, a, &ret->list[i]);
}

/* A place that settings or a rule name. No link was in it when they were read: who could write there may have put one. */
static void add_named(struct paths *to, struct arena *a, const char *path)
{
	if (!strcmp(real_path(a, path), path))
		paths_add(to, a, path);
}

/* Of a rule about a path without wildcards */
static const char *rule_place(struct arena *a, const struct rule *r)
{
	struct str below = r->path.shape == PATH_ALL ? STR("") : r->path.text;

	return path_absolute(a, "/", str_from(arena_printf(a, "%s/" STR_FMT, r->path.base, STR_ARG(below))));
}

/* What rules let the agent read without a question. A rule about all reading opens all; one with wildcards opens what it matches of the
 * files that the command names: the directory where its matches are may hold others. */
static void add_allowed(struct profile *p, struct arena *a, const struct profile_facts *f)
{
	struct operands named = { 0 };
	bool looked = false;

	for (struct rule_walk w = { .owner = f->env->permission, .list = RULE_ALLOW }; rule_walk_next(&w);) {
		for (size_t i = 0; !w.in_grant && i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			bool globs = r->kind == RULE_PATH && r->path.shape == PATH_GLOB;
			if (r->list != RULE_ALLOW || !r->subject ||
			    (r->subject->kind != SUBJECT_READ && r->subject->kind != SUBJECT_EDIT))
				continue;
			if (r->kind == RULE_BARE)
				p->limits_reads = false;
			if (r->kind != RULE_PATH || !r->path.base)
				continue;
			if (globs && !looked)
				find_operands(&named, a, f);
			looked = looked || globs;
			for (size_t k = 0; globs && k < named.count; k++) {
				const struct resolved_path *file = &named.list[k].file;
				bool means = file->target && path_rule_match(&r->path, file->path, NULL) &&
					     path_rule_match(&r->path, file->target, NULL);
				if (means && file_is_dir(file->target)) /* what is opened is all below it */
					means = path_rule_match(&r->path, path_join(a, file->target, "x"), NULL);
				if (means)
					paths_add(&p->reads, a, file->target);
			}
			if (!globs && (r->path.text.n || r->path.shape == PATH_ALL))
				add_named(&p->reads, a, rule_place(a, r));
		}
	}
}

static bool is_below_any(const struct paths *p, const char *path, bool or_one)
{
	for (size_t i = 0; i < p->count; i++)
		if (path_is_inside(path, p->list[i]) && (or_one || strcmp(path, p->list[i]) != 0))
			return true;
	return false;
}

static void profile_limit_reads(struct profile *p, struct arena *a, const struct profile_facts *f)
{
	const struct tool_env *env = f->env;
	struct paths dirs = { 0 };

	p->limits_reads = true;
	p->program_count = f->programs->count;
	p->reads = (struct paths){ arena_alloc(a, (f->programs->count + 64) * sizeof(char *)), f->programs->count,
				   f->programs->count + 64 };
	memcpy(p->reads.list, f->programs->list, (f->programs->count + 1) * sizeof(char *));
	add_working_dirs(&dirs, a, f);
	bool added = false;
	for (size_t i = 0; i < dirs.count; i++) {
		paths_add(&p->reads, a, dirs.list[i]);
		add_git(p, a, f, dirs.list[i]);
		added = added || !strcmp(dirs.list[i], f->cwd);
	}
	if (!added && paths_hold(&dirs, f->cwd)) /* not by a link that leads out */
		add_git(p, a, f, f->cwd);
	paths_add(&p->reads, a, env->results_dir);
	paths_add(&p->reads, a, env->tasks_dir);
	paths_add(&p->reads, a, env->env_dir);
	paths_add(&p->reads, a, tool_env_get(env, "CLAUDE_ENV_FILE"));
	if (env->permission)
		paths_add(&p->reads, a, env->permission->memory_dir);
	p->linked_reads = p->reads.count;
	add_allowed(p, a, f);
	struct file_id *ids = arena_alloc(a, (p->reads.count + 1) * sizeof *ids);
	for (size_t i = 0; i < p->reads.count; i++)
		ids[i] = f->program_ids && i < p->program_count ? f->program_ids[i] : file_id_of(p->reads.list[i]);
	p->read_ids = ids;
}

/* A file of the user's, not of a project, has this path under this key. */
static bool policy_has_own(const struct sandbox_policy *p, const char *key, const char *path)
{
	for (size_t i = 0; p && i < p->entry_count; i++)
		if (!p->entries[i].of_project && !strcmp(p->entries[i].key, key) && !strcmp(p->entries[i].value, path))
			return true;
	return false;
}

static int add_roots(struct profile *p, struct arena *a, const struct profile_facts *f, struct err *err)
{
	/* These hold what others run or trust; nothing makes all of them writable. */
	static const char *const never[] = { "/",    "/usr",  "/etc", "/var", "/opt",  "/home", "/boot",
					     "/bin", "/sbin", "/lib", "/dev", "/proc", "/sys",  "/run" };

	add_working_dirs(&p->roots, a, f);
	for (size_t i = 0; i < p->roots.count; i++) {
		const char *root = real_path(a, p->roots.list[i]);
		bool holds_home = f->home && strcmp(root, f->home) != 0 && path_is_inside(f->home, root);
		bool too_wide = holds_home;
		for (size_t k = 0; k < COUNT_OF(never); k++)
			too_wide = too_wide || !strcmp(root, never[k]);
		if (too_wide)
			return err_set(
				err, ERR_LIMIT,
				"%s is too wide to be writable in a sandbox (%s): start in a directory below it, or name "
				"what is needed in sandbox.filesystem.allowWrite",
				root, holds_home ? "your home is in it" : "it is of the system");
		p->roots.list[i] = root;
		paths_add(&p->writes, a, root);
	}
	return 0;
}

/* All but what is the kernel's or made for the inside: as root, a file of /proc or /sys can be a way out. */
static void add_all_places(struct profile *p, struct arena *a)
{
	static const char *const made[] = { "proc", "sys", "dev", "run", ".", ".." };
	DIR *root = opendir("/");

	for (struct dirent *e; root && (e = readdir(root));) {
		bool is_made = e->d_type == DT_LNK;
		for (size_t i = 0; i < COUNT_OF(made); i++)
			is_made = is_made || !strcmp(e->d_name, made[i]);
		if (!is_made)
			paths_add(&p->writes, a, arena_printf(a, "/%s", e->d_name));
	}
	if (root)
		closedir(root);
}

/* What rules let the agent edit without a question, by a path or a directory with all in it. A rule about all files adds nothing. */
static void add_edit_rules(struct profile *p, struct arena *a, const struct profile_facts *f)
{
	for (struct rule_walk w = { .owner = f->env->permission, .list = RULE_ALLOW }; rule_walk_next(&w);) {
		for (size_t i = 0; !w.in_grant && i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			if (r->list != RULE_ALLOW || !r->subject || r->subject->kind != SUBJECT_EDIT ||
			    r->kind != RULE_PATH || !r->path.base ||
			    (r->path.shape != PATH_PREFIX && r->path.shape != PATH_EXACT && r->path.shape != PATH_ALL))
				continue;
			const char *path = rule_place(a, r);
			bool too_wide = !path[1] || (f->home && path_is_inside(f->home, path));
			if (!too_wide && file_exists(path))
				add_named(&p->writes, a, path);
		}
	}
}

/* Every directory between a writable place and what is protected, hidden or named in it: moved away, it would take the wall
 * along, or make room for a link that leads the next command elsewhere. What is protected or hidden itself stays so. */
static void add_pins(struct profile *p, struct arena *a)
{
	const struct paths *const lists[] = { &p->protects, &p->hides, &p->emptied, &p->writes };

	if (p->protects.count + p->hides.count + p->emptied.count + p->writes.count < 2)
		return; /* nothing is in another */
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		for (size_t k = 0; k < lists[i]->count; k++) {
			const char *target = resolved_path_find(a, "/", str_from(lists[i]->list[k])).target;
			char *up = arena_strdup(a, target ? target : "/");
			for (char *slash = strrchr(up, '/'); slash && slash > up; slash = strrchr(up, '/')) {
				*slash = '\0';
				if (!is_below_any(&p->writes, up, false) || is_below_any(&p->protects, up, true) ||
				    is_below_any(&p->hides, up, true) || is_below_any(&p->emptied, up, true))
					break;
				paths_add(&p->pins, a, arena_strdup(a, up));
			}
		}
}

static void add_denied_writes(struct profile *p, struct arena *a, const struct profile_facts *f)
{
	const char *const *list = f->policy ? f->policy->deny_write : NULL;

	for (; list && *list; list++) {
		if (paths_hold(&p->writes, *list) && file_exists(*list))
			paths_add(&p->protects, a, *list);
		/* From above: what is writable below it is not. */
		for (size_t i = 0; i < p->writes.count;) {
			bool gone =
				path_is_inside(p->writes.list[i], *list) && strcmp(p->writes.list[i], p->temp_dir) != 0;
			if (gone)
				memmove(p->writes.list + i, p->writes.list + i + 1,
					(p->writes.count-- - i) * sizeof *p->writes.list);
			else
				i++;
		}
	}
}

/* The directories of a worktree, but for what makes git take hooks and configuration from elsewhere. */
static void add_worktree(struct profile *p, struct arena *a, const struct tool_env *env)
{
	static const char *const names[] = { "commondir", "gitdir", "config.worktree" };

	for (const char *const *dir = env->write_dirs; *dir; dir++)
		paths_add(&p->writes, a, real_path(a, *dir));
	for (size_t i = 0; i < p->writes.count; i++)
		for (size_t k = 0; k < COUNT_OF(names); k++) {
			const char *path = path_join(a, p->writes.list[i], names[k]);
			if (file_exists(path_join(a, p->writes.list[i], "commondir")) && file_exists(path))
				paths_add(&p->protects, a, path);
		}
}

/* A hidden directory of which a part may be read is emptied, and the part comes back; so does what is writable in it. */
static void add_hidden(struct profile *p, struct arena *a, const struct profile_facts *f, const char *path)
{
	const char *const *allow = f->policy ? f->policy->allow_read : NULL;
	bool parts = false;
	bool sealed = false;

	if (!file_exists(path))
		return;
	for (const char *const *s = f->policy ? f->policy->sealed : NULL; s && *s; s++)
		sealed = sealed || !strcmp(*s, path);
	for (; allow && *allow; allow++) {
		if (sealed && !policy_has_own(f->policy, "sandbox.filesystem.allowRead", *allow))
			continue;
		if (!strcmp(*allow, path))
			return;
		if (path_is_inside(*allow, path) && file_exists(*allow)) {
			paths_add(&p->back, a, *allow);
			if (paths_hold(&p->writes, *allow)) /* it comes back as it was */
				add_named(&p->writes, a, *allow);
			parts = true;
		}
	}
	for (size_t i = 0; i < p->writes.count; i++)
		if (path_is_inside(p->writes.list[i], path)) {
			paths_add(&p->back, a, p->writes.list[i]);
			parts = true;
		}
	paths_add(parts ? &p->emptied : &p->hides, a, path);
}

/* Who reaches the socket of a session can stop its agents and speak to them as the user (product/observe/control_socket.c). Sessions
 * with another environment have theirs elsewhere. make: one that does not exist yet would not be hidden from a command that runs
 * when it appears, and nothing else keeps that from sockets. */
static void find_control_sockets(struct paths *found, struct arena *a, bool make)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *const places[] = { runtime && runtime[0] == '/' ? path_join(a, runtime, "cadre") : NULL,
				       arena_printf(a, "/run/user/%u/cadre", (unsigned)getuid()),
				       arena_printf(a, "/tmp/cadre-%u", (unsigned)getuid()) };

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		if (places[i] && make)
			(void)mkdir(places[i], 0700);
		paths_add(found, a, places[i]);
	}
}

static int profile_hide(struct profile *p, struct arena *a, const struct profile_facts *f, struct err *err)
{
	static const char *const own[] = { ".credentials.json", ".claude.json", "mcp-oauth" };
	bool acts = f->policy && (f->policy->enabled || f->hold == HOLD_INSIDE); /* hooks are inside without it */
	const struct sandbox_policy *policy = acts ? f->policy : NULL;
	const char *const *denied = policy ? policy->deny_read : NULL;
	struct paths dirs = { 0 };
	struct paths found = { 0 };

	for (; denied && *denied; denied++)
		add_hidden(p, a, f, *denied);
	for (size_t i = 0; f->config_dir && i < COUNT_OF(own); i++)
		paths_add(&found, a, path_join(a, f->config_dir, own[i]));
	if (f->home)
		paths_add(&found, a, path_join(a, f->home, ".claude.json"));
	find_control_sockets(&found, a, false);
	add_working_dirs(&dirs, a, f);
	for (size_t i = 0; i < dirs.count; i++) {
		int rc = find_denied(&found, a, f->env, dirs.list[i], policy ? policy->deny_read_patterns : NULL,
				     f->trees, err);
		if (rc < 0)
			return rc;
	}
	if (find_named_by_rules(&found, a, f->env, f->trees, err) < 0)
		return -ERR_LIMIT;
	for (size_t i = 0; i < found.count; i++)
		if (file_exists(found.list[i]) &&
		    (!p->limits_reads || paths_hold_known(&p->reads, found.list[i], p->read_ids)))
			add_hidden(p, a, f, found.list[i]);
	return 0;
}

int profile_make(struct profile *p, struct arena *a, const struct profile_facts *f, struct err *err)
{
	int rc = 0;

	*p = (struct profile){ .hold = f->hold, .temp_dir = f->temp_dir };
	paths_add(&p->writes, a, p->temp_dir);
	paths_add(&p->writes, a, real_path(a, f->cwd_file));
	switch (f->hold) {
	case HOLD_READS:
		profile_limit_reads(p, a, f);
		break;
	case HOLD_CONVERTS:
		return 0;
	case HOLD_WORKTREE:
		add_worktree(p, a, f->env);
		find_control_sockets(&p->hides, a, true);
		return 0;
	default:
		if (f->hold == HOLD_INSIDE && f->policy->files_open) {
			p->network = true;
			add_all_places(p, a);
			return 0;
		}
		rc = add_roots(p, a, f, err);
		if (rc == 0 && f->hold == HOLD_EDITS)
			profile_limit_reads(p, a, f);
		p->network = f->hold == HOLD_INSIDE;
		if (rc == 0 && f->hold == HOLD_INSIDE) {
			for (const char *const *w = f->policy->allow_write; w && *w; w++)
				add_named(&p->writes, a, *w);
			add_edit_rules(p, a, f);
		}
		if (rc == 0 && f->hold == HOLD_INSIDE &&
		    f->env->write_dirs) {    /* an agent in a worktree commits there */
			if (f->env->objects) /* where it is seen, no directory above it is the one that it has here */
				paths_add(&p->writes, a, real_path(a, f->env->objects->own));
			add_worktree(p, a, f->env);
		}
		if (rc == 0)
			add_denied_writes(p, a, f);
		for (size_t i = 0; f->hold == HOLD_INSIDE && i < f->policy->entry_count; i++)
			if (policy_has_own(f->policy, "sandbox.filesystem.allowWrite", f->policy->entries[i].value))
				paths_add(&p->lifts, a, f->policy->entries[i].value);
		p->git_config = f->hold == HOLD_INSIDE && f->policy->git_config && !f->lasts;
		for (size_t i = 0; i < p->roots.count && rc == 0; i++)
			rc = find_protected(&p->protects, a, f->env, p->roots.list[i], p, f->trees, err);
		for (size_t i = 0; i < p->protects.count; i++) {
			struct stat st;
			if (lstat(p->protects.list[i], &st) == 0 && S_ISLNK(st.st_mode))
				paths_add(&p->links, a, p->protects.list[i]);
		}
	}
	if (rc == 0)
		rc = profile_hide(p, a, f, err);
	if (rc == 0)
		add_pins(p, a);
	return rc;
}

bool profile_may_read(const struct profile *p, const char *path)
{
	if (paths_hold(&p->hides, path) || (paths_hold(&p->emptied, path) && !paths_hold(&p->back, path)))
		return false;
	return !p->limits_reads || paths_hold(&p->reads, path) || paths_hold(&p->writes, path);
}

bool profile_may_write(const struct profile *p, const char *path)
{
	return paths_hold(&p->writes, path) && !paths_hold(&p->protects, path);
}
