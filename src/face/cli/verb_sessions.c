/* SPDX-License-Identifier: MIT
 * verb_sessions.c - `cadre sessions`. */
#include "face/cli/render.h"
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_sessions = {
	.name = "sessions",
	.summary = "list, search, show, export, prune conversations here",
	.help = "Usage: cadre sessions                                the newest first\n"
		"       cadre sessions search TEXT                    those in which user or model said it\n"
		"       cadre sessions show ID                        one of them, for people\n"
		"       cadre sessions export ID [--format FORMAT]    all of it: markdown (the default) or json\n"
		"       cadre sessions ids                            ids and titles with a tab between, for shells\n"
		"       cadre sessions prune [--older-than AGE] [--dry-run]\n"
		"                                                     remove what has not changed for so long\n"
		"\n"
		"ID is an id, the beginning of one, or a title. An AGE is a number with s, m, h, d or w: 30d; without one it is\n"
		"the setting cleanupPeriodDays. With a session goes all that belongs to it: transcripts of its agents, files as\n"
		"they were, task lists; and what is left of sessions that are gone. One that somebody works on is never removed.\n",
	.words = (const char *const[]){ "export", "ids", "list", "prune", "search", "show", NULL },
	.session_words = (const char *const[]){ "export", "show", NULL },
	.options = (const char *const[]){ "dry-run", "format", "older-than", NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

static int parse_age(const char *text, int64_t *ret_seconds, struct err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 } };
	struct str number = str_from(text);
	int64_t n;

	for (size_t i = 0; number.n && i < COUNT_OF(units); i++) {
		if (number.p[number.n - 1] != units[i].unit)
			continue;
		if (!str_to_i64((struct str){ number.p, number.n - 1 }, &n) || n < 0 || n > 1000000)
			break;
		*ret_seconds = n * units[i].seconds;
		return 0;
	}
	return err_set(err, ERR_USAGE, "--older-than expects an age such as 30d, 12h or 2w, not '%.40s'", text);
}

static int list(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";
	bool search = args->word_count && !strcmp(args->words[0], "search");

	if (search && args->word_count != 2)
		return err_set(err, ERR_USAGE, "expected: cadre sessions search TEXT");
	return status_of(cadre_sessions_list(c, search ? args->words[1] : NULL, ret_report, why, sizeof why), why, err);
}

static int show(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	if (args->word_count != 2)
		return err_set(err, ERR_USAGE, "expected one session: cadre sessions %s ID", args->words[0]);
	bool export = !strcmp(args->words[0], "export");
	return status_of(cadre_sessions_show(c, args->words[1], export, ret_report, why, sizeof why), why, err);
}

/* The rows of the list: id, age, messages, size, title. */
static int ids(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct cadre_report *report = NULL;

	(void)ret_report;
	if (args->word_count != 1 || args->json)
		return err_set(err, ERR_USAGE, "expected: cadre sessions ids");
	if (list(c, &(struct args){ 0 }, &report, err) < 0)
		return -(int)err->kind;
	for (size_t i = 1; i < cadre_report_rows(report); i++) {
		size_t last = cadre_report_cells(report, i) - 1;
		buf_addf(&out, "%s\t", cadre_report_cell(report, i, 0));
		render_line(&out, str_from(cadre_report_cell(report, i, last)));
		buf_addch(&out, '\n');
	}
	cadre_report_free(report);
	(void)verb_print(buf_str(&out));
	return 0;
}

static int prune(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";
	int64_t seconds = -1;

	if (args->word_count != 1)
		return err_set(err, ERR_USAGE, "expected: cadre sessions prune [--older-than AGE] [--dry-run]");
	if (args->older_than && parse_age(args->older_than, &seconds, err) < 0)
		return -ERR_USAGE;
	return status_of(cadre_sessions_prune(c, seconds, args->dry_run, ret_report, why, sizeof why), why, err);
}

static const struct {
	const char *word;
	int (*run)(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);
} words[] = {
	{ "list", list }, { "search", list }, { "show", show }, { "export", show }, { "ids", ids }, { "prune", prune },
};

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *word = args->word_count ? args->words[0] : "list";

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (!strcmp(words[i].word, word))
			return words[i].run(c, args, ret_report, err);
	return err_set(err, ERR_USAGE,
		       "cadre sessions: '%.60s' is not known; expected list, search, show, export, ids or prune", word);
}
