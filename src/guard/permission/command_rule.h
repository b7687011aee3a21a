/* SPDX-License-Identifier: MIT
 * command_rule.h - the command in Bash(...). One rule is compared with one simple command at a time. */
#pragma once
#include "lib/base/arena.h"

enum command_shape {
	COMMAND_EXACT,
	COMMAND_WORDS, /* begins with these words: "npm run *" */
	COMMAND_WILD,  /* * is any text */
};

struct command_rule {
	enum command_shape shape;
	bool words;       /* COMMAND_WILD: more words may follow */
	struct str text;  /* without what the shape says */
	struct str first; /* its first word; empty: a * is in it */
	struct str last;  /* COMMAND_WILD: what every match ends with */
};

/* A simple command to compare with */
struct command_text {
	struct str words; /* one blank between words (shell_command_text) */
	struct str exact; /* as it was written; an exact rule does not overlook a blank */
};

void command_rule_compile(struct command_rule *r, struct arena *a, struct str pattern);
bool command_rule_match(const struct command_rule *r, const struct command_text *command);
struct str command_first_word(struct str words);
