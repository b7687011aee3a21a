/* SPDX-License-Identifier: MIT
 * usage.c - what the session has cost so far. Plans and their limits are those of accounts, which there are none of here. */
#include "product/stream/wire_int.h"

static void put_cost(struct json_out *out, const struct cadre_wire *w)
{
	json_key(out, "total_cost_usd");
	json_put_double(out, agent_tree_cost(&w->session->tree));
}

void wire_get_cost(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	put_cost(&out, r->wire);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

static void put_session(struct json_out *out, const struct cadre_wire *w)
{
	const struct query *q = &w->session->tree.main.query;
	uint64_t now = loop_now_ms(w->services->loop);

	json_key(out, "session");
	json_open(out, '{');
	put_cost(out, w);
	json_ki64(out, "total_api_duration_ms", (int64_t)(w->api_ms + (w->working ? q->api_ms : 0)));
	json_ki64(out, "total_duration_ms", (int64_t)(now - w->opened_ms));
	json_ki64(out, "total_lines_added", 0);
	json_ki64(out, "total_lines_removed", 0);
	json_key(out, "model_usage");
	session_put_model_usage(out, w->session);
	json_close(out);
}

void wire_get_usage(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	put_session(&out, r->wire);
	json_kcstr(&out, "subscription_type", NULL);
	json_kbool(&out, "rate_limits_available", false);
	json_kcstr(&out, "rate_limits", NULL);
	json_kcstr(&out, "behaviors", NULL);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}
