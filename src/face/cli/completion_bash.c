/* SPDX-License-Identifier: MIT
 * completion_bash.c - one function: what stands before the cursor decides, then the verb. */
#include "face/cli/completion.h"

/* What bash takes for a word of its own in --flag=value is put together again. */
static const char beginning[] =
	"# bash completion of cadre\n"
	"_cadre_reply()\n{\n\tCOMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n}\n"
	"_cadre_sessions()\n{\n\t_cadre_reply \"$(\"$1\" sessions ids 2>/dev/null | cut -f1)\"\n}\n"
	"_cadre()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags words sessions\n"
	"\tif [[ $cur == = ]]; then\n\t\tcur=\n"
	"\telif [[ $prev == = ]] && ((COMP_CWORD > 1)); then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n"
	"\tCOMPREPLY=()\n\tcase $prev in\n";

static const char end[] = "\tesac\n"
			  "\tif [[ $cur == -* ]]; then\n\t\t_cadre_reply \"$flags\"\n"
			  "\telif ((COMP_CWORD == 1)); then\n\t\t_cadre_reply \"$words\"\n"
			  "\telif [[ \" $sessions \" == *\" $prev \"* ]]; then\n\t\t_cadre_sessions \"$1\"\n"
			  "\telif ((COMP_CWORD == 2)) && [[ $words ]]; then\n\t\t_cadre_reply \"$words\"\n"
			  "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
			  "complete -o filenames -F _cadre cadre\n";

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
	if (option->arg != OPTION_REQUIRED && !completion_takes_session(option))
		return;
	add_pattern(out, option);
	if (completion_takes_session(option)) {
		buf_addstr(out, " [[ $cur == -* ]] || { _cadre_sessions \"$1\"; return; } ;;\n");
		return;
	}
	if (option->choices) {
		buf_addstr(out, " _cadre_reply '");
		completion_add_words(out, option->choices);
		buf_addstr(out, "';");
	} else if (completion_takes_path(option)) {
		buf_addstr(out, " COMPREPLY=($(compgen -f -- \"$cur\"));");
	}
	buf_addstr(out, " return ;;\n");
}

static void add_verb(struct buf *out, const struct verb *verb)
{
	buf_addf(out, "\t1:%s) flags='", verb->name);
	completion_flags(verb, add_name, out);
	buf_addstr(out, "' words='");
	completion_add_words(out, verb->words);
	buf_addstr(out, "' sessions='");
	completion_add_holders(out, verb, " ");
	buf_addstr(out, "' ;;\n");
}

static void add_no_verb(struct buf *out)
{
	buf_addstr(out, "\t*) flags='");
	completion_flags(NULL, add_name, out);
	buf_addstr(out, "' words='");
	for (size_t i = 0; verb_table[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", verb_table[i]->name);
	buf_addstr(out, "'; ((COMP_CWORD == 1)) || words= ;;\n");
}

void completion_bash(struct buf *out)
{
	buf_addstr(out, beginning);
	for (size_t i = 0; i < option_count; i++)
		add_value(out, &option_table[i]);
	buf_addstr(out, "\tesac\n\tcase $((COMP_CWORD > 1)):${COMP_WORDS[1]} in\n");
	for (size_t i = 0; verb_table[i]; i++)
		add_verb(out, verb_table[i]);
	add_no_verb(out);
	buf_addstr(out, end);
}
