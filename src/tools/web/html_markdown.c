/* SPDX-License-Identifier: MIT
 * html_markdown.c - converts a page to Markdown from the SAX events of libxml2's HTML parser. No tree is built, so depth costs
 * only time. The parser repairs what pages do wrong, and some repairs take as long as the page is deep: depth has a limit and
 * the clock is checked in every callback, also that of errors. */
#include <limits.h>
#include "lib/base/id.h"
#include "lib/base/library.h"
#include "lib/base/utf8.h"
#include "lib/io/url.h"
#include "tools/web/html.h"
#include <libxml/HTMLparser.h>

enum {
	MAX_INDENTS = 16, /* deeper ones are not shown, so that a line cannot be mostly indent */
	DEPTH_LIMIT = 2000,
	EVENTS_PER_CHECK = 256,
	LINK_LIMIT_BYTES = 2000,
	MAX_CELLS = 100,
	MAX_ITEM_NUMBER = 99999,
};

/* libxml2 is loaded with the first page. */
struct html_library {
	__typeof__(htmlNewParserCtxt) *new_context;
	__typeof__(htmlFreeParserCtxt) *free_context;
	__typeof__(htmlCtxtReadMemory) *read;
	__typeof__(xmlStopParser) *stop;
};

static const char *const library_files[] = { "libxml2.so.2", NULL };
static const struct library_symbol library_symbols[] = {
	{ "htmlNewParserCtxt", offsetof(struct html_library, new_context) },
	{ "htmlFreeParserCtxt", offsetof(struct html_library, free_context) },
	{ "htmlCtxtReadMemory", offsetof(struct html_library, read) },
	{ "xmlStopParser", offsetof(struct html_library, stop) },
};
static const struct library library = { library_files, "libxml2", library_symbols, COUNT_OF(library_symbols) };

/* What is due before the next text; with the length of the output it restores the writer to an earlier point. */
struct html_pending {
	size_t length;
	unsigned breaks; /* line ends */
	bool blank;
	bool fresh; /* nothing was written since the line, the item or the mark began */
};

/* Zeroed but for out: ready. */
struct html_writer {
	struct buf *out; /* borrowed */
	size_t from;     /* where our part of it begins */
	struct html_pending pending;
	const char *indents[MAX_INDENTS];
	unsigned depth;    /* of indents, also those that are not shown */
	unsigned verbatim; /* open elements whose text stays as it is */
	unsigned flat;     /* open elements that are on one line */
};

/* An element that has begun and not ended */
struct html_open {
	const char *name;                   /* borrowed from the parser */
	const struct html_element *element; /* NULL: only its text is used */
	struct html_pending before;
	size_t inside;   /* length of the output when its content began */
	char *link;      /* owned */
	unsigned number; /* of the last item of a list */
	bool hidden;
};

struct markdown {
	struct html_writer writer;
	const struct html_page *page;
	char *base; /* owned; NULL: links stay as they are */
	struct html_open *open;
	size_t count, cap;
	unsigned hidden; /* open elements that are */
	unsigned tables, rows, cells;
	/* the parser */
	struct html_library library;
	htmlParserCtxtPtr context;
	uint64_t started_ms;
	unsigned events;
	const char *ending; /* why parsing stopped early; NULL: it did not */
};

enum html_kind {
	HTML_MARKED, /* has breaks and marks alone */
	HTML_HIDDEN,
	HTML_BASE,
	HTML_CELL,
	HTML_IMAGE,
	HTML_ITEM,
	HTML_LINK,
	HTML_LIST,
	HTML_QUOTE,
	HTML_ROW,
	HTML_RULE,
	HTML_TABLE,
	HTML_VERBATIM,
};

struct html_element {
	const char *name;
	enum html_kind kind;
	unsigned breaks; /* line ends before and after it */
	const char *open_mark, *close_mark;
};

/* Sorted by name. */
static const struct html_element elements[] = {
	{ "a", .kind = HTML_LINK },
	{ "address", .breaks = 2 },
	{ "article", .breaks = 2 },
	{ "aside", .breaks = 2 },
	{ "audio", .kind = HTML_HIDDEN },
	{ "b", .open_mark = "**", .close_mark = "**" },
	{ "base", .kind = HTML_BASE },
	{ "blockquote", .kind = HTML_QUOTE, .breaks = 2 },
	{ "br", .breaks = 1 },
	{ "canvas", .kind = HTML_HIDDEN },
	{ "caption", .breaks = 2 },
	{ "code", .open_mark = "`", .close_mark = "`" },
	{ "dd", .kind = HTML_ITEM, .breaks = 1 },
	{ "details", .breaks = 2 },
	{ "div", .breaks = 1 },
	{ "dl", .breaks = 2 },
	{ "dt", .breaks = 1 },
	{ "em", .open_mark = "*", .close_mark = "*" },
	{ "fieldset", .breaks = 2 },
	{ "figcaption", .breaks = 1 },
	{ "figure", .breaks = 2 },
	{ "footer", .breaks = 2 },
	{ "form", .breaks = 2 },
	{ "h1", .breaks = 2, .open_mark = "# " },
	{ "h2", .breaks = 2, .open_mark = "## " },
	{ "h3", .breaks = 2, .open_mark = "### " },
	{ "h4", .breaks = 2, .open_mark = "#### " },
	{ "h5", .breaks = 2, .open_mark = "##### " },
	{ "h6", .breaks = 2, .open_mark = "###### " },
	{ "header", .breaks = 2 },
	{ "hr", .kind = HTML_RULE, .breaks = 2 },
	{ "i", .open_mark = "*", .close_mark = "*" },
	{ "iframe", .kind = HTML_HIDDEN },
	{ "img", .kind = HTML_IMAGE },
	{ "kbd", .open_mark = "`", .close_mark = "`" },
	{ "li", .kind = HTML_ITEM, .breaks = 1 },
	{ "main", .breaks = 2 },
	{ "nav", .breaks = 2 },
	{ "object", .kind = HTML_HIDDEN },
	{ "ol", .kind = HTML_LIST },
	{ "p", .breaks = 2 },
	{ "pre", .kind = HTML_VERBATIM },
	{ "samp", .open_mark = "`", .close_mark = "`" },
	{ "script", .kind = HTML_HIDDEN },
	{ "section", .breaks = 2 },
	{ "select", .kind = HTML_HIDDEN },
	{ "strong", .open_mark = "**", .close_mark = "**" },
	{ "style", .kind = HTML_HIDDEN },
	{ "summary", .breaks = 1 },
	{ "svg", .kind = HTML_HIDDEN },
	{ "table", .kind = HTML_TABLE, .breaks = 2 },
	{ "td", .kind = HTML_CELL },
	{ "template", .kind = HTML_HIDDEN },
	{ "textarea", .kind = HTML_HIDDEN },
	{ "th", .kind = HTML_CELL },
	{ "title", .breaks = 2, .open_mark = "Title: " },
	{ "tr", .kind = HTML_ROW, .breaks = 1 },
	{ "ul", .kind = HTML_LIST },
	{ "video", .kind = HTML_HIDDEN },
};

_Static_assert(COUNT_OF(elements) <= HTML_ELEMENTS_MAX, "html_clean() counts them");

static int compare_name(const void *name, const void *element)
{
	const struct str *wanted = name;
	const char *known = ((const struct html_element *)element)->name;
	int order = strncmp(wanted->p, known, wanted->n);

	return order ? order : known[wanted->n] ? -1 : 0;
}

int html_element_find(struct str name)
{
	const struct html_element *found =
		name.n ? bsearch(&name, elements, COUNT_OF(elements), sizeof *elements, compare_name) : NULL;

	return found ? (int)(found - elements) : -1;
}

static bool is_printable(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f;
}

static void writer_add_indent(struct html_writer *w)
{
	for (unsigned i = 0; i < MIN(w->depth, (unsigned)MAX_INDENTS); i++)
		buf_addstr(w->out, w->indents[i]);
}

static void writer_flush_pending(struct html_writer *w)
{
	bool first = w->out->n == w->from;

	if (first || w->pending.breaks) {
		for (unsigned i = 0; i < w->pending.breaks && !first; i++)
			buf_addch(w->out, '\n');
		writer_add_indent(w);
	} else if (w->pending.blank && !w->pending.fresh) {
		buf_addch(w->out, ' ');
	}
	w->pending = (struct html_pending){ 0 };
}

/* Runs of blanks become one blank, unless the text is verbatim. */
static void writer_add_text(struct html_writer *w, struct str text)
{
	if (w->verbatim && !w->flat) {
		if (w->pending.breaks)
			writer_flush_pending(w);
		w->pending = (struct html_pending){ 0 };
		for (size_t i = 0; i < text.n; i++) {
			if (is_printable(text.p[i]) || text.p[i] == '\t' || text.p[i] == '\n')
				buf_addch(w->out, text.p[i]);
			if (text.p[i] == '\n')
				writer_add_indent(w);
		}
		return;
	}
	for (size_t i = 0; i < text.n; i++) {
		if (char_in(text.p[i], " \t\n\r\f")) {
			w->pending.blank = true;
		} else if (is_printable(text.p[i])) {
			if (w->pending.blank || w->pending.breaks || w->pending.fresh || w->out->n == w->from)
				writer_flush_pending(w);
			buf_addch(w->out, text.p[i]);
		}
	}
}

/* At least so many line ends before what follows */
static void writer_break(struct html_writer *w, unsigned breaks)
{
	if (w->flat)
		w->pending.blank = true;
	else if (!w->pending.fresh)
		w->pending.breaks = MAX(w->pending.breaks, breaks);
}

/* A mark before content, whose leading blanks and line ends vanish. */
static void writer_open(struct html_writer *w, const char *mark)
{
	writer_flush_pending(w);
	buf_addstr(w->out, mark);
	w->pending.fresh = true;
}

/* A mark directly behind content */
static void writer_close(struct html_writer *w, const char *mark)
{
	buf_addstr(w->out, mark);
	w->pending.fresh = false;
}

/* Of the next lines; a constant */
static void writer_indent(struct html_writer *w, const char *indent)
{
	if (w->depth < MAX_INDENTS)
		w->indents[w->depth] = indent;
	w->depth++;
}

/* Removes an element that turned out to be empty. False: it is not. */
static bool writer_undo_empty(struct html_writer *w, const struct html_open *e)
{
	if (w->out->n != e->inside)
		return false;
	w->out->n = e->before.length;
	if (w->out->p)
		w->out->p[w->out->n] = '\0';
	w->pending = e->before;
	w->pending.length = 0;
	return true;
}

/* attributes: name, value, name, value ... NULL; a value and the whole list may be NULL. NULL: it does not have it. */
static const char *html_attribute(const xmlChar **attributes, const char *name)
{
	for (; attributes && attributes[0]; attributes += 2)
		if (!strcmp((const char *)attributes[0], name))
			return attributes[1] ? (const char *)attributes[1] : "";
	return NULL;
}

/* Returns owned. NULL: it leads nowhere else. */
static char *resolve_link(const struct markdown *m, const char *link)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!link || !link[0] || link[0] == '#' || strlen(link) > LINK_LIMIT_BYTES)
		return NULL;
	const char *found = m->base ? url_resolve(&a, m->base, link) : link;
	return found && strlen(found) <= LINK_LIMIT_BYTES ? xstrdup(found) : NULL;
}

static void close_link(struct markdown *m, const char *link)
{
	writer_close(&m->writer, "](");
	writer_close(&m->writer, link);
	writer_close(&m->writer, ")");
}

/* An image without alternative text is left out. */
static void add_image(struct markdown *m, const xmlChar **attributes)
{
	const char *text = html_attribute(attributes, "alt");
	AUTO_FREE char *link = resolve_link(m, html_attribute(attributes, "src"));

	if (!text || !text[0])
		return;
	if (link)
		writer_open(&m->writer, "![");
	writer_add_text(&m->writer, utf8_cut(str_from(text), LINK_LIMIT_BYTES));
	if (link)
		close_link(m, link);
}

static void begin_item(struct markdown *m)
{
	struct html_open *list = NULL; /* that the item is in */
	char number[16];

	for (size_t i = m->count; i-- > 0 && !list;)
		if (m->open[i].element && m->open[i].element->kind == HTML_LIST)
			list = &m->open[i];
	bool numbered = list && !strcmp(list->name, "ol");
	snprintf(number, sizeof number, "%u. ", numbered ? ++list->number : 0);
	writer_open(&m->writer, numbered ? number : "- ");
	writer_indent(&m->writer, numbered ? "   " : "  ");
}

static void begin_element(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	const struct html_element *element = e->element;
	struct html_writer *w = &m->writer;
	const char *start = html_attribute(attributes, "start");
	uint64_t first;

	if (element->breaks)
		writer_break(w, element->breaks);
	switch (element->kind) {
	case HTML_MARKED:
		if (element->open_mark && (!w->verbatim || !element->close_mark))
			writer_open(w, element->open_mark);
		break;
	case HTML_HIDDEN:
		break;
	case HTML_BASE:
		e->link = m->base ? resolve_link(m, html_attribute(attributes, "href")) : NULL;
		if (e->link) {
			free(m->base);
			m->base = TAKE(e->link);
		}
		break;
	case HTML_CELL:
		if (m->tables == 1) {
			if (m->cells++)
				writer_close(w, " ");
			w->pending.blank = false;
			writer_open(w, "| ");
		} else {
			writer_break(w, 1);
		}
		w->flat++;
		break;
	case HTML_IMAGE:
		add_image(m, attributes);
		break;
	case HTML_ITEM:
		begin_item(m);
		break;
	case HTML_LINK:
		e->link = w->verbatim ? NULL : resolve_link(m, html_attribute(attributes, "href"));
		if (e->link)
			writer_open(w, "[");
		break;
	case HTML_LIST:
		if (start && str_to_u64(str_from(start), &first) && first <= MAX_ITEM_NUMBER && first)
			e->number = (unsigned)first - 1;
		writer_break(w, w->depth ? 1 : 2);
		break;
	case HTML_QUOTE:
		writer_indent(w, "> ");
		break;
	case HTML_ROW:
		if (m->tables == 1)
			m->cells = 0;
		break;
	case HTML_RULE:
		writer_open(w, "---");
		w->pending.fresh = false;
		break;
	case HTML_TABLE: /* a table inside another one is text of its cell */
		if (!m->tables++)
			m->rows = m->cells = 0;
		break;
	case HTML_VERBATIM:
		writer_break(w, 2);
		if (w->verbatim++ || w->flat)
			break;
		writer_open(w, "```");
		w->pending = (struct html_pending){ .breaks = 1 };
		break;
	}
}

static void end_element(struct markdown *m, struct html_open *e)
{
	const struct html_element *element = e->element;
	struct html_writer *w = &m->writer;

	switch (element->kind) {
	case HTML_MARKED:
		if (element->open_mark && (!w->verbatim || !element->close_mark) && !writer_undo_empty(w, e) &&
		    element->close_mark)
			writer_close(w, element->close_mark);
		break;
	case HTML_CELL:
		w->flat--;
		w->pending = (struct html_pending){ .blank = m->tables != 1 };
		break;
	case HTML_ITEM:
		w->depth--;
		w->pending.fresh = false;
		break;
	case HTML_LINK:
		if (e->link && !writer_undo_empty(w, e))
			close_link(m, e->link);
		break;
	case HTML_LIST:
		writer_break(w, w->depth ? 1 : 2);
		break;
	case HTML_QUOTE:
		w->depth--;
		break;
	case HTML_ROW:
		if (m->tables == 1 && m->cells) {
			writer_close(&m->writer, " |");
			writer_break(&m->writer, 1);
			if (!m->rows++) {
				writer_open(&m->writer, "|");
				for (unsigned i = 0; i < MIN(m->cells, (unsigned)MAX_CELLS); i++)
					writer_close(&m->writer, " --- |");
			}
		}
		break;
	case HTML_TABLE:
		m->tables--;
		break;
	case HTML_VERBATIM:
		if (--w->verbatim || w->flat)
			break;
		w->pending = (struct html_pending){ .breaks = 1 };
		writer_open(w, "```");
		w->pending.fresh = false;
		writer_break(w, 2);
		break;
	default: /* they have no content */
		break;
	}
	if (element->breaks)
		writer_break(w, element->breaks);
}

static void check_limits(struct markdown *m)
{
	const struct html_limits *limits = &m->page->limits;
	bool due = ++m->events % EVENTS_PER_CHECK == 0;

	if (m->ending)
		return;
	if (m->count > DEPTH_LIMIT)
		m->ending = "[The page is nested too deeply: the rest was not read.]";
	else if (m->writer.out->n - m->writer.from >= m->page->limit_bytes)
		m->ending = "[The page was cut here; it is longer.]";
	else if (due && limits->stop && atomic_load(limits->stop))
		m->ending = "[The page was not read to its end.]";
	else if (due && limits->time_ms && clock_ms(CLOCK_THREAD_CPUTIME_ID) - m->started_ms > limits->time_ms)
		m->ending = "[The page takes too long to read: the rest was left out.]";
	if (m->ending)
		m->library.stop(m->context);
}

static void on_begin(void *data, const xmlChar *name, const xmlChar **attributes)
{
	struct markdown *m = data;
	int index = html_element_find(str_from((const char *)name));
	const struct html_element *element = index < 0 ? NULL : &elements[index];
	struct html_open e = { .name = (const char *)name, .element = element, .before = m->writer.pending };

	if (!m->ending) {
		e.before.length = m->writer.out->n;
		e.hidden = (element && element->kind == HTML_HIDDEN) || html_attribute(attributes, "hidden");
		if (!m->hidden && !e.hidden && element)
			begin_element(m, &e, attributes);
		e.inside = m->writer.out->n;
		m->hidden += e.hidden;
		*xpush(m->open, m->count, m->cap) = e;
	}
	check_limits(m);
}

/* The parser ends elements in order. Should it ever not, those inside end as well. */
static void on_end(void *data, const xmlChar *name)
{
	struct markdown *m = data;
	size_t at = m->ending ? 0 : m->count;

	while (at && strcmp(m->open[at - 1].name, (const char *)name) != 0)
		at--;
	while (at && m->count >= at) {
		struct html_open e = m->open[--m->count];
		m->hidden -= e.hidden;
		if (!m->hidden && !e.hidden && e.element)
			end_element(m, &e);
		free(e.link);
	}
	check_limits(m);
}

static void on_text(void *data, const xmlChar *text, int n)
{
	struct markdown *m = data;

	if (!m->ending && !m->hidden)
		writer_add_text(&m->writer, (struct str){ (const char *)text, (size_t)n });
	check_limits(m);
}

static void on_error(void *data, xmlErrorPtr error)
{
	check_limits(data);
}

/* Room for the ending is taken from the text. */
static void markdown_finish(struct markdown *m)
{
	struct buf *out = m->writer.out;
	size_t limit = m->page->limit_bytes;
	size_t room = limit - MIN(limit, m->ending ? strlen(m->ending) + 2 : 0);
	AUTO_BUF struct buf text = { 0 };

	buf_reserve(out, 1);
	utf8_add_repaired(&text, utf8_cut((struct str){ out->p + m->writer.from, out->n - m->writer.from }, room));
	struct str kept = str_trim(utf8_cut(buf_str(&text), room));
	out->n = m->writer.from;
	buf_append(out, kept);
	if (m->ending && room)
		buf_addf(out, "%s%s", kept.n ? "\n\n" : "", m->ending);
}

int html_to_markdown(const struct html_page *page, struct buf *out, struct err *err)
{
	struct markdown m = { .writer = { .out = out, .from = out->n }, .page = page };
	AUTO_BUF struct buf clean = { 0 };

	html_clean(page->text, &clean);
	if (clean.n > INT_MAX)
		return err_set(err, ERR_LIMIT, "the page is too large");
	int rc = library_load(&library, &m.library, err);
	if (rc < 0)
		return rc;
	m.context = m.library.new_context();
	if (!m.context)
		base_oom(0);
	*m.context->sax = (xmlSAXHandler){
		.startElement = on_begin,
		.endElement = on_end,
		.characters = on_text,
		.ignorableWhitespace = on_text,
		.cdataBlock = on_text,
		.serror = (xmlStructuredErrorFunc)on_error, /* its parameter differs between versions of libxml2 */
		.initialized = XML_SAX2_MAGIC,
	};
	m.context->userData = &m;
	m.started_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID);
	m.base = page->base ? xstrdup(page->base) : NULL;
	if (clean.n) /* no tree is made: there is no document to free */
		(void)m.library.read(m.context, clean.p, (int)clean.n, NULL, "UTF-8",
				     HTML_PARSE_RECOVER | HTML_PARSE_NONET);
	m.library.free_context(m.context);
	markdown_finish(&m);
	while (m.count)
		free(m.open[--m.count].link);
	free(m.open);
	free(m.base);
	return 0;
}
