/* SPDX-License-Identifier: MIT
 * provider_anthropic.c - the Messages API over HTTP. */
#include "core/model/http_place.h"

static int open_endpoint(const struct endpoint_options *o, struct endpoint **ret_endpoint, struct err *err);
static void close_endpoint(struct endpoint *e);
static int anthropic_start(struct endpoint *e, struct model_call *call, struct err *err);
static void cancel(struct model_call *call);
static void pause_call(struct model_call *call, bool on);

extern const struct provider provider_anthropic;
const struct provider provider_anthropic = {
	.name = "anthropic",
	.summary = "the Messages API at ANTHROPIC_BASE_URL",
	.env = { .base_url = "ANTHROPIC_BASE_URL",
		 .api_key = "ANTHROPIC_API_KEY",
		 .auth_token = "ANTHROPIC_AUTH_TOKEN",
		 .headers = "ANTHROPIC_CUSTOM_HEADERS",
		 .betas = "ANTHROPIC_BETAS" },
	.has_aliases = true,
	.searches_web = true,
	.open = open_endpoint,
	.close = close_endpoint,
	.start = anthropic_start,
	.cancel = cancel,
	.pause = pause_call,
};

struct anthropic {
	struct endpoint endpoint;
	struct http_place place;
};

static int open_endpoint(const struct endpoint_options *o, struct endpoint **ret_endpoint, struct err *err)
{
	if (!o->api_key && !o->auth_token)
		return err_set(err, ERR_USAGE,
			       "no API key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN (looked at both; "
			       "--provider scripted runs the built-in demo model instead)");
	if (http_place_check_key(o->api_key, "ANTHROPIC_API_KEY", err) < 0 ||
	    http_place_check_key(o->auth_token, "ANTHROPIC_AUTH_TOKEN", err) < 0)
		return -(int)err->kind;
	if (http_place_check_url(o->base_url, "ANTHROPIC_BASE_URL", err) < 0)
		return -(int)err->kind;

	struct anthropic *a = xcalloc(1, sizeof *a);
	a->endpoint.provider = &provider_anthropic;
	const char *base = o->base_url ? o->base_url : "https://api.anthropic.com";
	if (http_place_open(&a->place, o, base, "/v1/messages", err) < 0) {
		free(a);
		return -(int)err->kind;
	}
	http_place_header(&a->place, "anthropic-version", "2023-06-01");
	/* One credential only: a private key is no business of the gateway that the token is for. */
	if (!o->auth_token)
		http_place_header(&a->place, "x-api-key", o->api_key);
	else
		http_place_header(&a->place, "authorization",
				  arena_printf(&a->place.arena, "Bearer %s", o->auth_token));
	if (o->betas && o->betas[0])
		http_place_header(&a->place, "anthropic-beta", o->betas);
	if (o->task_budget)
		http_place_header(&a->place, "anthropic-beta", "task-budgets-2026-03-13");
	*ret_endpoint = &a->endpoint;
	return 0;
}

static void close_endpoint(struct endpoint *e)
{
	struct anthropic *a = CONTAINER_OF(e, struct anthropic, endpoint);

	http_place_close(&a->place);
	free(a);
}

static size_t read_body(void *data, char *out, size_t room)
{
	return body_read(&((struct model_call *)data)->body, out, room);
}

static void rewind_body(void *data)
{
	body_rewind(&((struct model_call *)data)->body);
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	struct model_call *call = http_data(r);

	if (call->status != 200) {
		if (call->error_body.n < LARGEST_ERROR_BODY)
			buf_add(&call->error_body, p, n);
		return true;
	}
	if (!model_call_is_stream(call, p, n))
		return false;
	answer_feed(&call->answer, p, n);
	return !call->answer.failure.kind;
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct model_call *call = http_data(r);
	/* We ended it because it is not an event stream: that is not a cancel. */
	bool refused_by_us = error == HTTP_CANCELLED && call->status == 200 && !call->is_stream && !call->cancelled;

	model_call_finish(call, refused_by_us ? FAIL_GARBAGE : http_place_failure(error), text);
}

static int anthropic_start(struct endpoint *e, struct model_call *call, struct err *err)
{
	static const struct http_handlers handlers = { http_place_on_head, http_place_on_header, on_data, on_done };
	struct anthropic *a = CONTAINER_OF(e, struct anthropic, endpoint);
	char session[96];
	const char *own[] = { session, NULL };
	struct http_body body = { call->body.size, read_body, rewind_body };
	struct http_req *transfer;

	snprintf(session, sizeof session, "x-claude-code-session-id: %s", call->session_id);
	int status = http_place_post(&a->place, call, &body, call, own, &handlers, &transfer, err);
	if (status == 0)
		call->transfer = transfer;
	return status;
}

static void cancel(struct model_call *call)
{
	call->cancelled = true;
	http_cancel(call->transfer);
}

static void pause_call(struct model_call *call, bool on)
{
	http_pause(call->transfer, on);
}
