/* SPDX-License-Identifier: MIT
 * engine.h - the scripted model: a request body in, a plan of bytes and delays out. No sockets, no clock, no threads:
 * modeld drives it over HTTP, the `scripted` provider drives it in the process. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

struct scenario; /* a parsed scenario file (scenario.h), immutable */
struct engine;   /* a running scenario: counters, the prompt cache, capacity */
struct reply;    /* the answer to one request */
struct dialect;

int scenario_parse(const char *name, struct str text, struct scenario **ret_scenario,
		   struct err *err); /* name:line: ... */
void scenario_free(struct scenario *s);

/* Borrows both. dialects: other APIs (reply.h), NULL-terminated; NULL: none. */
struct engine *engine_new(const struct scenario *scenario, const struct dialect *const *dialects);
void engine_free(struct engine *e);  /* all replies must be freed */
void engine_reset(struct engine *e); /* resets all state but requests in flight; ids are not reused */

struct engine_request {
	struct str path;  /* "/v1/messages", "/v1/messages/count_tokens", "/v1/models" ... with any query */
	struct str body;  /* borrowed until return */
	struct str agent; /* value of the x-cadre-agent header: agent type, or empty for the main agent */
	uint64_t now_ms;  /* monotonic */
};

/* Always returns a reply, owned: an invalid request gets one with status 400 and the API's error body, one above the
 * capacity 429 with retry-after. The request counts as in flight until reply_free(). */
struct reply *engine_ask(struct engine *e, const struct engine_request *request);

struct reply_head {
	int status;
	struct str content_type;
	const char *const *headers; /* "name: value", NULL-terminated, besides content-type and content-length */
	bool stream;                /* SSE: sent in steps; otherwise the bytes of all steps are one body */
};
const struct reply_head *reply_head(const struct reply *r);

enum reply_step_kind { REPLY_BYTES, REPLY_CUT /* close without an end */, REPLY_STALL /* hang for ever */, REPLY_END };
struct reply_step {
	enum reply_step_kind kind;
	uint64_t delay_ms; /* wait before this step; on the first step: latency before the head */
	struct str bytes;  /* borrowed until the next reply_next or reply_free */
};
/* The delay_ms of the next reply_next(), so that a waiting reply needs no memory for its bytes. */
uint64_t reply_delay_ms(const struct reply *r);
struct reply_step reply_next(struct reply *r); /* REPLY_END after the last, repeatedly */
void reply_begun(struct reply *r);             /* its first byte was sent: its prefix is in the cache now */
void reply_free(struct reply *r);

void engine_stats(const struct engine *e,
		  struct buf *out_json); /* requests, in flight now and at most, bytes, cache, per rule */

/* The embedded scenario of `make run`, made from demo.txt by scripts/embed.py. */
extern const char scenario_demo[]; /* NUL-terminated */
