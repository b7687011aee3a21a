/* SPDX-License-Identifier: MIT
 * credential.h - authorises requests to a model: fixed headers, the output of a command, an AWS signature, a token of Google
 * or Entra (docs/internals/providers.md).
 *
 * One refresh for all: requests that want a credential while it is fetched join that fetch. A credential has a generation; a
 * request that was refused with an older one takes the newer one. No value of a credential is ever in an error, a trace or a
 * log. */
#pragma once
#include "lib/base/arena.h"
#include "lib/io/loop.h"

struct credential;
struct spawner;

/* Where variables are looked up: those of the settings and of clients are not in our environment. */
struct variables {
	const char *(*find)(const void *data, const char *name); /* NULL: our environment */
	const char *const *(*all)(const void *data);             /* for commands */
	const void *data;                                        /* borrowed */
};
const char *variables_get(const struct variables *v, const char *name); /* NULL: unset or empty */

/* Borrowed until credential_new returns, but loop, spawner and the data of variables */
struct credential_options {
	struct loop *loop;
	struct spawner *spawner;
	struct variables variables;
	/* header: sent as it is with every request */
	const char *const *headers; /* "name: value"; NULL-terminated */
	/* helper: a shell command that prints a key */
	const char *helper;
	const char *helper_headers[2]; /* with %s for the key */
	uint64_t helper_ttl_ms;
	/* clouds */
	const char *region, *service; /* AWS */
	const char *export_command;   /* awsCredentialExport; NULL: none */
	const char *refresh_command;  /* awsAuthRefresh, gcpAuthRefresh; NULL: none */
};

enum credential_kind {
	CREDENTIAL_HEADERS, /* also for none */
	CREDENTIAL_HELPER,
	CREDENTIAL_AWS,
	CREDENTIAL_GOOGLE,
	CREDENTIAL_ENTRA,
};

enum { CREDENTIAL_MOST_HEADERS = 8 };

/* A request that waits. The caller owns it. */
struct credential_wait {
	void (*on_ready)(struct credential_wait *w,
			 const struct err *why); /* from the loop; why: NULL if it is there */
	/* A line of the refresh command, for the user, who may have to log in; of all that wait, one gets it. May be NULL */
	void (*on_line)(struct credential_wait *w, struct str line);
	struct credential_wait *next, **prev;
};

/* What is signed. All borrowed. */
struct credential_request {
	const char *method, *url;
	const char *const *headers;   /* that are sent besides; those of AWS are signed */
	struct str body_hash;         /* SHA-256 in hex; needed by CREDENTIAL_AWS alone */
	const char *region, *service; /* of AWS, in place of those of the options; NULL: none */
};

struct credential *credential_new(enum credential_kind kind, const struct credential_options *options);
/* Cancels a running fetch; it has ended when credential_busy() returns false. */
void credential_stop(struct credential *c);
bool credential_busy(const struct credential *c);
void credential_free(struct credential *c); /* no request may wait, no fetch may run; may be NULL */
enum credential_kind credential_kind_of(const struct credential *c);
/* True: credential_sign can be called now. */
bool credential_ready(const struct credential *c);
bool credential_needs_hash(const struct credential *c);
/* Starts a fetch, or joins the one that runs. */
void credential_want(struct credential *c, struct credential_wait *w);
void credential_cancel(struct credential *c,
		       struct credential_wait *w); /* no callback comes; also if it does not wait */
/* Headers for a request, in the arena. *ret_generation: for credential_refused. */
void credential_sign(struct credential *c, const struct credential_request *r, struct arena *a,
		     const char *ret_headers[CREDENTIAL_MOST_HEADERS + 1], unsigned *ret_generation);
/* The server refused the credential of that generation. True: try again with another one. */
bool credential_refused(struct credential *c, unsigned generation);
/* The clock of the server, from its answer to a signature that it refused. True: ours differs, sign again. */
bool credential_note_time(struct credential *c, int64_t server_ms);
/* Overwrites the credential in what a server said: some repeat what they refuse. */
void credential_hide(const struct credential *c, char *said);
void credential_hide_header(const char *line, char *said); /* the same for a header with a key or token */
void credential_accepted(struct credential *c);            /* a request with it was allowed */
/* A value of the profile that AWS_PROFILE names; NULL: none. In the arena. */
const char *credential_aws_profile_value(struct arena *a, const struct variables *v, const char *key);
/* The project of the file that GOOGLE_APPLICATION_CREDENTIALS names; NULL: none. In the arena. */
const char *credential_google_project(struct arena *a, const struct variables *v);
