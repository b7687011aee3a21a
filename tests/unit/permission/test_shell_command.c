/* SPDX-License-Identifier: MIT
 * test_shell_command.c - the command behind its wrappers, and what only reads. */
#include "unit.h"
#include "guard/shell/shell_command.h"
#include "tests.h"

static struct shell_command only_command(struct arena *a, const char *text)
{
	struct shell_script s;

	shell_parse(a, str_from(text), &s);
	if (!s.understood || !s.count)
		fail_msg("not understood: %s", text);
	return s.commands[s.count - 1];
}

TEST(rules_that_allow_see_through_wrappers_and_harmless_assignments_only)
{
	static const struct {
		const char *text, *stripped;
	} rows[] = {
		{ "zz run a", "zz run a" },
		{ "NODE_ENV=x zz run", "zz run" },
		{ "LANG=C NO_COLOR=1 zz", "zz" },
		{ "FOO=x zz run", "+zz run" },
		{ "LANG=C FOO=x zz", "+zz" },
		{ "FOO=x LANG=C zz", "+zz" },
		{ "FOO=x timeout 5 zz", "+timeout 5 zz" },
		{ "timeout 5 zz run", "zz run" },
		{ "timeout 1.5m zz", "zz" },
		{ "timeout -k 3 -s KILL 5 zz", "zz" },
		{ "timeout --signal=KILL --foreground 5s zz", "zz" },
		{ "timeout --bad 5 zz", "timeout --bad 5 zz" },
		{ "timeout zz", "timeout zz" },
		{ "timeout \"$x\" zz", "timeout \"$x\" zz" },
		{ "timeout 5 $x", "timeout 5 $x" },
		{ "nice zz", "zz" },
		{ "nice -n 5 zz", "zz" },
		{ "nice -n5 zz", "zz" },
		{ "nice -n $x zz", "nice -n $x zz" },
		{ "nohup nice -n 5 timeout 3 zz a", "zz a" },
		{ "stdbuf -oL -e 0 zz", "zz" },
		{ "command zz", "zz" },
		{ "command -v zz", "command -v zz" },
		{ "builtin cd x", "cd x" },
		{ "noglob zz *", "zz *" },
		{ "xargs zz run", "zz run" },
		{ "xargs -0 zz", "xargs -0 zz" },
		{ "xargs", "xargs" },
		{ "time zz", "zz" },
		{ "a | time -p zz", "zz" },
		{ "a | time -o f zz", "time -o f zz" },
		{ "env A=1 zz", "env A=1 zz" },
		{ "sudo zz", "sudo zz" },
		{ "npx zz", "npx zz" },
		{ "X=1", "+" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_BUF struct buf got = { 0 };
		struct shell_command c = only_command(&a, rows[i].text);
		struct shell_command s = shell_strip_for_allow(&c);
		buf_addf(&got, "%s" STR_FMT, s.assignment_count ? "+" : "", STR_ARG(shell_command_text(&a, &s)));
		CHECK_CSTR(got.p, rows[i].stripped);
	}
}

TEST(the_text_of_a_command_has_one_space_and_no_ambiguous_quotes)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "zz   run\t a", "zz run a" },     { "zz \\\n run", "zz run" },
		{ "\"zz\" 'run' \\a", "zz run a" }, { "zz 'run a'", "zz 'run a'" },
		{ "zz \"a;b\"", "zz \"a;b\"" },     { "zz \"$x\" $(q) *", "zz \"$x\" $(q) *" },
		{ "zz '' a > f", "zz '' a" },       { "2>&1 zz a", "zz a" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_command c = only_command(&a, rows[i].text);
		CHECK_STR(shell_command_text(&a, &c), rows[i].words);
	}
}

/* Is there a listed command whose text is exactly this? */
static bool lists(const char *text, const char *wanted)
{
	AUTO_ARENA struct arena a = { 0 };
	struct shell_script s;

	shell_parse(&a, str_from(text), &s);
	for (size_t i = 0; i < s.count; i++) {
		struct shell_forms found;
		shell_list_for_deny(&a, &s.commands[i], &found);
		for (size_t k = 0; k < found.count; k++)
			if (!found.list[k].assignment_count && str_is(shell_command_text(&a, &found.list[k]), wanted))
				return true;
	}
	return false;
}

TEST(rules_that_forbid_see_every_command_that_may_start)
{
	static const char *const texts[] = {
		"rm f",
		"FOO=1 rm f",
		"echo hi && rm f",
		"timeout 3 rm f",
		"timeout -k 1 3 rm f",
		"echo $(rm f)",
		"echo \"`rm f`\"",
		"/bin/rm f",
		"env rm f",
		"env -i A=1 -u B rm f",
		"env -S 'rm f'",
		"xargs rm f",
		"xargs -n 1 -0 rm f",
		"command rm f",
		"\\rm f",
		"'r'm f",
		"$'\\x72m' f",
		"sudo -u bob -E rm f",
		"nohup nice -n 5 sudo /usr/bin/rm f",
		"bash -c 'rm f'",
		"bash -lc \"cd x; rm f\"",
		"sh -e -c 'rm f'",
		"/bin/sh -c 'rm f'",
		"bash <<E\nrm f\nE",
		"bash <<< 'rm f'",
		"eval rm f",
		"eval 'rm f'",
		"trap 'rm f' EXIT",
		"watch 'rm f'",
		"watch -n 1 rm f",
		"find . -name x -exec rm f \\;",
		"find . -exec true \\; -exec rm f \\;",
		"env env env env env env env rm f",
		"bash -c 'bash -c \"rm f\"'",
		"exec rm f",
		"flock /tmp/l rm f",
		"f() { rm f; }",
		"if x; then rm f; fi",
		"cat <(rm f)",
		"echo ${x:-$(rm f)}",
		"rm f; '",
		"echo \"$\\\n(rm f)\"",
		"r\\\nm f",
		"coproc rm f",
		"if rm f",
		"echo $((x + $(rm f)))",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (!lists(texts[i], "rm f"))
			fail_msg("rm f is not listed for: %s", texts[i]);
	CHECK(!lists("timeout 5 grep rm f", "rm f"));
	CHECK(!lists("echo 'rm f'", "rm f"));
	CHECK(!lists("xargs -0 grep rm f", "rm f"));
	CHECK(!lists("cat <<E\nrm f\nE", "rm f"));
}

TEST(what_cannot_be_listed_whole_is_said)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct shell_forms found;

	buf_addstr(&text, "watch");
	for (int i = 0; i < 600; i++)
		buf_addstr(&text, " watch");
	struct shell_command c = only_command(&a, text.p);

	shell_list_for_deny(&a, &c, &found);
	CHECK(found.too_many);
	c = only_command(&a, "sudo rm f");
	shell_list_for_deny(&a, &c, &found);
	CHECK(!found.too_many && !found.hides);
}

TEST(read_only_commands_are_known_with_what_takes_them_out)
{
	static const char *const reads[] = {
		"ls",
		"ls *.txt",
		"ls -la $x",
		"cat f",
		"echo a b",
		"pwd",
		"head -n 3 f",
		"grep -r x .",
		"find . -name x",
		"find . -name '*.c' -type f",
		"sed -n 1p f",
		"sed -n '1,5p' f",
		"sed 's/a/b/g' f",
		"sed -n -e '/x/p' -e '$p' f",
		"sed 'y/a/b/;F;z;l 5;q3' f",
		"sed -e '1i x' -e '/x/a e w' f",
		"sed ':a;N;$!ba;s/x/ /g' f",
		"sed -n '/x/I,\\,y,{p}; # w f' f",
		"sed 'a\\\nw f\\\nw f' f",
		"sort f",
		"sort -u -k2 f",
		"jq .a f",
		"date",
		"date +%s",
		"date -d tomorrow +%F",
		"whoami",
		"which ls",
		"tree -L 2",
		"rg -n x src",
		"test -f x",
		"[ -f x ]",
		"true",
		"sleep 1",
		"printf '%s\\n' a",
		"uname -a",
		"ps aux",
		"diff -u a b",
		"stat f",
		"du -sh .",
		"basename a/b",
		"node --version",
		"cd src",
		"timeout 5 ls",
		"LANG=C ls",
		"xargs cat",
		"uniq -c",
		"file f",
		"git status",
		"git log",
		"git log --oneline -5",
		"git diff --stat HEAD~1",
		"git show HEAD",
		"git branch",
		"git branch -a",
		"git rev-parse HEAD",
		"git ls-files",
		"git remote -v",
		"git blame f",
		"git describe --tags",
		"git --no-pager log",
		"git stash list",
		"git config --get user.name",
		"git --version",
		"git tag -l",
		"command -v ls",
		"x=1",
		"x=$y",
		"LANG=C",
		"read -r line",
		"wc -l < f",
		"cat ~/f",
		"set -e",
	};
	static const char *const others[] = {
		"rm f",
		"touch f",
		"python3 x",
		"awk 1 f",
		"env",
		"npm ls",
		"find . -delete",
		"find . -exec ls {} \\;",
		"find . -fprint f",
		"find . -okdir ls",
		"find *",
		"find $x",
		"find \"$x\"",
		"sort -o f g",
		"sort --output=f g",
		"sort --outp f",
		"sort -uo f",
		"sort --compress-program=x f",
		"sort *",
		"sed -i s/a/b/ f",
		"sed -n 'w f' g",
		"sed 's/a/b/w f' g",
		"sed 's/a/b/e' f",
		"sed 1e f",
		"sed -f x f",
		"sed --in-place p f",
		"sed p *",
		"sed '1{w x' f",
		"sed -n '$!{w x' f",
		"sed 'y/a/b/;w x' f",
		"sed '# x \\\nw f' f",
		"sed 'a x\\\\\nw f' f",
		"sed 'b a w f' f",
		"sed ':a;r f' f",
		"sed '1etouch f' f",
		"sed 'v 4\nw f' f",
		"sed '\\,x,Iw f' f",
		"git",
		"git branch -D x",
		"git branch x",
		"git commit",
		"git push",
		"git -c a=b log",
		"git -C x status",
		"git --exec-path=x log",
		"git log --output=f",
		"git log --outp=f",
		"git diff --ext-diff",
		"git grep -O x",
		"git stash",
		"git stash drop",
		"git tag v1",
		"git config a b",
		"git config --list --edit",
		"git remote add a b",
		"git reflog expire",
		"git log *",
		"git log $x",
		"git worktree add x",
		"git lo",
		"date -s 1",
		"date 01010101",
		"date --set=1",
		"file -m x f",
		"file -f x",
		"rg --pre x y",
		"rg -z x",
		"tree -o f",
		"hostname x",
		"uniq a b",
		"xargs rm",
		"xargs find",
		"xargs sort",
		"xargs -0 cat",
		"FOO=1 ls",
		"PATH=. ls",
		"PATH=x",
		"GIT_PAGER=x",
		"https_proxy=x",
		"read PATH",
		"read GIT_PAGER",
		"$x",
		"l$x",
		"/tmp/ls",
		"./ls",
		"ls=1 x",
		"eval ls",
		"node x --version",
		"node",
		"docker ps",
		"tee f",
		"sudo ls",
		"bash -c ls",
		"cat f > /dev/tcp/a/1",
		"[ -v 'a[$(x)]' ]",
		"set -k",
		"command ls -v; command rm",
		"diff -l a b",
		"base64 -o f g",
	};

	for (size_t i = 0; i < COUNT_OF(reads); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_command c = only_command(&a, reads[i]);
		if (!shell_is_read_only(&c))
			fail_msg("should be read-only: %s", reads[i]);
	}
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_command c = only_command(&a, others[i]);
		if (shell_is_read_only(&c))
			fail_msg("should not be read-only: %s", others[i]);
	}
}

TEST(commands_that_run_others_need_an_exact_rule)
{
	static const char *const exact[] = { "watch ls",        "setsid ls",      "ionice ls",          "flock f ls",
					     "find . -exec ls", "find . -delete", "timeout 5 watch ls", "find . $x",
					     "find . -ok ls",   "xargs find . -f" };
	static const char *const prefix[] = { "ls", "find . -name x", "timeout 5 ls", "x=1", "git find -delete" };

	for (size_t i = 0; i < COUNT_OF(exact); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_command c = only_command(&a, exact[i]);
		if (!shell_needs_exact_rule(&c))
			fail_msg("needs an exact rule: %s", exact[i]);
	}
	for (size_t i = 0; i < COUNT_OF(prefix); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct shell_command c = only_command(&a, prefix[i]);
		if (shell_needs_exact_rule(&c))
			fail_msg("needs no exact rule: %s", prefix[i]);
	}
}

int test_shell_command(void)
{
	return RUN_TESTS(T(rules_that_allow_see_through_wrappers_and_harmless_assignments_only),
			 T(the_text_of_a_command_has_one_space_and_no_ambiguous_quotes),
			 T(rules_that_forbid_see_every_command_that_may_start), T(what_cannot_be_listed_whole_is_said),
			 T(read_only_commands_are_known_with_what_takes_them_out),
			 T(commands_that_run_others_need_an_exact_rule));
}
