/* SPDX-License-Identifier: MIT
 * parse_take.c - words, numbers, strings and blocks of text out of a scenario's lines. */
#include "core/scenario/parse_int.h"
#include "lib/json/json.h"

enum { LIMIT_SIZE_MB = 1024, LIMIT_TIME_MS = 24 * 3600 * 1000 };

int parse_fail(const struct parser *p, struct err *err, const char *fmt, ...)
{
	char text[sizeof err->text];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(err, ERR_PARSE, "%s:%u: %s", p->name, p->line, text);
}

bool next_line(struct parser *p)
{
	if (!p->text.p)
		return false;
	p->rest = str_trim(str_cut(&p->text, '\n'));
	p->line++;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip(struct parser *p, size_t n)
{
	p->rest.p += n;
	p->rest.n -= n;
	while (p->rest.n && is_blank(p->rest.p[0])) {
		p->rest.p++;
		p->rest.n--;
	}
}

struct str take_word(struct parser *p)
{
	struct str word = p->rest;

	word.n = 0;
	while (word.n < p->rest.n && !is_blank(p->rest.p[word.n]))
		word.n++;
	skip(p, word.n);
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

/* Cuts a unit off the end of a number; false if what is left is no number. */
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

static bool time_value(struct str word, uint64_t *ret)
{
	bool good =
		number_with_unit(word, "ms", 1, ret) || number_with_unit(word, "s", 1000, ret) || str_to_u64(word, ret);

	return good && *ret <= LIMIT_TIME_MS;
}

int take_time(struct parser *p, struct range *ret, struct err *err)
{
	struct str word = take_word(p);
	const char *dots = word.n ? memmem(word.p, word.n, "..", 2) : NULL;
	struct str first = { word.p, dots ? (size_t)(dots - word.p) : word.n };
	struct str second = dots ? (struct str){ dots + 2, (size_t)(word.p + word.n - dots - 2) } : first;
	struct range r;

	if (!time_value(first, &r.from) || !time_value(second, &r.to) || r.to < r.from)
		return parse_fail(p, err,
				  "expected a time up to a day such as 50, 50ms, 2s or 100..300, got '" STR_FMT "'",
				  STR_ARG(word));
	*ret = r;
	return 0;
}

/* Bytes of the quoted string that begins at s, both quotes included; 0 if it has no end. */
static size_t quoted_len(struct str s)
{
	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] == '\\')
			i++;
		else if (s.p[i] == '"')
			return i + 1;
	}
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
	size_t n = quoted_len(p->rest);
	if (!n)
		return parse_fail(p, err, "the string has no closing quote");
	if (json_parse(&reader, p->rest.p, n, &value, &why) < 0)
		return parse_fail(p, err, "bad string: %s", why.text);
	*ret = arena_str(arena, json_str(value, arena));
	skip(p, n);
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
		return parse_fail(p, err, "expected a word behind <<");
	while (scan.p && !str_eq(str_trim(end), word))
		end = str_cut(&scan, '\n');
	if (!str_eq(str_trim(end), word))
		return parse_fail(p, err, "the block <<" STR_FMT " is not closed", STR_ARG(word));

	struct str indent = { end.p, 0 };
	while (is_blank(end.p[indent.n]))
		indent.n++;
	for (;;) {
		struct str line = str_cut(&p->text, '\n');
		p->line++;
		if (line.p == end.p)
			break;
		if (str_starts(line, indent))
			line = (struct str){ line.p + indent.n, line.n - indent.n };
		if (p->line > begin + 1)
			buf_addch(&b, '\n');
		buf_add(&b, line.p, line.n);
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
		return take_block(p, str_trim((struct str){ rest.p + 2, rest.n - 2 }), ret, err);
	*ret = arena_str(&p->scenario->arena, rest);
	return 0;
}

statement_fn *find_statement(const struct statement *table, struct str word)
{
	while (table->word && !str_is(word, table->word))
		table++;
	return table->parse;
}

int take_end(struct parser *p, struct err *err)
{
	if (p->rest.n)
		return parse_fail(p, err, "unexpected '" STR_FMT "'", STR_ARG(p->rest));
	return 0;
}
