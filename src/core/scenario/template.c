/* SPDX-License-Identifier: MIT
 * template.c - text with {{names}} in it: cut into pieces when the scenario is read, filled in when an answer is
 * made. */
#include "lib/json/json.h"
#include "core/scenario/parse_int.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "core/scenario/engine_int.h"

/* Text with {{names}} in it, cut into pieces when the scenario is read. */

/* {{n}} {{i}} {{turn}} {{request}}      numbers: matches of the rule, place in a repeat, turn, request
 *     {{agent}} {{model}}
 *     {{prompt}} {{last}} {{system}} {{last_result}} {{result:K}}   texts of the request
 *     {{lines:last_result}} {{lines:result:K}} ...                  how many lines such a text has
 *     {{NAME}}                              what `capture NAME` of the same rule found
 *     {{open}}                              two opening braces
 *     {{...|N}}                             cut after at most N bytes, between characters
 *
 * Two braces that no small letter follows are plain text, so JSON needs no escapes; an unknown name is an error. In JSON
 * a text may stand inside strings only and is escaped there; a number may stand anywhere. There is no way to the
 * environment. */

struct splitter {
	struct parser *p;
	struct piece **next;
	bool json;
	bool quoted;       /* inside a JSON string */
	struct buf sample; /* JSON: the text with an example in the place of each value */
};

static struct piece *add_piece(struct splitter *s, enum piece_kind kind)
{
	struct piece *piece = arena_new(&s->p->scenario->arena, struct piece, .kind = kind, .quoted = s->quoted);

	*s->next = piece;
	s->next = &piece->next;
	return piece;
}

static void add_literal(struct splitter *s, struct str text)
{
	if (!text.n)
		return;
	add_piece(s, PIECE_LITERAL)->text = text;
	if (!s->json)
		return;
	buf_append(&s->sample, text);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\\' && s->quoted)
			i++;
		else if (text.p[i] == '"')
			s->quoted = !s->quoted;
	}
}

static const struct {
	const char *name;
	enum piece_kind kind;
} plain_names[] = {
	{ "agent", PIECE_AGENT },     { "i", PIECE_I },       { "model", PIECE_MODEL }, { "n", PIECE_N },
	{ "request", PIECE_REQUEST }, { "turn", PIECE_TURN },
};

int parse_source(struct parser *p, struct str word, struct source *ret, struct err *err)
{
	static const struct {
		const char *name;
		enum source_kind kind;
	} names[] = {
		{ "prompt", SOURCE_PROMPT },
		{ "last", SOURCE_LAST },
		{ "system", SOURCE_SYSTEM },
		{ "last_result", SOURCE_LAST_RESULT },
	};
	struct str rest = word;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (str_is(word, names[i].name)) {
			*ret = (struct source){ .kind = names[i].kind };
			return 0;
		}
	}
	*ret = (struct source){ .kind = SOURCE_RESULT };
	if (str_is(str_cut(&rest, ':'), "result") && rest.p && str_to_u64(rest, &ret->index) && ret->index)
		return 0;
	return parse_fail(p, err, "expected prompt, last, system, last_result or result:K, got '" STR_FMT "'",
			  STR_ARG(word));
}

static int resolve_name(struct splitter *s, struct str name, struct piece *piece, struct err *err)
{
	struct err ignored;

	for (size_t i = 0; i < COUNT_OF(plain_names); i++) {
		if (str_is(name, plain_names[i].name)) {
			piece->kind = plain_names[i].kind;
			return 0;
		}
	}
	if (str_is(name, "open")) {
		piece->kind = PIECE_LITERAL;
		piece->text = STR("{{");
		return 0;
	}
	piece->capture = s->p->rule ? s->p->rule->captures : NULL;
	while (piece->capture && !str_eq(piece->capture->name, name))
		piece->capture = piece->capture->next;
	if (piece->capture) {
		piece->kind = PIECE_CAPTURE;
		return 0;
	}
	if (str_starts(name, STR("lines:"))) {
		piece->kind = PIECE_LINES;
		return parse_source(s->p, str_tail(name, 6), &piece->source, err);
	}
	piece->kind = PIECE_SOURCE;
	if (parse_source(s->p, name, &piece->source, &ignored) < 0)
		return parse_fail(s->p, err, "unknown name {{" STR_FMT "}}", STR_ARG(name));
	return 0;
}

static int add_value(struct splitter *s, struct str inside, struct err *err)
{
	struct str rest = inside;
	struct str name = str_cut(&rest, '|');
	struct piece *piece = add_piece(s, PIECE_LITERAL);
	uint64_t limit = 0;

	if (rest.p && (!str_to_u64(rest, &limit) || !limit))
		return parse_fail(s->p, err, "expected a number of bytes after | in {{" STR_FMT "}}", STR_ARG(inside));
	piece->limit_bytes = limit;
	int rc = resolve_name(s, name, piece, err);
	if (rc < 0)
		return rc;
	bool number = piece->kind == PIECE_N || piece->kind == PIECE_I || piece->kind == PIECE_TURN ||
		      piece->kind == PIECE_REQUEST || piece->kind == PIECE_LINES;
	if (s->json && !s->quoted && !number)
		return parse_fail(s->p, err, "{{" STR_FMT "}} is text and must stand inside a JSON string",
				  STR_ARG(inside));
	buf_addch(&s->sample, '0');
	return 0;
}

static int split_text(struct splitter *s, struct str text, struct err *err)
{
	const char *end = text.p + text.n, *at = text.p;

	for (const char *open = at; (open = memmem(open, (size_t)(end - open), "{{", 2));) {
		if (open + 2 == end || open[2] < 'a' || open[2] > 'z') {
			open++; /* plain text */
			continue;
		}
		const char *close = memmem(open + 2, (size_t)(end - open - 2), "}}", 2);
		if (!close)
			return parse_fail(s->p, err, "{{ without }}");
		add_literal(s, str_between(at, open));
		int rc = add_value(s, (struct str){ open + 2, (size_t)(close - open - 2) }, err);
		if (rc < 0)
			return rc;
		open = at = close + 2;
	}
	add_literal(s, str_between(at, end));
	return 0;
}

int template_parse(struct parser *p, struct str text, bool json, struct text_template *ret, struct err *err)
{
	struct text_template t = { 0 };
	struct splitter s = { .p = p, .next = &t.pieces, .json = json };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;
	struct err why;

	int rc = split_text(&s, text, err);
	if (rc == 0 && json && json_parse(&reader, buf_str(&s.sample).p, s.sample.n, &root, &why) < 0)
		rc = parse_fail(p, err, "bad JSON: %s", why.text);
	else if (rc == 0 && json && !json_is(root, JSON_OBJECT))
		rc = parse_fail(p, err, "the input of a call must be a JSON object");
	buf_release(&s.sample);
	if (rc < 0)
		return rc;
	t.constant = !t.pieces || (!t.pieces->next && t.pieces->kind == PIECE_LITERAL);
	*ret = t;
	return 0;
}

static struct str source_text(const struct asking *a, struct source source)
{
	struct texts texts = request_texts(a->request, source, &a->engine->scratch);

	/* With a newline between two. */
	AUTO_BUF struct buf b = { 0 };
	if (texts.n == 1)
		return texts.items[0];
	for (size_t i = 0; i < texts.n; i++) {
		if (i)
			buf_addch(&b, '\n');
		buf_append(&b, texts.items[i]);
	}
	return arena_str(&a->engine->scratch, buf_str(&b));
}

static uint64_t count_lines(struct str s)
{
	uint64_t lines = 0;

	if (str_ends(s, STR("\n")))
		s.n--;
	for (struct str rest = s; s.n && rest.p; lines++)
		(void)str_cut(&rest, '\n');
	return lines;
}

static struct str number_text(const struct asking *a, uint64_t number)
{
	return str_from(arena_printf(&a->engine->scratch, "%llu", (unsigned long long)number));
}

static struct str value_of(const struct asking *a, const struct piece *piece)
{
	switch (piece->kind) {
	case PIECE_LITERAL:
		return piece->text;
	case PIECE_N:
		return number_text(a, a->n);
	case PIECE_I:
		return number_text(a, a->i);
	case PIECE_TURN:
		return number_text(a, a->request->turn);
	case PIECE_REQUEST:
		return number_text(a, a->number);
	case PIECE_LINES:
		return number_text(a, count_lines(source_text(a, piece->source)));
	case PIECE_AGENT:
		return a->ask->agent.n ? a->ask->agent : STR("main");
	case PIECE_MODEL:
		return a->request->model;
	case PIECE_SOURCE:
		return source_text(a, piece->source);
	case PIECE_CAPTURE:
		for (const struct captured *c = a->captured; c; c = c->next)
			if (c->capture == piece->capture)
				return c->text;
		break;
	}
	return STR("");
}

void expand(const struct asking *a, const struct text_template *t, struct buf *out)
{
	for (const struct piece *piece = t->pieces; piece; piece = piece->next) {
		struct str value = value_of(a, piece);
		if (piece->limit_bytes)
			value = utf8_cut(value, piece->limit_bytes);
		if (piece->quoted && piece->kind != PIECE_LITERAL)
			json_add_escaped(out, value);
		else
			buf_append(out, value);
	}
}
