/* SPDX-License-Identifier: MIT
 * remote.c - a server behind an address: headers, authorisation, the end. */
#include "mcp/transport/remote.h"
#include "mcp/transport/exchange.h"

enum { OWN_HEADERS = 8 };

static void kick_all(struct remote *r)
{
	for (struct exchange *x = r->exchanges; x; x = x->next)
		loop_kick(r->core.t.world->loop, &x->kick);
}

void remote_opener_taken(struct remote *r)
{
	r->opener = NULL;
	kick_all(r);
}

/* ---- headers ---- */

static struct str header_name(const char *header)
{
	return (struct str){ header, strcspn(header, ":") };
}

static bool list_has(const char *const *headers, struct str name)
{
	for (; headers && *headers; headers++) {
		struct str its_name = header_name(*headers);
		if (its_name.n == name.n && !strncasecmp(its_name.p, name.p, name.n))
			return true;
	}
	return false;
}

/* The person who wrote the configuration takes care of the authorisation. */
static bool is_authorised_by_hand(const struct remote *r)
{
	struct str name = STR("Authorization");

	return list_has(r->core.t.server->headers, name) || list_has(r->helper.headers, name);
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
		if (!list_has(printed, header_name(*given)))
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

/* ---- authorisation ---- */

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
	kick_all(r);
}

static void authorise(struct remote *r, int status, struct str challenge)
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
	if (r->forgotten || r->helper.child || r->authorising || (r->opener && r->opener != x))
		return false;
	if (is_authorised_by_hand(r) || r->refresh_failed || !mcp_auth_stale(r->auth))
		return true;
	authorise(r, 0, (struct str){ 0 });
	return false;
}

void remote_challenge(struct remote *r, const struct exchange *x)
{
	if (r->authorising || r->helper.child || x->auth_round != r->auth_round)
		return; /* it is being got, or was got while x was away */
	r->auth_error = (struct err){ 0 };
	if (r->core.t.server->headers_helper && !r->core.t.server->believed)
		mcp_core_log(&r->core, "headersHelper was not run: this folder is not trusted");
	if (x->challenges == 1 && remote_helper_start(r, &r->auth_error) < 0)
		return;
	if (r->helper.child)
		return;
	if (is_authorised_by_hand(r))
		err_set(&r->auth_error, ERR_DENIED,
			"the server refuses the authorisation of its configuration (HTTP %d)", x->status);
	else
		authorise(r, x->status, buf_str(&x->challenge));
}

void remote_helper_done(struct remote *r)
{
	if (r->helper.failed)
		remote_close(r, &r->helper.err);
	r->auth_round++;
	r->auth_error = (struct err){ 0 };
	kick_all(r);
	remote_settle(r);
}

/* ---- its life ---- */

int remote_start(struct remote *r, struct err *err)
{
	const struct mcp_transport *t = &r->core.t;

	mcp_core_init(&r->core);
	r->exchanges_end = &r->exchanges;
	r->url = xstrdup(t->server->url);
	r->shard = http_pick_shard(t->world->http);
	r->auth = mcp_auth_new(t->world, t->server);
	return remote_helper_start(r, err);
}

void remote_close(struct remote *r, const struct err *err)
{
	if (!mcp_core_close(&r->core, err))
		return;
	remote_helper_stop(r);
	for (struct exchange *x = r->exchanges; x; x = x->next)
		if (!x->is_last)
			exchange_drop(x);
	remote_settle(r);
}

void remote_settle(struct remote *r)
{
	if (r->core.closing && !r->exchanges && !r->helper.child)
		mcp_core_over(&r->core);
}

void remote_release(struct remote *r)
{
	mcp_auth_free(r->auth);
	remote_helper_release(r);
	buf_release(&r->session_id);
	buf_release(&r->version);
	free(r->url);
	mcp_core_release(&r->core);
}
