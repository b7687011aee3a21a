/* SPDX-License-Identifier: MIT
 * test_transport_sse.c - HTTP with the older event stream: where messages go, where answers come from, how it ends. */
#include "site.h"
#include "tests.h"
#include "wire_stage.h"

static void start_wire(struct wire *w, struct site *s, unsigned loop_flags)
{
	wire_init(w, MCP_SSE, loop_flags);
	w->server->url = s->url;
	wire_start(w);
}

static void stop(struct wire *w, struct site *s)
{
	wire_release(w);
	site_stop(s);
}

/* The stream tells an address; what is posted there lets it go on. */
static bool answer_old_style(struct site *s, struct peer *p)
{
	if (peer_is(p, "POST")) {
		peer_reply(p, "202 Accepted", "", "Accepted");
		site_go(s);
		return true;
	}
	peer_stream(p, "event: endpoint\ndata: ");
	peer_events(p, s->text);
	peer_events(p, "\n\n");
	site_wait_go(s);
	peer_events(p, "event: message\ndata: {\"id\":1,\"result\":0}\n\n");
	peer_wait_gone(p);
	return false;
}

TEST(messages_go_to_the_address_that_the_stream_tells_and_answers_come_on_the_stream)
{
	static const struct {
		const char *endpoint, *request;
	} table[] = {
		{ "/post?session=7", "POST /post?session=7 {\"id\":1}\n" },
		{ "post", "POST /post {\"id\":1}\n" },
		{ "?session=7", "POST /mcp?session=7 {\"id\":1}\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		site_start(&s, answer_old_style);
		s.text = table[i].endpoint;
		start_wire(&w, &s, 0);
		wire_send(&w, 1, "{\"id\":1}");
		wire_wait(&w, "message ");
		CHECK_STR(buf_str(&w.trail), "message {\"id\":1,\"result\":0}\n");
		CHECK(site_saw(&s, table[i].request));
		wire_close(&w);
		stop(&w, &s);
	}
}

TEST(an_address_at_another_server_ends_the_connection)
{
	static const char *const table[] = { "http://127.0.0.1:1/post", "https://example.invalid/",
					     "//example.invalid/post" };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		site_start(&s, answer_old_style);
		s.text = table[i];
		site_go(&s);
		start_wire(&w, &s, 0);
		wire_send(&w, 1, "{\"id\":1}");
		wire_wait(&w, "closed ");
		CHECK_STR(buf_str(&w.trail), "closed the server's event stream redirects messages to another origin\n");
		CHECK(!site_saw(&s, "POST"));
		stop(&w, &s);
	}
}

static bool answer_posts_badly(struct site *s, struct peer *p)
{
	if (peer_is(p, "POST")) {
		peer_reply(p, "500 Oh", "", "");
		return true;
	}
	peer_stream(p, "event: endpoint\ndata: /post\n\n");
	site_wait_go(s);
	peer_stream_end(p);
	return false;
}

TEST(a_post_that_fails_is_a_loss_and_the_end_of_the_stream_is_the_end)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_posts_badly);
	start_wire(&w, &s, 0);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "lost ");
	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "lost 2");
	site_go(&s);
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "lost 1 the server answered HTTP 500\nlost 2 the server answered HTTP 500\n"
				     "closed the server ended its event stream\n");
	stop(&w, &s);
}

static bool answer_no_stream(struct site *s, struct peer *p)
{
	peer_send(p, s->text);
	return false;
}

TEST(what_is_no_event_stream_ends_the_connection)
{
	static const struct {
		const char *answer, *trail;
	} table[] = {
		{ "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n", "closed the server answered HTTP 405\n" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "closed the URL does not serve an event stream\n" },
		{ "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
		  "closed the server ended its event stream\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		site_start(&s, answer_no_stream);
		s.text = table[i].answer;
		start_wire(&w, &s, 0);
		wire_send(&w, 1, "{\"id\":1}");
		wire_wait(&w, "closed ");
		CHECK_STR(buf_str(&w.trail), table[i].trail);
		stop(&w, &s);
	}
}

static bool answer_without_endpoint(struct site *s, struct peer *p)
{
	peer_stream(p, ": hello\n\n");
	peer_wait_gone(p);
	return false;
}

TEST(a_stream_that_tells_no_address_is_given_up_after_a_minute)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_without_endpoint);
	start_wire(&w, &s, LOOP_VIRTUAL_CLOCK);

	wire_wait(&w, "closed ");

	CHECK(wire_has(&w, "closed the server"));
	stop(&w, &s);
}

TEST(closing_before_the_address_is_known_drops_what_waits)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_without_endpoint);
	start_wire(&w, &s, 0);

	wire_send(&w, 1, "{\"id\":1}");
	while (!site_count(&s))
		uv_run(loop_uv(w.env.loop), UV_RUN_NOWAIT);
	wire_close(&w);

	CHECK_STR(buf_str(&w.trail), "closed on request\n");
	stop(&w, &s);
}

int test_transport_sse(void)
{
	return RUN_TESTS(T(messages_go_to_the_address_that_the_stream_tells_and_answers_come_on_the_stream),
			 T(an_address_at_another_server_ends_the_connection),
			 T(a_post_that_fails_is_a_loss_and_the_end_of_the_stream_is_the_end),
			 T(what_is_no_event_stream_ends_the_connection),
			 T(a_stream_that_tells_no_address_is_given_up_after_a_minute),
			 T(closing_before_the_address_is_known_drops_what_waits));
}
