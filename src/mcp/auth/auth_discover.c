/* SPDX-License-Identifier: MIT
 * auth_discover.c - RESOURCE and ISSUER: who gives tokens for this server, and how. */
#include "mcp/auth/auth_flow_int.h"
#include "mcp/auth/oauth_url.h"

/* Tries the next place; *ret_found is false if there is none left. */
static int next_place(struct auth_flow *f, const char *what, bool *ret_found)
{
	*ret_found = f->place < f->places.count;
	if (!*ret_found)
		return 0;
	const char *url = f->places.urls[f->place++];
	int rc = oauth_url_check(url, f->loopback_allowed, what, &f->err);
	if (rc == 0)
		auth_get(f, url);
	return rc;
}

/* What the place has; p NULL: nothing. A server in trouble is an error: what it would have said must not be guessed. */
static int take_document(struct auth_flow *f, struct str *ret_document)
{
	int status = 0;

	*ret_document = (struct str){ 0 };
	int rc = oauth_fetch_answer(f->fetch, &status, ret_document, &f->err);
	if (rc < 0)
		return rc;
	if (status >= 500)
		return err_set(&f->err, ERR_IO, "%.120s: status %d", f->places.urls[f->place - 1], status);
	if (status != 200)
		*ret_document = (struct str){ 0 };
	return 0;
}

/* A document that is no JSON counts as none: some servers answer every path with the page of their application. */

/* ---- the server ---- */

static enum auth_step look_for_issuer(struct auth_flow *f, const char *issuer)
{
	const char *given = f->server->oauth.metadata_url;

	f->place = 0;
	f->places = (struct oauth_places){ .urls = { given }, .count = 1 };
	if (!given && oauth_issuer_places(&f->arena, issuer, &f->places, &f->err) < 0)
		return auth_fail(f);
	return auth_go(f, AUTH_ISSUER);
}

/* A server without a document: it is its own authorisation server, as in 2025-03-26. */
static enum auth_step go_the_old_way(struct auth_flow *f)
{
	struct oauth_url url;

	if (oauth_url_parse(&f->arena, f->server->url, &url, &f->err) < 0)
		return auth_fail(f);
	return look_for_issuer(f, url.origin);
}

static enum auth_step next_resource_place(struct auth_flow *f)
{
	bool found;

	f->err = (struct err){ 0 };
	if (next_place(f, "metadata of the server", &found) < 0)
		return auth_fail(f);
	return found ? AUTH_WAIT : go_the_old_way(f);
}

enum auth_step auth_step_resource(struct auth_flow *f)
{
	struct str document;

	if (!f->fetch) {
		if (oauth_resource_places(&f->arena, f->server->url, f->challenge.metadata_url, &f->places, &f->err) <
		    0)
			return auth_fail(f);
		return next_resource_place(f);
	}
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (take_document(f, &document) < 0)
		return auth_fail(f);
	if (!document.p)
		return next_resource_place(f);
	int rc = oauth_resource_read(&f->arena, document, f->server->url, &f->resource, &f->err);
	if (rc == -ERR_PARSE)
		return next_resource_place(f);
	if (rc < 0) {
		err_wrap(&f->err, "%.100s", f->places.urls[f->place - 1]);
		return auth_fail(f);
	}
	f->has_resource = true;
	return look_for_issuer(f, f->resource.issuer);
}

/* ---- its authorisation server ---- */

static enum auth_step have_no_issuer(struct auth_flow *f)
{
	if (f->has_resource || f->server->oauth.metadata_url) {
		err_set(&f->err, ERR_NOT_FOUND, "no metadata of the authorisation server at %.160s", f->places.urls[0]);
		return auth_fail(f);
	}
	if (oauth_issuer_default(&f->arena, f->server->url, &f->issuer, &f->err) < 0)
		return auth_fail(f);
	return auth_go(f, AUTH_CLIENT);
}

static enum auth_step next_issuer_place(struct auth_flow *f)
{
	bool found;

	f->err = (struct err){ 0 };
	if (next_place(f, "authorisation server", &found) < 0)
		return auth_fail(f);
	return found ? AUTH_WAIT : have_no_issuer(f);
}

enum auth_step auth_step_issuer(struct auth_flow *f)
{
	struct str document;

	if (!f->fetch)
		return next_issuer_place(f);
	if (!oauth_fetch_over(f->fetch))
		return AUTH_WAIT;
	if (take_document(f, &document) < 0)
		return auth_fail(f);
	if (!document.p)
		return next_issuer_place(f);
	const char *wanted = f->has_resource && !f->server->oauth.metadata_url ? f->resource.issuer : NULL;
	int rc = oauth_issuer_read(&f->arena, document, wanted, f->loopback_allowed, &f->issuer, &f->err);
	if (rc == -ERR_PARSE)
		return next_issuer_place(f);
	if (rc < 0) {
		err_wrap(&f->err, "%.100s", f->places.urls[f->place - 1]);
		return auth_fail(f);
	}
	return auth_go(f, AUTH_CLIENT);
}
