/* SPDX-License-Identifier: MIT
 * frontmatter_yaml.c - a YAML mapping as fields, by libyaml's events.
 *
 * Two things differ from YAML. Anchors, aliases and tags are text as they stand: a file like this does not mean
 * them, and aliases that expand are a way to fill memory. And the prose of a plain name or description is read
 * from the source, because YAML would cut it at ` #x` and drop `!x`. */
#include "config/catalog/frontmatter_int.h"
#include <yaml.h>
#include "lib/json/json_write.h"

struct yaml {
	struct fm_reader *r;
	struct str text;
	yaml_parser_t parser;
	yaml_event_t event;
	bool block; /* the mapping at the top is written in lines */
	const char *why;
	size_t index, byte; /* how far mark_offset() has come: libyaml counts characters */
	unsigned line;
};

static bool give_up(struct yaml *y, const char *why)
{
	y->why = why;
	return false;
}

static bool next_event(struct yaml *y)
{
	yaml_event_delete(&y->event);
	return yaml_parser_parse(&y->parser, &y->event) || give_up(y, y->parser.problem);
}

/* The byte of a mark. Marks are asked for in the order of the text. */
static size_t mark_offset(struct yaml *y, const yaml_mark_t *mark)
{
	while (y->index < mark->index && y->byte < y->text.n) {
		y->line += y->text.p[y->byte] == '\n';
		y->byte++;
		while (y->byte < y->text.n && ((unsigned char)y->text.p[y->byte] & 0xc0) == 0x80)
			y->byte++;
		y->index++;
	}
	return y->byte;
}

static struct str event_source(struct yaml *y)
{
	size_t from = mark_offset(y, &y->event.start_mark), to = mark_offset(y, &y->event.end_mark);

	return str_trim((struct str){ y->text.p + from, to - from });
}

static bool has_sigil(const yaml_event_t *e)
{
	return e->type == YAML_ALIAS_EVENT ||
	       (e->type == YAML_SCALAR_EVENT && (e->data.scalar.anchor || e->data.scalar.tag));
}

static bool is_json_number(struct str s)
{
	size_t i = s.n && s.p[0] == '-', digits = i;

	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	if (i == digits || (s.p[digits] == '0' && i > digits + 1) || i > 30)
		return false;
	if (i < s.n && s.p[i] == '.') {
		size_t fraction = ++i;
		while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
			i++;
		if (i == fraction)
			return false;
	}
	return i == s.n;
}

static void put_plain(struct json_out *w, struct str s)
{
	if (!s.n || str_is(s, "~") || str_is(s, "null") || str_is(s, "Null") || str_is(s, "NULL"))
		json_put_null(w);
	else if (str_is(s, "true") || str_is(s, "True") || str_is(s, "TRUE"))
		json_put_bool(w, true);
	else if (str_is(s, "false") || str_is(s, "False") || str_is(s, "FALSE"))
		json_put_bool(w, false);
	else if (is_json_number(s))
		json_put_raw(w, s);
	else
		json_put_str(w, s);
}

static struct str scalar_text(const yaml_event_t *e)
{
	return (struct str){ (const char *)e->data.scalar.value, e->data.scalar.length };
}

static bool put_value(struct yaml *y, struct json_out *w);

static bool put_map(struct yaml *y, struct json_out *w)
{
	json_open(w, '{');
	for (;;) {
		if (!next_event(y))
			return false;
		if (y->event.type == YAML_MAPPING_END_EVENT)
			break;
		if (y->event.type != YAML_SCALAR_EVENT)
			return give_up(y, "a key is not a word");
		json_key_str(w, has_sigil(&y->event) ? event_source(y) : scalar_text(&y->event));
		if (!next_event(y) || !put_value(y, w))
			return false;
	}
	json_close(w);
	return true;
}

static bool put_value(struct yaml *y, struct json_out *w)
{
	if (w->depth >= FRONTMATTER_LIMIT_DEPTH)
		return give_up(y, "values are nested too deeply");
	switch (y->event.type) {
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
		if (has_sigil(&y->event))
			json_put_str(w, event_source(y));
		else if (y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			put_plain(w, scalar_text(&y->event));
		else
			json_put_str(w, scalar_text(&y->event));
		return true;
	case YAML_SEQUENCE_START_EVENT:
		json_open(w, '[');
		for (;;) {
			if (!next_event(y))
				return false;
			if (y->event.type == YAML_SEQUENCE_END_EVENT)
				break;
			if (!put_value(y, w))
				return false;
		}
		json_close(w);
		return true;
	case YAML_MAPPING_START_EVENT:
		return put_map(y, w);
	default:
		return give_up(y, "a value is missing");
	}
}

/* Prose from behind the colon to the end of the line on which YAML sees it end. `description:` above a line such as
 * `Use it when: ...` makes a map of it, but the author meant the words. */
static bool put_prose(struct yaml *y, struct json_out *w, size_t key_end)
{
	AUTO_BUF struct buf text = { 0 }, map = { 0 };
	struct json_out ignored = json_out(&map);
	const char *colon = memchr(y->text.p + key_end, ':', y->text.n - key_end);
	size_t from = colon ? (size_t)(colon + 1 - y->text.p) : y->text.n; /* `? key` may have none */
	bool is_map = y->event.type == YAML_MAPPING_START_EVENT;

	if (is_map && !put_map(y, &ignored))
		return false;
	size_t end = MAX(mark_offset(y, &y->event.end_mark), from);
	const char *eol = !is_map && end < y->text.n ? memchr(y->text.p + end, '\n', y->text.n - end) : NULL;
	if (!is_map)
		end = eol ? (size_t)(eol - y->text.p) : y->text.n;
	struct str prose = { y->text.p + from, end - from };
	if (is_map)
		fm_literal(&text, prose);
	else
		fm_fold(&text, prose);
	json_put_str(w, buf_str(&text));
	return true;
}

static bool read_field(struct yaml *y)
{
	if (y->event.type != YAML_SCALAR_EVENT)
		return give_up(y, "a key is not a word");
	if (y->r->count >= FRONTMATTER_LIMIT_FIELDS)
		return give_up(y, "there are too many fields");
	mark_offset(y, &y->event.start_mark);
	struct frontmatter_field *f = fm_add(y->r, scalar_text(&y->event), y->line);
	size_t key_end = mark_offset(y, &y->event.end_mark);
	unsigned flags = fm_flags(y->r->known, f->key);

	buf_clear(&y->r->json);
	struct json_out w = json_out(&y->r->json);
	if (!next_event(y))
		return false;
	if (has_sigil(&y->event))
		diagnostics_add(y->r->diagnostics, DIAGNOSTIC_NOTE, f->line,
				"%s: &, * and ! at the start are taken as text", f->key.p);
	bool is_prose = y->block && (flags & FRONTMATTER_TEXT);
	bool is_plain = y->event.type == YAML_ALIAS_EVENT ||
			(y->event.type == YAML_SCALAR_EVENT && y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
	bool is_map = y->event.type == YAML_MAPPING_START_EVENT;
	if (!(is_prose && (is_plain || is_map) ? put_prose(y, &w, key_end) : put_value(y, &w)))
		return false;
	f->json = arena_str(y->r->arena, buf_str(&y->r->json));
	return true;
}

static bool read_document(struct yaml *y)
{
	if (!next_event(y) || !next_event(y))
		return false;
	if (y->event.type == YAML_STREAM_END_EVENT)
		return true; /* only comments */
	if (!next_event(y))
		return false;
	if (y->event.type != YAML_MAPPING_START_EVENT)
		return give_up(y, "no key: value found");
	y->block = y->event.data.mapping_start.style != YAML_FLOW_MAPPING_STYLE;
	while (next_event(y)) {
		if (y->event.type == YAML_MAPPING_END_EVENT)
			return next_event(y) && next_event(y) &&
			       (y->event.type == YAML_STREAM_END_EVENT || give_up(y, "something follows the fields"));
		if (!read_field(y))
			return false;
	}
	return false;
}

struct frontmatter_field *fm_add(struct fm_reader *r, struct str key, unsigned line)
{
	struct frontmatter_field *f = arena_push(r->arena, r->fields, r->count);

	*f = (struct frontmatter_field){ .key = arena_str(r->arena, key), .line = line };
	return f;
}

bool fm_yaml(struct fm_reader *r, struct str text, unsigned line, struct fm_problem *ret_why)
{
	struct yaml y = { .r = r, .text = text, .line = line };
	size_t count = r->count, complaints = r->diagnostics->count;

	if (!yaml_parser_initialize(&y.parser))
		base_oom(0);
	yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&y.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
	bool good = read_document(&y);
	if (!good) {
		r->count = count;
		r->diagnostics->count = complaints;
		if (ret_why) {
			bool own = y.why != y.parser.problem;
			mark_offset(&y, own ? &y.event.start_mark : &y.parser.problem_mark);
			*ret_why = (struct fm_problem){ y.why ? y.why : "not YAML", y.line };
		}
	}
	yaml_event_delete(&y.event);
	yaml_parser_delete(&y.parser);
	return good;
}
