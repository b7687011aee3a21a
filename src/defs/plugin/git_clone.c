/* SPDX-License-Identifier: MIT
 * git_clone.c - one git clone, and the checkout of a pinned commit behind it. */
#include "defs/plugin/git_clone.h"

#define GIT "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"

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

static int run(const char *const *argv, const char *what, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };

	return program_run(&(struct program){ .argv = argv, .envp = environment(&a), .what = what }, err);
}

/* A commit that is pinned may be anywhere in the history, so all of it comes, and no branch is unpacked before. */
int git_clone(const struct git_source *source, const char *dir, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *argv[20] = { GIT, "clone", "--quiet", "--no-recurse-submodules" };
	size_t n = 10;

	argv[n++] = source->sha ? "--no-checkout" : "--depth=1";
	if (source->ref) {
		argv[n++] = "--branch";
		argv[n++] = source->ref;
	}
	argv[n++] = "--";
	argv[n++] = source->url;
	argv[n] = dir;
	int status = run(argv, arena_printf(&a, "git clone %s", source->url), err);
	if (status < 0 || !source->sha)
		return status;
	const char *const checkout[] = { GIT, "-C", dir, "checkout", "--quiet", "--detach", source->sha, NULL };
	return run(checkout, arena_printf(&a, "git checkout %s", source->sha), err);
}
