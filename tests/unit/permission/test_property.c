/* SPDX-License-Identifier: MIT
 * test_property.c - over random parents, definitions, rules and calls: what the rules of an ancestor deny is never allowed in a
 * child, and what they ask about is never allowed without an answer. */
#include "unit.h"
#include "stage.h"
#include "tests.h"

enum { CASES = 100000, SETS = 400, DEEPEST = 4 };

/* A rule and a call that it names, by construction: no matcher of ours is asked. */
static const struct pair {
	const char *kind, *rule, *tool, *input;
} pairs[] = {
	{ "bare", "Write", "Write", "{'file_path':'f'}" },
	{ "bare", "Bash", "Bash", "{'command':'ls'}" },
	{ "bare", "Edit", "NotebookEdit", "{'notebook_path':'f'}" },
	{ "alias", "Task", "Agent", "{'subagent_type':'x'}" },
	{ "several", "*", "Read", "{'file_path':'f'}" },
	{ "several", "Web*", "WebFetch", "{'url':'https://x.org'}" },
	{ "mcp", "mcp__git", "mcp__git__push", "{}" },
	{ "mcp", "mcp__git__p*", "mcp__git__push", "{}" },
	{ "mcp", "mcp__git__push", "mcp__git__push", "{}" },
	{ "parameter", "Agent(model:opus)", "Agent", "{'model':'opus'}" },
	{ "parameter", "Bash(run_in_background:true)", "Bash", "{'command':'ls','run_in_background':true}" },
	{ "parameter", "mcp__git__push(force:*)", "mcp__git__push", "{'force':1}" },
	{ "command exact", "Bash(qq exact)", "Bash", "{'command':'qq exact'}" },
	{ "command words", "Bash(rm *)", "Bash", "{'command':'cd src && FOO=1 timeout 3 rm f'}" },
	{ "command words", "Bash(rm:*)", "Bash", "{'command':'echo $(/bin/rm f)'}" },
	{ "command words", "Bash(rm *)", "Bash", "{'command':'bash -c \\'rm f\\''}" },
	{ "command wild", "Bash(* --force)", "Bash", "{'command':'git push --force'}" },
	{ "command wild", "Bash(ls*)", "Bash", "{'command':'lsof | cat'}" },
	{ "read path", "Read(.env)", "Read", "{'file_path':'a/.env'}" },
	{ "read path", "Read(secrets/**)", "Grep", "{'pattern':'x','path':'a/secrets'}" },
	{ "read path", "Read(//etc/hostname)", "Read", "{'file_path':'link'}" },
	{ "read path", "Read(secrets/**)", "Bash", "{'command':'cat secrets/k'}" },
	{ "edit path", "Edit(src/**)", "Write", "{'file_path':'inside/x'}" },
	{ "edit path", "Edit(*.md)", "Edit", "{'file_path':'docs/d.md'}" },
	{ "edit path", "Edit(docs/**)", "Bash", "{'command':'echo x > docs/d.md'}" },
	{ "host", "WebFetch(domain:*.x.org)", "WebFetch", "{'url':'https://a.X.org./p'}" },
	{ "host", "WebFetch(domain:*)", "WebFetch", "{'url':'http://y.net'}" },
	{ "agent", "Agent(Explore, Plan)", "Agent", "{'subagent_type':'plan'}" },
	{ "skill", "Skill(deploy)", "Skill", "{'skill':'deploy','args':'now'}" },
};

/* Rules that widen, as noise around the one that narrows. */
static const char *const widening[] = { "Bash",
					"Read",
					"Edit",
					"Write",
					"Grep",
					"Agent",
					"Skill",
					"WebFetch",
					"mcp__git",
					"Bash(rm *)",
					"Bash(git *)",
					"Read(//**)",
					"Edit(//**)",
					"Bash(ls:*)",
					"NotebookEdit",
					"WebFetch(domain:*)",
					"Skill(deploy *)",
					"Agent(Explore)",
					"Bash(echo *)",
					"Bash(bash *)" };
static const char *const modes[] = { NULL,   "default",           "acceptEdits", "plan",    "dontAsk",
				     "auto", "bypassPermissions", "bubble",      "nonsense" };

struct dice {
	uint64_t state;
};

static size_t roll(struct dice *d, size_t sides)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (size_t)(d->state % sides);
}

static struct rule_set *random_noise(struct dice *d)
{
	static const struct rule_origin origin = { .layer = "userSettings", .base = "/nowhere" };
	struct rule_set *set = rule_set_new();

	for (size_t n = roll(d, 8); n; n--)
		CHECK_INT(rule_set_add(set, RULE_ALLOW, str_from(widening[roll(d, COUNT_OF(widening))]), &origin, NULL,
				       NULL, NULL),
			  0);
	return set;
}

/* The parsed sets that cases choose from: one per pair and list, and noise. */
struct box {
	struct rule_set *narrow[2][COUNT_OF(pairs)];
	struct rule_set *noise[SETS];
};

static void box_fill(struct box *b, struct dice *d)
{
	static const struct rule_origin origin = { .layer = "projectSettings", .base = "/nowhere" };

	for (int list = RULE_DENY; list <= RULE_ASK; list++) {
		for (size_t i = 0; i < COUNT_OF(pairs); i++) {
			b->narrow[list][i] = random_noise(d);
			CHECK_INT(rule_set_add(b->narrow[list][i], (enum rule_list)list, str_from(pairs[i].rule),
					       &origin, NULL, NULL, NULL),
				  0);
		}
	}
	for (size_t i = 0; i < SETS; i++)
		b->noise[i] = random_noise(d);
}

static void box_empty(struct box *b)
{
	for (int list = RULE_DENY; list <= RULE_ASK; list++)
		for (size_t i = 0; i < COUNT_OF(pairs); i++)
			rule_set_unref(b->narrow[list][i]);
	for (size_t i = 0; i < SETS; i++)
		rule_set_unref(b->noise[i]);
}

/* A definition that wants as much as it can get. */
static void random_birth(struct dice *d, struct permission_birth *b)
{
	static const struct permission_limit limits[] = { { "Bash", "rm *" }, { "Read", NULL },    { "Edit", "//**" },
							  { "Bash", NULL },   { "Agent", "plan" }, { "Write", NULL } };

	*b = (struct permission_birth){
		.mode = modes[roll(d, COUNT_OF(modes))],
		.mode_invalid = roll(d, 16) == 0,
		.mode_may_widen = roll(d, 4) != 0,
		.can_ask = roll(d, 2) == 0,
		.memory_dir = roll(d, 8) == 0 ? "/" : NULL,
		.replaces_allow = roll(d, 4) == 0,
	};
	if (roll(d, 3) == 0) {
		b->only = &limits[roll(d, COUNT_OF(limits))];
		b->only_count = 1;
	}
	if (roll(d, 3) == 0) {
		b->allow = &widening[roll(d, COUNT_OF(widening) - 4)];
		b->allow_count = 1 + roll(d, 4);
	}
}

struct score {
	size_t reached[COUNT_OF(pairs)];
	size_t denied, asked;
};

/* A line of agents from the main one down; the one with the rule is anywhere above the last. */
static void run_case(struct dice *d, const struct box *b, struct tool_use *const calls[], struct score *score)
{
	struct permission line[DEEPEST] = { 0 };
	size_t depth = 2 + roll(d, DEEPEST - 1);
	size_t with_rule = roll(d, depth - 1);
	size_t pair = roll(d, COUNT_OF(pairs));
	enum rule_list list = roll(d, 2) ? RULE_ASK : RULE_DENY;
	struct permission_verdict v = { 0 };

	line[0].mode = (enum permission_mode)roll(d, PERMISSION_MODE_COUNT);
	line[0].can_ask = roll(d, 2) == 0;
	for (size_t i = 1; i < depth; i++) {
		struct permission_birth birth;
		random_birth(d, &birth);
		permission_derive(&line[i], &line[i - 1], &birth);
	}
	for (size_t i = 0; i < depth; i++)
		permission_use_rules(&line[i], i == with_rule ? b->narrow[list][pair] : b->noise[roll(d, SETS)]);

	permission_explain(&line[depth - 1], *calls[pair], (enum permission_hint)roll(d, 3), &v);

	score->reached[pair]++;
	score->denied += list == RULE_DENY;
	score->asked += list == RULE_ASK;
	bool good = list == RULE_DENY ? v.decision == PERMISSION_DENY : v.decision != PERMISSION_ALLOW;
	if (!good)
		fail_msg("%s %s: %s: %d by %s", rule_list_name(list), pairs[pair].rule, pairs[pair].input, v.decision,
			 permission_step_name(v.step));
	permission_verdict_release(&v);
	for (size_t i = depth; i-- > 0;)
		permission_release(&line[i]);
}

static size_t reached_by_kind(const struct score *s, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(pairs); i++)
		n += !strcmp(pairs[i].kind, kind) ? s->reached[i] : 0;
	return n;
}

TEST(no_child_may_do_what_an_ancestors_rules_deny_or_ask_about)
{
	STAGE(stage);
	struct dice d = { 0x9e3779b97f4a7c15 };
	struct box box;
	struct score score = { 0 };
	struct tool_use *calls[COUNT_OF(pairs)];
	box_fill(&box, &d);
	for (size_t i = 0; i < COUNT_OF(pairs); i++)
		calls[i] = stage_call(&stage, pairs[i].tool, pairs[i].input);

	for (int i = 0; i < CASES; i++)
		run_case(&d, &box, calls, &score);

	for (size_t i = 0; i < COUNT_OF(pairs); i++)
		CHECK(reached_by_kind(&score, pairs[i].kind) >= 1000);
	CHECK_INT(score.denied + score.asked, CASES);
	print_message("# %zu denied, %zu asked about\n", score.denied, score.asked);
	box_empty(&box);
}

/* What the parent may not do for a reason other than a rule: only a wider mode changes it. */
static void check_safety(struct dice *d, struct stage *s, struct tool_use *call)
{
	struct permission parent = { .mode = (enum permission_mode)roll(d, PERMISSION_MODE_COUNT), .can_ask = true };
	struct permission child;
	struct permission_verdict above = { 0 };
	struct permission_verdict below = { 0 };
	struct permission_birth birth;

	random_birth(d, &birth);
	birth.memory_dir = NULL;
	permission_derive(&child, &parent, &birth);
	permission_explain(&parent, *call, PERMISSION_HINT_ALLOW, &above);
	permission_explain(&child, *call, PERMISSION_HINT_ALLOW, &below);
	if (above.step == PERMISSION_STEP_SAFETY && below.mode != PERMISSION_BYPASS)
		CHECK(below.decision != PERMISSION_ALLOW);
	permission_verdict_release(&above);
	permission_verdict_release(&below);
	permission_release(&child);
}

TEST(protected_and_critical_paths_stay_so_in_children)
{
	STAGE(stage);
	struct dice d = { 0xdeadbeefcafe };
	struct tool_use *calls[] = {
		stage_call(&stage, "Write", "{'file_path':'.git/config'}"),
		stage_call(&stage, "Edit", "{'file_path':'.claude/settings.json'}"),
		stage_bash(&stage, "rm -rf ."),
		stage_bash(&stage, "echo x >> .bashrc"),
		stage_call(&stage, "AskUserQuestion", "{}"),
	};

	for (int i = 0; i < 5000; i++)
		check_safety(&d, &stage, calls[roll(&d, COUNT_OF(calls))]);
}

int test_property(void)
{
	return RUN_TESTS(T(no_child_may_do_what_an_ancestors_rules_deny_or_ask_about),
			 T(protected_and_critical_paths_stay_so_in_children));
}
