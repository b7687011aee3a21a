/* SPDX-License-Identifier: MIT
 * client_stage.c - the stage of the tests of a client. */
#include "client_stage.h"

static void on_state(struct mcp_client *c, void *data)
{
	struct client_stage *s = data;

	buf_addf(&s->trail, "%s ", mcp_state_word(mcp_client_state(c)));
}

static void on_catalog(struct mcp_client *c, void *data)
{
	struct client_stage *s = data;
	struct mcp_catalog *catalog = mcp_client_catalog(c);

	buf_addf(&s->trail, "tools:%zu ", catalog->tool_count);
	mcp_catalog_unref(catalog);
}

static void on_log(void *data, const struct mcp_client *client, const char *level, struct str text)
{
	struct client_stage *s = data;

	(void)client;
	buf_addf(&s->log, "%s " STR_FMT "\n", level, STR_ARG(text));
}

static void on_elicitation(void *data, const struct mcp_client *client, struct mcp_elicitation *e)
{
	struct client_stage *s = data;

	(void)client;
	s->asked_before = s->asked;
	s->asked = e;
	if (s->answer_at_once)
		mcp_elicitation_answer(e, "accept", STR(""));
}

static void on_elicitation_gone(void *data, struct mcp_elicitation *e)
{
	struct client_stage *s = data;
	CHECK(e == s->asked || e == s->asked_before);
	s->gone++;
}

static struct mcp_transport *stage_transport(void *data, struct mcp_server *server,
					     const struct mcp_transport_handlers *handlers, void *handler_data)
{
	return peer_transport(&((struct client_stage *)data)->peer, server, handlers, handler_data);
}

void client_stage_init(struct client_stage *s)
{
	*s = (struct client_stage){ 0 };
	peer_init(&s->peer);
}

void client_stage_connect(struct client_stage *s)
{
	s->client = mcp_client_new(&(struct mcp_client_options){
		.env = &s->peer.env,
		.server = s->peer.server,
		.host = { .on_log = on_log,
			  .on_elicitation = on_elicitation,
			  .on_elicitation_gone = on_elicitation_gone,
			  .make_transport = stage_transport,
			  .data = s },
		.on_state = on_state,
		.on_catalog = on_catalog,
		.data = s,
	});
	mcp_client_start(s->client);
	loop_run(s->peer.loop);
}

void client_on_closed(void *data)
{
	((struct client_stage *)data)->closed++;
}

void client_stage_release(struct client_stage *s)
{
	if (s->client) {
		mcp_client_close(s->client, client_on_closed, s);
		CHECK_INT(s->closed, 0);
		loop_run(s->peer.loop);
		CHECK_INT(s->closed, 1);
	}
	peer_release(&s->peer);
	buf_release(&s->trail);
	buf_release(&s->log);
	buf_release(&s->ends);
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct client_stage *s = data;

	if (err)
		buf_addf(&s->ends, "error %d %s\n", err->kind, err->text);
	else
		buf_addf(&s->ends, "result " STR_FMT "\n", STR_ARG(json_raw(result)));
}

static void on_progress(void *data, double progress, double total, struct str message)
{
	struct client_stage *s = data;

	(void)total, (void)message;
	s->progress = progress;
}

struct mcp_request *client_ask(struct client_stage *s, const char *params, uint64_t timeout_ms)
{
	return mcp_client_call(s->client, &(struct mcp_call){ .method = "tools/call",
							      .params = str_from(params),
							      .tool_use_id = "toolu_7",
							      .timeout_ms = timeout_ms,
							      .answer = on_answer,
							      .progress = on_progress,
							      .data = s });
}
