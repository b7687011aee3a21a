/* SPDX-License-Identifier: MIT
 * test_url.c - addresses of http and https. */
#include "test_io.h"
#include "lib/io/url.h"
#include "unit.h"

TEST(an_address_falls_into_its_parts)
{
	static const struct {
		const char *text, *whole, *host, *port, *path;
		bool usual, user, fragment;
	} rows[] = {
		{ "http://a.org", "http://a.org/", "a.org", "80", "/", true, false, false },
		{ "HTTPS://A.org:443/x?y#z", "https://A.org:443/x?y", "A.org", "443", "/x", true, false, true },
		{ "https://a.org:80/", "https://a.org:80/", "a.org", "80", "/", false, false, false },
		{ "http://u:p@[::1]:8080/a/../b", "http://u:p@[::1]:8080/b", "[::1]", "8080", "/b", false, true,
		  false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct url u;
		CHECK_INT(url_parse(&a, rows[i].text, &u, NULL), 0);
		CHECK_CSTR(u.text, rows[i].whole);
		CHECK_CSTR(u.host, rows[i].host);
		CHECK_CSTR(u.port, rows[i].port);
		CHECK_CSTR(u.path, rows[i].path);
		CHECK_INT(u.usual_port, rows[i].usual);
		CHECK_INT(u.has_user, rows[i].user);
		CHECK_INT(u.has_fragment, rows[i].fragment);
	}
}

TEST(what_is_no_address_of_the_web_is_refused)
{
	static const char *const texts[] = { "",        "a",          "a.org", "ftp://a.org/", "file:///etc/passwd",
					     "http://", "http://a b/" };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct url u;
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		CHECK_INT(url_parse(&a, texts[i], &u, &err), -ERR_USAGE);
	buf_addstr(&text, "http://a.org/");
	while (text.n <= URL_LIMIT_BYTES)
		buf_addch(&text, 'x');
	CHECK_INT(url_parse(&a, text.p, &u, &err), -ERR_USAGE);
	CHECK_CSTR(err.text, "the address is longer than 8192 bytes");
}

TEST(a_link_leads_to_the_web_or_nowhere)
{
	static const char *const rows[][2] = {
		{ "c", "https://a.org/b/c" },         { "/c?d", "https://a.org/c?d" },
		{ "../../c", "https://a.org/c" },     { "//b.org/", "https://b.org/" },
		{ "http://b.org/", "http://b.org/" }, { "ftp://b.org/", NULL },
		{ "javascript:alert(1)", NULL },      { "file:///etc", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		const char *got = url_resolve(&a, "https://a.org/b/x", rows[i][0]);
		CHECK_CSTR(got ? got : "nowhere", rows[i][1] ? rows[i][1] : "nowhere");
	}
}

TEST(https_takes_its_own_port_where_http_had_its_own)
{
	static const char *const rows[][2] = {
		{ "http://a.org/x", "https://a.org/x" },
		{ "http://a.org:80/x", "https://a.org/x" },
		{ "http://a.org:8080/x", "https://a.org:8080/x" },
		{ "https://a.org:80/x", "https://a.org:80/x" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct url u;
		CHECK_INT(url_parse(&a, rows[i][0], &u, NULL), 0);
		CHECK_INT(url_to_https(&a, &u, NULL), 0);
		CHECK_CSTR(u.text, rows[i][1]);
		CHECK_CSTR(u.scheme, "https");
	}
}

TEST(loopback_is_what_no_other_machine_is_called)
{
	static const struct {
		const char *url;
		bool is_loopback;
	} rows[] = {
		{ "http://localhost", true },
		{ "http://LOCALHOST:8080/v1", true },
		{ "http://localhost./", true },
		{ "http://a.localhost/", true },
		{ "http://127.8.9.10:1/x", true },
		{ "https://[::1]:1/x", true },
		{ "http://user:word@127.0.0.1/", true },
		{ "http://localhost.a.org/", false },
		{ "http://127.a.org/", false },
		{ "http://127.0.0.1.a.org/", false },
		{ "http://localhost@a.org/", false },
		{ "http://127.0.0.1:80@a.org/", false },
		{ "http://a.org/?next=http://127.0.0.1/", false },
		{ "http://a.org/x://localhost", false },
		{ "http://notlocalhost/", false },
		{ "http://10.0.0.1/", false },
		{ "localhost", false },
		{ "", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		CHECK_CSTR(url_is_loopback(rows[i].url) == rows[i].is_loopback ? "" : rows[i].url, "");
}

int test_url(void)
{
	return RUN_TESTS(T(an_address_falls_into_its_parts), T(what_is_no_address_of_the_web_is_refused),
			 T(a_link_leads_to_the_web_or_nowhere), T(https_takes_its_own_port_where_http_had_its_own),
			 T(loopback_is_what_no_other_machine_is_called));
}
