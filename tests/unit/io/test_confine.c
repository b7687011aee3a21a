/* SPDX-License-Identifier: MIT
 * test_confine.c - children that the kernel holds: filters, Landlock for reading, and a cell with its mounts. Where the kernel
 * has no namespaces for us, making a cell must say why. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "spawn_stage.h"
#include "lib/confine/cell.h"
#include "lib/confine/confine.h"
#include "lib/confine/landlock.h"
#include "lib/confine/seccomp.h"
#include "lib/io/file.h"
#include "test_io.h"

struct walled {
	struct stage st;
	struct cell *cell;
	struct sock_fprog *filter;
	char dir[FOLDER_MAX];
};

static void walled_init(struct walled *w, const struct seccomp_rules *rules)
{
	struct err err = { 0 };

	stage_init(&w->st, 0);
	folder_make(w->dir);
	w->filter = seccomp_new(rules);
	w->cell = NULL;
	if (cell_new(&(struct cell_options){ .kind = CELL_WHOLE }, &w->cell, &err) < 0) {
		CHECK(err.text[0]);
		print_message("no cell here: %s\n", err.text);
	}
}

static void walled_release(struct walled *w)
{
	stage_release(&w->st);
	cell_free(w->cell, NULL, NULL);
	free(w->filter);
	folder_remove(w->dir);
}

/* Runs the script in a new stage and returns what it said, on both streams. */
static struct str walled_run(struct walled *w, const struct confine *confine, const char *script)
{
	const char *argv[] = { "bash", "-c", script, NULL };

	buf_clear(&w->st.out);
	w->st.exits = 0;
	stage_run(&w->st, &(struct child_options){ .argv = argv, .cwd = w->dir, .merge = true, .confine = confine });
	return buf_str(&w->st.out);
}

TEST(a_filter_leaves_no_sockets_and_no_attributes)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){
				.network = SECCOMP_NO_SOCKET, .keep_attributes = true, .no_tracing = true });
	struct confine c = { .filter = w.filter };

	CHECK_STR(walled_run(&w, &c,
			     "echo x >f; chmod 600 f 2>/dev/null || echo held; echo 2>/dev/null "
			     ">/dev/tcp/127.0.0.1/9 || echo silent"),
		  "held\nsilent\n");
	CHECK_STR(walled_run(&w, &c,
			     "unshare -U true 2>/dev/null || echo alone; mount -t tmpfs x . 2>/dev/null || "
			     "echo unmounted"),
		  "alone\nunmounted\n");
	walled_release(&w);
}

TEST(reading_is_held_to_what_is_listed)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ .network = SECCOMP_NO_SOCKET });
	AUTO_ARENA struct arena a = { 0 };
	const char *shown = arena_printf(&a, "%s/shown", w.dir);
	const char *reads[] = {
		"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/dev", shown, "/not/there", NULL
	};
	file_put(arena_printf(&a, "%s/f", shown), STR("seen\n"));
	file_put(arena_printf(&a, "%s/hidden/f", w.dir), STR("secret\n"));
	if (!landlock_available()) {
		walled_release(&w);
		return;
	}
	const char *writes[] = { "/dev/null", NULL };
	int ruleset = landlock_new(&(struct landlock_rules){ .reads = reads, .files = writes, .alone = true }, NULL);
	struct confine c = { .filter = w.filter, .landlock_fd = ruleset };

	CHECK(ruleset > 0);
	CHECK_STR(walled_run(&w, &c,
			     "cat shown/f; cat hidden/f 2>/dev/null || echo no; ls hidden 2>/dev/null || echo no; "
			     "echo x 2>/dev/null >shown/g || echo no"),
		  "seen\nno\nno\nno\n");
	close(ruleset);
	walled_release(&w);
}

TEST(what_may_be_read_is_opened_through_a_link_only_if_it_was_one)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ .network = SECCOMP_NO_SOCKET });
	AUTO_ARENA struct arena a = { 0 };
	const char *reads[] = { "/usr",
				"/bin",
				"/lib",
				"/lib64",
				"/etc/ld.so.cache",
				arena_printf(&a, "%s/first", w.dir),
				arena_printf(&a, "%s/second", w.dir),
				arena_printf(&a, "%s/up/file", w.dir),
				arena_printf(&a, "%s/plain", w.dir),
				NULL };
	for (const char *const *f = (const char *const[]){ "a/f", "b/f", "c/file", "plain/f", NULL }; *f; f++)
		file_put(path_join(&a, w.dir, *f), str_from(*f));
	CHECK_INT(symlink("a", path_join(&a, w.dir, "first")), 0);
	CHECK_INT(symlink("b", path_join(&a, w.dir, "second")), 0);
	CHECK_INT(symlink("c", path_join(&a, w.dir, "up")), 0);
	const struct landlock_rules rules = { .reads = reads, .linked_reads = 6, .resolved = true, .alone = true };
	int ruleset = landlock_available() ? landlock_new(&rules, NULL) : -1;

	if (ruleset > 0) {
		struct confine c = { .filter = w.filter, .landlock_fd = ruleset };
		CHECK_STR(walled_run(&w, &c,
				     "exec 2>&-; for f in a/f b/f c/file plain/f; do cat $f || echo -n no; echo; done"),
			  "a/f\nno\nno\nplain/f\n");
		close(ruleset);
	}
	walled_release(&w);
}

TEST(a_cell_is_read_only_but_for_what_the_plan_opens)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ .network = SECCOMP_INET_SOCKET });
	AUTO_ARENA struct arena a = { 0 };
	file_put(arena_printf(&a, "%s/root/.git/config", w.dir), STR("old\n"));
	file_put(arena_printf(&a, "%s/root/.env", w.dir), STR("secret\n"));
	file_put(arena_printf(&a, "%s/root/keys/k", w.dir), STR("secret\n"));
	file_put(arena_printf(&a, "%s/beside", w.dir), STR("old\n"));
	const struct confine_mount mounts[] = {
		{ CONFINE_WRITABLE, true, arena_printf(&a, "%s/root", w.dir) },
		{ CONFINE_WRITABLE, true, arena_printf(&a, "%s/root/.git", w.dir) },
		{ CONFINE_HIDDEN, false, arena_printf(&a, "%s/root/.env", w.dir) },
		{ CONFINE_HIDDEN, true, arena_printf(&a, "%s/root/keys", w.dir) },
		{ CONFINE_READ_ONLY, false, arena_printf(&a, "%s/root/.git/config", w.dir) },
		{ CONFINE_HIDDEN, false, arena_printf(&a, "%s/root/gone", w.dir) },
	};
	struct confine c = { .filter = w.filter, .cell = w.cell, .list = mounts, .count = COUNT_OF(mounts) };
	if (!w.cell) {
		walled_release(&w);
		return;
	}

	CHECK_STR(walled_run(&w, &c,
			     "echo new >root/f && cat root/f; echo x 2>&- >beside || echo held; chmod 777 beside "
			     "2>&- || echo held; touch /etc/cadre-was-here 2>&- || echo held"),
		  "new\nheld\nheld\nheld\n");
	CHECK_STR(walled_run(&w, &c,
			     "exec 2>&-; mv root/.git root/.g2 || echo pinned; echo x >root/.git/config || echo "
			     "held; mv root/f root/.git/config || echo held; cat root/.env; ls root/keys; cat "
			     "root/keys/k; echo end; cat root/f"),
		  "pinned\nheld\nheld\nend\nnew\n");
	CHECK_STR(walled_run(
			  &w, &c,
			  "exec 2>&-; kill -9 -1; ls /proc | grep -c '^[0-9]' | { read n; [ $n -lt 9 ] && echo few; }; "
			  "echo x >/proc/sys/kernel/core_pattern || echo held; ls /run | wc -l"),
		  "few\nheld\n0\n");
	CHECK_STR(buf_str(&w.st.out), "few\nheld\n0\n");
	struct str text = str_from(file_text(&a, arena_printf(&a, "%s/root/.env", w.dir)));
	CHECK_STR(text, "secret\n");
	walled_release(&w);
}

TEST(places_come_back_in_a_directory_that_was_emptied_however_many_they_are)
{
	enum { FIRST = 4, MANY = 40 };
	int trees[FIRST + MANY];
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ .network = SECCOMP_INET_SOCKET });
	AUTO_ARENA struct arena a = { 0 };
	file_put(arena_printf(&a, "%s/home/.ssh/id", w.dir), STR("secret\n"));
	file_put(arena_printf(&a, "%s/home/a/b/f", w.dir), STR("seen\n"));
	file_put(arena_printf(&a, "%s/home/one", w.dir), STR("one\n"));
	struct confine_mount mounts[FIRST + MANY] = {
		{ CONFINE_EMPTIED, true, arena_printf(&a, "%s/home", w.dir) },
		{ CONFINE_BACK, true, arena_printf(&a, "%s/home/a/b", w.dir) },
		{ CONFINE_BACK, false, arena_printf(&a, "%s/home/one", w.dir) },
		{ CONFINE_WRITABLE, true, arena_printf(&a, "%s/home/a/b", w.dir) },
	};
	for (int i = 0; i < MANY; i++) {
		char *path = arena_printf(&a, "%s/home/n%d", w.dir, i);
		file_put(path, STR("many\n"));
		mounts[FIRST + i] = (struct confine_mount){ CONFINE_BACK, false, path };
	}
	struct confine c = {
		.filter = w.filter, .cell = w.cell, .list = mounts, .count = COUNT_OF(mounts), .trees = trees
	};
	if (w.cell)
		CHECK_STR(
			walled_run(
				&w, &c,
				"exec 2>&-; cat home/.ssh/id; ls home || echo closed; cat home/a/b/f home/one home/n39; echo x "
				">home/a/b/g && echo written; echo x >home/a/x || echo held; echo x >home/one || "
				"echo held"),
			"closed\nseen\none\nmany\nwritten\nheld\nheld\n");
	walled_release(&w);
}

TEST(a_view_alone_holds_attributes_outside_and_leaves_the_rest)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ .network = SECCOMP_ANY_SOCKET });
	AUTO_ARENA struct arena a = { 0 };
	struct cell *view = NULL;
	file_put(arena_printf(&a, "%s/in/f", w.dir), STR(""));
	file_put(arena_printf(&a, "%s/out/f", w.dir), STR(""));
	const struct confine_mount mounts[] = { { CONFINE_WRITABLE, true, arena_printf(&a, "%s/in", w.dir) } };
	if (cell_new(&(struct cell_options){ .kind = CELL_VIEW }, &view, NULL) == 0) {
		struct confine c = { .cell = view, .list = mounts, .count = 1 };
		CHECK_STR(
			walled_run(&w, &c,
				   "exec 2>&-; chmod 700 in/f && echo changed; chmod 700 out/f || echo held; touch -d "
				   "yesterday out/f || echo held; kill -0 $PPID && echo seen"),
			"changed\nheld\nheld\nseen\n");
	}
	cell_free(view, NULL, NULL);
	walled_release(&w);
}

TEST(what_a_command_left_in_a_cell_is_reached_by_the_next_and_ends_with_it)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ .network = SECCOMP_INET_SOCKET });
	struct confine c = { .filter = w.filter, .cell = w.cell };
	if (!w.cell) {
		walled_release(&w);
		return;
	}

	struct str said = walled_run(&w, &c,
				     "env -i setsid sleep 1000 >/dev/null 2>&1 & "
				     "until [ \"$(</proc/$!/comm)\" = sleep ]; do :; done; echo $!");
	uint64_t pid;
	CHECK(said.n > 1 && str_to_u64((struct str){ said.p, said.n - 1 }, &pid));
	/* or all that is there, to be seen */
	CHECK_STR(walled_run(&w, &c, "ps -e -o comm= | grep sleep || { ps -ef; ls /proc; cat /proc/[0-9]*/stat; }"),
		  "sleep\n");
	CHECK_STR(walled_run(&w, &c, "pkill sleep && echo ended"), "ended\n");
	walled_release(&w);
}

/* A member of a team in a pane is so, and root may do all: this is another user where it can be. */
TEST(a_process_that_no_other_may_look_at_has_cells)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ 0 });
	pid_t pid = fork();
	if (pid == 0) {
		struct cell *cell = NULL;
		struct err err = { 0 };
		bool other = geteuid() != 0 || (setresgid(100, 100, 100) == 0 && setresuid(100, 100, 100) == 0);
		if (!other || prctl(PR_SET_DUMPABLE, 0) < 0)
			_exit(2);
		int rc = cell_new(&(struct cell_options){ .kind = CELL_WHOLE }, &cell, &err);
		bool looked_at = prctl(PR_GET_DUMPABLE);
		cell_free(cell, NULL, NULL);
		_exit(rc < 0 || looked_at);
	}
	int status = -1;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (w.cell)
		CHECK_INT(status, 0);
	walled_release(&w);
}

TEST(a_mount_that_cannot_be_made_is_named_and_nothing_runs)
{
	struct walled w;
	walled_init(&w, &(struct seccomp_rules){ 0 });
	AUTO_ARENA struct arena a = { 0 };
	struct err err = { 0 };
	const char *argv[] = { "touch", arena_printf(&a, "%s/ran", w.dir), NULL };
	file_put(arena_printf(&a, "%s/file", w.dir), STR(""));
	const struct confine_mount mounts[] = { { CONFINE_HIDDEN, true, arena_printf(&a, "%s/file", w.dir) } };
	struct confine c = { .filter = w.filter, .cell = w.cell, .list = mounts, .count = 1 };
	struct child_options options = { .argv = argv, .confine = &c };
	if (w.cell) {
		CHECK_INT(spawn_start(w.st.spawner, &options, &stage_handlers, &w.st, NULL, &err), -ERR_IO);
		CHECK(str_starts(str_from(err.text), STR("cannot confine touch: mounting ")));
		CHECK_INT(access(argv[1], F_OK), -1);
		CHECK_INT(spawner_active(w.st.spawner), 0);
	}
	walled_release(&w);
}

/* What a filter says to a call with these two arguments; *steps: how many instructions that took. */
static uint32_t filter_answer_with(const struct sock_fprog *p, uint32_t arch, uint32_t call, const uint32_t args[2],
				   unsigned *steps)
{
	uint32_t value = 0;

	*steps = 0;
	for (size_t at = 0; at < p->len; at++) {
		const struct sock_filter *i = &p->filter[at];
		bool yes = false;
		++*steps;
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			value = i->k == offsetof(struct seccomp_data, nr)         ? call
				: i->k == offsetof(struct seccomp_data, arch)     ? arch
				: i->k == offsetof(struct seccomp_data, args)     ? args[0]
				: i->k == offsetof(struct seccomp_data, args) + 8 ? args[1]
										  : 0;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			value &= i->k;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		default:
			yes = BPF_OP(i->code) == BPF_JEQ   ? value == i->k
			      : BPF_OP(i->code) == BPF_JGE ? value >= i->k
							   : (value & i->k) != 0;
			at += yes ? i->jt : i->jf;
		}
	}
	return SECCOMP_RET_KILL_PROCESS; /* it ran out of the filter */
}

static uint32_t filter_answer_to(const struct sock_fprog *p, uint32_t arch, uint32_t call, unsigned *steps)
{
	return filter_answer_with(p, arch, call, (const uint32_t[2]){ 0 }, steps);
}

/* A program that opens the file would wait for the holder of the lease. */
TEST(no_filter_lets_a_lease_be_taken)
{
	static const char script[] = "python3 -c 'import fcntl\nf = open(\"f\")\nfor kind in (0, 1):\n"
				     "  try: fcntl.fcntl(f, 1024, kind); print(\"leased\")\n"
				     "  except OSError as e: print(e.errno)'";
	const struct seccomp_rules rules[] = { { .network = SECCOMP_NO_SOCKET, .keep_attributes = true },
					       { .network = SECCOMP_INET_SOCKET },
					       { .network = SECCOMP_ANY_SOCKET } };

	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct walled w;
		walled_init(&w, &rules[i]);
		file_put(arena_printf(&a, "%s/f", w.dir), STR("x\n"));
		CHECK_STR(walled_run(&w, &(struct confine){ .filter = w.filter }, script), "1\n1\n");
		walled_release(&w);
	}
}

TEST(without_a_namespace_a_process_acts_on_no_other)
{
	enum { NOWHERE, ALONE, SILENT, MOST_CALL = 500, MOST_STEPS = 40, OTHER = 77 };
	static const struct {
		int call;
		uint32_t args[2];
		int refused; /* from this rule on; NOWHERE: never */
	} rows[] = {
		{ SYS_prlimit64, { 0, 7 }, NOWHERE },
		{ SYS_prlimit64, { OTHER, 7 }, ALONE },
		{ SYS_sched_setaffinity, { 0, 8 }, NOWHERE },
		{ SYS_sched_setaffinity, { OTHER, 8 }, ALONE },
		{ SYS_sched_setscheduler, { OTHER, 0 }, ALONE },
		{ SYS_sched_setparam, { OTHER, 0 }, ALONE },
		{ SYS_sched_setattr, { OTHER, 0 }, ALONE },
		{ SYS_setpriority, { 0 /* of a process */, 0 }, NOWHERE },
		{ SYS_setpriority, { 0, OTHER }, ALONE },
		{ SYS_setpriority, { 1 /* of a group */, 0 }, ALONE },
		{ SYS_setpriority, { 2 /* of a user */, 0 }, ALONE },
		{ SYS_ioprio_set, { 1 /* of a process */, 0 }, NOWHERE },
		{ SYS_ioprio_set, { 1, OTHER }, ALONE },
		{ SYS_ioprio_set, { 3 /* of a user */, 0 }, ALONE },
		{ SYS_getpriority, { 0, OTHER }, NOWHERE },
		{ SYS_shmget, { 0, 0 }, ALONE },
		{ SYS_shmctl, { 5, 0 }, ALONE },
		{ SYS_semctl, { 5, 0 }, ALONE },
		{ SYS_msgsnd, { 5, 0 }, ALONE },
		{ SYS_mq_open, { 5, 0 }, ALONE },
		{ SYS_mq_unlink, { 5, 0 }, ALONE },
		{ SYS_kill, { OTHER, 9 }, SILENT },
		{ SYS_tgkill, { OTHER, OTHER }, SILENT },
		{ SYS_pidfd_send_signal, { 5, 9 }, SILENT },
		{ SYS_fcntl, { 3, F_SETOWN }, SILENT },
		{ SYS_fcntl, { 3, F_SETOWN_EX }, SILENT },
		{ SYS_fcntl, { 3, F_SETFL }, NOWHERE },
		{ SYS_ioctl, { 3, FIOSETOWN }, SILENT },
		{ SYS_ioctl, { 3, SIOCSPGRP }, SILENT },
		{ SYS_ioctl, { 3, FIONREAD }, NOWHERE },
		{ SYS_read, { OTHER, OTHER }, NOWHERE },
	};

	for (int rule = NOWHERE; rule <= SILENT; rule++) {
		AUTO_FREE struct sock_fprog *p = seccomp_new(&(struct seccomp_rules){ .no_tracing = true,
										      .keep_attributes = true,
										      .alone = rule >= ALONE,
										      .no_signals = rule >= SILENT });
		unsigned steps;
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			bool refused = rows[i].refused && rule >= rows[i].refused;
			CHECK_INT(filter_answer_with(p, p->filter[1].k, (uint32_t)rows[i].call, rows[i].args, &steps),
				  refused ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
		}
		for (uint32_t call = 0; call < MOST_CALL; call++) {
			(void)filter_answer_to(p, p->filter[1].k, call, &steps);
			CHECK(steps <= MOST_STEPS);
		}
	}
}

TEST(a_filter_refuses_what_its_rules_say_and_takes_few_steps)
{
	enum { FREE, NEVER, TRACING, ATTRIBUTES, MOST_CALL = 500, MOST_STEPS = 26 };
	static const struct {
		int call, kind, error;
	} rows[] = {
		{ SYS_read, FREE, 0 },
		{ SYS_openat, FREE, 0 },
		{ SYS_execve, FREE, 0 },
		{ SYS_exit_group, FREE, 0 },
		{ SYS_wait4, FREE, 0 },
		{ MOST_CALL, FREE, 0 },
		{ SYS_mount, NEVER, EPERM },
		{ SYS_bpf, NEVER, EPERM },
		{ SYS_mount_setattr, NEVER, EPERM },
		{ 443, NEVER, EPERM }, /* quotactl_fd */
		{ 467, NEVER, EPERM }, /* open_tree_attr */
		{ SYS_syslog, NEVER, EPERM },
		{ SYS_clone3, NEVER, ENOSYS },
		{ SYS_io_uring_setup, NEVER, ENOSYS },
		{ SYS_ptrace, TRACING, EPERM },
		{ SYS_kcmp, TRACING, EPERM },
		{ SYS_fchmodat, ATTRIBUTES, EPERM },
		{ SYS_fsetxattr, ATTRIBUTES, EPERM },
		{ 469, ATTRIBUTES, EPERM },
		{ 452, ATTRIBUTES, EPERM },
	};
	unsigned refused[4] = { 0 };

	for (int flags = 0; flags < 4; flags++) {
		AUTO_FREE struct sock_fprog *p =
			seccomp_new(&(struct seccomp_rules){ .no_tracing = flags & 1, .keep_attributes = flags & 2 });
		uint32_t arch = p->filter[1].k; /* the first comparison */
		unsigned steps;
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			bool holds = rows[i].kind == NEVER || (rows[i].kind == TRACING && flags & 1) ||
				     (rows[i].kind == ATTRIBUTES && flags & 2);
			CHECK_INT(filter_answer_to(p, arch, (uint32_t)rows[i].call, &steps),
				  holds ? SECCOMP_RET_ERRNO | (uint32_t)rows[i].error : SECCOMP_RET_ALLOW);
		}
		for (uint32_t call = 0; call < MOST_CALL; call++) {
			refused[flags] += filter_answer_to(p, arch, call, &steps) != SECCOMP_RET_ALLOW;
			CHECK(steps <= MOST_STEPS);
		}
		CHECK_INT(filter_answer_to(p, arch ^ 1, SYS_read, &steps), SECCOMP_RET_ERRNO | ENOSYS);
	}
	CHECK_INT(refused[1] - refused[0], 4); /* tracing */
	CHECK_INT(refused[3] - refused[2], 4);
	CHECK(refused[2] - refused[0] >= 15); /* attributes; older architectures have fewer calls */
}

int test_confine(void)
{
	return RUN_TESTS(T(no_filter_lets_a_lease_be_taken), T(without_a_namespace_a_process_acts_on_no_other),
			 T(a_filter_refuses_what_its_rules_say_and_takes_few_steps),
			 T(a_filter_leaves_no_sockets_and_no_attributes), T(reading_is_held_to_what_is_listed),
			 T(what_may_be_read_is_opened_through_a_link_only_if_it_was_one),
			 T(a_cell_is_read_only_but_for_what_the_plan_opens),
			 T(places_come_back_in_a_directory_that_was_emptied_however_many_they_are),
			 T(a_view_alone_holds_attributes_outside_and_leaves_the_rest),
			 T(what_a_command_left_in_a_cell_is_reached_by_the_next_and_ends_with_it),
			 T(a_process_that_no_other_may_look_at_has_cells),
			 T(a_mount_that_cannot_be_made_is_named_and_nothing_runs));
}
