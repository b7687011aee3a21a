/* SPDX-License-Identifier: MIT
 * servers.c - requests about the MCP servers of the session. */
#include "app/servers.h"
#include "mcp/pool.h"
#include "wire/wire_int.h"

static struct mcp_set *servers_of(struct cadre_wire *w)
{
	return w->session->tree.main.servers;
}

/* ---- how they are ------------------------------------------------------------------------------------------------ */

static void put_tools(struct json_out *out, const struct mcp_catalog *c)
{
	json_key(out, "tools");
	json_open(out, '[');
	for (size_t i = 0; i < c->tool_count; i++) {
		json_open(out, '{');
		json_kcstr(out, "name", c->tools[i].name);
		json_kcstr(out, "description", c->tools[i].description);
		json_key(out, "annotations");
		json_open(out, '{');
		json_kbool(out, "readOnly", c->tools[i].read_only);
		json_kbool(out, "destructive", c->tools[i].destructive);
		json_kbool(out, "openWorld", c->tools[i].open_world);
		json_close(out);
		json_close(out);
	}
	json_close(out);
}

static void put_server(struct json_out *out, struct mcp_link *link)
{
	const struct mcp_server *server = mcp_link_server(link);
	enum mcp_state state = mcp_link_state(link);
	struct mcp_catalog *c = mcp_link_catalog(link);

	json_open(out, '{');
	json_kcstr(out, "name", server->name);
	json_kcstr(out, "status", mcp_state_word(state));
	json_kcstr(out, "scope", mcp_scope_word(server->scope));
	if (state == MCP_FAILED || state == MCP_NEEDS_AUTH)
		json_kcstr(out, "error", mcp_link_error(link));
	if (state == MCP_CONNECTED && c) {
		json_key(out, "serverInfo");
		json_open(out, '{');
		json_kcstr(out, "name", c->server_name);
		json_kcstr(out, "version", c->server_version);
		json_close(out);
		put_tools(out, c);
	}
	json_close(out);
	mcp_catalog_unref(c);
}

void wire_mcp_status(const struct wire_request *r)
{
	const struct mcp_set *set = servers_of(r->wire);
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	json_key(&out, "mcpServers");
	json_open(&out, '[');
	for (size_t i = 0; set && i < mcp_set_count(set); i++)
		put_server(&out, mcp_set_at(set, i));
	json_close(&out);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

static struct mcp_link *find(const struct wire_request *r)
{
	struct str name = json_str(json_get(r->body, "serverName"), r->arena);
	struct mcp_set *set = servers_of(r->wire);
	struct mcp_link *link = set && name.n ? mcp_set_find(set, name) : NULL;

	if (!link)
		wire_reply_error(r->wire, r->id, NULL, "Server not found: " STR_FMT, STR_ARG(name));
	return link;
}

void wire_mcp_reconnect(const struct wire_request *r)
{
	struct mcp_link *link = find(r);

	if (!link)
		return;
	mcp_link_reconnect(link);
	wire_reply(r->wire, r->id, STR(""));
}

void wire_mcp_toggle(const struct wire_request *r)
{
	struct mcp_link *link = find(r);

	if (!link)
		return;
	mcp_link_enable(link, json_bool(json_get(r->body, "enabled")));
	session_update_tools(r->wire->session);
	wire_reply(r->wire, r->id, STR(""));
}

/* ---- another set of them ----------------------------------------------------------------------------------------- */

/* Those that an earlier request of this kind brought and this one does not name. */
static void leave_old(struct json_out *out, const struct wire_request *r, const struct json *wanted)
{
	struct mcp_set *set = servers_of(r->wire);

	json_key(out, "removed");
	json_open(out, '[');
	for (size_t i = set ? mcp_set_count(set) : 0; i-- > 0;) {
		const struct mcp_server *server = mcp_link_server(mcp_set_at(set, i));
		struct str name = arena_str(r->arena, str_from(server->name));
		if (server->file || server->scope != MCP_SCOPE_FLAG || server->kind == MCP_SDK ||
		    json_get_str(wanted, name))
			continue;
		json_put_str(out, name);
		mcp_set_leave(set, name);
	}
	json_close(out);
}

static int join_new(const struct wire_request *r, struct json_member m, bool *ret_added, struct err *err)
{
	AUTO_BUF struct buf notes = { 0 };
	struct mcp_set *set = session_servers(r->wire->session);
	struct str name = json_str(m.key, r->arena);
	struct mcp_server *server;
	struct mcp_entry entry = { .name = name, .value = m.value, .scope = MCP_SCOPE_FLAG, .believed = true };

	*ret_added = false;
	if (mcp_server_read(&entry, &notes, &server, NULL, err) < 0)
		return -(int)err->kind;
	int status = mcp_config_admit(r->wire->cadre->mcp_config, server, err);
	if (status == 0 && !mcp_set_find(set, name)) {
		*ret_added = true;
		mcp_set_join(set, server);
	}
	mcp_server_unref(server);
	return status;
}

void wire_mcp_set(const struct wire_request *r)
{
	const struct json *wanted = json_get(r->body, "servers");
	AUTO_BUF struct buf payload = { 0 };
	AUTO_BUF struct buf problems = { 0 };
	struct json_out out = json_out(&payload), errors = json_out(&problems);

	json_open(&out, '{');
	json_open(&errors, '{');
	leave_old(&out, r, wanted);
	json_key(&out, "added");
	json_open(&out, '[');
	for (struct json_member m = json_members(wanted); m.key; m = json_member_next(wanted, m)) {
		struct err err = { 0 };
		bool added;
		if (join_new(r, m, &added, &err) < 0) {
			json_key_str(&errors, json_str(m.key, r->arena));
			json_put_cstr(&errors, err.text);
		} else if (added) {
			json_put_str(&out, json_str(m.key, r->arena));
		}
	}
	json_close(&out);
	json_close(&errors);
	json_kraw(&out, "errors", buf_str(&problems));
	json_close(&out);
	session_update_tools(r->wire->session);
	wire_reply(r->wire, r->id, buf_str(&payload));
}
