/* SPDX-License-Identifier: MIT
 * hook_list.c - get_hooks_listing: the hooks of the session, and the events that there are. */
#include "defs/policy/plugins.h"
#include "product/stream/wire_int.h"

/* The words of the protocol for where a hook stands */
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
