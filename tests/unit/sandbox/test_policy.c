/* SPDX-License-Identifier: MIT
 * test_policy.c - settings as lists, and the decision about hosts. */
#include "tests.h"
#include "unit.h"
#include "lib/io/address.h"
#include "guard/sandbox/sandbox_int.h"

static struct sandbox_policy *policy_of(const char *dir, const char *json)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings *settings = NULL;
	struct err err = { 0 };
	struct settings_spec spec = {
		.cwd = dir, .config_dir = arena_printf(&a, "%s/config", dir), .sources = SETTINGS_ALL, .trusted = true
	};

	file_put(arena_printf(&a, "%s/config/settings.json", dir), str_from(json));
	if (settings_load(&spec, &settings, &err) < 0)
		fail_msg("%s", err.text);
	struct sandbox_policy *p = sandbox_policy_new(settings, dir, spec.config_dir);
	settings_unref(settings);
	return p;
}

TEST(hosts_are_decided_by_name_and_port)
{
	static const struct {
		const char *host;
		unsigned port;
		bool passes;
	} rows[] = {
		{ "allowed.test", 443, true },
		{ "ALLOWED.test.", 443, true },
		{ "allowed.test", 8080, true },
		{ "allowed.test", 25, false },
		{ "mail.test", 25, true },
		{ "mail.test", 443, false },
		{ "a.wild.test", 443, true },
		{ "wild.test", 443, false },
		{ "a.b.wild.test", 443, true },
		{ "bad.wild.test", 443, false },
		{ "allowed.test.evil.test", 1, false },
		{ "xallowed.test", 443, false },
		{ "1.1.1.1", 443, false },
		{ "192.0.2.7", 443, true },
		{ "2130706433", 443, false },
		{ "0x7f.1", 443, false },
		{ "[::1]", 443, false },
		{ "[::ffff:127.0.0.1]", 443, false },
		{ "allowed.test", 0, false },
		{ "", 443, false },
		{ "al lowed.test", 443, false },
		{ "allowed..test", 443, false },
		{ "allowed.test%x", 443, false },
		{ "localhost", 5432, true },
		{ "localhost", 5433, false },
		{ "127.0.0.1", 5432, false },
		{ "127.0.0.1", 5434, true },
		{ "[::1]", 5432, false },
		{ "169.254.169.254", 80, false },
		{ "app.localhost", 5432, false },
		{ "app.localhost", 5435, true },
		{ "tool.localhost", 5432, false },
	};
	char dir[FOLDER_MAX];
	folder_make(dir);
	struct sandbox_policy *p = policy_of(
		dir,
		"{\"sandbox\": {\"network\": {\"allowedDomains\": [\"allowed.test\", \"mail.test:25\", "
		"\"*.wild.test\", \"192.0.2.7\", \"localhost:5432\", \"*\", \"a*b.test\", "
		"\"localhost\", \"127.0.0.1\", \"127.0.0.1:5434\", \"[::1]\", \"169.254.169.254\", \"App.localhost.\", \"app.localhost:5435\", \"x.test:99999\"], "
		"\"deniedDomains\": [\"bad.wild.test\"]}}, "
		"\"permissions\": {\"allow\": [\"WebFetch(domain:localhost)\", \"WebFetch(domain:tool.localhost)\"]}}");

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if ((host_refusal(p, str_from(rows[i].host), rows[i].port) == NULL) != rows[i].passes)
			fail_msg("%s:%u", rows[i].host, rows[i].port);
	CHECK_INT(str_count(p->notes), 8);
	static const char *const numbers[] = { "134744072",  "8.8.2056",   "8.526344", "010.8.8.8", "0x8.8.8.8",
					       "0X08080808", "8.8.8.0x8.", "8.8.8.08", "a.8" };
	CHECK(host_may_be_asked(p, STR("9.9.9.9"), 443) && host_may_be_asked(p, STR("9a.8b"), 443));
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		if (host_may_be_asked(p, str_from(numbers[i]), 443))
			fail_msg("%s may be asked about", numbers[i]);
	CHECK_INT(host_addresses(p, STR("a.wild.test"), 443), ADDRESS_PUBLIC);
	CHECK_INT(host_addresses(p, STR("allowed.test"), 443), ADDRESS_PUBLIC | ADDRESS_PRIVATE);
	CHECK(host_addresses(p, STR("localhost"), 5432) & ADDRESS_LOOPBACK);
	sandbox_policy_free(p);
	folder_remove(dir);
}

TEST(paths_start_where_their_file_says_and_wildcards_have_their_place)
{
	AUTO_ARENA struct arena a = { 0 };
	char dir[FOLDER_MAX];
	folder_make(dir);
	struct sandbox_policy *p = policy_of(
		dir,
		"{\"sandbox\": {\"enabled\": true, \"filesystem\": {\"allowWrite\": [\"/x/\", \"//y\", \"rel\", \"/z/*\"], "
		"\"denyRead\": [\"/k/**\", \"/p/*.pem\"]}, \"credentials\": {\"files\": [{\"path\": \"/c\", \"mode\": "
		"\"mask\"}], \"envVars\": [{\"name\": \"TOKEN\", \"mode\": \"deny\"}]}}}");

	CHECK_INT(str_count(p->allow_write), 3);
	CHECK_CSTR(p->allow_write[0], "/x");
	CHECK_CSTR(p->allow_write[1], "/y");
	CHECK_CSTR(p->allow_write[2], arena_printf(&a, "%s/config/rel", dir));
	CHECK_INT(str_count(p->deny_read), 2);
	CHECK_CSTR(p->deny_read[0], "/k");
	CHECK_CSTR(p->deny_read[1], "/c");
	CHECK_CSTR(p->deny_read_patterns[0], "/p/*.pem");
	CHECK_CSTR(p->deny_variables[0], "TOKEN");
	CHECK_INT(str_count(p->notes), 2);
	CHECK(p->may_leave && !p->may_leave_explicitly && !p->auto_allow);
	sandbox_policy_free(p);
	folder_remove(dir);
}

/* Layers of settings: user, project, managed, --settings; NULL: there is none. Which of the openings count, as letters. */
TEST(a_file_of_the_project_only_narrows_and_under_a_lock_opens_nothing)
{
	static const char opens[] =
		"{\"sandbox\": {\"enabled\": false, \"failIfUnavailable\": false, "
		"\"allowUnsandboxedCommands\": true, \"autoAllowBashIfSandboxed\": true, "
		"\"excludedCommands\": [\"x\"], \"enableWeakerNestedSandbox\": true, "
		"\"ignoreViolations\": {\"*\": [\"x\"]}, \"filesystem\": {\"allowWrite\": [\"/w\"], "
		"\"allowRead\": [\"/r\"], \"denyRead\": [\"/d\"]}, \"network\": {\"allowedDomains\": "
		"[\"h.test\"], \"allowUnixSockets\": [\"/s\"], \"allowAllUnixSockets\": true, "
		"\"allowLocalBinding\": true, \"httpProxyPort\": 1, \"socksProxyPort\": 2}}}";
	static const char strict[] = "{\"sandbox\": {\"enabled\": true, \"failIfUnavailable\": true, "
				     "\"allowUnsandboxedCommands\": false}}";
	static const char leave[] = "{\"sandbox\": {\"allowUnsandboxedCommands\": false}}";
	static const char domains[] = "{\"sandbox\": {\"network\": {\"allowManagedDomainsOnly\": true}}}";
	static const char denies[] = "{\"sandbox\": {\"network\": {\"deniedDomains\": [\"n.test\"]}}}";
	static const struct {
		const char *user, *project, *managed, *flag, *counts;
	} rows[] = {
		{ NULL, opens, NULL, NULL, "LAXWIwrhsubPQ" },
		{ strict, opens, NULL, NULL, "EFAXWIwrhsubPQ" }, /* the switches stay */
		{ opens, strict, NULL, NULL, "EFAXWIwrhsubPQ" },
		{ NULL, opens, leave, NULL, "" },
		{ NULL, opens, domains, NULL, "L" },
		{ NULL, opens, NULL, leave, "" },
		{ opens, NULL, leave, NULL, "AXWIwrhsubPQ" }, /* those of the user count */
		{ denies, opens, NULL, NULL, "LAXWIwrhsub" },
		{ denies, NULL, NULL, opens, "LAXWIwrhsubPQ" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		char dir[FOLDER_MAX];
		struct settings *settings = NULL;
		struct err err = { 0 };
		folder_make(dir);
		struct settings_spec spec = { .cwd = arena_printf(&a, "%s/p", dir),
					      .config_dir = arena_printf(&a, "%s/config", dir),
					      .managed_dir = arena_printf(&a, "%s/managed", dir),
					      .flag = rows[i].flag,
					      .sources = SETTINGS_ALL,
					      .trusted = true };
		file_put(arena_printf(&a, "%s/settings.json", spec.config_dir),
			 str_from(rows[i].user ? rows[i].user : "{}"));
		file_put(arena_printf(&a, "%s/.claude/settings.json", spec.cwd),
			 str_from(rows[i].project ? rows[i].project : "{}"));
		file_put(arena_printf(&a, "%s/managed-settings.json", spec.managed_dir),
			 str_from(rows[i].managed ? rows[i].managed : "{}"));
		if (settings_load(&spec, &settings, &err) < 0)
			fail_msg("%s", err.text);
		struct sandbox_policy *p = sandbox_policy_new(settings, spec.cwd, spec.config_dir);
		char got[32];
		snprintf(got, sizeof got, "%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s", p->enabled ? "E" : "",
			 p->fail_if_unavailable ? "F" : "", p->may_leave && !p->enabled ? "L" : "",
			 p->auto_allow ? "A" : "", p->excluded ? "X" : "", p->weaker ? "W" : "",
			 p->ignored_count ? "I" : "", p->allow_write ? "w" : "", p->allow_read ? "r" : "",
			 p->allowed.count && !p->managed_domains_only ? "h" : "", p->unix_sockets ? "s" : "",
			 p->all_unix_sockets ? "u" : "", p->local_binding ? "b" : "", p->http_port ? "P" : "",
			 p->socks_port ? "Q" : "");
		if (strcmp(got, rows[i].counts) != 0 || (rows[i].project == opens && !p->deny_read))
			fail_msg("row %zu: %s, not %s", i, got, rows[i].counts);
		CHECK(!p->may_leave_explicitly || (rows[i].user == opens || rows[i].flag == opens));
		CHECK(p->may_leave == (rows[i].user != strict && rows[i].project != strict && !strstr(got, "EF") &&
				       rows[i].managed != leave && rows[i].flag != leave));
		sandbox_policy_free(p);
		settings_unref(settings);
		folder_remove(dir);
	}
}

/* "autoAllowBashIfSandboxed" is of a user who decides what is inside. */
TEST(a_project_that_is_not_trusted_does_not_end_questions_by_enabling_the_sandbox)
{
	static const struct {
		const char *user, *flag;
		bool trusted, asks;
	} rows[] = {
		{ "", NULL, false, true },
		{ "\"enabled\": false, ", NULL, false, true },
		{ "", NULL, true, false },
		{ "\"enabled\": true, ", NULL, false, false },
		{ "", "{\"sandbox\": {\"enabled\": true}}", false, false },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		char dir[FOLDER_MAX];
		struct settings *settings = NULL;
		struct err err = { 0 };
		folder_make(dir);
		struct settings_spec spec = { .cwd = arena_printf(&a, "%s/p", dir),
					      .config_dir = arena_printf(&a, "%s/config", dir),
					      .flag = rows[i].flag,
					      .sources = SETTINGS_ALL,
					      .trusted = rows[i].trusted };
		file_put(arena_printf(&a, "%s/settings.json", spec.config_dir),
			 str_from(arena_printf(&a, "{\"sandbox\": {%s\"autoAllowBashIfSandboxed\": true}}",
					       rows[i].user)));
		file_put(arena_printf(&a, "%s/.claude/settings.json", spec.cwd),
			 STR("{\"sandbox\": {\"enabled\": true}}"));
		if (settings_load(&spec, &settings, &err) < 0)
			fail_msg("%s", err.text);
		struct sandbox_policy *p = sandbox_policy_new(settings, spec.cwd, spec.config_dir);
		if (!p->enabled || p->auto_allow != !rows[i].asks)
			fail_msg("row %zu: enabled %d, unasked %d", i, p->enabled, p->auto_allow);
		sandbox_policy_free(p);
		settings_unref(settings);
		folder_remove(dir);
	}
}

TEST(managed_lists_are_the_only_ones_if_managed_settings_say_so)
{
	static const char lists[] = "{\"sandbox\": {\"filesystem\": {\"allowRead\": [\"/%s\"]%s}, \"network\": "
				    "{\"allowedDomains\": [\"%s.test\"]%s}}}";

	for (int only = 0; only < 2; only++) {
		AUTO_ARENA struct arena a = { 0 };
		char dir[FOLDER_MAX];
		struct settings *settings = NULL;
		struct err err = { 0 };
		folder_make(dir);
		struct settings_spec spec = { .cwd = arena_printf(&a, "%s/p", dir),
					      .config_dir = arena_printf(&a, "%s/config", dir),
					      .managed_dir = arena_printf(&a, "%s/managed", dir),
					      .sources = SETTINGS_ALL,
					      .trusted = true };
		file_put(arena_printf(&a, "%s/settings.json", spec.config_dir),
			 str_from(arena_printf(&a, lists, "user", "", "user", "")));
		file_put(
			arena_printf(&a, "%s/managed-settings.json", spec.managed_dir),
			str_from(arena_printf(&a, lists, "managed", only ? ", \"allowManagedReadPathsOnly\": true" : "",
					      "managed", only ? ", \"allowManagedDomainsOnly\": true" : "")));
		if (settings_load(&spec, &settings, &err) < 0)
			fail_msg("%s", err.text);
		struct sandbox_policy *p = sandbox_policy_new(settings, spec.cwd, spec.config_dir);
		CHECK_INT(str_count(p->allow_read), only ? 1 : 2);
		CHECK_CSTR(p->allow_read[only ? 0 : 1], "/managed");
		CHECK(!host_refusal(p, STR("managed.test"), 443));
		CHECK(!host_refusal(p, STR("user.test"), 443) == !only);
		CHECK(host_may_be_asked(p, STR("other.test"), 443) == !only);
		sandbox_policy_free(p);
		settings_unref(settings);
		folder_remove(dir);
	}
}

/* A ClientHello with this name, or without the extension. */
static size_t make_hello(unsigned char *p, const char *name)
{
	size_t n = name ? strlen(name) : 0;
	size_t extension = name ? 9 + n : 0;
	size_t at = 0;
	const size_t body = 2 + 32 + 1 + 2 + 2 + 1 + 1 + 2 + 4 + extension;

	memset(p, 0, 16 + body);
	p[at++] = 22;
	p[at++] = 3;
	p[at++] = 1;
	p[at++] = (unsigned char)((body + 4) >> 8);
	p[at++] = (unsigned char)(body + 4);
	p[at++] = 1;
	p[at + 1] = (unsigned char)(body >> 8);
	p[at + 2] = (unsigned char)body;
	at += 3 + 2 + 32 + 1;
	p[at + 1] = 2; /* one cipher */
	at += 4;
	p[at] = 1; /* one compression */
	at += 2;
	p[at] = (unsigned char)((4 + extension) >> 8);
	p[at + 1] = (unsigned char)(4 + extension);
	at += 2;
	p[at + 1] = 23; /* an extension before it, empty */
	at += 4;
	if (name) {
		p[at + 3] = (unsigned char)(n + 5);
		p[at + 5] = (unsigned char)(n + 3);
		p[at + 8] = (unsigned char)n;
		memcpy(p + at + 9, name, n);
		at += 9 + n;
	}
	return at;
}

TEST(the_name_in_a_client_hello_is_found_and_nothing_is_read_beyond_it)
{
	unsigned char bytes[512];
	AUTO_BUF struct buf joined = { 0 };
	struct str name;
	size_t n = make_hello(bytes, "asked.test");

	CHECK_INT(tls_hello_name((struct str){ (char *)bytes, n }, &joined, &name), HELLO_NAMED);
	CHECK_STR(name, "asked.test");
	for (size_t i = 0; i < n; i++) { /* of the right size on the heap: a byte too far is a report */
		char *part = xmalloc(i + !i);
		memcpy(part, bytes, i);
		CHECK_INT(tls_hello_name((struct str){ part, i }, &joined, &name), HELLO_PART);
		free(part);
	}
	for (unsigned i = 0; i < 200000; i++) { /* numbers that lie */
		char *copy = xmalloc(n);
		memcpy(copy, bytes, n);
		for (unsigned k = 0; k < 3; k++)
			copy[(i * 7919 + k * 104729) % n] = (char)(i * 31 + k * 17);
		enum hello hello = tls_hello_name((struct str){ copy, n }, &joined, &name);
		CHECK((hello == HELLO_NAMED) == (name.n > 0));
		CHECK(!name.n || (name.p >= joined.p && name.p + name.n <= joined.p + joined.n));
		free(copy);
	}
	n = make_hello(bytes, NULL);
	CHECK_INT(tls_hello_name((struct str){ (char *)bytes, n }, &joined, &name), HELLO_NONE);
	CHECK_INT(tls_hello_name(STR("GET / HTTP/1.1"), &joined, &name), HELLO_NONE);
}

static void add_records(struct buf *out, struct str message, size_t most)
{
	for (size_t i = 0; i < message.n; i += most) {
		size_t n = MIN(most, message.n - i);
		buf_add(out, "\x16\3\1", 3);
		buf_addch(out, (char)(n >> 8));
		buf_addch(out, (char)n);
		buf_add(out, message.p + i, n);
	}
}

/* Servers join records. None of them may find another name than we do. */
TEST(a_client_hello_in_several_records_is_joined_and_what_could_mean_two_names_is_bad)
{
	static const struct {
		const char *before;
		size_t before_n, at; /* where in the message a byte is changed */
		unsigned char byte;
	} bad[] = {
		{ "\x16\3\1\0\0", 5, 0, 1 },       /* a record without anything in it */
		{ "\x15\3\1\0\2\1\x5a", 7, 0, 1 }, /* a warning */
		{ "\x14\3\1\0\1\1", 6, 0, 1 },
		{ "\x17\3\1\0\1x", 6, 0, 1 },
		{ "", 0, 0, 2 },  /* another message */
		{ "", 0, 48, 0 }, /* the extension comes twice */
		{ "", 0, 57, 1 }, /* not the name of a host */
		{ "", 0, 59, 9 }, /* more behind the name */
		{ "", 0, 56, 12 },
		{ "", 0, 50, 9 }, /* more extensions than there are */
		{ "", 0, 3, 20 }, /* more behind the message */
	};
	unsigned char bytes[512];
	AUTO_BUF struct buf joined = { 0 };
	struct str name;
	const size_t n = make_hello(bytes, "asked.test");
	const struct str message = { (char *)bytes + 5, n - 5 };

	for (size_t most = 1; most <= message.n; most++) {
		AUTO_BUF struct buf cut = { 0 };
		add_records(&cut, message, most);
		CHECK_INT(tls_hello_name(buf_str(&cut), &joined, &name), HELLO_NAMED);
		CHECK_STR(name, "asked.test");
		for (size_t i = 0; i < cut.n; i++)
			CHECK_INT(tls_hello_name((struct str){ cut.p, i }, &joined, &name), HELLO_PART);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		AUTO_BUF struct buf said = { 0 };
		buf_add(&said, bad[i].before, bad[i].before_n);
		make_hello(bytes, "asked.test");
		((unsigned char *)message.p)[bad[i].at] = bad[i].byte;
		add_records(&said, message, message.n);
		CHECK_INT(tls_hello_name(buf_str(&said), &joined, &name), HELLO_BAD);
	}
	AUTO_BUF struct buf endless = { 0 };
	make_hello(bytes, "asked.test");
	bytes[6] = 1;
	add_records(&endless, (struct str){ message.p, 4 }, 4);
	while (endless.n <= 16 * 1024)
		buf_add(&endless, "\x16\3\1\0\1\0", 6);
	CHECK_INT(tls_hello_name(buf_str(&endless), &joined, &name), HELLO_BAD);
}

int test_policy(void)
{
	return RUN_TESTS(T(hosts_are_decided_by_name_and_port),
			 T(paths_start_where_their_file_says_and_wildcards_have_their_place),
			 T(managed_lists_are_the_only_ones_if_managed_settings_say_so),
			 T(a_file_of_the_project_only_narrows_and_under_a_lock_opens_nothing),
			 T(a_project_that_is_not_trusted_does_not_end_questions_by_enabling_the_sandbox),
			 T(the_name_in_a_client_hello_is_found_and_nothing_is_read_beyond_it),
			 T(a_client_hello_in_several_records_is_joined_and_what_could_mean_two_names_is_bad));
}
