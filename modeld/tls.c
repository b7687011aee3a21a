/* SPDX-License-Identifier: MIT
 * tls.c - OpenSSL over a pair of memory BIOs. */
#include "tls.h"
#include <openssl/err.h>
#include <openssl/ssl.h>

struct tls_server {
	SSL_CTX *ctx;
};

struct tls {
	SSL *ssl;
	BIO *in, *out; /* owned by ssl */
};

static int tls_file_error(struct err *err, const char *what, const char *file)
{
	char text[160];

	ERR_error_string_n(ERR_get_error(), text, sizeof text);
	ERR_clear_error();
	return err_set(err, ERR_USAGE, "cannot use the %s %s: %s", what, file, text);
}

int tls_server_new(const char *cert_file, const char *key_file, struct tls_server **ret_server, struct err *err)
{
	struct tls_server *s = xcalloc(1, sizeof *s);
	int rc = 0;

	s->ctx = SSL_CTX_new(TLS_server_method());
	if (!s->ctx)
		base_oom(0);
	SSL_CTX_set_mode(s->ctx, SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_use_certificate_chain_file(s->ctx, cert_file) != 1)
		rc = tls_file_error(err, "certificate", cert_file);
	else if (SSL_CTX_use_PrivateKey_file(s->ctx, key_file, SSL_FILETYPE_PEM) != 1)
		rc = tls_file_error(err, "key", key_file);
	if (rc < 0) {
		tls_server_free(s);
		return rc;
	}
	*ret_server = s;
	return 0;
}

void tls_server_free(struct tls_server *s)
{
	if (!s)
		return;
	SSL_CTX_free(s->ctx);
	free(s);
}

struct tls *tls_new(struct tls_server *s)
{
	struct tls *t = xcalloc(1, sizeof *t);

	t->ssl = SSL_new(s->ctx);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (!t->ssl || !t->in || !t->out)
		base_oom(0);
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	free(t);
}

static void tls_drain(struct tls *t, struct buf *out)
{
	char *p;
	long n = BIO_get_mem_data(t->out, &p);

	if (n > 0)
		buf_add(out, p, (size_t)n);
	(void)BIO_reset(t->out);
}

int tls_open(struct tls *t, const char *p, size_t n, struct buf *plain, struct buf *out)
{
	char chunk[16384];
	int got = 0;

	if (BIO_write(t->in, p, (int)n) != (int)n)
		return -1;
	while ((got = SSL_read(t->ssl, chunk, sizeof chunk)) > 0)
		buf_add(plain, chunk, (size_t)got);
	int reason = SSL_get_error(t->ssl, got);
	ERR_clear_error();
	tls_drain(t, out);
	return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

int tls_seal(struct tls *t, struct str plain, struct buf *out)
{
	int rc = plain.n ? SSL_write(t->ssl, plain.p, (int)plain.n) : 1;

	ERR_clear_error();
	tls_drain(t, out);
	return rc > 0 ? 0 : -1;
}
