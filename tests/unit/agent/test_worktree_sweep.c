/* SPDX-License-Identifier: MIT
 * test_worktree_sweep.c - what a killed process left, found by the next one; and what must not be touched. */
#include "tests_worktree.h"
#include <signal.h>
#include <sys/wait.h>
#include "worktree_stage.h"

#define PLACE ".claude/worktrees"

/* The same repository seen by a process of its own; for the child of a fork. */
static struct stage other_stage(const struct stage *st)
{
	struct stage other = *st;

	for (int i = 0; i < 64; i++)
		(void)id_random_u64(); /* random bytes that came with the fork: two spawners must not have one name */
	other.out = (struct buf){ 0 };
	other.loop = loop_new(0);
	other.spawner = spawner_new(other.loop);
	other.pool = worktree_pool_new(other.loop, other.spawner);
	return other;
}

/* Another process with worktrees of its own; it has done `work` when this returns. */
static pid_t start_other(struct stage *st, void (*work)(struct stage *st))
{
	int ends[2];
	char byte;

	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct stage other = other_stage(st);
		work(&other);
		if (write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	CHECK_INT(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

static void kill_other(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Agent 1 has committed, agent 2 has changed a file, agent 3 nothing; one more is spare. */
static void work_of_three(struct stage *st)
{
	struct worktree *w[4];
	static const char *const ids[] = { ID_1, ID_2, ID_3, "a0000000000000004" };

	for (int i = 0; i < 4; i++)
		w[i] = stage_take(st, ids[i]);
	stage_must(st, "git -C " PLACE "/agent-" ID_1 " commit -q --allow-empty -m work; echo x >" PLACE "/agent-" ID_2
		       "/a");
	stage_give_back(st, w[3]);
}

TEST(after_a_kill_unchanged_and_spare_worktrees_go_and_work_stays_unlocked)
{
	struct stage st;
	stage_init(&st);
	pid_t other = start_other(&st, work_of_three);
	CHECK_STR(stage_says(&st, "ls -d " PLACE "/* | wc -l; git worktree list | grep -c ' locked$'"), "4\n4");
	kill_other(other);

	struct worktree *w = stage_take(&st, "a0000000000000005");

	CHECK(w);
	CHECK_STR(stage_says(&st, "ls " PLACE "; git branch --list 'worktree-*' --format='%(refname:short)';"
				  "git log -1 --format=%s worktree-agent-" ID_1 "; cat " PLACE "/agent-" ID_2 "/a;"
				  "git worktree list --porcelain | grep -c ^locked"),
		  "agent-" ID_1 "\nagent-" ID_2 "\nagent-a0000000000000005\n"
		  "worktree-agent-" ID_1 "\nworktree-agent-" ID_2 "\nworktree-agent-a0000000000000005\nwork\nx\n1");
	stage_give_back(&st, w);
	stage_drain(&st);
	stage_release(&st);
}

TEST(worktrees_of_a_living_process_are_not_touched)
{
	struct stage st;
	stage_init(&st);
	pid_t other = start_other(&st, work_of_three);

	struct worktree *w = stage_take(&st, "a0000000000000005");

	CHECK(w);
	CHECK_STR(stage_says(&st, "ls -d " PLACE "/* | wc -l; git worktree list | grep -c ' locked$'"), "5\n5");
	stage_give_back(&st, w);
	stage_drain(&st);
	CHECK_STR(stage_says(&st, "ls -d " PLACE "/* | wc -l; git worktree list | grep -c ' locked$'"), "4\n4");
	kill_other(other);
	stage_release(&st);
}

static void make_one_and_never_end(struct stage *st)
{
	AUTO_BUF struct buf ready = { 0 };

	buf_addf(&ready, "%s/.git/worktrees/agent-" ID_1 "/ready", st->repo);
	stage_break_git(st, "symbolic-ref", "echo here >$GIT_DIR/ready; exec sleep 1000");
	worktree_take(st->pool, &(struct worktree_spec){ .agent_id = ID_1, .cwd = st->repo }, stage_on_taken, st);
	while (access(ready.p, F_OK) < 0 && !st->dones)
		uv_run(loop_uv(st->loop), UV_RUN_NOWAIT);
}

TEST(a_worktree_that_was_being_made_is_removed)
{
	struct stage st;
	stage_init(&st);
	pid_t other = start_other(&st, make_one_and_never_end);
	CHECK_STR(stage_says(&st, "git worktree list --porcelain | grep -c '^locked cadre making'"), "1");
	stage_must(&st, "rm -r " PLACE "/agent-" ID_1 "/sub; echo half >" PLACE "/agent-" ID_1 "/half");
	kill_other(other);

	struct worktree *w = stage_take(&st, ID_2);

	CHECK(w);
	CHECK_STR(stage_says(&st, "ls " PLACE "; git worktree list | wc -l"), "agent-" ID_2 "\n2");
	stage_give_back(&st, w);
	stage_drain(&st);
	stage_check_nothing_left(&st);
	stage_release(&st);
}

/* A record of a process that is dead for sure. */
static void write_dead_record(struct stage *st, const char *kind, const char *to)
{
	struct worktree_owner self = owner_self();

	stage_must(st, "echo \"cadre %s agent " ID_1 " base $(git rev-parse HEAD) pid %d start 1 space %llu\" >%s",
		   kind, (int)getpid(), (unsigned long long)self.space, to);
}

TEST(leftovers_of_every_moment_of_a_crash_are_found)
{
	static const struct {
		const char *moment, *given, *kind;
	} table[] = {
		{ "git had made only its own directory", "mkdir -p .git/worktrees/x", "making" },
		{ "git had not yet written .git",
		  "mkdir -p .git/worktrees/x " PLACE "/agent-" ID_1 " && "
		  "echo $PWD/" PLACE "/agent-" ID_1 "/.git >.git/worktrees/x/gitdir",
		  "making" },
		{ "git had written .git, but not all of its own",
		  "mkdir -p .git/worktrees/x " PLACE "/agent-" ID_1 " && "
		  "echo $PWD/" PLACE "/agent-" ID_1 "/.git >.git/worktrees/x/gitdir &&"
		  "echo \"gitdir: $PWD/.git/worktrees/x\" >" PLACE "/agent-" ID_1 "/.git",
		  "making" },
		{ "git was cleaning up after itself",
		  "mkdir -p .git/worktrees/x " PLACE "/agent-" ID_3 " && "
		  "echo \"gitdir: $PWD/.git/worktrees/gone\" >" PLACE "/agent-" ID_3 "/.git",
		  "making" },
		{ "a lock of the branch",
		  "git worktree add -q -b worktree-agent-" ID_1 " " PLACE "/agent-" ID_1 " && "
		  "mv .git/worktrees/agent-" ID_1 " .git/worktrees/x && "
		  "echo \"gitdir: $PWD/.git/worktrees/x\" >" PLACE "/agent-" ID_1 "/.git &&"
		  "touch .git/refs/heads/worktree-agent-" ID_1 ".lock",
		  "making" },
		{ "moved, but not yet said so",
		  "git worktree add -q --detach " PLACE "/pool-1-1 && mv .git/worktrees/pool-1-1 .git/worktrees/x &&"
		  "echo \"gitdir: $PWD/.git/worktrees/x\" >" PLACE "/pool-1-1/.git &&"
		  "mv " PLACE "/pool-1-1 " PLACE "/agent-" ID_1,
		  "making" },
		{ "the branch of a spare one not yet deleted",
		  "git worktree add -q --detach " PLACE "/pool-1-1 && mv .git/worktrees/pool-1-1 .git/worktrees/x &&"
		  "echo \"gitdir: $PWD/.git/worktrees/x\" >" PLACE "/pool-1-1/.git && git branch worktree-agent-" ID_1,
		  "spare" },
		{ "an agent whose directory was deleted since",
		  "git worktree add -q -b worktree-agent-" ID_1 " " PLACE "/agent-" ID_1 " && "
		  "mv .git/worktrees/agent-" ID_1 " .git/worktrees/x && rm -rf " PLACE "/agent-" ID_1,
		  "agent" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage st;
		stage_init(&st);
		stage_must(&st, "mkdir -p " PLACE "; %s", table[i].given);
		write_dead_record(&st, table[i].kind, ".git/worktrees/x/locked");

		struct worktree *w = stage_take(&st, ID_2);

		CHECK(w);
		stage_give_back(&st, w);
		stage_drain(&st);
		if (stage_sh(&st, "ls .git/worktrees/x " PLACE
				  "/* 2>/dev/null; git branch --list 'worktree-*' | grep .") == 0)
			fail_msg("%s: " STR_FMT, table[i].moment, STR_ARG(buf_str(&st.out)));
		stage_check_nothing_left(&st);
		stage_release(&st);
	}
}

TEST(locks_and_directories_of_others_are_never_touched)
{
	struct stage st;
	stage_init(&st);
	stage_must(&st, "mkdir -p " PLACE " && git worktree add -q --lock --reason 'on a disk' ../mine &&"
			"git worktree add -q --lock " PLACE "/agent-" ID_3 " && git worktree add -q ../victim &&"
			"mkdir .git/worktrees/x .git/worktrees/y .git/worktrees/z &&"
			"echo $PWD/../victim/.git >.git/worktrees/x/gitdir &&"
			"echo $PWD/" PLACE "/agent-" ID_3 "/.git >.git/worktrees/y/gitdir &&"
			"git worktree add -q -b worktree-agent-" ID_1 " " PLACE "/agent-" ID_1
			" && git worktree lock " PLACE "/agent-" ID_1);
	/* Records that name a directory which is not theirs: outside, another agent's, and one that says nothing. */
	write_dead_record(&st, "making", ".git/worktrees/x/locked");
	write_dead_record(&st, "making", ".git/worktrees/y/locked");
	write_dead_record(&st, "making", ".git/worktrees/z/locked");

	struct worktree *w = stage_take(&st, ID_2);

	CHECK(w);
	CHECK_STR(stage_says(&st, "cat ../mine/a ../victim/a " PLACE "/agent-" ID_3 "/a " PLACE "/agent-" ID_1
				  "/a .git/worktrees/mine/locked; git branch --list worktree-agent-" ID_1 " | wc -l;"
				  "ls .git/worktrees/*/locked | wc -l"),
		  "a\na\na\na\non a disk\n1\n6");
	stage_give_back(&st, w);
	stage_drain(&st);
	stage_release(&st);
}

TEST(the_branch_of_a_confined_agent_that_was_killed_gets_its_commits)
{
	struct stage st;
	stage_init(&st);
	stage_must(&st,
		   "mkdir -p " PLACE " && git worktree add -q -b worktree-agent-" ID_1 " " PLACE "/agent-" ID_1 " && "
		   "cd " PLACE "/agent-" ID_1 " && git checkout -q --detach && git commit -q --allow-empty -m work");
	write_dead_record(&st, "agent", ".git/worktrees/agent-" ID_1 "/locked");

	struct worktree *w = stage_take(&st, ID_2);

	CHECK(w);
	CHECK_STR(stage_says(&st, "git log -1 --format=%s worktree-agent-" ID_1 ";"
				  "git -C " PLACE "/agent-" ID_1 " symbolic-ref --short HEAD"),
		  "work\nworktree-agent-" ID_1);
	stage_give_back(&st, w);
	stage_drain(&st);
	stage_release(&st);
}

static void take_and_give_back_many(struct stage *st)
{
	for (int i = 0; i < 6; i++) {
		char id[18];
		snprintf(id, sizeof id, "a%08x%08x", (unsigned)getpid(), (unsigned)i);
		struct worktree *w = stage_take(st, id);
		if (!w) {
			print_error("%s\n", st->err.text);
			_exit(1);
		}
		stage_give_back(st, w);
		if (st->kept) {
			print_error("%s\n", st->why);
			_exit(2);
		}
	}
	stage_drain(st);
}

TEST(processes_that_work_in_one_repository_at_the_same_time_do_not_hurt_each_other)
{
	struct stage st;
	stage_init(&st);
	pid_t dead = start_other(&st, work_of_three);
	kill_other(dead);
	pid_t pids[4];

	for (size_t i = 0; i < COUNT_OF(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct stage other = other_stage(&st);
			take_and_give_back_many(&other);
			_exit(0);
		}
	}
	for (size_t i = 0; i < COUNT_OF(pids); i++) {
		int status = 0;
		CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
		CHECK_INT(status, 0);
	}

	CHECK_STR(stage_says(&st, "ls " PLACE "; git branch --list 'worktree-*' | wc -l; git worktree list | wc -l;"
				  "grep -c claude .git/info/exclude; git worktree list | grep -c locked; true"),
		  "agent-" ID_1 "\nagent-" ID_2 "\n2\n3\n1\n0");
	stage_release(&st);
}

int test_worktree_sweep(void)
{
	return RUN_TESTS(T(after_a_kill_unchanged_and_spare_worktrees_go_and_work_stays_unlocked),
			 T(worktrees_of_a_living_process_are_not_touched), T(a_worktree_that_was_being_made_is_removed),
			 T(leftovers_of_every_moment_of_a_crash_are_found),
			 T(locks_and_directories_of_others_are_never_touched),
			 T(the_branch_of_a_confined_agent_that_was_killed_gets_its_commits),
			 T(processes_that_work_in_one_repository_at_the_same_time_do_not_hurt_each_other));
}
