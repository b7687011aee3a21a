/* SPDX-License-Identifier: MIT
 * ignore_tree.c - which ignore rules hold in which directory of a walk. */
#include "tools/search/ignore_tree.h"
#include <sys/stat.h>
#include "lib/base/arena.h"
#include "lib/io/file.h"

enum { IGNORE_FILE_LIMIT = 4 * 1024 * 1024 };

enum source { SOURCE_RGIGNORE, SOURCE_IGNORE, SOURCE_GITIGNORE, SOURCE_EXCLUDE, SOURCES };

struct ignore_level {
	struct ignore_level *next; /* in the list of the tree */
	const struct ignore_level *parent;
	size_t base;  /* length of the directory's path with its slash */
	bool has_git; /* it is the root of a repository */
	bool in_git;  /* it or one of its parents is */
	struct gitignore lists[SOURCES];
};

static const struct {
	const char *name;
	enum ignore_files bit;
} ignore_names[] = {
	{ ".git", HAS_GIT },
	{ ".gitignore", HAS_GITIGNORE },
	{ ".ignore", HAS_IGNORE },
	{ ".rgignore", HAS_RGIGNORE },
};

unsigned ignore_file_bit(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(ignore_names); i++)
		if (!strcmp(name, ignore_names[i].name))
			return ignore_names[i].bit;
	return 0;
}

static void load_rules(struct gitignore *list, const char *path)
{
	AUTO_BUF struct buf text = { 0 };

	if (path && file_read(path, IGNORE_FILE_LIMIT, &text, NULL) == 0)
		gitignore_add_text(list, buf_str(&text));
}

/* The text of a short one-line file without its line end, in the arena; NULL if there is none. */
static char *read_line(struct arena *a, const char *path)
{
	AUTO_BUF struct buf text = { 0 };

	if (file_read(path, 4096, &text, NULL) < 0)
		return NULL;
	struct str line = str_trim(buf_str(&text));
	return arena_dup(a, line.p, line.n);
}

/* Where info/exclude of a repository is: in .git, or, when .git is the file of a worktree, in the common directory. */
static char *exclude_path(struct arena *a, const char *dir)
{
	char *git = path_join(a, dir, ".git");
	struct stat st;

	if (stat(git, &st) == 0 && S_ISDIR(st.st_mode))
		return path_join(a, git, "info/exclude");
	char *link = read_line(a, git);
	if (!link || strncmp(link, "gitdir: ", 8))
		return NULL;
	char *admin = path_join(a, dir, link + 8);
	char *common = read_line(a, path_join(a, admin, "commondir"));
	return path_join(a, common ? path_join(a, admin, common) : admin, "info/exclude");
}

static void load_level(struct ignore_level *level, const char *dir, unsigned has)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	level->has_git = has & HAS_GIT && stat(path_join(&a, dir, ".git"), &st) == 0;
	if (has & HAS_RGIGNORE)
		load_rules(&level->lists[SOURCE_RGIGNORE], path_join(&a, dir, ".rgignore"));
	if (has & HAS_IGNORE)
		load_rules(&level->lists[SOURCE_IGNORE], path_join(&a, dir, ".ignore"));
	if (has & HAS_GITIGNORE)
		load_rules(&level->lists[SOURCE_GITIGNORE], path_join(&a, dir, ".gitignore"));
	if (level->has_git)
		load_rules(&level->lists[SOURCE_EXCLUDE], exclude_path(&a, dir));
}

static void level_free(struct ignore_level *level)
{
	for (size_t i = 0; i < SOURCES; i++)
		gitignore_release(&level->lists[i]);
	free(level);
}

static bool says_nothing(const struct ignore_level *level)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (level->lists[i].count)
			return false;
	return !level->has_git;
}

const struct ignore_level *ignore_tree_enter(struct ignore_tree *tree, const struct ignore_level *parent,
					     const char *dir, unsigned has)
{
	if (!has)
		return parent;
	struct ignore_level *level = xcalloc(1, sizeof *level);
	load_level(level, dir, has);
	if (says_nothing(level)) {
		level_free(level);
		return parent;
	}
	size_t n = strlen(dir);
	level->base = n + (n && dir[n - 1] != '/');
	level->parent = parent;
	level->in_git = level->has_git || (parent && parent->in_git);
	pthread_mutex_lock(&tree->lock);
	level->next = tree->levels;
	tree->levels = level;
	pthread_mutex_unlock(&tree->lock);
	return level;
}

const struct ignore_level *ignore_tree_parents(struct ignore_tree *tree, const char *dir)
{
	const struct ignore_level *level = NULL;
	AUTO_FREE char *path = xstrdup(dir);

	for (char *slash = path; (slash = strchr(slash, '/')) && slash[1]; slash++) {
		char kept = slash[1];
		slash[slash == path] = '\0';
		level = ignore_tree_enter(tree, level, path, (unsigned)HAS_UNKNOWN);
		*slash = '/';
		slash[1] = kept;
	}
	return level;
}

enum ignore_verdict ignore_tree_match(const struct ignore_tree *tree, const struct ignore_level *level, struct str path,
				      bool is_dir)
{
	enum ignore_verdict verdicts[SOURCES] = { 0 };
	bool left_repository = !level || !level->in_git;
	bool in_git = !left_repository;

	for (; level; level = level->parent) {
		struct str inside = { path.p + level->base, path.n - level->base };
		for (size_t i = 0; i < SOURCES; i++) {
			bool of_git = i == SOURCE_GITIGNORE || i == SOURCE_EXCLUDE;
			if (verdicts[i] == IGNORE_NONE && !(of_git && left_repository))
				verdicts[i] = gitignore_match(&level->lists[i], inside, is_dir);
		}
		left_repository = left_repository || level->has_git;
	}
	for (size_t i = 0; i < SOURCES; i++)
		if (verdicts[i] != IGNORE_NONE)
			return verdicts[i];
	/* Its patterns have no directory to be anchored to; whole paths are what ripgrep compares as well. */
	return in_git ? gitignore_match(&tree->global, (struct str){ path.p + 1, path.n - 1 }, is_dir) : IGNORE_NONE;
}

/* The value of "excludesfile = PATH" in a git configuration, ~ resolved; NULL if it is not set. */
static char *excludes_setting(struct arena *a, const char *config, const char *home)
{
	AUTO_BUF struct buf text = { 0 };
	char *found = NULL;

	if (file_read(config, IGNORE_FILE_LIMIT, &text, NULL) < 0)
		return NULL;
	for (struct str rest = buf_str(&text); rest.p;) {
		struct str value = str_cut(&rest, '\n');
		struct str key = str_cut(&value, '=');
		value = str_trim(value);
		if (!str_is_nocase(str_trim(key), "excludesfile") || !value.n)
			continue;
		if (value.n > 1 && value.p[0] == '"' && value.p[value.n - 1] == '"')
			value = (struct str){ value.p + 1, value.n - 2 };
		if (str_starts(value, STR("~/")) && home)
			found = arena_printf(a, "%s/" STR_FMT, home, (int)value.n - 2, value.p + 2);
		else
			found = arena_dup(a, value.p, value.n);
	}
	return found;
}

void ignore_tree_init(struct ignore_tree *tree, const char *home, const char *config_home)
{
	AUTO_ARENA struct arena a = { 0 };
	char *path = NULL;

	*tree = (struct ignore_tree){ .lock = PTHREAD_MUTEX_INITIALIZER };
	if ((!config_home || !*config_home) && home)
		config_home = path_join(&a, home, ".config");
	if (home)
		path = excludes_setting(&a, path_join(&a, home, ".gitconfig"), home);
	if (!path && config_home)
		path = excludes_setting(&a, path_join(&a, config_home, "git/config"), home);
	if (!path && config_home)
		path = path_join(&a, config_home, "git/ignore");
	load_rules(&tree->global, path);
}

void ignore_tree_release(struct ignore_tree *tree)
{
	while (tree->levels) {
		struct ignore_level *level = tree->levels;
		tree->levels = level->next;
		level_free(level);
	}
	gitignore_release(&tree->global);
	pthread_mutex_destroy(&tree->lock);
}
