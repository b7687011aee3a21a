/* SPDX-License-Identifier: MIT
 * failure.h - how a request to a model failed, and whether to try again. */
#pragma once
#include "lib/base/str.h"

struct json;

enum failure_kind {
	FAIL_NONE = 0,
	FAIL_STATUS,  /* an HTTP status other than 200 */
	FAIL_EVENT,   /* an error event inside the stream */
	FAIL_CONNECT, /* refused, reset before the answer, no such host */
	FAIL_TLS,     /* certificate or handshake: trying again does not help */
	FAIL_CUT,     /* the stream ended before the answer did */
	FAIL_STALL,   /* no byte for too long */
	FAIL_GARBAGE, /* the answer is not an event stream */
	FAIL_TOO_LARGE,
	FAIL_CANCELLED,
	FAIL_NOT_ADMITTED, /* nothing was sent: requests may not go there */
};

struct failure {
	enum failure_kind kind;
	int status;             /* HTTP; for FAIL_EVENT the status that its type stands for; 0 if there is none */
	int64_t retry_after_ms; /* told by the server; -1: not told */
	char type[48];          /* "overloaded_error" */
	char text[400];         /* one line for people */
};

void failure_set(struct failure *f, enum failure_kind kind, const char *fmt, ...) printf_like(3, 4);
/* Reads the API's error body {"type":"error","error":{"type","message"}}, or {"error":"text"}; anything else becomes a short
 * excerpt. */
void failure_from_body(struct failure *f, int status, struct str body);
/* An error object inside a stream of chat completions: its code is a status, or a word that says more than its type. */
void failure_from_error(struct failure *f, const struct json *root);
void failure_from_event(struct failure *f, struct str type, struct str message);
/* The name that stream-json uses: "overloaded", "rate_limit", "authentication_failed", ... */
const char *failure_name(const struct failure *f);

/* The server does not take the conversation because it is too long. */
bool failure_is_too_long(const struct failure *f);

/* Another model may do better: this one is overloaded again and again, or does not exist. */
bool failure_is_of_model(const struct failure *f, unsigned attempt);
/* How long to wait before try number `attempt` + 1 (attempt counts from 1), or -1 to give up. random is any number; it
 * makes the jitter. The deadline is the caller's business. */
int64_t failure_retry_delay_ms(const struct failure *f, unsigned attempt, uint64_t random);
