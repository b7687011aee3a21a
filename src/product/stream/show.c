/* SPDX-License-Identifier: MIT
 * show.c - requests that change nothing: settings, context, models, rules, hooks, cost, output of agents, files. */
#include <cadre_command.h>
#include "core/model/catalog.h"
#include "config/settings/instructions.h"
#include "product/session/server_pool.h"
#include "product/stream/wire_int.h"
#include "defs/policy/plugins.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum { BYTES_PER_TOKEN = 4, OUTPUT_TAIL = 8192 };
enum { USUAL_BYTES = 1 << 20, MOST_BYTES = 16 << 20 }; /* of a file */

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

	if (view->effect == EFFECT_NO_FILE || view->effect == EFFECT_REFUSED)
		return;
	json_putf(out, "{source:'%s', file:'%s'}", settings_layer_name(view->origin.layer), view->origin.file);
}

int wire_get_settings(struct wire_request *r, struct err *err)
{
	const struct settings *settings = r->wire->session->tree.policy->settings;
	struct effective effective = { .out = &r->out, .settings = settings };

	json_kopen(&r->out, "effective", '{');
	settings_each_set(settings, put_member, &effective);
	json_close(&r->out);
	map_release(&effective.seen);
	arena_release(&effective.arena);
	json_kopen(&r->out, "sources", '[');
	settings_explain(settings, "", put_source, &r->out);
	json_close(&r->out);
	/* what holds now, wherever it was set */
	const struct agent *a = &r->wire->session->tree.main;
	json_putf(&r->out, "applied:{model:'%s', effort:'%s', agent?:'%s', additionalDirectories:[", a->model,
		  agent_effort(a, r->arena), a->definition ? a->definition->name : NULL);
	for (size_t i = 1; a->env.dirs[0] && a->env.dirs[i]; i++)
		json_put_cstr(&r->out, a->env.dirs[i]);
	json_putf(&r->out, "]}");
	return 0;
}

static void put_category(struct json_out *out, const char *id, const char *name, const char *color, int64_t tokens)
{
	json_putf(out, "{id:'%s', name:'%s', color:'%s', kind:'%s', tokens:%lld}", id, name, color,
		  strcmp(id, "free_space") ? "used" : "free", (long long)tokens);
}

/* The instruction files that were sent: each is named in that text, with what it is. */
static void put_memory_files(struct json_out *out, const struct agent_tree *t)
{
	const struct segment *memory = t->instructions[0].text;
	struct str text = memory ? segment_json(memory) : STR("");
	const struct map *files = t->instruction_rules ? &t->instruction_rules->files : NULL;

	json_kopen(out, "memoryFiles", '[');
	for (const struct map_entry *e = files ? map_next(files, NULL) : NULL; e; e = map_next(files, e)) {
		AUTO_BUF struct buf title = { 0 };
		struct stat st;
		buf_addf(&title, "Contents of %s (", e->key);
		const char *at = memmem(text.p, text.n, title.p, title.n);
		if (!at || stat(e->key, &st) < 0)
			continue;
		at += title.n;
		json_putf(out, "{path:'%s', type:'%s', tokens:%lld}", e->key,
			  *at == 'u'                     ? "User"
			  : *at == 'm'                   ? "Managed"
			  : at[1] == 'r' && at[2] == 'i' ? "Local"
							 : "Project",
			  (long long)st.st_size / BYTES_PER_TOKEN);
	}
	json_close(out);
}

static void put_server_tools(struct json_out *out, const struct agent *a)
{
	json_kopen(out, "mcpTools", '[');
	for (size_t i = 0; i < a->tools.count; i++) {
		const struct tool *tool = a->tools.tools[i];
		struct str server = str_from(tool->server ? tool->server : ""); /* mcp__SERVER */
		if (server.n > 5)
			json_putf(out, "{name:'%s', serverName:'%.*s', tokens:%lld, isLoaded:!!%d}", tool->name,
				  (int)server.n - 5, server.p + 5,
				  (long long)strlen(tool->definition) / BYTES_PER_TOKEN,
				  !deferral_holds(&a->deferral, tool));
	}
	json_close(out);
}

static void put_agents(struct json_out *out, const struct agent_tree *t)
{
	const struct catalog *r = t->services->registry;

	json_kopen(out, "agents", '[');
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		json_putf(out, "{agentType:'%s', source:'%s', tokens:%lld}", d->name, definition_source_name(d->source),
			  (long long)(strlen(d->name) + strlen(d->description)) / BYTES_PER_TOKEN);
	}
	json_close(out);
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
	int64_t most = model_find(&a->tree->services->endpoints.providers, a->model).context, used = head + messages;

	for (size_t i = 0; i < a->tools.count; i++) {
		const struct tool *tool = a->tools.tools[i];
		int kind = tool->server ? TOOLS_SERVERS : tool->flags & TOOL_SPAWNS ? TOOLS_AGENTS : TOOLS_OWN;
		if (!deferral_holds(&a->deferral, tool))
			tools[kind] += (int64_t)(strlen(tool->definition) / BYTES_PER_TOKEN);
	}
	memories = MIN(memories, messages); /* they come with the first message */
	json_kopen(&r->out, "categories", '[');
	put_category(&r->out, "system_prompt", "System prompt", "blue",
		     MAX(head - tools[TOOLS_OWN] - tools[TOOLS_SERVERS] - tools[TOOLS_AGENTS], 0));
	put_category(&r->out, "system_tools", "System tools", "cyan", tools[TOOLS_OWN]);
	put_category(&r->out, "mcp_tools", "MCP tools", "green", tools[TOOLS_SERVERS]);
	put_category(&r->out, "custom_agents", "Custom agents", "purple", tools[TOOLS_AGENTS]);
	put_category(&r->out, "memory_files", "Memory files", "orange", memories);
	put_category(&r->out, "messages", "Messages", "yellow", messages - memories);
	put_category(&r->out, "free_space", "Free space", "gray", MAX(most - used, 0));
	json_putf(&r->out, "], totalTokens:%lld, maxTokens:%lld, rawMaxTokens:%lld, percentage:%g, model:'%s'",
		  (long long)used, (long long)most, (long long)most, most ? (double)(used * 100 / most) : 0, a->model);
	put_memory_files(&r->out, a->tree);
	put_server_tools(&r->out, a);
	put_agents(&r->out, a->tree);
	json_putf(&r->out, "gridRows:[], isAutoCompactEnabled:!!%d, apiUsage:", a->tree->compact.automatic);
	usage_write(&r->out, &q->usage);
	return 0;
}

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

/* Those that the session has besides its files. One that was stored in a file too stands there. */
static void put_session_rules(struct json_out *out, const struct permission *p)
{
	json_kopen(out, "session", '[');
	for (size_t i = 0; p->own && i < p->own->all.count; i++) {
		const struct rule *rule = p->own->all.list[i];
		bool stored = strcmp(rule->origin->layer, "session") != 0;
		for (size_t k = 0; p->rules && k < p->rules->all.count && !stored; k++)
			stored = p->rules->all.list[k]->list == rule->list &&
				 !strcmp(p->rules->all.list[k]->text, rule->text);
		if (!stored)
			json_putf(out, "{list:'%s', rule:'%s', source:'session'}", rule_list_name(rule->list),
				  rule->text);
	}
	json_close(out);
}

int wire_list_rules(struct wire_request *r, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;
	static const char *const argv[] = { "permissions" };
	struct cadre_report *report = NULL;
	char why[sizeof err->text] = "";
	size_t n = 0;
	int status = cadre_command(r->wire->services->owner, 1, argv, NULL, &report, why, sizeof why);

	if (status < 0)
		return err_set(err, (enum err_kind) - status, "%s", why);
	const char *json = cadre_report_json(report, &n);
	status = json_parse(&reader, json, n, &root, err);
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m))
		json_kraw(&r->out, json_cstr(m.key, r->arena), json_raw(m.value));
	put_session_rules(&r->out, &r->wire->session->tree.main.permission);
	cadre_report_free(report);
	return status;
}

/* Cost; plans and rate limits belong to accounts, which do not exist here. */

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
		  (unsigned long long)(w->api_ms + (w->working ? q->api_ms : 0)),
		  (unsigned long long)(now_ms - w->opened_ms));
	json_putf(&r->out, "total_lines_removed:0, model_usage:");
	session_put_model_usage(&r->out, w->session);
	json_putf(&r->out, "}, subscription_type:null, rate_limits_available:false, rate_limits:null");
	json_putf(&r->out, "behaviors:null");
	return 0;
}

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
	const struct hook_event_info *info = &hook_events[event];

	json_putf(out, "{name:'%s', summary:'', supportsMatcher:!!%d, hookCount?:%zu}", info->name,
		  info->subject != NULL, count);
}

static void put_hook(struct json_out *out, const struct hook *h, const struct hook_policy *policy)
{
	bool is_off = h->origin->layer == HOOK_FROM_MANAGED
			      ? policy->disable_managed
			      : policy->disable_all || policy->managed_only || !h->origin->trusted;

	json_putf(out, "{event:'%s', matcher:'%.*s'", hook_events[h->event].name,
		  STR_ARG(h->matcher ? h->matcher->text : STR("")));
	json_putf(out, "source:'%s', sourceLabel:'%s', type:'%s'", sources[h->origin->layer].name,
		  sources[h->origin->layer].label, hook_types[h->type].name);
	json_kstr(out, "displayText", h->status ? str_from(h->status) : h->label);
	json_putf(out, "commandText:'%.*s', contentLabel:'%s'", STR_ARG(h->label), labels[h->type]);
	json_putf(out, "condition?:'%.*s', timeout?:%llu, statusMessage?:'%s'", STR_ARG(h->rule),
		  (unsigned long long)h->timeout_ms / 1000, h->status);
	json_putf(out, "runsOnce?:!!%d, runsInBackground?:!!%d, disabled?:!!%d}", h->once, h->async, is_off);
}

int wire_list_hooks(struct wire_request *r, struct err *err)
{
	const struct policy *p = r->wire->session->tree.policy;
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

/* A file for the client, if the main agent may read it without a question: a call of Read, with its rules and hooks, that gives the bytes
 * as they are */
struct file_request {
	struct wire_deferred *later;
	const char *path; /* in the arena */
	size_t limit;
	bool as_base64;
	struct buf bytes; /* one more than limit, if there are more */
	struct arena arena;
};

struct file_job {
	struct tool_job job; /* first */
	const char *target;
	size_t limit;
	struct buf bytes;
	struct err err;
};

static void file_run(struct tool_job *job)
{
	struct file_job *j = (struct file_job *)job;
	struct stat st;
	AUTO_CLOSE int fd = file_below_open("/", j->target, &st, &j->err);
	ssize_t n = fd >= 0;

	while (n > 0 && j->bytes.n <= j->limit) {
		buf_reserve(&j->bytes, j->limit + 1 - j->bytes.n);
		n = read(fd, j->bytes.p + j->bytes.n, j->limit + 1 - j->bytes.n);
		j->bytes.n += (size_t)MAX(n, 0);
	}
	if (n < 0)
		err_set(&j->err, ERR_IO, "cannot read %s: %m", j->target);
}

static void file_report(struct tool_job *job)
{
	struct file_job *j = (struct file_job *)job;
	struct file_request *q = job->call->tool->ctx;

	if (j->err.kind) {
		tool_call_fail(job->call, "%s", j->err.text);
		return;
	}
	q->bytes = j->bytes;
	j->bytes = (struct buf){ 0 };
	buf_addf(&job->call->result, "%zu bytes", q->bytes.n);
	tool_call_end(job->call);
}

static void file_release(struct tool_job *job)
{
	buf_release(&((struct file_job *)job)->bytes);
}

static void file_start(struct tool_call *call)
{
	const struct file_request *q = call->tool->ctx;
	struct file_job *j = arena_new(&call->arena, struct file_job,
				       .job = { .run = file_run, .report = file_report, .release = file_release },
				       .limit = q->limit);

	j->target = arena_strdup(&call->arena, call->file_target ? call->file_target : q->path);
	tool_job_start(&j->job, call);
}

static void on_file(void *data, const struct server_reply *reply)
{
	struct file_request *q = data;
	AUTO_BUF struct buf text = { 0 }, out = { 0 };
	struct str head = { q->bytes.n ? q->bytes.p : "", MIN(q->bytes.n, q->limit) };

	if (q->as_base64)
		base64_add(&text, head);
	else
		utf8_add_repaired(&text, head);
	if (reply->denied)
		wire_deferred_fail(q->later, arena_printf(&q->arena, "%s may not be read: " STR_FMT, q->path,
							  STR_ARG(reply->text)));
	else if (reply->failed)
		wire_deferred_fail(q->later, arena_str(&q->arena, reply->text).p);
	else {
		json_addf(&out, "{contents:'%.*s', encoding?:'%s', absPath:'%s', truncated:!!%d}", STR_ARG(text),
			  q->as_base64 ? "base64" : NULL, q->path, q->bytes.n > q->limit);
		if (!q->as_base64) {
			out.n--;
			buf_addf(&out, ",\"lossy\":%s}", utf8_valid(head) ? "false" : "true");
		}
		wire_deferred_reply(q->later, buf_str(&out));
	}
	buf_release(&q->bytes);
	struct arena arena = q->arena;
	arena_release(&arena);
}

int wire_read_file(struct wire_request *r, struct err *err)
{
	struct cadre_session *s = r->wire->session;
	const struct tool *read = tool_set_find(&s->tree.main.tools, STR("Read"));
	struct str wish = json_str(json_get(r->body, "path"), r->arena);
	AUTO_BUF struct buf input = { 0 };
	struct arena arena = { 0 };
	int64_t most;

	if (!json_i64(json_get(r->body, "max_bytes"), &most) || most < 0)
		most = USUAL_BYTES;
	if (!wish.n || memchr(wish.p, '\0', wish.n))
		return err_set(err, ERR_USAGE, "path is needed");
	if (!read)
		return err_set(err, ERR_DENIED, STR_FMT " may not be read", STR_ARG(wish));
	struct file_request *q = arena_new(&arena, struct file_request, .later = wire_deferred(r),
					   .limit = (size_t)MIN(most, (int64_t)MOST_BYTES),
					   .as_base64 = json_str_is(json_get(r->body, "encoding"), "base64"));
	q->path = path_absolute(&arena, s->tree.main.env.cwd, wish);
	struct tool tool = *read;
	tool.flags |= TOOL_OWN_LIMIT;
	tool.start = file_start;
	tool.cancel = tool_job_cancel;
	tool.ctx = q;
	json_addf(&input, "{file_path:'%s'}", q->path);
	q->arena = arena;
	session_call_tool(s, &tool, buf_str(&input), (struct gate_policy){ .apart = true, .no_question = true },
			  on_file, q);
	return WIRE_ANSWERED;
}
