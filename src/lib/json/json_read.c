/* SPDX-License-Identifier: MIT
 * json_read.c - the parser: one pass, no recursion, no allocation but the array of nodes.
 *
 * The steps follow each other like this; a container that is still open keeps the index of its parent in
 * `span`, so the array of nodes is the stack as well.
 *
 *     VALUE --scalar--> AFTER --','--> VALUE        (in an object the key is read on the way to VALUE)
 *     VALUE --'{' '['--> INSIDE --not empty--> VALUE
 *                        INSIDE --'}' ']'--> AFTER --'}' ']'--> AFTER
 *                                            AFTER --no container open--> DONE */
#include "lib/json/json.h"
#include <ctype.h>
#include "lib/base/utf8.h"
#include "lib/json/json_int.h"

enum { DEFAULT_BYTES = 512 * 1024 * 1024, DEFAULT_DEPTH = 512, FIRST_NODES = 64 };
#define NO_PARENT UINT32_MAX

enum step { FAILED, VALUE, INSIDE, AFTER, DONE };

struct parse {
	const char *at, *end;
	struct json_reader *r;
	uint32_t open; /* innermost open container */
	unsigned depth, max_depth;
	const char *error_at;
	const char *error;
	enum err_kind kind;
};

static enum step syntax_error(struct parse *p, const char *at, const char *what)
{
	p->error_at = at;
	p->error = what;
	p->kind = ERR_PARSE;
	return FAILED;
}

static __attribute__((noinline)) void grow(struct json_reader *r)
{
	r->cap = r->cap ? r->cap * 2 : FIRST_NODES;
	r->nodes = xrealloc(r->nodes, r->cap * sizeof *r->nodes);
}

static void add_node(struct parse *p, enum json_type type, const char *text, size_t len, bool escaped)
{
	struct json_reader *r = p->r;

	if (r->used == r->cap)
		grow(r);
	r->nodes[r->used++] = (struct json){
		.text = text, .len = (uint32_t)len, .span = 1, .type = (uint8_t)type, .escaped = escaped
	};
}

static void skip_space(struct parse *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
		p->at++;
}

static bool is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
	while (is_digit(p, end))
		p++;
	return p;
}

static enum step read_number(struct parse *p)
{
	const char *start = p->at, *end = p->end, *at = start + (*start == '-');

	if (!is_digit(at, end))
		return syntax_error(p, at, "expected a digit");
	at = *at == '0' ? at + 1 : skip_digits(at, end);
	if (at < end && *at == '.') {
		if (!is_digit(++at, end))
			return syntax_error(p, at, "expected a digit");
		at = skip_digits(at, end);
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < end && (*at == '+' || *at == '-'))
			at++;
		if (!is_digit(at, end))
			return syntax_error(p, at, "expected a digit");
		at = skip_digits(at, end);
	}
	add_node(p, JSON_NUMBER, start, (size_t)(at - start), false);
	p->at = at;
	return AFTER;
}

static enum step read_word(struct parse *p, const char *word, size_t n, enum json_type type)
{
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n))
		return syntax_error(p, p->at, "expected a value");
	add_node(p, type, p->at, n, false);
	p->at += n;
	return AFTER;
}

/* The byte behind the escape at p, or NULL if it is none. */
static const char *escape_end(const char *p, const char *end)
{
	if (end - p < 2)
		return NULL;
	if (p[1] != 'u')
		return json_escapes[(unsigned char)p[1]] ? p + 2 : NULL;
	for (int i = 2; i < 6; i++)
		if (i >= end - p || !isxdigit((unsigned char)p[i]))
			return NULL;
	return p + 6;
}

static inline enum step read_string(struct parse *p)
{
	const char *start = p->at + 1, *at = start;
	bool high = false, escaped = false;

	while ((at = json_scan(at, p->end, &high)) < p->end && *at == '\\') {
		const char *behind = escape_end(at, p->end);
		if (!behind)
			return syntax_error(p, at, "invalid escape in a string");
		escaped = true;
		at = behind;
	}
	if (at == p->end)
		return syntax_error(p, at, "expected '\"'");
	if (*at != '"')
		return syntax_error(p, at, "control character in a string");
	size_t n = (size_t)(at - start), valid = high ? utf8_valid_prefix(start, n) : n;
	if (valid < n)
		return syntax_error(p, start + valid, "invalid UTF-8 in a string");
	add_node(p, JSON_STRING, start, n, escaped);
	p->at = at + 1;
	return AFTER;
}

static enum step open_container(struct parse *p, enum json_type type)
{
	if (p->depth == p->max_depth) {
		(void)syntax_error(p, p->at, "nested too deep");
		p->kind = ERR_LIMIT;
		return FAILED;
	}
	p->depth++;
	add_node(p, type, p->at++, 0, false);
	uint32_t index = (uint32_t)(p->r->used - 1);
	p->r->nodes[index].span = p->open;
	p->open = index;
	return INSIDE;
}

static enum step close_container(struct parse *p)
{
	struct json *node = &p->r->nodes[p->open];
	uint32_t parent = node->span;

	p->at++;
	node->len = (uint32_t)(p->at - node->text);
	node->span = (uint32_t)p->r->used - p->open;
	p->open = parent;
	p->depth--;
	return AFTER;
}

static enum step read_value(struct parse *p)
{
	skip_space(p);
	if (p->at == p->end)
		return syntax_error(p, p->at, "expected a value");
	switch (*p->at) {
	case '"':
		return read_string(p);
	case '{':
		return open_container(p, JSON_OBJECT);
	case '[':
		return open_container(p, JSON_ARRAY);
	case 't':
		return read_word(p, "true", 4, JSON_TRUE);
	case 'f':
		return read_word(p, "false", 5, JSON_FALSE);
	case 'n':
		return read_word(p, "null", 4, JSON_NULL);
	case '-':
	case '0' ... '9':
		return read_number(p);
	default:
		return syntax_error(p, p->at, "expected a value");
	}
}

/* Counts the child that is about to come and reads its key where it needs one. */
static enum step begin_child(struct parse *p, const char *expected)
{
	struct json *node = &p->r->nodes[p->open];

	node->count++;
	if (node->type == JSON_ARRAY)
		return VALUE;
	skip_space(p);
	if (p->at == p->end || *p->at != '"')
		return syntax_error(p, p->at, expected);
	if (!read_string(p))
		return FAILED;
	skip_space(p);
	if (p->at == p->end || *p->at != ':')
		return syntax_error(p, p->at, "expected ':'");
	p->at++;
	return VALUE;
}

static enum step first_child(struct parse *p)
{
	char close = p->r->nodes[p->open].type == JSON_OBJECT ? '}' : ']';

	skip_space(p);
	if (p->at < p->end && *p->at == close)
		return close_container(p);
	return begin_child(p, "expected a key or '}'");
}

static enum step after_value(struct parse *p)
{
	if (p->open == NO_PARENT)
		return DONE;
	bool object = p->r->nodes[p->open].type == JSON_OBJECT;
	skip_space(p);
	if (p->at < p->end && *p->at == ',') {
		p->at++;
		return begin_child(p, "expected a key");
	}
	if (p->at < p->end && *p->at == (object ? '}' : ']'))
		return close_container(p);
	return syntax_error(p, p->at, object ? "expected ',' or '}'" : "expected ',' or ']'");
}

static enum step parse_document(struct parse *p)
{
	enum step step = VALUE;

	for (;;) {
		switch (step) {
		case VALUE:
			step = read_value(p);
			break;
		case INSIDE:
			step = first_child(p);
			break;
		case AFTER:
			step = after_value(p);
			break;
		case DONE:
			skip_space(p);
			return p->at == p->end ? DONE : syntax_error(p, p->at, "expected the end");
		case FAILED:
			return FAILED;
		}
	}
}

int json_parse(struct json_reader *r, const char *text, size_t n, const struct json **ret_root, struct err *err)
{
	size_t limit = MIN(r->limits.bytes ? r->limits.bytes : DEFAULT_BYTES, (size_t)UINT32_MAX - 1);

	r->used = 0;
	if (n > limit)
		return err_set(err, ERR_LIMIT, "%zu bytes of JSON, more than the limit of %zu", n, limit);
	if (!n)
		text = "";
	struct parse p = { .at = text, .end = text + n, .r = r, .open = NO_PARENT };
	p.max_depth = r->limits.depth ? r->limits.depth : DEFAULT_DEPTH;
	if (!parse_document(&p)) {
		r->used = 0;
		/* Columns count bytes from 1. */
		unsigned line = 1;
		const char *line_start = text;
		for (const char *nl; (nl = memchr(line_start, '\n', (size_t)(p.error_at - line_start))); line++)
			line_start = nl + 1;
		return err_set(err, p.kind, "line %u, column %zu: %s%s", line, (size_t)(p.error_at - line_start) + 1,
			       p.error, p.error_at == p.end ? ", but the text ends here" : "");
	}
	*ret_root = r->nodes;
	return 0;
}
