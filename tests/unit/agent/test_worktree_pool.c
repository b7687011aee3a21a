/* SPDX-License-Identifier: MIT
 * test_worktree_pool.c - spare worktrees: given back clean, taken again, never the reason for a failure. */
#include "tests_worktree.h"
#include "worktree_stage.h"

#define POOLED ".claude/worktrees/pool-*"

TEST(a_clean_worktree_becomes_a_spare_one_and_then_the_next_agents)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	AUTO_FREE char *admin = xstrdup(w->admin);
	stage_must(&st, "echo secret >.claude/worktrees/agent-" ID_1 "/.env");

	stage_give_back(&st, w);
	CHECK(!st.kept);
	CHECK_INT(st.pool->repos->spare_count, 1);
	CHECK_STR(stage_says(&st, "ls -A " POOLED "; git branch --list 'worktree-*'; git -C " POOLED
				  " symbolic-ref -q HEAD; true"),
		  ".git\n.gitignore\na\nb\nsub");
	CHECK_STR(stage_says(&st, "git worktree list --porcelain | grep -c '^locked cadre spare'"), "1");
	w = stage_take(&st, ID_2);

	CHECK(w);
	CHECK_CSTR(w->admin, admin);
	CHECK(str_ends(str_from(w->path), STR("/agent-" ID_2)));
	CHECK_STR(stage_says(&st, "ls -A .claude/worktrees; ls -A .claude/worktrees/agent-" ID_2 ";"
				  "git -C .claude/worktrees/agent-" ID_2 " symbolic-ref --short HEAD;"
				  "git -C .claude/worktrees/agent-" ID_2 " status --porcelain"),
		  "agent-" ID_2 "\n.git\n.gitignore\na\nb\nsub\nworktree-agent-" ID_2);
	stage_give_back(&st, w);
	CHECK(!st.kept);
	stage_drain(&st);
	stage_check_nothing_left(&st);
	stage_release(&st);
}

TEST(a_spare_worktree_follows_head_and_only_changed_files_are_written)
{
	struct stage st;
	stage_init(&st);
	stage_give_back(&st, stage_take(&st, ID_1));
	stage_must(&st,
		   "echo new >b && git rm -q sub/c && git commit -q -a -m two; stat -c %%i " POOLED "/a >../inode");

	struct worktree *w = stage_take(&st, ID_2);

	CHECK_STR(stage_says(&st, "git rev-parse HEAD"), w->base);
	CHECK_STR(stage_says(&st, "cd .claude/worktrees/agent-" ID_2 "; cat b; ls; git status --porcelain;"
				  "stat -c %i a | diff - $HOME/inode"),
		  "new\na\nb");
	stage_give_back(&st, w);
	CHECK(!st.kept);
	stage_drain(&st);
	stage_release(&st);
}

TEST(what_one_agent_did_is_not_held_against_the_next)
{
	struct stage st;
	stage_init(&st);
	stage_give_back(&st, stage_take(&st, ID_1));
	stage_must(&st, "git commit -q --allow-empty -m two");
	stage_give_back(&st, stage_take(&st, ID_2));
	CHECK(!st.kept);

	stage_give_back(&st, stage_take(&st, ID_3));

	CHECK(!st.kept);
	stage_drain(&st);
	stage_release(&st);
}

TEST(a_spoilt_spare_worktree_costs_a_checkout_and_nothing_else)
{
	static const char *const harms[] = {
		"rm -rf " POOLED,
		"rm " POOLED "/.git",
		"for f in .git/worktrees/*/index; do echo x >$f; done",
		"for f in .git/worktrees/*/gitdir; do echo /elsewhere/.git >$f; done",
		"for d in " POOLED "; do echo x >$d/a; echo y >$d/new; done",
		"rm -rf .git/worktrees",
	};

	for (size_t i = 0; i < COUNT_OF(harms); i++) {
		struct stage st;
		stage_init(&st);
		stage_give_back(&st, stage_take(&st, ID_1));
		stage_must(&st, "%s", harms[i]);

		struct worktree *w = stage_take(&st, ID_2);

		if (!w)
			fail_msg("%s: %s", harms[i], st.err.text);
		CHECK_STR(stage_says(&st, "cd .claude/worktrees/agent-" ID_2 "; cat a sub/c;"
					  "git symbolic-ref --short HEAD; git diff HEAD"),
			  "a\nc\nworktree-agent-" ID_2);
		stage_give_back(&st, w);
		stage_drain(&st);
		stage_release(&st);
	}
}

TEST(a_worktree_with_settings_of_its_own_does_not_become_spare)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	stage_must(&st, "echo '[core]' >.git/worktrees/agent-" ID_1 "/config.worktree");

	stage_give_back(&st, w);

	CHECK(!st.kept);
	CHECK_INT(st.pool->repos->spare_count, 0);
	stage_check_nothing_left(&st);
	stage_release(&st);
}

TEST(of_two_takes_at_once_one_gets_the_only_spare_worktree)
{
	struct stage st;
	stage_init(&st);
	stage_give_back(&st, stage_take(&st, ID_1));
	struct stage second = { 0 };

	worktree_take(st.pool, &(struct worktree_spec){ .agent_id = ID_2, .cwd = st.repo }, stage_on_taken, &st);
	worktree_take(st.pool, &(struct worktree_spec){ .agent_id = ID_3, .cwd = st.repo }, stage_on_taken, &second);
	loop_run(st.loop);

	CHECK(st.w && second.w);
	CHECK(strcmp(st.w->admin, second.w->admin) != 0);
	CHECK_INT(st.pool->repos->spare_count, 0);
	stage_give_back(&st, st.w);
	stage_give_back(&st, second.w);
	stage_drain(&st);
	stage_check_nothing_left(&st);
	stage_release(&st);
}

TEST(after_a_drain_releases_remove)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);

	stage_drain(&st);
	stage_give_back(&st, w);

	CHECK(!st.kept);
	stage_check_nothing_left(&st);
	stage_drain(&st);
	CHECK_STR(stage_says(&st, "ls -a | grep -c claude; true"), "0");
	stage_release(&st);
}

int test_worktree_pool(void)
{
	return RUN_TESTS(T(a_clean_worktree_becomes_a_spare_one_and_then_the_next_agents),
			 T(a_spare_worktree_follows_head_and_only_changed_files_are_written),
			 T(what_one_agent_did_is_not_held_against_the_next),
			 T(a_spoilt_spare_worktree_costs_a_checkout_and_nothing_else),
			 T(a_worktree_with_settings_of_its_own_does_not_become_spare),
			 T(of_two_takes_at_once_one_gets_the_only_spare_worktree), T(after_a_drain_releases_remove));
}
