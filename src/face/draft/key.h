/* SPDX-License-Identifier: MIT
 * key.h - what the bytes of a terminal mean: keys, pastes, reports. It reads nothing itself. A sequence or a character may come
 * in any number of pieces. What is pasted (between ESC[200~ and ESC[201~) is text, never a key. */
#pragma once
#include "lib/base/buf.h"

enum key_code {
	KEY_MORE,  /* no key yet: more bytes are needed */
	KEY_TEXT,  /* text: one character, or a run of printable ASCII */
	KEY_PASTE, /* text: all of it; line ends are \n */
	KEY_ENTER,
	KEY_TAB,
	KEY_BACKSPACE,
	KEY_DELETE,
	KEY_ESC,
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_CTRL,      /* with letter: a-z, or one of [ ] \ ^ _ @ */
	KEY_FOCUS_IN,  /* the terminal got the focus */
	KEY_FOCUS_OUT, /* it lost it */
	KEY_POSITION,  /* row, column: where the cursor is, as asked */
	KEY_KITTY,     /* the terminal has kitty's keys, as asked */
	KEY_CLIPBOARD, /* text: what the clipboard has, as asked; any bytes */
	KEY_LIGHT,     /* the background of the terminal is light, as asked */
	KEY_DARK,
	KEY_UNKNOWN, /* a sequence that means nothing to us */
};

enum { KEY_SEQUENCE_BYTES = 64, KEY_PASTE_BYTES = 64 << 20, KEY_BURST_BYTES = 16, KEY_LONG_BYTES = 1024 };

struct key {
	enum key_code code;
	char letter;     /* KEY_CTRL */
	bool alt, shift; /* alt also with KEY_TEXT: text is the character */
	bool ctrl;       /* with arrows and the like */
	struct str text; /* borrowed until the next call */
	unsigned row, column;
};

struct keys {
	char sequence[KEY_SEQUENCE_BYTES]; /* an unfinished sequence or character */
	size_t n;
	bool pasting, paste_cut; /* paste_cut: more came than KEY_PASTE_BYTES */
	size_t paste_end_n;      /* bytes seen of the sequence that ends the paste */
	struct buf pasted;       /* also what the terminal reports */
	bool reporting;          /* in an OSC sequence */
	char one[16];            /* KEY_TEXT: a character, or what stands for each byte that is none */
};

void keys_release(struct keys *k);
/* Returns how many bytes were used; what is left is fed again. None: a character was cut off before them, which is the key. */
size_t keys_feed(struct keys *k, const char *p, size_t n, struct key *ret);
/* No byte came for a while: an Esc that waits for the rest of a sequence was the key. */
void keys_settle(struct keys *k, struct key *ret);
/* What was pasted as text: valid UTF-8 without NUL, line ends are \n. Changes raw. */
void keys_clean_paste(struct buf *raw, struct buf *out);
/* Terminals without bracketed paste: a read that is long and has line ends in it, or very long, is a paste, not typed. */
bool keys_is_burst(const struct keys *k, const char *p, size_t n);
