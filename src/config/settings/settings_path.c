/* SPDX-License-Identifier: MIT
 * settings_path.c - the list of places. */
#include "config/settings/settings_file.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/git/git_head.h"

static const char *const layer_names[LAYER_COUNT] = {
	[LAYER_USER] = "user", [LAYER_PROJECT] = "project", [LAYER_LOCAL] = "local",
	[LAYER_FLAG] = "flag", [LAYER_MANAGED] = "managed",
};

const char *settings_layer_name(enum settings_layer layer)
{
	return layer_names[layer];
}

int setting_sources_parse(struct str list, unsigned *ret_sources, struct err *err)
{
	unsigned sources = 0;

	while (list.p) {
		struct str name = str_trim(str_cut(&list, ','));
		size_t i = LAYER_USER;
		while (i <= LAYER_LOCAL && !str_is(name, layer_names[i]))
			i++;
		if (name.n && i > LAYER_LOCAL)
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

static void add_layer_file(struct settings_paths *p, enum settings_layer layer, const char *path)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 8;
		struct settings_path *bigger = arena_alloc(p->arena, cap * sizeof *bigger);
		if (p->count)
			memcpy(bigger, p->list, p->count * sizeof *bigger);
		p->list = bigger;
		p->cap = cap;
	}
	p->list[p->count++] = (struct settings_path){ layer, path };
}

static void add_local(struct settings_paths *p, const struct settings_spec *spec)
{
	static const char name[] = ".claude/settings.local.json";
	const char *home = getenv("HOME");
	const char *root = spec->sdk ? NULL : git_root(p->arena, spec->cwd);
	const char *main_root = root ? git_main_checkout(p->arena, root) : NULL;
	struct stat st;

	if (main_root)
		root = main_root;
	add_layer_file(p, LAYER_LOCAL, path_join(p->arena, spec->cwd, name));
	/* The root of another user's repository, or of one that is the whole home directory, is not a project of the user. */
	if (root && strcmp(root, spec->cwd) != 0 && !(home && !strcmp(root, home)) && stat(root, &st) == 0 &&
	    st.st_uid == geteuid())
		add_layer_file(p, LAYER_LOCAL, path_join(p->arena, root, name));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_json(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(str_from(e->d_name), STR(".json"));
}

static int add_managed(struct settings_paths *p, const char *dir, struct err *err)
{
	struct dirent **entries;
	char *parts = path_join(p->arena, dir, "managed-settings.d");

	add_layer_file(p, LAYER_MANAGED, path_join(p->arena, dir, "managed-settings.json"));
	int n = scandir(parts, &entries, is_json, by_name);
	if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (n < 0)
		return err_set(err, ERR_USAGE, "cannot list %s: %m", parts);
	for (int i = 0; i < n; i++) {
		add_layer_file(p, LAYER_MANAGED, path_join(p->arena, parts, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	return 0;
}

int settings_paths_find(struct settings_paths *p, const struct settings_spec *spec, struct err *err)
{
	unsigned chosen = spec->bare ? 0 : spec->sources;

	if (chosen & SETTINGS_USER)
		add_layer_file(p, LAYER_USER, path_join(p->arena, spec->config_dir, "settings.json"));
	if (chosen & SETTINGS_PROJECT) {
		/* In the home directory the user's file and the project's are one; it is the user's. */
		char *dir = path_join(p->arena, spec->cwd, ".claude");
		if (strcmp(dir, spec->config_dir) != 0)
			add_layer_file(p, LAYER_PROJECT, path_join(p->arena, dir, "settings.json"));
	}
	if (chosen & SETTINGS_LOCAL)
		add_local(p, spec);
	if (spec->flag)
		add_layer_file(p, LAYER_FLAG, arena_strdup(p->arena, spec->flag));
	size_t at = p->count;
	if (spec->managed_dir && add_managed(p, spec->managed_dir, err) < 0)
		return -ERR_USAGE;
	while (at < p->count && !file_exists(p->list[at].path))
		at++;
	if (spec->managed && at == p->count)
		add_layer_file(p, LAYER_MANAGED, arena_strdup(p->arena, spec->managed));
	return 0;
}

char *settings_local_path(struct arena *a, const struct settings_spec *spec)
{
	struct settings_paths p = { .arena = a };

	add_local(&p, spec);
	return arena_strdup(a, p.list[p.count - 1].path);
}
