/* SPDX-License-Identifier: MIT
 * source.c - the list of places. */
#include "agent/source.h"
#include <dirent.h>
#include <sys/stat.h>
#include "io/file.h"
#include "settings/git_head.h"

const char *agent_source_name(enum agent_source source)
{
	static const char *const names[AGENT_SOURCE_COUNT] = {
		[AGENT_BUILT_IN] = "built-in",       [AGENT_PLUGIN] = "plugin",     [AGENT_USER] = "userSettings",
		[AGENT_PROJECT] = "projectSettings", [AGENT_FLAG] = "flagSettings", [AGENT_POLICY] = "policySettings",
	};

	return names[source];
}

int setting_sources_parse(struct str list, unsigned *ret_sources, struct err *err)
{
	static const char *const names[] = { "user", "project", "local" };
	unsigned sources = 0;

	while (list.p) {
		struct str name = str_trim(str_cut(&list, ','));
		size_t i = 0;
		while (i < COUNT_OF(names) && !str_is(name, names[i]))
			i++;
		if (name.n && i == COUNT_OF(names))
			return err_set(err, ERR_USAGE,
				       "--setting-sources: '" STR_FMT "' is not known; expected user, project, "
				       "local",
				       STR_ARG(name));
		if (name.n)
			sources |= 1U << i;
	}
	*ret_sources = sources;
	return 0;
}

struct agent_place *agent_places_add(struct agent_places *places, enum place_kind kind, enum agent_source source,
				     const char *path)
{
	if (places->count == places->cap) {
		places->cap = places->cap ? places->cap * 2 : 16;
		places->list = xrealloc(places->list, places->cap * sizeof *places->list);
	}
	struct agent_place *place = &places->list[places->count++];
	*place = (struct agent_place){ .kind = kind, .source = source, .group = places->groups++ };
	place->path = arena_strdup(&places->arena, path);
	return place;
}

void agent_places_release(struct agent_places *places)
{
	free(places->list);
	arena_release(&places->arena);
	*places = (struct agent_places){ 0 };
}

static void add_below(struct agent_places *p, enum place_kind kind, enum agent_source source, const char *dir,
		      const char *name)
{
	agent_places_add(p, kind, source, path_join(&p->arena, dir, name));
}

static void drop_place(struct agent_places *p, enum place_kind kind, const char *path)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].kind == kind && !strcmp(p->list[i].path, path)) {
			memmove(&p->list[i], &p->list[i + 1], (p->count - i - 1) * sizeof *p->list);
			p->count--;
			return;
		}
}

/* The user's own directory is no project, also when the home directory is a repository. A directory that is named twice
 * counts where it is nearest. */
static void add_project_tree(struct agent_places *p, const struct agent_sources *s, const char *dir)
{
	const char *path = path_join(&p->arena, dir, ".claude/agents");

	if (!strcmp(path_join(&p->arena, dir, ".claude"), s->config_dir))
		return;
	drop_place(p, PLACE_TREE, path);
	agent_places_add(p, PLACE_TREE, AGENT_PROJECT, path);
}

/* In a linked worktree .git is a file that names a directory in the main checkout's .git, which names it back. Without
 * the way back anybody's .git file could make us read anywhere. */
static char *main_checkout(struct arena *a, const char *root)
{
	enum { SMALL_FILE = 4096 };
	AUTO_BUF struct buf text = { 0 };
	struct stat st;
	char *dot_git = path_join(a, root, ".git");

	if (stat(dot_git, &st) < 0 || !S_ISREG(st.st_mode) || file_read(dot_git, SMALL_FILE, &text, NULL) < 0 ||
	    !str_starts(buf_str(&text), STR("gitdir:")))
		return NULL;
	char *admin = path_absolute(a, root, str_trim((struct str){ text.p + 7, text.n - 7 }));
	char *end = strstr(admin, "/.git/worktrees/");
	buf_clear(&text);
	if (!end || file_read(path_join(a, admin, "gitdir"), SMALL_FILE, &text, NULL) < 0 ||
	    !str_is(str_trim(buf_str(&text)), dot_git))
		return NULL;
	return arena_dup(a, admin, (size_t)(end - admin));
}

/* From the root of the repository down to cwd, so that the nearest wins. Without a repository: cwd alone. */
static void add_project_trees(struct agent_places *p, const struct agent_sources *s)
{
	const char *root = git_root(&p->arena, s->cwd);
	const char *main_root = root ? main_checkout(&p->arena, root) : NULL;

	if (main_root && strcmp(main_root, root))
		add_project_tree(p, s, main_root);
	for (size_t i = 0; i < s->add_dir_count; i++)
		add_project_tree(p, s, s->add_dirs[i]);
	if (root && strcmp(root, s->cwd)) {
		add_project_tree(p, s, root);
		for (const char *at = strchr(s->cwd + strlen(root) + (root[1] != '\0'), '/'); at;
		     at = strchr(at + 1, '/'))
			add_project_tree(p, s, arena_dup(&p->arena, s->cwd, (size_t)(at - s->cwd)));
	}
	add_project_tree(p, s, s->cwd);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_json(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(str_from(e->d_name), STR(".json"));
}

static void add_managed(struct agent_places *p, const char *dir)
{
	struct dirent **entries;
	char *parts = path_join(&p->arena, dir, "managed-settings.d");

	add_below(p, PLACE_SETTINGS, AGENT_POLICY, dir, "managed-settings.json");
	int n = scandir(parts, &entries, is_json, by_name);
	for (int i = 0; i < n; i++) {
		add_below(p, PLACE_SETTINGS, AGENT_POLICY, parts, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	add_below(p, PLACE_TREE, AGENT_POLICY, dir, ".claude/agents");
}

void agent_places_find(struct agent_places *p, const struct agent_sources *s)
{
	unsigned chosen = s->bare ? 0 : s->setting_sources;

	agent_places_add(p, PLACE_BUILT_IN, AGENT_BUILT_IN, "built-in");
	for (size_t i = 0; i < s->plugin_dir_count; i++)
		agent_places_add_plugin(p, s->plugin_dirs[i]);
	if (chosen & SETTINGS_USER) {
		add_below(p, PLACE_SETTINGS, AGENT_USER, s->config_dir, "settings.json");
		add_below(p, PLACE_TREE, AGENT_USER, s->config_dir, "agents");
	}
	if (chosen & SETTINGS_PROJECT)
		add_below(p, PLACE_SETTINGS, AGENT_PROJECT, s->cwd, ".claude/settings.json");
	if (chosen & SETTINGS_LOCAL)
		add_below(p, PLACE_SETTINGS, AGENT_PROJECT, s->cwd, ".claude/settings.local.json");
	if (chosen & SETTINGS_PROJECT)
		add_project_trees(p, s);
	if (s->settings)
		agent_places_add(p, PLACE_SETTINGS, AGENT_FLAG, s->settings);
	if (s->flag)
		agent_places_add(p, PLACE_FLAG, AGENT_FLAG, s->flag);
	if (s->managed_dir)
		add_managed(p, s->managed_dir);
}
