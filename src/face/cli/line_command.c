/* SPDX-License-Identifier: MIT
 * line_command.c - what can be typed with a slash. To add one: a function, a row. */
#include "face/cli/line_int.h"
#include "face/cli/run.h"

enum { WIDEST_NAME = sizeof "/compact [instructions]" - 1 };

struct command {
	const char *name;
	const char *alias; /* or NULL */
	const char *args;
	const char *help;
	void (*run)(struct line *l, struct str args); /* NULL: the session understands it */
};

static void run_help(struct line *l, struct str args);

static void run_new(struct line *l, struct str args)
{
	line_switch(l, LINE_NEW, STR(""));
}

static void run_resume(struct line *l, struct str args)
{
	line_switch(l, args.n ? LINE_OLD : LINE_LATEST, args);
}

static void run_exit(struct line *l, struct str args)
{
	line_leave(l, EXIT_ANSWER);
}

static const struct command commands[] = {
	{ "clear", "new", "", "start a new session", run_new },
	{ "compact", NULL, " [instructions]", "sum the conversation up and go on from the summary", NULL },
	{ "exit", "quit", "", "leave (Ctrl-D does it too)", run_exit },
	{ "help", NULL, "", "this list", run_help },
	{ "resume", NULL, " [session]", "go on with an earlier session, by id or title; without one the latest",
	  run_resume },
};

static void run_help(struct line *l, struct str args)
{
	AUTO_BUF struct buf b = { 0 };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		const struct command *cmd = &commands[i];
		size_t start = b.n;
		buf_addf(&b, "/%s%s", cmd->name, cmd->args);
		if (cmd->alias)
			buf_addf(&b, ", /%s", cmd->alias);
		buf_addf(&b, "%*s%s\n", (int)(WIDEST_NAME + 2 - MIN(b.n - start, (size_t)WIDEST_NAME)), "", cmd->help);
	}
	buf_addstr(&b,
		   "/NAME [arguments] uses a skill; `cadre skills` lists them.\n"
		   "Alt-Enter starts a new line; a paste of several lines is one prompt.\n"
		   "Ctrl-C ends the turn, twice it ends the program. Ctrl-B sends agents that are waited for to the "
		   "background.");
	line_say(l, b.p);
}

static const struct command *find_command(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		const struct command *cmd = &commands[i];
		if (str_is(name, cmd->name) || (cmd->alias && str_is(name, cmd->alias)))
			return cmd;
	}
	return NULL;
}

bool line_command(struct line *l, struct str text)
{
	struct str rest = str_trim(text);
	struct str name = str_cut(&rest, ' ');

	if (!str_starts(name, STR("/")))
		return false;
	name = (struct str){ name.p + 1, name.n - 1 };
	const struct command *cmd = find_command(name);
	if (!cmd || !cmd->run)
		return false;
	cmd->run(l, rest.p ? str_trim(rest) : STR(""));
	return true;
}
