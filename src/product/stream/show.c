/* SPDX-License-Identifier: MIT
 * show.c - requests that only want to know something: settings, context, models, rules, hooks, cost. */
#include <cadre_command.h>
#include "defs/policy/permissions.h"
#include "core/model/catalog.h"
#include "guard/permission/rule_set.h"
#include "product/stream/wire_int.h"
#include "defs/policy/plugins.h"

/* ---- requests that only want to know something ------------------------------------------------------------------- */

enum { BYTES_PER_TOKEN = 4 };

/* ---- settings ---------------------------------------------------------------------------------------------------- */

struct effective {
	struct json_out *out;
	const struct settings *settings;
	struct map told; /* top-level keys, in the arena */
	struct arena arena;
};

/* For "permissions.deny" all of permissions is sent, once. */
static void put_member(void *data, const char *path, const struct setting_key *key, const struct json *value)
{
	struct effective *e = data;
	struct str rest = str_from(path);
	struct str top = arena_str(&e->arena, str_cut(&rest, '.'));
	const struct json *whole = rest.p ? settings_get(e->settings, top.p, NULL) : value;

	(void)key;
	if (!whole || map_get(&e->told, top))
		return;
	map_set(&e->told, top, e);
	json_key(e->out, top.p);
	json_put_raw(e->out, json_raw(whole));
}

static void put_source(void *data, const struct settings_view *view)
{
	struct json_out *out = data;

	if (view->effect == EFFECT_NO_FILE)
		return;
	json_open(out, '{');
	json_kcstr(out, "source", settings_layer_name(view->origin.layer));
	json_kcstr(out, "file", view->origin.file);
	json_close(out);
}

void wire_get_settings(const struct wire_request *r)
{
	const struct settings *settings = r->wire->services->policy.settings;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	struct effective effective = { .out = &out, .settings = settings };
	json_key(&out, "effective");
	json_open(&out, '{');
	settings_each_set(settings, put_member, &effective);
	json_close(&out);
	map_release(&effective.told);
	arena_release(&effective.arena);
	json_key(&out, "sources");
	json_open(&out, '[');
	settings_explain(settings, "", put_source, &out);
	json_close(&out);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

/* ---- what the next request is made of ---------------------------------------------------------------------------- */

static void put_category(struct json_out *out, const char *name, int64_t tokens)
{
	json_open(out, '{');
	json_kcstr(out, "name", name);
	json_ki64(out, "tokens", tokens);
	json_close(out);
}

static int64_t tools_tokens(const struct agent *a, bool of_servers)
{
	size_t bytes = 0;

	for (size_t i = 0; i < a->tools.count; i++) {
		const struct tool *tool = a->tools.tools[i];
		if (str_starts(str_from(tool->name), STR("mcp__")) == of_servers && !deferral_holds(&a->deferral, tool))
			bytes += strlen(tool->definition);
	}
	return (int64_t)(bytes / BYTES_PER_TOKEN);
}

/* Estimates from bytes, like budgets; the last answer's usage is the server's count. */
void wire_get_context(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct query *q = &a->query;
	const struct usage *u = &q->usage;
	int64_t head = (int64_t)(q->config.head->bytes.n / BYTES_PER_TOKEN);
	int64_t tools = tools_tokens(a, false), servers = tools_tokens(a, true);
	int64_t messages = (int64_t)(q->transcript.bytes / BYTES_PER_TOKEN);
	int64_t most = model_find(a->model)->context, used = head + messages;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	json_key(&out, "categories");
	json_open(&out, '[');
	put_category(&out, "System prompt", MAX(head - tools - servers, 0));
	put_category(&out, "System tools", tools);
	put_category(&out, "MCP tools", servers);
	put_category(&out, "Messages", messages);
	put_category(&out, "Free space", MAX(most - used, 0));
	json_close(&out);
	json_ki64(&out, "totalTokens", used);
	json_ki64(&out, "maxTokens", most);
	json_ki64(&out, "rawMaxTokens", most);
	json_key(&out, "percentage");
	json_put_double(&out, most ? (double)(used * 100 / most) : 0);
	json_kcstr(&out, "model", a->model);
	json_key(&out, "apiUsage");
	usage_write(&out, u);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

void wire_list_models(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	wire_put_models(&out, &r->wire->services->options);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

void wire_get_version(const struct wire_request *r)
{
	wire_reply(r->wire, r->id, STR("{\"version\":\"" CADRE_VERSION "\"}"));
}

void wire_list_rules(const struct wire_request *r)
{
	static const char *const argv[] = { "permissions" };
	struct cadre_report *report = NULL;
	char why[240] = "";
	size_t n = 0;

	if (cadre_command(r->wire->services->owner, 1, argv, NULL, &report, why, sizeof why) < 0) {
		wire_reply_error(r->wire, r->id, NULL, "%s", why);
		return;
	}
	const char *json = cadre_report_json(report, &n);
	wire_reply(r->wire, r->id, (struct str){ json, n });
	cadre_report_free(report);
}

/* ---- what the session has cost so far ---------------------------------------------------------------------------- */

/* Plans and their limits are those of accounts, which there are none of here. */

static void put_cost(struct json_out *out, const struct cadre_wire *w)
{
	json_key(out, "total_cost_usd");
	json_put_double(out, agent_tree_cost(&w->session->tree));
}

void wire_get_cost(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	put_cost(&out, r->wire);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

static void put_session(struct json_out *out, const struct cadre_wire *w)
{
	const struct query *q = &w->session->tree.main.query;
	uint64_t now = loop_now_ms(w->services->loop);

	json_key(out, "session");
	json_open(out, '{');
	put_cost(out, w);
	json_ki64(out, "total_api_duration_ms", (int64_t)(w->api_ms + (w->working ? q->api_ms : 0)));
	json_ki64(out, "total_duration_ms", (int64_t)(now - w->opened_ms));
	json_ki64(out, "total_lines_added", 0);
	json_ki64(out, "total_lines_removed", 0);
	json_key(out, "model_usage");
	session_put_model_usage(out, w->session);
	json_close(out);
}

void wire_get_usage(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	put_session(&out, r->wire);
	json_kcstr(&out, "subscription_type", NULL);
	json_kbool(&out, "rate_limits_available", false);
	json_kcstr(&out, "rate_limits", NULL);
	json_kcstr(&out, "behaviors", NULL);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

/* ---- get_hooks_listing ------------------------------------------------------------------------------------------- */

/* Protocol names of hook sources */
static const struct {
	const char *name, *label;
} sources[] = {
	[HOOK_FROM_USER] = { "userSettings", "User settings" },
	[HOOK_FROM_PROJECT] = { "projectSettings", "Project settings" },
	[HOOK_FROM_LOCAL] = { "localSettings", "Local settings" },
	[HOOK_FROM_FLAG] = { "flagSettings", "Command line" },
	[HOOK_FROM_MANAGED] = { "policySettings", "Managed settings" },
	[HOOK_FROM_PLUGIN] = { "pluginHook", "Plugin" },
	[HOOK_FROM_SKILL] = { "sessionHook", "Skill" },
	[HOOK_FROM_AGENT] = { "sessionHook", "Agent" },
	[HOOK_FROM_SDK] = { "sessionHook", "Session" },
};
_Static_assert(COUNT_OF(sources) == HOOK_LAYER_COUNT, "words for each layer");

static const char *const labels[] = {
	[HOOK_COMMAND] = "Command", [HOOK_HTTP] = "URL",     [HOOK_MCP_TOOL] = "Tool",
	[HOOK_PROMPT] = "Prompt",   [HOOK_AGENT] = "Prompt", [HOOK_CALLBACK] = "Function"
};
_Static_assert(COUNT_OF(labels) == HOOK_TYPE_COUNT, "a word for each type");

static const struct hook *first_of(const struct hook_set *set, enum hook_event event)
{
	return set ? set->events[event] : NULL;
}

static void put_event(struct json_out *out, enum hook_event event, size_t count)
{
	const struct hook_event_info *info = hook_event_info(event);

	json_open(out, '{');
	json_kcstr(out, "name", info->name);
	json_kcstr(out, "summary", "");
	json_kbool(out, "supportsMatcher", info->subject != NULL);
	if (count)
		json_ki64(out, "hookCount", (int64_t)count);
	json_close(out);
}

static void put_events(struct json_out *out, const struct hook_set *set)
{
	json_key(out, "events");
	json_open(out, '[');
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		size_t count = 0;
		for (const struct hook *h = first_of(set, i); h; h = h->next)
			count++;
		if (count)
			put_event(out, i, count);
	}
	json_close(out);
	json_key(out, "eventCatalog");
	json_open(out, '[');
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++)
		put_event(out, i, 0);
	json_close(out);
}

static bool is_off(const struct hook *h, const struct hook_policy *policy)
{
	bool managed = h->origin->layer == HOOK_FROM_MANAGED;

	if (managed)
		return policy->disable_managed;
	return policy->disable_all || policy->managed_only || !h->origin->trusted;
}

static void put_hook(struct json_out *out, const struct hook *h, const struct hook_policy *policy)
{
	json_open(out, '{');
	json_kcstr(out, "event", hook_event_info(h->event)->name);
	json_kstr(out, "matcher", h->matcher ? h->matcher->text : STR(""));
	json_kcstr(out, "source", sources[h->origin->layer].name);
	json_kcstr(out, "sourceLabel", sources[h->origin->layer].label);
	json_kcstr(out, "type", hook_type_info(h->type)->name);
	json_kstr(out, "displayText", h->status ? str_from(h->status) : h->label);
	json_kstr(out, "commandText", h->label);
	json_kcstr(out, "contentLabel", labels[h->type]);
	if (h->rule.p)
		json_kstr(out, "condition", h->rule);
	if (h->timeout_ms)
		json_ki64(out, "timeout", (int64_t)(h->timeout_ms / 1000));
	if (h->status)
		json_kcstr(out, "statusMessage", h->status);
	if (h->once)
		json_kbool(out, "runsOnce", true);
	if (h->async)
		json_kbool(out, "runsInBackground", true);
	if (is_off(h, policy))
		json_kbool(out, "disabled", true);
	json_close(out);
}

static size_t count_managed(const struct hook_set *set)
{
	size_t n = 0;

	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++)
		for (const struct hook *h = first_of(set, i); h; h = h->next)
			n += h->origin->layer == HOOK_FROM_MANAGED;
	return n;
}

void wire_list_hooks(const struct wire_request *r)
{
	const struct policy *p = &r->wire->services->policy;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	put_events(&out, p->hooks);
	json_key(&out, "hooks");
	json_open(&out, '[');
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++)
		for (const struct hook *h = first_of(p->hooks, i); h; h = h->next)
			put_hook(&out, h, &p->hook_policy);
	json_close(&out);
	json_key(&out, "policy");
	json_open(&out, '{');
	json_kbool(&out, "disabledByPolicy", p->hook_policy.disable_managed);
	json_kbool(&out, "managedOnly", p->hook_policy.managed_only);
	json_kbool(&out, "pluginOnly", app_plugins_only(p->settings, "hooks"));
	json_kbool(&out, "allDisabled", p->hook_policy.disable_all);
	json_ki64(&out, "policyHookCount", (int64_t)count_managed(p->hooks));
	json_close(&out);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}
