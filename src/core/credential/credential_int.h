/* SPDX-License-Identifier: MIT
 * credential_int.h - what the kinds of credentials share: commands, small requests, the end of a fetch. */
#pragma once
#include "core/credential/credential.h"
#include "core/credential/sigv4.h"
#include "lib/base/buf.h"
#include "lib/io/http.h"
#include "lib/io/spawn.h"
#include "lib/json/json.h"

enum { LARGEST_OUTPUT = 64 << 10 };
enum { RENEW_BEFORE_MS = 300000 }; /* before its end */
enum { USUAL_LIFE_MS = 3600000 };  /* if the server names none */

struct credential_ops {
	void (*fetch)(struct credential *c); /* NULL: nothing to fetch; ends with credential_got or credential_failed */
	void (*sign)(struct credential *c, const struct credential_request *r, struct arena *a, const char **headers);
	bool needs_hash;
};

/* The end of one step of a fetch. failed: NULL, or why. output: borrowed until return. */
typedef void credential_step_fn(struct credential *c, const char *failed, struct str output);

struct credential {
	enum credential_kind kind;
	const struct credential_ops *ops;
	struct credential_options options; /* texts in the arena */
	struct arena arena;
	struct credential_wait *waiting;
	unsigned generation, refusals; /* refusals in a row */
	bool fetching, valid;
	bool kept;      /* the values from before this fetch were not refused: they count on if it fails */
	bool refreshed; /* by this fetch already */
	bool shows;     /* the output of the command that runs is for the user */
	bool stopped;
	int64_t renew_ms; /* wall clock: it is fetched again from then on; 0: never */
	int64_t ends_ms;  /* the same: the values are good until then; 0: until they are refused */
	int64_t skew_ms;  /* the server's clock minus ours */
	struct kick kick;
	struct err failure;
	/* the step that runs */
	struct http *http;
	struct http_req *request;
	struct child *child;
	struct timer limit;
	bool timed_out;
	struct buf output, errors, body;
	struct buf shown; /* the beginning of a line */
	credential_step_fn *step;
	/* values: owned, wiped when they go */
	char *token, *key_id, *secret, *session, *extra;
	struct sigv4_key signing_key; /* of secret; cleared when another one comes */
};

extern const struct credential_ops credential_aws_ops, credential_google_ops, credential_entra_ops;

/* sh -c command. Any exit code but 0 is a failure. */
void credential_run(struct credential *c, const char *command, uint64_t limit_ms, credential_step_fn *step);
/* A small request; body may be NULL. A status other than 200 is a failure. */
void credential_ask(struct credential *c, const char *method, const char *url, const char *const *headers,
		    const char *body, uint64_t limit_ms, credential_step_fn *step);
void credential_got(struct credential *c, int64_t renew_ms, int64_t ends_ms); /* the values are set */
enum { LONGEST_LIFE_S = 10 * 365 * 24 * 3600 };                               /* servers and settings name any number */
int64_t credential_renewal_ms(int64_t ends_ms);                               /* when to renew what ends then */
void credential_failed(struct credential *c, const char *fmt, ...) printf_like(2, 3);
struct str credential_xml_text(struct str xml, const char *name); /* of the first element of that name; empty: none */
void credential_put(char **slot, struct str value);               /* wipes what was there */
bool credential_runs_program(const struct credential *c, const char *name); /* found in PATH */
const char *credential_env(const struct credential *c, const char *name);   /* NULL: unset or empty */
