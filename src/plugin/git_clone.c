/* SPDX-License-Identifier: MIT
 * git_clone.c - one git clone. */
#include "plugin/git_clone.h"
#include <signal.h>
#include <sys/wait.h>

enum { CAP_MS = 10 * 60 * 1000, SAID_LIMIT = 16 << 10 };

/* Variables that steer git elsewhere are left out; how to reach a server, and the user's own settings, stay. */
static bool is_kept(const char *entry)
{
	static const char *const kept[] = { "GIT_SSH",
					    "GIT_SSL_",
					    "GIT_ASKPASS=",
					    "GIT_CONFIG_GLOBAL=",
					    "GIT_CONFIG_SYSTEM=",
					    "GIT_CONFIG_NOSYSTEM=",
					    "GIT_EXEC_PATH=" };

	if (strncmp(entry, "GIT_", 4) != 0)
		return strncmp(entry, "LC_ALL=", 7) != 0;
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		if (!strncmp(entry, kept[i], strlen(kept[i])))
			return true;
	return false;
}

static const char *const *environment(struct arena *a)
{
	size_t n = 0;
	size_t count = 0;

	while (environ[count])
		count++;
	const char **env = arena_alloc(a, (count + 4) * sizeof *env);
	for (size_t i = 0; i < count; i++)
		if (is_kept(environ[i]))
			env[n++] = environ[i];
	env[n++] = "LC_ALL=C";
	env[n++] = "GIT_TERMINAL_PROMPT=0";
	env[n++] = "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"; /* ext:: would run a program */
	env[n] = NULL;
	return env;
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct git_clone *g = child_data(c);

	(void)is_stderr;
	if (g->said.n < SAID_LIMIT)
		buf_add(&g->said, p, MIN(n, SAID_LIMIT - g->said.n));
}

static void on_exit_of_git(struct child *c, int status)
{
	struct git_clone *g = child_data(c);

	g->status = status;
	g->child = NULL;
	timer_stop(g->loop, &g->cap);
	loop_kick(g->loop, &g->kick);
}

static void on_cap(struct timer *timer)
{
	struct git_clone *g = CONTAINER_OF(timer, struct git_clone, cap);

	g->timed_out = true;
	if (g->child)
		child_kill(g->child, SIGTERM);
}

static void step(struct kick *kick)
{
	struct git_clone *g = CONTAINER_OF(kick, struct git_clone, kick);

	g->done(g);
}

int git_clone_start(struct git_clone *g, struct spawner *spawner, const struct git_source *source, const char *dir,
		    struct err *err)
{
	static const struct child_handlers handlers = { on_output, on_exit_of_git };
	AUTO_ARENA struct arena a = { 0 };
	const char *argv[20] = { "git",
				 "-c",
				 "core.hooksPath=/dev/null",
				 "-c",
				 "core.fsmonitor=false",
				 "-c",
				 "gc.auto=0",
				 "clone",
				 "--quiet",
				 "--depth=1",
				 "--no-recurse-submodules" };
	size_t n = 11;

	if (source->ref) {
		argv[n++] = "--branch";
		argv[n++] = source->ref;
	}
	argv[n++] = "--";
	argv[n++] = source->url;
	argv[n] = dir;
	g->cap.fire = on_cap;
	g->kick.step = step;
	int status =
		spawn_start(spawner, &(struct child_options){ .argv = argv, .envp = environment(&a), .merge = true },
			    &handlers, g, &g->child, err);
	if (status == 0)
		timer_start(g->loop, &g->cap, CAP_MS);
	return status;
}

int git_clone_result(const struct git_clone *g, const struct git_source *source, struct err *err)
{
	struct str said = str_trim(buf_str(&g->said));

	if (g->timed_out)
		return err_set(err, ERR_TIMEOUT, "git clone %s took more than ten minutes", source->url);
	if (WIFEXITED(g->status) && WEXITSTATUS(g->status) == 0)
		return 0;
	return err_set(err, ERR_IO, "git clone %.80s: %.*s", source->url, (int)MIN(said.n, 140), said.p);
}

void git_clone_release(struct git_clone *g)
{
	buf_release(&g->said);
}
