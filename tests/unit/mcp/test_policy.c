/* SPDX-License-Identifier: MIT
 * test_policy.c - lists of servers that are denied and allowed. */
#include "mcp/servers/config.h"
#include "../settings/stage.h"
#include "lib/json/json.h"
#include "tests.h"

TEST(a_pattern_is_compared_with_an_address_part_by_part)
{
	static const struct {
		const char *pattern, *url;
		bool fits;
	} rows[] = {
		{ "https://mcp.example.com/*", "https://mcp.example.com/x/y?z", true },
		{ "https://mcp.example.com/*", "https://mcp.example.com", true },
		{ "https://mcp.example.com/*", "HTTPS://MCP.Example.COM/x", true },
		{ "https://mcp.example.com/*", "https://mcp.example.com:443/x", true },
		{ "https://mcp.example.com:443/*", "https://mcp.example.com/x", true },
		{ "https://mcp.example.com/*", "https://mcp.example.com./x", true },
		{ "https://mcp.example.com/*", "https://me:pw@mcp.example.com/x", true },
		{ "https://mcp.example.com/*", "https://mcp.example.com:8443/x", false },
		{ "https://mcp.example.com:*/*", "https://mcp.example.com:8443/x", true },
		{ "https://mcp.example.com/*", "http://mcp.example.com/x", false },
		{ "*://mcp.example.com/*", "http://mcp.example.com/x", true },
		{ "https://*.example.com/*", "https://a.b.example.com/x", true },
		{ "https://*.example.com/*", "https://example.com/x", false },
		{ "https://*.example.com/*", "https://evil.org/.example.com/x", false },
		{ "https://*.example.com/*", "https://evil.org?.example.com/x", false },
		{ "https://*.example.com/*", "https://a.example.com@evil.org/x", false },
		{ "https://*.example.com/*", "https://evil.org#.example.com/x", false },
		{ "https://mcp.example.com", "https://mcp.example.com/", true },
		{ "https://mcp.example.com", "https://mcp.example.com/x", false },
		{ "https://mcp.example.com*", "https://mcp.example.com/x", true },
		{ "https://mcp.example.com/api", "https://mcp.example.com/api/x", false },
		{ "https://mcp.example.com/API", "https://mcp.example.com/api", false },
		{ "http://127.0.0.1:*/*", "http://127.0.0.1:4000/mcp", true },
		{ "http://[::1]:*/*", "http://[::1]:4000/mcp", true },
		{ "*", "https://anything.org/x", true },
		{ "*example.com*", "https://Example.com/x", true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (policy_url_fits(str_from(rows[i].pattern), rows[i].url) != rows[i].fits)
			fail_msg("%s, %s: expected %d", rows[i].pattern, rows[i].url, rows[i].fits);
}

static struct mcp_server *make_server(const char *name, const char *text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value;
	struct mcp_server *s;
	struct err err = { 0 };

	CHECK_INT(json_parse(&reader, text, strlen(text), &value, &err), 0);
	struct mcp_entry entry = { .name = str_from(name), .value = value, .scope = MCP_SCOPE_FLAG };
	if (mcp_server_read(&entry, NULL, &s, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

/* "yes", or why not. */
static const char *ask(struct stage *st, bool trusted, const char *name, const char *text)
{
	AUTO_BUF struct buf why = { 0 };
	AUTO_BUF struct buf notes = { 0 };
	struct mcp_server *server = make_server(name, text);
	struct mcp_policy *policy;
	struct err err = { 0 };

	st->spec.trusted = trusted;
	stage_load(st);
	if (mcp_policy_new(st->settings, &notes, &policy, &err) < 0)
		fail_msg("%s", err.text);
	bool allowed = mcp_policy_allows(policy, server, &why);
	mcp_policy_free(policy);
	mcp_server_unref(server);
	return allowed ? "yes" : stage_short(st, buf_str(&why).p);
}

#define NPX    "{\"command\":\"npx\",\"args\":[\"-y\",\"a\"]}"
#define REMOTE "{\"type\":\"http\",\"url\":\"https://h.org/mcp\"}"

TEST(lists_decide_by_name_command_and_address)
{
	static const struct {
		const char *settings, *name, *server, *expected;
	} rows[] = {
		{ "{}", "a", NPX, "yes" },
		{ "{\"deniedMcpServers\":[{\"serverName\":\"a\"}]}", "a", NPX,
		  "denied by deniedMcpServers in config/settings.json:1" },
		{ "{\"deniedMcpServers\":[{\"serverName\":\"a\"}]}", "b", NPX, "yes" },
		{ "{\"deniedMcpServers\":[{\"serverCommand\":[\"npx\",\"-y\",\"a\"]}]}", "z", NPX,
		  "denied by deniedMcpServers in config/settings.json:1" },
		{ "{\"deniedMcpServers\":[{\"serverCommand\":[\"npx\",\"-y\"]}]}", "z", NPX, "yes" },
		{ "{\"deniedMcpServers\":[{\"serverCommand\":[\"npx\",\"-y\",\"a\",\"b\"]}]}", "z", NPX, "yes" },
		{ "{\"deniedMcpServers\":[{\"serverUrl\":\"https://*.org/*\"}]}", "z", REMOTE,
		  "denied by deniedMcpServers in config/settings.json:1" },
		{ "{\"deniedMcpServers\":[{\"serverUrl\":\"*\"}]}", "z", NPX, "yes" },
		{ "{\"allowedMcpServers\":[]}", "a", NPX, "not in allowedMcpServers" },
		{ "{\"allowedMcpServers\":[]}", "a", "{\"type\":\"sdk\"}", "yes" },
		{ "{\"allowedMcpServers\":[{\"serverName\":\"a\"}]}", "a", NPX, "yes" },
		{ "{\"allowedMcpServers\":[{\"serverName\":\"a\"}]}", "b", NPX, "not in allowedMcpServers" },
		{ "{\"allowedMcpServers\":[{\"serverName\":\"a\"},{\"serverCommand\":[\"x\"]}]}", "a", NPX,
		  "not in allowedMcpServers" },
		{ "{\"allowedMcpServers\":[{\"serverName\":\"a\"},{\"serverCommand\":[\"x\"]}]}", "a", REMOTE, "yes" },
		{ "{\"allowedMcpServers\":[{\"serverCommand\":[\"npx\",\"-y\",\"a\"]}]}", "z", NPX, "yes" },
		{ "{\"allowedMcpServers\":[{\"serverName\":\"a\"},{\"serverUrl\":\"https://x.org/*\"}]}", "a", REMOTE,
		  "not in allowedMcpServers" },
		{ "{\"allowedMcpServers\":[{\"serverUrl\":\"https://h.org/*\"}]}", "z", REMOTE, "yes" },
		{ "{\"allowedMcpServers\":[{\"serverName\":\"a\"}],\"deniedMcpServers\":[{\"serverName\":\"a\"}]}", "a",
		  NPX, "denied by deniedMcpServers in config/settings.json:1" },
		{ "{\"allowManagedMcpServersOnly\":true,\"allowedMcpServers\":[]}", "a", NPX,
		  "not in allowedMcpServers" },
	};
	struct stage s;

	stage_init(&s);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		stage_put(&s, "config/settings.json", rows[i].settings);
		const char *got = ask(&s, true, rows[i].name, rows[i].server);
		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("%s, %s: %s", rows[i].settings, rows[i].name, got);
	}
	stage_release(&s);
}

TEST(with_the_managed_switch_only_the_managed_list_allows_and_all_lists_deny)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "config/settings.json",
		  "{\"allowedMcpServers\":[{\"serverName\":\"u\"}],\"deniedMcpServers\":[{\"serverName\":\"d\"}]}");
	stage_put(
		&s, "managed/managed-settings.json",
		"{\"allowManagedMcpServersOnly\":true,\"allowedMcpServers\":[{\"serverName\":\"m\"},{\"serverName\":\"d\"}]}");

	CHECK_CSTR(ask(&s, true, "m", NPX), "yes");
	CHECK_CSTR(ask(&s, true, "u", NPX), "not in allowedMcpServers");
	CHECK_CSTR(ask(&s, true, "d", NPX), "denied by deniedMcpServers in config/settings.json:1");
	stage_put(&s, "managed/managed-settings.json", "{\"allowManagedMcpServersOnly\":true}");
	CHECK_CSTR(ask(&s, true, "z", NPX), "yes");
	stage_release(&s);
}

TEST(a_project_allows_itself_nothing_until_it_is_trusted)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "config/settings.json", "{\"allowedMcpServers\":[{\"serverName\":\"u\"}]}");
	stage_put(&s, "top/project/.claude/settings.json", "{\"allowedMcpServers\":[{\"serverName\":\"p\"}]}");

	CHECK_CSTR(ask(&s, false, "p", NPX), "not in allowedMcpServers");
	CHECK_CSTR(ask(&s, true, "p", NPX), "yes");
	stage_put(&s, "config/settings.json", "{}");
	CHECK_CSTR(ask(&s, false, "u", NPX), "not in allowedMcpServers");
	stage_release(&s);
}

TEST(a_denial_that_is_not_understood_is_an_error_and_an_allowance_is_none)
{
	static const char *const bad[] = {
		"\"a\"",
		"{}",
		"{\"serverName\":1}",
		"{\"name\":\"a\"}",
		"{\"serverCommand\":\"npx\"}",
		"{\"serverCommand\":[]}",
		"{\"serverCommand\":[\"npx\",1]}",
		"{\"serverName\":\"a\",\"serverUrl\":\"*\"}",
	};
	struct stage s;

	stage_init(&s);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		AUTO_BUF struct buf notes = { 0 };
		struct mcp_policy *policy;
		struct err err = { 0 };
		stage_put(&s, "config/settings.json", arena_printf(&s.arena, "{\n\"deniedMcpServers\":[%s]}", bad[i]));
		stage_load(&s);
		CHECK_INT(mcp_policy_new(s.settings, &notes, &policy, &err), -ERR_USAGE);
		CHECK(str_starts(str_from(stage_short(&s, err.text)),
				 STR("config/settings.json:2:21: deniedMcpServers: expected {\"serverName\"")));
		stage_put(&s, "config/settings.json", arena_printf(&s.arena, "{\n\"allowedMcpServers\":[%s]}", bad[i]));
		CHECK_CSTR(ask(&s, true, "a", NPX), "not in allowedMcpServers");
		stage_load(&s);
		CHECK_INT(mcp_policy_new(s.settings, &notes, &policy, &err), 0);
		CHECK(strstr(notes.p, "config/settings.json:2: allowedMcpServers: expected") != NULL);
		mcp_policy_free(policy);
	}
	stage_release(&s);
}

int test_policy(void)
{
	return RUN_TESTS(T(a_pattern_is_compared_with_an_address_part_by_part),
			 T(lists_decide_by_name_command_and_address),
			 T(with_the_managed_switch_only_the_managed_list_allows_and_all_lists_deny),
			 T(a_project_allows_itself_nothing_until_it_is_trusted),
			 T(a_denial_that_is_not_understood_is_an_error_and_an_allowance_is_none));
}
