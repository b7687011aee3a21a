/* SPDX-License-Identifier: MIT
 * worktree_git.c - one git command as a child process: a clean environment, no hooks, no questions, no daemons. */
#include "agents/worktree/worktree_int.h"
#include <signal.h>
#include <sys/wait.h>

enum { GIT_CAP_MS = 10 * 60 * 1000, GIT_ARGS_MAX = 128, GIT_OUT_LIMIT = 64 << 20, GIT_SAID_LIMIT = 64 << 10 };

/* The repository decides nothing that runs: hooks, file system monitors and background maintenance stay off. Locks of
 * refs are waited for, because several worktrees of one repository change at the same time. */
static const char *const git_options[] = {
	"git",
	"-c",
	"core.hooksPath=/dev/null",
	"-c",
	"core.fsmonitor=false",
	"-c",
	"maintenance.auto=false",
	"-c",
	"gc.auto=0",
	"-c",
	"core.filesRefLockTimeout=10000",
	"-c",
	"core.packedRefsTimeout=10000",
	"-c",
	"worktree.useRelativePaths=false",
};

/* ---- environment ---- */

/* Of the variables that steer git only those stay that say how to reach a server and where the user's settings are. */
static bool env_kept(const char *entry)
{
	static const char *const kept[] = { "GIT_SSH=",           "GIT_SSH_COMMAND=",    "GIT_SSL_",
					    "GIT_EXEC_PATH=",     "GIT_ASKPASS=",        "GIT_CONFIG_GLOBAL=",
					    "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=" };

	if (!strncmp(entry, "LC_ALL=", 7) || !strncmp(entry, "LANGUAGE=", 9))
		return false;
	if (strncmp(entry, "GIT_", 4) != 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		if (!strncmp(entry, kept[i], strlen(kept[i])))
			return true;
	return false;
}

static const char **environment(struct arena *a, const struct worktree *inside)
{
	size_t count = str_count((const char *const *)environ);
	size_t at = 0;
	const char **env = arena_alloc(a, (count + 6) * sizeof *env);
	for (size_t i = 0; i < count; i++)
		if (env_kept(environ[i]))
			env[at++] = environ[i];
	env[at++] = "LC_ALL=C"; /* its output is parsed */
	env[at++] = "GIT_TERMINAL_PROMPT=0";
	if (inside) {
		env[at++] = arena_printf(a, "GIT_DIR=%s", inside->admin);
		env[at++] = arena_printf(a, "GIT_COMMON_DIR=%s", inside->common);
		env[at++] = arena_printf(a, "GIT_WORK_TREE=%s", inside->path);
	}
	env[at] = NULL;
	return env;
}

/* ---- running ---- */

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct git *g = child_data(c);
	struct buf *to = is_stderr ? &g->said : &g->out;

	if (to->n + n <= (size_t)(is_stderr ? GIT_SAID_LIMIT : GIT_OUT_LIMIT))
		buf_add(to, p, n);
	else if (!is_stderr)
		child_kill(c, SIGTERM); /* half an answer must not be taken for a whole one */
}

static void on_exit_of_git(struct child *c, int status)
{
	struct git *g = child_data(c);

	g->status = status;
	g->child = NULL;
	timer_stop(g->loop, &g->cap);
	loop_kick(g->loop, g->kick);
}

static void on_cap(struct timer *timer)
{
	struct git *g = CONTAINER_OF(timer, struct git, cap);

	g->timed_out = true;
	if (g->child)
		child_kill(g->child, SIGTERM);
}

int git_start(struct git *g, const struct git_command *command, struct err *err)
{
	static const struct child_handlers handlers = { on_output, on_exit_of_git };
	AUTO_ARENA struct arena a = { 0 };
	const char *argv[COUNT_OF(git_options) + GIT_ARGS_MAX + 1];
	size_t n = command->program ? 1 : COUNT_OF(git_options);

	memcpy(argv, git_options, sizeof git_options);
	if (command->program)
		argv[0] = command->program;
	for (const char *const *arg = command->args; *arg; arg++) {
		if (n == COUNT_OF(argv) - 1)
			return err_set(err, ERR_LIMIT, "too many arguments for git %s", command->args[0]);
		argv[n++] = *arg;
	}
	argv[n] = NULL;
	buf_clear(&g->out);
	buf_clear(&g->said);
	g->timed_out = false;
	g->abortable = command->abortable;
	g->cap.fire = on_cap;
	const struct child_options options = {
		.argv = argv,
		.envp = environment(&a, command->inside),
		.cwd = command->inside ? command->inside->path : command->cwd,
		.input = command->input,
		.landlock_fd = command->landlock_fd,
	};
	int rc = spawn_start(g->spawner, &options, &handlers, g, &g->child, err);
	if (rc == 0)
		timer_start(g->loop, &g->cap, command->cap_ms ? command->cap_ms : GIT_CAP_MS);
	return rc;
}

bool git_ok(const struct git *g)
{
	return WIFEXITED(g->status) && WEXITSTATUS(g->status) == 0;
}

void git_abort(struct git *g)
{
	if (g->child && g->abortable)
		child_kill(g->child, SIGTERM);
}

void git_release(struct git *g)
{
	buf_release(&g->out);
	buf_release(&g->said);
}

struct str git_said(const struct git *g)
{
	struct str rest = str_trim(buf_str(&g->said));
	struct str first = { 0 };

	/* The reason is in the line that begins with "fatal:" or "error:"; hints follow. */
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (!first.n)
			first = line;
		if (str_starts(line, STR("fatal: ")) || str_starts(line, STR("error: ")))
			return (struct str){ line.p + 7, line.n - 7 };
	}
	if (first.n)
		return first;
	return g->timed_out ? STR("it took too long") : STR("it was ended");
}
