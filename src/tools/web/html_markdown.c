/* SPDX-License-Identifier: MIT
 * html_markdown.c - a page as Markdown: it is cleaned, parsed, and each element does its part (html_element.c). */
#include "tools/web/html_markdown.h"
#include "lib/base/utf8.h"
#include "tools/web/html_clean.h"
#include "tools/web/html_element.h"

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
static void finish(struct markdown *m, enum html_end end)
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
		finish(&m, end);
	while (m.count)
		free(m.open[--m.count].link);
	free(m.open);
	free(m.base);
	return rc;
}
