/* SPDX-License-Identifier: MIT
 * transport.c - creation and common parts of transports. Events that must not be reported from inside a function of the
 * transport wait for the next loop turn. */
#include "mcp/transport/transport.h"
#include "lib/base/utf8.h"
#include "mcp/transport/transport_int.h"
#include "mcp/transport/line_reader.h"
#include "lib/base/list.h"

enum { LOG_LINES_PER_SECOND = 200, LOG_LINE_BYTES = 1024 };

static void core_deliver(struct mcp_core *c, const struct json *message, int64_t id, bool *ret_answered)
{
	int64_t its_id;

	if (c->closing)
		return;
	if (ret_answered && id && json_i64(json_get(message, "id"), &its_id) && its_id == id &&
	    !json_get(message, "method"))
		*ret_answered = true;
	c->t.handlers.on_message(c->t.data, json_raw(message));
}

int mcp_core_message(struct mcp_core *c, struct str text, int64_t id, bool *ret_answered, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = MCP_MESSAGE_LIMIT } };
	const struct json *root;

	int rc = json_parse(&reader, text.p, text.n, &root, err);
	if (rc < 0)
		return rc;
	if (json_is(root, JSON_OBJECT)) {
		core_deliver(c, root, id, ret_answered);
		return 0;
	}
	if (!json_is(root, JSON_ARRAY))
		return err_set(err, ERR_PARSE, "not an object");
	for (const struct json *m = json_first(root); m; m = json_next(root, m))
		if (json_is(m, JSON_OBJECT))
			core_deliver(c, m, id, ret_answered);
	return 0;
}

static bool log_has_room(struct mcp_core *c)
{
	uint64_t now_ms = loop_now_ms(c->t.env->loop);

	if (now_ms >= c->log_since_ms + 1000) {
		unsigned left_out = c->log_left_out;
		c->log_since_ms = now_ms;
		c->log_lines = c->log_left_out = 0;
		if (left_out)
			mcp_core_log(c, "%u lines were omitted", left_out);
	}
	if (c->log_lines++ < LOG_LINES_PER_SECOND)
		return true;
	c->log_left_out++;
	return false;
}

void mcp_core_log(struct mcp_core *c, const char *fmt, ...)
{
	char text[LOG_LINE_BYTES + 200];

	if (c->closing || !c->t.handlers.on_log || !log_has_room(c))
		return;
	PRINT_ARGS(text, fmt);
	struct str line = str_from(text);
	c->t.handlers.on_log(c->t.data, utf8_cut(line, LOG_LINE_BYTES));
}

struct mcp_loss {
	struct mcp_loss *next;
	int64_t id;
	struct err err;
};

/* A callback may close the transport; it cannot free it. */
static void on_core_kick(struct kick *kick)
{
	struct mcp_core *c = CONTAINER_OF(kick, struct mcp_core, kick);

	while (!c->closing && c->losses) {
		AUTO_FREE struct mcp_loss *l = list_pop(&c->losses);
		if (l->id)
			c->t.handlers.on_lost(c->t.data, l->id, &l->err);
		else
			mcp_core_log(c, "a message could not be sent: %s", l->err.text);
	}
	if (!c->over)
		return;
	c->t.handlers.on_closed(c->t.data, c->end.kind ? &c->end : NULL, c->needs_auth, c->again);
	c->t.class->free(&c->t);
}

struct mcp_transport *mcp_transport_new(const struct mcp_env *env, struct mcp_server *server,
					const struct mcp_transport_handlers *handlers, void *data)
{
	static const struct mcp_transport_class *const kinds[] = {
		[MCP_STDIO] = &mcp_transport_stdio,
		[MCP_HTTP] = &mcp_transport_http,
		[MCP_SSE] = &mcp_transport_sse,
	};
	struct mcp_core *c = xcalloc(1, kinds[server->kind]->size); /* the first member of each kind's struct */

	c->t.class = kinds[server->kind];
	c->t.handlers = *handlers;
	c->t.data = data;
	c->t.server = mcp_server_ref(server);
	c->t.env = env;
	c->kick.step = on_core_kick;
	return &c->t;
}

void mcp_core_release(struct mcp_core *c)
{
	kick_cancel(&c->kick);
	for (struct mcp_loss *l; (l = list_pop(&c->losses));)
		free(l);
	mcp_server_unref(c->t.server);
}

void mcp_core_lose(struct mcp_core *c, int64_t id, const struct err *err)
{
	struct mcp_loss *l = xnew(struct mcp_loss, .id = id, .err = *err);

	list_push_last(&c->losses, l);
	loop_kick(c->t.env->loop, &c->kick);
}

bool mcp_core_close(struct mcp_core *c, const struct err *err)
{
	if (c->closing)
		return false;
	c->closing = true;
	if (err)
		c->end = *err;
	return true;
}

void mcp_core_over(struct mcp_core *c)
{
	c->over = true;
	loop_kick(c->t.env->loop, &c->kick);
}

/* Lines out of a byte stream, with a limit. */

/* rest: the last bytes of the line. What is called may feed more. */
static void report_line(struct line_reader *r, struct str rest)
{
	AUTO_BUF struct buf held = r->held;
	bool cut = held.n + rest.n > r->limit_bytes;
	struct str line = rest;

	r->held = (struct buf){ 0 };
	if (cut || held.n) {
		buf_add(&held, rest.p, cut ? r->limit_bytes - held.n : rest.n);
		line = buf_str(&held);
	}
	if (!cut && line.n && line.p[line.n - 1] == '\r')
		line.n--;
	r->line(r->data, line, cut);
}

void line_reader_feed(struct line_reader *r, const char *p, size_t n)
{
	struct str rest = { p, n };

	while (rest.n) {
		const char *end = memchr(rest.p, '\n', rest.n);
		struct str part = { rest.p, end ? (size_t)(end - rest.p) : rest.n };
		bool too_long = r->held.n + part.n > r->limit_bytes;
		if (!r->dropping && (end || too_long))
			report_line(r, part);
		else if (!r->dropping)
			buf_append(&r->held, part);
		r->dropping = !end && (r->dropping || too_long);
		part.n += end ? 1 : 0;
		rest = str_tail(rest, part.n);
	}
}

void line_reader_end(struct line_reader *r)
{
	if (r->held.n)
		report_line(r, STR(""));
	r->dropping = false;
}

void line_reader_release(struct line_reader *r)
{
	buf_release(&r->held);
	r->dropping = false;
}
