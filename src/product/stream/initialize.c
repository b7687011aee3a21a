/* SPDX-License-Identifier: MIT
 * initialize.c - the initialize request: opens the session with the client's options and reports its capabilities. */
#include "agents/agent/servers.h"
#include "product/session/session.h"
#include "core/model/catalog.h"
#include "product/stream/wire_int.h"

static int set_option(const struct wire_request *r, const char *option, const char *value, struct err *err)
{
	return options_set(&r->wire->services->options, option, value, err);
}

/* A text, or a list of paragraphs; an empty list is an empty prompt, a missing one the usual prompt. */
static int set_system_prompt(const struct wire_request *r, struct err *err)
{
	const struct json *prompt = json_get(r->body, "systemPrompt");
	AUTO_BUF struct buf text = { 0 };

	if (json_is(prompt, JSON_STRING)) {
		struct str whole = json_str(prompt, r->arena);
		buf_add(&text, whole.p, whole.n);
	}
	for (const struct json *v = json_items(prompt); v; v = json_next(prompt, v))
		buf_addf(&text, "%s" STR_FMT, text.n ? "\n\n" : "", STR_ARG(json_str(v, r->arena)));
	if (!json_is(prompt, JSON_STRING) && !json_is(prompt, JSON_ARRAY))
		return 0;
	return set_option(r, "system-prompt", text.n ? text.p : "", err);
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

/* A list of texts, with commas between */
static const char *join_names(const struct wire_request *r, const struct json *list)
{
	AUTO_BUF struct buf names = { 0 };

	for (const struct json *v = json_items(list); v; v = json_next(list, v))
		buf_addf(&names, "%s" STR_FMT, names.n ? "," : "", STR_ARG(json_str(v, r->arena)));
	return arena_str(r->arena, buf_str(&names)).p;
}

/* Members that --initialize-fields has announced, so that other users of the machine cannot read them in the list of processes:
 * without one of them, or with its flag besides, the session would not be what the client thinks. */
static int set_announced(const struct wire_request *r, struct err *err)
{
	const struct options *o = &r->wire->services->options;
	struct str names = str_from(o->initialize_fields ? o->initialize_fields : "");

	while (names.n) {
		struct str name = str_trim(str_cut(&names, ','));
		bool settings = str_is(name, "settings"), rule_list = str_is(name, "disallowedTools");
		const struct json *v = json_get_str(r->body, name);
		if (!settings && !rule_list)
			return err_set(err, ERR_USAGE, "--initialize-fields: '" STR_FMT "' is not known",
				       STR_ARG(name));
		if (settings ? o->settings : o->disallowed_tools)
			return err_set(err, ERR_USAGE, "--initialize-fields: --%s is given, too",
				       settings ? "settings" : "disallowed-tools");
		if (!json_is(v, settings ? JSON_OBJECT : JSON_ARRAY))
			return err_set(err, ERR_USAGE, "--initialize-fields: initialize has no " STR_FMT,
				       STR_ARG(name));
		const char *text = settings ? arena_str(r->arena, json_raw(v)).p : join_names(r, v);
		if (set_option(r, settings ? "settings" : "disallowed-tools", text, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

/* Servers that are programs or addresses, with what they must be told in secret. */
static int set_servers(const struct wire_request *r, struct err *err)
{
	const struct json *servers = json_get(r->body, "mcpServers");
	AUTO_BUF struct buf config = { 0 };

	if (!json_is(servers, JSON_OBJECT))
		return 0;
	buf_addf(&config, "{\"mcpServers\":" STR_FMT "}", STR_ARG(json_raw(servers)));
	r->wire->servers_at_start = arena_str(&r->wire->arena, json_raw(servers));
	return set_option(r, "mcp-config", config.p, err);
}

static int open_session(const struct wire_request *r, struct err *err)
{
	const struct json *plugins = json_get(r->body, "plugins");
	const struct json *managed = json_get(r->body, "managedSettings");
	const struct json *names = json_get(r->body, "sdkMcpServers");
	const struct json *manifests = json_get(r->body, "sdkMcpServerManifests");
	const struct json *configs = json_get(r->body, "sdkMcpServerConfigs");
	const struct json *skills = json_get(r->body, "skills");
	struct str title = json_str(json_get(r->body, "title"), r->arena);

	for (const struct json *v = json_first(names); v; v = json_next(names, v)) {
		struct str name = json_str(v, r->arena);
		if (name.n)
			wire_add_server(r->wire, name, json_get_str(manifests, name), json_get_str(configs, name));
	}
	if (set_system_prompt(r, err) < 0 || set_announced(r, err) < 0 || set_servers(r, err) < 0)
		return -(int)err->kind;
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct json *v = json_get(r->body, members[i].member);
		if (!json_is(v, members[i].type))
			continue;
		const char *text =
			members[i].type == JSON_STRING ? json_cstr(v, r->arena) : arena_str(r->arena, json_raw(v)).p;
		if (set_option(r, members[i].option, text, err) < 0)
			return -(int)err->kind;
	}
	if (json_is(skills, JSON_ARRAY) && set_option(r, "skills", join_names(r, skills), err) < 0)
		return -(int)err->kind;
	/* {"type": "local", "path": DIR, "skipMcpDiscovery": BOOL}, besides those of the command line */
	for (const struct json *v = json_items(plugins); v; v = json_next(plugins, v)) {
		const char *path = json_cstr(json_get(v, "path"), r->arena);
		bool no_mcp = json_bool(json_get(v, "skipMcpDiscovery"));
		if (!json_str_is(json_get(v, "type"), "local") || !path)
			return err_set(err, ERR_USAGE, "plugins: expected {\"type\": \"local\", \"path\": ...}");
		if (set_option(r, no_mcp ? "plugin-dir-no-mcp" : "plugin-dir", path, err) < 0)
			return -(int)err->kind;
	}
	if (r->wire->services->options.managed_in_initialize) {
		if (!json_is(managed, JSON_OBJECT))
			return err_set(err, ERR_USAGE,
				       "--managed-settings-in-initialize: initialize has no managedSettings");
		if (set_option(r, "managed-settings", arena_str(r->arena, json_raw(managed)).p, err) < 0)
			return -(int)err->kind;
	}
	r->wire->awaits = false;
	if (title.n && !r->wire->title)
		r->wire->title = xstrndup(title.p, title.n);
	return wire_open_session(r->wire, err);
}

void wire_put_agents(struct json_out *out, const struct agent_tree *t)
{
	const struct catalog *r = t->services->registry;

	json_kopen(out, "agents", '[');
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		if (!servers_admit(t, d))
			continue;
		json_putf(out, "{name:'%s', description:'%s', model?:'%s'}", d->name, d->description, d->model);
	}
	json_close(out);
}

/* Its id; window and price, where they are known */
static void put_facts(struct json_out *out, const struct providers *providers, const char *id)
{
	struct model_info info = model_find(providers, id);

	json_putf(out, "resolvedModel:'%s'", id);
	if (info.window_source)
		json_putf(out, "contextWindow:%lld", (long long)info.context);
	if (info.price_source)
		json_putf(out, "pricePerMTok:{input:%g, output:%g}", info.price.input, info.price.output);
}

void wire_put_models(struct json_out *out, const struct services *sv)
{
	const struct options *o = &sv->options;
	const struct providers *providers = &sv->endpoints.providers;
	static const struct {
		const char *value, *variable, *name,
			*what; /* NAME_NAME and NAME_DESCRIPTION of the variable come first */
	} models[] = {
		{ "default", "ANTHROPIC_DEFAULT_MODEL", "Default", "the model that the session begins with" },
		{ "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL", "Opus", "for the hardest work" },
		{ "sonnet", "ANTHROPIC_DEFAULT_SONNET_MODEL", "Sonnet", "for everyday work" },
		{ "haiku", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "Haiku", "fast, for small tasks" },
		{ NULL, "ANTHROPIC_CUSTOM_MODEL_OPTION", NULL, "of the variable ANTHROPIC_CUSTOM_MODEL_OPTION" },
	};
	AUTO_ARENA struct arena a = { 0 };

	json_kopen(out, "models", '[');
	for (size_t i = 0; i < COUNT_OF(models); i++) {
		const char *value = models[i].value ? models[i].value : providers_env(providers, models[i].variable);
		const char *wish = i ? value : o->model ? o->model : model_default(providers), *id = NULL;
		const char *name = providers_env(providers, arena_printf(&a, "%s_NAME", models[i].variable));
		const char *what = providers_env(providers, arena_printf(&a, "%s_DESCRIPTION", models[i].variable));
		if (!value)
			continue;
		json_putf(out, "{value:'%s'", value);
		if (model_resolve_at(&a, providers, wish, &id, NULL) == 0)
			put_facts(out, providers, id);
		json_putf(out, "displayName:'%s', description:'%s'}",
			  name             ? name
			  : models[i].name ? models[i].name
					   : value,
			  what ? what : models[i].what);
	}
	for (size_t i = 0; i < providers->own_count; i++) {
		const struct provider *provider = providers->own[i];
		const struct json *list = json_get(provider->own, "models");
		for (struct json_member m = json_members(list); m.key; m = json_member_next(list, m)) {
			if (json_str_is(m.key, "*"))
				continue;
			const char *name = arena_printf(&a, "%s/%s", provider->name, json_cstr(m.key, &a));
			json_putf(out, "{value:'%s', displayName:'%s'", name, name);
			put_facts(out, providers, name);
			json_putf(out, "description:'of the setting providers'}");
		}
	}
	json_close(out);
}

/* Repeated by a client that lost its state: the session is unchanged but for the hooks, and pending requests are sent again. */
int wire_initialize(struct wire_request *r, struct err *err)
{
	struct cadre_wire *w = r->wire;
	struct services *sv = w->services;
	const struct options *o = &sv->options;
	const struct json *hooks = json_get(r->body, "hooks"), *plugins = json_get(r->body, "plugins");
	const struct json *servers = json_get(r->body, "mcpServers");
	bool all_loaded = true;
	struct policy *changed;

	if (w->session && json_is(hooks, JSON_OBJECT)) {
		struct policy *p = w->session->tree.policy;
		if (set_option(r, "hooks", arena_str(r->arena, json_raw(hooks)).p, err) < 0)
			return -(int)err->kind;
		p->options.hooks = sv->options.hooks;
		if (policy_renew(sv, p, &changed, err) < 0)
			return -(int)err->kind;
		policy_apply(sv, p, changed);
	} else if (!w->session && open_session(r, err) < 0) {
		/* Without a session there is no answer: the result and the exit code have the reason, and SDKs raise it. */
		wire_fail_start(w, err->text);
		return WIRE_ANSWERED;
	}
	const struct cadre_session *s = w->session;
	w->session->host_elicits = true;
	json_key(&r->out, "commands");
	session_put_commands(&r->out, s);
	wire_put_agents(&r->out, &s->tree);
	session_put_styles(&r->out, s);
	wire_put_models(&r->out, r->wire->services);
	json_putf(&r->out, "account:{}, pid:%d, claude_code_version:'%s', hooks_applied?:!!%d", getpid(),
		  CADRE_PROTOCOL_VERSION, json_is(hooks, JSON_OBJECT));
	json_putf(&r->out, "hook_on_failure_supported:true");
	if (json_get(r->body, "managedSettings"))
		json_kbool(&r->out, "managed_settings_applied", o->managed_in_initialize);
	for (const struct json *v = json_first(plugins); v; v = json_next(plugins, v)) {
		size_t i = 0;
		while (i < o->plugin_dir_count && !json_str_is(json_get(v, "path"), o->plugin_dirs[i].path))
			i++;
		all_loaded = all_loaded && i < o->plugin_dir_count;
	}
	if (plugins)
		json_kbool(&r->out, "plugins_applied", all_loaded);
	if (servers)
		json_kbool(&r->out, "mcp_servers_applied", str_eq(json_raw(servers), w->servers_at_start));
	json_kcstr(&r->out, "current_permission_mode", permission_mode_name(permission_mode(&s->tree.main.permission)));
	wire_reply_pending(r);
	return WIRE_ANSWERED;
}
