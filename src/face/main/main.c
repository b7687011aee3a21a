/* SPDX-License-Identifier: MIT
 * main.c - the program `cadre`: a thin face over libcadre. */
#include <cadre.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include "face/cli/command.h"
#include "face/cli/configure.h"
#include "face/cli/run.h"
#include "face/cli/view.h"
#include "face/screen/paint.h"
#include "face/screen/term.h"
#include "face/tui/tui.h"

/* The command that was probably meant by a word that stands alone; NULL: it is a prompt. */
static const char *command_meant(const char *word)
{
	struct str name = str_from(word);
	size_t limit = name.n > 4 ? 2 : 1;
	const char *best = NULL;

	for (size_t i = 0; i < name.n; i++)
		if ((name.p[i] < 'a' || name.p[i] > 'z') && name.p[i] != '-')
			return NULL;
	for (const struct cadre_command *c = NULL; name.n > 2 && name.p[0] != '-' && (c = command_next(c));) {
		size_t d = str_distance(name, str_from(c->name));
		if (d <= limit && (d < 2 || c->name[0] == word[0])) {
			best = c->name;
			limit = d - 1;
		}
	}
	return best;
}

static int run_conversation(const struct args *args)
{
	const char *input = args_value(args, "input-format");
	bool wired = input && !strcmp(input, "stream-json");
	bool interactive = !wired && !args_has(args, "print") && !args_has(args, "init-only") && isatty(STDIN_FILENO) &&
			   isatty(STDOUT_FILENO);
	struct err err = { 0 };

	if (configure_check(args, interactive, &err) < 0) {
		int code = run_fail(&err);
		const struct args_value *resume = args_find(args, "resume");
		if (resume && (!resume->value || !resume->value[0])) {
			/* the newest sessions, below the message that one is needed */
			enum { MOST = 5 };
			static const char *const words[] = { "sessions", "ids" };
			struct cadre_report *report = NULL;
			struct cadre *c = cadre_new(NULL, 0);
			if (c && cadre_command(c, COUNT_OF(words), words, NULL, &report, NULL, 0) == CADRE_OK)
				for (size_t i = 0; i < cadre_report_rows(report) && i < MOST; i++) {
					AUTO_BUF struct buf line = { 0 };
					render_text(&line, str_from(cadre_report_cell(report, i, 0)));
					fprintf(stderr, "  %s\n", line.p);
				}
			cadre_report_free(report);
			cadre_free(c);
		}
		return code;
	}
	if (!interactive)
		return wired ? wire_run(args) : print_run(args);
	/* a member in a pane takes its words from the lead: lines are enough */
	if (args_has(args, "ax-screen-reader"))
		(void)setenv("CLAUDE_AX_SCREEN_READER", "1", 1);
	bool plain = view_is_for_reader() || args_has(args, "plain") || args_has(args, "agent-id") || !term_fits();
	return tui_run(args, plain);
}

int main(int argc, char **argv)
{
	const char *const *words = (const char *const *)argv;
	AUTO_ARGS struct args args = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct err err = { 0 };

	/* One that the caller has closed: the next file would take its number. Input is at its end, and output cannot be written. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
	sigaction(SIGPIPE, &ignore, NULL); /* a closed standard output is an error with a message */
	run_leave_on_signal();
	const struct cadre_command *command = NULL;
	const char *const asked[] = { words[0], argc == 3 ? words[2] : "--help", argc == 3 ? "--help" : NULL, NULL };
	bool helps = (argc == 2 || argc == 3) && !strcmp(words[1], "help"); /* cadre help [COMMAND] */
	words = helps ? asked : words;
	while (argc > 1 && (command = command_next(command)) && strcmp(command->name, words[1]) != 0)
		;
	if (command)
		return command_run(command, argc, words, tui_key_problems);
	const char *meant = argc == 2 || helps ? command_meant(words[1]) : NULL;
	if (meant) {
		err_set(&err, ERR_USAGE, "'%s' is not a command (did you mean %s?); as a prompt: cadre -p %s", words[1],
			meant, words[1]);
		return run_fail(&err);
	}
	if (flags_parse(argc, words, &args, &err) < 0)
		return run_fail(&err);
	if (args_has(&args, "help"))
		help_write(&text);
	else if (args_has(&args, "protocol-version"))
		buf_addf(&text, CADRE_PROTOCOL_VERSION " (cadre %s)\n", cadre_version());
	else if (args_has(&args, "version"))
		buf_addf(&text, "%s (cadre; protocol " CADRE_PROTOCOL_VERSION ")\n", cadre_version());
	else
		return run_conversation(&args);
	return print_text(buf_str(&text));
}
