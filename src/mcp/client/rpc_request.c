/* SPDX-License-Identifier: MIT
 * rpc_request.c - the life of a request:
 *
 *     waits --ready--> sent --answer, error, lost, disconnected--> told, freed
 *       \  ^            \--time limit: withdrawn at the server-------^
 *        \  \--returned, or barred: once, with a new id--sent
 *         \--cancel (withdrawn where it was sent) --next loop turn---/
 *
 * It is freed before its end is told, so that whoever is told may do anything. */
#include "mcp/client/rpc_int.h"
#include "lib/json/json_write.h"

enum { FIRST_SLOTS = 8 };

static size_t slot_of(const struct mcp_rpc *rpc, int64_t id)
{
	return (size_t)id & (rpc->cap - 1);
}

struct mcp_request *mcp_rpc_find(const struct mcp_rpc *rpc, int64_t id)
{
	struct mcp_request *r = rpc->cap ? rpc->slots[slot_of(rpc, id)] : NULL;

	return r && r->id == id && !r->over ? r : NULL;
}

/* Two ids that differ in the old table differ in one of twice its size, so nothing collides. */
static void grow(struct mcp_rpc *rpc)
{
	struct mcp_request **old = rpc->slots;
	size_t old_cap = rpc->cap;

	rpc->cap = old_cap ? old_cap * 2 : FIRST_SLOTS;
	rpc->slots = xcalloc(rpc->cap, sizeof *rpc->slots);
	for (size_t i = 0; i < old_cap; i++)
		if (old[i])
			rpc->slots[slot_of(rpc, old[i]->id)] = old[i];
	free(old);
}

static void take_slot(struct mcp_rpc *rpc, struct mcp_request *r)
{
	if (rpc->count * 2 >= rpc->cap)
		grow(rpc);
	do
		rpc->last_id++;
	while (rpc->slots[slot_of(rpc, rpc->last_id)]);
	r->id = rpc->last_id;
	rpc->slots[slot_of(rpc, r->id)] = r;
	rpc->count++;
}

static void leave_slot(struct mcp_request *r)
{
	r->rpc->slots[slot_of(r->rpc, r->id)] = NULL;
	r->rpc->count--;
}

void mcp_request_end(struct mcp_request *r, const struct json *result, const struct err *err)
{
	mcp_answer_fn *answer = r->answer;
	void *data = r->data;

	if (r->held)
		r->rpc->handlers->on_held_end(r->rpc->data, r);
	leave_slot(r);
	timer_stop(r->rpc->loop, &r->timer);
	kick_cancel(&r->kick);
	buf_release(&r->params);
	free(r->method);
	free(r->tool_use_id);
	free(r);
	answer(data, result, err);
}

/* The server is told that nobody waits any more; nothing is done for a request that was never sent. */
static void withdraw(struct mcp_request *r, const char *reason)
{
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	if (!r->sent || r->held || !r->rpc->transport)
		return;
	if (strcmp(r->method, "initialize") != 0) { /* which may not be withdrawn */
		json_open(&w, '{');
		json_ki64(&w, "requestId", r->id);
		json_kcstr(&w, "reason", reason);
		json_close(&w);
		mcp_rpc_notify(r->rpc, "notifications/cancelled", buf_str(&params));
	}
	mcp_transport_drop(r->rpc->transport, r->id);
}

static void on_limit(struct timer *timer)
{
	struct mcp_request *r = CONTAINER_OF(timer, struct mcp_request, timer);
	struct err err = { 0 };

	if (loop_now_ms(r->rpc->loop) >= r->deadline_ms)
		(void)err_set(&err, ERR_TIMEOUT, "the server %.60s timed out after %g s", r->rpc->server,
			      (double)r->timeout_ms / 1000);
	else
		(void)err_set(&err, ERR_TIMEOUT, "the server %.60s timed out: nothing was heard of it for %g s",
			      r->rpc->server, (double)r->idle_ms / 1000);
	withdraw(r, "timed out");
	mcp_request_end(r, NULL, &err);
}

static void arm(struct mcp_request *r)
{
	uint64_t now = loop_now_ms(r->rpc->loop);
	uint64_t left = r->deadline_ms > now ? r->deadline_ms - now : 0;

	timer_start(r->rpc->loop, &r->timer, r->idle_ms ? MIN(left, r->idle_ms) : left);
}

static void on_over(struct kick *kick)
{
	struct mcp_request *r = CONTAINER_OF(kick, struct mcp_request, kick);
	struct err end = r->end;

	mcp_request_end(r, NULL, &end);
}

void mcp_request_refuse(struct mcp_request *r, const struct err *why)
{
	r->over = true;
	r->end = *why;
	timer_stop(r->rpc->loop, &r->timer);
	loop_kick(r->rpc->loop, &r->kick);
}

void mcp_request_cancel(struct mcp_request *r, const char *reason)
{
	struct err why = { 0 };

	if (r->over)
		return;
	withdraw(r, reason);
	(void)err_set(&why, ERR_CANCELLED, "the request to the server %.60s was cancelled", r->rpc->server);
	mcp_request_refuse(r, &why);
}

/* The members of an object, without its braces. */
static struct str members_of(struct str object)
{
	struct str s = str_trim(object);

	return s.n < 2 ? STR("") : str_trim((struct str){ s.p + 1, s.n - 2 });
}

static void put_members(struct json_out *w, struct str members)
{
	buf_add(w->buf, members.p, members.n);
	w->comma = members.n;
}

static void put_meta(struct json_out *w, const struct mcp_request *r)
{
	json_key(w, "_meta");
	json_open(w, '{');
	if (r->tool_use_id)
		json_kcstr(w, "claudecode/toolUseId", r->tool_use_id);
	if (r->progress)
		json_ki64(w, "progressToken", r->id);
	json_close(w);
}

static void write_message(struct buf *out, const struct mcp_request *r)
{
	struct json_out w = json_out(out);
	struct str members = members_of(buf_str(&r->params));
	bool has_meta = r->tool_use_id || r->progress;

	json_open(&w, '{');
	json_kcstr(&w, "jsonrpc", "2.0");
	json_ki64(&w, "id", r->id);
	json_kcstr(&w, "method", r->method);
	if (members.n || has_meta) {
		json_key(&w, "params");
		json_open(&w, '{');
		put_members(&w, members);
		if (has_meta)
			put_meta(&w, r);
		json_close(&w);
	}
	json_close(&w);
}

/* What was asked is kept: it may have to be sent again. */
static void send_request(struct mcp_request *r)
{
	AUTO_BUF struct buf message = { 0 };

	r->sent = true;
	write_message(&message, r);
	mcp_rpc_send(r->rpc, r->id, &message);
}

struct mcp_request *mcp_rpc_call(struct mcp_rpc *rpc, const struct mcp_call *call, uint64_t timeout_ms,
				 uint64_t idle_ms, bool urgent)
{
	struct mcp_request *r = xcalloc(1, sizeof *r);

	*r = (struct mcp_request){ .rpc = rpc,
				   .answer = call->answer,
				   .progress = call->progress,
				   .data = call->data,
				   .timer.fire = on_limit,
				   .kick.step = on_over,
				   .timeout_ms = timeout_ms,
				   .idle_ms = idle_ms,
				   .deadline_ms = loop_now_ms(rpc->loop) + timeout_ms,
				   .urgent = urgent,
				   .method = xstrdup(call->method),
				   .tool_use_id = call->tool_use_id ? xstrdup(call->tool_use_id) : NULL };
	buf_add(&r->params, call->params.p, call->params.n);
	take_slot(rpc, r);
	arm(r);
	if (rpc->transport && (rpc->ready || urgent))
		send_request(r);
	return r;
}

/* A session never sees an id twice, so it gets a new one. */
static void renumber(struct mcp_request *r)
{
	leave_slot(r);
	take_slot(r->rpc, r);
	r->again = true;
	r->sent = false;
}

void mcp_request_hold(struct mcp_request *r)
{
	r->held++;
	timer_stop(r->rpc->loop, &r->timer);
}

void mcp_request_resume(struct mcp_request *r)
{
	if (r->over || --r->held)
		return;
	renumber(r);
	r->deadline_ms = loop_now_ms(r->rpc->loop) + r->timeout_ms; /* the time of a person is not the server's */
	arm(r);
	if (r->rpc->transport && r->rpc->ready)
		send_request(r);
}

void mcp_rpc_connect(struct mcp_rpc *rpc, struct mcp_transport *transport)
{
	rpc->transport = transport;
	rpc->ready = false;
}

/* Begins behind the newest id, so that they go in the order in which they were made. */
void mcp_rpc_ready(struct mcp_rpc *rpc)
{
	rpc->ready = true;
	for (size_t i = 1; i <= rpc->cap; i++) {
		struct mcp_request *r = rpc->slots[slot_of(rpc, rpc->last_id + (int64_t)i)];
		if (r && !r->sent && !r->over) {
			send_request(r);
			arm(r); /* the server could not give a sign of life before */
		}
	}
}

/* Whoever is told may make a request: one that moves when the table grows moves to a place that is still ahead. */
static void fail(struct mcp_rpc *rpc, const struct err *why, bool waiting_too)
{
	for (size_t i = 0; i < rpc->cap; i++) {
		struct mcp_request *r = rpc->slots[i];
		if (r && !r->over && (waiting_too || r->sent))
			mcp_request_end(r, NULL, why);
	}
}

void mcp_rpc_disconnect(struct mcp_rpc *rpc, const struct err *why)
{
	rpc->transport = NULL;
	rpc->ready = false;
	fail(rpc, why, false);
}

void mcp_rpc_fail_all(struct mcp_rpc *rpc, const struct err *why)
{
	fail(rpc, why, true);
}

void mcp_rpc_lost(struct mcp_rpc *rpc, int64_t id, const struct err *err)
{
	struct mcp_request *r = mcp_rpc_find(rpc, id);
	struct err end = *err;

	if (!r)
		return;
	(void)err_wrap(&end, "the server %.60s", rpc->server);
	mcp_request_end(r, NULL, &end);
}

void mcp_rpc_returned(struct mcp_rpc *rpc, int64_t id)
{
	struct mcp_request *r = mcp_rpc_find(rpc, id);

	if (r && r->sent && !r->again && !r->urgent && !r->held)
		renumber(r);
}

void mcp_rpc_progress(struct mcp_rpc *rpc, const struct json *params)
{
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_request *r;
	int64_t token;

	if (!json_i64(json_get(params, "progressToken"), &token))
		return;
	r = mcp_rpc_find(rpc, token);
	if (!r || !r->progress)
		return;
	arm(r);
	r->progress(r->data, json_double(json_get(params, "progress")), json_double(json_get(params, "total")),
		    json_str(json_get(params, "message"), &a));
}
