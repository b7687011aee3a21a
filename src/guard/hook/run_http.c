/* SPDX-License-Identifier: MIT
 * run_http.c - hooks that are asked over HTTP: the event is the body of a POST, the answer is the output. */
#include "guard/hook/hook_int.h"

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct hook_run *run = http_data(r);
	int status = http_status(r);

	run->req = NULL;
	if (error)
		hook_run_fail(run, "no answer: %s", text);
	else if (status < 200 || status > 299)
		hook_run_fail(run, "the answer has status %d", status);
	hook_run_ended(run);
}

static const char *const *make_headers(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	struct arena *arena = &run->batch->arena;
	const char **list = arena_calloc(arena, (hook->header_count + 2) * sizeof *list);
	size_t n = 0;
	bool typed = false;

	for (size_t i = 0; i < hook->header_count; i++) {
		AUTO_BUF struct buf line = { 0 };
		buf_addf(&line, "%s: ", hook->headers[i].name);
		template_add_header(&line, hook->headers[i].value, hook->env_names, run->batch->context.envp);
		typed = typed || str_is_nocase(str_from(hook->headers[i].name), "content-type");
		list[n++] = arena_str(arena, buf_str(&line)).p;
	}
	if (!typed)
		list[n] = "Content-Type: application/json";
	return list;
}

static void http_start_run(struct hook_run *run)
{
	static const struct http_handlers handlers = { .on_done = on_done };
	struct http *http = run->batch->engine->options.http;
	struct err err = { 0 };

	if (!http) {
		hook_run_fail(run, "http hooks cannot be run here");
		hook_run_ended(run);
		return;
	}
	struct http_request request = {
		.method = "POST",
		.url = run->hook->url,
		.headers = make_headers(run),
		.text = buf_str(&run->batch->input),
		.shard = http_pick_shard(http),
		.stall_ms = run->timeout_ms + 1000, /* our own limit comes first */
		.limit_bytes = HOOK_OUT_LIMIT,
		.answer = &run->out,
	};
	if (http_start(http, &request, &handlers, run, &run->req, &err) < 0) {
		hook_run_fail(run, "%s", err.text);
		hook_run_ended(run);
	}
}

static void http_stop_run(struct hook_run *run)
{
	if (run->req)
		http_cancel(run->req);
}

const struct run_kind run_http = { http_start_run, http_stop_run };
