/* SPDX-License-Identifier: MIT
 * request.c - control requests in both directions: the table of client requests, deferred answers, and our requests to
 * the client. */
#include "product/stream/wire_int.h"
#include "lib/base/list.h"

static void wire_list_asks(struct json_out *out, const struct cadre_wire *w, enum wire_ask_kind kind);

/* Requests of the client; subtypes outside the table are refused. */
static const struct {
	const char *subtype;
	wire_request_fn *take;
	bool needs_session;
	bool at_once; /* its reply does not wait: cadre_request() may have it */
} subtypes[] = {
	{ "apply_flag_settings", wire_apply_settings, true, true },
	{ "background_tasks", wire_background, true, false },
	{ "cancel_async_message", wire_cancel_message, true, false },
	{ "get_binary_version", wire_get_version, false, false },
	{ "get_context_usage", wire_get_context, true, true },
	{ "get_hooks_listing", wire_list_hooks, true, true },
	{ "get_session_cost", wire_get_cost, true, true },
	{ "get_settings", wire_get_settings, true, true },
	{ "get_task_output", wire_task_output, true, true },
	{ "get_usage", wire_get_usage, true, true },
	{ "initialize", wire_initialize, false, false },
	{ "interrupt", wire_interrupt, true, false },
	{ "list_mentions", wire_list_mentions, true, true },
	{ "list_models", wire_list_models, false, true },
	{ "list_permission_rules", wire_list_rules, true, true },
	{ "mcp_call", wire_mcp_call, true, false },
	{ "mcp_message", wire_mcp_message, true, false },
	{ "mcp_read_resource", wire_mcp_resource, true, false },
	{ "mcp_reconnect", wire_mcp_reconnect, true, false },
	{ "mcp_set_servers", wire_mcp_set, true, false },
	{ "mcp_status", wire_mcp_status, true, true },
	{ "mcp_toggle", wire_mcp_toggle, true, false },
	{ "read_file", wire_read_file, true, false },
	{ "register_repo_root", wire_register_root, true, false },
	{ "reload_output_styles", wire_reload_styles, true, true },
	{ "reload_plugins", wire_reload_plugins, true, false },
	{ "reload_skills", wire_reload_skills, true, true },
	{ "rename_session", wire_rename, true, true },
	{ "rewind_files", wire_rewind, true, true },
	{ "seed_read_state", wire_seed_read, true, false },
	{ "set_max_thinking_tokens", wire_set_thinking, true, false },
	{ "set_mcp_permission_mode_override", wire_mcp_override, true, false },
	{ "set_model", wire_set_model, true, false },
	{ "set_permission_mode", wire_set_mode, true, false },
	{ "stop_task", wire_stop_task, true, false },
	{ "update_permissions", wire_update_permissions, true, true },
	{ "update_settings", wire_update_settings, true, true },
};

static void put_head(struct json_out *out, const char *subtype, struct str id)
{
	json_putf(out, "{type:'control_response', response:{subtype:'%s', request_id:'%.*s'", subtype, STR_ARG(id));
}

void wire_reply(struct cadre_wire *w, struct str id, struct str payload)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);

	put_head(&out, "success", id);
	json_kraw(&out, "response", payload.n ? payload : STR("{}"));
	json_putf(&out, "}}");
	wire_send(w, &line);
}

void wire_reply_pending(struct wire_request *r)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);

	json_close(&r->out);
	put_head(&out, "success", r->id);
	json_putf(&out, "response:%s, pending_permission_requests:", r->payload.p);
	wire_list_asks(&out, r->wire, WIRE_ASK_PERMISSION);
	json_key(&out, "pending_elicitation_requests");
	wire_list_asks(&out, r->wire, WIRE_ASK_ELICITATION);
	json_putf(&out, "}}");
	wire_send(r->wire, &line);
}

printf_like(4, 5) static void wire_reply_error(struct cadre_wire *w, struct str id, const char *code, const char *fmt,
					       ...)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);
	char text[400];

	PRINT_ARGS(text, fmt);
	put_head(&out, "error", id);
	json_putf(&out, "error:'%s', error_code?:'%s'}}", text, code);
	wire_send(w, &line);
}

void wire_take_request(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *body = json_get(message, "request");
	const struct json *subtype = json_get(body, "subtype");
	struct wire_request r = {
		.wire = w, .id = json_str(json_get(message, "request_id"), &a), .body = body, .arena = &a
	};
	struct err err = { 0 };
	size_t i = 0;
	int status = 0;

	while (i < COUNT_OF(subtypes) && !json_str_is(subtype, subtypes[i].subtype))
		i++;
	if (i == COUNT_OF(subtypes)) {
		struct str name = json_str(subtype, &a);
		wire_reply_error(w, r.id, "unsupported_request", "Unsupported control request subtype: %.100s",
				 arena_str(&a, name).p);
		return;
	}
	r.out = json_out(&r.payload);
	json_open(&r.out, '{');
	if (subtypes[i].needs_session)
		status = wire_open_session(w, &err);
	if (status == 0)
		status = subtypes[i].take(&r, &err);
	if (status < 0) {
		wire_reply_error(w, r.id, r.error_code, "%s", err.text);
	} else if (status == 0) {
		json_close(&r.out);
		wire_reply(w, r.id, buf_str(&r.payload));
	}
	buf_release(&r.payload);
}

/* Answers of a request without a client: the line is the control_response. */
static void on_host_reply(void *data, const char *lines, size_t n)
{
	struct buf *reply = data;

	if (!reply->n)
		buf_add(reply, lines, n);
}

const char *cadre_request(struct cadre_session *s, const char *request, size_t n, size_t *ret_n, char *why,
			  size_t why_size)
{
	AUTO_BUF struct buf message = { 0 }, reply = { 0 };
	AUTO_JSON struct json_reader in = { 0 }, out = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = NULL, *answer = NULL;
	struct err err = { 0 };
	size_t i = 0;

	if (!s || !request)
		return NULL;
	buf_addf(&message, "{\"request_id\":\"host\",\"request\":%.*s}", (int)n, request);
	if (json_parse(&in, message.p, message.n, &root, &err) == 0) {
		const struct json *subtype = json_get(json_get(root, "request"), "subtype");
		struct cadre_wire w = {
			.services = s->services, .session = s, .out = on_host_reply, .data = &reply, .of_host = true
		};
		while (i < COUNT_OF(subtypes) && !(subtypes[i].at_once && json_str_is(subtype, subtypes[i].subtype)))
			i++;
		if (i < COUNT_OF(subtypes))
			wire_take_request(&w, root);
		else
			err_set(&err, ERR_USAGE, "a host cannot make this request");
	}
	if (reply.n && json_parse(&out, reply.p, reply.n, &root, &err) == 0) {
		answer = json_get(json_get(root, "response"), "response");
		if (!answer)
			err_set(&err, ERR_USAGE, "%s", json_cstr(json_get(json_get(root, "response"), "error"), &a));
	}
	if (!answer) {
		if (why)
			snprintf(why, why_size, "%s", err.text);
		return NULL;
	}
	struct str raw = json_raw(answer);
	buf_clear(&s->answer);
	buf_add(&s->answer, raw.p, raw.n);
	if (ret_n)
		*ret_n = raw.n;
	return s->answer.p;
}

/* Requests of the client that are answered later. */

struct wire_deferred {
	struct wire_deferred *next, **prev;
	struct cadre_wire *wire; /* NULL: withdrawn */
	char *id;
};

static void deferred_unlink(struct wire_deferred *l)
{
	if (!l->wire)
		return;
	l->wire = NULL;
	list_remove(l);
}

struct wire_deferred *wire_deferred(const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	struct wire_deferred *l = xnew(struct wire_deferred, .wire = w, .id = xstrndup(r->id.p, r->id.n));

	list_push(&w->deferred, l);
	return l;
}

void wire_deferred_reply(struct wire_deferred *l, struct str payload)
{
	if (l->wire)
		wire_reply(l->wire, str_from(l->id), payload);
	deferred_unlink(l);
	free(l->id);
	free(l);
}

void wire_deferred_fail(struct wire_deferred *l, const char *why)
{
	if (l->wire)
		wire_reply_error(l->wire, str_from(l->id), NULL, "%s", why);
	deferred_unlink(l);
	free(l->id);
	free(l);
}

void wire_withdraw(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str id = json_str(json_get(message, "request_id"), &a);
	struct wire_deferred *l = w->deferred;

	while (l && !str_is(id, l->id))
		l = l->next;
	if (l)
		deferred_unlink(l);
}

void wire_deferred_end(struct cadre_wire *w)
{
	while (w->deferred)
		deferred_unlink(w->deferred);
}

/* Without done it is withdrawn. */
static void ask_finish(struct wire_ask *ask, wire_answer_fn *done, const struct json *payload, struct str why)
{
	list_remove(ask);
	if (done)
		done(ask->data, payload, why);
	buf_release(&ask->line);
	free(ask);
}

struct wire_ask *wire_ask(struct cadre_wire *w, enum wire_ask_kind kind, struct str request, wire_answer_fn *done,
			  void *data)
{
	AUTO_BUF struct buf line = { 0 };
	struct wire_ask *ask = xcalloc(1, sizeof *ask);

	*ask = (struct wire_ask){ .wire = w, .kind = kind, .done = done, .data = data };
	snprintf(ask->id, sizeof ask->id, "cadre-%llu", (unsigned long long)++w->next_ask);
	list_push(&w->asks, ask);
	json_addf(&line, "{type:'control_request', request_id:'%s', request:%.*s}", ask->id, STR_ARG(request));
	if (kind != WIRE_ASK_OTHER)
		buf_add(&ask->line, line.p, line.n);
	wire_send(w, &line);
	if (w->input_over)
		loop_kick(w->services->loop, &w->kick); /* no answer can come */
	return ask;
}

/* an array of requests */
static void wire_list_asks(struct json_out *out, const struct cadre_wire *w, enum wire_ask_kind kind)
{
	json_open(out, '[');
	for (const struct wire_ask *ask = w->asks; ask; ask = ask->next)
		if (ask->kind == kind)
			json_put_raw(out, buf_str(&ask->line));
	json_close(out);
}

void wire_ask_take_back(struct wire_ask *ask)
{
	AUTO_BUF struct buf line = { 0 };

	json_addf(&line, "{type:'control_cancel_request', request_id:'%s'}", ask->id);
	wire_send(ask->wire, &line);
	ask_finish(ask, NULL, NULL, STR(""));
}

void wire_take_answer(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *response = json_get(message, "response");
	struct str id = json_str(json_get(response, "request_id"), &a);
	struct wire_ask *ask = w->asks;

	while (ask && !str_is(id, ask->id))
		ask = ask->next;
	if (!ask)
		return; /* answered already, taken back, or never asked */
	if (json_str_is(json_get(response, "subtype"), "success")) {
		ask_finish(ask, ask->done, json_get(response, "response"), STR(""));
		return;
	}
	struct str why = json_str(json_get(response, "error"), &a);
	ask_finish(ask, ask->done, NULL, why.n ? why : STR("the client answered with an error"));
}

void wire_asks_end(struct cadre_wire *w, const char *why)
{
	while (w->asks)
		ask_finish(w->asks, w->asks->done, NULL, str_from(why));
}
