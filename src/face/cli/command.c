/* SPDX-License-Identifier: MIT
 * command.c - runs a command and prints its report. Flags of the program that stand behind a command become settings of the
 * runtime; the library gets the rest. */
#include <errno.h>
#include <signal.h>
#include "face/cli/command.h"
#include "face/cli/completion.h"
#include "face/cli/configure.h"
#include "face/cli/doctor.h"
#include "face/cli/run.h"
#include "face/cli/view.h"

/* The first one behind name in the order of the alphabet. */
const struct cadre_command *command_next(const struct cadre_command *before)
{
	static const struct cadre_command *const own[] = { &completion_command, &doctor_command, &manual_command };
	const struct cadre_command *next = NULL;
	const char *name = before ? before->name : "";

	for (const struct cadre_command *c = NULL; !next && (c = cadre_command_next(c));)
		if (strcmp(c->name, name) > 0)
			next = c;
	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (strcmp(own[i]->name, name) > 0 && (!next || strcmp(own[i]->name, next->name) < 0))
			next = own[i];
	return next;
}

void command_options(const struct cadre_command *command, void (*fn)(void *data, const struct cadre_option *option),
		     void *data)
{
	for (const struct cadre_option *o = command ? command->options : NULL; o && o->name; o++)
		fn(data, o);
	/* Those two print a text for other programs. */
	bool reports = command && command != &completion_command && command != &manual_command;
	for (size_t i = 0; i < flag_count; i++) {
		const struct flag *flag = &flag_table[i];
		bool json = !strcmp(flag->option.name, "json");
		bool fits = json ? reports : !command || !strcmp(flag->option.name, "help");
		for (size_t k = 0; command && flag_setting(flag) && command->settings[k]; k++)
			fits = fits || !strcmp(command->settings[k], flag_setting(flag));
		if (fits)
			fn(data, &flag->option);
	}
}

struct printing {
	bool json, colour;
	int code; /* EXIT_ANSWER, unless standard output failed */
};

int print_text(struct str text)
{
	struct err err = { 0 };

	if (fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0)
		return EXIT_ANSWER;
	if (errno == EPIPE) /* `cadre --help | head`: the reader has seen enough */
		return EXIT_SIGNAL + SIGPIPE;
	err_set(&err, ERR_IO, "cannot write to standard output: %m");
	return run_fail(&err);
}

static int print_report(const struct cadre_report *report, void *data)
{
	struct printing *p = data;
	AUTO_BUF struct buf out = { 0 };

	if (p->json) {
		size_t n;
		const char *text = cadre_report_json(report, &n);
		buf_add(&out, text, n);
		buf_addch(&out, '\n');
	} else {
		table_write(&out, report, p->colour);
	}
	p->code = out.n ? print_text(buf_str(&out)) : EXIT_ANSWER;
	return p->code != EXIT_ANSWER;
}

static int on_visit(const char *url, void *data)
{
	fprintf(stderr, "To sign in, open this address in a browser:\n  %s\n", url);
	return isatty(STDERR_FILENO);
}

static void on_signal(struct cadre *c, int signal, void *data)
{
	cadre_stop(c);
}

static void serve_standard_streams(struct cadre *c, int *ret_in, int *ret_out, void *data)
{
	*ret_in = STDIN_FILENO;
	*ret_out = STDOUT_FILENO;
	(void)cadre_watch_signal(c, SIGINT, on_signal, NULL);
	(void)cadre_watch_signal(c, SIGTERM, on_signal, NULL);
}

/* What the library is to parse: the command's own options, then its words. Returns how many; in the arena. */
static int rest_for_library(struct args *args, const char *name, const char *const **ret_argv)
{
	const char **argv = arena_calloc(&args->arena, (args->given_count + args->word_count + 2) * sizeof *argv);
	int n = 0;

	argv[n++] = name;
	for (size_t i = 0; i < args->given_count; i++) {
		const struct args_value *given = &args->given[i];
		if (flag_of(given->option))
			continue;
		argv[n++] = given->option->arg == CADRE_OPTION_NONE || !given->value
				    ? arena_printf(&args->arena, "--%s", given->option->name)
				    : arena_printf(&args->arena, "--%s=%s", given->option->name, given->value);
	}
	for (size_t i = 0; i < args->word_count; i++) {
		if (i == args->plain_words)
			argv[n++] = "--";
		argv[n++] = args->words[i];
	}
	*ret_argv = argv;
	return n;
}

static int run_in_library(const struct cadre_command *command, struct args *args)
{
	const char *format = args_value(args, "format");
	struct printing printing = { .json = args_has(args, "json") || (format && !strcmp(format, "json")),
				     .colour = isatty(STDOUT_FILENO) && view_wants_colour() };
	struct cadre_command_io io = { .on_piece = print_report,
				       .on_visit = on_visit,
				       .on_serve = serve_standard_streams,
				       .data = &printing,
				       .attended = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) };
	struct cadre_report *report = NULL;
	const char *const *argv;
	struct cadre *c;
	struct err err = { 0 };
	char why[sizeof err.text] = "";

	/* As if a person asked: what a script would not get (the guide) is listed too. */
	if (configure_runtime(args, CONFIGURE_INTERACTIVE, &c, &err) < 0)
		return run_fail(&err);
	int argc = rest_for_library(args, command->name, &argv);
	int status = cadre_command(c, argc, argv, &io, &report, why, sizeof why);
	int code = EXIT_ANSWER;
	if (status < 0) {
		err_set(&err, (enum err_kind) - status, "%s", why);
		code = run_fail(&err);
	} else if (report && print_report(report, &printing) == 0) {
		code = cadre_report_code(report);
	}
	cadre_report_free(report);
	cadre_free(c);
	return MAX(code, printing.code);
}

struct option_list {
	const struct cadre_option **list;
	size_t count;
};

static void list_option(void *data, const struct cadre_option *option)
{
	struct option_list *l = data;

	l->list = xrealloc(l->list, (l->count + 2) * sizeof *l->list);
	l->list[l->count++] = option;
	l->list[l->count] = NULL;
}

int command_run(const struct cadre_command *command, int argc, const char *const *argv, doctor_keys_fn *keys)
{
	struct option_list options = { 0 };
	AUTO_ARGS struct args args = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	char program[64];

	snprintf(program, sizeof program, "cadre %s", command->name);
	command_options(command, list_option, &options);
	int status = args_parse(argc - 2, argv + 2, options.list, program, &args, &err);
	free(options.list);
	if (status < 0)
		return run_fail(&err);
	if (args_has(&args, "help"))
		help_write_command(&text, command);
	else if (command->words->run)
		return run_in_library(command, &args);
	else if (args.word_count && !command->words->name[0]) {
		err_set(&err, ERR_USAGE, "expected: %s", program);
		return run_fail(&err);
	} else if (command == &doctor_command) {
		int found = doctor_run(&text, args_has(&args, "json"), keys), printed = print_text(buf_str(&text));
		return MAX(found, printed);
	} else if (completion_run(command, &args, &text, &err) < 0)
		return run_fail(&err);
	return print_text(buf_str(&text));
}
