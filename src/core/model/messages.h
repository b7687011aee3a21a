/* SPDX-License-Identifier: MIT
 * messages.h - the wire of the Messages API: at Anthropic and gateways, and at clouds that have the same body with another beginning,
 * address and credential, Bedrock with frames around the events (docs/internals/providers.md). */
#pragma once
#include "core/credential/credential.h"
#include "core/model/http_place.h"

struct messages_place;

struct messages_kind {
	const char *version; /* anthropic_version in the body; NULL: a header says it */
	bool no_stream;      /* the address says that it streams, the body must not */
	bool frames;         /* events come in frames */
	/* The name that the model has at this place; NULL: as it is. In the arena. */
	const char *(*name)(const struct messages_place *p, const char *model, struct arena *a);
	/* The address of a request; NULL: that of the place. In the arena. */
	const char *(*url)(const struct messages_place *p, const char *name, struct arena *a);
};

struct messages_place {
	struct endpoint endpoint;
	struct http_place place;
	const struct messages_kind *kind;
	const char *base;            /* without a slash at its end; in the arena of the place */
	const char *region, *prefix; /* of clouds; NULL: none */
	const char *project;
	struct variables variables;
	const char *betas; /* comma list; NULL: none */
};

/* Takes credential. base, path: of place.url. */
int messages_open(const struct provider *provider, const struct messages_kind *kind, const struct endpoint_options *o,
		  const char *base, const char *path, struct credential *credential, struct messages_place **ret_place,
		  struct err *err);
void messages_close(struct endpoint *e);
int messages_start(struct endpoint *e, struct model_call *call, struct err *err);
void messages_cancel(struct model_call *call);
void messages_pause(struct model_call *call, bool on);
