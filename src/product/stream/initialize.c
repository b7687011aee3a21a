/* SPDX-License-Identifier: MIT
 * initialize.c - the initialize request: opens the session with the client's options and reports its capabilities. */
#include "agents/agent/servers.h"
#include "defs/agentdef/registry.h"
#include "product/session/styles.h"
#include "core/model/catalog.h"
#include "product/stream/wire_int.h"

/* ---- what it says ------------------------------------------------------------------------------------------------ */

static int set(const struct wire_request *r, const char *option, const char *value, struct err *err)
{
	return options_set(&r->wire->services->options, option, value, err);
}

/* A list of texts, one paragraph each; an empty one is an empty prompt, none at all the usual one. */
static int set_system_prompt(const struct wire_request *r, struct err *err)
{
	const struct json *prompt = json_get(r->body, "systemPrompt");
	AUTO_BUF struct buf text = { 0 };

	if (json_is(prompt, JSON_STRING)) {
		struct str whole = json_str(prompt, r->arena);
		buf_add(&text, whole.p, whole.n);
	}
	for (const struct json *v = json_is(prompt, JSON_ARRAY) ? json_first(prompt) : NULL; v;
	     v = json_next(prompt, v))
		buf_addf(&text, "%s" STR_FMT, text.n ? "\n\n" : "", STR_ARG(json_str(v, r->arena)));
	if (!json_is(prompt, JSON_STRING) && !json_is(prompt, JSON_ARRAY))
		return 0;
	return set(r, "system-prompt", text.n ? text.p : "", err);
}

/* A member of the request that becomes an option; objects keep their JSON. */
static const struct {
	const char *member, *option;
	enum json_type type;
} members[] = {
	{ "agents", "agents", JSON_OBJECT },
	{ "appendSubagentSystemPrompt", "append-subagent-system-prompt", JSON_STRING },
	{ "appendSystemPrompt", "append-system-prompt", JSON_STRING },
	{ "forwardSubagentText", "forward-subagent-text", JSON_TRUE },
	{ "hooks", "hooks", JSON_OBJECT },
	{ "jsonSchema", "json-schema", JSON_OBJECT },
};

static int take_members(const struct wire_request *r, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct json *v = json_get(r->body, members[i].member);
		if (!json_is(v, members[i].type))
			continue;
		const char *text =
			members[i].type == JSON_STRING ? json_cstr(v, r->arena) : arena_str(r->arena, json_raw(v)).p;
		if (set(r, members[i].option, text, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

/* {"type": "local", "path": DIR, "skipMcpDiscovery": BOOL}, besides those of the command line. */
static int take_plugins(const struct wire_request *r, struct err *err)
{
	const struct json *list = json_get(r->body, "plugins");

	for (const struct json *v = json_is(list, JSON_ARRAY) ? json_first(list) : NULL; v; v = json_next(list, v)) {
		const char *path = json_cstr(json_get(v, "path"), r->arena);
		bool no_mcp = json_bool(json_get(v, "skipMcpDiscovery"));
		if (!json_str_is(json_get(v, "type"), "local") || !path)
			return err_set(err, ERR_USAGE, "plugins: expected {\"type\": \"local\", \"path\": ...}");
		if (set(r, no_mcp ? "plugin-dir-no-mcp" : "plugin-dir", path, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

static int take_managed(const struct wire_request *r, struct err *err)
{
	const struct json *managed = json_get(r->body, "managedSettings");

	if (!r->wire->services->options.managed_in_initialize)
		return 0;
	if (!json_is(managed, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "--managed-settings-in-initialize: initialize has no managedSettings");
	return set(r, "managed-settings", arena_str(r->arena, json_raw(managed)).p, err);
}

/* ---- what it is told --------------------------------------------------------------------------------------------- */

void wire_put_agents(struct json_out *out, const struct agent_tree *t)
{
	const struct catalog *r = t->services->registry;

	json_key(out, "agents");
	json_open(out, '[');
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		if (!servers_admit(t, d))
			continue;
		json_open(out, '{');
		json_kcstr(out, "name", d->name);
		json_kcstr(out, "description", d->description);
		if (d->model)
			json_kcstr(out, "model", d->model);
		json_close(out);
	}
	json_close(out);
}

void wire_put_models(struct json_out *out, const struct options *o)
{
	static const struct {
		const char *value, *name, *what;
	} models[] = {
		{ "default", "Default", "the model that the session begins with" },
		{ "opus", "Opus", "for the hardest work" },
		{ "sonnet", "Sonnet", "for everyday work" },
		{ "haiku", "Haiku", "fast, for small tasks" },
	};
	AUTO_ARENA struct arena a = { 0 };

	json_key(out, "models");
	json_open(out, '[');
	for (size_t i = 0; i < COUNT_OF(models); i++) {
		const char *wish = i ? models[i].value : o->model ? o->model : model_default();
		const char *id = NULL;
		json_open(out, '{');
		json_kcstr(out, "value", models[i].value);
		if (model_resolve(&a, wish, &id, NULL) == 0)
			json_kcstr(out, "resolvedModel", id);
		json_kcstr(out, "displayName", models[i].name);
		json_kcstr(out, "description", models[i].what);
		json_close(out);
	}
	json_close(out);
}

/* Hooks of a client that says `initialize` again take the place of those that it had. */
static int renew_hooks(const struct wire_request *r, struct err *err)
{
	const struct json *hooks = json_get(r->body, "hooks");
	struct services *sv = r->wire->services;
	struct policy *changed;

	if (!json_is(hooks, JSON_OBJECT))
		return 0;
	if (set(r, "hooks", arena_str(r->arena, json_raw(hooks)).p, err) < 0 || policy_renew(sv, &changed, err) < 0)
		return -(int)err->kind;
	app_use_policy(sv, changed);
	return 0;
}

/* Every one that the request lists is loaded. */
static bool has_plugins(const struct wire_request *r)
{
	const struct json *list = json_get(r->body, "plugins");
	const struct options *o = &r->wire->services->options;

	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		size_t i = 0;
		while (i < o->plugin_dir_count && !json_str_is(json_get(v, "path"), o->plugin_dirs[i].path))
			i++;
		if (i == o->plugin_dir_count)
			return false;
	}
	return true;
}

static void write_answer(struct buf *payload, const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	struct json_out out = json_out(payload);
	const struct cadre_session *s = w->session;

	json_open(&out, '{');
	json_key(&out, "commands");
	session_put_commands(&out, s);
	wire_put_agents(&out, &s->tree);
	session_put_styles(&out, s);
	wire_put_models(&out, &w->services->options);
	json_key(&out, "account");
	json_open(&out, '{');
	json_close(&out);
	json_ki64(&out, "pid", getpid());
	json_kcstr(&out, "claude_code_version", CADRE_PROTOCOL_VERSION);
	if (json_is(json_get(r->body, "hooks"), JSON_OBJECT))
		json_kbool(&out, "hooks_applied", true);
	json_kbool(&out, "hook_on_failure_supported", true);
	if (json_get(r->body, "managedSettings"))
		json_kbool(&out, "managed_settings_applied", w->services->options.managed_in_initialize);
	if (json_get(r->body, "plugins"))
		json_kbool(&out, "plugins_applied", has_plugins(r));
	json_kcstr(&out, "current_permission_mode", permission_mode_name(permission_mode(&s->tree.main.permission)));
	json_close(&out);
}

static int open_as_said(const struct wire_request *r, struct err *err)
{
	struct str title = json_str(json_get(r->body, "title"), r->arena);

	if (set_system_prompt(r, err) < 0 || take_members(r, err) < 0 || take_plugins(r, err) < 0 ||
	    take_managed(r, err) < 0)
		return -(int)err->kind;
	r->wire->awaits = false;
	if (title.n && !r->wire->title)
		r->wire->title = xstrndup(title.p, title.n);
	return wire_open_session(r->wire, err);
}

/* Repeated by a client that lost its state: the session is unchanged, and pending requests are sent again. */
void wire_initialize(const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	AUTO_BUF struct buf payload = { 0 };
	struct err err = { 0 };

	bool again = w->session != NULL;
	if (!again) {
		const struct json *names = json_get(r->body, "sdkMcpServers");
		const struct json *manifests = json_get(r->body, "sdkMcpServerManifests");
		for (const struct json *v = json_first(names); v; v = json_next(names, v)) {
			struct str name = json_str(v, r->arena);
			if (name.n)
				wire_add_server(r->wire, name, json_get_str(manifests, name));
		}
	}
	/* A request that opens no session has no answer: the result and the exit code say why, and SDKs raise that. */
	if (!again && open_as_said(r, &err) < 0) {
		wire_fail_start(w, err.text);
		return;
	}
	if (again && renew_hooks(r, &err) < 0) {
		wire_reply_error(w, r->id, NULL, "%s", err.text);
		return;
	}
	w->session->host_elicits = true;
	write_answer(&payload, r);
	wire_reply_pending(w, r->id, buf_str(&payload));
}
