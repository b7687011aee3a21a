/* SPDX-License-Identifier: MIT
 * servers.c - requests about the MCP servers of the session. */
#include "product/session/server_pool.h"
#include "mcp/client/pool.h"
#include "product/stream/wire_int.h"
#include "agents/agent/servers.h"
#include "agents/life/life.h"

static struct mcp_selection *servers_of(struct cadre_wire *w)
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

static void put_server(struct json_out *out, struct mcp_lease *link)
{
	const struct mcp_server *server = mcp_lease_server(link);
	enum mcp_state state = mcp_lease_state(link);
	struct mcp_catalog *c = mcp_lease_catalog(link);

	json_open(out, '{');
	json_kcstr(out, "name", server->name);
	json_kcstr(out, "status", mcp_state_word(state));
	json_kcstr(out, "scope", mcp_scope_word(server->scope));
	if (state == MCP_FAILED || state == MCP_NEEDS_AUTH)
		json_kcstr(out, "error", mcp_lease_error(link));
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

void wire_put_servers(struct json_out *out, struct cadre_wire *w)
{
	const struct mcp_selection *set = servers_of(w);

	json_key(out, "mcpServers");
	json_open(out, '[');
	for (size_t i = 0; set && i < mcp_selection_count(set); i++)
		put_server(out, mcp_selection_at(set, i));
	json_close(out);
}

void wire_mcp_status(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	wire_put_servers(&out, r->wire);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

static struct mcp_lease *find_lease(const struct wire_request *r)
{
	struct str name = json_str(json_get(r->body, "serverName"), r->arena);
	struct mcp_selection *set = servers_of(r->wire);
	struct mcp_lease *link = set && name.n ? mcp_selection_find(set, name) : NULL;

	if (!link)
		wire_reply_error(r->wire, r->id, NULL, "Server not found: " STR_FMT, STR_ARG(name));
	return link;
}

void wire_mcp_toggle(const struct wire_request *r)
{
	struct mcp_lease *link = find_lease(r);

	if (!link)
		return;
	mcp_lease_enable(link, json_bool(json_get(r->body, "enabled")));
	agent_tree_renew_pool(&r->wire->session->tree);
	wire_reply(r->wire, r->id, STR(""));
}

/* ---- once they are up ------------------------------------------------------------------------------------------ */

/* A request that is answered when no server of the session is on its way to being connected */
struct wire_settling {
	struct wire_settling *next;
	struct wire_later *later;
	struct arena arena;
	const char *name;  /* of the server that connects again; NULL: others were added */
	struct buf facts;  /* of an answer to mcp_set_servers: {"added":..,"removed":.. */
	struct buf errors; /* and {"name":"why" of those that cannot be used */
	const char **added;
	size_t added_count;
};

static void settling_free(struct wire_settling *s)
{
	buf_release(&s->facts);
	buf_release(&s->errors);
	arena_release(&s->arena);
	free(s);
}

static void tell_connected(struct wire_settling *s, struct mcp_lease *link)
{
	if (link && mcp_lease_state(link) == MCP_CONNECTED)
		wire_later_reply(s->later, STR(""));
	else
		wire_later_fail(s->later,
				link && mcp_lease_error(link)[0] ? mcp_lease_error(link) : "Server not connected");
}

static void put_error(struct buf *errors, struct str name, const char *why)
{
	struct json_out out = json_out(errors);

	buf_addstr(errors, errors->n > 1 ? "," : "");
	json_put_str(&out, name);
	buf_addch(errors, ':');
	out = json_out(errors);
	json_put_cstr(&out, why);
}

static void tell_set(struct wire_settling *s, const struct mcp_selection *set)
{
	for (size_t i = 0; i < s->added_count; i++) {
		struct mcp_lease *link = mcp_selection_find(set, str_from(s->added[i]));
		if (link && mcp_lease_state(link) == MCP_FAILED)
			put_error(&s->errors, str_from(s->added[i]), mcp_lease_error(link));
	}
	buf_addf(&s->facts, ",\"errors\":" STR_FMT "}}", STR_ARG(buf_str(&s->errors)));
	wire_later_reply(s->later, buf_str(&s->facts));
}

void wire_servers_changed(struct cadre_wire *w)
{
	const struct mcp_selection *set = w->session ? servers_of(w) : NULL;

	if (set && mcp_selection_settling(set))
		return;
	while (w->settlings) {
		struct wire_settling *s = w->settlings;
		w->settlings = s->next;
		if (!set)
			wire_later_fail(s->later, "the session is closed");
		else if (s->name)
			tell_connected(s, mcp_selection_find(set, str_from(s->name)));
		else
			tell_set(s, set);
		settling_free(s);
	}
}

void wire_settlings_end(struct cadre_wire *w)
{
	while (w->settlings) {
		struct wire_settling *s = w->settlings;
		w->settlings = s->next;
		wire_later_fail(s->later, "the session is closed");
		settling_free(s);
	}
}

static struct wire_settling *await(const struct wire_request *r)
{
	struct wire_settling *s = xcalloc(1, sizeof *s);

	s->later = wire_later(r);
	s->next = r->wire->settlings;
	r->wire->settlings = s;
	return s;
}

void wire_mcp_reconnect(const struct wire_request *r)
{
	struct mcp_lease *link = find_lease(r);

	if (!link)
		return;
	struct wire_settling *s = await(r);
	s->name = arena_strdup(&s->arena, mcp_lease_server(link)->name);
	mcp_lease_reconnect(link);
	wire_servers_changed(r->wire);
}

/* ---- another set of them ----------------------------------------------------------------------------------------- */

static bool was_named(const struct cadre_wire *w, struct str name)
{
	return map_get(&w->named_servers, name) != NULL;
}

/* Removes servers of an earlier request that this one does not name, and all of the client. Servers from files or the
 * command line stay. */
static void leave_old(struct json_out *out, const struct wire_request *r, const struct json *wanted)
{
	struct mcp_selection *set = servers_of(r->wire);

	json_key(out, "removed");
	json_open(out, '[');
	for (size_t i = set ? mcp_selection_count(set) : 0; i-- > 0;) {
		const struct mcp_server *server = mcp_lease_server(mcp_selection_at(set, i));
		struct str name = arena_str(r->arena, str_from(server->name));
		bool ours = !server->file && server->scope == MCP_SCOPE_FLAG;
		if ((!ours && !was_named(r->wire, name)) || json_get_str(wanted, name))
			continue;
		json_put_str(out, name);
		mcp_selection_leave(set, name);
		wire_drop_server(r->wire, name);
	}
	json_close(out);
}

static int join_new(const struct wire_request *r, struct json_member m, bool *ret_added, struct err *err)
{
	AUTO_BUF struct buf notes = { 0 };
	struct mcp_selection *set = agent_own_servers(&r->wire->session->tree.main);
	struct str name = json_str(m.key, r->arena);
	struct mcp_server *server;
	struct mcp_entry entry = { .name = name, .value = m.value, .scope = MCP_SCOPE_FLAG, .believed = true };

	*ret_added = false;
	if (mcp_server_read(&entry, &notes, &server, NULL, err) < 0)
		return -(int)err->kind;
	int status = mcp_config_admit(r->wire->services->mcp_config, server, err);
	if (status == 0) {
		struct cadre_wire *w = r->wire;
		if (!was_named(w, name))
			map_set(&w->named_servers, arena_str(&w->arena, name), w);
	}
	if (status == 0 && !mcp_selection_find(set, name)) {
		*ret_added = true;
		mcp_selection_join(set, server);
	}
	mcp_server_unref(server);
	return status;
}

static void note_added(struct wire_settling *s, struct str name)
{
	const char **longer = arena_alloc(&s->arena, (s->added_count + 1) * sizeof *longer);

	if (s->added_count)
		memcpy(longer, s->added, s->added_count * sizeof *longer);
	longer[s->added_count++] = arena_str(&s->arena, name).p;
	s->added = longer;
}

void wire_mcp_set(const struct wire_request *r)
{
	const struct json *wanted = json_get(r->body, "servers");
	struct wire_settling *s = await(r);
	struct json_out out = json_out(&s->facts);

	json_open(&out, '{');
	leave_old(&out, r, wanted);
	buf_addch(&s->errors, '{');
	for (struct json_member m = json_members(wanted); m.key; m = json_member_next(wanted, m)) {
		struct str name = json_str(m.key, r->arena);
		struct err err = { 0 };
		bool added;
		if (join_new(r, m, &added, &err) < 0)
			put_error(&s->errors, name, err.text);
		else if (added)
			note_added(s, name);
	}
	json_key(&out, "added");
	json_open(&out, '[');
	for (size_t i = 0; i < s->added_count; i++)
		json_put_cstr(&out, s->added[i]);
	json_close(&out);
	agent_tree_renew_pool(&r->wire->session->tree);
	wire_servers_changed(r->wire);
}
