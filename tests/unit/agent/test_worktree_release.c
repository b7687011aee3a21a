/* SPDX-License-Identifier: MIT
 * test_worktree_release.c - what counts as work and is kept, and what does not and goes. */
#include "tests_worktree.h"
#include "worktree_stage.h"

#define HERE ".claude/worktrees/agent-" ID_1

TEST(a_worktree_is_removed_only_if_git_finds_no_work_in_it)
{
	static const struct {
		const char *what, *script, *why; /* why NULL: removed */
	} table[] = {
		{ "nothing", "true", NULL },
		{ "touched", "touch a b", NULL },
		{ "changed and changed back", "echo x >a; echo a >a", NULL },
		{ "an ignored file", "echo x >x.log", NULL },
		{ "an empty directory", "mkdir -p x/y", NULL },
		{ "a changed file", "echo x >a", "1 changed or untracked file" },
		{ "a deleted file", "rm a", "1 changed" },
		{ "a changed mode", "chmod +x a", "1 changed" },
		{ "an untracked file", "echo x >new; echo y >sub/new", "2 changed or untracked files" },
		{ "an untracked file deep in a new directory", "mkdir -p x/y && touch x/y/z", "1 changed" },
		{ "a staged file", "echo x >new && git add new", "1 changed" },
		{ "staged, then deleted", "echo x >new && git add new && rm new", "1 changed" },
		{ "a repository inside", "git init -q inner && touch inner/x", "1 changed" },
		{ "a commit", "git commit -q --allow-empty -m x", "it has commits" },
		{ "a commit that was left", "git commit -q --allow-empty -m x && git reset -q --hard HEAD~1",
		  "its HEAD was on other commits" },
		{ "a commit on a detached HEAD that was left",
		  "git checkout -q --detach && git commit -q --allow-empty -m x && git switch -q worktree-agent-" ID_1,
		  "its HEAD was on other commits" },
		{ "another branch", "git switch -q -c other", "another branch" },
		{ "a hidden change", "git update-index --assume-unchanged a && echo x >a", "hidden" },
		{ "a skipped change", "git update-index --skip-worktree a && echo x >a", "hidden" },
		{ "a conflict half done",
		  "git update-ref MERGE_HEAD HEAD || git rev-parse HEAD >$(git rev-parse --git-dir)/MERGE_HEAD",
		  "unfinished" },
		{ "untracked files that its own config hides", "git config status.showUntrackedFiles no; echo x >new",
		  "1 changed" },
		{ "a .git that leads elsewhere", "echo \"gitdir: $PWD/../../../.git\" >.git",
		  "not to a separate worktree" },
		{ "a .git that is gone", "rm .git", "does not name a worktree" },
		{ "an index that is broken", "echo x >$(git rev-parse --git-dir)/index", "git status failed" },
		{ "another common directory", "echo /tmp >$(git rev-parse --git-dir)/commondir", "was changed" },
		{ "objects that are gone", "rm -rf ../../../.git/objects", "git status failed" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage st;
		stage_init(&st);
		struct worktree *w = stage_take(&st, ID_1);
		stage_must(&st, "cd " HERE " && (%s)", table[i].script);

		stage_give_back(&st, w);

		if (st.kept != (table[i].why != NULL))
			fail_msg("%s: %s", table[i].what, st.kept ? st.why : "removed");
		if (st.kept && !str_has(str_from(st.why), str_from(table[i].why)))
			fail_msg("%s: %s", table[i].what, st.why);
		CHECK_INT(stage_sh(&st, "test -d " HERE), st.kept ? 0 : 1);
		CHECK_INT(stage_sh(&st, "test -e .git/worktrees/*/locked"), st.kept ? 1 : 0);
		stage_drain(&st);
		CHECK_INT(stage_sh(&st, "test -d " HERE), st.kept ? 0 : 1);
		if (!st.kept)
			stage_check_nothing_left(&st);
		stage_release(&st);
	}
}

TEST(a_kept_worktree_is_reported_with_path_and_branch_and_is_not_locked)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	AUTO_FREE char *path = xstrdup(w->path);
	stage_must(&st, "echo x >" HERE "/a && git -C " HERE " commit -q -a -m work");

	stage_give_back(&st, w);

	CHECK(st.kept);
	CHECK_CSTR(st.path, path);
	CHECK_CSTR(st.branch, "worktree-agent-" ID_1);
	CHECK_STR(stage_says(&st, "git log -1 --format=%s worktree-agent-" ID_1), "work");
	CHECK_STR(stage_says(&st, "git worktree list --porcelain | grep -c locked; true"), "0");
	stage_release(&st);
}

TEST(a_git_that_fails_while_deciding_keeps_and_after_it_harms_nothing)
{
	static const struct {
		const char *command;
		bool kept;
	} table[] = {
		{ "status", true }, { "ls-files", true }, { "--no-deref", false }, { "clean", false }, { "-d", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage st;
		stage_init(&st);
		struct worktree *w = stage_take(&st, ID_1);
		stage_break_git(&st, table[i].command, "echo 'fatal: no luck' >&2; exit 128");

		stage_give_back(&st, w);
		stage_mend_git();

		if (st.kept != table[i].kept)
			fail_msg("%s: %s", table[i].command, st.kept ? st.why : "removed");
		if (st.kept)
			CHECK(str_has(str_from(st.why), STR("no luck")));
		stage_drain(&st);
		CHECK_STR(stage_says(&st, "git worktree list | wc -l"), table[i].kept ? "2" : "1");
		stage_release(&st);
	}
}

TEST(a_release_that_is_cancelled_before_it_decided_keeps)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	stage_break_git(&st, "status", "exec sleep 1000");
	st.cancel_at = "inspect";

	stage_give_back(&st, w);
	stage_mend_git();

	CHECK(st.kept);
	CHECK_CSTR(st.why, "cancelled");
	stage_release(&st);
}

TEST(a_release_that_is_cancelled_after_it_decided_goes_on)
{
	static const char *const steps[] = { "detach", "forget", "clean" };

	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		struct stage st;
		stage_init(&st);
		struct worktree *w = stage_take(&st, ID_1);
		st.cancel_at = steps[i];

		stage_give_back(&st, w);

		CHECK(!st.cancel_at);
		CHECK(!st.kept);
		stage_drain(&st);
		stage_check_nothing_left(&st);
		stage_release(&st);
	}
}

TEST(the_branch_goes_also_when_it_is_packed_or_the_packed_ones_are_locked)
{
	static const char *const given[] = { "git pack-refs --all", "touch .git/packed-refs.lock" };

	for (size_t i = 0; i < COUNT_OF(given); i++) {
		struct stage st;
		stage_init(&st);
		struct worktree *w = stage_take(&st, ID_1);
		stage_must(&st, "%s", given[i]);

		stage_give_back(&st, w);

		CHECK(!st.kept);
		CHECK_STR(stage_says(&st, "git branch --list 'worktree-*'; ls .git/logs/refs/heads"), "main");
		stage_drain(&st);
		stage_release(&st);
	}
}

TEST(the_record_outlives_the_branch_so_that_a_crash_leaves_no_branch_without_one)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	stage_drain(&st); /* no spare ones from here on */
	stage_break_git(&st, "remove", "git branch --list 'worktree-*' >$HOME/seen");

	stage_give_back(&st, w);
	stage_mend_git();

	CHECK(!st.kept);
	CHECK_STR(stage_says(&st, "cat ../seen && echo asked"), "asked");
	stage_check_nothing_left(&st);
	stage_release(&st);
}

TEST(a_branch_that_somebody_moved_stays)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	stage_must(&st, "git -C " HERE " checkout -q --detach; git commit -q --allow-empty -m other &&"
			"git branch -f worktree-agent-" ID_1 " main");

	stage_give_back(&st, w);

	CHECK(!st.kept);
	CHECK_STR(stage_says(&st, "git log -1 --format=%s worktree-agent-" ID_1), "other");
	stage_drain(&st);
	stage_release(&st);
}

TEST(an_agent_comes_back_to_its_kept_worktree_and_its_old_base)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	char base[COMMIT_MAX + 1];
	snprintf(base, sizeof base, "%s", w->base);
	stage_must(&st, "git -C " HERE " commit -q --allow-empty -m work; git commit -q --allow-empty -m main");
	stage_give_back(&st, w);
	stage_reopen(&st);

	w = stage_adopt(&st, ID_1, base);

	CHECK(w);
	CHECK_CSTR(w->base, base);
	CHECK_STR(stage_says(&st, "git -C " HERE " log -1 --format=%s"), "work");
	CHECK_STR(stage_says(&st, "git worktree list --porcelain | grep -c '^locked cadre agent'"), "1");
	stage_give_back(&st, w);
	CHECK_CSTR(st.why, "it has commits");
	stage_release(&st);
}

TEST(a_worktree_that_is_gone_is_made_again_from_its_branch_or_its_base)
{
	static const struct {
		const char *gone, *subject;
	} table[] = {
		{ "rm -rf " HERE, "work" },
		{ "git worktree remove -f " HERE, "work" },
		{ "git worktree remove -f " HERE "; git branch -q -D worktree-agent-" ID_1, "one" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage st;
		stage_init(&st);
		struct worktree *w = stage_take(&st, ID_1);
		char base[COMMIT_MAX + 1];
		snprintf(base, sizeof base, "%s", w->base);
		stage_must(&st, "git -C " HERE " commit -q --allow-empty -m work; git commit -q --allow-empty -m main");
		stage_give_back(&st, w);
		stage_must(&st, "%s", table[i].gone);

		w = stage_adopt(&st, ID_1, base);

		if (!w)
			fail_msg("row %zu: %s", i, st.err.text);
		CHECK_CSTR(w->base, base);
		CHECK_STR(stage_says(&st, "git -C " HERE " log -1 --format=%s"), table[i].subject);
		CHECK_STR(stage_says(&st, "git -C " HERE " symbolic-ref --short HEAD"), "worktree-agent-" ID_1);
		stage_give_back(&st, w);
		CHECK_INT(st.kept, i < 2);
		stage_drain(&st);
		stage_release(&st);
	}
}

TEST(an_adoption_that_is_cancelled_leaves_the_worktree_as_it_was)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	stage_must(&st, "echo x >" HERE "/a");
	stage_give_back(&st, w);
	st.cancel_at = "taken";

	w = stage_adopt(&st, ID_1, NULL);

	CHECK(!w);
	CHECK_INT(st.err.kind, ERR_CANCELLED);
	CHECK_STR(stage_says(&st, "cat " HERE "/a; git worktree list --porcelain | grep -c locked; true"), "x\n0");
	stage_release(&st);
}

TEST(a_worktree_that_somebody_has_is_not_adopted)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);

	CHECK(!stage_adopt(&st, ID_1, NULL));
	CHECK_INT(st.err.kind, ERR_BUSY);
	CHECK(str_has(str_from(st.err.text), STR("works in")));
	stage_must(&st, "echo x >" HERE "/a");
	stage_give_back(&st, w);
	stage_must(&st, "git worktree lock --reason mine " HERE);
	CHECK(!stage_adopt(&st, ID_1, NULL));
	CHECK_INT(st.err.kind, ERR_BUSY);

	CHECK(str_has(str_from(st.err.text), STR("locked by another program: mine")));
	CHECK_STR(stage_says(&st, "git worktree list --porcelain | grep '^locked'; cat " HERE "/a"), "locked mine\nx");
	stage_release(&st);
}

/* Each file that this program or its git reads or writes in the admin directory is moved out and linked to, so that all
 * checks of its content succeed. */
TEST(what_an_agent_links_to_from_its_admin_directory_is_never_changed)
{
	static const char *const names[] = {
		"locked", "gitdir", "HEAD",      "commondir",       "logs/HEAD",
		"logs",   "index",  "ORIG_HEAD", "config.worktree", "tmp",
	};
	static const char look[] =
		"find $HOME/out | sort; cat $(find $HOME/out -type f | sort) | cksum; cksum .git/index; "
		"git status --porcelain; git rev-parse HEAD";

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct stage st;
		stage_init(&st);
		struct worktree *w = stage_take(&st, ID_1);
		int ruleset = worktree_landlock(w, false, NULL, NULL);
		if (ruleset > 0)
			close(ruleset);
		stage_must(&st,
			   "cd .git/worktrees/agent-" ID_1 " && mkdir -p $HOME/out/logs && touch $HOME/out/file && "
			   "if test -e %s; then mv %s $HOME/out/%s; fi; ln -sfn $HOME/out/%s %s",
			   names[i], names[i], names[i], names[i], names[i]);
		AUTO_FREE char *before = xstrdup(stage_says(&st, look).p);

		stage_give_back(&st, w);
		if (st.kept && (w = stage_adopt(&st, ID_1, NULL))) {
			if ((ruleset = worktree_landlock(w, false, NULL, NULL)) > 0)
				close(ruleset);
			stage_give_back(&st, w);
		}
		if ((w = stage_take(&st, ID_2)))
			stage_give_back(&st, w);
		stage_drain(&st);

		if (strcmp(stage_says(&st, look).p, before) != 0)
			fail_msg("%s: was %s, is %s", names[i], before, st.out.p);
		stage_release(&st);
	}
}

/* A dead process's worktree is claimed and removed; what it says about itself may be a lie. */
TEST(a_pointer_that_leads_out_of_the_metadata_is_not_repaired)
{
	struct stage st;
	stage_init(&st);
	stage_must(&st, "mkdir -p $HOME/out " HERE
			" && echo /none/.git >$HOME/out/victim && ln -s ../out/victim $HOME/out/gitdir && "
			"printf 'cadre agent agent " ID_1 " base %%s pid 1 start 1 space %%s\\n' $(git rev-parse HEAD) "
			"$(stat -Lc %%i /proc/self/ns/pid) >$HOME/out/locked && "
			"echo \"gitdir: $PWD/.git/../../out\" >" HERE "/.git && echo x >" HERE "/x");
	struct str said = stage_says(&st, "ls -l $HOME/out; cat $HOME/out/victim");
	AUTO_FREE char *before = xstrndup(said.p, said.n);

	struct worktree *w = stage_take(&st, ID_2);
	stage_give_back(&st, w);
	stage_drain(&st);

	CHECK_STR(stage_says(&st, "ls -l $HOME/out; cat $HOME/out/victim"), before);
	stage_release(&st);
}

int test_worktree_release(void)
{
	return RUN_TESTS(T(a_worktree_is_removed_only_if_git_finds_no_work_in_it),
			 T(a_kept_worktree_is_reported_with_path_and_branch_and_is_not_locked),
			 T(a_git_that_fails_while_deciding_keeps_and_after_it_harms_nothing),
			 T(a_release_that_is_cancelled_before_it_decided_keeps),
			 T(a_release_that_is_cancelled_after_it_decided_goes_on),
			 T(the_branch_goes_also_when_it_is_packed_or_the_packed_ones_are_locked),
			 T(the_record_outlives_the_branch_so_that_a_crash_leaves_no_branch_without_one),
			 T(a_branch_that_somebody_moved_stays),
			 T(an_agent_comes_back_to_its_kept_worktree_and_its_old_base),
			 T(a_worktree_that_is_gone_is_made_again_from_its_branch_or_its_base),
			 T(an_adoption_that_is_cancelled_leaves_the_worktree_as_it_was),
			 T(a_worktree_that_somebody_has_is_not_adopted),
			 T(what_an_agent_links_to_from_its_admin_directory_is_never_changed),
			 T(a_pointer_that_leads_out_of_the_metadata_is_not_repaired));
}
