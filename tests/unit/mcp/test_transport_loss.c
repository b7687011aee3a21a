/* SPDX-License-Identifier: MIT
 * test_transport_loss.c - streamable HTTP when something goes wrong: what ends the connection, what only a request. */
#include "site.h"
#include "tests.h"
#include "wire_stage.h"

static void start_wire(struct wire *w, struct site *s, unsigned loop_flags)
{
	wire_init(w, MCP_HTTP, loop_flags);
	w->server->url = s->url;
	wire_start(w);
}

static void stop(struct wire *w, struct site *s)
{
	wire_release(w);
	site_stop(s);
}

static bool answer_with_status(struct site *s, struct peer *p)
{
	peer_reply(p, s->text, "", "{\"error\":{\"message\":\"out of\\norder\"}}");
	return true;
}

TEST(a_first_message_that_fails_ends_the_connection_with_the_servers_words)
{
	static const char *const table[] = { "500 Oh", "503 Busy", "404 Not Found", "400 Bad Request",
					     "403 Forbidden" };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		AUTO_BUF struct buf want = { 0 };
		buf_addf(&want, "closed the server answered HTTP %.3s: out of\n", table[i]);
		site_start(&s, answer_with_status);
		s.text = table[i];
		start_wire(&w, &s, 0);
		wire_send(&w, 1, "{\"id\":1}");
		wire_wait(&w, "closed ");
		CHECK_STR(buf_str(&w.trail), want.p);
		stop(&w, &s);
	}
}

TEST(nobody_at_the_address_ends_the_connection)
{
	struct wire w;
	wire_init(&w, MCP_HTTP, 0);
	w.server->url = "http://127.0.0.1:1/mcp";
	wire_start(&w);

	wire_send(&w, 1, "{\"id\":1}");
	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "closed ");

	CHECK(!wire_has(&w, "lost"));
	wire_release(&w);
}

TEST(an_address_that_is_none_ends_the_connection)
{
	struct wire w;
	wire_init(&w, MCP_HTTP, 0);
	w.server->url = "ftp:/nowhere";
	wire_start(&w);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed ftp:/nowhere is not an http or https URL\n");
	wire_release(&w);
}

/* The first request is answered well, the others as the test says. */
static bool answer_first_well(struct site *s, struct peer *p)
{
	if (peer_has(p, "first")) {
		peer_reply(p, "200 OK", "Content-Type: application/json\r\nMcp-Session-Id: abc\r\n",
			   "{\"id\":1,\"result\":0}");
		return true;
	}
	if (peer_is(p, "DELETE"))
		peer_reply(p, "405 Method Not Allowed", "", "");
	else
		peer_send(p, s->text);
	return false;
}

static void say_first(struct wire *w, struct site *s, unsigned loop_flags, const char *then)
{
	site_start(s, answer_first_well);
	s->text = then;
	start_wire(w, s, loop_flags);
	wire_send(w, 1, "{\"id\":1,\"method\":\"first\"}");
	wire_wait(w, "message {\"id\":1,\"result\":0}\n");
	buf_clear(&w->trail);
}

TEST(a_later_failure_is_the_loss_of_its_request_only)
{
	static const struct {
		const char *answer;
		const char *trail;
	} table[] = {
		{ "HTTP/1.1 500 Oh\r\nConnection: close\r\nContent-Length: 5\r\n\r\nboom\n",
		  "lost 2 the server answered HTTP 500: boom\n" },
		{ "HTTP/1.1 403 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		  "lost 2 the server answered HTTP 403\n" },
		{ "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		  "lost 2 the server ended its answer before it was complete\n" },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n{\"id\":",
		  "log invalid message: line 1, column 7: expected a value, but the text ends here\n"
		  "lost 2 the server ended its answer before it was complete\n" },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 20\r\n\r\n{\"id\":9,\"result\":11}",
		  "message {\"id\":9,\"result\":11}\nlost 2 the server ended its answer before it was complete\n" },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"id\":2,",
		  "lost 2 the server ended its answer before it was complete\n" },
		{ "HTTP/1.1 400 No\r\nConnection: close\r\nContent-Length: 31\r\n\r\n{\"id\":2,\"error\":{\"code\":-3200}}",
		  "message {\"id\":2,\"error\":{\"code\":-3200}}\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		say_first(&w, &s, 0, table[i].answer);
		wire_send(&w, 2, "{\"id\":2}");
		wire_wait(&w, table[i].trail);
		CHECK_STR(buf_str(&w.trail), table[i].trail);
		wire_close(&w);
		site_await(&s, "DELETE /mcp \n");
		stop(&w, &s);
	}
}

TEST(a_notification_that_fails_is_a_line_of_log)
{
	struct wire w;
	struct site s;
	say_first(&w, &s, 0, "HTTP/1.1 500 Oh\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");

	wire_send(&w, 0, "{\"method\":\"note\"}");
	wire_wait(&w, "log ");

	CHECK_STR(buf_str(&w.trail), "log a message could not be sent: the server answered HTTP 500\n");
	wire_close(&w);
	stop(&w, &s);
}

TEST(a_session_that_the_server_has_forgotten_may_be_opened_again)
{
	struct wire w;
	struct site s;
	say_first(&w, &s, 0, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");

	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "returned 2\nclosed the server answered HTTP 404 again\n");
	CHECK(!site_saw(&s, "DELETE"));
	stop(&w, &s);
}

/* Forgets the session after the first request; "slow" is told so later, "lost" never. */
static bool answer_forgotten(struct site *s, struct peer *p)
{
	if (peer_has(p, "first")) {
		peer_reply(p, "200 OK", "Content-Type: application/json\r\nMcp-Session-Id: abc\r\n",
			   "{\"id\":1,\"result\":0}");
		return true;
	}
	if (peer_has(p, "lost")) {
		peer_wait_gone(p);
		return false;
	}
	if (peer_has(p, "slow"))
		site_wait_go(s);
	peer_reply(p, "404 Not Found", "", "");
	return true;
}

static void begin_forgotten(struct wire *w, struct site *s, const char *second, const char *third)
{
	site_start(s, answer_forgotten);
	start_wire(w, s, 0);
	wire_send(w, 1, "{\"id\":1,\"method\":\"first\"}");
	wire_wait(w, "message ");
	buf_clear(&w->trail);
	wire_send(w, 2, second);
	wire_send(w, 3, third);
	while (site_count(s) < 3)
		uv_run(loop_uv(w->env.loop), UV_RUN_NOWAIT);
	wire_wait(w, "returned 3\n");
}

TEST(all_that_a_forgotten_session_refused_or_never_saw_is_given_back)
{
	struct wire w;
	struct site s;
	begin_forgotten(&w, &s, "{\"id\":2,\"method\":\"slow\"}", "{\"id\":3}");

	wire_send(&w, 4, "{\"id\":4,\"method\":\"late\"}");
	site_go(&s);
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "returned 3\nreturned 2\nreturned 4\nclosed the server answered HTTP 404 again\n");
	CHECK(!site_saw(&s, "late"));
	stop(&w, &s);
}

TEST(what_a_forgotten_session_may_have_done_is_not_given_back)
{
	struct wire w;
	struct site s;
	begin_forgotten(&w, &s, "{\"id\":2,\"method\":\"lost\"}", "{\"id\":3}");

	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "returned 3\nclosed the server answered HTTP 404 again\n");
	stop(&w, &s);
}

static bool answer_gets_not_found(struct site *s, struct peer *p)
{
	if (peer_is(p, "GET"))
		peer_reply(p, "404 Not Found", "", "");
	else if (peer_has(p, "note"))
		peer_reply(p, "202 Accepted", "", "");
	else
		peer_reply(p, "200 OK", "Mcp-Session-Id: abc\r\n",
			   peer_has(p, ":1") ? "{\"id\":1,\"result\":0}" : "{\"id\":2,\"result\":0}");
	return true;
}

TEST(a_get_that_finds_nothing_only_means_that_there_is_no_stream)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_gets_not_found);
	start_wire(&w, &s, 0);
	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "message {\"id\":1");

	w.transport->class->ready(w.transport, "2025-11-25");
	wire_send(&w, 0, "{\"method\":\"note\"}");
	while (w.env.http->active || !site_saw(&s, "GET"))
		uv_run(loop_uv(w.env.loop), UV_RUN_NOWAIT);
	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "message {\"id\":2");

	CHECK(!wire_has(&w, "closed"));
	wire_close(&w);
	stop(&w, &s);
}

static bool answer_never(struct site *s, struct peer *p)
{
	peer_wait_gone(p);
	return false;
}

TEST(a_server_that_hangs_at_the_first_message_is_given_up_after_a_minute)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_never);
	start_wire(&w, &s, LOOP_VIRTUAL_CLOCK);
	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed the server did not answer within 60 s\n");
	stop(&w, &s);
}

static bool answer_too_much(struct site *s, struct peer *p)
{
	AUTO_BUF struct buf block = { 0 };

	if (peer_has(p, "first")) {
		peer_json(p, "{\"id\":1,\"result\":0}");
		return true;
	}
	buf_reserve(&block, 1 << 20);
	memset(block.p, 'x', 1 << 20);
	block.p[1 << 20] = '\0';
	peer_send(p, s->text);
	for (int i = 0; i < 66; i++)
		peer_send_n(p, block.p, 1 << 20);
	return false;
}

TEST(an_answer_above_the_limit_is_lost)
{
	static const struct {
		const char *head, *trail;
	} table[] = {
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n",
		  "lost 2 the answer has more than 64 MB\n" },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
		  "lost 2 event stream: an event has more than 67108864 bytes\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		site_start(&s, answer_too_much);
		s.text = table[i].head;
		start_wire(&w, &s, 0);
		wire_send(&w, 1, "{\"id\":1,\"method\":\"first\"}");
		wire_wait(&w, "message ");
		buf_clear(&w.trail);
		wire_send(&w, 2, "{\"id\":2}");
		wire_wait(&w, "lost ");
		CHECK_STR(buf_str(&w.trail), table[i].trail);
		wire_close(&w);
		stop(&w, &s);
	}
}

/* Every stream has an id and ends without an answer. */
static bool answer_nothing_ever(struct site *s, struct peer *p)
{
	if (peer_has(p, "first")) {
		peer_json(p, "{\"id\":1,\"result\":0}");
		return true;
	}
	peer_stream(p, peer_is(p, "POST") ? "id: 1\nretry: 1\ndata: \n\n" : "");
	peer_stream_end(p);
	return true;
}

TEST(a_stream_that_brings_nothing_any_more_is_given_up)
{
	struct wire w;
	struct site s;
	site_start(&s, answer_nothing_ever);
	start_wire(&w, &s, 0);
	wire_send(&w, 1, "{\"id\":1,\"method\":\"first\"}");
	wire_wait(&w, "message ");
	buf_clear(&w.trail);

	wire_send(&w, 2, "{\"id\":2}");
	wire_wait(&w, "lost ");

	CHECK_STR(buf_str(&w.trail), "lost 2 the server ended its answer before it was complete\n");
	CHECK_INT(site_count(&s), 2 + 5);
	wire_close(&w);
	stop(&w, &s);
}

int test_transport_loss(void)
{
	return RUN_TESTS(T(a_first_message_that_fails_ends_the_connection_with_the_servers_words),
			 T(nobody_at_the_address_ends_the_connection), T(an_address_that_is_none_ends_the_connection),
			 T(a_later_failure_is_the_loss_of_its_request_only),
			 T(a_notification_that_fails_is_a_line_of_log),
			 T(a_session_that_the_server_has_forgotten_may_be_opened_again),
			 T(all_that_a_forgotten_session_refused_or_never_saw_is_given_back),
			 T(what_a_forgotten_session_may_have_done_is_not_given_back),
			 T(a_get_that_finds_nothing_only_means_that_there_is_no_stream),
			 T(a_server_that_hangs_at_the_first_message_is_given_up_after_a_minute),
			 T(an_answer_above_the_limit_is_lost), T(a_stream_that_brings_nothing_any_more_is_given_up));
}
