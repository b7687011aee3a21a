/* SPDX-License-Identifier: MIT
 * regex_translate.h - a pattern in ripgrep's regex syntax as one for PCRE2, and what must occur in every match of it.
 *
 * Where the search goes line by line, no part of the pattern may match a line feed: classes and escapes that would are
 * narrowed, so that the result can run over a whole buffer and a match never leaves its line. Differences that are left
 * are listed in docs/internals/search.md. */
#pragma once
#include "lib/base/buf.h"

enum regex_flags {
	REGEX_MULTILINE = 1 << 0, /* matches may cross lines */
	REGEX_NOCASE = 1 << 1,
};

enum { REGEX_MAX_NEEDLES = 4, REGEX_MAX_LENGTH = 64 * 1024 };

struct regex {
	struct buf pcre;                       /* for PCRE2 */
	struct buf needles[REGEX_MAX_NEEDLES]; /* each match contains one of them (case as in the flags) */
	size_t needle_count;                   /* 0: nothing is known */
	bool broad;                            /* a match may begin with almost any character */
	bool exact;                            /* the pattern is these texts and nothing else */
	bool alone;                            /* looks around itself: each line has to be matched alone */
	bool crosses;                          /* a match may contain a line feed; never without REGEX_MULTILINE */
	bool ascii;                            /* means the same to a matcher that knows ASCII only, in ASCII text */
};

/* ERR_PARSE: what is wrong and where, ERR_LIMIT. regex needs a release in any case. */
int regex_translate(struct regex *regex, struct str pattern, unsigned flags, struct err *err);
void regex_release(struct regex *regex);
