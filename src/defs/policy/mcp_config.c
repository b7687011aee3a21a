/* SPDX-License-Identifier: MIT
 * mcp_config.c - from the options of a runtime to its MCP servers. */
#include "defs/policy/sources.h"
#include "defs/policy/permissions.h"
#include "defs/policy/plugins.h"

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

int app_mcp_config(struct services *sv, const struct settings *settings, const struct plugin_list *plugins,
		   struct mcp_config **ret_config, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	enum env_trust trust = settings_trusted(settings) ? ENV_ALL : sv->options.interactive ? ENV_OWN : ENV_SAFE;
	struct lookup lookup = { sv, settings, trust };
	struct settings_spec files;
	struct mcp_config_spec spec = { 0 };

	if (app_settings_spec(sv, &a, &files, err) < 0 || app_state_file(sv, &a, &spec.state_file, err) < 0)
		return -(int)err->kind;
	spec.cwd = files.cwd;
	spec.managed_dir = files.managed_dir;
	spec.flags = sv->options.mcp_configs;
	spec.flag_count = sv->options.mcp_config_count;
	spec.strict = sv->options.strict_mcp_config;
	spec.sources = files.bare ? 0 : files.sources;
	spec.settings = settings;
	spec.interactive = sv->options.interactive;
	spec.plugins = plugins ? app_plugin_servers(plugins, &a, &spec.plugin_count) : NULL;
	spec.lookup = look_up;
	spec.lookup_data = &lookup;
	return mcp_config_load(&spec, ret_config, err);
}

int app_mcp_look(struct services *sv, struct mcp_config **ret_config, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings *settings = NULL;
	struct plugin_list *plugins = NULL;
	struct settings_spec files;
	int status = app_settings_spec(sv, &a, &files, err);

	if (status == 0)
		status = settings_load(&files, &settings, err);
	if (status == 0)
		status = app_plugins_find(sv, settings, &plugins, err);
	if (status == 0)
		status = app_mcp_config(sv, settings, plugins, ret_config, err);
	plugin_list_unref(plugins);
	settings_unref(settings);
	return status;
}

int app_mcp_locations(struct services *sv, struct arena *a, struct mcp_locations *ret_places, struct err *err)
{
	struct settings_spec files;
	const char *state_file;

	if (app_settings_spec(sv, a, &files, err) < 0 || app_state_file(sv, a, &state_file, err) < 0)
		return -(int)err->kind;
	mcp_locations_find(ret_places, a, files.cwd, state_file, SETTINGS_ALL);
	return 0;
}

const struct mcp_item *app_mcp_item(const struct mcp_config *config, const char *name)
{
	const struct mcp_item *found = NULL;

	for (size_t i = config->count; i > 0; i--) {
		const struct mcp_item *item = &config->items[i - 1];
		if (!strcmp(item->name, name) && !(found && found->standing == MCP_COUNTS))
			found = item;
	}
	return found;
}
