/* SPDX-License-Identifier: MIT
 * completion.h - texts for other programs, made from the tables of flags and verbs: what shells complete, and the manual page.
 *
 * To add a shell: 1. completion_NAME.c with a function that writes its script; 2. a row in completion.c. */
#pragma once
#include "face/cli/verb.h"

struct completion_shell {
	const char *name;
	void (*write)(struct buf *out);
};
extern const struct completion_shell completion_shells[]; /* ends with a row without a name */

void completion_bash(struct buf *out);
void completion_fish(struct buf *out);
void completion_zsh(struct buf *out);
void manual_write(struct buf *out); /* cadre.1, for man(1) */

/* Calls fn for each flag that may follow the verb; NULL: that may stand without one. */
void completion_flags(const struct verb *verb, void (*fn)(struct buf *out, const struct option *option),
		      struct buf *out);
bool completion_takes_path(const struct option *option);
bool completion_takes_session(const struct option *option);
void completion_add_words(struct buf *out, const char *const *words); /* with spaces between; NULL: none */
/* What a session stands behind, the same way: words of the verb, or its name. */
void completion_add_holders(struct buf *out, const struct verb *verb, const char *between);
struct str completion_gist(const struct option *option); /* the first sentence of its help, without the full stop */
void completion_add_escaped(struct buf *out, struct str text,
			    const char *special); /* a backslash before each of special */
