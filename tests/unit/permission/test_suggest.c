/* SPDX-License-Identifier: MIT
 * test_suggest.c - a suggested rule allows the call it was made for, and none of its neighbours. */
#include "guard/permission/permission.h"
#include "stage.h"
#include "tests.h"
#include "unit.h"

static void check_rule(struct stage *s, const struct tool_use *call, const char *expected)
{
	struct permission p = { .can_ask = true };
	const char *rule = permission_suggest(&s->arena, &p, *call);

	if (!expected)
		assert_null(rule);
	else
		CHECK_CSTR(rule ? rule : "(none)", expected);
}

/* With the rule that is suggested for call, what is decided about other? */
static enum permission_decision decide_after(struct stage *s, const struct tool_use *call, const struct tool_use *other)
{
	static const struct rule_origin origin = { .layer = "session" };
	struct permission p = { .can_ask = true };
	const char *rule = permission_suggest(&s->arena, &p, *call);

	assert_non_null(rule);
	CHECK_INT(stage_decide(&p, other), PERMISSION_ASK);
	CHECK_INT(permission_add_rule(&p, RULE_ALLOW, str_from(rule), &origin, NULL, NULL, NULL), 0);
	enum permission_decision decision = stage_decide(&p, other);
	permission_release(&p);
	return decision;
}

static const struct {
	const char *command, *rule; /* rule NULL: as the command */
	const char *others[6];      /* that it does not allow */
} commands[] = {
	{ "git push origin",
	  NULL,
	  { "git push origin --force", "git push", "git push evil", "git push origin main", "git  push origin; rm f",
	    "git push origin && make" } },
	{ "make", NULL, { "make install", "make -f other.mk", "makes", "/tmp/make", "make & rm f", "CC=evil make" } },
	{ "npm run build && npm test", NULL, { "npm test", "npm run build", "npm run build; npm test" } },
	{ "echo made > made.txt", NULL, { "echo made > other.txt", "echo made >> made.txt", "echo x > made.txt" } },
	{ "rm -r 'a b'", NULL, { "rm -r a b", "rm -r a", "rm -r 'a b' c", "rm -r \"a b\"/.." } },
	{ "find . -delete \\( -name x \\)",
	  "find . -delete \\\\( -name x \\\\)",
	  { "find . -delete", "find . -delete -name x", "find / -delete \\( -name x \\)" } },
	{ "  touch x  ", "touch x", { "touch y", "touch x y", "touch -d now x" } },
	{ "cc $(cat flags)", NULL, { "cc $(cat other)", "cc", "cc x" } },
	{ "curl -s 'http://h/?a=(b)'", NULL, { "curl -s 'http://h/?a=(c)'", "curl -s http://evil" } },
};

TEST(a_command_is_suggested_word_for_word_and_no_neighbour_is_allowed)
{
	STAGE(s);

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		const struct tool_use *call = stage_bash(&s, commands[i].command);
		const char *text = commands[i].rule ? commands[i].rule : commands[i].command;
		print_message("# %s\n", commands[i].command);
		check_rule(&s, call, arena_printf(&s.arena, "Bash(%s)", text));
		CHECK_INT(decide_after(&s, call, call), PERMISSION_ALLOW);
		for (size_t k = 0; k < COUNT_OF(commands[i].others) && commands[i].others[k]; k++) {
			print_message("#   %s\n", commands[i].others[k]);
			CHECK_INT(decide_after(&s, call, stage_bash(&s, commands[i].others[k])), PERMISSION_ASK);
		}
	}
}

TEST(a_command_that_no_rule_can_say_is_not_suggested)
{
	static const char *const rows[] = {
		/* read as a pattern it would allow more */
		"rm *.o",
		"git add *",
		"make:*",
		"*",
		/* the words do not say what runs */
		"eval \"$X\"",
		"sh -c \"$X\"",
		"$X",
		/* asked about whatever a rule says */
		"rm -rf /",
		"echo x > .bashrc",
		"rm -rf ~",
		/* not seen whole on one line, not understood, a rule about a parameter */
		"make\nrm f",
		"if make; then rm f",
		"timeout:5",
	};
	STAGE(s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %.*s\n", (int)strcspn(rows[i], "\n"), rows[i]);
		check_rule(&s, stage_bash(&s, rows[i]), NULL);
	}
	char *huge = arena_calloc(&s.arena, SUGGESTION_MAX_BYTES + 1);
	memset(huge, 'm', SUGGESTION_MAX_BYTES);
	check_rule(&s, stage_bash(&s, huge), NULL);
}

static const struct {
	const char *tool, *input, *rule; /* rule NULL: none */
	const char *other_tool, *other;  /* what it does not allow; NULL: nothing to try */
} calls[] = {
	{ "Edit", "{'file_path':'@/f'}", "Edit(/@/f)", "Edit", "{'file_path':'@/w.txt'}" },
	{ "Write", "{'file_path':'@/new','content':'x'}", "Edit(/@/new)", "Write",
	  "{'file_path':'@/new2','content':'x'}" },
	{ "Edit", "{'file_path':'@/f*'}", NULL, NULL, NULL },
	{ "Edit", "{'file_path':'@/.git/config'}", NULL, NULL, NULL },
	{ "Edit", "{'file_path':'f'}", "Edit(/@/f)", "Edit", "{'file_path':'w.txt'}" },
	{ "Edit", "{'file_path':'@/link'}", NULL, NULL, NULL },
	{ "Read", "{'file_path':'/etc/hostname'}", "Read(//etc/hostname)", "Read", "{'file_path':'/etc/passwd'}" },
	{ "Grep", "{'pattern':'x','path':'/etc'}", "Read(//etc/**)", "Edit", "{'file_path':'/etc/hosts'}" },
	{ "Glob", "{'pattern':'x','path':'/etc'}", NULL, NULL, NULL },
	{ "WebFetch", "{'url':'https://a.b/c','prompt':'x'}", "WebFetch(domain:a.b)", "WebFetch",
	  "{'url':'https://x.a.b/c','prompt':'x'}" },
	{ "WebFetch", "{'url':'https://a.b%40evil/c','prompt':'x'}", NULL, NULL, NULL },
	{ "WebFetch", "{'url':'nothing','prompt':'x'}", NULL, NULL, NULL },
	{ "WebSearch", "{'query':'x'}", "WebSearch", "WebFetch", "{'url':'https://a.b/c'}" },
	{ "mcp__git__push", "{}", "mcp__git__push", "mcp__git__log", "{}" },
	{ "mcp__git", "{}", NULL, NULL, NULL }, /* it would be read as the whole server */
	{ "Skill", "{'skill':'a'}", "Skill(a)", "Skill", "{'skill':'a','args':'x'}" },
	{ "Skill", "{'skill':'a','args':'x'}", NULL, NULL, NULL },
	{ "AskUserQuestion", "{}", NULL, NULL, NULL },
	{ "ExitPlanMode", "{}", NULL, NULL, NULL },
};

TEST(a_call_is_suggested_by_its_place_host_or_name)
{
	STAGE(s);

	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		const struct tool_use *call = stage_call(&s, calls[i].tool, calls[i].input);
		AUTO_BUF struct buf rule = { 0 };
		print_message("# %s %s\n", calls[i].tool, calls[i].input);
		for (const char *c = calls[i].rule; c && *c; c++)
			*c == '@' ? buf_addstr(&rule, s.dir) : buf_addch(&rule, *c);
		check_rule(&s, call, calls[i].rule ? rule.p : NULL);
		if (!calls[i].other)
			continue;
		CHECK_INT(decide_after(&s, call, call), PERMISSION_ALLOW);
		CHECK_INT(decide_after(&s, call, stage_call(&s, calls[i].other_tool, calls[i].other)), PERMISSION_ASK);
	}
}

TEST(what_an_ask_rule_asks_about_is_asked_every_time)
{
	STAGE(s);
	struct permission p = { .can_ask = true };
	stage_rules(&s, &p, "ask Bash(make)");

	assert_null(permission_suggest(&s.arena, &p, *stage_bash(&s, "make")));
	CHECK_CSTR(permission_suggest(&s.arena, &p, *stage_bash(&s, "cc x.c")), "Bash(cc x.c)");

	permission_release(&p);
}

TEST(a_child_that_brings_its_own_rules_gets_none_of_the_session)
{
	STAGE(s);
	struct permission p = { .can_ask = true };
	struct permission child;
	permission_derive(&child, &p, &(struct permission_birth){ .can_ask = true, .replaces_allow = true });

	assert_null(permission_suggest(&s.arena, &child, *stage_bash(&s, "make")));

	permission_release(&child);
}

int test_suggest(void)
{
	return RUN_TESTS(T(a_command_is_suggested_word_for_word_and_no_neighbour_is_allowed),
			 T(a_command_that_no_rule_can_say_is_not_suggested),
			 T(a_call_is_suggested_by_its_place_host_or_name),
			 T(what_an_ask_rule_asks_about_is_asked_every_time),
			 T(a_child_that_brings_its_own_rules_gets_none_of_the_session));
}
