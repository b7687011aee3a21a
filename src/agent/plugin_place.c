/* SPDX-License-Identifier: MIT
 * plugin_place.c - where the agents of a plugin are. A plugin is somebody else's directory: nothing that it says may lead
 * out of it, neither by "..", nor by an absolute path, nor by a link. */
#include "agent/source.h"
#include "agent/tree.h"
#include <sys/stat.h>
#include "io/file.h"
#include "settings/settings_file.h"

enum { LONGEST_NAME = 64 };

struct plugin {
	struct agent_places *places;
	const char *dir;  /* as given */
	const char *real; /* with links resolved */
	const char *name;
	unsigned group; /* of its first place */
};

static void add_problem(struct plugin *p, const char *path, const char *problem)
{
	struct agent_place *place = agent_places_add(p->places, PLACE_PROBLEM, AGENT_PLUGIN, path);

	place->plugin = p->name;
	place->problem = arena_strdup(&p->places->arena, problem);
}

static void add_place(struct plugin *p, enum place_kind kind, const char *path)
{
	struct agent_place *place = agent_places_add(p->places, kind, AGENT_PLUGIN, path);

	place->plugin = p->name;
	place->inside = p->real;
	place->group = p->group;
}

/* The name becomes part of agent types and, with memory, of a path. */
static bool is_good_name(struct str name)
{
	if (!name.n || name.n > LONGEST_NAME || name.p[0] == '.' || name.p[0] == '-')
		return false;
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!letter && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

static void add_named(struct plugin *p, const struct settings_file *manifest, const struct json *value)
{
	struct stat st;
	char message[160];
	struct arena *a = &p->places->arena;
	struct str given = json_str(value, a);
	char *path = path_absolute(a, p->dir, given);

	snprintf(message, sizeof message, "line %u: agents: '%.80s' ", settings_line(manifest, value),
		 arena_str(a, given).p);
	size_t n = strlen(message);
	if (!given.n || given.p[0] == '/' || given.p[0] == '~' || !path_is_inside(path, p->dir))
		snprintf(message + n, sizeof message - n, "must be a path inside the plugin");
	else if (stat(path, &st) < 0)
		snprintf(message + n, sizeof message - n, "is not there");
	else if (!tree_is_inside(path, p->real))
		snprintf(message + n, sizeof message - n, "is a link that leads out of the plugin");
	else if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && str_ends(given, STR(".md"))))
		return add_place(p, S_ISDIR(st.st_mode) ? PLACE_TREE : PLACE_FILE, path);
	else
		snprintf(message + n, sizeof message - n, "is neither a directory nor an .md file");
	add_problem(p, manifest->path, message);
}

/* A string or a list of strings. */
static void add_listed(struct plugin *p, const struct settings_file *manifest)
{
	const struct json *agents = json_get(manifest->root, "agents");

	if (json_is(agents, JSON_STRING)) {
		add_named(p, manifest, agents);
		return;
	}
	if (agents && !json_is(agents, JSON_ARRAY))
		add_problem(p, manifest->path, "agents: expected a path or a list of paths");
	for (const struct json *v = json_first(json_is(agents, JSON_ARRAY) ? agents : NULL); v;
	     v = json_next(agents, v)) {
		if (json_is(v, JSON_STRING))
			add_named(p, manifest, v);
		else
			add_problem(p, manifest->path, "agents: expected a list of paths");
	}
}

/* The manifest has its own directory; older plugins have it at their top. */
static int read_manifest(struct plugin *p, struct settings_file *manifest, struct err *err)
{
	struct arena *a = &p->places->arena;

	if (settings_file_read(manifest, path_join(a, p->dir, ".claude-plugin/plugin.json"), err) < 0)
		return -(int)err->kind;
	if (manifest->root)
		return 0;
	settings_file_release(manifest);
	return settings_file_read(manifest, path_join(a, p->dir, "plugin.json"), err);
}

/* Without a manifest the directory's name is the plugin's. */
static bool find_name(struct plugin *p, const struct settings_file *manifest)
{
	struct arena *a = &p->places->arena;
	const struct json *given = json_get(manifest->root, "name");
	const char *slash = strrchr(p->real, '/');
	struct str name = manifest->root ? json_str(given, a) : str_from(slash + 1);

	if (!is_good_name(name)) {
		add_problem(p, manifest->path, "name: expected letters, digits, '-', '_' and '.', 64 at most");
		return false;
	}
	p->name = arena_str(a, name).p;
	return true;
}

void agent_places_add_plugin(struct agent_places *places, const char *dir)
{
	AUTO_SETTINGS_FILE struct settings_file manifest = { 0 };
	AUTO_FREE char *real = realpath(dir, NULL);
	struct plugin p = { .places = places, .dir = dir, .group = places->groups };
	struct err err = { 0 };
	struct stat st;

	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		add_problem(&p, dir, "is not a directory");
		return;
	}
	p.real = arena_strdup(&places->arena, real);
	if (read_manifest(&p, &manifest, &err) < 0) {
		add_problem(&p, dir, err.text);
		return;
	}
	if (!find_name(&p, &manifest))
		return;
	char *agents = path_join(&places->arena, dir, "agents");
	if (file_exists(agents) && !tree_is_inside(agents, p.real))
		add_problem(&p, agents, "is a link that leads out of the plugin: not read");
	else
		add_place(&p, PLACE_TREE, agents);
	add_listed(&p, &manifest);
}
