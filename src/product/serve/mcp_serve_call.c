/* SPDX-License-Identifier: MIT
 * mcp_serve_call.c - calls that another program makes of our tools. They go the way of every call: schema, hooks, rules, tool,
 * hooks. One that only reads, or waits for an agent, runs beside others; any other waits for all before it. */
#include "product/serve/mcp_serve.h"
#include "core/tool/tool_scheduler.h"

enum { MOST_CALLS = 1000, INVALID_PARAMS = -32602 };

struct serve_call {
	struct serve *serve;
	struct serve_call *next;
	struct tool_call *call; /* owned */
	char *id, *token;       /* JSON, of the request and for its progress; token NULL: none is wanted */
	unsigned told;          /* steps of its progress */
	bool done;
	bool withdrawn; /* nobody wants the answer any more */
};

/* The tools that are offered give text only. */
static void answer(const struct serve_call *c)
{
	AUTO_BUF struct buf result = { 0 };
	struct json_out w = json_out(&result);

	json_open(&w, '{');
	json_key(&w, "content");
	json_open(&w, '[');
	json_open(&w, '{');
	json_kcstr(&w, "type", "text");
	json_kstr(&w, "text", buf_str(&c->call->result));
	json_close(&w);
	json_close(&w);
	json_kbool(&w, "isError", c->call->is_error);
	json_close(&w);
	serve_answer(c->serve, str_from(c->id), buf_str(&result));
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static void on_done(struct tool_call *call)
{
	struct serve_call *c = call->owner;

	c->done = true;
	loop_kick(c->serve->services->loop, &c->serve->kick);
}

static void free_call(struct serve_call *c)
{
	c->serve->call_count--;
	services_busy(c->serve->services, -1);
	tool_call_free(c->call);
	free(c->id);
	free(c->token);
	free(c);
}

static void finish_done(struct serve *s)
{
	for (struct serve_call **at = &s->calls; *at;) {
		struct serve_call *c = *at;
		if (!c->done) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		if (!*at)
			s->calls_end = at;
		if (!c->withdrawn)
			answer(c);
		free_call(c);
	}
	agent_tree_forget_denials(&s->session->tree); /* each was an answer; nobody asks for a list */
}

void serve_step(struct kick *kick)
{
	struct serve *s = CONTAINER_OF(kick, struct serve, kick);
	struct tool_scheduler pass = { 0 };

	finish_done(s);
	for (struct serve_call *c = s->calls; c; c = c->next)
		if (tool_scheduler_pass(&pass, c->call))
			tool_call_start(c->call);
}

/* ---- from the other side ------------------------------------------------------------------------------------------ */

/* `agent` has less to say than the model's tool, and its report is waited for. */
static void write_task(struct buf *out, const struct json *arguments)
{
	static const char *const members[] = { "description", "prompt", "subagent_type" };
	struct json_out w = json_out(out);

	json_open(&w, '{');
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct json *value = json_get(arguments, members[i]);
		if (value)
			json_kraw(&w, members[i], json_raw(value));
	}
	json_kbool(&w, "run_in_background", false);
	json_close(&w);
}

static char *text_of(const struct json *value)
{
	struct str raw = json_raw(value);

	return value ? xstrndup(raw.p, raw.n) : NULL;
}

static void add(struct serve *s, struct serve_call *c)
{
	*s->calls_end = c;
	s->calls_end = &c->next;
	s->call_count++;
	services_busy(s->services, 1);
	loop_kick(s->services->loop, &s->kick);
}

static void make_call(struct serve *s, struct str id, const struct tool *tool, struct str input,
		      const struct json *params)
{
	struct agent *a = &s->session->tree.main;
	struct serve_call *c = xcalloc(1, sizeof *c);
	char name[32];

	snprintf(name, sizeof name, "served_%u", ++s->numbered);
	c->serve = s;
	c->id = xstrndup(id.p, id.n);
	c->token = text_of(json_get(json_get(params, "_meta"), "progressToken"));
	c->call = tool_call_new(&a->env, &a->gate, tool, str_from(name), str_from(tool->name), input);
	c->call->owner = c;
	c->call->done = on_done;
	add(s, c);
}

void serve_call_tool(struct serve *s, struct str id, const struct json *params)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf task = { 0 };
	const struct json *arguments = json_get(params, "arguments");
	struct str name = json_str(json_get(params, "name"), &a);
	bool delegates;
	const struct tool *tool = serve_find_tool(s, name, &delegates);

	if (!tool) {
		serve_refuse(s, id, INVALID_PARAMS, "there is no tool '" STR_FMT "'", (int)MIN(name.n, 80),
			     name.p ? name.p : "");
	} else if (s->call_count == MOST_CALLS) {
		serve_refuse(s, id, INVALID_PARAMS, "%d calls are open, which is the limit", MOST_CALLS);
	} else if (delegates) {
		write_task(&task, arguments);
		make_call(s, id, tool, buf_str(&task), params);
	} else {
		make_call(s, id, tool, arguments ? json_raw(arguments) : STR("{}"), params);
	}
}

void serve_withdraw(struct serve *s, const struct json *params)
{
	AUTO_FREE char *id = text_of(json_get(params, "requestId"));

	for (struct serve_call *c = s->calls; id && c; c = c->next) {
		if (strcmp(c->id, id) != 0 || c->done)
			continue;
		c->withdrawn = true;
		tool_scheduler_cancel(c->call);
		return;
	}
}

void serve_cancel_all(struct serve *s)
{
	for (struct serve_call *c = s->calls; c; c = c->next)
		if (!c->done)
			tool_scheduler_cancel(c->call);
}

/* ---- progress ----------------------------------------------------------------------------------------------------- */

static void tell_progress(struct serve_call *c, const char *message)
{
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	json_open(&w, '{');
	json_kraw(&w, "progressToken", str_from(c->token));
	json_ki64(&w, "progress", ++c->told);
	json_kcstr(&w, "message", message);
	json_close(&w);
	serve_notify(c->serve, "notifications/progress", buf_str(&params));
}

/* An agent makes progress with each tool that it calls. */
void serve_hear(struct serve *s, const struct event *event)
{
	if (event->kind != EVENT_AGENT_PROGRESS || !event->agent || !event->agent->tool_use_id)
		return;
	for (struct serve_call *c = s->calls; c; c = c->next)
		if (c->token && !c->withdrawn && !c->done && !strcmp(c->call->id, event->agent->tool_use_id))
			tell_progress(c, event->task->last_tool);
}
