/* SPDX-License-Identifier: MIT
 * html_writer.c - the flow of Markdown text. */
#include "tools/web/html_writer.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_shown(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f;
}

static void begin_line(struct html_writer *w)
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
		begin_line(w);
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
			begin_line(w);
	}
}

void html_writer_text(struct html_writer *w, struct str text)
{
	if (w->verbatim && !w->flat)
		add_verbatim(w, text);
	else
		add_folded(w, text);
}

void html_writer_break(struct html_writer *w, unsigned breaks)
{
	if (w->flat)
		w->at.blank = true;
	else if (!w->at.fresh)
		w->at.breaks = MAX(w->at.breaks, breaks);
}

void html_writer_open(struct html_writer *w, const char *mark)
{
	pay_what_is_due(w);
	buf_addstr(w->out, mark);
	w->at.fresh = true;
}

void html_writer_close(struct html_writer *w, const char *mark)
{
	buf_addstr(w->out, mark);
	w->at.fresh = false;
}

void html_writer_indent(struct html_writer *w, const char *indent)
{
	if (w->depth < MOST_INDENTS)
		w->indents[w->depth] = indent;
	w->depth++;
}

void html_writer_outdent(struct html_writer *w)
{
	w->depth--;
}

struct html_place html_writer_place(const struct html_writer *w)
{
	struct html_place place = w->at;

	place.length = w->out->n;
	return place;
}

void html_writer_return(struct html_writer *w, const struct html_place *place)
{
	w->out->n = place->length;
	if (w->out->p)
		w->out->p[w->out->n] = '\0';
	w->at = *place;
	w->at.length = 0;
}
