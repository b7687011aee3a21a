/* SPDX-License-Identifier: MIT
 * url.c - URLs, parsed by curl. */
#include "lib/io/url.h"
#include <curl/curl.h>
#include "lib/io/address.h"

static void free_urlp(CURLU **url)
{
	curl_url_cleanup(*url);
}
#define AUTO_URL CLEANUP(free_urlp)

static CURLU *url_handle(void)
{
	CURLU *u = curl_url();

	if (!u)
		base_oom(0);
	return u;
}

/* NULL: the URL does not have it. */
static const char *url_part(struct arena *a, CURLU *u, CURLUPart which, unsigned flags)
{
	char *text = NULL;

	if (curl_url_get(u, which, &text, flags) != CURLUE_OK)
		return NULL;
	const char *copy = arena_strdup(a, text);
	curl_free(text);
	return copy;
}

static bool is_http(const char *scheme)
{
	return scheme && (!strcmp(scheme, "http") || !strcmp(scheme, "https"));
}

int url_parse(struct arena *a, const char *text, struct url *ret_url, struct err *err)
{
	AUTO_URL CURLU *u = url_handle();

	if (strlen(text) > URL_LIMIT_BYTES)
		return err_set(err, ERR_USAGE, "the address is longer than %d bytes", URL_LIMIT_BYTES);
	if (curl_url_set(u, CURLUPART_URL, text, 0) != CURLUE_OK)
		return err_set(err, ERR_USAGE, "not an http or https address");
	struct url url = {
		.scheme = url_part(a, u, CURLUPART_SCHEME, 0),
		.host = url_part(a, u, CURLUPART_HOST, 0),
		.port = url_part(a, u, CURLUPART_PORT, CURLU_DEFAULT_PORT),
		.path = url_part(a, u, CURLUPART_PATH, 0),
		.usual_port = !url_part(a, u, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT),
		.has_user = url_part(a, u, CURLUPART_USER, 0) || url_part(a, u, CURLUPART_PASSWORD, 0),
		.has_fragment = url_part(a, u, CURLUPART_FRAGMENT, 0) != NULL,
	};
	curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
	url.text = url_part(a, u, CURLUPART_URL, 0);
	if (!is_http(url.scheme) || !url.host || !url.port || !url.path || !url.text)
		return err_set(err, ERR_USAGE, "not an http or https address");
	*ret_url = url;
	return 0;
}

bool url_is_loopback(const char *text)
{
	AUTO_ARENA struct arena a = { 0 };
	struct url u;

	return url_parse(&a, text, &u, NULL) == 0 && address_kind_of_host(str_from(u.host)) == ADDRESS_LOOPBACK;
}

const char *url_resolve(struct arena *a, const char *base, const char *link)
{
	AUTO_URL CURLU *u = url_handle();

	if (strlen(link) > URL_LIMIT_BYTES || curl_url_set(u, CURLUPART_URL, base, 0) != CURLUE_OK ||
	    curl_url_set(u, CURLUPART_URL, link, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
		return NULL;
	return is_http(url_part(a, u, CURLUPART_SCHEME, 0)) ? url_part(a, u, CURLUPART_URL, 0) : NULL;
}

int url_to_https(struct arena *a, struct url *url, struct err *err)
{
	AUTO_URL CURLU *u = url_handle();

	if (!strcmp(url->scheme, "https") || curl_url_set(u, CURLUPART_URL, url->text, 0) != CURLUE_OK)
		return 0;
	if (url->usual_port)
		curl_url_set(u, CURLUPART_PORT, NULL, 0);
	curl_url_set(u, CURLUPART_SCHEME, "https", 0);
	return url_parse(a, url_part(a, u, CURLUPART_URL, 0), url, err);
}
