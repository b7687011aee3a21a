/* SPDX-License-Identifier: MIT
 * sources.c - from the options of a runtime to the files that count: settings, agents, state. */
#include "defs/policy/sources.h"
#include "config/settings/settings.h"
#include "config/settings/settings_key.h"
#include "defs/agentdef/builtin.h"
#include "defs/policy/plugins.h"
#include "config/settings/trust.h"
#include "lib/io/file.h"

static const char managed_dir[] = "/etc/claude-code";

static const char *const *absolute_list(struct arena *a, const char *cwd, const char **list, size_t count)
{
	const char **paths = arena_alloc(a, (count + 1) * sizeof *paths);

	for (size_t i = 0; i < count; i++)
		paths[i] = path_absolute(a, cwd, str_from(list[i]));
	return paths;
}

/* A JSON object stays as it is; anything else is the path of a file, which must be there. */
static int find_settings(const struct options *o, struct arena *a, struct catalog_sources *s, struct err *err)
{
	struct str value = o->settings ? str_trim(str_from(o->settings)) : STR("");

	if (!value.n)
		return 0;
	s->settings = value.p[0] == '{' ? arena_str(a, value).p : path_absolute(a, s->cwd, value);
	if (value.p[0] != '{' && !file_exists(s->settings))
		return err_set(err, ERR_USAGE, "Settings file not found: %s", s->settings);
	return 0;
}

int app_agent_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err)
{
	const struct options *o = &sv->options;
	const char *entrypoint = o->entrypoint ? o->entrypoint : getenv("CLAUDE_CODE_ENTRYPOINT");
	struct catalog_sources s = { 0 };
	if (options_directories(o, a, &s.cwd, &s.config_dir, err) < 0 || find_settings(o, a, &s, err) < 0)
		return -(int)err->kind;
	s.managed_dir = o->managed_dir ? o->managed_dir : managed_dir;
	s.add_dirs = absolute_list(a, s.cwd, o->add_dirs, o->add_dir_count);
	s.add_dir_count = o->add_dir_count;
	if (o->config_root)
		s.cwd = path_absolute(a, s.cwd, str_from(o->config_root));
	s.flag = o->agents;
	s.denied = o->disallowed_tools;
	s.setting_sources = o->some_sources ? o->setting_sources : SETTINGS_ALL;
	s.bare = env_is_on("CLAUDE_CODE_SIMPLE");
	s.sdk = str_starts(str_from(entrypoint), STR("sdk-"));
	s.builtin = builtin_switches_find(entrypoint);
	if (o->coordinator || (sv->policy.settings && settings_bool(sv->policy.settings, "coordinator", false)))
		s.builtin |= BUILTIN_COORDINATOR;
	*ret_sources = s;
	return 0;
}

/* Those of the sessions, or without any as they are now. Returns a reference. */
static int find_plugins(struct services *sv, struct plugin_list **ret_list, struct err *err)
{
	struct settings *settings;

	if (sv->plugins) {
		*ret_list = plugin_list_ref(sv->plugins);
		return 0;
	}
	int status = app_settings(sv, &settings, err);
	if (status < 0)
		return status;
	status = app_plugins_find(sv, settings, ret_list, err);
	settings_unref(settings);
	return status;
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

int app_agents(struct services *sv, struct arena *a, struct catalog **ret_registry, struct err *err)
{
	struct catalog_sources sources;
	struct plugin_list *plugins;
	int status = app_agent_sources(sv, a, &sources, err);

	if (status == 0)
		status = find_plugins(sv, &plugins, err);
	if (status < 0)
		return status;
	sources.plugins = app_plugin_agents(plugins, a, &sources.plugin_count);
	status = agent_registry_new(&sources, ret_registry, err);
	if (status == 0)
		log_agents(sv, &sources, *ret_registry);
	plugin_list_unref(plugins);
	return status;
}

/* Recorded by `cadre trust`, or said for this run. */
static int find_trust(struct services *sv, struct arena *a, const char *cwd, bool *ret_trusted, struct err *err)
{
	AUTO_TRUST struct trust trust = { 0 };
	const char *state_file;

	if (app_state_file(sv, a, &state_file, err) < 0 || trust_read(&trust, state_file, err) < 0)
		return -(int)err->kind;
	*ret_trusted = sv->options.trust_project || trust_has(&trust, trust_folder(a, cwd));
	return 0;
}

int app_settings_spec(struct services *sv, struct arena *a, struct settings_spec *ret_spec, struct err *err)
{
	struct catalog_sources sources;
	int status = app_agent_sources(sv, a, &sources, err);
	const char *managed = NULL;
	bool trusted = false;

	if (status == 0)
		status = app_parent_settings(&sv->options, a, &managed, err);
	if (status == 0)
		status = find_trust(sv, a, sources.cwd, &trusted, err);
	if (status < 0)
		return status;
	*ret_spec = (struct settings_spec){
		.cwd = sources.cwd,
		.config_dir = sources.config_dir,
		.managed_dir = sources.managed_dir,
		.managed = managed,
		.flag = sources.settings,
		.sources = sources.setting_sources,
		.bare = sources.bare,
		.sdk = sources.sdk,
		.trusted = trusted,
	};
	return 0;
}

int app_settings(struct services *sv, struct settings **ret_settings, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_spec spec;
	int status = app_settings_spec(sv, &a, &spec, err);

	return status < 0 ? status : settings_load(&spec, ret_settings, err);
}

int app_state_file(struct services *sv, struct arena *a, const char **ret_path, struct err *err)
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

void app_warn_settings(const struct settings *s, settings_warn_fn *warn, void *data)
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
	warn_kind(s, NOTE_NO_EFFECT, "settings without effect in this version: ", "", warn, data);
	warn_kind(s, NOTE_UNKNOWN, "settings that are not known: ", "; `cadre config keys` lists those that are", warn,
		  data);
}
