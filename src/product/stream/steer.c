/* SPDX-License-Identifier: MIT
 * steer.c - requests that change how the session goes on. */
#include "mcp/servers/server.h"
#include "mcp/client/selection.h"
#include "product/stream/wire_int.h"

void wire_interrupt(const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);
	bool cancel = json_bool(json_get(r->body, "cancel_queued"));

	json_open(&out, '{');
	if (cancel) {
		json_key(&out, "cancelled");
		wire_list_messages(&out, w);
	}
	while (cancel && w->queue)
		wire_drop_message(w, w->queue);
	json_key(&out, "still_queued");
	wire_list_messages(&out, w);
	json_close(&out);
	if (w->working)
		cadre_interrupt(w->session);
	wire_reply(w, r->id, buf_str(&payload));
}

/* Whoever watches learns of it at once. */
static void tell_mode(struct cadre_wire *w)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);
	char uuid[UUID_LEN + 1];

	id_uuid(uuid);
	json_open(&out, '{');
	json_kcstr(&out, "type", "system");
	json_kcstr(&out, "subtype", "status");
	json_kcstr(&out, "status", NULL);
	json_kcstr(&out, "permissionMode", permission_mode_name(permission_mode(&w->session->tree.main.permission)));
	json_kcstr(&out, "session_id", w->session->id);
	json_kcstr(&out, "uuid", uuid);
	json_close(&out);
	wire_send(w, &line);
}

void wire_set_mode(const struct wire_request *r)
{
	enum permission_mode before = permission_mode(&r->wire->session->tree.main.permission);
	const char *mode = json_cstr(json_get(r->body, "mode"), r->arena);

	/* An option of the session; NULL takes it back to what it was at the start. */
	const char *value = mode ? mode : "";
	char why[240] = "";
	if (cadre_session_set(r->wire->session, "permission-mode", value, why, sizeof why) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", why);
	else
		wire_reply(r->wire, r->id, STR(""));
	if (permission_mode(&r->wire->session->tree.main.permission) != before)
		tell_mode(r->wire);
}

/* How thinking is shown stays as it is, unless the request says something about it; null is the model's own way. */
static int set_display(const struct wire_request *r, char *why, size_t why_size)
{
	const struct json *display = json_get(r->body, "thinking_display");

	if (!display)
		return 0;
	return cadre_session_set(r->wire->session, "thinking-display", json_cstr(display, r->arena), why, why_size);
}

void wire_set_thinking(const struct wire_request *r)
{
	const struct json *tokens = json_get(r->body, "max_thinking_tokens");
	const char *text = json_is(tokens, JSON_NUMBER) ? arena_str(r->arena, json_raw(tokens)).p : NULL;
	char why[240] = "";

	if (cadre_session_set(r->wire->session, "max-thinking-tokens", text, why, sizeof why) < 0 ||
	    set_display(r, why, sizeof why) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", why);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* Calls of one server are asked about, or looked at by the classifier, although the session asks about nothing. */
void wire_mcp_override(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct json *mode = json_get(r->body, "mode");
	struct str server = json_str(json_get(r->body, "serverName"), r->arena);
	bool to_default = json_str_is(mode, "default");
	AUTO_BUF struct buf tools = { 0 }, payload = { 0 };

	if (!server.n || (!to_default && !json_str_is(mode, "auto") && !json_is(mode, JSON_NULL))) {
		wire_reply_error(r->wire, r->id, NULL, "serverName and a mode (default, auto or null) are needed");
		return;
	}
	mcp_name_add(&tools, server, STR(""));
	buf_addstr(&tools, "__");
	permission_narrow(&a->permission, buf_str(&tools),
			  json_is(mode, JSON_NULL) ? PERMISSION_BYPASS
			  : to_default             ? PERMISSION_DEFAULT
						   : PERMISSION_AUTO);
	if (!a->servers || !mcp_selection_find(a->servers, server))
		buf_addf(&payload, "{\"warning\":\"there is no server of this name now\"}");
	wire_reply(r->wire, r->id, buf_str(&payload));
}

void wire_cancel_message(const struct wire_request *r)
{
	struct str uuid = json_str(json_get(r->body, "message_uuid"), r->arena);
	struct wire_message *m = uuid.n ? wire_find_message(r->wire, uuid) : NULL;

	if (m)
		wire_drop_message(r->wire, m);
	wire_reply(r->wire, r->id, m ? STR("{\"cancelled\":true}") : STR("{\"cancelled\":false}"));
}
