/* SPDX-License-Identifier: MIT
 * mcp_serve.c - `cadre mcp serve`: an MCP server on a pair of descriptors, a JSON-RPC message a line. Its tools are those of
 * the main agent of a session that has no turns. A call that another program makes takes the path of every call: schema, hooks,
 * rules, tool, hooks; the scheduler of all calls says which run at the same time (docs/internals/mcp_serve.md). */
#include <errno.h>
#include "product/session/session.h"
#include "lib/json/json_write.h"
#include "core/tool/tool_scheduler.h"
#include "mcp/transport/line_reader.h"
#include "mcp/client/client.h"
#include "agents/profile/roster.h"

enum { READ_BYTES = 1 << 16, MOST_QUEUED = 8 << 20, DRAIN_MS = 5000, LONGEST_LINE = 64 << 20, MOST_CALLS = 1000 };
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_SUCH_METHOD = -32601, INVALID_PARAMS = -32602 };

struct serve_call {
	struct serve *serve;
	struct serve_call *next;
	struct tool_call *call; /* owned */
	char *id, *token;       /* JSON, of the request and for its progress; token NULL: none is wanted */
	unsigned told;          /* steps of its progress */
	bool done;
	bool withdrawn; /* the answer is not wanted any more */
};

struct serve {
	struct services *services;
	struct cadre_session *session; /* whose main agent has the tools; it never asks a model */
	struct cadre_writer *out;
	int in_fd;
	bool watched, over; /* of the input */
	struct line_reader lines;
	struct serve_call *calls, **calls_end; /* open, in the order of coming */
	unsigned call_count, numbered;
	struct kick kick; /* a call has come or ended */
};

/* ---- out ---------------------------------------------------------------------------------------------------------- */

static void put_line(struct serve *s, struct buf *line)
{
	buf_addch(line, '\n');
	cadre_write(s->out, line->p, line->n);
	app_check_backlog(s->services);
}

static struct json_out open_message(struct buf *line)
{
	struct json_out w = json_out(line);

	json_open(&w, '{');
	json_kcstr(&w, "jsonrpc", "2.0");
	return w;
}

static void serve_answer(struct serve *s, struct str id, struct str result)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = open_message(&line);

	json_kraw(&w, "id", id);
	json_kraw(&w, "result", result);
	json_close(&w);
	put_line(s, &line);
}

printf_like(4, 5) static void serve_refuse(struct serve *s, struct str id, int code, const char *fmt, ...)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = open_message(&line);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	json_kraw(&w, "id", id.n ? id : STR("null"));
	json_key(&w, "error");
	json_open(&w, '{');
	json_ki64(&w, "code", code);
	json_kcstr(&w, "message", text);
	json_close(&w);
	json_close(&w);
	put_line(s, &line);
}

static void serve_notify(struct serve *s, const char *method, struct str params)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = open_message(&line);

	json_kcstr(&w, "method", method);
	json_kraw(&w, "params", params);
	json_close(&w);
	put_line(s, &line);
}

/* ---- tools that are offered ------------------------------------------------------------------------------------- */

/* Those that speak with a user, or only make sense inside a conversation, are left out; a subagent is started by a smaller tool
 * than the model's own. */
static const char agent_name[] = "agent";
static const char agent_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"description\":{\"type\":\"string\",\"description\":\"The task in three to five words\"},"
	"\"prompt\":{\"type\":\"string\",\"description\":\"The task. The agent knows nothing but this text\"},"
	"\"subagent_type\":{\"type\":\"string\",\"description\":\"Which agent; without it a general one\"}},"
	"\"required\":[\"description\",\"prompt\"]}";

static const struct tool *agent_tool(const struct serve *s)
{
	return tool_set_find(&s->session->tree.main.tools, str_from(tool_agent.name));
}

static const struct tool *serve_find_tool(const struct serve *s, struct str name, bool *ret_delegates)
{
	AUTO_FREE char *copy = xstrndup(name.p, name.n);
	const struct tool *tool;

	*ret_delegates = !strcmp(copy, agent_name);
	if (*ret_delegates)
		return agent_tool(s);
	tool = tool_set_find(&s->session->tree.main.tools, name);
	return tool && (tool->flags & TOOL_SERVED) && !strcmp(tool->name, copy) ? tool : NULL;
}

static void put_hints(struct json_out *w, bool read_only)
{
	json_key(w, "annotations");
	json_open(w, '{');
	json_kbool(w, "readOnlyHint", read_only);
	json_close(w);
}

static void put_tool(struct json_out *w, const struct tool *tool)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, tool->definition, strlen(tool->definition), &root, NULL) < 0)
		return; /* they are compiled in, and a test parses them */
	json_open(w, '{');
	json_kcstr(w, "name", tool->name);
	json_kraw(w, "description", json_raw(json_get(root, "description")));
	json_kraw(w, "inputSchema", json_raw(json_get(root, "input_schema")));
	put_hints(w, tool->flags & TOOL_READ_ONLY);
	json_close(w);
}

static void put_agent(struct json_out *w, const struct serve *s)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text,
		   "Gives a task to a subagent, which works on it alone, with tools of its own, and reports when it "
		   "is done. Agents:\n\n");
	roster_write(&text, s->session->tree.services->registry,
		     &(struct roster_spec){ .background_off = true, .one_at_a_time = true });
	json_open(w, '{');
	json_kcstr(w, "name", agent_name);
	json_kstr(w, "description", buf_str(&text));
	json_kraw(w, "inputSchema", str_from(agent_schema));
	put_hints(w, false);
	json_close(w);
}

static void serve_list_tools(struct serve *s, struct json_out *w)
{
	const struct tool_set *tools = &s->session->tree.main.tools;

	json_key(w, "tools");
	json_open(w, '[');
	for (size_t i = 0; i < tools->count; i++)
		if ((tools->tools[i]->flags & TOOL_SERVED) && agent_offers(&s->session->tree.main, tools->tools[i]))
			put_tool(w, tools->tools[i]);
	if (agent_tool(s))
		put_agent(w, s);
	json_close(w);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

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
	agent_tree_forget_denials(&s->session->tree); /* each was an answer; no list of them is needed */
}

static void serve_step(struct kick *kick)
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

static void serve_add_call(struct serve *s, struct serve_call *c)
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
	serve_add_call(s, c);
}

static void serve_call_tool(struct serve *s, struct str id, const struct json *params)
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

static void serve_withdraw(struct serve *s, const struct json *params)
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

static void serve_cancel_all(struct serve *s)
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
static void serve_hear(struct serve *s, const struct event *event)
{
	if (event->kind != EVENT_AGENT_PROGRESS || !event->agent || !event->agent->tool_use_id)
		return;
	for (struct serve_call *c = s->calls; c; c = c->next)
		if (c->token && !c->withdrawn && !c->done && !strcmp(c->call->id, event->agent->tool_use_id))
			tell_progress(c, event->task->last_tool);
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

static void greet(struct serve *s, struct str id, const struct json *params)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf result = { 0 };
	struct json_out w = json_out(&result);
	const char *version = mcp_version(json_str(json_get(params, "protocolVersion"), &a));

	json_open(&w, '{');
	json_kcstr(&w, "protocolVersion", version ? version : mcp_version(STR("")));
	json_kraw(&w, "capabilities", STR("{\"tools\":{}}"));
	json_key(&w, "serverInfo");
	json_open(&w, '{');
	json_kcstr(&w, "name", "cadre");
	json_kcstr(&w, "title", "cadre");
	json_kcstr(&w, "version", CADRE_VERSION);
	json_close(&w);
	json_close(&w);
	serve_answer(s, id, buf_str(&result));
}

static void pong(struct serve *s, struct str id, const struct json *params)
{
	(void)params;
	serve_answer(s, id, STR("{}"));
}

static void list_tools(struct serve *s, struct str id, const struct json *params)
{
	AUTO_BUF struct buf result = { 0 };
	struct json_out w = json_out(&result);

	(void)params;
	json_open(&w, '{');
	serve_list_tools(s, &w);
	json_close(&w);
	serve_answer(s, id, buf_str(&result));
}

static const struct {
	const char *method;
	void (*take)(struct serve *s, struct str id, const struct json *params);
} requests[] = {
	{ "initialize", greet },
	{ "ping", pong },
	{ "tools/call", serve_call_tool },
	{ "tools/list", list_tools },
};

static void take_request(struct serve *s, const struct json *root, const struct json *id)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str method = json_str(json_get(root, "method"), &a);

	for (size_t i = 0; i < COUNT_OF(requests); i++)
		if (str_is(method, requests[i].method)) {
			requests[i].take(s, json_raw(id), json_get(root, "params"));
			return;
		}
	serve_refuse(s, json_raw(id), NO_SUCH_METHOD, "there is no method '" STR_FMT "'", (int)MIN(method.n, 80),
		     method.p);
}

/* ---- in ----------------------------------------------------------------------------------------------------------- */

static void take_message(struct serve *s, const struct json *root)
{
	const struct json *id = json_get(root, "id");

	if (!json_is(root, JSON_OBJECT) || (id && !json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER)))
		serve_refuse(s, STR(""), INVALID_REQUEST,
			     "expected one JSON-RPC message, with a text or a number as its id");
	else if (id && json_is(json_get(root, "method"), JSON_STRING))
		take_request(s, root, id);
	else if (json_str_is(json_get(root, "method"), "notifications/cancelled"))
		serve_withdraw(s, json_get(root, "params"));
	else if (!json_get(root, "method") && !json_get(root, "result") && !json_get(root, "error"))
		serve_refuse(s, id ? json_raw(id) : STR(""), INVALID_REQUEST, "the message has no method");
}

static void on_line(void *data, struct str line, bool cut)
{
	struct serve *s = data;
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LONGEST_LINE, .depth = 200 } };
	const struct json *root;
	struct err err = { 0 };

	line = str_trim(line);
	if (cut)
		serve_refuse(s, STR(""), INVALID_REQUEST, "a message may have %d MB", LONGEST_LINE >> 20);
	else if (line.n && json_parse(&reader, line.p, line.n, &root, &err) < 0)
		serve_refuse(s, STR(""), PARSE_ERROR, "not JSON: %s", err.text);
	else if (line.n)
		take_message(s, root);
}

static void watch(struct serve *s, bool on);

static void end_input(struct serve *s)
{
	if (s->over)
		return;
	s->over = true;
	watch(s, false);
	line_reader_end(&s->lines);
}

static void read_some(struct serve *s)
{
	char bytes[READ_BYTES];
	ssize_t n = read(s->in_fd, bytes, sizeof bytes);

	if (n > 0)
		line_reader_feed(&s->lines, bytes, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		end_input(s);
}

/* While the other side does not read what we say, we do not read what it says. */
static void on_input(struct cadre *c, int fd, void *data)
{
	struct serve *s = data;

	(void)c;
	(void)fd;
	if (cadre_writer_queued(s->out) > MOST_QUEUED)
		watch(s, false);
	else
		read_some(s);
}

static void on_drained(struct cadre_writer *w, void *data)
{
	(void)w;
	watch(data, true);
}

/* A file cannot be watched: it is read to its end. */
static void watch(struct serve *s, bool on)
{
	if (on == s->watched || (on && s->over))
		return;
	s->watched = on;
	if (!on) {
		cadre_unwatch_fd(s->services->owner, s->in_fd);
	} else if (cadre_watch_fd(s->services->owner, s->in_fd, 1, on_input, s) != CADRE_OK) {
		s->watched = false;
		while (!s->over)
			read_some(s);
	}
}

/* ---- its life ----------------------------------------------------------------------------------------------------- */

/* The other side does not read our answers any more. */
static void on_unread(struct cadre_writer *w, void *data)
{
	struct serve *s = data;

	(void)w;
	end_input(s);
	serve_cancel_all(s);
}

static void on_event(const struct cadre_event *e, void *data)
{
	serve_hear(data, e->event);
}

/* What is to be told to the main agent waits: it has no turns in which a model would hear it. */
static void on_notice(struct agent *a)
{
	(void)a;
}

static void serve_run(struct serve *s)
{
	watch(s, true);
	cadre_run(s->services->owner);
	end_input(s); /* it was stopped: what still runs is ended */
	serve_cancel_all(s);
	while (s->calls)
		cadre_run(s->services->owner);
}

int cadre_mcp_serve(struct cadre *c, int in_fd, int out_fd, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct serve s = { .services = sv, .in_fd = in_fd, .kick = { .step = serve_step } };

	if (!sv)
		return CADRE_USAGE;
	struct err err = { 0 };
	int status = services_may_block(sv, &err);
	if (status < 0)
		return api_status(status, &err, why, why_size);
	sv->lends_tools = true;
	s.calls_end = &s.calls;
	s.lines = (struct line_reader){ .limit_bytes = LONGEST_LINE, .line = on_line, .data = &s };
	status = cadre_open(c, on_event, &s, &s.session, why, why_size);
	if (status < 0)
		return status;
	s.session->tree.main.on_notice = on_notice;
	s.out = cadre_writer_new(c, out_fd);
	cadre_writer_on_failure(s.out, on_unread, &s);
	cadre_writer_on_drained(s.out, on_drained, &s);
	serve_run(&s);
	(void)cadre_writer_flush(s.out, DRAIN_MS, NULL, 0); /* a reader that is gone has no use for an error */
	cadre_writer_free(s.out);
	kick_cancel(&s.kick);
	line_reader_release(&s.lines);
	s.session->on_event = NULL;
	cadre_close(s.session);
	return CADRE_OK;
}
