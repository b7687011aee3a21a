/* SPDX-License-Identifier: MIT
 * shell_set.c - the shells of one agent, and what they print. */
#include "tools/shell/shell_set.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include "lib/base/id.h"
#include "lib/base/list.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/spawn.h"

enum { REPORT_MS = 250, REPORT_BYTES = 400 };

void shell_output_init(struct shell_output *o, size_t keep_bytes, const char *spill_path)
{
	*o = (struct shell_output){ .keep_bytes = keep_bytes, .fd = -1 };
	o->spill_path = spill_path ? xstrdup(spill_path) : NULL;
}

/* A full disk ends the file, not the command. */
static int write_file(struct shell_output *o, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(o->fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			err_set(&o->err, ERR_IO, "cannot write %s: %m", o->path);
			close(o->fd);
			o->fd = -1;
			return -ERR_IO;
		}
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int shell_output_save(struct shell_output *o, const char *path, struct err *err)
{
	if (o->path)
		return 0;
	AUTO_FILE_AT struct file_at at = { 0 };
	const char *name = strrchr(path, '/') + 1;
	AUTO_FREE char *dir = xstrndup(path, (size_t)(name - 1 - path));
	int rc = file_make_parents(path, err);
	if (rc == 0)
		rc = file_at_find(dir, name, 0, &at, err);
	if (rc < 0)
		return rc;
	/* What has the name already is replaced: a link, a pipe, or another name of some other file. */
	(void)unlinkat(at.dir, name, 0);
	o->fd = openat(at.dir, name, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (o->fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path);
	o->path = xstrdup(path);
	if (write_file(o, o->head.p, o->head.n) < 0 && err)
		*err = o->err;
	return -(int)o->err.kind;
}

void shell_output_add(struct shell_output *o, const char *p, size_t n)
{
	size_t fits = MIN(n, o->keep_bytes - o->head.n);

	o->total += n;
	if (o->fd >= 0)
		(void)write_file(o, p, n);
	buf_add(&o->head, p, fits);
	if (fits == n)
		return;
	p += fits;
	n -= fits;
	if (!o->path && !o->err.text[0] && o->spill_path && shell_output_save(o, o->spill_path, &o->err) == 0)
		(void)write_file(o, p, n); /* the rest is in head */
	size_t kept = MIN(n, (size_t)SHELL_TAIL_BYTES);
	buf_add(&o->tail, p + n - kept, kept);
	if (o->tail.n > 4 * SHELL_TAIL_BYTES)
		buf_drop(&o->tail, o->tail.n - SHELL_TAIL_BYTES);
}

struct str shell_output_end(const struct shell_output *o, size_t n)
{
	const struct buf *from = o->tail.n ? &o->tail : &o->head;
	size_t at = from->n - MIN(from->n, n);

	while (at && at < from->n && ((unsigned char)from->p[at] & 0xc0) == 0x80)
		at++;
	return from->n ? (struct str){ from->p + at, from->n - at } : STR("");
}

void shell_output_release(struct shell_output *o)
{
	buf_release(&o->head);
	buf_release(&o->tail);
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->spill_path);
	*o = (struct shell_output){ .fd = -1 };
}

static const uint64_t flood_default = 5ULL << 30;

/* $1: file for the last directory, $2: the command, $3: directory with environment files of hooks, or empty. The trap leaves the
 * exit code alone and also runs on `exit`; a command that sets its own EXIT trap, or execs, only loses the new directory. Which file
 * is written it does not choose: read could set the variable in front of a command that a rule allows. */
static const char wrapper[] = "__cadre_dir=$1 __cadre_command=$2 __cadre_env=$3; shift 3; readonly __cadre_dir\n"
			      "trap '{ pwd -P >\"$__cadre_dir\"; } 2>/dev/null' EXIT\n"
			      "if [ -r \"${CLAUDE_ENV_FILE-}\" ]; then . \"$CLAUDE_ENV_FILE\"; fi\n"
			      "for __cadre_file in \"${__cadre_env:-/dev/null}\"/*.sh; do\n"
			      "if [ -r \"$__cadre_file\" ]; then . \"$__cadre_file\"; fi; done\n"
			      "eval \"$__cadre_command\"";

struct shell_set *shell_set_new(struct tool_env *env)
{
	return xnew(struct shell_set, .env = env, .flood_bytes = flood_default);
}

int shell_exit_code(const struct shell *shell)
{
	return WIFSIGNALED(shell->status) ? 128 + WTERMSIG(shell->status) : WEXITSTATUS(shell->status);
}

static void add_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			buf_addstr(out, "&lt;");
		else if (*s == '>')
			buf_addstr(out, "&gt;");
		else if (*s == '&')
			buf_addstr(out, "&amp;");
		else
			buf_addch(out, *s);
	}
}

static void notify_end(const struct shell *shell)
{
	struct tool_env *env = shell->set->env;
	AUTO_BUF struct buf text = { 0 };

	if (!env->notify)
		return;
	buf_addf(&text, "<task-notification>\n<task-id>%s</task-id>\n", shell->id);
	buf_addf(&text, "<tool-use-id>%s</tool-use-id>\n", shell->call_id);
	buf_addf(&text, "<output-file>%s</output-file>\n", shell->output.path);
	buf_addf(&text, "<status>%s</status>\n",
		 shell->reason != SHELL_ENDED ? "killed"
		 : shell->status              ? "failed"
					      : "completed");
	buf_addstr(&text, "<summary>Background command \"");
	add_escaped(&text, shell->label);
	buf_addstr(&text, "\" ");
	switch (shell->reason) {
	case SHELL_TIMED_OUT:
		buf_addstr(&text, "was stopped because it ran for ");
		bash_add_duration(&text, shell->limit_ms);
		break;
	case SHELL_FLOODED:
		buf_addstr(&text, "was stopped because it printed too much");
		break;
	case SHELL_STOPPED:
		buf_addstr(&text, "was stopped");
		break;
	default:
		buf_addf(&text, "%s (exit code %d)", shell->status ? "failed" : "completed", shell_exit_code(shell));
	}
	if (shell->output.err.text[0]) {
		buf_addstr(&text, "; its output is not complete: ");
		add_escaped(&text, shell->output.err.text);
	}
	buf_addstr(&text, "</summary>\n");
	if (shell->held)
		sandbox_report(shell->held, buf_str(&shell->output.head), shell->status != 0, &text);
	buf_addstr(&text, "</task-notification>");
	env->notify(env, buf_str(&text));
}

static void shell_free(struct shell *shell)
{
	timer_stop(shell->loop, &shell->timer);
	timer_stop(shell->loop, &shell->report);
	shell_output_release(&shell->output);
	sandbox_held_free(shell->held);
	free(shell->label);
	free(shell->call_id);
	free(shell->cwd_file);
	free(shell->last_dir);
	free(shell);
}

/* Processes that outlive the shell (`server &`) may run until the agent ends. */
static void remember_group(struct shell_set *set, pid_t group)
{
	size_t kept = 0;

	if (!spawner_group_left(set->env->spawner, group))
		return;
	for (size_t i = 0; i < set->group_count; i++)
		if (spawner_group_left(set->env->spawner, set->groups[i]))
			set->groups[kept++] = set->groups[i];
	if (kept == set->group_cap) {
		set->group_cap = kept ? 2 * kept : 4;
		set->groups = xrealloc(set->groups, set->group_cap * sizeof *set->groups);
	}
	set->groups[kept++] = group;
	set->group_count = kept;
}

static void on_exit_of_child(struct child *c, int status)
{
	struct shell *shell = child_data(c);

	shell->child = NULL;
	shell->status = status;
	if (shell->cwd_file) {
		AUTO_BUF struct buf text = { 0 };
		const char *name = strrchr(shell->cwd_file, '/') + 1;
		AUTO_FREE char *dir = xstrndup(shell->cwd_file, (size_t)(name - 1 - shell->cwd_file));
		if (file_below_read(dir, name, 64 * 1024, &text, NULL) == 0 && text.n > 1 && text.p[text.n - 1] == '\n')
			shell->last_dir = xstrndup(text.p, text.n - 1);
		(void)file_below_remove(dir, name, NULL);
	}
	if (shell->set) {
		remember_group(shell->set, child_pid(c));
		list_remove(shell);
		if (shell->background)
			notify_end(shell);
		else
			shell->on_end(shell);
	}
	shell_free(shell);
}

static void on_report(struct timer *timer)
{
	struct shell *shell = CONTAINER_OF(timer, struct shell, report);
	struct str line = str_trim(shell_output_end(&shell->output, REPORT_BYTES));
	const char *before = line.n ? memrchr(line.p, '\n', line.n) : NULL;

	if (!shell->set || shell->background)
		return;
	if (before)
		line = (struct str){ before + 1, line.n - (size_t)(before + 1 - line.p) };
	shell->set->env->progress(shell->set->env, shell->call_id, line, shell->lines);
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct shell *shell = child_data(c);

	if (!shell->set || shell->reason == SHELL_FLOODED)
		return;
	shell_output_add(&shell->output, p, n);
	if (shell->set->env->progress && !shell->background) {
		for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
			shell->lines++;
		if (!shell->report.slot)
			timer_start(shell->loop, &shell->report, REPORT_MS);
	}
	if (shell->output.total > shell->set->flood_bytes)
		shell_stop(shell, SHELL_FLOODED);
}

static const struct child_handlers shell_handlers = { on_output, on_exit_of_child };

void shell_stop(struct shell *shell, enum shell_reason reason)
{
	if (shell->reason == SHELL_ENDED)
		shell->reason = reason;
	timer_stop(shell->loop, &shell->timer);
	child_kill(shell->child, reason == SHELL_FLOODED ? SIGKILL : SIGTERM);
}

static void on_timer(struct timer *timer)
{
	struct shell *shell = CONTAINER_OF(timer, struct shell, timer);

	if (shell->background)
		shell_stop(shell, SHELL_TIMED_OUT);
	else
		shell->on_time(shell);
}

/* Entries of the list are NAME or NAME=value. */
static bool is_named(const char *const *variables, const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (; variables && *variables; variables++)
		if (!strncmp(*variables, entry, n) && strcspn(*variables, "=") == n)
			return true;
	return false;
}

/* Settings that no repository may change for a command without consent, after those of the environment. */
static const struct {
	const char *key, *value;
} git_config[] = {
	{ "core.fsmonitor", "false" },
	{ "core.hooksPath", "/dev/null" },
	{ "safe.bareRepository", "explicit" },
	{ "log.showSignature", "false" },
	{ "core.pager", "cat" },
	{ "diff.ignoreSubmodules", "dirty" },
	{ "core.alternateRefsCommand", "true" },
	{ "protocol.ext.allow", "never" },
};
enum { GIT_VARIABLES = 2 * COUNT_OF(git_config) + 4 };

static size_t add_git_env(const char **envp, size_t at, struct arena *a, const char *count_text)
{
	unsigned long count = count_text ? strtoul(count_text, NULL, 10) : 0;

	for (size_t i = 0; i < COUNT_OF(git_config); i++, count++) {
		envp[at++] = arena_printf(a, "GIT_CONFIG_KEY_%lu=%s", count, git_config[i].key);
		envp[at++] = arena_printf(a, "GIT_CONFIG_VALUE_%lu=%s", count, git_config[i].value);
	}
	envp[at++] = arena_printf(a, "GIT_CONFIG_COUNT=%lu", count);
	envp[at++] = "GIT_OPTIONAL_LOCKS=0";
	envp[at++] = "GIT_TERMINAL_PROMPT=0";
	envp[at++] = "GIT_NO_LAZY_FETCH=1";
	return at;
}

static const char *const *shell_env(const struct shell *shell, struct arena *a, enum tool_belief belief)
{
	const struct tool_env *env = shell->set->env;
	const char *const *old = env->envp ? env->envp : (const char *const *)environ;
	static const char *const own[] = { "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", NULL };
	/* NAME=value: the sandbox sets it; NAME: it takes it away. */
	const char *const *sandbox = shell->held ? shell->held->variables : NULL;
	const char *temp_dir = shell->held && shell->held->temp_dir ? shell->held->temp_dir : env->temp_dir;
	size_t count = str_count(old) + str_count(sandbox) + str_count(env->own);
	size_t at = 0;

	static const char *const git[] = { "GIT_CONFIG_COUNT", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT",
					   "GIT_NO_LAZY_FETCH", NULL };
	const char **envp = arena_alloc(a, (count + 5 + GIT_VARIABLES) * sizeof *envp);
	for (; *old; old++)
		if (!is_named(own, *old) && !(belief && is_named(git, *old)) &&
		    !(temp_dir && !strncmp(*old, "TMPDIR=", 7)) && !is_named(sandbox, *old))
			envp[at++] = *old;
	for (; sandbox && *sandbox; sandbox++)
		if (strchr(*sandbox, '='))
			envp[at++] = *sandbox;
	for (const char *const *more = env->own; more && *more; more++)
		envp[at++] = *more;
	envp[at++] = "CLAUDECODE=1";
	envp[at++] = "CLAUDE_CODE_CHILD_SESSION=1";
	if (env->session_id)
		envp[at++] = arena_printf(a, "CLAUDE_CODE_SESSION_ID=%s", env->session_id);
	if (temp_dir)
		envp[at++] = arena_printf(a, "TMPDIR=%s", temp_dir);
	if (belief != BELIEF_NONE)
		at = add_git_env(envp, at, a, tool_env_get(env, "GIT_CONFIG_COUNT"));
	envp[at] = NULL;
	return envp;
}

static char *task_path(const struct shell *shell, const char *dir, const char *ending)
{
	AUTO_BUF struct buf path = { 0 };

	buf_addf(&path, "%s/%s.%s", dir, shell->id, ending);
	return buf_take(&path, NULL);
}

static int shell_spawn(struct shell *shell, const struct shell_options *o, struct err *err)
{
	const struct tool_env *env = shell->set->env;
	AUTO_ARENA struct arena arena = { 0 };
	const char *chosen = tool_env_get(env, "CLAUDE_CODE_SHELL");

	if ((!chosen || !*chosen) && env->settings)
		chosen = env->settings->shell;
	struct sandbox_request request = {
		.env = env,
		.cwd = o->cwd,
		.command = o->command,
		.shell = chosen && *chosen ? chosen : NULL,
		.belief = o->belief,
		.where = o->where,
	};
	int rc = sandbox_hold(env->sandbox, &request, &shell->held, err);
	if (rc < 0)
		return rc;
	if (shell->cwd_file && shell->held && shell->held->temp_dir) { /* where the command may write */
		free(shell->cwd_file);
		shell->cwd_file = task_path(shell, shell->held->temp_dir, "cwd");
	}
	const char *dir_file = shell->cwd_file ? shell->cwd_file : "/dev/null";
	bool any = !chosen || !*chosen;
	const char *env_dir = env->env_dir && file_exists(env->env_dir) ? env->env_dir : "";
	const char *argv[] = { any ? "bash" : chosen, "-c", wrapper, "bash", dir_file, o->command, env_dir, NULL };
	struct child_options options = { .argv = argv,
					 .envp = shell_env(shell, &arena, o->belief),
					 .cwd = o->cwd,
					 .merge = true,
					 .landlock_fd = env->landlock_fd,
					 .confine = shell->held && (shell->held->profile.hold ||
								    shell->held->confine.filter)
							    ? &shell->held->confine
							    : NULL };

	rc = spawn_start(env->spawner, &options, &shell_handlers, shell, &shell->child, err);
	if (rc == -ERR_NOT_FOUND && any && file_exists(o->cwd)) { /* no bash here */
		argv[0] = argv[3] = "sh";
		rc = spawn_start(env->spawner, &options, &shell_handlers, shell, &shell->child, err);
	}
	sandbox_started(shell->held);
	return rc;
}

static int shell_save_output(struct shell *shell, struct err *err)
{
	if (!shell->set->env->tasks_dir)
		return err_set(err, ERR_USAGE, "no directory for the output of background commands");
	AUTO_FREE char *path = task_path(shell, shell->set->env->tasks_dir, "output");
	return shell_output_save(&shell->output, path, err);
}

static struct shell *shell_new(struct shell_set *set, const struct shell_options *o)
{
	struct shell *shell = xnew(struct shell, .set = set, .loop = set->env->loop);

	shell->id[0] = 'b';
	id_random(shell->id + 1, SHELL_ID_LEN - 1, "0123456789abcdefghijklmnopqrstuvwxyz");
	shell->label = xstrdup(o->description && *o->description ? o->description : o->command);
	shell->call_id = xstrdup(o->call_id);
	shell->limit_ms = o->limit_ms;
	shell->timer.fire = on_timer;
	shell->report.fire = on_report;
	shell->background = o->background;
	shell->on_end = o->on_end;
	shell->on_time = o->on_time;
	shell->data = o->data;
	shell_output_init(&shell->output, o->keep_bytes, o->spill_path);
	if (!o->background && set->env->tasks_dir && file_make_dirs(set->env->tasks_dir, 0700, NULL) == 0)
		shell->cwd_file = task_path(shell, set->env->tasks_dir, "cwd");
	return shell;
}

int shell_start(struct shell_set *set, const struct shell_options *options, struct shell **ret_shell, struct err *err)
{
	struct shell *shell = shell_new(set, options);

	int rc = options->background ? shell_save_output(shell, err) : 0;
	if (rc == 0)
		rc = shell_spawn(shell, options, err);
	if (rc < 0) {
		if (shell->output.path)
			(void)unlink(shell->output.path);
		shell_free(shell);
		return rc;
	}
	list_push(&set->shells, shell);
	timer_start(shell->loop, &shell->timer, shell->limit_ms);
	*ret_shell = shell;
	return 0;
}

int shell_to_background(struct shell *shell, uint64_t limit_ms, struct err *err)
{
	int rc = shell_save_output(shell, err);
	if (rc < 0)
		return rc;
	shell->background = true;
	shell->limit_ms = limit_ms;
	timer_start(shell->loop, &shell->timer, limit_ms);
	return 0;
}

struct shell *shell_set_find(const struct shell_set *set, struct str id)
{
	for (struct shell *shell = set->shells; shell; shell = shell->next)
		if (shell->background && str_is(id, shell->id))
			return shell;
	return NULL;
}

void shell_set_free(struct shell_set *set)
{
	if (!set)
		return;
	for (struct shell *shell = set->shells, *next; shell; shell = next) {
		next = shell->next;
		shell->set = NULL;
		timer_stop(shell->loop, &shell->timer);
		child_kill(shell->child, SIGKILL);
	}
	for (size_t i = 0; i < set->group_count; i++)
		spawner_kill_group(set->env->spawner, set->groups[i]);
	free(set->groups);
	free(set);
}
