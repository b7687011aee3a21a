/* SPDX-License-Identifier: MIT
 * test_judge.c - decisions of one agent: what the vectors do not show. */
#include <time.h>
#include "unit.h"
#include "stage.h"
#include "tests.h"

struct judge_case {
	const char *mode, *rules, *tool, *input;
	int expected;
	enum permission_step step;
};

static void check_all(const struct judge_case *cases, size_t count)
{
	STAGE(stage);
	unsigned wrong = 0;

	for (size_t i = 0; i < count; i++) {
		const struct judge_case *c = &cases[i];
		struct permission p = { .can_ask = true };
		struct permission_verdict v = { 0 };
		CHECK(permission_mode_parse(str_from(c->mode), &p.mode));
		stage_rules(&stage, &p, c->rules);
		struct tool_use *call = c->tool ? stage_call(&stage, c->tool, c->input) : stage_bash(&stage, c->input);

		permission_explain(&p, *call, PERMISSION_HINT_NONE, &v);

		if ((int)v.decision != c->expected || v.step != c->step) {
			print_message("# %s: %s, %s: %d by %s: %s\n", c->mode, c->rules, c->input, v.decision,
				      permission_step_name(v.step), buf_str(&v.reason).p);
			wrong++;
		}
		permission_verdict_release(&v);
		permission_release(&p);
	}
	CHECK_INT(wrong, 0);
}

#define BY(step) PERMISSION_STEP_##step

TEST(the_strictest_list_with_a_match_decides)
{
	static const struct judge_case cases[] = {
		{ "default", "allow Write\nask Write\ndeny Write", "Write", "{'file_path':'x'}", NOT, BY(DENY_RULE) },
		{ "default", "allow Write\nask Write", "Write", "{'file_path':'x'}", ASK, BY(ASK_RULE) },
		{ "default", "allow Write", "Write", "{'file_path':'x'}", RUN, BY(ALLOW_RULE) },
		{ "default", "", "Write", "{'file_path':'x'}", ASK, BY(MODE) },
		{ "bypassPermissions", "deny *", "Write", "{'file_path':'x'}", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "ask Write", "Write", "{'file_path':'x'}", ASK, BY(ASK_RULE) },
		{ "bypassPermissions", "", "Write", "{'file_path':'.git/x'}", RUN, BY(BYPASS) },
		{ "bypassPermissions", "", NULL, "rm -rf /etc", ASK, BY(SAFETY) },
		{ "bypassPermissions", "", "AskUserQuestion", "{}", ASK, BY(SAFETY) },
		{ "bypassPermissions", "", NULL, "eval \"$X\"", RUN, BY(BYPASS) },
		{ "dontAsk", "ask Write\nallow Write", "Write", "{'file_path':'x'}", NOT, BY(ASK_RULE) },
		{ "dontAsk", "", "AskUserQuestion", "{}", NOT, BY(SAFETY) },
		{ "auto", "", "Write", "{'file_path':'x'}", RUN, BY(MODE) },
		{ "auto", "allow Bash", NULL, "qq", ASK, BY(MODE) },
		{ "auto", "allow Bash(qq *)", NULL, "qq", RUN, BY(ALLOW_RULE) },
	};
	check_all(cases, COUNT_OF(cases));
}

TEST(links_count_with_what_they_point_to)
{
	static const struct judge_case cases[] = {
		{ "default", "", "Read", "{'file_path':'link'}", ASK, BY(MODE) },
		{ "default", "", "Read", "{'file_path':'inside/app.ts'}", RUN, BY(READING) },
		{ "default", "", "Read", "{'file_path':'loop'}", ASK, BY(MODE) },
		{ "acceptEdits", "", "Write", "{'file_path':'dangling'}", ASK, BY(MODE) },
		{ "acceptEdits", "", "Write", "{'file_path':'inside/new.c'}", RUN, BY(MODE) },
		{ "default", "allow Read(link)", "Read", "{'file_path':'link'}", ASK, BY(MODE) },
		{ "default", "allow Read(link)\nallow Read(//etc/hostname)", "Read", "{'file_path':'link'}", RUN,
		  BY(ALLOW_RULE) },
		{ "default", "deny Read(src/**)", "Read", "{'file_path':'inside/app.ts'}", NOT, BY(DENY_RULE) },
		{ "default", "deny Edit(inside/**)", "Write", "{'file_path':'inside/app.ts'}", NOT, BY(DENY_RULE) },
		{ "default", "", NULL, "cat link", ASK, BY(MODE) },
		{ "default", "deny Read(//etc/hostname)", NULL, "cat link", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(src/**)", NULL, "cat inside/../src/app.ts", NOT, BY(DENY_RULE) },
	};
	check_all(cases, COUNT_OF(cases));
}

TEST(path_rules_hold_for_all_tools_of_their_kind)
{
	static const struct judge_case cases[] = {
		{ "default", "deny Read(secrets/**)", "Grep", "{'pattern':'x','path':'secrets'}", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(secrets/**)", "Glob", "{'pattern':'*','path':'@/a/secrets'}", NOT,
		  BY(DENY_RULE) },
		{ "default", "deny Read(secrets/**)", "Grep", "{'pattern':'x'}", RUN, BY(READING) },
		{ "acceptEdits", "deny Read(secrets/**)", "Write", "{'file_path':'secrets/new'}", NOT, BY(DENY_RULE) },
		{ "acceptEdits", "deny Read(secrets/**)", "Edit", "{'file_path':'secrets/k'}", NOT, BY(DENY_RULE) },
		{ "acceptEdits", "deny Read(secrets/**)", "NotebookEdit", "{'notebook_path':'secrets/k'}", RUN,
		  BY(MODE) },
		{ "acceptEdits", "deny Edit(docs/**)", "NotebookEdit", "{'notebook_path':'docs/k'}", NOT,
		  BY(DENY_RULE) },
		{ "default", "allow Edit(//etc/hosts)", "Read", "{'file_path':'/etc/hosts'}", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Read(//etc/**)", "Read", "{'file_path':'/etc/hosts'}", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Read(//etc/**)", "Write", "{'file_path':'/etc/hosts'}", ASK, BY(MODE) },
		{ "default", "deny Edit", "Write", "{'file_path':'x'}", NOT, BY(DENY_RULE) },
		{ "default", "allow Edit", "Write", "{'file_path':'/etc/x'}", RUN, BY(ALLOW_RULE) },
		{ "default", "deny Write", "Edit", "{'file_path':'x'}", ASK, BY(MODE) },
		{ "default", "ask Read(f)", "Read", "{'file_path':'f'}", ASK, BY(ASK_RULE) },
	};
	check_all(cases, COUNT_OF(cases));
}

TEST(file_rules_and_directories_hold_for_shell_commands)
{
	static const struct judge_case cases[] = {
		{ "default", "deny Read(.env)", NULL, "cat .e*", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "grep -r x --include=.env a/.env", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "grep -f.env f", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "grep -hex .env", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "grep --reg=x .env", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "rg -nex .env", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "jq -nf .env", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "hexdump -f.env f", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "awk -f .env f", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "sort --files0-from=.env", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "diff --to-file=.env f", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "dd if=.env", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(.env)", NULL, "git diff --no-index f .env", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "cp f -tdocs", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "cp -rft docs f", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "mv f --target=docs", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "cp -Ztdocs f", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "sort -uodocs/d.md f", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "grep -e .env f", RUN, BY(READING) },
		{ "default", "deny Read(.env)", NULL, "grep .env f", RUN, BY(READING) },
		{ "default", "deny Read(.env)", NULL, "head -n1 < .env", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(.env)", NULL, "cd a && cat .env", NOT, BY(DENY_RULE) },
		{ "default", "deny Read(~/.ssh/**)", NULL, "cat ~/.ssh/id", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "echo x > docs/d.md", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "rm docs/d.md", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "cp f docs", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "dd of=docs/d.md", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Edit(docs/**)", NULL, "cd docs; touch d.md", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(secrets/**)", NULL, "sh -c 'cat secrets/k'", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "deny Read(secrets/**)", NULL, "echo x > secrets/k", NOT, BY(DENY_RULE) },
		{ "bypassPermissions", "ask Read(secrets/**)", NULL, "echo x > secrets/k", RUN, BY(BYPASS) },
		{ "default", "allow Edit(docs/**)", NULL, "echo x > docs/d.md", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Edit", NULL, "echo x > docs/d.md", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Edit(docs/**)\nallow Bash(qq *)", NULL, "qq > docs/d.md", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Bash(qq *)", NULL, "qq < /etc/passwd", ASK, BY(MODE) },
		{ "default", "allow Bash(qq *)", NULL, "qq > ~/x", ASK, BY(MODE) },
		{ "acceptEdits", "allow Bash(qq *)", NULL, "qq > *.txt", ASK, BY(MODE) },
		{ "acceptEdits", "allow Bash(qq *)", NULL, "qq > $X", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "echo x > .git/config", ASK, BY(SAFETY) },
		{ "acceptEdits", "", NULL, "cp f .bashrc", ASK, BY(SAFETY) },
		{ "acceptEdits", "", NULL, "cd .. && rm f", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "cd $X && rm f", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "rm *.txt", RUN, BY(MODE) },
		{ "acceptEdits", "", NULL, "rm -rf .*", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "rm -rf {a,.git}", ASK, BY(SAFETY) },
		{ "acceptEdits", "", NULL, "LANG=C timeout 5 touch x", RUN, BY(MODE) },
		{ "acceptEdits", "", NULL, "FOO=1 touch x", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "ls | xargs rm", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "ls | timeout 5 xargs rm", ASK, BY(MODE) },
		{ "default", "", NULL, "echo f | xargs cat", RUN, BY(READING) },
		{ "acceptEdits", "", NULL, "cp --target-directory=/etc f", ASK, BY(MODE) },
		{ "acceptEdits", "", NULL, "cp -t/etc f", ASK, BY(MODE) },
		{ "default", "", NULL, "diff <(cat /etc/passwd) f", ASK, BY(MODE) },
		{ "default", "", NULL, "git -C /etc log", ASK, BY(MODE) },
		{ "default", "", NULL, "find / -name x", ASK, BY(MODE) },
		{ "default", "", NULL, "ls --color=auto && grep --include='*.c' -n x f", RUN, BY(READING) },
		{ "default", "", NULL, "cat $FILE", ASK, BY(MODE) },
		{ "default", "", NULL, "cat /etc/*", ASK, BY(MODE) },
		{ "default", "", NULL, "ls ..", ASK, BY(MODE) },
		{ "default", "", NULL, "cd src && git status", RUN, BY(READING) },
		{ "default", "", NULL, "git status && cd src", RUN, BY(READING) },
		{ "default", "", NULL, "cd src && ls", RUN, BY(READING) },
		{ "default", "", NULL, "ls | wc -l && cat f; git status", RUN, BY(READING) },
		{ "default", "", NULL, "for x in a b; do echo $x; done", RUN, BY(READING) },
		{ "default", "", NULL, "echo $(ls)", RUN, BY(READING) },
		{ "default", "", NULL, "x=1; echo $((x + 1)) $((x++))", RUN, BY(READING) },
		{ "default", "", NULL, "ls; rm f", ASK, BY(MODE) },
		{ "default", "", NULL, "echo $(rm f)", ASK, BY(MODE) },
		{ "default", "", NULL, "ls &", ASK, BY(MODE) },
		{ "default", "", NULL, "ls() { cat f; }; ls", ASK, BY(MODE) },
		{ "default", "", NULL, "for GIT_PAGER in x; do git log; done", ASK, BY(MODE) },
		{ "default", "", NULL, "echo $((x))", ASK, BY(MODE) },
		{ "default", "", NULL, "((GIT_PAGER = 1)); git log", ASK, BY(MODE) },
		{ "default", "", NULL, "ls '", ASK, BY(MODE) },
		{ "plan", "allow Edit", NULL, "echo x > f", NOT, BY(PLAN) },
	};
	check_all(cases, COUNT_OF(cases));
}

TEST(removing_a_critical_path_is_always_asked_about)
{
	static const char *const commands[] = { "rm -rf /",
						"rm -rf /*",
						"rm -rf ~",
						"rm -rf ~/",
						"rm -r /usr",
						"rm -rf ..",
						"rm -rf \"$DIR\"/*",
						"rm -rf $DIR/",
						"sudo rm -rf /etc",
						"rmdir .",
						"cd src && rm -rf ..",
						"rm -rf *",
						"rm -rf ./*",
						"cd src && rm -r ../*",
						"env rm -rf .",
						"sh -c 'rm -rf /etc'" };
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct permission p = { .mode = PERMISSION_BYPASS, .can_ask = true };
		struct permission_verdict v = { 0 };
		stage_rules(&stage, &p, "allow Bash\nallow Bash(rm *)");
		permission_explain(&p, *stage_bash(&stage, commands[i]), PERMISSION_HINT_ALLOW, &v);
		if (v.decision != PERMISSION_ASK || v.step != PERMISSION_STEP_SAFETY)
			fail_msg("%s: %s", commands[i], permission_step_name(v.step));
		permission_verdict_release(&v);
		permission_release(&p);
	}
}

/* What bash runs for these cannot be read off the text: a rule that names a command never lets them pass. */
TEST(what_hides_its_commands_is_never_allowed_by_a_prefix)
{
	static const char *const commands[] = {
		"zz $(qq)",
		"zz `qq`",
		"zz <(qq)",
		"zz; eval x",
		"zz && . ./x",
		"zz | bash",
		"zz\nqq",
		"zz & qq",
		"{ zz; }",
		"zz() { qq; }; zz",
		"PATH=. zz",
		"LD_PRELOAD=x zz",
		"IFS=x zz",
		"zz \"$(qq)\"",
		"zz > $(qq)",
		"$X",
		"zz; $X",
		"zz 'x",
		"if zz; then qq; fi",
		"for i in 1; do zz; done",
		"trap 'qq' EXIT; zz",
		"zz << E\n$(qq)\nE",
		"zz |& qq",
		"! qq",
		"time qq",
		"coproc qq",
		"zz\r\nqq",
		"exec zz",
		"alias zz=qq; zz",
		"zz ${x:-$(qq)}",
		"zz $((`qq`))",
		"zz [[ ]] && qq",
		"function zz { qq; }; zz",
	};
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct permission p = { 0 };
		stage_rules(&stage, &p, "allow Bash(zz *)\nallow Bash(zz*)");
		if (stage_decide(&p, stage_bash(&stage, commands[i])) == PERMISSION_ALLOW)
			fail_msg("%s", commands[i]);
		permission_release(&p);
	}
}

TEST(a_command_that_runs_a_text_needs_more_than_a_prefix)
{
	static const struct judge_case cases[] = {
		{ "default", "allow Bash(eval *)", NULL, "eval ls", ASK, BY(MODE) },
		{ "default", "allow Bash(source *)", NULL, "source ./x", ASK, BY(MODE) },
		{ "default", "allow Bash(watch *)", NULL, "watch ls", ASK, BY(MODE) },
		{ "default", "allow Bash(watch ls)", NULL, "watch ls", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Bash(find *)", NULL, "find . -delete", ASK, BY(MODE) },
		{ "default", "allow Bash(find *)\nallow Bash(find . -delete)", NULL, "find . -delete", RUN,
		  BY(ALLOW_RULE) },
		{ "default", "allow Bash(zz a && qq b)", NULL, "zz a && qq b", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Bash(zz a && qq b)", NULL, "zz a && qq c", ASK, BY(MODE) },
		{ "default", "allow Bash", NULL, "eval ls", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Bash", NULL, "for i in 1 2; do (qq $i) & done", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Bash", NULL, "echo 'x", ASK, BY(MODE) },
	};
	check_all(cases, COUNT_OF(cases));
}

TEST(other_tools_have_rules_for_their_one_word)
{
	static const struct judge_case cases[] = {
		{ "default", "", "WebFetch", "{'url':'https://x.org/'}", ASK, BY(MODE) },
		{ "default", "allow WebFetch(domain:x.org)", "WebFetch", "{'url':'https://x.org/'}", RUN,
		  BY(ALLOW_RULE) },
		{ "bypassPermissions", "deny WebFetch(domain:*.x.org)", "WebFetch", "{'url':'https://a.x.org/'}", NOT,
		  BY(DENY_RULE) },
		{ "default", "", "Agent", "{'subagent_type':'Explore'}", RUN, BY(READING) },
		{ "default", "deny Agent(Explore)", "Agent", "{'subagent_type':'explore'}", NOT, BY(DENY_RULE) },
		{ "default", "deny Task(general-purpose)", "Agent", "{'prompt':'x'}", NOT, BY(DENY_RULE) },
		{ "default", "ask Agent(model:opus)", "Agent", "{'model':'opus'}", ASK, BY(ASK_RULE) },
		{ "default", "ask Agent(model:opus)", "Agent", "{'model':'sonnet'}", RUN, BY(READING) },
		{ "default", "deny Agent(isolation:*)", "Agent", "{'isolation':'worktree'}", NOT, BY(DENY_RULE) },
		{ "default", "deny Agent(isolation:*)", "Agent", "{}", RUN, BY(READING) },
		{ "bypassPermissions", "deny Bash(run_in_background:true)", "Bash",
		  "{'command':'ls','run_in_background':true}", NOT, BY(DENY_RULE) },
		{ "default", "allow Skill(deploy)", "Skill", "{'skill':'deploy'}", RUN, BY(ALLOW_RULE) },
		{ "default", "allow Skill(deploy)", "Skill", "{'skill':'deploy','args':'x'}", ASK, BY(MODE) },
		{ "default", "allow Skill(deploy *)", "Skill", "{'skill':'/deploy','args':'x'}", RUN, BY(ALLOW_RULE) },
		{ "bypassPermissions", "deny Skill(deploy)", "Skill", "{'skill':'deploy','args':'x'}", NOT,
		  BY(DENY_RULE) },
		{ "default", "", "mcp__git__log", "{}", ASK, BY(MODE) },
		{ "default", "allow mcp__git", "mcp__git__push", "{}", RUN, BY(ALLOW_RULE) },
		{ "default", "allow mcp__git", "mcp__gitlab__push", "{}", ASK, BY(MODE) },
		{ "default", "allow mcp__git__l*", "mcp__git__push", "{}", ASK, BY(MODE) },
		{ "bypassPermissions", "deny mcp__*", "mcp__git__push", "{}", NOT, BY(DENY_RULE) },
		{ "default", "", "TodoWrite", "{}", RUN, BY(READING) },
		{ "default", "", "WebSearch", "{'query':'x'}", ASK, BY(MODE) },
		{ "default", "allow WebSearch", "WebSearch", "{'query':'x'}", RUN, BY(ALLOW_RULE) },
		{ "bypassPermissions", "deny Bash(qq:*)", "Monitor", "{'command':'qq x'}", NOT, BY(DENY_RULE) },
	};
	check_all(cases, COUNT_OF(cases));
}

/* What a server says of its own tool ("changes nothing") lets it run beside others, and nothing more. */
TEST(a_tool_that_is_only_concurrent_is_asked_about)
{
	static const struct tool tools[] = {
		{ .name = "Peek", .definition = "{}", .flags = TOOL_READ_ONLY },
		{ .name = "Beside", .definition = "{}", .flags = TOOL_CONCURRENT },
		{ .name = "mcp__srv__beside", .definition = "{}", .flags = TOOL_CONCURRENT },
		{ .name = "mcp__srv__peek", .definition = "{}", .flags = TOOL_READ_ONLY },
	};
	static const int expected[] = { RUN, ASK, ASK, ASK };
	STAGE(stage);
	struct permission p = { .can_ask = true };

	for (size_t i = 0; i < COUNT_OF(tools); i++) {
		struct tool_use use = { .tool = &tools[i], .env = &stage.env, .flags = tools[i].flags };
		CHECK_INT(stage_decide(&p, &use), expected[i]);
	}
}

static const struct {
	const char *above, *own, *tool;
	bool expected;
} forbidden[] = {
	{ "", "", "mcp__srv__a", false },
	{ "deny mcp__srv__a", "", "mcp__srv__a", true },
	{ "deny mcp__srv__a", "", "mcp__srv__b", false },
	{ "", "deny mcp__srv", "mcp__srv__b", true },
	{ "", "deny mcp__*", "mcp__srv__b", true },
	{ "", "ask mcp__srv__a", "mcp__srv__a", false },
	{ "", "deny Bash(rm *)", "Bash", false },
	{ "", "deny bash", "Bash", true },
	{ "deny *", "allow Bash", "Bash", true },
};

TEST(a_tool_is_forbidden_if_all_its_uses_are_by_anybody_above)
{
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
		struct permission parent = { .can_ask = true };
		struct permission p = { .parent = &parent };
		struct tool tool = { .name = forbidden[i].tool };
		print_message("# %s; %s; %s\n", forbidden[i].above, forbidden[i].own, forbidden[i].tool);
		stage_rules(&stage, &parent, forbidden[i].above);
		stage_rules(&stage, &p, forbidden[i].own);
		CHECK_INT(permission_forbids(&p, &tool), forbidden[i].expected);
		permission_release(&p);
		permission_release(&parent);
	}
}

TEST(a_sandbox_is_not_enough_for_a_text_that_rules_cannot_see_through)
{
	STAGE(stage);
	struct permission p = { .can_ask = true };
	struct tool_use *call = stage_bash(&stage, "for ((;;");
	struct rule_origin origin = { .layer = "session" };

	call->where = WHERE_IN_UNASKED;
	CHECK_INT(stage_decide(&p, call), PERMISSION_ALLOW);
	stage_rules(&stage, &p, "deny Bash(rm *)");
	CHECK_INT(stage_decide(&p, call), PERMISSION_ASK);
	permission_release(&p);

	p = (struct permission){ .can_ask = true };
	struct permission_grant *grant = permission_grant(&p);
	CHECK_INT(rule_set_add(grant->rules, RULE_DENY, STR("Bash(rm *)"), &origin, NULL, NULL, NULL), 0);
	CHECK_INT(stage_decide(&p, call), PERMISSION_ASK);
	permission_revoke(&p, grant);
	CHECK_INT(stage_decide(&p, call), PERMISSION_ALLOW);
	permission_release(&p);
}

TEST(a_hook_allows_only_what_no_rule_forbids_or_asks_about)
{
	static const struct {
		const char *rules, *input;
		int expected;
	} cases[] = {
		{ "", "{'file_path':'x'}", RUN },
		{ "deny Write", "{'file_path':'x'}", NOT },
		{ "ask Write", "{'file_path':'x'}", ASK },
		{ "", "{'file_path':'.git/x'}", ASK },
	};
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true };
		struct permission_verdict v = { 0 };
		stage_rules(&stage, &p, cases[i].rules);
		permission_explain(&p, *stage_call(&stage, "Write", cases[i].input), PERMISSION_HINT_ALLOW, &v);
		CHECK_INT(v.decision, cases[i].expected);
		permission_verdict_release(&v);
		permission_release(&p);
	}
}

TEST(an_added_directory_is_a_working_directory)
{
	STAGE(stage);
	struct permission p = { .can_ask = true, .mode = PERMISSION_ACCEPT_EDITS };

	CHECK_INT(stage_decide(&p, stage_call(&stage, "Read", "{'file_path':'/etc/hosts'}")), ASK);
	stage.dirs[1] = "/etc";
	CHECK_INT(stage_decide(&p, stage_call(&stage, "Read", "{'file_path':'/etc/hosts'}")), RUN);
	CHECK_INT(stage_decide(&p, stage_bash(&stage, "cat /etc/hosts")), RUN);
	CHECK_INT(stage_decide(&p, stage_bash(&stage, "rm /etc/*")), ASK);
	CHECK_INT(stage_decide(&p, stage_bash(&stage, "rm /etc/x*y/z")), RUN);
}

TEST(results_of_earlier_calls_may_be_read)
{
	STAGE(stage);
	struct permission p = { .can_ask = true };
	stage.env.results_dir = "/var/cadre/results";

	CHECK_INT(stage_decide(&p, stage_call(&stage, "Read", "{'file_path':'/var/cadre/results/x.txt'}")), RUN);
	CHECK_INT(stage_decide(&p, stage_call(&stage, "Write", "{'file_path':'/var/cadre/results/x.txt'}")), ASK);
}

TEST(a_search_by_name_is_judged_by_where_its_pattern_leads)
{
	STAGE(stage);
	struct permission p = { .can_ask = true };
	stage_rules(&stage, &p, "deny Read(secrets/**)");

	static const struct {
		const char *input;
		int decision;
	} cases[] = {
		{ "{'pattern':'**/*.c'}", RUN },
		{ "{'pattern':'src/*','path':'@'}", RUN },
		{ "{'pattern':'@/src/*'}", RUN },
		{ "{'pattern':'/etc/*'}", ASK },
		{ "{'pattern':'/*'}", ASK },
		{ "{'pattern':'../../etc/*'}", ASK },
		{ "{'pattern':'/etc/*','path':'@'}", ASK },
		{ "{'pattern':'secrets/*'}", NOT },
		{ "{'pattern':'secrets/*','path':'a'}", NOT },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_INT(stage_decide(&p, stage_call(&stage, "Glob", cases[i].input)), cases[i].decision);
	permission_release(&p);
}

TEST(a_verdict_names_the_rule_and_its_file)
{
	STAGE(stage);
	struct permission p = { 0 };
	struct permission_verdict v = { 0 };
	stage_rules(&stage, &p, "deny Bash(rm *)");

	permission_explain(&p, *stage_bash(&stage, "rm f"), PERMISSION_HINT_NONE, &v);

	CHECK_CSTR(v.rule->text, "Bash(rm *)");
	CHECK_CSTR(v.rule->origin->file, "inline");
	CHECK(v.rule_owner == &p);
	CHECK_STR(buf_str(&v.reason), "Permission to use Bash was denied by the rule \"Bash(rm *)\" of inline.");
	permission_verdict_release(&v);
	permission_release(&p);
}

static double measure_us(const struct permission *p, const struct tool_use *call)
{
	enum { ROUNDS = 500 };
	struct timespec from;
	struct timespec to;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < ROUNDS; i++)
		(void)stage_decide(p, call);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) / ROUNDS;
}

static void add_many_rules(struct permission *p)
{
	static const char *const lists[] = { "deny", "ask", "allow" };
	static const struct rule_origin origin = { .layer = "userSettings", .base = "/home/u/.claude" };
	static const char *const shapes[] = { "Bash(tool%u run *)",   "Bash(tool%u exact)",
					      "Bash(* --flag%u)",     "Read(name%u)",
					      "Read(dir%u/sub/**)",   "Read(//abs/dir%u/**)",
					      "Edit(src/part%u/*.c)", "WebFetch(domain:host%u.org)",
					      "mcp__server%u__tool",  "Agent(type%u)" };

	for (unsigned i = 0; i < 1000; i++) {
		AUTO_BUF struct buf text = { 0 };
		char number[16];
		const char *shape = shapes[i % COUNT_OF(shapes)];
		const char *mark = strstr(shape, "%u");
		snprintf(number, sizeof number, "%u", i);
		buf_add(&text, shape, (size_t)(mark - shape));
		buf_addf(&text, "%s%s", number, mark + 2);
		CHECK_INT(permission_add_rule(p, (enum rule_list)(i / 10 % COUNT_OF(lists)), buf_str(&text), &origin,
					      NULL, NULL, NULL),
			  0);
	}
}

TEST(a_thousand_rules_change_no_outcome_of_calls_they_do_not_name)
{
	static const struct {
		const char *tool, *input;
	} calls[] = {
		{ "Bash", "{'command':'git status'}" },     { "Bash", "{'command':'cat f | grep x && ls src'}" },
		{ "Read", "{'file_path':'src/app.ts'}" },   { "Write", "{'file_path':'src/app.ts'}" },
		{ "WebFetch", "{'url':'https://x.org/'}" }, { "mcp__git__log", "{}" },
	};
	STAGE(stage);
	struct permission none = { .can_ask = true };
	struct permission many = { .can_ask = true };
	add_many_rules(&many);

	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct tool_use *call = stage_call(&stage, calls[i].tool, calls[i].input);
		CHECK_INT(stage_decide(&many, call), stage_decide(&none, call));
		print_message("# %s %s: %.1f us, with 1000 rules %.1f us\n", calls[i].tool, calls[i].input,
			      measure_us(&none, call), measure_us(&many, call));
	}
	permission_release(&many);
}

int test_judge(void)
{
	return RUN_TESTS(
		T(the_strictest_list_with_a_match_decides), T(links_count_with_what_they_point_to),
		T(path_rules_hold_for_all_tools_of_their_kind), T(file_rules_and_directories_hold_for_shell_commands),
		T(removing_a_critical_path_is_always_asked_about),
		T(what_hides_its_commands_is_never_allowed_by_a_prefix),
		T(a_command_that_runs_a_text_needs_more_than_a_prefix), T(other_tools_have_rules_for_their_one_word),
		T(a_hook_allows_only_what_no_rule_forbids_or_asks_about), T(an_added_directory_is_a_working_directory),
		T(results_of_earlier_calls_may_be_read), T(a_search_by_name_is_judged_by_where_its_pattern_leads),
		T(a_verdict_names_the_rule_and_its_file), T(a_tool_that_is_only_concurrent_is_asked_about),
		T(a_tool_is_forbidden_if_all_its_uses_are_by_anybody_above),
		T(a_sandbox_is_not_enough_for_a_text_that_rules_cannot_see_through),
		T(a_thousand_rules_change_no_outcome_of_calls_they_do_not_name));
}
