/* SPDX-License-Identifier: MIT
 * download.c - one file over http, on a loop of its own. */
#include "defs/plugin/fetch.h"
#include "lib/io/address.h"
#include "lib/io/http.h"
#include "lib/io/url.h"

enum { MOST_REDIRECTS = 5 };

static int transfer_run(struct http *h, const char *url, size_t limit_bytes, struct buf *out, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf location = { 0 };
	size_t from = out->n;
	int status;

	for (unsigned i = 0;; i++) {
		struct http_request request = {
			.method = "GET", .url = url, .limit_bytes = limit_bytes, .answer = out
		};
		struct url u;
		if (url_parse(&a, url, &u, err) < 0 ||
		    (strcmp(u.scheme, "https") != 0 && address_kind_of_host(str_from(u.host)) != ADDRESS_LOOPBACK))
			return err_set(err, ERR_USAGE, "not an https URL: %.120s", url);
		out->n = from;
		buf_clear(&location);
		int rc = http_ask(h, &request, &status, &location, err);
		if (rc < 0)
			return rc == -ERR_LIMIT ? err_set(err, ERR_LIMIT, "is too large") : rc;
		bool redirected = status >= 301 && status <= 308 && status != 304 && location.n;
		if (!redirected || i == MOST_REDIRECTS)
			break;
		const char *next = url_resolve(&a, url, location.p);
		url = next ? next : arena_strdup(&a, location.p);
	}
	if (status != 200)
		return err_set(err, status == 404 ? ERR_NOT_FOUND : ERR_IO, "the server answered with status %d",
			       status);
	return 0;
}

int download(const char *url, size_t limit_bytes, struct buf *out, struct err *err)
{
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION });
	int status = transfer_run(h, url, limit_bytes, out, err);

	http_free(h);
	loop_run(loop); /* lets closing handles close */
	loop_free(loop);
	return status;
}
