/* SPDX-License-Identifier: MIT
 * config.c - finds every configured server, highest priority first, and selects the used ones: entries that are not
 * allowed or not approved are removed first, so that they shadow nothing; then the first of each name wins. */
#include "mcp/servers/config.h"
#include "config/settings/settings_file.h"
#include "config/settings/settings_store.h"
#include "config/settings/trust.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"

enum { MOST_SERVERS = 1000 }; /* in one file: names are compared with each other */

static void add_location(struct mcp_locations *locations, enum mcp_scope scope, const char *file, const char *folder)
{
	locations->list[locations->count++] = (struct mcp_location){ scope, file, folder };
}

static const char *real_path(struct arena *a, const char *path)
{
	AUTO_FREE char *found = realpath(path, NULL);

	return arena_strdup(a, found ? found : path);
}

void mcp_locations_find(struct mcp_locations *ret_locations, struct arena *a, const char *cwd, const char *state_file,
			unsigned sources)
{
	struct mcp_locations locations = { 0 };
	size_t most = 4; /* besides a project's, of which each directory on the way has one */

	for (const char *p = cwd; *p; p++)
		most += *p == '/';
	locations.list = arena_alloc(a, most * sizeof *locations.list);
	if (sources & SETTINGS_LOCAL) {
		const char *here = real_path(a, cwd);
		const char *root = real_path(a, trust_folder(a, cwd));
		add_location(&locations, MCP_SCOPE_LOCAL, state_file, here);
		if (strcmp(here, root) != 0)
			add_location(&locations, MCP_SCOPE_LOCAL, state_file, root);
	}
	if (sources & SETTINGS_PROJECT) {
		/* With the home directory as a repository, its file would apply to every project. */
		const char *home = getenv("HOME");
		const char *root = git_root(a, cwd);
		const char *top = root && !(home && !strcmp(root, home)) ? root : cwd;
		char *slash = NULL;
		for (char *dir = arena_strdup(a, cwd);; *slash = '\0') {
			add_location(&locations, MCP_SCOPE_PROJECT, path_join(a, dir, ".mcp.json"), NULL);
			slash = strrchr(dir, '/');
			if (!strcmp(dir, top) || !slash || slash == dir)
				break;
		}
	}
	if (sources & SETTINGS_USER)
		add_location(&locations, MCP_SCOPE_USER, state_file, NULL);
	*ret_locations = locations;
}

const struct mcp_location *mcp_locations_first(const struct mcp_locations *locations, enum mcp_scope scope)
{
	for (size_t i = 0; i < locations->count; i++)
		if (locations->list[i].scope == scope)
			return &locations->list[i];
	return NULL;
}

static int fail_at(const struct settings_file *f, const struct json *value, const char *what, struct err *err)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, f, value);
	return err_set(err, ERR_USAGE, "%s:%u:%u: %s", f->path, at.line, at.column, what);
}

static int read_servers_member(const struct settings_file *f, const struct json *container, const struct json **ret_map,
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

static int location_servers(const struct mcp_location *location, const struct settings_file *f,
			    const struct json **ret_map, struct err *err)
{
	const struct json *container = f->root;

	if (location->folder)
		container = json_get_str(json_get(f->root, "projects"), str_from(location->folder));
	return read_servers_member(f, container, ret_map, err);
}

int mcp_location_has(const struct mcp_location *location, struct str name, bool *ret_has, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	const struct json *map = NULL;
	size_t limit = location->scope != MCP_SCOPE_PROJECT ? (size_t)TRUST_FILE_LIMIT : (size_t)SETTINGS_FILE_LIMIT;
	int status = settings_file_read_up_to(&f, location->file, limit, err);

	if (status == 0)
		status = location_servers(location, &f, &map, err);
	if (status == 0)
		*ret_has = json_get_str(map, name) != NULL;
	return status;
}

int mcp_location_set(const struct mcp_location *location, struct str name, struct str json, struct err *err)
{
	struct str names[4];
	size_t n = 0;
	bool again = false;
	int status;

	if (location->folder) {
		names[n++] = STR("projects");
		names[n++] = str_from(location->folder);
	}
	names[n++] = STR("mcpServers");
	names[n++] = name;
	/* Removes all duplicates of a name, or a hidden one would become active. */
	do {
		status = location->scope != MCP_SCOPE_PROJECT
				 ? state_file_set(location->file, names, n, json, NULL, err)
				 : settings_set_member(location->file, names, n, json, err);
		if (status == 0 && !json.p)
			status = mcp_location_has(location, name, &again, err);
	} while (status == 0 && again);
	return status;
}

struct loading {
	struct mcp_config *config;
	const struct mcp_config_spec *spec;
	struct err *err;
};

static void add_entry(struct loading *w, const struct mcp_entry *entry)
{
	struct mcp_config *c = w->config;
	struct arena *a = &c->arena;
	struct err err = { 0 };

	struct mcp_item *item = arena_push(a, c->items, c->count);
	*item = (struct mcp_item){
		.name = arena_str(a, entry->name).p,
		.scope = entry->scope,
		.file = arena_strdup(a, entry->file),
		.line = entry->line,
		.json = arena_str(a, json_raw(entry->value)),
		.reason = "",
	};
	if (mcp_server_read(entry, &c->notes, &item->server, &item->error_type, &err) < 0) {
		item->standing = MCP_REFUSED;
		item->reason = arena_strdup(a, err.text);
	}
}

static void add_servers(struct loading *w, const struct settings_file *f, const struct json *map, enum mcp_scope scope)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_cursor at = { 0 };

	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		struct str name = json_str(m.key, &a);
		settings_cursor_move(&at, f, m.key);
		if (json_get_str(map, name) != m.value) {
			buf_addf(&w->config->notes,
				 "%s:%u: server '" STR_FMT "' is defined twice; the last definition is used\n", f->path,
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

/* A file for servers only. A file without mcpServers belongs to another program. */
static int add_file(struct loading *w, const struct settings_file *f, enum mcp_scope scope)
{
	const struct json *map = NULL;

	if (!f->root)
		return 0;
	int status = read_servers_member(f, f->root, &map, w->err);
	if (status < 0)
		return status;
	if (!map && f->root->count)
		return fail_at(f, f->root, "expected {\"mcpServers\": {NAME: {...}}}", w->err);
	add_servers(w, f, map, scope);
	return 0;
}

static int read_managed(struct loading *w)
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

static int read_flag(struct loading *w, const char *value)
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

/* A file that can only add servers: the run continues without them. */
static void skip_file(struct loading *w)
{
	buf_addf(&w->config->notes, "%s; none of its servers runs\n", w->err->text);
	buf_addf(&w->config->bad_files, "%s\n", w->err->text);
	*w->err = (struct err){ 0 };
}

/* Of the state file and the project's files. */
static void read_locations(struct loading *w)
{
	AUTO_SETTINGS_FILE struct settings_file state = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_locations locations;

	mcp_locations_find(&locations, &a, w->spec->cwd, w->spec->state_file, w->spec->sources);
	if ((w->spec->sources & (SETTINGS_LOCAL | SETTINGS_USER)) &&
	    settings_file_read_up_to(&state, w->spec->state_file, TRUST_FILE_LIMIT, w->err) < 0)
		skip_file(w);
	for (size_t i = 0; i < locations.count; i++) {
		const struct mcp_location *location = &locations.list[i];
		AUTO_SETTINGS_FILE struct settings_file f = { 0 };
		const struct json *map = NULL;
		if (location->scope == MCP_SCOPE_PROJECT) {
			if (settings_file_read(&f, location->file, w->err) < 0 || add_file(w, &f, location->scope) < 0)
				skip_file(w);
		} else if (state.root && location_servers(location, &state, &map, w->err) < 0) {
			skip_file(w);
		} else if (state.root) {
			add_servers(w, &state, map, location->scope);
		}
	}
}

/* Whether a list of the settings has the name of the server. An answer of the user is stored with the name and a seal, which is
 * about the whole entry as it was shown. As soon as there is a seal, the name alone approves nothing. */
struct named {
	const char *name, *seal;
	bool found, sealed, other; /* other: a seal of another text */
	struct settings_origin at; /* where, if found */
};

static void find_name(void *data, const struct settings_item *item)
{
	struct named *n = data;
	AUTO_ARENA struct arena a = { 0 };
	struct str value = json_str(item->value, &a);

	if (n->seal && str_is(value, n->seal))
		n->sealed = true;
	else if (n->seal && str_starts(value, (struct str){ n->seal, strlen(n->name) + strlen(MCP_SEAL_MARK) }))
		n->other = true;
	if (!str_is(value, n->name))
		return;
	n->found = true;
	n->at = item->origin;
}

static void set_standing(struct mcp_item *item, enum mcp_standing standing, const char *reason)
{
	item->standing = standing;
	item->reason = reason;
}

/* What a server that is not the user's own wants in the sandbox must have been approved with these very words. Where the user
 * cannot be asked it runs without. */
static void decide_wishes(struct mcp_config *c, struct mcp_item *item, const struct mcp_config_spec *spec, bool sealed)
{
	struct mcp_server *s = item->server;

	if (!s->wishes_text || mcp_server_origin(s) == CHILD_OF_SERVER || sealed)
		return;
	item->wanted = s->wishes;
	s->wishes = (struct child_wishes){ 0 };
	item->wishes = item->scope == MCP_SCOPE_PROJECT && spec->interactive;
	if (!item->wishes)
		buf_addf(&c->notes, "%s:%u: server '%s': its \"sandbox\" has no effect: it was not approved\n",
			 item->file ? item->file : "plugin", item->line, item->name);
}

static void decide_item(struct mcp_config *c, struct mcp_item *item, const struct mcp_config_spec *spec)
{
	AUTO_BUF struct buf why = { 0 };
	struct named disabled = { .name = item->name };
	struct named enabled = { .name = item->name };
	bool managed = item->scope == MCP_SCOPE_MANAGED;

	if (item->standing == MCP_REFUSED)
		return;
	if (c->managed_file && !managed)
		set_standing(item, MCP_REFUSED,
			     arena_printf(&c->arena, "only the servers of %s are used", c->managed_file));
	else if (c->plugins_only && !managed && item->scope != MCP_SCOPE_PLUGIN)
		set_standing(item, MCP_REFUSED, "managed settings allow servers of plugins only");
	else if (item->scope == MCP_SCOPE_FLAG && settings_bool(spec->settings, "disableSideloadFlags"))
		set_standing(item, MCP_REFUSED, "managed settings do not allow servers of --mcp-config");
	else if (!mcp_policy_allows(c->policy, item->server, &why))
		set_standing(item, MCP_REFUSED, arena_str(&c->arena, buf_str(&why)).p);
	if (item->standing == MCP_REFUSED)
		return;
	if (item->scope == MCP_SCOPE_PROJECT) {
		AUTO_BUF struct buf sealed = { 0 };
		char digest[SHA256_DIGITS + 1];
		buf_add(&sealed, item->name, strlen(item->name) + 1);
		buf_append(&sealed, item->json);
		sha256_hex(buf_str(&sealed), digest);
		item->seal = arena_printf(&c->arena, "%s" MCP_SEAL_MARK "%s", item->name, digest);
		enabled.seal = item->seal;
		settings_each(spec->settings, "disabledMcpjsonServers", find_name, &disabled);
		settings_each(spec->settings, "enabledMcpjsonServers", find_name, &enabled);
	}
	decide_wishes(c, item, spec, enabled.sealed);
	if (item->scope != MCP_SCOPE_PROJECT)
		return;
	bool changed = enabled.other && !enabled.sealed;
	/* In a trusted folder a script needs no approval: it cannot ask. */
	if (disabled.found)
		set_standing(item, MCP_REFUSED,
			     arena_printf(&c->arena, "refused by disabledMcpjsonServers in %s:%u", disabled.at.file,
					  disabled.at.line));
	else if (item->wishes && spec->interactive)
		set_standing(item, MCP_UNAPPROVED, "it wants more in the sandbox than was approved");
	else if ((!enabled.found || changed) && !enabled.sealed &&
		 !settings_bool(spec->settings, "enableAllProjectMcpServers") &&
		 (spec->interactive || !settings_trusted(spec->settings)))
		set_standing(
			item, MCP_UNAPPROVED,
			changed ? "it is not as it was when it was approved"
				: "the project defines it: check it, then add it to enabledMcpjsonServers of your settings");
}

/* A project's server takes the place of the user's only under the very same name, as the order of scopes says, not under one that
 * merely gives its tools the same names: rules for those would hold for it. Rules ignore case, and a tool b__c of the server a has the
 * name of a tool c of a__b. */
static void decide_shadow(struct mcp_config *c, struct mcp_item *item)
{
	AUTO_BUF struct buf own_name = { 0 };
	const char *reason = NULL;

	mcp_name_add(&own_name, str_from(item->name), STR(""));
	buf_addstr(&own_name, "__"); /* as before the name of a tool */
	for (const struct mcp_item *other = c->items; other < c->items + c->count && !reason; other++) {
		AUTO_BUF struct buf name = { 0 };
		bool upper = other < item, same = !strcmp(item->name, other->name);
		if (other == item || other->standing != MCP_COUNTS)
			continue;
		mcp_name_add(&name, str_from(other->name), STR(""));
		buf_addstr(&name, "__");
		bool foreign = (item->scope == MCP_SCOPE_PROJECT) != (other->scope == MCP_SCOPE_PROJECT);
		bool alike = !same && (foreign ? !strncasecmp(own_name.p, name.p, MIN(own_name.n, name.n))
					       : str_eq(buf_str(&own_name), buf_str(&name)));
		if (alike && foreign)
			upper = item->scope == MCP_SCOPE_PROJECT;
		if (upper && same)
			reason = arena_printf(&c->arena, "the one of scope %s has precedence",
					      mcp_scope_word(other->scope));
		else if (upper && alike)
			reason = arena_printf(&c->arena, "its tools could have the same names as those of '%s'",
					      other->name);
		else if (upper && item->scope == MCP_SCOPE_PLUGIN &&
			 mcp_server_same_endpoint(item->server, other->server))
			reason = arena_printf(&c->arena, "'%s' is the same server", other->name);
		item->by = reason ? other : NULL;
	}
	if (reason)
		set_standing(item, MCP_SHADOWED, reason);
}

void mcp_config_answer(struct mcp_config *c, const struct mcp_item *which, bool approved)
{
	struct mcp_item *item = &c->items[which - c->items];

	if (item->standing != MCP_UNAPPROVED)
		return;
	if (!approved) {
		set_standing(item, MCP_REFUSED, "the user has refused it");
		return;
	}
	set_standing(item, MCP_COUNTS, "");
	if (item->wishes)
		item->server->wishes = item->wanted;
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].standing == MCP_COUNTS)
			decide_shadow(c, &c->items[i]);
}

const char *mcp_standing_word(enum mcp_standing standing)
{
	static const char *const words[] = { [MCP_COUNTS] = "counts",
					     [MCP_SHADOWED] = "shadowed",
					     [MCP_UNAPPROVED] = "pending approval",
					     [MCP_REFUSED] = "refused" };

	return words[standing];
}

int mcp_config_load(const struct mcp_config_spec *spec, struct mcp_config **ret_config, struct err *err)
{
	struct mcp_config *c = xcalloc(1, sizeof *c);
	struct loading w = { .config = c, .spec = spec, .err = err };

	c->plugins_only =
		settings_locks_kind(settings_get(spec->settings, "strictPluginOnlyCustomization", NULL), "mcp");
	int status = mcp_policy_new(spec->settings, &c->notes, &c->policy, err);
	if (status == 0)
		status = read_managed(&w);
	for (size_t i = spec->flag_count; status == 0 && i > 0; i--)
		status = read_flag(&w, spec->flags[i - 1]);
	if (status < 0) {
		mcp_config_free(c);
		return status;
	}
	if (!spec->strict)
		read_locations(&w);
	for (size_t i = 0; !spec->strict && i < spec->plugin_count; i++)
		add_entry(&w, &spec->plugins[i]);
	for (size_t i = 0; i < c->count; i++)
		decide_item(c, &c->items[i], spec);
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].standing == MCP_COUNTS)
			decide_shadow(c, &c->items[i]);
	*ret_config = c;
	return 0;
}

void mcp_config_free(struct mcp_config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		mcp_server_unref(c->items[i].server);
	mcp_policy_free(c->policy);
	buf_release(&c->notes);
	buf_release(&c->bad_files);
	arena_release(&c->arena);
	free(c);
}

int mcp_config_admit(const struct mcp_config *c, const struct mcp_server *server, struct err *err)
{
	AUTO_BUF struct buf why = { 0 };

	if (c->managed_file)
		return err_set(err, ERR_DENIED, "server '%.60s': only the servers of %s may be used", server->name,
			       c->managed_file);
	if (mcp_policy_allows(c->policy, server, &why))
		return 0;
	return err_set(err, ERR_DENIED, "server '%.60s': %s", server->name, why.p);
}
