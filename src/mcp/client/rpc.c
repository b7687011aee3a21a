/* SPDX-License-Identifier: MIT
 * rpc.c - JSON-RPC: messages out, requests, messages in; the life of a request:
 *
 *     waits --ready--> sent --answer, error, lost, disconnected--> freed, reported
 *       \  ^            \--time limit: withdrawn at the server-------^
 *        \  \--returned, or barred: once, with a new id--sent
 *         \--cancel (withdrawn where it was sent) --next loop turn---/
 *
 * It is freed before its end is reported, so that the callback may do anything. */
#include "mcp/client/client_int.h"
#include "lib/json/json_write.h"

struct mcp_request {
	struct mcp_rpc *rpc; /* borrowed: has no request left when it dies */
	int64_t id;
	char *method, *tool_use_id; /* tool_use_id NULL: none */
	struct buf params;          /* JSON object, or empty */
	bool sent;                  /* otherwise it waits until the connection is ready */
	bool urgent;                /* belongs to the handshake and its connection */
	bool again;                 /* it was sent a second time: not a third one */
	unsigned held;              /* until mcp_request_resume() was called so often it is not sent again */
	mcp_answer_fn *answer;
	mcp_progress_fn *progress;
	void *data;
	const void *owner;
	struct timer timer; /* the nearer one of both limits */
	uint64_t timeout_ms, idle_ms;
	uint64_t deadline_ms; /* on the loop's clock */
	struct kick kick;     /* reports an end that was decided outside the loop */
	struct err end;       /* that end */
	bool over;            /* it was decided */
};

/* Limit of unsolicited messages per second; a flood costs only its parsing. */
enum { UNASKED_LIMIT = 1000, KEEP_NODES = 1 << 16 };

static void rpc_send(struct mcp_rpc *rpc, int64_t id, struct buf *message)
{
	/* A line break in JSON is never inside a string, but it would end a message on stdio. */
	for (size_t i = 0; i < message->n; i++)
		if (message->p[i] == '\n' || message->p[i] == '\r')
			message->p[i] = ' ';
	rpc->transport->class->send(rpc->transport, id, buf_str(message));
}

void mcp_rpc_notify(struct mcp_rpc *rpc, const char *method, struct str params)
{
	AUTO_BUF struct buf b = { 0 };

	if (!rpc->transport)
		return;
	json_addf(&b, "{jsonrpc:'2.0', method:'%s', params?:%.*s}", method, STR_ARG(params));
	rpc_send(rpc, 0, &b);
}

void mcp_rpc_reply(struct mcp_rpc *rpc, struct str id, const char *member, struct str json)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	if (!rpc->transport)
		return;
	json_putf(&w, "{jsonrpc:'2.0', id:%.*s", STR_ARG(id));
	json_kraw(&w, member, json);
	json_close(&w);
	rpc_send(rpc, 0, &b);
}

void mcp_rpc_error(struct mcp_rpc *rpc, struct str id, int code, const char *text)
{
	AUTO_BUF struct buf b = { 0 };

	json_addf(&b, "{code:%lld, message:'%s'}", (long long)code, text);
	mcp_rpc_reply(rpc, id, "error", buf_str(&b));
}

enum { FIRST_SLOTS = 8 };

static size_t slot_of(const struct mcp_rpc *rpc, int64_t id)
{
	return (size_t)id & (rpc->cap - 1);
}

static struct mcp_request *rpc_find(const struct mcp_rpc *rpc, int64_t id)
{
	struct mcp_request *r = rpc->cap ? rpc->slots[slot_of(rpc, id)] : NULL;

	return r && r->id == id && !r->over ? r : NULL;
}

static void request_take_slot(struct mcp_rpc *rpc, struct mcp_request *r)
{
	if (rpc->count * 2 >= rpc->cap) {
		/* Two ids that differ in the old table differ in one of twice its size, so nothing collides. */
		struct mcp_request **old = rpc->slots;
		size_t old_cap = rpc->cap;
		rpc->cap = old_cap ? old_cap * 2 : FIRST_SLOTS;
		rpc->slots = xcalloc(rpc->cap, sizeof *rpc->slots);
		for (size_t i = 0; i < old_cap; i++)
			if (old[i])
				rpc->slots[slot_of(rpc, old[i]->id)] = old[i];
		free(old);
	}
	do
		rpc->last_id++;
	while (rpc->slots[slot_of(rpc, rpc->last_id)]);
	r->id = rpc->last_id;
	rpc->slots[slot_of(rpc, r->id)] = r;
	rpc->count++;
}

static void request_leave_slot(struct mcp_request *r)
{
	r->rpc->slots[slot_of(r->rpc, r->id)] = NULL;
	r->rpc->count--;
}

static void request_end(struct mcp_request *r, const struct json *result, const struct err *err)
{
	mcp_answer_fn *answer = r->answer;
	void *data = r->data;

	if (r->held)
		r->rpc->handlers->on_held_end(r->rpc->data, r);
	request_leave_slot(r);
	timer_stop(r->rpc->loop, &r->timer);
	kick_cancel(&r->kick);
	buf_release(&r->params);
	free(r->method);
	free(r->tool_use_id);
	free(r);
	answer(data, result, err);
}

/* Sends a cancel notification; does nothing for a request that was never sent. */
static void request_withdraw(struct mcp_request *r, const char *reason)
{
	AUTO_BUF struct buf params = { 0 };
	struct mcp_transport *t = r->rpc->transport;

	if (!r->sent || r->held || !t)
		return;
	if (strcmp(r->method, "initialize") != 0) { /* which may not be withdrawn */
		json_addf(&params, "{requestId:%lld, reason:'%s'}", (long long)r->id, reason);
		mcp_rpc_notify(r->rpc, "notifications/cancelled", buf_str(&params));
	}
	if (t->class->drop)
		t->class->drop(t, r->id);
}

static void on_request_limit(struct timer *timer)
{
	struct mcp_request *r = CONTAINER_OF(timer, struct mcp_request, timer);
	struct err err = { 0 };

	if (loop_now_ms(r->rpc->loop) >= r->deadline_ms)
		(void)err_set(&err, ERR_TIMEOUT, "the server %.60s timed out after %g s", r->rpc->server,
			      (double)r->timeout_ms / 1000);
	else
		(void)err_set(&err, ERR_TIMEOUT, "the server %.60s timed out: no message for %g s", r->rpc->server,
			      (double)r->idle_ms / 1000);
	request_withdraw(r, "timed out");
	request_end(r, NULL, &err);
}

static void request_arm(struct mcp_request *r)
{
	uint64_t now = loop_now_ms(r->rpc->loop);
	uint64_t left = r->deadline_ms > now ? r->deadline_ms - now : 0;

	timer_start(r->rpc->loop, &r->timer, r->idle_ms ? MIN(left, r->idle_ms) : left);
}

static void on_request_over(struct kick *kick)
{
	struct mcp_request *r = CONTAINER_OF(kick, struct mcp_request, kick);
	struct err end = r->end;

	request_end(r, NULL, &end);
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
	request_withdraw(r, reason);
	(void)err_set(&why, ERR_CANCELLED, "the request to the server %.60s was cancelled", r->rpc->server);
	mcp_request_refuse(r, &why);
}

void mcp_rpc_cancel_owned(struct mcp_rpc *rpc, const void *owner, const char *reason)
{
	for (size_t i = 0; i < rpc->cap; i++)
		if (rpc->slots[i] && rpc->slots[i]->owner == owner)
			mcp_request_cancel(rpc->slots[i], reason);
}

/* Keeps the request, which may have to be sent again. */
static void request_send(struct mcp_request *r)
{
	AUTO_BUF struct buf message = { 0 };
	struct json_out w = json_out(&message);
	struct str object = str_trim(buf_str(&r->params));
	struct str members = object.n < 2 ? STR("") : str_trim((struct str){ object.p + 1, object.n - 2 });
	bool has_meta = r->tool_use_id || r->progress;

	r->sent = true;
	json_putf(&w, "{jsonrpc:'2.0', id:%lld, method:'%s'", (long long)r->id, r->method);
	if (members.n || has_meta) {
		json_kopen(&w, "params", '{');
		buf_append(w.buf, members);
		w.comma = members.n;
		if (has_meta)
			json_putf(&w, "_meta:{claudecode/toolUseId?:'%s', progressToken?:%lld}", r->tool_use_id,
				  r->progress ? (long long)r->id : 0);
		json_close(&w);
	}
	json_close(&w);
	rpc_send(r->rpc, r->id, &message);
}

struct mcp_request *mcp_rpc_call(struct mcp_rpc *rpc, const struct mcp_call *call, uint64_t timeout_ms,
				 uint64_t idle_ms, bool urgent)
{
	struct mcp_request *r = xnew(struct mcp_request, .rpc = rpc, .answer = call->answer, .progress = call->progress,
				     .data = call->data, .owner = call->owner, .timer.fire = on_request_limit,
				     .kick.step = on_request_over, .timeout_ms = timeout_ms, .idle_ms = idle_ms,
				     .deadline_ms = loop_deadline_ms(rpc->loop, timeout_ms), .urgent = urgent,
				     .method = xstrdup(call->method),
				     .tool_use_id = call->tool_use_id ? xstrdup(call->tool_use_id) : NULL);

	buf_append(&r->params, call->params);
	request_take_slot(rpc, r);
	request_arm(r);
	if (rpc->transport && (rpc->ready || urgent))
		request_send(r);
	return r;
}

/* A session never sees an id twice, so it gets a new one. */
static void request_renumber(struct mcp_request *r)
{
	request_leave_slot(r);
	request_take_slot(r->rpc, r);
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
	request_renumber(r);
	r->deadline_ms = loop_deadline_ms(r->rpc->loop, r->timeout_ms); /* the user's time does not count */
	request_arm(r);
	if (r->rpc->transport && r->rpc->ready)
		request_send(r);
}

/* Begins behind the newest id, so that they go in the order in which they were made. */
void mcp_rpc_ready(struct mcp_rpc *rpc)
{
	rpc->ready = true;
	for (size_t i = 1; i <= rpc->cap; i++) {
		struct mcp_request *r = rpc->slots[slot_of(rpc, rpc->last_id + (int64_t)i)];
		if (r && !r->sent && !r->over) {
			request_send(r);
			request_arm(r); /* the server could not give a sign of life before */
		}
	}
}

void mcp_rpc_fail(struct mcp_rpc *rpc, const struct err *why, bool waiting_too)
{
	/* A callback may add a request: when the table grows, entries move only forward. */
	for (size_t i = 0; i < rpc->cap; i++) {
		struct mcp_request *r = rpc->slots[i];
		if (r && !r->over && (waiting_too || r->sent))
			request_end(r, NULL, why);
	}
}

void mcp_rpc_lost(struct mcp_rpc *rpc, int64_t id, const struct err *err)
{
	struct mcp_request *r = rpc_find(rpc, id);
	struct err end = *err;

	if (!r)
		return;
	(void)err_wrap(&end, "the server %.60s", rpc->server);
	request_end(r, NULL, &end);
}

void mcp_rpc_returned(struct mcp_rpc *rpc, int64_t id)
{
	struct mcp_request *r = rpc_find(rpc, id);

	if (r && r->sent && !r->again && !r->urgent && !r->held)
		request_renumber(r);
}

void mcp_rpc_progress(struct mcp_rpc *rpc, const struct json *params)
{
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_request *r;
	int64_t token;

	if (!json_i64(json_get(params, "progressToken"), &token))
		return;
	r = rpc_find(rpc, token);
	if (!r || !r->progress)
		return;
	request_arm(r);
	r->progress(r->data, json_double(json_get(params, "progress")), json_double(json_get(params, "total")),
		    json_str(json_get(params, "message"), &a));
}

enum { METHOD_NOT_FOUND = -32601, URL_ELICITATION_REQUIRED = -32042 };

/* Whether a message that is not an answer is to be ignored. */
static bool rpc_flooded(struct mcp_rpc *rpc)
{
	uint64_t now_ms = loop_now_ms(rpc->loop);

	if (now_ms - rpc->second_ms >= 1000) {
		rpc->second_ms = now_ms;
		rpc->unasked = 0;
	}
	if (++rpc->unasked == UNASKED_LIMIT + 1)
		rpc->handlers->on_fault(rpc->data,
					"more than 1000 unsolicited messages in a second; the rest is dropped");
	return rpc->unasked > UNASKED_LIMIT;
}

static void rpc_fault(struct mcp_rpc *rpc, const char *text)
{
	if (!rpc_flooded(rpc))
		rpc->handlers->on_fault(rpc->data, text);
}

static void rpc_take_answer(struct mcp_rpc *rpc, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *result = json_get(message, "result");
	const struct json *error = json_get(message, "error");
	struct str text = json_str(json_get(error, "message"), &a);
	struct err err = { 0 };
	int64_t code = 0;
	int64_t id;

	if (error) {
		(void)json_i64(json_get(error, "code"), &code);
		(void)err_set(&err, code == METHOD_NOT_FOUND ? ERR_NOT_FOUND : ERR_PROTOCOL,
			      "the server %.60s answered with error %lld: " STR_FMT, rpc->server, (long long)code,
			      (int)MIN(text.n, sizeof err.text), text.p ? text.p : "");
	}
	if (!json_i64(json_get(message, "id"), &id)) {
		rpc_fault(rpc, error ? err.text : "an answer with an unknown id");
		return;
	}
	struct mcp_request *r = rpc_find(rpc, id);
	if (!r || !r->sent || r->held)
		return; /* too late (timed out or cancelled), or an answer to no request */
	if (code == URL_ELICITATION_REQUIRED && !r->again && !r->urgent &&
	    rpc->handlers->on_barred(rpc->data, r, error))
		return;
	if (json_is(error, JSON_OBJECT)) {
		request_end(r, error, &err);
	} else if (result) {
		request_end(r, result, NULL);
	} else {
		err = (struct err){ 0 };
		(void)err_set(&err, ERR_PROTOCOL, "the server %.60s gave an answer without a result", rpc->server);
		request_end(r, NULL, &err);
	}
}

void mcp_rpc_receive(struct mcp_rpc *rpc, struct str text)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *message;
	struct err err = { 0 };

	if (!rpc->transport)
		return;
	rpc->reader.limits.bytes = MCP_MESSAGE_LIMIT;
	if (json_parse(&rpc->reader, text.p, text.n, &message, &err) < 0) {
		(void)err_wrap(&err, "a message that is not JSON");
		rpc_fault(rpc, err.text);
		message = NULL;
	}
	const struct json *id = json_get(message, "id");
	const struct json *method = json_get(message, "method");
	const struct json *params = json_get(message, "params");
	if (!json_is(message, JSON_OBJECT)) {
		if (message)
			rpc_fault(rpc, "a message that is not an object");
	} else if (!method) {
		rpc_take_answer(rpc, message);
	} else if (!json_is(method, JSON_STRING)) {
		rpc_fault(rpc, "a message whose method is not a string");
	} else if (id && !json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER)) {
		rpc_fault(rpc, "a request whose id is neither text nor a number");
	} else if (!rpc_flooded(rpc)) {
		if (id)
			rpc->handlers->on_request(rpc->data, json_raw(id), json_str(method, &a), params);
		else
			rpc->handlers->on_notice(rpc->data, json_str(method, &a), params);
	}
	if (rpc->reader.cap > KEEP_NODES) /* releases the memory of one large message */
		json_reader_release(&rpc->reader);
}
