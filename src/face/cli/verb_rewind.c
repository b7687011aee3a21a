/* SPDX-License-Identifier: MIT
 * verb_rewind.c - `cadre rewind`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_rewind = {
	.name = "rewind",
	.summary = "bring files back as they were before a message",
	.help = "Usage: cadre rewind SESSION             before the last message that changed files\n"
		"       cadre rewind SESSION --to UUID   before this message\n"
		"       cadre rewind SESSION --dry-run   say what would be done\n"
		"       cadre rewind SESSION --list      the messages that can be named\n"
		"\n"
		"SESSION is an id or the beginning of one. Files that the tools of its agents changed (Write, Edit and the\n"
		"like) are brought back, new ones are removed; what commands changed is not known. The conversation stays\n"
		"as it is. A file that somebody else has changed as well is left alone, and all others with it, unless\n"
		"--force is given. Whatever a rewind takes away is kept: it names the message that brings it back.\n"
		"\n"
		"Files are kept on the terminal, and elsewhere if the setting fileCheckpointingEnabled is true.\n",
	.session_words = (const char *const[]){ "", NULL },
	.options = (const char *const[]){ "to", "dry-run", "force", "list", NULL },
	.run = run,
};

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	unsigned flags = (args->dry_run ? CADRE_REWIND_DRY : 0) | (args->force ? CADRE_REWIND_FORCE : 0);
	char why[sizeof err->text] = "";

	if (args->word_count != 1)
		return err_set(err, ERR_USAGE, "expected one session: cadre rewind SESSION");
	if (args->list && (flags || args->to))
		return err_set(err, ERR_USAGE, "--list stands alone: cadre rewind SESSION --list");
	int status = args->list ? cadre_rewind_list(c, args->words[0], ret_report, why, sizeof why)
				: cadre_rewind(c, args->words[0], args->to, flags, ret_report, why, sizeof why);
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}
