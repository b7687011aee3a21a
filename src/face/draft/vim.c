/* SPDX-License-Identifier: MIT
 * vim.c - the keys of vim for a draft.
 *
 *     [count] motion                  h j k l w e b W E B 0 ^ $ gg G f F t T ; ,
 *     [count] operator [count] motion d c y > <, doubled for whole lines; also text objects: iw a( i" ...
 *     [count] command                 x X D C s S Y p P r ~ J u . i I a A o O v V
 *
 * A command is parsed again with each letter: it is complete, may become so, or is none. The tests compare with vim itself. */
#include "face/draft/vim_int.h"
#include "lib/base/utf8.h"

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
		vim_start_insert(v, d, at);
		return true;
	case 'I':
		vim_start_insert(v, d, first_word(s, at));
		return true;
	case 'a':
		vim_start_insert(v, d, at_line_end(s, at) ? at : next_cluster(s, at));
		return true;
	case 'A':
		vim_start_insert(v, d, end);
		return true;
	case 'o':
	case 'O':
		at = m.p[0] == 'o' ? end : line_start(s, at);
		draft_replace(d, at, at, STR("\n"));
		vim_start_insert(v, d, m.p[0] == 'o' ? at + 1 : at);
		return true;
	case 'x':
	case 's':
	case 'X': {
		char op = m.p[0] == 's' ? 'c' : 'd';
		(void)vim_motion(v, d, m.p[0] == 'X' ? STR("h") : STR("l"), count, counted, op, &r);
		vim_operate_on(v, d, op, r);
		return op == 'c' || r.to != at;
	}
	case 'D':
	case 'C':
		if (!vim_motion(v, d, STR("$"), count, counted, 'd', &r))
			return false;
		v->wants = false;
		vim_operate_on(v, d, m.p[0] == 'D' ? 'd' : 'c', r);
		return true;
	case 'S':
	case 'Y':
		if (line == last && count > 1)
			return false;
		vim_operate(v, d, m.p[0] == 'S' ? 'c' : 'y', line_start(s, at),
			    line_end(s, line_at(s, MIN(line + count - 1, last))), true);
		return true;
	case 'p':
	case 'P':
		vim_put(v, d, m.p[0] == 'p', count);
		return true;
	case 'r':
		return vim_replace_characters(d, str_tail(m, 1), at, end, count);
	case '~': {
		size_t to = at;
		for (; count-- && to < end;)
			to = next_cluster(s, to);
		vim_toggle_case(d, at, to);
		d->cursor = on_character(buf_str(&d->text), d->cursor);
		return to > at;
	}
	case 'J':
		count = MAX(count, (size_t)2);
		if (line == last) {
			d->cursor = count > 2 ? line_start(s, at) : at;
			return false;
		}
		vim_join_lines(d, MIN(count, last - line + 1));
		return true;
	default:
		return false;
	}
}

static void command_done(struct vim *v, struct str m, size_t count, bool counted)
{
	v->change_count = counted ? count : 0;
	v->selected.lines = 0;
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

/* The selection is what the next change is for when it is repeated. */
static void selection_done(struct vim *v, struct str s, size_t from, size_t to, struct str command)
{
	size_t last = to > from && s.p[to - 1] == '\n' && v->mode == VIM_VISUAL ? to - 1 : to, characters = 0;

	v->selected.whole_lines = v->mode == VIM_VISUAL_LINES;
	v->selected.lines = line_number(s, last) - line_number(s, from) + 1;
	for (size_t at = MAX(from, line_start(s, last)); at < last; at = next_cluster(s, at))
		characters++;
	v->selected.characters = last < to || (v->wants && v->want == SIZE_MAX) ? SIZE_MAX : characters; /* behind $ */
	memcpy(v->change, command.p, command.n);
	memcpy(v->inserts, command.p, command.n);
	v->change_n = v->inserts_n = command.n;
	buf_clear(&v->change_typed);
}

/* Selects as much as was selected then, from the cursor on. */
static void select_again(struct vim *v, struct draft *d)
{
	struct str s = buf_str(&d->text);
	size_t start = line_start(s, d->cursor), characters = v->selected.characters,
	       line = MIN(line_number(s, d->cursor) + v->selected.lines - 1, line_number(s, s.n));

	v->mode = v->selected.whole_lines ? VIM_VISUAL_LINES : VIM_VISUAL;
	v->anchor = d->cursor;
	if (line_at(s, line) != start)
		d->cursor = line_at(s, line);
	if (characters == SIZE_MAX)
		d->cursor = line_end(s, d->cursor);
	else
		for (; characters > 1 && !at_line_end(s, next_cluster(s, d->cursor)); characters--)
			d->cursor = next_cluster(s, d->cursor);
}

static enum vim_result normal_command(struct vim *v, struct draft *d, struct str command, bool replayed);
static void visual_command(struct vim *v, struct draft *d, struct str command);

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
	if (v->selected.lines) {
		select_again(v, d);
		visual_command(v, d, (struct str){ command + n, v->change_n });
	} else {
		(void)normal_command(v, d, (struct str){ command, (size_t)n + v->change_n }, true);
	}
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
	if (char_in(m.p[0], "iIaAoOxXsDCSYpPr~J") || char_in(m.p[0], "uvV./"))
		return PARSED_WHOLE;
	return parse_motion(m, false, &n);
}

static enum vim_result normal_command(struct vim *v, struct draft *d, struct str command, bool replayed)
{
	struct str s = buf_str(&d->text), m;
	char op;
	size_t count;
	bool counted;
	struct reach r;

	(void)parse_command(command, &op, &m, &count, &counted);
	if (!op && m.p[0] == '/')
		return VIM_SEARCH;
	if (!op && m.p[0] == 'u') {
		for (; count--;)
			draft_undo(d);
		d->cursor = on_character(buf_str(&d->text), d->cursor);
		return VIM_DONE;
	}
	if (!replayed)
		d->group = ++v->group;
	if (!op && m.p[0] == '.') {
		repeat_change(v, d, count, counted);
		d->group = 0;
		return VIM_DONE;
	}
	if (!op && char_in(m.p[0], "vV")) {
		v->mode = m.p[0] == 'v' ? VIM_VISUAL : VIM_VISUAL_LINES;
		v->anchor = d->cursor;
	} else if (op && m.p[0] == op) { /* whole lines */
		size_t line = line_number(s, d->cursor), last = line_number(s, s.n);
		size_t until = line_at(s, MIN(line + count - 1, last));
		if (line == last && count > 1)
			return VIM_DONE;
		vim_operate(v, d, op, line_start(s, d->cursor), line_end(s, until), true);
		v->wants = false;
		if (op != 'y')
			command_done(v, str_tail(command, (size_t)(m.p - 1 - command.p)), count, counted);
	} else if (op || !char_in(m.p[0], "iIaAoOxXsDCSYpPr~J")) {
		bool found = vim_motion(v, d, m, count, counted, op, &r);
		if (!found && op && (char_in(m.p[0], "bB") || r.words))
			d->cursor = on_character(s, r.to); /* it went as far as there is text */
		if (!found)
			return !op && m.p[0] == 'k' ? VIM_ABOVE : !op && m.p[0] == 'j' ? VIM_BELOW : VIM_DONE;
		if (op) {
			vim_operate_on(v, d, op, r);
			v->wants = false;
			char whole[VIM_COMMAND_BYTES] = { op };
			memcpy(whole + 1, m.p, MIN(m.n, sizeof whole - 1));
			if (op != 'y')
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
		if (!vim_motion(v, d, m, count, counted, 0, &r))
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
	if (m.p[0] != 'y')
		selection_done(v, buf_str(&d->text), from, to, command);
	v->mode = VIM_NORMAL;
	v->wants = false;
	switch (m.p[0]) {
	case 'd':
	case 'x':
	case 'c':
	case 's':
	case 'y':
		d->cursor = m.p[0] == 'y' && lines ? MIN(d->cursor, v->anchor) : d->cursor;
		vim_operate(v, d, m.p[0] == 'x' ? 'd' : m.p[0] == 's' ? 'c' : m.p[0], from, to, lines);
		break;
	case '>':
	case '<': /* the end of the last line is not the start of the next one */
		to -= to > from && d->text.p[to - 1] == '\n';
		for (; count--;)
			vim_operate(v, d, m.p[0], from, to, true);
		break;
	case '~':
		vim_toggle_case(d, from, to);
		d->cursor = from;
		break;
	case 'r':
		(void)vim_replace_characters(d, str_tail(m, 1), from, to, SIZE_MAX);
		break;
	case 'J': {
		size_t first = line_number(buf_str(&d->text), from),
		       last = line_number(buf_str(&d->text), to > from ? to - 1 : to);
		size_t all = line_number(buf_str(&d->text), d->text.n);
		d->cursor = from;
		if (first < all)
			vim_join_lines(d, MAX(MIN(last - first + 1, all - first + 1), (size_t)2));
		break;
	}
	case 'p':
	case 'P': {
		AUTO_BUF struct buf text = { 0 };
		bool yanked_lines = v->yanked_lines;
		buf_append(&text, buf_str(&v->yanked));
		vim_yank(v, buf_str(&d->text), from, to, lines);
		AUTO_BUF struct buf b = { 0 };
		buf_addstr(&b, yanked_lines && !lines ? "\n" : "");
		buf_append(&b, buf_str(&text));
		buf_addstr(&b, yanked_lines && !lines ? "\n" : "");
		draft_replace(d, from, to, buf_str(&b));
		struct str put = buf_str(&d->text);
		size_t to_line = yanked_lines ? from + !lines : from; /* whole lines: the first word of the first one */
		d->cursor = on_character(put, lines || yanked_lines            ? first_word(put, MIN(to_line, put.n))
					      : !b.n || memchr(b.p, '\n', b.n) ? from
									       : cells_previous(put, from + b.n));
		break;
	}
	default:
		v->mode = lines ? VIM_VISUAL_LINES : VIM_VISUAL;
		break;
	}
	if (v->mode != VIM_INSERT)
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
	char op;
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
	enum parsed parsed = visual ? parse_visual(command) : parse_command(command, &op, &rest, &count, &counted);
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
