/* SPDX-License-Identifier: MIT
 * verb_stop.c - `cadre stop`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_stop = {
	.name = "stop",
	.summary = "end an agent that runs",
	.help = "Usage: cadre stop AGENT [--session ID]    one agent and all below it\n"
		"       cadre stop --all [--session ID]    every agent that runs in this project, or in that session\n"
		"\n"
		"AGENT is an id, the beginning of one, or a name; `cadre tasks` lists them. It is stopped for you: its parent\n"
		"is told, and no agent takes it up again. The command returns when it has ended, and ends with 1 if there\n"
		"is no such agent or it does not run.\n",
	.options = (const char *const[]){ "all", "session", NULL },
	.run = run,
};

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	if (args->word_count != (args->all ? 0 : 1))
		return err_set(err, ERR_USAGE,
			       "expected one agent, or --all: cadre stop AGENT (cadre tasks lists them)");
	int status = cadre_tasks_stop(c, args->all ? NULL : args->words[0], args->session, ret_report, why, sizeof why);
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}
