/* SPDX-License-Identifier: MIT
 * parent_settings.c - settings of the program that started us, in the place of an administrator's where there is none. They can
 * only take freedom away: of what they say, the keys below count. */
#include "defs/policy/sources.h"
#include "lib/json/json_write.h"

static const char *const keys[] = {
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

/* Hooks of an administrator keep running, whatever the parent says. */
static bool disables_hooks(const struct json *root)
{
	const struct json *v = json_get(root, "disableAllHooks");

	return v && !json_get(root, "allowManagedHooksOnly") && !json_is(v, JSON_FALSE) && !json_str_is(v, "false");
}

static void write_filtered(struct buf *out, const struct json *root)
{
	const struct json *permissions = json_get(root, "permissions");
	struct json_out w = json_out(out);

	json_open(&w, '{');
	put_those(&w, root, keys, COUNT_OF(keys));
	if (disables_hooks(root))
		json_kbool(&w, "allowManagedHooksOnly", true);
	if (json_is(permissions, JSON_OBJECT)) {
		json_key(&w, "permissions");
		json_open(&w, '{');
		put_those(&w, permissions, permission_keys, COUNT_OF(permission_keys));
		json_close(&w);
	}
	json_close(&w);
}

int app_parent_settings(const struct options *o, struct arena *a, const char **ret_json, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf filtered = { 0 };
	const char *given = o->managed_settings;
	const struct json *root;

	if (!given)
		return 0;
	if (json_parse(&reader, given, strlen(given), &root, err) < 0 || !json_is(root, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "--managed-settings is not a JSON object");
	write_filtered(&filtered, root);
	*ret_json = arena_str(a, buf_str(&filtered)).p;
	return 0;
}
