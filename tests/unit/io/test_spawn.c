/* SPDX-License-Identifier: MIT
 * test_spawn.c - starting children, their surroundings, their streams, their exit. test_spawn_end.c has what
 * is left after it. */
#include "spawn_stage.h"
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "lib/io/capture.h"
#include "test_io.h"

TEST(both_streams_arrive_before_the_exit_and_the_status_is_waitpids)
{
	struct stage st;
	stage_init(&st, 0);

	stage_run_shell(&st, "echo out; echo err >&2; exit 3");

	CHECK_STR(buf_str(&st.out), "out\n");
	CHECK_STR(buf_str(&st.err_out), "err\n");
	CHECK(WIFEXITED(st.status));
	CHECK_INT(WEXITSTATUS(st.status), 3);
	CHECK_INT(spawner_active(st.spawner), 0);
	stage_release(&st);
}

TEST(merged_streams_keep_their_order)
{
	struct stage st;
	stage_init(&st, 0);
	const char *argv[] = { "sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", NULL };

	stage_run(&st, &(struct child_options){ .argv = argv, .merge = true });

	CHECK_STR(buf_str(&st.out), "1\n2\n3\n4\n");
	CHECK_STR(buf_str(&st.err_out), "");
	stage_release(&st);
}

TEST(output_goes_to_a_given_descriptor)
{
	struct stage st;
	stage_init(&st, 0);
	const char *argv[] = { "sh", "-c", "echo 1; echo 2 >&2", NULL };
	FILE *file = tmpfile();
	char text[16] = "";

	stage_run(&st, &(struct child_options){ .argv = argv, .out_fd = fileno(file) });

	CHECK_INT(pread(fileno(file), text, sizeof text - 1, 0), 4);
	CHECK_CSTR(text, "1\n2\n");
	CHECK_STR(buf_str(&st.out), "");
	fclose(file);
	stage_release(&st);
}

static void on_silent_exit(struct child *c, int status)
{
	stage_on_exit(c, status);
}

TEST(without_a_reader_output_goes_nowhere_and_harms_nobody)
{
	struct stage st;
	stage_init(&st, 0);
	const char *argv[] = { "sh", "-c", "head -c 300000 /dev/zero && echo x >&2", NULL };
	const struct child_handlers silent = { .on_exit = on_silent_exit };
	struct err err = { 0 };

	CHECK_INT(spawn_start(st.spawner, &(struct child_options){ .argv = argv }, &silent, &st, NULL, &err), 0);
	loop_run(st.loop);

	CHECK_INT(st.exits, 1);
	CHECK_INT(st.status, 0);
	stage_release(&st);
}

TEST(a_program_that_cannot_be_run_is_an_error_that_says_why)
{
	static const struct {
		const char *program, *cwd, *text;
		int rc;
	} table[] = {
		{ "no-such-program", NULL, "cannot run no-such-program: No such file or directory", -ERR_NOT_FOUND },
		{ "/no/such/program", NULL, "cannot run /no/such/program: No such file or directory", -ERR_NOT_FOUND },
		{ "", NULL, "cannot run : No such file or directory", -ERR_NOT_FOUND },
		{ "/etc/passwd", NULL, "cannot run /etc/passwd: Permission denied", -ERR_IO },
		{ "/", NULL, "cannot run /: Permission denied", -ERR_IO },
		{ "true", "/no/such/dir", "cannot run true in /no/such/dir: No such file or directory",
		  -ERR_NOT_FOUND },
		{ "true", "/etc/passwd", "cannot run true in /etc/passwd: Not a directory", -ERR_NOT_FOUND },
	};
	struct stage st;
	stage_init(&st, 0);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		const char *argv[] = { table[i].program, NULL };
		struct child_options options = { .argv = argv, .cwd = table[i].cwd };
		struct err err = { 0 };
		CHECK_INT(spawn_start(st.spawner, &options, &stage_handlers, &st, NULL, &err), table[i].rc);
		CHECK_CSTR(err.text, table[i].text);
	}
	loop_run(st.loop);

	CHECK_INT(st.exits, 0);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), 0); /* the keeper lives, no zombie is there */
	stage_release(&st);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(the_program_is_searched_in_the_given_path)
{
	struct stage st;
	stage_init(&st, 0);
	char dir[] = "/tmp/cadre-test-XXXXXX";
	CHECK(mkdtemp(dir));
	AUTO_BUF struct buf file = { 0 };
	AUTO_BUF struct buf path = { 0 };
	buf_addf(&file, "%s/greet", dir);
	buf_addf(&path, "PATH=/no/such/dir:/etc/passwd:%s:/bin", dir);
	int fd = open(file.p, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK_INT(write(fd, "#!/bin/sh\necho hello $1 $WHO\n", 29), 29);
	close(fd);
	const char *argv[] = { "greet", "dear", NULL };
	const char *envp[] = { path.p, "WHO=reader", NULL };
	struct child_options options = { .argv = argv, .envp = envp };
	struct err err = { 0 };

	CHECK_INT(spawn_start(st.spawner, &options, &stage_handlers, &st, NULL, &err), -ERR_IO);
	CHECK_CSTR(err.text, "cannot run greet: Permission denied");
	CHECK_INT(chmod(file.p, 0755), 0);
	stage_run(&st, &options);

	CHECK_STR(buf_str(&st.out), "hello dear reader\n");

	/* The directory that we are in, and that it runs in, may be a stranger's. */
	AUTO_FREE char *back = getcwd(NULL, 0);
	CHECK_INT(chdir(dir), 0);
	const char *relative[] = { "PATH=", "PATH=.", "PATH=:/bin", "PATH=/bin:", "PATH=./.:/bin", NULL };
	buf_clear(&path);
	buf_addf(&path, "PATH=..%s", strrchr(dir, '/'));
	relative[COUNT_OF(relative) - 1] = path.p;
	options.cwd = dir;
	for (size_t i = 0; i < COUNT_OF(relative); i++) {
		envp[0] = relative[i];
		CHECK_INT(spawn_start(st.spawner, &options, &stage_handlers, &st, NULL, &err), -ERR_NOT_FOUND);
	}
	CHECK_INT(chdir(back), 0);
	unlink(file.p);
	rmdir(dir);
	stage_release(&st);
}

TEST(a_child_starts_with_clean_signals_limits_and_descriptors)
{
	struct stage st;
	stage_init(&st, 0);
	sigset_t some, old;
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigaddset(&some, SIGTERM);
	sigprocmask(SIG_BLOCK, &some, &old);
	void (*old_pipe)(int) = signal(SIGPIPE, SIG_IGN);
	int leaked = fcntl(0, F_DUPFD, 50); /* not close-on-exec, as a careless host would */
	const char *argv[] = { "sh", "-c",
			       "ulimit -Sn;"
			       "while read -r k v; do case $k in NoNewPrivs:|SigBlk:|SigIgn:) echo $k $v;; esac;"
			       "done < /proc/$$/status; i=0;"
			       "while [ $i -lt 60 ]; do [ -e /proc/$$/fd/$i ] && printf '%s ' $i; i=$((i+1)); done;"
			       "echo; read -r pid comm state ppid pgid rest < /proc/$$/stat; echo $pgid;"
			       "echo $$; pwd",
			       NULL };

	stage_run(&st, &(struct child_options){ .argv = argv, .cwd = "/usr" });

	struct str rest = buf_str(&st.out);
	struct str lines[9];
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		lines[i] = rest.p ? str_cut(&rest, '\n') : STR("");
	CHECK_STR(lines[0], "1024");
	CHECK_STR(lines[1], "SigBlk: 0000000000000000");
	CHECK_STR(lines[2], "SigIgn: 0000000000000000");
	CHECK_STR(lines[3], "NoNewPrivs: 1");
	CHECK_STR(lines[4], "0 1 2 ");
	CHECK(str_eq(lines[5], lines[6]));
	CHECK_STR(lines[7], "/usr");
	signal(SIGPIPE, old_pipe);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(leaked);
	stage_release(&st);
}

TEST(input_larger_than_a_pipe_arrives_whole)
{
	struct stage st;
	stage_init(&st, 0);
	AUTO_BUF struct buf input = { 0 };
	for (int i = 0; input.n < 1000000; i++)
		buf_addf(&input, "line %d\n", i);
	const char *argv[] = { "cat", NULL };

	stage_run(&st, &(struct child_options){ .argv = argv, .input = buf_str(&input) });

	CHECK_INT(st.out.n, input.n);
	CHECK(!memcmp(st.out.p, input.p, input.n));
	stage_release(&st);
}

TEST(a_child_that_does_not_read_its_input_ends_normally)
{
	struct stage st;
	stage_init(&st, 0);
	AUTO_FREE char *input = xcalloc(1, 1000000);
	const char *argv[] = { "true", NULL };

	stage_run(&st, &(struct child_options){ .argv = argv, .input = { input, 1000000 } });

	CHECK_INT(st.status, 0);
	stage_release(&st);
}

TEST(without_input_stdin_is_at_its_end)
{
	struct stage st;
	stage_init(&st, 0);

	stage_run_shell(&st, "cat; echo over");

	CHECK_STR(buf_str(&st.out), "over\n");
	stage_release(&st);
}

TEST(sigterm_that_is_ignored_becomes_sigkill_after_two_seconds_for_the_whole_group)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	st.kill_at = "ready";
	const char *argv[] = { "sh", "-c", "trap '' TERM; sleep 1000 & echo $!; echo ready; while :; do wait; done",
			       NULL };

	stage_start(&st, &(struct child_options){ .argv = argv });
	uint64_t began = loop_now_ms(st.loop);
	loop_run(st.loop);

	CHECK_INT(st.exits, 1);
	CHECK(WIFSIGNALED(st.status));
	CHECK_INT(WTERMSIG(st.status), SIGKILL);
	CHECK(loop_now_ms(st.loop) >= began + 2000);
	CHECK(dies(pidfd_of(atoi(st.out.p))));
	stage_release(&st);
}

TEST(members_that_ignore_sigterm_die_with_a_leader_that_does_not)
{
	struct stage st;
	stage_init(&st, 0);
	st.kill_at = "ready";

	stage_run_shell(&st, "sh -c 'trap \"\" TERM; echo $$; echo ready; exec sleep 1000' & wait");

	CHECK_INT(WTERMSIG(st.status), SIGTERM);
	CHECK(dies(pidfd_of(atoi(st.out.p))));
	stage_release(&st);
}

TEST(without_pidfds_exits_are_seen_through_sigchld)
{
	struct stage st;
	stage_init(&st, 0);
	st.spawner->without_pidfd = true;
	const char *quick[] = { "true", NULL };
	const char *slow[] = { "sh", "-c", "echo x; exit 7", NULL };

	stage_start(&st, &(struct child_options){ .argv = quick });
	stage_start(&st, &(struct child_options){ .argv = slow });
	loop_run(st.loop);

	CHECK_INT(st.exits, 2);
	CHECK_STR(buf_str(&st.out), "x\n");
	stage_release(&st);
}

TEST(two_hundred_children_at_once_all_end_once)
{
	struct stage st;
	stage_init(&st, 0);
	const char *argv[] = { "echo", "x", NULL };

	for (int i = 0; i < 200; i++)
		stage_start(&st, &(struct child_options){ .argv = argv });
	CHECK_INT(spawner_active(st.spawner), 200);
	loop_run(st.loop);

	CHECK_INT(st.exits, 200);
	CHECK_INT(st.out.n, 400);
	stage_release(&st);
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TEST(running_out_of_descriptors_is_an_error_and_loses_none)
{
	struct stage st;
	stage_init(&st, 0);
	stage_run_shell(&st, "true");
	struct rlimit old;
	getrlimit(RLIMIT_NOFILE, &old);
	int first_free = dup(0);
	close(first_free);
	int open_before = count_open();
	const char *argv[] = { "echo", "x", NULL };
	unsigned failures = 0;

	for (unsigned more = 0; more < 12; more++) { /* each step of starting meets the limit once */
		struct err err = { 0 };
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)first_free + more, old.rlim_max });
		struct child_options options = { .argv = argv, .input = STR("x") };
		if (spawn_start(st.spawner, &options, &stage_handlers, &st, NULL, &err) < 0) {
			failures++;
			CHECK(str_has(str_from(err.text), STR("Too many open files")));
		}
		loop_run(st.loop);
	}
	setrlimit(RLIMIT_NOFILE, &old);

	CHECK(failures >= 4);
	CHECK_INT(st.exits, 1 + 12 - failures);
	CHECK_INT(count_open(), open_before);
	stage_release(&st);
}

TEST(a_landlock_ruleset_holds_in_the_child)
{
	struct stage st;
	stage_init(&st, 0);
	struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE };
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	const char *argv[] = { "sh", "-c", "if echo x >> /dev/null; then echo free; else echo bound; fi 2>&-", NULL };
	if (ruleset < 0) {
		/* A kernel without Landlock: asking for it must fail, never run unconfined. */
		struct err err = { 0 };
		struct child_options options = { .argv = argv, .landlock_fd = 1 };
		CHECK_INT(spawn_start(st.spawner, &options, &stage_handlers, &st, NULL, &err), -ERR_IO);
		CHECK(str_starts(str_from(err.text), STR("cannot confine sh: ")));
		stage_release(&st);
		return;
	}

	stage_run(&st, &(struct child_options){ .argv = argv, .landlock_fd = ruleset });

	CHECK_STR(buf_str(&st.out), "bound\n");
	close(ruleset);
	stage_release(&st);
}

TEST(the_mark_of_an_outer_spawner_stays_in_front)
{
	struct stage st;
	stage_init(&st, 0);
	const char *argv[] = { "/bin/sh", "-c", "echo $CADRE_SPAWN", NULL };
	const char *envp[] = { "CADRE_SPAWN=0123456789abcdef", NULL };
	AUTO_BUF struct buf want = { 0 };
	buf_addf(&want, "0123456789abcdef:%s\n", st.spawner->id);

	stage_run(&st, &(struct child_options){ .argv = argv, .envp = envp });

	CHECK_STR(buf_str(&st.out), want.p);
	stage_release(&st);
}

static void on_captured(struct capture *c)
{
	c->most++; /* done came */
}

TEST(a_captured_program_is_held_to_its_time_and_its_output)
{
	static const struct {
		const char *command, *out, *errors;
		bool cuts, late, flooded;
		uint64_t limit_ms;
		int signal;
	} rows[] = {
		{ "printf abc; echo x >&2", "abc", "x\n", .limit_ms = 60000 },
		{ "printf abcdef", "abcde", "", .limit_ms = 60000, .cuts = true },
		{ "while :; do printf abcdef; done", "abcde", "", .limit_ms = 60000, .flooded = true,
		  .signal = SIGTERM },
		{ "exec sleep 1000", "", "", .limit_ms = 1, .late = true, .signal = SIGTERM },
		{ "printf ab", "ab", "", .limit_ms = 60000 },
	};
	struct capture c = { .done = on_captured };
	struct stage st;
	stage_init(&st, 0);

	for (size_t i = 0; i < COUNT_OF(rows); i++) { /* by the same struct: nothing of the run before is left */
		const char *argv[] = { "sh", "-c", rows[i].command, NULL };
		c.most = 5;
		c.cuts = rows[i].cuts;
		CHECK_INT(
			capture_start(&c, st.spawner, &(struct child_options){ .argv = argv }, rows[i].limit_ms, NULL),
			0);
		loop_run(st.loop);

		CHECK_INT(c.most, 6);
		CHECK(!c.child);
		CHECK_STR(buf_str(&c.out), rows[i].out);
		CHECK_STR(buf_str(&c.errors), rows[i].errors);
		CHECK(c.late == rows[i].late && c.flooded == rows[i].flooded);
		CHECK_INT(WIFSIGNALED(c.status) ? WTERMSIG(c.status) : 0, rows[i].signal);
	}
	buf_release(&c.out);
	buf_release(&c.errors);
	stage_release(&st);
}

int test_spawn(void)
{
	return RUN_TESTS(
		T(both_streams_arrive_before_the_exit_and_the_status_is_waitpids), T(merged_streams_keep_their_order),
		T(output_goes_to_a_given_descriptor), T(without_a_reader_output_goes_nowhere_and_harms_nobody),
		T(a_program_that_cannot_be_run_is_an_error_that_says_why), T(the_program_is_searched_in_the_given_path),
		T(a_child_starts_with_clean_signals_limits_and_descriptors), T(input_larger_than_a_pipe_arrives_whole),
		T(a_child_that_does_not_read_its_input_ends_normally), T(without_input_stdin_is_at_its_end),
		T(sigterm_that_is_ignored_becomes_sigkill_after_two_seconds_for_the_whole_group),
		T(members_that_ignore_sigterm_die_with_a_leader_that_does_not),
		T(without_pidfds_exits_are_seen_through_sigchld), T(two_hundred_children_at_once_all_end_once),
		T(running_out_of_descriptors_is_an_error_and_loses_none), T(a_landlock_ruleset_holds_in_the_child),
		T(the_mark_of_an_outer_spawner_stays_in_front),
		T(a_captured_program_is_held_to_its_time_and_its_output));
}
