/* SPDX-License-Identifier: MIT
 * peer.c - the scripted server. */
#include "peer.h"
#include "lib/json/json_write.h"

enum what { SAY, DIE, LOSE, RETURN };

struct peer_message {
	struct peer_message *next;
	struct mcp_transport *to; /* NULL: the newest */
	enum what what;
	char *text;
	int64_t id;
	bool needs_auth, again, quiet;
};

struct peer_end {
	struct mcp_transport t;
	struct peer *peer;
	bool closing;
};

static void push(struct peer *p, struct peer_message m)
{
	struct peer_message *copy = xcalloc(1, sizeof *copy);

	*copy = m;
	copy->to = m.to ? m.to : p->transport;
	*p->last = copy;
	p->last = &copy->next;
	loop_kick(p->loop, &p->kick);
}

static void end_free(struct mcp_transport *t)
{
	mcp_server_unref(t->server);
	free(t);
}

static void deliver(struct peer *p, struct peer_message *m)
{
	struct mcp_transport *t = m->to;
	struct err err = { 0 };

	if (m->what == DIE) {
		(void)err_set(&err, ERR_IO, "%s", m->text);
		p->alive--;
		if (p->transport == t)
			p->transport = NULL;
		t->handlers.on_closed(t->data, m->quiet ? NULL : &err, m->needs_auth, m->again);
		end_free(t);
	} else if (m->what == LOSE) {
		(void)err_set(&err, ERR_IO, "%s", m->text);
		t->handlers.on_lost(t->data, m->id, &err);
	} else if (m->what == RETURN) {
		t->handlers.on_returned(t->data, m->id);
	} else {
		t->handlers.on_message(t->data, str_from(m->text));
	}
}

/* What is for a transport that has ended meanwhile is lost, as on a real line. */
static void forget(struct peer *p, const struct mcp_transport *t)
{
	for (struct peer_message *m = p->first; m; m = m->next)
		if (m->to == t)
			m->to = NULL;
}

static void on_kick(struct kick *kick)
{
	struct peer *p = CONTAINER_OF(kick, struct peer, kick);
	struct peer_message *m = p->first;

	if (!m)
		return;
	p->first = m->next;
	if (!p->first)
		p->last = &p->first;
	if (m->what == DIE && m->to)
		forget(p, m->to);
	if (m->to)
		deliver(p, m);
	free(m->text);
	free(m);
	if (p->first)
		loop_kick(p->loop, &p->kick);
}

void peer_say(struct peer *p, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	va_start(ap, fmt);
	CHECK(vasprintf(&text, fmt, ap) >= 0);
	va_end(ap);
	push(p, (struct peer_message){ .what = SAY, .text = text });
}

void peer_die(struct peer *p, const char *why, bool needs_auth, bool again)
{
	push(p, (struct peer_message){ .what = DIE, .text = xstrdup(why), .needs_auth = needs_auth, .again = again });
}

void peer_lose(struct peer *p, int64_t id, const char *why)
{
	push(p, (struct peer_message){ .what = LOSE, .text = xstrdup(why), .id = id });
}

void peer_return(struct peer *p, int64_t id)
{
	push(p, (struct peer_message){ .what = RETURN, .id = id });
}

static void answer_list(struct peer *p, int64_t id, const char *member, const char *items)
{
	if (p->fail_lists) {
		p->fail_lists--;
		peer_say(p, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32603,\"message\":\"not now\"}}",
			 (long long)id);
		return;
	}
	peer_say(p, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"%s\":[%s]%s%.0lld%s}}", (long long)id, member,
		 items, p->endless_pages ? ",\"nextCursor\":\"page " : "", p->endless_pages ? (long long)id : 0LL,
		 p->endless_pages ? "\"" : "");
}

static void answer_hello(struct peer *p, int64_t id)
{
	peer_say(p,
		 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
		 "\"serverInfo\":{\"name\":\"scripted\",\"version\":\"1\"},\"instructions\":\"%s\"}}",
		 (long long)id, p->version, p->capabilities, p->instructions);
}

static void note(struct buf *out, struct str json)
{
	buf_add(out, json.p, json.n);
	buf_addch(out, '\n');
}

static void end_send(struct mcp_transport *t, int64_t id, struct str json)
{
	struct peer *p = CONTAINER_OF(t, struct peer_end, t)->peer;

	CHECK(!memchr(json.p, '\n', json.n));
	if (p->mute)
		note(&p->sent, json);
	else if (str_has(json, STR("\"method\":\"initialize\"")))
		answer_hello(p, id);
	else if (str_has(json, STR("/list\""))) {
		note(&p->lists, json);
		if (str_has(json, STR("tools/list")))
			answer_list(p, id, "tools", p->tools);
		else if (str_has(json, STR("prompts/list")))
			answer_list(p, id, "prompts", p->prompts);
		else
			answer_list(p, id, "resources", p->resources);
	} else {
		note(&p->sent, json);
	}
}

static int end_start(struct mcp_transport *t, struct err *err)
{
	struct peer *p = CONTAINER_OF(t, struct peer_end, t)->peer;

	p->starts++;
	if (p->refuse_starts) {
		p->refuse_starts--;
		return err_set(err, ERR_IO, "refused");
	}
	p->transport = t;
	p->alive++;
	p->most_alive = MAX(p->most_alive, p->alive);
	return 0;
}

static void end_drop(struct mcp_transport *t, int64_t id)
{
	CHECK(id > 0);
	CONTAINER_OF(t, struct peer_end, t)->peer->dropped++;
}

static void end_ready(struct mcp_transport *t, const char *version)
{
	CONTAINER_OF(t, struct peer_end, t)->peer->ready_version = version;
}

static void end_close(struct mcp_transport *t)
{
	struct peer_end *end = CONTAINER_OF(t, struct peer_end, t);

	if (end->closing)
		return;
	end->closing = true;
	end->peer->closes++;
	push(end->peer, (struct peer_message){ .to = t, .what = DIE, .text = xstrdup(""), .quiet = true });
}

static const struct mcp_transport_class peer_class = {
	.start = end_start,
	.send = end_send,
	.drop = end_drop,
	.ready = end_ready,
	.close = end_close,
	.free = end_free,
};

struct mcp_transport *peer_transport(void *data, struct mcp_server *server,
				     const struct mcp_transport_handlers *handlers, void *handler_data)
{
	struct peer_end *end = xcalloc(1, sizeof *end);
	struct peer *p = data;

	end->t = (struct mcp_transport){ .class = &peer_class,
					 .handlers = *handlers,
					 .data = handler_data,
					 .server = mcp_server_ref(server),
					 .env = &p->env };
	end->peer = p;
	return &end->t;
}

struct mcp_server *peer_server(const char *name, const char *key, enum mcp_kind kind)
{
	struct mcp_server *s = xcalloc(1, sizeof *s);

	s->refs = 1;
	s->name = arena_strdup(&s->arena, name);
	s->key = arena_strdup(&s->arena, key);
	s->kind = kind;
	return s;
}

void peer_init(struct peer *p)
{
	*p = (struct peer){ .loop = loop_new(LOOP_VIRTUAL_CLOCK),
			    .version = "2025-11-25",
			    .capabilities = "{\"tools\":{\"listChanged\":true}}",
			    .instructions = "be kind",
			    .tools = "{\"name\":\"echo\",\"description\":\"says it again\",\"inputSchema\":"
				     "{\"type\":\"object\"}}",
			    .prompts = "",
			    .resources = "" };
	p->last = &p->first;
	p->kick.step = on_kick;
	p->env.loop = p->loop;
	p->server = peer_server("srv", "key of srv", MCP_STDIO);
}

void peer_release(struct peer *p)
{
	CHECK_INT(p->alive, 0);
	while (p->first) {
		struct peer_message *m = p->first;
		p->first = m->next;
		free(m->text);
		free(m);
	}
	kick_cancel(&p->kick);
	buf_release(&p->sent);
	buf_release(&p->lists);
	mcp_server_unref(p->server);
	loop_free(p->loop);
}

bool peer_was_sent(const struct peer *p, const char *text)
{
	return str_has(buf_str(&p->sent), str_from(text));
}

int64_t peer_last_id(const struct peer *p)
{
	struct str rest = buf_str(&p->sent);
	int64_t last = 0;

	while (rest.p && rest.n) {
		AUTO_JSON struct json_reader r = { 0 };
		struct str line = str_cut(&rest, '\n');
		const struct json *root = NULL;
		if (line.n && json_parse(&r, line.p, line.n, &root, NULL) == 0 && json_get(root, "method"))
			(void)json_i64(json_get(root, "id"), &last);
	}
	return last;
}

struct pause {
	struct timer timer;
	struct loop *loop;
};

static void on_pause(struct timer *timer)
{
	loop_stop(CONTAINER_OF(timer, struct pause, timer)->loop);
}

void peer_run_for(struct peer *p, uint64_t ms)
{
	struct pause pause = { .timer.fire = on_pause, .loop = p->loop };

	timer_start(p->loop, &pause.timer, ms);
	loop_run(p->loop);
}
