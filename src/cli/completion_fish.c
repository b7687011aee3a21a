/* SPDX-License-Identifier: MIT
 * completion_fish.c - one `complete` a line; its condition says behind which verb it holds. */
#include "cli/completion.h"

static void add_quoted(struct buf *out, struct str text)
{
	buf_addch(out, '\'');
	completion_add_escaped(out, text, "'\\");
	buf_addch(out, '\'');
}

/* All of a line but its beginning, which the caller has written */
static void add_flag(struct buf *out, const struct option *option)
{
	buf_addf(out, "complete -c cadre $when -l %s", option->name);
	if (option->letter)
		buf_addf(out, " -s %c", option->letter);
	if (option->arg == OPTION_REQUIRED)
		buf_addstr(out, completion_takes_path(option) ? " -rF" : " -x");
	if (option->choices) {
		buf_addstr(out, " -a '");
		for (size_t i = 0; option->choices[i]; i++)
			buf_addf(out, "%s%s", i ? " " : "", option->choices[i]);
		buf_addch(out, '\'');
	}
	buf_addstr(out, " -d ");
	add_quoted(out, completion_gist(option));
	buf_addch(out, '\n');
	if (option->alias)
		buf_addf(out, "complete -c cadre $when -l %s%s\n", option->alias,
			 option->arg == OPTION_REQUIRED ? " -x" : "");
}

static void add_verb_names(struct buf *out)
{
	for (size_t i = 0; verb_table[i]; i++)
		buf_addf(out, " %s", verb_table[i]->name);
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
	add_verb_names(out);
	buf_addstr(out, "'\n");
	completion_flags(NULL, add_flag, out);
	for (size_t i = 0; verb_table[i]; i++) {
		buf_addf(out, "set when -n '__fish_seen_subcommand_from %s'\n", verb_table[i]->name);
		completion_flags(verb_table[i], add_flag, out);
	}
}
