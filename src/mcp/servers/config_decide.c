/* SPDX-License-Identifier: MIT
 * config_decide.c - which servers count: what is not allowed or not approved is out first, so that it shadows nothing; then
 * the first of each name counts. */
#include "mcp/servers/config_int.h"

/* ---- the user's word on a project's servers ------------------------------------------------------------------------ */

/* Whether a list in the settings names the server */
struct named {
	const char *name;
	bool found;
	struct settings_origin at; /* where, if found */
};

static void see_name(void *data, const struct settings_item *item)
{
	struct named *n = data;

	if (!json_str_is(item->value, n->name))
		return;
	n->found = true;
	n->at = item->origin;
}

/* In a trusted folder a script needs no approval: there is no person to give it. */
static bool is_approved(const struct mcp_item *item, const struct mcp_config_spec *spec)
{
	struct named enabled = { .name = item->name };

	settings_each(spec->settings, "enabledMcpjsonServers", see_name, &enabled);
	return enabled.found || settings_bool(spec->settings, "enableAllProjectMcpServers", false) ||
	       (!spec->interactive && settings_trusted(spec->settings));
}

/* ---- one item ---------------------------------------------------------------------------------------------------- */

static void set_standing(struct mcp_item *item, enum mcp_standing standing, const char *reason)
{
	item->standing = standing;
	item->reason = reason;
}

static bool is_from_managed_or_plugin(const struct mcp_item *item)
{
	return item->scope == MCP_SCOPE_MANAGED || item->scope == MCP_SCOPE_PLUGIN;
}

static void decide_approval(struct mcp_config *c, struct mcp_item *item, const struct mcp_config_spec *spec)
{
	struct named disabled = { .name = item->name };

	settings_each(spec->settings, "disabledMcpjsonServers", see_name, &disabled);
	if (disabled.found)
		set_standing(item, MCP_REFUSED,
			     arena_printf(&c->arena, "refused by disabledMcpjsonServers in %s:%u", disabled.at.file,
					  disabled.at.line));
	else if (!is_approved(item, spec))
		set_standing(item, MCP_UNAPPROVED,
			     "a project brings it: look at it, then name it in enabledMcpjsonServers of your settings");
}

static void decide_item(struct mcp_config *c, struct mcp_item *item, const struct mcp_config_spec *spec)
{
	AUTO_BUF struct buf why = { 0 };

	if (item->standing == MCP_REFUSED)
		return;
	if (c->managed_file && item->scope != MCP_SCOPE_MANAGED)
		set_standing(item, MCP_REFUSED, arena_printf(&c->arena, "only those of %s count", c->managed_file));
	else if (c->plugins_only && !is_from_managed_or_plugin(item))
		set_standing(item, MCP_REFUSED, "managed settings let only plugins bring servers");
	else if (item->scope == MCP_SCOPE_FLAG && settings_bool(spec->settings, "disableSideloadFlags", false))
		set_standing(item, MCP_REFUSED, "managed settings do not let --mcp-config bring servers");
	else if (!mcp_policy_allows(c->policy, item->server, &why))
		set_standing(item, MCP_REFUSED, arena_str(&c->arena, buf_str(&why)).p);
	else if (item->scope == MCP_SCOPE_PROJECT)
		decide_approval(c, item, spec);
}

/* ---- one against the others ---------------------------------------------------------------------------------------- */

static bool same_tool_names(const struct mcp_item *a, const struct mcp_item *b)
{
	AUTO_BUF struct buf x = { 0 };
	AUTO_BUF struct buf y = { 0 };

	mcp_name_add(&x, str_from(a->name), STR(""));
	mcp_name_add(&y, str_from(b->name), STR(""));
	return str_eq(buf_str(&x), buf_str(&y));
}

/* Why upper goes before item; NULL: it does not. */
static const char *shadow_reason(struct mcp_config *c, const struct mcp_item *item, const struct mcp_item *upper)
{
	if (!strcmp(item->name, upper->name))
		return arena_printf(&c->arena, "the one of scope %s goes before it", mcp_scope_word(upper->scope));
	if (same_tool_names(item, upper))
		return arena_printf(&c->arena, "its tools would have the names of those of '%s'", upper->name);
	if (item->scope == MCP_SCOPE_PLUGIN && mcp_server_same_endpoint(item->server, upper->server))
		return arena_printf(&c->arena, "'%s' is the same server", upper->name);
	return NULL;
}

static void decide_shadow(struct mcp_config *c, struct mcp_item *item)
{
	for (const struct mcp_item *upper = c->items; upper < item; upper++) {
		const char *reason = upper->standing == MCP_COUNTS ? shadow_reason(c, item, upper) : NULL;
		if (!reason)
			continue;
		set_standing(item, MCP_SHADOWED, reason);
		item->by = upper;
		return;
	}
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
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].standing == MCP_COUNTS)
			decide_shadow(c, &c->items[i]);
}

void config_decide_all(struct mcp_config *c, const struct mcp_config_spec *spec)
{
	for (size_t i = 0; i < c->count; i++)
		decide_item(c, &c->items[i], spec);
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].standing == MCP_COUNTS)
			decide_shadow(c, &c->items[i]);
}
