/* SPDX-License-Identifier: MIT
 * vim_motion.c - where a motion of vim ends, and what a text object covers. A position may be that of a line's end, as vim's own
 * functions for words have it; afterwards the cursor is put on a character again. */
#include "face/draft/vim_int.h"

/* 0 blank or line end, 1 punctuation, 2 word */
static int class_at(struct str s, size_t at, bool big)
{
	unsigned char c = at < s.n ? (unsigned char)s.p[at] : '\n';

	if (c == ' ' || c == '\t' || c == '\n')
		return 0;
	return big || c >= 0x80 || char_is_alnum((char)c) || c == '_' ? 2 : 1;
}

/* -1: at the end of the text; 1: to the next line; 2: onto the line's end; 0: else */
static int step_on(struct str s, size_t *at)
{
	if (*at >= s.n)
		return -1;
	if (s.p[*at] == '\n') {
		++*at;
		return 1;
	}
	*at = next_cluster(s, *at);
	return at_line_end(s, *at) ? 2 : 0;
}

static int step_back(struct str s, size_t *at)
{
	if (!*at)
		return -1;
	*at = cells_previous(s, *at);
	return 0;
}

static bool is_empty_line(struct str s, size_t at)
{
	return at_line_end(s, at) && at == line_start(s, at);
}

/* by_operator: the last word ends with its line */
static bool words_on(struct str s, size_t *at, size_t count, bool big, bool by_operator)
{
	while (count--) {
		int class = class_at(s, *at, big);
		bool last_line = line_end(s, *at) == s.n;
		int i = step_on(s, at);
		if (i == -1 || (i >= 1 && last_line))
			return false;
		if (i >= 1 && by_operator && !count)
			return true;
		if (class)
			while (class_at(s, *at, big) == class) {
				i = step_on(s, at);
				if (i == -1 || (i >= 1 && by_operator && !count))
					return true;
			}
		while (!class_at(s, *at, big) && !is_empty_line(s, *at)) {
			i = step_on(s, at);
			if (i == -1 || (i >= 1 && (last_line || (by_operator && !count))))
				return true;
		}
	}
	return true;
}

static bool skip_class(struct str s, size_t *at, bool big, int class, bool on)
{
	while (class_at(s, *at, big) == class)
		if ((on ? step_on(s, at) : step_back(s, at)) == -1)
			return false;
	return true;
}

/* stop: a word of one character that the cursor is on is the word; empty: an empty line is one, too */
static bool word_ends(struct str s, size_t *at, size_t count, bool big, bool stop, bool empty)
{
	for (; count--; stop = false) {
		int class = class_at(s, *at, big);
		if (step_on(s, at) == -1)
			return false;
		if (class && class_at(s, *at, big) == class) {
			if (!skip_class(s, at, big, class, true))
				return false;
		} else if (!stop || !class) {
			while (!class_at(s, *at, big)) {
				if (empty && is_empty_line(s, *at))
					return true;
				if (step_on(s, at) == -1)
					return false;
			}
			if (!skip_class(s, at, big, class_at(s, *at, big), true))
				return false;
		}
		(void)step_back(s, at);
	}
	return true;
}

static bool words_back(struct str s, size_t *at, size_t count, bool big)
{
	while (count--) {
		if (step_back(s, at) == -1)
			return false;
		bool over = false;
		while (!over && !class_at(s, *at, big)) {
			if (is_empty_line(s, *at))
				over = true;
			else if (step_back(s, at) == -1)
				return true;
		}
		if (over)
			continue;
		if (!skip_class(s, at, big, class_at(s, *at, big), false))
			return true;
		(void)step_on(s, at);
	}
	return true;
}

static bool find_character(struct str s, size_t at, struct str what, size_t count, bool again, struct reach *ret)
{
	char kind = what.p[0];
	struct str c = str_tail(what, 1);
	bool on = kind == 'f' || kind == 't', before = kind == 't' || kind == 'T';
	size_t start = line_start(s, at), end = line_end(s, at), found = at;

	for (size_t i = 0; i < count; i++) {
		size_t from = found;
		do {
			if (on ? from >= end : from <= start)
				return false;
			from = on ? next_cluster(s, from) : cells_previous(s, from);
			if (from >= end)
				return false;
			/* `;` behind a `t` jumps over the character that it stands before */
			if (!i && again && before && from == (on ? next_cluster(s, at) : cells_previous(s, at)) &&
			    count == 1)
				continue;
			if (str_starts((struct str){ s.p + from, end - from }, c))
				break;
		} while (true);
		found = from;
	}
	*ret = (struct reach){ .to = !before ? found
				     : on    ? cells_previous(s, found)
					     : next_cluster(s, found),
			       .inclusive = on };
	return true;
}

static size_t chunk_start(struct str s, size_t at, bool big) /* characters of one class, within the line */
{
	int class = class_at(s, at, big);

	while (at > line_start(s, at) && class_at(s, cells_previous(s, at), big) == class)
		at = cells_previous(s, at);
	return at;
}

/* Inside, blanks count as a word does; around, a word counts with the blanks behind it, or before it where there are none behind the
 * last one; from blanks on, with those before it. */
static bool word_object(struct str s, size_t at, bool around, bool big, size_t count, struct reach *ret)
{
	size_t from = chunk_start(s, at, big), *to = &ret->to; /* also where the cursor is if there is none */
	bool white_first = !class_at(s, at, big), inclusive = true;

	*ret = (struct reach){ .to = from, .object = true, .words = true };
	if (white_first == around) {
		if (!word_ends(s, to, 1, big, true, true))
			return false;
	} else {
		(void)words_on(s, to, 1, big, true);
		bool next_line = *to == line_start(s, *to);
		*to -= next_line && *to; /* onto the end of the line before */
		if (!next_line || *to > line_start(s, *to))
			*to = cells_previous(s, *to);
	}
	for (; count > 1; count--) {
		int stepped = step_on(s, to);
		if (stepped >= 1 && *to > line_start(s, *to))
			stepped = step_on(s, to);
		if (stepped == -1)
			return false;
		inclusive = true;
		if (around == !class_at(s, *to, big)) {
			if (!word_ends(s, to, 1, big, true, true))
				return false;
		} else if (!words_on(s, to, 1, big, true) && count > 2) {
			return false;
		} else if (*to > line_start(s, *to)) {
			*to = cells_previous(s, *to);
		} else {
			inclusive = false;
		}
	}
	if (around && !white_first && (class_at(s, *to, big) || !inclusive) && from > line_start(s, from)) {
		size_t before = chunk_start(s, cells_previous(s, from), big);
		if (!class_at(s, before, big) && before > line_start(s, before))
			from = before;
	}
	ret->from = MIN(from, *to);
	ret->to = MAX(from, *to);
	ret->inclusive = inclusive;
	return true;
}

/* 2i" has the quotes, and not the blanks around them */
static bool quote_object(struct str s, size_t at, bool around, char quote, size_t count, struct reach *ret)
{
	size_t start = line_start(s, at), end = line_end(s, at), open = end, close = end;

	if (at < end && s.p[at] == quote) { /* pairs are counted from the start of the line on */
		for (size_t i = start; i < end && close == end; i++)
			if (s.p[i] == '\\')
				i++;
			else if (s.p[i] == quote && open == end)
				open = i;
			else if (s.p[i] == quote && i >= at)
				close = i;
			else if (s.p[i] == quote)
				open = end;
	} else { /* the one before the cursor, else the first one behind it, and the next */
		for (open = at; open > start && s.p[open - 1] != quote;)
			open--;
		open = open > start ? open - 1 : at;
		while (open < end && s.p[open] != quote)
			open++;
		for (close = MIN(open + 1, end); close < end && s.p[close] != quote;)
			close += s.p[close] == '\\' ? 2 : 1;
		close = MIN(close, end);
	}
	if (open == end || close == end)
		return false;
	bool quotes = around || count > 1;
	size_t from = quotes ? open : open + 1, to = quotes ? close + 1 : close;
	if (around && to < end && (s.p[to] == ' ' || s.p[to] == '\t')) {
		while (to < end && (s.p[to] == ' ' || s.p[to] == '\t'))
			to++;
	} else if (around) {
		while (from > start && (s.p[from - 1] == ' ' || s.p[from - 1] == '\t'))
			from--;
	}
	*ret = (struct reach){ .from = from, .to = to, .object = true };
	return true;
}

/* The count-th pair around the cursor */
static bool bracket_object(struct str s, size_t at, bool around, char open, char close, size_t count, struct reach *ret)
{
	size_t from = at, to, depth = 0;

	while (from >= s.n || s.p[from] != open || depth) { /* the one on the cursor counts as inside */
		if (from < s.n && from != at)
			depth = s.p[from] == close ? depth + 1 : s.p[from] == open ? depth - 1 : depth;
		if (!from)
			return false;
		from--;
		if (s.p[from] == open && !depth)
			break;
	}
	depth = 0;
	for (to = from + 1; to < s.n && (s.p[to] != close || depth); to++)
		depth = s.p[to] == open ? depth + 1 : s.p[to] == close ? depth - 1 : depth;
	if (to >= s.n)
		return false;
	if (count > 1)
		return from && bracket_object(s, from - 1, around, open, close, count - 1, ret);
	*ret = (struct reach){ .from = around ? from : from + 1, .to = around ? to + 1 : to, .object = true };
	return true;
}

static bool text_object(struct str s, size_t at, bool around, char kind, size_t count, struct reach *ret)
{
	static const char *const brackets[] = { "()b", "[]", "{}B", "<>" };

	if (kind == 'w' || kind == 'W')
		return word_object(s, at, around, kind == 'W', count, ret);
	if (char_in(kind, "\"'`"))
		return quote_object(s, at, around, kind, count, ret);
	for (size_t i = 0; i < COUNT_OF(brackets); i++) {
		char open = brackets[i][0], close = brackets[i][1];
		if (!char_in(kind, brackets[i]))
			continue;
		if (bracket_object(s, at, around, open, close, count, ret))
			return true;
		const char *next =
			at < s.n ? memchr(s.p + at, open, s.n - at) : NULL; /* outside of all: the next pair */
		return next && !bracket_object(s, at, around, open, close, 1, ret) &&
		       bracket_object(s, (size_t)(next - s.p), around, open, close, count, ret);
	}
	return false;
}

/* The place in another line that is as far to the right as the cursor was when it left its own */
static size_t leave_line(struct vim *v, struct str s, size_t at, size_t line)
{
	struct str text = { s.p + line, line_end(s, line) - line };

	if (!v->wants)
		v->want = cells_width((struct str){ s.p + line_start(s, at), at - line_start(s, at) });
	v->wants = true;
	if (v->want == SIZE_MAX)
		return line + text.n;
	return line + cells_fit(text, (unsigned)MIN(v->want, (size_t)UINT32_MAX / 2), NULL);
}

bool vim_motion(struct vim *v, const struct draft *d, struct str m, size_t count, bool counted, char op,
		struct reach *ret)
{
	struct str s = buf_str(&d->text);
	size_t at = d->cursor, line = line_number(s, at), last = line_number(s, s.n);
	bool visual = v->mode >= VIM_VISUAL;
	bool wants = v->wants, found;

	*ret = (struct reach){ .to = at };
	v->wants = char_in(m.p[0], "jk$fFtT;,") && wants; /* the last ones only if they find nothing */
	switch (m.p[0]) {
	case 'h':
		for (; count-- && ret->to > line_start(s, at);)
			ret->to = cells_previous(s, ret->to);
		return true;
	case 'l':
	case ' ':
		for (; count-- && !at_line_end(s, ret->to);)
			ret->to = next_cluster(s, ret->to);
		if (!op && !visual)
			ret->to = on_character(s, ret->to);
		return true;
	case 'j':
	case 'k':
		ret->lines = true;
		if (m.p[0] == 'j' ? line == last : !line)
			return false;
		line = m.p[0] == 'j' ? MIN(line + count, last) : line - MIN(count, line);
		ret->to = leave_line(v, s, at, line_at(s, line));
		return true;
	case '0':
		ret->to = line_start(s, at);
		return true;
	case '^':
		ret->to = on_character(s, first_word(s, at));
		return true;
	case '$':
		if (count > 1 && line == last)
			return false;
		ret->to = line_end(s, line_at(s, MIN(line + count - 1, last)));
		ret->inclusive = true;
		v->want = SIZE_MAX;
		v->wants = true;
		return true;
	case 'g':
	case 'G':
		line = counted ? MIN(count - 1, last) : m.p[0] == 'g' ? 0 : last;
		*ret = (struct reach){ .to = on_character(s, first_word(s, line_at(s, line))), .lines = true };
		return true;
	case 'w':
	case 'W': {
		bool big = m.p[0] == 'W';
		if (op == 'c' && class_at(s, at, big)) { /* cw is ce */
			ret->inclusive = true;
			(void)word_ends(s, &ret->to, count, big, true, false);
		} else {
			(void)words_on(s, &ret->to, count, big, op != 0);
		}
		if (!visual && ret->to > at && at_line_end(s, ret->to) && !is_empty_line(s, ret->to)) {
			ret->to = cells_previous(s, ret->to);
			ret->inclusive = true;
		}
		return true;
	}
	case 'e':
	case 'E':
		ret->inclusive = true;
		(void)word_ends(s, &ret->to, count, m.p[0] == 'E', false, false);
		if (!visual)
			ret->to = on_character(s, ret->to);
		return true;
	case 'b':
	case 'B':
		return words_back(s, &ret->to, count, m.p[0] == 'B') || !op;
	case 'f':
	case 'F':
	case 't':
	case 'T':
		buf_clear(&v->found);
		buf_append(&v->found, m);
		found = find_character(s, at, m, count, false, ret);
		v->wants = !found && wants;
		return found;
	case ';':
	case ',': {
		char what[16];
		size_t n = MIN(v->found.n, sizeof what);
		if (!n)
			return false;
		memcpy(what, v->found.p, n);
		if (m.p[0] == ',')
			what[0] ^= 0x20;
		found = find_character(s, at, (struct str){ what, n }, count, true, ret);
		v->wants = !found && wants;
		return found;
	}
	case 'i':
	case 'a':
		return text_object(s, at, m.p[0] == 'a', m.p[1], count, ret);
	default:
		return false;
	}
}
