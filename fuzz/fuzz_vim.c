/* SPDX-License-Identifier: MIT
 * fuzz_vim.c - any bytes as a text (up to the first NUL) and keys of vim behind it. The text stays valid UTF-8, the cursor stands
 * between characters, the selection is inside the text, and undo leads back to the text that was there. */
#include "../src/face/draft/vim.c"
#include "../src/face/draft/vim_change.c"
#include "../src/face/draft/vim_motion.c"
#include "../src/face/draft/draft.c"
#include "../src/face/screen/paint.c"
#include "../src/face/screen/width.c"
#include "../src/face/cli/view.c"
#include "../src/face/cli/agents.c"
#include "../src/face/cli/tree_view.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds as well. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t text_n = end ? (size_t)(end - data) : size;
	AUTO_BUF struct buf text = { 0 }, keys = { 0 };
	struct vim v = { 0 };
	struct draft d = { 0 };

	utf8_add_repaired(&text, (struct str){ (const char *)data, text_n });
	if (end)
		utf8_add_repaired(&keys, (struct str){ (const char *)end + 1, size - text_n - 1 });
	if (text.n > 2000 || keys.n > 300)
		return 0;
	vim_set(&v, &d, true);
	must(draft_paste(&d, buf_str(&text)));
	for (size_t i = 0; i < keys.n && d.text.n < 100000;) {
		uint32_t cp;
		size_t n = utf8_decode(keys.p + i, &cp), from, to;
		struct key key = { .code = cp == 033 ? KEY_ESC : KEY_TEXT, .text = { keys.p + i, n } };
		if (vim_key(&v, &d, &key) == VIM_OTHER && key.code == KEY_TEXT && cp)
			(void)draft_type(&d, key.text);
		struct str s = buf_str(&d.text);
		must(utf8_valid(s) && d.cursor <= s.n &&
		     (d.cursor == s.n || ((unsigned char)s.p[d.cursor] & 0xc0) != 0x80));
		vim_selection(&v, &d, &from, &to);
		must(from <= to && to <= s.n);
		i += n;
	}
	while (d.change_count)
		draft_undo(&d);
	vim_release(&v);
	draft_release(&d);
	return 0;
}
