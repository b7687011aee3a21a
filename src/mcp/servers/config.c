/* SPDX-License-Identifier: MIT
 * config.c - the configuration as a whole. */
#include "mcp/servers/config.h"
#include "mcp/servers/config_int.h"

const char *mcp_standing_word(enum mcp_standing standing)
{
	static const char *const words[] = { [MCP_COUNTS] = "counts",
					     [MCP_SHADOWED] = "shadowed",
					     [MCP_UNAPPROVED] = "pending approval",
					     [MCP_REFUSED] = "refused" };

	return words[standing];
}

/* strictPluginOnlyCustomization: true, or an object or list that names mcp. */
static bool wants_plugins_only(const struct settings *s)
{
	const struct json *lock = settings_get(s, "strictPluginOnlyCustomization", NULL);

	for (const struct json *v = json_is(lock, JSON_ARRAY) ? json_first(lock) : NULL; v; v = json_next(lock, v))
		if (json_str_is(v, "mcp"))
			return true;
	return json_bool(lock) || json_bool(json_get(lock, "mcp"));
}

int mcp_config_load(const struct mcp_config_spec *spec, struct mcp_config **ret_config, struct err *err)
{
	struct mcp_config *c = xcalloc(1, sizeof *c);
	int status = mcp_policy_new(spec->settings, &c->notes, &c->policy, err);

	c->plugins_only = wants_plugins_only(spec->settings);
	if (status == 0)
		status = config_read_all(c, spec, err);
	if (status < 0) {
		mcp_config_free(c);
		return status;
	}
	config_decide_all(c, spec);
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
	arena_release(&c->arena);
	free(c);
}

int mcp_config_admit(const struct mcp_config *c, const struct mcp_server *server, struct err *err)
{
	AUTO_BUF struct buf why = { 0 };

	if (c->managed_file)
		return err_set(err, ERR_DENIED, "server '%.60s': only those of %s may be used", server->name,
			       c->managed_file);
	if (mcp_policy_allows(c->policy, server, &why))
		return 0;
	return err_set(err, ERR_DENIED, "server '%.60s': %s", server->name, why.p);
}
