/* SPDX-License-Identifier: MIT
 * remote.c - a remote server: headers, authorisation, end; and headersHelper, a shell command that prints a JSON object
 * of headers, for secrets that change. The helper runs once for each connection and again when the server refuses what
 * it printed. Without its headers no request is sent. */
#include "mcp/transport/remote.h"
#include <signal.h>
#include <sys/wait.h>
#include "mcp/transport/transport_int.h"

enum { OWN_HEADERS = 8 };

void remote_kick(struct remote *r)
{
	for (struct exchange *x = r->exchanges; x; x = x->next)
		loop_kick(r->core.t.env->loop, &x->kick);
}

enum { HELPER_MS = 10 * 1000, HELPER_BYTES = 64 << 10 };

printf_like(2, 3) static void helper_fail(struct remote *r, const char *fmt, ...)
{
	struct remote_helper *h = &r->helper;
	char text[200];

	PRINT_ARGS(text, fmt);
	if (!h->failed)
		err_set(&h->err, ERR_IO, "headersHelper: %s", text);
	h->failed = true;
}

/* Its output must not inject a header. */
static bool is_clean(struct str s, const char *unwanted)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f || char_in(s.p[i], unwanted))
			return false;
	return true;
}

static void helper_read_headers(struct remote *r)
{
	struct remote_helper *h = &r->helper;
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;
	size_t n = 0;

	arena_reset(&h->arena);
	h->headers = NULL;
	if (json_parse(&reader, h->run.out.p, h->run.out.n, &root, NULL) < 0 || !json_is(root, JSON_OBJECT)) {
		helper_fail(r, "its output is not a JSON object");
		return;
	}
	const char **list = arena_calloc(&h->arena, (root->count + 1) * sizeof *list);
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct str name = json_str(m.key, &h->arena);
		struct str value = json_str(m.value, &h->arena);
		if (!name.n || !json_is(m.value, JSON_STRING) || !is_clean(name, " :") || !is_clean(value, "")) {
			helper_fail(r, "its output has a member that is not a header");
			return;
		}
		list[n++] = arena_printf(&h->arena, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(value));
	}
	h->headers = list;
}

/* What it prints as errors is not shown: it may have secrets in it. */
static void on_helper_done(struct capture *run)
{
	struct remote *r = CONTAINER_OF(run, struct remote, helper.run);
	struct remote_helper *h = &r->helper;

	spawner_kill_group(r->core.t.env->spawner, run->pid);
	if (run->late)
		helper_fail(r, "it did not end within %d s", HELPER_MS / 1000);
	else if (run->flooded)
		helper_fail(r, "it printed more than %d KB", HELPER_BYTES >> 10);
	else if (WIFSIGNALED(run->status))
		helper_fail(r, "it was killed by signal %d", WTERMSIG(run->status));
	else if (WEXITSTATUS(run->status))
		helper_fail(r, "it exited with status %d", WEXITSTATUS(run->status));
	else
		helper_read_headers(r);
	buf_release(&run->out);
	buf_release(&run->errors);
	if (h->failed)
		remote_close(r, &h->err);
	r->auth_round++;
	r->auth_error = (struct err){ 0 };
	remote_kick(r);
	remote_settle(r);
}

/* Runs it if the server has one that may run. */
static int remote_helper_start(struct remote *r, struct err *err)
{
	const struct mcp_transport *t = &r->core.t;
	struct remote_helper *h = &r->helper;
	AUTO_ARENA struct arena arena = { 0 };
	const char *argv[] = { "sh", "-c", t->server->headers_helper, NULL };

	if (!t->server->headers_helper || !t->server->believed)
		return 0;
	h->failed = false;
	h->run = (struct capture){ .most = HELPER_BYTES, .signal = SIGKILL, .done = on_helper_done };
	const char *const *base = mcp_server_environment(t->env, t->server, &arena);
	size_t n = str_count(base);
	const char **env = arena_calloc(&arena, (n + 3) * sizeof *env);
	memcpy(env, base, n * sizeof *env);
	env[n] = arena_printf(&arena, "CLAUDE_CODE_MCP_SERVER_NAME=%s", t->server->name);
	env[n + 1] = arena_printf(&arena, "CLAUDE_CODE_MCP_SERVER_URL=%s", t->server->url);
	struct child_options options = { .argv = argv,
					 .envp = env,
					 .cwd = t->env->cwd,
					 .of = t->env->held ? mcp_server_origin(t->server) : CHILD_OF_US,
					 .cage = t->env->cage };
	if (capture_start(&h->run, t->env->spawner, &options, HELPER_MS, err) < 0)
		return err_wrap(err, "headersHelper");
	return 0;
}

static bool list_has(const char *const *headers, const char *name)
{
	size_t n = strcspn(name, ":");

	for (; headers && *headers; headers++)
		if (strcspn(*headers, ":") == n && !strncasecmp(*headers, name, n))
			return true;
	return false;
}

/* The configuration has its own Authorization header. */
static bool is_authorised_by_hand(const struct remote *r)
{
	return list_has(r->core.t.server->headers, "Authorization") || list_has(r->helper.headers, "Authorization");
}

const char *const *remote_headers(struct remote *r, const struct exchange *x, struct arena *arena)
{
	const char *const *given = r->core.t.server->headers;
	const char *const *printed = r->helper.headers;
	size_t most = str_count(given) + str_count(printed) + OWN_HEADERS;
	const char **list = arena_calloc(arena, most * sizeof *list);
	const char *token = is_authorised_by_hand(r) ? NULL : mcp_auth_header(r->auth);
	bool is_post = !strcmp(x->method, "POST");
	size_t n = 0;

	for (; given && *given; given++)
		if (!list_has(printed, *given))
			list[n++] = *given;
	for (; printed && *printed; printed++)
		list[n++] = *printed;
	if (token)
		list[n++] = token;
	list[n++] = is_post ? "Accept: application/json, text/event-stream" : "Accept: text/event-stream";
	if (is_post)
		list[n++] = "Content-Type: application/json";
	if (r->session_id.n)
		list[n++] = arena_printf(arena, "Mcp-Session-Id: %s", r->session_id.p);
	if (r->version.n)
		list[n++] = arena_printf(arena, "MCP-Protocol-Version: %s", r->version.p);
	if (!is_post && x->last_id.n)
		list[n++] = arena_printf(arena, "Last-Event-ID: %s", x->last_id.p);
	return list;
}

static void on_authorised(void *data, const struct err *err)
{
	struct remote *r = data;

	r->authorising = false;
	if (r->refreshing)
		r->refresh_failed = err != NULL;
	else if (err)
		r->auth_error = *err;
	if (!err) {
		r->auth_round++;
		r->refresh_failed = false;
	}
	remote_kick(r);
}

static void remote_authorise(struct remote *r, int status, struct str challenge)
{
	r->authorising = true;
	r->refreshing = !status;
	r->auth_error = (struct err){ 0 };
	mcp_auth_challenge(r->auth, status, challenge, on_authorised, r);
}

bool remote_lets_go(struct remote *r, const struct exchange *x)
{
	if (x->is_last)
		return true;
	if (r->forgotten || r->helper.run.child || r->authorising || (r->opener && r->opener != x))
		return false;
	if (is_authorised_by_hand(r) || r->refresh_failed || !mcp_auth_stale(r->auth))
		return true;
	remote_authorise(r, 0, (struct str){ 0 });
	return false;
}

void remote_challenge(struct remote *r, const struct exchange *x)
{
	if (r->authorising || r->helper.run.child || x->auth_round != r->auth_round)
		return; /* authorisation is running, or ended while x was running */
	r->auth_error = (struct err){ 0 };
	if (r->core.t.server->headers_helper && !r->core.t.server->believed)
		mcp_core_log(&r->core, "headersHelper was not run: this folder is not trusted");
	if (x->challenges == 1 && remote_helper_start(r, &r->auth_error) < 0)
		return;
	if (r->helper.run.child)
		return;
	if (is_authorised_by_hand(r))
		err_set(&r->auth_error, ERR_DENIED,
			"the server refuses the authorisation of its configuration (HTTP %d)", x->status);
	else
		remote_authorise(r, x->status, buf_str(&x->challenge));
}

int remote_start(struct remote *r, struct err *err)
{
	const struct mcp_transport *t = &r->core.t;

	r->exchanges_end = &r->exchanges;
	r->url = xstrdup(t->server->url);
	r->shard = http_pick_shard(t->env->http);
	r->auth = mcp_auth_new(t->env, t->server);
	return remote_helper_start(r, err);
}

void remote_close(struct remote *r, const struct err *err)
{
	if (!mcp_core_close(&r->core, err))
		return;
	if (r->helper.run.child)
		child_kill(r->helper.run.child, SIGKILL);
	for (struct exchange *x = r->exchanges; x; x = x->next)
		if (!x->is_last)
			exchange_drop(x);
	remote_settle(r);
}

void remote_settle(struct remote *r)
{
	if (r->core.closing && !r->exchanges && !r->helper.run.child)
		mcp_core_over(&r->core);
}

void remote_release(struct remote *r)
{
	mcp_auth_free(r->auth);
	arena_release(&r->helper.arena);
	buf_release(&r->session_id);
	buf_release(&r->version);
	free(r->url);
	mcp_core_release(&r->core);
}
