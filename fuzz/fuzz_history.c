/* SPDX-License-Identifier: MIT
 * fuzz_history.c - any bytes as history.jsonl. What comes out is text that a draft can hold, its marks are pastes and never files, and
 * the way up and down again ends at the line that was left. */
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
	AUTO_BUF struct buf sent = { 0 }, files = { 0 };
	struct draft d = { 0 };

	draft_add_history(&d, STR("typed"));
	draft_read_history(&d, (struct str){ (const char *)data, size }, "/p");
	must(d.history_count && !strcmp(d.history[d.history_count - 1], "typed"));
	must(draft_attach(&d, STR("image 1: 1x1"), STR("{}")));
	(void)draft_type(&d, STR("left"));
	while (draft_older(&d)) {
		must(utf8_valid(buf_str(&d.text)) && d.cursor == d.text.n);
		draft_expand(&d, &sent);
		must(utf8_valid(buf_str(&sent)));
		buf_clear(&sent);
		draft_blocks(&d, &files);
		must(!files.n);
	}
	while (draft_newer(&d))
		;
	draft_expand(&d, &sent);
	must(str_is(buf_str(&sent), "[image 1: 1x1]left"));
	draft_release(&d);
	return 0;
}
