/* SPDX-License-Identifier: MIT
 * completion_fish.c - one `complete` a line; its condition says behind which command it holds. */
#include "face/cli/completion.h"

static void add_quoted(struct buf *out, struct str text)
{
	buf_addch(out, '\'');
	completion_add_escaped(out, text, "'\\");
	buf_addch(out, '\'');
}

static void add_value(struct buf *out, const struct cadre_option *option)
{
	if (completion_takes_session(option))
		buf_addstr(out, " -x -a '(cadre sessions ids 2>/dev/null)'");
	else if (option->arg == CADRE_OPTION_REQUIRED)
		buf_addstr(out, completion_takes_path(option) ? " -rF" : " -x");
	if (!option->choices)
		return;
	buf_addstr(out, " -a '");
	completion_add_choices(out, option->choices);
	buf_addch(out, '\'');
}

/* All of a line but its condition, which a variable holds */
static void add_flag(void *data, const struct cadre_option *option)
{
	struct buf *out = data;

	buf_addf(out, "complete -c cadre $when -l %s", option->name);
	if (option->letter)
		buf_addf(out, " -s %c", option->letter);
	add_value(out, option);
	buf_addstr(out, " -d ");
	add_quoted(out, completion_gist(option));
	buf_addch(out, '\n');
	if (option->alias)
		buf_addf(out, "complete -c cadre $when -l %s%s\n", option->alias,
			 option->arg == CADRE_OPTION_REQUIRED ? " -x" : "");
}

/* What follows a command: one of its words, a session behind one of those. */
static void add_words(struct buf *out, const struct cadre_command *command)
{
	if (completion_has_words(command)) {
		buf_addf(
			out,
			"complete -c cadre -f -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from ",
			command->name);
		completion_add_words(out, command);
		buf_addstr(out, "' -a '");
		completion_add_words(out, command);
		buf_addstr(out, "'\n");
	}
	if (completion_has_sessions(command)) {
		buf_addf(out,
			 "complete -c cadre -f -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from ",
			 command->name);
		completion_add_holders(out, command, " ");
		buf_addstr(out, "' -a '(cadre sessions ids 2>/dev/null)'\n");
	}
}

void completion_fish(struct buf *out)
{
	buf_addstr(out, "# fish completion of cadre\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, "complete -c cadre -n __fish_use_subcommand -a %s -d ", c->name);
		add_quoted(out, str_from(c->summary));
		buf_addch(out, '\n');
	}
	buf_addstr(out, "set -l when -n 'not __fish_seen_subcommand_from");
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		buf_addf(out, " %s", c->name);
	buf_addstr(out, "'\n");
	command_options(NULL, add_flag, out);
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		add_words(out, c);
		buf_addf(out, "set when -n '__fish_seen_subcommand_from %s'\n", c->name);
		command_options(c, add_flag, out);
	}
}
