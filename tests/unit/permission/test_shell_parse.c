/* SPDX-License-Identifier: MIT
 * test_shell_parse.c - every construct of the shell, and the commands that are found in it. */
#include "unit.h"
#include "guard/shell/shell_parse.h"
#include "tests.h"

static void add_word(struct buf *out, const struct shell_word *w)
{
	buf_addf(out, "<%s" STR_FMT ">",
		 w->literal  ? ""
		 : w->tilde  ? "~"
		 : w->globs  ? "*"
		 : w->splits ? "$$"
			     : "$",
		 STR_ARG(w->text));
}

/* A command as "name=<value> <word><word> 1><target>", "!" before one that hides something. Of a word that is not literal
 * the first character says why: ~ tilde, * glob, $$ splits, $ one word. */
static void add_command(struct buf *out, const struct shell_command *c)
{
	static const char *const ops[] = {
		[SHELL_READ] = "<",          [SHELL_WRITE] = ">",       [SHELL_APPEND] = ">>",
		[SHELL_CLOBBER] = ">|",      [SHELL_READ_WRITE] = "<>", [SHELL_WRITE_BOTH] = "&>",
		[SHELL_APPEND_BOTH] = "&>>", [SHELL_DUP_OUT] = ">&",    [SHELL_DUP_IN] = "<&",
		[SHELL_HERE] = "<<",         [SHELL_HERE_TABS] = "<<-", [SHELL_HERE_STRING] = "<<<",
	};

	buf_addstr(out, c->hides ? "!" : "");
	for (size_t i = 0; i < c->assignment_count; i++) {
		buf_addf(out, STR_FMT "=", STR_ARG(c->assignments[i].name));
		add_word(out, &c->assignments[i].value);
	}
	for (size_t i = 0; i < c->word_count; i++)
		add_word(out, &c->words[i]);
	for (size_t i = 0; i < c->redirect_count; i++) {
		buf_addf(out, " %d%s%s", c->redirects[i].fd, ops[c->redirects[i].op],
			 c->redirects[i].writes_file ? "w" : "");
		add_word(out, &c->redirects[i].target);
	}
}

static void add_commands(struct buf *out, const struct shell_script *s)
{
	buf_addstr(out, "");
	for (size_t i = 0; i < s->count; i++) {
		buf_addstr(out, i ? "; " : "");
		add_command(out, &s->commands[i]);
	}
}

TEST(every_command_is_listed_with_its_words)
{
	static const struct {
		const char *text, *commands;
	} rows[] = {
		{ "", "" },
		{ "# only a comment", "" },
		{ "a", "<a>" },
		{ "a b  c\td", "<a><b><c><d>" },
		{ "a; b && c || d | e |& f & g\nh", "<a>; <b>; <c>; <d>; <e>; <f>; <g>; <h>" },
		{ "! a", "<a>" },
		{ "time -p a", "<a>" },
		{ "a | time b", "<a>; <time><b>" },
		{ "a \\\n b # c\nd", "<a><b>; <d>" },
		/* words */
		{ "a 'b c' \"d e\" f\\ g h'i'\"j\"", "<a><b c><d e><f g><hij>" },
		{ "a $'b\\t\\x41\\u00e9' $\"c\"", "<a><b\tA\xc3\xa9><c>" },
		{ "a '' \"\"", "<a><><>" },
		{ "\\a 'if' b", "<a><if><b>" },
		{ "a $x \"$x\" \"$@\" ${x:-b c} \"${x%.c}\"",
		  "<a><$$$x><$\"$x\"><$$\"$@\"><$$${x:-b c}><$\"${x%.c}\">" },
		{ "a * b? [c]d \"*\" \\* [", "<a><**><*b?><*[c]d><*><*><[>" },
		{ "a {b,c} {1..3} {} x@{0} '{b,c}'", "<a><*{b,c}><*{1..3}><{}><x@{0}><{b,c}>" },
		{ "a ~ ~/b c~ x=~/d \"~\"", "<a><~~><~~/b><c~><~x=~/d><~>" },
		/* substitutions */
		{ "a $(b c) `d \\`e\\``", "<b><c>; <e>; <d><$$`e`>; <a><$$$(b c)><$$`d \\`e\\``>" },
		{ "a \"x$(b \"$(c)\")\"", "<c>; <b><$\"$(c)\">; <a><$\"x$(b \"$(c)\")\">" },
		{ "a <(b) >(c)", "<b>; <c>; <a><$$<(b)><$$>(c)>" },
		{ "a ${x:-$(b)} \"${y/c/`d`}\"", "<b>; <d>; <a><$$${x:-$(b)}><$\"${y/c/`d`}\">" },
		{ "a ${x:=b}", "x=<$>; <a><$$${x:=b}>" },
		{ "a $((1 + (2 << 3)))", "<a><$$$((1 + (2 << 3)))>" },
		{ "((1 > 0)) && a", "<a>" },
		{ "x=1; a $((x + 1))", "x=<1>; <a><$$$((x + 1))>" },
		{ "for ((i=0; i<2; i++)); do a; done", "i=<$>; i=<$>; <a>" },
		{ "a $(case b in c) d;; esac)", "<d>; <a><$$$(case b in c) d;; esac)>" },
		/* compound commands */
		{ "(a; b)", "<a>; <b>" },
		{ "{ a; { b; } }", "<a>; <b>" },
		{ "if a; then b; elif c; then d; else e; fi", "<a>; <b>; <c>; <d>; <e>" },
		{ "while a; do b; done; until c; do d; done", "<a>; <b>; <c>; <d>" },
		{ "for x in $(a) b; do c; done", "x=<$>; <a>; <c>" },
		{ "for x; do a; done", "x=<$>; <a>" },
		{ "select x in a; do b; done", "x=<$>; <b>" },
		{ "case $(a) in b|c) d;& (e) f;; *) g;; esac", "<a>; <d>; <f>; <g>" },
		{ "f() { a; }; f b", "<a>; <f><b>" },
		{ "function f { a; }; function g() (b)", "<a>; <b>" },
		{ "[[ -f $(a) && ( b == c* || $d =~ ^(e|f)$ ) ]] && g", "<a>; <g>" },
		{ "{ a; } > f 2>&1 | b", "<a>;  1>w<f> 2>&<1>; <b>" },
		{ "while a; do b; done < f", "<a>; <b>;  0<<f>" },
		/* redirections */
		{ "a <b >c >>d >|e <>f", "<a> 0<<b> 1>w<c> 1>>w<d> 1>|w<e> 0<>w<f>" },
		{ "a &>b &>>c >&d 2>&1 <&3 >&-", "<a> 1&>w<b> 1&>>w<c> 1&>w<d> 2>&<1> 0<&<3> 1>&<->" },
		{ "a 2>b 10>c d3>e", "<a><d3> 2>w<b> 10>w<c> 1>w<e>" },
		{ "a >$x >&$y <<<\"$z\"", "<a> 1>w<$$$x> 1&>w<$$$y> 0<<<<$\"$z\">" },
		{ "> a b", "<b> 1>w<a>" },
		/* here-documents */
		{ "a <<E <<-'F' | b\n$(c)\nE\n\t$(d)\n\tF\ne", "<a> 0<<<E> 0<<-<F>; <b>; <c>; <e>" },
		{ "a <<E\n\\$(b) `c`\nE", "<a> 0<<<E>; <c>" },
		{ "a \"$(b <<'E'\nit's\nE\n)\"", "<b> 0<<<E>; <a><$\"$(b <<'E'\nit's\nE\n)\">" },
		/* assignments */
		{ "x=1 y='b c' a z=2", "x=<1>y=<b c><a><z=2>" },
		{ "x=", "x=<>" },
		{ "x+=$(a)", "<a>; x=<$$$(a)>" },
		{ "x=(b $(a)\n# c\nd)", "<a>; x=<$(b $(a)\n# c\nd)>" },
		{ "x[0]=1 a", "x=<1><a>" },
		{ "declare -a x=(b $(a))", "<a>; <declare><-a><$x=(b $(a))>" },
		{ "1x=1 a", "<1x=1><a>" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_BUF struct buf got = { 0 };
		struct shell_script s;
		shell_parse(&a, str_from(rows[i].text), &s);
		add_commands(&got, &s);
		CHECK_CSTR(got.p, rows[i].commands);
		CHECK(s.understood && !s.why_not);
	}
}

TEST(what_is_not_understood_is_said_and_still_listed)
{
	static const struct {
		const char *text, *why, *commands;
	} rows[] = {
		{ "a 'b", "a single quote is not closed", "<a><b>" },
		{ "a \"b", "a double quote is not closed", "<a><b>" },
		{ "a $'b", "a $' quote is not closed", "<a><b>" },
		{ "a `b", "a backtick is not closed", "<b>; <a><$$`b>" },
		{ "a $(b", "a substitution is not closed", "<b>; <a><$$$(b>" },
		{ "a ${b", "a ${ } that is not closed, or that can run what a variable holds", "<a><$$${b>" },
		{ "a \\", "a backslash stands at the end", "<a><>" },
		{ "(a", "a subshell is not closed", "<a>" },
		{ "{ a }", "a compound command is not complete", "<a><}>" },
		{ "{a;}", "something is closed that was not opened", "<{a>" },
		{ "( )", "a compound command is empty", "" },
		{ "if a; then b", "a compound command is not complete", "<a>; <b>" },
		{ "a; fi", "something is closed that was not opened", "<a>" },
		{ "a )", "something is closed that was not opened", "<a>" },
		{ "a &&", "a command is missing", "<a>" },
		{ "; a", "a command is missing", "<a>" },
		{ "a >", "a redirection has no target", "<a> 1>w<>" },
		{ "a >&-b", "something follows >&- without a blank", "<a> 1&>w<-b>" },
		{ "a >2>b", "a redirection has no target", NULL },
		{ "x=(a)b", "something follows an array without a blank", NULL },
		{ "a && }", "a command is missing", "<a>" },
		{ "]] a", "something is closed that was not opened", "<a>" },
		{ "in a", "something is closed that was not opened", "<a>" },
		{ "a {x}>b", "a redirection of a kind that is not known", "<a> -1>w<b>" },
		{ "a 2>(b)", "a redirection of a kind that is not known", "<a> 2>w<>; <b>" },
		{ "a | ! b", "! follows |", "<a>; <!><b>" },
		{ "!(a)", "!( is a pattern or a subshell, depending on an option", "<a>" },
		{ "a @(b|c)", "a separator is missing between two commands", "<a><@>; <b>; <c>" },
		{ "(a) b", "a separator is missing between two commands", "<a>; <b>" },
		{ "a (b)", "a separator is missing between two commands", "<a>; <b>" },
		{ "f() a", "a function has no body", "<a>" },
		{ "function $x { a; }", "a function has no name", "<a>" },
		{ "for $x in a; do b; done", "the variable of a loop is not a name", "=<$>; !<$$$x><in><a>; <b>" },
		{ "for x in a & do b; done", "a loop is not complete", "x=<$>; <b>" },
		{ "case x in @(a)) b;; esac", "a pattern that is not known", "<a>; <b>" },
		{ "case in", "a compound command is not complete", NULL },
		{ "coproc a", "coproc is not read by all versions of bash in the same way", "<a>" },
		{ "[[ a", "[[ is not closed", "" },
		{ "[[ -f ]]", "an operand is missing in [[ ]]", "" },
		{ "[[ ( a ]]", "a parenthesis in [[ ]] is not closed", "" },
		{ "[[ a == @(b ]]", "a parenthesis in a pattern is not closed", NULL },
		/* arithmetic and names: a value can be a[$(cmd)] */
		{ "a $((x))", "arithmetic with more than numbers can run what a variable holds", "<a><$$$((x))>" },
		{ "((x = $(a)))", "arithmetic with more than numbers can run what a variable holds", "x=<$>; <a>" },
		{ "((PATH = 1))", "arithmetic with more than numbers can run what a variable holds", "!PATH=<$>" },
		{ "for ((;x;)); do a; done", "arithmetic with more than numbers can run what a variable holds", "<a>" },
		{ "for ((;;)) a", "a compound command is not complete", NULL },
		{ "export() { a; }", "a function has the name of a builtin that sets variables", "<a>" },
		{ "((a); b)", "arithmetic with more than numbers can run what a variable holds", "<a>; <b>" },
		{ "a $[1]", "$[ ] is old arithmetic", "<a><*$[1]>" },
		{ "a ${x:y}", "a ${ } that is not closed, or that can run what a variable holds", NULL },
		{ "a ${x[y]}", "a ${ } that is not closed, or that can run what a variable holds", NULL },
		{ "a ${!x}", "a ${ } that is not closed, or that can run what a variable holds", NULL },
		{ "a ${x@P}", "a ${ } that is not closed, or that can run what a variable holds", NULL },
		{ "x[y]=1", "a subscript that is more than a number can run what a variable holds", NULL },
		{ "x=([y]=1)", "a subscript that is more than a number can run what a variable holds", NULL },
		{ "[[ $x -eq 1 ]]", "a comparison of numbers can run what a variable holds", "" },
		{ "[[ -v $x ]]", "a test of a variable can run what a variable holds", "" },
		/* what shells read differently */
		{ "a $'\\''", "an escape in $'...' that shells read differently", NULL },
		{ "a $'\\0'", "an escape in $'...' has no character", NULL },
		{ "a $'\\xg'", "an escape in $'...' has no digits", NULL },
		{ "a \"${x:-'b'}\"", "quotes or braces in ${ } that shells read differently", NULL },
		{ "a ${x:-$'b'}", "a $' quote stands in ${ }", NULL },
		{ "a ${x:-<(b)}", "a process substitution stands in ${ }", "<b>; <a><$$${x:-<(b)}>" },
		{ "a \"`b \\\"c\\\"`\"", "a quote is escaped in quoted backticks", NULL },
		{ "a `b)`", "the text in backticks is not a whole command", "<b>; <a><$$`b)`>" },
		{ "a =b", "=name is the path of a command in some shells", "<a><=b>" },
		/* continued lines: all of it is read once more without them */
		{ "a &\\\n& b", "a line is continued inside an operator", "<a>; <b>; <a>; <b>" },
		{ "a b\\\nc", "a line is continued inside a word", "<a><bc>; <a><bc>" },
		{ "i\\\nf a; then b; fi", "a line is continued inside the name of a command",
		  "<if><a>; <b>; <a>; <b>" },
		{ "a \"$\\\n(b)\"", "a backslash follows $", "<a><$(b)>; <b>; <a><$\"$(b)\">" },
		/* here-documents */
		{ "a <<E\nb", "a here-document has no end", "<a> 0<<<E>" },
		{ "a <<E", "a here-document has no body", "<a> 0<<<E>" },
		{ "a <<$x\nb\n$x", "the delimiter of a here-document is not plain text", NULL },
		{ "a <<E\n\\\nE\nE", "the end of a here-document may be a continued line", NULL },
		{ "a $(b <<E)\nE", "a here-document begins in a substitution and does not end there", NULL },
		{ "a <<E $(b\nc)\nE", "a line ends in a substitution while a here-document waits", NULL },
		{ "a <<E; x=(b)\nE", "an array begins while a here-document waits", NULL },
		{ "x=(a;b)", "an array is not closed", NULL },
		/* bytes */
		{ "a\r\nb", "it has a carriage return", NULL },
		{ "a\033b", "it has a control character", NULL },
		{ "a\xc2\xa0"
		  "b",
		  "it has an unusual space or an invisible character", NULL },
		{ "a \xe2\x80\x8b", "it has an unusual space or an invisible character", NULL },
		{ "a '\xe2\x80\xae'", "it has a character that changes the direction of the text", NULL },
		{ "a \xff", "it is not UTF-8", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_BUF struct buf got = { 0 };
		struct shell_script s;
		shell_parse(&a, str_from(rows[i].text), &s);
		add_commands(&got, &s);
		if (s.understood || !s.why_not)
			fail_msg("understood: %s", rows[i].text);
		CHECK_CSTR(s.why_not, rows[i].why);
		if (rows[i].commands)
			CHECK_CSTR(got.p, rows[i].commands);
	}
}

TEST(a_nul_too_much_text_and_too_many_levels_are_not_understood)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf deep = { 0 };
	AUTO_BUF struct buf long_text = { 0 };
	struct shell_script s;

	for (int i = 0; i < 5000; i++)
		buf_addstr(&deep, "$(");
	for (int i = 0; i < SHELL_MAX_BYTES; i++)
		buf_addstr(&long_text, "a");

	shell_parse(&a, (struct str){ "a\0b", 3 }, &s);
	CHECK_CSTR(s.why_not, "it has a NUL byte");
	shell_parse(&a, buf_str(&deep), &s);
	CHECK_CSTR(s.why_not, "it is nested too deeply");
	shell_parse(&a, buf_str(&long_text), &s);
	CHECK(s.understood);
	buf_addstr(&long_text, "; b");
	shell_parse(&a, buf_str(&long_text), &s);
	CHECK_CSTR(s.why_not, "it is too long");
	CHECK_INT(s.count, 2);
}

TEST(what_hides_the_command_that_runs_is_marked)
{
	static const char *const hiding[] = {
		"eval a",
		"source f",
		". f",
		"exec a",
		"exec >f",
		"trap a EXIT",
		"alias a=b",
		"$x a",
		"\"$x\"",
		"a$x",
		"`a`",
		"*",
		"{a,b}",
		"~/a",
		"PATH=. a",
		"PATH=.",
		"IFS=x",
		"LD_PRELOAD=x a",
		"BASH_ENV=x a",
		"PS4=x",
		"CDPATH=x",
		"HOME=x",
		"export PATH=.",
		"declare PATH",
		"for PATH in .; do a; done",
		"a ${PATH:=x}",
		"read PATH",
		"env -S 'a b'",
		"env --split-string=a",
		"shopt -s extglob",
		"set -k",
		"set -o posix",
		"set \"$x\"",
		"enable -n a",
		"hash -p a b",
		"jobs -x a",
		"mapfile -C a b",
		"compgen -W x",
		"complete -C a b",
		"bind -x a",
		"fc -s",
		"let x",
		"declare -i x",
		"declare -n x",
		"declare 'x[$(a)]=1'",
		"export \"$x\"",
		"unset 'x[$(a)]'",
		"read 'x[$(a)]'",
		"read -a 'x[$(a)]'",
		"read \"$x\"",
		"printf -v 'x[$(a)]' b",
		"printf \"$x\" b",
		"printf \"-$x\" b",
		"printf {-v,b} c",
		"printf ''-$x b",
		"read -ab",
		"read -ra'x[$(a)]'",
		"command export x=$y",
		"\\declare x=$y",
		"unset x=$y",
		"getopts a 'x[$(a)]'",
		"wait -p 'x[$(a)]'",
		"[ -v 'x[$(a)]' ]",
		"test -v x",
		"[ $x ]",
		"[ \"$x\" \"$y\" ]",
		"[ \"$a\" = b -a \"$c\" = d ]",
		"command eval a",
		"builtin . f",
		"command $x",
		"a > /dev/tcp/b/1",
		"{ a; } < /dev/udp/b/1",
	};
	static const char *const plain[] = {
		"a eval",
		"a source",
		"x=1",
		"x=1 a",
		"export x=1",
		"export x=$(a)",
		"declare -r x",
		"read -r x y",
		"read -p text x",
		"read -rptext x",
		"command export x=\"$y\"",
		"printf \"\\n$x\"",
		"printf '%s' $x",
		"printf \"a$x\"",
		"set -euo pipefail",
		"set -- $x",
		"[ -f \"$x\" ]",
		"[ \"$x\" = y ]",
		"[ ! -d \"$x\" ]",
		"test a -nt b",
		"[ \"$x\" ]",
		"command a",
		"command -v a",
		"env A=1 b",
		"wait",
		"unset x y",
		"jobs",
		"a > /dev/null",
	};

	for (size_t i = 0; i < COUNT_OF(hiding) + COUNT_OF(plain); i++) {
		AUTO_ARENA struct arena a = { 0 };
		bool expected = i < COUNT_OF(hiding);
		const char *text = expected ? hiding[i] : plain[i - COUNT_OF(hiding)];
		struct shell_script s;
		bool found = false;
		shell_parse(&a, str_from(text), &s);
		for (size_t k = 0; k < s.count; k++)
			found = found || s.commands[k].hides;
		if (found != expected || !s.understood)
			fail_msg("%s: %s", found ? "hides" : "does not hide", text);
	}
}

TEST(a_command_knows_where_it_stands_and_the_script_what_it_has)
{
	static const struct {
		const char *text;
		unsigned where; /* of the first command */
		bool substitution, subshell, group, control, function, background, here;
	} rows[] = {
		{ .text = "a" },
		{ .text = "a $(b)", .where = SHELL_IN_SUBSTITUTION, .substitution = true },
		{ .text = "a `b`", .where = SHELL_IN_SUBSTITUTION, .substitution = true },
		{ .text = "a <(b)", .where = SHELL_IN_SUBSTITUTION, .substitution = true },
		{ .text = "(a)", .where = SHELL_IN_SUBSHELL, .subshell = true },
		{ .text = "{ a; }", .where = SHELL_IN_GROUP, .group = true },
		{ .text = "if a; then b; fi", .where = SHELL_IN_CONTROL, .control = true },
		{ .text = "f() { a; }", .where = SHELL_IN_FUNCTION | SHELL_IN_GROUP, .group = true, .function = true },
		{ .text = "case x in x) a;; esac", .where = SHELL_IN_CONTROL, .control = true },
		{ .text = "a &", .background = true },
		{ .text = "a <<E\nE", .here = true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_script s;
		shell_parse(&a, str_from(rows[i].text), &s);
		CHECK_INT(s.commands[0].where, rows[i].where);
		CHECK_INT(s.has_substitution, rows[i].substitution);
		CHECK_INT(s.has_subshell, rows[i].subshell);
		CHECK_INT(s.has_group, rows[i].group);
		CHECK_INT(s.has_control_flow, rows[i].control);
		CHECK_INT(s.has_function, rows[i].function);
		CHECK_INT(s.has_background, rows[i].background);
		CHECK_INT(s.has_here_document, rows[i].here);
	}
}

TEST(the_source_of_a_command_and_the_body_of_a_here_document_are_slices_of_the_text)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *text = "x=1  a  'b' >c ; d <<E\nbody $x\nE\n";
	struct shell_script s;

	shell_parse(&a, str_from(text), &s);

	CHECK_INT(s.count, 2);
	CHECK_STR(s.commands[0].source, "x=1  a  'b' >c");
	CHECK(s.commands[0].source.p == text);
	CHECK(!s.commands[0].redirects[0].body);
	CHECK_STR(*s.commands[1].redirects[0].body, "body $x\n");
}

int test_shell_parse(void)
{
	return RUN_TESTS(T(every_command_is_listed_with_its_words), T(what_is_not_understood_is_said_and_still_listed),
			 T(a_nul_too_much_text_and_too_many_levels_are_not_understood),
			 T(what_hides_the_command_that_runs_is_marked),
			 T(a_command_knows_where_it_stands_and_the_script_what_it_has),
			 T(the_source_of_a_command_and_the_body_of_a_here_document_are_slices_of_the_text));
}
