/* SPDX-License-Identifier: MIT
 * http_endpoint.h - an endpoint over HTTP, the wires that it may speak, and one request: wait for the credential, sign, send, read the
 * answer; once more after a refusal that taught something or forgot a credential (docs/internals/providers.md). */
#pragma once
#include "core/credential/credential.h"
#include "core/model/provider.h"
#include "lib/base/map.h"

enum { USUAL_STALL_MS = 300000, LOCAL_STALL_MS = 600000 }; /* a local model may still load */
enum { LARGEST_ANSWER = 64 << 20, LARGEST_ERROR_BODY = 64 << 10 };
enum { WIRE_MOST_HEADERS = 4 };

struct http_call;
struct model_quirks;
struct wire_form;

/* A difference of a server or model from its wire, by its name in settings */
struct wire_quirk {
	const char *name;
	unsigned bit;
};

/* How a request is written and an answer is read */
struct wire {
	const char *name;                        /* in settings: "chat" */
	const char *path;                        /* behind the base of the provider */
	const struct wire_quirk *quirks;         /* NULL-terminated; NULL: none */
	unsigned (*quirks_at)(const char *base); /* of all models of a host that is known; may be NULL */
	/* Of one model: adds to what is known, also the wire that it is better reached by; may be NULL */
	void (*model_at)(const struct http_endpoint *p, const char *model, struct model_quirks *quirks);
	const struct wire_form *form; /* of wire_chat.c: what it writes and reads; NULL: none */
	size_t call_size;             /* of its struct for one request, which begins with a struct http_call */
	/* Before each sending: makes c->size and what read needs. May set c->url and c->own_headers. */
	void (*begin)(struct http_call *c);
	size_t (*read)(struct http_call *c, char *out, size_t room); /* of the body; 0 at its end */
	void (*rewind)(struct http_call *c);
	/* Bytes of an answer with status 200; false ends the transfer. */
	bool (*feed)(struct http_call *c, const char *p, size_t n);
	/* Another status came, with call->error_body. True: c->quirks has learned something, send again. NULL: it never does. */
	bool (*learn)(struct http_call *c);
	void (*finish)(struct http_call *c,
		       bool whole);           /* no more bytes come; whole: the transfer has its end; may be NULL */
	void (*release)(struct http_call *c); /* frees what begin made */
};

/* What is known of one model at one provider */
struct model_quirks {
	const char *name;            /* as heads have it */
	unsigned bits;               /* of wire.quirks */
	int64_t limit;               /* most output tokens; 0: not known */
	const struct wire *wire;     /* in place of that of the provider; NULL: none */
	bool no_responses;           /* it was sent to the Responses API, which the server does not have */
	bool forgets;                /* it cannot read reasoning that it encrypted or signed before */
	bool window_known;           /* the server said it, or the settings */
	const char *no_tools;        /* where it is said that it cannot call tools; NULL: it can */
	bool told_small, told_other; /* the user knows that its window is small, that another model answers, */
	bool told_betas;             /* which betas it does not get */
	unsigned asks;               /* how often it was asked */
	bool names_asked;            /* the server does not know it, and was asked what it has; */
	const char *meant;           /* one of these that it may have meant; NULL: none */
};

struct http_endpoint {
	struct endpoint endpoint;
	struct http *client;
	struct arena arena;       /* holds the texts */
	const char *base, *query; /* base: without slashes at its end; query: NULL, or behind '?' */
	const char *shown;        /* base as people may see it: without a login */
	const char **headers;     /* of each request, NULL-terminated; the list is owned, the texts are in the arena */
	size_t header_count, header_cap;
	uint64_t stall_ms;
	const char *region, *prefix, *project; /* of clouds; NULL: none */
	struct variables variables;
	const char *betas;             /* comma list; NULL: none */
	const struct json *extra_body; /* members of every body; NULL: none */
	struct json_reader extra_reader;
	struct window_ask *ask; /* owned; NULL: none runs */
	bool closing;
	bool has_key;
	bool any_type;      /* an answer of Bedrock may have any content type */
	unsigned quirks;    /* of all its models */
	struct map learned; /* model name -> struct model_quirks, in the arena */
};

/* One request under way */
struct http_call {
	const struct wire *wire;
	struct http_endpoint *server;
	struct model_call *call;
	struct model_quirks *quirks; /* of its model */
	struct arena arena;
	const char *model, *name; /* as the head has it, and as the server knows it */
	const char *url;
	const char *region;                             /* of AWS, if it is not that of the endpoint; NULL: it is */
	const char *own_headers[WIRE_MOST_HEADERS + 1]; /* set by begin; NULL-terminated */
	uint64_t size;                                  /* of what read gives */
	struct str beginning; /* what stands in place of the beginning of the head; may be empty */
	size_t fixed;         /* bytes that all bodies with this head and beginning have; 0: not known */
	/* http_endpoint.c */
	uint64_t offset;  /* of the body with its extra members */
	struct str extra; /* in place of the last byte that read gives; empty: none */
	struct credential_wait wait;
	struct http_req *transfer; /* NULL: it waits for the credential */
	struct timer timer;        /* reports an end that came before the transfer */
	const char *ending;        /* what it reports */
	enum failure_kind ending_kind;
	unsigned generation, refusals, lessons;
	struct buf list; /* model_names.c: the answer of the server */
};

/* What an address needs besides the options. Borrowed until return, but credential */
struct http_address {
	const char *base;              /* may end with slashes and have a query */
	struct credential *credential; /* taken, also by a failure; NULL: none is sent */
	const char *region, *prefix, *project;
	const char *header; /* one more; NULL: none */
	/* Of the setting `providers` */
	unsigned most, quirks;         /* requests at a time, 0: as many as are wanted; of all its models */
	const struct json *extra_body; /* in place of that of the variable; NULL: none */
};

/* For open of a provider. extra_headers of the options are added. */
int http_endpoint_open(const struct provider *provider, const struct endpoint_options *o, const struct http_address *at,
		       struct endpoint **ret_endpoint, struct err *err);
void http_endpoint_close(struct endpoint *e);
int http_endpoint_start(struct endpoint *e, struct model_call *call, struct err *err);
void http_endpoint_cancel(struct model_call *call);
void http_endpoint_pause(struct model_call *call, bool on);
/* What is known of a model, by its name in heads; made at its first use. */
struct model_quirks *http_endpoint_quirks(struct http_endpoint *p, const char *model);
/* Reports bad keys and URLs before the first request: no retry can fix them. */
int http_endpoint_check(const struct provider *p, const struct endpoint_options *o, struct err *err);

/* explain.c: rewords a failure. Whether one says that a credential has expired: 401, 400 of Gemini, and 403 of clouds with such a text. */
void http_explain(struct model_call *call);
bool http_is_expired(const struct model_call *call);
/* Where the address comes from, or what would name another one */
const char *http_address_source(const struct http_endpoint *p, struct arena *a);

void http_call_finish(struct http_call *c, enum failure_kind kind, const char *text); /* frees c */

#define EMPTY_BODY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* in signatures */

/* What a server lists (model_names.c): the address, NULL if its API has none; the items of an answer, NULL if it is none; their names */
const char *model_list_url(const struct http_endpoint *p, struct arena *a);
const struct json *model_list_items(const struct json *root);
const char *model_list_name(const struct json *entry, struct arena *a);
/* If the refusal is that of an unknown model: true, asks what the server has, and the call ends with the answer. Once a model. */
bool model_names_ask(struct http_call *c);

/* Asks for the window of a model, if its server can be asked and has not said it (window.c). */
void window_ask_start(struct http_endpoint *p, const char *model, struct model_quirks *quirks);
int64_t window_of(const struct json *entry);     /* that an entry of a server's list names; 0: none */
void window_ask_cancel(struct http_endpoint *p); /* runs the loop until it is over */
/* For providers of the settings (provider_own.c, provider_table.c) */
void provider_own_quirks(const struct provider *provider, const char *model, struct model_quirks *ret);
const char *bedrock_prefix(const struct endpoint_options *o,
			   const char *region);                                 /* of inference profiles in a region */
const char *bedrock_small_region(const struct variables *v, const char *model); /* NULL: it has none of its own */
const char *vertex_model_name(const struct http_endpoint *p, const char *model, struct arena *a);
/* Of claude-sonnet-4-5 and its dated versions VERTEX_REGION_CLAUDE_4_5_SONNET, or VERTEX_REGION_CLAUDE_SONNET_4_5: the product has both
 * forms, and 4_0 for the first models of 4. CLOUD_ML_REGION of all others; NULL: unset */
const char *vertex_region(const struct variables *v, const char *model);
int64_t refused_limit(struct str said); /* the most output tokens that a refusal names; 0: none */
bool refused_images(int status, struct str said);
bool refused_stream(struct str said); /* answers come whole only */
#define HTTP_PROVIDER                                                                               \
	.close = http_endpoint_close, .start = http_endpoint_start, .cancel = http_endpoint_cancel, \
	.pause = http_endpoint_pause
