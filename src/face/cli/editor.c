/* SPDX-License-Identifier: MIT
 * editor.c - keys and what they do to the text. To add a key: its bytes and its action in the table `keys`. */
#include "face/cli/editor.h"
#include <ctype.h>
#include <wchar.h>
#include "lib/base/utf8.h"

enum { ESC = 0x1b, DEL = 0x7f, ZERO_WIDTH_JOINER = 0x200d, SKIN_TONE_FIRST = 0x1f3fb, SKIN_TONE_LAST = 0x1f3ff };

#define PASTE_END "\033[201~"

void editor_release(struct editor *e)
{
	for (size_t i = 0; i < e->history_count; i++)
		free(e->history[i]);
	free(e->history);
	buf_release(&e->text);
	buf_release(&e->killed);
	buf_release(&e->draft);
	buf_release(&e->pasted);
	*e = (struct editor){ 0 };
}

void editor_clear(struct editor *e)
{
	buf_release(&e->text); /* one of a megabyte is rare */
	buf_release(&e->pasted);
	buf_release(&e->draft);
	e->cursor = e->sequence_n = e->paste_end_n = 0;
	e->pasting = e->paste_too_long = false;
	e->history_at = e->history_count;
}

/* ---- the text ---------------------------------------------------------------------------------------- */

static bool editor_fits(const struct editor *e, size_t n)
{
	return n <= EDITOR_LIMIT_BYTES && e->text.n <= EDITOR_LIMIT_BYTES - n;
}

bool editor_insert(struct editor *e, struct str s)
{
	if (!editor_fits(e, s.n))
		return false;
	if (!s.n)
		return true;
	buf_reserve(&e->text, s.n);
	memmove(e->text.p + e->cursor + s.n, e->text.p + e->cursor, e->text.n - e->cursor);
	memcpy(e->text.p + e->cursor, s.p, s.n);
	e->text.n += s.n;
	e->text.p[e->text.n] = '\0';
	e->cursor += s.n;
	return true;
}

/* Removes what lies between the cursor and `to`, on either side. */
static void editor_remove(struct editor *e, size_t to, bool keep)
{
	size_t start = MIN(to, e->cursor), end = MAX(to, e->cursor);

	if (start == end)
		return;
	if (keep) {
		buf_clear(&e->killed);
		buf_add(&e->killed, e->text.p + start, end - start);
	}
	memmove(e->text.p + start, e->text.p + end, e->text.n - end);
	e->text.n -= end - start;
	e->text.p[e->text.n] = '\0';
	e->cursor = start;
}

static bool is_word(char c)
{
	return (unsigned char)c >= 0x80 || isalnum((unsigned char)c);
}

/* Is the character at i a part of the one before? */
static bool continues_character(const struct editor *e, size_t i)
{
	uint32_t cp, before;

	if (!i || i >= e->text.n)
		return false;
	utf8_decode(e->text.p + i, &cp);
	if (cp < 0x80)
		return false;
	if (wcwidth((wchar_t)cp) == 0 || (cp >= SKIN_TONE_FIRST && cp <= SKIN_TONE_LAST))
		return true;
	for (i--; i && ((unsigned char)e->text.p[i] & 0xc0) == 0x80;)
		i--;
	utf8_decode(e->text.p + i, &before);
	return before == ZERO_WIDTH_JOINER;
}

static size_t next_character(const struct editor *e, size_t i)
{
	do {
		for (i++; i < e->text.n && ((unsigned char)e->text.p[i] & 0xc0) == 0x80;)
			i++;
	} while (continues_character(e, i));
	return MIN(i, e->text.n);
}

static size_t line_start(const struct editor *e, size_t i)
{
	while (i && e->text.p[i - 1] != '\n')
		i--;
	return i;
}

static size_t line_end(const struct editor *e, size_t i)
{
	const char *end = i < e->text.n ? memchr(e->text.p + i, '\n', e->text.n - i) : NULL;

	return end ? (size_t)(end - e->text.p) : e->text.n;
}

/* ---- history ----------------------------------------------------------------------------------------- */

void editor_add_history(struct editor *e, struct str text)
{
	if (e->history_count && str_is(text, e->history[e->history_count - 1]))
		return;
	if (e->history_count == EDITOR_HISTORY_LINES) {
		free(e->history[0]);
		memmove(e->history, e->history + 1, --e->history_count * sizeof *e->history);
	}
	e->history = xrealloc(e->history, (e->history_count + 1) * sizeof *e->history);
	e->history[e->history_count++] = xstrndup(text.p, text.n);
	e->history_at = e->history_count;
}

/* ---- what keys do ------------------------------------------------------------------------------------ */

enum motion {
	TO_CURSOR, /* the key moves nothing */
	TO_PREVIOUS,
	TO_NEXT,
	TO_LINE_START,
	TO_LINE_END,
	TO_WORD_START,
	TO_WORD_END,
	TO_BLANK,      /* the start of what stands between blanks: Ctrl-W */
	TO_KILL_START, /* of the line; at the edge of a line its line end */
	TO_KILL_END,
};

static size_t motion_target(const struct editor *e, enum motion to)
{
	size_t i = e->cursor;
	size_t start = line_start(e, i), end = line_end(e, i);

	switch (to) {
	case TO_CURSOR:
		break;
	case TO_PREVIOUS:
		while (i) {
			for (i--; i && ((unsigned char)e->text.p[i] & 0xc0) == 0x80;)
				i--;
			if (!continues_character(e, i))
				break;
		}
		break;
	case TO_NEXT:
		return next_character(e, i);
	case TO_LINE_START:
		return start;
	case TO_LINE_END:
		return end;
	case TO_WORD_START:
		while (i && !is_word(e->text.p[i - 1]))
			i--;
		while (i && is_word(e->text.p[i - 1]))
			i--;
		break;
	case TO_WORD_END:
		while (i < e->text.n && !is_word(e->text.p[i]))
			i++;
		while (i < e->text.n && is_word(e->text.p[i]))
			i++;
		break;
	case TO_BLANK:
		while (i && isspace((unsigned char)e->text.p[i - 1]))
			i--;
		while (i && !isspace((unsigned char)e->text.p[i - 1]))
			i--;
		break;
	case TO_KILL_START:
		return start == i && start ? start - 1 : start;
	case TO_KILL_END:
		return end == i ? MIN(end + 1, e->text.n) : end;
	}
	return i;
}

/* In a text of several lines the same column of the line above or below; beyond its edges the history. */
static void move_row(struct editor *e, bool up)
{
	size_t start = line_start(e, e->cursor), end = line_end(e, e->cursor);

	if (up ? start > 0 : end < e->text.n) {
		size_t to = up ? line_start(e, start - 1) : end + 1;
		size_t to_end = up ? start - 1 : line_end(e, to);
		for (size_t i = start; i < e->cursor && to < to_end; i = next_character(e, i))
			to = next_character(e, to);
		e->cursor = MIN(to, to_end);
	} else if (up ? e->history_at > 0 : e->history_at < e->history_count) {
		if (e->history_at == e->history_count) {
			buf_clear(&e->draft);
			buf_add(&e->draft, buf_str(&e->text).p, e->text.n);
		}
		e->history_at = up ? e->history_at - 1 : e->history_at + 1;
		bool own = e->history_at == e->history_count;
		struct str text = own ? buf_str(&e->draft) : str_from(e->history[e->history_at]);
		buf_clear(&e->text);
		buf_add(&e->text, text.p, text.n);
		e->cursor = e->text.n;
	}
}

enum key_action {
	KEY_MOVE,   /* to .to */
	KEY_DELETE, /* from the cursor to .to */
	KEY_KILL,   /* the same, and keep it for KEY_YANK */
	KEY_ENTER,
	KEY_NEW_LINE,
	KEY_REDRAW,
	KEY_DELETE_OR_END,
	KEY_UP,
	KEY_DOWN,
	KEY_YANK,
	KEY_PASTE,
};

/* Other sequences do nothing. */
static const struct key {
	const char *bytes;
	enum key_action action;
	enum motion to;
} keys[] = {
	{ "\r", KEY_ENTER, TO_CURSOR },
	{ "\n", KEY_ENTER, TO_CURSOR }, /* Enter that was typed before the terminal was ours */
	{ "\033\r", KEY_NEW_LINE, TO_CURSOR },
	{ "\033\n", KEY_NEW_LINE, TO_CURSOR },
	{ "\x0c", KEY_REDRAW, TO_CURSOR },
	{ "\x02", KEY_MOVE, TO_PREVIOUS },
	{ "\033[D", KEY_MOVE, TO_PREVIOUS },
	{ "\033OD", KEY_MOVE, TO_PREVIOUS },
	{ "\x06", KEY_MOVE, TO_NEXT },
	{ "\033[C", KEY_MOVE, TO_NEXT },
	{ "\033OC", KEY_MOVE, TO_NEXT },
	{ "\033b", KEY_MOVE, TO_WORD_START },
	{ "\033[1;5D", KEY_MOVE, TO_WORD_START },
	{ "\033[1;3D", KEY_MOVE, TO_WORD_START },
	{ "\033f", KEY_MOVE, TO_WORD_END },
	{ "\033[1;5C", KEY_MOVE, TO_WORD_END },
	{ "\033[1;3C", KEY_MOVE, TO_WORD_END },
	{ "\x01", KEY_MOVE, TO_LINE_START },
	{ "\033[H", KEY_MOVE, TO_LINE_START },
	{ "\033OH", KEY_MOVE, TO_LINE_START },
	{ "\033[1~", KEY_MOVE, TO_LINE_START },
	{ "\033[7~", KEY_MOVE, TO_LINE_START },
	{ "\x05", KEY_MOVE, TO_LINE_END },
	{ "\033[F", KEY_MOVE, TO_LINE_END },
	{ "\033OF", KEY_MOVE, TO_LINE_END },
	{ "\033[4~", KEY_MOVE, TO_LINE_END },
	{ "\033[8~", KEY_MOVE, TO_LINE_END },
	{ "\x10", KEY_UP, TO_CURSOR },
	{ "\033[A", KEY_UP, TO_CURSOR },
	{ "\033OA", KEY_UP, TO_CURSOR },
	{ "\x0e", KEY_DOWN, TO_CURSOR },
	{ "\033[B", KEY_DOWN, TO_CURSOR },
	{ "\033OB", KEY_DOWN, TO_CURSOR },
	{ "\x08", KEY_DELETE, TO_PREVIOUS },
	{ "\x7f", KEY_DELETE, TO_PREVIOUS },
	{ "\x04", KEY_DELETE_OR_END, TO_NEXT },
	{ "\033[3~", KEY_DELETE, TO_NEXT },
	{ "\x0b", KEY_KILL, TO_KILL_END },
	{ "\x15", KEY_KILL, TO_KILL_START },
	{ "\x17", KEY_KILL, TO_BLANK },
	{ "\033\x08", KEY_KILL, TO_WORD_START },
	{ "\033\x7f", KEY_KILL, TO_WORD_START },
	{ "\033d", KEY_KILL, TO_WORD_END },
	{ "\x19", KEY_YANK, TO_CURSOR },
	{ "\033[200~", KEY_PASTE, TO_CURSOR },
};

/* ---- bytes to keys ----------------------------------------------------------------------------------- */

static enum editor_event press_sequence(struct editor *e)
{
	const struct key *key = NULL;

	for (size_t i = 0; i < COUNT_OF(keys) && !key; i++)
		if (strlen(keys[i].bytes) == e->sequence_n && !memcmp(keys[i].bytes, e->sequence, e->sequence_n))
			key = &keys[i];
	e->sequence_n = 0;
	if (!key)
		return EDITOR_MORE;
	switch (key->action) {
	case KEY_MOVE:
		e->cursor = motion_target(e, key->to);
		break;
	case KEY_DELETE_OR_END:
		if (!e->text.n)
			return EDITOR_END;
		/* fall through */
	case KEY_DELETE:
	case KEY_KILL:
		editor_remove(e, motion_target(e, key->to), key->action == KEY_KILL);
		break;
	case KEY_ENTER:
		return EDITOR_ENTER;
	case KEY_NEW_LINE:
		return editor_insert(e, STR("\n")) ? EDITOR_MORE : EDITOR_FULL;
	case KEY_REDRAW:
		return EDITOR_REDRAW;
	case KEY_UP:
	case KEY_DOWN:
		move_row(e, key->action == KEY_UP);
		break;
	case KEY_YANK:
		return editor_insert(e, buf_str(&e->killed)) ? EDITOR_MORE : EDITOR_FULL;
	case KEY_PASTE:
		e->pasting = true;
		break;
	}
	return EDITOR_MORE;
}

/* Behind ESC: [ and O lead a longer sequence; everything else is a key with Alt. Bytes that cannot stand in a sequence end it
 * and are read again. Returns whether c was used. */
static bool feed_escape(struct editor *e, unsigned char c, enum editor_event *ret_event)
{
	bool csi = e->sequence_n > 1 && e->sequence[1] == '[';

	if (e->sequence_n == 1 ? c == ESC || c >= 0x80 : c < 0x20 || c >= DEL) {
		e->sequence_n = 0;
		return false;
	}
	/* A sequence that is too long is not in the table: its last byte takes all the rest. */
	e->sequence[e->sequence_n] = (char)c;
	if (e->sequence_n < EDITOR_SEQUENCE_BYTES - 1)
		e->sequence_n++;
	bool leads = e->sequence_n == 2 && (c == '[' || c == 'O');
	bool inside = csi && (c < 0x40 || (c == '[' && e->sequence_n == 3)); /* ESC[[A: a function key of Linux */
	if (!leads && !inside)
		*ret_event = press_sequence(e);
	return true;
}

/* A character of several bytes; what is not UTF-8 becomes U+FFFD. Returns whether c was used. */
static bool feed_character(struct editor *e, unsigned char c, enum editor_event *ret_event)
{
	unsigned char lead = e->sequence_n ? (unsigned char)e->sequence[0] : c;
	size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	bool used = !e->sequence_n || (c & 0xc0) == 0x80;
	AUTO_BUF struct buf repaired = { 0 };

	if (used)
		e->sequence[e->sequence_n++] = (char)c;
	if (used && e->sequence_n < need && lead >= 0xc2 && lead <= 0xf4)
		return true;
	utf8_add_repaired(&repaired, (struct str){ e->sequence, e->sequence_n });
	e->sequence_n = 0;
	if (!editor_insert(e, buf_str(&repaired)))
		*ret_event = EDITOR_FULL;
	return used;
}

static void add_pasted(struct editor *e, const char *p, size_t n)
{
	if (!editor_fits(e, e->pasted.n + n))
		e->paste_too_long = true;
	else
		buf_add(&e->pasted, p, n);
}

/* The paste is complete. It goes in as a whole or, where it does not fit, not at all. */
static enum editor_event insert_pasted(struct editor *e)
{
	AUTO_BUF struct buf valid = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < e->pasted.n; i++) {
		char c = e->pasted.p[i];
		if (!c || (c == '\n' && i && e->pasted.p[i - 1] == '\r'))
			continue;
		e->pasted.p[n++] = c; /* n <= i: what is read stays */
	}
	for (size_t i = 0; i < n; i++) {
		if (e->pasted.p[i] == '\r')
			e->pasted.p[i] = '\n';
	}
	utf8_add_repaired(&valid, (struct str){ buf_str(&e->pasted).p, n });
	bool fits = !e->paste_too_long && editor_insert(e, buf_str(&valid));
	buf_release(&e->pasted);
	e->pasting = e->paste_too_long = false;
	e->paste_end_n = 0;
	return fits ? EDITOR_MORE : EDITOR_FULL;
}

static size_t feed_paste(struct editor *e, const char *p, size_t n, enum editor_event *ret_event)
{
	size_t i = 0;

	while (i < n) {
		if (!e->paste_end_n) {
			const char *esc = memchr(p + i, ESC, n - i);
			size_t end = esc ? (size_t)(esc - p) : n;
			add_pasted(e, p + i, end - i);
			i = end + (esc ? 1 : 0);
			e->paste_end_n = esc ? 1 : 0;
		} else if (p[i] != PASTE_END[e->paste_end_n]) {
			add_pasted(e, PASTE_END, e->paste_end_n);
			e->paste_end_n = 0;
		} else if (i++, ++e->paste_end_n == sizeof PASTE_END - 1) {
			*ret_event = insert_pasted(e);
			return i;
		}
	}
	return n;
}

size_t editor_feed(struct editor *e, const char *p, size_t n, enum editor_event *ret_event)
{
	size_t i = 0;

	*ret_event = EDITOR_MORE;
	while (i < n && *ret_event == EDITOR_MORE) {
		unsigned char c = (unsigned char)p[i];
		size_t plain = 0;

		while (i + plain < n && (unsigned char)p[i + plain] >= 0x20 && (unsigned char)p[i + plain] < DEL)
			plain++;
		if (e->pasting) {
			i += feed_paste(e, p + i, n - i, ret_event);
		} else if (e->sequence_n && e->sequence[0] == ESC) {
			i += feed_escape(e, c, ret_event);
		} else if (e->sequence_n || c >= 0x80) {
			i += feed_character(e, c, ret_event);
		} else if (plain) {
			if (!editor_insert(e, (struct str){ p + i, plain }))
				*ret_event = EDITOR_FULL;
			i += plain;
		} else {
			e->sequence[e->sequence_n++] = (char)c;
			i++;
			if (c != ESC)
				*ret_event = press_sequence(e);
		}
	}
	return i;
}

void editor_settle(struct editor *e)
{
	if (e->sequence_n == 1 && e->sequence[0] == ESC)
		e->sequence_n = 0;
}
