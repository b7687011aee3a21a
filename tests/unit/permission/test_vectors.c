/* SPDX-License-Identifier: MIT
 * test_vectors.c - calls and their outcome as they were observed on a peer that reads the same rules. Nobody is there to
 * ask, so what needs a question is denied. */
#include "unit.h"
#include "stage.h"
#include "tests.h"

#define ZZ   "allow Bash(zz run *)"
#define RM   "allow Bash\ndeny Bash(rm *)"
#define READ "deny Read(.env)\ndeny Read(secrets/**)\ndeny Read(//etc/hostname)"
#define EDIT "allow Edit(src/**)\nallow Edit(//@/vendor/**)"

static const struct vector {
	const char *mode, *rules;
	const char *tool; /* NULL: Bash, and input is the command */
	const char *input;
	int expected;
	const char *says; /* part of the reason; NULL: anything */
} vectors[] = {
	{ "default", ZZ, NULL, "zz run", RUN, NULL },
	{ "default", ZZ, NULL, "zz run a", RUN, NULL },
	{ "default", ZZ, NULL, "zz  run a", RUN, NULL },
	{ "default", ZZ, NULL, "zz run a && zz run b", RUN, NULL },
	{ "default", ZZ, NULL, "zz run a | cat", RUN, NULL },
	{ "default", ZZ, NULL, "zz run a; ls", RUN, NULL },
	{ "default", ZZ, NULL, "NODE_ENV=x zz run a", RUN, NULL },
	{ "default", ZZ, NULL, "timeout 5 zz run a", RUN, NULL },
	{ "default", ZZ, NULL, "nice -n 5 zz run a", RUN, NULL },
	{ "default", ZZ, NULL, "command zz run a", RUN, NULL },
	{ "default", ZZ, NULL, "xargs zz run", RUN, NULL },
	{ "default", ZZ, NULL, "zz run a > /dev/null", RUN, NULL },
	{ "default", ZZ, NULL, "zz run $HOME", RUN, NULL },
	{ "default", ZZ, NULL, "zz run \\\n a", RUN, NULL },
	{ "default", ZZ, NULL, "zz runx", NOT, "requires approval" },
	{ "default", ZZ, NULL, "FOO=x zz run a", NOT, "requires approval" },
	{ "default", ZZ, NULL, "env A=1 zz run a", NOT, "requires approval" },
	{ "default", ZZ, NULL, "sudo zz run a", NOT, "requires approval" },
	{ "default", ZZ, NULL, "bash -c \"zz run a\"", NOT, NULL },
	{ "default", ZZ, NULL, "zz run a && qq", NOT, "This part requires approval: qq" },
	{ "default", ZZ, NULL, "zz run a > out.txt", NOT, "Output redirection to 'out.txt' needs approval" },
	{ "default", ZZ, NULL, "zz run \"$(qq)\"", NOT, "qq" },
	{ "default", ZZ, NULL, "(zz run a)", NOT, "requires approval" },
	{ "default", ZZ, NULL, "zz run a &", NOT, "background" },
	{ "default", "allow Bash(zz:*)", NULL, "zz", RUN, NULL },
	{ "default", "allow Bash(zz:*)", NULL, "zz a", RUN, NULL },
	{ "default", "allow Bash(zz:*)", NULL, "zzq", NOT, NULL },
	{ "default", "allow Bash(zz:*)", NULL, "zz a; qq", NOT, NULL },
	{ "default", "allow Bash(zz*)", NULL, "zz", RUN, NULL },
	{ "default", "allow Bash(zz*)", NULL, "zz a", RUN, NULL },
	{ "default", "allow Bash(zz*)", NULL, "zzq b", RUN, NULL },
	{ "default", "allow Bash(zz*)", NULL, "qq zz", NOT, NULL },
	{ "default", "allow Bash(* --version)", NULL, "qq --version", RUN, NULL },
	{ "default", "allow Bash(* --version)", NULL, "qq a --version", RUN, NULL },
	{ "default", "allow Bash(qq exact)", NULL, "qq exact", RUN, NULL },
	{ "default", "allow Bash(qq exact)", NULL, "qq exact more", NOT, NULL },
	{ "default", "allow Bash(qq exact)", NULL, "qq  exact", NOT, NULL },

	{ "default", RM, NULL, "ls", RUN, NULL },
	{ "default", RM, NULL, "qq", RUN, NULL },
	{ "default", RM, NULL, "rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "FOO=1 rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "echo hi && rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "timeout 3 rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "echo $(rm f)", NOT, "denied by the rule" },
	{ "default", RM, NULL, "/bin/rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "env rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "xargs rm", NOT, "denied by the rule" },
	{ "default", RM, NULL, "command rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "\\rm f", NOT, "denied by the rule" },
	{ "default", RM, NULL, "bash -c \"rm f\"", NOT, "denied by the rule" },
	{ "default", "allow Bash\ndeny Bash(qq:*)", NULL, "qq a", NOT, NULL },
	{ "default", "allow Bash\ndeny Bash(qq:*)", NULL, "qqx a", RUN, NULL },

	{ "default", "", NULL, "ls", RUN, NULL },
	{ "default", "", NULL, "ls *.txt", RUN, NULL },
	{ "default", "", NULL, "cat f", RUN, NULL },
	{ "default", "", NULL, "git status", RUN, NULL },
	{ "default", "", NULL, "git log", RUN, NULL },
	{ "default", "", NULL, "find . -name x", RUN, NULL },
	{ "default", "", NULL, "sed -n 1p f", RUN, NULL },
	{ "default", "", NULL, "echo > /dev/null", RUN, NULL },
	{ "default", "", NULL, "cd src && ls", RUN, NULL },
	{ "default", "", NULL, "cat f | grep x | wc -l", RUN, NULL },
	{ "default", "", NULL, "sort f", RUN, NULL },
	{ "default", "", NULL, "jq . f", RUN, NULL },
	{ "default", "", NULL, "date", RUN, NULL },
	{ "default", "", NULL, "whoami", RUN, NULL },
	{ "default", "", NULL, "which ls", RUN, NULL },
	{ "default", "", NULL, "tree", RUN, NULL },
	{ "default", "", NULL, "rg x", RUN, NULL },
	{ "default", "", NULL, "test -f f", RUN, NULL },
	{ "default", "", NULL, "true", RUN, NULL },
	{ "default", "", NULL, "sleep 1", RUN, NULL },
	{ "default", "", NULL, "printf x", RUN, NULL },
	{ "default", "", NULL, "uname", RUN, NULL },
	{ "default", "", NULL, "ps", RUN, NULL },
	{ "default", "", NULL, "diff f w.txt", RUN, NULL },
	{ "default", "", NULL, "stat f", RUN, NULL },
	{ "default", "", NULL, "du", RUN, NULL },
	{ "default", "", NULL, "basename /a/b", RUN, NULL },
	{ "default", "", NULL, "node --version", RUN, NULL },
	{ "default", "", NULL, "git branch -D x", NOT, NULL },
	{ "default", "", NULL, "find . -delete", NOT, NULL },
	{ "default", "", NULL, "find . -exec ls {} ;", NOT, NULL },
	{ "default", "", NULL, "sed -i s/h/j/ f", NOT, NULL },
	{ "default", "", NULL, "cat /etc/passwd", NOT, NULL },
	{ "default", "", NULL, "cd /etc && ls", NOT, NULL },
	{ "default", "", NULL, "python3 x.py", NOT, NULL },
	{ "default", "", NULL, "awk 1 f", RUN, NULL },
	{ "default", "", NULL, "env", NOT, NULL },
	{ "default", "", NULL, "npm ls", RUN, NULL },
	{ "default", "", NULL, "touch x", NOT, NULL },

	{ "default", READ, "Read", "{'file_path':'.env'}", NOT, "denied by the rule" },
	{ "default", READ, "Read", "{'file_path':'@/a/.env'}", NOT, "denied by the rule" },
	{ "default", READ, "Read", "{'file_path':'secrets/k'}", NOT, "denied by the rule" },
	{ "default", READ, "Read", "{'file_path':'a/secrets/k'}", NOT, "denied by the rule" },
	{ "default", READ, "Read", "{'file_path':'/etc/hostname'}", NOT, "denied by the rule" },
	{ "default", READ, "Read", "{'file_path':'link'}", NOT, "denied by the rule" },
	{ "default", READ, "Read", "{'file_path':'f'}", RUN, NULL },
	{ "default", READ, NULL, "cat .env", NOT, "denied by the rule" },
	{ "default", READ, NULL, "cat a/secrets/k", NOT, "denied by the rule" },
	{ "default", READ, NULL, "cat f", RUN, NULL },
	{ "default", "deny Read(/src/**)", "Read", "{'file_path':'src/app.ts'}", RUN, NULL },

	{ "default", EDIT, "Write", "{'file_path':'src/new.c'}", RUN, NULL },
	{ "default", EDIT, "Edit", "{'file_path':'@/vendor/v.c'}", RUN, NULL },
	{ "default", EDIT, "Write", "{'file_path':'a/src/x'}", NOT, NULL },
	{ "default", EDIT, "Write", "{'file_path':'top.c'}", NOT, NULL },
	{ "default", EDIT, "Write", "{'file_path':'.claude/x.md'}", NOT, "sensitive" },
	{ "default", EDIT, "Write", "{'file_path':'src/.git/x'}", NOT, "sensitive" },
	{ "default", EDIT, "Write", "{'file_path':'.mcp.json'}", NOT, "sensitive" },

	{ "acceptEdits", "", "Write", "{'file_path':'new.c'}", RUN, NULL },
	{ "acceptEdits", "", NULL, "mkdir d", RUN, NULL },
	{ "acceptEdits", "", NULL, "touch x", RUN, NULL },
	{ "acceptEdits", "", NULL, "rm f", RUN, NULL },
	{ "acceptEdits", "", NULL, "mv f g", RUN, NULL },
	{ "acceptEdits", "", NULL, "cp f g", RUN, NULL },
	{ "acceptEdits", "", NULL, "echo a > w.txt", RUN, NULL },
	{ "acceptEdits", "", "Write", "{'file_path':'/var/tmp/x'}", NOT, "outside" },
	{ "acceptEdits", "", "Write", "{'file_path':'.claude/agents/a.md'}", NOT, "sensitive" },
	{ "acceptEdits", "", "Write", "{'file_path':'.bashrc'}", NOT, "sensitive" },
	{ "acceptEdits", "", "Edit", "{'file_path':'.git/config'}", NOT, "sensitive" },
	{ "acceptEdits", "", NULL, "touch /var/tmp/x", NOT, NULL },
	{ "acceptEdits", "", NULL, "rm -rf .", NOT, "Dangerous" },
	{ "acceptEdits", "", NULL, "sed -i s/h/j/ f", NOT, NULL },
	{ "acceptEdits", "", NULL, "python3 x.py", NOT, NULL },

	{ "dontAsk", "allow Bash(qq:*)", NULL, "ls", RUN, NULL },
	{ "dontAsk", "allow Bash(qq:*)", NULL, "qq a", RUN, NULL },
	{ "dontAsk", "", "Read", "{'file_path':'f'}", RUN, NULL },
	{ "dontAsk", "", "Write", "{'file_path':'x'}", NOT, "don't ask mode" },
	{ "dontAsk", "", NULL, "python3 x.py", NOT, "don't ask mode" },
	{ "dontAsk", "", "Read", "{'file_path':'/etc/hosts'}", NOT, "don't ask mode" },

	{ "plan", "allow Edit\nallow Bash(qq:*)", "Write", "{'file_path':'x'}", NOT, "while in plan mode" },
	{ "plan", "allow Edit\nallow Bash(qq:*)", NULL, "ls", RUN, NULL },
	{ "plan", "allow Edit\nallow Bash(qq:*)", NULL, "qq a", RUN, NULL },
	{ "plan", "allow Edit\nallow Bash(qq:*)", NULL, "touch x", NOT, NULL },

	{ "default", "ask Bash(touch *)\nallow Bash", NULL, "touch x", NOT, "no user is present to ask" },
};

TEST(observed_calls_have_the_observed_outcome)
{
	STAGE(stage);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT_OF(vectors); i++) {
		const struct vector *v = &vectors[i];
		struct permission p = { 0 };
		CHECK(permission_mode_parse(str_from(v->mode), &p.mode));
		stage_rules(&stage, &p, v->rules);
		struct tool_use *call = v->tool ? stage_call(&stage, v->tool, v->input) : stage_bash(&stage, v->input);

		int decision = (int)stage_decide(&p, call);
		const char *reason = stage_reason(&stage, &p, call);

		if (decision != v->expected || (v->says && !strstr(reason, v->says))) {
			print_message("# %s: %s, %s: %s\n", v->mode, v->rules, v->input, reason);
			wrong++;
		}
		permission_release(&p);
	}
	CHECK_INT(wrong, 0);
}

int test_vectors(void)
{
	return RUN_TESTS(T(observed_calls_have_the_observed_outcome));
}
