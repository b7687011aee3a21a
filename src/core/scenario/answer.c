/* SPDX-License-Identifier: MIT
 * answer.c - builds the reply to a request (the answer of a rule, an error, or a page) and delivers it in steps, with
 * the faults of the rule. */
#include "core/scenario/engine_int.h"

enum { BYTES_PER_TOKEN = 4 };

static const struct str type_json = { "application/json", 16 };
static const struct str type_events = { "text/event-stream; charset=utf-8", 32 };
static const struct str type_bytes = { "application/octet-stream", 24 };

static uint64_t range_pick(const struct range *r, uint64_t *random)
{
	return r->from + (r->to > r->from ? digest_random(random) % (r->to - r->from + 1) : 0);
}

static uint64_t tokens_of(uint64_t bytes)
{
	return (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

static const char *error_type(unsigned status)
{
	static const struct {
		unsigned status;
		const char *type;
	} types[] = {
		{ 400, "invalid_request_error" }, { 401, "authentication_error" }, { 402, "billing_error" },
		{ 403, "permission_error" },      { 404, "not_found_error" },      { 409, "conflict_error" },
		{ 413, "request_too_large" },     { 429, "rate_limit_error" },     { 504, "timeout_error" },
		{ 529, "overloaded_error" },
	};

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (types[i].status == status)
			return types[i].type;
	return status >= 500 ? "api_error" : "invalid_request_error";
}

/* The parts of a reply; borrowed, and copied behind the struct. */
struct parts {
	const struct rule *rule;
	struct str model, body, text; /* text: the texts of the blocks that are not constant, in their order */
	const struct reply_block *blocks;
	size_t block_count;
	const char *header; /* besides request-id and those of the rule */
};

static struct str tail_add(char **tail, struct str s)
{
	struct str copy = { *tail, s.n };

	if (s.n)
		memcpy(*tail, s.p, s.n);
	(*tail)[s.n] = '\0';
	*tail += s.n + 1;
	return copy;
}

static struct reply *reply_new(struct engine *e, const struct parts *p)
{
	size_t blocks_size = p->block_count * sizeof(struct reply_block);
	size_t headers_size = (2 + (p->header != NULL) + (p->rule ? p->rule->header_count : 0)) * sizeof(char *);
	size_t text_size = p->model.n + p->body.n + p->text.n + DIGEST_ID_MAX + (p->header ? strlen(p->header) : 0) + 8;
	struct reply *r = xmalloc(sizeof *r + blocks_size + headers_size + text_size);
	struct reply_block *blocks = (struct reply_block *)(r + 1);
	const char **headers = (const char **)(blocks + p->block_count);
	char *tail = (char *)headers + headers_size;
	char id[DIGEST_ID_MAX];

	*r = (struct reply){ .engine = e, .rule = p->rule, .id_a = e->scenario->seed };
	r->dialect = e->dialect;
	r->wants_usage = e->translation.wants_usage;
	r->id_b = r->random = digest_mix(e->given, e->scenario->seed);
	r->model = tail_add(&tail, p->model);
	r->body = tail_add(&tail, p->body);
	r->blocks = blocks;
	r->block_count = p->block_count;
	r->first_thinking = SIZE_MAX;
	const char *text = tail_add(&tail, p->text).p;
	for (size_t i = 0; i < p->block_count; i++) {
		const struct block *block = p->blocks[i].block;
		blocks[i] = p->blocks[i];
		if (!block->text.constant && block->kind != BLOCK_FILLER) {
			blocks[i].text.p = text;
			text += blocks[i].text.n;
		}
		if ((block->kind == BLOCK_THINKING || block->kind == BLOCK_REDACTED) && r->first_thinking == SIZE_MAX)
			r->first_thinking = i;
	}
	r->head.headers = headers;
	digest_id(id, r->dialect->event_next ? "x-request-id: req_" : "request-id: req_", r->id_a, r->id_b);
	*headers++ = tail_add(&tail, str_from(id)).p;
	if (p->header)
		*headers++ = tail_add(&tail, str_from(p->header)).p;
	for (size_t i = 0; p->rule && i < p->rule->header_count; i++)
		*headers++ = p->rule->headers[i];
	*headers = NULL;
	r->head.content_type = type_json;
	r->head.status = 200;
	return r;
}

static void error_body(struct engine *e, struct buf *out, unsigned status, struct str type, struct str message)
{
	char id[DIGEST_ID_MAX];
	struct json_out w = json_out(out);

	if (e->dialect->error) {
		e->dialect->error(out, status, type, message);
		return;
	}
	json_putf(&w, "{type:'error', error:{type:'%.*s', message:'%.*s'}, request_id:'%s'}", STR_ARG(type),
		  STR_ARG(message), digest_id(id, "req_", e->scenario->seed, digest_mix(e->given, e->scenario->seed)));
}

struct reply *answer_error(struct engine *e, unsigned status, const char *header, const char *fmt, ...)
{
	AUTO_BUF struct buf body = { 0 };
	char text[512];

	PRINT_ARGS(text, fmt);
	error_body(e, &body, status, str_from(error_type(status)), str_from(text));
	struct reply *r = reply_new(e, &(struct parts){ .body = buf_str(&body), .header = header });
	r->head.status = (int)status;
	return r;
}

struct reply *answer_json(struct engine *e, struct str body)
{
	return reply_new(e, &(struct parts){ .body = body });
}

/* The texts go one behind the other into e->text, which may move: reply_new() finds them again by their lengths. */
static void fill_blocks(struct asking *a, const struct rule *rule)
{
	struct engine *e = a->engine;

	buf_clear(&e->text);
	e->block_count = 0;
	for (const struct block *b = rule->blocks; b; b = b->next) {
		for (a->i = 1; a->i <= b->repeat; a->i++) {
			size_t begin = e->text.n;
			struct str text = { NULL, b->filler_bytes };
			if (b->text.constant && b->kind != BLOCK_FILLER) {
				text = b->text.pieces ? b->text.pieces->text : STR("");
			} else if (b->kind != BLOCK_FILLER) {
				expand(a, &b->text, &e->text);
				text.n = e->text.n - begin;
			}
			*xpush(e->blocks, e->block_count, e->block_cap) = (struct reply_block){ b, text };
		}
	}
}

static uint64_t usage_or(int64_t given, uint64_t estimate)
{
	return given < 0 ? estimate : (uint64_t)given;
}

/* Status, body or garbage in the place of an answer. */
static struct reply *answer_whole(struct engine *e, const struct rule *rule)
{
	AUTO_BUF struct buf body = { 0 };
	const unsigned status = rule->status ? rule->status : 200;
	struct str type = rule->error_type.n ? rule->error_type : str_from(error_type(status));
	struct str message = rule->error_message.n ? rule->error_message : STR("an error that the scenario asked for");

	if (rule->body.p)
		buf_append(&body, rule->body);
	else if (!rule->garbage_bytes)
		error_body(e, &body, status, type, message);
	struct reply *r = reply_new(e, &(struct parts){ .rule = rule, .body = buf_str(&body) });
	r->head.status = (int)status;
	if (status == 200)
		r->head.content_type = r->dialect->events_type ? str_from(r->dialect->events_type) : type_events;
	return r;
}

static struct reply *answer_message(struct asking *a, const struct rule *rule, const struct cache_look *look)
{
	struct engine *e = a->engine;
	const struct request *request = a->request;

	fill_blocks(a, rule);
	struct parts parts = {
		.rule = rule,
		.model = request->model,
		.text = buf_str(&e->text),
		.blocks = e->blocks,
		.block_count = e->block_count,
	};
	struct reply *r = reply_new(e, &parts);
	r->message = true;
	r->head.stream = request->stream;
	if (request->stream)
		r->head.content_type = r->dialect->events_type ? str_from(r->dialect->events_type) : type_events;
	/* The conversation is part of the seed, so that ids stay unique when another run of the scenario continues the
	 * session. */
	r->id_a = digest_mix(r->id_a, request->prefixes[request->prefix_count - 1].hash);
	uint64_t output = 0, read = tokens_of(look->read_bytes);
	uint64_t prefix = tokens_of(MAX(look->prefix_bytes, look->read_bytes));
	for (size_t i = 0; i < r->block_count; i++)
		output += r->blocks[i].text.n;
	r->usage = (struct usage){
		.input = usage_or(rule->usage.input, tokens_of(look->total_bytes) - prefix),
		.output = usage_or(rule->usage.output, tokens_of(output) + 1),
		.cache_read = usage_or(rule->usage.cache_read, read),
		.cache_write = usage_or(rule->usage.cache_write, prefix - read),
		.long_lived = look->write_count && look->writes[look->write_count - 1].ttl_ms > CACHE_TTL_SHORT_MS,
	};
	r->write_count = look->write_count;
	memcpy(r->writes, look->writes, sizeof r->writes);
	return r;
}

struct reply *answer_rule(struct asking *a, const struct rule *rule, const struct cache_look *look)
{
	struct engine *e = a->engine;
	const struct fault *fault = &rule->fault;
	bool whole = rule->status || rule->body.p || rule->garbage_bytes;

	if (!whole && fault->kind == FAULT_ERROR && !a->request->stream)
		return answer_error(e, 529, NULL, STR_FMT, STR_ARG(fault->message));
	struct reply *r = whole ? answer_whole(e, rule) : answer_message(a, rule, look);
	if (rule->garbage_bytes)
		r->head.stream = true;
	if (rule->garbage_bytes && !a->request->stream)
		r->head.content_type = type_bytes;
	if (rule->content_type.n)
		r->head.content_type = rule->content_type;
	r->delay_ms = range_pick(&rule->pace.latency_ms, &r->random);
	return r;
}

/* Bytes are generated on demand: events are joined into one step unless the scenario delays them; then a fault may
 * truncate the bytes. */

enum { STEP_BYTES = 64 * 1024 };

const struct reply_head *reply_head(const struct reply *r)
{
	return &r->head;
}

static void add_events(struct reply *r)
{
	const struct fault *f = &r->rule->fault;
	bool slow = r->rule->pace.delay_ms.to > 0;

	while (r->stage != STAGE_OVER && !r->faulty && r->out.n < STEP_BYTES) {
		size_t from = r->out.n;
		bool is_due = (f->place == AFTER_EVENT && r->events >= f->at) ||
			      (f->place == AFTER_CALL && r->calls >= f->at);
		if (!f->kind || !is_due) {
			event_next(r, &r->out);
		} else if (f->kind == FAULT_ERROR) {
			event_error(r, f);
			r->stage = STAGE_OVER;
		} else {
			r->faulty = true;
		}
		if (r->dialect->wrap)
			r->dialect->wrap(&r->out, from);
		if (slow && r->out.n > from) /* a ping has no frame */
			break;
	}
}

static void truncate_bytes(struct reply *r, uint64_t at)
{
	if (r->made + r->out.n < at)
		return;
	r->out.n = at - r->made;
	r->faulty = true;
}

/* Makes the next bytes; none: the reply is over or its fault has come. */
static void generate_bytes(struct reply *r)
{
	const struct fault *f = r->rule ? &r->rule->fault : NULL;

	buf_clear(&r->out);
	r->out_at = 0;
	if (r->stage == STAGE_OVER || r->faulty)
		return;
	if (r->message && r->head.stream) {
		add_events(r);
	} else if (r->rule && r->rule->garbage_bytes) {
		for (; r->at < r->rule->garbage_bytes && r->out.n < STEP_BYTES; r->at += 8) {
			uint64_t word = digest_random(&r->random);
			buf_add(&r->out, &word, MIN(sizeof word, r->rule->garbage_bytes - r->at));
		}
		if (r->at >= r->rule->garbage_bytes)
			r->stage = STAGE_OVER;
	} else {
		if (r->message)
			message_json(r, &r->out);
		else
			buf_append(&r->out, r->body);
		r->stage = STAGE_OVER;
		/* Without events, a place that is given in events is the middle. */
		if (f && (f->kind == FAULT_CUT || f->kind == FAULT_STALL) && f->place != AT_BYTE)
			truncate_bytes(r, r->out.n / 2);
	}
	if (f && f->kind && f->place == AT_BYTE && !r->faulty)
		truncate_bytes(r, f->at);
	r->made += r->out.n;
}

uint64_t reply_delay_ms(const struct reply *r)
{
	return r->delay_ms;
}

struct reply_step reply_next(struct reply *r)
{
	const struct pace *pace = r->rule ? &r->rule->pace : NULL;
	struct reply_step step = { .kind = REPLY_END, .delay_ms = r->delay_ms };

	if (r->out_at == r->out.n)
		generate_bytes(r);
	r->delay_ms = 0;
	if (r->out_at == r->out.n) {
		if (r->faulty)
			step.kind = r->rule->fault.kind == FAULT_CUT ? REPLY_CUT : REPLY_STALL;
		return step;
	}
	step.kind = REPLY_BYTES;
	step.bytes = (struct str){ r->out.p + r->out_at, pace && pace->drip ? 1 : r->out.n - r->out_at };
	r->out_at += step.bytes.n;
	r->engine->counters.bytes_out += step.bytes.n;
	if (pace && !r->faulty && pace->drip && r->out_at < r->out.n)
		r->delay_ms = range_pick(&pace->drip_ms, &r->random);
	else if (pace && !r->faulty && r->stage != STAGE_OVER)
		r->delay_ms = range_pick(&pace->delay_ms, &r->random);
	return step;
}

void reply_free(struct reply *r)
{
	if (!r)
		return;
	if (r->counted)
		r->engine->in_flight--;
	buf_release(&r->out);
	free(r);
}
