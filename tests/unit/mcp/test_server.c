/* SPDX-License-Identifier: MIT
 * test_server.c - entries of "mcpServers": what they mean, what is wrong with them, when two are one connection. */
#include "mcp/servers/server.h"
#include "lib/json/json.h"
#include "tests.h"
#include "unit.h"

/* One entry that was read, or why not */
struct reading {
	struct json_reader reader;
	struct mcp_server *server;
	struct buf notes;
	const char *type;
	struct err err;
};

static const char *look_up(void *data, struct str name)
{
	(void)data;
	if (str_is(name, "TOKEN"))
		return "secret";
	if (str_is(name, "LINES"))
		return "a\r\nInjected: b";
	return str_is(name, "EMPTY") ? "" : NULL;
}

static int read_named(struct reading *r, const char *name, enum mcp_scope scope, const char *text)
{
	const struct json *root;

	*r = (struct reading){ 0 };
	if (json_parse(&r->reader, text, strlen(text), &root, &r->err) < 0)
		fail_msg("%s", r->err.text);
	return mcp_server_read(&(struct mcp_entry){ .name = str_from(name),
						    .value = root,
						    .scope = scope,
						    .file = "/p/.mcp.json",
						    .line = 7,
						    .believed = true,
						    .lookup = look_up },
			       &r->notes, &r->server, &r->type, &r->err);
}

static int read_one(struct reading *r, const char *text)
{
	return read_named(r, "s", MCP_SCOPE_USER, text);
}

static void reading_release(struct reading *r)
{
	mcp_server_unref(r->server);
	json_reader_release(&r->reader);
	buf_release(&r->notes);
}

static void add_list(struct buf *out, const char *word, const char *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		buf_addf(out, " %s=[%s]", word, list[i]);
}

static void add_text(struct buf *out, const char *word, const char *text)
{
	if (text)
		buf_addf(out, " %s=[%s]", word, text);
}

static void describe(struct buf *out, const struct mcp_server *s)
{
	buf_addstr(out, mcp_kind_word(s->kind));
	add_text(out, "command", s->command);
	add_list(out, "arg", s->args);
	add_list(out, "env", s->env);
	add_text(out, "url", s->url);
	add_list(out, "header", s->headers);
	add_text(out, "helper", s->headers_helper);
	add_text(out, "id", s->oauth.client_id);
	add_text(out, "secret", s->oauth.client_secret);
	add_text(out, "metadata", s->oauth.metadata_url);
	add_text(out, "scopes", s->oauth.scopes);
	if (s->oauth.machine)
		buf_addstr(out, " machine");
	add_text(out, "key", s->oauth.private_key);
	add_text(out, "idp", s->oauth.idp_token_url);
	add_text(out, "idp_id", s->oauth.idp_client_id);
	add_text(out, "idp_token", s->oauth.idp_token);
	if (s->oauth.callback_port)
		buf_addf(out, " port=%u", s->oauth.callback_port);
	if (s->timeout_ms)
		buf_addf(out, " timeout=%llu", (unsigned long long)s->timeout_ms);
	if (s->always_load)
		buf_addstr(out, " always");
}

TEST(every_field_of_an_entry_is_read)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "{\"command\":\"npx\"}", "stdio command=[npx]" },
		{ "{\"type\":\"stdio\",\"command\":\"npx\",\"args\":[\"-y\",\"a b\"],\"env\":{\"A\":\"1\",\"B\":\"\"}}",
		  "stdio command=[npx] arg=[-y] arg=[a b] env=[A=1] env=[B=]" },
		{ "{\"command\":\"x\",\"env\":{\"P\":3000,\"D\":true,\"P\":\"4\"}}",
		  "stdio command=[x] env=[D=true] env=[P=4]" },
		{ "{\"command\":\"x\",\"timeout\":1000,\"alwaysLoad\":true}", "stdio command=[x] timeout=1000 always" },
		{ "{\"type\":\"http\",\"url\":\"https://h/mcp\"}", "http url=[https://h/mcp]" },
		{ "{\"type\":\"streamable-http\",\"url\":\"HTTP://h\"}", "http url=[HTTP://h]" },
		{ "{\"type\":\"sse\",\"url\":\"http://h/sse\",\"headers\":{\"X-Key\":\"k\",\"Accept\":\"\"}}",
		  "sse url=[http://h/sse] header=[X-Key: k] header=[Accept: ]" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headersHelper\":\"get ${TOKEN}\"}",
		  "http url=[https://h] helper=[get ${TOKEN}]" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"clientId\":\"i\",\"clientSecret\":\"s\","
		  "\"callbackPort\":8080,\"authServerMetadataUrl\":\"https://a/m\",\"scopes\":\"a b\"}}",
		  "http url=[https://h] id=[i] secret=[s] metadata=[https://a/m] scopes=[a b] port=8080" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"grantType\":\"client_credentials\",\"privateKey\":\"${TOKEN}\","
		  "\"clientSecret\":\"${TOKEN}\",\"idpTokenUrl\":\"https://i\",\"idpClientId\":\"c\",\"idpToken\":\"t\"}}",
		  "http url=[https://h] secret=[secret] machine key=[secret] idp=[https://i] idp_id=[c] idp_token=[t]" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"scopes\":[\"a\",\"b\"]}}",
		  "http url=[https://h] scopes=[a b]" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf got = { 0 };
		struct reading r;
		if (read_one(&r, rows[i].text) < 0)
			fail_msg("%s", r.err.text);
		describe(&got, r.server);
		CHECK_STR(buf_str(&got), rows[i].expected);
		CHECK_INT(r.notes.n, 0);
		CHECK_CSTR(r.server->name, "s");
		CHECK_CSTR(r.server->file, "/p/.mcp.json");
		CHECK_INT(r.server->line, 7);
		reading_release(&r);
	}
}

TEST(a_bad_entry_is_named_with_its_place_and_the_word_for_it)
{
	static const struct {
		const char *text, *type, *expected;
	} rows[] = {
		{ "[]", "invalid_config", "expected an object" },
		{ "{}", "invalid_config", "command: expected" },
		{ "{\"url\":\"https://h\"}", "url_missing_type", "add \"type\": \"http\"" },
		{ "{\"type\":\"ws\",\"url\":\"ws://h\"}", "unknown_type", "expected stdio, http or sse, not \"ws\"" },
		{ "{\"type\":7,\"command\":\"x\"}", "unknown_type", "not 7" },
		{ "{\"type\":\"stdio\",\"url\":\"https://h\"}", "invalid_config", "command: expected the program" },
		{ "{\"command\":\"\"}", "invalid_config", "command: expected a text that is not empty" },
		{ "{\"command\":[\"x\"]}", "invalid_config", "command: expected" },
		{ "{\"command\":\"a\\u0000b\"}", "invalid_config", "command: expected" },
		{ "{\"command\":\"x\",\"args\":\"-y\"}", "invalid_config", "args: expected an array of strings" },
		{ "{\"command\":\"x\",\"args\":[1]}", "invalid_config", "args: expected an array of strings" },
		{ "{\"command\":\"x\",\"env\":[]}", "invalid_config", "env: expected an object" },
		{ "{\"command\":\"x\",\"env\":{\"A\":null}}", "invalid_config", "env: expected" },
		{ "{\"command\":\"x\",\"env\":{\"A=B\":\"\"}}", "invalid_config", "names of variables" },
		{ "{\"command\":\"x\",\"env\":{\"\":\"\"}}", "invalid_config", "names of variables" },
		{ "{\"command\":\"x\",\"timeout\":999}", "invalid_config",
		  "timeout: expected milliseconds, 1000 or more" },
		{ "{\"command\":\"x\",\"timeout\":\"5s\"}", "invalid_config", "timeout: expected" },
		{ "{\"command\":\"x\",\"alwaysLoad\":1}", "invalid_config", "alwaysLoad: expected true or false" },
		{ "{\"type\":\"http\"}", "invalid_config", "url: expected the URL" },
		{ "{\"type\":\"http\",\"url\":\"\"}", "invalid_config", "url: expected" },
		{ "{\"type\":\"http\",\"url\":\"ftp://h\"}", "invalid_config", "http:// or https://, not 'ftp://h'" },
		{ "{\"type\":\"http\",\"url\":\"https:/h\"}", "invalid_config", "http:// or https://" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headers\":[]}", "invalid_config",
		  "headers: expected an object" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headers\":{\"A B\":\"\"}}", "invalid_config",
		  "names of headers" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headers\":{\"A\":1}}", "invalid_config",
		  "headers: expected" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headers\":{\"A\":\"${LINES}\"}}", "invalid_config",
		  "headers.A: its value has more than one line" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headersHelper\":1}", "invalid_config",
		  "headersHelper: expected" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":true}", "invalid_config",
		  "oauth: expected an object" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"callbackPort\":70000}}", "invalid_config",
		  "oauth.callbackPort: expected" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"grantType\":\"password\"}}", "invalid_config",
		  "oauth.grantType: expected" },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"scopes\":[1]}}", "invalid_config",
		  "oauth.scopes: expected" },
		{ "{\"type\":\"sdk\"}", "invalid_config", "can be given by a host only" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct reading r;
		CHECK_INT(read_one(&r, rows[i].text), -ERR_USAGE);
		CHECK_CSTR(r.type, rows[i].type);
		if (!str_starts(str_from(r.err.text), STR("/p/.mcp.json:7: server 's': ")) ||
		    !strstr(r.err.text, rows[i].expected))
			fail_msg("%s: %s", rows[i].text, r.err.text);
		reading_release(&r);
	}
}

TEST(names_may_be_any_text_but_the_reserved_ones)
{
	static const struct {
		const char *name, *type;
	} rows[] = {
		{ "my srv.x", NULL },
		{ "plugin:a:b", NULL },
		{ "workspace", "reserved_name" },
		{ "Workspace", NULL },
		{ "Claude Preview", "reserved_name" },
		{ "", "invalid_config" },
		{ "  ", "invalid_config" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct reading r;
		int status = read_named(&r, rows[i].name, MCP_SCOPE_USER, "{\"command\":\"x\"}");
		CHECK_INT(status, rows[i].type ? -ERR_USAGE : 0);
		CHECK_CSTR(r.type ? r.type : "", rows[i].type ? rows[i].type : "");
		reading_release(&r);
	}
}

TEST(a_server_of_the_host_is_read_from_the_command_line_alone)
{
	struct reading r;

	CHECK_INT(read_named(&r, "s", MCP_SCOPE_FLAG, "{\"type\":\"sdk\",\"name\":\"s\"}"), 0);

	CHECK_INT(r.server->kind, MCP_SDK);
	reading_release(&r);
}

TEST(variables_are_replaced_where_they_may_stand)
{
	static const struct {
		const char *text, *expected;
		unsigned notes;
	} rows[] = {
		{ "{\"command\":\"${TOKEN}/x\",\"args\":[\"a${TOKEN}b${TOKEN}\"],\"env\":{\"${TOKEN}\":\"${TOKEN}\"}}",
		  "stdio command=[secret/x] arg=[asecretbsecret] env=[${TOKEN}=secret]", 0 },
		{ "{\"type\":\"http\",\"url\":\"https://h/${TOKEN}\",\"headers\":{\"A\":\"Bearer ${TOKEN}\"}}",
		  "http url=[https://h/secret] header=[A: Bearer secret]", 0 },
		{ "{\"command\":\"x\",\"args\":[\"${NO:-d}\",\"${NO:-}\",\"${TOKEN:-d}\",\"${EMPTY:-d}\",\"${NO:-a:-b}\"]}",
		  "stdio command=[x] arg=[d] arg=[] arg=[secret] arg=[] arg=[a:-b]", 0 },
		{ "{\"command\":\"x\",\"args\":[\"${NO}\",\"<${NO2}>\"]}",
		  "stdio command=[x] arg=[${NO}] arg=[<${NO2}>]", 2 },
		{ "{\"command\":\"x\",\"args\":[\"$TOKEN\",\"${}\",\"${1A}\",\"${A-b}\",\"${TOKEN\",\"${a:-${TOKEN}}\",\"$${TOKEN}\"]}",
		  "stdio command=[x] arg=[$TOKEN] arg=[${}] arg=[${1A}] arg=[${A-b}] arg=[${TOKEN] arg=[${TOKEN}] arg=[$secret]",
		  0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf got = { 0 };
		unsigned lines = 0;
		struct reading r;
		CHECK_INT(read_one(&r, rows[i].text), 0);
		describe(&got, r.server);
		CHECK_STR(buf_str(&got), rows[i].expected);
		for (size_t k = 0; k < r.notes.n; k++)
			lines += r.notes.p[k] == '\n';
		CHECK_INT(lines, rows[i].notes);
		reading_release(&r);
	}
}

TEST(what_is_not_set_or_not_known_is_noted_with_its_place)
{
	struct reading r;

	CHECK_INT(read_one(&r, "{\"command\":\"${NO}\",\"disabled\":true}"), 0);

	CHECK_STR(buf_str(&r.notes),
		  "/p/.mcp.json:7: server 's': ${NO} is not set and stays as it is; ${NO:-...} gives a default\n"
		  "/p/.mcp.json:7: server 's': \"disabled\" is not known and has no effect\n");
	reading_release(&r);
}

TEST(a_variable_without_an_end_stays_as_it_is_however_often)
{
	AUTO_BUF struct buf text = { 0 };
	struct reading r;

	buf_addstr(&text, "{\"command\":\"x\",\"args\":[\"}");
	for (int i = 0; i < 100000; i++)
		buf_addstr(&text, "${A:-");
	buf_addstr(&text, "\"]}");
	CHECK_INT(read_one(&r, text.p), 0);

	CHECK_INT(strlen(r.server->args[0]), 500001);
	reading_release(&r);
}

/* Whether two entries have one key, and one endpoint. */
static void compare(const char *a, const char *b, bool *ret_key, bool *ret_endpoint)
{
	struct reading x;
	struct reading y;

	CHECK_INT(read_named(&x, "x", MCP_SCOPE_USER, a), 0);
	CHECK_INT(read_named(&y, "y", MCP_SCOPE_PLUGIN, b), 0);
	*ret_key = !strcmp(x.server->key, y.server->key);
	*ret_endpoint = mcp_server_same_endpoint(x.server, y.server);
	reading_release(&x);
	reading_release(&y);
}

TEST(a_key_is_the_same_for_the_same_connection_and_no_other)
{
	static const struct {
		const char *a, *b;
		bool key, endpoint;
	} rows[] = {
		{ "{\"command\":\"x\",\"args\":[\"a\"],\"env\":{\"A\":\"1\",\"B\":\"2\"}}",
		  "{\"type\":\"stdio\",\"env\":{\"B\":\"2\",\"A\":\"1\"},\"args\":[\"a\"],\"command\":\"x\"}", true,
		  true },
		{ "{\"command\":\"x\"}", "{\"command\":\"x\",\"args\":[],\"env\":{}}", true, true },
		{ "{\"command\":\"x\",\"timeout\":5000}", "{\"command\":\"x\",\"alwaysLoad\":true}", true, true },
		{ "{\"command\":\"secret\"}", "{\"command\":\"${TOKEN}\"}", true, true },
		{ "{\"command\":\"x\",\"env\":{\"A\":\"1\"}}", "{\"command\":\"x\"}", false, true },
		{ "{\"command\":\"x\",\"args\":[\"a\",\"b\"]}", "{\"command\":\"x\",\"args\":[\"a b\"]}", false,
		  false },
		{ "{\"command\":\"x\",\"args\":[\"ab\",\"c\"]}", "{\"command\":\"x\",\"args\":[\"a\",\"bc\"]}", false,
		  false },
		{ "{\"command\":\"x\",\"args\":[\"1:a\"]}", "{\"command\":\"x\",\"args\":[\"\",\"a\"]}", false, false },
		{ "{\"command\":\"x\",\"args\":[\"A=1\"]}", "{\"command\":\"x\",\"env\":{\"A\":\"1\"}}", false, false },
		{ "{\"type\":\"http\",\"url\":\"https://h\",\"headers\":{\"A\":\"1\",\"b\":\"2\"}}",
		  "{\"type\":\"streamable-http\",\"url\":\"https://h\",\"headers\":{\"B\":\"2\",\"a\":\"1\"}}", true,
		  true },
		{ "{\"type\":\"http\",\"url\":\"https://h\"}", "{\"type\":\"sse\",\"url\":\"https://h\"}", false,
		  true },
		{ "{\"type\":\"http\",\"url\":\"https://h\"}",
		  "{\"type\":\"http\",\"url\":\"https://h\",\"headers\":{\"A\":\"1\"}}", false, true },
		{ "{\"type\":\"http\",\"url\":\"https://h\"}",
		  "{\"type\":\"http\",\"url\":\"https://h\",\"headersHelper\":\"x\"}", false, true },
		{ "{\"type\":\"http\",\"url\":\"https://h\"}",
		  "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":{\"clientId\":\"x\"}}", false, true },
		{ "{\"type\":\"http\",\"url\":\"https://h\"}", "{\"type\":\"http\",\"url\":\"https://h/x\"}", false,
		  false },
		{ "{\"type\":\"http\",\"url\":\"https://h\"}", "{\"command\":\"https://h\"}", false, false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool key;
		bool endpoint;
		compare(rows[i].a, rows[i].b, &key, &endpoint);
		if (key != rows[i].key || endpoint != rows[i].endpoint)
			fail_msg("%s and %s: key %d, endpoint %d", rows[i].a, rows[i].b, key, endpoint);
	}
}

TEST(names_of_tools_have_plain_characters_alone)
{
	static const struct {
		const char *server, *tool, *expected;
	} rows[] = {
		{ "my srv.x", "do it.now", "mcp__my_srv_x__do_it_now" },
		{ "a-b_C9", "t", "mcp__a-b_C9__t" },
		{ "plugin:a:b", "", "mcp__plugin_a_b" },
		{ "\xc3\xa4\xe2\x82\xac", "x", "mcp______x" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		mcp_name_add(&out, str_from(rows[i].server), str_from(rows[i].tool));
		CHECK_STR(buf_str(&out), rows[i].expected);
	}
}

TEST(variables_that_are_given_stand_below_those_of_the_entry)
{
	static const char *const given[] = { "ROOT=/plugin", "A=given", NULL };
	static const char entry[] = "{\"command\":\"x\",\"env\":{\"A\":\"own\",\"AB\":\"2\"}}";
	AUTO_BUF struct buf out = { 0 };
	struct reading r = { 0 };
	const struct json *root;
	CHECK_INT(json_parse(&r.reader, entry, sizeof entry - 1, &root, &r.err), 0);

	int status = mcp_server_read(&(struct mcp_entry){ .name = STR("s"), .value = root, .env = given }, &r.notes,
				     &r.server, &r.type, &r.err);

	CHECK_INT(status, 0);
	describe(&out, r.server);
	CHECK_STR(buf_str(&out), "stdio command=[x] env=[A=own] env=[AB=2] env=[ROOT=/plugin]");
	reading_release(&r);
}

TEST(a_server_lives_until_its_last_reference_goes)
{
	struct reading r;
	CHECK_INT(read_one(&r, "{\"command\":\"x\"}"), 0);
	struct mcp_server *second = mcp_server_ref(r.server);

	reading_release(&r);

	CHECK_CSTR(second->command, "x");
	mcp_server_unref(second);
}

int test_server(void)
{
	return RUN_TESTS(T(every_field_of_an_entry_is_read), T(a_bad_entry_is_named_with_its_place_and_the_word_for_it),
			 T(names_may_be_any_text_but_the_reserved_ones),
			 T(a_server_of_the_host_is_read_from_the_command_line_alone),
			 T(variables_are_replaced_where_they_may_stand),
			 T(what_is_not_set_or_not_known_is_noted_with_its_place),
			 T(a_variable_without_an_end_stays_as_it_is_however_often),
			 T(a_key_is_the_same_for_the_same_connection_and_no_other),
			 T(names_of_tools_have_plain_characters_alone),
			 T(variables_that_are_given_stand_below_those_of_the_entry),
			 T(a_server_lives_until_its_last_reference_goes));
}
