/* SPDX-License-Identifier: MIT
 * test_auth_again.c - the second time and later: tokens that are renewed, widened, shared and kept. */
#include "unit.h"
#include <sys/stat.h>
#include "mcp/auth/oauth_token.h"
#include "oauth_desk.h"
#include "tests.h"

static const char renewed[] = "{\"access_token\":\"token-2\",\"token_type\":\"bearer\",\"expires_in\":3600}";
static const char over_soon[] = "{\"access_token\":\"token-1\",\"expires_in\":0,\"refresh_token\":\"again-1\"}";

TEST(a_token_that_is_over_is_stale_and_renewed_by_a_challenge_with_status_0)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "POST /token", 200, renewed);
	desk_once(&d, "POST /token", 200, over_soon);
	desk_challenge(&d, 401, "");
	CHECK(mcp_auth_stale(d.auth));
	desk_log(&d);

	CHECK_CSTR(desk_challenge(&d, 0, ""), "ok");

	CHECK_CSTR(desk_log(&d), "POST /token 200");
	CHECK_CSTR(desk_field(&d, &d.form, "grant_type"), "refresh_token");
	CHECK_CSTR(desk_field(&d, &d.form, "refresh_token"), "again-1");
	CHECK_CSTR(desk_field(&d, &d.form, "resource"), d.url);
	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-2");
	CHECK(!mcp_auth_stale(d.auth));
	desk_release(&d);
}

TEST(tokens_that_are_over_when_they_come_are_not_renewed_without_end)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "POST /token", 200, over_soon);
	desk_challenge(&d, 401, "");
	CHECK(mcp_auth_stale(d.auth));

	CHECK_CSTR(desk_challenge(&d, 0, ""), "ok");

	CHECK(!mcp_auth_stale(d.auth));
	desk_release(&d);
}

TEST(a_refresh_for_an_unknown_client_registers_a_new_one)
{
	struct desk d;
	desk_init(&d);
	desk_challenge(&d, 401, "");
	desk_log(&d);
	desk_once(&d, "POST /token", 401, "{\"error\":\"invalid_client\"}");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_log(&d), "POST /token 401, " DESK_FOUND ", POST /register 201, " DESK_SIGNED_IN);
	desk_release(&d);
}

TEST(a_refresh_that_fails_leaves_the_token_until_the_server_refuses_it)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "POST /token", 200, renewed);
	desk_once(&d, "POST /token", 400, "{\"error\":\"invalid_grant\"}");
	desk_once(&d, "POST /token", 200, over_soon);
	desk_challenge(&d, 401, "");
	desk_log(&d);

	CHECK_CSTR(desk_challenge(&d, 0, ""), "token endpoint error: invalid_grant");
	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-1");
	CHECK(!mcp_auth_stale(d.auth)); /* there is nothing to renew it with */
	CHECK_CSTR(desk_log(&d), "POST /token 400");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_log(&d), DESK_FOUND ", " DESK_SIGNED_IN); /* the registered client is used again */
	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-2");
	desk_release(&d);
}

TEST(a_401_renews_first_and_signs_in_when_that_is_refused_or_did_not_help)
{
	struct desk d;
	desk_init(&d);
	desk_challenge(&d, 401, "");
	desk_log(&d);

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_log(&d), "POST /token 200");
	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok"); /* the renewed one is refused as well */
	CHECK_CSTR(desk_log(&d), DESK_FOUND ", " DESK_SIGNED_IN);
	desk_once(&d, "POST /token", 400, "{\"error\":\"invalid_grant\"}");
	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_log(&d), "POST /token 400, " DESK_FOUND ", " DESK_SIGNED_IN);
	desk_release(&d);
}

TEST(a_token_endpoint_in_trouble_asks_nobody_to_sign_in)
{
	struct desk d;
	desk_init(&d);
	desk_challenge(&d, 401, "");
	desk_says(&d, "POST /token", 503, NULL);

	CHECK_CSTR(desk_challenge(&d, 401, ""), "the token endpoint answered with status 503");
	CHECK_INT(d.err.kind, ERR_IO);
	CHECK_INT(d.browser_count, 1);
	desk_release(&d);
}

TEST(a_registered_client_that_was_forgotten_there_is_registered_once_more)
{
	struct desk d;
	desk_init(&d);
	desk_once(&d, "POST /token", 200, "{\"access_token\":\"token-1\"}");
	desk_challenge(&d, 401, "");
	desk_log(&d);
	desk_once(&d, "POST /token", 401, "{\"error\":\"invalid_client\"}");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_log(&d),
		   DESK_FOUND ", GET /authorize 302, POST /token 401, POST /register 201, " DESK_SIGNED_IN);
	desk_release(&d);
}

TEST(a_step_up_asks_for_the_old_scopes_and_the_new_ones_and_never_twice_for_the_same)
{
	struct desk d;
	desk_init(&d);
	desk_challenge(&d, 401, "Bearer scope=\"read\"");
	CHECK_CSTR(desk_field(&d, &d.query, "scope"), "read");

	CHECK_CSTR(desk_challenge(&d, 403, "Bearer error=\"insufficient_scope\", scope=\"write\""), "ok");
	CHECK_CSTR(desk_field(&d, &d.query, "scope"), "read write");
	CHECK_CSTR(desk_challenge(&d, 403, "Bearer error=\"insufficient_scope\", scope=\"write\""),
		   "the server demands the scopes read write, which were already requested");
	CHECK_INT(d.browser_count, 2);
	desk_release(&d);
}

TEST(nobody_is_asked_to_sign_in_more_than_three_times)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "POST /token", 200, "{\"access_token\":\"token-1\"}");
	for (int i = 0; i < 3; i++)
		CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "signed in 3 times within 10 minutes, and the server still refuses");
	CHECK_INT(d.err.kind, ERR_DENIED);
	CHECK_INT(d.browser_count, 3);
	desk_release(&d);
}

TEST(scopes_come_from_the_configuration_the_challenge_or_the_resource)
{
	static const char prm[] = "GET /.well-known/oauth-protected-resource/mcp";
	static const struct {
		const char *configured, *challenge, *offered, *want;
	} table[] = {
		{ "own", "Bearer scope=\"c\"", "[\"r\"]", "own" },
		{ NULL, "Bearer scope=\"c\"", "[\"r\"]", "c" },
		{ NULL, "Bearer", "[\"r1\",\"r2\",\"r1\"]", "r1 r2" },
		{ NULL, "Bearer", "[]", "" },
		{ NULL, "Bearer", "null", "" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct desk d;
		char body[256];
		desk_init(&d);
		snprintf(body, sizeof body,
			 "{\"resource\":\"$U\",\"authorization_servers\":[\"$U\"],\"scopes_supported\":%s}",
			 table[i].offered);
		desk_says(&d, prm, 200, body);
		d.config.oauth.scopes = table[i].configured;
		CHECK_CSTR(desk_challenge(&d, 401, table[i].challenge), "ok");
		CHECK_CSTR(desk_field(&d, &d.query, "scope"), table[i].want);
		desk_release(&d);
	}
}

TEST(offline_access_is_asked_for_exactly_where_it_is_offered)
{
	static const char metadata[] = "GET /.well-known/oauth-authorization-server";
	static const struct {
		const char *scope, *offered, *want;
	} table[] = {
		{ "a", "[\"a\",\"offline_access\"]", "a offline_access" },
		{ "a offline_access", "[\"a\"]", "a" },
		{ "a offline_access", "null", "a offline_access" },
		{ "", "[\"offline_access\"]", "" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct desk d;
		char body[512];
		char challenge[64];
		desk_init(&d);
		snprintf(
			body, sizeof body,
			"{\"issuer\":\"$U\",\"authorization_endpoint\":\"$U/authorize\",\"token_endpoint\":\"$U/token\","
			"\"registration_endpoint\":\"$U/register\",\"scopes_supported\":%s}",
			table[i].offered);
		snprintf(challenge, sizeof challenge, "Bearer scope=\"%s\"", table[i].scope);
		desk_says(&d, metadata, 200, body);
		CHECK_CSTR(desk_challenge(&d, 401, challenge), "ok");
		CHECK_CSTR(desk_field(&d, &d.query, "scope"), table[i].want);
		desk_release(&d);
	}
}

TEST(a_second_challenge_in_a_run_shares_its_end)
{
	struct desk d;
	desk_init(&d);

	mcp_auth_challenge(d.auth, 401, STR(""), desk_on_end, &d);
	mcp_auth_challenge(d.auth, 401, STR(""), desk_on_end, &d);
	loop_run(d.loop);

	CHECK_INT(d.ends, 2);
	CHECK_INT(d.browser_count, 1);
	desk_release(&d);
}

static void free_on_end(void *desk, const struct err *err)
{
	struct desk *d = desk;

	desk_on_end(d, err);
	mcp_auth_free(TAKE(d->auth));
}

TEST(whoever_is_told_first_may_free_it_and_the_others_hear_nothing)
{
	struct desk d;
	desk_init(&d);

	mcp_auth_challenge(d.auth, 401, STR(""), free_on_end, &d);
	mcp_auth_challenge(d.auth, 401, STR(""), desk_on_end, &d);
	loop_run(d.loop);

	CHECK_INT(d.ends, 1);
	desk_release(&d);
}

static void stop_there(void *desk, const char *url)
{
	loop_stop(((struct desk *)desk)->loop);
}

TEST(freed_while_a_person_signs_in_it_leaves_nothing_behind)
{
	struct desk d;
	desk_init(&d);
	d.env.open_url = stop_there;
	mcp_auth_challenge(d.auth, 401, STR(""), desk_on_end, &d);
	loop_run(d.loop);

	mcp_auth_free(TAKE(d.auth));
	loop_run(d.loop); /* ends only if nothing listens any more */

	CHECK_INT(d.ends, 0);
	desk_release(&d);
}

TEST(the_next_process_finds_the_token_in_a_private_file)
{
	struct desk d;
	struct stat st;
	desk_init(&d);
	desk_challenge(&d, 401, "");

	desk_new_auth(&d);

	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-1");
	CHECK(stat(d.file, &st) == 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	d.config.oauth.client_id = "somebody-else";
	desk_new_auth(&d);
	CHECK(!mcp_auth_header(d.auth));
	desk_release(&d);
}

TEST(a_token_that_another_process_got_is_taken_without_asking_anybody)
{
	struct desk d;
	desk_init(&d);
	struct mcp_auth *mine = TAKE(d.auth);
	desk_new_auth(&d);
	desk_challenge(&d, 401, "");
	mcp_auth_free(d.auth);
	d.auth = mine;
	desk_no_person(&d);
	desk_log(&d);

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");

	CHECK_CSTR(desk_log(&d), "");
	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-1");
	desk_release(&d);
}

struct other_process {
	struct kick kick;
	struct desk *desk;
};

static void on_other_process(struct kick *kick)
{
	struct desk *d = CONTAINER_OF(kick, struct other_process, kick)->desk;
	AUTO_ARENA struct arena arena = { 0 };
	const char *key = oauth_store_key(&arena, &d->config);
	struct oauth_grant *grant = NULL;

	CHECK_INT(oauth_store_get(d->file, key, &grant, NULL), 0);
	grant->token.access = "token-of-the-other";
	CHECK_INT(oauth_store_put(NULL, d->file, key, d->url, grant, NULL), 0);
	oauth_grant_free(grant);
}

TEST(a_refused_refresh_takes_the_token_that_another_process_got_meanwhile)
{
	struct desk d;
	desk_init(&d);
	desk_challenge(&d, 401, "");
	desk_once(&d, "POST /token", 400, "{\"error\":\"invalid_grant\"}");
	desk_no_person(&d);
	struct other_process other = { .kick.step = on_other_process, .desk = &d };

	mcp_auth_challenge(d.auth, 401, STR(""), desk_on_end, &d);
	loop_kick(d.loop, &other.kick); /* after the flow has sent its request */
	loop_run(d.loop);

	CHECK_CSTR(d.err.text, "");
	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-of-the-other");
	desk_release(&d);
}

TEST(a_forgotten_server_starts_anew)
{
	struct desk d;
	desk_init(&d);
	desk_challenge(&d, 401, "");

	CHECK_INT(unlink(d.file), 0);

	desk_new_auth(&d);
	CHECK(!mcp_auth_header(d.auth));
	desk_log(&d);
	desk_challenge(&d, 401, "");
	CHECK_CSTR(desk_log(&d), DESK_FOUND ", POST /register 201, " DESK_SIGNED_IN);
	desk_release(&d);
}

int test_auth_again(void)
{
	return RUN_TESTS(T(a_token_that_is_over_is_stale_and_renewed_by_a_challenge_with_status_0),
			 T(tokens_that_are_over_when_they_come_are_not_renewed_without_end),
			 T(a_refresh_for_an_unknown_client_registers_a_new_one),
			 T(a_refresh_that_fails_leaves_the_token_until_the_server_refuses_it),
			 T(a_401_renews_first_and_signs_in_when_that_is_refused_or_did_not_help),
			 T(a_token_endpoint_in_trouble_asks_nobody_to_sign_in),
			 T(a_registered_client_that_was_forgotten_there_is_registered_once_more),
			 T(a_step_up_asks_for_the_old_scopes_and_the_new_ones_and_never_twice_for_the_same),
			 T(nobody_is_asked_to_sign_in_more_than_three_times),
			 T(scopes_come_from_the_configuration_the_challenge_or_the_resource),
			 T(offline_access_is_asked_for_exactly_where_it_is_offered),
			 T(a_second_challenge_in_a_run_shares_its_end),
			 T(whoever_is_told_first_may_free_it_and_the_others_hear_nothing),
			 T(freed_while_a_person_signs_in_it_leaves_nothing_behind),
			 T(the_next_process_finds_the_token_in_a_private_file),
			 T(a_token_that_another_process_got_is_taken_without_asking_anybody),
			 T(a_refused_refresh_takes_the_token_that_another_process_got_meanwhile),
			 T(a_forgotten_server_starts_anew));
}
