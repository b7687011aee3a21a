/* SPDX-License-Identifier: MIT
 * html_parse.c - libxml2's HTML parser with handlers of our own. It repairs what pages do wrong, and some repairs take as
 * long as the page is deep, so depth has a limit and the clock is looked at in every callback, that of errors too. */
#include "tools/web/html_parse.h"
#include <limits.h>
#include <time.h>
#include "lib/base/library.h"
#include "tools/web/html_markdown.h"
#include <libxml/HTMLparser.h>

struct html_library {
	__typeof__(htmlNewParserCtxt) *new_context;
	__typeof__(htmlFreeParserCtxt) *free_context;
	__typeof__(htmlCtxtReadMemory) *read;
	__typeof__(xmlStopParser) *stop;
};

/* ---- cleaning --------------------------------------------------------------------------------------------------- */

/* Reads tags as browsers do, and writes them again in one form. Of elements only those are left that become
 * something in Markdown, of attributes only those that are looked at, of ends only those with a beginning. */

enum { NAME_LIMIT = 16, VALUE_LIMIT = 4096 };

/* Text up to the end tag, whatever stands in it */
static const char *const dropped[] = { "iframe", "noembed", "noframes", "script", "style", "textarea" };
static const char *const empty[] = { "base", "br", "hr", "img" };
static const char *const kept_attributes[] = { "alt", "hidden", "href", "src", "start" };

struct cleaner {
	struct str rest;
	struct buf *out;
	uint32_t open[HTML_ELEMENTS_MAX]; /* begun and not ended */
};

static bool is_one_of(const char *const *list, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_is_nocase(name, list[i]))
			return true;
	return false;
}
#define IS_ONE_OF(list, name) is_one_of(list, COUNT_OF(list), name)

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\0';
}

static void skip(struct cleaner *c, size_t n)
{
	c->rest = (struct str){ c->rest.p + n, c->rest.n - n };
}

static bool at(const struct cleaner *c, char wanted)
{
	return c->rest.n && c->rest.p[0] == wanted;
}

static void skip_blanks(struct cleaner *c)
{
	while (c->rest.n && is_blank(c->rest.p[0]))
		skip(c, 1);
}

/* To the first place of text, or to the end if it is not there. (Not with memmem: a sanitizer looks at all of the rest for
 * each call.) */
static void skip_to(struct cleaner *c, struct str text)
{
	while (c->rest.n && !str_starts(c->rest, text)) {
		const char *next = memchr(c->rest.p + 1, text.p[0], c->rest.n - 1);
		skip(c, next ? (size_t)(next - c->rest.p) : c->rest.n);
	}
}

static void skip_behind(struct cleaner *c, struct str text)
{
	skip_to(c, text);
	skip(c, MIN(c->rest.n, text.n));
}

static struct str take_until(struct cleaner *c, bool (*ends)(char ch))
{
	struct str taken = { c->rest.p, 0 };

	while (taken.n < c->rest.n && !ends(taken.p[taken.n]))
		taken.n++;
	skip(c, taken.n);
	return taken;
}

static bool ends_name(char c)
{
	return is_blank(c) || c == '/' || c == '>';
}

static bool ends_attribute(char c)
{
	return ends_name(c) || c == '=';
}

static bool ends_value(char c)
{
	return is_blank(c) || c == '>';
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Control characters are no characters for the parser, and each one would be an error. */
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

static bool is_special(char c)
{
	return c == '<' || c == '\0' || is_control(c);
}

static void add_text(struct buf *out, struct str text)
{
	for (size_t from = 0, i = 0; i <= text.n; i++) {
		if (i < text.n && !is_special(text.p[i]))
			continue;
		buf_add(out, text.p + from, i - from);
		if (i < text.n)
			add_char(out, text.p[i]);
		from = i + 1;
	}
}

static void add_attribute(struct buf *out, struct str name, struct str value)
{
	if (!IS_ONE_OF(kept_attributes, name) || value.n > VALUE_LIMIT)
		return;
	buf_addch(out, ' ');
	for (size_t i = 0; i < name.n; i++)
		buf_addch(out, (char)(name.p[i] | 0x20));
	buf_addstr(out, "=\"");
	for (size_t i = 0; i < value.n; i++)
		add_char(out, value.p[i]);
	buf_addch(out, '"');
}

/* ---- tags ------------------------------------------------------------------------------------------------------ */

static struct str take_value(struct cleaner *c)
{
	skip_blanks(c);
	if (!at(c, '"') && !at(c, '\''))
		return take_until(c, ends_value);
	char quote = c->rest.p[0];
	skip(c, 1);
	const char *end = memchr(c->rest.p, quote, c->rest.n);
	struct str value = { c->rest.p, end ? (size_t)(end - c->rest.p) : c->rest.n };
	skip(c, value.n + (end != NULL));
	return value;
}

/* Attributes up to and with the bracket that ends the tag. out NULL: they are not kept. */
static void take_attributes(struct cleaner *c, struct buf *out)
{
	for (;;) {
		while (c->rest.n && (is_blank(c->rest.p[0]) || c->rest.p[0] == '/'))
			skip(c, 1);
		if (!c->rest.n)
			return;
		if (at(c, '>')) {
			skip(c, 1);
			return;
		}
		struct str name = take_until(c, ends_attribute);
		struct str value = { 0 };
		skip_blanks(c);
		if (at(c, '=')) {
			skip(c, 1);
			value = take_value(c);
		}
		if (out)
			add_attribute(out, name, value);
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
		skip(c, 2);
		struct str found = { c->rest.p, MIN(name.n, c->rest.n) };
		bool whole = c->rest.n > name.n && ends_name(c->rest.p[name.n]);
		if (whole && !strncasecmp(found.p, name.p, found.n))
			break;
	}
	take_attributes(c, NULL);
	return text;
}

static struct str take_name(struct cleaner *c, char lower[NAME_LIMIT])
{
	struct str name = take_until(c, ends_name);
	size_t n = name.n < NAME_LIMIT ? name.n : 0; /* none of ours is as long */

	for (size_t i = 0; i < n; i++)
		lower[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] | 0x20 : name.p[i]);
	return (struct str){ lower, n };
}

static void take_begin(struct cleaner *c)
{
	char lower[NAME_LIMIT];
	struct str name = take_name(c, lower);
	int element = html_element_find(name);

	if (element < 0 || IS_ONE_OF(dropped, name)) {
		take_attributes(c, NULL);
	} else {
		buf_addch(c->out, '<');
		buf_add(c->out, name.p, name.n);
		take_attributes(c, c->out);
		buf_addch(c->out, '>');
		c->open[element] += !IS_ONE_OF(empty, name);
	}
	if (IS_ONE_OF(dropped, name))
		(void)take_raw(c, name);
	if (str_is(name, "title")) {
		add_text(c->out, take_raw(c, name));
		buf_addstr(c->out, "</title>");
		c->open[element]--;
	}
}

static void take_end(struct cleaner *c)
{
	char lower[NAME_LIMIT];
	struct str name = take_name(c, lower);
	int element = html_element_find(name);

	take_attributes(c, NULL);
	if (element < 0 || !c->open[element])
		return;
	c->open[element]--;
	buf_add(c->out, "</", 2);
	buf_add(c->out, name.p, name.n);
	buf_addch(c->out, '>');
}

/* The text begins with a bracket. */
static void take_tag(struct cleaner *c)
{
	struct str rest = c->rest;
	char next = rest.n > 1 ? rest.p[1] : '\0';
	bool end = next == '/' && rest.n > 2 && is_letter(rest.p[2]);

	if (is_letter(next)) {
		skip(c, 1);
		take_begin(c);
	} else if (end) {
		skip(c, 2);
		take_end(c);
	} else if (str_starts(rest, STR("<!--"))) {
		skip(c, 2); /* "<!-->" is a whole comment */
		skip_behind(c, STR("-->"));
	} else if (next == '!' || next == '?' || next == '/') {
		skip_behind(c, STR(">"));
	} else {
		skip(c, 1);
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
		skip(&c, n);
		if (tag)
			take_tag(&c);
	}
}

/* ---- libxml2, which is loaded when the first page comes --------------------------------------------------------- */

static const char *const files[] = { "libxml2.so.2", NULL };

#define SYMBOL(name, member)                                \
	{                                                   \
		name, offsetof(struct html_library, member) \
	}

static const struct library_symbol symbols[] = {
	SYMBOL("htmlNewParserCtxt", new_context),
	SYMBOL("htmlFreeParserCtxt", free_context),
	SYMBOL("htmlCtxtReadMemory", read),
	SYMBOL("xmlStopParser", stop),
};

static const struct library library = { files, "libxml2", symbols, COUNT_OF(symbols) };

/* On any thread. -ERR_NOT_FOUND: it is not installed. */
static int html_library_load(struct html_library *ret_library, struct err *err)
{
	return library_load(&library, ret_library, err);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

enum { DEPTH_LIMIT = 2000, EVENTS_PER_LOOK = 256 };

struct parse {
	struct html_library library;
	htmlParserCtxtPtr context;
	const struct html_limits *limits;
	const struct html_handlers *handlers;
	void *data;
	uint64_t started_ms;
	unsigned events, depth;
	enum html_end end; /* HTML_END: not yet */
};

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static enum html_end look(const struct parse *p)
{
	if (p->depth > DEPTH_LIMIT)
		return HTML_TOO_DEEP;
	if (p->handlers->is_full(p->data))
		return HTML_FULL;
	if (p->events % EVENTS_PER_LOOK)
		return HTML_END;
	if (p->limits->stop && atomic_load(p->limits->stop))
		return HTML_STOPPED;
	if (p->limits->time_ms && cpu_ms() - p->started_ms > p->limits->time_ms)
		return HTML_TOO_SLOW;
	return HTML_END;
}

static void look_around(struct parse *p)
{
	p->events++;
	if (p->end)
		return;
	p->end = look(p);
	if (p->end)
		p->library.stop(p->context);
}

static void on_begin(void *data, const xmlChar *name, const xmlChar **attributes)
{
	struct parse *p = data;

	p->depth++;
	if (!p->end)
		p->handlers->on_begin(p->data, (const char *)name, (const char *const *)attributes);
	look_around(p);
}

static void on_end(void *data, const xmlChar *name)
{
	struct parse *p = data;

	p->depth -= p->depth > 0;
	if (!p->end)
		p->handlers->on_end(p->data, (const char *)name);
	look_around(p);
}

static void on_text(void *data, const xmlChar *text, int n)
{
	struct parse *p = data;

	if (!p->end)
		p->handlers->on_text(p->data, (struct str){ (const char *)text, (size_t)n });
	look_around(p);
}

static void on_error(void *data, xmlErrorPtr error)
{
	look_around(data);
}

/* The type of the error's parameter differs between versions of libxml2. */
static void set_handlers(struct parse *p)
{
	*p->context->sax = (xmlSAXHandler){
		.startElement = on_begin,
		.endElement = on_end,
		.characters = on_text,
		.ignorableWhitespace = on_text,
		.cdataBlock = on_text,
		.serror = (xmlStructuredErrorFunc)on_error,
		.initialized = XML_SAX2_MAGIC,
	};
	p->context->userData = p;
}

int html_parse(struct str page, const struct html_limits *limits, const struct html_handlers *handlers, void *data,
	       enum html_end *ret_end, struct err *err)
{
	struct parse p = { .limits = limits, .handlers = handlers, .data = data, .started_ms = cpu_ms() };

	if (page.n > INT_MAX)
		return err_set(err, ERR_LIMIT, "the page is too large");
	if (html_library_load(&p.library, err) < 0)
		return -(int)err->kind;
	p.context = p.library.new_context();
	if (!p.context)
		base_oom(0);
	set_handlers(&p);
	if (page.n) /* no tree is made: there is no document to free */
		(void)p.library.read(p.context, page.p, (int)page.n, NULL, "UTF-8",
				     HTML_PARSE_RECOVER | HTML_PARSE_NONET);
	p.library.free_context(p.context);
	*ret_end = p.end;
	return 0;
}
