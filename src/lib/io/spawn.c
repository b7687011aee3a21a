/* SPDX-License-Identifier: MIT
 * spawn.c - starting a child: everything that may allocate or fail is done first, then vfork. The child
 * shares our memory until execve, so it makes plain system calls only and says in struct launch how far it
 * came. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/confine/confine.h"
#include "lib/io/spawn_int.h"

enum { CHILD_NOFILE = 1024, SIGNAL_COUNT = 64, MARK_MAX = 512, WORKER_STACK = 32 * 1024 };

enum launch_step {
	STEP_GROUP,
	STEP_KEEPER,
	STEP_LIMIT,
	STEP_PRIVILEGES,
	STEP_CELL,
	STEP_LANDLOCK,
	STEP_WORKER,
	STEP_STREAMS,
	STEP_CWD,
	STEP_EXEC
};

struct launch {
	const char *path;
	char *const *argv;
	char *const *envp;
	const char *cwd;
	int streams[3]; /* become 0, 1, 2; all above 2 */
	int keeper_fd;
	int landlock_fd;
	int terminal;                   /* > 0: controls the child, which leads a session */
	const struct confine *confine;  /* NULL: not confined */
	char *worker_stack;             /* with a cell: of the process that is born in it */
	volatile enum launch_step step; /* written by the child */
	volatile int error;
	volatile pid_t worker; /* with a cell: its number as we see it */
	size_t mount;          /* STEP_CELL: that failed */
};

struct streams {
	int child[3];
	int own[CHILD_WATCHES];
};

/* In a session of its own the child has no terminal but the one that is given. */
static int lead_session(const struct launch *l)
{
	if (syscall(SYS_setsid) < 0)
		return -1;
	return l->terminal > 0 ? (int)syscall(SYS_ioctl, l->terminal, TIOCSCTTY, 0) : 0;
}

/* A child that is held does not reach the terminal of its user. A session of its own would do, and costs more. */
static int leave_terminal(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) /* it has none, or what it starts cannot open it either */
		return errno == ENXIO || errno == ENOENT || errno == ENODEV || errno == EACCES || errno == EPERM ? 0
														 : -1;
	int rc = (int)syscall(SYS_ioctl, fd, TIOCNOTTY);
	(void)syscall(SYS_close, fd);
	return rc;
}

/* Registers the group before anything that may take its time or fail, then resets signals and the descriptor limit. */
static int enter_group(struct launch *l, pid_t group)
{
	/* SIG_DFL, no flags, empty mask, in the kernel's layout. Not sigaction(3): sanitizers put a wrapper
	 * around it. */
	static const uint64_t by_default[4];
	int32_t pgid = (int32_t)group;
	struct rlimit files;

	l->step = STEP_KEEPER;
	if (l->keeper_fd >= 0 &&
	    syscall(SYS_sendto, l->keeper_fd, &pgid, sizeof pgid, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0) < 0)
		return -1;
	l->step = STEP_LIMIT;
	for (int sig = 1; sig <= SIGNAL_COUNT; sig++)
		(void)syscall(SYS_rt_sigaction, sig, by_default, NULL, SIGNAL_COUNT / 8);
	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) < 0)
		return -1;
	files.rlim_cur = MIN(files.rlim_max, (rlim_t)CHILD_NOFILE);
	return (int)syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &files, NULL);
}

/* The limits of the process and of everything that it starts. */
static int restrict_self(struct launch *l)
{
	l->step = STEP_PRIVILEGES;
	if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	l->step = STEP_CELL;
	if (l->confine && l->confine->cell && confine_enter_cell(l->confine, &l->mount) < 0)
		return -1;
	l->step = STEP_LANDLOCK;
	if (l->landlock_fd > 0 && syscall(SYS_landlock_restrict_self, l->landlock_fd, 0) < 0)
		return -1;
	return l->confine ? confine_restrict(l->confine) : 0;
}

static int run_program(struct launch *l)
{
	static const uint64_t no_signals;
	struct rlimit files;

	l->step = STEP_STREAMS;
	for (int fd = 0; fd < 3; fd++)
		if (syscall(SYS_dup3, l->streams[fd], fd, 0) < 0)
			return -1;
	l->step = STEP_CWD;
	if (l->cwd && syscall(SYS_chdir, l->cwd) < 0)
		return -1;
	l->step = STEP_EXEC;
	/* Descriptors above the soft limit, which was lowered, must be closed too: hence the hard one. */
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0 && syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) == 0)
		for (rlim_t fd = 3; fd < MIN(files.rlim_max, (rlim_t)65536); fd++)
			(void)syscall(SYS_close, (int)fd);
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, sizeof no_signals);
	return (int)syscall(SYS_execve, l->path, l->argv, l->envp);
}

static noreturn_fn void leave_failed(struct launch *l)
{
	l->error = errno;
	for (;;)
		(void)syscall(SYS_exit_group, 127);
}

/* The process in the cell. It is created with all restrictions in place, so no other process there can reach our memory
 * through it. Its pid is another in there; the keeper needs ours. */
static int worker_main(void *data)
{
	struct launch *l = data;

	l->step = STEP_GROUP;
	if (lead_session(l) == 0 && enter_group(l, l->worker) == 0)
		(void)run_program(l);
	leave_failed(l);
}

static noreturn_fn void launch_child(struct launch *l)
{
	l->step = STEP_GROUP;
	if (!l->worker_stack) {
		long led = l->terminal > 0 ? lead_session(l) : syscall(SYS_setpgid, 0, 0);
		if (led == 0 && l->terminal <= 0 && l->confine)
			led = leave_terminal();
		if (led == 0 && enter_group(l, (pid_t)syscall(SYS_getpid)) == 0 && restrict_self(l) == 0)
			(void)run_program(l);
		leave_failed(l);
	}
	if (restrict_self(l) < 0)
		leave_failed(l);
	l->step = STEP_WORKER;
	/* A process that enters a PID namespace stays outside of it; its children are in. CLONE_PARENT makes this one ours. */
	if (clone(worker_main, l->worker_stack + WORKER_STACK,
		  CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_PARENT_SETTID | SIGCHLD, l, &l->worker) < 0)
		leave_failed(l);
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

/* All signals are blocked around vfork: a handler of ours must not run in the child, on our memory. */
static pid_t launch_process(struct launch *l)
{
	sigset_t all;
	sigset_t old;

	l->error = 0;
	l->worker = 0;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t pid = vfork();
	if (pid == 0)
		launch_child(l);
	int saved = errno;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid > 0 && l->worker_stack) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		pid = l->worker;
	}
	errno = saved;
	return pid;
}

static int launch_failure(const struct launch *l, const char *name, struct err *err)
{
	enum err_kind kind = l->error == ENOENT || l->error == ENOTDIR ? ERR_NOT_FOUND : ERR_IO;

	errno = l->error;
	switch (l->step) {
	case STEP_EXEC:
		return err_set(err, kind, "cannot run %s: %m", name);
	case STEP_CWD:
		return err_set(err, kind, "cannot run %s in %s: %m", name, l->cwd);
	case STEP_CELL:
		if (l->mount < l->confine->count)
			return err_set(err, ERR_IO, "cannot confine %s: mounting %s: %m", name,
				       l->confine->list[l->mount].path);
		return err_set(err, ERR_IO, "cannot confine %s: entering its namespaces: %m", name);
	case STEP_LANDLOCK:
	case STEP_WORKER:
	case STEP_PRIVILEGES:
		return err_set(err, ERR_IO, "cannot confine %s: %m", name);
	case STEP_KEEPER:
		return err_set(err, ERR_IO, "cannot run %s: the keeper process does not answer: %m", name);
	default:
		return err_set(err, ERR_IO, "cannot prepare a process for %s: %m", name);
	}
}

/* A keeper that was killed or stopped is replaced, once. */
static int launch_guarded(struct spawner *s, struct launch *l, const char *name, pid_t *ret_pid, struct err *err)
{
	for (int try = 0;; try++) {
		l->keeper_fd = s->keeper.fd;
		pid_t pid = launch_process(l);
		if (pid < 0)
			return err_set(err, ERR_IO, "cannot start a process for %s: %m", name);
		if (!l->error) {
			*ret_pid = pid;
			return 0;
		}
		if (pid > 0) {
			while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		if (pid > 0 && l->step > STEP_KEEPER)
			(void)keeper_send(&s->keeper, &(int32_t){ -pid }, 1);
		if (l->step != STEP_KEEPER || try)
			return launch_failure(l, name, err);
		if (spawner_new_keeper(s, err) < 0)
			return -ERR_IO;
	}
}

/* Returns owned. As with execvp(3), a file that may not be run is remembered but does not end the search; a PATH
 * directory without search permission is skipped and is not a permission error. Another than with execvp(3), so is one that
 * is not absolute: "." and "./bin" are whatever project we work in, whose files we do not run by ourselves. */
static char *find_program(const struct child_options *o, const char *const *envp, struct err *err)
{
	const char *name = o->argv[0];
	const char *path = env_get(envp, "PATH");
	int reason = ENOENT;
	struct stat st;

	if (strchr(name, '/'))
		return xstrdup(name);
	struct str rest = str_from(path ? path : "/usr/local/bin:/usr/bin:/bin");
	while (rest.p && *name) {
		struct str dir = str_cut(&rest, ':');
		AUTO_BUF struct buf file = { 0 };
		if (!str_starts(dir, STR("/")))
			continue;
		buf_addf(&file, STR_FMT "/%s", STR_ARG(dir), name);
		if (stat(file.p, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode) && access(file.p, X_OK) == 0)
			return buf_take(&file, NULL);
		reason = EACCES;
	}
	errno = reason;
	err_set(err, reason == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot run %s: %m", name);
	return NULL;
}

/* Returns owned: one block, the array and behind it the mark. An outer spawner's id stays in front of ours,
 * so that it finds our children too when it ends us. */
static char **env_with_mark(const struct spawner *s, const char *const *envp)
{
	const char *outer = env_get(envp, "CADRE_SPAWN");
	size_t count = 0;
	size_t at = 0;

	while (envp[count])
		count++;
	char **copy = xmalloc((count + 2) * sizeof *copy + MARK_MAX);
	char *mark = (char *)(copy + count + 2);
	if (outer && *outer && strlen(outer) < MARK_MAX - 64)
		snprintf(mark, MARK_MAX, SPAWN_MARK "%s:%s", outer, s->id);
	else
		snprintf(mark, MARK_MAX, SPAWN_MARK "%s", s->id);
	for (size_t i = 0; i < count; i++)
		if (strncmp(envp[i], SPAWN_MARK, sizeof SPAWN_MARK - 1) != 0)
			copy[at++] = (char *)(uintptr_t)envp[i];
	copy[at++] = mark;
	copy[at] = NULL;
	return copy;
}

/* A host may have closed 0, 1 or 2; descriptors that land there would be overwritten in the child. */
static int above_stdio(int fd)
{
	if (fd < 0 || fd > 2)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

static int open_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ret_read = above_stdio(ends[0]);
	*ret_write = above_stdio(ends[1]);
	return *ret_read < 0 || *ret_write < 0 ? -1 : 0;
}

/* wanted: a handler reads the output. */
static int open_streams(const struct child_options *o, bool wanted, struct streams *st)
{
	for (int fd = 0; o->inherit && fd < 3; fd++)
		if ((st->child[fd] = fcntl(o->terminal > 0 && isatty(fd) ? o->terminal : fd, F_DUPFD_CLOEXEC, 3)) < 0)
			return -1;
	if (o->inherit)
		return 0;
	if (o->in_fd > 0)
		st->child[0] = fcntl(o->in_fd, F_DUPFD_CLOEXEC, 3);
	else if (!o->input.n && !o->keep_stdin)
		st->child[0] = above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));
	else if (open_pipe(&st->child[0], &st->own[CHILD_IN]) < 0 || fcntl(st->own[CHILD_IN], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	if (st->child[0] < 0)
		return -1;
	if (o->out_fd > 0)
		st->child[1] = fcntl(o->out_fd, F_DUPFD_CLOEXEC, 3);
	else if (!wanted)
		st->child[1] = above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));
	else if (open_pipe(&st->own[CHILD_OUT], &st->child[1]) < 0)
		return -1;
	if (st->child[1] < 0)
		return -1;
	if (wanted && !o->merge && o->out_fd <= 0)
		return open_pipe(&st->own[CHILD_ERR], &st->child[2]);
	st->child[2] = fcntl(st->child[1], F_DUPFD_CLOEXEC, 3);
	return st->child[2] < 0 ? -1 : 0;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int start_process(struct spawner *s, const struct child_options *o, const struct streams *st, pid_t *ret_pid,
			 struct err *err)
{
	const char *const *envp = o->envp ? o->envp : (const char *const *)environ;
	AUTO_FREE char *path = find_program(o, envp, err);
	if (!path)
		return -(int)(err ? err->kind : ERR_NOT_FOUND);
	AUTO_FREE char **env = env_with_mark(s, envp);
	AUTO_FREE char *stack = o->confine && o->confine->cell ? xmalloc(WORKER_STACK) : NULL;
	struct launch l = {
		.path = path,
		.argv = (char *const *)(uintptr_t)o->argv,
		.envp = env,
		.cwd = o->cwd,
		.streams = { st->child[0], st->child[1], st->child[2] },
		.landlock_fd = o->landlock_fd,
		.terminal = o->terminal,
		.confine = o->confine,
		.worker_stack = stack,
	};
	return launch_guarded(s, &l, o->argv[0], ret_pid, err);
}

/* *ret_held: for the confiner, when the child has ended */
static int start_held(struct spawner *s, const struct child_options *o, const struct streams *st, pid_t *ret_pid,
		      void **ret_held, struct err *err)
{
	struct child_options options = *o;
	void *held = NULL;

	if (o->of == CHILD_OF_US || !s->confiner.hold)
		return start_process(s, o, st, ret_pid, err);
	int rc = s->confiner.hold(&options, &held, err);
	if (o->ret_held)
		*o->ret_held = held || rc < 0;
	if (rc == 0)
		rc = start_process(s, &options, st, ret_pid, err);
	if (held && rc == 0)
		s->confiner.started(held);
	else if (held)
		s->confiner.ended(TAKE(held), NULL);
	*ret_held = held;
	return rc;
}

int spawn_start(struct spawner *s, const struct child_options *options, const struct child_handlers *handlers,
		void *data, struct child **ret_child, struct err *err)
{
	struct streams st = { .child = { -1, -1, -1 }, .own = { -1, -1, -1, -1 } };
	pid_t pid = -1;
	void *held = NULL;

	spawner_prune(s);
	int rc = spawner_prepare(s, err);
	if (rc < 0)
		return rc;
	if (open_streams(options, handlers->on_output != NULL, &st) < 0)
		rc = err_set(err, ERR_IO, "cannot start %s: %m", options->argv[0]);
	else
		rc = start_held(s, options, &st, &pid, &held, err);
	close_all(st.child, COUNT_OF(st.child));
	if (rc < 0) {
		close_all(st.own, COUNT_OF(st.own));
		return rc;
	}
	struct child *c = xnew(struct child, .spawner = s, .handlers = *handlers, .data = data, .pid = pid,
			       .stdin_open = options->keep_stdin, .tell_end = options->tell_end, .held = held,
			       .held_ended = s->confiner.ended);
	buf_append(&c->input, options->input);
	rc = child_begin(c, st.own, err);
	if (rc == 0 && ret_child)
		*ret_child = c;
	return rc;
}
