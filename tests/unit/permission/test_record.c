/* SPDX-License-Identifier: MIT
 * test_record.c - over random trees: a child that goes on after its ancestors have ended may do nothing that it might not do when
 * it was born, and with their definitions unchanged exactly the same. */
#include "unit.h"
#include "guard/permission/record.h"
#include "stage.h"
#include "tests.h"

enum { TREES = 2000, DEEPEST = 6, CALLS = 12 };

static const struct permission_limit limits[] = {
	{ "Bash", "rm *" },     { "Bash", "git push:*" },       { "Bash", "echo:*" },
	{ "Bash", "ls:*" },     { "Edit", "src/**" },           { "Edit", "docs/**" },
	{ "Read", ".env" },     { "Read", "secrets/**" },       { "Write", "out.txt" },
	{ "Bash", "broken (" }, { "WebFetch", "domain:x.org" }, { "Skill", "deploy" },
	{ "Agent", "Explore" }, { "mcp__git", NULL },           { "Write", NULL },
};
static const char *const modes[] = { NULL,      NULL,   "default",           "acceptEdits", "plan",
				     "dontAsk", "auto", "bypassPermissions", "bubble",      "nonsense" };
static const struct {
	const char *tool, *input;
} calls[] = {
	{ "Bash", "{'command':'rm f'}" },
	{ "Bash", "{'command':'git push origin'}" },
	{ "Bash", "{'command':'echo x'}" },
	{ "Bash", "{'command':'ls'}" },
	{ "Bash", "{'command':'echo x > docs/d'}" },
	{ "Write", "{'file_path':'@/src/new','content':'x'}" },
	{ "Write", "{'file_path':'@/docs/new','content':'x'}" },
	{ "Write", "{'file_path':'@/out.txt','content':'x'}" },
	{ "Edit", "{'file_path':'@/src/app.ts'}" },
	{ "Read", "{'file_path':'@/.env'}" },
	{ "Read", "{'file_path':'@/secrets/k'}" },
	{ "Read", "{'file_path':'@/f'}" },
	{ "WebFetch", "{'url':'https://x.org/'}" },
	{ "Skill", "{'skill':'deploy'}" },
	{ "Agent", "{'subagent_type':'Explore'}" },
	{ "mcp__git__push", "{}" },
};

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

struct birth {
	struct permission_birth spec;
	struct permission_limit only[2], never[3];
};

/* root: the worktree of one in six; NULL: of none. */
static void birth_roll(struct dice *d, struct birth *b, const char *root)
{
	*b = (struct birth){ .spec = { .mode = modes[roll(d, COUNT_OF(modes))],
				       .mode_invalid = !roll(d, 20),
				       .mode_may_widen = roll(d, 2),
				       .can_ask = true,
				       .replaces_allow = !roll(d, 10),
				       .write_root = root && !roll(d, 6) ? root : NULL } };
	b->spec.only_count = roll(d, 3) ? 0 : 1 + roll(d, COUNT_OF(b->only));
	b->spec.never_count = roll(d, COUNT_OF(b->never) + 1);
	for (size_t i = 0; i < b->spec.only_count; i++)
		b->only[i] = limits[roll(d, COUNT_OF(limits))];
	for (size_t i = 0; i < b->spec.never_count; i++)
		b->never[i] = limits[roll(d, COUNT_OF(limits))];
	b->spec.only = b->only;
	b->spec.never = b->never;
}

/* A line of agents: line[0] is the main agent, line[depth] the child that goes on. */
struct tree {
	struct permission line[DEEPEST + 1];
	struct birth births[DEEPEST + 1];
	size_t depth;
};

static void tree_grow(struct tree *t, struct dice *d, struct stage *st)
{
	static const enum permission_mode main_modes[] = { PERMISSION_DEFAULT, PERMISSION_DEFAULT,
							   PERMISSION_ACCEPT_EDITS, PERMISSION_PLAN,
							   PERMISSION_BYPASS };

	*t = (struct tree){ .depth = 2 + roll(d, DEEPEST - 1) };
	t->line[0] = (struct permission){ .mode = main_modes[roll(d, COUNT_OF(main_modes))], .can_ask = true };
	stage_rules(st, &t->line[0], "allow Bash ;; allow Write ;; allow WebFetch ;; allow Skill ;; allow mcp__git");
	for (size_t i = 1; i <= t->depth; i++) {
		birth_roll(d, &t->births[i], i < t->depth ? arena_printf(&st->arena, "%s/src", st->dir) : NULL);
		permission_derive(&t->line[i], &t->line[i - 1], &t->births[i].spec);
	}
}

static void tree_fell(struct tree *t)
{
	for (size_t i = 0; i <= t->depth; i++)
		permission_release(&t->line[t->depth - i]);
}

static const struct permission *line_end(const struct permission_line *l, const struct permission *parent)
{
	return l->count ? &l->list[l->count - 1] : parent;
}

/* What a child of `born_of` was born under, for one that goes on under parent. */
static int restore(const struct permission *born_of, const struct permission *parent, struct permission_line *ret,
		   struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	const struct json *record;

	permission_record_write(&w, born_of);
	CHECK_INT(json_parse(&reader, text.p, text.n, &record, err), 0);
	return permission_line_restore(ret, &(struct permission_restore){ .parent = parent, .record = record }, err);
}

/* Of those after the first `there`, does one have a worktree, or a mode that may be wider than the one above it? */
static bool any_root(const struct tree *t, size_t there)
{
	for (size_t i = there + 1; i < t->depth; i++)
		if (t->births[i].spec.write_root)
			return true;
	return false;
}

static bool any_widens(const struct tree *t, size_t there)
{
	for (size_t i = there + 1; i < t->depth; i++)
		if (t->births[i].spec.mode_may_widen && t->births[i].spec.mode)
			return true;
	return false;
}

/* Rules and limits deny as before. A mode that a gone ancestor had widened is narrower now: more is asked about, nothing more
 * is allowed, but by rules that do not count in auto mode. */
static void compare(const struct permission *born, struct stage *st, struct dice *d, const struct permission *again,
		    bool same)
{
	for (size_t i = 0; i < CALLS; i++) {
		size_t n = roll(d, COUNT_OF(calls));
		const struct tool_use *call = stage_call(st, calls[n].tool, calls[n].input);
		struct permission_verdict before = { 0 };
		permission_explain(born, *call, PERMISSION_HINT_NONE, &before);
		enum permission_decision after = stage_decide(again, call);
		bool forbidden = before.decision == PERMISSION_DENY && before.step <= PERMISSION_STEP_LIMIT;
		if ((forbidden && after != PERMISSION_DENY) || (same && after != before.decision) ||
		    (after == PERMISSION_ALLOW && before.decision != PERMISSION_ALLOW && !before.classify))
			fail_msg("%s %s: %d at birth, %d again", calls[n].tool, calls[n].input, before.decision, after);
		permission_verdict_release(&before);
	}
}

/* A child of one that went on, which goes on itself when all but the main agent are gone. */
static void compare_next(struct permission *parent, const struct permission *main_agent, struct stage *st,
			 struct dice *d)
{
	struct permission born, again;
	struct permission_line line;
	struct err err = { 0 };
	struct birth b;

	birth_roll(d, &b, NULL);
	permission_derive(&born, parent, &b.spec);
	if (restore(parent, main_agent, &line, &err) == 0) {
		permission_derive(&again, line_end(&line, main_agent), &b.spec);
		compare(&born, st, d, &again, false);
		permission_release(&again);
		permission_line_release(&line);
	}
	permission_release(&born);
}

TEST(a_child_whose_ancestors_are_gone_is_as_limited_as_when_it_was_born)
{
	struct dice d = { 88172645463325252u };
	size_t refused = 0, restored = 0;
	STAGE(st);

	for (size_t n = 0; n < TREES; n++) {
		struct permission_line line;
		struct permission again;
		struct err err = { 0 };
		struct tree t;
		tree_grow(&t, &d, &st);
		size_t there = roll(&d, t.depth); /* the main agent and so many below it are still there */
		if (restore(&t.line[t.depth - 1], &t.line[there], &line, &err) < 0) {
			CHECK_INT(err.kind, ERR_DENIED);
			CHECK(any_root(&t, there));
			refused++;
		} else {
			permission_derive(&again, line_end(&line, &t.line[there]), &t.births[t.depth].spec);
			compare(&t.line[t.depth], &st, &d, &again, !any_widens(&t, there));
			compare_next(&again, &t.line[0], &st, &d);
			restored++;
			permission_release(&again);
			permission_line_release(&line);
		}
		tree_fell(&t);
	}
	CHECK(refused > TREES / 10 && restored > TREES / 3);
}

enum { NODES = 12, ROUNDS = 3 };

/* An agent of a tree: node 0 is the main agent, and the parent of another has a smaller number. */
struct node {
	size_t parent;
	struct birth birth;
	struct permission live;
};

struct forest {
	struct node nodes[NODES];
	size_t count;
	const struct tool_use *calls[COUNT_OF(calls)];
	const char *root;
};

static void forest_grow(struct forest *f, struct dice *d)
{
	f->count = 2 + roll(d, NODES - 1);
	f->nodes[0].live = (struct permission){ .mode = PERMISSION_BYPASS, .can_ask = true };
	for (size_t i = 1; i < f->count; i++) {
		struct node *n = &f->nodes[i];
		n->parent = roll(d, i);
		birth_roll(d, &n->birth, f->root);
		n->birth.spec.mode = roll(d, 3) ? "bypassPermissions" : n->birth.spec.mode;
		permission_derive(&n->live, &f->nodes[n->parent].live, &n->birth.spec);
	}
}

/* What this agent forbids by itself, as its birth says, whoever is above it. Of worktrees the nearest counts. */
static bool node_forbids(const struct node *n, bool nearest_root, const struct tool_use *call)
{
	struct permission top = { .mode = PERMISSION_BYPASS, .can_ask = true };
	struct permission alone;
	struct permission_birth spec = n->birth.spec;
	struct permission_verdict v = { 0 };

	spec.mode = NULL;
	spec.mode_invalid = false;
	spec.write_root = nearest_root ? spec.write_root : NULL;
	permission_derive(&alone, &top, &spec);
	permission_explain(&alone, *call, PERMISSION_HINT_NONE, &v);
	bool forbids = v.decision == PERMISSION_DENY && v.step <= PERMISSION_STEP_LIMIT;
	permission_verdict_release(&v);
	permission_release(&alone);
	return forbids;
}

static bool line_forbids(const struct forest *f, size_t at, const struct tool_use *call)
{
	bool has_root = false;

	for (; at; at = f->nodes[at].parent) {
		bool root = f->nodes[at].birth.spec.write_root;
		if (node_forbids(&f->nodes[at], root && !has_root, call))
			return true;
		has_root = has_root || root;
	}
	return false;
}

/* The agent at this node goes on: under one of its ancestors, chosen at random, and then once more under another; in between it may hear
 * a hook that allows. */
static size_t forest_resume(struct forest *f, struct dice *d, size_t at, size_t *ret_passed)
{
	size_t above = f->nodes[at].parent;
	size_t refused = 0;

	while (above && roll(d, 2))
		above = f->nodes[above].parent;
	const struct permission *parent = &f->nodes[above].live;
	struct permission_line line, later;
	struct permission again, last;
	struct err err = { 0 };
	if (restore(&f->nodes[f->nodes[at].parent].live, parent, &line, &err) < 0)
		return 1;
	permission_derive(&again, line_end(&line, parent), &f->nodes[at].birth.spec);
	bool twice = restore(line_end(&line, parent), &f->nodes[0].live, &later, &err) == 0;
	if (twice)
		permission_derive(&last, line_end(&later, &f->nodes[0].live), &f->nodes[at].birth.spec);
	else
		refused = 1;
	const struct permission *all[] = { &f->nodes[at].live, &again, twice ? &last : &again };
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		bool forbidden = line_forbids(f, at, f->calls[i]);
		for (size_t k = 0; k < COUNT_OF(all); k++) {
			struct permission_verdict v = { 0 };
			permission_explain(all[k], *f->calls[i],
					   roll(d, 2) ? PERMISSION_HINT_ALLOW : PERMISSION_HINT_NONE, &v);
			*ret_passed += v.decision == PERMISSION_ALLOW;
			if (forbidden && v.decision != PERMISSION_DENY)
				fail_msg("%s %s passes (%zu)", calls[i].tool, calls[i].input, k);
			permission_verdict_release(&v);
		}
	}
	if (twice) {
		permission_release(&last);
		permission_line_release(&later);
	}
	permission_release(&again);
	permission_line_release(&line);
	return refused;
}

/* CADRE_TREES=100000 for all of them. */
TEST(no_call_passes_that_an_ancestor_forbids_in_any_tree)
{
	const char *wanted = getenv("CADRE_TREES");
	size_t trees = wanted ? strtoul(wanted, NULL, 10) : TREES / 2;
	struct dice d = { 521288629546311991u };
	size_t refused = 0;
	size_t passed = 0;
	static struct forest f;
	STAGE(st);

	f.root = arena_printf(&st.arena, "%s/src", st.dir);
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		f.calls[i] = stage_call(&st, calls[i].tool, calls[i].input);
	for (size_t n = 0; n < trees; n++) {
		forest_grow(&f, &d);
		for (size_t i = 0; i < ROUNDS; i++)
			refused += forest_resume(&f, &d, 1 + roll(&d, f.count - 1), &passed);
		for (size_t i = f.count; i-- > 0;)
			permission_release(&f.nodes[i].live);
	}
	print_message("# %zu trees, %zu returns refused, %zu calls passed\n", trees, refused, passed);
	CHECK(passed > trees && refused > trees / 20);
}

/* The live ancestors have other definitions by now. */
TEST(limits_of_birth_hold_although_definitions_have_changed)
{
	struct dice d = { 362436069362436069u };
	STAGE(st);

	for (size_t n = 0; n < TREES / 4; n++) {
		struct permission_line line;
		struct permission other, again;
		struct err err = { 0 };
		struct birth changed;
		struct tree t;
		tree_grow(&t, &d, &st);
		birth_roll(&d, &changed, NULL);
		permission_derive(&other, &t.line[0], &changed.spec);
		if (restore(&t.line[t.depth - 1], &other, &line, &err) == 0) {
			permission_derive(&again, line_end(&line, &other), &t.births[t.depth].spec);
			for (size_t i = 0; i < COUNT_OF(calls); i++) {
				const struct tool_use *call = stage_call(&st, calls[i].tool, calls[i].input);
				struct permission_verdict v = { 0 };
				permission_explain(&t.line[t.depth], *call, PERMISSION_HINT_NONE, &v);
				if (v.decision == PERMISSION_DENY && v.step <= PERMISSION_STEP_LIMIT &&
				    stage_decide(&again, call) != PERMISSION_DENY)
					fail_msg("%s %s passes", calls[i].tool, calls[i].input);
				permission_verdict_release(&v);
			}
			permission_release(&again);
			permission_line_release(&line);
		}
		permission_release(&other);
		tree_fell(&t);
	}
}

/* One who is there is not written down twice, however often its children go on. */
TEST(a_record_does_not_grow_with_each_return)
{
	struct permission main_agent = { 0 };
	struct permission boss, worker;
	struct permission_limit never = { "Bash", "rm *" };
	struct err err = { 0 };

	permission_derive(&boss, &main_agent, &(struct permission_birth){ .never = &never, .never_count = 1 });
	struct permission_line line;
	CHECK_INT(restore(&boss, &boss, &line, &err), 0);
	CHECK_INT(line.count, 0);
	permission_line_release(&line);
	CHECK_INT(restore(&boss, &main_agent, &line, &err), 0);
	CHECK_INT(line.count, 1);
	permission_derive(&worker, &line.list[0], &(struct permission_birth){ 0 });
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	permission_record_write(&w, &worker);
	CHECK_CSTR(text.p, "[{\"deny\":[\"Bash(rm *)\"]},{}]");
	permission_release(&worker);
	permission_line_release(&line);
	permission_release(&boss);
}

/* A member that has to present a plan first starts an agent whose definition has a wider mode. */
TEST(nothing_below_a_mode_that_a_call_chose_is_wider_than_it)
{
	const struct permission_birth wide = { .mode = "bypassPermissions", .mode_may_widen = true };
	struct permission main_agent = { .mode = PERMISSION_BYPASS };
	struct permission member, child, again;
	struct permission_line line;
	struct err err = { 0 };

	permission_derive(&member, &main_agent, &(struct permission_birth){ .mode = "plan", .mode_holds = true });
	permission_derive(&child, &member, &wide);
	CHECK_INT(permission_mode(&child), PERMISSION_PLAN);
	CHECK_INT(restore(&member, &main_agent, &line, &err), 0);
	permission_derive(&again, line_end(&line, &main_agent), &wide);
	CHECK_INT(permission_mode(&again), PERMISSION_PLAN);
	permission_inherit_mode(&member); /* the plan was approved */
	CHECK_INT(permission_mode(&child), PERMISSION_BYPASS);
	permission_release(&again);
	permission_line_release(&line);
	permission_release(&child);
	permission_release(&member);
}

int test_record(void)
{
	return RUN_TESTS(T(a_child_whose_ancestors_are_gone_is_as_limited_as_when_it_was_born),
			 T(no_call_passes_that_an_ancestor_forbids_in_any_tree),
			 T(limits_of_birth_hold_although_definitions_have_changed),
			 T(a_record_does_not_grow_with_each_return),
			 T(nothing_below_a_mode_that_a_call_chose_is_wider_than_it));
}
