/* SPDX-License-Identifier: MIT
 * test_worktree_guard.c - the processes of an agent stay in its worktree. */
#include "tests_worktree.h"
#include <sys/wait.h>
#include "lib/confine/landlock.h"
#include "worktree_stage.h"

#define HERE ".claude/worktrees/agent-" ID_1

static void on_exit_status(struct child *c, int status)
{
	*(int *)child_data(c) = status;
}

static int run_confined(struct stage *st, int ruleset, const char *cwd, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	const struct child_options options = { .argv = argv, .cwd = cwd, .landlock_fd = ruleset };
	const struct child_handlers handlers = { .on_exit = on_exit_status };
	int status = -1;
	struct err err = { 0 };

	if (spawn_start(st->spawner, &options, &handlers, &status, NULL, &err) < 0)
		fail_msg("%s", err.text);
	loop_run(st->loop);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(a_ruleset_is_either_made_or_refused_as_a_limit)
{
	static const char *const dirs[] = { "/tmp", NULL };
	struct err err = { 0 };

	int fd = landlock_new(&(struct landlock_rules){ .dirs = dirs }, &err);

	if (landlock_available()) {
		CHECK(fd > 2);
		close(fd);
	} else {
		CHECK_INT(fd, -ERR_LIMIT);
	}
}

TEST(a_place_that_is_not_there_cannot_be_allowed)
{
	static const char *const dirs[] = { "/no/such/dir", NULL };
	struct err err = { 0 };

	if (!landlock_available())
		skip();
	CHECK_INT(landlock_new(&(struct landlock_rules){ .dirs = dirs }, &err), -ERR_NOT_FOUND);
	CHECK_CSTR(err.text, "cannot allow writes to /no/such/dir: No such file or directory");
}

TEST(a_confined_agent_works_and_commits_and_cannot_write_elsewhere)
{
	static const struct {
		const char *script;
		bool works;
	} table[] = {
		{ "echo x >new && mkdir -p p/q && mv new p/q/ && rm -r p", true },
		{ "cat ../../../a ../../../.git/config >/dev/null", true },
		{ "echo x >$TMP/scratch && mv $TMP/scratch ./scratch && rm scratch", true },
		{ "echo x >a && git add a && git commit -q -m work && git status && git log -1", true },
		{ "git commit -q --amend -m better && git checkout -q HEAD~1 -- a && git reset -q --hard", true },
		{ "echo x >../../../a", false },
		{ "echo x >../../../new", false },
		{ "rm ../../../b", false },
		{ "mv ../../../b .", false },
		{ "ln ../../../b hard", false },
		{ ": >../../../b", false },
		{ "truncate -s 0 ../../../b", false },
		{ "ln -s $PWD/../../../b soft && echo x >soft", false },
		{ "echo x >../../../.git/config", false },
		{ "git config user.name x", false },
		{ "echo x >../../../.git/hooks/pre-commit", false },
		{ "echo x >../../../.git/refs/heads/main", false },
		{ "git branch -f other HEAD", false },
		{ "git branch -D other", false },
		{ "git update-ref refs/heads/main HEAD", false },
		{ "git -C ../../.. commit -q --allow-empty -m x", false },
		{ "git pack-refs --all", false },
		{ "echo x >$HOME/x", false },
	};
	struct stage st;
	stage_init(&st);
	if (!landlock_available()) {
		stage_release(&st);
		skip();
	}
	stage_must(&st, "git branch other; mkdir ../tmp");
	struct worktree *w = stage_take(&st, ID_1);
	AUTO_BUF struct buf tmp = { 0 };
	buf_addf(&tmp, "%s/tmp", st.dir);
	setenv("TMP", tmp.p, 1);
	const char *const dirs[] = { tmp.p, NULL };
	struct err err = { 0 };
	int ruleset = worktree_landlock(w, false, dirs, &err);
	if (ruleset < 0)
		fail_msg("%s", err.text);

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if ((run_confined(&st, ruleset, w->path, table[i].script) == 0) != table[i].works)
			fail_msg("%s", table[i].script);

	unsetenv("TMP");
	close(ruleset);
	CHECK_STR(stage_says(&st, "cat a b; git log -1 --format=%s main; git log -1 --format=%s other;"
				  "git log -1 --format=%s worktree-agent-" ID_1 "; git status --porcelain"),
		  "a\nb\none\none\none");
	stage_must(&st, "rm -f " HERE "/hard " HERE "/soft");
	stage_give_back(&st, w);
	CHECK(st.kept);
	CHECK_CSTR(st.why, "it has commits");
	CHECK_STR(stage_says(&st, "git log -1 --format=%s worktree-agent-" ID_1 ";"
				  "git -C " HERE " symbolic-ref --short HEAD; git -C " HERE " status --porcelain"),
		  "better\nworktree-agent-" ID_1);
	stage_release(&st);
}

TEST(a_confined_agent_without_work_leaves_nothing)
{
	struct stage st;
	stage_init(&st);
	struct worktree *w = stage_take(&st, ID_1);
	struct err err = { 0 };
	int ruleset = worktree_landlock(w, false, NULL, &err);
	CHECK(ruleset > 0 || ruleset == -ERR_LIMIT);
	if (ruleset > 0)
		close(ruleset);

	stage_give_back(&st, w);

	CHECK(!st.kept);
	stage_drain(&st);
	stage_check_nothing_left(&st);
	stage_release(&st);
}

/* A filter is a program; git status runs it. It must not run with more rights than the agent that configured it. */
TEST(a_filter_that_an_agent_plants_runs_with_the_agents_rights)
{
	struct stage st;
	stage_init(&st);
	if (!landlock_available()) {
		stage_release(&st);
		skip();
	}
	stage_must(&st, "git config extensions.worktreeConfig true");
	struct worktree *w = stage_take(&st, ID_1);
	stage_must(&st,
		   "cd " HERE " && echo 'a filter=f' >.gitattributes && echo z >a &&"
		   "printf '[filter \"f\"]\\n\\tclean = \"touch ran; touch %s/escaped; cat\"\\n'"
		   " >../../../.git/worktrees/agent-" ID_1 "/config.worktree",
		   st.dir);

	stage_give_back(&st, w);

	CHECK(st.kept);
	CHECK_STR(stage_says(&st, "ls " HERE "/ran; ls ../escaped 2>/dev/null; true"), HERE "/ran");
	stage_release(&st);
}

int test_worktree_guard(void)
{
	return RUN_TESTS(T(a_ruleset_is_either_made_or_refused_as_a_limit),
			 T(a_place_that_is_not_there_cannot_be_allowed),
			 T(a_confined_agent_works_and_commits_and_cannot_write_elsewhere),
			 T(a_confined_agent_without_work_leaves_nothing),
			 T(a_filter_that_an_agent_plants_runs_with_the_agents_rights));
}
