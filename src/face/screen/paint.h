/* SPDX-License-Identifier: MIT
 * paint.h - text with looks, and how wide it is on a terminal.
 *
 * Foreign text enters through styled_add_foreign() and its like only, which make it harmless: no control character of a model, a file or a
 * server reaches the terminal. A width is the sum of the code points' widths (utf8proc; without it every character outside
 * ASCII counts as two); the cursor stands between grapheme clusters. */
#pragma once
#include "lib/base/buf.h"

/* Foreign text made fit for a terminal. What a model, a file or a server wrote must not move
 * the cursor, set the title, fill the clipboard or turn the reading direction around: C0 and C1 controls,
 * DEL and the bidirectional overrides are shown as \x1b or \u202e, invalid UTF-8 as U+FFFD. */
void render_text(struct buf *out, struct str s); /* tab and newline stay; a CR before a newline is left out */
void render_line(struct buf *out, struct str s); /* the same on one line: tabs and newlines become spaces */
char *render_copy(struct str s);                 /* render_line() into a text of its own; owned */

enum look {
	LOOK_PLAIN = 0,
	LOOK_BOLD = 1,
	LOOK_ITALIC = 2,
	LOOK_UNDERLINE = 4,
	LOOK_DIM = 8,
	LOOK_RED = 1 << 4, /* colours: one of them */
	LOOK_GREEN = 2 << 4,
	LOOK_YELLOW = 3 << 4,
	LOOK_BLUE = 4 << 4,
	LOOK_MAGENTA = 5 << 4,
	LOOK_CYAN = 6 << 4,
	LOOK_ORANGE = 7 << 4,
	LOOK_PINK = 8 << 4,
	LOOK_ADDED = 9 << 4, /* a line of a difference, and what differs within it */
	LOOK_REMOVED = 10 << 4,
	LOOK_ADDED_WORD = 11 << 4,
	LOOK_REMOVED_WORD = 12 << 4,
	LOOK_LINK = 13 << 4, /* an address of the web, whole: where the terminal takes it, it can be clicked */
	LOOK_COLOURS = 0xf0,
};

/* What the colours are. */
enum theme {
	THEME_NONE, /* no colours */
	THEME_AUTO, /* as ANSI; differences by the background */
	THEME_ANSI,
	THEME_DARK,
	THEME_LIGHT,
	THEME_DARK_DALTONIZED,
	THEME_LIGHT_DALTONIZED,
	THEME_BARE, /* no looks at all */
};
/* By the name of the setting; auto: dark or light differences where the environment tells (COLORFGBG), else the terminal's own
 * sixteen colours. */
enum theme theme_find(struct str name);
void theme_set_background(bool light); /* of the terminal, as it says */
void paint_set_links(bool on);         /* it takes OSC 8 */

/* One line, or several with \n between them. A zeroed struct is empty. */
struct styled {
	struct buf text;
	struct buf looks; /* one byte for each of text */
};

void styled_release(struct styled *s);
void styled_clear(struct styled *s);
/* For our own words. Characters that act on a terminal, but tab and line end, never get in: they are made visible. */
void styled_add(struct styled *s, unsigned look, struct str text);
void styled_addf(struct styled *s, unsigned look, const char *fmt, ...) printf_like(3, 4);
void styled_add_foreign(struct styled *s, unsigned look, struct str text); /* on one line */
void styled_add_foreign_lines(struct styled *s, unsigned look, struct str text);
void styled_add_line(struct styled *s, unsigned look, struct str text); /* foreign, with its line end */
void styled_add_code(struct styled *s, unsigned look, struct str text); /* foreign, of one line: tabs stay */
/* Foreign, of one line. Its looks pass, in the nearest colours; every other sequence is made visible. */
void styled_add_with_looks(struct styled *s, struct str line);
void styled_expand_tabs(struct styled *s); /* for rows whose width must be known */
void styled_append(struct styled *s, const struct styled *other, size_t from, size_t to);
bool styled_equal(const struct styled *a, const struct styled *b);
/* Bytes from..to as a terminal wants them; ends with no look set. */
void styled_write(const struct styled *s, size_t from, size_t to, enum theme theme, struct buf *out);
#define AUTO_STYLED CLEANUP(styled_release)

unsigned look_of_colour(const char *name); /* red, blue ... of an agent; LOOK_PLAIN if unknown */

/* The end of the cluster that starts at `at`, and its width. s is valid UTF-8 without controls but tab. */
size_t cells_next(struct str s, size_t at, unsigned *ret_width);
size_t cells_previous(struct str s, size_t at); /* the start of the cluster before it */
unsigned cells_width(struct str s);
/* How many bytes of s fit into so many columns */
size_t cells_fit(struct str s, unsigned columns, unsigned *ret_width);
/* The end of the row that starts at `from`, wrapped at words where there are any: *ret_next is where the next row starts (blanks
 * at the break belong to neither). A line end ends a row too. */
size_t cells_wrap(struct str s, size_t from, unsigned columns, size_t *ret_next);
