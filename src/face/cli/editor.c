/* SPDX-License-Identifier: MIT
 * editor.c - keys and what they do to the text. To add a key: its bytes and its function in the table `keys`. */
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

static void editor_set_text(struct editor *e, struct str s)
{
	buf_clear(&e->text);
	buf_add(&e->text, s.p, s.n);
	e->cursor = e->text.n;
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

static size_t previous_character(const struct editor *e, size_t i)
{
	while (i) {
		for (i--; i && ((unsigned char)e->text.p[i] & 0xc0) == 0x80;)
			i--;
		if (!continues_character(e, i))
			break;
	}
	return i;
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

static bool is_word(unsigned char c)
{
	return c >= 0x80 || isalnum(c);
}

static size_t word_start(const struct editor *e, size_t i)
{
	while (i && !is_word((unsigned char)e->text.p[i - 1]))
		i--;
	while (i && is_word((unsigned char)e->text.p[i - 1]))
		i--;
	return i;
}

static size_t word_end(const struct editor *e, size_t i)
{
	while (i < e->text.n && !is_word((unsigned char)e->text.p[i]))
		i++;
	while (i < e->text.n && is_word((unsigned char)e->text.p[i]))
		i++;
	return i;
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

static void show_history(struct editor *e, size_t at)
{
	if (e->history_at == e->history_count) {
		buf_clear(&e->draft);
		buf_add(&e->draft, buf_str(&e->text).p, e->text.n);
	}
	e->history_at = at;
	editor_set_text(e, at < e->history_count ? str_from(e->history[at]) : buf_str(&e->draft));
}

/* ---- what keys do ------------------------------------------------------------------------------------ */

static enum editor_event key_enter(struct editor *e)
{
	return EDITOR_ENTER;
}

static enum editor_event key_new_line(struct editor *e)
{
	return editor_insert(e, STR("\n")) ? EDITOR_MORE : EDITOR_FULL;
}

static enum editor_event key_redraw(struct editor *e)
{
	return EDITOR_REDRAW;
}

static enum editor_event key_left(struct editor *e)
{
	e->cursor = previous_character(e, e->cursor);
	return EDITOR_MORE;
}

static enum editor_event key_right(struct editor *e)
{
	e->cursor = next_character(e, e->cursor);
	return EDITOR_MORE;
}

static enum editor_event key_word_left(struct editor *e)
{
	e->cursor = word_start(e, e->cursor);
	return EDITOR_MORE;
}

static enum editor_event key_word_right(struct editor *e)
{
	e->cursor = word_end(e, e->cursor);
	return EDITOR_MORE;
}

static enum editor_event key_home(struct editor *e)
{
	e->cursor = line_start(e, e->cursor);
	return EDITOR_MORE;
}

static enum editor_event key_end(struct editor *e)
{
	e->cursor = line_end(e, e->cursor);
	return EDITOR_MORE;
}

static enum editor_event key_backspace(struct editor *e)
{
	editor_remove(e, previous_character(e, e->cursor), false);
	return EDITOR_MORE;
}

static enum editor_event key_delete(struct editor *e)
{
	editor_remove(e, next_character(e, e->cursor), false);
	return EDITOR_MORE;
}

static enum editor_event key_delete_or_end(struct editor *e)
{
	return e->text.n ? key_delete(e) : EDITOR_END;
}

/* At the end of a line that is not the last one: its line end. */
static enum editor_event key_kill_to_end(struct editor *e)
{
	size_t end = line_end(e, e->cursor);

	editor_remove(e, end == e->cursor ? MIN(end + 1, e->text.n) : end, true);
	return EDITOR_MORE;
}

static enum editor_event key_kill_to_start(struct editor *e)
{
	size_t start = line_start(e, e->cursor);

	editor_remove(e, start == e->cursor && start ? start - 1 : start, true);
	return EDITOR_MORE;
}

/* Ctrl-W: a word is what stands between blanks. */
static enum editor_event key_kill_blank_word(struct editor *e)
{
	size_t i = e->cursor;

	while (i && isspace((unsigned char)e->text.p[i - 1]))
		i--;
	while (i && !isspace((unsigned char)e->text.p[i - 1]))
		i--;
	editor_remove(e, i, true);
	return EDITOR_MORE;
}

static enum editor_event key_kill_word_left(struct editor *e)
{
	editor_remove(e, word_start(e, e->cursor), true);
	return EDITOR_MORE;
}

static enum editor_event key_kill_word_right(struct editor *e)
{
	editor_remove(e, word_end(e, e->cursor), true);
	return EDITOR_MORE;
}

static enum editor_event key_yank(struct editor *e)
{
	return editor_insert(e, buf_str(&e->killed)) ? EDITOR_MORE : EDITOR_FULL;
}

/* The offset in the line that starts at start and ends at end which is as many characters from its start as the cursor is
 * from the start of its own. */
static size_t same_column(const struct editor *e, size_t start, size_t end)
{
	size_t to = start;

	for (size_t i = line_start(e, e->cursor); i < e->cursor && to < end; i = next_character(e, i))
		to = next_character(e, to);
	return MIN(to, end);
}

/* In a text of several lines the line above, from the first one the history. */
static enum editor_event key_up(struct editor *e)
{
	size_t start = line_start(e, e->cursor);

	if (start)
		e->cursor = same_column(e, line_start(e, start - 1), start - 1);
	else if (e->history_at)
		show_history(e, e->history_at - 1);
	return EDITOR_MORE;
}

static enum editor_event key_down(struct editor *e)
{
	size_t end = line_end(e, e->cursor);

	if (end < e->text.n)
		e->cursor = same_column(e, end + 1, line_end(e, end + 1));
	else if (e->history_at < e->history_count)
		show_history(e, e->history_at + 1);
	return EDITOR_MORE;
}

static enum editor_event key_paste(struct editor *e)
{
	e->pasting = true;
	return EDITOR_MORE;
}

/* Sequences of keys that are not here do nothing. */
static const struct key {
	const char *bytes;
	enum editor_event (*press)(struct editor *e);
} keys[] = {
	{ "\r", key_enter },
	{ "\n", key_enter }, /* Enter that was typed before the terminal was ours */
	{ "\033\r", key_new_line },
	{ "\033\n", key_new_line },
	{ "\x0c", key_redraw },
	{ "\x02", key_left },
	{ "\033[D", key_left },
	{ "\033OD", key_left },
	{ "\x06", key_right },
	{ "\033[C", key_right },
	{ "\033OC", key_right },
	{ "\033b", key_word_left },
	{ "\033[1;5D", key_word_left },
	{ "\033[1;3D", key_word_left },
	{ "\033f", key_word_right },
	{ "\033[1;5C", key_word_right },
	{ "\033[1;3C", key_word_right },
	{ "\x01", key_home },
	{ "\033[H", key_home },
	{ "\033OH", key_home },
	{ "\033[1~", key_home },
	{ "\033[7~", key_home },
	{ "\x05", key_end },
	{ "\033[F", key_end },
	{ "\033OF", key_end },
	{ "\033[4~", key_end },
	{ "\033[8~", key_end },
	{ "\x10", key_up },
	{ "\033[A", key_up },
	{ "\033OA", key_up },
	{ "\x0e", key_down },
	{ "\033[B", key_down },
	{ "\033OB", key_down },
	{ "\x08", key_backspace },
	{ "\x7f", key_backspace },
	{ "\x04", key_delete_or_end },
	{ "\033[3~", key_delete },
	{ "\x0b", key_kill_to_end },
	{ "\x15", key_kill_to_start },
	{ "\x17", key_kill_blank_word },
	{ "\033\x08", key_kill_word_left },
	{ "\033\x7f", key_kill_word_left },
	{ "\033d", key_kill_word_right },
	{ "\x19", key_yank },
	{ "\033[200~", key_paste },
};

/* ---- bytes to keys ----------------------------------------------------------------------------------- */

static enum editor_event press_sequence(struct editor *e)
{
	size_t n = e->sequence_n;

	e->sequence_n = 0;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		if (strlen(keys[i].bytes) == n && !memcmp(keys[i].bytes, e->sequence, n))
			return keys[i].press(e);
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
	/* One that is too long is none of ours: its last place takes all the rest. */
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

static size_t count_plain(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (unsigned char)p[i] >= 0x20 && (unsigned char)p[i] < DEL)
		i++;
	return i;
}

size_t editor_feed(struct editor *e, const char *p, size_t n, enum editor_event *ret_event)
{
	size_t i = 0;

	*ret_event = EDITOR_MORE;
	while (i < n && *ret_event == EDITOR_MORE) {
		unsigned char c = (unsigned char)p[i];
		size_t plain;

		if (e->pasting) {
			i += feed_paste(e, p + i, n - i, ret_event);
		} else if (e->sequence_n && e->sequence[0] == ESC) {
			i += feed_escape(e, c, ret_event);
		} else if (e->sequence_n || c >= 0x80) {
			i += feed_character(e, c, ret_event);
		} else if ((plain = count_plain(p + i, n - i))) {
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
