/* SPDX-License-Identifier: MIT
 * html_clean.c - reads tags as browsers do and writes them again in one form: only elements that have a form in Markdown, only
 * attributes that are used, only end tags with a beginning. */
#include "tools/web/html.h"

enum { NAME_LIMIT = 16, VALUE_LIMIT = 4096 };

/* Dropped with all text up to the end tag */
static const char *const dropped[] = { "iframe", "noembed", "noframes", "script", "style", "textarea", NULL };
static const char *const empty[] = { "base", "br", "hr", "img", NULL };
static const char *const kept_attributes[] = { "alt", "hidden", "href", "src", "start", NULL };

struct cleaner {
	struct str rest;
	struct buf *out;
	uint32_t open[HTML_ELEMENTS_MAX]; /* begun and not ended */
};

static bool is_one_of(const char *const *list, struct str name)
{
	while (*list && !str_is_nocase(name, *list))
		list++;
	return *list;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\0';
}

static bool next_is(const struct cleaner *c, char wanted)
{
	return c->rest.n && c->rest.p[0] == wanted;
}

static void skip_blanks(struct cleaner *c)
{
	while (c->rest.n && is_blank(c->rest.p[0]))
		c->rest = str_tail(c->rest, 1);
}

/* To the next occurrence of text, or to the end. (Not with memmem: a sanitizer checks all of the rest in each call.) */
static void skip_to(struct cleaner *c, struct str text)
{
	while (c->rest.n && !str_starts(c->rest, text)) {
		const char *next = memchr(c->rest.p + 1, text.p[0], c->rest.n - 1);
		c->rest = str_tail(c->rest, next ? (size_t)(next - c->rest.p) : c->rest.n);
	}
}

/* Up to a blank or one of these */
static struct str take_until(struct cleaner *c, const char *ends)
{
	struct str taken = { c->rest.p, 0 };

	while (taken.n < c->rest.n && !is_blank(taken.p[taken.n]) && !char_in(taken.p[taken.n], ends))
		taken.n++;
	c->rest = str_tail(c->rest, taken.n);
	return taken;
}

/* The parser reports an error for each of them. */
static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && !is_blank(c)) || c == 0x7f;
}

static void add_char(struct buf *out, char c)
{
	if (c == '<')
		buf_addstr(out, "&lt;");
	else if (c == '"')
		buf_addstr(out, "&quot;");
	else if (!is_control(c))
		buf_addch(out, c ? c : ' ');
}

static void add_text(struct buf *out, struct str text)
{
	for (size_t from = 0, i = 0; i <= text.n; i++) {
		if (i < text.n && text.p[i] != '<' && text.p[i] != '\0' && !is_control(text.p[i]))
			continue;
		buf_add(out, text.p + from, i - from);
		if (i < text.n)
			add_char(out, text.p[i]);
		from = i + 1;
	}
}

static struct str take_value(struct cleaner *c)
{
	skip_blanks(c);
	if (!next_is(c, '"') && !next_is(c, '\''))
		return take_until(c, ">");
	char quote = c->rest.p[0];
	c->rest = str_tail(c->rest, 1);
	const char *end = memchr(c->rest.p, quote, c->rest.n);
	struct str value = { c->rest.p, end ? (size_t)(end - c->rest.p) : c->rest.n };
	c->rest = str_tail(c->rest, value.n + (end != NULL));
	return value;
}

/* Attributes including the bracket that ends the tag. out NULL: they are dropped. */
static void take_attributes(struct cleaner *c, struct buf *out)
{
	for (;;) {
		while (c->rest.n && (is_blank(c->rest.p[0]) || c->rest.p[0] == '/'))
			c->rest = str_tail(c->rest, 1);
		if (!c->rest.n || next_is(c, '>')) {
			c->rest = str_tail(c->rest, c->rest.n > 0);
			return;
		}
		struct str name = take_until(c, "/>=");
		struct str value = { 0 };
		skip_blanks(c);
		if (next_is(c, '=')) {
			c->rest = str_tail(c->rest, 1);
			value = take_value(c);
		}
		if (!out || !is_one_of(kept_attributes, name) || value.n > VALUE_LIMIT)
			continue;
		buf_addch(out, ' ');
		for (size_t i = 0; i < name.n; i++)
			buf_addch(out, (char)(name.p[i] | 0x20));
		buf_addstr(out, "=\"");
		for (size_t i = 0; i < value.n; i++)
			add_char(out, value.p[i]);
		buf_addch(out, '"');
	}
}

/* Text up to the tag that ends the element, and that tag. */
static struct str take_raw(struct cleaner *c, struct str name)
{
	struct str text = c->rest;

	for (;;) {
		skip_to(c, STR("</"));
		text.n = (size_t)(c->rest.p - text.p);
		if (!c->rest.n)
			return text;
		c->rest = str_tail(c->rest, 2);
		if (c->rest.n <= name.n || strncasecmp(c->rest.p, name.p, name.n) != 0)
			continue;
		if (is_blank(c->rest.p[name.n]) || char_in(c->rest.p[name.n], "/>"))
			break;
	}
	take_attributes(c, NULL);
	return text;
}

/* A tag at its name: the beginning or the end of an element. */
static void take_element(struct cleaner *c, bool is_end)
{
	char lower[NAME_LIMIT];
	struct str tag = take_until(c, "/>");
	struct str name = { lower, tag.n < NAME_LIMIT ? tag.n : 0 }; /* none of ours is as long */

	for (size_t i = 0; i < name.n; i++)
		lower[i] = (char)(tag.p[i] >= 'A' && tag.p[i] <= 'Z' ? tag.p[i] | 0x20 : tag.p[i]);
	int element = html_element_find(name);
	if (is_end) {
		take_attributes(c, NULL);
		if (element >= 0 && c->open[element]) {
			c->open[element]--;
			buf_addf(c->out, "</" STR_FMT ">", STR_ARG(name));
		}
		return;
	}
	if (element < 0 || is_one_of(dropped, name)) {
		take_attributes(c, NULL);
	} else {
		buf_addch(c->out, '<');
		buf_append(c->out, name);
		take_attributes(c, c->out);
		buf_addch(c->out, '>');
		c->open[element] += !is_one_of(empty, name);
	}
	if (is_one_of(dropped, name))
		(void)take_raw(c, name);
	if (str_is(name, "title")) {
		add_text(c->out, take_raw(c, name));
		buf_addstr(c->out, "</title>");
		c->open[element]--;
	}
}

/* The rest begins with a bracket. */
static void take_tag(struct cleaner *c)
{
	struct str rest = c->rest;
	char next = rest.n > 1 ? rest.p[1] : '\0';
	bool end = next == '/' && rest.n > 2 && is_letter(rest.p[2]);

	if (is_letter(next)) {
		c->rest = str_tail(c->rest, 1);
		take_element(c, false);
	} else if (end) {
		c->rest = str_tail(c->rest, 2);
		take_element(c, true);
	} else if (str_starts(rest, STR("<!--"))) {
		c->rest = str_tail(c->rest, 2); /* "<!-->" is a whole comment */
		skip_to(c, STR("-->"));
		c->rest = str_tail(c->rest, MIN(c->rest.n, strlen("-->")));
	} else if (next == '!' || next == '?' || next == '/') {
		skip_to(c, STR(">"));
		c->rest = str_tail(c->rest, c->rest.n > 0);
	} else {
		c->rest = str_tail(c->rest, 1);
		buf_addstr(c->out, "&lt;");
	}
}

void html_clean(struct str page, struct buf *out)
{
	struct cleaner c = { .rest = page, .out = out };

	while (c.rest.n) {
		const char *tag = memchr(c.rest.p, '<', c.rest.n);
		size_t n = tag ? (size_t)(tag - c.rest.p) : c.rest.n;
		add_text(out, (struct str){ c.rest.p, n });
		c.rest = str_tail(c.rest, n);
		if (tag)
			take_tag(&c);
	}
}
