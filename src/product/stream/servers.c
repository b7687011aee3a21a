/* SPDX-License-Identifier: MIT
 * servers.c - requests about the MCP servers of the session, and calls of their tools and resources without the model. */
#include "product/session/server_pool.h"
#include "mcp/client/pool.h"
#include "product/stream/wire_int.h"
#include "agents/agent/servers.h"
#include "agents/life/life.h"
#include "lib/base/list.h"

enum { LEAST_MS = 1000, MOST_MS = 600 * 1000 }; /* limits of a call */

static void put_server(struct json_out *out, struct mcp_lease *link)
{
	const struct mcp_server *server = link->server;
	enum mcp_state state = mcp_lease_state(link);
	struct mcp_catalog *c = mcp_lease_catalog(link);

	json_putf(out, "{name:'%s', status:'%s', scope:'%s'", server->name, mcp_state_word(state),
		  mcp_scope_word(server->scope));
	if (state == MCP_FAILED || state == MCP_NEEDS_AUTH)
		json_kcstr(out, "error", mcp_lease_error(link));
	if (state == MCP_CONNECTED && c) {
		json_putf(out, "serverInfo:{name:'%s', version:'%s'}, tools:[", c->server_name, c->server_version);
		for (size_t i = 0; i < c->tool_count; i++) {
			json_putf(out, "{name:'%s', description:'%s', annotations:{readOnly:!!%d", c->tools[i].name,
				  c->tools[i].description, c->tools[i].read_only);
			json_putf(out, "destructive:!!%d, openWorld:!!%d}}", c->tools[i].destructive,
				  c->tools[i].open_world);
		}
		json_close(out);
	}
	json_close(out);
	mcp_catalog_unref(c);
}

void wire_put_servers(struct json_out *out, struct cadre_wire *w)
{
	const struct mcp_selection *set = w->session->tree.main.servers;

	json_kopen(out, "mcpServers", '[');
	for (size_t i = 0; set && i < set->count; i++)
		put_server(out, set->leases[i]);
	json_close(out);
}

int wire_mcp_status(struct wire_request *r, struct err *err)
{
	wire_put_servers(&r->out, r->wire);
	return 0;
}

/* An answer that waits for the files in it */
struct mentions_answer {
	struct wire_deferred *later;
	struct buf payload;
	struct json_out out;
};

static void add_files(void *data, struct str names)
{
	struct mentions_answer *answer = data;
	struct json_out *w = &answer->out;

	json_kopen(w, "files", '[');
	for (struct str name; names.n; names = str_tail(names, name.n + 1)) {
		name = str_from(names.p);
		json_put_str(w, name);
	}
	json_close(w);
	json_close(w);
	wire_deferred_reply(answer->later, buf_str(&answer->payload));
	buf_release(&answer->payload);
	free(answer);
}

static void emit_files(void *data, struct str names)
{
	session_emit(data, &(struct event){ .kind = EVENT_FILES_FOUND, .text = names });
}

/* What a prompt can name behind an @. Files are looked for on a thread: an answer of the wire waits for them, to a host they come as
 * an event. */
int wire_list_mentions(struct wire_request *r, struct err *err)
{
	struct cadre_session *s = r->wire->session;
	const struct mcp_selection *set = s->tree.main.servers;
	const struct permission *permission = &s->tree.main.permission;

	wire_put_agents(&r->out, &s->tree);
	json_kopen(&r->out, "resources", '[');
	for (size_t i = 0; set && i < set->count; i++) {
		struct mcp_lease *lease = set->leases[i];
		struct mcp_catalog *catalog = mcp_lease_catalog(lease);
		bool denied = permission_forbids_server(permission, lease->server->name);
		for (size_t k = 0; !denied && catalog && k < catalog->resource_count; k++)
			json_putf(&r->out, "{server:'%s', uri:'%s', name:'%s', description?:'%s'}", lease->server->name,
				  catalog->resources[k].uri, catalog->resources[k].name,
				  catalog->resources[k].description);
		mcp_catalog_unref(catalog);
	}
	json_close(&r->out);
	if (r->wire->of_host) {
		if (!s->file_searches) /* one that runs answers for both */
			session_find_files(s, emit_files, s);
		return 0;
	}
	struct mentions_answer *answer =
		xnew(struct mentions_answer, .later = wire_deferred(r), .payload = r->payload, .out = r->out);
	r->payload = (struct buf){ 0 };
	answer->out.buf = &answer->payload;
	session_find_files(s, add_files, answer);
	return WIRE_ANSWERED;
}

static int find_lease(const struct wire_request *r, struct mcp_lease **ret_link, struct err *err)
{
	struct str name = json_str(json_get(r->body, "serverName"), r->arena);
	struct mcp_selection *set = r->wire->session->tree.main.servers;

	*ret_link = set && name.n ? mcp_selection_find(set, name) : NULL;
	return *ret_link ? 0 : err_set(err, ERR_NOT_FOUND, "Server not found: " STR_FMT, STR_ARG(name));
}

int wire_mcp_toggle(struct wire_request *r, struct err *err)
{
	struct mcp_lease *link;

	if (find_lease(r, &link, err) < 0)
		return -(int)err->kind;
	mcp_lease_enable(link, json_bool(json_get(r->body, "enabled")));
	agent_tree_renew_pool(&r->wire->session->tree);
	return 0;
}

/* A request that is answered when no server of the session is connecting */
struct wire_settling {
	struct wire_settling *next;
	struct wire_deferred *later;
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

static void put_error(struct buf *errors, struct str name, const char *why)
{
	struct json_out out = json_out(errors);

	buf_addstr(errors, errors->n > 1 ? "," : "");
	json_put_str(&out, name);
	buf_addch(errors, ':');
	out = json_out(errors);
	json_put_cstr(&out, why);
}

void wire_servers_changed(struct cadre_wire *w)
{
	const struct mcp_selection *set = w->session ? w->session->tree.main.servers : NULL;

	if (set && mcp_selection_settling(set))
		return;
	while (set && w->settlings) {
		struct wire_settling *s = w->settlings;
		struct mcp_lease *link = s->name ? mcp_selection_find(set, str_from(s->name)) : NULL;
		w->settlings = s->next;
		for (size_t i = 0; i < s->added_count; i++) {
			struct mcp_lease *added = mcp_selection_find(set, str_from(s->added[i]));
			if (added && mcp_lease_state(added) == MCP_FAILED)
				put_error(&s->errors, str_from(s->added[i]), mcp_lease_error(added));
		}
		if (!s->name) {
			buf_addf(&s->facts, ",\"errors\":" STR_FMT "}}", STR_ARG(buf_str(&s->errors)));
			wire_deferred_reply(s->later, buf_str(&s->facts));
		} else if (link && mcp_lease_state(link) == MCP_CONNECTED) {
			wire_deferred_reply(s->later, STR(""));
		} else {
			const char *why = link ? mcp_lease_error(link) : "";
			wire_deferred_fail(s->later, why[0] ? why : "Server not connected");
		}
		settling_free(s);
	}
	if (!set)
		wire_settlings_end(w);
}

void wire_settlings_end(struct cadre_wire *w)
{
	for (struct wire_settling *s; (s = list_pop(&w->settlings));) {
		wire_deferred_fail(s->later, "the session is closed");
		settling_free(s);
	}
}

static struct wire_settling *settling_new(const struct wire_request *r)
{
	struct wire_settling *s = xnew(struct wire_settling, .later = wire_deferred(r), .next = r->wire->settlings);

	r->wire->settlings = s;
	return s;
}

int wire_mcp_reconnect(struct wire_request *r, struct err *err)
{
	struct mcp_lease *link;

	if (find_lease(r, &link, err) < 0)
		return -(int)err->kind;
	struct wire_settling *s = settling_new(r);
	s->name = arena_strdup(&s->arena, link->server->name);
	mcp_lease_reconnect(link);
	wire_servers_changed(r->wire);
	return WIRE_ANSWERED;
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
	int status = mcp_config_admit(r->wire->session->tree.policy->mcp_config, server, err);
	if (status == 0 && !map_get(&r->wire->named_servers, name))
		map_set(&r->wire->named_servers, arena_str(&r->wire->arena, name), r->wire);
	if (status == 0 && !mcp_selection_find(set, name)) {
		*ret_added = true;
		agent_join_server(&r->wire->session->tree.main, server);
	}
	mcp_server_unref(server);
	return status;
}

/* Removes servers of an earlier request that this one does not name, and all of the client. Servers from files or the
 * command line stay. */
int wire_mcp_set(struct wire_request *r, struct err *err)
{
	const struct json *wanted = json_get(r->body, "servers");
	struct mcp_selection *set = r->wire->session->tree.main.servers;
	struct wire_settling *s = settling_new(r);
	struct json_out out = json_out(&s->facts);

	json_putf(&out, "{removed:[");
	for (size_t i = set ? set->count : 0; i-- > 0;) {
		const struct mcp_server *server = set->leases[i]->server;
		struct str name = arena_str(r->arena, str_from(server->name));
		bool ours = !server->file && server->scope == MCP_SCOPE_FLAG;
		if ((!ours && !map_get(&r->wire->named_servers, name)) || json_get_str(wanted, name))
			continue;
		json_put_str(&out, name);
		mcp_selection_leave(set, name);
		wire_drop_server(r->wire, name);
	}
	json_close(&out);
	buf_addch(&s->errors, '{');
	s->added = arena_calloc(&s->arena, ((json_is(wanted, JSON_OBJECT) ? wanted->count : 0) + 1) * sizeof *s->added);
	for (struct json_member m = json_members(wanted); m.key; m = json_member_next(wanted, m)) {
		struct str name = json_str(m.key, r->arena);
		struct err why = { 0 };
		bool added;
		if (join_new(r, m, &added, &why) < 0)
			put_error(&s->errors, name, why.text);
		else if (added)
			s->added[s->added_count++] = arena_str(&s->arena, name).p;
	}
	json_kopen(&out, "added", '[');
	for (size_t i = 0; i < s->added_count; i++)
		json_put_cstr(&out, s->added[i]);
	json_close(&out);
	agent_tree_renew_pool(&r->wire->session->tree);
	wire_servers_changed(r->wire);
	return WIRE_ANSWERED;
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct wire_deferred *later = data;

	if (err)
		wire_deferred_fail(later, err->text);
	else
		wire_deferred_reply(later, json_raw(result));
}

/* Only ui:// resources: all others are read by the model, under its rules. A client can ask its own servers itself. */
int wire_mcp_resource(struct wire_request *r, struct err *err)
{
	struct str name = json_str(json_get(r->body, "serverName"), r->arena);
	struct str uri = json_str(json_get(r->body, "uri"), r->arena);
	const struct mcp_selection *set = r->wire->session->tree.main.servers;
	struct mcp_lease *link = set && name.n ? mcp_selection_find(set, name) : NULL;
	AUTO_BUF struct buf params = { 0 };

	if (!str_starts(uri, STR("ui://")))
		return err_set(err, ERR_DENIED, "Only ui:// resources can be read, not " STR_FMT, STR_ARG(uri));
	if (!link || link->server->kind == MCP_SDK)
		return err_set(err, ERR_NOT_FOUND, "Server not found: " STR_FMT, STR_ARG(name));
	if (permission_forbids_server(&r->wire->session->tree.main.permission, link->server->name))
		return err_set(err, ERR_DENIED, "A deny rule is about the server " STR_FMT, STR_ARG(name));
	json_addf(&params, "{uri:'%.*s'}", STR_ARG(uri));
	(void)mcp_lease_call(link, &(struct mcp_call){ .method = "resources/read",
						       .params = buf_str(&params),
						       .answer = on_answer,
						       .data = wire_deferred(r) });
	return WIRE_ANSWERED;
}

/* The server's own name of a tool that the model knows as mcp__SERVER__TOOL; *ret_link is that server. NULL: no such tool. */
static const char *find_tool(const struct wire_request *r, struct str wish, struct mcp_lease **ret_link)
{
	const struct mcp_selection *set = r->wire->session->tree.main.servers;
	AUTO_BUF struct buf name = { 0 };

	for (size_t i = 0; set && i < set->count; i++) {
		struct mcp_lease *link = set->leases[i];
		struct mcp_catalog *c = mcp_lease_catalog(link);
		const char *found = NULL;
		for (size_t k = 0; c && !found && k < c->tool_count; k++) {
			buf_clear(&name);
			mcp_name_add(&name, str_from(link->server->name), str_from(c->tools[k].name));
			if (str_eq(buf_str(&name), wish))
				found = arena_strdup(r->arena, c->tools[k].name);
		}
		mcp_catalog_unref(c);
		*ret_link = link;
		if (found)
			return found;
	}
	return NULL;
}

/* A call that did not run, or has no result, is an error of the request; a result with isError is a result. */
static void on_tool_answer(void *data, const struct server_reply *reply)
{
	struct wire_deferred *later = data;
	AUTO_BUF struct buf why = { 0 };

	if (reply->json.n) {
		wire_deferred_reply(later, reply->json);
		return;
	}
	buf_addf(&why, "%s" STR_FMT, reply->denied ? "The tool did not run: " : "", STR_ARG(reply->text));
	wire_deferred_fail(later, why.p);
}

int wire_mcp_call(struct wire_request *r, struct err *err)
{
	struct str wish = json_str(json_get(r->body, "tool"), r->arena);
	const struct json *given = json_get(r->body, "arguments");
	struct cadre_session *s = r->wire->session;
	struct mcp_lease *link = NULL;
	const char *tool = find_tool(r, wish, &link);
	int64_t limit_ms;

	if (json_get(r->body, "input_files") || json_get(r->body, "output_files"))
		return err_set(err, ERR_USAGE, "files cannot be staged for a call here");
	if (!tool)
		return err_set(err, ERR_NOT_FOUND, "No such tool: " STR_FMT, STR_ARG(wish));
	if (!tool_set_find(&s->tree.main.tools, wish))
		return err_set(err, ERR_DENIED, "The tool did not run: the main agent does not have " STR_FMT,
			       STR_ARG(wish));
	bool has_limit = json_i64(json_get(r->body, "timeout_ms"), &limit_ms);
	/* A forwarded call needs an allow rule, as the model's calls do; there is no question. */
	bool checks = json_bool(json_get(r->body, "check_permissions"));
	struct server_call_spec spec = { .server = str_from(link->server->name),
					 .tool = str_from(tool),
					 .arguments = json_is(given, JSON_OBJECT) ? json_raw(given) : STR("{}"),
					 .policy = { .apart = true, .chosen = !checks, .no_question = checks } };
	if (has_limit)
		spec.timeout_ms = (uint64_t)MAX((int64_t)LEAST_MS, MIN(limit_ms, (int64_t)MOST_MS));
	(void)server_call_start(s, &spec, on_tool_answer, wire_deferred(r),
				NULL); /* the server exists: it cannot fail */
	return WIRE_ANSWERED;
}
