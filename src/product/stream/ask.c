/* SPDX-License-Identifier: MIT
 * ask.c - what we ask the client for. */
#include "product/stream/wire_int.h"

struct wire_ask {
	struct cadre_wire *wire;
	struct wire_ask *next, **prev;
	char id[32];
	enum wire_ask_kind kind;
	struct buf line; /* as it was sent; empty: nobody will want to see it again */
	wire_answer_fn *done;
	void *data;
};

static void unlink_ask(struct wire_ask *ask)
{
	*ask->prev = ask->next;
	if (ask->next)
		ask->next->prev = ask->prev;
}

static void ask_free(struct wire_ask *ask)
{
	buf_release(&ask->line);
	free(ask);
}

struct wire_ask *wire_ask(struct cadre_wire *w, enum wire_ask_kind kind, struct str request, wire_answer_fn *done,
			  void *data)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);
	struct wire_ask *ask = xcalloc(1, sizeof *ask);

	*ask = (struct wire_ask){
		.wire = w, .next = w->asks, .prev = &w->asks, .kind = kind, .done = done, .data = data
	};
	snprintf(ask->id, sizeof ask->id, "cadre-%llu", (unsigned long long)++w->next_ask);
	if (w->asks)
		w->asks->prev = &ask->next;
	w->asks = ask;
	json_open(&out, '{');
	json_kcstr(&out, "type", "control_request");
	json_kcstr(&out, "request_id", ask->id);
	json_kraw(&out, "request", request);
	json_close(&out);
	if (kind != WIRE_ASK_OTHER)
		buf_add(&ask->line, line.p, line.n);
	wire_send(w, &line);
	if (w->input_over)
		loop_kick(w->services->loop, &w->kick); /* nobody can answer any more */
	return ask;
}

void wire_list_asks(struct json_out *out, const struct cadre_wire *w, enum wire_ask_kind kind)
{
	json_open(out, '[');
	for (const struct wire_ask *ask = w->asks; ask; ask = ask->next)
		if (ask->kind == kind)
			json_put_raw(out, buf_str(&ask->line));
	json_close(out);
}

void wire_ask_take_back(struct wire_ask *ask)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);

	json_open(&out, '{');
	json_kcstr(&out, "type", "control_cancel_request");
	json_kcstr(&out, "request_id", ask->id);
	json_close(&out);
	wire_send(ask->wire, &line);
	unlink_ask(ask);
	ask_free(ask);
}

void wire_asks_sweep(struct cadre_wire *w, enum wire_ask_kind kind, bool (*is_over)(const void *data),
		     void (*release)(void *data))
{
	for (struct wire_ask *ask = w->asks, *next; ask; ask = next) {
		void *data = ask->data;
		next = ask->next;
		if (ask->kind != kind || !is_over(data))
			continue;
		wire_ask_take_back(ask);
		release(data);
	}
}

static void finish(struct wire_ask *ask, const struct json *payload, struct str why)
{
	unlink_ask(ask);
	ask->done(ask->data, payload, why);
	ask_free(ask);
}

void wire_take_answer(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *response = json_get(message, "response");
	struct str id = json_str(json_get(response, "request_id"), &a);
	struct wire_ask *ask = w->asks;

	while (ask && !str_is(id, ask->id))
		ask = ask->next;
	if (!ask)
		return; /* answered already, taken back, or never asked */
	if (json_str_is(json_get(response, "subtype"), "success")) {
		finish(ask, json_get(response, "response"), STR(""));
		return;
	}
	struct str why = json_str(json_get(response, "error"), &a);
	finish(ask, NULL, why.n ? why : STR("the client answered with an error"));
}

void wire_asks_end(struct cadre_wire *w, const char *why)
{
	while (w->asks)
		finish(w->asks, NULL, str_from(why));
}
