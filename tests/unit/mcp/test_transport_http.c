/* SPDX-License-Identifier: MIT
 * test_transport_http.c - streamable HTTP as it should go: bodies, streams, sessions, resumption, the end.
 * test_transport_loss.c has what goes wrong. */
#include "site.h"
#include "tests.h"
#include "wire_stage.h"

static void start_wire(struct wire *w, struct site *s)
{
	wire_init(w, MCP_HTTP, 0);
	w->server->url = s->url;
	wire_start(w);
}

static void stop(struct wire *w, struct site *s)
{
	wire_release(w);
	site_stop(s);
}

static bool answer_session(struct site *s, struct peer *p)
{
	char session[80];
	char version[80];
	char body[240];

	peer_header(p, "Mcp-Session-Id", session, sizeof session);
	peer_header(p, "MCP-Protocol-Version", version, sizeof version);
	snprintf(body, sizeof body, "{\"id\":%d,\"result\":\"%s|%s\"}", peer_has(p, "first") ? 1 : 2, session, version);
	if (!peer_is(p, "POST"))
		peer_reply(p, "405 Method Not Allowed", "", "");
	else if (peer_has(p, "first"))
		peer_reply(p, "200 OK", "Content-Type: application/json\r\nmcp-session-id: abc\r\n", body);
	else if (peer_has(p, "note"))
		peer_reply(p, "202 Accepted", "", "Accepted");
	else
		peer_json(p, body);
	return true;
}

TEST(a_session_is_kept_by_its_id_and_ended_at_the_close)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_session);
	start_wire(&w, &s);

	wire_send(&w, 1, "{\"id\":1,\"method\":\"first\"}");
	wire_wait(&w, "message {\"id\":1");
	w.transport->class->ready(w.transport, "2025-11-25");
	wire_send(&w, 0, "{\"method\":\"note\"}");
	wire_send(&w, 2, "{\"id\":2,\"method\":\"second\"}");
	wire_wait(&w, "message {\"id\":2");
	while (!site_saw(&s, "GET /mcp \n")) /* on a connection of its own, which may be slower */
		uv_run(loop_uv(w.env.loop), UV_RUN_NOWAIT);
	wire_close(&w);

	CHECK_STR(buf_str(&w.trail), "message {\"id\":1,\"result\":\"|\"}\n"
				     "message {\"id\":2,\"result\":\"abc|2025-11-25\"}\nclosed on request\n");
	site_await(&s, "DELETE /mcp \n");
	stop(&w, &s);
}

static bool answer_slow_note(struct site *s, struct peer *p)
{
	if (peer_has(p, "note")) {
		site_wait_go(s);
		peer_reply(p, "202 Accepted", "", "");
	} else if (peer_has(p, "first")) {
		peer_json(p, "{\"id\":1,\"result\":0}");
	} else if (peer_is(p, "POST")) {
		peer_json(p, "{\"id\":2,\"result\":0}");
	} else {
		peer_reply(p, "405 Method Not Allowed", "", "");
	}
	return true;
}

static void on_turn(struct timer *timer)
{
	(void)timer;
}

TEST(nothing_overtakes_the_first_notification)
{
	struct wire w;
	struct site s;
	struct timer timer = { .fire = on_turn };
	site_start(&s, answer_slow_note);
	start_wire(&w, &s);
	wire_send(&w, 1, "{\"id\":1,\"method\":\"first\"}");
	wire_wait(&w, "message {\"id\":1");

	w.transport->class->ready(w.transport, "2025-11-25");
	wire_send(&w, 0, "{\"method\":\"note\"}");
	wire_send(&w, 2, "{\"id\":2,\"method\":\"second\"}");
	for (int i = 0; i < 20 || !site_saw(&s, "note"); i++) {
		timer_start(w.env.loop, &timer, 1);
		uv_run(loop_uv(w.env.loop), UV_RUN_ONCE);
	}
	CHECK(!site_saw(&s, "second"));
	CHECK(!site_saw(&s, "GET"));
	site_go(&s);
	wire_wait(&w, "message {\"id\":2");
	CHECK_INT(site_times(&s, "\"note\""), 1);

	timer_stop(w.env.loop, &timer);
	wire_close(&w);
	stop(&w, &s);
}

static bool answer_stream(struct site *s, struct peer *p)
{
	peer_stream(p, "event: message\ndata: {\"method\":\"progress\"}\n\n: ping\n\nevent: other\ndata: no\n\n");
	peer_events(p, "data: {\"id\":1,\ndata: \"result\":true}\n\n");
	peer_stream_end(p);
	return true;
}

TEST(an_answer_may_be_a_stream_with_other_messages_before_it)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_stream);
	start_wire(&w, &s);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "true}\n");

	CHECK_STR(buf_str(&w.trail), "message {\"method\":\"progress\"}\nmessage {\"id\":1,\n\"result\":true}\n");
	wire_close(&w);
	CHECK_INT(site_count(&s), 1);
	stop(&w, &s);
}

static bool answer_own_stream(struct site *s, struct peer *p)
{
	if (peer_is(p, "GET")) {
		peer_stream(p, "data: {\"id\":\"q\",\"method\":\"ask\"}\n\n");
		peer_wait_gone(p);
		return false;
	}
	if (peer_has(p, "first"))
		peer_json(p, "{\"id\":1,\"result\":0}");
	else
		peer_reply(p, "202 Accepted", "", "");
	return true;
}

TEST(what_the_server_says_by_itself_comes_on_a_stream_that_opens_after_the_handshake)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_own_stream);
	start_wire(&w, &s);
	wire_send(&w, 1, "{\"id\":1,\"method\":\"first\"}");
	wire_wait(&w, "message {\"id\":1");

	w.transport->class->ready(w.transport, "2025-11-25");
	wire_send(&w, 0, "{\"method\":\"note\"}");
	wire_wait(&w, "message {\"id\":\"q\"");

	wire_send(&w, 0, "{\"id\":\"q\",\"result\":{}}");
	wire_close(&w);
	CHECK(!site_saw(&s, "DELETE"));
	stop(&w, &s);
}

static bool answer_cut_stream(struct site *s, struct peer *p)
{
	char last[40];

	if (peer_is(p, "POST")) {
		peer_stream(p, "id: event-1\nretry: 1200\ndata: \n\n");
		peer_stream_end(p);
	} else {
		peer_stream(p, "");
		peer_events(p, strcmp(peer_header(p, "Last-Event-ID", last, sizeof last), "event-1")
				       ? "data: {\"id\":1,\"error\":\"no place\"}\n\n"
				       : "data: {\"id\":1,\"result\":0}\n\n");
		peer_stream_end(p);
	}
	return true;
}

TEST(a_stream_that_ends_before_the_answer_goes_on_behind_its_last_event_when_the_server_says)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_cut_stream);
	start_wire(&w, &s);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "message {\"id\":1,\"result\":0}\n");

	CHECK_INT(site_count(&s), 2);
	CHECK(s.times_ms[1] - s.times_ms[0] >= 1199); /* a server that says nothing is asked again after 1 s */
	wire_close(&w);
	stop(&w, &s);
}

static bool answer_in_pieces(struct site *s, struct peer *p)
{
	if (site_count(s) < 3) {
		peer_stream(p, peer_is(p, "POST")
				       ? "id: 1\nretry: 10\ndata: {\"method\":\"progress\"}\n\ndata: {\"id\":1,"
				       : "id: 2\ndata: {\"method\":\"progress\"}\n\n");
		return false;
	}
	peer_stream(p, "data: {\"id\":1,\"result\":0}\n\n");
	peer_stream_end(p);
	return true;
}

TEST(a_stream_that_is_cut_inside_an_event_goes_on_as_often_as_it_brings_something)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_in_pieces);
	start_wire(&w, &s);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "\"result\":0}\n");

	CHECK_STR(buf_str(&w.trail), "message {\"method\":\"progress\"}\nmessage {\"method\":\"progress\"}\n"
				     "message {\"id\":1,\"result\":0}\n");
	wire_close(&w);
	stop(&w, &s);
}

static bool answer_moved(struct site *s, struct peer *p)
{
	if (peer_is(p, "POST /mcp "))
		peer_reply(p, "307 Temporary Redirect", s->text, "");
	else
		peer_json(p, peer_has(p, ":1") ? "{\"id\":1,\"result\":0}" : "{\"id\":2,\"result\":0}");
	return true;
}

TEST(a_server_that_has_moved_is_followed_once_and_for_all_but_not_to_another_one)
{
	struct wire w;
	struct site s;

	site_start(&s, answer_moved);
	s.text = "Location: /mcp/\r\n";
	start_wire(&w, &s);
	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "message {\"id\":1");
	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "message {\"id\":2");
	wire_close(&w);
	CHECK_STR(buf_str(&s.log), "POST /mcp {\"id\":1}\nPOST /mcp/ {\"id\":1}\nPOST /mcp/ {\"id\":2}\n");
	stop(&w, &s);

	site_start(&s, answer_moved);
	s.text = "Location: http://127.0.0.1:1/mcp/\r\n";
	start_wire(&w, &s);
	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "closed the server answered HTTP 307\n");
	stop(&w, &s);
}

static bool answer_never(struct site *s, struct peer *p)
{
	peer_wait_gone(p);
	pthread_mutex_lock(&s->lock);
	buf_addstr(&s->log, "gone\n");
	pthread_mutex_unlock(&s->lock);
	return false;
}

TEST(a_request_that_is_dropped_ends_its_transfer_and_nothing_else)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_never);
	start_wire(&w, &s);

	wire_send(&w, 1, "{\"id\":1}");
	wire_send(&w, 2, "{\"id\":2}");
	while (site_count(&s) < 2)
		uv_run(loop_uv(w.env.loop), UV_RUN_NOWAIT);
	w.transport->class->drop(w.transport, 1);
	while (!site_saw(&s, "gone") || w.env.http->active != 1)
		uv_run(loop_uv(w.env.loop), UV_RUN_NOWAIT);

	CHECK_STR(buf_str(&w.trail), "");
	wire_close(&w);
	stop(&w, &s);
}

TEST(closing_from_inside_a_message_of_a_stream_says_nothing_more)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_stream);
	wire_init(&w, MCP_HTTP, 0);
	w.close_at_message = true;
	w.server->url = s.url;
	wire_start(&w);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "message {\"method\":\"progress\"}\nclosed on request\n");
	stop(&w, &s);
}

static bool answer_body(struct site *s, struct peer *p)
{
	peer_json(p, "[{\"method\":\"progress\"},{\"id\":1,\"result\":0}]");
	return true;
}

TEST(closing_from_inside_a_message_of_a_body_says_nothing_more)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_body);
	wire_init(&w, MCP_HTTP, 0);
	w.close_at_message = true;
	w.server->url = s.url;
	wire_start(&w);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "message {\"method\":\"progress\"}\nclosed on request\n");
	stop(&w, &s);
}

TEST(closing_at_once_is_closing)
{
	struct wire w;
	wire_init(&w, MCP_HTTP, 0);
	w.server->url = "http://127.0.0.1:1/";
	wire_start(&w);

	wire_send(&w, 1, "{\"id\":1}");
	wire_close(&w);

	CHECK_STR(buf_str(&w.trail), "closed on request\n");
	wire_release(&w);
}

int test_transport_http(void)
{
	return RUN_TESTS(T(a_session_is_kept_by_its_id_and_ended_at_the_close),
			 T(nothing_overtakes_the_first_notification),
			 T(an_answer_may_be_a_stream_with_other_messages_before_it),
			 T(what_the_server_says_by_itself_comes_on_a_stream_that_opens_after_the_handshake),
			 T(a_stream_that_ends_before_the_answer_goes_on_behind_its_last_event_when_the_server_says),
			 T(a_stream_that_is_cut_inside_an_event_goes_on_as_often_as_it_brings_something),
			 T(a_server_that_has_moved_is_followed_once_and_for_all_but_not_to_another_one),
			 T(a_request_that_is_dropped_ends_its_transfer_and_nothing_else),
			 T(closing_from_inside_a_message_of_a_stream_says_nothing_more),
			 T(closing_from_inside_a_message_of_a_body_says_nothing_more), T(closing_at_once_is_closing));
}
