/* SPDX-License-Identifier: MIT
 * verb_skills.c - `cadre skills`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_skills = {
	.name = "skills",
	.summary = "list, show and check skills and commands",
	.help = "Usage: cadre skills [list]            the skills and commands that there are, and what hides what\n"
		"       cadre skills show NAME         one of them: its fields and what is untidy in it\n"
		"       cadre skills check             every file: what was read, forgiven, refused\n"
		"\n"
		"Skills are looked for in plugins, in .claude/skills and .claude/commands of the project and of the\n"
		"user, and in the managed directory; a later place hides an earlier one by name, a skill hides a command.\n"
		"check ends with 1 if a file is refused.\n",
	.words = (const char *const[]){ "check", "list", "show", NULL },
	.options =
		(const char *const[]){ "add-dir", "plugin-dir", "setting-sources", "settings", "trust-project", NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->word_count ? args->words[0] : "list";
	size_t wanted = strcmp(what, "show") ? 1 : 2;
	char why[sizeof err->text] = "";

	if (strcmp(what, "list") != 0 && strcmp(what, "show") != 0 && strcmp(what, "check") != 0)
		return err_set(err, ERR_USAGE, "cadre skills: '%.60s' is not known; expected list, show or check",
			       what);
	if (args->word_count > wanted || (wanted == 2 && args->word_count != 2))
		return err_set(err, ERR_USAGE, "expected: cadre skills %s%s", what, wanted == 2 ? " NAME" : "");
	if (!strcmp(what, "check"))
		return status_of(cadre_skills_check(c, ret_report, why, sizeof why), why, err);
	if (!strcmp(what, "show"))
		return status_of(cadre_skills_show(c, args->words[1], ret_report, why, sizeof why), why, err);
	return status_of(cadre_skills_list(c, ret_report, why, sizeof why), why, err);
}
