/* SPDX-License-Identifier: MIT
 * test_path_rule.c - anchors and depth of path rules, and the paths that are special by themselves. */
#include "unit.h"
#include "guard/permission/rule_pattern.h"
#include "guard/permission/resolved_path.h"
#include "tests.h"

TEST(patterns_start_at_their_anchor)
{
	enum { DENY = 1, ALLOW = 2, BOTH = 3, NONE = 0 };
	static const struct {
		const char *pattern, *path;
		int matches; /* as a rule that denies, as one that allows */
	} cases[] = {
		{ ".env", "/w/.env", BOTH },
		{ ".env", "/w/a/b/.env", BOTH },
		{ ".env", "/w/.env/x", BOTH },
		{ ".env", "/.env", NONE },
		{ ".env", "/w/x.env", NONE },
		{ "./.env", "/w/.env", BOTH },
		{ "./.env", "/w/a/.env", DENY },
		{ "*.log", "/w/a/x.log", BOTH },
		{ "*.log", "/w/a/x.log/y", DENY },
		{ "src/**", "/w/src/a/b", BOTH },
		{ "src/**", "/w/src", BOTH },
		{ "src/**", "/w/a/src/b", DENY },
		{ "src/", "/w/src/b", BOTH },
		{ "src/", "/w/a/src/b", DENY },
		{ "src/**", "/w/srcx/b", NONE },
		{ "a/src/**", "/w/a/src/b", BOTH },
		{ "a/src/**", "/w/b/a/src/b", NONE },
		{ "src/*", "/w/src/b", BOTH },
		{ "src/*", "/w/src/b/c", DENY },
		{ "src/*.c", "/w/src/b.c", BOTH },
		{ "src/**/*.c", "/w/src/x/y/b.c", BOTH },
		{ "src/**/*.c", "/w/lib/b.c", NONE },
		{ "**/k", "/w/a/b/k", BOTH },
		{ "**/a/k", "/w/b/a/k", BOTH },
		{ "**", "/w/x", BOTH },
		{ "**", "/x", NONE },
		{ "//etc/passwd", "/etc/passwd", BOTH },
		{ "//etc/passwd", "/w/etc/passwd", NONE },
		{ "//**/.env", "/any/where/.env", BOTH },
		{ "//**", "/x", BOTH },
		{ "~/.ssh/**", "/home/u/.ssh/id", BOTH },
		{ "~/.ssh/**", "/w/.ssh/id", NONE },
		{ "/src/**", "/base/src/x", BOTH },
		{ "/src/**", "/w/src/x", NONE },
		{ "/.env", "/base/.env", BOTH },
		{ "/.env", "/base/a/.env", NONE },
		{ "a\\*b", "/w/a*b", BOTH },
		{ "a\\*b", "/w/axb", NONE },
		{ "docs/[ab].md", "/w/docs/a.md", BOTH },
		{ "k,*/**", "/w/k,1/x", BOTH },
		{ "./k,*/**", "/w/other/x", NONE }, /* a comma outside of braces is one */
		{ "k,*/**", "/w/k", NONE },
		{ "k,*", "/w/k,1", BOTH },
		{ "k,*", "/w/k,1/x", DENY },
		{ "{k,l}*/**", "/w/l1/x", BOTH },
		{ "{k,l}*/**", "/w/m1/x", NONE },
		{ "\\{k,l\\}*", "/w/{k,l}1", BOTH },
		{ "\\{k,l\\}*", "/w/k1", NONE },
		{ "[{]k,l*", "/w/{k,l1", BOTH },
		{ "k}*", "/w/k}1", BOTH },
		{ "k}*/**", "/w/x", NONE },
		{ "a//src//**", "/w/a/src/b", BOTH },
		{ ".//a/./src/**", "/w/a/src/b", BOTH },
		{ "a/.", "/w/a/x", BOTH },
		{ "//etc//./passwd", "/etc/passwd", BOTH },
		{ "~//.ssh/./**", "/home/u/.ssh/id", BOTH },
	};

	setenv("HOME", "/home/u", 1);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct path_anchors anchors = { 0 };
		path_anchors_add(&anchors, &a, "/w");
		int matches = 0;
		for (int strict = 0; strict < 2; strict++) {
			struct path_rule r;
			CHECK_INT(path_rule_compile(&r, &a, str_from(cases[i].pattern), strict, "/base", NULL), 0);
			matches |= path_rule_match(&r, cases[i].path, &anchors) << strict;
			path_rule_release(&r);
		}
		if (matches != cases[i].matches)
			fail_msg("%s and %s: %d", cases[i].pattern, cases[i].path, matches);
	}
}

TEST(a_rule_without_anchor_starts_at_each_of_them)
{
	AUTO_ARENA struct arena a = { 0 };
	struct path_anchors anchors = { 0 };
	char names[20][8];
	struct path_rule r;
	for (int i = 0; i < 20; i++) {
		snprintf(names[i], sizeof names[i], "/d%d", i);
		path_anchors_add(&anchors, &a, names[i]);
	}
	path_anchors_add(&anchors, &a, "/d3");
	path_anchors_add(&anchors, &a, NULL);

	CHECK_INT(anchors.count, 20);
	CHECK_INT(path_rule_compile(&r, &a, STR("a/b"), false, NULL, NULL), 0);
	CHECK(path_rule_match(&r, "/d0/a/b", &anchors));
	CHECK(path_rule_match(&r, "/d19/a/b", &anchors));
	CHECK(!path_rule_match(&r, "/d20/a/b", &anchors));
	path_rule_release(&r);
}

TEST(files_that_make_others_run_something_are_protected)
{
	static const char *const yes[] = { "/w/.git/config",
					   "/w/.git",
					   "/w/a/.GIT/hooks/x",
					   "/w/.vscode/tasks.json",
					   "/home/u/.config/git/config",
					   "/w/.claude/settings.json",
					   "/w/.claude/worktrees",
					   "/w/.claude/worktrees/x/.git",
					   "/w/.bashrc",
					   "/w/.mcp.json",
					   "/w/lefthook.yml",
					   "/w/gradle/gradle-wrapper.properties",
					   "/w/.devcontainer/x" };
	static const char *const no[] = { "/w/x",          "/w/git/config",
					  "/w/.gitignore", "/w/.claude/worktrees/agent-1/x.c",
					  "/w/.bashrc/x",  "/w/config/git/x",
					  "/w/.github/x",  "/" };

	for (size_t i = 0; i < COUNT_OF(yes); i++)
		if (!path_is_protected(yes[i]))
			fail_msg("%s", yes[i]);
	for (size_t i = 0; i < COUNT_OF(no); i++)
		if (path_is_protected(no[i]))
			fail_msg("%s", no[i]);
}

TEST(the_root_the_home_and_what_is_above_the_agent_are_critical)
{
	static const char *const yes[] = { "/", "/etc", "/home", "/home/u", "/w", "/w/p" };
	static const char *const no[] = { "/w/p/x", "/etc/x", "/home/u/x", "/w/q" };

	setenv("HOME", "/home/u", 1);
	for (size_t i = 0; i < COUNT_OF(yes); i++)
		CHECK(path_is_critical(yes[i], "/w/p"));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		CHECK(!path_is_critical(no[i], "/w/p"));
}

int test_path_rule(void)
{
	return RUN_TESTS(T(patterns_start_at_their_anchor), T(a_rule_without_anchor_starts_at_each_of_them),
			 T(files_that_make_others_run_something_are_protected),
			 T(the_root_the_home_and_what_is_above_the_agent_are_critical));
}
