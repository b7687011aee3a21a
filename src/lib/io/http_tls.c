/* SPDX-License-Identifier: MIT
 * http_tls.c - one store of trusted certificates for all connections.
 *
 * Left alone, libcurl reads and parses the whole bundle for every connection, which costs more than the
 * request. The store is loaded with the first https request and lent to each connection's SSL_CTX. */
#include "lib/io/http_int.h"
#include <openssl/err.h>
#include <openssl/ssl.h>

static int load_file(X509_STORE *store, const char *path, struct err *err)
{
	ERR_clear_error();
	if (X509_STORE_load_file(store, path) == 1)
		return 0;
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());
	err_set(err, ERR_IO, "cannot load the certificates of %s: %s", path, reason ? reason : "none found");
	ERR_clear_error();
	return -ERR_IO;
}

/* The option, then the variables that curl and OpenSSL users know, then what libcurl was built with. */
static const char *bundle_path(const struct http *h)
{
	const char *const candidates[] = {
		h->ca_file,
		getenv("CURL_CA_BUNDLE"),
		getenv("SSL_CERT_FILE"),
		curl_version_info(CURLVERSION_NOW)->cainfo,
	};

	for (size_t i = 0; i < COUNT_OF(candidates); i++)
		if (candidates[i] && candidates[i][0])
			return candidates[i];
	return X509_get_default_cert_file();
}

static void free_storep(X509_STORE **store)
{
	X509_STORE_free(*store);
}

int http_tls_load(struct http *h, struct err *err)
{
	if (h->store)
		return 0;
	CLEANUP(free_storep) X509_STORE *store = X509_STORE_new();
	if (!store)
		base_oom(0);
	int rc = load_file(store, bundle_path(h), err);
	if (rc < 0)
		return rc;
	const char *extra = getenv("NODE_EXTRA_CA_CERTS");
	if (extra && extra[0])
		(void)load_file(store, extra, NULL); /* node ignores it, too */
	/* As libcurl's own stores: a trusted intermediate certificate is enough. */
	X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
	h->store = TAKE(store);
	return 0;
}

CURLcode http_tls_attach(CURL *easy, void *ssl_ctx, void *http)
{
	struct http *h = http;

	SSL_CTX_set1_cert_store(ssl_ctx, h->store);
	return CURLE_OK;
}
