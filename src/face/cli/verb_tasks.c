/* SPDX-License-Identifier: MIT
 * verb_tasks.c - `cadre tasks`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_tasks = {
	.name = "tasks",
	.summary = "the agents of sessions that run, or ran, as a tree",
	.help = "Usage: cadre tasks              sessions of this project that run, or the newest that had agents\n"
		"       cadre tasks --all        every session of this project that had agents\n"
		"       cadre tasks SESSION      one session, by its id or the beginning of it\n"
		"\n"
		"Each agent stands below the one that started it, with its state, turns, tokens, cost, time and last tool.\n"
		"A session that runs is asked, whichever process it is in; of another one the disk tells.\n",
	.session_words = (const char *const[]){ "", NULL },
	.options = (const char *const[]){ "all", NULL },
	.run = run,
};

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *session = args->word_count ? args->words[0] : NULL;
	char why[sizeof err->text] = "";

	if (args->word_count > 1 || (session && args->all))
		return err_set(err, ERR_USAGE, "expected one session, or --all: cadre tasks [SESSION]");
	int status = cadre_tasks(c, session, args->all, ret_report, why, sizeof why);
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}
