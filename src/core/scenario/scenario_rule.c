/* SPDX-License-Identifier: MIT
 * scenario_rule.c - the statements that stand inside a rule: conditions, blocks, stop reasons, pace and faults. */
#include "core/scenario/parse_int.h"

enum { LIMIT_HEADERS = 32, LIMIT_REPEAT = 100000, LIMIT_LINE_MB = 64 };

static struct condition *add_condition(struct parser *p, enum condition_kind kind)
{
	struct condition *c = arena_calloc(&p->scenario->arena, sizeof *c);

	c->kind = kind;
	*p->next_condition = c;
	p->next_condition = &c->next;
	return c;
}

static int parse_agent(struct parser *p, struct err *err)
{
	return take_name(p, "the name of an agent", &add_condition(p, CONDITION_AGENT)->text, err);
}

static int parse_model(struct parser *p, struct err *err)
{
	return take_name(p, "the name of a model", &add_condition(p, CONDITION_MODEL)->text, err);
}

static int parse_turn(struct parser *p, struct err *err)
{
	return take_range(p, &add_condition(p, CONDITION_TURN)->range, err);
}

static int parse_match(struct parser *p, struct str source, struct err *err)
{
	struct condition *c = add_condition(p, CONDITION_CONTAINS);

	if (take_given(p, "lacks"))
		c->kind = CONDITION_LACKS;
	else if (!take_given(p, "contains"))
		return parse_fail(p, err, "expected 'contains' or 'lacks'");
	int rc = parse_source(p, source, &c->source, err);
	return rc < 0 ? rc : take_string(p, &c->text, err);
}

static int parse_prompt(struct parser *p, struct err *err)
{
	return parse_match(p, STR("prompt"), err);
}

static int parse_last(struct parser *p, struct err *err)
{
	return parse_match(p, STR("last"), err);
}

static int parse_system(struct parser *p, struct err *err)
{
	return parse_match(p, STR("system"), err);
}

static int parse_last_result(struct parser *p, struct err *err)
{
	return parse_match(p, STR("last_result"), err);
}

static int parse_capture(struct parser *p, struct err *err)
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
	*p->next_capture = c;
	p->next_capture = &c->next;
	return 0;
}

static int parse_nth(struct parser *p, struct err *err)
{
	return take_range(p, &p->rule->nth, err);
}

static int parse_every(struct parser *p, struct err *err)
{
	int rc = take_number(p, "a number", &p->rule->every, err);

	return rc == 0 && !p->rule->every ? parse_fail(p, err, "'every 0' never happens") : rc;
}

static int parse_chance(struct parser *p, struct err *err)
{
	struct str word = take_word(p);

	if (!str_to_double(word, &p->rule->chance) || p->rule->chance < 0 || p->rule->chance > 1)
		return parse_fail(p, err, "expected a chance from 0 to 1, got '" STR_FMT "'", STR_ARG(word));
	return 0;
}

static struct block *add_block(struct parser *p, enum block_kind kind)
{
	struct block *b = arena_calloc(&p->scenario->arena, sizeof *b);

	b->kind = kind;
	b->repeat = 1;
	*p->next_block = b;
	p->next_block = &b->next;
	return b;
}

static int parse_template(struct parser *p, bool json, struct text_template *ret, struct err *err)
{
	struct str text;
	int rc = take_text(p, &text, err);

	return rc < 0 ? rc : template_parse(p, text, json, ret, err);
}

static int parse_text(struct parser *p, struct err *err)
{
	return parse_template(p, false, &add_block(p, BLOCK_TEXT)->text, err);
}

static int parse_thinking(struct parser *p, struct err *err)
{
	return parse_template(p, false, &add_block(p, BLOCK_THINKING)->text, err);
}

static int parse_redacted(struct parser *p, struct err *err)
{
	(void)err;
	add_block(p, BLOCK_REDACTED);
	return 0;
}

static int parse_call(struct parser *p, struct err *err)
{
	struct block *b = add_block(p, BLOCK_CALL);
	int rc = take_name(p, "the name of a tool", &b->name, err);

	return rc < 0 ? rc : parse_template(p, true, &b->text, err);
}

static int parse_given(struct parser *p, struct err *err)
{
	return parse_template(p, true, &add_block(p, BLOCK_GIVEN)->text, err);
}

static int parse_filler(struct parser *p, struct err *err)
{
	return take_size(p, &add_block(p, BLOCK_FILLER)->filler_bytes, err);
}

static int parse_long_line(struct parser *p, struct err *err)
{
	struct block *b = add_block(p, BLOCK_FILLER);

	b->whole = true;
	int rc = take_size(p, &b->filler_bytes, err);
	if (rc == 0 && b->filler_bytes > (uint64_t)LIMIT_LINE_MB << 20)
		return parse_fail(p, err, "a line has at most %dMB", LIMIT_LINE_MB);
	return rc;
}

static const struct statement blocks[] = {
	{ "block", parse_given },
	{ "call", parse_call },
	{ "filler", parse_filler },
	{ "line", parse_long_line },
	{ "redacted_thinking", parse_redacted },
	{ "text", parse_text },
	{ "thinking", parse_thinking },
	{ 0 },
};

static int parse_repeat(struct parser *p, struct err *err)
{
	struct block **added = p->next_block;
	uint64_t times;
	int rc = take_number(p, "a number", &times, err);

	if (rc < 0)
		return rc;
	if (!times || times > LIMIT_REPEAT)
		return parse_fail(p, err, "a block is repeated 1 to %d times", LIMIT_REPEAT);
	struct str word = take_word(p);
	statement_fn *parse = find_statement(blocks, word);
	if (!parse)
		return parse_fail(p, err, "'" STR_FMT "' cannot be repeated", STR_ARG(word));
	rc = parse(p, err);
	(*added)->repeat = times;
	return rc;
}

static int parse_empty(struct parser *p, struct err *err)
{
	(void)err;
	p->rule->empty = true;
	return 0;
}

static int parse_stop(struct parser *p, struct err *err)
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

static int parse_usage(struct parser *p, struct err *err)
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

static int parse_status(struct parser *p, struct err *err)
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

static bool is_header(struct str line)
{
	const char *colon = memchr(line.p, ':', line.n);

	if (!colon || colon == line.p)
		return false;
	for (const char *c = line.p; c < colon; c++)
		if ((*c < 'a' || *c > 'z') && (*c < 'A' || *c > 'Z') && (*c < '0' || *c > '9') && *c != '-' &&
		    *c != '_')
			return false;
	return !memchr(line.p, '\r', line.n);
}

static int parse_header(struct parser *p, struct err *err)
{
	struct rule *rule = p->rule;

	if (!p->rest.n || !is_header(p->rest))
		return parse_fail(p, err, "expected 'name: value'");
	if (rule->header_count == LIMIT_HEADERS)
		return parse_fail(p, err, "a rule has at most %d headers", LIMIT_HEADERS);
	if (!rule->headers)
		rule->headers = arena_calloc(&p->scenario->arena, LIMIT_HEADERS * sizeof *rule->headers);
	rule->headers[rule->header_count++] = arena_str(&p->scenario->arena, p->rest).p;
	p->rest.n = 0;
	return 0;
}

static int parse_content_type(struct parser *p, struct err *err)
{
	int rc = take_text(p, &p->rule->content_type, err);

	if (rc == 0 && memchr(p->rule->content_type.p, '\n', p->rule->content_type.n))
		return parse_fail(p, err, "a content type is one line");
	return rc;
}

static int parse_body(struct parser *p, struct err *err)
{
	return take_text(p, &p->rule->body, err);
}

static int parse_garbage(struct parser *p, struct err *err)
{
	int rc = take_size(p, &p->rule->garbage_bytes, err);

	return rc == 0 && !p->rule->garbage_bytes ? parse_fail(p, err, "expected at least one byte") : rc;
}

static int parse_place(struct parser *p, enum fault_kind kind, struct err *err)
{
	struct fault *f = &p->rule->fault;

	if (f->kind)
		return parse_fail(p, err, "a rule has one of cut, stall and error");
	f->kind = kind;
	if (take_given(p, "at") && take_given(p, "byte"))
		f->place = AT_BYTE;
	else if (take_given(p, "after"))
		f->place = take_given(p, "event") ? AFTER_EVENT : take_given(p, "call") ? AFTER_CALL : 0;
	if (!f->place)
		return parse_fail(p, err, "expected 'at byte N', 'after event K' or 'after call K'");
	return take_number(p, "a number", &f->at, err);
}

static int parse_cut(struct parser *p, struct err *err)
{
	return parse_place(p, FAULT_CUT, err);
}

static int parse_stall(struct parser *p, struct err *err)
{
	return parse_place(p, FAULT_STALL, err);
}

static int parse_error(struct parser *p, struct err *err)
{
	struct str type;
	struct str message = STR("an error that the scenario asked for");
	int rc = take_name(p, "the type of an error", &type, err);

	if (rc == 0 && p->rest.n && p->rest.p[0] == '"')
		rc = take_string(p, &message, err);
	if (rc == 0)
		rc = parse_place(p, FAULT_ERROR, err);
	if (rc < 0)
		return rc;
	if (p->rule->fault.place == AT_BYTE)
		return parse_fail(p, err, "an error event stands after an event or a call, not at a byte");
	p->rule->fault.type = type;
	p->rule->fault.message = message;
	return 0;
}

const struct statement rule_statements[] = {
	{ "agent", parse_agent },
	{ "block", parse_given },
	{ "body", parse_body },
	{ "call", parse_call },
	{ "capture", parse_capture },
	{ "chance", parse_chance },
	{ "content-type", parse_content_type },
	{ "cut", parse_cut },
	{ "empty", parse_empty },
	{ "error", parse_error },
	{ "every", parse_every },
	{ "filler", parse_filler },
	{ "garbage", parse_garbage },
	{ "header", parse_header },
	{ "last", parse_last },
	{ "last_result", parse_last_result },
	{ "line", parse_long_line },
	{ "model", parse_model },
	{ "nth", parse_nth },
	{ "prompt", parse_prompt },
	{ "redacted_thinking", parse_redacted },
	{ "repeat", parse_repeat },
	{ "stall", parse_stall },
	{ "status", parse_status },
	{ "stop", parse_stop },
	{ "system", parse_system },
	{ "text", parse_text },
	{ "thinking", parse_thinking },
	{ "turn", parse_turn },
	{ "usage", parse_usage },
	{ 0 },
};

static int parse_latency(struct parser *p, struct err *err)
{
	return take_time(p, &p->pace->latency_ms, err);
}

static int parse_delay(struct parser *p, struct err *err)
{
	return take_time(p, &p->pace->delay_ms, err);
}

static int parse_chunk(struct parser *p, struct err *err)
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

static int parse_ping(struct parser *p, struct err *err)
{
	return take_number(p, "a number of events", &p->pace->ping_every, err);
}

static int parse_drip(struct parser *p, struct err *err)
{
	p->pace->drip = true;
	return p->rest.n ? take_time(p, &p->pace->drip_ms, err) : 0;
}

const struct statement pace_statements[] = {
	{ "chunk", parse_chunk },     { "delay", parse_delay }, { "drip", parse_drip },
	{ "latency", parse_latency }, { "ping", parse_ping },   { 0 },
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
