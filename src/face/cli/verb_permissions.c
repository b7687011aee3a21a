/* SPDX-License-Identifier: MIT
 * verb_permissions.c - `cadre permissions`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_permissions = {
	.name = "permissions",
	.summary = "list permission rules, and test what they say about a call",
	.help = "Usage: cadre permissions [list]               every rule that holds, and the file it stands in\n"
		"       cadre permissions test CALL [AGENT]    would it run? which rule, file, mode and step decide\n"
		"\n"
		"CALL is a tool with what its rules look at, or JSON with the whole input. AGENT is a type of agent that\n"
		"makes the call; without one it is the main agent. Rules are read from the settings (see `cadre config\n"
		"explain permissions.deny`), --allowedTools and --disallowedTools. deny goes before ask, ask before allow,\n"
		"whichever file they stand in. test ends with 1 if the call is denied.\n"
		"\n"
		"Examples:\n"
		"  cadre permissions test 'Bash(git push origin main)'\n"
		"  cadre permissions test 'Edit(src/main.c)' reviewer --permission-mode acceptEdits\n"
		"  cadre permissions test '{\"tool_name\": \"WebFetch\", \"tool_input\": {\"url\": \"https://x.org\"}}' --json\n",
	.words = (const char *const[]){ "list", "test", NULL },
	.options = (const char *const[]){ "add-dir", "agents", "allowed-tools", "disallowed-tools", "permission-mode",
					  "plugin-dir", "setting-sources", "settings", "trust-project", NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->word_count ? args->words[0] : "list";
	char why[sizeof err->text] = "";

	if (!strcmp(what, "list") && args->word_count <= 1)
		return status_of(cadre_permissions_list(c, ret_report, why, sizeof why), why, err);
	if (strcmp(what, "test") != 0)
		return err_set(err, ERR_USAGE, "cadre permissions: '%.60s' is not known; expected list or test", what);
	if (args->word_count != 2 && args->word_count != 3)
		return err_set(err, ERR_USAGE, "expected one call: cadre permissions test 'Bash(git push)' [AGENT]");
	return status_of(cadre_permissions_test(c, args->words[1], args->word_count == 3 ? args->words[2] : NULL,
						ret_report, why, sizeof why),
			 why, err);
}
