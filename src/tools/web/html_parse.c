/* SPDX-License-Identifier: MIT
 * html_parse.c - libxml2's HTML parser with handlers of our own. It repairs what pages do wrong, and some repairs take as
 * long as the page is deep, so depth has a limit and the clock is looked at in every callback, that of errors too. */
#include "tools/web/html_parse.h"
#include <limits.h>
#include <time.h>
#include "tools/web/html_library.h"

enum { DEPTH_LIMIT = 2000, EVENTS_PER_LOOK = 256 };

struct parse {
	struct html_library library;
	htmlParserCtxtPtr context;
	const struct html_limits *limits;
	const struct html_handlers *handlers;
	void *data;
	uint64_t started_ms;
	unsigned events, depth;
	enum html_end end; /* HTML_END: it goes on */
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
