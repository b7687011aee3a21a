/* SPDX-License-Identifier: MIT
 * sources.c - from the options of a runtime to the files that count: settings, agents, state. */
#include "defs/policy/sources.h"
#include "config/settings/settings.h"
#include "config/settings/settings_key.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/plugins.h"
#include "config/settings/trust.h"
#include "guard/permission/resolved_path.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

static const char managed_dir[] = "/etc/claude-code";

bool policy_coordinates(const struct services *sv)
{
	if (sv->recorded_mode)
		return !strcmp(sv->recorded_mode, "coordinator");
	return sv->options.coordinator || env_is_on(services_variable(sv, "CLAUDE_CODE_COORDINATOR_MODE")) ||
	       (sv->policy.settings && settings_bool(sv->policy.settings, "coordinator"));
}

const char *services_project_dir(const struct services *sv, struct arena *a, const char *cwd)
{
	const char *given = sv->options.config_root;
	const char *root = given ? path_absolute(a, cwd, str_from(given)) : git_root(a, cwd);

	return root ? root : cwd;
}

bool services_believe(const struct settings *settings, const struct definition *d)
{
	const struct settings_spec *of = settings_source(settings);

	return d->source != SOURCE_PROJECT ||
	       (settings_trusted(settings) && trust_covers(of->cwd, of->state_file, d->file));
}

unsigned services_setting_sources(const struct services *sv)
{
	const struct options *o = &sv->options;

	if (env_is_on(getenv("CLAUDE_CODE_SIMPLE")))
		return 0;
	return o->some_sources ? o->setting_sources : SETTINGS_ALL;
}

int services_agent_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err)
{
	const struct options *o = &sv->options;
	const char *entrypoint = o->entrypoint ? o->entrypoint : getenv("CLAUDE_CODE_ENTRYPOINT");
	struct str settings = o->settings ? str_trim(str_from(o->settings)) : STR("");
	struct catalog_sources s = { 0 };

	if (options_directories(o, a, &s.cwd, &s.config_dir, err) < 0)
		return -(int)err->kind;
	/* A JSON object stays as it is; anything else is the path of a file, which must be there. */
	if (settings.n)
		s.settings = settings.p[0] == '{' ? arena_str(a, settings).p : path_absolute(a, s.cwd, settings);
	if (settings.n && settings.p[0] != '{' && !file_exists(s.settings))
		return err_set(err, ERR_USAGE, "Settings file not found: %s", s.settings);
	s.managed_dir = o->managed_dir ? o->managed_dir : managed_dir;
	const char **paths = arena_alloc(a, (o->add_dir_count + 1) * sizeof *paths);
	for (size_t i = 0; i < o->add_dir_count; i++)
		paths[i] = path_absolute(a, s.cwd, str_from(o->add_dirs[i]));
	s.add_dirs = paths;
	s.add_dir_count = o->add_dir_count;
	if (o->config_root)
		s.cwd = path_absolute(a, s.cwd, str_from(o->config_root));
	s.flag = o->agents;
	s.denied = o->disallowed_tools;
	s.setting_sources = services_setting_sources(sv);
	s.bare = env_is_on(getenv("CLAUDE_CODE_SIMPLE"));
	s.sdk = str_starts(str_from(entrypoint), STR("sdk-"));
	s.builtin = s.sdk ? BUILTIN_NO_GUIDE : 0;
	if (s.sdk && env_is_on(services_variable(sv, "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS")))
		s.builtin |= BUILTIN_NONE;
	if (env_is_on(services_variable(sv, "CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS")))
		s.builtin |= BUILTIN_NO_EXPLORE_PLAN;
	if (policy_coordinates(sv))
		s.builtin |= BUILTIN_COORDINATOR;
	if (sv->policy.settings) /* the settings themselves are found with these sources, too */
		s.builtin |= builtin_keep(settings_texts(sv->policy.settings, "coordinatorTypes", a));
	*ret_sources = s;
	return 0;
}

void catalog_sources_hold(struct catalog_sources *sources, struct arena *a, const struct settings *settings)
{
	AUTO_FREE char *root = settings_trusted(settings) ? NULL : realpath(trust_folder(a, sources->cwd), NULL);

	sources->held_in = root ? arena_strdup(a, root) : NULL;
	sources->state_file = settings_source(settings)->state_file;
	sources->is_covered = trust_covers;
}

/* For --debug. */
static void log_agents(struct services *sv, const struct catalog_sources *sources, const struct catalog *found)
{
	size_t total = 0;

	for (size_t k = 0; k < sources->plugin_count; k++) {
		size_t n = 0;
		for (size_t i = 0; i < found->all_count; i++) {
			const char *plugin = found->all[i].definition->plugin;
			n += plugin && !strcmp(plugin, sources->plugins[k].name);
		}
		if (n)
			services_log(sv, "plugins", "Loaded %zu agents from plugin %s", n, sources->plugins[k].name);
		total += n;
	}
	services_log(sv, "plugins", "Total plugin agents loaded: %zu", total);
	for (size_t i = 0; i < found->failed_count; i++) {
		const struct catalog_failure *f = &found->failed[i];
		const char *member = strstr(f->path, "#agents.");
		if (member)
			services_log(sv, "agents", "Error parsing agent '%s' from JSON: %s", member + 8, f->message);
		else
			services_log(sv, "agents", "Error in %s:%u: %s", f->path, f->line, f->message);
	}
}

/* With the plugins of the sessions, or without sessions as they are now. */
int services_agents(struct services *sv, struct arena *a, struct catalog **ret_registry, struct err *err)
{
	struct catalog_sources sources;
	struct plugin_list *plugins = plugin_list_ref(sv->plugins);
	struct settings *settings = NULL;
	int status = services_agent_sources(sv, a, &sources, err);

	if (status == 0 && (!plugins || !sv->policy.settings))
		status = services_settings(sv, &settings, err);
	if (status == 0 && !plugins)
		status = services_find_plugins(sv, settings, &plugins, err);
	if (status == 0) {
		catalog_sources_hold(&sources, a, settings ? settings : sv->policy.settings);
		sources.plugins = plugin_list_definitions(plugins, PLUGIN_AGENTS, a, &sources.plugin_count);
		status = agent_registry_new(&sources, ret_registry, err);
	}
	if (status == 0)
		log_agents(sv, &sources, *ret_registry);
	plugin_list_unref(plugins);
	settings_unref(settings);
	return status;
}

/* Settings of the program that started us. They stand in for those of an administrator where there are none, and can only
 * restrict: these keys count. */
static const char *const parent_keys[] = {
	"allowManagedHooksOnly",
	"allowManagedMcpServersOnly",
	"allowManagedPermissionRulesOnly",
	"allowedMcpServers",
	"availableModels",
	"blockedMarketplaces",
	"deniedMcpServers",
	"strictKnownMarketplaces",
	"strictPluginOnlyCustomization",
};
static const char *const permission_keys[] = { "ask", "deny", "disableAutoMode", "disableBypassPermissionsMode" };

static void put_those(struct json_out *w, const struct json *from, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (json_get(from, names[i]))
			json_kraw(w, names[i], json_raw(json_get(from, names[i])));
}

/* The layer of --managed-settings, as the host gave it. */
static int parent_settings(const struct options *o, struct arena *a, const char **ret_json, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf filtered = { 0 };
	const char *given = o->managed_settings;
	const struct json *root;

	if (!given)
		return 0;
	if (json_parse(&reader, given, strlen(given), &root, err) < 0 || !json_is(root, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "--managed-settings is not a JSON object");
	const struct json *permissions = json_get(root, "permissions");
	const struct json *no_hooks = json_get(root, "disableAllHooks");
	struct json_out w = json_out(&filtered);
	json_open(&w, '{');
	put_those(&w, root, parent_keys, COUNT_OF(parent_keys));
	/* Hooks of an administrator still run. */
	if (no_hooks && !json_get(root, "allowManagedHooksOnly") && !json_is(no_hooks, JSON_FALSE) &&
	    !json_str_is(no_hooks, "false"))
		json_kbool(&w, "allowManagedHooksOnly", true);
	if (json_is(permissions, JSON_OBJECT)) {
		json_kopen(&w, "permissions", '{');
		put_those(&w, permissions, permission_keys, COUNT_OF(permission_keys));
		json_close(&w);
	}
	json_close(&w);
	*ret_json = arena_str(a, buf_str(&filtered)).p;
	return 0;
}

int services_settings_spec(struct services *sv, struct arena *a, struct settings_spec *ret_spec, struct err *err)
{
	AUTO_TRUST struct trust trust = { 0 };
	struct catalog_sources sources;
	const char *managed = NULL, *state_file;
	struct err unread = { 0 };

	if (services_agent_sources(sv, a, &sources, err) < 0 || parent_settings(&sv->options, a, &managed, err) < 0 ||
	    services_state_file(sv, a, &state_file, err) < 0)
		return -(int)err->kind;
	bool known = trust_read(&trust, state_file, &unread) == 0; /* if not, nothing is trusted and no agent runs */
	*ret_spec = (struct settings_spec){
		.bad_state = known ? NULL : arena_strdup(a, unread.text),
		.state_file = state_file,
		.cwd = sources.cwd,
		.config_dir = sources.config_dir,
		.managed_dir = sources.managed_dir,
		.managed = managed,
		.flag = sources.settings,
		.sources = sources.setting_sources,
		.bare = sources.bare,
		.sdk = sources.sdk,
		.trusted =
			sv->options.trust_project || (trust.count && trust_has(&trust, trust_folder(a, sources.cwd))),
	};
	return 0;
}

int services_settings(struct services *sv, struct settings **ret_settings, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_spec spec;
	int status = services_settings_spec(sv, &a, &spec, err);

	return status < 0 ? status : settings_load(&spec, ret_settings, err);
}

int services_state_file(struct services *sv, struct arena *a, const char **ret_path, struct err *err)
{
	const char *cwd;
	const char *config_dir;
	const char *variable = getenv("CLAUDE_CONFIG_DIR");
	int status = options_directories(&sv->options, a, &cwd, &config_dir, err);

	if (status < 0)
		return status;
	bool own = sv->options.config_dir || (variable && variable[0]);
	*ret_path = path_join(a, own ? config_dir : getenv("HOME"), ".claude.json");
	return 0;
}

/* All notes of a kind as one line; nothing without one. */
static void warn_kind(const struct settings *s, enum settings_note_kind kind, const char *head, const char *tail,
		      settings_warn_fn *warn, void *data)
{
	AUTO_BUF struct buf text = { 0 };
	size_t count;
	const struct settings_note *notes = settings_notes(s, &count);

	for (size_t i = 0; i < count; i++) {
		if (notes[i].kind != kind)
			continue;
		const struct setting_key *near = kind == NOTE_UNKNOWN ? setting_nearest(str_from(notes[i].key)) : NULL;
		buf_addf(&text, "%s%s (%s:%u", text.n ? ", " : head, notes[i].key, notes[i].origin.file,
			 notes[i].origin.line);
		buf_addstr(&text, near ? "; did you mean " : ")");
		if (near)
			buf_addf(&text, "%s?)", near->path);
	}
	if (!text.n)
		return;
	buf_addstr(&text, tail);
	warn(data, text.p);
}

/* A key in a file is also in its backups, and on a shared screen. */
static void warn_of_keys(const struct settings *s, settings_warn_fn *warn, void *data)
{
	struct settings_origin at = { 0 };
	const struct json *providers = settings_get(s, "providers", &at);

	for (struct json_member m = json_members(providers); m.key; m = json_member_next(providers, m)) {
		const struct json *key = json_get(m.value, "key");
		AUTO_BUF struct buf text = { 0 };
		if (!json_is(key, JSON_STRING) || str_has((struct str){ key->text, key->len }, STR("${")))
			continue;
		buf_addf(&text,
			 "%s: providers." STR_FMT
			 ".key is the key itself; ${VARIABLE}, keyEnv or keyHelper keep it out of the file",
			 at.file ? at.file : "settings", (int)m.key->len, m.key->text);
		warn(data, text.p);
	}
}

void policy_warn_settings(const struct settings *s, settings_warn_fn *warn, void *data)
{
	size_t count;
	const struct settings_note *notes = settings_notes(s, &count);

	for (size_t i = 0; warn && i < count; i++) {
		const struct settings_origin *at = &notes[i].origin;
		AUTO_BUF struct buf text = { 0 };
		if (notes[i].kind == NOTE_REFUSED && !notes[i].key)
			buf_addstr(&text, notes[i].message); /* of a whole file, which it names */
		else if (notes[i].kind == NOTE_LEFT_OUT || notes[i].kind == NOTE_REFUSED)
			buf_addf(&text, "%s:%u:%u: %s (`cadre config explain %s`)", at->file, at->line, at->column,
				 notes[i].message, notes[i].key);
		if (text.n)
			warn(data, text.p);
	}
	if (!warn)
		return;
	warn_kind(s, NOTE_HELD, "this folder is not trusted, so these have no effect: ",
		  "; `cadre trust` records consent, --trust-project gives it for one run", warn, data);
	warn_kind(s, NOTE_NO_EFFECT,
		  "settings without effect in this version: ", "; `cadre config keys` says what they are for", warn,
		  data);
	warn_kind(s, NOTE_IGNORED, "settings that do not count where they are: ", "; `cadre config` says why", warn,
		  data);
	warn_kind(s, NOTE_UNKNOWN, "settings that are not known: ", "; `cadre config keys` lists those that are", warn,
		  data);
	warn_of_keys(s, warn, data);
}

/* Whose variables an entry sees: those of the settings that count, of clients, then the environment. */
struct lookup {
	const struct services *sv;
	const struct settings *settings;
	enum env_trust trust;
};

static const char *look_up(void *data, struct str name)
{
	const struct lookup *l = data;
	AUTO_FREE char *copy = xstrndup(name.p, name.n);

	return services_getenv(l->sv, l->settings, l->trust, copy);
}

int services_mcp_config(struct services *sv, const struct settings *settings, const struct plugin_list *plugins,
			struct mcp_config **ret_config, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	enum env_trust trust = settings_trusted(settings) ? ENV_ALL : sv->options.interactive ? ENV_OWN : ENV_SAFE;
	struct lookup lookup = { sv, settings, trust };
	const struct settings_spec *files = settings_source(settings);
	struct mcp_config_spec spec = { 0 };

	if (services_state_file(sv, &a, &spec.state_file, err) < 0)
		return -(int)err->kind;
	spec.cwd = files->cwd;
	spec.managed_dir = files->managed_dir;
	spec.flags = sv->options.mcp_configs;
	spec.flag_count = sv->options.mcp_config_count;
	spec.strict = sv->options.strict_mcp_config;
	spec.sources = files->bare ? 0 : files->sources;
	spec.settings = settings;
	spec.interactive = sv->options.interactive;
	spec.plugins = plugins ? plugin_list_servers(plugins, &a, &spec.plugin_count) : NULL;
	spec.lookup = look_up;
	spec.lookup_data = &lookup;
	return mcp_config_load(&spec, ret_config, err);
}

int services_mcp_look(struct services *sv, struct mcp_config **ret_config, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings *settings = NULL;
	struct plugin_list *plugins = NULL;
	struct settings_spec files;
	int status = services_settings_spec(sv, &a, &files, err);

	if (status == 0)
		status = settings_load(&files, &settings, err);
	if (status == 0)
		status = services_find_plugins(sv, settings, &plugins, err);
	if (status == 0)
		status = services_mcp_config(sv, settings, plugins, ret_config, err);
	plugin_list_unref(plugins);
	settings_unref(settings);
	return status;
}

int services_mcp_locations(struct services *sv, struct arena *a, struct mcp_locations *ret_locations, struct err *err)
{
	struct settings_spec files;
	const char *state_file;

	if (services_settings_spec(sv, a, &files, err) < 0 || services_state_file(sv, a, &state_file, err) < 0)
		return -(int)err->kind;
	mcp_locations_find(ret_locations, a, files.cwd, state_file, SETTINGS_ALL);
	return 0;
}

int settings_check_target(const struct settings_spec *files, const char *path, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct resolved_path file = resolved_path_find(&a, "/", str_from(path));

	if (files->trusted || path_is_inside(path, files->config_dir) ||
	    resolved_path_is_inside(&a, &file, files->cwd) ||
	    resolved_path_is_inside(&a, &file, trust_folder(&a, files->cwd)))
		return 0;
	return err_set(err, ERR_DENIED, "%s leads out of this project, which is not trusted", path);
}

int services_check_target(struct services *sv, const char *path, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_spec files;

	if (services_settings_spec(sv, &a, &files, err) < 0)
		return -(int)err->kind;
	return settings_check_target(&files, path, err);
}

const struct mcp_item *mcp_config_item(const struct mcp_config *config, const char *name)
{
	const struct mcp_item *found = NULL;

	for (size_t i = config->count; i > 0; i--) {
		const struct mcp_item *item = &config->items[i - 1];
		if (!strcmp(item->name, name) && !(found && found->standing == MCP_COUNTS))
			found = item;
	}
	return found;
}
