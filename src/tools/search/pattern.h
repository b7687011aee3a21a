/* SPDX-License-Identifier: MIT
 * pattern.h - a compiled search pattern, shared by all threads of a search, and what each thread needs to use it. */
#pragma once
#include "lib/base/base.h"
#include "lib/base/str.h"
#include "lib/base/buf.h"

/* A pattern in ripgrep's regex syntax as one for PCRE2, and what must occur in every match of it.
 * 
 * Where the search goes line by line, no part of the pattern may match a line feed: classes and escapes that would are
 * narrowed, so that the result can run over a whole buffer and a match never leaves its line. Differences that are left
 * are listed in docs/internals/search.md. */
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

/* A text that every match has */
struct literal {
	char *text; /* owned; lower case when nocase */
	size_t n;
	bool nocase;
	bool avx2;          /* this machine has it */
	size_t rare, rare2; /* places in text of the two bytes that are least likely in source text */
};

const char *literal_find(const struct literal *l, const char *p, size_t n); /* the first one, or NULL */

size_t count_line_feeds(const char *p, size_t n);

struct pcre2_real_code_8;

struct pattern {
	struct pcre2_real_code_8 *code;  /* any bytes; UTF-8 is understood, what is not UTF-8 matches nothing */
	struct pcre2_real_code_8 *ascii; /* the same for ASCII text, faster; or NULL */
	struct literal needles[REGEX_MAX_NEEDLES];
	size_t needle_count; /* each match contains one of the needles; 0: nothing is known */
	bool exact;          /* a needle is a match */
	bool alone;          /* lines have to be matched alone */
	bool multiline;      /* matches may cross lines */
};

/* flags: enum regex_flags. ERR_PARSE, ERR_LIMIT with a text for the model. */
int pattern_compile(struct pattern *p, struct str text, unsigned flags, struct err *err);
void pattern_release(struct pattern *p);

struct matcher;                                       /* of one thread */
struct matcher *matcher_new(const struct pattern *p); /* borrows p */
void matcher_free(struct matcher *m);

struct span {
	size_t from, to;
};

/* The first match in text that begins at or after `from`: 1, 0 if there is none, or ERR_LIMIT when the pattern needs too
 * much backtracking. Whether the text is ASCII is worth finding out once for many calls. */
int matcher_find(struct matcher *m, struct str text, size_t from, bool text_is_ascii, struct span *ret_match,
		 struct err *err);
