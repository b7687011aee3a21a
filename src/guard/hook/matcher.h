/* SPDX-License-Identifier: MIT
 * matcher.h - does a hook's "matcher" fit? Empty and "*" fit all; names, also several with | or a comma between them,
 * are compared whole; anything else is a regular expression as in JavaScript, which may match anywhere. */
#pragma once
#include "lib/base/arena.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

static inline bool hook_is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct hook_matcher {
	struct str text;   /* as written */
	struct str *names; /* in the arena */
	size_t name_count;
	struct pcre2_real_code_8 *code;          /* NULL: no regular expression */
	struct pcre2_real_match_data_8 *scratch; /* of the loop's thread: only the first match allocates */
	struct pcre2_real_match_context_8 *limits;
	bool all;
};

/* narrow: only letters, digits, _ and | make a list of names. ERR_PARSE names what is wrong with the expression; the
 * matcher then fits nothing. Names are copied into the arena. */
int hook_matcher_init(struct hook_matcher *m, struct arena *arena, struct str text, bool narrow, struct err *err);
void hook_matcher_release(struct hook_matcher *m);
/* An expression that needs too much work fits: a guard must not be switched off by the name that it looks at. */
bool hook_matcher_fits(const struct hook_matcher *m, struct str subject);
