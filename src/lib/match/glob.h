/* SPDX-License-Identifier: MIT
 * glob.h - path patterns: ? * [a-z] [!a-z] {a,b} ** and \ to escape a character. No wildcard but ** matches a slash; **
 * is special only as a whole component: at the front any directories or none, at the end everything below, between
 * slashes any directories or none. A compiled glob is constant and may be used by several threads. */
#pragma once
#include "lib/base/base.h"
#include "lib/base/str.h"

struct glob_op;
struct glob {
	struct glob_op *ops; /* the alternatives in sequence, each with an end mark */
	size_t count, cap;
};

enum { GLOB_MAX_ALTERNATIVES = 256, GLOB_MAX_LENGTH = 4096 };

int glob_compile(struct glob *g, struct str pattern,
		 struct err *err);                      /* ERR_PARSE, ERR_LIMIT; g needs no release then */
bool glob_match(const struct glob *g, struct str path); /* the whole path; time is bounded by its length */
static inline void glob_release(struct glob *g)
{
	free(g->ops);
	*g = (struct glob){ 0 };
}

/* Cuts the next of several patterns off, which commas separate; commas inside braces do not. False: there is none. */
bool glob_cut(struct str *rest, struct str *ret_pattern);

/* The leading directories of a pattern without wildcards: "src/a" of "src/a/x?.c"; empty if there are none. */
struct str glob_static_prefix(struct str pattern);

/* Patterns in which * matches any characters or none. A backslash escapes * and itself. Time is bounded by the product of
 * both lengths. */
bool wildcard_match(struct str pattern, struct str text);
bool wildcard_is_plain(struct str pattern); /* no wildcard and no escape */
