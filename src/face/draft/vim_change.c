/* SPDX-License-Identifier: MIT
 * vim_change.c - what operators and commands of vim do to a draft. */
#include "face/draft/vim_int.h"

void vim_start_insert(struct vim *v, struct draft *d, size_t at)
{
	d->cursor = at;
	v->mode = VIM_INSERT;
	buf_clear(&v->typed);
}

void vim_yank(struct vim *v, struct str s, size_t from, size_t to, bool lines)
{
	buf_clear(&v->yanked);
	buf_add(&v->yanked, s.p + from, to - from);
	v->yanked_lines = lines;
}

static void shift_lines(struct draft *d, size_t from, size_t to, bool right)
{
	size_t first = line_number(buf_str(&d->text), from), last = line_number(buf_str(&d->text), to);

	for (size_t line = first; line <= last; line++) {
		struct str s = buf_str(&d->text);
		size_t at = line_at(s, line), word = first_word(s, at), columns = 0;
		char blanks[512];
		if (at_line_end(s, at))
			continue;
		for (size_t i = at; i < word; i++)
			columns += s.p[i] == '\t' ? 8 - columns % 8 : 1;
		columns = right ? columns + VIM_SHIFT_COLUMNS : columns - MIN(columns, (size_t)VIM_SHIFT_COLUMNS);
		columns = MIN(columns, sizeof blanks);
		memset(blanks, ' ', columns);
		draft_replace(d, at, word, (struct str){ blanks, columns });
	}
	struct str s = buf_str(&d->text);
	d->cursor = on_character(s, first_word(s, line_at(s, first)));
}

void vim_join_lines(struct draft *d, size_t count)
{
	struct str s = buf_str(&d->text);
	size_t at = line_start(s, d->cursor);
	char before = 0;

	for (size_t start = at; count-- > 1;) {
		s = buf_str(&d->text);
		size_t end = line_end(s, at), next = first_word(s, end + 1);
		if (end > start)
			before = s.p[end - 1];
		else
			before = 0;
		bool blank = !at_line_end(s, next) && s.p[next] != ')' && end > at && before != ' ' && before != '\t';
		draft_replace(d, end, next, blank ? STR(" ") : STR(""));
		start = end + blank;
		d->cursor = end;
	}
	d->cursor = on_character(buf_str(&d->text), d->cursor);
}

void vim_toggle_case(struct draft *d, size_t from, size_t to)
{
	AUTO_BUF struct buf b = { 0 };

	for (size_t i = from; i < to; i++) {
		char c = d->text.p[i];
		buf_addch(&b, char_is_alnum(c) && (c | 0x20) >= 'a' ? (char)(c ^ 0x20) : c);
	}
	draft_replace(d, from, to, buf_str(&b));
}

/* An operator on from..to; the ends of lines are in it, and lines are whole. */
void vim_operate(struct vim *v, struct draft *d, char op, size_t from, size_t to, bool lines)
{
	struct str s = buf_str(&d->text);

	if (op == '>' || op == '<') {
		shift_lines(d, from, to > from && !lines ? to - 1 : to, op == '>');
		return;
	}
	vim_yank(v, s, from, to, lines);
	if (op == 'y') {
		d->cursor = lines ? d->cursor : from;
		return;
	}
	if (op == 'c') {
		draft_replace(d, from, to, STR(""));
		vim_start_insert(v, d, from);
		return;
	}
	if (lines && to < s.n)
		to++;
	else if (lines && from)
		from--;
	draft_replace(d, from, to, STR(""));
	s = buf_str(&d->text);
	d->cursor = lines ? first_word(s, MIN(from + (from && from == s.n), s.n)) : from;
	d->cursor = on_character(s, d->cursor);
}

/* What vim does with the ends of a motion before an operator has it */
void vim_operate_on(struct vim *v, struct draft *d, char op, struct reach r)
{
	struct str s = buf_str(&d->text);
	size_t from = r.object ? r.from : MIN(d->cursor, r.to), to = r.object ? r.to : MAX(d->cursor, r.to);

	if (!r.lines && !r.inclusive && (!r.object || r.words) && to > from && to == line_start(s, to) &&
	    line_start(s, from) != to) {
		to--; /* not the first column of the next line, but the end of this one */
		if (first_word(s, from) >= from)
			r.lines = true;
	} else if (r.inclusive && !at_line_end(s, to)) {
		to = next_cluster(s, to);
	}
	if (op == 'd' && !r.lines && (!r.object || r.words) && line_start(s, from) != line_start(s, to)) {
		size_t rest = to;
		while (rest < s.n && (s.p[rest] == ' ' || s.p[rest] == '\t'))
			rest++;
		if (at_line_end(s, rest) && first_word(s, from) >= from)
			r.lines = true;
	}
	if (r.lines) {
		d->cursor = on_character(s, MIN(d->cursor, r.to));
		from = line_start(s, from);
		to = line_end(s, to);
	}
	if (from == to && !r.lines && op != 'c' && op != 'y')
		return;
	vim_operate(v, d, op, from, to, r.lines);
}

void vim_put(struct vim *v, struct draft *d, bool behind, size_t count)
{
	AUTO_BUF struct buf b = { 0 };
	struct str s = buf_str(&d->text), text = buf_str(&v->yanked);
	size_t at = d->cursor;

	if ((!text.n && !v->yanked_lines) ||
	    count * (text.n + 1) > DRAFT_LIMIT_BYTES - MIN(s.n, (size_t)DRAFT_LIMIT_BYTES))
		return;
	for (size_t i = 0; i < count; i++) {
		if (v->yanked_lines && behind)
			buf_addch(&b, '\n');
		buf_append(&b, text);
		if (v->yanked_lines && !behind)
			buf_addch(&b, '\n');
	}
	if (v->yanked_lines)
		at = behind ? line_end(s, at) : line_start(s, at);
	else if (behind && !at_line_end(s, at))
		at = next_cluster(s, at);
	draft_replace(d, at, at, buf_str(&b));
	s = buf_str(&d->text);
	if (v->yanked_lines)
		d->cursor = on_character(s, first_word(s, at + behind));
	else
		d->cursor = memchr(b.p, '\n', b.n) ? at : cells_previous(s, at + b.n);
}

bool vim_replace_characters(struct draft *d, struct str with, size_t from, size_t to, size_t most)
{
	AUTO_BUF struct buf b = { 0 };
	struct str s = buf_str(&d->text);
	size_t at = from, done = 0;

	for (; at < to && done < most; at = next_cluster(s, at)) {
		if (s.p[at] == '\n')
			buf_addch(&b, '\n');
		else
			buf_append(&b, with);
		done++;
	}
	if (most != SIZE_MAX && done < most)
		return false;
	draft_replace(d, from, at, buf_str(&b));
	d->cursor = most == SIZE_MAX ? from : d->cursor - with.n;
	return true;
}
