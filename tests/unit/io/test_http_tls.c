/* SPDX-License-Identifier: MIT
 * test_http_tls.c - https: whom the client trusts, and that the store is loaded once. */
#include "test_io.h"
#include <sys/mman.h>
#include <openssl/pem.h>
#include "http_client.h"
#include "http_server.h"
#include "unit.h"
#include "lib/io/http_int.h"

/* A server with a certificate of its own, and the certificate as a file in memory. */
struct site {
	struct server *server;
	int fd;
	char ca_file[64];
};

/* Every request needs a connection of its own. */
static void serve_once(struct peer *p)
{
	peer_request(p);
	peer_send(p, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
}

static const char *const variables[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS" };

static void site_init(struct site *site, const char *name)
{
	X509 *cert;
	EVP_PKEY *key;
	server_make_certificate(name, &cert, &key);
	SSL_CTX *tls = server_tls_new(cert, key);

	site->fd = memfd_create("ca", MFD_CLOEXEC);
	snprintf(site->ca_file, sizeof site->ca_file, "/proc/self/fd/%d", site->fd);
	FILE *f = fopen(site->ca_file, "w");
	CHECK_INT(PEM_write_X509(f, cert), 1);
	fclose(f);
	site->server = server_start(serve_once, NULL, tls);
	SSL_CTX_free(tls);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void site_release(struct site *site)
{
	server_stop(site->server);
	close(site->fd);
}

TEST(a_server_whose_certificate_is_in_the_ca_file_is_trusted)
{
	struct site site;
	site_init(&site, "localhost");
	struct http_request request = fetch_get(server_url(site.server));
	struct fetch f = { 0 };

	fetch_once(&f, &request, &(struct http_options){ .ca_file = site.ca_file });

	CHECK_CSTR(f.text, "");
	CHECK_INT(f.error, HTTP_OK);
	CHECK_STR(buf_str(&f.pieces), "[hello]");
	site_release(&site);
	fetch_release(&f);
}

TEST(certificates_named_by_the_environment_are_trusted)
{
	struct site site, other;
	site_init(&site, "localhost");
	site_init(&other, "elsewhere");

	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		struct http_request request = fetch_get(server_url(site.server));
		struct fetch f = { 0 };
		bool is_extra = i == 2; /* joins the bundle, does not take its place */
		setenv(variables[i], site.ca_file, 1);
		fetch_once(&f, &request, &(struct http_options){ .ca_file = is_extra ? other.ca_file : NULL });
		unsetenv(variables[i]);
		CHECK_INT(f.error, HTTP_OK);
		fetch_release(&f);
	}

	site_release(&site);
	site_release(&other);
}

TEST(a_server_that_cannot_be_trusted_is_a_tls_error)
{
	struct site site, other;
	site_init(&site, "localhost");
	site_init(&other, "localhost");
	char by_address[64];
	snprintf(by_address, sizeof by_address, "https://127.0.0.1:%u/", server_port(site.server));
	const struct {
		const char *url, *ca_file, *text;
	} table[] = {
		{ server_url(site.server), other.ca_file, "SSL certificate problem" },
		{ by_address, site.ca_file, "127.0.0.1" },
		{ server_url(site.server), "/nonexistent/ca.pem",
		  "cannot load the certificates of /nonexistent/ca.pem" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct http_request request = fetch_get(table[i].url);
		struct fetch f = { 0 };
		fetch_once(&f, &request, &(struct http_options){ .ca_file = table[i].ca_file });
		CHECK_INT(f.error, HTTP_TLS);
		CHECK(strstr(f.text, table[i].text));
		CHECK_INT(f.heads, 0);
		fetch_release(&f);
	}

	site_release(&site);
	site_release(&other);
}

TEST(the_store_is_loaded_by_the_first_request_and_serves_all_later_ones)
{
	enum { COUNT = 20 };
	struct site site;
	site_init(&site, "localhost");
	struct http_request request = fetch_get(server_url(site.server));
	struct loop *loop = loop_new(0);
	struct http *h = http_new(loop, &(struct http_options){ .ca_file = site.ca_file });
	struct fetch first = { 0 }, later[COUNT] = { 0 };

	fetch_start(&first, h, &request);
	CHECK(!h->store);
	loop_run(loop);
	CHECK_INT(first.error, HTTP_OK);
	CHECK_INT(ftruncate(site.fd, 0), 0);
	for (size_t i = 0; i < COUNT; i++)
		fetch_start(&later[i], h, &request);
	loop_run(loop);

	for (size_t i = 0; i < COUNT; i++) {
		CHECK_INT(later[i].error, HTTP_OK);
		fetch_release(&later[i]);
	}
	CHECK_INT(server_connections(site.server), 1 + COUNT);
	fetch_release(&first);
	http_free(h);
	loop_free(loop);
	site_release(&site);
}

int test_http_tls(void)
{
	for (size_t i = 0; i < COUNT_OF(variables); i++)
		unsetenv(variables[i]);
	return RUN_TESTS(T(a_server_whose_certificate_is_in_the_ca_file_is_trusted),
			 T(certificates_named_by_the_environment_are_trusted),
			 T(a_server_that_cannot_be_trusted_is_a_tls_error),
			 T(the_store_is_loaded_by_the_first_request_and_serves_all_later_ones));
}
