/* SPDX-License-Identifier: MIT
 * test_transport_auth.c - headers of the configuration, headers that a command prints, and servers that refuse them. */
#include "site.h"
#include "tests.h"
#include "wire_stage.h"

/* What came as X-Key and Authorization is the answer; "refused" in X-Key is refused. */
static bool answer_headers(struct site *s, struct peer *p)
{
	char key[80];
	char token[80];
	char body[240];

	peer_header(p, "X-Key", key, sizeof key);
	peer_header(p, "Authorization", token, sizeof token);
	snprintf(body, sizeof body, "{\"id\":1,\"result\":\"%s|%s\"}", key, token);
	if (strstr(key, "refused") || strstr(token, "refused") || strstr(p->head.p, "well-known"))
		peer_reply(p, "401 Unauthorized", s->text ? s->text : "", "");
	else
		peer_json(p, body);
	return true;
}

struct refused {
	const char *const *headers;
	const char *helper;
	bool doubted;
	const char *trail;
	unsigned requests; /* 0: any number */
};

static void try_headers(const struct refused *row)
{
	struct wire w;
	struct site s;

	site_start(&s, answer_headers);
	wire_init(&w, MCP_HTTP, 0);
	w.server->url = s.url;
	w.server->headers = row->headers;
	w.server->headers_helper = row->helper;
	w.server->believed = !row->doubted;
	wire_start(&w);
	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, row->trail);
	CHECK_STR(buf_str(&w.trail), row->trail);
	if (row->requests)
		CHECK_INT(site_count(&s), row->requests);
	if (w.transport)
		wire_close(&w);
	wire_release(&w);
	site_stop(&s);
}

TEST(headers_of_the_entry_and_of_its_command_are_sent_and_the_commands_count_more)
{
	static const char *const given[] = { "X-Key: given", "Authorization: Bearer mine", NULL };
	static const struct refused table[] = {
		{ given, NULL, false, "message {\"id\":1,\"result\":\"given|Bearer mine\"}\n", 1 },
		{ given, "echo '{\"x-key\": \"printed\"}'", false,
		  "message {\"id\":1,\"result\":\"printed|Bearer mine\"}\n", 1 },
		{ NULL, "echo \"{\\\"X-Key\\\": \\\"$CLAUDE_CODE_MCP_SERVER_NAME\\\"}\"", false,
		  "message {\"id\":1,\"result\":\"test|\"}\n", 1 },
		{ given, "echo '{\"X-Key\": \"printed\"}'", true,
		  "message {\"id\":1,\"result\":\"given|Bearer mine\"}\n", 1 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		try_headers(&table[i]);
}

TEST(a_command_that_prints_no_headers_ends_the_connection_before_anything_is_sent)
{
	static const struct refused table[] = {
		{ .helper = "echo hello", .trail = "closed headersHelper: its output is not a JSON object\n" },
		{ .helper = "echo '{\"A\": 1}'",
		  .trail = "closed headersHelper: its output has a member that is not a header\n" },
		{ .helper = "printf '{\"A\": \"x\\\\r\\\\nB: y\"}'",
		  .trail = "closed headersHelper: its output has a member that is not a header\n" },
		{ .helper = "echo '{}'; exit 3", .trail = "closed headersHelper: it exited with status 3\n" },
		{ .helper = "kill -9 $$", .trail = "closed headersHelper: it was killed by signal 9\n" },
		{ .helper = "yes", .trail = "closed headersHelper: it printed more than 64 KB\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct wire w;
		struct site s;
		site_start(&s, answer_headers);
		wire_init(&w, MCP_HTTP, 0);
		w.server->url = s.url;
		w.server->headers_helper = table[i].helper;
		w.server->believed = true;
		wire_start(&w);
		wire_send(&w, 1, "{\"id\":1}");
		wire_wait(&w, "closed ");
		CHECK_STR(buf_str(&w.trail), table[i].trail);
		CHECK_INT(site_count(&s), 0);
		wire_release(&w);
		site_stop(&s);
	}
}

TEST(a_command_that_hangs_is_given_up)
{
	struct wire w;
	wire_init(&w, MCP_HTTP, LOOP_VIRTUAL_CLOCK);
	w.server->url = "http://127.0.0.1:1/";
	w.server->headers_helper = "sleep 1000";
	w.server->believed = true;
	wire_start(&w);

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed headersHelper: it did not end within 10 s\n");
	wire_release(&w);
}

TEST(a_command_whose_headers_are_refused_runs_again)
{
	char file[] = "/tmp/cadre-test-XXXXXX";
	char command[200];
	int fd = mkstemp(file);
	CHECK(fd >= 0);
	close(fd);
	snprintf(command, sizeof command,
		 "if [ -s %s ]; then echo '{\"X-Key\":\"new\"}'; else echo x > %s; echo '{\"X-Key\":\"refused\"}'; fi",
		 file, file);
	struct refused row = { .helper = command, .trail = "message {\"id\":1,\"result\":\"new|\"}\n", .requests = 2 };

	try_headers(&row);

	unlink(file);
}

TEST(an_authorisation_of_the_configuration_that_is_refused_needs_a_person)
{
	static const char *const given[] = { "Authorization: Bearer refused", NULL };
	static const struct refused row = {
		.headers = given,
		.trail = "closed the server refuses the authorisation of its configuration (HTTP 401) needs-auth\n",
		.requests = 1,
	};

	try_headers(&row);
}

static bool answer_401(struct site *s, struct peer *p)
{
	if (peer_is(p, "POST /mcp ") || peer_is(p, "GET /mcp "))
		peer_reply(p, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "");
	else
		peer_reply(p, "404 Not Found", "", "");
	return true;
}

TEST(an_authorisation_that_cannot_be_had_ends_the_connection)
{
	static const enum mcp_kind kinds[] = { MCP_HTTP, MCP_SSE };

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct wire w;
		struct site s;
		site_start(&s, answer_401);
		wire_init(&w, kinds[i], 0);
		w.server->url = s.url;
		wire_start(&w);
		wire_send(&w, 1, "{\"id\":1}");
		wire_send(&w, 2, "{\"id\":2}");
		wire_wait(&w, "closed ");
		CHECK(!wire_has(&w, "lost"));
		CHECK(wire_has(&w, " needs-auth\n"));
		wire_release(&w);
		site_stop(&s);
	}
}

int test_transport_auth(void)
{
	return RUN_TESTS(T(headers_of_the_entry_and_of_its_command_are_sent_and_the_commands_count_more),
			 T(a_command_that_prints_no_headers_ends_the_connection_before_anything_is_sent),
			 T(a_command_that_hangs_is_given_up), T(a_command_whose_headers_are_refused_runs_again),
			 T(an_authorisation_of_the_configuration_that_is_refused_needs_a_person),
			 T(an_authorisation_that_cannot_be_had_ends_the_connection));
}
