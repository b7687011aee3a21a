/* SPDX-License-Identifier: MIT
 * fake_model.c - a provider that plays one reply per request. */
#include "fake_model.h"
#include "unit.h"

struct playing {
	struct fake_model *model;
	struct model_call *call;
	const struct reply *reply;
	const char *at;
	struct timer timer;
};

static void finish(struct playing *p, enum failure_kind kind)
{
	struct model_call *call = p->call;

	p->model->playing--;
	free(p);
	model_call_finish(call, kind, "the connection was lost");
}

/* One event, or all that is left of a body without events. */
static void on_timer(struct timer *timer)
{
	struct playing *p = CONTAINER_OF(timer, struct playing, timer);
	const char *end = strstr(p->at, "\n\n");
	size_t n = end ? (size_t)(end + 2 - p->at) : strlen(p->at);

	p->call->status = p->reply->status ? p->reply->status : 200;
	p->call->is_stream = p->call->status == 200;
	if (p->reply->retry_after)
		model_call_header(p->call, STR("retry-after"), str_from(p->reply->retry_after));
	if (!n && p->reply->never)
		return;
	if (!n) {
		finish(p, p->reply->end);
		return;
	}
	if (p->call->is_stream)
		answer_feed(&p->call->answer, p->at, n);
	else
		buf_add(&p->call->error_body, p->at, n);
	p->at += n;
	timer_start(p->model->loop, timer, *p->at ? p->reply->gap_ms : 0);
}

static int start(struct endpoint *e, struct model_call *call, struct err *err)
{
	struct fake_model *m = CONTAINER_OF(e, struct fake_model, endpoint);
	size_t size = call->body.size;

	CHECK(m->asked < m->count);
	const struct reply *reply = &m->replies[m->asked];
	m->asked_ms[m->asked] = loop_now_ms(m->loop);
	char *body = m->bodies[m->asked++] = arena_alloc(&m->arena, size + 1);
	CHECK_INT(body_read(&call->body, body, size), size);
	body[size] = '\0';
	check_request(body);
	if (reply->refused)
		return err_set(err, ERR_IO, "no more sockets");
	struct playing *p = xcalloc(1, sizeof *p);
	*p = (struct playing){ .model = m, .call = call, .reply = reply, .at = reply->stream ? reply->stream : "" };
	p->timer.fire = on_timer;
	timer_start(m->loop, &p->timer, reply->after_ms);
	call->transfer = p;
	m->playing++;
	return 0;
}

static void on_cancelled(struct timer *timer)
{
	finish(CONTAINER_OF(timer, struct playing, timer), FAIL_CANCELLED);
}

static void cancel(struct model_call *call)
{
	struct playing *p = call->transfer;

	p->timer.fire = on_cancelled;
	timer_start(p->model->loop, &p->timer, 0);
}

static void pause_call(struct model_call *call, bool on)
{
	struct playing *p = call->transfer;

	p->model->paused += on;
	if (on)
		timer_stop(p->model->loop, &p->timer);
	else
		timer_start(p->model->loop, &p->timer, 0);
}

static const struct provider fake_provider = { .name = "fake", .start = start, .cancel = cancel, .pause = pause_call };

void fake_model_init(struct fake_model *m, struct loop *loop, const struct reply *replies, size_t count)
{
	*m = (struct fake_model){
		.endpoint.provider = &fake_provider, .loop = loop, .replies = replies, .count = count
	};
	governor_init(&m->endpoint.governor, loop, 100);
}

void fake_model_release(struct fake_model *m)
{
	CHECK_INT(m->playing, 0);
	governor_release(&m->endpoint.governor);
	arena_release(&m->arena);
}

/* The results of the calls in `answer` are the first blocks of `user`, in order, and there are no others. */
static void check_results(const struct json *answer, const struct json *user)
{
	const struct json *result = json_first(json_get(user, "content"));
	const struct json *content = json_get(answer, "content");

	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		if (!json_str_is(json_get(b, "type"), "tool_use"))
			continue;
		CHECK(json_str_is(json_get(result, "type"), "tool_result"));
		CHECK(json_same(json_get(result, "tool_use_id"), json_get(b, "id")));
		result = json_next(json_get(user, "content"), result);
	}
	for (; result; result = json_next(json_get(user, "content"), result))
		CHECK(!json_str_is(json_get(result, "type"), "tool_result"));
}

void check_request(const char *text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root, *before = NULL;
	size_t marks = 0;

	CHECK_INT(json_parse(&reader, text, strlen(text), &root, NULL), 0);
	const struct json *messages = json_get(root, "messages");
	for (const struct json *m = json_first(messages); m; m = json_next(messages, m)) {
		bool user = json_str_is(json_get(m, "role"), "user");
		CHECK_INT(user, !before || json_str_is(json_get(before, "role"), "assistant"));
		CHECK(json_first(json_get(m, "content")) != NULL);
		if (user)
			check_results(before, m);
		before = m;
	}
	if (before && json_str_is(json_get(before, "role"), "assistant"))
		check_results(before, NULL);
	for (const char *at = text; (at = strstr(at, "\"cache_control\"")); at++)
		marks++;
	CHECK(marks <= 4);
}
