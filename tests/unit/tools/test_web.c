/* SPDX-License-Identifier: MIT
 * test_web.c - WebFetch and WebSearch without a net: addresses, what is refused, the cache, questions to a model. */
#include "unit.h"
#include "lib/io/address.h"
#include "guard/permission/permission.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/web/web.h"
#include "tools/web/web_page.h"

/* A model that answers with the next turn of the loop, or when it is cancelled */
struct stage {
	struct toolbox box;
	struct web *web;
	struct permission permission;
	struct web_question *question;
	struct buf asked, tool;
	const char *answer; /* NULL: it waits for a cancel */
	bool failed;
	struct kick kick;
};

static void answer_now(struct kick *kick)
{
	struct stage *s = CONTAINER_OF(kick, struct stage, kick);
	struct web_question *q = TAKE(s->question);

	if (q)
		q->done(q, s->failed, str_from(s->answer));
}

static void on_cancel(struct web_question *q)
{
	struct stage *s = q->asked;

	s->failed = true;
	s->answer = "cancelled";
	loop_kick(s->web->loop, &s->kick);
}

static int ask(struct web *web, struct tool_env *env, struct web_question *q, struct err *err)
{
	struct stage *s = web->data;

	buf_clear(&s->asked);
	buf_clear(&s->tool);
	buf_add(&s->asked, q->text.p, q->text.n);
	buf_addstr(&s->tool, q->server_tool ? q->server_tool : "");
	q->asked = s;
	q->cancel = on_cancel;
	s->question = q;
	if (s->answer)
		loop_kick(web->loop, &s->kick);
	return 0;
}

static void stage_open(struct stage *s)
{
	*s = (struct stage){ .answer = "the answer", .kick.step = answer_now };
	toolbox_open(&s->box);
	s->web = web_new(s->box.env.loop);
	s->web->ask = ask;
	s->web->data = s;
	s->box.env.web = s->web;
	s->box.env.permission = &s->permission;
}

static void stage_close(struct stage *s)
{
	tool_call_free(TAKE(s->box.call));
	web_free(s->web);
	permission_release(&s->permission);
	buf_release(&s->asked);
	buf_release(&s->tool);
	toolbox_close(&s->box);
}

static void allow(struct stage *s, const char *rule)
{
	static const struct rule_origin origin = { .layer = "session" };

	CHECK_INT(permission_add_rule(&s->permission, RULE_ALLOW, str_from(rule), &origin, NULL, NULL, NULL), 0);
}

TEST(an_address_is_taken_apart_as_curl_will_read_it_or_refused)
{
	static const struct {
		const char *text, *url, *host;
	} rows[] = {
		{ "https://x.org/a?b#c", "https://x.org/a?b", "x.org" },
		{ "HTTP://X.Org./a", "http://X.Org./a", "x.org" },
		{ "http://[::1]:80/", "http://[::1]:80/", "[::1]" },
		{ "ftp://x.org/", NULL, NULL },
		{ "x.org", NULL, NULL },
		{ "file:///etc/passwd", NULL, NULL },
		{ "https://user:word@x.org/", NULL, NULL },
		{ "http://0x7f.1/", NULL, NULL },
		{ "http://2130706433/", NULL, NULL },
		{ "http://127.1/", NULL, NULL },
		{ "http://x%2eorg/", NULL, NULL },
		{ "http://x.org\\@y.org/", NULL, NULL },
		{ "http://b\xc3\xbc"
		  "cher.de/",
		  NULL, NULL },
		{ "", NULL, NULL },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct web_url url;
		int rc = web_url_parse(&a, str_from(rows[i].text), &url, NULL);
		if ((rc == 0) != (rows[i].url != NULL))
			fail_msg("%s: %d", rows[i].text, rc);
		if (rc < 0)
			continue;
		CHECK_CSTR(url.text, rows[i].url);
		CHECK_CSTR(url.host, rows[i].host);
	}
}

TEST(http_becomes_https_on_its_own_port)
{
	static const char *const rows[][2] = { { "http://x.org/a", "https://x.org/a" },
					       { "http://x.org:80/a", "https://x.org/a" },
					       { "http://x.org:8080/a", "https://x.org:8080/a" },
					       { "https://x.org:80/a", "https://x.org:80/a" } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct web_url url;
		CHECK_INT(web_url_parse(&a, str_from(rows[i][0]), &url, NULL), 0);
		web_url_upgrade(&a, &url);
		CHECK_CSTR(url.text, rows[i][1]);
	}
}

TEST(what_is_not_public_is_refused_before_anything_is_sent)
{
	static const char *const hosts[] = { "127.0.0.1",          "localhost",       "a.localhost",
					     "10.0.0.1",           "192.168.1.1",     "[::1]",
					     "[::ffff:127.0.0.1]", "169.254.169.254", "172.16.0.1:81" };
	struct stage s;

	stage_open(&s);
	allow(&s, "WebFetch");
	allow(&s, "WebFetch(domain:*)");
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		toolbox_run(&s.box, "WebFetch", "{'url':'http://%s/','prompt':'p'}", hosts[i]);
		CHECK(s.box.call->is_error);
		CHECK(str_has(toolbox_text(&s.box), STR("such addresses are refused")));
	}
	stage_close(&s);
}

TEST(a_rule_that_names_a_host_opens_what_the_host_is_and_no_more)
{
	static const struct {
		const char *rule, *url;
		unsigned refused;
	} rows[] = {
		{ "WebFetch(domain:127.0.0.1)", "http://127.0.0.1:1/", ADDRESS_NOT_PUBLIC & ~ADDRESS_LOOPBACK },
		{ "WebFetch(domain:localhost)", "http://localhost/", ADDRESS_NOT_PUBLIC & ~ADDRESS_LOOPBACK },
		{ "WebFetch(domain:localhost)", "http://127.0.0.1/", ADDRESS_NOT_PUBLIC },
		{ "WebFetch(domain:*.corp.example)", "http://wiki.corp.example/",
		  ADDRESS_NOT_PUBLIC & ~ADDRESS_PRIVATE },
		{ "WebFetch(domain:*)", "http://wiki.corp.example/", ADDRESS_NOT_PUBLIC },
		{ "WebFetch", "http://wiki.corp.example/", ADDRESS_NOT_PUBLIC },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct stage s;
		struct web_url url;

		stage_open(&s);
		allow(&s, rows[i].rule);
		struct tool_call call = { .env = &s.box.env };
		CHECK_INT(web_url_parse(&a, str_from(rows[i].url), &url, NULL), 0);
		CHECK_INT(web_refused_kinds(&call, &url), rows[i].refused);
		s.box.env.settings = &(struct tool_settings){ .fetch_private = true };
		CHECK_INT(web_refused_kinds(&call, &url), ADDRESS_OTHER);
		stage_close(&s);
	}
}

static void keep(struct stage *s, const char *url, const char *text)
{
	AUTO_BUF struct buf key = { 0 };

	buf_addf(&key, "%x %s", (unsigned)ADDRESS_NOT_PUBLIC, url);
	web_cache_put(&s->web->cache, key.p,
		      &(struct web_cached){
			      .url = url, .text = str_from(text), .bytes = 42, .status = 200, .until_ms = UINT64_MAX });
}

TEST(the_model_gets_the_page_and_the_prompt_and_its_answer_is_the_result)
{
	struct stage s;

	stage_open(&s);
	keep(&s, "https://x.org/a", "page text");
	toolbox_run(&s.box, "WebFetch", "{'url':'http://x.org/a#part','prompt':'the prompt'}");
	CHECK(!s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box), "the answer");
	CHECK(str_has(buf_str(&s.asked), STR("<page>\npage text\n</page>")));
	CHECK(str_ends(buf_str(&s.asked), STR("the prompt")));
	CHECK(str_starts(toolbox_object(&s.box), STR("{\"bytes\":42,\"code\":200,\"codeText\":\"OK\",\"result\":"
						     "\"the answer\",\"durationMs\":")));
	CHECK(str_ends(toolbox_object(&s.box), STR(",\"url\":\"https://x.org/a\"}")));
	stage_close(&s);
}

TEST(a_long_page_is_read_in_parts_by_characters)
{
	struct stage s;
	AUTO_BUF struct buf page = { 0 };

	stage_open(&s);
	while (page.n < 150000)
		buf_addstr(&page, "\xc3\xa9");
	keep(&s, "https://x.org/a", page.p);
	toolbox_run(&s.box, "WebFetch", "{'url':'https://x.org/a','prompt':'p'}");
	CHECK(str_ends(toolbox_text(&s.box), STR("call WebFetch again with offset=50000.]")));
	toolbox_run(&s.box, "WebFetch", "{'url':'https://x.org/a','prompt':'p','offset':50000}");
	CHECK_STR(toolbox_text(&s.box), "the answer");
	toolbox_run(&s.box, "WebFetch", "{'url':'https://x.org/a','prompt':'p','offset':75000}");
	CHECK(s.box.call->is_error);
	CHECK(str_has(toolbox_text(&s.box), STR("which has 75000 characters")));
	stage_close(&s);
}

TEST(a_call_that_waits_for_the_model_can_be_cancelled)
{
	static const char *const calls[][2] = { { "WebFetch", "{'url':'https://x.org/a','prompt':'p'}" },
						{ "WebSearch", "{'query':'q r'}" } };

	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct stage s;

		stage_open(&s);
		keep(&s, "https://x.org/a", "text");
		s.answer = NULL;
		toolbox_begin(&s.box, calls[i][0], calls[i][1]);
		loop_run(s.box.env.loop);
		CHECK_INT(s.box.done, 0);
		tool_call_cancel(s.box.call);
		toolbox_finish(&s.box);
		CHECK(s.box.call->is_error);
		CHECK_STR(toolbox_text(&s.box), "The call was cancelled.");
		stage_close(&s);
	}
}

TEST(a_page_is_forgotten_after_its_time_and_the_least_used_go_first)
{
	struct web_cache c = { 0 };
	struct web_cached page = { .url = "u", .text = STR("t"), .until_ms = 10 };
	char key[16];

	for (int i = 0; i < 129; i++) {
		snprintf(key, sizeof key, "%d", i);
		web_cache_put(&c, key, &page);
		CHECK(web_cache_get(&c, "0", 1));
	}
	CHECK(!web_cache_get(&c, "1", 1));
	CHECK(web_cache_get(&c, "2", 1));
	CHECK(!web_cache_get(&c, "2", 10));
	CHECK(!web_cache_get(&c, "2", 1));
	web_cache_release(&c);
}

TEST(the_cache_is_bounded_in_bytes)
{
	struct web_cache c = { 0 };
	AUTO_FREE char *text = xcalloc(1, 6 << 20);
	struct web_cached page = { .url = "u", .text = { text, 6 << 20 }, .until_ms = 10 };

	web_cache_put(&c, "a", &page);
	web_cache_put(&c, "b", &page);
	web_cache_put(&c, "c", &page);
	CHECK(!web_cache_get(&c, "a", 1));
	CHECK(web_cache_get(&c, "c", 1));
	CHECK(c.held_bytes < 16 << 20);
	web_cache_release(&c);
}

TEST(a_file_that_is_not_text_is_saved_and_named)
{
	struct toolbox box;
	AUTO_BUF struct buf out = { 0 };
	bool is_file;
	struct err err = { 0 };

	toolbox_open(&box);
	struct web_source source = { .bytes = STR("%PDF"),
				     .type = "application/pdf",
				     .stem = toolbox_path(&box, "x/y") };
	CHECK_INT(web_page_read(&source, &out, &is_file, &err), 0);
	CHECK(is_file);
	CHECK_STR(toolbox_get(&box, "x/y.pdf"), "%PDF");
	CHECK(str_ends(buf_str(&out), str_from(toolbox_path(&box, "x/y.pdf"))));
	toolbox_close(&box);
}

TEST(the_type_of_an_answer_decides_how_it_is_read)
{
	static const struct {
		const char *type;
		struct str bytes;
		const char *text; /* NULL: a file */
	} rows[] = {
		{ "text/html; charset=utf-8", { "<p>a<p>b", 8 }, "a\n\nb" },
		{ "application/xhtml+xml", { "<p>a", 4 }, "a" },
		{ "text/plain", { "<p>a", 4 }, "<p>a" },
		{ "application/json", { "{ }", 3 }, "{ }" },
		{ "application/rss+xml", { "<a/>", 4 }, "<a/>" },
		{ "text/plain; charset=\"latin1\"", { "\xe9", 1 }, "\xc3\xa9" },
		{ NULL, { " <!DOCTYPE HTML><p>a", 20 }, "a" },
		{ NULL, { "plain", 5 }, "plain" },
		{ "application/octet-stream", { "plain", 5 }, "plain" },
		{ "text/plain", { "a\0b", 3 }, NULL },
		{ NULL, { "a\0b", 3 }, NULL },
		{ "image/png", { "x", 1 }, NULL },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		struct web_source source = { .bytes = rows[i].bytes, .type = rows[i].type, .url = "https://x.org/" };
		bool is_file;
		int rc = web_page_read(&source, &out, &is_file, NULL);
		CHECK_INT(is_file, !rows[i].text);
		CHECK_INT(rc, rows[i].text ? 0 : -ERR_NOT_FOUND);
		CHECK_STR(buf_str(&out), rows[i].text ? rows[i].text : "");
	}
}

TEST(what_a_search_found_becomes_text_with_links)
{
	struct stage s;

	stage_open(&s);
	s.answer = "[{\"type\":\"text\",\"text\":\"I search.\"},{\"type\":\"server_tool_use\",\"id\":\"s1\"},"
		   "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[{\"type\":"
		   "\"web_search_result\",\"title\":\"A\\n B\",\"url\":\"https://a.org/\"}]},"
		   "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s2\",\"content\":{\"type\":"
		   "\"web_search_tool_result_error\",\"error_code\":\"unavailable\"}},"
		   "{\"type\":\"text\",\"text\":\"It is A.\"}]";
	toolbox_run(&s.box, "WebSearch", "{'query':'what is','allowed_domains':['a.org']}");
	CHECK_STR(toolbox_text(&s.box),
		  "Results of a web search for \"what is\":\n\nI search.\n\nLinks:\n- [A B](https://a.org/)\n\n"
		  "The search failed: unavailable.\n\nIt is A.\n");
	CHECK(str_has(toolbox_object(&s.box), STR("\"results\":[\"I search.\",{\"tool_use_id\":\"s1\",\"content\":[{"
						  "\"title\":\"A\\n B\",\"url\":\"https://a.org/\"}]},")));
	CHECK(str_ends(toolbox_object(&s.box), STR("\"searchCount\":2}")));
	CHECK_STR(buf_str(&s.tool), "{\"type\":\"web_search_20250305\",\"name\":\"web_search\",\"max_uses\":8,"
				    "\"allowed_domains\":[\"a.org\"]}");
	stage_close(&s);
}

TEST(a_search_with_both_lists_of_domains_is_rejected)
{
	struct stage s;

	stage_open(&s);
	toolbox_run(&s.box, "WebSearch", "{'query':'qq','allowed_domains':['a'],'blocked_domains':['b']}");
	CHECK(s.box.call->is_error);
	CHECK_INT(s.asked.n, 0);
	stage_close(&s);
}

TEST(a_session_makes_no_more_searches_than_its_limit)
{
	struct stage s;
	const char *envp[] = { "CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION=2", NULL };

	stage_open(&s);
	s.box.env.envp = envp;
	s.answer = "[{\"type\":\"web_search_tool_result\",\"content\":[]}]";
	toolbox_run(&s.box, "WebSearch", "{'query':'one'}");
	CHECK(str_has(buf_str(&s.tool), STR("\"max_uses\":2")));
	toolbox_run(&s.box, "WebSearch", "{'query':'two'}");
	CHECK(str_has(buf_str(&s.tool), STR("\"max_uses\":1")));
	toolbox_run(&s.box, "WebSearch", "{'query':'three'}");
	CHECK_STR(toolbox_text(&s.box), "This session has made its 2 web searches. Continue with what you have.");
	stage_close(&s);
}

int test_web(void)
{
	return RUN_TESTS(
		T(an_address_is_taken_apart_as_curl_will_read_it_or_refused), T(http_becomes_https_on_its_own_port),
		T(what_is_not_public_is_refused_before_anything_is_sent),
		T(a_rule_that_names_a_host_opens_what_the_host_is_and_no_more),
		T(the_model_gets_the_page_and_the_prompt_and_its_answer_is_the_result),
		T(a_long_page_is_read_in_parts_by_characters), T(a_call_that_waits_for_the_model_can_be_cancelled),
		T(a_page_is_forgotten_after_its_time_and_the_least_used_go_first), T(the_cache_is_bounded_in_bytes),
		T(a_file_that_is_not_text_is_saved_and_named), T(the_type_of_an_answer_decides_how_it_is_read),
		T(what_a_search_found_becomes_text_with_links), T(a_search_with_both_lists_of_domains_is_rejected),
		T(a_session_makes_no_more_searches_than_its_limit));
}
