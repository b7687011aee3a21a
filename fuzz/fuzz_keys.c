/* SPDX-License-Identifier: MIT
 * fuzz_keys.c - bytes of a terminal as keys and a draft. The first byte says in which pieces they come. The text stays valid UTF-8
 * with the cursor between characters, everything can be undone, and what is drawn has no byte of a sequence that was typed. */
#include "../src/face/draft/key.c"
#include "../src/face/screen/paint.c"
#include "../src/face/screen/region.c"
#include "../src/face/screen/width.c"
#undef PASTE_END
#define is_word draft_is_word
#include "../src/face/draft/draft.c"
#include "../src/face/cli/view.c"
#include "../src/face/cli/agents.c"
#include "../src/face/cli/tree_view.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply(struct draft *d, const struct key *key)
{
	if (key->code == KEY_TEXT)
		(void)draft_type(d, key->text);
	else if (key->code == KEY_PASTE)
		(void)draft_paste(d, key->text);
	else if (key->code == KEY_CTRL)
		draft_kill(d, (enum draft_move)(key->letter % 8));
	else if (key->code == KEY_BACKSPACE)
		draft_delete(d, MOVE_LEFT);
	else if (key->code == KEY_ESC)
		draft_undo(d);
	else if (key->code == KEY_TAB)
		draft_yank(d);
	else if (key->code != KEY_MORE)
		draft_move(d, (enum draft_move)(key->code % 8));
	struct str text = buf_str(&d->text);
	if (!utf8_valid(text) || (text.n && memchr(text.p, 0, text.n)) || d->cursor > text.n)
		abort();
	if (d->cursor < text.n && ((unsigned char)text.p[d->cursor] & 0xc0) == 0x80)
		abort();
}

static void draw(struct region *r, const struct draft *d)
{
	AUTO_STYLED struct styled row = { 0 };
	AUTO_BUF struct buf out = { 0 };

	styled_add_foreign(&row, LOOK_PLAIN, buf_str(&d->text));
	row.text.n = row.looks.n = cells_fit(buf_str(&row.text), r->columns - 1, NULL);
	region_draw(r, &row, 1, 0, 0, STR(""), &out);
	for (size_t i = 0; i < out.n; i++)
		if ((unsigned char)out.p[i] < 0x20 && out.p[i] != '\r' && !(out.p[i] == '\033' && out.p[i + 1] == '['))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct keys keys = { 0 };
	struct draft draft = { 0 };
	struct region region = { .columns = 20, .rows = 10 };
	struct key key;
	size_t step = size ? data[0] % 16 + 1u : 1;

	for (size_t i = 1; i < size;) {
		i += keys_feed(&keys, (const char *)data + i, MIN(step, size - i), &key);
		apply(&draft, &key);
		draw(&region, &draft);
	}
	keys_settle(&keys, &key);
	apply(&draft, &key);
	while (draft.change_count)
		draft_undo(&draft);
	keys_release(&keys);
	draft_release(&draft);
	region_release(&region);
	return 0;
}
