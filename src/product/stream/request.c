/* SPDX-License-Identifier: MIT
 * request.c - what the client asks for: one table. Each subtype has an effect; what is not in the table is refused. */
#include "product/stream/wire_int.h"

static const struct {
	const char *subtype;
	wire_request_fn *take;
	bool needs_session;
} subtypes[] = {
	{ "apply_flag_settings", wire_apply_settings, true },
	{ "background_tasks", wire_background, true },
	{ "cancel_async_message", wire_cancel_message, true },
	{ "get_binary_version", wire_get_version, false },
	{ "get_context_usage", wire_get_context, true },
	{ "get_hooks_listing", wire_list_hooks, true },
	{ "get_session_cost", wire_get_cost, true },
	{ "get_settings", wire_get_settings, true },
	{ "get_task_output", wire_task_output, true },
	{ "get_usage", wire_get_usage, true },
	{ "initialize", wire_initialize, false },
	{ "interrupt", wire_interrupt, true },
	{ "list_models", wire_list_models, false },
	{ "list_permission_rules", wire_list_rules, true },
	{ "mcp_call", wire_mcp_call, true },
	{ "mcp_message", wire_mcp_message, true },
	{ "mcp_read_resource", wire_mcp_resource, true },
	{ "mcp_reconnect", wire_mcp_reconnect, true },
	{ "mcp_set_servers", wire_mcp_set, true },
	{ "mcp_status", wire_mcp_status, true },
	{ "mcp_toggle", wire_mcp_toggle, true },
	{ "read_file", wire_read_file, true },
	{ "register_repo_root", wire_register_root, true },
	{ "reload_output_styles", wire_reload_styles, true },
	{ "reload_plugins", wire_reload_plugins, true },
	{ "reload_skills", wire_reload_skills, true },
	{ "rename_session", wire_rename, true },
	{ "rewind_files", wire_rewind, true },
	{ "seed_read_state", wire_seed_read, true },
	{ "set_max_thinking_tokens", wire_set_thinking, true },
	{ "set_mcp_permission_mode_override", wire_mcp_override, true },
	{ "set_model", wire_set_model, true },
	{ "set_permission_mode", wire_set_mode, true },
	{ "stop_task", wire_stop_task, true },
	{ "update_settings", wire_update_settings, true },
};

static void put_head(struct json_out *out, const char *subtype, struct str id)
{
	json_open(out, '{');
	json_kcstr(out, "type", "control_response");
	json_key(out, "response");
	json_open(out, '{');
	json_kcstr(out, "subtype", subtype);
	json_kstr(out, "request_id", id);
}

void wire_reply(struct cadre_wire *w, struct str id, struct str payload)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);

	put_head(&out, "success", id);
	json_kraw(&out, "response", payload.n ? payload : STR("{}"));
	json_close(&out);
	json_close(&out);
	wire_send(w, &line);
}

void wire_reply_pending(struct cadre_wire *w, struct str id, struct str payload)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);

	put_head(&out, "success", id);
	json_kraw(&out, "response", payload);
	json_key(&out, "pending_permission_requests");
	wire_list_asks(&out, w, WIRE_ASK_PERMISSION);
	json_key(&out, "pending_elicitation_requests");
	wire_list_asks(&out, w, WIRE_ASK_ELICITATION);
	json_close(&out);
	json_close(&out);
	wire_send(w, &line);
}

void wire_reply_error(struct cadre_wire *w, struct str id, const char *code, const char *fmt, ...)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	put_head(&out, "error", id);
	json_kcstr(&out, "error", text);
	if (code)
		json_kcstr(&out, "error_code", code);
	json_close(&out);
	json_close(&out);
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

	for (size_t i = 0; i < COUNT_OF(subtypes); i++) {
		if (!json_str_is(subtype, subtypes[i].subtype))
			continue;
		struct err err = { 0 };
		if (subtypes[i].needs_session && wire_open_session(r.wire, &err) < 0)
			wire_reply_error(r.wire, r.id, NULL, "%s", err.text);
		else
			subtypes[i].take(&r);
		return;
	}
	struct str name = json_str(subtype, &a);
	wire_reply_error(w, r.id, "unsupported_request", "Unsupported control request subtype: %.100s",
			 arena_str(&a, name).p);
}
