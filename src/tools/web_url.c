/* SPDX-License-Identifier: MIT
 * web_url.c - addresses of pages. */
#include "tools/web_url.h"
#include <curl/curl.h>
#include "io/address.h"
#include "permission/host_rule.h"

enum { URL_LIMIT_BYTES = 4096 };

static void free_urlp(CURLU **url)
{
	curl_url_cleanup(*url);
}
#define AUTO_URL CLEANUP(free_urlp)

static CURLU *new_url(void)
{
	CURLU *u = curl_url();

	if (!u)
		base_oom(0);
	return u;
}

/* NULL: the address does not have it. */
static const char *part(struct arena *a, CURLU *u, CURLUPart which, unsigned flags)
{
	char *text = NULL;

	if (curl_url_get(u, which, &text, flags) != CURLUE_OK)
		return NULL;
	const char *copy = arena_strdup(a, text);
	curl_free(text);
	return copy;
}

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

static int take_parts(struct arena *a, CURLU *u, struct web_url *url, struct err *err)
{
	const char *scheme = part(a, u, CURLUPART_SCHEME, 0);
	const char *host = part(a, u, CURLUPART_HOST, 0);

	if (!scheme || !host || (strcmp(scheme, "http") && strcmp(scheme, "https")))
		return err_set(err, ERR_USAGE, "only http and https addresses can be fetched");
	if (part(a, u, CURLUPART_USER, 0) || part(a, u, CURLUPART_PASSWORD, 0))
		return err_set(err, ERR_USAGE, "an address with a user name is not fetched");
	curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
	*url = (struct web_url){
		.text = part(a, u, CURLUPART_URL, 0),
		.host = host_normal(a, str_from(host)).p,
		.port = part(a, u, CURLUPART_PORT, CURLU_DEFAULT_PORT),
		.https = !strcmp(scheme, "https"),
	};
	return 0;
}

int web_url_parse(struct arena *a, struct str text, struct web_url *ret_url, struct err *err)
{
	AUTO_URL CURLU *u = new_url();
	const char *copy = arena_dup(a, text.p, text.n);

	if (text.n > URL_LIMIT_BYTES)
		return err_set(err, ERR_USAGE, "the address is longer than %d bytes", URL_LIMIT_BYTES);
	if (strlen(copy) != text.n || curl_url_set(u, CURLUPART_URL, copy, 0) != CURLUE_OK)
		return err_set(err, ERR_USAGE, "'%.150s' is not an address", copy);
	struct web_url url;
	int rc = take_parts(a, u, &url, err);
	if (rc < 0)
		return rc;
	if (!str_is(host_of_url(a, text), url.host) || !is_ascii(url.host) || !url.text || !url.port)
		return err_set(err, ERR_USAGE, "write the host as '%.100s', in ASCII and without escapes", url.host);
	*ret_url = url;
	return 0;
}

void web_url_upgrade(struct arena *a, struct web_url *url)
{
	AUTO_URL CURLU *u = new_url();

	if (url->https || curl_url_set(u, CURLUPART_URL, url->text, 0) != CURLUE_OK)
		return;
	if (!strcmp(url->port, "80"))
		curl_url_set(u, CURLUPART_PORT, NULL, 0);
	curl_url_set(u, CURLUPART_SCHEME, "https", 0);
	url->text = part(a, u, CURLUPART_URL, 0);
	url->port = part(a, u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	url->https = true;
}

bool web_url_is_local(const struct web_url *url)
{
	static const char *const ends[] = { ".local", ".internal", ".intranet", ".lan", ".home.arpa" };
	struct str host = str_from(url->host);
	enum address_kind kind = address_kind_of_host(host);

	if (kind)
		return kind != ADDRESS_PUBLIC;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (str_ends(host, str_from(ends[i])))
			return true;
	return !strchr(url->host, '.');
}

const char *web_url_resolve(struct arena *a, const char *base, const char *link)
{
	AUTO_URL CURLU *u = new_url();

	if (strlen(link) > URL_LIMIT_BYTES || curl_url_set(u, CURLUPART_URL, base, 0) != CURLUE_OK ||
	    curl_url_set(u, CURLUPART_URL, link, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
		return NULL;
	const char *scheme = part(a, u, CURLUPART_SCHEME, 0);
	if (!scheme || (strcmp(scheme, "http") && strcmp(scheme, "https")))
		return NULL;
	return part(a, u, CURLUPART_URL, 0);
}
