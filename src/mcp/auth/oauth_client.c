/* SPDX-License-Identifier: MIT
 * oauth_client.c - who we are for an authorisation server. */
#include "mcp/auth/oauth_client.h"
#include "lib/base/base64.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "mcp/auth/oauth_form.h"
#include "mcp/auth/oauth_jwt.h"
#include "mcp/auth/oauth_pkce.h"

enum { ANSWER_BYTES = 256 << 10, ANSWER_DEPTH = 32 };

static const char *const method_words[] = {
	[OAUTH_BASIC] = "client_secret_basic",
	[OAUTH_POST] = "client_secret_post",
	[OAUTH_NONE] = "none",
	[OAUTH_KEY] = "private_key_jwt",
};

const char *oauth_method_word(enum oauth_method method)
{
	return method_words[method];
}

bool oauth_method_find(struct str word, enum oauth_method *ret_method)
{
	for (size_t i = 0; i < COUNT_OF(method_words); i++) {
		if (str_is(word, method_words[i])) {
			*ret_method = (enum oauth_method)i;
			return true;
		}
	}
	return false;
}

enum oauth_method oauth_client_method(const struct oauth_client *client, unsigned methods)
{
	if (client->private_key)
		return OAUTH_KEY;
	if (!client->secret)
		return OAUTH_NONE;
	for (enum oauth_method m = OAUTH_BASIC; m <= OAUTH_NONE; m++)
		if (methods & 1u << m)
			return m;
	return OAUTH_BASIC; /* what RFC 8414 means by silence */
}

/* Both parts are encoded as in a form before they are put together (RFC 6749, 2.3.1). */
static const char *basic_header(const struct oauth_client *client, struct arena *arena)
{
	AUTO_BUF struct buf pair = { 0 };
	AUTO_BUF struct buf header = { 0 };

	oauth_percent(&pair, str_from(client->id));
	buf_addch(&pair, ':');
	oauth_percent(&pair, str_from(client->secret));
	buf_addstr(&header, "Authorization: Basic ");
	base64_add(&header, buf_str(&pair));
	return arena_dup(arena, header.p, header.n);
}

int oauth_client_prove(const struct oauth_client *client, const char *issuer, struct arena *arena, struct buf *form,
		       const char **ret_header, struct err *err)
{
	const char *assertion = NULL;

	*ret_header = NULL;
	if (client->method == OAUTH_BASIC && client->secret) {
		*ret_header = basic_header(client, arena);
		return 0;
	}
	oauth_form_add(form, "client_id", client->id);
	if (client->method == OAUTH_POST)
		oauth_form_add(form, "client_secret", client->secret);
	if (client->method != OAUTH_KEY)
		return 0;
	int rc = oauth_jwt_client(arena, client->private_key, client->id, issuer, &assertion, err);
	oauth_form_add(form, "client_assertion_type",
		       assertion ? "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" : NULL);
	oauth_form_add(form, "client_assertion", assertion);
	return rc;
}

/* ---- registration ---- */

/* A program on somebody's machine cannot keep a secret, so none is asked for where that is possible. */
static enum oauth_method wanted_method(unsigned methods)
{
	if (!methods || methods & 1u << OAUTH_NONE)
		return OAUTH_NONE;
	return methods & 1u << OAUTH_BASIC ? OAUTH_BASIC : OAUTH_POST;
}

static void put_list(struct json_out *w, const char *key, const char *first, const char *second)
{
	json_key(w, key);
	json_open(w, '[');
	json_put_cstr(w, first);
	if (second)
		json_put_cstr(w, second);
	json_close(w);
}

void oauth_register_write(struct buf *out, const char *redirect, unsigned methods, const char *scope)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "client_name", "cadre");
	json_kcstr(&w, "application_type", "native");
	put_list(&w, "redirect_uris", redirect, NULL);
	put_list(&w, "grant_types", "authorization_code", "refresh_token");
	put_list(&w, "response_types", "code", NULL);
	json_kcstr(&w, "token_endpoint_auth_method", oauth_method_word(wanted_method(methods)));
	if (scope)
		json_kcstr(&w, "scope", scope);
	json_close(&w);
}

int oauth_register_read(struct arena *arena, struct str answer, unsigned methods, struct oauth_client *ret_client,
			struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { ANSWER_BYTES, ANSWER_DEPTH } };
	const struct json *root;
	int64_t expires_s = 0;

	int rc = json_parse(&reader, answer.p, answer.n, &root, err);
	if (rc < 0)
		return rc;
	struct oauth_client c = {
		.id = json_cstr(json_get(root, "client_id"), arena),
		.secret = json_cstr(json_get(root, "client_secret"), arena),
		.registered = true,
	};
	if (!c.id || !c.id[0])
		return err_set(err, ERR_PROTOCOL, "client_id is missing");
	if (!json_i64(json_get(root, "client_secret_expires_at"), &expires_s) || expires_s > INT64_MAX / 1000)
		expires_s = 0;
	c.expires_ms = expires_s * 1000;
	struct str method = json_str(json_get(root, "token_endpoint_auth_method"), arena);
	if (!oauth_method_find(method, &c.method) || c.method == OAUTH_KEY || (c.method != OAUTH_NONE && !c.secret))
		c.method = oauth_client_method(&c, methods);
	*ret_client = c;
	return 0;
}
