/* SPDX-License-Identifier: MIT
 * verb.h - `cadre VERB ...`: things that are looked at or changed without a conversation. A verb asks the library for a
 * report; how it is printed (--json, or a table) is the same for all.
 *
 * To add one: 1. verb_NAME.c with a const struct verb; 2. its line in verb_table.c, in the order of the alphabet; 3. a
 * test in tests/program. */
#pragma once
#include <cadre.h>
#include "face/cli/args.h"

struct verb {
	const char *name;
	const char *summary;        /* one line of `cadre --help` */
	const char *help;           /* `cadre VERB --help`: usage lines and what they do */
	const char *const *options; /* names of flags that it takes besides --json and --help, NULL-terminated */
	const char *const *words;   /* that may follow it, in the order of the alphabet, the same way; NULL: none */
	const char *const *session_words; /* of those: behind which a session stands; "": behind the verb; NULL: none */
	/* args->words is what follows the verb. A verb that prints while it works (verb_print) gives no report. */
	int (*run)(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);
};

extern const struct verb verb_agents;
extern const struct verb verb_completion;
extern const struct verb verb_config;
extern const struct verb verb_logs;
extern const struct verb verb_manual;
extern const struct verb verb_mcp;
extern const struct verb verb_permissions;
extern const struct verb verb_plugin;
extern const struct verb verb_rewind;
extern const struct verb verb_sessions;
extern const struct verb verb_skills;
extern const struct verb verb_stop;
extern const struct verb verb_tasks;
extern const struct verb verb_trust;
extern const struct verb *const verb_table[]; /* ends with NULL */

const struct verb *verb_find(const char *name);
int verb_run(const struct verb *verb, int argc, char *const argv[]); /* argv[1] is its name; returns the exit code */
int verb_print(struct str text);                                /* to standard output, at once; returns the exit code */
void verb_write_help(struct buf *out, const struct verb *verb); /* help.c */

/* table.c: rows with several cells are aligned with those above and below. */
void table_write(struct buf *out, const struct cadre_report *report, bool colour);
