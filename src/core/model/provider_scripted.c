/* SPDX-License-Identifier: MIT
 * provider_scripted.c - the scenario engine as a model inside the process: the demo of `make run`, without a network. The
 * bytes it plays are the same event stream that modeld sends, through the same decoder. */
#include "lib/io/file.h"
#include "core/model/provider.h"
#include "core/scenario/engine.h"

enum { LARGEST_SCENARIO = 16 << 20 };

struct scripted {
	struct endpoint endpoint;
	struct loop *loop;
	struct scenario *scenario;
	struct engine *engine;
	uint64_t stall_ms;
};

/* One answer being played */
struct playback {
	struct scripted *scripted;
	struct model_call *call;
	struct reply *reply;
	struct reply_step step; /* what the timer waits to do */
	struct timer timer;
	bool begun;
};

static int scripted_open(const struct provider *provider, const struct endpoint_options *o,
			 struct endpoint **ret_endpoint, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	struct scenario *scenario;

	if (o->scenario && file_read(o->scenario, LARGEST_SCENARIO, &text, err) < 0)
		return -(int)err->kind;
	struct str source = o->scenario ? buf_str(&text) : str_from(scenario_demo);
	if (scenario_parse(o->scenario ? o->scenario : "the built-in scenario", source, &scenario, err) < 0)
		return -(int)err->kind;
	struct scripted *s = xnew(struct scripted, .endpoint.provider = provider, .loop = o->loop, .scenario = scenario,
				  .engine = engine_new(scenario, NULL), .stall_ms = o->stall_ms ? o->stall_ms : 120000);
	*ret_endpoint = &s->endpoint;
	return 0;
}

static void scripted_close(struct endpoint *e)
{
	struct scripted *s = CONTAINER_OF(e, struct scripted, endpoint);

	engine_free(s->engine);
	scenario_free(s->scenario);
	free(s);
}

static void playback_finish(struct playback *p, enum failure_kind kind, const char *text)
{
	struct model_call *call = p->call;

	timer_stop(p->scripted->loop, &p->timer);
	reply_free(p->reply);
	free(p);
	model_call_finish(call, kind, text);
}

static void on_timer(struct timer *timer)
{
	struct playback *p = CONTAINER_OF(timer, struct playback, timer);

	if (!p->begun) {
		const struct reply_head *head = reply_head(p->reply);
		p->begun = true;
		reply_begun(p->reply);
		p->call->status = head->status;
		model_call_header(p->call, STR("content-type"), head->content_type);
		for (size_t i = 0; head->headers && head->headers[i]; i++) {
			struct str value = str_from(head->headers[i]);
			struct str name = str_cut(&value, ':');
			model_call_header(p->call, name, value.p ? str_trim(value) : STR(""));
		}
	}
	switch (p->step.kind) {
	case REPLY_BYTES:
		if (p->call->status == 200)
			answer_feed(&p->call->answer, p->step.bytes.p, p->step.bytes.n);
		else
			buf_add(&p->call->error_body, p->step.bytes.p, p->step.bytes.n);
		break;
	case REPLY_CUT:
		playback_finish(p, FAIL_CUT, "the connection was closed");
		return;
	case REPLY_STALL:
		playback_finish(p, FAIL_STALL, "no byte for too long");
		return;
	case REPLY_END:
		playback_finish(p, FAIL_NONE, "");
		return;
	}
	p->step = reply_next(p->reply);
	timer_start(p->scripted->loop, timer, p->step.kind == REPLY_STALL ? p->scripted->stall_ms : p->step.delay_ms);
}

static int scripted_start(struct endpoint *e, struct model_call *call, struct err *err)
{
	struct scripted *s = CONTAINER_OF(e, struct scripted, endpoint);
	AUTO_BUF struct buf body = { 0 };
	struct playback *p = xcalloc(1, sizeof *p);

	buf_reserve(&body, call->body.size);
	body.n = body_read(&call->body, body.p, call->body.size);
	p->scripted = s;
	p->call = call;
	p->timer.fire = on_timer;
	p->reply = engine_ask(s->engine, &(struct engine_request){ .path = STR("/v1/messages"),
								   .body = buf_str(&body),
								   .agent = str_from(call->agent),
								   .now_ms = loop_now_ms(s->loop) });
	p->step = reply_next(p->reply);
	timer_start(s->loop, &p->timer, p->step.delay_ms);
	call->transfer = p;
	return 0;
}

static void on_cancelled(struct timer *timer)
{
	playback_finish(CONTAINER_OF(timer, struct playback, timer), FAIL_CANCELLED, "cancelled");
}

static void scripted_cancel(struct model_call *call)
{
	struct playback *p = call->transfer;

	p->timer.fire = on_cancelled; /* the report comes from the loop, as for every other end */
	timer_start(p->scripted->loop, &p->timer, 0);
}

const struct provider provider_scripted = {
	.name = "scripted",
	.has_aliases = true,
	.searches_web = true,
	.open = scripted_open,
	.close = scripted_close,
	.start = scripted_start,
	.cancel = scripted_cancel,
};
