/* SPDX-License-Identifier: MIT
 * html_markdown.c - converts a page to Markdown from the SAX events of libxml2's HTML parser. No tree is built, so depth costs
 * only time. The parser repairs what pages do wrong, and some repairs take as long as the page is deep: depth has a limit and
 * the clock is checked in every callback, also that of errors. */
#include <limits.h>
#include <time.h>
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

/* Around the content of an element: its breaks; then its functions, or else its marks. */
struct html_element {
	const char *name;
	unsigned breaks; /* line ends before and after it */
	bool hidden;
	/* attributes: name, value, name, value ... NULL; a value and the whole list may be NULL. */
	void (*begin)(struct markdown *m, struct html_open *e, const xmlChar **attributes);
	void (*end)(struct markdown *m, struct html_open *e);
	const char *open_mark, *close_mark;
};

/* ---- the writer ------------------------------------------------------------------------------------------------- */

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

static void writer_add_verbatim(struct html_writer *w, struct str text)
{
	if (w->pending.breaks)
		writer_flush_pending(w);
	w->pending = (struct html_pending){ 0 };
	for (size_t i = 0; i < text.n; i++) {
		if (is_printable(text.p[i]) || text.p[i] == '\t' || text.p[i] == '\n')
			buf_addch(w->out, text.p[i]);
		if (text.p[i] == '\n')
			writer_add_indent(w);
	}
}

/* Runs of blanks become one blank, unless the text is verbatim. */
static void writer_add_text(struct html_writer *w, struct str text)
{
	if (w->verbatim && !w->flat) {
		writer_add_verbatim(w, text);
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

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* NULL: it does not have it */
static const char *html_attribute(const xmlChar **attributes, const char *name)
{
	for (; attributes && attributes[0]; attributes += 2)
		if (!strcmp((const char *)attributes[0], name))
			return attributes[1] ? (const char *)attributes[1] : "";
	return NULL;
}

static void begin_rule(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	writer_open(&m->writer, "---");
	m->writer.pending.fresh = false;
}

static void begin_quote(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	writer_indent(&m->writer, "> ");
}

static void end_quote(struct markdown *m, struct html_open *e)
{
	m->writer.depth--;
}

static void begin_verbatim(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	writer_break(&m->writer, 2);
	if (m->writer.verbatim++ || m->writer.flat)
		return;
	writer_open(&m->writer, "```");
	m->writer.pending = (struct html_pending){ .breaks = 1 };
}

static void end_verbatim(struct markdown *m, struct html_open *e)
{
	if (--m->writer.verbatim || m->writer.flat)
		return;
	m->writer.pending = (struct html_pending){ .breaks = 1 };
	writer_open(&m->writer, "```");
	m->writer.pending.fresh = false;
	writer_break(&m->writer, 2);
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

static void begin_link(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	e->link = m->writer.verbatim ? NULL : resolve_link(m, html_attribute(attributes, "href"));
	if (e->link)
		writer_open(&m->writer, "[");
}

static void end_link(struct markdown *m, struct html_open *e)
{
	if (e->link && !writer_undo_empty(&m->writer, e))
		close_link(m, e->link);
}

/* An image without alternative text is left out. */
static void begin_image(struct markdown *m, struct html_open *e, const xmlChar **attributes)
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

static void begin_base(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	char *base = m->base ? resolve_link(m, html_attribute(attributes, "href")) : NULL;

	if (!base)
		return;
	free(m->base);
	m->base = base;
}

static void end_list(struct markdown *m, struct html_open *e)
{
	writer_break(&m->writer, m->writer.depth ? 1 : 2);
}

static void begin_list(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	const char *start = html_attribute(attributes, "start");
	uint64_t first;

	if (start && str_to_u64(str_from(start), &first) && first <= MAX_ITEM_NUMBER && first)
		e->number = (unsigned)first - 1;
	end_list(m, e);
}

static void begin_item(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	struct html_open *list = NULL; /* that the item is in */
	char number[16];

	for (size_t i = m->count; i-- > 0 && !list;)
		if (m->open[i].element && m->open[i].element->begin == begin_list)
			list = &m->open[i];
	bool numbered = list && !strcmp(list->name, "ol");
	snprintf(number, sizeof number, "%u. ", numbered ? ++list->number : 0);
	writer_open(&m->writer, numbered ? number : "- ");
	writer_indent(&m->writer, numbered ? "   " : "  ");
}

static void end_item(struct markdown *m, struct html_open *e)
{
	m->writer.depth--;
	m->writer.pending.fresh = false;
}

/* A table inside another one is text of its cell. */
static void begin_table(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	if (!m->tables++)
		m->rows = m->cells = 0;
}

static void end_table(struct markdown *m, struct html_open *e)
{
	m->tables--;
}

static void begin_row(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	if (m->tables == 1)
		m->cells = 0;
}

static void end_row(struct markdown *m, struct html_open *e)
{
	if (m->tables != 1 || !m->cells)
		return;
	writer_close(&m->writer, " |");
	writer_break(&m->writer, 1);
	if (!m->rows++) {
		writer_open(&m->writer, "|");
		for (unsigned i = 0; i < MIN(m->cells, (unsigned)MAX_CELLS); i++)
			writer_close(&m->writer, " --- |");
	}
}

static void begin_cell(struct markdown *m, struct html_open *e, const xmlChar **attributes)
{
	if (m->tables == 1) {
		if (m->cells++)
			writer_close(&m->writer, " ");
		m->writer.pending.blank = false;
		writer_open(&m->writer, "| ");
	} else {
		writer_break(&m->writer, 1);
	}
	m->writer.flat++;
}

static void end_cell(struct markdown *m, struct html_open *e)
{
	m->writer.flat--;
	m->writer.pending = (struct html_pending){ .blank = m->tables != 1 };
}

/* Sorted by name. */
static const struct html_element elements[] = {
	{ "a", .begin = begin_link, .end = end_link },
	{ "address", .breaks = 2 },
	{ "article", .breaks = 2 },
	{ "aside", .breaks = 2 },
	{ "audio", .hidden = true },
	{ "b", .open_mark = "**", .close_mark = "**" },
	{ "base", .begin = begin_base },
	{ "blockquote", .breaks = 2, .begin = begin_quote, .end = end_quote },
	{ "br", .breaks = 1 },
	{ "canvas", .hidden = true },
	{ "caption", .breaks = 2 },
	{ "code", .open_mark = "`", .close_mark = "`" },
	{ "dd", .breaks = 1, .begin = begin_item, .end = end_item },
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
	{ "hr", .breaks = 2, .begin = begin_rule },
	{ "i", .open_mark = "*", .close_mark = "*" },
	{ "iframe", .hidden = true },
	{ "img", .begin = begin_image },
	{ "kbd", .open_mark = "`", .close_mark = "`" },
	{ "li", .breaks = 1, .begin = begin_item, .end = end_item },
	{ "main", .breaks = 2 },
	{ "nav", .breaks = 2 },
	{ "object", .hidden = true },
	{ "ol", .begin = begin_list, .end = end_list },
	{ "p", .breaks = 2 },
	{ "pre", .begin = begin_verbatim, .end = end_verbatim },
	{ "samp", .open_mark = "`", .close_mark = "`" },
	{ "script", .hidden = true },
	{ "section", .breaks = 2 },
	{ "select", .hidden = true },
	{ "strong", .open_mark = "**", .close_mark = "**" },
	{ "style", .hidden = true },
	{ "summary", .breaks = 1 },
	{ "svg", .hidden = true },
	{ "table", .breaks = 2, .begin = begin_table, .end = end_table },
	{ "td", .begin = begin_cell, .end = end_cell },
	{ "template", .hidden = true },
	{ "textarea", .hidden = true },
	{ "th", .begin = begin_cell, .end = end_cell },
	{ "title", .breaks = 2, .open_mark = "Title: " },
	{ "tr", .breaks = 1, .begin = begin_row, .end = end_row },
	{ "ul", .begin = begin_list, .end = end_list },
	{ "video", .hidden = true },
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

/* ---- events of the parser --------------------------------------------------------------------------------------- */

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
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
		m->ending = "[The page is longer than what was read of it.]";
	else if (due && limits->stop && atomic_load(limits->stop))
		m->ending = "[The page was not read to its end.]";
	else if (due && limits->time_ms && cpu_ms() - m->started_ms > limits->time_ms)
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
		e.hidden = (element && element->hidden) || html_attribute(attributes, "hidden");
		if (!m->hidden && !e.hidden && element) {
			if (element->breaks)
				writer_break(&m->writer, element->breaks);
			if (element->begin)
				element->begin(m, &e, attributes);
			else if (element->open_mark && (!m->writer.verbatim || !element->close_mark))
				writer_open(&m->writer, element->open_mark);
		}
		e.inside = m->writer.out->n;
		m->hidden += e.hidden;
		if (m->count == m->cap) {
			m->cap = m->cap ? m->cap * 2 : 64;
			m->open = xrealloc(m->open, m->cap * sizeof *m->open);
		}
		m->open[m->count++] = e;
	}
	check_limits(m);
}

static void end_element(struct markdown *m)
{
	struct html_open e = m->open[--m->count];
	const struct html_element *element = e.element;

	m->hidden -= e.hidden;
	if (!m->hidden && !e.hidden && element) {
		if (element->end)
			element->end(m, &e);
		else if (element->open_mark && (!m->writer.verbatim || !element->close_mark) &&
			 !writer_undo_empty(&m->writer, &e) && element->close_mark)
			writer_close(&m->writer, element->close_mark);
		if (element->breaks)
			writer_break(&m->writer, element->breaks);
	}
	free(e.link);
}

/* The parser ends elements in order. Should it ever not, those inside end as well. */
static void on_end(void *data, const xmlChar *name)
{
	struct markdown *m = data;
	size_t at = m->ending ? 0 : m->count;

	while (at && strcmp(m->open[at - 1].name, (const char *)name) != 0)
		at--;
	while (at && m->count >= at)
		end_element(m);
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
	buf_add(out, kept.p, kept.n);
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
	m.started_ms = cpu_ms();
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
