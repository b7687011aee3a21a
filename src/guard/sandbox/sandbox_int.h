/* SPDX-License-Identifier: MIT
 * sandbox_int.h - shared by the files of this room. */
#pragma once
#include "lib/base/buf.h"
#include "lib/io/cell.h"
#include "lib/io/seccomp.h"
#include "guard/sandbox/sandbox.h"

struct proxy;

enum sandbox_filter { FILTER_READS, FILTER_EDITS, FILTER_INSIDE, FILTER_COUNT };

enum { RULESETS_MAX = 8 };

/* A Landlock ruleset that the next command with the same lists can use again */
struct kept_ruleset {
	struct buf key; /* the lists, and which files they meant */
	int fd;
};

struct sandbox {
	struct loop *loop;
	char *config_dir, *temp_dir;
	struct sandbox_policy *policy; /* NULL: nothing is set */
	bool probed, temp_made;
	enum sandbox_strength strength;
	struct err why; /* of the strength, if it is not full */
	struct cell *cells[2];
	struct sock_fprog *filters[FILTER_COUNT];
	struct arena programs_arena; /* of the PATH that was looked at last */
	struct paths programs;
	char *programs_of;
	struct kept_ruleset rulesets[RULESETS_MAX];
	size_t ruleset_count, ruleset_next;
	struct proxy *proxy; /* of the whole cell; NULL: not yet */
	struct sandbox_held *held;
};

/* plan.c: mounts, ruleset and filter of a profile. Closed by plan_release. */
int plan_make(struct sandbox *s, struct sandbox_held *held, struct err *err);
void plan_release(struct sandbox_held *held);
void plan_forget(struct sandbox *s); /* rulesets that are kept */
/* sandbox.c */
int sandbox_cell(struct sandbox *s, enum cell_kind kind, struct cell **ret_cell, struct err *err);
const struct sock_fprog *sandbox_filter(struct sandbox *s, enum sandbox_filter which);

/* watch.c */
void watch_after(struct sandbox_held *held, struct buf *out);

/* proxy.c: serves the cell's listening socket on the loop. */
struct proxy *proxy_new(struct sandbox *s, int listen_fd);
void proxy_free(struct proxy *p);

/* host.c. NULL: it may be reached; else why not. port needs a look for names that are allowed without one. */
const char *host_refusal(const struct sandbox_policy *p, struct str host, unsigned port);
/* The kinds of addresses (lib/io/address.h) that a name which may be reached may lead to. */
unsigned host_addresses(const struct sandbox_policy *p, struct str host, unsigned port);
