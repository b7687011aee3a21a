/* SPDX-License-Identifier: MIT
 * html_element.c - what each element of a page becomes. `elements` says it; an element that is not there leaves its text as it
 * is. */
#include "tools/web/html_element.h"
#include "lib/base/utf8.h"
#include "lib/io/url.h"
#include "tools/web/web_url.h"

enum { LINK_LIMIT_BYTES = 2000, MOST_CELLS = 100, LAST_ITEM_NUMBER = 99999 };

const char *html_attribute(const char *const *attributes, const char *name)
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

const struct html_element *html_element_at(int number)
{
	return number < 0 ? NULL : &elements[number];
}
