/* SPDX-License-Identifier: MIT
 * http_int.h - inside of the HTTP client: what http.c (life of a request, curl multi on the loop), http_easy.c (curl's
 * view of a request) and http_host.c (name resolution) share. */
#pragma once
#include "lib/io/http.h"
#include <curl/curl.h>
#include <openssl/x509_vfy.h>
#include "lib/base/buf.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"

/* curl caches a name for DNS_SECONDS. We rely on it a little shorter, so that no request of a fan-out finds it
 * expired. */
enum { DNS_SECONDS = 300, DNS_TRUST_MS = (DNS_SECONDS - 5) * 1000 };

struct http_shard {
	struct http *http; /* borrowed */
	CURLM *multi;
	struct timer timer; /* when curl wants to be called again */
	size_t active;      /* transfers in multi */
};

/* Requests that wait, first in first out */
struct http_queue {
	struct http_req *first, **last;
};

/* One name or address, and port; lives as long as the client */
struct http_host {
	bool is_address;            /* nothing is looked up */
	struct http_req *leader;    /* the resolving request, or NULL */
	struct http_queue for_name; /* they wait for the leader */
	uint64_t fresh_until_ms;    /* until then curl has the address: no request waits */
	unsigned uploads;           /* large bodies that are being sent */
	struct http_queue to_send;  /* they wait until one of those is sent */
};

struct http {
	struct loop *loop; /* borrowed */
	size_t shard_size;
	unsigned most_uploads; /* to a host */
	struct arena arena;    /* holds these */
	const char *ca_file, *user_agent, *client_cert, *client_key, *client_key_password;
	bool is_open;      /* curl is initialised (with the first request) */
	CURLSH *share;     /* names and TLS sessions of all shards */
	X509_STORE *store; /* trusted certificates; NULL before the first https request */
	struct http_shard **shards;
	size_t shard_count;
	size_t in_shards; /* transfers in all of them */
	size_t active;    /* requests between http_start and the return of on_done */
	unsigned next_shard;
	struct map hosts; /* "name:port" to struct http_host */
};

enum req_state {
	REQ_START,       /* its first step is queued */
	REQ_WAIT_UPLOAD, /* in the queue to_send of its host, or kicked by it */
	REQ_WAIT_NAME,   /* in the queue for_name of its host, or kicked by it */
	REQ_RUN,         /* in a shard */
	REQ_END,         /* on_done is being called */
};

struct http_req {
	struct http *http; /* borrowed */
	struct http_handlers handlers;
	void *data;
	enum req_state state;
	struct kick kick;
	CURL *easy;
	struct curl_slist *headers;
	struct http_shard *shard; /* borrowed; while in REQ_RUN */
	unsigned shard_number;

	struct http_host *host;        /* borrowed */
	struct http_queue *queue;      /* of the host, that it waits in; NULL: none */
	struct http_req *next, **prev; /* in the queue */
	bool looked_up;                /* curl asked the resolver for it */
	bool uploads;                  /* counted in host->uploads */

	struct http_body body;
	void *body_data;
	const char *body_text; /* borrowed; NULL: body.read */
	uint64_t body_sent;    /* given to curl */
	bool is_sent;          /* completely sent: curl's buffer is empty */
	bool is_trimmed;       /* and was dropped */

	bool is_https;
	bool is_proxied;  /* with refused addresses: the connection is to a proxy */
	unsigned refused; /* kinds of addresses */
	bool is_interim;  /* receiving the headers of a 1xx response */
	bool head_seen;
	bool paused; /* by http_pause */
	bool held;   /* curl has stopped reading */
	int status;
	size_t header_bytes;
	uint64_t answer_bytes, limit_bytes;
	struct buf *answer; /* borrowed */

	struct timer stall;
	uint64_t stall_ms, last_byte_ms;
	uint64_t late_ms; /* the end of limit_ms */

	enum http_error failure; /* recorded by a callback or http_cancel; overrides curl's result */
	char failure_text[128];
	char curl_text[CURL_ERROR_SIZE];
};

/* http.c */
/* Records the end of r and kicks; the first reason wins. */
void http_req_fail(struct http_req *r, enum http_error error, const char *fmt, ...) printf_like(3, 4);
static inline void http_req_touch(struct http_req *r) /* a byte was sent or received */
{
	r->last_byte_ms = loop_now_ms(r->http->loop);
}

/* http_easy.c */
int http_easy_init(struct http_req *r, const struct http_request *request, struct err *err);
void http_easy_trim(struct http_req *r); /* drops curl's send buffer; only when is_sent */
enum http_error http_easy_error(CURLcode code);
int http_tls_load(struct http *h, struct err *err); /* the CA store, once */

/* http_host.c */
struct http_host *http_host_get(struct http *h, const char *name, const char *port); /* borrowed, lives as long as h */
/* True: proceed; false: queued, kicked later. The upload comes first: who leads a look-up must not wait for it. */
bool http_host_enter_upload(struct http_req *r);
bool http_host_enter(struct http_req *r);
void http_host_ready(struct http_req *r); /* r has a connection, or the address to open one */
void http_host_sent(struct http_req *r);  /* the body of r is out */
void http_host_leave(struct http_req *r, enum http_error error, const char *text); /* r ends */
void http_host_free_all(struct http *h);
