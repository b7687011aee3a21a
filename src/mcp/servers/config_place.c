/* SPDX-License-Identifier: MIT
 * config_place.c - where the servers of a user and of a project are written down. */
#include "mcp/servers/config_place.h"
#include "lib/io/file.h"
#include "mcp/servers/config_int.h"
#include "lib/git/git_head.h"
#include "config/settings/settings_store.h"
#include "config/settings/state_file.h"
#include "config/settings/trust.h"

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static void add(struct mcp_places *places, enum mcp_scope scope, const char *file, const char *folder)
{
	places->list[places->count++] = (struct mcp_place){ scope, file, folder };
}

static const char *real(struct arena *a, const char *path)
{
	AUTO_FREE char *found = realpath(path, NULL);

	return arena_strdup(a, found ? found : path);
}

static void add_local(struct mcp_places *places, struct arena *a, const char *cwd, const char *state_file)
{
	const char *here = real(a, cwd);
	const char *root = real(a, trust_folder(a, cwd));

	add(places, MCP_SCOPE_LOCAL, state_file, here);
	if (strcmp(here, root) != 0)
		add(places, MCP_SCOPE_LOCAL, state_file, root);
}

/* The home directory as a repository would make its file everybody's. */
static const char *topmost(struct arena *a, const char *cwd)
{
	const char *home = getenv("HOME");
	const char *root = git_root(a, cwd);

	return root && !(home && !strcmp(root, home)) ? root : cwd;
}

static void add_project(struct mcp_places *places, struct arena *a, const char *cwd)
{
	const char *top = topmost(a, cwd);
	char *dir = arena_strdup(a, cwd);

	for (;;) {
		add(places, MCP_SCOPE_PROJECT, path_join(a, dir, ".mcp.json"), NULL);
		char *slash = strrchr(dir, '/');
		if (!strcmp(dir, top) || !slash || slash == dir)
			return;
		*slash = '\0';
	}
}

void mcp_places_find(struct mcp_places *ret_places, struct arena *a, const char *cwd, const char *state_file,
		     unsigned sources)
{
	struct mcp_places places = { 0 };
	size_t most = 4; /* besides a project's, of which each directory on the way has one */

	for (const char *p = cwd; *p; p++)
		most += *p == '/';
	places.list = arena_alloc(a, most * sizeof *places.list);
	if (sources & SETTINGS_LOCAL)
		add_local(&places, a, cwd, state_file);
	if (sources & SETTINGS_PROJECT)
		add_project(&places, a, cwd);
	if (sources & SETTINGS_USER)
		add(&places, MCP_SCOPE_USER, state_file, NULL);
	*ret_places = places;
}

const struct mcp_place *mcp_places_first(const struct mcp_places *places, enum mcp_scope scope)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->list[i].scope == scope)
			return &places->list[i];
	return NULL;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

static bool is_in_state_file(const struct mcp_place *place)
{
	return place->scope != MCP_SCOPE_PROJECT;
}

int config_place_map(const struct mcp_place *place, const struct settings_file *f, const struct json **ret_map,
		     struct err *err)
{
	const struct json *container = f->root;

	if (place->folder)
		container = json_get_str(json_get(f->root, "projects"), str_from(place->folder));
	return config_servers(f, container, ret_map, err);
}

int mcp_place_has(const struct mcp_place *place, struct str name, bool *ret_has, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	const struct json *map;
	size_t limit = is_in_state_file(place) ? (size_t)TRUST_FILE_LIMIT : (size_t)SETTINGS_FILE_LIMIT;
	int status = settings_file_read_up_to(&f, place->file, limit, err);

	if (status == 0)
		status = config_place_map(place, &f, &map, err);
	if (status == 0)
		*ret_has = json_get_str(map, name) != NULL;
	return status;
}

static int set_once(const struct mcp_place *place, struct str name, struct str json, struct err *err)
{
	struct str names[4];
	size_t n = 0;

	if (place->folder) {
		names[n++] = STR("projects");
		names[n++] = str_from(place->folder);
	}
	names[n++] = STR("mcpServers");
	names[n++] = name;
	return is_in_state_file(place) ? state_file_set(place->file, names, n, json, err)
				       : settings_set_member(place->file, names, n, json, err);
}

int mcp_place_set(const struct mcp_place *place, struct str name, struct str json, struct err *err)
{
	int status = set_once(place, name, json, err);
	bool again = status == 0 && !json.p;

	/* A name that stands there twice has to go twice, or what it hid would count. */
	while (again) {
		status = mcp_place_has(place, name, &again, err);
		if (status < 0 || !again)
			return status;
		status = set_once(place, name, json, err);
		again = status == 0;
	}
	return status;
}
