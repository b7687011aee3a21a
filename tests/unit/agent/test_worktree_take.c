/* SPDX-License-Identifier: MIT
 * test_worktree_take.c - making worktrees: where, from what, with what in them, and what is refused or undone. */
#include "tests_worktree.h"
#include "worktree_stage.h"

TEST(a_worktree_has_its_own_directory_branch_and_lock_and_main_stays_clean)
{
	struct stage st;
	stage_init(&st);
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf reason = { 0 };
	buf_addf(&path, "%s/.claude/worktrees/agent-" ID_1, st.repo);

	struct worktree *w = stage_take(&st, ID_1);

	CHECK_CSTR(w->path, path.p);
	CHECK_CSTR(w->branch, "worktree-agent-" ID_1);
	CHECK_STR(stage_says(&st, "git rev-parse HEAD"), w->base);
	CHECK_STR(stage_says(&st, "cat .claude/worktrees/agent-" ID_1 "/sub/c"), "c");
	CHECK_STR(stage_says(&st, "git -C .claude/worktrees/agent-" ID_1 " symbolic-ref --short HEAD"), w->branch);
	buf_addf(&reason, "locked cadre agent agent " ID_1 " base %s pid %d start ", w->base, (int)getpid());
	CHECK(str_has(stage_says(&st, "git worktree list --porcelain"), buf_str(&reason)));
	CHECK_STR(stage_says(&st, "git status --porcelain"), "");
	CHECK_STR(stage_says(&st, "grep -c '^.claude/worktrees/$' .git/info/exclude"), "1");

	stage_give_back(&st, w);
	stage_drain(&st);
	stage_release(&st);
}

TEST(a_worktree_starts_at_head_of_the_checkout_that_spawns_wherever_in_it)
{
	struct stage st;
	stage_init(&st);
	AUTO_BUF struct buf linked = { 0 };
	AUTO_BUF struct buf sub = { 0 };
	buf_addf(&linked, "%s/linked/sub", st.dir);
	buf_addf(&sub, "%s/sub", st.repo);
	stage_must(
		&st,
		"git worktree add -q -b other ../linked && cd ../linked && echo x >x && git add x && git commit -q -m x");

	struct worktree *first = stage_take_as(&st, &(struct worktree_spec){ .agent_id = ID_1, .cwd = sub.p });
	struct worktree *second = stage_take_as(&st, &(struct worktree_spec){ .agent_id = ID_2, .cwd = linked.p });
	struct worktree *third = stage_take_as(&st, &(struct worktree_spec){ .agent_id = ID_3, .cwd = second->path });

	CHECK_STR(stage_says(&st, "git rev-parse main"), first->base);
	CHECK_STR(stage_says(&st, "git rev-parse other"), second->base);
	CHECK_STR(stage_says(&st, "git rev-parse other"), third->base);
	CHECK_CSTR(second->root, st.repo);
	CHECK_CSTR(third->root, st.repo);
	CHECK(str_ends(str_from(second->origin), STR("/linked")));
	CHECK_CSTR(third->origin, second->path);

	stage_give_back(&st, first);
	stage_give_back(&st, second);
	stage_give_back(&st, third);
	stage_drain(&st);
	stage_release(&st);
}

TEST(what_cannot_be_a_place_for_a_worktree_is_refused_with_the_reason)
{
	static const struct {
		const char *given, *id, *cwd, *text;
		int kind;
	} table[] = {
		{ "mkdir ../plain", ID_1, "/../plain", "is not in a git repository", ERR_NOT_FOUND },
		{ "true", ID_1, "/no/such/dir", "No such file or directory", ERR_IO },
		{ "git init -q ../empty", ID_1, "/../empty", "has no commit yet", ERR_NOT_FOUND },
		{ "mkdir ../x && ln -s ../x .claude", ID_1, "", ".claude is a symbolic link", ERR_DENIED },
		{ "mkdir ../x .claude && ln -s ../../x .claude/worktrees", ID_1, "", "worktrees is a symbolic link",
		  ERR_DENIED },
		{ "mkdir -p ../x .claude/worktrees && ln -s ../../../x .claude/worktrees/agent-" ID_1, ID_1, "",
		  "agent-" ID_1 " is a symbolic link", ERR_DENIED },
		{ "touch .claude", ID_1, "", ".claude is not a directory", ERR_DENIED },
		{ "mkdir -p .claude/worktrees/agent-" ID_1 "/x", ID_1, "", "exists already", ERR_BUSY },
		{ "git branch worktree-agent-" ID_1, ID_1, "", "already exists", ERR_IO },
		{ "true", "a/../../../../etc", "", "not an agent id", ERR_USAGE },
		{ "true", "", "", "not an agent id", ERR_USAGE },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage st;
		AUTO_BUF struct buf cwd = { 0 };
		stage_init(&st);
		buf_addf(&cwd, "%s%s", st.repo, table[i].cwd);
		stage_must(&st, "%s", table[i].given);
		AUTO_FREE char *before = stage_snapshot(&st);

		struct worktree *w =
			stage_take_as(&st, &(struct worktree_spec){ .agent_id = table[i].id, .cwd = cwd.p });

		CHECK(!w);
		if (!str_has(str_from(st.err.text), str_from(table[i].text)) || (int)st.err.kind != table[i].kind)
			fail_msg("row %zu: kind %d, %s", i, (int)st.err.kind, st.err.text);
		stage_drain(&st);
		AUTO_FREE char *after = stage_snapshot(&st);
		CHECK_CSTR(after, before);
		stage_release(&st);
	}
}

TEST(metadata_that_leads_to_the_main_checkout_is_refused)
{
	struct stage st;
	stage_init(&st);
	stage_must(&st, "mkdir -p .claude/worktrees/agent-" ID_1 " && "
			"echo \"gitdir: $PWD/.git\" >.claude/worktrees/agent-" ID_1 "/.git");

	struct worktree *w = stage_adopt(&st, ID_1, NULL);

	CHECK(!w);
	CHECK_INT(st.err.kind, ERR_DENIED);
	CHECK(str_has(str_from(st.err.text), STR("not to a separate worktree")));
	CHECK_STR(stage_says(&st, "ls .git/locked 2>/dev/null | wc -l"), "0");
	stage_release(&st);
}

TEST(files_of_worktreeinclude_are_copied_if_they_are_ignored)
{
	struct stage st;
	stage_init(&st);
	stage_must(
		&st,
		"printf '.env\\n/deep/**/keep.log\\nplain\\nlink.log\\n' >.worktreeinclude;"
		"echo secret >.env; echo no >other.log; echo untracked >plain; mkdir -p deep/er;"
		"echo yes >deep/er/keep.log; chmod 700 deep/er/keep.log; ln -s /etc/passwd link.log; echo changed >a");

	struct worktree *w = stage_take(&st, ID_1);

	CHECK(w);
	CHECK_STR(
		stage_says(&st, "cd .claude/worktrees/agent-" ID_1 "; find . -type f -o -type l | sort | tr '\\n' ' '"),
		"./.env ./.git ./.gitignore ./a ./b ./deep/er/keep.log ./sub/c");
	CHECK_STR(stage_says(&st, "cd .claude/worktrees/agent-" ID_1 "; cat .env a; stat -c %a deep/er/keep.log"),
		  "secret\na\n700");
	stage_give_back(&st, w);
	CHECK(!st.kept);
	stage_drain(&st);
	stage_release(&st);
}

TEST(directories_are_linked_and_the_links_are_no_work)
{
	struct stage st;
	stage_init(&st);
	static const char *const dirs[] = { "node_modules", "deep/cache/", "sub", "absent", NULL };
	stage_must(&st, "mkdir -p node_modules deep/cache && echo x >node_modules/x");

	struct worktree *w =
		stage_take_as(&st, &(struct worktree_spec){ .agent_id = ID_1, .cwd = st.repo, .symlink_dirs = dirs });

	CHECK(w);
	CHECK_STR(stage_says(&st, "cd .claude/worktrees/agent-" ID_1 "; cat node_modules/x; test -L deep/cache &&"
				  "test ! -L sub && test ! -e absent && echo as expected"),
		  "x\nas expected");
	stage_give_back(&st, w);
	CHECK(!st.kept);
	stage_drain(&st);
	CHECK_STR(stage_says(&st, "cat node_modules/x"), "x");
	stage_release(&st);
}

TEST(a_link_that_would_leave_the_worktree_is_an_error)
{
	struct stage st;
	stage_init(&st);
	static const char *const dirs[] = { "../repo/sub", NULL };

	struct worktree *w =
		stage_take_as(&st, &(struct worktree_spec){ .agent_id = ID_1, .cwd = st.repo, .symlink_dirs = dirs });

	CHECK(!w);
	CHECK_INT(st.err.kind, ERR_USAGE);
	CHECK_STR(stage_says(&st, "git worktree list | wc -l; git branch --list 'worktree-*' | wc -l"), "1\n0");
	stage_release(&st);
}

TEST(a_sparse_worktree_has_only_what_it_needs_and_is_released_as_clean)
{
	struct stage st;
	stage_init(&st);
	static const char *const paths[] = { "sub", NULL };
	stage_must(&st, "mkdir big && echo x >big/x && git add big && git commit -q -m big");

	struct worktree *w =
		stage_take_as(&st, &(struct worktree_spec){ .agent_id = ID_1, .cwd = st.repo, .sparse_paths = paths });

	CHECK(w);
	CHECK_STR(stage_says(&st, "cd .claude/worktrees/agent-" ID_1 "; echo *; git status --porcelain"), "a b sub");
	stage_give_back(&st, w);
	CHECK(!st.kept);
	CHECK_INT(st.pool->repos->spare_count, 0);
	CHECK_STR(stage_says(&st, "git worktree list | wc -l; echo *"), "1\na b big sub");
	stage_release(&st);
}

static struct worktree *take_fresh(struct stage *st, const char *id)
{
	return stage_take_as(st, &(struct worktree_spec){ .agent_id = id, .cwd = st->repo, .fresh = true });
}

TEST(fresh_starts_at_the_default_branch_of_origin_and_asks_it_once_a_day)
{
	struct stage st;
	stage_init(&st);
	stage_must(&st, "cd .. && mv repo server && git clone -q server repo && cd server &&"
			"git commit -q --allow-empty -m two && git rev-parse HEAD >../two");

	struct worktree *first = take_fresh(&st, ID_1);
	CHECK_STR(stage_says(&st, "cat ../two"), first->base);
	stage_must(&st, "cd ../server && git commit -q --allow-empty -m three");
	struct worktree *second = take_fresh(&st, ID_2);
	CHECK_STR(stage_says(&st, "cat ../two"), second->base);
	stage_must(&st, "touch -d '25 hours ago' .git/FETCH_HEAD");
	struct worktree *third = take_fresh(&st, ID_3);
	CHECK_STR(stage_says(&st, "git -C ../server rev-parse HEAD"), third->base);

	stage_give_back(&st, first);
	stage_give_back(&st, second);
	stage_give_back(&st, third);
	stage_drain(&st);
	stage_release(&st);
}

TEST(fresh_without_an_origin_or_with_one_that_does_not_answer_starts_at_head)
{
	struct stage st;
	stage_init(&st);
	st.pool->fetch_cap_ms = 50;

	struct worktree *first = take_fresh(&st, ID_1);
	setenv("GIT_SSH_COMMAND", "sleep 1000; :", 1);
	stage_must(&st, "git remote add origin nowhere:repo");
	struct worktree *second = take_fresh(&st, ID_2);
	unsetenv("GIT_SSH_COMMAND");

	CHECK(first && second);
	CHECK_STR(stage_says(&st, "git rev-parse HEAD"), first->base);
	CHECK_STR(stage_says(&st, "git rev-parse HEAD"), second->base);
	stage_give_back(&st, first);
	stage_give_back(&st, second);
	stage_drain(&st);
	stage_release(&st);
}

TEST(neither_hooks_nor_git_variables_have_a_say)
{
	struct stage st;
	stage_init(&st);
	stage_must(&st,
		   "for h in post-checkout reference-transaction post-index-change; do"
		   " printf '#!/bin/sh\\ntouch %s/ran\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done",
		   st.dir);
	setenv("GIT_DIR", "/no/such/dir", 1);
	setenv("GIT_WORK_TREE", "/", 1);
	setenv("GIT_INDEX_FILE", "/no/such/index", 1);

	struct worktree *w = stage_take(&st, ID_1);
	CHECK(w);
	stage_give_back(&st, w);
	stage_drain(&st);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	unsetenv("GIT_INDEX_FILE");

	CHECK(!st.kept);
	CHECK_STR(stage_says(&st, "ls ../ran 2>/dev/null | wc -l"), "0");
	stage_release(&st);
}

TEST(a_git_that_fails_leaves_nothing_and_its_words_are_the_error)
{
	static const char *const commands[] = { "rev-parse",    "add",      "reset",       "update-ref",
						"symbolic-ref", "ls-files", "check-ignore" };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct stage st;
		stage_init(&st);
		stage_must(&st, "echo .env >.worktreeinclude; echo x >.env");
		stage_break_git(&st, commands[i], "echo 'fatal: no luck' >&2; exit 128");

		struct worktree *w = stage_take(&st, ID_1);
		stage_mend_git();

		CHECK(!w);
		CHECK(str_has(str_from(st.err.text), STR("no luck")));
		CHECK_INT(st.err.kind, ERR_IO);
		stage_check_nothing_left(&st);
		stage_release(&st);
	}
}

TEST(what_a_git_left_that_died_while_adding_is_removed)
{
	static const char *const left[] = {
		"mkdir -p $A",
		"mkdir -p $A $W; echo $W/.git >$A/gitdir",
		"mkdir -p $A $W; echo $W/.git >$A/gitdir; echo gitdir: $A >$W/.git",
		"mkdir -p $W; echo gitdir: $A >$W/.git; rm -rf $A",
		"PATH=${PATH#*:} git \"$@\"",
	};

	for (size_t i = 0; i < COUNT_OF(left); i++) {
		struct stage st;
		AUTO_BUF struct buf effect = { 0 };
		stage_init(&st);
		buf_addf(&effect,
			 "A=%s/.git/worktrees/agent-" ID_1 " W=%s/.claude/worktrees/agent-" ID_1 "; %s;"
			 "while [ $# -gt 0 ]; do [ \"$1\" = --reason ] && [ -d $A ] && echo \"$2\" >$A/locked;"
			 "shift; done; kill -9 $$",
			 st.repo, st.repo, left[i]);
		stage_break_git(&st, "add", effect.p);

		struct worktree *w = stage_take(&st, ID_1);
		stage_mend_git();

		CHECK(!w);
		CHECK_INT(st.err.kind, ERR_IO);
		stage_check_nothing_left(&st);
		stage_release(&st);
	}
}

TEST(without_git_the_error_says_so)
{
	struct stage st;
	stage_init(&st);
	AUTO_FREE char *path = xstrdup(getenv("PATH"));

	setenv("PATH", "/no/such/dir", 1);
	struct worktree *w = stage_take(&st, ID_1);
	setenv("PATH", path, 1);

	CHECK(!w);
	CHECK(str_has(str_from(st.err.text), STR("cannot run git")));
	stage_release(&st);
}

TEST(a_cancel_at_any_step_undoes_all_and_is_reported_once)
{
	static const char *const steps[] = { "probe",  "sweep",  "base",  "place",   "add",     "fill", "populate",
					     "branch", "attach", "extra", "include", "ignored", "copy" };

	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		struct stage st;
		stage_init(&st);
		stage_must(&st, "echo .env >.worktreeinclude; echo x >.env");
		st.cancel_at = steps[i];

		struct worktree *w = stage_take(&st, ID_1);

		CHECK(!w);
		CHECK(!st.cancel_at);
		CHECK_INT(st.err.kind, ERR_CANCELLED);
		CHECK_INT(st.dones, 1);
		stage_check_nothing_left(&st);
		stage_release(&st);
	}
}

TEST(a_cancel_ends_a_git_that_hangs)
{
	struct stage st;
	stage_init(&st);
	stage_break_git(&st, "reset", "exec sleep 1000");
	st.cancel_at = "populate";

	struct worktree *w = stage_take(&st, ID_1);
	stage_mend_git();

	CHECK(!w);
	CHECK_INT(st.err.kind, ERR_CANCELLED);
	stage_check_nothing_left(&st);
	stage_release(&st);
}

enum { MANY = 20 };

struct crowd {
	struct worktree *w[MANY];
	unsigned taken, released, most;
	struct worktree_pool *pool;
};

static void on_one_taken(struct worktree *w, const struct err *err, void *data)
{
	struct crowd *c = data;

	if (!w)
		fail_msg("%s", err->text);
	c->most = MAX(c->most, c->pool->active_count);
	c->w[c->taken++] = w;
}

static void on_one_released(const struct worktree_end *end, void *data)
{
	struct crowd *c = data;

	CHECK(!end->kept);
	c->released++;
}

TEST(twenty_takes_at_once_give_twenty_worktrees_and_all_go_again)
{
	struct stage st;
	stage_init(&st);
	struct crowd c = { .pool = st.pool };
	AUTO_FREE char *before = stage_snapshot(&st);

	for (int i = 0; i < MANY; i++) {
		char id[18];
		snprintf(id, sizeof id, "a%016x", i);
		worktree_take(st.pool, &(struct worktree_spec){ .agent_id = id, .cwd = st.repo }, on_one_taken, &c);
	}
	loop_run(st.loop);
	CHECK_INT(c.taken, MANY);
	CHECK(c.most <= PARALLEL_JOBS);
	CHECK_STR(stage_says(&st, "git worktree list | grep -c 'worktree-agent.* locked'"), "20");
	for (int i = 0; i < MANY; i++)
		worktree_release(st.pool, c.w[i], on_one_released, &c);
	loop_run(st.loop);

	CHECK_INT(c.released, MANY);
	CHECK_INT(st.pool->repos->spare_count, SPARE_MAX);
	CHECK_STR(stage_says(&st, "git worktree list | wc -l"), "5");
	stage_drain(&st);
	AUTO_FREE char *after = stage_snapshot(&st);
	CHECK_CSTR(after, before);
	stage_release(&st);
}

/* One of many that may be cancelled; job is NULL once it has ended */
struct rider {
	struct crowd *crowd;
	struct worktree_job *job;
	unsigned ends;
};

static void on_rider_taken(struct worktree *w, const struct err *err, void *data)
{
	struct rider *r = data;

	if (!w && err->kind != ERR_CANCELLED)
		fail_msg("%s", err->text);
	r->job = NULL;
	r->ends++;
	r->crowd->taken += w != NULL;
	if (w)
		worktree_release(r->crowd->pool, w, on_one_released, r->crowd);
}

struct dice {
	uint32_t seed;
	struct rider *riders;
};

static void on_some_turn(uv_check_t *check)
{
	struct dice *d = check->data;

	d->seed = d->seed * 1103515245 + 12345;
	size_t i = (d->seed >> 16) % (2 * MANY);
	if (i < MANY && d->riders[i].job)
		worktree_job_cancel(d->riders[i].job);
}

TEST(takes_that_are_cancelled_at_random_turns_each_end_once_and_leave_nothing)
{
	struct stage st;
	stage_init(&st);
	AUTO_FREE char *before = stage_snapshot(&st);
	struct crowd c = { .pool = st.pool };
	struct rider riders[MANY] = { 0 };
	struct dice dice = { .seed = 7, .riders = riders };
	uv_check_t check = { .data = &dice };
	uv_check_init(loop_uv(st.loop), &check);
	uv_check_start(&check, on_some_turn);
	uv_unref((uv_handle_t *)&check);

	for (int i = 0; i < MANY; i++) {
		char id[18];
		snprintf(id, sizeof id, "a%016x", i);
		riders[i].crowd = &c;
		riders[i].job = worktree_take(st.pool, &(struct worktree_spec){ .agent_id = id, .cwd = st.repo },
					      on_rider_taken, &riders[i]);
	}
	loop_run(st.loop);
	uv_close((uv_handle_t *)&check, NULL);
	loop_run(st.loop);
	stage_drain(&st);

	for (int i = 0; i < MANY; i++)
		CHECK_INT(riders[i].ends, 1);
	CHECK_INT(c.released, c.taken);
	AUTO_FREE char *after = stage_snapshot(&st);
	CHECK_CSTR(after, before);
	stage_release(&st);
}

int test_worktree_take(void)
{
	return RUN_TESTS(T(a_worktree_has_its_own_directory_branch_and_lock_and_main_stays_clean),
			 T(a_worktree_starts_at_head_of_the_checkout_that_spawns_wherever_in_it),
			 T(what_cannot_be_a_place_for_a_worktree_is_refused_with_the_reason),
			 T(metadata_that_leads_to_the_main_checkout_is_refused),
			 T(files_of_worktreeinclude_are_copied_if_they_are_ignored),
			 T(directories_are_linked_and_the_links_are_no_work),
			 T(a_link_that_would_leave_the_worktree_is_an_error),
			 T(a_sparse_worktree_has_only_what_it_needs_and_is_released_as_clean),
			 T(fresh_starts_at_the_default_branch_of_origin_and_asks_it_once_a_day),
			 T(fresh_without_an_origin_or_with_one_that_does_not_answer_starts_at_head),
			 T(neither_hooks_nor_git_variables_have_a_say),
			 T(a_git_that_fails_leaves_nothing_and_its_words_are_the_error),
			 T(what_a_git_left_that_died_while_adding_is_removed), T(without_git_the_error_says_so),
			 T(a_cancel_at_any_step_undoes_all_and_is_reported_once), T(a_cancel_ends_a_git_that_hangs),
			 T(twenty_takes_at_once_give_twenty_worktrees_and_all_go_again),
			 T(takes_that_are_cancelled_at_random_turns_each_end_once_and_leave_nothing));
}
