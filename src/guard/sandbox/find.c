/* SPDX-License-Identifier: MIT
 * find.c - walks that look for what must be hidden or protected, before each command: what was made since counts too. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <time.h>
#include "lib/base/list.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/match/glob.h"
#include "guard/permission/permission.h"
#include "guard/permission/resolved_path.h"
#include "guard/sandbox/sandbox_int.h"

enum find_answer { FIND_ENTER, FIND_TAKE, FIND_SKIP };

struct find {
	struct arena *arena;
	struct paths *found;
	size_t entries, most_found; /* of found, in all */
	unsigned deepest;           /* 0: any */
	enum find_answer (*judge)(struct find *f, const char *path, bool is_dir);
	const struct hidden_files *hidden;
	const struct glob *globs;
	size_t glob_count;
	const struct path_rule *rule;
	dev_t timed; /* find_timed() */
	const struct profile *profile;
	const char *root;
	bool full;
	bool after; /* a command: what it closed is not what appeared */
};

static void find_take(struct find *f, const char *path)
{
	paths_add(f->found, f->arena, path);
	f->full = f->full || f->found->count > f->most_found;
}

/* What a walk found, directory by directory. A tree of many thousand files is walked before each command, so a
 * directory is listed again only if it is another one since. No program can set back the time that is compared. */
struct find_dir {
	struct find_dir *next, *below;
	dev_t dev;
	ino_t ino;
	struct timespec changed;
	bool settled; /* when it was listed, its last change was so long ago that a later one has another time */
	size_t entries, taken_count;
	char **taken; /* names */
	char name[];  /* empty: the top */
};

struct find_tree {
	struct find_tree *next;
	struct find_dir *top;
	char key[]; /* all that the judgment depends on */
};

enum { FIND_TREES_MAX = 32, FIND_SETTLED_MS = 100, FIND_LOOK_AHEAD = 64 };

static struct find_dir *find_dir_new(const char *name)
{
	struct find_dir *d = xcalloc(1, sizeof *d + strlen(name) + 1);

	memcpy(d->name, name, strlen(name));
	return d;
}

static void find_dir_clear(struct find_dir *d)
{
	for (struct find_dir *sub; (sub = list_pop(&d->below));) {
		find_dir_clear(sub);
		free(sub);
	}
	for (size_t i = 0; i < d->taken_count; i++)
		free(d->taken[i]);
	free(TAKE(d->taken));
	d->taken_count = d->entries = 0;
	d->settled = false;
}

void find_forget(struct find_tree **trees, size_t kept)
{
	while (*trees && kept--)
		trees = &(*trees)->next;
	for (struct find_tree *t; (t = list_pop(trees));) {
		find_dir_clear(t->top);
		free(t->top);
		free(t);
	}
}

/* The directory that was known by this name. They mostly come in the same order. One that is not near the front counts as new: to look
 * through all of them for each name, 20,000 new ones beside as many took 3.7 s. */
static struct find_dir *find_known(struct find_dir **old, const char *name)
{
	for (int n = 0; *old && strcmp((*old)->name, name) != 0; n++) {
		if (n == FIND_LOOK_AHEAD)
			return find_dir_new(name);
		old = &(*old)->next;
	}
	struct find_dir *d = *old ? list_pop(old) : find_dir_new(name);
	d->next = NULL;
	return d;
}

static void find_list(struct find *f, struct find_dir *d, int fd, const char *path)
{
	struct find_dir old = { .below = TAKE(d->below) }, **end = &d->below;
	struct timespec now;
	AUTO_DIR DIR *dir = dir_open_at(fd, ".");

	find_dir_clear(d);
	if (!dir && !f->after)
		find_take(f, path);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	for (struct dirent *e; !f->full && (e = dir_next(dir));) {
		struct stat st;
		bool is_dir = e->d_type == DT_DIR;
		f->full = f->entries + ++d->entries > FIND_ENTRIES_MAX || d->taken_count > f->most_found;
		if (e->d_type == DT_UNKNOWN)
			is_dir = fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
		const char *below = path_join(f->arena, path, e->d_name);
		/* A directory that no path leads into is taken as a whole: a command can enter it step by step. */
		bool too_deep = is_dir && strlen(below) >= PATH_MAX - NAME_MAX - 1;
		enum find_answer answer = too_deep ? FIND_TAKE : f->judge(f, below, is_dir);
		if (answer == FIND_TAKE) {
			d->taken = xrealloc(d->taken, (d->taken_count + 1) * sizeof *d->taken);
			d->taken[d->taken_count++] = xstrdup(e->d_name);
		} else if (answer == FIND_ENTER && is_dir) {
			*end = find_known(&old.below, e->d_name);
			end = &(*end)->next;
		}
	}
	/* A file system that knows whole seconds only says too little. */
	int64_t ms = (now.tv_sec - d->changed.tv_sec) * 1000 + (now.tv_nsec - d->changed.tv_nsec) / 1000000;
	d->settled = dir && !f->full && d->dev == f->timed && d->changed.tv_nsec && ms > FIND_SETTLED_MS;
	find_dir_clear(&old);
}

/* A directory that cannot be listed is taken as a whole: a command can know what is in it, or change its mode. One that is gone, or a
 * link by now, is not there. */
static void find_again(struct find *f, struct find_dir *d, int parent, const char *name, const char *path,
		       unsigned depth)
{
	AUTO_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && !f->after)
			find_take(f, path);
		find_dir_clear(d);
		return;
	}
	bool same = d->settled && d->dev == st.st_dev && d->ino == st.st_ino &&
		    d->changed.tv_sec == st.st_ctim.tv_sec && d->changed.tv_nsec == st.st_ctim.tv_nsec;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->changed = st.st_ctim;
	if (!same)
		find_list(f, d, fd, path);
	f->entries += d->entries;
	f->full = f->full || f->entries > FIND_ENTRIES_MAX;
	for (size_t i = 0; i < d->taken_count && !f->full; i++)
		find_take(f, path_join(f->arena, path, d->taken[i]));
	if (f->deepest && depth >= f->deepest)
		return;
	for (struct find_dir *sub = d->below; sub && !f->full; sub = sub->next)
		find_again(f, sub, fd, sub->name, path_join(f->arena, path, sub->name), depth + 1);
}

/* Of a directory: the file system that it is on, if changes of directories there are seen by their time. Those of other machines and of
 * programs may say less. */
static dev_t find_timed(const char *dir)
{
	static const long kinds[] = { 0xef53 /* ext4 */, 0x58465342 /* xfs */,  0x9123683e /* btrfs */,
				      TMPFS_MAGIC,       OVERLAYFS_SUPER_MAGIC, 0xf2f52010 /* f2fs */,
				      0x2fc12fc1 /* zfs */ };
	struct statfs fs;
	struct stat st;
	bool known = false;

	if (statfs(dir, &fs) < 0 || stat(dir, &st) < 0)
		return 0;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		known = known || (long)fs.f_type == kinds[i];
	return known ? st.st_dev : 0;
}

/* All of the agent's line that a judgment about paths depends on */
static void key_add_line(struct buf *key, const struct tool_env *env, const struct hidden_files *hidden)
{
	hidden_files_describe(hidden, key);
	for (struct rule_walk w = { .owner = env->permission, .list = RULE_DENY }; rule_walk_next(&w);)
		for (size_t i = 0; i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			if (r->list == RULE_DENY && r->kind == RULE_PATH)
				buf_addf(key, "%d\t%s\t%s\n", (int)r->subject->kind, r->text,
					 r->path.base ? r->path.base : "");
		}
}

/* Walks dir. What was found there for the same key is looked at again; the oldest of the trees makes room. */
static void find_below(struct find *f, const char *dir, struct find_tree **trees, const struct buf *key)
{
	struct find_tree **t = trees;

	while (*t && strcmp((*t)->key, key->p) != 0)
		t = &(*t)->next;
	struct find_tree *found = *t ? list_pop(t) : xcalloc(1, sizeof *found + key->n + 1);
	if (!found->top) {
		found->top = find_dir_new("");
		memcpy(found->key, key->p, key->n);
	}
	found->next = *trees;
	*trees = found;
	find_forget(trees, FIND_TREES_MAX);
	f->timed = find_timed(dir);
	find_again(f, found->top, AT_FDCWD, dir, dir, 1);
}

static enum find_answer judge_hidden(struct find *f, const char *path, bool is_dir)
{
	(void)is_dir;
	for (size_t i = 0; i < f->glob_count; i++)
		if (glob_match(&f->globs[i], str_from(path)))
			return FIND_TAKE;
	return hidden_files_has(f->hidden, path) ? FIND_TAKE : FIND_ENTER;
}

int find_denied(struct paths *found, struct arena *a, const struct tool_env *env, const char *dir,
		const char *const *patterns, struct find_tree **trees, struct err *err)
{
	struct hidden_files *hidden = env->permission ? hidden_files_find(env, dir) : NULL;
	size_t count = str_count(patterns);
	struct glob *globs = arena_calloc(a, (count + 1) * sizeof *globs);
	struct find f = { .arena = a,
			  .found = found,
			  .most_found = found->count + FIND_HIDDEN_MAX,
			  .judge = judge_hidden,
			  .hidden = hidden,
			  .globs = globs };
	AUTO_BUF struct buf key = { 0 };

	for (size_t i = 0; i < count; i++)
		if (glob_compile(&globs[f.glob_count], str_from(patterns[i]), NULL) == 0)
			f.glob_count++;
	buf_addf(&key, "hidden\n%s\n", dir);
	for (; patterns && *patterns; patterns++)
		buf_addf(&key, "%s\n", *patterns);
	key_add_line(&key, env, hidden);
	if (hidden || f.glob_count)
		find_below(&f, dir, trees, &key);
	hidden_files_free(hidden);
	for (size_t i = 0; i < f.glob_count; i++)
		glob_release(&globs[i]);
	if (f.full)
		return err_set(
			err, ERR_LIMIT,
			"rules hide files in %s, and it has too many files to find them all before each command: name "
			"these files by their paths in the rules",
			dir);
	return 0;
}

static enum find_answer judge_ruled(struct find *f, const char *path, bool is_dir)
{
	(void)is_dir;
	return path_rule_match(f->rule, path, NULL) ? FIND_TAKE : FIND_ENTER;
}

/* What a pattern with wildcards and an anchor means, as deep as it goes. One that means any depth of all files, or of all of the home, is
 * looked for in working directories only (find_denied): before each command that would take too long. */
static int find_matches(struct paths *found, struct arena *a, const struct rule *r, struct find_tree **trees,
			struct err *err)
{
	struct str text = r->path.start, pattern = str_from(r->text);
	const char *dir = path_absolute(a, "/", str_from(arena_printf(a, "%s/" STR_FMT, r->path.base, STR_ARG(text))));
	struct find f = {
		.arena = a, .found = found, .most_found = 2 * FIND_HIDDEN_MAX, .judge = judge_ruled, .rule = &r->path
	};
	AUTO_BUF struct buf key = { 0 };

	bool any_depth = str_has(pattern, STR("**"));
	if (any_depth && !text.n)
		return 0;
	for (size_t i = 0; i < pattern.n && !any_depth;
	     i++) /* the slash of the anchor stands for one in front of the last part */
		f.deepest += pattern.p[i] == '/';
	for (size_t i = 0; i < text.n && !any_depth; i++)
		f.deepest -= text.p[i] == '/' || !i;
	buf_addf(&key, "rule\n%s\n%s\n%s\n", dir, r->text, r->path.base);
	find_below(&f, dir, trees, &key);
	return !f.full ? 0
		       : err_set(err, ERR_LIMIT,
				 "%s hides files in %s, and it has too many to find them all before each "
				 "command: name these files by their paths in the rule",
				 r->text, dir);
}

int find_named_by_rules(struct paths *found, struct arena *a, const struct tool_env *env, struct find_tree **trees,
			struct err *err)
{
	for (struct rule_walk w = { .owner = env->permission, .list = RULE_DENY }; rule_walk_next(&w);) {
		for (size_t i = 0; i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			if (r->list != RULE_DENY || r->kind != RULE_PATH || r->subject->kind != SUBJECT_READ ||
			    !r->path.base || r->path.shape == PATH_NAME)
				continue;
			if (r->path.shape == PATH_GLOB && find_matches(found, a, r, trees, err) < 0)
				return -ERR_LIMIT;
			struct str text = r->path.shape == PATH_ALL ? STR("") : r->path.text;
			const char *path = arena_printf(a, "%s/" STR_FMT, r->path.base, STR_ARG(text));
			if (r->path.shape != PATH_GLOB)
				paths_add(found, a, path_absolute(a, "/", str_from(path)));
		}
	}
	return found->count <= 2 * FIND_HIDDEN_MAX ? 0 : err_set(err, ERR_LIMIT, "rules name too many files to hide");
}

/* Where a configuration of git says that hooks are, and other configurations that it includes: git runs what is there. Both are
 * found in the plain form that people and tools write, a key on each line. */
static void add_configured(struct find *f, const char *file, const char *top, unsigned depth)
{
	AUTO_BUF struct buf text = { 0 };
	const char *dir = arena_dup(f->arena, file, (size_t)(strrchr(file, '/') - file));
	const char *home = getenv("HOME");

	if (depth > FIND_INCLUDES_DEPTH || file_read(file, 1 << 20, &text, NULL) < 0)
		return;
	for (struct str rest = buf_str(&text); rest.p;) {
		struct str value = str_trim(str_cut(&rest, '\n'));
		struct str name = str_trim(str_cut(&value, '='));
		bool includes = str_is_nocase(name, "path");
		if (!value.p || (!includes && !str_is_nocase(name, "hookspath")))
			continue;
		value = str_trim(value);
		if (value.n > 1 && value.p[0] == '"' && value.p[value.n - 1] == '"')
			value = (struct str){ value.p + 1, value.n - 2 };
		if (home && str_starts(value, STR("~/")))
			value = str_from(arena_printf(f->arena, "%s/" STR_FMT, home, (int)value.n - 2, value.p + 2));
		const char *from = includes ? dir : top;
		const char *path = value.n ? path_absolute(f->arena, from, value) : from;
		if (path_is_inside(top, path) || !file_exists(path))
			continue;
		paths_add(f->found, f->arena, path);
		if (includes)
			add_configured(f, path, top, depth + 1);
	}
}

/* Names that a project may track for good: an allowWrite of the user's that names exactly this path lifts the protection. Never of
 * what cadre, git and shells run by themselves. */
static bool is_lifted(const struct find *f, const char *path)
{
	static const char *const hard[] = { ".git",        ".claude", ".mcp.json", ".claude.json",  ".gitconfig",
					    ".gitmodules", ".bashrc", ".profile",  ".bash_profile", ".bash_login",
					    ".zshrc",      ".zshenv", ".zprofile", ".config" };

	for (size_t i = 0; i < COUNT_OF(hard); i++)
		if (strstr(path, arena_printf(f->arena, "/%s/", hard[i])) || !strcmp(strrchr(path, '/') + 1, hard[i]))
			return false;
	for (size_t i = 0; i < f->profile->lifts.count; i++)
		if (path_is_inside(path, f->profile->lifts.list[i]) && path_is_protected(f->profile->lifts.list[i]))
			return true;
	return false;
}

/* These make git take hooks and configuration from elsewhere, in the checkout that has this administrative directory. */
static void add_worktree_admins(struct find *f, const char *git_dir)
{
	static const char *const names[] = { "commondir", "gitdir", "config.worktree" };
	const char *admins = path_join(f->arena, git_dir, "worktrees");
	AUTO_DIR DIR *d = opendir(admins);

	for (struct dirent *e; (e = dir_next(d));)
		for (size_t i = 0; i < COUNT_OF(names); i++) {
			const char *path = arena_printf(f->arena, "%s/%s/%s", admins, e->d_name, names[i]);
			if (file_exists(path))
				paths_add(f->found, f->arena, path);
		}
}

/* What a rule denies counts at any depth, what customs protect in the first levels. */
static enum find_answer judge_protected(struct find *f, const char *path, bool is_dir)
{
	bool near = path_depth(path + strlen(f->root)) <= FIND_PROTECTED_DEPTH;
	bool protects = near && path_is_protected(path) && !is_lifted(f, path);

	if (protects || hidden_files_has(f->hidden, path))
		return FIND_TAKE;
	return is_dir && str_ends(str_from(path), STR("/node_modules")) ? FIND_SKIP : FIND_ENTER;
}

/* Git runs what these name; the rest of a .git it must write. */
static void add_git_parts(struct find *f, const char *git)
{
	static const char *const parts[] = { "hooks",     "config",          "config.worktree",
					     "commondir", "info/attributes", "modules" };
	const char *top = arena_dup(f->arena, git, (size_t)(strrchr(git, '/') - git));
	bool own = f->profile->git_config && !strcmp(top, f->root);

	add_configured(f, path_join(f->arena, git, "config"), top, 0);
	add_worktree_admins(f, git);
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		const char *part = path_join(f->arena, git, parts[i]);
		if (file_exists(part) && !(own && !strcmp(parts[i], "config")))
			paths_add(f->found, f->arena, part);
	}
}

/* A directory with these is a repository for git, without a .git: what git runs stands in the directory itself. HEAD is taken too, so
 * that one which appears is one no longer. */
static void add_bare(struct find *f, const char *root)
{
	static const char *const marks[] = { "HEAD", "objects", "refs" };
	static const char *const parts[] = { "HEAD", "hooks", "config", "config.worktree", "commondir" };

	for (size_t i = 0; i < COUNT_OF(marks); i++)
		if (!file_exists(path_join(f->arena, root, marks[i])))
			return;
	for (size_t i = 0; i < COUNT_OF(parts) && !file_exists(path_join(f->arena, root, ".git")); i++)
		if (file_exists(path_join(f->arena, root, parts[i])))
			paths_add(f->found, f->arena, path_join(f->arena, root, parts[i]));
}

int find_protected(struct paths *found, struct arena *a, const struct tool_env *env, const char *root,
		   const struct profile *p, struct find_tree **trees, struct err *err)
{
	struct paths names = { 0 };
	struct hidden_files *denied = unwritable_files_find(env, root);
	struct find f = { .arena = a,
			  .found = &names,
			  .most_found = FIND_HIDDEN_MAX,
			  .deepest = denied ? 0 : FIND_PROTECTED_DEPTH,
			  .judge = judge_protected,
			  .hidden = denied,
			  .profile = p,
			  .root = root,
			  .after = !err };
	AUTO_BUF struct buf key = { 0 };
	size_t before = found->count;

	buf_addf(&key, "protected\n%s\n", root);
	for (size_t i = 0; i < p->lifts.count; i++)
		buf_addf(&key, "%s\n", p->lifts.list[i]);
	key_add_line(&key, env, denied);
	find_below(&f, root, trees, &key);
	f.found = found;
	for (size_t i = 0; i < names.count; i++) {
		const char *path = names.list[i];
		struct stat st;
		bool git = p->hold == HOLD_INSIDE && str_ends(str_from(path), STR("/.git")) && lstat(path, &st) == 0 &&
			   S_ISDIR(st.st_mode) && !hidden_files_has(denied, path);
		if (git)
			add_git_parts(&f, path);
		else
			paths_add(found, a, path);
	}
	hidden_files_free(denied);
	add_bare(&f, root);
	/* cadre's own configuration may have any name and depth. */
	const struct permission *of_main = permission_main(env->permission);
	for (const char *const *own = of_main ? of_main->own_dirs : NULL; own && *own; own++)
		if (path_is_inside(*own, root) && file_exists(*own))
			paths_add(found, a, *own);
	if (found->count - before > FIND_HIDDEN_MAX || names.count > FIND_HIDDEN_MAX)
		return err_set(err, ERR_LIMIT, "there are more than %d protected files in %s", FIND_HIDDEN_MAX, root);
	return !f.full ? 0
		       : err_set(err, ERR_LIMIT,
				 "%s has too many files to find the protected ones before each command: start in a "
				 "directory below it",
				 root);
}
