/* SPDX-License-Identifier: MIT
 * oauth_store.c - grants on disk. Writers take turns by a lock beside the file, because the file itself is replaced. */
#include "mcp/auth/oauth_store.h"
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

struct text {
	struct buf bytes;
	struct json_reader reader;
	const struct json *root; /* NULL: no file yet */
};

static void text_release(struct text *t)
{
	json_reader_release(&t->reader);
	buf_release(&t->bytes);
}
#define AUTO_TEXT CLEANUP(text_release)

static int text_read(struct text *t, const char *file, struct err *err)
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

static int64_t number(const struct json *object, const char *key)
{
	int64_t value = 0;

	return json_i64(json_get(object, key), &value) ? value : 0;
}

static struct oauth_client read_client(const struct json *v, struct arena *arena)
{
	struct oauth_client c = {
		.id = json_cstr(json_get(v, "id"), arena),
		.secret = json_cstr(json_get(v, "secret"), arena),
		.method = OAUTH_NONE,
		.registered = json_bool(json_get(v, "registered")),
		.port = (unsigned)number(v, "port"),
		.expires_ms = number(v, "expires_ms"),
	};

	(void)oauth_method_find(json_str(json_get(v, "method"), arena), &c.method);
	return c;
}

static struct oauth_token read_token(const struct json *v, struct arena *arena)
{
	return (struct oauth_token){
		.access = json_cstr(json_get(v, "access"), arena),
		.refresh = json_cstr(json_get(v, "refresh"), arena),
		.scope = json_cstr(json_get(v, "scope"), arena),
		.expires_ms = number(v, "expires_ms"),
		.renew_ms = number(v, "renew_ms"),
	};
}

static struct oauth_grant *read_grant(const struct json *entry)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct oauth_grant g = {
		.issuer = json_cstr(json_get(entry, "issuer"), &arena),
		.token_url = json_cstr(json_get(entry, "token_url"), &arena),
		.resource = json_cstr(json_get(entry, "resource"), &arena),
		.scope = json_cstr(json_get(entry, "scope"), &arena),
		.client = read_client(json_get(entry, "client"), &arena),
		.token = read_token(json_get(entry, "token"), &arena),
	};

	return g.issuer && g.token_url && g.client.id ? oauth_grant_copy(&g) : NULL;
}

int oauth_store_get(const char *file, const char *key, struct oauth_grant **ret_grant, struct err *err)
{
	AUTO_TEXT struct text t = { 0 };

	int rc = text_read(&t, file, err);
	if (rc < 0)
		return rc;
	*ret_grant = read_grant(json_get(json_get(t.root, "servers"), key));
	return 0;
}

/* ---- writing ---- */

static void put_some(struct json_out *w, const char *key, const char *value)
{
	if (value)
		json_kcstr(w, key, value);
}

static void put_entry(struct json_out *w, const char *key, const char *url, const struct oauth_grant *g)
{
	json_key(w, key);
	json_open(w, '{');
	json_kcstr(w, "url", url);
	put_some(w, "issuer", g->issuer);
	put_some(w, "token_url", g->token_url);
	put_some(w, "resource", g->resource);
	put_some(w, "scope", g->scope);
	json_key(w, "client");
	json_open(w, '{');
	json_kcstr(w, "id", g->client.id);
	put_some(w, "secret", g->client.secret);
	json_kcstr(w, "method", oauth_method_word(g->client.method));
	json_kbool(w, "registered", g->client.registered);
	json_ki64(w, "port", g->client.port);
	json_ki64(w, "expires_ms", g->client.expires_ms);
	json_close(w);
	json_key(w, "token");
	json_open(w, '{');
	put_some(w, "access", g->token.access);
	put_some(w, "refresh", g->token.refresh);
	put_some(w, "scope", g->token.scope);
	json_ki64(w, "expires_ms", g->token.expires_ms);
	json_ki64(w, "renew_ms", g->token.renew_ms);
	json_close(w);
	json_close(w);
}

/* One change: the entry `key` becomes grant. */
struct change {
	const char *key, *url;
	const struct oauth_grant *grant;
};

static void put_servers(struct json_out *w, const struct json *servers, const struct change *c, struct arena *arena)
{
	json_key(w, "servers");
	json_open(w, '{');
	for (struct json_member m = json_members(servers); m.key; m = json_member_next(servers, m)) {
		if (json_str_is(m.key, c->key))
			continue;
		json_key_str(w, json_str(m.key, arena));
		json_put_raw(w, json_raw(m.value));
	}
	put_entry(w, c->key, c->url, c->grant);
	json_close(w);
}

static void write_text(struct buf *out, const struct json *root, const struct change *c)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct json_out w = json_out(out);

	json_open(&w, '{');
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		if (json_str_is(m.key, "servers"))
			continue;
		json_key_str(&w, json_str(m.key, &arena));
		json_put_raw(&w, json_raw(m.value));
	}
	put_servers(&w, json_get(root, "servers"), c, &arena);
	json_close(&w);
	buf_addch(out, '\n');
}

/* The lock dies with its descriptor. */
static int lock(const char *file, int *ret_fd, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *path = arena_printf(&arena, "%s.lock", file);

	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, OWNER_ONLY);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path);
	int rc = file_lock(fd, path, err);
	if (rc < 0)
		return rc;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* file_replace keeps the mode of an existing file, so a private one must exist. */
static int make_private(const char *file, struct err *err)
{
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CREAT | O_CLOEXEC, OWNER_ONLY);

	if (fd < 0 || fchmod(fd, OWNER_ONLY) < 0)
		return err_set(err, ERR_IO, "cannot make %s private: %m", file);
	return 0;
}

static int apply(const char *file, const struct change *c, struct err *err)
{
	AUTO_TEXT struct text t = { 0 };
	AUTO_BUF struct buf out = { 0 };
	AUTO_CLOSE int fd = -1;

	int rc = file_make_parents(file, err);
	if (rc == 0)
		rc = lock(file, &fd, err);
	if (rc == 0)
		rc = text_read(&t, file, err);
	if (rc == 0)
		rc = make_private(file, err);
	if (rc < 0)
		return rc;
	write_text(&out, t.root, c);
	return file_replace_linked(file, buf_str(&out), err);
}

int oauth_store_put(const char *file, const char *key, const char *url, const struct oauth_grant *grant,
		    struct err *err)
{
	return apply(file, &(struct change){ key, url, grant }, err);
}
