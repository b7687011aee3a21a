/* SPDX-License-Identifier: MIT
 * oauth_grant.c - tokens as they come from a token endpoint. */
#include "mcp/auth/oauth_grant.h"
#include "lib/base/id.h"
#include "lib/json/json.h"

enum {
	ANSWER_BYTES = 256 << 10,
	ANSWER_DEPTH = 32,
	EARLY_MS = 60 * 1000, /* so much before its end a token is renewed, or after three quarters of a short life */
	LIFE_LIMIT_S = 10 * 365 * 24 * 3600,
};

static const char *copy(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

struct oauth_grant *oauth_grant_copy(const struct oauth_grant *g)
{
	struct oauth_grant *c = xcalloc(1, sizeof *c);
	struct arena *arena = &c->arena;

	c->issuer = copy(arena, g->issuer);
	c->token_url = copy(arena, g->token_url);
	c->resource = copy(arena, g->resource);
	c->scope = copy(arena, g->scope);
	c->client = g->client;
	c->client.id = copy(arena, g->client.id);
	c->client.secret = copy(arena, g->client.secret);
	c->client.private_key = copy(arena, g->client.private_key);
	c->token = g->token;
	c->token.access = copy(arena, g->token.access);
	c->token.refresh = copy(arena, g->token.refresh);
	c->token.scope = copy(arena, g->token.scope);
	return c;
}

void oauth_grant_free(struct oauth_grant *g)
{
	if (!g)
		return;
	arena_release(&g->arena);
	free(g);
}

/* It goes into a header as it is. */
static bool is_visible(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	return text[0] != '\0';
}

/* Words of a stranger in an error: one line, not long. */
static const char *tame(struct arena *arena, struct str text, size_t most)
{
	char *copied = arena_dup(arena, text.n ? text.p : "", MIN(text.n, most));

	for (char *c = copied; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return copied;
}

static int refuse(struct arena *arena, int status, const struct json *root, const char **ret_refused, struct err *err)
{
	struct str word = json_str(json_get(root, "error"), arena);
	struct str why = json_str(json_get(root, "error_description"), arena);

	if (!word.n)
		return err_set(err, ERR_PROTOCOL, "the token endpoint answered with status %d", status);
	const char *refused = tame(arena, word, 40);
	if (ret_refused)
		*ret_refused = refused;
	return err_set(err, ERR_DENIED, "the token endpoint says %s%s%s", refused, why.n ? ": " : "",
		       tame(arena, why, 120));
}

/* NULL: not JSON */
static const struct json *parse(struct json_reader *reader, struct str answer)
{
	const struct json *root = NULL;

	reader->limits = (struct json_limits){ ANSWER_BYTES, ANSWER_DEPTH };
	return json_parse(reader, answer.p, answer.n, &root, NULL) < 0 ? NULL : root;
}

static void set_life(struct oauth_token *token, const struct json *root, struct arena *arena)
{
	const struct json *life = json_get(root, "expires_in");
	int64_t seconds = 0;

	if (!json_i64(life, &seconds) && !str_to_i64(json_str(life, arena), &seconds))
		return;
	int64_t life_ms = MAX(0, MIN(seconds, LIFE_LIMIT_S)) * 1000;
	token->expires_ms = id_wall_ms() + life_ms;
	token->renew_ms = token->expires_ms - MIN(EARLY_MS, life_ms / 4);
}

int oauth_token_read(struct arena *arena, int status, struct str answer, const char *asked, const char *old_refresh,
		     struct oauth_token *ret_token, const char **ret_refused, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = parse(&reader, answer);
	const char *access = json_cstr(json_get(root, "access_token"), arena);

	if (status < 200 || status > 299 || !access)
		return refuse(arena, status, root, ret_refused, err);
	struct str type = json_str(json_get(root, "token_type"), arena);
	const char *scope = json_cstr(json_get(root, "scope"), arena);
	const char *refresh = json_cstr(json_get(root, "refresh_token"), arena);
	if (!is_visible(access) || (type.n && !str_is_nocase(type, "Bearer")))
		return err_set(err, ERR_PROTOCOL, "the token endpoint gave a token that is no bearer token");
	struct oauth_token token = {
		.access = access,
		.refresh = refresh && refresh[0] ? refresh : old_refresh,
		.scope = scope && scope[0] ? scope : asked,
	};
	set_life(&token, root, arena);
	if (!token.refresh)
		token.renew_ms = 0;
	*ret_token = token;
	return 0;
}

int oauth_assertion_read(struct arena *arena, int status, struct str answer, const char **ret_assertion,
			 struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = parse(&reader, answer);
	const char *assertion = json_cstr(json_get(root, "access_token"), arena);

	if (status < 200 || status > 299 || !assertion)
		return refuse(arena, status, root, NULL, err);
	*ret_assertion = assertion;
	return 0;
}
