/* SPDX-License-Identifier: MIT
 * key.c - what the bytes of a terminal mean. */
#include "face/draft/key.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"

#define PASTE_END "\033[201~"

void keys_release(struct keys *k)
{
	buf_release(&k->pasted);
	*k = (struct keys){ 0 };
}

static void paste_add(struct keys *k, const char *p, size_t n)
{
	size_t fits = MIN(n, KEY_PASTE_BYTES - k->pasted.n);

	buf_add(&k->pasted, p, fits);
	k->paste_cut = k->paste_cut || fits < n;
}

/* Terminals send a line end of a paste as CR. */
void keys_clean_paste(struct buf *raw, struct buf *out)
{
	size_t to = 0;

	for (size_t i = 0; i < raw->n; i++) {
		bool pair = raw->p[i] == '\r' && i + 1 < raw->n && raw->p[i + 1] == '\n';
		if (raw->p[i] && !pair)
			raw->p[to++] = raw->p[i] == '\r' ? '\n' : raw->p[i];
	}
	raw->n = to;
	utf8_add_repaired(out, buf_str(raw));
}

static size_t feed_paste(struct keys *k, const char *p, size_t n, struct key *ret)
{
	const size_t end_n = sizeof PASTE_END - 1;

	for (size_t i = 0; i < n;) {
		if (!k->paste_end_n) { /* most of it: no comparison of single bytes */
			const char *esc = memchr(p + i, '\033', n - i);
			size_t plain = esc ? (size_t)(esc - p) - i : n - i;
			paste_add(k, p + i, plain);
			i += plain;
			if (!esc)
				break;
		}
		if (p[i] == PASTE_END[k->paste_end_n]) {
			i++;
			if (++k->paste_end_n < end_n)
				continue;
			k->pasting = false;
			k->paste_end_n = 0;
			AUTO_BUF struct buf raw = k->pasted;
			k->pasted = (struct buf){ 0 };
			keys_clean_paste(&raw, &k->pasted);
			*ret = (struct key){ .code = KEY_PASTE, .text = buf_str(&k->pasted) };
			return i;
		}
		paste_add(k, PASTE_END, k->paste_end_n); /* it was not the end: part of the text */
		k->paste_end_n = 0;
	}
	return n;
}

bool keys_is_burst(const struct keys *k, const char *p, size_t n)
{
	if (k->pasting || n <= KEY_BURST_BYTES || memchr(p, '\033', n))
		return false;
	if (n >= KEY_LONG_BYTES)
		return true;
	const char *end = memchr(p, '\r', n - 1); /* one at the end is Enter */
	return end || memchr(p, '\n', n - 1);
}

/* Reports (OSC): the clipboard, the background. */

static void end_report(struct keys *k, struct key *ret)
{
	AUTO_BUF struct buf raw = k->pasted;
	struct str rest = buf_str(&raw);

	k->reporting = false;
	k->pasted = (struct buf){ 0 };
	*ret = (struct key){ .code = KEY_UNKNOWN };
	struct str number = str_cut(&rest, ';');
	if (str_is(number, "11") && rest.p && str_starts(rest, STR("rgb:"))) { /* rgb:RRRR/GGGG/BBBB, of any length */
		static const int weights[] = { 3, 6, 1 };
		int sum = 0; /* of the first digits, 0 to 150 */
		rest = (struct str){ rest.p + 4, rest.n - 4 };
		for (size_t i = 0; i < COUNT_OF(weights) && rest.p; i++) {
			struct str part = str_cut(&rest, '/');
			char digit = part.n ? part.p[0] : '0';
			sum += weights[i] * (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
		}
		ret->code = sum >= 75 ? KEY_LIGHT : KEY_DARK;
		return;
	}
	if (!str_is(number, "52") || !rest.p)
		return;
	(void)str_cut(&rest, ';');
	if (rest.p && base64_decode(&k->pasted, rest, NULL) == 0)
		*ret = (struct key){ .code = KEY_CLIPBOARD, .text = buf_str(&k->pasted) };
}

/* Ends with BEL, or with ESC and a backslash */
static size_t feed_report(struct keys *k, const char *p, size_t n, struct key *ret)
{
	size_t i = 0;

	while (i < n && p[i] != '\a' && p[i] != '\033' && k->n == 0)
		i++;
	paste_add(k, p, i);
	if (i == n)
		return n;
	if (p[i] == '\033' && !k->n) {
		k->sequence[k->n++] = p[i];
		return i + 1;
	}
	k->n = 0;
	end_report(k, ret);
	return i + 1;
}

struct sequence {
	char final;
	unsigned number; /* 0: any, for letters */
	enum key_code code;
};

static const struct sequence sequences[] = {
	{ 'A', 0, KEY_UP },      { 'B', 0, KEY_DOWN },      { 'C', 0, KEY_RIGHT },    { 'D', 0, KEY_LEFT },
	{ 'H', 0, KEY_HOME },    { 'F', 0, KEY_END },       { 'I', 0, KEY_FOCUS_IN }, { 'O', 0, KEY_FOCUS_OUT },
	{ 'M', 0, KEY_ENTER },   { '~', 1, KEY_HOME },      { '~', 3, KEY_DELETE },   { '~', 4, KEY_END },
	{ '~', 5, KEY_PAGE_UP }, { '~', 6, KEY_PAGE_DOWN }, { '~', 7, KEY_HOME },     { '~', 8, KEY_END },
	{ 'u', 13, KEY_ENTER },  { 'u', 9, KEY_TAB },       { 'u', 27, KEY_ESC },     { 'u', 127, KEY_BACKSPACE },
};

static void set_modifiers(struct key *key, unsigned parameter)
{
	unsigned bits = parameter ? parameter - 1 : 0;

	key->shift = bits & 1;
	key->alt = bits & 2;
	key->ctrl = bits & 4;
}

/* CSI parameters final; kitty's keys are `code ; modifiers u`, those of xterm's modifyOtherKeys `27 ; modifiers ; code ~`. */
static void decode_csi(struct keys *k, struct str parameters, char final, struct key *ret)
{
	unsigned numbers[3] = { 0 };
	size_t count = 0;

	bool more = false; /* behind a colon: other keys of the same place, kinds of presses */
	for (size_t i = 0; i < parameters.n && count < COUNT_OF(numbers); i++) {
		char c = parameters.p[i];
		if (c >= '0' && c <= '9' && !more)
			numbers[count] = MIN(numbers[count] * 10 + (unsigned)(c - '0'), 1000000u);
		else if (c == ';')
			count++;
		more = c == ':' || (more && c != ';');
	}
	*ret = (struct key){ .code = KEY_UNKNOWN };
	if (parameters.n && parameters.p[0] == '?') { /* reports; only one is asked for */
		ret->code = final == 'u' ? KEY_KITTY : KEY_UNKNOWN;
		return;
	}
	if (final == '~' && numbers[0] == 200) {
		k->pasting = true;
		k->paste_cut = false;
		buf_clear(&k->pasted);
		ret->code = KEY_MORE;
		return;
	}
	if (final == 'R' && count == 1) {
		*ret = (struct key){ .code = KEY_POSITION, .row = numbers[0], .column = numbers[1] };
		return;
	}
	if (final == 'Z') {
		*ret = (struct key){ .code = KEY_TAB, .shift = true };
		return;
	}
	if (final == '~' && numbers[0] == 27 && count == 2) {
		numbers[0] = numbers[2];
		final = 'u';
	}
	for (size_t i = 0; i < COUNT_OF(sequences); i++)
		if (sequences[i].final == final && (!sequences[i].number || sequences[i].number == numbers[0])) {
			ret->code = sequences[i].code;
			set_modifiers(ret, numbers[1]);
			return;
		}
	static const char keypad[] = "0123456789./*-+\r="; /* 57399 and on */
	static const enum key_code keypad_moves[] = { KEY_LEFT,      KEY_RIGHT, KEY_UP,  KEY_DOWN,    KEY_PAGE_UP,
						      KEY_PAGE_DOWN, KEY_HOME,  KEY_END, KEY_UNKNOWN, KEY_DELETE };
	if (final != 'u' || numbers[0] < 32 || numbers[0] > 0x10ffff)
		return;
	set_modifiers(ret, numbers[1]);
	if (numbers[1] && (numbers[1] - 1) & (8 | 16)) /* Super and Hyper are the window manager's */
		return;
	if (numbers[0] >= 57417 && numbers[0] - 57417 < COUNT_OF(keypad_moves)) {
		ret->code = keypad_moves[numbers[0] - 57417];
		return;
	}
	if (numbers[0] >= 57399 && numbers[0] - 57399 < sizeof keypad - 1)
		numbers[0] = (unsigned char)keypad[numbers[0] - 57399];
	if (numbers[0] == '\r') {
		ret->code = KEY_ENTER;
		return;
	}
	if (numbers[0] >= 57344 && numbers[0] < 63744) /* keys without a character */
		return;
	if (ret->ctrl && numbers[0] < 127) {
		ret->code = KEY_CTRL;
		ret->letter = (char)numbers[0];
		ret->ctrl = false;
		return;
	}
	if (ret->shift && numbers[0] >= 'a' && numbers[0] <= 'z')
		numbers[0] -= 'a' - 'A';
	ret->code = KEY_TEXT;
	ret->text = (struct str){ k->one, utf8_encode(numbers[0], k->one) };
}

/* One byte, or one character: what a key without a sequence sends. */
static void decode_plain(struct keys *k, struct str s, struct key *ret)
{
	unsigned char c = (unsigned char)s.p[0];

	*ret = (struct key){ .code = KEY_TEXT };
	switch (c) {
	case '\r':
	case '\n': /* Ctrl-J is a new line in the text */
		ret->code = KEY_ENTER;
		ret->shift = c == '\n';
		return;
	case '\t':
		ret->code = KEY_TAB;
		return;
	case 0x7f:
	case 0x08:
		ret->code = KEY_BACKSPACE;
		return;
	default:
		break;
	}
	if (c < 0x20) {
		ret->code = KEY_CTRL;
		ret->letter = (char)(c >= 1 && c <= 26 ? 'a' + c - 1 : '@' + c);
		return;
	}
	memcpy(k->one, s.p, MIN(s.n, sizeof k->one));
	ret->text = (struct str){ k->one, MIN(s.n, sizeof k->one) };
}

/* Is the sequence in k whole? Then *ret is what it means. is_cut_off: no byte of its character follows */
static bool sequence_is_whole(struct keys *k, bool is_cut_off, struct key *ret)
{
	const char *s = k->sequence;
	size_t at = s[0] == '\033' ? 1 : 0;

	if (k->n == 2 && at && s[1] == ']') {
		k->reporting = true;
		buf_clear(&k->pasted);
		*ret = (struct key){ .code = KEY_MORE };
		return true;
	}
	if (!at || (k->n > 1 && s[1] != '[' && s[1] != 'O')) { /* a character, with Alt behind an Esc */
		if (k->n <= at)
			return false;
		unsigned char c = (unsigned char)s[at]; /* what is not UTF-8 is a character of one byte */
		if (!is_cut_off && k->n - at < (c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1))
			return false;
		AUTO_BUF struct buf fixed = { 0 };
		utf8_add_repaired(&fixed, (struct str){ s + at, k->n - at });
		decode_plain(k, buf_str(&fixed), ret);
		ret->alt = at != 0;
		return true;
	}
	if (k->n < 3)
		return false;
	char last = s[k->n - 1];
	if (s[1] == '[' && s[2] == '[') { /* F1 to F5 of the Linux console: one letter more */
		*ret = (struct key){ .code = KEY_UNKNOWN };
		return k->n > 3;
	}
	if (s[1] == 'O') {
		decode_csi(k, STR(""), last, ret);
		if (ret->code == KEY_FOCUS_IN || ret->code == KEY_FOCUS_OUT)
			ret->code = KEY_UNKNOWN; /* SS3 I is a keypad's tab */
		return true;
	}
	if (last < 0x40 || last > 0x7e) {
		if (k->n < sizeof k->sequence && last >= 0x20)
			return false;
		*ret = (struct key){ .code = KEY_UNKNOWN };
		return true;
	}
	decode_csi(k, (struct str){ s + 2, k->n - 3 }, last, ret);
	return true;
}

size_t keys_feed(struct keys *k, const char *p, size_t n, struct key *ret)
{
	*ret = (struct key){ .code = KEY_MORE };
	if (k->pasting)
		return feed_paste(k, p, n, ret);
	if (k->reporting)
		return feed_report(k, p, n, ret);
	size_t run = 0; /* typed quickly, or what came while nothing was read */
	while (!k->n && run < n && p[run] >= 0x20 && p[run] < 0x7f)
		run++;
	if (run) {
		*ret = (struct key){ .code = KEY_TEXT, .text = { p, run } };
		return run;
	}
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\033' && k->n == 1 && k->sequence[0] == '\033') { /* the second one may begin a sequence */
			*ret = (struct key){ .code = KEY_ESC };
			return i + 1;
		}
		bool is_cut_off = k->n && (unsigned char)k->sequence[k->n - 1] >= 0x80 && (p[i] & 0xc0) != 0x80;
		if (!is_cut_off)
			k->sequence[k->n++] = p[i];
		if (!sequence_is_whole(k, is_cut_off, ret))
			continue;
		k->n = 0;
		return i + !is_cut_off;
	}
	return n;
}

void keys_settle(struct keys *k, struct key *ret)
{
	*ret = (struct key){ .code = KEY_MORE };
	if (k->reporting && !k->pasted.n) { /* Alt-] */
		k->reporting = false;
		k->n = 0;
		k->one[0] = ']';
		*ret = (struct key){ .code = KEY_TEXT, .alt = true, .text = { k->one, 1 } };
		return;
	}
	if (k->pasting || k->reporting || !k->n)
		return;
	ret->code = k->n == 1 && k->sequence[0] == '\033' ? KEY_ESC : KEY_UNKNOWN;
	k->n = 0;
}
