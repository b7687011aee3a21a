/* SPDX-License-Identifier: MIT
 * vim.c - the keys of vim for a draft.
 *
 *     [count] motion                  h j k l w e b W E B 0 ^ $ gg G f F t T ; ,
 *     [count] operator [count] motion d c y > <, doubled for whole lines; also text objects: iw a( i" ...
 *     [count] command                 x X D C s S Y p P r ~ J u . i I a A o O v V
 *
 * A command is parsed anew with each letter: it is complete, may become so, or is none. A position may be that of a line's end, as
 * vim's own functions for words have it; afterwards the cursor is put on a character again. The tests compare with vim itself. */
#include "face/draft/vim.h"
#include "face/screen/paint.h"
#include "lib/base/utf8.h"

struct reach {
	size_t from, to; /* from: text objects only; to: where the motion ends */
	bool lines, inclusive, object;
};

/* ---- positions ------------------------------------------------------------------------------------------------------ */

static size_t line_start(struct str s, size_t at)
{
	while (at && s.p[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(struct str s, size_t at)
{
	const char *end = at < s.n ? memchr(s.p + at, '\n', s.n - at) : NULL;

	return end ? (size_t)(end - s.p) : s.n;
}

static bool at_line_end(struct str s, size_t at)
{
	return at >= s.n || s.p[at] == '\n';
}

static size_t next_cluster(struct str s, size_t at)
{
	unsigned width;

	return at < s.n ? cells_next(s, at, &width) : at;
}

static size_t first_word(struct str s, size_t at) /* of its line; the end of a line without one */
{
	at = line_start(s, at);
	while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t'))
		at++;
	return at;
}

/* In normal mode the cursor stands on a character, if its line has one. */
static size_t on_character(struct str s, size_t at)
{
	return at_line_end(s, at) && at > line_start(s, at) ? cells_previous(s, at) : at;
}

static size_t line_number(struct str s, size_t at)
{
	size_t lines = 0;

	for (size_t i = 0; i < at; i++)
		lines += s.p[i] == '\n';
	return lines;
}

static size_t line_at(struct str s, size_t number) /* its start; of the last one if there are fewer */
{
	size_t at = 0;

	for (size_t end; number && (end = line_end(s, at)) < s.n; number--)
		at = end + 1;
	return at;
}

static size_t column_of(struct str s, size_t at)
{
	return cells_width((struct str){ s.p + line_start(s, at), at - line_start(s, at) });
}

static size_t at_column(struct str s, size_t line, size_t column)
{
	struct str text = { s.p + line, line_end(s, line) - line };

	return line +
	       (column == SIZE_MAX ? text.n : cells_fit(text, (unsigned)MIN(column, (size_t)UINT32_MAX / 2), NULL));
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

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

/* stop: a word of one character that the cursor is on is the word */
static bool word_ends(struct str s, size_t *at, size_t count, bool big, bool stop)
{
	for (; count--; stop = false) {
		int class = class_at(s, *at, big);
		if (step_on(s, at) == -1)
			return false;
		if (class && class_at(s, *at, big) == class) {
			if (!skip_class(s, at, big, class, true))
				return false;
		} else if (!stop || !class) {
			while (!class_at(s, *at, big))
				if (step_on(s, at) == -1)
					return false;
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

/* ---- motions -------------------------------------------------------------------------------------------------------- */

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

static bool word_object(struct str s, size_t at, bool around, bool big, struct reach *ret)
{
	size_t from = chunk_start(s, at, big), to = from;
	bool white = false;

	if (is_empty_line(s, at)) {
		*ret = (struct reach){ .from = at, .to = at, .object = true };
		return !around;
	}
	if (!class_at(s, to, big) == around) {
		if (!word_ends(s, &to, 1, big, true))
			return false;
	} else {
		(void)words_on(s, &to, 1, big, true);
		to = cells_previous(s, to);
		white = around;
	}
	if (white && class_at(s, to, big) && from > line_start(s, from)) {
		size_t before = chunk_start(s, cells_previous(s, from), big);
		if (!class_at(s, before, big) && before > line_start(s, before))
			from = before;
	}
	*ret = (struct reach){ .from = from, .to = to, .inclusive = true, .object = true };
	return true;
}

static bool quote_object(struct str s, size_t at, bool around, char quote, struct reach *ret)
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
	size_t from = around ? open : open + 1, to = around ? close + 1 : close;
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

static bool bracket_object(struct str s, size_t at, bool around, char open, char close, struct reach *ret)
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
	*ret = (struct reach){ .from = around ? from : from + 1, .to = around ? to + 1 : to, .object = true };
	return true;
}

static bool text_object(struct str s, size_t at, bool around, char kind, struct reach *ret)
{
	static const char *const brackets[] = { "()b", "[]", "{}B", "<>" };

	if (kind == 'w' || kind == 'W')
		return word_object(s, at, around, kind == 'W', ret);
	if (char_in(kind, "\"'`"))
		return quote_object(s, at, around, kind, ret);
	for (size_t i = 0; i < COUNT_OF(brackets); i++)
		if (char_in(kind, brackets[i]))
			return bracket_object(s, at, around, brackets[i][0], brackets[i][1], ret);
	return false;
}

static size_t leave_line(struct vim *v, struct str s, size_t at, size_t line)
{
	if (!v->wants)
		v->want = column_of(s, at);
	v->wants = true;
	return at_column(s, line, v->want);
}

/* false: it cannot be done, and an operator does nothing. counted: a count was given. */
static bool motion_reach(struct vim *v, const struct draft *d, struct str m, size_t count, bool counted, char operator,
			 struct reach * ret)
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
		if (!operator&& !visual)
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
		if (operator== 'c' && class_at(s, at, big)) { /* cw is ce */
			ret->inclusive = true;
			(void)word_ends(s, &ret->to, count, big, true);
		} else {
			(void)words_on(s, &ret->to, count, big, operator!= 0);
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
		(void)word_ends(s, &ret->to, count, m.p[0] == 'E', false);
		if (!visual)
			ret->to = on_character(s, ret->to);
		return true;
	case 'b':
	case 'B':
		return words_back(s, &ret->to, count, m.p[0] == 'B') || !operator;
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
		return text_object(s, at, m.p[0] == 'a', m.p[1], ret);
	default:
		return false;
	}
}

/* ---- changes -------------------------------------------------------------------------------------------------------- */

static void start_insert(struct vim *v, struct draft *d, size_t at)
{
	d->cursor = at;
	v->mode = VIM_INSERT;
	buf_clear(&v->typed);
}

static void yank(struct vim *v, struct str s, size_t from, size_t to, bool lines)
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

static void join_lines(struct draft *d, size_t count)
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

static void toggle_case(struct draft *d, size_t from, size_t to)
{
	AUTO_BUF struct buf b = { 0 };

	for (size_t i = from; i < to; i++) {
		char c = d->text.p[i];
		buf_addch(&b, char_is_alnum(c) && (c | 0x20) >= 'a' ? (char)(c ^ 0x20) : c);
	}
	draft_replace(d, from, to, buf_str(&b));
}

/* An operator on from..to; the ends of lines are in it, and lines are whole. */
static void operate(struct vim *v, struct draft *d, char operator, size_t from, size_t to, bool lines)
{
	struct str s = buf_str(&d->text);

	if (operator== '>' || operator== '<') {
		shift_lines(d, from, to > from && !lines ? to - 1 : to, operator== '>');
		return;
	}
	yank(v, s, from, to, lines);
	if (operator== 'y') {
		d->cursor = lines ? d->cursor : from;
		return;
	}
	if (operator== 'c') {
		draft_replace(d, from, to, STR(""));
		start_insert(v, d, from);
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
static void operate_on(struct vim *v, struct draft *d, char operator, struct reach r)
{
	struct str s = buf_str(&d->text);
	size_t from = r.object ? r.from : MIN(d->cursor, r.to), to = r.object ? r.to : MAX(d->cursor, r.to);

	if (!r.lines && !r.inclusive && !r.object && to > from && to == line_start(s, to) &&
	    line_start(s, from) != to) {
		to--; /* not the first column of the next line, but the end of this one */
		if (first_word(s, from) >= from)
			r.lines = true;
	} else if (r.inclusive && !at_line_end(s, to)) {
		to = next_cluster(s, to);
	}
	if (operator== 'd' && !r.lines && !r.object && line_start(s, from) != line_start(s, to)) {
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
	if (from == to && !r.lines && operator!= 'c' && operator!= 'y')
		return;
	operate(v, d, operator, from, to, r.lines);
}

static void put(struct vim *v, struct draft *d, bool behind, size_t count)
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

static bool replace_characters(struct draft *d, struct str with, size_t from, size_t to, size_t most)
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

/* ---- commands ------------------------------------------------------------------------------------------------------- */

enum parsed { PARSED_NONE, PARSED_MORE, PARSED_WHOLE };

/* A motion at the start of m: how many bytes it has */
static enum parsed parse_motion(struct str m, bool objects, size_t *ret_n)
{
	*ret_n = 1;
	if (!m.n)
		return PARSED_MORE;
	if (char_in(m.p[0], "hjklweb0^$GWEB;, "))
		return PARSED_WHOLE;
	if (m.p[0] == 'g' || char_in(m.p[0], "fFtT") || (objects && char_in(m.p[0], "ia"))) {
		if (m.n < 2)
			return PARSED_MORE;
		*ret_n = m.n;
		bool good = m.p[0] == 'g'           ? m.p[1] == 'g'
			    : char_in(m.p[0], "ia") ? char_in(m.p[1], "wW\"'`()b[]{}B<>")
						    : true;
		return good ? PARSED_WHOLE : PARSED_NONE;
	}
	return PARSED_NONE;
}

static size_t parse_count(struct str *m, bool *ret_given)
{
	size_t count = 0, n = 0;

	while (n < m->n && (m->p[n] >= (n ? '0' : '1') && m->p[n] <= '9')) {
		count = MIN(count * 10 + (size_t)(m->p[n] - '0'), (size_t)VIM_MOST_REPEATS);
		n++;
	}
	*m = str_tail(*m, n);
	*ret_given = *ret_given || n > 0;
	return n ? count : 1;
}

static void type_text(struct draft *d, struct str text)
{
	for (size_t i = 0; i < text.n;) {
		uint32_t cp;
		size_t n = utf8_decode(text.p + i, &cp);
		if (cp == 0x7f)
			draft_delete(d, MOVE_LEFT);
		else
			(void)draft_type(d, (struct str){ text.p + i, n });
		i += n;
	}
}

static void leave_insert(struct vim *v, struct draft *d)
{
	AUTO_BUF struct buf typed = { 0 };

	buf_append(&typed, buf_str(&v->typed));
	bool opens = v->inserts_n && char_in(v->inserts[v->inserts_n - 1], "oO");
	for (size_t i = 1; i < v->insert_count; i++) {
		if (opens)
			(void)draft_type(d, STR("\n"));
		type_text(d, buf_str(&typed));
	}
	v->mode = VIM_NORMAL;
	if (d->cursor > line_start(buf_str(&d->text), d->cursor))
		d->cursor = cells_previous(buf_str(&d->text), d->cursor);
	if (v->inserts_n) {
		memcpy(v->change, v->inserts, v->inserts_n);
		v->change_n = v->inserts_n;
		buf_clear(&v->change_typed);
		buf_append(&v->change_typed, buf_str(&typed));
	}
	v->inserts_n = 0;
	v->insert_count = 1;
	d->group = 0;
	d->typing = false;
}

/* Commands without a motion. false: it is none, or does nothing here. */
static bool simple_command(struct vim *v, struct draft *d, struct str m, size_t count, bool counted)
{
	struct str s = buf_str(&d->text);
	size_t at = d->cursor, end = line_end(s, at), line = line_number(s, at), last = line_number(s, s.n);
	struct reach r = { .to = at };

	switch (m.p[0]) {
	case 'i':
		start_insert(v, d, at);
		return true;
	case 'I':
		start_insert(v, d, first_word(s, at));
		return true;
	case 'a':
		start_insert(v, d, at_line_end(s, at) ? at : next_cluster(s, at));
		return true;
	case 'A':
		start_insert(v, d, end);
		return true;
	case 'o':
	case 'O':
		at = m.p[0] == 'o' ? end : line_start(s, at);
		draft_replace(d, at, at, STR("\n"));
		start_insert(v, d, m.p[0] == 'o' ? at + 1 : at);
		return true;
	case 'x':
	case 's':
	case 'X': {
		char operator= m.p[0] == 's' ? 'c' : 'd';
		(void)motion_reach(v, d, m.p[0] == 'X' ? STR("h") : STR("l"), count, counted, operator, & r);
		operate_on(v, d, operator, r);
		return operator== 'c' || r.to != at;
	}
	case 'D':
	case 'C':
		if (!motion_reach(v, d, STR("$"), count, counted, 'd', &r))
			return false;
		v->wants = false;
		operate_on(v, d, m.p[0] == 'D' ? 'd' : 'c', r);
		return true;
	case 'S':
	case 'Y':
		if (line == last && count > 1)
			return false;
		operate(v, d, m.p[0] == 'S' ? 'c' : 'y', line_start(s, at),
			line_end(s, line_at(s, MIN(line + count - 1, last))), true);
		return true;
	case 'p':
	case 'P':
		put(v, d, m.p[0] == 'p', count);
		return true;
	case 'r':
		return replace_characters(d, str_tail(m, 1), at, end, count);
	case '~': {
		size_t to = at;
		for (; count-- && to < end;)
			to = next_cluster(s, to);
		toggle_case(d, at, to);
		d->cursor = on_character(buf_str(&d->text), d->cursor);
		return to > at;
	}
	case 'J':
		count = MAX(count, (size_t)2);
		if (line == last) {
			d->cursor = count > 2 ? line_start(s, at) : at;
			return false;
		}
		join_lines(d, MIN(count, last - line + 1));
		return true;
	default:
		return false;
	}
}

static bool is_simple(char c)
{
	return char_in(c, "iIaAoOxXsDCSYpPr~J");
}

static void command_done(struct vim *v, struct str m, size_t count, bool counted)
{
	v->change_count = counted ? count : 0;
	if (v->mode == VIM_INSERT) {
		memcpy(v->inserts, m.p, m.n);
		v->inserts_n = m.n;
		v->insert_count = char_in(m.p[0], "iIaAoO") ? count : 1;
		return;
	}
	memcpy(v->change, m.p, m.n);
	v->change_n = m.n;
	buf_clear(&v->change_typed);
}

static enum vim_result normal_command(struct vim *v, struct draft *d, struct str command, bool replayed);

static void repeat_change(struct vim *v, struct draft *d, size_t count, bool counted)
{
	char command[VIM_COMMAND_BYTES * 2];
	AUTO_BUF struct buf typed = { 0 };

	if (!v->change_n)
		return;
	count = counted ? count : v->change_count;
	int n = count > 1 ? snprintf(command, sizeof command, "%zu", count) : 0;
	memcpy(command + n, v->change, v->change_n);
	buf_append(&typed, buf_str(&v->change_typed));
	(void)normal_command(v, d, (struct str){ command, (size_t)n + v->change_n }, true);
	if (v->mode == VIM_INSERT) {
		buf_append(&v->typed, buf_str(&typed));
		type_text(d, buf_str(&typed));
		leave_insert(v, d);
	}
}

/* A whole command, or a part of one (PARSED_MORE is kept by the caller as VIM_OTHER is not returned). */
static enum parsed parse_command(struct str m, char *ret_operator, struct str *ret_rest, size_t *ret_count,
				 bool *ret_counted)
{
	size_t n;

	*ret_operator = 0;
	*ret_counted = false;
	*ret_count = parse_count(&m, ret_counted);
	*ret_rest = m;
	if (!m.n)
		return PARSED_MORE;
	if (char_in(m.p[0], "dcy><")) {
		*ret_operator = m.p[0];
		m = str_tail(m, 1);
		*ret_count *= parse_count(&m, ret_counted);
		*ret_count = MIN(*ret_count, (size_t)VIM_MOST_REPEATS);
		*ret_rest = m;
		if (m.n && m.p[0] == *ret_operator)
			return PARSED_WHOLE;
		return parse_motion(m, true, &n);
	}
	if (m.p[0] == 'r')
		return m.n < 2 ? PARSED_MORE : PARSED_WHOLE;
	if (is_simple(m.p[0]) || char_in(m.p[0], "uvV./"))
		return PARSED_WHOLE;
	return parse_motion(m, false, &n);
}

static enum vim_result normal_command(struct vim *v, struct draft *d, struct str command, bool replayed)
{
	struct str s = buf_str(&d->text), m;
	char operator;
	size_t count;
	bool counted;
	struct reach r;

	(void)parse_command(command, &operator, & m, &count, &counted);
	if (!operator&& m.p[0] == '/')
		return VIM_SEARCH;
	if (!operator&& m.p[0] == 'u') {
		for (; count--;)
			draft_undo(d);
		d->cursor = on_character(buf_str(&d->text), d->cursor);
		return VIM_DONE;
	}
	if (!replayed)
		d->group = ++v->group;
	if (!operator&& m.p[0] == '.') {
		repeat_change(v, d, count, counted);
		d->group = 0;
		return VIM_DONE;
	}
	if (!operator&& char_in(m.p[0], "vV")) {
		v->mode = m.p[0] == 'v' ? VIM_VISUAL : VIM_VISUAL_LINES;
		v->anchor = d->cursor;
	} else if (operator&& m.p[0] == operator) { /* whole lines */
		size_t line = line_number(s, d->cursor), last = line_number(s, s.n);
		size_t until = line_at(s, MIN(line + count - 1, last));
		if (line == last && count > 1)
			return VIM_DONE;
		operate(v, d, operator, line_start(s, d->cursor), line_end(s, until), true);
		v->wants = false;
		if (operator!= 'y')
			command_done(v, str_tail(command, (size_t)(m.p - 1 - command.p)), count, counted);
	} else if (operator|| !is_simple(m.p[0])) {
		bool found = motion_reach(v, d, m, count, counted, operator, & r);
		if (!found && operator&& char_in(m.p[0], "bB"))
			d->cursor = r.to; /* it went as far as there is text */
		if (!found)
			return !operator&& m.p[0] == 'k' ? VIM_ABOVE : !operator&& m.p[0] == 'j' ? VIM_BELOW : VIM_DONE;
		if (operator) {
			operate_on(v, d, operator, r);
			v->wants = false;
			char whole[VIM_COMMAND_BYTES] = { operator};
			memcpy(whole + 1, m.p, MIN(m.n, sizeof whole - 1));
			if (operator!= 'y')
				command_done(v, (struct str){ whole, m.n + 1 }, count, counted);
		} else {
			d->cursor = on_character(s, r.to);
		}
	} else {
		v->wants = false;
		if (simple_command(v, d, m, count, counted) && m.p[0] != 'Y')
			command_done(v, m, count, counted);
	}
	if (v->mode != VIM_INSERT && !replayed)
		d->group = 0;
	return VIM_DONE;
}

/* ---- visual mode ---------------------------------------------------------------------------------------------------- */

void vim_selection(const struct vim *v, const struct draft *d, size_t *ret_from, size_t *ret_to)
{
	struct str s = buf_str(&d->text);
	size_t from = MIN(v->anchor, d->cursor), to = MAX(v->anchor, d->cursor);

	*ret_from = *ret_to = d->cursor;
	if (!v->on || v->mode < VIM_VISUAL)
		return;
	from = MIN(from, s.n);
	to = MIN(to, s.n);
	if (v->mode == VIM_VISUAL_LINES) {
		*ret_from = line_start(s, from);
		*ret_to = line_end(s, to);
	} else {
		*ret_from = from;
		*ret_to = to < s.n ? (s.p[to] == '\n' ? to + 1 : next_cluster(s, to)) : to;
	}
}

static void visual_command(struct vim *v, struct draft *d, struct str command)
{
	bool lines = v->mode == VIM_VISUAL_LINES;
	size_t from, to, n, count;
	bool counted = false;
	struct reach r;
	struct str m = command;

	count = parse_count(&m, &counted);
	vim_selection(v, d, &from, &to);
	if (parse_motion(m, true, &n) == PARSED_WHOLE) {
		if (!motion_reach(v, d, m, count, counted, 0, &r))
			return;
		if (r.object)
			v->anchor = r.from;
		d->cursor = r.object && !r.inclusive ? (r.to > r.from ? cells_previous(buf_str(&d->text), r.to) : r.to)
						     : r.to;
		return;
	}
	if (m.p[0] == 'o') {
		size_t other = v->anchor;
		v->anchor = d->cursor;
		d->cursor = other;
		return;
	}
	if (char_in(m.p[0], "vV")) {
		enum vim_mode wanted = m.p[0] == 'v' ? VIM_VISUAL : VIM_VISUAL_LINES;
		v->mode = v->mode == wanted ? VIM_NORMAL : wanted;
		d->cursor = v->mode == VIM_NORMAL ? on_character(buf_str(&d->text), d->cursor) : d->cursor;
		return;
	}
	d->group = ++v->group;
	v->mode = VIM_NORMAL;
	v->wants = false;
	switch (m.p[0]) {
	case 'd':
	case 'x':
	case 'c':
	case 's':
	case 'y':
		d->cursor = m.p[0] == 'y' && lines ? MIN(d->cursor, v->anchor) : d->cursor;
		operate(v, d, m.p[0] == 'x' ? 'd' : m.p[0] == 's' ? 'c' : m.p[0], from, to, lines);
		break;
	case '>':
	case '<':
		for (; count--;)
			operate(v, d, m.p[0], from, to, true);
		break;
	case '~':
		toggle_case(d, from, to);
		d->cursor = from;
		break;
	case 'r':
		(void)replace_characters(d, str_tail(m, 1), from, to, SIZE_MAX);
		break;
	case 'J': {
		size_t first = line_number(buf_str(&d->text), from),
		       last = line_number(buf_str(&d->text), to > from ? to - 1 : to);
		size_t all = line_number(buf_str(&d->text), d->text.n);
		d->cursor = from;
		if (first < all)
			join_lines(d, MAX(MIN(last - first + 1, all - first + 1), (size_t)2));
		break;
	}
	case 'p':
	case 'P': {
		AUTO_BUF struct buf text = { 0 };
		bool yanked_lines = v->yanked_lines;
		buf_append(&text, buf_str(&v->yanked));
		yank(v, buf_str(&d->text), from, to, lines);
		AUTO_BUF struct buf b = { 0 };
		buf_addstr(&b, yanked_lines && !lines ? "\n" : "");
		buf_append(&b, buf_str(&text));
		buf_addstr(&b, yanked_lines && !lines ? "\n" : "");
		draft_replace(d, from, to, buf_str(&b));
		d->cursor = on_character(buf_str(&d->text),
					 b.n && !yanked_lines ? cells_previous(buf_str(&d->text), from + b.n) : from);
		break;
	}
	default:
		v->mode = lines ? VIM_VISUAL_LINES : VIM_VISUAL;
		break;
	}
	if (v->mode == VIM_INSERT)
		v->inserts_n = 0;
	else
		d->group = 0;
}

static enum parsed parse_visual(struct str m)
{
	bool counted = false;
	size_t n;

	(void)parse_count(&m, &counted);
	if (!m.n || (m.p[0] == 'r' && m.n < 2))
		return PARSED_MORE;
	if (char_in(m.p[0], "dxcsy><~rJpPovV"))
		return PARSED_WHOLE;
	return parse_motion(m, true, &n);
}

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

void vim_release(struct vim *v)
{
	buf_release(&v->yanked);
	buf_release(&v->found);
	buf_release(&v->typed);
	buf_release(&v->change_typed);
	*v = (struct vim){ 0 };
}

void vim_reset(struct vim *v, struct draft *d)
{
	if (!v->on)
		return;
	v->mode = VIM_INSERT;
	v->command_n = v->inserts_n = 0;
	v->insert_count = 1;
	buf_clear(&v->typed);
	d->group = ++v->group;
}

void vim_set(struct vim *v, struct draft *d, bool on)
{
	v->on = true;
	vim_reset(v, d);
	v->on = on;
	if (!on)
		d->group = 0;
}

bool vim_add_remap(struct vim *v, struct str letters)
{
	if (v->remap_count == VIM_REMAPS || letters.n < 2 || letters.n >= sizeof v->remaps[0] || !utf8_valid(letters))
		return false;
	snprintf(v->remaps[v->remap_count++], sizeof v->remaps[0], STR_FMT, STR_ARG(letters));
	return true;
}

const char *vim_mode_name(const struct vim *v)
{
	static const char *const names[] = { "INSERT", "NORMAL", "VISUAL", "VISUAL LINE" };

	return names[v->mode];
}

static enum vim_result insert_key(struct vim *v, struct draft *d, const struct key *key)
{
	if (key->code == KEY_ESC) {
		leave_insert(v, d);
		return VIM_DONE;
	}
	if (key->code == KEY_TEXT && !key->alt) {
		buf_append(&v->typed, key->text);
		for (size_t i = 0; i < v->remap_count; i++)
			if (str_ends(buf_str(&v->typed), str_from(v->remaps[i]))) {
				size_t n = strlen(v->remaps[i]), typed = n - MIN(key->text.n, n);
				v->typed.n -= n;
				draft_replace(d, d->cursor - MIN(typed, d->cursor), d->cursor, STR(""));
				leave_insert(v, d);
				return VIM_DONE;
			}
	} else if (key->code == KEY_PASTE) {
		buf_append(&v->typed, key->text);
	} else if (key->code == KEY_BACKSPACE) {
		buf_addch(&v->typed, 0x7f);
	} else if (key->code == KEY_ENTER && (key->alt || key->shift)) {
		buf_addch(&v->typed, '\n');
	} else { /* the cursor goes elsewhere: what is repeated begins there */
		buf_clear(&v->typed);
		v->insert_count = 1;
	}
	return VIM_OTHER;
}

/* One character of a run: each is a letter of a command, and one of them may begin insert mode. */
static enum vim_result letter_key(struct vim *v, struct draft *d, struct str letter)
{
	struct str rest;
	char operator;
	size_t count;
	bool counted;

	if (v->command_n + letter.n > sizeof v->command / 2) {
		v->command_n = 0;
		return VIM_DONE;
	}
	memcpy(v->command + v->command_n, letter.p, letter.n);
	v->command_n += letter.n;
	struct str command = { v->command, v->command_n };
	bool visual = v->mode >= VIM_VISUAL;
	enum parsed parsed =
		visual ? parse_visual(command) : parse_command(command, &operator, & rest, &count, &counted);
	if (parsed == PARSED_MORE)
		return VIM_DONE;
	v->command_n = 0;
	if (parsed == PARSED_NONE)
		return VIM_DONE;
	if (!visual)
		return normal_command(v, d, command, false);
	visual_command(v, d, command);
	return VIM_DONE;
}

enum vim_result vim_key(struct vim *v, struct draft *d, const struct key *key)
{
	enum vim_result result = VIM_OTHER;

	d->cursor = MIN(d->cursor, d->text.n);
	v->anchor = MIN(v->anchor, d->text.n);
	if (!v->on)
		return VIM_OTHER;
	if (v->mode == VIM_INSERT)
		return insert_key(v, d, key);
	if (key->code == KEY_ESC && (v->command_n || v->mode >= VIM_VISUAL)) {
		v->command_n = 0;
		if (v->mode >= VIM_VISUAL)
			d->cursor = on_character(buf_str(&d->text), d->cursor);
		v->mode = VIM_NORMAL;
		return VIM_DONE;
	}
	if (key->code == KEY_BACKSPACE)
		return letter_key(v, d, STR("h"));
	if (key->code != KEY_TEXT || key->alt)
		return VIM_OTHER;
	for (size_t i = 0; i < key->text.n;) {
		uint32_t cp;
		size_t n = utf8_decode(key->text.p + i, &cp);
		if (v->mode == VIM_INSERT) { /* the rest of a run is typed */
			struct str rest = str_tail(key->text, i);
			buf_append(&v->typed, rest);
			(void)draft_type(d, rest);
			return VIM_DONE;
		}
		result = letter_key(v, d, (struct str){ key->text.p + i, n });
		i += n;
	}
	return result;
}
