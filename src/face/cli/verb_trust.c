/* SPDX-License-Identifier: MIT
 * verb_trust.c - `cadre trust`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_trust = {
	.name = "trust",
	.summary = "say that a folder is trusted, or not any more",
	.help = "Usage: cadre trust              trust this project: the root of the repository, or this directory\n"
		"       cadre trust DIR          trust DIR and nothing else\n"
		"       cadre trust --forget [DIR]\n"
		"       cadre trust --list       the folders that are trusted\n"
		"\n"
		"A project can bring files that act for you: rules that allow commands, variables that decide what runs,\n"
		"hooks and MCP servers of its agents. Until you trust the folder they do not count, and cadre says so.\n"
		"What a project forbids always counts. Read .claude/ before you trust it.\n"
		"\n"
		"The answer is kept in ~/.claude.json (or .claude.json in CLAUDE_CONFIG_DIR), where other programs see it\n"
		"too; nothing else in that file is touched.\n",
	.options = (const char *const[]){ "list", "forget", NULL },
	.run = run,
};

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *dir = args->word_count ? args->words[0] : NULL;
	char why[sizeof err->text] = "";

	if (args->list && (args->forget || dir))
		return err_set(err, ERR_USAGE, "--list stands alone: cadre trust --list");
	if (args->word_count > 1)
		return err_set(err, ERR_USAGE, "expected one directory: cadre trust [DIR]");
	int status = args->list ? cadre_trust_list(c, ret_report, why, sizeof why)
				: cadre_trust_set(c, dir, !args->forget, ret_report, why, sizeof why);
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}
