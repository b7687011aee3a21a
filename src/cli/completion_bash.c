/* SPDX-License-Identifier: MIT
 * completion_bash.c - one function: what stands before the cursor decides, then the verb. */
#include "cli/completion.h"

static void add_name(struct buf *out, const struct option *option)
{
	buf_addf(out, " --%s", option->name);
	if (option->alias)
		buf_addf(out, " --%s", option->alias);
	if (option->letter)
		buf_addf(out, " -%c", option->letter);
}

/* `-p|--print` as a pattern of case */
static void add_pattern(struct buf *out, const struct option *option)
{
	buf_addf(out, "\t--%s", option->name);
	if (option->alias)
		buf_addf(out, "|--%s", option->alias);
	if (option->letter)
		buf_addf(out, "|-%c", option->letter);
	buf_addstr(out, ")");
}

static void add_value(struct buf *out, const struct option *option)
{
	if (option->arg != OPTION_REQUIRED)
		return;
	add_pattern(out, option);
	if (option->choices) {
		buf_addstr(out, " COMPREPLY=($(compgen -W '");
		for (size_t i = 0; option->choices[i]; i++)
			buf_addf(out, "%s%s", i ? " " : "", option->choices[i]);
		buf_addstr(out, "' -- \"$cur\"));");
	} else if (completion_takes_path(option)) {
		buf_addstr(out, " COMPREPLY=($(compgen -f -- \"$cur\"));");
	}
	buf_addstr(out, " return ;;\n");
}

static void add_verb(struct buf *out, const struct verb *verb)
{
	buf_addf(out, "\t%s) flags='", verb ? verb->name : "*");
	completion_flags(verb, add_name, out);
	buf_addstr(out, "' ;;\n");
}

void completion_bash(struct buf *out)
{
	buf_addstr(out, "# bash completion of cadre\n_cadre()\n{\n"
			"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags verbs=");
	buf_addch(out, '\'');
	for (size_t i = 0; verb_table[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", verb_table[i]->name);
	buf_addstr(out, "'\n\tCOMPREPLY=()\n\tcase $prev in\n");
	for (size_t i = 0; i < option_count; i++)
		add_value(out, &option_table[i]);
	buf_addstr(out, "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; verb_table[i]; i++)
		add_verb(out, verb_table[i]);
	add_verb(out, NULL);
	buf_addstr(
		out,
		"\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
		"\telif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
		"\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\ncomplete -o filenames -F _cadre cadre\n");
}
