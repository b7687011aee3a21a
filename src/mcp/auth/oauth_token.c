/* SPDX-License-Identifier: MIT
 * oauth_token.c - scopes, tokens as they come from a token endpoint, and the states of a flow that use one: RENEW, IDENTITY and
 * GRANT. */
#include "mcp/auth/oauth_token.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "mcp/auth/auth_flow.h"
#include "mcp/auth/oauth_http.h"
#include "lib/io/change_queue.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "mcp/auth/oauth_client.h"
#include "mcp/servers/server.h"

/* Scopes: they are short, so they stay text. */

/* The next scope; false at the end. */
static bool next_scope(struct str *rest, struct str *ret_one)
{
	while (rest->p) {
		*ret_one = str_cut(rest, ' ');
		if (ret_one->n)
			return true;
	}
	return false;
}

bool oauth_scope_has(const char *scopes, struct str one)
{
	struct str rest = str_from(scopes);
	struct str scope;

	while (next_scope(&rest, &scope))
		if (str_eq(scope, one))
			return true;
	return false;
}

bool oauth_scope_covers(const char *scopes, const char *wanted)
{
	struct str rest = str_from(wanted);
	struct str one;

	while (next_scope(&rest, &one))
		if (!oauth_scope_has(scopes, one))
			return false;
	return true;
}

/* Those that out does not have yet and that are not `without`. */
static void add_scopes(struct buf *out, const char *scopes, struct str without)
{
	struct str rest = str_from(scopes);
	struct str one;

	while (next_scope(&rest, &one)) {
		if (str_eq(one, without) || oauth_scope_has(out->p, one))
			continue;
		if (out->n)
			buf_addch(out, ' ');
		buf_append(out, one);
	}
}

const char *oauth_scope_union(struct arena *arena, const char *a, const char *b)
{
	AUTO_BUF struct buf text = { 0 };

	add_scopes(&text, a, STR(""));
	add_scopes(&text, b, STR(""));
	return text.n ? arena_dup(arena, text.p, text.n) : NULL;
}

const char *oauth_scope_without(struct arena *arena, const char *scopes, struct str one)
{
	AUTO_BUF struct buf text = { 0 };

	add_scopes(&text, scopes, one);
	return text.n ? arena_dup(arena, text.p, text.n) : NULL;
}

enum {
	ANSWER_BYTES = 256 << 10,
	ANSWER_DEPTH = 32,
	EARLY_MS = 60 * 1000, /* a token is renewed this long before its end, or after three quarters of a short life */
	LIFE_LIMIT_S = 10 * 365 * 24 * 3600,
};

struct oauth_grant *oauth_grant_copy(const struct oauth_grant *g)
{
	struct oauth_grant *c = xcalloc(1, sizeof *c);
	struct arena *arena = &c->arena;

	c->issuer = arena_strdup(arena, g->issuer);
	c->token_url = arena_strdup(arena, g->token_url);
	c->resource = arena_strdup(arena, g->resource);
	c->scope = arena_strdup(arena, g->scope);
	c->client = g->client;
	c->client.id = arena_strdup(arena, g->client.id);
	c->client.secret = arena_strdup(arena, g->client.secret);
	c->client.private_key = arena_strdup(arena, g->client.private_key);
	c->token = g->token;
	c->token.access = arena_strdup(arena, g->token.access);
	c->token.refresh = arena_strdup(arena, g->token.refresh);
	c->token.scope = arena_strdup(arena, g->token.scope);
	return c;
}

void oauth_grant_free(struct oauth_grant *g)
{
	if (!g)
		return;
	arena_release(&g->arena);
	free(g);
}

/* Untrusted text in an error: one short line. */
static const char *text_is_printable(struct arena *arena, struct str text, size_t most)
{
	char *copied = arena_dup(arena, text.n ? text.p : "", MIN(text.n, most));

	for (char *c = copied; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return copied;
}

/* Parses an answer. Without an access token: an error. *ret_root: NULL: not JSON. */
static int read_answer(struct arena *arena, int status, struct str answer, struct json_reader *reader,
		       const struct json **ret_root, const char **ret_refused, struct err *err)
{
	*ret_root = NULL;
	reader->limits = (struct json_limits){ ANSWER_BYTES, ANSWER_DEPTH };
	if (json_parse(reader, answer.p, answer.n, ret_root, NULL) < 0)
		*ret_root = NULL;
	if (status >= 200 && status <= 299 && json_is(json_get(*ret_root, "access_token"), JSON_STRING))
		return 0;
	struct str word = json_str(json_get(*ret_root, "error"), arena);
	struct str why = json_str(json_get(*ret_root, "error_description"), arena);
	if (!word.n)
		return err_set(err, ERR_PROTOCOL, "the token endpoint answered with status %d", status);
	const char *refused = text_is_printable(arena, word, 40);
	if (ret_refused)
		*ret_refused = refused;
	return err_set(err, ERR_DENIED, "token endpoint error: %s%s%s", refused, why.n ? ": " : "",
		       text_is_printable(arena, why, 120));
}

int oauth_token_read(struct arena *arena, int status, struct str answer, const char *asked, const char *old_refresh,
		     struct oauth_token *ret_token, const char **ret_refused, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	int rc = read_answer(arena, status, answer, &reader, &root, ret_refused, err);
	if (rc < 0)
		return rc;
	const char *access = json_cstr(json_get(root, "access_token"), arena);
	struct str type = json_str(json_get(root, "token_type"), arena);
	const char *scope = json_cstr(json_get(root, "scope"), arena);
	const char *refresh = json_cstr(json_get(root, "refresh_token"), arena);
	bool usable = access && access[0] && (!type.n || str_is_nocase(type, "Bearer"));
	for (const char *c = access; usable && *c; c++)
		usable = *c > ' ' && *c < 0x7f; /* it is written to a header */
	if (!usable)
		return err_set(err, ERR_PROTOCOL, "the token is not a bearer token");
	struct oauth_token token = {
		.access = access,
		.refresh = refresh && refresh[0] ? refresh : old_refresh,
		.scope = scope && scope[0] ? scope : asked,
	};
	const struct json *life = json_get(root, "expires_in");
	int64_t seconds = 0;
	if (json_i64(life, &seconds) || str_to_i64(json_str(life, arena), &seconds)) {
		int64_t life_ms = MAX(0, MIN(seconds, LIFE_LIMIT_S)) * 1000;
		token.expires_ms = id_wall_ms() + life_ms;
		token.renew_ms = token.refresh ? token.expires_ms - MIN(EARLY_MS, life_ms / 4) : 0;
	}
	*ret_token = token;
	return 0;
}

static const char form_type[] = "application/x-www-form-urlencoded";

/* Posts the form with client authentication. */
static int post_token_form(struct auth_flow *f, const struct oauth_grant *g, struct buf *form)
{
	struct oauth_request request = { .url = g->token_url, .body_type = form_type };

	oauth_form_add(form, "resource", g->resource);
	int rc = oauth_client_prove(&g->client, g->issuer, &f->arena, form, &request.authorization, &f->err);
	if (rc < 0)
		return rc;
	request.body = buf_str(form);
	auth_flow_fetch(f, &request);
	return AUTH_WAIT;
}

/* Another process may have renewed the token, or the user has signed in there: takes over its token. */
static bool take_from_store(struct auth_flow *f)
{
	struct oauth_grant *stored = NULL;

	if (!f->env->auth_file || oauth_store_get(f->env->auth_file, f->store_key, &stored, NULL) < 0 || !stored)
		return false;
	const char *mine = f->had && f->had->token.access ? f->had->token.access : "";
	bool newer = stored->token.access && strcmp(stored->token.access, mine) != 0 &&
		     (!stored->token.expires_ms || stored->token.expires_ms > id_wall_ms());
	if (newer) {
		oauth_grant_free(f->had);
		f->had = TAKE(stored);
		f->grant = *f->had;
	}
	oauth_grant_free(stored);
	return newer;
}

int auth_step_renew(struct auth_flow *f)
{
	AUTO_BUF struct buf form = { 0 };
	int status = 0;
	struct str answer;
	const char *refused = "";
	int rc;

	if (!f->fetch) {
		if (take_from_store(f))
			return auth_flow_enter(f, AUTH_END);
		if (!f->renew)
			return auth_flow_enter(f, AUTH_RESOURCE);
		f->had->client.private_key = f->server->oauth.private_key;
		oauth_form_add(&form, "grant_type", "refresh_token");
		oauth_form_add(&form, "refresh_token", f->had->token.refresh);
		/* The file may have been edited, so its URL is untrusted too. */
		rc = oauth_url_check(f->had->token_url, f->loopback_allowed, "token_endpoint", &f->err);
		return rc < 0 ? rc : post_token_form(f, f->had, &form);
	}
	rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc < 0)
		return rc;
	if (status >= 500)
		return err_set(&f->err, ERR_IO, "the token endpoint answered with status %d", status);
	f->grant = *f->had;
	rc = oauth_token_read(&f->arena, status, answer, f->had->token.scope, f->had->token.refresh, &f->grant.token,
			      &refused, &f->err);
	if (rc < 0) {
		f->client_is_gone = !strcmp(refused, "invalid_client");
		/* The refresh token is invalid: starts a new sign-in, unless this run may not ask. */
		if (take_from_store(f)) {
			f->err = (struct err){ 0 };
			return auth_flow_enter(f, AUTH_END);
		}
		f->refresh_refused = true;
		if (f->only_renew)
			return rc;
		f->err = (struct err){ 0 };
		return auth_flow_enter(f, AUTH_RESOURCE);
	}
	f->renewed = true;
	return auth_flow_enter(f, AUTH_END);
}

/* The identity provider issues an assertion for the token endpoint. */
int auth_step_identity(struct auth_flow *f)
{
	const struct mcp_oauth *o = &f->server->oauth;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf form = { 0 };
	const struct json *root;
	int status = 0;
	struct str answer;
	int rc;

	if (!f->fetch) {
		rc = oauth_url_check(o->idp_token_url, f->loopback_allowed, "oauth.idpTokenUrl", &f->err);
		if (rc < 0)
			return rc;
		oauth_form_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
		oauth_form_add(&form, "requested_token_type", "urn:ietf:params:oauth:token-type:id-jag");
		oauth_form_add(&form, "subject_token_type", "urn:ietf:params:oauth:token-type:id_token");
		oauth_form_add(&form, "subject_token", o->idp_token);
		oauth_form_add(&form, "audience", f->grant.issuer);
		oauth_form_add(&form, "resource", f->grant.resource);
		oauth_form_add(&form, "scope", f->grant.scope);
		oauth_form_add(&form, "client_id", o->idp_client_id);
		auth_flow_fetch(f, &(struct oauth_request){
					   .url = o->idp_token_url, .body_type = form_type, .body = buf_str(&form) });
		return AUTH_WAIT;
	}
	rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0)
		rc = read_answer(&f->arena, status, answer, &reader, &root, NULL, &f->err);
	if (rc < 0)
		return err_wrap(&f->err, "identity provider");
	f->code = json_cstr(json_get(root, "access_token"), &f->arena);
	return auth_flow_enter(f, AUTH_GRANT);
}

int auth_step_grant(struct auth_flow *f)
{
	static const char *const grant_types[] = {
		[AUTH_CODE] = "authorization_code",
		[AUTH_CLIENT_CREDENTIALS] = "client_credentials",
		[AUTH_ASSERTION] = "urn:ietf:params:oauth:grant-type:jwt-bearer",
	};
	AUTO_BUF struct buf form = { 0 };
	int status = 0;
	struct str answer;
	const char *refused = "";

	if (!f->fetch) {
		oauth_form_add(&form, "grant_type", grant_types[f->kind]);
		if (f->kind == AUTH_CODE) {
			oauth_form_add(&form, "code", f->code);
			oauth_form_add(&form, "code_verifier", f->verifier);
			oauth_form_add(&form, "redirect_uri", auth_flow_redirect_uri(f));
		} else {
			oauth_form_add(&form, "assertion", f->kind == AUTH_ASSERTION ? f->code : NULL);
			oauth_form_add(&form, "scope", f->grant.scope);
		}
		return post_token_form(f, &f->grant, &form);
	}
	int rc = oauth_fetch_answer(f->fetch, &status, &answer, &f->err);
	if (rc == 0)
		rc = oauth_token_read(&f->arena, status, answer, f->grant.scope, NULL, &f->grant.token, &refused,
				      &f->err);
	if (rc == 0)
		return auth_flow_enter(f, AUTH_END);
	/* The server may have dropped a client that was registered earlier: registers again. */
	bool old_client = f->had && f->grant.client.registered && f->grant.client.id == f->had->client.id;
	if (strcmp(refused, "invalid_client") != 0 || !old_client)
		return rc;
	f->client_is_gone = true;
	f->verifier = f->code = NULL;
	f->err = (struct err){ 0 };
	oauth_callback_close(TAKE(f->callback));
	return auth_flow_enter(f, AUTH_CLIENT);
}

/* Grants on disk. Writers take turns by a lock beside the file, because the file itself is replaced. */

enum { FILE_LIMIT_BYTES = 16 << 20, FILE_DEPTH = 32, OWNER_ONLY = 0600 };

const char *oauth_store_key(struct arena *arena, const struct mcp_server *server)
{
	const struct mcp_oauth *o = &server->oauth;
	const char *const parts[] = { o->client_id,    o->client_secret, o->private_key,
				      o->metadata_url, o->scopes,        o->idp_client_id };
	AUTO_BUF struct buf all = { 0 };

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		json_add_quoted(&all, str_from(parts[i] ? parts[i] : ""));
	return arena_printf(arena, "%s %.16s", server->url, oauth_pkce_challenge(arena, all.p));
}

struct token_file {
	struct buf bytes;
	struct json_reader reader;
	const struct json *root; /* NULL: no file yet */
};

static void token_file_release(struct token_file *t)
{
	json_reader_release(&t->reader);
	buf_release(&t->bytes);
}
#define AUTO_TOKEN_FILE CLEANUP(token_file_release)

static int token_file_read(struct token_file *t, const char *file, struct err *err)
{
	t->reader.limits = (struct json_limits){ FILE_LIMIT_BYTES, FILE_DEPTH };
	int rc = file_read(file, FILE_LIMIT_BYTES, &t->bytes, err);
	if (rc == -ERR_NOT_FOUND || (rc == 0 && !t->bytes.n))
		return 0;
	if (rc == 0)
		rc = json_parse(&t->reader, t->bytes.p, t->bytes.n, &t->root, err);
	if (rc < 0)
		return err_wrap(err, "%s", file);
	const struct json *servers = json_get(t->root, "servers");
	if (!json_is(t->root, JSON_OBJECT) || (servers && !json_is(servers, JSON_OBJECT)))
		return err_set(err, ERR_PARSE, "%s is not a token file", file);
	return 0;
}

static int64_t member_i64(const struct json *object, const char *key)
{
	int64_t value = 0;

	return json_i64(json_get(object, key), &value) ? value : 0;
}

int oauth_store_get(const char *file, const char *key, struct oauth_grant **ret_grant, struct err *err)
{
	AUTO_TOKEN_FILE struct token_file t = { 0 };
	AUTO_ARENA struct arena arena = { 0 };

	int rc = token_file_read(&t, file, err);
	if (rc < 0)
		return rc;
	const struct json *entry = json_get(json_get(t.root, "servers"), key);
	const struct json *client = json_get(entry, "client");
	const struct json *token = json_get(entry, "token");
	struct oauth_grant g = {
		.issuer = json_cstr(json_get(entry, "issuer"), &arena),
		.token_url = json_cstr(json_get(entry, "token_url"), &arena),
		.resource = json_cstr(json_get(entry, "resource"), &arena),
		.scope = json_cstr(json_get(entry, "scope"), &arena),
		.client = { .id = json_cstr(json_get(client, "id"), &arena),
			    .secret = json_cstr(json_get(client, "secret"), &arena),
			    .method = OAUTH_NONE,
			    .registered = json_bool(json_get(client, "registered")),
			    .port = (unsigned)member_i64(client, "port"),
			    .expires_ms = member_i64(client, "expires_ms") },
		.token = { .access = json_cstr(json_get(token, "access"), &arena),
			   .refresh = json_cstr(json_get(token, "refresh"), &arena),
			   .scope = json_cstr(json_get(token, "scope"), &arena),
			   .expires_ms = member_i64(token, "expires_ms"),
			   .renew_ms = member_i64(token, "renew_ms") },
	};
	(void)oauth_method_find(json_str(json_get(client, "method"), &arena), &g.client.method);
	*ret_grant = g.issuer && g.token_url && g.client.id ? oauth_grant_copy(&g) : NULL;
	return 0;
}

static int oauth_store_write(const char *file, const char *key, const char *url, const struct oauth_grant *grant,
			     unsigned wait_ms, struct err *err)
{
	AUTO_TOKEN_FILE struct token_file t = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	const char *lock_path = arena_printf(&arena, "%s.lock", file);

	int rc = file_make_parents(file, err);
	if (rc < 0)
		return rc;
	AUTO_CLOSE int lock_fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, OWNER_ONLY);
	if (lock_fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", lock_path);
	rc = file_lock(lock_fd, lock_path, wait_ms, err);
	if (rc == 0)
		rc = token_file_read(&t, file, err);
	if (rc < 0)
		return rc;
	/* file_replace keeps the mode of an existing file, so a private one must exist. */
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CREAT | O_CLOEXEC, OWNER_ONLY);
	if (fd < 0 || fchmod(fd, OWNER_ONLY) < 0)
		return err_set(err, ERR_IO, "cannot make %s private: %m", file);
	json_open(&w, '{');
	json_put_members(&w, t.root, (const char *const[]){ "servers", NULL }, NULL);
	json_kopen(&w, "servers", '{');
	json_put_members(&w, json_get(t.root, "servers"), (const char *const[]){ key, NULL }, NULL);
	json_key(&w, key);
	json_putf(&w,
		  "{url:'%s', issuer?:'%s', token_url?:'%s', resource?:'%s', scope?:'%s', client:{id:'%s', "
		  "secret?:'%s', method:'%s', registered:!!%d, port:%lld, expires_ms:%lld}, "
		  "token:{access?:'%s', refresh?:'%s', scope?:'%s', expires_ms:%lld, renew_ms:%lld}}",
		  url, grant->issuer, grant->token_url, grant->resource, grant->scope, grant->client.id,
		  grant->client.secret, oauth_method_words[grant->client.method], grant->client.registered,
		  (long long)grant->client.port, (long long)grant->client.expires_ms, grant->token.access,
		  grant->token.refresh, grant->token.scope, (long long)grant->token.expires_ms,
		  (long long)grant->token.renew_ms);
	json_putf(&w, "}}");
	buf_addch(&out, '\n');
	return file_replace_linked(file, buf_str(&out), err);
}

/* A grant that is written later, with copies of all that it needs */
struct pending_grant {
	struct file_change change; /* first */
	struct arena arena;
	const char *file, *key, *url;
	struct oauth_grant *grant;
};

static int make_pending(struct file_change *change, unsigned wait_ms, struct err *err)
{
	struct pending_grant *p = CONTAINER_OF(change, struct pending_grant, change);

	return oauth_store_write(p->file, p->key, p->url, p->grant, wait_ms, err);
}

static void pending_done(struct file_change *change, bool later, const struct err *err)
{
	struct pending_grant *p = CONTAINER_OF(change, struct pending_grant, change);

	oauth_grant_free(p->grant);
	arena_release(&p->arena);
	free(p);
}

int oauth_store_put(struct change_queue *q, const char *file, const char *key, const char *url,
		    const struct oauth_grant *grant, struct err *err)
{
	if (!q)
		return oauth_store_write(file, key, url, grant, LOCK_WAIT_MS, err);
	struct pending_grant *p = xcalloc(1, sizeof *p);
	p->change = (struct file_change){ .make = make_pending, .done = pending_done };
	p->file = arena_strdup(&p->arena, file);
	p->key = arena_strdup(&p->arena, key);
	p->url = arena_strdup(&p->arena, url);
	p->grant = oauth_grant_copy(grant);
	int status = change_queue_make(q, &p->change, err);
	return MIN(status, 0);
}
