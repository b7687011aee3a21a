/* SPDX-License-Identifier: MIT
 * endpoints.h - the endpoints of a runtime: one for each provider, opened when the first agent needs it, each with its
 * own governor. A model name selects the provider: "openai/NAME", or a plain name for the default one. */
#pragma once
#include "core/model/provider.h"

enum { MOST_PROVIDERS = 16 };

struct endpoints {
	struct loop *loop;            /* borrowed */
	const struct provider *usual; /* the default provider */
	unsigned most;                /* concurrent requests, per endpoint */
	/* Options for opening one, from the host; filled in: borrowed until open returns */
	void (*configure)(void *data, const struct provider *p, struct endpoint_options *ret_options);
	/* Whether requests are allowed now; checked at lookup and before each request; NULL: always */
	int (*admit)(void *data, const struct provider *p, struct err *err);
	void *data;
	struct endpoint *open[MOST_PROVIDERS]; /* in the order of provider_table; NULL: not yet */
};

/* Opens it on first use. Invalid options are reported on every call. The endpoint is borrowed. */
int endpoints_find(struct endpoints *e, const char *model, struct endpoint **ret_endpoint, struct err *err);
void endpoints_set_most(struct endpoints *e, unsigned most);
void endpoints_close(struct endpoints *e); /* no call may run */
