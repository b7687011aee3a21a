/* SPDX-License-Identifier: MIT
 * test_auth.c - whole runs against servers on loopback: what is asked in which order, and what comes of it. */
#include "unit.h"
#include "lib/json/json.h"
#include "mcp/auth/oauth_client.h"
#include "oauth_desk.h"
#include "tests.h"

TEST(a_challenge_ends_with_a_token_in_the_header)
{
	struct desk d;
	desk_init(&d);
	CHECK(!mcp_auth_header(d.auth));

	CHECK_CSTR(desk_challenge(&d, 401, "Bearer"), "ok");

	CHECK_CSTR(desk_log(&d), DESK_FOUND ", POST /register 201, " DESK_SIGNED_IN);
	CHECK_CSTR(mcp_auth_header(d.auth), "Authorization: Bearer token-1");
	CHECK(!mcp_auth_stale(d.auth));
	desk_release(&d);
}

TEST(the_code_is_bound_to_a_verifier_the_server_and_the_callback)
{
	struct desk d;
	AUTO_ARENA struct arena arena = { 0 };
	desk_init(&d);

	desk_challenge(&d, 401, "Bearer");

	const char *challenge = oauth_pkce_challenge(&arena, desk_field(&d, &d.form, "code_verifier"));
	CHECK_CSTR(desk_field(&d, &d.query, "code_challenge"), challenge);
	CHECK_CSTR(desk_field(&d, &d.query, "code_challenge_method"), "S256");
	CHECK_CSTR(desk_field(&d, &d.query, "response_type"), "code");
	CHECK_CSTR(desk_field(&d, &d.query, "resource"), d.url);
	CHECK_CSTR(desk_field(&d, &d.query, "scope"), "");
	CHECK_CSTR(desk_field(&d, &d.form, "resource"), d.url);
	CHECK_CSTR(desk_field(&d, &d.form, "grant_type"), "authorization_code");
	CHECK_CSTR(desk_field(&d, &d.form, "code"), "c0de");
	CHECK_CSTR(desk_field(&d, &d.form, "client_id"), "client-1");
	const char *redirect = arena_strdup(&arena, desk_field(&d, &d.query, "redirect_uri"));
	CHECK_CSTR(desk_field(&d, &d.form, "redirect_uri"), redirect);
	CHECK(strstr(d.registration.p, redirect));
	CHECK(str_starts(str_from(redirect), STR("http://localhost:")));
	desk_release(&d);
}

TEST(the_address_of_the_challenge_goes_before_the_well_known_ones)
{
	struct desk d;
	AUTO_BUF struct buf challenge = { 0 };
	desk_init(&d);
	desk_says(&d, "GET /own", 200, "{\"resource\":\"$U/\",\"authorization_servers\":[\"$U/a/\"]}");
	desk_says(&d, "GET /a/.well-known/openid-configuration", 200,
		  "{\"issuer\":\"$U/a\",\"authorization_endpoint\":\"$U/authorize\","
		  "\"token_endpoint\":\"$U/token\",\"registration_endpoint\":\"$U/register\"}");
	buf_addf(&challenge, "Bearer resource_metadata=\"%.*s/own\", scope=\"a b\"", (int)strlen(d.url) - 4, d.url);

	CHECK_CSTR(desk_challenge(&d, 401, challenge.p), "ok");

	CHECK_CSTR(desk_log(&d),
		   "GET /own 200, GET /.well-known/oauth-authorization-server/a 404, "
		   "GET /.well-known/openid-configuration/a 404, GET /a/.well-known/openid-configuration 200, "
		   "POST /register 201, " DESK_SIGNED_IN);
	CHECK_CSTR(desk_field(&d, &d.query, "scope"), "a b");
	desk_release(&d);
}

TEST(a_server_of_the_first_revision_has_fixed_addresses)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "GET /.well-known/oauth-protected-resource/mcp", 404, NULL);
	desk_says(&d, "GET /.well-known/oauth-authorization-server", 404, NULL);

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");

	CHECK_CSTR(desk_log(&d),
		   "GET /.well-known/oauth-protected-resource/mcp 404, GET /.well-known/oauth-protected-resource 404, "
		   "GET /.well-known/oauth-authorization-server 404, GET /.well-known/openid-configuration 404, "
		   "POST /register 201, " DESK_SIGNED_IN);
	CHECK_CSTR(desk_field(&d, &d.query, "resource"), "");
	desk_release(&d);
}

TEST(a_page_in_place_of_metadata_counts_as_none)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "GET /.well-known/oauth-protected-resource/mcp", 200, "<!doctype html>");
	desk_says(&d, "GET /.well-known/oauth-protected-resource", 200,
		  "{\"resource\":\"$U\",\"authorization_servers\":[\"$U\"]}");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	desk_release(&d);
}

struct refusal {
	const char *request; /* that is answered in another way; NULL: none */
	int status;
	const char *body, *challenge, *want;
	enum err_kind kind;
};

/* Only the documents are read, nothing else is asked. */
static void check_refused(const struct refusal *r)
{
	struct desk d;
	desk_init(&d);
	if (r->request)
		desk_says(&d, r->request, r->status, r->body);

	const char *said = desk_challenge(&d, 401, r->challenge);
	if (!strstr(said, r->want))
		fail_msg("%s\n  is   %s\n  want ...%s...", r->body ? r->body : r->challenge, said, r->want);
	CHECK_INT(d.err.kind, r->kind);
	CHECK(!strstr(desk_log(&d), "POST"));
	CHECK_INT(d.browser_count, 0);
	CHECK(!mcp_auth_header(d.auth));
	desk_release(&d);
}

TEST(documents_that_cannot_be_trusted_end_the_run)
{
#define PRM      "GET /.well-known/oauth-protected-resource/mcp", 200
#define METADATA "GET /.well-known/oauth-authorization-server", 200
	static const struct refusal table[] = {
		{ PRM, "{\"resource\":\"https://evil.example/mcp\",\"authorization_servers\":[\"$U\"]}", "",
		  "not this server", ERR_DENIED },
		{ PRM, "{\"resource\":\"$U/mcp\"}", "", "authorization_servers is missing", ERR_PROTOCOL },
		{ PRM, "{\"resource\":\"$U/mcp\",\"authorization_servers\":[\"http://192.0.2.1\"]}", "",
		  "only https is allowed", ERR_DENIED },
		{ "GET /.well-known/oauth-protected-resource/mcp", 503, NULL, "", "status 503", ERR_IO },
		{ METADATA, "{\"issuer\":\"https://other.example\",\"token_endpoint\":\"$U/token\"}", "",
		  "its issuer is https://other.example", ERR_DENIED },
		{ METADATA, "{\"issuer\":\"$U\",\"token_endpoint\":\"http://192.0.2.1/token\"}", "",
		  "token_endpoint http://192.0.2.1/token: only https", ERR_DENIED },
		{ METADATA, "{\"issuer\":\"$U\"}", "", "token_endpoint is missing", ERR_PROTOCOL },
		{ METADATA,
		  "{\"issuer\":\"$U\",\"token_endpoint\":\"$U/token\",\"authorization_endpoint\":\"file:///etc\"}", "",
		  "authorization_endpoint file:///etc: not an", ERR_USAGE },
		{ METADATA,
		  "{\"issuer\":\"$U\",\"token_endpoint\":\"$U/token\",\"code_challenge_methods_supported\":[\"plain\"]}",
		  "", "does not support PKCE with S256", ERR_DENIED },
		{ NULL, 0, NULL, "Bearer resource_metadata=\"http://192.0.2.1/x\"", "only https is allowed",
		  ERR_DENIED },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		check_refused(&table[i]);
}

TEST(metadata_may_move_within_its_origin_only)
{
	struct desk d;
	desk_init(&d);
	desk_moves(&d, "GET /.well-known/oauth-protected-resource/mcp", "/moved");
	desk_moves(&d, "GET /.well-known/oauth-protected-resource", "http://localhost:$P/elsewhere");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");

	CHECK_CSTR(desk_log(&d),
		   "GET /.well-known/oauth-protected-resource/mcp 302, GET /moved 404, "
		   "GET /.well-known/oauth-protected-resource 302, "
		   "GET /.well-known/oauth-authorization-server 200, POST /register 201, " DESK_SIGNED_IN);
	desk_release(&d);
}

TEST(without_a_person_nothing_is_registered_and_the_way_out_is_said)
{
	struct desk d;
	desk_init(&d);
	desk_no_person(&d);

	CHECK_CSTR(desk_challenge(&d, 401, ""), "sign-in required: run `cadre mcp login far`");
	CHECK_INT(d.err.kind, ERR_DENIED);
	CHECK_CSTR(desk_log(&d), DESK_FOUND);
	desk_release(&d);
}

TEST(an_answer_above_the_limit_ends_the_run)
{
	struct desk d;
	AUTO_BUF struct buf large = { 0 };
	desk_init(&d);
	while (large.n < 300 << 10)
		buf_addstr(&large, "                                                                ");
	desk_says(&d, "GET /.well-known/oauth-protected-resource/mcp", 200, large.p);

	CHECK(strstr(desk_challenge(&d, 401, ""), "the answer has more than 262144 bytes"));
	CHECK_INT(d.err.kind, ERR_LIMIT);
	desk_release(&d);
}

TEST(a_person_who_refuses_is_a_denial)
{
	struct desk d;
	desk_init(&d);
	d.authorize_extra = "&error=access_denied&error_description=no%20thanks";

	CHECK_CSTR(desk_challenge(&d, 401, ""), "authorisation server error: access_denied: no thanks");
	CHECK_INT(d.err.kind, ERR_DENIED);
	desk_release(&d);
}

TEST(an_answer_that_names_another_issuer_is_refused)
{
	struct desk d;
	desk_init(&d);
	d.authorize_extra = "&iss=https%3A%2F%2Fother.example";

	CHECK_CSTR(desk_challenge(&d, 401, ""), "the answer came from another authorisation server");
	CHECK(!strstr(desk_log(&d), "POST /token"));

	d.authorize_extra = "&iss=$U";
	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	desk_release(&d);
}

TEST(a_token_that_could_end_the_header_is_refused)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "POST /token", 200, "{\"access_token\":\"a\\r\\nX-Evil: 1\"}");

	CHECK_CSTR(desk_challenge(&d, 401, ""), "the token is not a bearer token");
	CHECK(!mcp_auth_header(d.auth));
	desk_release(&d);
}

TEST(a_403_that_is_not_about_scopes_is_final)
{
	struct desk d;
	desk_init(&d);

	CHECK_CSTR(desk_challenge(&d, 403, "Bearer"), "the server does not allow it (status 403)");
	CHECK_CSTR(desk_challenge(&d, 403, "Bearer error=invalid_token"), "the server does not allow it (status 403)");
	CHECK_CSTR(desk_log(&d), "");
	desk_release(&d);
}

static const char wants_basic[] =
	"{\"issuer\":\"$U\",\"authorization_endpoint\":\"$U/authorize\",\"token_endpoint\":\"$U/token\","
	"\"token_endpoint_auth_methods_supported\":[\"client_secret_basic\"],"
	"\"grant_types_supported\":[\"authorization_code\",\"client_credentials\"]}";

TEST(a_configured_client_is_not_registered_and_proves_itself_as_the_server_wants)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "GET /.well-known/oauth-authorization-server", 200, wants_basic);
	d.config.oauth.client_id = "me";
	d.config.oauth.client_secret = "s:1";

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");

	CHECK_CSTR(desk_log(&d), DESK_FOUND ", " DESK_SIGNED_IN);
	CHECK(strstr(d.head.p, "Authorization: Basic bWU6cyUzQTE=\r\n")); /* me:s%3A1 */
	CHECK_CSTR(desk_field(&d, &d.form, "client_secret"), "");
	desk_release(&d);
}

TEST(a_machine_signs_in_by_itself)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "GET /.well-known/oauth-authorization-server", 200, wants_basic);
	d.config.oauth.client_id = "me";
	d.config.oauth.client_secret = "s";
	d.config.oauth.machine = true;
	desk_no_person(&d);

	CHECK_CSTR(desk_challenge(&d, 401, "Bearer scope=\"a\""), "ok");

	CHECK_CSTR(desk_log(&d), DESK_FOUND ", POST /token 200");
	CHECK_CSTR(desk_field(&d, &d.form, "grant_type"), "client_credentials");
	CHECK_CSTR(desk_field(&d, &d.form, "scope"), "a");
	desk_release(&d);
}

TEST(a_server_without_registration_asks_for_a_configured_client)
{
	struct desk d;
	desk_init(&d);
	desk_says(&d, "GET /.well-known/oauth-authorization-server", 200, wants_basic);

	CHECK(strstr(desk_challenge(&d, 401, ""), "set oauth.clientId"));
	CHECK_INT(d.err.kind, ERR_DENIED);
	desk_release(&d);
}

TEST(the_address_of_a_document_is_a_client_only_where_that_is_understood)
{
	struct desk d;
	desk_init(&d);
	d.config.oauth.client_id = "https://client.example/me.json";
	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_field(&d, &d.query, "client_id"), "client-1");

	desk_says(&d, "GET /.well-known/oauth-authorization-server", 200,
		  "{\"issuer\":\"$U\",\"authorization_endpoint\":\"$U/authorize\","
		  "\"token_endpoint\":\"$U/token\",\"client_id_metadata_document_supported\":true}");
	CHECK_INT(unlink(d.file), 0);
	desk_new_auth(&d);
	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	CHECK_CSTR(desk_field(&d, &d.query, "client_id"), "https://client.example/me.json");
	desk_release(&d);
}

static int read_entry(const char *oauth, struct mcp_server **ret_server)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf notes = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct mcp_entry entry = { .name = STR("far") };

	buf_addf(&text, "{\"type\":\"http\",\"url\":\"https://h\",\"oauth\":%s}", oauth);
	CHECK_INT(json_parse(&reader, text.p, text.n, &entry.value, NULL), 0);
	return mcp_server_read(&entry, &notes, ret_server, NULL, NULL);
}

TEST(an_entry_says_how_a_token_is_had_without_a_person)
{
	struct mcp_server *s = NULL;

	setenv("CADRE_TEST_KEY", "PEM", 1);
	CHECK_INT(
		read_entry(
			"{\"grantType\":\"client_credentials\",\"privateKey\":\"${CADRE_TEST_KEY}\",\"idpToken\":\"t\","
			"\"idpTokenUrl\":\"https://i\",\"idpClientId\":\"c\"}",
			&s),
		0);
	unsetenv("CADRE_TEST_KEY");

	CHECK(s->oauth.machine);
	CHECK_CSTR(s->oauth.private_key, "PEM");
	CHECK_CSTR(s->oauth.idp_token_url, "https://i");
	CHECK_CSTR(s->oauth.idp_client_id, "c");
	CHECK_CSTR(s->oauth.idp_token, "t");
	mcp_server_unref(s);
	CHECK_INT(read_entry("{\"grantType\":\"password\"}", &s), -ERR_USAGE);
}

TEST(following_by_itself_works_on_this_machine_only)
{
	struct desk d;
	desk_init(&d);
	desk_no_person(&d);
	setenv("CADRE_MCP_AUTH_FOLLOW", "1", 1);

	CHECK_CSTR(desk_challenge(&d, 401, ""), "ok");
	desk_says(&d, "GET /authorize", 200, NULL);
	CHECK_INT(unlink(d.file), 0);
	desk_new_auth(&d);
	CHECK_CSTR(desk_challenge(&d, 401, ""), "the authorisation endpoint returned status 200 instead of a redirect");
	desk_says(&d, "GET /.well-known/oauth-authorization-server", 200,
		  "{\"issuer\":\"$U\",\"authorization_endpoint\":\"https://192.0.2.1/authorize\","
		  "\"token_endpoint\":\"$U/token\",\"registration_endpoint\":\"$U/register\"}");
	CHECK_CSTR(desk_challenge(&d, 401, ""), "CADRE_MCP_AUTH_FOLLOW is for test servers on this machine only");

	unsetenv("CADRE_MCP_AUTH_FOLLOW");
	desk_release(&d);
}

int test_auth(void)
{
	return RUN_TESTS(T(a_challenge_ends_with_a_token_in_the_header),
			 T(the_code_is_bound_to_a_verifier_the_server_and_the_callback),
			 T(the_address_of_the_challenge_goes_before_the_well_known_ones),
			 T(a_server_of_the_first_revision_has_fixed_addresses),
			 T(a_page_in_place_of_metadata_counts_as_none), T(documents_that_cannot_be_trusted_end_the_run),
			 T(metadata_may_move_within_its_origin_only),
			 T(without_a_person_nothing_is_registered_and_the_way_out_is_said),
			 T(an_answer_above_the_limit_ends_the_run), T(a_person_who_refuses_is_a_denial),
			 T(an_answer_that_names_another_issuer_is_refused),
			 T(a_token_that_could_end_the_header_is_refused), T(a_403_that_is_not_about_scopes_is_final),
			 T(a_configured_client_is_not_registered_and_proves_itself_as_the_server_wants),
			 T(a_machine_signs_in_by_itself), T(a_server_without_registration_asks_for_a_configured_client),
			 T(the_address_of_a_document_is_a_client_only_where_that_is_understood),
			 T(an_entry_says_how_a_token_is_had_without_a_person),
			 T(following_by_itself_works_on_this_machine_only));
}
