/* SPDX-License-Identifier: MIT
 * transport_stdio_env.c - the environment of a server that is a child process. */
#include "mcp/transport/transport_stdio_env.h"
#include "config/settings/env_switch.h"
#include "config/settings/settings.h"

enum { OWN_VARIABLES = 3 };

struct environment {
	const char **list;
	size_t count;
};

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool same_name(const char *a, const char *b)
{
	size_t n = name_length(a);

	return n == name_length(b) && !memcmp(a, b, n);
}

static void put(struct environment *env, const char *entry)
{
	for (size_t i = 0; i < env->count; i++)
		if (same_name(env->list[i], entry)) {
			env->list[i] = entry;
			return;
		}
	env->list[env->count++] = entry;
}

static bool every_program_needs(const char *entry)
{
	static const char *const names[] = { "HOME",  "LANG", "LC_ALL", "LOGNAME", "PATH",
					     "SHELL", "TERM", "TMPDIR", "TZ",      "USER" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (same_name(entry, names[i]))
			return true;
	return false;
}

const char *const *mcp_server_environment(const struct mcp_world *world, const struct mcp_server *server,
					  struct arena *arena)
{
	size_t most = str_count(world->envp) + str_count(server->env) + OWN_VARIABLES + 1;
	struct environment env = { .list = arena_calloc(arena, most * sizeof *env.list) };
	bool few = env_is_on("CLAUDE_CODE_MCP_ALLOWLIST_ENV");

	for (const char *const *e = world->envp; e && *e; e++)
		if ((!few || every_program_needs(*e)) &&
		    !(server->of_project && env_is_secret((struct str){ *e, name_length(*e) })))
			put(&env, *e);
	for (const char *const *e = server->env; e && *e; e++)
		put(&env, *e);
	if (world->project_dir)
		put(&env, arena_printf(arena, "CLAUDE_PROJECT_DIR=%s", world->project_dir));
	if (world->session_id)
		put(&env, arena_printf(arena, "CLAUDE_CODE_SESSION_ID=%s", world->session_id));
	put(&env, "CLAUDECODE=1");
	return env.list;
}
