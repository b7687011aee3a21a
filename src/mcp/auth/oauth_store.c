/* SPDX-License-Identifier: MIT
 * oauth_store.c - grants on disk. Writers take turns by a lock beside the file, because the file itself is replaced. */
#include "mcp/auth/oauth_token.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "mcp/auth/oauth_client.h"
#include "mcp/servers/server.h"

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

/* ---- reading ---- */

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

/* ---- writing ---- */

static void put_grant(struct json_out *w, const char *url, const struct oauth_grant *g)
{
	json_open(w, '{');
	json_kcstr(w, "url", url);
	json_kcstr_if(w, "issuer", g->issuer);
	json_kcstr_if(w, "token_url", g->token_url);
	json_kcstr_if(w, "resource", g->resource);
	json_kcstr_if(w, "scope", g->scope);
	json_kopen(w, "client", '{');
	json_kcstr(w, "id", g->client.id);
	json_kcstr_if(w, "secret", g->client.secret);
	json_kcstr(w, "method", oauth_method_words[g->client.method]);
	json_kbool(w, "registered", g->client.registered);
	json_ki64(w, "port", g->client.port);
	json_ki64(w, "expires_ms", g->client.expires_ms);
	json_close(w);
	json_kopen(w, "token", '{');
	json_kcstr_if(w, "access", g->token.access);
	json_kcstr_if(w, "refresh", g->token.refresh);
	json_kcstr_if(w, "scope", g->token.scope);
	json_ki64(w, "expires_ms", g->token.expires_ms);
	json_ki64(w, "renew_ms", g->token.renew_ms);
	json_close(w);
	json_close(w);
}

/* Copies all members but one. */
static void put_others(struct json_out *w, const struct json *object, const char *except, struct arena *arena)
{
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		if (json_str_is(m.key, except))
			continue;
		json_key_str(w, json_str(m.key, arena));
		json_put_raw(w, json_raw(m.value));
	}
}

int oauth_store_put(const char *file, const char *key, const char *url, const struct oauth_grant *grant,
		    struct err *err)
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
	rc = file_lock(lock_fd, lock_path, err);
	if (rc == 0)
		rc = token_file_read(&t, file, err);
	if (rc < 0)
		return rc;
	/* file_replace keeps the mode of an existing file, so a private one must exist. */
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CREAT | O_CLOEXEC, OWNER_ONLY);
	if (fd < 0 || fchmod(fd, OWNER_ONLY) < 0)
		return err_set(err, ERR_IO, "cannot make %s private: %m", file);
	json_open(&w, '{');
	put_others(&w, t.root, "servers", &arena);
	json_kopen(&w, "servers", '{');
	put_others(&w, json_get(t.root, "servers"), key, &arena);
	json_key(&w, key);
	put_grant(&w, url, grant);
	json_close(&w);
	json_close(&w);
	buf_addch(&out, '\n');
	return file_replace_linked(file, buf_str(&out), err);
}
