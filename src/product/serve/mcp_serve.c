/* SPDX-License-Identifier: MIT
 * mcp_serve.c - `cadre mcp serve`: an MCP server on a pair of descriptors, a JSON-RPC message a line. Its tools are those of
 * the main agent of a session that has no turns. */
#include "product/serve/mcp_serve.h"
#include <errno.h>
#include "mcp/client/client.h"

enum { READ_BYTES = 1 << 16, MOST_QUEUED = 8 << 20, DRAIN_MS = 5000, LONGEST_LINE = 64 << 20 };
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_SUCH_METHOD = -32601 };

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

void serve_answer(struct serve *s, struct str id, struct str result)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = open_message(&line);

	json_kraw(&w, "id", id);
	json_kraw(&w, "result", result);
	json_close(&w);
	put_line(s, &line);
}

void serve_refuse(struct serve *s, struct str id, int code, const char *fmt, ...)
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

void serve_notify(struct serve *s, const char *method, struct str params)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = open_message(&line);

	json_kcstr(&w, "method", method);
	json_kraw(&w, "params", params);
	json_close(&w);
	put_line(s, &line);
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

/* Nobody reads our answers any more. */
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

static void run(struct serve *s)
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
	run(&s);
	(void)cadre_writer_flush(s.out, DRAIN_MS, NULL, 0); /* a reader that is gone has no use for an error */
	cadre_writer_free(s.out);
	kick_cancel(&s.kick);
	line_reader_release(&s.lines);
	s.session->on_event = NULL;
	cadre_close(s.session);
	return CADRE_OK;
}
