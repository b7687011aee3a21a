/* SPDX-License-Identifier: MIT
 * fuzz_editor.c - bytes of a terminal. The first byte says in which pieces they come; the text must not depend on it, must be
 * valid UTF-8 with the cursor at the start of a character, and what draws it must send no byte of a sequence that was pasted. */
#include <locale.h>
#include "../src/face/cli/editor.c"
#include "../src/face/cli/screen.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct editor *e)
{
	struct str text = buf_str(&e->text);

	if (!utf8_valid(text) || (text.n && memchr(text.p, 0, text.n)) || e->cursor > text.n)
		abort();
	if (e->cursor < text.n && ((unsigned char)text.p[e->cursor] & 0xc0) == 0x80)
		abort();
}

static void check_bytes(struct str out)
{
	if (!utf8_valid(out))
		abort();
	for (size_t i = 0; i < out.n; i++) {
		unsigned char c = (unsigned char)out.p[i];
		if (c == ESC) {
			if (++i == out.n || out.p[i] != '[')
				abort();
			for (i++; i < out.n && isdigit((unsigned char)out.p[i]);)
				i++;
			if (i == out.n || !strchr("AGJK", out.p[i]))
				abort();
		} else if (c < 0x20 && !strchr("\r\n\b", c)) {
			abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct editor whole = { 0 }, pieces = { 0 };
	struct screen screen = { 0 };
	size_t step = size ? data[0] % 16 + 1u : 1, i = 1;
	enum editor_event event;

	setlocale(LC_CTYPE, "C.UTF-8");
	screen_set_size(&screen, step * 3, 10);
	editor_add_history(&whole, STR("an older line"));
	editor_add_history(&pieces, STR("an older line"));
	while (i < size)
		i += editor_feed(&whole, (const char *)data + i, size - i, &event);
	for (i = 1; i < size;) {
		AUTO_BUF struct buf out = { 0 };
		i += editor_feed(&pieces, (const char *)data + i, MIN(step, size - i), &event);
		check_text(&pieces);
		screen_draw(&screen, STR("> "), buf_str(&pieces.text), pieces.cursor, &out);
		check_bytes(buf_str(&out));
	}
	if (!str_eq(buf_str(&whole.text), buf_str(&pieces.text)) || whole.cursor != pieces.cursor)
		abort();
	screen_release(&screen);
	editor_release(&whole);
	editor_release(&pieces);
	return 0;
}
