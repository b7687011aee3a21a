/* SPDX-License-Identifier: MIT
 * verb_logs.c - `cadre logs`. */
#include "face/cli/run.h"
#include "face/cli/verb.h"
#include "face/cli/view.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_logs = {
	.name = "logs",
	.summary = "what an agent said and did",
	.help = "Usage: cadre logs AGENT       its transcript for people: texts, tools, results cut short\n"
		"       cadre logs -f AGENT    goes on until it ends\n"
		"\n"
		"AGENT is an id, the beginning of one, or a name; `cadre tasks` lists them. With --json the lines of the\n"
		"transcript are printed as they are.\n",
	.options = (const char *const[]){ "follow", NULL },
	.run = run,
};

struct printing {
	bool json, colour;
};

static int print_piece(const struct cadre_report *piece, void *data)
{
	const struct printing *p = data;
	AUTO_BUF struct buf out = { 0 };
	size_t n;

	if (p->json) {
		const char *line = cadre_report_json(piece, &n);
		buf_add(&out, line, n);
		buf_addch(&out, '\n');
	} else {
		table_write(&out, piece, p->colour);
	}
	return out.n && verb_print(buf_str(&out)) != EXIT_ANSWER;
}

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	struct printing p = { .json = args->json, .colour = isatty(STDOUT_FILENO) && view_wants_colour() };
	char why[sizeof err->text] = "";

	(void)ret_report;
	if (args->word_count != 1)
		return err_set(err, ERR_USAGE, "expected one agent: cadre logs AGENT (cadre tasks lists them)");
	int status = cadre_logs(c, args->words[0], args->follow, print_piece, &p, why, sizeof why);
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}
