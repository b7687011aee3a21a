/* SPDX-License-Identifier: MIT
 * test_conn.c - modeld's server with a client on the same loop: what is on the wire for each way an answer can go. */
#include "server.h"
#include "test_modeld.h"

struct wire {
	struct loop *loop;
	struct scenario *scenario;
	struct engine *engine;
	struct server *server;
	uv_tcp_t tcp;
	struct buf got;
	const char *until; /* the client has what it wants when its bytes end so */
	bool closed;       /* by the server */
	char input[4096];
};

static void wire_open(struct wire *w, const char *scenario)
{
	struct err err = { 0 };

	*w = (struct wire){ 0 };
	if (scenario_parse("test", str_from(scenario), &w->scenario, &err) < 0)
		fail_msg("%s", err.text);
	w->loop = loop_new(0);
	w->engine = engine_new(w->scenario, NULL);
	if (server_start(w->loop, &(struct server_options){ .engine = w->engine }, &w->server, &err) < 0)
		fail_msg("%s", err.text);
}

static void wire_close(struct wire *w)
{
	server_stop(w->server);
	loop_run(w->loop);
	server_free(w->server);
	engine_free(w->engine);
	scenario_free(w->scenario);
	loop_free(w->loop);
	buf_release(&w->got);
}

static void on_alloc(uv_handle_t *h, size_t wanted, uv_buf_t *buf)
{
	struct wire *w = h->data;

	(void)wanted;
	*buf = uv_buf_init(w->input, sizeof w->input);
}

static void on_end(uv_handle_t *h)
{
	loop_stop(((struct wire *)h->data)->loop);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct wire *w = stream->data;

	if (n > 0)
		buf_add(&w->got, buf->base, (size_t)n);
	w->closed = n < 0;
	if ((n < 0 || str_ends(buf_str(&w->got), str_from(w->until))) && !uv_is_closing((uv_handle_t *)stream))
		uv_close((uv_handle_t *)stream, on_end);
}

struct sending {
	uv_connect_t connect;
	struct str bytes;
};

static void on_connected(uv_connect_t *req, int status)
{
	struct wire *w = req->handle->data;
	struct sending *sending = CONTAINER_OF(req, struct sending, connect);
	uv_buf_t buf = uv_buf_init((char *)sending->bytes.p, (unsigned)sending->bytes.n);

	CHECK_INT(status, 0);
	CHECK_INT(uv_read_start((uv_stream_t *)&w->tcp, on_alloc, on_read), 0);
	CHECK_INT(uv_try_write((uv_stream_t *)&w->tcp, &buf, 1), (int)sending->bytes.n);
}

/* Sends the bytes over a new connection and reads until the server closes it or what came ends with `until`. */
static void wire_talk(struct wire *w, struct str bytes, const char *until)
{
	struct sending sending = { .bytes = bytes };
	struct sockaddr_in address;

	buf_clear(&w->got);
	w->until = until;
	w->closed = false;
	CHECK_INT(uv_ip4_addr("127.0.0.1", (int)server_port(w->server), &address), 0);
	CHECK_INT(uv_tcp_init(loop_uv(w->loop), &w->tcp), 0);
	w->tcp.data = w;
	CHECK_INT(uv_tcp_connect(&sending.connect, &w->tcp, (const struct sockaddr *)&address, on_connected), 0);
	loop_run(w->loop);
}

#define BODY(stream)                                                                                                   \
	"{\"model\":\"m\",\"max_tokens\":9,\"stream\":" stream ",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]" \
	"}"

static void ask(struct wire *w, const char *body, const char *headers, const char *until)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "POST /v1/messages HTTP/1.1\r\nhost: x\r\n%scontent-length: %zu\r\n\r\n%s", headers, strlen(body),
		 body);
	wire_talk(w, buf_str(&b), until);
}

static bool got(const struct wire *w, const char *part)
{
	return str_has(buf_str(&w->got), str_from(part));
}

TEST(a_stream_is_sent_in_chunks_and_the_connection_stays)
{
	struct wire w;
	wire_open(&w, "rule\nlatency 5\ndelay 1\ntext hello\n");

	ask(&w, BODY("true"), "", "\r\n0\r\n\r\n");

	CHECK(str_starts(buf_str(&w.got),
			 STR("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n")));
	CHECK(got(&w, "transfer-encoding: chunked\r\n"));
	CHECK(got(&w, "\"text\":\"hello\""));
	CHECK(!w.closed);
	wire_close(&w);
}

TEST(a_message_has_its_length_and_close_is_obeyed)
{
	struct wire w;
	wire_open(&w, "rule\ntext hello\n");

	ask(&w, BODY("false"), "connection: close\r\n", "never");

	CHECK(got(&w, "connection: close\r\n"));
	CHECK(got(&w, "content-length: "));
	CHECK(str_ends(buf_str(&w.got), STR("}")));
	CHECK(w.closed);
	wire_close(&w);
}

TEST(requests_that_come_at_once_are_answered_in_order)
{
	AUTO_BUF struct buf b = { 0 };
	struct wire w;
	wire_open(&w, "rule\nlatency 3\ntext answer {{n}} ends\n");

	for (int i = 0; i < 3; i++)
		buf_addf(&b, "POST /v1/messages HTTP/1.1\r\ncontent-length: %zu\r\n\r\n%s", strlen(BODY("true")),
			 BODY("true"));
	buf_addstr(&b, "GET /stats HTTP/1.1\r\n\r\n");
	wire_talk(&w, buf_str(&b), "\"matched\":3}]}");

	const char *one = strstr(w.got.p, "answer 1 ends");
	const char *two = strstr(w.got.p, "answer 2 ends");
	const char *three = strstr(w.got.p, "answer 3 ends");
	CHECK(one && two && three && one < two && two < three);
	CHECK(got(&w, "\"requests\":3"));
	wire_close(&w);
}

TEST(a_cut_closes_without_an_end_and_at_byte_0_without_a_head)
{
	struct wire w;
	wire_open(&w, "rule\nnth 1\ntext a\ncut at byte 29\nrule\ntext a\ncut at byte 0\n");

	ask(&w, BODY("true"), "", "never");
	CHECK(w.closed);
	CHECK(got(&w, "1d\r\nevent: message_start\ndata: {\"\r\n"));
	CHECK(!str_ends(buf_str(&w.got), STR("0\r\n\r\n")));
	ask(&w, BODY("true"), "", "never");

	CHECK(w.closed);
	CHECK_INT(w.got.n, 0);
	wire_close(&w);
}

TEST(a_cut_message_promises_more_than_it_sends)
{
	struct wire w;
	wire_open(&w, "rule\ntext a\ncut at byte 30\n");

	ask(&w, BODY("false"), "", "never");

	CHECK(w.closed);
	CHECK(got(&w, "content-length: 31\r\n"));
	wire_close(&w);
}

TEST(a_stall_sends_its_bytes_and_counts_as_in_flight_until_the_client_goes)
{
	AUTO_BUF struct buf before = { 0 };
	AUTO_BUF struct buf after = { 0 };
	struct wire w;
	wire_open(&w, "rule\ntext a\nstall at byte 10\n");

	ask(&w, BODY("true"), "", "event: mes\r\n");
	CHECK(!w.closed);
	engine_stats(w.engine, &before);
	CHECK(strstr(before.p, "\"in_flight\":1,"));
	wire_talk(&w, STR("GET /stats HTTP/1.1\r\n\r\n"), "]}");

	engine_stats(w.engine, &after);
	CHECK(strstr(after.p, "\"in_flight\":0,"));
	wire_close(&w);
}

TEST(a_drip_is_one_byte_a_chunk)
{
	struct wire w;
	wire_open(&w, "rule\ntext a\ndrip\n");

	ask(&w, BODY("true"), "", "0\r\n\r\n");

	CHECK(got(&w, "\r\n\r\n1\r\ne\r\n1\r\nv\r\n1\r\ne\r\n1\r\nn\r\n1\r\nt\r\n"));
	wire_close(&w);
}

/* Bytes of a chunked body, or 0 if its chunks are not what they say. */
static size_t chunked_len(struct str answer)
{
	const char *body = memmem(answer.p, answer.n, "\r\n\r\n", 4);
	size_t total = 0;

	if (!body)
		return 0;
	for (const char *p = body + 4, *end = answer.p + answer.n; p < end;) {
		char *after;
		size_t n = strtoul(p, &after, 16);
		if (after == p || after + 2 + n + 2 > end || memcmp(after, "\r\n", 2) ||
		    memcmp(after + 2 + n, "\r\n", 2))
			return 0;
		total += n;
		p = after + 2 + n + 2;
	}
	return total;
}

TEST(a_large_answer_waits_for_a_slow_reader_and_comes_whole)
{
	struct wire w;
	wire_open(&w, "rule\nfiller 20MB\n");

	ask(&w, BODY("true"), "", "\r\n0\r\n\r\n");

	CHECK(chunked_len(buf_str(&w.got)) > 20 << 20);
	CHECK(got(&w, "message_stop"));
	wire_close(&w);
}

TEST(a_client_that_waits_for_100_continue_gets_it)
{
	struct wire w;
	wire_open(&w, "rule\ntext a\n");

	wire_talk(&w, STR("POST /v1/messages HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"),
		  "HTTP/1.1 100 Continue\r\n\r\n");

	CHECK_STR(buf_str(&w.got), "HTTP/1.1 100 Continue\r\n\r\n");
	wire_close(&w);
}

TEST(what_is_no_request_gets_an_error_and_the_end)
{
	struct wire w;
	wire_open(&w, "rule\ntext a\n");

	wire_talk(&w, STR("nonsense\r\n\r\n"), "never");

	CHECK(str_starts(buf_str(&w.got), STR("HTTP/1.1 400 Bad Request\r\n")));
	CHECK(w.closed);
	wire_close(&w);
}

TEST(reset_forgets_the_counts)
{
	struct wire w;
	wire_open(&w, "rule\ntext a\n");

	ask(&w, BODY("true"), "", "0\r\n\r\n");
	wire_talk(&w, STR("POST /reset HTTP/1.1\r\ncontent-length: 0\r\n\r\nGET /stats HTTP/1.1\r\n\r\n"), "]}");

	CHECK(got(&w, "\"requests\":0,"));
	wire_close(&w);
}

int conn_tests(void)
{
	return RUN_TESTS(T(a_stream_is_sent_in_chunks_and_the_connection_stays),
			 T(a_message_has_its_length_and_close_is_obeyed),
			 T(requests_that_come_at_once_are_answered_in_order),
			 T(a_cut_closes_without_an_end_and_at_byte_0_without_a_head),
			 T(a_cut_message_promises_more_than_it_sends),
			 T(a_stall_sends_its_bytes_and_counts_as_in_flight_until_the_client_goes),
			 T(a_drip_is_one_byte_a_chunk), T(a_large_answer_waits_for_a_slow_reader_and_comes_whole),
			 T(a_client_that_waits_for_100_continue_gets_it),
			 T(what_is_no_request_gets_an_error_and_the_end), T(reset_forgets_the_counts));
}
