/* SPDX-License-Identifier: MIT
 * main.c - the program `cadre`: a thin face over libcadre. */
#include <cadre.h>
#include <signal.h>
#include "face/cli/command.h"
#include "face/cli/configure.h"
#include "face/cli/render.h"
#include "face/cli/run.h"

int run_fail(const struct err *err)
{
	AUTO_BUF struct buf b = { 0 };

	render_line(&b, str_from(err->text));
	fprintf(stderr, "error: %s\n", buf_str(&b).p);
	return err->kind == ERR_USAGE ? EXIT_USAGE : EXIT_RUN;
}

static void on_signal(int signal)
{
	_exit(EXIT_SIGNAL + signal);
}

void run_leave_on_signal(void)
{
	struct sigaction leave = { .sa_handler = on_signal };

	sigaction(SIGINT, &leave, NULL);
	sigaction(SIGTERM, &leave, NULL);
}

static void prepare_signals(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL); /* a closed standard output is an error with a message */
	run_leave_on_signal();
}

static int say(const char *text)
{
	struct err err = { 0 };

	if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
		return EXIT_ANSWER;
	err_set(&err, ERR_IO, "cannot write to standard output: %m");
	return run_fail(&err);
}

static int say_help(void)
{
	AUTO_BUF struct buf b = { 0 };

	help_write(&b);
	return say(b.p);
}

static int say_version(bool protocol_first)
{
	AUTO_BUF struct buf b = { 0 };

	if (protocol_first)
		buf_addf(&b, CADRE_PROTOCOL_VERSION " (cadre %s)\n", cadre_version());
	else
		buf_addf(&b, "%s (cadre; protocol " CADRE_PROTOCOL_VERSION ")\n", cadre_version());
	return say(b.p);
}

static int run(const struct args *args)
{
	const char *input = args_value(args, "input-format");
	bool wired = input && !strcmp(input, "stream-json");
	bool interactive = !wired && !args_has(args, "print") && !args_has(args, "init-only") && isatty(STDIN_FILENO) &&
			   isatty(STDOUT_FILENO);
	struct err err = { 0 };

	if (configure_check(args, interactive, &err) < 0)
		return run_fail(&err);
	return wired ? wire_run(args) : interactive ? line_run(args) : print_run(args);
}

int main(int argc, char **argv)
{
	const char *const *words = (const char *const *)argv;
	AUTO_ARGS struct args args = { 0 };
	struct err err = { 0 };

	prepare_signals();
	const struct cadre_command *command = argc > 1 ? command_find(words[1]) : NULL;
	if (command)
		return command_run(command, argc, words);
	if (flags_parse(argc, words, &args, &err) < 0)
		return run_fail(&err);
	if (args_has(&args, "help"))
		return say_help();
	if (args_has(&args, "version") || args_has(&args, "protocol-version"))
		return say_version(args_has(&args, "protocol-version"));
	return run(&args);
}
