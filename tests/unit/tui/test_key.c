/* SPDX-License-Identifier: MIT
 * test_key.c - what the bytes of a terminal mean, in whatever pieces they come. */
#include "test_tui.h"
#include "face/draft/key.h"

/* One word for each key, as in the table below */
static void add_key(struct buf *out, const struct key *k)
{
	static const char *const names[] = {
		[KEY_ENTER] = "enter",     [KEY_TAB] = "tab",     [KEY_BACKSPACE] = "backspace",
		[KEY_DELETE] = "delete",   [KEY_ESC] = "esc",     [KEY_UP] = "up",
		[KEY_DOWN] = "down",       [KEY_LEFT] = "left",   [KEY_RIGHT] = "right",
		[KEY_HOME] = "home",       [KEY_END] = "end",     [KEY_PAGE_UP] = "pgup",
		[KEY_PAGE_DOWN] = "pgdn",  [KEY_FOCUS_IN] = "in", [KEY_FOCUS_OUT] = "out",
		[KEY_UNKNOWN] = "unknown", [KEY_KITTY] = "kitty", [KEY_LIGHT] = "light",
		[KEY_DARK] = "dark",
	};

	if (k->code == KEY_MORE)
		return;
	if (k->code == KEY_TEXT && !k->alt) { /* letters of a run are one word, in whatever pieces they came */
		buf_add(out, k->text.p, k->text.n);
		return;
	}
	buf_addf(out, " <%s%s%s", k->ctrl ? "ctrl+" : "", k->alt ? "alt+" : "", k->shift ? "shift+" : "");
	if (k->code == KEY_TEXT)
		buf_add(out, k->text.p, k->text.n);
	else if (k->code == KEY_PASTE)
		buf_addf(out, "paste " STR_FMT, STR_ARG(k->text));
	else if (k->code == KEY_CLIPBOARD)
		buf_addf(out, "clipboard " STR_FMT, STR_ARG(k->text));
	else if (k->code == KEY_CTRL)
		buf_addf(out, "C-%c", k->letter);
	else if (k->code == KEY_POSITION)
		buf_addf(out, "at %u,%u", k->row, k->column);
	else
		buf_addstr(out, names[k->code]);
	buf_addstr(out, "> ");
}

static void decode(const char *bytes, size_t n, size_t cut, struct buf *out)
{
	struct keys keys = { 0 };
	struct key key;

	for (size_t from = 0; from < n;) {
		size_t to = from < cut ? cut : n;
		for (size_t at = from; at < to;) {
			at += keys_feed(&keys, bytes + at, to - at, &key);
			add_key(out, &key);
		}
		from = to;
	}
	keys_settle(&keys, &key);
	add_key(out, &key);
	keys_release(&keys);
}

TEST(each_sequence_means_the_same_wherever_it_is_cut)
{
	static const struct {
		const char *bytes, *keys;
	} cases[] = {
		{ "abc", "abc" },
		{ "\r", " <enter> " },
		{ "\n", " <shift+enter> " },
		{ "\033\r", " <alt+enter> " },
		{ "\033[13;2u", " <shift+enter> " },
		{ "\033[27;2;13~\033[27;5;99~\033[27;3;98~", " <shift+enter>  <C-c>  <alt+b> " }, /* modifyOtherKeys */
		{ "\t\033[Z", " <tab>  <shift+tab> " },
		{ "\177\010", " <backspace>  <backspace> " },
		{ "\033[3~", " <delete> " },
		{ "\033[A\033[B\033OC\033OD", " <up>  <down>  <right>  <left> " },
		{ "\033[H\033[F\033[1~\033[4~\033OH", " <home>  <end>  <home>  <end>  <home> " },
		{ "\033[5~\033[6~", " <pgup>  <pgdn> " },
		{ "\033[1;5C\033[1;3D", " <ctrl+right>  <alt+left> " },
		{ "\003\032\037", " <C-c>  <C-z>  <C-_> " },
		{ "\033[99;5u", " <C-c> " },
		{ "\033[97u", "a" },
		{ "\033b\033\177", " <alt+b>  <alt+backspace> " },
		{ "\033", " <esc> " },
		{ "\033\033", " <esc>  <esc> " },
		{ "\033\033[A", " <esc>  <up> " },
		{ "\033[I\033[O", " <in>  <out> " },
		{ "\033[12;34R", " <at 12,34> " },
		{ "\033[?62;c", " <unknown> " },
		{ "\033[?0u\033[?1u", " <kitty>  <kitty> " },
		{ "\033[13;1u\033[13;3u\033[13;5u", " <enter>  <alt+enter>  <ctrl+enter> " },
		{ "\033[27u\033[9u\033[9;2u\033[127;3u", " <esc>  <tab>  <shift+tab>  <alt+backspace> " },
		{ "\033[98;3u\033[107;5u\033[95;5u", " <alt+b>  <C-k>  <C-_> " },
		{ "\033[97:65;2u\033[1;5:1C\033[1;1:3A", "A <ctrl+right>  <up> " },
		{ "\033[118;9u\033[57376u", " <unknown>  <unknown> " },
		{ "\033[57404u\033[57409u\033[57414u\033[57419u\033[57426u", "5. <enter>  <up>  <delete> " },
		{ "\033]52;c;aGkh\007x", " <clipboard hi!> x" },
		{ "\033]11;rgb:ffff/FFFF/dddd\033\\x", " <light> x" },
		{ "\033]11;rgb:1e1e/1e/2\007x", " <dark> x" },
		{ "\033]52;c;aGkh\033\\x", " <clipboard hi!> x" },
		{ "\033]10;rgb:0/0/0\007x", " <unknown> x" },
		{ "\033]", " <alt+]> " },
		{ "\033[228u", "\303\244" },
		{ "\303\244\346\227\245\360\237\230\200", "\303\244\346\227\245\360\237\230\200" },
		{ "\303x", "\357\277\275x" },
		{ "\033[200~a\rb\r\nc\033[201~d", " <paste a\nb\nc> d" },
		{ "\033[200~\033[A\003 \033[20\033[201~", " <paste \033[A\003 \033[20> " },
		{ "\033[200~x\377\033[201~", " <paste x\357\277\275> " },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		size_t n = strlen(cases[i].bytes);
		for (size_t cut = 0; cut < n; cut++) {
			AUTO_BUF struct buf out = { 0 };
			decode(cases[i].bytes, n, cut, &out);
			CHECK_STR(buf_str(&out), cases[i].keys);
		}
	}
}

TEST(a_read_with_line_ends_is_a_paste_if_it_is_long)
{
	struct keys keys = { 0 };

	CHECK(keys_is_burst(&keys, "first line\rsecond line", 22));
	CHECK(!keys_is_burst(&keys, "one line and Enter\r", 19));
	CHECK(!keys_is_burst(&keys, "a\rb\r", 4));
	char many[1100];
	memset(many, 'x', sizeof many);
	CHECK(keys_is_burst(&keys, many, KEY_LONG_BYTES));
	CHECK(!keys_is_burst(&keys, many, KEY_LONG_BYTES - 1));
	CHECK(!keys_is_burst(&keys, "\033[A\033[A\033[A\033[A\r\033[A\r", 20));
}

int test_key(void)
{
	return RUN_TESTS(T(each_sequence_means_the_same_wherever_it_is_cut),
			 T(a_read_with_line_ends_is_a_paste_if_it_is_long));
}
