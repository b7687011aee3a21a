/* SPDX-License-Identifier: MIT
 * http_server.c - the blocking test server. Its own failures abort: cmocka cannot report from a thread. */
#include "http_server.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <openssl/x509v3.h>

enum { MAX_PEERS = 1024, STACK_BYTES = 256 << 10 };

struct server {
	serve_fn *serve;
	void *data;
	SSL_CTX *tls;
	int fd;
	unsigned port;
	char url[64];
	pthread_t acceptor;
	pthread_t threads[MAX_PEERS];
	atomic_uint count;
};

static void must(bool ok)
{
	if (!ok) {
		perror("test server");
		abort();
	}
}

static ssize_t peer_read(struct peer *p, char *out, size_t room)
{
	return p->ssl ? SSL_read(p->ssl, out, (int)room) : read(p->fd, out, room);
}

void peer_send_n(struct peer *p, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = p->ssl ? SSL_write(p->ssl, bytes, (int)n) : send(p->fd, bytes, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return; /* the client has gone, which some tests want */
		bytes += sent;
		n -= (size_t)sent;
	}
}

void peer_send(struct peer *p, const char *text)
{
	peer_send_n(p, text, strlen(text));
}

void peer_answer(struct peer *p, const char *body)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
	peer_send_n(p, b.p, b.n);
}

static bool read_more(struct peer *p)
{
	char chunk[16384];
	ssize_t n = peer_read(p, chunk, sizeof chunk);

	if (n <= 0)
		return false;
	buf_add(&p->rest, chunk, (size_t)n);
	return true;
}

static void move(struct buf *to, struct buf *from, size_t n)
{
	buf_clear(to);
	buf_add(to, from->p, n);
	buf_drop(from, n);
}

bool peer_request(struct peer *p)
{
	const char *end;

	while (!p->rest.n || !(end = strstr(p->rest.p, "\r\n\r\n")))
		if (!read_more(p))
			return false;
	move(&p->head, &p->rest, (size_t)(end - p->rest.p) + 4);
	const char *length = strcasestr(p->head.p, "content-length:");
	size_t n = length ? strtoul(length + 15, NULL, 10) : 0;
	while (p->rest.n < n)
		if (!read_more(p))
			return false;
	move(&p->body, &p->rest, n);
	return true;
}

void peer_serve_hello(struct peer *p)
{
	while (peer_request(p))
		peer_answer(p, "hello");
}

void peer_wait_gone(struct peer *p)
{
	while (read_more(p))
		buf_clear(&p->rest);
}

void peer_reset(struct peer *p)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static void *peer_thread(void *peer)
{
	struct peer *p = peer;
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE); /* SSL_write to a client that has gone */
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	if (p->server->tls) {
		p->ssl = SSL_new(p->server->tls);
		SSL_set_fd(p->ssl, p->fd);
	}
	if (!p->ssl || SSL_accept(p->ssl) == 1)
		p->server->serve(p);
	SSL_free(p->ssl);
	close(p->fd);
	buf_release(&p->head);
	buf_release(&p->body);
	buf_release(&p->rest);
	free(p);
	return NULL;
}

static void *accept_thread(void *server)
{
	struct server *s = server;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int fd; (fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
		unsigned number = s->count + 1;
		struct peer *p = xcalloc(1, sizeof *p);
		*p = (struct peer){ .server = s, .data = s->data, .number = number, .fd = fd };
		must(number <= MAX_PEERS && !pthread_create(&s->threads[number - 1], &attr, peer_thread, p));
		s->count = number;
	}
	pthread_attr_destroy(&attr);
	return NULL;
}

struct server *server_start(serve_fn *serve, void *data, SSL_CTX *tls)
{
	struct server *s = xcalloc(1, sizeof *s);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;

	s->serve = serve;
	s->data = data;
	s->tls = tls;
	if (tls)
		SSL_CTX_up_ref(tls);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(s->fd >= 0 && !bind(s->fd, (struct sockaddr *)&at, sizeof at) && !listen(s->fd, 512));
	must(!getsockname(s->fd, (struct sockaddr *)&at, &n));
	s->port = ntohs(at.sin_port);
	snprintf(s->url, sizeof s->url, tls ? "https://localhost:%u/" : "http://127.0.0.1:%u/", s->port);
	must(!pthread_create(&s->acceptor, NULL, accept_thread, s));
	return s;
}

const char *server_url(const struct server *s)
{
	return s->url;
}

unsigned server_port(const struct server *s)
{
	return s->port;
}

unsigned server_connections(struct server *s)
{
	return s->count;
}

void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->acceptor, NULL);
	for (unsigned i = 0; i < s->count; i++)
		pthread_join(s->threads[i], NULL);
	close(s->fd);
	SSL_CTX_free(s->tls);
	free(s);
}

void server_make_certificate(const char *name, X509 **ret_cert, EVP_PKEY **ret_key)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);
	AUTO_BUF struct buf alt = { 0 };

	buf_addf(&alt, "DNS:%s", name);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alt.p);
	must(key && cert && extension);
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	X509_add_ext(cert, extension, -1);
	X509_set_pubkey(cert, key);
	must(X509_sign(cert, key, EVP_sha256()) > 0);
	X509_EXTENSION_free(extension);
	*ret_cert = cert;
	*ret_key = key;
}

SSL_CTX *server_tls_new(X509 *cert, EVP_PKEY *key)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	must(ctx && SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
	return ctx;
}
