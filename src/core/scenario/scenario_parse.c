/* SPDX-License-Identifier: MIT
 * scenario_parse.c - reads scenario files: lines, words, numbers, strings and blocks of text. */
#include "lib/base/utf8.h"
#include "core/scenario/parse_int.h"
#include "lib/json/json.h"

static int take_end(struct parser *p, struct err *err)
{
	if (p->rest.n)
		return parse_fail(p, err, "unexpected '" STR_FMT "'", STR_ARG(p->rest));
	return 0;
}

/* The format; docs/scenarios.md has examples.
 *
 * A scenario is UTF-8 text, at most 4 MB, read line by line. Blanks around a line, empty lines and lines that begin with
 * # are ignored. Settings come first, then rules; `rule [NAME]` begins one, the next `rule` or the end of the file ends
 * it. For each request the rules are tried in order; the first whose conditions all hold gives the answer. A request that
 * no rule wants gets status 400 with a text that says so.
 *
 *   TEXT    the rest of the line; or STRING; or <<WORD and the lines up to one that holds only WORD, from each of
 *           which the blanks in front of that last WORD are taken off. May hold {{names}} where marked * (template.c).
 *   STRING  "..." with the escapes of JSON       RANGE  3, 1-3 or 4+     SIZE  300, 64KB, 10MB
 *   TIME    50, 50ms, 2s; 100..300 is a new number in that range each time, from the seeded generator
 *   SOURCE  prompt (texts of the user message that began the exchange, the last without tool results), last (texts and
 *           tool results of the last message), system, last_result (of the last message), result:K (since the prompt)
 *
 * Settings (before the first rule):
 *   seed N                          for ids, chances and TIME ranges; default 1
 *   capacity N                      requests in flight; one more gets 429
 *   rate N                          requests a second, N at once; one more gets 429
 *   retry-after N                   seconds, in those 429; default 1
 *   cache off | cache min N         prompt cache; default on with prefixes of at least 1024 tokens
 *   allow unknown-tools             a tool_use may name a tool that the request does not offer
 * Pace (before the first rule: for all rules; in a rule: for this one):
 *   latency TIME                    before the head
 *   delay TIME                      before each event but the first
 *   chunk N [bytes|pieces]          bytes of a delta (never inside a character), or deltas of a block; default: one delta
 *   ping K                          a ping before every K-th event
 *   drip [TIME]                     one byte at a time, with that time before each
 *
 * Conditions of a rule:
 *   agent NAME                      type of the agent that asks; main is the main agent
 *   model NAME
 *   turn RANGE                      1 + the assistant messages since the prompt
 *   SOURCE contains STRING          SOURCE lacks STRING     (prompt, last, system or last_result)
 *   capture NAME SOURCE STRING word|line|until STRING
 *                                   holds if the first STRING is found; {{NAME}} is then what follows
 *   nth RANGE                       of the requests for which all of the above hold: the N-th
 *   every K                         each K-th of them
 *   chance P                        0..1, drawn last
 * Answer:
 *   text TEXT*    thinking TEXT*    redacted_thinking    call TOOL TEXT* (a JSON object)
 *   filler SIZE                     a text block of that many bytes, made as it is sent
 *   line SIZE                       the same in one event, so in one line
 *   repeat N BLOCK                  BLOCK is one of the six above; {{i}} counts from 1
 *   empty                           no blocks
 *   stop REASON                     end_turn, tool_use, max_tokens, pause_turn, model_context_window_exceeded,
 *                                   stop_sequence STRING, refusal [CATEGORY [STRING]]
 *   block TEXT*                     a whole content block as a JSON object, for what the server itself does
 *   usage [input=N] [output=N] [cache_read=N] [cache_write=N] [searches=N]
 * Faults:
 *   status N [TYPE [STRING]]        error of that status; TYPE and text are optional
 *   header NAME: VALUE              any number, also of good answers
 *   content-type VALUE
 *   body TEXT                       sent as it stands instead of an answer (or as the body of `status`)
 *   garbage SIZE                    that many random bytes instead of an answer
 *   cut PLACE                       the connection ends there; `cut at byte 0`: before the head
 *   stall PLACE                     nothing more is sent
 *   error TYPE [STRING] PLACE       an error event, then the end
 *   PLACE: at byte N | after event K | after call K (the K-th tool_use block is complete) */

enum { LIMIT_BYTES = 4 << 20, DEFAULT_CACHE_MIN_TOKENS = 1024 };

/* A number or size of 0 in a rule means that the value was not given, so it cannot be given. */
int parse_value(struct parser *p, const struct statement *s, struct err *err)
{
	char *const bases[] = {
		[OF_SCENARIO] = (char *)p->scenario, [OF_RULE] = (char *)p->rule, [OF_PACE] = (char *)p->pace
	};
	void *value = bases[s->base] + s->offset;
	int rc = 0;

	switch ((enum value_kind)s->kind) {
	case VALUE_NUMBER:
		rc = take_number(p, s->what, value, err);
		break;
	case VALUE_SIZE:
		rc = take_size(p, value, err);
		break;
	case VALUE_RANGE:
		return take_range(p, value, err);
	case VALUE_TIME:
		return take_time(p, value, err);
	case VALUE_TEXT:
		return take_text(p, value, err);
	case VALUE_SWITCH:
		*(bool *)value = true;
		return 0;
	}
	if (rc == 0 && s->base == OF_RULE && !*(uint64_t *)value)
		return parse_fail(p, err, "'%s' needs at least 1", s->word);
	return rc;
}

static int parse_cache(struct parser *p, const struct statement *s, struct err *err)
{
	p->scenario->cache = !take_given(p, "off");
	if (!p->scenario->cache)
		return 0;
	if (!take_given(p, "min"))
		return parse_fail(p, err, "expected 'off' or 'min N'");
	return take_number(p, "a number of tokens", &p->scenario->cache_min_tokens, err);
}

/* The one word that may follow switches the value on. */
static int parse_given(struct parser *p, const struct statement *s, struct err *err)
{
	if (!take_given(p, s->what))
		return parse_fail(p, err, "expected '%s'", s->what);
	*(bool *)((char *)p->scenario + s->offset) = true;
	return 0;
}

static const struct statement settings[] = {
	{ "allow", parse_given, 0, offsetof(struct scenario, unknown_tools), "unknown-tools", OF_SCENARIO },
	{ "cache", parse_cache, 0, 0, NULL, 0 },
	{ "capacity", parse_value, VALUE_NUMBER, offsetof(struct scenario, capacity), "a number of requests in flight",
	  OF_SCENARIO },
	{ "rate", parse_value, VALUE_NUMBER, offsetof(struct scenario, rate_per_s), "a number of requests a second",
	  OF_SCENARIO },
	{ "require", parse_given, 0, offsetof(struct scenario, sealed), "reasoning", OF_SCENARIO },
	{ "retry-after", parse_value, VALUE_NUMBER, offsetof(struct scenario, retry_after_s), "a number of seconds",
	  OF_SCENARIO },
	{ "seed", parse_value, VALUE_NUMBER, offsetof(struct scenario, seed), "a number", OF_SCENARIO },
	{ 0 },
};

const struct statement *find_statement(const struct statement *table, struct str word)
{
	while (table->word && !str_is(word, table->word))
		table++;
	return table->word ? table : NULL;
}

static int begin_rule(struct parser *p, struct err *err)
{
	struct scenario *s = p->scenario;
	int rc = rule_check(p, err);

	if (rc < 0)
		return rc;
	struct rule *rule =
		arena_new(&s->arena, struct rule, .index = s->rule_count++, .name = arena_str(&s->arena, p->rest),
			  .line = p->line, .chance = -1, .usage = { -1, -1, -1, -1, -1 }, .pace = s->pace);
	p->rest.n = 0;

	*p->next_rule = p->rule = rule;
	p->next_rule = &rule->next;
	p->pace = &rule->pace;
	p->next_block = &rule->blocks;
	return 0;
}

static int parse_line(struct parser *p, struct err *err)
{
	struct str word = take_word(p);
	int rc;

	if (str_is(word, "rule")) {
		rc = begin_rule(p, err);
	} else {
		const struct statement *s = find_statement(pace_statements, word);
		if (!s)
			s = find_statement(p->rule ? rule_statements : settings, word);
		if (!s && !p->rule && find_statement(rule_statements, word))
			return parse_fail(p, err, "'" STR_FMT "' belongs into a rule", STR_ARG(word));
		if (!s && p->rule && find_statement(settings, word))
			return parse_fail(p, err, "'" STR_FMT "' must stand before the first rule", STR_ARG(word));
		if (!s)
			return parse_fail(p, err, "unknown word '" STR_FMT "'", STR_ARG(word));
		rc = s->parse(p, s, err);
	}
	return rc < 0 ? rc : take_end(p, err);
}

int scenario_parse(const char *name, struct str text, struct scenario **ret_scenario, struct err *err)
{
	if (text.n > LIMIT_BYTES)
		return err_set(err, ERR_LIMIT, "%s: a scenario has at most %d bytes", name, LIMIT_BYTES);
	if (!text.n)
		return err_set(err, ERR_PARSE, "%s:1: the scenario has no rule", name);
	if (!utf8_valid(text) || memchr(text.p, '\0', text.n))
		return err_set(err, ERR_PARSE, "%s: a scenario is UTF-8 text without NUL", name);

	struct scenario *s = xnew(struct scenario, .seed = 1, .retry_after_s = 1, .cache = true,
				  .cache_min_tokens = DEFAULT_CACHE_MIN_TOKENS);
	struct parser p = { .name = name, .text = text, .scenario = s, .pace = &s->pace, .next_rule = &s->rules };
	int rc = 0;
	while (rc == 0 && p.text.p) {
		p.rest = str_trim(str_cut(&p.text, '\n'));
		p.line++;
		if (p.rest.n && p.rest.p[0] != '#')
			rc = parse_line(&p, err);
	}
	if (rc == 0)
		rc = p.rule ? rule_check(&p, err) : parse_fail(&p, err, "the scenario has no rule");
	if (rc < 0) {
		scenario_free(s);
		return rc;
	}
	*ret_scenario = s;
	return 0;
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
}

/* Words, numbers, strings and blocks of text out of a scenario's lines. */

enum { LIMIT_SIZE_MB = 1024, LIMIT_TIME_MS = 24 * 3600 * 1000 };

int parse_fail(const struct parser *p, struct err *err, const char *fmt, ...)
{
	char text[sizeof err->text];

	PRINT_ARGS(text, fmt);
	return err_set(err, ERR_PARSE, "%s:%u: %s", p->name, p->line, text);
}

static void skip_bytes(struct parser *p, size_t n)
{
	p->rest.p += n;
	p->rest.n -= n;
	while (p->rest.n && (p->rest.p[0] == ' ' || p->rest.p[0] == '\t')) {
		p->rest.p++;
		p->rest.n--;
	}
}

struct str take_word(struct parser *p)
{
	struct str word = p->rest;

	word.n = 0;
	while (word.n < p->rest.n && !char_in(p->rest.p[word.n], " \t"))
		word.n++;
	skip_bytes(p, word.n);
	return word;
}

bool take_given(struct parser *p, const char *word)
{
	struct parser before = *p;

	if (str_is(take_word(p), word))
		return true;
	*p = before;
	return false;
}

int take_name(struct parser *p, const char *what, struct str *ret, struct err *err)
{
	struct str word = take_word(p);

	if (!word.n)
		return parse_fail(p, err, "expected %s", what);
	*ret = arena_str(&p->scenario->arena, word);
	return 0;
}

int take_number(struct parser *p, const char *what, uint64_t *ret, struct err *err)
{
	struct str word = take_word(p);

	if (!str_to_u64(word, ret))
		return parse_fail(p, err, "expected %s, got '" STR_FMT "'", what, STR_ARG(word));
	return 0;
}

/* Cuts a unit off the end of a number; false if the rest is not a number. */
static bool number_with_unit(struct str word, const char *unit, uint64_t factor, uint64_t *ret)
{
	struct str suffix = str_from(unit);

	if (!str_ends(word, suffix))
		return false;
	word.n -= suffix.n;
	if (!str_to_u64(word, ret) || *ret > UINT64_MAX / factor)
		return false;
	*ret *= factor;
	return true;
}

int take_size(struct parser *p, uint64_t *ret, struct err *err)
{
	struct str word = take_word(p);
	uint64_t size;

	if (!number_with_unit(word, "MB", 1 << 20, &size) && !number_with_unit(word, "KB", 1 << 10, &size) &&
	    !str_to_u64(word, &size))
		return parse_fail(p, err, "expected a size such as 300, 64KB or 10MB, got '" STR_FMT "'",
				  STR_ARG(word));
	if (size > (uint64_t)LIMIT_SIZE_MB << 20)
		return parse_fail(p, err, "a size is at most %dMB", LIMIT_SIZE_MB);
	*ret = size;
	return 0;
}

int take_range(struct parser *p, struct range *ret, struct err *err)
{
	struct str word = take_word(p);
	bool open = str_ends(word, STR("+"));
	struct str last = { word.p, word.n - open };
	struct str first = open ? last : str_cut(&last, '-');
	struct range r = { 0, UINT64_MAX };
	bool good = str_to_u64(first, &r.from) && (open || str_to_u64(last.p ? last : first, &r.to));

	if (!good || r.from == 0 || r.to < r.from)
		return parse_fail(p, err, "expected a number from 1 as 3, 1-3 or 4+, got '" STR_FMT "'", STR_ARG(word));
	*ret = r;
	return 0;
}

static bool to_milliseconds(struct str word, uint64_t *ret)
{
	return (number_with_unit(word, "ms", 1, ret) || number_with_unit(word, "s", 1000, ret) ||
		str_to_u64(word, ret)) &&
	       *ret <= LIMIT_TIME_MS;
}

int take_time(struct parser *p, struct range *ret, struct err *err)
{
	struct str word = take_word(p);
	const char *dots = word.n ? memmem(word.p, word.n, "..", 2) : NULL;
	struct str first = { word.p, dots ? (size_t)(dots - word.p) : word.n };
	struct str second = dots ? (struct str){ dots + 2, (size_t)(word.p + word.n - dots - 2) } : first;
	struct range r;

	if (!to_milliseconds(first, &r.from) || !to_milliseconds(second, &r.to) || r.to < r.from)
		return parse_fail(p, err,
				  "expected a time up to a day such as 50, 50ms, 2s or 100..300, got '" STR_FMT "'",
				  STR_ARG(word));
	*ret = r;
	return 0;
}

int take_string(struct parser *p, struct str *ret, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct arena *arena = &p->scenario->arena;
	const struct json *value;
	struct err why;

	if (!p->rest.n || p->rest.p[0] != '"')
		return parse_fail(p, err, "expected a string in quotes");
	size_t n = 1; /* up to the closing quote */
	while (n < p->rest.n && p->rest.p[n] != '"')
		n += p->rest.p[n] == '\\' ? 2 : 1;
	if (++n > p->rest.n)
		return parse_fail(p, err, "the string has no closing quote");
	if (json_parse(&reader, p->rest.p, n, &value, &why) < 0)
		return parse_fail(p, err, "bad string: %s", why.text);
	*ret = arena_str(arena, json_str(value, arena));
	skip_bytes(p, n);
	return 0;
}

/* The lines up to one that holds only the word. What the closing line is indented by is taken off each line. */
static int take_block(struct parser *p, struct str word, struct str *ret, struct err *err)
{
	AUTO_BUF struct buf b = { 0 };
	const unsigned begin = p->line;
	struct str end = { 0 };
	struct str scan = p->text;

	if (!word.n)
		return parse_fail(p, err, "expected a word after <<");
	while (scan.p && !str_eq(str_trim(end), word))
		end = str_cut(&scan, '\n');
	if (!str_eq(str_trim(end), word))
		return parse_fail(p, err, "the block <<" STR_FMT " is not closed", STR_ARG(word));

	struct str indent = { end.p, 0 };
	while (end.p[indent.n] == ' ' || end.p[indent.n] == '\t')
		indent.n++;
	for (;;) {
		struct str line = str_cut(&p->text, '\n');
		p->line++;
		if (line.p == end.p)
			break;
		if (str_starts(line, indent))
			line = str_tail(line, indent.n);
		if (p->line > begin + 1)
			buf_addch(&b, '\n');
		buf_append(&b, line);
	}
	*ret = arena_str(&p->scenario->arena, buf_str(&b));
	return 0;
}

int take_text(struct parser *p, struct str *ret, struct err *err)
{
	struct str rest = p->rest;

	if (!rest.n)
		return parse_fail(p, err, "expected text");
	if (rest.p[0] == '"') {
		int rc = take_string(p, ret, err);
		return rc < 0 ? rc : take_end(p, err);
	}
	p->rest.n = 0;
	if (str_starts(rest, STR("<<")))
		return take_block(p, str_trim(str_tail(rest, 2)), ret, err);
	*ret = arena_str(&p->scenario->arena, rest);
	return 0;
}
