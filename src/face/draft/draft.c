/* SPDX-License-Identifier: MIT
 * draft.c - the text that is being typed. */
#include "face/draft/draft.h"
#include "face/screen/paint.h"
#include "lib/base/list.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

/* Private characters that no font is known to use: icons are in the planes below, and in the first half of this one. */
enum { FIRST_MARK = 0x108000, LAST_MARK = 0x10fffd };

/* from..from+inserted was `removed` before */
struct draft_change {
	struct draft_change *next;
	size_t from, inserted, cursor;
	size_t removed_n;
	unsigned group; /* undone with its neighbours of the same group; 0: alone */
	char removed[];
};

static void drop_changes(struct draft *d, size_t keep)
{
	struct draft_change **at = &d->changes;

	for (size_t i = 0; i < keep && *at; i++)
		at = &(*at)->next;
	for (struct draft_change *gone; (gone = list_pop(at));)
		free(gone);
	d->change_count = MIN(d->change_count, keep);
}

void draft_clear(struct draft *d)
{
	buf_clear(&d->text);
	d->cursor = 0;
	d->typing = d->killing = false;
	d->yanked_from = d->yanked_at = 0;
	drop_changes(d, 0);
	d->history_at = d->history_count;
	buf_release(&d->left);
}

void draft_release(struct draft *d)
{
	draft_clear(d);
	buf_release(&d->stash);
	buf_release(&d->text);
	for (size_t i = 0; i < d->mark_count; i++) {
		free(d->marks[i].label);
		free(d->marks[i].block);
		buf_release(&d->marks[i].content);
	}
	free(d->marks);
	for (size_t i = 0; i < DRAFT_KILLS; i++)
		free(d->kills[i]);
	for (size_t i = 0; i < d->history_count; i++)
		free(d->history[i]);
	free(d->history);
	*d = (struct draft){ 0 };
}

static void splice(struct draft *d, size_t from, size_t to, struct str with)
{
	size_t tail = d->text.n - to;

	if (with.n > to - from)
		buf_reserve(&d->text, with.n - (to - from));
	if (d->text.p) {
		memmove(d->text.p + from + with.n, d->text.p + to, tail);
		memcpy(d->text.p + from, with.p, with.n);
		d->text.n = from + with.n + tail;
		d->text.p[d->text.n] = '\0';
	}
	d->cursor = from + with.n;
}

void draft_replace(struct draft *d, size_t from, size_t to, struct str with)
{
	struct draft_change *last = d->changes;
	bool joins = d->typing && last && from == to && from == last->from + last->inserted && last->group == d->group;

	if (from == to && !with.n)
		return;
	if (joins) {
		last->inserted += with.n;
	} else {
		struct draft_change *change = xmalloc(sizeof *change + to - from);
		*change = (struct draft_change){ .next = last,
						 .from = from,
						 .inserted = with.n,
						 .cursor = d->cursor,
						 .removed_n = to - from,
						 .group = d->group };
		if (to > from)
			memcpy(change->removed, d->text.p + from, to - from);
		d->changes = change;
		d->change_count++;
		drop_changes(d, DRAFT_CHANGES);
	}
	splice(d, from, to, with);
	d->typing = d->killing = false;
	d->yanked_from = d->yanked_at = 0;
}

void draft_undo(struct draft *d)
{
	unsigned group = d->changes ? d->changes->group : 0;

	d->typing = d->killing = false;
	do {
		struct draft_change *change = d->changes;
		if (!change)
			return;
		d->changes = change->next;
		d->change_count--;
		splice(d, change->from, change->from + change->inserted,
		       (struct str){ change->removed, change->removed_n });
		d->cursor = MIN(change->cursor, d->text.n);
		free(change);
	} while (group && d->changes && d->changes->group == group);
}

void draft_set(struct draft *d, struct str text)
{
	AUTO_BUF struct buf copy = { 0 };

	buf_add(&copy, text.p, text.n); /* it may be ours */
	draft_replace(d, 0, d->text.n, buf_str(&copy));
}

static size_t count_lines(struct str text)
{
	size_t lines = 1;

	for (size_t i = 0; i + 1 < text.n; i++)
		lines += text.p[i] == '\n';
	return lines;
}

/* Characters that would look like our marks are replaced. */
static void add_clean(struct buf *out, struct str text)
{
	buf_reserve(out, text.n);
	for (size_t i = 0; i < text.n;) {
		uint32_t cp;
		size_t n = utf8_decode(text.p + i, &cp);
		if (cp >= FIRST_MARK)
			buf_addstr(out, "\xef\xbf\xbd");
		else
			buf_add(out, text.p + i, n);
		i += n;
	}
}

bool draft_type(struct draft *d, struct str text)
{
	AUTO_BUF struct buf clean = { 0 };
	bool typed = text.n == 1 && text.p[0] != ' ';

	if (d->text.n + text.n > DRAFT_LIMIT_BYTES)
		return false;
	if (text.n && (unsigned char)text.p[0] >= 0xf4) {
		add_clean(&clean, text);
		text = buf_str(&clean);
	}
	bool joins = d->typing && typed;
	d->typing = joins;
	draft_replace(d, d->cursor, d->cursor, text);
	d->typing = typed;
	return true;
}

/* The mark at this offset of a text; NULL: none */
static const struct draft_mark *mark_in(const struct draft *d, struct str text, size_t at)
{
	uint32_t cp = 0;

	if (at < text.n && (unsigned char)text.p[at] >= 0xf4)
		(void)utf8_decode(text.p + at, &cp);
	return cp >= FIRST_MARK && cp - FIRST_MARK < d->mark_count ? &d->marks[cp - FIRST_MARK] : NULL;
}

size_t draft_next_number(const struct draft *d)
{
	size_t last = 0;

	for (size_t i = 0; i < d->text.n; i++) {
		const struct draft_mark *mark = mark_in(d, buf_str(&d->text), i);
		last = MAX(last, mark ? mark->number : 0);
	}
	return last + 1;
}

/* Takes the mark; gives its character */
static struct str add_mark(struct draft *d, struct draft_mark mark, char character[4])
{
	d->marks = xrealloc(d->marks, (d->mark_count + 1) * sizeof *d->marks);
	d->marks[d->mark_count] = mark;
	return (struct str){ character, utf8_encode(FIRST_MARK + (uint32_t)d->mark_count++, character) };
}

static struct str add_paste(struct draft *d, struct str text, size_t number, char character[4])
{
	struct draft_mark mark = { .number = number };
	AUTO_BUF struct buf label = { 0 };
	size_t lines = count_lines(text);

	buf_append(&mark.content, text);
	buf_addf(&label, "paste %zu: %zu line%s, ", number, lines, lines == 1 ? "" : "s");
	if (text.n < 1000)
		buf_addf(&label, "%zu bytes", text.n);
	else
		buf_addsize(&label, text.n);
	mark.label = buf_take(&label, NULL);
	return add_mark(d, mark, character);
}

bool draft_paste(struct draft *d, struct str text)
{
	AUTO_BUF struct buf clean = { 0 };
	struct str put;
	char character[4];

	d->typing = false;
	if (d->text.n + text.n > DRAFT_LIMIT_BYTES || d->mark_count >= LAST_MARK - FIRST_MARK)
		return false;
	if (count_lines(text) > DRAFT_MARK_LINES || text.n > DRAFT_MARK_BYTES) {
		put = add_paste(d, text, draft_next_number(d), character);
	} else {
		add_clean(&clean, text);
		put = buf_str(&clean);
	}
	draft_replace(d, d->cursor, d->cursor, put);
	return true;
}

bool draft_attach(struct draft *d, struct str label, struct str block)
{
	struct draft_mark mark = { .number = draft_next_number(d) };
	char character[4];

	if (d->mark_count >= LAST_MARK - FIRST_MARK)
		return false;
	mark.label = xstrndup(label.p, label.n);
	mark.block = xstrndup(block.p, block.n);
	buf_addf(&mark.content, "[" STR_FMT "]", STR_ARG(label));
	d->typing = false;
	draft_replace(d, d->cursor, d->cursor, add_mark(d, mark, character));
	return true;
}

const char *draft_mark_at(const struct draft *d, size_t at)
{
	const struct draft_mark *mark = mark_in(d, buf_str(&d->text), at);

	return mark ? mark->label : NULL;
}

void draft_show(const struct draft *d, struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n;) {
		const struct draft_mark *mark = mark_in(d, text, i);
		if (mark)
			buf_addf(out, "[%s]", mark->label);
		else
			buf_addch(out, text.p[i]);
		i += mark ? 4 : 1;
	}
}

void draft_expand(const struct draft *d, struct buf *out)
{
	for (size_t i = 0; i < d->text.n;) {
		const struct draft_mark *mark = mark_in(d, buf_str(&d->text), i);
		if (mark)
			buf_add(out, mark->content.p, mark->content.n);
		else
			buf_addch(out, d->text.p[i]);
		i += mark ? 4 : 1;
	}
}

struct str draft_mark_text(const struct draft *d, size_t at)
{
	const struct draft_mark *mark = mark_in(d, buf_str(&d->text), at);

	return mark && !mark->block ? buf_str(&mark->content) : STR("");
}

void draft_blocks(const struct draft *d, struct buf *out)
{
	for (size_t i = 0; i < d->text.n; i++) {
		const struct draft_mark *mark = mark_in(d, buf_str(&d->text), i);
		if (mark && mark->block)
			buf_addf(out, "%s%s", out->n ? "," : "[", mark->block);
	}
	buf_addstr(out, out->n ? "]" : "");
}

static bool is_word(struct str s, size_t at)
{
	unsigned char c = (unsigned char)s.p[at];

	return c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static size_t draft_position(const struct draft *d, enum draft_move move)
{
	struct str s = buf_str(&d->text);
	size_t at = d->cursor;
	unsigned width;

	switch (move) {
	case MOVE_LEFT:
		return cells_previous(s, at);
	case MOVE_RIGHT:
		return at < s.n ? cells_next(s, at, &width) : at;
	case MOVE_WORD_LEFT:
		while (at && !is_word(s, at - 1))
			at--;
		while (at && is_word(s, at - 1))
			at--;
		return at;
	case MOVE_WORD_RIGHT:
		while (at < s.n && !is_word(s, at))
			at++;
		while (at < s.n && is_word(s, at))
			at++;
		return at;
	case MOVE_BLANK_LEFT:
		while (at && char_in(s.p[at - 1], " \t\n"))
			at--;
		while (at && !char_in(s.p[at - 1], " \t\n"))
			at--;
		return at;
	case MOVE_LINE_START:
		while (at && s.p[at - 1] != '\n')
			at--;
		return at;
	case MOVE_LINE_END:
		while (at < s.n && s.p[at] != '\n')
			at++;
		return at;
	case MOVE_START:
		return 0;
	case MOVE_END:
		return s.n;
	}
	return at;
}

void draft_move(struct draft *d, enum draft_move move)
{
	d->cursor = draft_position(d, move);
	d->typing = d->killing = false;
	d->yanked_from = d->yanked_at = 0;
}

/* Columns of the cluster or mark at this offset, as the input shows it */
static unsigned shown_width(const struct draft *d, size_t at, size_t *ret_end)
{
	struct str text = buf_str(&d->text);
	const char *label = draft_mark_at(d, at);
	unsigned width;

	*ret_end = cells_next(text, at, &width);
	return label ? (unsigned)strlen(label) + 2 : text.p[at] == '\t' ? 1 : width;
}

struct draft_row draft_row_at(const struct draft *d, size_t from, unsigned indent, unsigned columns)
{
	struct draft_row row = { .from = from, .to = from, .next = from, .column = from ? DRAFT_INDENT : indent };
	unsigned column = row.column;

	while (row.to < d->text.n && d->text.p[row.to] != '\n') {
		size_t end;
		unsigned width = shown_width(d, row.to, &end);
		if (column + width > columns && row.to > from)
			break;
		column += width;
		row.to = end;
	}
	bool whole = row.to >= d->text.n || d->text.p[row.to] == '\n';
	row.next = row.to < d->text.n ? row.to + whole : SIZE_MAX;
	row.has_cursor = d->cursor >= from && (d->cursor < row.to || (whole && d->cursor == row.to));
	return row;
}

unsigned draft_cursor_column(const struct draft *d, const struct draft_row *row)
{
	unsigned column = row->column;

	for (size_t at = row->from, end; at < d->cursor; at = end)
		column += shown_width(d, at, &end);
	return column;
}

bool draft_move_row(struct draft *d, bool up, unsigned indent, unsigned columns)
{
	struct draft_row row = draft_row_at(d, 0, indent, columns);
	size_t above = SIZE_MAX;

	while (!row.has_cursor && row.next != SIZE_MAX) {
		above = row.from;
		row = draft_row_at(d, row.next, indent, columns);
	}
	if ((up ? above : row.next) == SIZE_MAX)
		return false;
	unsigned wanted = draft_cursor_column(d, &row);
	row = draft_row_at(d, up ? above : row.next, indent, columns);
	d->cursor = row.from;
	for (size_t end, last = row.next == row.to ? cells_previous(buf_str(&d->text), row.to) : row.to;
	     d->cursor < last; d->cursor = end) { /* behind the last cluster of a row that is broken is the next row */
		row.column += shown_width(d, d->cursor, &end);
		if (row.column > wanted)
			break;
	}
	d->typing = d->killing = false;
	return true;
}

void draft_delete(struct draft *d, enum draft_move until)
{
	size_t to = draft_position(d, until);

	draft_replace(d, MIN(to, d->cursor), MAX(to, d->cursor), STR(""));
}

void draft_kill(struct draft *d, enum draft_move until)
{
	size_t to = draft_position(d, until), from = MIN(to, d->cursor), end = MAX(to, d->cursor);
	bool backwards = to < d->cursor, joins = d->killing && d->kills[0];
	AUTO_BUF struct buf killed = { 0 };

	if (until == MOVE_LINE_END && from == end && end < d->text.n)
		end++; /* at the end of a line: the line end */
	if (from == end)
		return;
	if (joins && !backwards)
		buf_addstr(&killed, d->kills[0]);
	buf_add(&killed, d->text.p + from, end - from);
	if (joins && backwards)
		buf_addstr(&killed, d->kills[0]);
	if (joins) {
		free(d->kills[0]);
	} else {
		free(d->kills[DRAFT_KILLS - 1]);
		memmove(d->kills + 1, d->kills, (DRAFT_KILLS - 1) * sizeof *d->kills);
	}
	d->kills[0] = buf_take(&killed, NULL);
	draft_replace(d, from, end, STR(""));
	d->killing = true;
}

static void yank(struct draft *d, unsigned which, size_t from, size_t to)
{
	struct str text = str_from(d->kills[which]);

	draft_replace(d, from, to, text);
	d->yank = which;
	d->yanked_from = from;
	d->yanked_at = from + text.n;
}

void draft_yank(struct draft *d)
{
	if (d->kills[0])
		yank(d, 0, d->cursor, d->cursor);
}

void draft_yank_older(struct draft *d)
{
	if (d->yanked_at <= d->yanked_from)
		return;
	unsigned next = d->yank + 1 < DRAFT_KILLS && d->kills[d->yank + 1] ? d->yank + 1 : 0;
	yank(d, next, d->yanked_from, d->yanked_at);
}

void draft_keep(struct draft *d, struct buf *kept)
{
	buf_release(kept);
	*kept = d->text;
	d->text = (struct buf){ 0 };
	draft_clear(d);
}

void draft_bring(struct draft *d, struct buf *kept)
{
	draft_clear(d);
	buf_release(&d->text);
	d->text = *kept;
	d->cursor = d->text.n;
	*kept = (struct buf){ 0 };
}

bool draft_stash(struct draft *d)
{
	if (!d->text.n && !d->stash.n)
		return false;
	if (d->text.n)
		draft_keep(d, &d->stash);
	else
		draft_bring(d, &d->stash);
	return true;
}

bool draft_edit(struct draft *d, enum action action, bool readline)
{
	static const struct {
		void (*change)(struct draft *d);                   /* one of two */
		void (*move)(struct draft *d, enum draft_move to); /* moves, cuts or deletes */
		enum draft_move to;
	} edits[ACTION_COUNT] = {
		[ACTION_KILL_LEFT] = { .move = draft_kill, .to = MOVE_WORD_LEFT },
		[ACTION_UNDO] = { .change = draft_undo },
		[ACTION_LINE_START] = { .move = draft_move, .to = MOVE_LINE_START },
		[ACTION_LINE_END] = { .move = draft_move, .to = MOVE_LINE_END },
		[ACTION_LEFT] = { .move = draft_move, .to = MOVE_LEFT },
		[ACTION_RIGHT] = { .move = draft_move, .to = MOVE_RIGHT },
		[ACTION_WORD_LEFT] = { .move = draft_move, .to = MOVE_WORD_LEFT },
		[ACTION_WORD_RIGHT] = { .move = draft_move, .to = MOVE_WORD_RIGHT },
		[ACTION_DELETE_LEFT] = { .move = draft_delete, .to = MOVE_LEFT },
		[ACTION_DELETE_RIGHT] = { .move = draft_delete, .to = MOVE_RIGHT },
		[ACTION_KILL_LEFT_PART] = { .move = draft_kill, .to = MOVE_WORD_LEFT },
		[ACTION_KILL_RIGHT] = { .move = draft_kill, .to = MOVE_WORD_RIGHT },
		[ACTION_KILL_END] = { .move = draft_kill, .to = MOVE_LINE_END },
		[ACTION_KILL_START] = { .move = draft_kill, .to = MOVE_LINE_START },
		[ACTION_YANK] = { .change = draft_yank },
		[ACTION_YANK_OLDER] = { .change = draft_yank_older },
	};

	if (action == ACTION_NEWLINE)
		(void)draft_type(d, STR("\n"));
	else if (edits[action].change)
		edits[action].change(d);
	else if (edits[action].move)
		edits[action].move(d, action == ACTION_KILL_LEFT && readline ? MOVE_BLANK_LEFT : edits[action].to);
	else
		return false;
	return true;
}

void draft_add_history(struct draft *d, struct str text)
{
	if (text.n && (d->history_count == d->history_first || !str_is(text, d->history[d->history_count - 1]))) {
		d->history = xrealloc(d->history, (d->history_count + 1) * sizeof *d->history);
		d->history[d->history_count++] = xstrndup(text.p, text.n);
	}
	d->history_at = d->history_count;
}

void draft_write_history(const struct draft *d, struct str text, struct json_out *w)
{
	AUTO_BUF struct buf shown = { 0 };

	draft_show(d, text, &shown);
	json_kstr(w, "display", buf_str(&shown));
	json_kopen(w, "pastedContents", '{');
	for (size_t i = 0; i < text.n; i++) {
		const struct draft_mark *mark = mark_in(d, text, i);
		char key[24];
		if (!mark || mark->block)
			continue;
		snprintf(key, sizeof key, "%zu", mark->number);
		json_kopen(w, key, '{');
		json_putf(w, "id:%zu, type:'text', content:'%.*s'}", mark->number, STR_ARG(mark->content));
	}
	json_close(w);
}

/* A line of the file, in which labels stand for pastes: ours, or "[Pasted text #1 +20 lines]" */
static void add_stored(struct draft *d, struct buf *text, const struct json *pasted)
{
	static const char *const starts[] = { "[paste ", "[Pasted text #" };
	AUTO_ARENA struct arena arena = { 0 };
	uint64_t number;

	for (struct json_member m = json_members(pasted); m.key; m = json_member_next(pasted, m)) {
		struct str content = json_str(json_get(m.value, "content"), &arena);
		content.n = strnlen(content.n ? content.p : "", content.n);
		for (size_t i = 0; i < COUNT_OF(starts) && str_to_u64(json_str(m.key, &arena), &number); i++) {
			AUTO_BUF struct buf start = { 0 }, whole = { 0 };
			char character[4];
			buf_addf(&start, "%s%zu", starts[i], (size_t)number);
			const char *from = memmem(buf_str(text).p, text->n, start.p, start.n);
			const char *end = from ? strchr(from, ']') : NULL;
			if (!end || !content.n || d->mark_count >= LAST_MARK - FIRST_MARK)
				continue;
			struct str mark = add_paste(d, content, number, character);
			buf_add(&whole, text->p, (size_t)(from - text->p));
			buf_add(&whole, mark.p, mark.n);
			buf_addstr(&whole, end + 1);
			buf_clear(text);
			buf_add(text, whole.p, whole.n);
			break;
		}
	}
	draft_add_history(d, buf_str(text));
}

static void add_stored_lines(struct draft *d, struct str jsonl, const char *project, bool of_project)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = DRAFT_HISTORY_LINE, .depth = 16 } };
	const struct json *root;

	for (struct str rest = jsonl; rest.p && rest.n;) {
		AUTO_ARENA struct arena arena = { 0 };
		AUTO_BUF struct buf clean = { 0 };
		struct str line = str_cut(&rest, '\n');
		if (json_parse(&reader, line.p, line.n, &root, NULL) < 0 ||
		    json_str_is(json_get(root, "project"), project) != of_project)
			continue;
		struct str shown = json_str(json_get(root, "display"), &arena);
		add_clean(&clean, (struct str){ shown.p, strnlen(shown.n ? shown.p : "", shown.n) });
		add_stored(d, &clean, json_get(root, "pastedContents"));
	}
}

void draft_read_history(struct draft *d, struct str jsonl, const char *project)
{
	char **typed = d->history; /* of this session: the newest */
	size_t typed_count = d->history_count;

	d->history = NULL;
	d->history_count = 0;
	add_stored_lines(d, jsonl, project, false);
	d->history_first = d->history_count;
	add_stored_lines(d, jsonl, project, true);
	for (size_t i = 0; i < typed_count; i++) {
		draft_add_history(d, str_from(typed[i]));
		free(typed[i]);
	}
	free(typed);
}

static void show_history(struct draft *d, size_t at)
{
	if (d->history_at == d->history_count) {
		buf_clear(&d->left);
		buf_add(&d->left, d->text.p, d->text.n);
	}
	d->history_at = at;
	draft_set(d, at == d->history_count ? buf_str(&d->left) : str_from(d->history[at]));
}

bool draft_older(struct draft *d)
{
	if (d->history_at <= d->history_first)
		return false;
	show_history(d, d->history_at - 1);
	return true;
}

bool draft_newer(struct draft *d)
{
	if (d->history_at >= d->history_count)
		return false;
	show_history(d, d->history_at + 1);
	return true;
}
