/* SPDX-License-Identifier: MIT
 * test_spawn_end.c - what children leave behind, and that nothing is left when we end, however we end. */
#include "spawn_stage.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include "test_io.h"

/* Says its number when it has left the group, not before, and lets go of the pipe. */
#define ESCAPING "(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &) | { read pid; echo $pid; }; "

TEST(a_background_process_outlives_its_shell_and_dies_with_the_spawner)
{
	struct stage st;
	stage_init(&st, 0);

	stage_run_shell(&st, "sleep 1000 >/dev/null & echo $!; echo $$");
	int sleeper = pidfd_of(atoi(st.out.p));
	pid_t group = atoi(strchr(st.out.p, '\n'));
	CHECK(lives(sleeper));
	CHECK(spawner_group_left(st.spawner, group));
	stage_release(&st);

	CHECK(dies(sleeper));
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* no zombie either */
	CHECK_INT(errno, ECHILD);
}

TEST(a_group_that_was_left_can_be_killed_and_is_then_forgotten)
{
	struct stage st;
	stage_init(&st, 0);

	stage_run_shell(&st, "sleep 1000 >/dev/null & echo $!; echo $$");
	int sleeper = pidfd_of(atoi(st.out.p));
	pid_t group = atoi(strchr(st.out.p, '\n'));
	spawner_kill_group(st.spawner, group);
	CHECK(dies(sleeper));

	CHECK(!spawner_group_left(st.spawner, group));
	spawner_kill_group(st.spawner, getpgrp()); /* no group of its children: must not touch us */
	stage_release(&st);
}

/* A look at them is bounded, so that a thousand cost no more than a few, but each has its turn. */
TEST(groups_that_were_left_are_forgotten_in_turn)
{
	enum { GONE = 1000, ABOVE_ALL_PIDS = 1 << 23, MOST_LOOKS = 100 };
	struct stage st;
	stage_init(&st, 0);

	stage_run_shell(&st, "sleep 1000 >/dev/null & echo $$");
	pid_t group = atoi(st.out.p);
	for (pid_t i = 0; i < GONE; i++)
		CHECK(pid_list_add(&st.spawner->left, ABOVE_ALL_PIDS + i));
	spawner_prune(st.spawner);
	CHECK(st.spawner->left.count > GONE / 2);
	for (int looks = 0; st.spawner->left.count > 1 && looks < MOST_LOOKS; looks++)
		spawner_prune(st.spawner);
	CHECK_INT(st.spawner->left.count, 1);
	CHECK(spawner_group_left(st.spawner, group));
	stage_release(&st);
}

TEST(a_process_that_left_its_group_dies_with_the_spawner)
{
	struct stage st;
	stage_init(&st, 0);

	stage_run_shell(&st, ESCAPING);
	int sleeper = pidfd_of(atoi(st.out.p));
	CHECK(lives(sleeper));
	stage_release(&st);

	CHECK(dies(sleeper));
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(orphans_end_on_request_while_running_children_go_on)
{
	struct stage st;
	stage_init(&st, 0);
	stage_run_shell(&st, "(setsid sh -c 'sleep 1000 >/dev/null & echo $!; echo $$; exec >&2; wait' "
			     "2>/dev/null &) | { read a; read b; echo $a; echo $b; }");
	int inner = pidfd_of(atoi(st.out.p)); /* becomes our child only when the orphan is gone */
	int orphan = pidfd_of(atoi(strchr(st.out.p, '\n')));
	CHECK(lives(inner));
	CHECK(lives(orphan));
	const char *argv[] = { "sleep", "1000", NULL };
	stage_start(&st, &(struct child_options){ .argv = argv });
	int running = pidfd_of(child_pid(st.child));

	spawner_reap_orphans(st.spawner);

	CHECK(dies(orphan));
	CHECK(dies(inner));
	CHECK(lives(running));
	child_kill(st.child, SIGKILL);
	loop_run(st.loop);
	CHECK(dies(running));
	stage_release(&st);
}

TEST(processes_of_the_host_are_not_touched_and_stay_its_to_wait_for)
{
	struct stage st;
	stage_init(&st, 0);
	pid_t living = fork();
	if (living == 0)
		for (;;)
			pause();
	pid_t zombie = fork();
	if (zombie == 0)
		_exit(5);
	CHECK(dies(pidfd_of(zombie)));
	int status = 0;

	stage_run_shell(&st, ESCAPING);
	spawner_reap_orphans(st.spawner);
	stage_release(&st);

	int watch = pidfd_of(living);
	CHECK(lives(watch));
	close(watch);
	CHECK_INT(waitpid(zombie, &status, WNOHANG), zombie);
	CHECK_INT(WEXITSTATUS(status), 5);
	kill(living, SIGKILL);
	CHECK_INT(waitpid(living, &status, 0), living);
}

TEST(a_pipe_that_an_escaped_process_holds_does_not_hold_the_exit_nor_kill_its_writer)
{
	struct stage st;
	stage_init(&st, 0);
	char dir[] = "/tmp/cadre-test-XXXXXX";
	CHECK(mkdtemp(dir));
	AUTO_BUF struct buf go = { 0 };
	AUTO_BUF struct buf done = { 0 };
	AUTO_BUF struct buf script = { 0 };
	buf_addf(&go, "%s/go", dir);
	buf_addf(&done, "%s/done", dir);
	CHECK_INT(mkfifo(go.p, 0600), 0);
	CHECK_INT(mkfifo(done.p, 0600), 0);
	int go_fd = open(go.p, O_RDWR | O_CLOEXEC);
	int done_fd = open(done.p, O_RDWR | O_CLOEXEC);
	buf_addf(&script, "setsid sh -c 'read x < %s; echo late; echo late; echo alive > %s' & echo early", go.p,
		 done.p);

	stage_run_shell(&st, script.p);
	CHECK_STR(buf_str(&st.out), "early\n");
	CHECK_INT(write(go_fd, "\n", 1), 1);
	struct pollfd p = { .fd = done_fd, .events = POLLIN };

	CHECK_INT(poll(&p, 1, 60000), 1);
	CHECK_STR(buf_str(&st.out), "early\n");
	close(go_fd);
	close(done_fd);
	unlink(go.p);
	unlink(done.p);
	rmdir(dir);
	stage_release(&st);
}

/* A process that uses a spawner, as our program does */
struct host {
	pid_t pid;
	int fd; /* what its child said */
};

static void on_host_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	const int *fd = child_data(c);

	(void)is_stderr;
	if (write(*fd, p, n) < 0)
		_exit(1);
}

static void host_main(int fd, const char *script, bool lose_keeper)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	const char *warm_up[] = { "true", NULL };
	const struct child_handlers handlers = { on_host_output, stage_on_exit };
	struct stage st;
	stage_init(&st, 0);

	stage_run(&st, &(struct child_options){ .argv = warm_up });
	if (lose_keeper) {
		int keeper = pidfd_of(st.spawner->keeper.pid);
		kill(st.spawner->keeper.pid, SIGKILL);
		(void)dies(keeper);
	}
	if (spawn_start(st.spawner, &(struct child_options){ .argv = argv }, &handlers, &fd, NULL, NULL) < 0)
		_exit(1);
	loop_run(st.loop);
	_exit(1);
}

static struct host host_start(const char *script, bool lose_keeper)
{
	int fds[2];
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		host_main(fds[1], script, lose_keeper);
	}
	close(fds[1]);
	return (struct host){ pid, fds[0] };
}

/* Reads as many process numbers as asked for, one a line, and opens a pidfd for each. */
static void host_read_pids(const struct host *h, int *pidfds, size_t count)
{
	FILE *in = fdopen(h->fd, "r");
	char line[32];

	for (size_t i = 0; i < count; i++) {
		CHECK(fgets(line, sizeof line, in));
		pidfds[i] = pidfd_of(atoi(line));
		CHECK(lives(pidfds[i]));
	}
	fclose(in);
}

static void host_kill(const struct host *h)
{
	kill(h->pid, SIGKILL);
	CHECK_INT(waitpid(h->pid, NULL, 0), h->pid);
}

TEST(after_kill_minus_nine_nothing_is_left)
{
	struct host h = host_start(ESCAPING "sleep 1000 & echo $!; echo $$; wait", false);
	int pidfds[3];
	host_read_pids(&h, pidfds, 3);

	host_kill(&h);

	for (size_t i = 0; i < COUNT_OF(pidfds); i++)
		CHECK(dies(pidfds[i]));
}

#ifdef __x86_64__
/* A program that only starts itself again. It has a thousand segments: so it is inside execve for most of its time. */
static void write_restless(const char *path)
{
	enum { SEGMENTS = 1000, BASE = 0x10000000, STEP = 0x100000 };
	static const unsigned char code[] = {
		0x48, 0x8b, 0x7c, 0x24, 0x08,             /* mov 8(%rsp), %rdi: argv[0] */
		0x48, 0x8d, 0x74, 0x24, 0x08,             /* lea 8(%rsp), %rsi: argv */
		0x48, 0x8b, 0x0c, 0x24,                   /* mov (%rsp), %rcx: argc */
		0x48, 0x8d, 0x54, 0xcc, 0x10,             /* lea 16(%rsp,%rcx,8), %rdx: envp */
		0xb8, 0x3b, 0x00, 0x00, 0x00, 0x0f, 0x05, /* execve */
		0xb8, 0x3c, 0x00, 0x00, 0x00, 0x0f, 0x05, /* exit */
	};
	const size_t at = sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr);
	AUTO_BUF struct buf b = { 0 };
	Elf64_Ehdr head = { .e_ident = ELFMAG "\2\1\1",
			    .e_type = ET_EXEC,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_entry = BASE + at,
			    .e_phoff = sizeof head,
			    .e_ehsize = sizeof head,
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = SEGMENTS };

	buf_add(&b, (const char *)&head, sizeof head);
	for (size_t i = 0; i < SEGMENTS; i++) {
		Elf64_Phdr one = { .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_vaddr = BASE + i * STEP,
				   .p_filesz = at + sizeof code,
				   .p_memsz = at + sizeof code,
				   .p_align = 4096 };
		buf_add(&b, (const char *)&one, sizeof one);
	}
	buf_add(&b, (const char *)code, sizeof code);
	file_put(path, buf_str(&b));
	CHECK_INT(chmod(path, 0700), 0);
}

TEST(after_kill_minus_nine_a_process_that_is_inside_execve_is_gone_too)
{
	enum { PROCESSES = 8 };
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf script = { 0 };
	char dir[FOLDER_MAX];
	int pidfds[PROCESSES];

	folder_make(dir);
	buf_addf(&path, "%s/restless", dir);
	write_restless(path.p);
	buf_addf(&script, "for i in $(seq %d); do setsid %s >/dev/null 2>&1 & echo $!; done; wait", PROCESSES, path.p);
	struct host h = host_start(script.p, false);
	host_read_pids(&h, pidfds, PROCESSES);

	host_kill(&h);

	for (int i = 0; i < PROCESSES; i++)
		CHECK(dies(pidfds[i]));
	folder_remove(dir);
}
#endif

TEST(after_kill_minus_nine_groups_that_outlived_their_leader_are_gone_too)
{
	struct host h = host_start(ESCAPING "env -i sleep 1000 & echo $!; kill -9 $$", false);
	int pidfds[2];
	host_read_pids(&h, pidfds, 2);

	host_kill(&h);

	for (size_t i = 0; i < COUNT_OF(pidfds); i++)
		CHECK(dies(pidfds[i]));
}

TEST(a_keeper_that_was_killed_is_replaced_and_knows_all_groups)
{
	struct host h = host_start(ESCAPING "sleep 1000 & echo $!; echo $$; wait", true);
	int pidfds[3];
	host_read_pids(&h, pidfds, 3);

	host_kill(&h);

	for (size_t i = 0; i < COUNT_OF(pidfds); i++)
		CHECK(dies(pidfds[i]));
}

TEST(the_keeper_ends_with_the_spawner_and_the_subreaper_flag_goes_back)
{
	struct stage st;
	stage_init(&st, 0);
	int flag = -1;
	stage_run_shell(&st, "true");
	int keeper = pidfd_of(st.spawner->keeper.pid);
	CHECK(lives(keeper));
	prctl(PR_GET_CHILD_SUBREAPER, &flag);
	CHECK_INT(flag, 1);

	stage_release(&st);

	CHECK(dies(keeper));
	prctl(PR_GET_CHILD_SUBREAPER, &flag);
	CHECK_INT(flag, 0);
}

static int signal_pipe[2];

static void on_group_signal(int signal)
{
	(void)!write(signal_pipe[1], "", 1);
}

/* A terminal signals the whole foreground group. The keeper is in it for a moment, with our handlers and our descriptors. */
TEST(a_signal_to_our_group_is_handled_once_while_a_keeper_starts)
{
	enum { ROUNDS = 100 };
	pid_t pid = fork();
	if (pid == 0) {
		struct sigaction sa = { .sa_handler = on_group_signal };
		char seen[2 * ROUNDS + 1];
		setpgid(0, 0);
		if (pipe2(signal_pipe, O_NONBLOCK) < 0 || sigaction(SIGUSR1, &sa, NULL) < 0)
			_exit(1);
		for (int i = 0; i < ROUNDS; i++) {
			struct keeper k;
			if (keeper_start(&k, "none", NULL) < 0)
				_exit(2);
			kill(0, SIGUSR1);
			keeper_stop(&k, true);
		}
		_exit(read(signal_pipe[0], seen, sizeof seen) == ROUNDS ? 0 : 3);
	}
	int status = -1;

	waitpid(pid, &status, 0);

	CHECK_INT(WEXITSTATUS(status), 0);
	CHECK(WIFEXITED(status));
}

int test_spawn_end(void)
{
#ifdef __x86_64__
	(void)RUN_TESTS(T(after_kill_minus_nine_a_process_that_is_inside_execve_is_gone_too));
#endif
	return RUN_TESTS(T(a_background_process_outlives_its_shell_and_dies_with_the_spawner),
			 T(a_group_that_was_left_can_be_killed_and_is_then_forgotten),
			 T(groups_that_were_left_are_forgotten_in_turn),
			 T(a_process_that_left_its_group_dies_with_the_spawner),
			 T(orphans_end_on_request_while_running_children_go_on),
			 T(processes_of_the_host_are_not_touched_and_stay_its_to_wait_for),
			 T(a_pipe_that_an_escaped_process_holds_does_not_hold_the_exit_nor_kill_its_writer),
			 T(after_kill_minus_nine_nothing_is_left),
			 T(after_kill_minus_nine_groups_that_outlived_their_leader_are_gone_too),
			 T(a_keeper_that_was_killed_is_replaced_and_knows_all_groups),
			 T(the_keeper_ends_with_the_spawner_and_the_subreaper_flag_goes_back),
			 T(a_signal_to_our_group_is_handled_once_while_a_keeper_starts));
}
