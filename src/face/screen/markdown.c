/* SPDX-License-Identifier: MIT
 * markdown.c - Markdown as lines for a terminal. md4c reads it and calls us for blocks, spans and text; a paragraph, a cell or the
 * text of a list item is gathered in `text` and written when its block ends. */
#include "face/screen/markdown.h"
#include <md4c.h>
#include <stdlib.h>
#include "face/screen/code.h"
#include "lib/base/library.h"
#include "lib/base/utf8.h"

enum { MOST_NESTED = 12, MOST_TABLE_COLUMNS = 64, LEAST_CELL = 3, NARROW = 60, MARGIN_COLUMNS = 16 };

struct nested {
	bool quote;      /* a quotation; otherwise a list */
	unsigned number; /* of the next item; 0: bullets */
};

struct markdown {
	unsigned columns;
	bool wraps;
	struct styled *out;
	struct styled text;  /* of the block that is open */
	unsigned look;       /* of the spans that are open */
	unsigned block_look; /* of a heading */
	struct nested nested[MOST_NESTED];
	size_t depth;
	bool begins_item;     /* the next line gets a bullet or a number */
	bool code, wrote;     /* wrote: a block stands above in this list or document */
	struct buf language;  /* of a code block */
	struct buf address;   /* of a link */
	struct styled *cells; /* of a table, row by row */
	MD_ALIGN aligns[MOST_TABLE_COLUMNS];
	size_t cell_count, cell_columns;
};

struct md4c {
	__typeof__(md_parse) *parse;
};

/* What stands before a line: quotation marks and the indentation of lists; a bullet where an item begins. Returns its width. */
static unsigned add_margin(struct markdown *m)
{
	unsigned width = 0;

	for (size_t i = 0; i < m->depth; i++) {
		struct nested *n = &m->nested[i];
		bool bullet = m->begins_item && i + 1 == m->depth && !n->quote;
		if (n->quote) {
			styled_add(m->out, LOOK_DIM, STR("▎ "));
			width += 2;
		} else if (bullet && n->number) {
			unsigned number = n->number - 1;
			styled_addf(m->out, LOOK_PLAIN, "%u. ", number);
			width += number > 99 ? 5 : number > 9 ? 4 : 3;
		} else {
			styled_add(m->out, LOOK_PLAIN, bullet ? STR("• ") : n->number ? STR("   ") : STR("  "));
			width += n->number ? 3 : 2;
		}
	}
	m->begins_item = false;
	return width;
}

static void add_wrapped(struct markdown *m)
{
	struct str s = buf_str(&m->text.text);
	size_t from = 0, next;

	if (!s.n && !m->begins_item)
		return;
	do {
		unsigned margin = add_margin(m);
		unsigned room = m->columns > margin + 8 ? m->columns - margin : 8;
		size_t end = cells_wrap(s, from, m->wraps ? room : UINT32_MAX / 2, &next);
		styled_append(m->out, &m->text, from, end);
		styled_add(m->out, LOOK_PLAIN, STR("\n"));
		from = next;
	} while (from < s.n);
	styled_clear(&m->text);
	m->wrote = true;
}

static void add_blank(struct markdown *m)
{
	if (m->wrote)
		styled_add(m->out, LOOK_PLAIN, STR("\n"));
	m->wrote = false;
}

/* Widths that fit: the widest column is made narrower until they do. False: the window is too narrow. */
static bool fit_widths(const struct markdown *m, unsigned *widths)
{
	unsigned all = 1, most = m->columns;

	for (size_t i = 0; i < m->depth; i++) /* as add_margin() has it */
		most -= MIN(most, m->nested[i].number ? 3u : 2u);
	memset(widths, 0, m->cell_columns * sizeof *widths);
	for (size_t i = 0; i < m->cell_count; i++) {
		unsigned width = cells_width(buf_str(&m->cells[i].text));
		unsigned *column = &widths[i % m->cell_columns];
		*column = MAX(*column, MAX(width, (unsigned)LEAST_CELL));
	}
	for (size_t i = 0; i < m->cell_columns; i++)
		all += widths[i] + 3;
	if (all > most && m->columns < NARROW)
		return false;
	while (all > most) {
		size_t widest = 0;
		for (size_t i = 1; i < m->cell_columns; i++)
			if (widths[i] > widths[widest])
				widest = i;
		if (widths[widest] <= LEAST_CELL)
			return false;
		widths[widest]--;
		all--;
	}
	return true;
}

static void add_table_row(struct markdown *m, const struct styled *cells, const unsigned *widths)
{
	size_t from[MOST_TABLE_COLUMNS] = { 0 };

	for (bool more = true; more;) {
		more = false;
		(void)add_margin(m);
		for (size_t i = 0; i < m->cell_columns; i++) {
			struct str s = buf_str(&cells[i].text);
			size_t next = s.n, start = from[i];
			size_t end = start < s.n ? cells_wrap(s, start, widths[i], &next) : start;
			unsigned width = cells_width((struct str){ s.p + start, end - start });
			unsigned room = widths[i] - MIN(width, widths[i]);
			unsigned before = m->aligns[i] == MD_ALIGN_RIGHT    ? room
					  : m->aligns[i] == MD_ALIGN_CENTER ? room / 2
									    : 0;
			styled_add(m->out, LOOK_DIM, i ? STR(" │ ") : STR("│ "));
			styled_addf(m->out, LOOK_PLAIN, "%*s", (int)before, "");
			styled_append(m->out, &cells[i], start, end);
			styled_addf(m->out, LOOK_PLAIN, "%*s", (int)(room - before), "");
			from[i] = next;
			more = more || next < s.n;
		}
		styled_add(m->out, LOOK_DIM, STR(" │"));
		styled_add(m->out, LOOK_PLAIN, STR("\n"));
	}
}

static void add_table(struct markdown *m)
{
	unsigned widths[MOST_TABLE_COLUMNS];

	if (!m->cell_columns)
		return;
	if (m->columns && fit_widths(m, widths)) {
		for (size_t i = 0; i + m->cell_columns <= m->cell_count; i += m->cell_columns) {
			add_table_row(m, &m->cells[i], widths);
			if (!i)
				(void)add_margin(m);
			for (size_t k = 0; !i && k < m->cell_columns; k++) { /* below the head */
				styled_add(m->out, LOOK_DIM, k ? STR("┼") : STR("├"));
				for (unsigned w = 0; w < widths[k] + 2; w++)
					styled_add(m->out, LOOK_DIM, STR("─"));
			}
			if (!i) {
				styled_add(m->out, LOOK_DIM, STR("┤"));
				styled_add(m->out, LOOK_PLAIN, STR("\n"));
			}
		}
	} else { /* Header: value */
		for (size_t i = m->cell_columns; i < m->cell_count; i++) {
			const struct styled *head = &m->cells[i % m->cell_columns];
			styled_append(&m->text, head, 0, head->text.n);
			styled_add(&m->text, LOOK_PLAIN, STR(": "));
			styled_append(&m->text, &m->cells[i], 0, m->cells[i].text.n);
			bool last = (i + 1) % m->cell_columns == 0;
			if (!m->columns)
				styled_add(&m->text, LOOK_PLAIN, last ? STR(".") : STR(", "));
			if (m->columns || last)
				add_wrapped(m);
		}
	}
	m->wrote = true;
}

static void drop_table(struct markdown *m)
{
	for (size_t i = 0; i < m->cell_count; i++)
		styled_release(&m->cells[i]);
	free(TAKE(m->cells));
	m->cell_count = m->cell_columns = 0;
}

static void nest(struct markdown *m, bool quote, unsigned number)
{
	if (m->depth < MOST_NESTED)
		m->nested[m->depth++] = (struct nested){ quote, number };
}

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
	struct markdown *m = data;

	switch (type) {
	case MD_BLOCK_QUOTE:
		add_blank(m);
		nest(m, true, 0);
		break;
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		add_wrapped(m); /* the text of the item that it is in */
		if (!m->depth)
			add_blank(m);
		nest(m, false, type == MD_BLOCK_OL ? ((MD_BLOCK_OL_DETAIL *)detail)->start + 1 : 0);
		break;
	case MD_BLOCK_LI: {
		const MD_BLOCK_LI_DETAIL *item = detail;
		m->begins_item = true;
		if (item->is_task)
			styled_add(&m->text, LOOK_PLAIN, item->task_mark == ' ' ? STR("☐ ") : STR("☑ "));
		break;
	}
	case MD_BLOCK_H:
		add_blank(m);
		m->block_look = LOOK_BOLD;
		break;
	case MD_BLOCK_CODE: {
		const MD_BLOCK_CODE_DETAIL *code = detail;
		add_wrapped(m);
		add_blank(m);
		m->code = true;
		buf_clear(&m->language);
		buf_add(&m->language, code->lang.text, code->lang.text ? code->lang.size : 0);
		break;
	}
	case MD_BLOCK_TABLE:
		add_blank(m);
		drop_table(m);
		m->cell_columns = ((MD_BLOCK_TABLE_DETAIL *)detail)->col_count;
		if (m->cell_columns > MOST_TABLE_COLUMNS)
			return 1;
		break;
	case MD_BLOCK_TH:
		m->block_look = LOOK_BOLD;
		/* fall through */
	case MD_BLOCK_TD:
		if (m->cell_columns)
			m->aligns[m->cell_count % m->cell_columns] = ((MD_BLOCK_TD_DETAIL *)detail)->align;
		break;
	case MD_BLOCK_P:
		if (!m->begins_item)
			add_blank(m);
		break;
	case MD_BLOCK_HR:
		add_blank(m);
		styled_add(m->out, LOOK_DIM, STR("───\n"));
		m->wrote = true;
		break;
	default:
		break;
	}
	return 0;
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *data)
{
	struct markdown *m = data;

	switch (type) {
	case MD_BLOCK_QUOTE:
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		if (m->depth)
			m->depth--;
		if (type != MD_BLOCK_QUOTE) /* behind a list in a list the next item follows at once */
			m->wrote = !m->depth || m->nested[m->depth - 1].quote;
		break;
	case MD_BLOCK_LI:
		add_wrapped(m);
		m->begins_item = false;
		if (m->depth && m->nested[m->depth - 1].number)
			m->nested[m->depth - 1].number++;
		m->wrote = !m->depth;
		break;
	case MD_BLOCK_H:
		add_wrapped(m);
		m->block_look = LOOK_PLAIN;
		break;
	case MD_BLOCK_CODE:
		if (m->language.n) {
			styled_add_line(m->out, LOOK_DIM, buf_str(&m->language));
		}
		code_paint(buf_str(&m->language), buf_str(&m->text.text), m->out);
		styled_clear(&m->text);
		m->code = false;
		m->wrote = true;
		break;
	case MD_BLOCK_TABLE:
		add_table(m);
		drop_table(m);
		break;
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		m->block_look = LOOK_PLAIN;
		m->cells = xrealloc(m->cells, (m->cell_count + 1) * sizeof *m->cells);
		m->cells[m->cell_count++] = m->text;
		m->text = (struct styled){ 0 };
		break;
	case MD_BLOCK_P:
		add_wrapped(m);
		break;
	default:
		break;
	}
	return 0;
}

static unsigned look_of_span(MD_SPANTYPE type)
{
	switch (type) {
	case MD_SPAN_EM:
		return LOOK_ITALIC;
	case MD_SPAN_STRONG:
		return LOOK_BOLD;
	case MD_SPAN_CODE:
		return LOOK_CYAN;
	case MD_SPAN_A:
		return LOOK_UNDERLINE;
	case MD_SPAN_DEL:
		return LOOK_DIM;
	default:
		return LOOK_PLAIN;
	}
}

static int on_enter_span(MD_SPANTYPE type, void *detail, void *data)
{
	struct markdown *m = data;

	m->look |= look_of_span(type);
	if (type == MD_SPAN_A) {
		const MD_SPAN_A_DETAIL *link = detail;
		buf_clear(&m->address);
		buf_add(&m->address, link->href.text, link->href.text ? link->href.size : 0);
	}
	return 0;
}

static int on_leave_span(MD_SPANTYPE type, void *detail, void *data)
{
	struct markdown *m = data;
	struct str text = buf_str(&m->text.text), address = buf_str(&m->address);

	m->look &= ~look_of_span(type);
	if (type != MD_SPAN_A || !address.n)
		return 0;
	/* one that will not be broken, and that a terminal may open */
	bool linked = !m->cell_columns && address.n + MARGIN_COLUMNS < m->columns &&
		      (str_starts(address, STR("https://")) || str_starts(address, STR("http://")));
	for (size_t i = 0; i < address.n; i++)
		linked = linked && address.p[i] > ' ' && address.p[i] < 0x7f;
	if (!str_ends(text, address)) {
		styled_add(&m->text, LOOK_DIM, STR(" ("));
		styled_add_foreign(&m->text, linked ? LOOK_LINK : LOOK_DIM, address);
		styled_add(&m->text, LOOK_DIM, STR(")"));
	} else if (linked) {
		memset(m->text.looks.p + text.n - address.n, LOOK_LINK | LOOK_UNDERLINE, address.n);
	}
	return 0;
}

static void add_words(struct markdown *m, struct str text)
{
	(m->code ? styled_add_foreign_lines : styled_add_foreign)(&m->text, m->look | m->block_look, text);
}

/* &lt; and the like; one that is not known stays as it is written */
static void add_entity(struct markdown *m, struct str entity)
{
	static const struct {
		const char *name, *text;
	} known[] = { { "&amp;", "&" },    { "&lt;", "<" },    { "&gt;", ">" },     { "&quot;", "\"" },
		      { "&apos;", "'" },   { "&nbsp;", " " },  { "&copy;", "©" },   { "&reg;", "®" },
		      { "&trade;", "™" },  { "&deg;", "°" },   { "&mdash;", "—" },  { "&ndash;", "–" },
		      { "&hellip;", "…" }, { "&bull;", "•" },  { "&middot;", "·" }, { "&rarr;", "→" },
		      { "&larr;", "←" },   { "&times;", "×" }, { "&euro;", "€" },   { "&le;", "≤" },
		      { "&ge;", "≥" },     { "&ne;", "≠" } };
	char utf8[4];

	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (str_is(entity, known[i].name))
			entity = str_from(known[i].text);
	if (str_starts(entity, STR("&#"))) {
		bool hex = entity.n > 2 && (entity.p[2] | 0x20) == 'x';
		unsigned long cp = strtoul(entity.p + 2 + hex, NULL, hex ? 16 : 10);
		if (!cp || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
			cp = 0xfffd;
		entity = (struct str){ utf8, utf8_encode((uint32_t)cp, utf8) };
	}
	add_words(m, entity);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *data)
{
	struct markdown *m = data;

	if (type == MD_TEXT_BR)
		styled_add(&m->text, LOOK_PLAIN, STR("\n"));
	else if (type == MD_TEXT_SOFTBR)
		styled_add(&m->text, LOOK_PLAIN, STR(" "));
	else if (type == MD_TEXT_NULLCHAR)
		styled_add(&m->text, m->look | m->block_look, STR("\xef\xbf\xbd"));
	else if (type == MD_TEXT_ENTITY)
		add_entity(m, (struct str){ p, n });
	else
		add_words(m, (struct str){ p, n });
	return 0;
}

void markdown_render(struct str text, unsigned columns, bool wraps, struct styled *out)
{
	static const char *const files[] = { "libmd4c.so.0", NULL };
	static const struct library_symbol symbols[] = { { "md_parse", offsetof(struct md4c, parse) } };
	static const struct library library = { files, "libmd4c0", symbols, COUNT_OF(symbols) };
	static struct md4c md4c;
	static bool tried;
	const MD_PARSER parser = { .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML,
				   .enter_block = on_enter_block,
				   .leave_block = on_leave_block,
				   .enter_span = on_enter_span,
				   .leave_span = on_leave_span,
				   .text = on_text };
	struct markdown m = { .columns = columns ? MAX(columns, 8u) : 0, .wraps = wraps, .out = out };
	AUTO_BUF struct buf valid = { 0 };
	struct err ignored = { 0 };
	size_t before = out->text.n;

	if (!tried)
		(void)library_load(&library, &md4c, &ignored);
	tried = true;
	utf8_add_repaired(&valid, text);
	if (!md4c.parse || md4c.parse(buf_str(&valid).p, (MD_SIZE)valid.n, &parser, &m) != 0) {
		out->text.n = out->looks.n = before;
		styled_clear(&m.text);
		m.depth = 0;
		m.begins_item = false;
		styled_add_foreign_lines(&m.text, LOOK_PLAIN, buf_str(&valid));
		add_wrapped(&m);
	}
	drop_table(&m);
	styled_release(&m.text);
	buf_release(&m.language);
	buf_release(&m.address);
}

size_t markdown_complete(struct str text)
{
	size_t complete = 0;
	char fence = 0;      /* of the open fenced code */
	size_t fence_n = 0;  /* its length */
	bool listed = false; /* a list may go on behind a blank line: its items stay together */

	for (size_t at = 0; at < text.n;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		if (!end)
			break;
		struct str line = { text.p + at, (size_t)(end - text.p) - at };
		struct str trimmed = str_trim(line);
		size_t run = 0;
		while (run < trimmed.n && (trimmed.p[run] == '`' || trimmed.p[run] == '~') &&
		       trimmed.p[run] == trimmed.p[0])
			run++;
		at = (size_t)(end - text.p) + 1;
		if (fence) {
			if (run >= fence_n && trimmed.p[0] == fence && run == trimmed.n) {
				fence = 0;
				complete = listed ? complete : at;
			}
		} else if (run >= 3) {
			fence = trimmed.p[0];
			fence_n = run;
		} else if (!trimmed.n) {
			complete = listed ? complete : at;
		} else if (line.p[0] != ' ' && line.p[0] != '\t') {
			bool item = (char_in(line.p[0], "-*+") || (line.p[0] >= '0' && line.p[0] <= '9')) && line.n > 1;
			if (listed && !item)
				complete = (size_t)(line.p - text.p); /* the list is over */
			listed = item;
		}
	}
	return complete;
}
