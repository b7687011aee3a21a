/* SPDX-License-Identifier: MIT
 * config_read.c - every place in which servers are configured, the highest first. */
#include "lib/io/file.h"
#include "mcp/servers/config_int.h"
#include "config/settings/trust.h"

enum { MOST_SERVERS = 1000 }; /* in one file: names are compared with each other */

struct walk {
	struct mcp_config *config;
	const struct mcp_config_spec *spec;
	size_t cap; /* of config->items */
	struct err *err;
};

/* ---- one entry --------------------------------------------------------------------------------------------------- */

static struct mcp_item *new_item(struct walk *w)
{
	struct mcp_config *c = w->config;

	if (c->count == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 16;
		struct mcp_item *bigger = arena_alloc(&c->arena, w->cap * sizeof *bigger);
		if (c->count)
			memcpy(bigger, c->items, c->count * sizeof *bigger);
		c->items = bigger;
	}
	c->items[c->count] = (struct mcp_item){ .reason = "" };
	return &c->items[c->count++];
}

static void add_entry(struct walk *w, const struct mcp_entry *entry)
{
	struct arena *a = &w->config->arena;
	struct mcp_item *item = new_item(w);
	struct err err = { 0 };

	item->name = arena_str(a, entry->name).p;
	item->scope = entry->scope;
	item->file = entry->file ? arena_strdup(a, entry->file) : NULL;
	item->line = entry->line;
	item->json = arena_str(a, json_raw(entry->value));
	if (mcp_server_read(entry, &w->config->notes, &item->server, &item->error_type, &err) < 0) {
		item->standing = MCP_REFUSED;
		item->reason = arena_strdup(a, err.text);
	}
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

static int fail_at(const struct settings_file *f, const struct json *value, const char *what, struct err *err)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, f, value);
	return err_set(err, ERR_USAGE, "%s:%u:%u: %s", f->path, at.line, at.column, what);
}

int config_servers(const struct settings_file *f, const struct json *container, const struct json **ret_map,
		   struct err *err)
{
	const struct json *map = json_get(container, "mcpServers");

	if (map && !json_is(map, JSON_OBJECT))
		return fail_at(f, map, "mcpServers: expected an object", err);
	if (map && map->count > MOST_SERVERS)
		return fail_at(f, map, "mcpServers: more than 1000 servers", err);
	*ret_map = map;
	return 0;
}

static void add_map(struct walk *w, const struct settings_file *f, const struct json *map, enum mcp_scope scope)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_cursor at = { 0 };

	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		struct str name = json_str(m.key, &a);
		settings_cursor_move(&at, f, m.key);
		if (json_get_str(map, name) != m.value) {
			buf_addf(&w->config->notes,
				 "%s:%u: server '" STR_FMT "' stands here again; the last one counts\n", f->path,
				 at.line, STR_ARG(name));
			continue;
		}
		add_entry(w, &(struct mcp_entry){
				     .name = name,
				     .value = m.value,
				     .scope = scope,
				     .file = f->path,
				     .line = at.line,
				     .believed = scope != MCP_SCOPE_PROJECT || settings_trusted(w->spec->settings),
				     .of_project = scope == MCP_SCOPE_PROJECT,
				     .lookup = w->spec->lookup,
				     .data = w->spec->lookup_data,
			     });
	}
}

/* A file of its own for servers. Something in it, but no mcpServers, is some other program's file. */
static int add_file(struct walk *w, const struct settings_file *f, enum mcp_scope scope)
{
	const struct json *map = NULL;

	if (!f->root)
		return 0;
	int status = config_servers(f, f->root, &map, w->err);
	if (status < 0)
		return status;
	if (!map && f->root->count)
		return fail_at(f, f->root, "expected {\"mcpServers\": {NAME: {...}}}", w->err);
	add_map(w, f, map, scope);
	return 0;
}

/* ---- managed, flag ----------------------------------------------------------------------------------------------- */

static int read_managed(struct walk *w)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	struct arena *a = &w->config->arena;

	if (!w->spec->managed_dir)
		return 0;
	const char *path = path_join(a, w->spec->managed_dir, "managed-mcp.json");
	int status = settings_file_read(&f, path, w->err);
	if (status < 0)
		return status;
	if (f.root)
		w->config->managed_file = path;
	return add_file(w, &f, MCP_SCOPE_MANAGED);
}

static int read_flag(struct walk *w, const char *value)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	struct str text = str_trim(str_from(value));
	int status;

	if (!text.n)
		return err_set(w->err, ERR_USAGE, "--mcp-config: expected a JSON object, or a file with one");
	if (text.p[0] == '{') {
		status = settings_file_parse(&f, "--mcp-config", text, w->err);
	} else {
		const char *path = path_absolute(&w->config->arena, w->spec->cwd, text);
		status = settings_file_read(&f, path, w->err);
		if (status == 0 && !f.root)
			return err_set(w->err, ERR_USAGE, "MCP config file not found: %s", path);
	}
	return status < 0 ? status : add_file(w, &f, MCP_SCOPE_FLAG);
}

static int read_flags(struct walk *w)
{
	int status = 0;

	for (size_t i = w->spec->flag_count; status == 0 && i > 0; i--)
		status = read_flag(w, w->spec->flags[i - 1]);
	return status;
}

/* ---- local, project, user ---------------------------------------------------------------------------------------- */

static int read_project(struct walk *w, const struct mcp_place *place)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	int status = settings_file_read(&f, place->file, w->err);

	return status < 0 ? status : add_file(w, &f, place->scope);
}

static int read_state(struct walk *w, const struct mcp_place *place, const struct settings_file *state)
{
	const struct json *map = NULL;
	int status = config_place_map(place, state, &map, w->err);

	if (status == 0)
		add_map(w, state, map, place->scope);
	return status;
}

static int read_own(struct walk *w)
{
	AUTO_SETTINGS_FILE struct settings_file state = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_places places;
	int status = 0;

	mcp_places_find(&places, &a, w->spec->cwd, w->spec->state_file, w->spec->sources);
	if (w->spec->sources & (SETTINGS_LOCAL | SETTINGS_USER))
		status = settings_file_read_up_to(&state, w->spec->state_file, TRUST_FILE_LIMIT, w->err);
	for (size_t i = 0; status == 0 && i < places.count; i++) {
		const struct mcp_place *place = &places.list[i];
		status = place->scope == MCP_SCOPE_PROJECT ? read_project(w, place) : read_state(w, place, &state);
	}
	return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int config_read_all(struct mcp_config *c, const struct mcp_config_spec *spec, struct err *err)
{
	struct walk w = { .config = c, .spec = spec, .err = err };
	int status = read_managed(&w);

	if (status == 0)
		status = read_flags(&w);
	if (status < 0 || spec->strict)
		return status;
	status = read_own(&w);
	for (size_t i = 0; status == 0 && i < spec->plugin_count; i++)
		add_entry(&w, &spec->plugins[i]);
	return status;
}
