/* SPDX-License-Identifier: MIT
 * messages.h - requests of the Messages API: to Anthropic and gateways, and to clouds, which have another beginning of the body,
 * address and credential. Bedrock sends frames around the events (docs/internals/providers.md). */
#pragma once
#include "core/credential/credential.h"
#include "core/model/http_endpoint.h"
#include "lib/base/buf.h"

struct messages_endpoint;

struct messages_kind {
	const char *version; /* anthropic_version in the body; NULL: a header says it */
	bool no_stream;      /* the address says that it streams, the body must not */
	bool frames;         /* events come in frames */
	/* The name that the model has at this server; NULL: as it is. In the arena. */
	const char *(*name)(const struct messages_endpoint *p, const char *model, struct arena *a);
	/* The address of a request; NULL: that of the endpoint. In the arena. */
	const char *(*url)(const struct messages_endpoint *p, const char *name, struct arena *a);
};

struct messages_endpoint {
	struct endpoint endpoint;
	struct http_endpoint http;
	const struct messages_kind *kind;
	const char *region, *prefix; /* of clouds; NULL: none */
	const char *project;
	struct variables variables;
	const char *betas; /* comma list; NULL: none */
};

/* Takes credential. base, path: of http.url. */
int messages_open(const struct provider *provider, const struct messages_kind *kind, const struct endpoint_options *o,
		  const char *base, const char *path, struct credential *credential,
		  struct messages_endpoint **ret_endpoint, struct err *err);
void messages_close(struct endpoint *e);
int messages_start(struct endpoint *e, struct model_call *call, struct err *err);
void messages_cancel(struct model_call *call);
void messages_pause(struct model_call *call, bool on);

/* The frames in which Bedrock sends events (application/vnd.amazon.eventstream). A frame whose checksums do not hold
 * ends the stream: no byte of it is used. */

/* Borrowed until return. exception: NULL for an event, else its name; payload is then {"message"}. */
typedef void event_frame_fn(void *data, const char *exception, struct str payload);

struct event_stream {
	event_frame_fn *on_frame;
	void *data;
	struct buf bytes; /* of a frame that is not complete */
};

/* -ERR_PARSE: not such a stream, or a damaged one. */
int event_stream_feed(struct event_stream *s, const char *p, size_t n, struct err *err);
