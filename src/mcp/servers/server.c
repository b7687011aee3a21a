/* SPDX-License-Identifier: MIT
 * server.c - names, references and identity of servers: when two entries mean the same connection. */
#include "mcp/servers/server.h"

const char *mcp_kind_word(enum mcp_kind kind)
{
	static const char *const words[] = {
		[MCP_STDIO] = "stdio", [MCP_HTTP] = "http", [MCP_SSE] = "sse", [MCP_SDK] = "sdk"
	};

	return words[kind];
}

const char *mcp_scope_word(enum mcp_scope scope)
{
	static const char *const words[] = {
		[MCP_SCOPE_MANAGED] = "managed", [MCP_SCOPE_FLAG] = "flag", [MCP_SCOPE_LOCAL] = "local",
		[MCP_SCOPE_PROJECT] = "project", [MCP_SCOPE_USER] = "user", [MCP_SCOPE_PLUGIN] = "plugin",
		[MCP_SCOPE_AGENT] = "agent",
	};

	return words[scope];
}

enum child_of mcp_server_origin(const struct mcp_server *s)
{
	bool own = s->scope == MCP_SCOPE_MANAGED || s->scope == MCP_SCOPE_FLAG || s->scope == MCP_SCOPE_USER ||
		   s->scope == MCP_SCOPE_LOCAL;

	return own ? CHILD_OF_SERVER : CHILD_OF_PROJECT_SERVER;
}

void mcp_server_unref(struct mcp_server *s)
{
	if (!s || --s->refs)
		return;
	struct arena arena = s->arena;
	arena_release(&arena);
	free(s);
}

void mcp_env_set(struct mcp_env *env, const struct mcp_env *base)
{
	struct mcp_env old = *env;
	struct arena a = { 0 };

	*env = *base;
	env->cwd = arena_strdup(&a, base->cwd);
	env->project_dir = arena_strdup(&a, base->project_dir);
	env->session_id = arena_strdup(&a, base->session_id);
	env->envp = arena_strdup_list(&a, base->envp, 0);
	env->roots = arena_strdup_list(&a, base->roots, 0);
	env->refs = old.refs;
	env->arena = a;
	arena_release(&old.arena);
}

struct mcp_env *mcp_env_new(const struct mcp_env *base)
{
	struct mcp_env *env = xnew(struct mcp_env, .refs = 1);

	mcp_env_set(env, base);
	return env;
}

void mcp_env_unref(struct mcp_env *env)
{
	if (!env || !env->refs || --env->refs)
		return;
	arena_release(&env->arena);
	free(env);
}

static void add_part(struct buf *key, const char *text)
{
	buf_addf(key, "%zu:%s", text ? strlen(text) : 0, text ? text : "");
}

static void add_list(struct buf *key, const char *const *list)
{
	size_t n = str_count(list);

	buf_addf(key, "[%zu]", n);
	for (size_t i = 0; i < n; i++)
		add_part(key, list[i]);
}

static void add_sorted(struct buf *key, const char *const *list, bool headers)
{
	AUTO_ARENA struct arena a = { 0 };
	size_t n = str_count(list);
	const char **sorted = arena_calloc(&a, (n + 1) * sizeof *sorted);

	for (size_t i = 0; i < n; i++) {
		char *text = arena_strdup(&a, list[i]);
		for (char *c = text; headers && *c && *c != ':'; c++)
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c + 'a' - 'A');
		sorted[i] = text;
	}
	qsort(sorted, n, sizeof *sorted, str_compare);
	add_list(key, sorted);
}

const char *mcp_server_key(struct mcp_server *s)
{
	AUTO_BUF struct buf key = { 0 };
	const struct mcp_oauth *o = &s->oauth;

	add_part(&key, mcp_kind_word(s->kind));
	add_part(&key, s->of_project ? "project" : ""); /* it has another environment */
	switch (s->kind) {
	case MCP_STDIO:
		add_part(&key, s->command);
		add_list(&key, s->args);
		add_sorted(&key, s->env, false);
		add_part(&key, s->wishes_text);
		break;
	case MCP_HTTP:
	case MCP_SSE:
		add_part(&key, s->url);
		add_sorted(&key, s->headers, true);
		add_part(&key, s->headers_helper);
		add_part(&key, s->headers_helper && s->believed ? "believed" : "");
		add_part(&key, o->client_id);
		add_part(&key, o->client_secret);
		add_part(&key, o->metadata_url);
		add_part(&key, o->scopes);
		add_part(&key, o->private_key);
		add_part(&key, o->idp_token_url);
		add_part(&key, o->idp_client_id);
		add_part(&key, o->idp_token);
		buf_addf(&key, "%u %d", o->callback_port, o->machine);
		break;
	case MCP_SDK:
		add_part(&key, s->name);
		break;
	}
	return arena_str(&s->arena, buf_str(&key)).p;
}

bool mcp_server_same_endpoint(const struct mcp_server *a, const struct mcp_server *b)
{
	size_t n = str_count(a->args);

	if (a->url && b->url)
		return !strcmp(a->url, b->url);
	if (!a->command || !b->command || strcmp(a->command, b->command) != 0 || n != str_count(b->args))
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a->args[i], b->args[i]) != 0)
			return false;
	return true;
}
