/* SPDX-License-Identifier: MIT
 * show.c - requests that change nothing: settings, context, models, rules, hooks, cost, output of agents, files. */
#include <cadre_command.h>
#include "core/model/catalog.h"
#include "product/stream/wire_int.h"
#include "defs/policy/plugins.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum { BYTES_PER_TOKEN = 4, OUTPUT_TAIL = 8192 };
enum { USUAL_BYTES = 1 << 20, MOST_BYTES = 16 << 20 }; /* of a file */

/* ---- settings ---------------------------------------------------------------------------------------------------- */

struct effective {
	struct json_out *out;
	const struct settings *settings;
	struct map seen; /* top-level keys, in the arena */
	struct arena arena;
};

/* For "permissions.deny" all of permissions is sent, once. */
static void put_member(void *data, const char *path, const struct setting_key *key, const struct json *value)
{
	struct effective *e = data;
	struct str rest = str_from(path);
	struct str top = arena_str(&e->arena, str_cut(&rest, '.'));
	const struct json *whole = rest.p ? settings_get(e->settings, top.p, NULL) : value;

	if (!whole || map_get(&e->seen, top))
		return;
	map_set(&e->seen, top, e);
	json_kraw(e->out, top.p, json_raw(whole));
}

static void put_source(void *data, const struct settings_view *view)
{
	struct json_out *out = data;

	if (view->effect == EFFECT_NO_FILE)
		return;
	json_putf(out, "{source:'%s', file:'%s'}", settings_layer_name(view->origin.layer), view->origin.file);
}

int wire_get_settings(struct wire_request *r, struct err *err)
{
	const struct settings *settings = r->wire->services->policy.settings;
	struct effective effective = { .out = &r->out, .settings = settings };

	json_kopen(&r->out, "effective", '{');
	settings_each_set(settings, put_member, &effective);
	json_close(&r->out);
	map_release(&effective.seen);
	arena_release(&effective.arena);
	json_kopen(&r->out, "sources", '[');
	settings_explain(settings, "", put_source, &r->out);
	json_close(&r->out);
	return 0;
}

/* ---- the context of the next request ----------------------------------------------------------------------------- */

static void put_category(struct json_out *out, const char *name, int64_t tokens)
{
	json_putf(out, "{name:'%s', tokens:%lld}", name, (long long)tokens);
}

/* Tools by kind; the definition of Agent lists the agents. */
enum { TOOLS_OWN, TOOLS_SERVERS, TOOLS_AGENTS, TOOLS_KINDS };

/* Estimates from bytes, like budgets; the last answer's usage is the server's count. */
int wire_get_context(struct wire_request *r, struct err *err)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct query *q = &a->query;
	int64_t head = (int64_t)(q->config.head->bytes.n / BYTES_PER_TOKEN);
	const struct segment *memory = a->tree->instructions[0].text;
	int64_t memories = memory ? (int64_t)(memory->len / BYTES_PER_TOKEN) : 0, tools[TOOLS_KINDS] = { 0 };
	int64_t messages = (int64_t)(q->transcript.bytes / BYTES_PER_TOKEN);
	int64_t most = model_find(&a->tree->services->endpoints.places, a->model).context, used = head + messages;

	for (size_t i = 0; i < a->tools.count; i++) {
		const struct tool *tool = a->tools.tools[i];
		int kind = tool->server ? TOOLS_SERVERS : tool->flags & TOOL_SPAWNS ? TOOLS_AGENTS : TOOLS_OWN;
		if (!deferral_holds(&a->deferral, tool))
			tools[kind] += (int64_t)(strlen(tool->definition) / BYTES_PER_TOKEN);
	}
	memories = MIN(memories, messages); /* they come with the first message */
	json_kopen(&r->out, "categories", '[');
	put_category(&r->out, "System prompt",
		     MAX(head - tools[TOOLS_OWN] - tools[TOOLS_SERVERS] - tools[TOOLS_AGENTS], 0));
	put_category(&r->out, "System tools", tools[TOOLS_OWN]);
	put_category(&r->out, "MCP tools", tools[TOOLS_SERVERS]);
	put_category(&r->out, "Custom agents", tools[TOOLS_AGENTS]);
	put_category(&r->out, "Memory files", memories);
	put_category(&r->out, "Messages", messages - memories);
	put_category(&r->out, "Free space", MAX(most - used, 0));
	json_putf(&r->out, "], totalTokens:%lld, maxTokens:%lld, rawMaxTokens:%lld, percentage:%g, model:'%s'",
		  (long long)used, (long long)most, (long long)most, most ? (double)(used * 100 / most) : 0, a->model);
	json_putf(&r->out, "apiUsage:");
	usage_write(&r->out, &q->usage);
	return 0;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

int wire_list_models(struct wire_request *r, struct err *err)
{
	wire_put_models(&r->out, r->wire->services);
	return 0;
}

int wire_get_version(struct wire_request *r, struct err *err)
{
	json_kcstr(&r->out, "version", CADRE_VERSION);
	return 0;
}

int wire_list_rules(struct wire_request *r, struct err *err)
{
	static const char *const argv[] = { "permissions" };
	struct cadre_report *report = NULL;
	char why[sizeof err->text] = "";
	size_t n = 0;
	int status = cadre_command(r->wire->services->owner, 1, argv, NULL, &report, why, sizeof why);

	if (status < 0)
		return err_set(err, (enum err_kind) - status, "%s", why);
	const char *json = cadre_report_json(report, &n);
	wire_reply(r->wire, r->id, (struct str){ json, n });
	cadre_report_free(report);
	return WIRE_ANSWERED;
}

/* ---- cost; plans and rate limits belong to accounts, which do not exist here ------------------------------------- */

int wire_get_cost(struct wire_request *r, struct err *err)
{
	json_putf(&r->out, "total_cost_usd:%g", agent_tree_cost(&r->wire->session->tree));
	return 0;
}

int wire_get_usage(struct wire_request *r, struct err *err)
{
	const struct cadre_wire *w = r->wire;
	const struct query *q = &w->session->tree.main.query;
	uint64_t now_ms = loop_now_ms(w->services->loop);

	json_kopen(&r->out, "session", '{');
	(void)wire_get_cost(r, err);
	json_putf(&r->out, "total_api_duration_ms:%llu, total_duration_ms:%llu, total_lines_added:0",
		  (unsigned long long)((w->api_ms + (w->working ? q->api_ms : 0))),
		  (unsigned long long)(now_ms - w->opened_ms));
	json_putf(&r->out, "total_lines_removed:0, model_usage:");
	session_put_model_usage(&r->out, w->session);
	json_putf(&r->out, "}, subscription_type:null, rate_limits_available:false, rate_limits:null");
	json_putf(&r->out, "behaviors:null");
	return 0;
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

static void put_event(struct json_out *out, enum hook_event event, size_t count)
{
	const struct hook_event_info *info = hook_event_info(event);

	json_putf(out, "{name:'%s', summary:'', supportsMatcher:!!%d", info->name, info->subject != NULL);
	if (count)
		json_ki64(out, "hookCount", (int64_t)count);
	json_close(out);
}

static void put_hook(struct json_out *out, const struct hook *h, const struct hook_policy *policy)
{
	bool is_off = h->origin->layer == HOOK_FROM_MANAGED
			      ? policy->disable_managed
			      : policy->disable_all || policy->managed_only || !h->origin->trusted;

	json_putf(out, "{event:'%s'", hook_event_info(h->event)->name);
	json_kstr(out, "matcher", h->matcher ? h->matcher->text : STR(""));
	json_putf(out, "source:'%s', sourceLabel:'%s', type:'%s'", sources[h->origin->layer].name,
		  sources[h->origin->layer].label, hook_type_info(h->type)->name);
	json_kstr(out, "displayText", h->status ? str_from(h->status) : h->label);
	json_putf(out, "commandText:'%.*s', contentLabel:'%s'", STR_ARG(h->label), labels[h->type]);
	if (h->rule.p)
		json_kstr(out, "condition", h->rule);
	if (h->timeout_ms)
		json_ki64(out, "timeout", (int64_t)(h->timeout_ms / 1000));
	json_putf(out, "statusMessage?:'%s', runsOnce?:!!%d, runsInBackground?:!!%d, disabled?:!!%d}", h->status,
		  h->once, h->async, is_off);
}

int wire_list_hooks(struct wire_request *r, struct err *err)
{
	const struct policy *p = &r->wire->services->policy;
	size_t managed = 0;

	json_kopen(&r->out, "events", '[');
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		size_t count = 0;
		for (const struct hook *h = p->hooks ? p->hooks->events[i] : NULL; h; h = h->next, count++)
			managed += h->origin->layer == HOOK_FROM_MANAGED;
		if (count)
			put_event(&r->out, i, count);
	}
	json_putf(&r->out, "], eventCatalog:[");
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++)
		put_event(&r->out, i, 0);
	json_putf(&r->out, "], hooks:[");
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++)
		for (const struct hook *h = p->hooks ? p->hooks->events[i] : NULL; h; h = h->next)
			put_hook(&r->out, h, &p->hook_policy);
	json_putf(&r->out, "], policy:{disabledByPolicy:!!%d, managedOnly:!!%d", p->hook_policy.disable_managed,
		  p->hook_policy.managed_only);
	json_putf(&r->out, "pluginOnly:!!%d, allDisabled:!!%d, policyHookCount:%zu}",
		  policy_plugins_only(p->settings, "hooks"), p->hook_policy.disable_all, managed);
	return 0;
}

/* ---- output of an agent ------------------------------------------------------------------------------------------ */

int wire_find_record(const struct wire_request *r, struct agent_record **ret_record, struct err *err)
{
	struct str id = json_str(json_get(r->body, "task_id"), r->arena);

	*ret_record = id.n ? agent_tree_record(&r->wire->session->tree, id) : NULL;
	return *ret_record ? 0 : err_set(err, ERR_NOT_FOUND, "No task found with ID: " STR_FMT, STR_ARG(id));
}

int wire_task_output(struct wire_request *r, struct err *err)
{
	struct agent_record *record;
	AUTO_BUF struct buf text = { 0 };
	uint64_t size = 0;

	if (wire_find_record(r, &record, err) < 0)
		return -(int)err->kind;
	if (record->report.n) {
		size = record->report.n;
		size_t from = size > OUTPUT_TAIL ? size - OUTPUT_TAIL : 0;
		buf_add(&text, record->report.p + from, size - from);
	} else if (record->transcript) { /* does not exist before its first line */
		(void)file_read_tail(record->transcript, OUTPUT_TAIL, &text, &size, err);
	}
	json_putf(&r->out, "output:'%.*s', total_bytes:%llu, truncated:!!%d", STR_ARG(text), (unsigned long long)size,
		  size > text.n);
	return 0;
}

/* ---- a file, if the main agent may read it without a question ---------------------------------------------------- */

/* Checks the rules for Read. NULL: denied; otherwise the resolved path. */
static const char *find_readable(const struct wire_request *r, const char *path)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct tool *read = tool_set_find(&a->tools, STR("Read"));
	struct tool_use use = { .tool = read, .env = &a->env };
	struct permission_verdict v = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf input = { 0 };

	if (!read)
		return NULL;
	json_addf(&input, "{file_path:'%s'}", path);
	use.flags = read->flags;
	if (json_parse(&reader, input.p, input.n, &use.input, NULL) < 0)
		return NULL;
	permission_explain(&a->permission, use, PERMISSION_HINT_NONE, &v);
	bool allowed = v.decision == PERMISSION_ALLOW && v.file_target;
	const char *target = allowed ? arena_strdup(r->arena, v.file_target) : NULL;
	permission_verdict_release(&v);
	return target;
}

/* Its first bytes; one more than limit, if there are more. */
static int read_head(const char *target, size_t limit, struct buf *out, struct err *err)
{
	struct stat st;
	AUTO_CLOSE int fd = file_below_open("/", target, &st, err);

	if (fd < 0)
		return fd;
	while (out->n <= limit) {
		buf_reserve(out, limit + 1 - out->n);
		ssize_t n = read(fd, out->p + out->n, limit + 1 - out->n);
		if (n < 0)
			return err_set(err, ERR_IO, "cannot read %s: %m", target);
		if (n == 0)
			break;
		out->n += (size_t)n;
	}
	return 0;
}

int wire_read_file(struct wire_request *r, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 }, text = { 0 };
	struct str wish = json_str(json_get(r->body, "path"), r->arena);
	const char *path = path_absolute(r->arena, r->wire->session->tree.main.env.cwd, wish);
	int64_t most;

	if (!json_i64(json_get(r->body, "max_bytes"), &most) || most < 0)
		most = USUAL_BYTES;
	size_t limit = (size_t)MIN(most, (int64_t)MOST_BYTES);
	if (!wish.n || memchr(wish.p, '\0', wish.n))
		return err_set(err, ERR_USAGE, "path is needed");
	const char *target = find_readable(r, path);
	if (!target)
		return err_set(err, ERR_DENIED, "%s may not be read", path);
	if (read_head(target, limit, &bytes, err) < 0)
		return -(int)err->kind;
	struct str head = { bytes.n ? bytes.p : "", MIN(bytes.n, limit) };
	bool as_base64 = json_str_is(json_get(r->body, "encoding"), "base64");
	if (as_base64)
		base64_add(&text, head);
	else
		utf8_add_repaired(&text, head);
	json_kstr(&r->out, "contents", buf_str(&text));
	if (as_base64)
		json_kcstr(&r->out, "encoding", "base64");
	else
		json_kbool(&r->out, "lossy", !utf8_valid(head));
	json_putf(&r->out, "absPath:'%s', truncated:!!%d", path, bytes.n > limit);
	return 0;
}
