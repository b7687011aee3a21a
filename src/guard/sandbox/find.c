/* SPDX-License-Identifier: MIT
 * find.c - walks that look for what must be hidden or protected, before each command: what was made since counts too. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
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
	size_t entries, most;
	unsigned deepest; /* 0: any */
	enum find_answer (*judge)(struct find *f, const char *path, bool is_dir);
	const struct hidden_files *hidden;
	const struct glob *globs;
	size_t glob_count;
	const struct permission *permission;
	struct path_anchors anchors;
	const struct profile *profile;
	const char *root;
	bool inside, full;
	bool links; /* are judged by their names */
};

static void find_walk(struct find *f, int parent, const char *name, const char *path, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	for (struct dirent *e; dir && !f->full && (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		f->full = ++f->entries > f->most;
		struct stat st;
		bool is_dir = e->d_type == DT_DIR;
		if (e->d_type == DT_UNKNOWN)
			is_dir = fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
		const char *child = path_join(f->arena, path, e->d_name);
		bool is_link = e->d_type == DT_LNK;
		if (is_link && !f->links)
			continue;
		enum find_answer answer = f->judge(f, child, is_dir);
		if (answer == FIND_TAKE)
			paths_add(f->found, f->arena, child);
		else if (answer == FIND_ENTER && is_dir && (!f->deepest || depth < f->deepest))
			find_walk(f, dirfd(dir), e->d_name, child, depth + 1);
	}
	if (dir)
		closedir(dir);
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
		const char *const *patterns, struct err *err)
{
	struct hidden_files *hidden = env->permission ? hidden_files_find(env, dir) : NULL;
	size_t count = str_count(patterns);
	struct glob *globs = arena_calloc(a, (count + 1) * sizeof *globs);
	struct find f = { .arena = a,
			  .found = found,
			  .most = FIND_ENTRIES_MAX,
			  .judge = judge_hidden,
			  .hidden = hidden,
			  .globs = globs };
	size_t before = found->count;

	for (size_t i = 0; i < count; i++)
		if (glob_compile(&globs[f.glob_count], str_from(patterns[i]), NULL) == 0)
			f.glob_count++;
	if (hidden || f.glob_count)
		find_walk(&f, AT_FDCWD, dir, dir, 0);
	hidden_files_free(hidden);
	for (size_t i = 0; i < f.glob_count; i++)
		glob_release(&globs[i]);
	if (f.full || found->count - before > FIND_HIDDEN_MAX)
		return err_set(
			err, ERR_LIMIT,
			"rules hide files in %s, and it has too many files to find them all before each command: name "
			"these files by their paths in the rules",
			dir);
	return 0;
}

int find_named_by_rules(struct paths *found, struct arena *a, const struct tool_env *env)
{
	for (struct rule_walk w = { .owner = env->permission, .list = RULE_DENY }; rule_walk_next(&w);) {
		for (size_t i = 0; i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			if (r->list != RULE_DENY || r->kind != RULE_PATH || r->subject->kind != SUBJECT_READ ||
			    !r->path.base || r->path.shape == PATH_NAME)
				continue;
			struct str text = r->path.shape == PATH_ALL ? STR("") : r->path.text;
			if (r->path.shape == PATH_GLOB)
				text = r->path.start;
			while (r->path.shape == PATH_GLOB && text.n && text.p[text.n - 1] != '/')
				text.n--;
			const char *path = arena_printf(a, "%s/" STR_FMT, r->path.base, STR_ARG(text));
			path = path_absolute(a, "/", str_from(path));
			/* A glob that begins at a home or higher has been searched if that is a working directory. */
			if (r->path.shape != PATH_GLOB)
				paths_add(found, a, path);
			else if (text.n)
				(void)find_denied(found, a, env, path, NULL, NULL);
		}
	}
	return found->count > 2 * FIND_HIDDEN_MAX ? -ERR_LIMIT : 0;
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

static enum find_answer judge_protected(struct find *f, const char *path, bool is_dir)
{
	static const char *const git_parts[] = { "hooks",     "config",          "config.worktree",
						 "commondir", "info/attributes", "modules" };
	const char *name = strrchr(path, '/') + 1;

	for (struct rule_walk w = { .owner = f->permission, .list = RULE_DENY }; rule_walk_next(&w);)
		if (rule_set_path(w.set, RULE_DENY, true, path, &f->anchors))
			return FIND_TAKE;
	if (!path_is_protected(path) || is_lifted(f, path))
		return is_dir && !strcmp(name, "node_modules") ? FIND_SKIP : FIND_ENTER;
	if (!f->inside || !is_dir || strcmp(name, ".git") != 0)
		return FIND_TAKE;
	/* Git runs what these name; the rest of a .git it must write. */
	add_configured(f, path_join(f->arena, path, "config"),
		       arena_dup(f->arena, path, (size_t)(strrchr(path, '/') - path)), 0);
	add_worktree_admins(f, path);
	bool own = f->profile->git_config && !strcmp(path, path_join(f->arena, f->root, ".git"));
	for (size_t i = 0; i < COUNT_OF(git_parts); i++) {
		if (own && !strcmp(git_parts[i], "config"))
			continue;
		const char *part = path_join(f->arena, path, git_parts[i]);
		if (file_exists(part))
			paths_add(f->found, f->arena, part);
	}
	return FIND_SKIP;
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
		   const struct profile *p, struct err *err)
{
	struct find f = { .arena = a,
			  .found = found,
			  .most = FIND_PROTECTED_ENTRIES,
			  .deepest = FIND_PROTECTED_DEPTH,
			  .judge = judge_protected,
			  .permission = env->permission,
			  .profile = p,
			  .root = root,
			  .inside = p->hold == HOLD_INSIDE,
			  .links = true };
	size_t before = found->count;

	path_anchors_add(&f.anchors, a, env->root);
	path_anchors_add(&f.anchors, a, env->cwd);
	for (const struct permission *up = env->permission; up; up = up->parent)
		path_anchors_add(&f.anchors, a, up->root);
	find_walk(&f, AT_FDCWD, root, root, 1);
	add_bare(&f, root);
	/* cadre's own configuration may have any name and depth. */
	const struct permission *of_main = env->permission;
	while (of_main && of_main->parent)
		of_main = of_main->parent;
	for (const char *const *own = of_main ? of_main->own_dirs : NULL; own && *own; own++)
		if (path_is_inside(*own, root) && file_exists(*own))
			paths_add(found, a, *own);
	if (found->count - before > FIND_HIDDEN_MAX)
		return err_set(err, ERR_LIMIT, "there are more than %d protected files in %s", FIND_HIDDEN_MAX, root);
	return 0;
}
