/* SPDX-License-Identifier: MIT
 * rpc.c - messages in and out. Requests are in rpc_request.c. */
#include "mcp/client/rpc_int.h"
#include "lib/json/json_write.h"

/* So many messages in a second that answer nothing are looked at; a server that floods costs its parsing and no more. */
enum { UNASKED_LIMIT = 1000, KEEP_NODES = 1 << 16, URL_ELICITATION_REQUIRED = -32042 };

/* A line break in JSON is never inside a string, but it would end a message on stdio. */
static void join_lines(struct buf *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] == '\n' || b->p[i] == '\r')
			b->p[i] = ' ';
}

void mcp_rpc_send(struct mcp_rpc *rpc, int64_t id, struct buf *message)
{
	join_lines(message);
	mcp_transport_send(rpc->transport, id, buf_str(message));
}

void mcp_rpc_notify(struct mcp_rpc *rpc, const char *method, struct str params)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	if (!rpc->transport)
		return;
	json_open(&w, '{');
	json_kcstr(&w, "jsonrpc", "2.0");
	json_kcstr(&w, "method", method);
	if (params.n)
		json_kraw(&w, "params", params);
	json_close(&w);
	mcp_rpc_send(rpc, 0, &b);
}

void mcp_rpc_result(struct mcp_rpc *rpc, struct str id, struct str result)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	if (!rpc->transport)
		return;
	json_open(&w, '{');
	json_kcstr(&w, "jsonrpc", "2.0");
	json_kraw(&w, "id", id);
	json_kraw(&w, "result", result);
	json_close(&w);
	mcp_rpc_send(rpc, 0, &b);
}

void mcp_rpc_error(struct mcp_rpc *rpc, struct str id, int code, const char *text)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	if (!rpc->transport)
		return;
	json_open(&w, '{');
	json_kcstr(&w, "jsonrpc", "2.0");
	json_kraw(&w, "id", id);
	json_key(&w, "error");
	json_open(&w, '{');
	json_ki64(&w, "code", code);
	json_kcstr(&w, "message", text);
	json_close(&w);
	json_close(&w);
	mcp_rpc_send(rpc, 0, &b);
}

static void fault(struct mcp_rpc *rpc, const char *text)
{
	rpc->handlers->on_fault(rpc->data, text);
}

static bool flooded(struct mcp_rpc *rpc)
{
	uint64_t now_ms = loop_now_ms(rpc->loop);

	if (now_ms - rpc->second_ms >= 1000) {
		rpc->second_ms = now_ms;
		rpc->unasked = 0;
	}
	if (++rpc->unasked == UNASKED_LIMIT + 1)
		fault(rpc, "more than 1000 messages in a second that answer nothing; the others are dropped");
	return rpc->unasked > UNASKED_LIMIT;
}

static void server_error(const struct mcp_rpc *rpc, const struct json *error, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str text = json_str(json_get(error, "message"), &a);
	int64_t code = 0;

	(void)json_i64(json_get(error, "code"), &code);
	(void)err_set(err, code == -32601 ? ERR_NOT_FOUND : ERR_PROTOCOL,
		      "the server %.60s answered with error %lld: " STR_FMT, rpc->server, (long long)code,
		      (int)MIN(text.n, sizeof err->text), text.p ? text.p : "");
}

static bool is_barred(struct mcp_rpc *rpc, struct mcp_request *r, const struct json *error)
{
	int64_t code;

	return json_i64(json_get(error, "code"), &code) && code == URL_ELICITATION_REQUIRED && !r->again &&
	       !r->urgent && rpc->handlers->on_barred(rpc->data, r, error);
}

static void take_answer(struct mcp_rpc *rpc, const struct json *message)
{
	const struct json *result = json_get(message, "result");
	const struct json *error = json_get(message, "error");
	struct mcp_request *r;
	struct err err = { 0 };
	int64_t id;

	if (!json_i64(json_get(message, "id"), &id)) {
		server_error(rpc, error, &err);
		if (!flooded(rpc))
			fault(rpc, error ? err.text : "an answer without an id of ours");
		return;
	}
	r = mcp_rpc_find(rpc, id);
	if (!r || !r->sent || r->held)
		return; /* too late: timed out or cancelled; or to something that was never asked */
	if (is_barred(rpc, r, error))
		return;
	if (json_is(error, JSON_OBJECT)) {
		server_error(rpc, error, &err);
		mcp_request_end(r, error, &err);
	} else if (result) {
		mcp_request_end(r, result, NULL);
	} else {
		(void)err_set(&err, ERR_PROTOCOL, "the server %.60s gave an answer without a result", rpc->server);
		mcp_request_end(r, NULL, &err);
	}
}

static void take_message(struct mcp_rpc *rpc, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *id = json_get(message, "id");
	const struct json *method = json_get(message, "method");
	const struct json *params = json_get(message, "params");

	if (!json_is(message, JSON_OBJECT)) {
		if (!flooded(rpc))
			fault(rpc, "a message that is no object");
	} else if (!method) {
		take_answer(rpc, message);
	} else if (flooded(rpc)) {
		return;
	} else if (!json_is(method, JSON_STRING)) {
		fault(rpc, "a message whose method is no text");
	} else if (!id) {
		rpc->handlers->on_notice(rpc->data, json_str(method, &a), params);
	} else if (json_is(id, JSON_STRING) || json_is(id, JSON_NUMBER)) {
		rpc->handlers->on_request(rpc->data, json_raw(id), json_str(method, &a), params);
	} else {
		fault(rpc, "a request whose id is neither text nor a number");
	}
}

void mcp_rpc_receive(struct mcp_rpc *rpc, struct str json)
{
	const struct json *root;
	struct err err = { 0 };

	if (!rpc->transport)
		return;
	rpc->reader.limits.bytes = MCP_MESSAGE_LIMIT;
	if (json_parse(&rpc->reader, json.p, json.n, &root, &err) < 0) {
		(void)err_wrap(&err, "a message that is not JSON");
		if (!flooded(rpc))
			fault(rpc, err.text);
	} else {
		take_message(rpc, root);
	}
	if (rpc->reader.cap > KEEP_NODES) /* one large message must not stay paid for */
		json_reader_release(&rpc->reader);
}

void mcp_rpc_release(struct mcp_rpc *rpc)
{
	free(rpc->slots);
	json_reader_release(&rpc->reader);
	*rpc = (struct mcp_rpc){ 0 };
}
