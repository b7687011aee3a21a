/* SPDX-License-Identifier: MIT
 * html_markdown.c - a page as Markdown: it is cleaned, parsed, and each element does its part. */
#include "tools/web/html_markdown.h"
#include "lib/base/utf8.h"
#include "lib/io/url.h"
#include "tools/web/html_parse.h"
#include "tools/web/web_access.h"

enum { MOST_INDENTS = 16 }; /* deeper ones are not shown, so that a line cannot be mostly indent */

/* What is due before the next text; a copy of it brings the writer back to where it was */
struct html_place {
	size_t length;   /* of the output */
	unsigned breaks; /* line ends */
	bool blank;
	bool fresh; /* nothing was written since the line, the item or the mark began */
};

/* Zeroed but for out: ready. */
struct html_writer {
	struct buf *out; /* borrowed */
	size_t from;     /* where our part of it begins */
	struct html_place at;
	const char *indents[MOST_INDENTS];
	unsigned depth;    /* of indents, also those that are not shown */
	unsigned verbatim; /* text as it is */
	unsigned flat;     /* everything in one line */
};

/* An element that has begun and not ended */
struct html_open {
	const char *name; /* borrowed from the parser */
	const struct html_element *element;
	struct html_place before;
	size_t inside;   /* length of the output when its content began */
	char *link;      /* owned */
	unsigned number; /* of the last item of a list */
	bool hidden;
};

/* A page on its way */
struct markdown {
	struct html_writer writer;
	size_t limit_bytes;
	char *base; /* owned; NULL: links stay as they are */
	struct html_open *open;
	size_t count, cap;
	unsigned hidden; /* open elements that are */
	unsigned tables, rows, cells;
};

struct html_element {
	const char *name;
	/* attributes as in html_parse.h. Either may be NULL. */
	void (*begin)(struct markdown *m, struct html_open *e, const char *const *attributes);
	void (*end)(struct markdown *m, struct html_open *e);
	const char *mark;
};

/* ---- the flow of text ------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_shown(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f;
}

static void writer_begin_line(struct html_writer *w)
{
	for (unsigned i = 0; i < MIN(w->depth, (unsigned)MOST_INDENTS); i++)
		buf_addstr(w->out, w->indents[i]);
}

static void pay_what_is_due(struct html_writer *w)
{
	bool first = w->out->n == w->from;

	if (first || w->at.breaks) {
		for (unsigned i = 0; i < w->at.breaks && !first; i++)
			buf_addch(w->out, '\n');
		writer_begin_line(w);
	} else if (w->at.blank && !w->at.fresh) {
		buf_addch(w->out, ' ');
	}
	w->at = (struct html_place){ 0 };
}

static void add_folded(struct html_writer *w, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (is_blank(text.p[i])) {
			w->at.blank = true;
			continue;
		}
		if (!is_shown(text.p[i]))
			continue;
		if (w->at.blank || w->at.breaks || w->at.fresh || w->out->n == w->from)
			pay_what_is_due(w);
		buf_addch(w->out, text.p[i]);
	}
}

static void add_verbatim(struct html_writer *w, struct str text)
{
	if (w->at.breaks)
		pay_what_is_due(w);
	w->at = (struct html_place){ 0 };
	for (size_t i = 0; i < text.n; i++) {
		if (is_shown(text.p[i]) || text.p[i] == '\t' || text.p[i] == '\n')
			buf_addch(w->out, text.p[i]);
		if (text.p[i] == '\n')
			writer_begin_line(w);
	}
}

static void html_writer_text(struct html_writer *w, struct str text)
{
	if (w->verbatim && !w->flat)
		add_verbatim(w, text);
	else
		add_folded(w, text);
}

/* Line ends before what follows, at least so many */
static void html_writer_break(struct html_writer *w, unsigned breaks)
{
	if (w->flat)
		w->at.blank = true;
	else if (!w->at.fresh)
		w->at.breaks = MAX(w->at.breaks, breaks);
}

/* Something of ours: with all that is due before it. Blanks and line ends behind it vanish. */
static void html_writer_open(struct html_writer *w, const char *mark)
{
	pay_what_is_due(w);
	buf_addstr(w->out, mark);
	w->at.fresh = true;
}

/* Directly behind what is there */
static void html_writer_close(struct html_writer *w, const char *mark)
{
	buf_addstr(w->out, mark);
	w->at.fresh = false;
}

/* Of the next lines; a constant */
static void html_writer_indent(struct html_writer *w, const char *indent)
{
	if (w->depth < MOST_INDENTS)
		w->indents[w->depth] = indent;
	w->depth++;
}

static void html_writer_outdent(struct html_writer *w)
{
	w->depth--;
}

static struct html_place html_writer_place(const struct html_writer *w)
{
	struct html_place place = w->at;

	place.length = w->out->n;
	return place;
}

/* Nothing was written since */
static void html_writer_return(struct html_writer *w, const struct html_place *place)
{
	w->out->n = place->length;
	if (w->out->p)
		w->out->p[w->out->n] = '\0';
	w->at = *place;
	w->at.length = 0;
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* What each element of a page becomes. `elements` says it; an element that is not there leaves its text as it
 * is. */

enum { LINK_LIMIT_BYTES = 2000, MOST_CELLS = 100, LAST_ITEM_NUMBER = 99999 };

/* NULL: it does not have it */
static const char *html_attribute(const char *const *attributes, const char *name)
{
	for (; attributes && attributes[0]; attributes += 2)
		if (!strcmp(attributes[0], name))
			return attributes[1] ? attributes[1] : "";
	return NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void begin_block(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
}

static void end_block(struct markdown *m, struct html_open *e)
{
	html_writer_break(&m->writer, 2);
}

static void begin_line(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 1);
}

static void end_line(struct markdown *m, struct html_open *e)
{
	html_writer_break(&m->writer, 1);
}

static void begin_rule(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
	html_writer_open(&m->writer, "---");
	m->writer.at.fresh = false;
	html_writer_break(&m->writer, 2);
}

static void begin_quote(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
	html_writer_indent(&m->writer, "> ");
}

static void end_quote(struct markdown *m, struct html_open *e)
{
	html_writer_outdent(&m->writer);
	html_writer_break(&m->writer, 2);
}

static void begin_verbatim(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
	if (m->writer.verbatim++ || m->writer.flat)
		return;
	html_writer_open(&m->writer, "```");
	m->writer.at = (struct html_place){ .breaks = 1 };
}

static void end_verbatim(struct markdown *m, struct html_open *e)
{
	if (--m->writer.verbatim || m->writer.flat)
		return;
	m->writer.at = (struct html_place){ .breaks = 1 };
	html_writer_open(&m->writer, "```");
	m->writer.at.fresh = false;
	html_writer_break(&m->writer, 2);
}

/* ---- marks around text ----------------------------------------------------------------------------------------- */

static void begin_mark(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	if (m->writer.verbatim)
		return;
	html_writer_open(&m->writer, e->element->mark);
}

static bool is_empty(const struct markdown *m, const struct html_open *e)
{
	return m->writer.out->n == e->inside;
}

static void end_mark(struct markdown *m, struct html_open *e)
{
	if (m->writer.verbatim)
		return;
	if (is_empty(m, e))
		html_writer_return(&m->writer, &e->before);
	else
		html_writer_close(&m->writer, e->element->mark);
}

static void begin_heading(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
	html_writer_open(&m->writer, e->element->mark);
}

static void end_heading(struct markdown *m, struct html_open *e)
{
	if (is_empty(m, e))
		html_writer_return(&m->writer, &e->before);
	html_writer_break(&m->writer, 2);
}

static void begin_title(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
	html_writer_open(&m->writer, "Title: ");
}

/* ---- links and images ------------------------------------------------------------------------------------------ */

/* NULL: it leads nowhere else. */
static char *find_link(const struct markdown *m, const char *link)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!link || !link[0] || link[0] == '#' || strlen(link) > LINK_LIMIT_BYTES)
		return NULL;
	const char *found = m->base ? url_resolve(&a, m->base, link) : link;
	return found && strlen(found) <= LINK_LIMIT_BYTES ? xstrdup(found) : NULL;
}

static void begin_link(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	e->link = m->writer.verbatim ? NULL : find_link(m, html_attribute(attributes, "href"));
	if (e->link)
		html_writer_open(&m->writer, "[");
}

static void close_link(struct markdown *m, const char *link)
{
	html_writer_close(&m->writer, "](");
	html_writer_close(&m->writer, link);
	html_writer_close(&m->writer, ")");
}

static void end_link(struct markdown *m, struct html_open *e)
{
	if (!e->link)
		return;
	if (is_empty(m, e))
		html_writer_return(&m->writer, &e->before);
	else
		close_link(m, e->link);
}

/* An image without a text says nothing. */
static void begin_image(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	const char *text = html_attribute(attributes, "alt");
	AUTO_FREE char *link = find_link(m, html_attribute(attributes, "src"));

	if (!text || !text[0])
		return;
	struct str shown = utf8_cut(str_from(text), LINK_LIMIT_BYTES);
	if (!link) {
		html_writer_text(&m->writer, shown);
		return;
	}
	html_writer_open(&m->writer, "![");
	html_writer_text(&m->writer, shown);
	close_link(m, link);
}

static void begin_base(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	char *base = m->base ? find_link(m, html_attribute(attributes, "href")) : NULL;

	if (!base)
		return;
	free(m->base);
	m->base = base;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

static void begin_list(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	const char *start = html_attribute(attributes, "start");
	uint64_t first;

	if (start && str_to_u64(str_from(start), &first) && first <= LAST_ITEM_NUMBER && first)
		e->number = (unsigned)first - 1;
	html_writer_break(&m->writer, m->writer.depth ? 1 : 2);
}

static void end_list(struct markdown *m, struct html_open *e)
{
	html_writer_break(&m->writer, m->writer.depth ? 1 : 2);
}

/* The list that e stands in, if it counts its items; e is the innermost element. */
static struct html_open *numbered_list(struct markdown *m)
{
	for (size_t i = m->count; i-- > 0;) {
		const struct html_element *element = m->open[i].element;
		if (element && element->begin == begin_list)
			return strcmp(element->name, "ol") ? NULL : &m->open[i];
	}
	return NULL;
}

static void begin_item(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	struct html_open *list = numbered_list(m);
	char mark[16];

	html_writer_break(&m->writer, 1);
	snprintf(mark, sizeof mark, "%u. ", list ? ++list->number : 0);
	html_writer_open(&m->writer, list ? mark : "- ");
	html_writer_indent(&m->writer, list ? "   " : "  ");
}

static void end_item(struct markdown *m, struct html_open *e)
{
	html_writer_outdent(&m->writer);
	m->writer.at.fresh = false;
	html_writer_break(&m->writer, 1);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* A table inside another one is text of its cell. */
static void begin_table(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 2);
	if (!m->tables++)
		m->rows = m->cells = 0;
}

static void end_table(struct markdown *m, struct html_open *e)
{
	m->tables--;
	html_writer_break(&m->writer, 2);
}

static void begin_row(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	html_writer_break(&m->writer, 1);
	if (m->tables == 1)
		m->cells = 0;
}

static void end_row(struct markdown *m, struct html_open *e)
{
	if (m->tables == 1 && m->cells) {
		html_writer_close(&m->writer, " |");
		html_writer_break(&m->writer, 1);
		if (!m->rows++) {
			html_writer_open(&m->writer, "|");
			for (unsigned i = 0; i < MIN(m->cells, (unsigned)MOST_CELLS); i++)
				html_writer_close(&m->writer, " --- |");
		}
	}
	html_writer_break(&m->writer, 1);
}

static void begin_cell(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	if (m->tables == 1) {
		if (m->cells++)
			html_writer_close(&m->writer, " ");
		m->writer.at.blank = false;
		html_writer_open(&m->writer, "| ");
	} else {
		html_writer_break(&m->writer, 1);
	}
	m->writer.flat++;
}

static void end_cell(struct markdown *m, struct html_open *e)
{
	m->writer.flat--;
	m->writer.at = (struct html_place){ .blank = m->tables != 1 };
}

/* ---- the table of elements ------------------------------------------------------------------------------------- */

/* Nothing inside counts. */
static void begin_hidden(struct markdown *m, struct html_open *e, const char *const *attributes)
{
	e->hidden = true;
}

/* Sorted by name. */
static const struct html_element elements[] = {
	{ "a", begin_link, end_link, NULL },
	{ "address", begin_block, end_block, NULL },
	{ "article", begin_block, end_block, NULL },
	{ "aside", begin_block, end_block, NULL },
	{ "audio", begin_hidden, NULL, NULL },
	{ "b", begin_mark, end_mark, "**" },
	{ "base", begin_base, NULL, NULL },
	{ "blockquote", begin_quote, end_quote, NULL },
	{ "br", begin_line, NULL, NULL },
	{ "canvas", begin_hidden, NULL, NULL },
	{ "caption", begin_block, end_block, NULL },
	{ "code", begin_mark, end_mark, "`" },
	{ "dd", begin_item, end_item, NULL },
	{ "details", begin_block, end_block, NULL },
	{ "div", begin_line, end_line, NULL },
	{ "dl", begin_block, end_block, NULL },
	{ "dt", begin_line, end_line, NULL },
	{ "em", begin_mark, end_mark, "*" },
	{ "fieldset", begin_block, end_block, NULL },
	{ "figcaption", begin_line, end_line, NULL },
	{ "figure", begin_block, end_block, NULL },
	{ "footer", begin_block, end_block, NULL },
	{ "form", begin_block, end_block, NULL },
	{ "h1", begin_heading, end_heading, "# " },
	{ "h2", begin_heading, end_heading, "## " },
	{ "h3", begin_heading, end_heading, "### " },
	{ "h4", begin_heading, end_heading, "#### " },
	{ "h5", begin_heading, end_heading, "##### " },
	{ "h6", begin_heading, end_heading, "###### " },
	{ "header", begin_block, end_block, NULL },
	{ "hr", begin_rule, NULL, NULL },
	{ "i", begin_mark, end_mark, "*" },
	{ "iframe", begin_hidden, NULL, NULL },
	{ "img", begin_image, NULL, NULL },
	{ "kbd", begin_mark, end_mark, "`" },
	{ "li", begin_item, end_item, NULL },
	{ "main", begin_block, end_block, NULL },
	{ "nav", begin_block, end_block, NULL },
	{ "object", begin_hidden, NULL, NULL },
	{ "ol", begin_list, end_list, NULL },
	{ "p", begin_block, end_block, NULL },
	{ "pre", begin_verbatim, end_verbatim, NULL },
	{ "samp", begin_mark, end_mark, "`" },
	{ "script", begin_hidden, NULL, NULL },
	{ "section", begin_block, end_block, NULL },
	{ "select", begin_hidden, NULL, NULL },
	{ "strong", begin_mark, end_mark, "**" },
	{ "style", begin_hidden, NULL, NULL },
	{ "summary", begin_line, end_line, NULL },
	{ "svg", begin_hidden, NULL, NULL },
	{ "table", begin_table, end_table, NULL },
	{ "td", begin_cell, end_cell, NULL },
	{ "template", begin_hidden, NULL, NULL },
	{ "textarea", begin_hidden, NULL, NULL },
	{ "th", begin_cell, end_cell, NULL },
	{ "title", begin_title, end_heading, NULL },
	{ "tr", begin_row, end_row, NULL },
	{ "ul", begin_list, end_list, NULL },
	{ "video", begin_hidden, NULL, NULL },
};

_Static_assert(COUNT_OF(elements) <= HTML_ELEMENTS_MAX, "the cleaner counts them");

static int by_name(const void *name, const void *element)
{
	const struct str *wanted = name;
	const char *known = ((const struct html_element *)element)->name;
	int order = strncmp(wanted->p, known, wanted->n);

	return order ? order : known[wanted->n] ? -1 : 0;
}

int html_element_find(struct str name)
{
	const struct html_element *found =
		name.n ? bsearch(&name, elements, COUNT_OF(elements), sizeof *elements, by_name) : NULL;

	return found ? (int)(found - elements) : -1;
}

/* NULL: -1 */
static const struct html_element *html_element_at(int number)
{
	return number < 0 ? NULL : &elements[number];
}

/* ---- pages ------------------------------------------------------------------------------------------------------ */

static void push(struct markdown *m, struct html_open e)
{
	if (m->count == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 64;
		m->open = xrealloc(m->open, m->cap * sizeof *m->open);
	}
	m->open[m->count++] = e;
}

static void on_begin(void *data, const char *name, const char *const *attributes)
{
	struct markdown *m = data;
	struct html_open e = { .name = name,
			       .element = html_element_at(html_element_find(str_from(name))),
			       .before = html_writer_place(&m->writer),
			       .hidden = html_attribute(attributes, "hidden") != NULL };

	if (!m->hidden && !e.hidden && e.element)
		e.element->begin(m, &e, attributes);
	e.inside = m->writer.out->n;
	m->hidden += e.hidden;
	push(m, e);
}

static void pop(struct markdown *m)
{
	struct html_open e = m->open[--m->count];

	m->hidden -= e.hidden;
	if (!m->hidden && !e.hidden && e.element && e.element->end)
		e.element->end(m, &e);
	free(e.link);
}

/* The parser closes in order. Should it ever not, what is inside ends as well. */
static void on_end(void *data, const char *name)
{
	struct markdown *m = data;
	size_t at = m->count;

	while (at && strcmp(m->open[at - 1].name, name) != 0)
		at--;
	while (at && m->count >= at)
		pop(m);
}

static void on_text(void *data, struct str text)
{
	struct markdown *m = data;

	if (!m->hidden)
		html_writer_text(&m->writer, text);
}

static bool is_full(void *data)
{
	const struct markdown *m = data;

	return m->writer.out->n - m->writer.from >= m->limit_bytes;
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

static const char *const endings[] = {
	[HTML_END] = NULL,
	[HTML_FULL] = "[The page is longer than what was read of it.]",
	[HTML_TOO_DEEP] = "[The page is nested too deeply: the rest was not read.]",
	[HTML_TOO_SLOW] = "[The page takes too long to read: the rest was left out.]",
	[HTML_STOPPED] = "[The page was not read to its end.]",
};

/* Room for the ending is taken from the text. */
static void page_finish(struct markdown *m, enum html_end end)
{
	struct buf *out = m->writer.out;
	size_t room = m->limit_bytes - MIN(m->limit_bytes, endings[end] ? strlen(endings[end]) + 2 : 0);
	AUTO_BUF struct buf text = { 0 };

	buf_reserve(out, 1);
	utf8_add_repaired(&text, utf8_cut((struct str){ out->p + m->writer.from, out->n - m->writer.from }, room));
	struct str kept = str_trim(utf8_cut(buf_str(&text), room));
	out->n = m->writer.from;
	buf_add(out, kept.p, kept.n);
	if (endings[end] && room)
		buf_addf(out, "%s%s", kept.n ? "\n\n" : "", endings[end]);
}

int html_to_markdown(const struct html_page *page, struct buf *out, struct err *err)
{
	static const struct html_handlers handlers = { on_begin, on_end, on_text, is_full };
	struct markdown m = { .writer = { .out = out, .from = out->n },
			      .limit_bytes = page->limit_bytes,
			      .base = page->base ? xstrdup(page->base) : NULL };
	AUTO_BUF struct buf clean = { 0 };
	enum html_end end;

	html_clean(page->text, &clean);
	int rc = html_parse(buf_str(&clean), &page->limits, &handlers, &m, &end, err);

	if (rc == 0)
		page_finish(&m, end);
	while (m.count)
		free(m.open[--m.count].link);
	free(m.open);
	free(m.base);
	return rc;
}
