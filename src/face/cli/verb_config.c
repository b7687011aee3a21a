/* SPDX-License-Identifier: MIT
 * verb_config.c - `cadre config`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_config = {
	.name = "config",
	.summary = "list, get and explain settings",
	.help = "Usage: cadre config [list]          what is set, from which file and line; files that were looked for\n"
		"       cadre config get KEY         one value, or its default; ends with 1 if there is none\n"
		"       cadre config explain KEY     what every layer says about a key, and which one wins\n"
		"       cadre config keys            every setting that is known, its default and meaning\n"
		"\n"
		"A key is a path such as model, permissions.deny or worktree.baseRef. The layers, the highest first:\n"
		"  managed   /etc/claude-code/managed-settings.json, then managed-settings.d/*.json\n"
		"  flag      --settings\n"
		"  local     .claude/settings.local.json, here and at the root of the repository\n"
		"  project   .claude/settings.json\n"
		"  user      settings.json in CLAUDE_CONFIG_DIR, or in ~/.claude\n"
		"Of texts, numbers and switches the highest one counts; objects are merged; lists are joined.\n"
		"A file that is not valid JSON, or has a value of a wrong type, ends every command with 2.\n"
		"\n"
		"Examples:\n"
		"  cadre config explain permissions.allow\n"
		"  cadre config get subagents.maxDepth\n"
		"  cadre config list --setting-sources user\n",
	.words = (const char *const[]){ "explain", "get", "keys", "list", NULL },
	.options = (const char *const[]){ "setting-sources", "settings", "trust-project", NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

static int run_key(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	if (args->word_count != 2)
		return err_set(err, ERR_USAGE, "expected one key: cadre config %s KEY", args->words[0]);
	if (!strcmp(args->words[0], "get"))
		return status_of(cadre_config_get(c, args->words[1], ret_report, why, sizeof why), why, err);
	return status_of(cadre_config_explain(c, args->words[1], ret_report, why, sizeof why), why, err);
}

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->word_count ? args->words[0] : "list";
	char why[sizeof err->text] = "";

	if (!strcmp(what, "get") || !strcmp(what, "explain"))
		return run_key(c, args, ret_report, err);
	if (strcmp(what, "list") != 0 && strcmp(what, "keys") != 0)
		return err_set(err, ERR_USAGE,
			       "cadre config: '%.60s' is not known; expected list, get, explain or keys", what);
	if (args->word_count > 1)
		return err_set(err, ERR_USAGE, "cadre config %s takes no further words", what);
	if (!strcmp(what, "keys"))
		return status_of(cadre_config_keys(c, ret_report, why, sizeof why), why, err);
	return status_of(cadre_config_list(c, ret_report, why, sizeof why), why, err);
}
