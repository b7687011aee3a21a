/* SPDX-License-Identifier: MIT
 * messages.h - requests of the Messages API: to Anthropic and gateways, and to clouds, which have another beginning of the body,
 * address and credential. Bedrock sends frames around the events (docs/internals/providers.md). */
#pragma once
#include "core/credential/credential.h"
#include "core/model/http_endpoint.h"

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
