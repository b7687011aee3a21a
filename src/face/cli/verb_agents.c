/* SPDX-License-Identifier: MIT
 * verb_agents.c - `cadre agents`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_agents = {
	.name = "agents",
	.summary = "list, show, check and create agents, share their memory",
	.help = "Usage: cadre agents                    the agents that can be called, and what overrides what\n"
		"       cadre agents show NAME          one of them: each field with its origin, its tools and model\n"
		"       cadre agents check [PATH...]    every file, or those named: what was read, forgiven, refused\n"
		"       cadre agents memory NAME        copy its user memory into the project, for others who work on it\n"
		"       cadre agents new NAME           write a first .claude/agents/NAME.md\n"
		"\n"
		"Agents are looked for in plugins, in the user's and the project's settings and agents directories,\n"
		"in --agents and in the managed directory; a later place overrides an earlier one by name.\n"
		"check ends with 1 if a file is refused.\n",
	.words = (const char *const[]){ "check", "memory", "new", "show", NULL },
	.options = (const char *const[]){ "add-dir", "agents", "model", "plugin-dir", "setting-sources", "settings",
					  "trust-project", NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

static int expect_name(const struct args *args, struct err *err)
{
	if (args->word_count == 2)
		return 0;
	return err_set(err, ERR_USAGE, "expected one name: cadre agents %s NAME", args->words[0]);
}

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->word_count ? args->words[0] : "";
	char why[sizeof err->text] = "";

	if (!args->word_count)
		return status_of(cadre_agents_list(c, ret_report, why, sizeof why), why, err);
	if (!strcmp(what, "check"))
		return status_of(
			cadre_agents_check(c, args->words + 1, args->word_count - 1, ret_report, why, sizeof why), why,
			err);
	if (strcmp(what, "show") != 0 && strcmp(what, "new") != 0 && strcmp(what, "memory") != 0)
		return err_set(err, ERR_USAGE,
			       "cadre agents: '%.60s' is not known; expected show, check, memory or new", what);
	if (expect_name(args, err) < 0)
		return -ERR_USAGE;
	if (!strcmp(what, "show"))
		return status_of(cadre_agents_show(c, args->words[1], ret_report, why, sizeof why), why, err);
	if (!strcmp(what, "memory"))
		return status_of(cadre_agents_memory(c, args->words[1], ret_report, why, sizeof why), why, err);
	return status_of(cadre_agents_new(c, args->words[1], ret_report, why, sizeof why), why, err);
}
