/* SPDX-License-Identifier: MIT
 * completion_fish.c - one `complete` a line; its condition says behind which verb it holds. */
#include "face/cli/completion.h"

static void add_quoted(struct buf *out, struct str text)
{
	buf_addch(out, '\'');
	completion_add_escaped(out, text, "'\\");
	buf_addch(out, '\'');
}

static void add_value(struct buf *out, const struct option *option)
{
	if (completion_takes_session(option))
		buf_addstr(out, " -x -a '(cadre sessions ids 2>/dev/null)'");
	else if (option->arg == OPTION_REQUIRED)
		buf_addstr(out, completion_takes_path(option) ? " -rF" : " -x");
	if (!option->choices)
		return;
	buf_addstr(out, " -a '");
	completion_add_words(out, option->choices);
	buf_addch(out, '\'');
}

/* All of a line but its condition, which a variable holds */
static void add_flag(struct buf *out, const struct option *option)
{
	buf_addf(out, "complete -c cadre $when -l %s", option->name);
	if (option->letter)
		buf_addf(out, " -s %c", option->letter);
	add_value(out, option);
	buf_addstr(out, " -d ");
	add_quoted(out, completion_gist(option));
	buf_addch(out, '\n');
	if (option->alias)
		buf_addf(out, "complete -c cadre $when -l %s%s\n", option->alias,
			 option->arg == OPTION_REQUIRED ? " -x" : "");
}

/* What follows a verb: one of its words, a session behind one of those. */
static void add_words(struct buf *out, const struct verb *verb)
{
	if (verb->words) {
		buf_addf(
			out,
			"complete -c cadre -f -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from ",
			verb->name);
		completion_add_words(out, verb->words);
		buf_addstr(out, "' -a '");
		completion_add_words(out, verb->words);
		buf_addstr(out, "'\n");
	}
	if (verb->session_words) {
		buf_addf(out,
			 "complete -c cadre -f -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from ",
			 verb->name);
		completion_add_holders(out, verb, " ");
		buf_addstr(out, "' -a '(cadre sessions ids 2>/dev/null)'\n");
	}
}

static void add_verb(struct buf *out, const struct verb *verb)
{
	add_words(out, verb);
	buf_addf(out, "set when -n '__fish_seen_subcommand_from %s'\n", verb->name);
	completion_flags(verb, add_flag, out);
}

void completion_fish(struct buf *out)
{
	buf_addstr(out, "# fish completion of cadre\n");
	for (size_t i = 0; verb_table[i]; i++) {
		buf_addf(out, "complete -c cadre -n __fish_use_subcommand -a %s -d ", verb_table[i]->name);
		add_quoted(out, str_from(verb_table[i]->summary));
		buf_addch(out, '\n');
	}
	buf_addstr(out, "set -l when -n 'not __fish_seen_subcommand_from");
	for (size_t i = 0; verb_table[i]; i++)
		buf_addf(out, " %s", verb_table[i]->name);
	buf_addstr(out, "'\n");
	completion_flags(NULL, add_flag, out);
	for (size_t i = 0; verb_table[i]; i++)
		add_verb(out, verb_table[i]);
}
