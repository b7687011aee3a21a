/* SPDX-License-Identifier: MIT
 * test_oracle.c - our reader against jansson on thousands of mutated documents: both take or refuse, and what
 * they take has the same values. These differences are known and wanted; each must show itself in the
 * document to be excused:
 *
 *   lone surrogates   \ud800 without its other half: we take it (U+FFFD when decoded), jansson calls it a
 * syntax error large integers    outside int64 (uint64 too): we keep the digits, jansson refuses large reals
 * 1e999: we keep the text, jansson refuses NUL in a key      \u0000: we take it, jansson refuses; in values
 * jansson takes it if told to, as it is here depth             we stop at 512 levels, jansson at 2048: the
 * documents here are flatter than both
 *
 * In the other direction there is one: a raw NUL byte behind a number is overlooked by jansson (its lexer
 * steps back onto the NUL and takes it for the end of its small buffer); we refuse every raw NUL. */
#include "unit.h"
#include <math.h>
#include "test_json.h"

enum { MUTATIONS = 50000 };

static const struct str seeds[] = {
	STR("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"
	    "\"Hello\"}}"),
	STR("[1,-2,3.25,-0,0.0,1e5,1E-7,2.5e+3,9223372036854775807,-9223372036854775808,1e308]"),
	STR("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\",\"\\u0000\"]"),
	STR("{\"gr\xc3\xbc\xc3\x9f\":\"\xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf "
	    "\xef\xbf\xbf\",\"\\u00fc\":{\"\":[]}}"),
	STR(" [ true , false , null , { } , [ ] , [[[[]]]] ] \n"),
	STR("{\"a\":1,\"a\":2,\"b\":{\"a\":[{\"a\":\"b\"},{\"b\":\"a\"}]},\"a\":3}"),
	STR("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01\","
	    "\"content\":"
	    "\"     1\\tint main(void)\\n     2\\t{\\n     3\\t\\treturn 0;\\n     "
	    "4\\t}\\n\",\"is_error\":false}]}"),
	STR("\"a string that is longer than one block of sixteen bytes, with \\\"quotes\\\" and \xc3\xa4\""),
};

static const struct str tokens[] = {
	STR("{"),
	STR("}"),
	STR("["),
	STR("]"),
	STR(","),
	STR(":"),
	STR("\""),
	STR("\\"),
	STR("\\u"),
	STR("\\ud83d"),
	STR("\\ude00"),
	STR("\\u0000"),
	STR("\xc3"),
	STR("\xa9"),
	STR("\xed\xa0\x80"),
	STR("\xf0\x90\x80\x80"),
	STR("0"),
	STR("-"),
	STR("."),
	STR("e"),
	STR("9"),
	STR("1e999"),
	STR("18446744073709551615"),
	STR("true"),
	STR("nul"),
	STR("null"),
	STR(" "),
	STR("\n"),
	STR("\t"),
	STR("\0"),
	STR("\x1f"),
	STR("\x7f"),
	STR("\"a\":"),
	STR(",\"a\":1"),
	STR("[]"),
	STR("/"),
};

static uint64_t random_state;

static size_t pick(size_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % below);
}

static void splice(struct buf *b, size_t at, size_t drop, struct str with)
{
	AUTO_BUF struct buf out = { 0 };

	buf_add(&out, b->p, at);
	buf_add(&out, with.p, with.n);
	buf_add(&out, b->p + at + drop, b->n - at - drop);
	struct buf old = *b;
	*b = out;
	out = old;
}

static void mutate(struct buf *b)
{
	size_t at = pick(b->n + 1), left = b->n - at, few = pick(8), some = MIN(left, few);
	struct str token = tokens[pick(COUNT_OF(tokens))];

	switch (pick(6)) {
	case 0:
		splice(b, at, 0, token);
		break;
	case 1:
		splice(b, at, MIN(left, token.n), token);
		break;
	case 2:
		splice(b, at, some, STR(""));
		break;
	case 3: {
		AUTO_FREE char *copy = xstrndup(b->p + at, some);
		splice(b, pick(b->n + 1), 0, (struct str){ copy, some });
		break;
	}
	case 4:
		splice(b, at, MIN(left, 1u), (struct str){ (char[]){ (char)pick(256) }, 1 });
		break;
	case 5:
		splice(b, at, pick(8) ? 0 : left, STR(""));
		break;
	}
}

static bool seen_before(const struct json *object, const struct json *key, struct str name, struct arena *arena)
{
	for (struct json_member m = json_members(object); m.key && m.key != key; m = json_member_next(object, m)) {
		if (str_eq(json_str(m.key, arena), name))
			return true;
	}
	return false;
}

static void dump_value(struct buf *out, const struct json *v, struct arena *arena);

/* jansson keeps the place of the first of equal keys and the value of the last. */
static void dump_object(struct buf *out, const struct json *v, struct arena *arena)
{
	AUTO_BUF struct buf members = { 0 };
	size_t count = 0;

	for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
		struct str name = json_str(m.key, arena);
		if (seen_before(v, m.key, name, arena))
			continue;
		count++;
		buf_addf(&members, STR_FMT "=", STR_ARG(name));
		dump_value(&members, json_get_str(v, name), arena);
	}
	buf_addf(out, "object %zu ", count);
	buf_add(out, members.p, members.n);
}

static bool is_real(const struct json *v)
{
	return memchr(v->text, '.', v->len) || memchr(v->text, 'e', v->len) || memchr(v->text, 'E', v->len);
}

static void dump_number(struct buf *out, const struct json *v)
{
	int64_t i;

	if (!is_real(v) && json_i64(v, &i))
		buf_addf(out, "int %lld ", (long long)i);
	else
		buf_addf(out, "real %a ", json_double(v));
}

static void dump_value(struct buf *out, const struct json *v, struct arena *arena)
{
	struct str s = json_str(v, arena);

	switch ((enum json_type)v->type) {
	case JSON_NULL:
		buf_addstr(out, "null ");
		break;
	case JSON_TRUE:
		buf_addstr(out, "true ");
		break;
	case JSON_FALSE:
		buf_addstr(out, "false ");
		break;
	case JSON_NUMBER:
		dump_number(out, v);
		break;
	case JSON_STRING:
		buf_addf(out, "string %zu ", s.n);
		buf_add(out, s.p, s.n);
		break;
	case JSON_ARRAY:
		buf_addf(out, "array %u ", v->count);
		for (const struct json *e = json_first(v); e; e = json_next(v, e))
			dump_value(out, e, arena);
		break;
	case JSON_OBJECT:
		dump_object(out, v, arena);
		break;
	}
}

/* The unit of a \u escape at p, or -1. */
static long escaped_unit(const char *p, const char *end)
{
	char digits[5] = { 0 };

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	memcpy(digits, p + 2, 4);
	return strtol(digits, NULL, 16);
}

static bool has_lone_surrogate(const struct json *v)
{
	const char *end = v->text + v->len;

	for (const char *p = v->text; p < end; p += *p == '\\' ? 2 : 1) {
		long unit = escaped_unit(p, end), next = unit >= 0 ? escaped_unit(p + 6, end) : -1;
		if (unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff)
			p += 10;
		else if (unit >= 0xd800 && unit <= 0xdfff)
			return true;
	}
	return false;
}

static bool is_large(const struct json *v)
{
	int64_t i;

	return is_real(v) ? isinf(json_double(v)) : !json_i64(v, &i);
}

/* True if the document has what jansson gives as its reason. */
static bool excused(const struct doc *d, enum oracle_reason reason, struct arena *arena)
{
	for (const struct json *v = d->root; v < d->root + d->root->span; v++) {
		if (reason == ORACLE_NUMBER && json_is(v, JSON_NUMBER) && is_large(v))
			return true;
		if (reason == ORACLE_SYNTAX && json_is(v, JSON_STRING) && has_lone_surrogate(v))
			return true;
		if (reason == ORACLE_NUL_IN_KEY && json_is(v, JSON_STRING) && !json_cstr(v, arena))
			return true;
	}
	return false;
}

/* Returns whether both took it. */
static bool compare(struct str text)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf ours = { 0 }, theirs = { 0 };
	enum oracle_reason reason = 0;
	AUTO_DOC struct doc d = doc_parse(text);
	bool taken = oracle_dump(text, &theirs, &reason) == 0;

	if (d.rc < 0 && taken && !memchr(text.p, '\0', text.n))
		fail_msg("only we refuse " STR_FMT ": %s", STR_ARG(text), d.err.text);
	if (d.rc == 0 && !taken && !excused(&d, reason, &arena))
		fail_msg("only we take " STR_FMT, STR_ARG(text));
	if (!taken || d.rc < 0)
		return false;
	dump_value(&ours, d.root, &arena);
	if (!str_eq(buf_str(&ours), buf_str(&theirs)))
		fail_msg("we read " STR_FMT "\n as %s\nnot %s", STR_ARG(text), ours.p, theirs.p);
	return true;
}

TEST(mutated_documents_are_read_as_jansson_reads_them)
{
	unsigned taken = 0;

	random_state = 0x9e3779b97f4a7c15u;
	for (size_t i = 0; i < COUNT_OF(seeds); i++)
		CHECK(compare(seeds[i]));
	for (unsigned i = 0; i < MUTATIONS; i++) {
		AUTO_BUF struct buf text = { 0 };
		struct str seed = seeds[pick(COUNT_OF(seeds))];
		buf_add(&text, seed.p, seed.n);
		for (size_t changes = 1 + pick(3); changes; changes--)
			mutate(&text);
		taken += compare(buf_str(&text));
	}

	/* Both outcomes must be common, or the mutations test one side only. */
	CHECK(taken > MUTATIONS / 10 && taken < MUTATIONS * 9 / 10);
}

TEST(the_known_differences_to_jansson_are_as_listed)
{
	static const struct {
		struct str text;
		enum oracle_reason reason;
	} table[] = {
		{ STR("\"\\ud800\""), ORACLE_SYNTAX },
		{ STR("[\"\\udc00\\ud800\"]"), ORACLE_SYNTAX },
		{ STR("9223372036854775808"), ORACLE_NUMBER },
		{ STR("-9223372036854775809"), ORACLE_NUMBER },
		{ STR("1e999"), ORACLE_NUMBER },
		{ STR("{\"a\\u0000\":1}"), ORACLE_NUL_IN_KEY },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		AUTO_BUF struct buf theirs = { 0 };
		enum oracle_reason reason = 0;
		AUTO_DOC struct doc d = doc_parse(table[i].text);
		CHECK_INT(d.rc, 0);
		CHECK_INT(oracle_dump(table[i].text, &theirs, &reason), -1);
		CHECK_INT(reason, table[i].reason);
		CHECK(excused(&d, reason, &arena));
	}
}

TEST(a_raw_nul_behind_a_number_is_refused_though_jansson_takes_it)
{
	AUTO_BUF struct buf theirs = { 0 };
	enum oracle_reason reason = 0;
	AUTO_DOC struct doc d = doc_parse(STR("[1\0]"));

	CHECK_INT(oracle_dump(STR("[1\0]"), &theirs, &reason), 0);
	CHECK_INT(d.rc, -ERR_PARSE);
}

int test_oracle(void)
{
	return RUN_TESTS(T(mutated_documents_are_read_as_jansson_reads_them),
			 T(the_known_differences_to_jansson_are_as_listed),
			 T(a_raw_nul_behind_a_number_is_refused_though_jansson_takes_it));
}
