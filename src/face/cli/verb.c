/* SPDX-License-Identifier: MIT
 * verb.c - runs a verb and prints its report. */
#include "face/cli/verb.h"
#include "face/cli/configure.h"
#include "face/cli/run.h"
#include "face/cli/view.h"

int verb_print(struct str text)
{
	struct err err = { 0 };

	if (fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0)
		return EXIT_ANSWER;
	err_set(&err, ERR_IO, "cannot write to standard output: %m");
	return run_fail(&err);
}

static int print_report(const struct cadre_report *report, bool json)
{
	AUTO_BUF struct buf out = { 0 };
	size_t n;

	if (json) {
		const char *text = cadre_report_json(report, &n);
		buf_add(&out, text, n);
		buf_addch(&out, '\n');
	} else {
		table_write(&out, report, isatty(STDOUT_FILENO) && view_wants_colour());
	}
	int code = verb_print(buf_str(&out));
	return code == EXIT_ANSWER && cadre_report_bad(report) ? EXIT_RUN : code;
}

static bool wants_json(const struct args *args)
{
	return args->json || (args->format && !strcmp(args->format, "json"));
}

static int run(const struct verb *verb, const struct args *args)
{
	struct cadre_report *report = NULL;
	struct cadre *c;
	struct err err = { 0 };

	/* As if a person asked: what a script would not get (the guide) is listed too. */
	if (configure_runtime(args, CONFIGURE_INTERACTIVE, &c, &err) < 0)
		return run_fail(&err);
	int status = verb->run(c, args, &report, &err);
	int code = status < 0 ? run_fail(&err) : report ? print_report(report, wants_json(args)) : EXIT_ANSWER;
	cadre_report_free(report);
	cadre_free(c);
	return code;
}

int verb_run(const struct verb *verb, int argc, char *const argv[])
{
	AUTO_ARGS struct args args = { 0 };
	AUTO_BUF struct buf help = { 0 };
	struct err err = { 0 };

	if (args_parse_verb(argc, argv, verb->options, &args, &err) < 0)
		return run_fail(&err);
	if (!args.help)
		return run(verb, &args);
	verb_write_help(&help, verb);
	return verb_print(buf_str(&help));
}
