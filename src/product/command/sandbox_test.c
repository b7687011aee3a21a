/* SPDX-License-Identifier: MIT
 * sandbox_test.c - `cadre sandbox test`: attacks as commands that passed as reading, as edits, and in the sandbox of the
 * settings, on a tree that is made for it. An attack tries what such a command must not do, and says DID if it could. What would
 * have been asked about is not tried: there the wall is the question.
 *
 * --user and --without change this process for good, so the table (--all) is made of processes of their own. */
#include "product/command/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/spawn.h"

enum { ATTACK_MS = 20 * 1000, ALL_ATTACKS_MS = 10 * ATTACK_MS, ANSWER_MAX = 256 * 1024 };

static int connect_unix(const char *path, bool abstract)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path + abstract, sizeof at.sun_path - 1, "%s", path ? path : "");
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&at, sizeof at);
}

/* True: it was done. */
static bool attempt(const char *name)
{
	static const struct {
		const char *name;
		int family, type;
	} sockets[] = { { "packet-socket", 17, SOCK_RAW },
			{ "raw-socket", AF_INET, SOCK_RAW },
			{ "vsock", 40, SOCK_STREAM },
			{ "alg-socket", 38, SOCK_SEQPACKET },
			{ "bluetooth", 31, SOCK_RAW } };
	static const struct {
		const char *name;
		long call;
	} calls[] = { { "keys", SYS_keyctl },
		      { "bpf", SYS_bpf },
		      { "perf", SYS_perf_event_open },
		      { "userfaultfd", SYS_userfaultfd },
		      { "io-uring", SYS_io_uring_setup },
		      { "open-by-handle", SYS_open_by_handle_at } };
	const char *victim = getenv("T_VICTIM");

	for (size_t i = 0; i < COUNT_OF(sockets); i++)
		if (!strcmp(name, sockets[i].name))
			return socket(sockets[i].family, sockets[i].type, sockets[i].type == SOCK_RAW) >= 0;
	/* Wrong arguments: any answer but a refusal shows that the kernel looked at them. */
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (!strcmp(name, calls[i].name))
			return syscall(calls[i].call, -1, -1, -1, -1, -1) >= 0 || (errno != EPERM && errno != ENOSYS);
	if (!strcmp(name, "unix-socket"))
		return connect_unix(getenv("T_SOCKET"), false) == 0;
	if (!strcmp(name, "abstract-socket"))
		return connect_unix(getenv("T_ABSTRACT"), true) == 0;
	if (!strcmp(name, "user-namespace"))
		return unshare(CLONE_NEWUSER) == 0;
	if (!strcmp(name, "mount"))
		return mount("none", ".", "tmpfs", 0, NULL) == 0;
	if (!strcmp(name, "trace"))
		return victim && ptrace(PTRACE_ATTACH, atoi(victim), NULL, NULL) == 0;
	if (!strcmp(name, "limits"))
		return victim && prlimit(atoi(victim), RLIMIT_CORE, &(struct rlimit){ 0 }, NULL) == 0;
	if (!strcmp(name, "priority"))
		return victim && setpriority(PRIO_PROCESS, (id_t)atoi(victim), PRIO_MAX) == 0;
	if (!strcmp(name, "shared-memory"))
		return shmctl(atoi(getenv("T_MEMORY") ?: "-1"), IPC_STAT, &(struct shmid_ds){ 0 }) == 0;
	if (!strcmp(name, "terminal-input"))
		return ioctl(0, TIOCSTI, "x") == 0 || errno == ENOTTY;
	return mknod("device", S_IFBLK | 0600, 0x800) == 0; /* device */
}

enum { READS = 1, EDITS = 2, INSIDE = 4, ALL = 7 };

/* command: ends with success if the attack did; NULL: attempt() of that name */
static const struct attack {
	const char *what;
	unsigned holds;
	const char *command, *attempt;
} attacks[] = {
	{ "write a file of the home", ALL, "echo x >\"$T_HOME/new\"", NULL },
	{ "append to a shell start file", ALL, "echo x >>\"$T_HOME/.bashrc\"", NULL },
	{ "write in the directory of temporary files of others", ALL, "echo x >\"$T_HOME/../new\"", NULL },
	{ "write in a working directory", READS, "echo x >new", NULL },
	{ "change the configuration of git", ALL, "echo x >>.git/config", NULL },
	{ "add a hook of git", ALL, "echo x >.git/hooks/pre-commit", NULL },
	{ "move .git away", ALL, "mv .git .g2", NULL },
	{ "change .mcp.json that is there", ALL, "echo x >>.mcp.json", NULL },
	{ "write a protected file by another name", ALL, "ln .mcp.json other && echo x >>other", NULL },
	{ "write through a link out of the directory", ALL, "echo x >out/new", NULL },
	{ "change mode of a file outside", ALL, "chmod 777 \"$T_HOME/.bashrc\"", NULL },
	{ "change time of a file outside", ALL, "touch -d 2001-01-01 \"$T_HOME/.bashrc\"", NULL },
	{ "remove or rename a file outside", ALL, "mv \"$T_HOME/.bashrc\" \"$T_HOME/b\" || rm \"$T_HOME/.bashrc\"",
	  NULL },
	{ "read what settings hide", INSIDE, "cat .env", NULL },
	{ "read a key outside the working directories", READS, "cat \"$T_HOME/.ssh/id\"", NULL },
	{ "read the environment of a process outside", ALL, "grep -q T_SECRET /proc/$T_VICTIM/environ", NULL },
	{ "signal a process outside", ALL, "kill -CONT $T_VICTIM", NULL },
	{ "trace a process outside", ALL, NULL, "trace" },
	{ "limit what a process outside may use", ALL, NULL, "limits" },
	{ "change the priority of a process outside", ALL, NULL, "priority" },
	{ "reach memory that processes outside share", ALL, NULL, "shared-memory" },
	{ "reach a service of this machine", ALL, "exec 3<>/dev/tcp/127.0.0.1/$T_PORT", NULL },
	{ "reach a UNIX socket outside", ALL, NULL, "unix-socket" },
	{ "reach an abstract socket outside", ALL, NULL, "abstract-socket" },
	{ "packet, raw, vsock, crypto or bluetooth socket: packet", ALL, NULL, "packet-socket" },
	{ "the same: raw", ALL, NULL, "raw-socket" },
	{ "the same: vsock", ALL, NULL, "vsock" },
	{ "the same: crypto", ALL, NULL, "alg-socket" },
	{ "the same: bluetooth", ALL, NULL, "bluetooth" },
	{ "make a user namespace", ALL, NULL, "user-namespace" },
	{ "mount", ALL, NULL, "mount" },
	{ "make a device", ALL, NULL, "device" },
	{ "kernel keys", ALL, NULL, "keys" },
	{ "bpf", ALL, NULL, "bpf" },
	{ "perf", ALL, NULL, "perf" },
	{ "userfaultfd", ALL, NULL, "userfaultfd" },
	{ "io_uring", ALL, NULL, "io-uring" },
	{ "open a file by its handle", ALL, NULL, "open-by-handle" },
	{ "open the core pattern for writing", ALL, ": >>/proc/sys/kernel/core_pattern", NULL },
	{ "open the sysrq trigger for writing", ALL, ": >>/proc/sysrq-trigger", NULL },
	/* And what must work, or a wall stands in the way of the work: a success is expected. */
	{ "+ read a file of the working directory", ALL, "cat f", NULL },
	{ "+ write in $TMPDIR", ALL, "echo x >\"$TMPDIR/new\"", NULL },
	{ "+ write in the working directory", EDITS | INSIDE, "echo x >f", NULL },
};

static const char *const hold_names[] = { "reads", "edits", "inside" };

enum outcome { OUT_HELD, OUT_OPEN, OUT_ASKED, OUT_BROKEN, OUT_NONE };
static const char *const outcome_names[] = { "held", "OPEN", "asked", "broken", "-" };

struct wall_test {
	struct arena arena;
	struct services *services;
	struct sandbox *sandbox;
	struct sandbox_policy *policy; /* the sandbox owns it */
	struct tool_env env;
	const char *dir, *home, *work;
	int tcp, socket, abstract, memory;
	struct child *victim;
};

static int wall_test_listen(struct wall_test *t, const char **ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	socklen_t n = sizeof at;

	t->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	t->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	t->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->tcp < 0 || bind(t->tcp, (struct sockaddr *)&at, sizeof at) < 0 || listen(t->tcp, 64) < 0 ||
	    getsockname(t->tcp, (struct sockaddr *)&at, &n) < 0)
		return -1;
	*ret_port = arena_printf(&t->arena, "T_PORT=%u", ntohs(at.sin_port));
	snprintf(path.sun_path, sizeof path.sun_path, "%s/s", t->work);
	if (t->socket < 0 || bind(t->socket, (struct sockaddr *)&path, sizeof path) < 0 || listen(t->socket, 64) < 0)
		return -1;
	memset(path.sun_path, 0, sizeof path.sun_path);
	snprintf(path.sun_path + 1, sizeof path.sun_path - 1, "%s", t->dir);
	return t->abstract < 0 || bind(t->abstract, (struct sockaddr *)&path, sizeof path) < 0 ||
			       listen(t->abstract, 64) < 0
		       ? -1
		       : 0;
}

static int wall_test_tree(struct wall_test *t, struct err *err)
{
	static const struct {
		const char *path, *text;
	} files[] = { { "home/.bashrc", "canary\n" },
		      { "home/.ssh/id", "secret\n" },
		      { "work/.git/config", "[core]\n" },
		      { "work/.git/HEAD", "ref: x\n" },
		      { "work/.mcp.json", "{}\n" },
		      { "work/.env", "secret\n" },
		      { "work/f", "text\n" },
		      { "work/.git/hooks/none.sample", "x\n" } };
	AUTO_BUF struct buf self = { 0 };

	t->dir = sandbox_temp_dir(&t->arena);
	t->home = arena_printf(&t->arena, "%s/home", t->dir);
	t->work = arena_printf(&t->arena, "%s/work", t->dir);
	int rc = file_make_dirs(t->dir, 0700, err);
	if (rc == 0)
		rc = spawner_keep_path(t->services->spawner, t->dir, err);
	for (size_t i = 0; i < COUNT_OF(files) && rc == 0; i++) {
		const char *path = arena_printf(&t->arena, "%s/%s", t->dir, files[i].path);
		rc = file_make_parents(path, err);
		if (rc == 0)
			rc = file_replace(path, files[i].text, strlen(files[i].text), err);
	}
	if (rc == 0 && symlink("../home", arena_printf(&t->arena, "%s/out", t->work)) < 0)
		rc = err_set(err, ERR_IO, "%s: %m", t->work);
	/* This program, where each of the holds lets it run */
	if (rc == 0)
		rc = file_read("/proc/self/exe", 512 << 20, &self, err);
	return rc < 0 ? rc : file_replace_mode(arena_printf(&t->arena, "%s/cadre", t->work), buf_str(&self), 0755, err);
}

static void on_victim_exit(struct child *c, int status)
{
	struct wall_test *t = child_data(c);

	t->victim = NULL;
	loop_stop(t->services->loop);
}

static int wall_test_open(struct wall_test *t, struct cadre_call *call)
{
	static const char *const victim[] = { "sleep", "600", NULL };
	static const struct child_handlers handlers = { .on_exit = on_victim_exit };
	const char *port = NULL;

	t->services = call->services;
	t->tcp = t->socket = t->abstract = -1;
	t->memory = shmget(IPC_PRIVATE, 1, 0600);
	int rc = wall_test_tree(t, call->err);
	if (rc == 0 && wall_test_listen(t, &port) < 0)
		rc = err_set(call->err, ERR_IO, "cannot listen: %m");
	const char *const envp[] = { "T_SECRET=1", "PATH=/usr/bin:/bin", NULL };
	if (rc == 0)
		rc = spawn_start(t->services->spawner,
				 &(struct child_options){ .argv = victim, .envp = envp, .cwd = "/" }, &handlers, t,
				 &t->victim, call->err);
	if (rc < 0)
		return rc;
	struct arena *a = &t->arena;
	const char **env = arena_calloc(a, 16 * sizeof *env);
	const char **dirs = arena_calloc(a, 2 * sizeof *dirs);
	size_t n = 0;
	env[n++] = port;
	env[n++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	env[n++] = "ASAN_OPTIONS=detect_leaks=0";
	env[n++] = arena_printf(a, "T_HOME=%s", t->home);
	env[n++] = arena_printf(a, "HOME=%s", t->home);
	env[n++] = arena_printf(a, "T_SOCKET=%s/s", t->work);
	env[n++] = arena_printf(a, "T_ABSTRACT=%s", t->dir);
	env[n++] = arena_printf(a, "T_VICTIM=%d", (int)child_pid(t->victim));
	env[n++] = arena_printf(a, "T_MEMORY=%d", t->memory);
	dirs[0] = t->work;
	t->env = (struct tool_env){ .loop = t->services->loop,
				    .spawner = t->services->spawner,
				    .cwd = t->work,
				    .root = t->work,
				    .dirs = dirs,
				    .envp = env };
	t->sandbox = sandbox_new(&(struct sandbox_options){ t->services->loop, arena_printf(a, "%s/.claude", t->home),
							    arena_printf(a, "%s/tmp", t->dir), t->services->spawner });
	struct sandbox_policy *policy = xcalloc(1, sizeof *policy);
	const char **hidden = arena_calloc(&policy->arena, 2 * sizeof *hidden);
	hidden[0] = arena_printf(&policy->arena, "%s/.env", t->work);
	policy->deny_read = hidden;
	t->policy = policy;
	sandbox_use_policy(t->sandbox, policy);
	return 0;
}

static void wall_test_close(struct wall_test *t)
{
	sandbox_free(t->sandbox);
	if (t->victim) {
		child_kill(t->victim, SIGKILL);
		loop_run(t->services->loop);
	}
	(void)shmctl(t->memory, IPC_RMID, NULL);
	const int fds[] = { t->tcp, t->socket, t->abstract };
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (t->dir) {
		(void)file_remove_raw(t->dir);
		spawner_forget_path(t->services->spawner, t->dir);
	}
	arena_release(&t->arena);
}

static enum outcome try_attack(struct wall_test *t, const struct attack *attack, unsigned hold)
{
	AUTO_ARENA struct arena a = { 0 };
	struct sandbox_held *held = NULL;
	struct err err = { 0 };
	enum sandbox_strength strength = sandbox_strength(t->sandbox, NULL);

	if (!(attack->holds & (1U << hold)))
		return OUT_NONE;
	t->policy->enabled = hold == 2;
	if (strength < (hold ? SANDBOX_FULL : SANDBOX_READING))
		return OUT_ASKED;
	const char *command = attack->command ? arena_printf(&a, "echo TRIED; %s && echo DID", attack->command)
					      : arena_printf(&a, "./cadre sandbox test --attempt %s", attack->attempt);
	struct sandbox_request request = { .env = &t->env,
					   .cwd = t->work,
					   .command = command,
					   .belief = hold == 0   ? BELIEF_READS
						     : hold == 1 ? BELIEF_EDITS
								 : BELIEF_NONE,
					   .where = hold == 2 ? WHERE_IN : WHERE_FREE };
	if (sandbox_hold(t->sandbox, &request, &held, &err) < 0)
		return OUT_ASKED; /* it does not run */
	const char *const argv[] = { "bash", "-c", command, NULL };
	struct child_options options = { .argv = argv,
					 .envp = held ? sandbox_envp(&a, held, t->env.envp) : t->env.envp,
					 .cwd = t->work,
					 .confine = held ? &held->confine : NULL };
	AUTO_BUF struct buf output = { 0 }, said = { 0 };
	int status;
	int rc = spawn_wait(t->services->spawner, &options, ATTACK_MS, ANSWER_MAX, &output, &status, &err);
	if (held)
		sandbox_report(held, STR(""), false, &said);
	sandbox_held_free(held);
	if (rc < 0 || !str_has(buf_str(&output), STR("TRIED")))
		return OUT_BROKEN;
	bool did = str_has(buf_str(&output), STR("DID"));
	return did == (attack->what[0] == '+') ? OUT_HELD : OUT_OPEN;
}

static void put_row(struct cadre_report *report, struct json_out *w, const struct attack *attack,
		    const enum outcome outcomes[3])
{
	bool bad = false;

	json_putf(w, "{what:'%s'", attack->what);
	for (size_t i = 0; i < 3; i++) {
		json_kcstr(w, hold_names[i], outcome_names[outcomes[i]]);
		bad = bad || outcomes[i] == OUT_OPEN || outcomes[i] == OUT_BROKEN;
	}
	json_close(w);
	report_row(report, bad ? CADRE_BAD : CADRE_PLAIN, attack->what, outcome_names[outcomes[0]],
		   outcome_names[outcomes[1]], outcome_names[outcomes[2]], NULL);
	report->bad = report->bad || bad;
}

static int test_here(struct cadre_call *call)
{
	struct wall_test t = { 0 };
	struct json_out w = json_out(&call->report->json);
	static const char *const names[] = { "none", "reading", "full" };

	int rc = wall_test_open(&t, call);
	json_open(&w, '{');
	if (rc == 0) {
		json_putf(&w, "user:%u, strength:'%s', attacks:[", geteuid(), names[sandbox_strength(t.sandbox, NULL)]);
		report_row(call->report, CADRE_HEAD, "ATTACK", "READS", "EDITS", "INSIDE", NULL);
		for (size_t i = 0; i < COUNT_OF(attacks); i++) {
			enum outcome outcomes[3];
			for (unsigned hold = 0; hold < 3; hold++)
				outcomes[hold] = try_attack(&t, &attacks[i], hold);
			put_row(call->report, &w, &attacks[i], outcomes);
		}
		json_close(&w);
	}
	json_close(&w);
	wall_test_close(&t);
	return rc;
}

static int become_user(const char *text, struct err *err)
{
	int64_t uid;

	if (!str_to_i64(str_from(text), &uid) || uid < 0)
		return err_set(err, ERR_USAGE, "--user %s: expected a number", text);
	if (setgroups(0, NULL) < 0 || setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) < 0 ||
	    setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		return err_set(err, ERR_IO, "--user %s: %m", text);
	return 0;
}

/* As a kernel without it, or a container that forbids it, would answer. */
static int hide_wall(const char *wall, struct err *err)
{
	struct sock_filter no_landlock[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter no_users[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	bool landlock = !strcmp(wall, "landlock");
	struct sock_fprog program = { landlock ? COUNT_OF(no_landlock) : COUNT_OF(no_users),
				      landlock ? no_landlock : no_users };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_set(err, ERR_IO, "cannot hide %s: %m", wall);
	return 0;
}

static int test_condition(struct cadre_call *call, const char *user, bool landlock, bool namespaces, struct json_out *w)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf name = { 0 }, output = { 0 };
	const char *argv[16] = { "/proc/self/exe", "sandbox", "test", "--json" };
	size_t n = 4;

	if (user) {
		argv[n++] = "--user";
		argv[n++] = user;
	}
	if (!landlock)
		argv[n++] = "--without=landlock";
	if (!namespaces)
		argv[n++] = "--without=namespaces";
	buf_addf(&name, "%s%s%s", user || geteuid() ? "user" : "root", landlock ? "" : ", no Landlock",
		 namespaces ? "" : ", no user namespaces");
	int status, rc = spawn_wait(call->services->spawner, &(struct child_options){ .argv = argv }, ALL_ATTACKS_MS,
				    ANSWER_MAX, &output, &status, call->err);
	if (rc < 0)
		return rc;
	struct str text = str_trim(buf_str(&output));
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	if (json_parse(&reader, text.p, text.n, &root, call->err) < 0)
		return err_set(call->err, ERR_IO, "%s: the test did not end: " STR_FMT, name.p, STR_ARG(text));
	json_putf(w, "{condition:'%s', result:%.*s}", name.p, STR_ARG(text));
	unsigned counts[3][COUNT_OF(outcome_names)] = { 0 };
	const struct json *list = json_get(root, "attacks");
	for (const struct json *one = json_first(list); one; one = json_next(list, one))
		for (size_t i = 0; i < 3; i++)
			for (size_t k = 0; k < COUNT_OF(outcome_names); k++)
				counts[i][k] += json_str_is(json_get(one, hold_names[i]), outcome_names[k]);
	const char *cells[3];
	bool bad = false;
	for (size_t i = 0; i < 3; i++) {
		unsigned open = counts[i][OUT_OPEN] + counts[i][OUT_BROKEN];
		cells[i] = open                  ? arena_printf(&a, "%u OPEN", open)
			   : counts[i][OUT_HELD] ? arena_printf(&a, "%u held", counts[i][OUT_HELD])
						 : "asked about";
		bad = bad || open;
	}
	call->report->bad = call->report->bad || bad;
	report_row(call->report, bad ? CADRE_BAD : CADRE_PLAIN, name.p, cells[0], cells[1], cells[2], NULL);
	return 0;
}

static int test_all(struct cadre_call *call)
{
	struct json_out w = json_out(&call->report->json);
	int rc = 0;

	json_putf(&w, "{conditions:[");
	report_row(call->report, CADRE_HEAD, "CONDITION", "READS", "EDITS", "INSIDE", NULL);
	for (unsigned i = geteuid() ? 4 : 0; i < 8 && rc == 0; i++)
		rc = test_condition(call, i >= 4 && !geteuid() ? "65534" : NULL, !(i & 2), !(i & 1), &w);
	json_putf(&w, "]}");
	return rc;
}

int sandbox_test(struct cadre_call *call)
{
	const char *name = args_value(&call->args, "attempt");
	const char *user = args_value(&call->args, "user");
	const char *const *walls = args_values(&call->args, "without");
	int rc = 0;

	if (name) {
		bool did = attempt(name);
		json_addf(&call->report->json, "{did:!!%d}", did);
		report_line(call->report, CADRE_PLAIN, "TRIED%s", did ? " DID" : "");
		return 0;
	}
	if (args_has(&call->args, "all"))
		return test_all(call);
	if (user)
		rc = become_user(user, call->err);
	for (; walls && *walls && rc == 0; walls++)
		rc = hide_wall(*walls, call->err);
	return rc < 0 ? rc : test_here(call);
}
