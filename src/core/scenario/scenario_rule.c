/* SPDX-License-Identifier: MIT
 * scenario_rule.c - the statements that stand inside a rule: conditions, blocks, stop reasons, pace and faults. */
#include "core/scenario/parse_int.h"
#include "lib/base/list.h"

enum { LIMIT_HEADERS = 32, LIMIT_REPEAT = 100000, LIMIT_LINE_MB = 64 };

static int parse_condition(struct parser *p, const struct statement *s, struct err *err)
{
	struct condition *c = arena_new(&p->scenario->arena, struct condition, .kind = (enum condition_kind)s->kind);

	list_push_last(&p->rule->conditions, c);
	if (c->kind == CONDITION_TURN)
		return take_range(p, &c->range, err);
	if (c->kind != CONDITION_CONTAINS)
		return take_name(p, s->what, &c->text, err);
	if (take_given(p, "lacks"))
		c->kind = CONDITION_LACKS;
	else if (!take_given(p, "contains"))
		return parse_fail(p, err, "expected 'contains' or 'lacks'");
	int rc = parse_source(p, str_from(s->word), &c->source, err);
	return rc < 0 ? rc : take_string(p, &c->text, err);
}

static int parse_capture(struct parser *p, const struct statement *s, struct err *err)
{
	struct capture *c = arena_calloc(&p->scenario->arena, sizeof *c);
	int rc = take_name(p, "a name for what is captured", &c->name, err);

	if (rc == 0)
		rc = parse_source(p, take_word(p), &c->source, err);
	if (rc == 0)
		rc = take_string(p, &c->mark, err);
	if (rc < 0)
		return rc;
	if (p->rule->blocks)
		return parse_fail(p, err, "a capture must stand before the answer");
	if (take_given(p, "word"))
		c->end = CAPTURE_WORD;
	else if (take_given(p, "line"))
		c->end = CAPTURE_LINE;
	else if (take_given(p, "until"))
		c->end = CAPTURE_UNTIL;
	else
		return parse_fail(p, err, "expected 'word', 'line' or 'until \"...\"'");
	if (c->end == CAPTURE_UNTIL && (rc = take_string(p, &c->until, err)) < 0)
		return rc;
	list_push_last(&p->rule->captures, c);
	return 0;
}

static int parse_chance(struct parser *p, const struct statement *s, struct err *err)
{
	struct str word = take_word(p);

	if (!str_to_double(word, &p->rule->chance) || p->rule->chance < 0 || p->rule->chance > 1)
		return parse_fail(p, err, "expected a chance from 0 to 1, got '" STR_FMT "'", STR_ARG(word));
	return 0;
}

static int parse_block(struct parser *p, const struct statement *s, struct err *err)
{
	bool json = s->kind == BLOCK_CALL || s->kind == BLOCK_GIVEN;
	struct str text;
	int rc = 0;
	struct block *b = arena_new(&p->scenario->arena, struct block, .kind = (enum block_kind)s->kind, .repeat = 1);

	*p->next_block = b;
	p->next_block = &b->next;
	if (b->kind == BLOCK_REDACTED)
		return 0;
	if (b->kind == BLOCK_FILLER) {
		b->whole = !strcmp(s->word, "line");
		rc = take_size(p, &b->filler_bytes, err);
		if (rc == 0 && b->whole && b->filler_bytes > (uint64_t)LIMIT_LINE_MB << 20)
			return parse_fail(p, err, "a line has at most %dMB", LIMIT_LINE_MB);
		return rc;
	}
	if (b->kind == BLOCK_CALL)
		rc = take_name(p, "the name of a tool", &b->name, err);
	if (rc == 0)
		rc = take_text(p, &text, err);
	return rc < 0 ? rc : template_parse(p, text, json, &b->text, err);
}

static int parse_repeat(struct parser *p, const struct statement *s, struct err *err)
{
	struct block **added = p->next_block;
	uint64_t times;
	int rc = take_number(p, "a number", &times, err);

	if (rc < 0)
		return rc;
	if (!times || times > LIMIT_REPEAT)
		return parse_fail(p, err, "a block is repeated 1 to %d times", LIMIT_REPEAT);
	struct str word = take_word(p);
	const struct statement *repeated = find_statement(rule_statements, word);
	if (!repeated || repeated->parse != parse_block)
		return parse_fail(p, err, "'" STR_FMT "' cannot be repeated", STR_ARG(word));
	rc = parse_block(p, repeated, err);
	(*added)->repeat = times;
	return rc;
}

static int parse_stop(struct parser *p, const struct statement *s, struct err *err)
{
	static const char *const reasons[] = { "end_turn",   "max_tokens", "model_context_window_exceeded",
					       "pause_turn", "refusal",    "stop_sequence",
					       "tool_use" };
	struct str word = take_word(p);

	for (size_t i = 0; i < COUNT_OF(reasons); i++)
		if (str_is(word, reasons[i]))
			p->rule->stop = reasons[i];
	if (!p->rule->stop)
		return parse_fail(p, err, "unknown stop reason '" STR_FMT "'", STR_ARG(word));
	p->scenario->pauses |= str_is(word, "pause_turn");
	if (str_is(word, "refusal")) {
		struct rule *rule = p->rule;
		if (p->rest.n && p->rest.p[0] != '"')
			rule->stop_category = arena_str(&p->scenario->arena, take_word(p));
		return p->rest.n ? take_string(p, &rule->stop_explanation, err) : 0;
	}
	if (str_is(word, "stop_sequence"))
		return take_string(p, &p->rule->stop_sequence, err);
	return 0;
}

static int parse_usage(struct parser *p, const struct statement *s, struct err *err)
{
	struct usage_override *u = &p->rule->usage;
	const struct {
		const char *name;
		int64_t *value;
	} fields[] = {
		{ "input", &u->input },           { "output", &u->output },
		{ "cache_read", &u->cache_read }, { "cache_write", &u->cache_write },
		{ "searches", &u->searches },
	};

	while (p->rest.n) {
		struct str word = take_word(p);
		struct str value = word;
		struct str name = str_cut(&value, '=');
		size_t i = 0;
		while (i < COUNT_OF(fields) && !str_is(name, fields[i].name))
			i++;
		if (i == COUNT_OF(fields) || !value.p || !str_to_i64(value, fields[i].value) || *fields[i].value < 0)
			return parse_fail(
				p, err,
				"expected input=N, output=N, cache_read=N, cache_write=N or searches=N, got '" STR_FMT
				"'",
				STR_ARG(word));
	}
	return 0;
}

static int parse_status(struct parser *p, const struct statement *s, struct err *err)
{
	struct rule *rule = p->rule;
	uint64_t status;
	int rc = take_number(p, "a status", &status, err);

	if (rc < 0)
		return rc;
	if (status < 200 || status > 599)
		return parse_fail(p, err, "a status is 200 to 599");
	rule->status = (unsigned)status;
	if (p->rest.n && p->rest.p[0] != '"')
		rule->error_type = arena_str(&p->scenario->arena, take_word(p));
	return p->rest.n ? take_string(p, &rule->error_message, err) : 0;
}

static int parse_header(struct parser *p, const struct statement *s, struct err *err)
{
	struct rule *rule = p->rule;

	size_t n = 0;

	while (n < p->rest.n && (char_is_alnum(p->rest.p[n]) || char_in(p->rest.p[n], "-_")))
		n++;
	if (!n || n == p->rest.n || p->rest.p[n] != ':' || memchr(p->rest.p, '\r', p->rest.n))
		return parse_fail(p, err, "expected 'name: value'");
	if (rule->header_count == LIMIT_HEADERS)
		return parse_fail(p, err, "a rule has at most %d headers", LIMIT_HEADERS);
	if (!rule->headers)
		rule->headers = arena_calloc(&p->scenario->arena, LIMIT_HEADERS * sizeof *rule->headers);
	rule->headers[rule->header_count++] = arena_str(&p->scenario->arena, p->rest).p;
	p->rest.n = 0;
	return 0;
}

static int parse_content_type(struct parser *p, const struct statement *s, struct err *err)
{
	int rc = take_text(p, &p->rule->content_type, err);

	if (rc == 0 && memchr(p->rule->content_type.p, '\n', p->rule->content_type.n))
		return parse_fail(p, err, "a content type is one line");
	return rc;
}

static int parse_fault(struct parser *p, const struct statement *s, struct err *err)
{
	struct fault *f = &p->rule->fault;
	int rc = 0;

	if (f->kind)
		return parse_fail(p, err, "a rule has one of cut, stall and error");
	f->kind = (enum fault_kind)s->kind;
	if (f->kind == FAULT_ERROR) {
		f->message = STR("an error that the scenario asked for");
		rc = take_name(p, "the type of an error", &f->type, err);
		if (rc == 0 && p->rest.n && p->rest.p[0] == '"')
			rc = take_string(p, &f->message, err);
	}
	if (rc < 0)
		return rc;
	if (take_given(p, "at") && take_given(p, "byte"))
		f->place = AT_BYTE;
	else if (take_given(p, "after"))
		f->place = take_given(p, "event") ? AFTER_EVENT : take_given(p, "call") ? AFTER_CALL : 0;
	if (!f->place)
		return parse_fail(p, err, "expected 'at byte N', 'after event K' or 'after call K'");
	rc = take_number(p, "a number", &f->at, err);
	if (rc == 0 && f->kind == FAULT_ERROR && f->place == AT_BYTE)
		return parse_fail(p, err, "an error event stands after an event or a call, not at a byte");
	return rc;
}

const struct statement rule_statements[] = {
	{ "agent", parse_condition, CONDITION_AGENT, 0, "the name of an agent", 0 },
	{ "block", parse_block, BLOCK_GIVEN, 0, NULL, 0 },
	{ "body", parse_value, VALUE_TEXT, offsetof(struct rule, body), NULL, OF_RULE },
	{ "call", parse_block, BLOCK_CALL, 0, NULL, 0 },
	{ "capture", parse_capture, 0, 0, NULL, 0 },
	{ "chance", parse_chance, 0, 0, NULL, 0 },
	{ "content-type", parse_content_type, 0, 0, NULL, 0 },
	{ "cut", parse_fault, FAULT_CUT, 0, NULL, 0 },
	{ "empty", parse_value, VALUE_SWITCH, offsetof(struct rule, empty), NULL, OF_RULE },
	{ "error", parse_fault, FAULT_ERROR, 0, NULL, 0 },
	{ "every", parse_value, VALUE_NUMBER, offsetof(struct rule, every), "a number", OF_RULE },
	{ "filler", parse_block, BLOCK_FILLER, 0, NULL, 0 },
	{ "garbage", parse_value, VALUE_SIZE, offsetof(struct rule, garbage_bytes), NULL, OF_RULE },
	{ "header", parse_header, 0, 0, NULL, 0 },
	{ "last", parse_condition, CONDITION_CONTAINS, 0, NULL, 0 },
	{ "last_result", parse_condition, CONDITION_CONTAINS, 0, NULL, 0 },
	{ "line", parse_block, BLOCK_FILLER, 0, NULL, 0 },
	{ "model", parse_condition, CONDITION_MODEL, 0, "the name of a model", 0 },
	{ "nth", parse_value, VALUE_RANGE, offsetof(struct rule, nth), NULL, OF_RULE },
	{ "prompt", parse_condition, CONDITION_CONTAINS, 0, NULL, 0 },
	{ "redacted_thinking", parse_block, BLOCK_REDACTED, 0, NULL, 0 },
	{ "repeat", parse_repeat, 0, 0, NULL, 0 },
	{ "stall", parse_fault, FAULT_STALL, 0, NULL, 0 },
	{ "status", parse_status, 0, 0, NULL, 0 },
	{ "stop", parse_stop, 0, 0, NULL, 0 },
	{ "system", parse_condition, CONDITION_CONTAINS, 0, NULL, 0 },
	{ "text", parse_block, BLOCK_TEXT, 0, NULL, 0 },
	{ "thinking", parse_block, BLOCK_THINKING, 0, NULL, 0 },
	{ "turn", parse_condition, CONDITION_TURN, 0, NULL, 0 },
	{ "usage", parse_usage, 0, 0, NULL, 0 },
	{ 0 },
};

static int parse_chunk(struct parser *p, const struct statement *s, struct err *err)
{
	uint64_t n;
	int rc = take_number(p, "a number", &n, err);

	if (rc < 0)
		return rc;
	if (!n)
		return parse_fail(p, err, "a chunk has at least one byte");
	bool pieces = take_given(p, "pieces");
	if (!pieces)
		(void)take_given(p, "bytes");
	p->pace->chunk_pieces = pieces ? n : 0;
	p->pace->chunk_bytes = pieces ? 0 : n;
	return 0;
}

static int parse_drip(struct parser *p, const struct statement *s, struct err *err)
{
	p->pace->drip = true;
	return p->rest.n ? take_time(p, &p->pace->drip_ms, err) : 0;
}

const struct statement pace_statements[] = {
	{ "chunk", parse_chunk, 0, 0, NULL, 0 },
	{ "delay", parse_value, VALUE_TIME, offsetof(struct pace, delay_ms), NULL, OF_PACE },
	{ "drip", parse_drip, 0, 0, NULL, 0 },
	{ "latency", parse_value, VALUE_TIME, offsetof(struct pace, latency_ms), NULL, OF_PACE },
	{ "ping", parse_value, VALUE_NUMBER, offsetof(struct pace, ping_every), "a number of events", OF_PACE },
	{ 0 },
};

int rule_check(struct parser *p, struct err *err)
{
	const struct rule *r = p->rule;

	if (!r)
		return 0;
	struct parser at = { .name = p->name, .line = r->line };
	bool whole = r->status || r->body.p || r->garbage_bytes;
	if (whole && (r->blocks || r->empty || r->stop))
		return parse_fail(&at, err, "the rule has an answer and a status, body or garbage in its place");
	if (!whole && !r->blocks && !r->empty)
		return parse_fail(&at, err, "the rule has no answer");
	if (r->empty && r->blocks)
		return parse_fail(&at, err, "the rule is empty and has blocks");
	return 0;
}
