/* SPDX-License-Identifier: MIT
 * stage.c - a client for the engine, as small as the tests need it. */
#include "stage.h"
#include "dialect.h"
#include "lib/json/json_write.h"

void stage_open(struct stage *s, const char *scenario)
{
	struct err err = { 0 };

	*s = (struct stage){ .now_ms = 1000 };
	if (scenario_parse("test", str_from(scenario), &s->scenario, &err) < 0)
		fail_msg("%s", err.text);
	s->engine = engine_new(s->scenario, dialects);
}

void stage_close(struct stage *s)
{
	reply_free(s->reply);
	engine_free(s->engine);
	scenario_free(s->scenario);
	buf_release(&s->bytes);
	buf_release(&s->trail);
	buf_release(&s->last);
}

void stage_ask_as(struct stage *s, const char *agent, const char *path, struct str body)
{
	struct engine_request ask = {
		.path = str_from(path),
		.body = body,
		.agent = str_from(agent),
		.now_ms = s->now_ms,
	};
	struct buf last = { 0 };

	buf_add(&last, body.p, body.n);
	reply_free(s->reply);
	s->reply = engine_ask(s->engine, &ask);
	buf_release(&s->last);
	s->last = last;
	buf_clear(&s->bytes);
	buf_clear(&s->trail);
}

void stage_ask(struct stage *s, const char *body)
{
	stage_ask_as(s, "", "/v1/messages", str_from(body));
}

const char *request_with(const char *messages, const char *members)
{
	static struct buf b;

	buf_clear(&b);
	buf_addf(&b,
		 "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,"
		 "\"tools\":[{\"name\":\"Read\",\"input_schema\":{\"type\":\"object\"}},"
		 "{\"name\":\"Write\",\"input_schema\":{\"type\":\"object\"}}],"
		 "\"messages\":[%s]%s}",
		 messages, members);
	return b.p;
}

void stage_prompt(struct stage *s, const char *text)
{
	AUTO_BUF struct buf m = { 0 };

	buf_addstr(&m, "{\"role\":\"user\",\"content\":");
	json_add_quoted(&m, str_from(text));
	buf_addstr(&m, "}");
	stage_ask(s, request_with(m.p, ""));
}

void stage_play(struct stage *s)
{
	static const char *const names[] = { "BYTES", "CUT", "STALL", "END" };

	for (;;) {
		uint64_t promised = reply_delay_ms(s->reply);
		struct reply_step step = reply_next(s->reply);
		CHECK_INT(step.delay_ms, promised);
		if (step.delay_ms)
			buf_addf(&s->trail, "(%d) ", (int)step.delay_ms);
		buf_addf(&s->trail, "%s ", names[step.kind]);
		if (step.kind != REPLY_BYTES)
			break;
		if (!s->bytes.n)
			reply_begun(s->reply);
		buf_add(&s->bytes, step.bytes.p, step.bytes.n);
	}
}

int stage_status(const struct stage *s)
{
	return reply_head(s->reply)->status;
}

struct listener {
	struct arena arena;
	struct buf text; /* of the open block */
	struct buf head; /* its type, id, name or data */
	struct str signature;
	void (*block)(struct listener *l, struct str kind, void *data);
	void (*stop)(struct listener *l, const struct json *delta, void *data);
	void *data;
	struct str kind;
};

static void hear_start(struct listener *l, const struct json *block)
{
	l->kind = arena_str(&l->arena, json_str(json_get(block, "type"), &l->arena));
	buf_clear(&l->text);
	buf_clear(&l->head);
	struct str about = json_str(json_get(block, "name"), &l->arena);
	if (!about.n)
		about = json_str(json_get(block, "data"), &l->arena);
	buf_add(&l->head, about.p, about.n);
	l->signature = arena_str(&l->arena, json_str(json_get(block, "id"), &l->arena));
}

static void hear_delta(struct listener *l, const struct json *delta)
{
	static const char *const members[] = { "text", "thinking", "partial_json" };

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		struct str part = json_str(json_get(delta, members[i]), &l->arena);
		buf_add(&l->text, part.p, part.n);
	}
	if (json_get(delta, "signature"))
		l->signature = arena_str(&l->arena, json_str(json_get(delta, "signature"), &l->arena));
}

static void hear(struct listener *l, struct str data)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *event;
	struct err err;

	if (json_parse(&reader, data.p, data.n, &event, &err) < 0)
		fail_msg("%s in " STR_FMT, err.text, STR_ARG(data));
	const struct json *type = json_get(event, "type");
	if (json_str_is(type, "content_block_start"))
		hear_start(l, json_get(event, "content_block"));
	else if (json_str_is(type, "content_block_delta"))
		hear_delta(l, json_get(event, "delta"));
	else if (json_str_is(type, "content_block_stop"))
		l->block(l, l->kind, l->data);
	else if (json_str_is(type, "message_delta") && l->stop)
		l->stop(l, json_get(event, "delta"), l->data);
}

static void listen(struct listener *l, struct str stream)
{
	while (stream.p) {
		struct str line = str_cut(&stream, '\n');
		if (str_starts(line, STR("data: ")))
			hear(l, (struct str){ line.p + 6, line.n - 6 });
	}
	arena_release(&l->arena);
	buf_release(&l->text);
	buf_release(&l->head);
}

static void show_block(struct listener *l, struct str kind, void *data)
{
	struct buf *out = data;
	const char *gap = l->head.n ? " " : "";

	buf_addf(out, STR_FMT "(" STR_FMT "%s" STR_FMT ") ", STR_ARG(kind), STR_ARG(buf_str(&l->head)), gap,
		 STR_ARG(buf_str(&l->text)));
}

static void show_stop(struct listener *l, const struct json *delta, void *data)
{
	buf_addf(data, STR_FMT, STR_ARG(json_str(json_get(delta, "stop_reason"), &l->arena)));
}

void stage_read(struct stage *s, struct buf *out)
{
	struct listener l = { .block = show_block, .stop = show_stop, .data = out };

	if (!s->bytes.n)
		stage_play(s);
	listen(&l, buf_str(&s->bytes));
}

struct next_turn {
	struct buf blocks, results;
	const char *result;
};

static void add_part(struct buf *list, const char *json)
{
	buf_addf(list, "%s%s", list->n ? "," : "", json);
}

static void keep_block(struct listener *l, struct str kind, void *data)
{
	struct next_turn *t = data;
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_open(&w, '{');
	json_kstr(&w, "type", kind);
	if (str_is(kind, "tool_use")) {
		json_kstr(&w, "id", l->signature);
		json_kstr(&w, "name", buf_str(&l->head));
		json_kraw(&w, "input", buf_str(&l->text));
	} else if (str_is(kind, "redacted_thinking")) {
		json_kstr(&w, "data", buf_str(&l->head));
	} else {
		json_kstr(&w, str_is(kind, "text") ? "text" : "thinking", buf_str(&l->text));
	}
	if (str_is(kind, "thinking"))
		json_kstr(&w, "signature", l->signature);
	json_close(&w);
	add_part(&t->blocks, b.p);
	if (!str_is(kind, "tool_use"))
		return;
	buf_clear(&b);
	buf_addf(&b, "{\"type\":\"tool_result\",\"tool_use_id\":\"" STR_FMT "\",\"content\":", STR_ARG(l->signature));
	json_add_quoted(&b, str_from(t->result));
	buf_addstr(&b, "}");
	add_part(&t->results, b.p);
}

void stage_go_on(struct stage *s, const char *result)
{
	struct next_turn t = { .result = result };
	struct listener l = { .block = keep_block, .data = &t };
	AUTO_BUF struct buf body = { 0 };
	const char *end = "]}";

	if (!s->bytes.n)
		stage_play(s);
	listen(&l, buf_str(&s->bytes));
	buf_add(&body, s->last.p, s->last.n - strlen(end));
	buf_addf(&body, ",{\"role\":\"assistant\",\"content\":[%s]},{\"role\":\"user\",\"content\":[%s]}%s", t.blocks.p,
		 t.results.p, end);
	stage_ask_as(s, "", "/v1/messages", buf_str(&body));
	buf_release(&t.blocks);
	buf_release(&t.results);
}

uint64_t stage_stat(const struct stage *s, const char *name)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf b = { 0 };
	const struct json *root;
	struct err err;
	uint64_t value = UINT64_MAX;

	engine_stats(s->engine, &b);
	if (json_parse(&reader, b.p, b.n, &root, &err) < 0)
		fail_msg("%s", err.text);
	const struct json *found = json_get(root, name);
	if (!json_u64(found ? found : json_get(json_get(root, "cache"), name), &value))
		fail_msg("stats have no number %s", name);
	return value;
}
