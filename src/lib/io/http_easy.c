/* SPDX-License-Identifier: MIT
 * http_easy.c - curl's view of a request: the options of its easy handle and the callbacks that feed and
 * drain it. A callback records what it saw; it never ends the request, because curl is in the middle of it. */
#include "lib/io/http_int.h"
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include "lib/io/address.h"

/* An idle transfer should cost little, and an answer is text at reading speed: small buffers do. */
enum { READ_BUFFER_BYTES = 2048, SEND_BUFFER_BYTES = 16 << 10, HEADER_LIMIT_BYTES = 256 << 10 };

/* While few transfers are active, larger send buffers cost little: a turn that sends 340 KB then takes 0.30 ms of CPU
 * instead of 0.39. Still larger ones leave the first cache and gain nothing. */
enum { FEW_TRANSFERS = 16, WIDE_SEND_BUFFER_BYTES = 32 << 10 };

static void take_header(struct http_req *r, struct str line)
{
	struct str value = line;

	if (str_starts(line, STR("HTTP/"))) {
		uint64_t status = 0;
		str_cut(&value, ' ');
		if (value.n >= 3)
			(void)str_to_u64((struct str){ value.p, 3 }, &status);
		r->status = (int)status;
		r->is_interim = r->status < 200;
	} else if (r->is_interim) {
		return;
	} else if (!line.n) {
		r->head_seen = true;
		if (r->handlers.on_head)
			r->handlers.on_head(r, r->status);
	} else if (r->handlers.on_header) {
		struct str name = str_cut(&value, ':');
		if (value.p)
			r->handlers.on_header(r, name, str_trim(value));
	}
}

static size_t on_header(char *p, size_t one, size_t n, void *req)
{
	struct http_req *r = req;

	http_req_touch(r);
	r->header_bytes += n;
	if (r->header_bytes > HEADER_LIMIT_BYTES)
		http_req_fail(r, HTTP_TOO_LARGE, "the headers of the answer have more than %d bytes",
			      HEADER_LIMIT_BYTES);
	if (r->failure)
		return 0;
	size_t line_len = n;
	if (line_len && p[line_len - 1] == '\n')
		line_len--;
	if (line_len && p[line_len - 1] == '\r')
		line_len--;
	if (!r->head_seen) /* headers after the body are trailers */
		take_header(r, (struct str){ p, line_len });
	return n;
}

static size_t on_write(char *p, size_t one, size_t n, void *req)
{
	struct http_req *r = req;

	http_req_touch(r);
	if (r->failure)
		return 0;
	if (r->paused) {
		r->held = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	r->answer_bytes += n;
	if (r->answer_bytes > r->limit_bytes) {
		http_req_fail(r, HTTP_TOO_LARGE, "the answer has more than %" PRIu64 " bytes", r->limit_bytes);
		return 0;
	}
	if (!r->handlers.on_data)
		buf_add(r->answer, p, n);
	else if (n && !r->handlers.on_data(r, p, n))
		http_req_fail(r, HTTP_CANCELLED, "cancelled by the reader of the answer");
	return r->failure ? 0 : n;
}

static size_t on_read(char *out, size_t one, size_t room, void *req)
{
	struct http_req *r = req;
	uint64_t left = r->body.size - r->body_sent;
	size_t n = MIN(room, left);

	http_req_touch(r);
	if (r->body_text)
		memcpy(out, r->body_text + r->body_sent, n);
	else if (n)
		n = r->body.read(r->body_data, out, n);
	r->body_sent += n;
	if (!n && left) {
		http_req_fail(r, HTTP_OTHER, "the body of the request is %" PRIu64 " bytes short", left);
		return CURL_READFUNC_ABORT;
	}
	return n;
}

/* After every step of the transfer; looks only for the end of the body. */
static int on_progress(void *req, curl_off_t total, curl_off_t received, curl_off_t body_total, curl_off_t body_out)
{
	struct http_req *r = req;

	if (!r->is_sent && r->body.size && (uint64_t)body_out >= r->body.size) {
		r->is_sent = true;
		loop_kick(r->http->loop, &r->kick);
	}
	return 0;
}

/* The send buffer is more than half of what an idle transfer costs, and curl keeps it until the end.
 * Setting its size drops it; curl makes a new one if it has to send again. */
void http_easy_trim(struct http_req *r)
{
	curl_easy_setopt(r->easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER_BYTES);
}

/* curl goes back to the first byte when an idle connection turns out to be dead. */
static int on_seek(void *req, curl_off_t offset, int origin)
{
	struct http_req *r = req;

	if (offset != 0 || origin != SEEK_SET || (r->body.size && !r->body.rewind && !r->body_text))
		return CURL_SEEKFUNC_FAIL;
	if (r->body.rewind)
		r->body.rewind(r->body_data);
	r->body_sent = 0;
	r->is_sent = r->is_trimmed = false;
	return CURL_SEEKFUNC_OK;
}

static int on_resolve(void *resolver, void *reserved, void *req)
{
	((struct http_req *)req)->looked_up = true;
	return 0;
}

/* A socket is opened: the address is known. */
static int on_socket_opened(void *req, curl_socket_t fd, curlsocktype purpose)
{
	http_host_ready(req);
	return CURL_SOCKOPT_OK;
}

static bool is_refused(struct http_req *r, enum address_kind kind)
{
	if (r->is_proxied || !(kind & r->refused))
		return false;
	http_req_fail(r, HTTP_DENIED, "the host resolves to %s", address_kind_name(kind));
	return true;
}

/* Checks the address at the connect, so that a second resolution cannot change it (DNS rebinding). */
static curl_socket_t on_open_socket(void *req, curlsocktype purpose, struct curl_sockaddr *address)
{
	if (is_refused(req, address_kind(&address->addr)))
		return CURL_SOCKET_BAD;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* A connection is chosen, new or idle; an idle one may come from a request that refused less. */
static int on_connected(void *req, char *ip, char *local_ip, int port, int local_port)
{
	http_host_ready(req);
	return is_refused(req, address_kind_of_host(str_from(ip))) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

enum http_error http_easy_error(CURLcode code)
{
	static const struct {
		CURLcode code;
		enum http_error error;
	} errors[] = {
		{ CURLE_OK, HTTP_OK },
		{ CURLE_COULDNT_CONNECT, HTTP_REFUSED },
		{ CURLE_COULDNT_RESOLVE_HOST, HTTP_RESOLVE },
		{ CURLE_COULDNT_RESOLVE_PROXY, HTTP_RESOLVE },
		{ CURLE_SSL_CONNECT_ERROR, HTTP_TLS },
		{ CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS },
		{ CURLE_SSL_CACERT_BADFILE, HTTP_TLS },
		{ CURLE_SSL_CERTPROBLEM, HTTP_TLS },
		{ CURLE_SSL_CIPHER, HTTP_TLS },
		{ CURLE_SSL_ISSUER_ERROR, HTTP_TLS },
		{ CURLE_PARTIAL_FILE, HTTP_RESET },
		{ CURLE_RECV_ERROR, HTTP_RESET },
		{ CURLE_SEND_ERROR, HTTP_RESET },
		{ CURLE_GOT_NOTHING, HTTP_RESET },
		{ CURLE_HTTP2, HTTP_RESET },
		{ CURLE_HTTP2_STREAM, HTTP_RESET },
		{ CURLE_UNRECOVERABLE_POLL, HTTP_RESET }, /* a reset that came while it was waited for */
		{ CURLE_OPERATION_TIMEDOUT, HTTP_STALLED },
		{ CURLE_OUT_OF_MEMORY, HTTP_TOO_LARGE }, /* a header line above curl's own limit of 100 KB */
	};

	for (size_t i = 0; i < COUNT_OF(errors); i++)
		if (errors[i].code == code)
			return errors[i].error;
	return HTTP_OTHER;
}

static int load_certificates(X509_STORE *store, const char *path, struct err *err)
{
	ERR_clear_error();
	if (X509_STORE_load_file(store, path) == 1)
		return 0;
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());
	err_set(err, ERR_IO, "cannot load the certificates of %s: %s", path, reason ? reason : "none found");
	ERR_clear_error();
	return -ERR_IO;
}

/* Left alone, libcurl reads and parses the whole bundle for every connection, which costs more than the request. The
 * store is loaded with the first https request and lent to each connection's SSL_CTX. */
int http_tls_load(struct http *h, struct err *err)
{
	/* The option, then the variables that curl and OpenSSL users know, then what libcurl was built with. */
	const char *const candidates[] = {
		h->ca_file,
		getenv("CURL_CA_BUNDLE"),
		getenv("SSL_CERT_FILE"),
		curl_version_info(CURLVERSION_NOW)->cainfo,
		X509_get_default_cert_file(),
	};
	size_t i = 0;

	if (h->store)
		return 0;
	while (i < COUNT_OF(candidates) - 1 && (!candidates[i] || !candidates[i][0]))
		i++;
	X509_STORE *store = X509_STORE_new();
	if (!store)
		base_oom(0);
	int rc = load_certificates(store, candidates[i], err);
	if (rc < 0) {
		X509_STORE_free(store);
		return rc;
	}
	const char *extra = getenv("NODE_EXTRA_CA_CERTS");
	if (extra && extra[0])
		(void)load_certificates(store, extra, NULL); /* node ignores a failure, too */
	/* As libcurl's own stores: a trusted intermediate certificate is enough. */
	X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
	h->store = store;
	return 0;
}

static CURLcode on_ssl_ctx(CURL *easy, void *ssl_ctx, void *http)
{
	SSL_CTX_set1_cert_store(ssl_ctx, ((struct http *)http)->store);
	return CURLE_OK;
}

static void set_connection(struct http_req *r)
{
	CURL *c = r->easy;
	bool few = r->http->active < FEW_TRANSFERS;

	curl_easy_setopt(c, CURLOPT_PRIVATE, r);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, r->curl_text);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_write);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(c, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
	curl_easy_setopt(c, CURLOPT_RESOLVER_START_DATA, r);
	curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, on_socket_opened);
	curl_easy_setopt(c, CURLOPT_SOCKOPTDATA, r);
	curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(c, CURLOPT_PREREQDATA, r);
	curl_easy_setopt(c, CURLOPT_SHARE, r->http->share);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L); /* or a cancelled request would wait for its resolver thread */
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_DNS_CACHE_TIMEOUT, (long)DNS_SECONDS);
	curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)READ_BUFFER_BYTES);
	curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, (long)(few ? WIDE_SEND_BUFFER_BYTES : SEND_BUFFER_BYTES));
	curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(c, CURLOPT_USERAGENT, r->http->user_agent);
	if (!r->is_https) {
		/* Nothing is negotiated in plain text: transfers would wait for the first answer to learn it. */
		curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
		return;
	}
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(c, CURLOPT_PIPEWAIT, 1L); /* one handshake tells whether all can share the connection */
	curl_easy_setopt(c, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	if (r->http->client_cert)
		curl_easy_setopt(c, CURLOPT_SSLCERT, r->http->client_cert);
	if (r->http->client_key)
		curl_easy_setopt(c, CURLOPT_SSLKEY, r->http->client_key);
	if (r->http->client_key_password)
		curl_easy_setopt(c, CURLOPT_KEYPASSWD, r->http->client_key_password);
	curl_easy_setopt(c, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
	curl_easy_setopt(c, CURLOPT_SSL_CTX_DATA, r->http);
}

const char *http_proxy_variable(const char *url)
{
	static const char *const plain[] = { "http_proxy", "all_proxy", "ALL_PROXY", NULL };
	static const char *const tls[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL };

	for (const char *const *name = strncasecmp(url, "https:", 6) ? plain : tls; *name; name++) {
		const char *proxy = getenv(*name);
		if (proxy && proxy[0])
			return *name;
	}
	return NULL;
}

/* Where there is a proxy, all that is public goes through it, including no_proxy hosts: then every connection is either
 * to the proxy or to a checked address. */
static void set_refused(struct http_req *r)
{
	const char *variable = http_proxy_variable(r->is_https ? "https:" : "http:");

	if (variable) {
		r->is_proxied = true;
		curl_easy_setopt(r->easy, CURLOPT_PROXY, getenv(variable));
		curl_easy_setopt(r->easy, CURLOPT_NOPROXY, "");
		return;
	}
	curl_easy_setopt(r->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(r->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(r->easy, CURLOPT_OPENSOCKETDATA, r);
}

static void add_header(struct http_req *r, const char *header)
{
	struct curl_slist *longer = curl_slist_append(r->headers, header);

	if (!longer)
		base_oom(strlen(header));
	r->headers = longer;
}

static void free_urlp(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void free_partp(char **part)
{
	curl_free(*part);
}

static int set_url(struct http_req *r, const char *url, struct err *err)
{
	CLEANUP(free_urlp) CURLU *u = curl_url();
	CLEANUP(free_partp) char *scheme = NULL;
	CLEANUP(free_partp) char *name = NULL;
	CLEANUP(free_partp) char *port = NULL;

	if (!u)
		base_oom(0);
	CURLUcode code = curl_url_set(u, CURLUPART_URL, url, 0);
	if (code != CURLUE_OK)
		return err_set(err, ERR_USAGE, "%s: %s", url, curl_url_strerror(code));
	if (curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_HOST, &name, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
	    (strcmp(scheme, "http") && strcmp(scheme, "https")))
		return err_set(err, ERR_USAGE, "%s is not an http or https URL", url);
	enum address_kind kind = address_kind_of_host(str_from(name));
	if (kind & r->refused)
		return err_set(err, ERR_DENIED, "%s is %s", name, address_kind_name(kind));
	r->is_https = !strcmp(scheme, "https");
	r->host = http_host_get(r->http, name, port);
	curl_easy_setopt(r->easy, CURLOPT_URL, url);
	return 0;
}

int http_easy_init(struct http_req *r, const struct http_request *request, struct err *err)
{
	r->easy = curl_easy_init();
	if (!r->easy)
		base_oom(0);
	int rc = set_url(r, request->url, err);
	if (rc < 0)
		return rc;
	set_connection(r);
	if (r->refused)
		set_refused(r);
	if (request->direct)
		curl_easy_setopt(r->easy, CURLOPT_PROXY, "");
	const char *const *headers = request->headers;
	for (; headers && *headers; headers++)
		add_header(r, *headers);
	add_header(r, "Expect:"); /* no round trip before the body */
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
	/* A server that compresses all the same is understood. */
	curl_easy_setopt(r->easy, CURLOPT_ACCEPT_ENCODING, request->unpacks ? "gzip, deflate" : "identity");
	bool is_post = !strcmp(request->method, "POST");
	if (is_post || r->body.size) {
		CURL *c = r->easy;

		curl_easy_setopt(c, CURLOPT_POST, 1L);
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size);
		curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(c, CURLOPT_READDATA, r);
		curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(c, CURLOPT_SEEKDATA, r);
		curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
		curl_easy_setopt(c, CURLOPT_XFERINFODATA, r);
		curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	} else if (!strcmp(request->method, "HEAD"))
		curl_easy_setopt(r->easy, CURLOPT_NOBODY, 1L);
	if (!is_post)
		curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, request->method);
	return 0;
}
