/* SPDX-License-Identifier: MIT
 * test_vim.c - the keys of vim, by a table and by vim itself: random commands on both must leave the same text and cursor. */
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include "test_tui.h"
#include "face/draft/vim.h"
#include "lib/json/json_write.h"

extern char **environ;

/* The text with | at the cursor; commands: ^ is Esc (as a byte of its own in the table: \033) */
static void play(const char *text, size_t cursor, const char *commands, struct buf *out)
{
	static const char before[] = "iz\033fQ"; /* so that . and ; have something to repeat */
	struct vim v = { 0 };
	struct draft d = { 0 };

	vim_set(&v, &d, true);
	(void)vim_key(&v, &d, &(struct key){ .code = KEY_ESC });
	for (const char *c = before; *c; c++)
		if (vim_key(&v, &d, &(struct key){ .code = *c == '\033' ? KEY_ESC : KEY_TEXT, .text = { c, 1 } }) ==
		    VIM_OTHER)
			(void)draft_type(&d, (struct str){ c, 1 });
	draft_set(&d, str_from(text));
	d.cursor = cursor;
	for (const char *c = commands; *c; c++) {
		if (*c == '\1')
			continue;
		struct key key = { .code = KEY_TEXT, .text = { c, 1 } };
		if (*c == '\033')
			key.code = KEY_ESC;
		if (vim_key(&v, &d, &key) == VIM_OTHER && key.code == KEY_TEXT)
			(void)draft_type(&d, key.text);
	}
	if (v.mode != VIM_NORMAL)
		(void)vim_key(&v, &d, &(struct key){ .code = KEY_ESC });
	buf_append(out, (struct str){ d.text.p ? d.text.p : "", d.cursor });
	buf_addch(out, '|');
	buf_append(out, str_tail(buf_str(&d.text), d.cursor));
	vim_release(&v);
	draft_release(&d);
}

TEST(commands_do_what_vim_does)
{
	static const struct {
		const char *text;
		size_t cursor;
		const char *commands, *result;
	} cases[] = {
		{ "one two", 0, "dw", "|two" },
		{ "one two", 4, "dw", "one| " },
		{ "one two three", 0, "2dw", "|three" },
		{ "one two three", 0, "d2w", "|three" },
		{ "one two", 0, "cwx\033", "|x two" },
		{ "one two", 1, "ciwnew\033", "ne|w two" },
		{ "one two three", 5, "daw", "one |three" },
		{ "one two three four", 5, "d2aw", "one |four" },
		{ "one two three four", 9, "2daw", "one tw|o" },
		{ "f (a b) c", 0, "ci(=\033", "f (|=) c" }, /* outside of all pairs: the next one, and only that */
		{ "f (a b) c", 0, "2ci(=\033", "|f (a b) c" },
		{ "one\n  two", 0, "ylVp", "|o\n  two" },
		{ "one two", 0, "yyvep", "\n|one two\n two" },
		{ "one two three four", 3, "d2aw", "one| four" },
		{ "one two three", 0, "c3iw=\033", "|= three" },
		{ "one two", 4, "d2iw", "one tw|o" },
		{ "say \"some words\" now", 7, "d2i\"", "say | now" },
		{ "f(a, (b), c)", 6, "d2i(", "f(|)" },
		{ "f(a, (b), c)", 6, "d3i(", "f(a, (|b), c)" },
		{ "say \"some words\" now", 7, "di\"", "say \"|\" now" },
		{ "say \"some words\" now", 7, "da\"", "say |now" },
		{ "f(a, (b), c)", 3, "di(", "f(|)" },
		{ "f(a, (b), c)", 6, "da(", "f(a, |, c)" },
		{ "a\nb\nc", 2, "dd", "a\n|c" },
		{ "a\nb\nc", 4, "dd", "a\n|b" },
		{ "a\nb\nc", 0, "2ddp", "c\n|a\nb" },
		{ "a\nb", 0, "yyp", "a\n|a\nb" },
		{ "abc", 0, "ylp", "a|abc" },
		{ "abc def", 0, "fd", "abc |def" },
		{ "abcabcabc", 0, "fc;", "abcab|cabc" },
		{ "abcabcabc", 0, "tc;", "abca|bcabc" },
		{ "abcabcabc", 8, "Fa,", "abcabc|abc" },
		{ "abc", 1, "x.", "|a" },
		{ "abc", 0, "3xu", "|abc" },
		{ "abc", 1, "D", "|a" },
		{ "abc", 1, "rX", "a|Xc" },
		{ "abc", 0, "2~", "AB|c" },
		{ "a\n  b", 0, "J", "a| b" },
		{ "a\nb", 0, ">>", "  |a\nb" },
		{ "    a", 4, "<<", "  |a" },
		{ "ab", 0, "ox\033", "ab\n|x" },
		{ "ab", 0, "Ox\033", "|x\nab" },
		{ "ab", 0, "3ix\033", "xx|xab" },
		{ "ab", 0, "Ax\033.", "abx|x" },
		{ "one two", 0, "cwx\033w.", "x |x" },
		{ "one two three", 4, "vwd", "one |hree" },
		{ "a\nb\nc", 0, "Vjd", "|c" },
		{ "one two three", 0, "vlld.", "|o three" },
		{ "ab cd ef", 0, "vlcX\033w.w.", "X X |X" },
		{ "a\nb\nc\nd\ne", 0, "Vjd.", "|e" },
		{ "a\nb\nc", 0, "V>j.", "  a\n  |b\nc" },
		{ "abcd\nefgh\nijkl", 1, "vl~j.", "aBCd\ne|FGh\nijkl" },
		{ "abcd\nefgh\nijkl", 0, "vjd.", "|jkl" },
		{ "abcd efgh", 0, "vlrxw.", "xxcd |xxgh" },
		{ "a\nb\nc\nd", 0, "VjJ.", "a b| c\nd" },
		{ "abc def", 0, "vlyx.", "|c def" },
		{ "one two", 0, "iab cd \033u", "|one two" },
		{ "a b", 2, "S\033", "|" },
		{ "a\nb\nc", 4, "gg", "|a\nb\nc" },
		{ "a\nb\nc", 0, "2G", "a\n|b\nc" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf out = { 0 };
		play(cases[i].text, cases[i].cursor, cases[i].commands, &out);
		CHECK_STR(buf_str(&out), cases[i].result);
	}
}

TEST(letters_that_are_remapped_leave_insert_mode)
{
	struct vim v = { 0 };
	struct draft d = { 0 };

	vim_set(&v, &d, true);
	CHECK(vim_add_remap(&v, STR("jk")));
	CHECK(!vim_add_remap(&v, STR("j")));
	for (const char *c = "hijk"; *c; c++)
		if (vim_key(&v, &d, &(struct key){ .code = KEY_TEXT, .text = { c, 1 } }) == VIM_OTHER)
			(void)draft_type(&d, (struct str){ c, 1 });
	CHECK_STR(buf_str(&d.text), "hi");
	CHECK_CSTR(vim_mode_name(&v), "NORMAL");
	CHECK_INT(vim_key(&v, &d, &(struct key){ .code = KEY_TEXT, .text = STR("j") }), VIM_BELOW);
	CHECK_INT(vim_key(&v, &d, &(struct key){ .code = KEY_ENTER }), VIM_OTHER);
	vim_release(&v);
	draft_release(&d);
}

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16 & 0x7fff;
}

static void add_random_command(struct buf *b, unsigned *seed)
{
	static const char *const motions[] = { "h", "j",  "k",  "l",  "w",  "e", "b", "0", "^", "$", "gg",
					       "G", "fb", "Fa", "t ", "Tb", ";", ",", "W", "E", "B" };
	static const char *const objects[] = { "iw", "aw", "iW", "aW", "i\"", "a\"", "i(", "a(", "ib", "a)" };
	static const char *const commands[] = { "x",      "X",       "D",        "C!\033",   "s!\033", "S?\033",
						"p",      "P",       "r#",       "~",        "J",      ".",
						"dd",     "cc=\033", "yy",       ">>",       "<<",     "ia \033",
						"I-\033", "A+\033",  "onew\033", "Otop\033", "a*\033" };
	static const char *const visual[] = { "vd",    "vec=\033", "vw~",   "vGd",  "Vd",   "VGc=\033",
					      "v2lr#", "V>",       "veG<",  "VJ",   "v$d",  "v$c=\033",
					      "viwd",  "vawd",     "vi\"d", "vi(d", "va(~", "vjd",
					      "Vjd",   "vjr#",     "vkd",   "v$r*", "vey",  "Vyp",
					      "vwp",   "Vp",       "v0d",   "vo$d", "vGd",  "vggd" };

	const char *motion = motions[next_random(seed) % COUNT_OF(motions)];
	unsigned kind = next_random(seed) % 5;

	if (kind != 4 && next_random(seed) % 5 == 0 && *motion != '0')
		buf_addf(b, "%u", next_random(seed) % 3 + 2);
	switch (kind) {
	case 0:
		buf_addstr(b, motion);
		break;
	case 1: {
		char op = "dcy"[next_random(seed) % 3];
		buf_addch(b, op);
		buf_addstr(b, motion);
		buf_addstr(b, op == 'c' ? "=\033" : "");
		break;
	}
	case 2: {
		char op = "dcy"[next_random(seed) % 3];
		buf_addch(b, op);
		buf_addstr(b, objects[next_random(seed) % COUNT_OF(objects)]);
		buf_addstr(b, op == 'c' ? "=\033" : "");
		break;
	}
	case 4:
		buf_addstr(b, visual[next_random(seed) % COUNT_OF(visual)]);
		break;
	default:
		buf_addstr(b, commands[next_random(seed) % COUNT_OF(commands)]);
		break;
	}
}

static void random_case(unsigned *seed, struct buf *text, struct buf *command, size_t *ret_cursor)
{
	static const char *const pieces[] = {
		"ab", " ", "b", "a.b", "\n", "  ", "\"x y\"", "(a b)", "word", "\n\n", "-"
	};

	buf_clear(text);
	buf_clear(command);
	for (unsigned n = next_random(seed) % 9 + 1; n--;)
		buf_addstr(text, pieces[next_random(seed) % COUNT_OF(pieces)]);
	for (unsigned n = next_random(seed) % 3 + 1; n--;) { /* \1 between commands: a failed one ends a `normal` */
		add_random_command(command, seed);
		buf_addstr(command, n ? "\1" : "");
	}
	size_t at = next_random(seed) % text->n;
	while (at && (text->p[at] == '\n' ? text->p[at - 1] != '\n' : false))
		at--;
	*ret_cursor = at;
}

static void add_vim_string(struct buf *b, struct str s)
{
	buf_addch(b, '"');
	for (size_t i = 0; i < s.n; i++)
		buf_addf(b, "\\x%02x", (unsigned char)s.p[i]);
	buf_addch(b, '"');
}

TEST(random_commands_leave_what_they_leave_in_vim)
{
	const char *wanted = getenv("CADRE_VIM_CASES");
	unsigned cases = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 500, seed = 7;
	AUTO_BUF struct buf text = { 0 }, command = { 0 }, script = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	char dir[FOLDER_MAX], path[128], answer[128];
	size_t cursor;
	pid_t pid;
	int status = -1;

	folder_make(dir);
	snprintf(path, sizeof path, "%s/cases.vim", dir);
	snprintf(answer, sizeof answer, "%s/answers", dir);
	buf_addstr(
		&script,
		"set sw=2 et nojs cpo&vim noai\nlet out = []\n"
		"func One(text, at, keys)\n%delete _\nnormal! iz\033\nsilent! normal! fQ\ncall setline(1, split(a:text, \"\\n\", 1))\nlet @\" = ''\n"
		"call setreg('\"', '', 'c')\nexe 'goto ' . (a:at + 1)\nfor k in a:keys\nexe 'silent! normal! ' . k\nendfor\n"
		"let b = line2byte(line('.')) + col('.') - 2\nlet t = join(getline(1, '$'), \"\\n\")\n"
		"call add(g:out, json_encode(strpart(t, 0, b) . '|' . strpart(t, b)))\nendfunc\n");
	for (unsigned i = 0; i < cases; i++) {
		random_case(&seed, &text, &command, &cursor);
		buf_addstr(&script, "call One(");
		add_vim_string(&script, buf_str(&text));
		buf_addf(&script, ", %zu, ", cursor);
		buf_addstr(&script, "[");
		for (struct str rest = buf_str(&command); rest.p;) {
			add_vim_string(&script, str_cut(&rest, '\1'));
			buf_addstr(&script, rest.p ? ", " : "])\n");
		}
	}
	buf_addf(&script, "call writefile(out, '%s')\nqall!\n", answer);
	file_put(path, buf_str(&script));
	const char *const argv[] = { "vim", "-u", "NONE", "-i", "NONE", "-N", "-n", "-es", "-S", path, NULL };
	CHECK_INT(posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ), 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	seed = 7;
	struct str rest = str_from(file_text(&arena, answer));
	folder_remove(dir);
	unsigned wrong = 0;
	for (unsigned i = 0; i < cases; i++) {
		AUTO_BUF struct buf ours = { 0 }, quoted = { 0 };
		struct str theirs = str_cut(&rest, '\n');
		random_case(&seed, &text, &command, &cursor);
		play(text.p, cursor, command.p, &ours);
		json_add_quoted(&quoted, buf_str(&ours));
		if (!str_eq(buf_str(&quoted), theirs)) {
			AUTO_BUF struct buf given = { 0 }, keys = { 0 };
			json_add_quoted(&given, buf_str(&text));
			json_add_quoted(&keys, buf_str(&command));
			printf("# %s at %zu, %s: " STR_FMT ", ours %s\n", given.p, cursor, keys.p, STR_ARG(theirs),
			       quoted.p);
			wrong++;
		}
	}
	CHECK_INT(wrong, 0);
}

int test_vim(void)
{
	return RUN_TESTS(T(commands_do_what_vim_does), T(letters_that_are_remapped_leave_insert_mode),
			 T(random_commands_leave_what_they_leave_in_vim));
}
