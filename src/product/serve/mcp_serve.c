/* SPDX-License-Identifier: MIT
 * mcp_serve.c - `cadre mcp serve`: an MCP server on a pair of descriptors, one JSON-RPC message per line. It offers the
 * tools of the main agent of a session without turns. A call of another program takes the path of every call: schema,
 * hooks, rules, tool, hooks; the common scheduler decides which calls run in parallel (docs/internals/mcp_serve.md). */
#include <errno.h>
#include "product/session/session.h"
#include "lib/json/json_write.h"
#include "core/tool/tool.h"
#include "mcp/transport/line_reader.h"
#include "mcp/client/client.h"
#include "agents/profile/roster.h"

enum { READ_BYTES = 1 << 16, MOST_QUEUED = 8 << 20, DRAIN_MS = 5000, LONGEST_LINE = 64 << 20, MOST_CALLS = 1000 };
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_SUCH_METHOD = -32601, INVALID_PARAMS = -32602 };

struct serve_call {
	struct serve *serve;
	struct serve_call *next;
	struct tool_call *call; /* owned */
	char *id, *token;       /* JSON, of the request and for its progress; token NULL: not requested */
	unsigned progress;      /* messages about it so far */
	bool done;
	bool withdrawn; /* cancelled by the client: no answer */
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

/* An answer to the request with this id, or a notification if it has a method; and a member with JSON. */
static void serve_send(struct serve *s, struct str id, const char *method, const char *member, struct str json)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = json_out(&line);

	json_putf(&w, "{jsonrpc:'2.0'");
	if (method)
		json_kcstr(&w, "method", method);
	else
		json_kraw(&w, "id", id.n ? id : STR("null"));
	json_kraw(&w, member, json);
	json_close(&w);
	buf_addch(&line, '\n');
	cadre_write(s->out, line.p, line.n);
	services_check_backlog(s->services);
}

printf_like(4, 5) static void serve_refuse(struct serve *s, struct str id, int code, const char *fmt, ...)
{
	AUTO_BUF struct buf error = { 0 };
	char text[512];

	PRINT_ARGS(text, fmt);
	json_addf(&error, "{code:%d, message:'%s'}", code, text);
	serve_send(s, id, NULL, "error", buf_str(&error));
}

/* Offered tools: not those that need the user or a conversation. A subagent is started by a smaller tool than the
 * model's own. ---- */
static const char agent_name[] = "agent";
static const char agent_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"description\":{\"type\":\"string\",\"description\":\"The task in three to five words\"},"
	"\"prompt\":{\"type\":\"string\",\"description\":\"The task. The agent knows nothing but this text\"},"
	"\"subagent_type\":{\"type\":\"string\",\"description\":\"Which agent; without it a general one\"}},"
	"\"required\":[\"description\",\"prompt\"]}";

static void put_tool(struct json_out *w, const char *name, struct str description, struct str schema, bool read_only)
{
	json_putf(w, "{name:'%s', description:%.*s, inputSchema:%.*s, annotations:{readOnlyHint:!!%d}}", name,
		  STR_ARG(description), STR_ARG(schema), read_only);
}

static void serve_list_tools(struct serve *s, struct str id)
{
	const struct agent *main_agent = &s->session->tree.main;
	AUTO_BUF struct buf result = { 0 };
	struct json_out w = json_out(&result);

	json_putf(&w, "{tools:[");
	for (size_t i = 0; i < main_agent->tools.count; i++) {
		const struct tool *tool = main_agent->tools.tools[i];
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		if ((tool->flags & TOOL_SERVED) && agent_offers(main_agent, tool) &&
		    json_parse(&reader, tool->definition, strlen(tool->definition), &root, NULL) == 0)
			put_tool(&w, tool->name, json_raw(json_get(root, "description")),
				 json_raw(json_get(root, "input_schema")), tool->flags & TOOL_READ_ONLY);
	}
	if (tool_set_find(&main_agent->tools, str_from(tool_agent.name))) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_BUF struct buf description = { 0 };
		buf_addstr(&text, "Gives a task to a subagent, which works on it alone, with tools of its own, and "
				  "reports when it is done. Agents:\n\n");
		roster_write(&text, s->session->tree.services->registry,
			     &(struct roster_spec){
				     .reader = &main_agent->env, .background_off = true, .one_at_a_time = true });
		json_add_quoted(&description, buf_str(&text));
		put_tool(&w, agent_name, buf_str(&description), str_from(agent_schema), false);
	}
	json_putf(&w, "]}");
	serve_send(s, id, NULL, "result", buf_str(&result));
}

static void on_call_done(struct tool_call *call)
{
	struct serve_call *c = call->owner;

	c->done = true;
	loop_kick(c->serve->services->loop, &c->serve->kick);
}

/* Answers calls that have ended, then starts those that may run. */
static void on_serve_kick(struct kick *kick)
{
	struct serve *s = CONTAINER_OF(kick, struct serve, kick);
	struct tool_scheduler pass = { 0 };

	for (struct serve_call **at = &s->calls; *at;) {
		struct serve_call *c = *at;
		if (!c->done) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		if (!*at)
			s->calls_end = at;
		if (!c->withdrawn) {
			AUTO_BUF struct buf result = { 0 };

			json_addf(&result, "{content:[{type:'text', text:'%.*s'}], isError:!!%d}",
				  STR_ARG(c->call->result), c->call->is_error);
			serve_send(c->serve, str_from(c->id), NULL, "result", buf_str(&result));
		}
		s->call_count--;
		services_busy(s->services, -1);
		tool_call_free(c->call);
		free(c->id);
		free(c->token);
		free(c);
	}
	agent_tree_forget_denials(&s->session->tree); /* each was an answer; a list of them is not needed */
	for (struct serve_call *c = s->calls; c; c = c->next)
		if (tool_scheduler_pass(&pass, c->call))
			tool_call_start(c->call);
}

/* The input of the model's tool from that of `agent`, which waits for the report. */
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
	json_putf(&w, "run_in_background:false}");
}

static void serve_call_tool(struct serve *s, struct str id, const struct json *params)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf task = { 0 };
	struct agent *main_agent = &s->session->tree.main;
	const struct json *arguments = json_get(params, "arguments");
	const struct json *token = json_get(json_get(params, "_meta"), "progressToken");
	struct str name = json_str(json_get(params, "name"), &a);
	struct str input = arguments ? json_raw(arguments) : STR("{}");
	bool delegates = str_is(name, agent_name);
	const struct tool *tool = tool_set_find(&main_agent->tools, delegates ? str_from(tool_agent.name) : name);
	char call_id[32];

	/* A tool may also be found by another name, which is not offered. */
	if (tool && !delegates && (!(tool->flags & TOOL_SERVED) || !str_is(name, tool->name)))
		tool = NULL;
	if (!tool) {
		serve_refuse(s, id, INVALID_PARAMS, "no such tool: '" STR_FMT "'", (int)MIN(name.n, 80),
			     name.p ? name.p : "");
		return;
	}
	if (s->call_count == MOST_CALLS) {
		serve_refuse(s, id, INVALID_PARAMS, "%d calls are open, which is the limit", MOST_CALLS);
		return;
	}
	if (delegates) {
		write_task(&task, arguments);
		input = buf_str(&task);
	}
	snprintf(call_id, sizeof call_id, "served_%u", ++s->numbered);
	struct serve_call *c = xnew(struct serve_call, .serve = s, .id = xstrndup(id.p, id.n),
				    .token = token ? xstrndup(json_raw(token).p, json_raw(token).n) : NULL);
	c->call = tool_call_new(&main_agent->env, &main_agent->gate, tool, str_from(call_id), str_from(tool->name),
				input);
	c->call->owner = c;
	c->call->done = on_call_done;
	*s->calls_end = c;
	s->calls_end = &c->next;
	s->call_count++;
	services_busy(s->services, 1);
	loop_kick(s->services->loop, &s->kick);
}

static void serve_withdraw(struct serve *s, const struct json *params)
{
	const struct json *id = json_get(params, "requestId");

	for (struct serve_call *c = s->calls; id && c; c = c->next) {
		if (!str_is(json_raw(id), c->id) || c->done)
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

/* An agent makes progress with each tool that it calls. */
static void on_event(const struct cadre_event *e, void *data)
{
	const struct event *event = e->event;
	struct serve *s = data;

	if (event->kind != EVENT_AGENT_PROGRESS || !event->agent || !event->agent->tool_use_id)
		return;
	for (struct serve_call *c = s->calls; c; c = c->next) {
		AUTO_BUF struct buf params = { 0 };
		if (!c->token || c->withdrawn || c->done || strcmp(c->call->id, event->agent->tool_use_id) != 0)
			continue;
		json_addf(&params, "{progressToken:%s, progress:%u, message:'%s'}", c->token, ++c->progress,
			  event->task->last_tool);
		serve_send(s, STR(""), "notifications/progress", "params", buf_str(&params));
	}
}

static void serve_take_message(struct serve *s, const struct json *root)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *id = json_get(root, "id");
	const struct json *params = json_get(root, "params");
	struct str raw_id = id ? json_raw(id) : STR("");
	bool has_method = json_is(json_get(root, "method"), JSON_STRING);
	struct str method = has_method ? json_str(json_get(root, "method"), &a) : STR("");

	if (!json_is(root, JSON_OBJECT) || (id && !json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER)))
		serve_refuse(s, STR(""), INVALID_REQUEST,
			     "expected one JSON-RPC message, with a text or a number as its id");
	else if (!json_get(root, "method") && !json_get(root, "result") && !json_get(root, "error"))
		serve_refuse(s, raw_id, INVALID_REQUEST, "the message has no method");
	else if (!id && str_is(method, "notifications/cancelled"))
		serve_withdraw(s, params);
	else if (!id || !has_method)
		return; /* a notification, or an answer: we have asked nothing */
	else if (str_is(method, "initialize")) {
		const char *version = mcp_version(json_str(json_get(params, "protocolVersion"), &a));
		const char *result =
			arena_printf(&a,
				     "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
				     "\"serverInfo\":{\"name\":\"cadre\",\"title\":\"cadre\",\"version\":\"%s\"}}",
				     version ? version : mcp_version(STR("")), CADRE_VERSION);

		serve_send(s, raw_id, NULL, "result", str_from(result));
	} else if (str_is(method, "ping"))
		serve_send(s, raw_id, NULL, "result", STR("{}"));
	else if (str_is(method, "tools/call"))
		serve_call_tool(s, raw_id, params);
	else if (str_is(method, "tools/list"))
		serve_list_tools(s, raw_id);
	else
		serve_refuse(s, raw_id, NO_SUCH_METHOD, "no such method: '" STR_FMT "'", (int)MIN(method.n, 80),
			     method.p);
}

static void on_line(void *data, struct str line, bool cut)
{
	struct serve *s = data;
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LONGEST_LINE, .depth = 200 } };
	const struct json *root;
	struct err err = { 0 };

	line = str_trim(line);
	if (cut)
		serve_refuse(s, STR(""), INVALID_REQUEST, "a message may have at most %d MB", LONGEST_LINE >> 20);
	else if (line.n && json_parse(&reader, line.p, line.n, &root, &err) < 0)
		serve_refuse(s, STR(""), PARSE_ERROR, "not JSON: %s", err.text);
	else if (line.n)
		serve_take_message(s, root);
}

static void serve_watch(struct serve *s, bool on);

static void serve_end_input(struct serve *s)
{
	if (s->over)
		return;
	s->over = true;
	serve_watch(s, false);
	line_reader_end(&s->lines);
}

static void serve_read(struct serve *s)
{
	char bytes[READ_BYTES];
	ssize_t n = read(s->in_fd, bytes, sizeof bytes);

	if (n > 0)
		line_reader_feed(&s->lines, bytes, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		serve_end_input(s);
}

/* Reads nothing while the client does not read our answers. */
static void on_input(struct cadre *c, int fd, void *data)
{
	struct serve *s = data;

	if (cadre_writer_queued(s->out) > MOST_QUEUED)
		serve_watch(s, false);
	else
		serve_read(s);
}

static void on_drained(struct cadre_writer *w, void *data)
{
	serve_watch(data, true);
}

/* A file cannot be watched: it is read to its end. */
static void serve_watch(struct serve *s, bool on)
{
	if (on == s->watched || (on && s->over))
		return;
	s->watched = on;
	if (!on) {
		cadre_unwatch_fd(s->services->owner, s->in_fd);
	} else if (cadre_watch_fd(s->services->owner, s->in_fd, 1, on_input, s) != CADRE_OK) {
		s->watched = false;
		while (!s->over)
			serve_read(s);
	}
}

/* The client does not read our answers any more. */
static void on_unread(struct cadre_writer *w, void *data)
{
	struct serve *s = data;

	serve_end_input(s);
	serve_cancel_all(s);
}

/* Notices for the main agent wait: it has no turns. */
static void on_notice(struct agent *a) {}

int cadre_mcp_serve(struct cadre *c, int in_fd, int out_fd, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct serve s = { .services = sv, .in_fd = in_fd, .kick = { .step = on_serve_kick } };

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
	serve_watch(&s, true);
	cadre_run(c);
	serve_end_input(&s); /* it was stopped: ends what still runs */
	serve_cancel_all(&s);
	while (s.calls)
		cadre_run(c);
	(void)cadre_writer_flush(s.out, DRAIN_MS, NULL, 0); /* the client may be gone */
	cadre_writer_free(s.out);
	kick_cancel(&s.kick);
	line_reader_release(&s.lines);
	s.session->on_event = NULL;
	cadre_close(s.session);
	return CADRE_OK;
}
