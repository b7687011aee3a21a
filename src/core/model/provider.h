/* SPDX-License-Identifier: MIT
 * provider.h - the providers that answer requests, and one request. A provider has a name, an address, a credential and a
 * wire: how a request is written and an answer is read (http_endpoint.h). An endpoint is an open provider of a runtime.
 *
 * How to add a wire: 1. wire_NAME.c with `const struct wire wire_NAME`; 2. a row in wire_table of provider.c and its declaration in providers.h;
 * 3. tests/unit/model/test_NAME.c. How to add a provider: a row in provider_table.c, and its block in docs/models.md.
 *
 * A model_call is one request. The query owns it, start() makes it run, on_done() is called exactly once, later, also
 * after cancel. Between on_done and the next start the call holds no memory of its own. */
#pragma once
#include "lib/base/arena.h"
#include "lib/io/http.h"
#include "core/credential/credential.h"
#include "core/message/body.h"
#include "core/wire/answer.h"
#include "core/model/governor.h"
#include "core/model/providers.h"

/* Borrowed until open returns */
struct endpoint_options {
	struct loop *loop;
	struct arena *arena; /* for texts that are made for these options */
	struct variables variables;
	struct spawner *spawner;                     /* for commands that give credentials; NULL: none can run */
	const char *base_url, *api_key, *auth_token; /* NULL: not given */
	const char *extra_headers;                   /* lines "Name: value"; NULL: none */
	const char *betas;                           /* comma list; NULL: none */
	bool task_budget;                            /* requests carry a token budget */
	const char *scenario;                        /* scripted: file name; NULL: the embedded one */
	uint64_t stall_ms;                           /* 0: 300,000 */
	/* Commands of the settings; NULL: none */
	const char *key_helper, *aws_export, *aws_refresh, *gcp_refresh;
};

/* The first member of each provider's own struct */
struct endpoint {
	const struct provider *provider;
	struct endpoints *of;          /* borrowed; NULL: no limit */
	struct loop *loop;             /* borrowed; set by provider.c */
	struct credential *credential; /* owned; freed by provider.c; NULL: none */
	unsigned most;                 /* concurrent requests, by the settings of the provider; 0: as all */
	unsigned most_tries;           /* CLAUDE_CODE_MAX_RETRIES and the first one; 0: by the kind of failure */
	struct governor governor;
	struct map parts; /* of it: name of a model -> struct governor */
};

struct model_call {
	struct endpoint *endpoint;      /* borrowed */
	const char *session_id, *agent; /* sent in headers; agent may be "" */
	const char *parent_agent;       /* the same; NULL: `agent` is not the id of one */
	unsigned shard;
	struct body body;
	const struct answer_sink *sink;
	void (*on_note)(struct model_call *call, struct str text); /* what the user should see now; may be NULL */
	void (*on_done)(struct model_call *call); /* call->failure and call->answer are valid until model_call_reset */
	void *owner;
	void (*explain)(struct model_call *call); /* set by the provider: rewords a failure by status; may be NULL */
	/* results */
	struct answer answer;
	struct failure failure;
	char request_id[64];
	char gateway_id[64]; /* apim-request-id of Azure, which its support wants as well */
	char error_type[64]; /* x-amzn-errortype, or location; with status 200 the content type; empty: none */
	int64_t server_ms;   /* the time of its clock; 0: it did not say */
	int64_t hold_ms;     /* time until the server's limits reset; 0: not exhausted */
	/* the provider's own */
	void *transfer;
	struct buf error_body;
	int status;
	bool is_stream;
	bool is_frames;     /* the content type is that of event_stream.h */
	bool may_be_stream; /* neither the content type nor the first bytes have decided yet */
	bool limit_empty, running, cancelled;
	unsigned empty_limits;             /* x-ratelimit-remaining-*: 1 requests, 2 tokens */
	const struct model_quirks *quirks; /* of its model; borrowed; set with explain */
};

int model_call_start(struct model_call *call, struct err *err);
void model_call_cancel(struct model_call *call);
void model_call_reset(struct model_call *call); /* frees what the answer held; not while running */
/* For providers: the end of the response; sets failure from status, transport and answer, and reports. */
void model_call_finish(struct model_call *call, enum failure_kind transport, const char *text);
/* For providers: whether the answer is an event stream, by its type or its first bytes. They are kept in error_body until that is clear,
 * and for good if it is none. *bytes: those of the answer that came; then with the ones that were kept. */
bool model_call_is_stream(struct model_call *call, struct str *bytes);
/* For providers: a response header. */
void model_call_header(struct model_call *call, struct str name, struct str value);

/* The endpoints of a runtime: one for each provider, opened when the first agent needs it, each with its
 * own governor. A model name selects the provider: "openai/NAME", or a plain name for the usual one. */

struct endpoints {
	struct loop *loop; /* borrowed */
	struct providers providers;
	unsigned most; /* concurrent requests, per endpoint */
	/* Options for opening one, from the host; filled in: borrowed until open returns */
	void (*configure)(void *data, const struct provider *p, struct endpoint_options *ret_options);
	/* Whether requests are allowed now; checked at lookup and before each request; NULL: always */
	int (*admit)(void *data, const struct provider *p, struct err *err);
	void *data;
	bool allows_cut; /* an answer to a prompt that the server has cut counts */
	struct map open; /* name of the provider -> struct endpoint */
};

/* The governor of one model at an endpoint. */
struct governor *endpoint_governor(struct endpoint *e, const char *model);
/* Opens it on first use. Invalid options are reported on every call. The endpoint is borrowed. */
int endpoints_find(struct endpoints *e, const char *model, struct endpoint **ret_endpoint, struct err *err);
/* The server said the window of a model; source: "asked", or "learned" from a refusal, where only a smaller one than known counts. */
void endpoint_note_window(struct endpoint *e, const char *model, int64_t window, const char *source);
/* What a user should know of an answer of this model, once per run and model; NULL: nothing. head_tokens: of instructions and tools. In
 * the arena. */
const char *endpoint_note_answer(struct endpoint *e, const char *model, const char *answered_by, int64_t head_tokens,
				 struct arena *a);
void endpoints_set_most(struct endpoints *e, unsigned most);
void endpoints_close(struct endpoints *e); /* no call may run */
