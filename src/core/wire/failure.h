/* SPDX-License-Identifier: MIT
 * failure.h - how a request to a model failed, and whether to try again. */
#pragma once
#include "lib/base/str.h"

struct buf;
struct json;

enum failure_kind {
	FAIL_NONE = 0,
	FAIL_STATUS,  /* an HTTP status other than 200 */
	FAIL_EVENT,   /* an error event inside the stream */
	FAIL_CONNECT, /* refused, reset before the answer, no such host */
	FAIL_TLS,     /* certificate or handshake: no retry */
	FAIL_CUT,     /* the stream ended before the answer did */
	FAIL_STALL,   /* no byte for too long */
	FAIL_GARBAGE, /* not an event stream */
	FAIL_TOO_LARGE,
	FAIL_CANCELLED,
	FAIL_CREDENTIAL,   /* nothing was sent: no credential could be had */
	FAIL_NOT_ADMITTED, /* nothing was sent: the endpoint is not allowed */
};

struct failure {
	enum failure_kind kind;
	int status;             /* HTTP; for FAIL_EVENT the status of its type; 0: none */
	int64_t retry_after_ms; /* from the server; -1: none */
	char type[48];          /* "overloaded_error"; of some servers the code */
	bool too_long;          /* the server refused the conversation as too long */
	int64_t window;         /* the most tokens that it takes, if it said so; 0: it did not */
	bool unpaid;            /* quota or balance: no retry helps */
	bool bad_key;           /* the key is refused, although the status says something else */
	bool no_model;          /* the same for a model that is not there */
	bool vague; /* an error inside an answer, of a class that is not known, or of the model: no retry for ever */
	signed char retry; /* 1 yes, -1 no: x-should-retry, or a server that says why it cannot; 0 not given */
	char text[400];    /* one line for people */
};

void failure_set(struct failure *f, enum failure_kind kind, const char *fmt, ...) printf_like(3, 4);
/* Takes out what an error body repeats of the request (pydantic: FastAPI, Mistral, vLLM): its words are those of the user or the
 * model, and say nothing about the failure. */
void failure_drop_echo(struct buf *body);
/* Reads an error body: {"error":{"type","message","code"}}, the same in an array, {"error":"text"}, {"message"}, {"detail"},
 * {"errors":[]}, {"error_message"}, {"base_resp"}; of HTML the title; anything else becomes a short excerpt. Also a time to wait that only the text has. type: of a header,
 * for a body without one; may be empty. */
void failure_from_body(struct failure *f, int status, struct str body, const char *type);
/* An answer with status 200 that is none: its beginning, or empty if there was no byte. type: its content type; may be empty. */
void failure_from_page(struct failure *f, struct str page, const char *type);
int64_t failure_duration_ms(
	const char *p); /* "1m2.5s", "20ms", "2 minutes", or a number of seconds; -1: none of these */
/* An error object in a stream: its code is a status, or a word more specific than its type. */
void failure_from_error(struct failure *f, const struct json *root);
/* The same if the event is one. Gateways put the error objects of one API into the streams of others. */
bool failure_in_event(struct failure *f, const struct json *event);
void failure_from_event(struct failure *f, struct str type, struct str message);
/* The name that stream-json uses: "overloaded", "rate_limit", "authentication_failed", ... */
const char *failure_name(const struct failure *f);

/* The server refused the conversation as too long. */
bool failure_is_too_long(const struct failure *f);

/* A fallback model may work: this one is overloaded or does not exist. */
bool failure_is_model_unavailable(const struct failure *f, unsigned attempt);
/* How long to wait before try number `attempt` + 1 (attempt counts from 1), or -1 to give up. random is any number, for
 * the jitter. The caller enforces the deadline. */
int64_t failure_retry_delay_ms(const struct failure *f, unsigned attempt, uint64_t random);
