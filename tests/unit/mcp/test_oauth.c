/* SPDX-License-Identifier: MIT
 * test_oauth.c - the pieces of an authorisation that need no server: texts, sets, addresses, documents, signatures. */
#include "unit.h"
#include <openssl/ecdsa.h>
#include <openssl/pem.h>
#include "lib/json/json.h"
#include "mcp/auth/oauth_discovery.h"
#include "mcp/auth/oauth_http.h"
#include "mcp/auth/oauth_token.h"
#include "mcp/auth/oauth_client.h"
#include "tests.h"

static const char *shown(const char *text)
{
	return text ? text : "-";
}

TEST(a_challenge_is_found_among_others)
{
	static const struct {
		const char *header, *url, *scope, *error;
	} table[] = {
		{ "", "-", "-", "-" },
		{ "Bearer", "-", "-", "-" },
		{ "Bearer scope=\"a b\"", "-", "a b", "-" },
		{ "bearer  RESOURCE_METADATA = \"https://x/y\" ,error=invalid_token", "https://x/y", "-",
		  "invalid_token" },
		{ "Basic realm=\"x, Bearer scope=no\", Bearer scope=\"yes\", Digest scope=\"no\"", "-", "yes", "-" },
		{ "Negotiate abc/def==, Bearer scope=s", "-", "s", "-" },
		{ "Digest scope=\"d\"", "-", "-", "-" },
		{ "Bearer scope=\"a\\\"b\\\\\"", "-", "a\"b\\", "-" },
		{ "Bearer scope=\"first\", scope=\"second\"", "-", "first", "-" },
		{ "Bearer scope=\"open", "-", "open", "-" },
		{ "Bearer scope=\"\\", "-", "\\", "-" },
		{ "Bearer scope=", "-", "-", "-" },
		{ "Bearer , =, ==, scope=x", "-", "x", "-" },
		{ ",,, \t,Bearer,scope=x", "-", "x", "-" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		struct oauth_challenge c = oauth_challenge_read(&arena, str_from(table[i].header));
		CHECK_CSTR(shown(c.metadata_url), table[i].url);
		CHECK_CSTR(shown(c.scope), table[i].scope);
		CHECK_CSTR(shown(c.error), table[i].error);
	}
}

TEST(a_form_keeps_every_byte_of_its_values)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf form = { 0 };

	oauth_form_add(&form, "a", "x y&z=1%+/\xc3\xa9~");
	oauth_form_add(&form, "nothing", NULL);
	oauth_form_add(&form, "b", "");

	CHECK_STR(buf_str(&form), "a=x%20y%26z%3D1%25%2B%2F%C3%A9~&b=");
	CHECK_CSTR(oauth_form_get(&arena, buf_str(&form), "a"), "x y&z=1%+/\xc3\xa9~");
	CHECK_CSTR(oauth_form_get(&arena, buf_str(&form), "b"), "");
	CHECK_CSTR(shown(oauth_form_get(&arena, buf_str(&form), "nothing")), "-");
}

TEST(a_form_of_strangers_is_read_as_far_as_it_goes)
{
	static const struct {
		const char *form, *want;
	} table[] = {
		{ "v=a+b", "a b" }, { "v=%", "%" },   { "v=%4", "%4" },       { "v=%4g%41", "%4gA" },
		{ "v=%00x", "-" },  { "v", "" },      { "w=1&v=2&v=3", "2" }, { "%76=name", "name" },
		{ "", "-" },        { "&&&=&", "-" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		CHECK_CSTR(shown(oauth_form_get(&arena, str_from(table[i].form), "v")), table[i].want);
	}
}

TEST(scopes_are_sets)
{
	AUTO_ARENA struct arena arena = { 0 };

	CHECK_CSTR(oauth_scope_union(&arena, " a  b a", "c b"), "a b c");
	CHECK_CSTR(shown(oauth_scope_union(&arena, NULL, " ")), "-");
	CHECK_CSTR(oauth_scope_without(&arena, "a b c", STR("b")), "a c");
	CHECK_CSTR(shown(oauth_scope_without(&arena, "b", STR("b"))), "-");
	CHECK(oauth_scope_covers("a b", "b a"));
	CHECK(oauth_scope_covers(NULL, NULL));
	CHECK(!oauth_scope_covers("ab", "a"));
}

TEST(a_resource_covers_what_is_below_it)
{
	static const struct {
		const char *resource, *url;
		bool covered;
	} table[] = {
		{ "https://x/mcp", "https://x/mcp", true },
		{ "https://x/mcp/", "https://x/mcp", true },
		{ "https://x", "https://x/mcp", true },
		{ "HTTPS://X:443/", "https://x/mcp?a=1", true },
		{ "https://x/mcp", "https://x/mcp/deep", true },
		{ "https://x/mc", "https://x/mcp", false },
		{ "https://x/mcp/deep", "https://x/mcp", false },
		{ "http://x/mcp", "https://x/mcp", false },
		{ "https://x:8443/mcp", "https://x/mcp", false },
		{ "https://x.evil/mcp", "https://x/mcp", false },
		{ "https://x@evil/mcp", "https://x/mcp", false },
		{ "https://x/mcp/../other", "https://x/mcp", false },
		{ "", "https://x/mcp", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (oauth_url_covers(table[i].resource, table[i].url) != table[i].covered)
			fail_msg("%s over %s: not %d", table[i].resource, table[i].url, table[i].covered);
}

TEST(only_https_and_this_machine_are_gone_to)
{
	static const struct {
		const char *url;
		bool loopback_allowed, want;
	} table[] = {
		{ "https://x.example/token", false, true },   { "http://x.example/token", true, false },
		{ "http://localhost:80/t", true, true },      { "http://LocalHost/t", true, true },
		{ "http://127.9.9.9/t", true, true },         { "http://[::1]:8/t", true, true },
		{ "http://localhost/t", false, false },       { "http://localhost.evil/t", true, false },
		{ "http://127.0.0.1.evil/t", true, false },   { "ftp://localhost/t", true, false },
		{ "javascript:alert(1)", true, false },       { "https://user@x.example/t", false, false },
		{ "https://x.example/t#part", false, false }, { "//x.example/t", false, false },
		{ "http://0.0.0.0/t", true, false },          { "https://127.0.0.1:8/t", true, true },
		{ "https://127.0.0.1:8/t", false, false },    { "https://localhost/t", false, false },
		{ "https://x.localhost./t", false, false },   { "https://[::ffff:127.0.0.1]/t", false, false },
		{ "https://127.1/t", false, false },          { "https://2130706433/t", false, false },
		{ "https://0.0.0.0/t", false, false },        { "https://169.254.169.254/t", false, false },
		{ "https://[fe80::1]/t", false, false },      { "https://192.168.1.1/t", false, true },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if ((oauth_url_check(table[i].url, table[i].loopback_allowed, "it", NULL) == 0) != table[i].want)
			fail_msg("%s: not %d", table[i].url, table[i].want);
}

static void add_places(struct buf *out, const struct oauth_candidates *places)
{
	for (size_t i = 0; i < places->count; i++)
		buf_addf(out, "%s%s", i ? " " : "", places->urls[i]);
}

static void check_places(int (*find)(struct arena *, const char *, struct oauth_candidates *, struct err *),
			 const char *url, const char *want)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf said = { 0 };
	struct oauth_candidates places;

	CHECK_INT(find(&arena, url, &places, NULL), 0);
	add_places(&said, &places);
	CHECK_STR(buf_str(&said), want);
}

static int resource_places(struct arena *arena, const char *url, struct oauth_candidates *ret, struct err *err)
{
	return oauth_resource_candidates(arena, url, NULL, ret, err);
}

TEST(documents_are_looked_for_with_the_path_and_without)
{
	check_places(
		resource_places, "https://x:8/a/mcp?q",
		"https://x:8/.well-known/oauth-protected-resource/a/mcp https://x:8/.well-known/oauth-protected-resource");
	check_places(resource_places, "https://x/", "https://x/.well-known/oauth-protected-resource");
	check_places(oauth_issuer_candidates, "https://x",
		     "https://x/.well-known/oauth-authorization-server https://x/.well-known/openid-configuration");
	check_places(oauth_issuer_candidates, "https://x/t/",
		     "https://x/.well-known/oauth-authorization-server/t https://x/.well-known/openid-configuration/t "
		     "https://x/t/.well-known/openid-configuration");
}

TEST(a_client_proves_itself_as_its_method_says)
{
	static const struct {
		struct oauth_client client;
		const char *form, *header;
	} table[] = {
		{ { .id = "i", .method = OAUTH_NONE }, "client_id=i", "-" },
		{ { .id = "i", .secret = "s", .method = OAUTH_NONE }, "client_id=i", "-" },
		{ { .id = "i", .secret = "s", .method = OAUTH_POST }, "client_id=i&client_secret=s", "-" },
		{ { .id = "i", .secret = "s", .method = OAUTH_BASIC }, "", "Authorization: Basic aTpz" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		AUTO_BUF struct buf form = { 0 };
		const char *header;
		CHECK_INT(oauth_client_prove(&table[i].client, "https://x", &arena, &form, &header, NULL), 0);
		CHECK_STR(buf_str(&form), table[i].form);
		CHECK_CSTR(shown(header), table[i].header);
	}
}

TEST(a_registration_chooses_a_method_that_can_be_used)
{
	static const struct {
		const char *answer;
		unsigned methods;
		const char *want; /* the method, or "-" */
	} table[] = {
		{ "{\"client_id\":\"i\"}", 0, "none" },
		{ "{\"client_id\":\"i\",\"client_secret\":\"s\"}", 0, "client_secret_basic" },
		{ "{\"client_id\":\"i\",\"client_secret\":\"s\"}", 1 << OAUTH_POST, "client_secret_post" },
		{ "{\"client_id\":\"i\",\"client_secret\":\"s\"}", 1 << OAUTH_NONE, "none" },
		{ "{\"client_id\":\"i\",\"client_secret\":\"s\",\"token_endpoint_auth_method\":\"client_secret_post\"}",
		  0, "client_secret_post" },
		{ "{\"client_id\":\"i\",\"token_endpoint_auth_method\":\"client_secret_post\"}", 0, "none" },
		{ "{\"client_id\":\"i\",\"token_endpoint_auth_method\":\"private_key_jwt\"}", 0, "none" },
		{ "{\"client_id\":\"\"}", 0, "-" },
		{ "{}", 0, "-" },
		{ "[", 0, "-" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		struct oauth_client c;
		int rc = oauth_register_read(&arena, str_from(table[i].answer), table[i].methods, &c, NULL);
		CHECK_CSTR(rc < 0 ? "-" : oauth_method_words[c.method], table[i].want);
	}
}

TEST(a_token_answer_is_a_token_or_says_why_not)
{
	static const struct {
		int status;
		const char *answer, *want;
	} table[] = {
		{ 200, "{\"access_token\":\"t\"}", "t old asked" },
		{ 200, "{\"access_token\":\"t\",\"token_type\":\"BEARER\",\"refresh_token\":\"r\",\"scope\":\"s\"}",
		  "t r s" },
		{ 200, "{\"access_token\":\"t\",\"token_type\":\"mac\"}", "the token is not a bearer token" },
		{ 200, "{\"access_token\":\"a b\"}", "the token is not a bearer token" },
		{ 200, "{\"access_token\":\"\"}", "the token is not a bearer token" },
		{ 200, "{\"error\":\"slow_down\"}", "token endpoint error: slow_down" },
		{ 400, "{\"error\":\"invalid_grant\",\"error_description\":\"gone\\nfor good\"}",
		  "token endpoint error: invalid_grant: gone for good" },
		{ 400, "{\"access_token\":\"t\"}", "the token endpoint answered with status 400" },
		{ 502, "<html>", "the token endpoint answered with status 502" },
		{ 200, "", "the token endpoint answered with status 200" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		AUTO_BUF struct buf said = { 0 };
		struct oauth_token t;
		struct err err = { 0 };
		if (oauth_token_read(&arena, table[i].status, str_from(table[i].answer), "asked", "old", &t, NULL,
				     &err) < 0)
			buf_addstr(&said, err.text);
		else
			buf_addf(&said, "%s %s %s", t.access, t.refresh, t.scope);
		CHECK_STR(buf_str(&said), table[i].want);
	}
}

TEST(a_short_life_is_renewed_after_three_quarters_and_a_long_one_a_minute_before_its_end)
{
	static const struct {
		const char *answer;
		int64_t early_ms;
	} table[] = {
		{ "{\"access_token\":\"t\",\"expires_in\":3600}", 60000 },
		{ "{\"access_token\":\"t\",\"expires_in\":\"40\"}", 10000 },
		{ "{\"access_token\":\"t\",\"expires_in\":-5}", 0 },
		{ "{\"access_token\":\"t\",\"expires_in\":9223372036854775807}", 60000 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		struct oauth_token t;
		CHECK_INT(oauth_token_read(&arena, 200, str_from(table[i].answer), NULL, "r", &t, NULL, NULL), 0);
		CHECK_INT(t.expires_ms - t.renew_ms, table[i].early_ms);
		CHECK_INT(oauth_token_read(&arena, 200, str_from(table[i].answer), NULL, NULL, &t, NULL, NULL), 0);
		CHECK_INT(t.renew_ms, 0); /* nothing to renew it with */
	}
}

static char *pem_of(EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;

	CHECK(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
	long n = BIO_get_mem_data(bio, &text);
	char *copy = xstrndup(text, (size_t)n);
	BIO_free(bio);
	return copy;
}

static size_t decode(struct str text, unsigned char *out)
{
	char padded[2048];
	size_t n = 0;

	for (; n < text.n; n++)
		padded[n] = text.p[n] == '-' ? '+' : text.p[n] == '_' ? '/' : text.p[n];
	while (n % 4)
		padded[n++] = '=';
	int got = EVP_DecodeBlock(out, (unsigned char *)padded, (int)n);
	return (size_t)got - (n - text.n);
}

/* The signature as OpenSSL verifies it. */
static size_t as_der(unsigned char *bytes, size_t n, bool elliptic, unsigned char *out)
{
	if (!elliptic) {
		memcpy(out, bytes, n);
		return n;
	}
	ECDSA_SIG *pair = ECDSA_SIG_new();
	ECDSA_SIG_set0(pair, BN_bin2bn(bytes, (int)n / 2, NULL), BN_bin2bn(bytes + n / 2, (int)n / 2, NULL));
	int size = i2d_ECDSA_SIG(pair, &out);
	ECDSA_SIG_free(pair);
	return (size_t)size;
}

static void check_signed(EVP_PKEY *key, const char *algorithm)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_FREE char *pem = pem_of(key);
	unsigned char bytes[1024];
	unsigned char der[1024];
	const char *jwt;
	CHECK_INT(oauth_jwt_client(&arena, pem, "me", "https://x", &jwt, NULL), 0);

	const char *dot = strrchr(jwt, '.');
	struct str rest = { jwt, (size_t)(dot - jwt) };
	size_t n = as_der(bytes, decode(str_from(dot + 1), bytes), EVP_PKEY_is_a(key, "EC"), der);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	CHECK_INT(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
	CHECK_INT(EVP_DigestVerify(context, der, n, (const unsigned char *)jwt, rest.n), 1);
	EVP_MD_CTX_free(context);

	n = decode(str_cut(&rest, '.'), bytes);
	CHECK(str_has((struct str){ (char *)bytes, n }, str_from(algorithm)));
	n = decode(rest, bytes);
	CHECK(str_has((struct str){ (char *)bytes, n }, STR("{\"iss\":\"me\",\"sub\":\"me\",\"aud\":\"https://x\",")));
}

TEST(a_statement_of_a_client_can_be_verified_with_its_public_key)
{
	EVP_PKEY *elliptic = EVP_EC_gen("P-256");
	EVP_PKEY *rsa = EVP_RSA_gen(2048);

	check_signed(elliptic, "\"ES256\"");
	check_signed(rsa, "\"RS256\"");

	EVP_PKEY_free(elliptic);
	EVP_PKEY_free(rsa);
}

TEST(a_key_that_cannot_sign_is_an_error)
{
	AUTO_ARENA struct arena arena = { 0 };
	EVP_PKEY *other_curve = EVP_EC_gen("P-384");
	AUTO_FREE char *pem = pem_of(other_curve);
	const char *jwt;

	CHECK_INT(oauth_jwt_client(&arena, pem, "me", "https://x", &jwt, NULL), -ERR_USAGE);
	CHECK_INT(oauth_jwt_client(&arena, "no key", "me", "https://x", &jwt, NULL), -ERR_USAGE);
	EVP_PKEY_free(other_curve);
}

TEST(a_challenge_of_a_verifier_is_that_of_the_standard)
{
	AUTO_ARENA struct arena arena = { 0 };

	/* RFC 7636, appendix B */
	CHECK_CSTR(oauth_pkce_challenge(&arena, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
		   "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
	const char *secret = oauth_secret(&arena);
	CHECK_INT(strlen(secret), 43);
	CHECK(strcmp(secret, oauth_secret(&arena)) != 0);
}

int test_oauth(void)
{
	return RUN_TESTS(
		T(a_challenge_is_found_among_others), T(a_form_keeps_every_byte_of_its_values),
		T(a_form_of_strangers_is_read_as_far_as_it_goes), T(scopes_are_sets),
		T(a_resource_covers_what_is_below_it), T(only_https_and_this_machine_are_gone_to),
		T(documents_are_looked_for_with_the_path_and_without), T(a_client_proves_itself_as_its_method_says),
		T(a_registration_chooses_a_method_that_can_be_used), T(a_token_answer_is_a_token_or_says_why_not),
		T(a_short_life_is_renewed_after_three_quarters_and_a_long_one_a_minute_before_its_end),
		T(a_statement_of_a_client_can_be_verified_with_its_public_key), T(a_key_that_cannot_sign_is_an_error),
		T(a_challenge_of_a_verifier_is_that_of_the_standard));
}
