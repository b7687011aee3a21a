/* SPDX-License-Identifier: MIT
 * http.h - HTTP client: curl multi on the loop, in shards of about 100 transfers (docs/internals/http.md).
 *
 * A request's body is pulled, never built in memory: `body.read` copies the next bytes, `body.size` is known before the
 * start, `body.rewind` restarts it for a retry on a new connection. The easy handle lives only during the request, so
 * an agent that runs tools holds no transfer. */
#pragma once
#include "lib/base/buf.h"
#include "lib/io/loop.h"

struct http; /* the client: shards, connections, the shared CA store */
struct http_req;

struct http_options {
	size_t shard_size;   /* 0: 100, the streams that HTTP/2 servers commonly allow on one connection */
	unsigned uploads;    /* large bodies on their way to a host at a time, the others wait; 0: 64 */
	const char *ca_file; /* NULL: system bundle; SSL_CERT_FILE, CURL_CA_BUNDLE, NODE_EXTRA_CA_CERTS honoured */
	const char *user_agent;
	const char *client_cert, *client_key,
		*client_key_password; /* files of PEM, and what opens the key; NULL: none */
};

struct http_body {
	uint64_t size;
	size_t (*read)(void *data, char *out, size_t room); /* 0 at the end */
	void (*rewind)(void *data);
};

/* Transport errors */
enum http_error {
	HTTP_OK = 0,
	HTTP_REFUSED,   /* could not connect */
	HTTP_RESOLVE,   /* no such host: no immediate retry */
	HTTP_TLS,       /* certificate or handshake */
	HTTP_RESET,     /* connection lost before the end of the answer (a cut stream) */
	HTTP_STALLED,   /* no byte for stall_ms */
	HTTP_LATE,      /* not over within limit_ms */
	HTTP_TOO_LARGE, /* answer above limit_bytes */
	HTTP_DENIED,    /* the request refuses this kind of address */
	HTTP_CANCELLED,
	HTTP_OTHER,
};

/* All callbacks come from the loop, never from inside http_start or http_cancel. Slices are borrowed until return. */
struct http_handlers {
	/* Once, when status and headers of the final answer are there (before the first on_data). May be NULL. */
	void (*on_head)(struct http_req *r, int status);
	/* Every answer header, before on_head; name as sent. May be NULL. */
	void (*on_header)(struct http_req *r, struct str name, struct str value);
	/* Return false to end the transfer; on_done then comes with HTTP_CANCELLED. NULL: request->answer gets the bytes. */
	bool (*on_data)(struct http_req *r, const char *p, size_t n);
	/* Exactly once, the last callback; the request is freed after it returns. text explains an error. */
	void (*on_done)(struct http_req *r, enum http_error error, const char *text);
};

/* Everything is borrowed until http_start returns, but body.read's data */
struct http_request {
	const char *method; /* "GET", "POST" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	struct http_body body;
	void *body_data; /* given to read and rewind; must live until on_done */
	struct str text; /* the body in memory, instead of those; must live until on_done */
	unsigned shard;  /* a query keeps its shard number; see http_pick_shard */
	uint64_t
		stall_ms; /* time without a byte, also before the head; 0: 120,000. Waiting for other uploads does not count. */
	uint64_t limit_ms;    /* for the whole request; 0: none */
	uint64_t limit_bytes; /* of the decompressed answer; 0: 256 MB */
	struct buf *answer;   /* appended to if there is no on_data; must live until on_done */
	bool unpacks;         /* accept compression; on_data gets decompressed bytes */
	/* Kinds of addresses (address.h) that are refused after name resolution; 0: none. Behind a proxy only the
	 * literal host is checked, because the proxy resolves names. */
	unsigned refused;
	bool direct; /* past every proxy */
};

/* Initialises OpenSSL on a thread, which the caller joins before the program ends. It takes as long as the rest of a
 * short run's start and needs nothing of it; a request that comes before its end waits. False: no thread, and the
 * first request does it. */
bool http_prepare(uv_thread_t *ret_thread);
struct http *http_new(struct loop *loop, const struct http_options *options);
void http_free(struct http *h); /* closes idle connections; runs no callbacks; no request may be active */
/* The variable with the proxy for an address, as libcurl takes it (no HTTP_PROXY, which a CGI request could set); NULL: there is none.
 * NO_PROXY may leave its host out. */
const char *http_proxy_variable(const char *url);
unsigned http_pick_shard(struct http *h); /* never 0, so that 0 can mean: none picked yet */
int http_start(struct http *h, const struct http_request *request, const struct http_handlers *handlers, void *data,
	       struct http_req **ret_req, struct err *err);
/* One request, until its end: the loop runs meanwhile. ret_location, if not NULL, is the header of a redirect.
 * -ERR_LIMIT: the answer is too large. */
int http_ask(struct http *h, const struct http_request *request, int *ret_status, struct buf *ret_location,
	     struct err *err);
void http_cancel(struct http_req *r);         /* on_done comes later with HTTP_CANCELLED */
void http_pause(struct http_req *r, bool on); /* back-pressure: no on_data and no stall timeout while paused */
void *http_data(struct http_req *r);
int http_status(const struct http_req *r); /* 0: no answer yet */
