/* SPDX-License-Identifier: MIT
 * fuzz_paste.c - any bytes as a paste: with and without its brackets, as a file's head and as paths. It is never a key, its text is
 * valid and is sent whole, and its size on the screen is small. */
#include "../src/face/draft/image.c"
#include "../src/face/draft/key.c"
#undef PASTE_END
#define is_word draft_is_word
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

static void check_paste(struct str text)
{
	AUTO_BUF struct buf sent = { 0 }, clean = { 0 };
	struct draft d = { 0 };

	must(draft_paste(&d, text));
	must(utf8_valid(buf_str(&d.text)) && d.text.n <= DRAFT_MARK_BYTES && d.mark_count <= 1);
	draft_expand(&d, &sent);
	(void)add_clean(&clean, text);
	must(str_eq(buf_str(&sent), buf_str(&clean)));
	draft_undo(&d);
	must(!d.text.n);
	draft_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = { (const char *)data, size };
	AUTO_BUF struct buf input = { 0 }, path = { 0 }, raw = { 0 }, text = { 0 };
	struct keys keys = { 0 };
	struct image_head head;
	struct key key;
	size_t step = size ? data[0] % 16 + 1u : 1;

	if (image_head_of(bytes, &head))
		must(head.media_type && (!strcmp(head.media_type, "application/pdf") || (head.width && head.height)));
	for (struct str rest = bytes; str_trim(rest).n;) {
		size_t before = rest.n;
		must(!image_next_path(&rest, &path) || path.n);
		must(rest.n < before);
	}
	buf_append(&raw, bytes);
	keys_clean_paste(&raw, &text);
	must(utf8_valid(buf_str(&text)) && !memchr(buf_str(&text).p, '\0', text.n) &&
	     !memchr(buf_str(&text).p, '\r', text.n));
	check_paste(buf_str(&text));
	buf_addstr(&input, "\033[200~");
	buf_append(&input, bytes);
	buf_addstr(&input, "\033[201~");
	for (size_t i = 0; i < input.n;) {
		i += keys_feed(&keys, input.p + i, MIN(step, input.n - i), &key);
		must(key.code == KEY_MORE || key.code == KEY_PASTE || memmem(bytes.p, bytes.n, "\033[201~", 6));
		if (key.code == KEY_PASTE)
			check_paste(key.text);
	}
	keys_release(&keys);
	return 0;
}
