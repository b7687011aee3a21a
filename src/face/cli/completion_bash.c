/* SPDX-License-Identifier: MIT
 * completion_bash.c - one function: what stands before the cursor decides, then the command. */
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

static void add_name(void *data, const struct cadre_option *option)
{
	struct buf *out = data;

	buf_addf(out, " --%s", option->name);
	if (option->alias)
		buf_addf(out, " --%s", option->alias);
	if (option->letter)
		buf_addf(out, " -%c", option->letter);
}

/* `-p|--print` as a pattern of case */
static void add_pattern(struct buf *out, const struct cadre_option *option)
{
	buf_addf(out, "\t--%s", option->name);
	if (option->alias)
		buf_addf(out, "|--%s", option->alias);
	if (option->letter)
		buf_addf(out, "|-%c", option->letter);
	buf_addstr(out, ")");
}

static void add_value(void *data, const struct cadre_option *option)
{
	struct buf *out = data;

	if (option->arg != CADRE_OPTION_REQUIRED && !completion_takes_session(option))
		return;
	add_pattern(out, option);
	if (completion_takes_session(option)) {
		buf_addstr(out, " [[ $cur == -* ]] || { _cadre_sessions \"$1\"; return; } ;;\n");
		return;
	}
	if (option->choices) {
		buf_addstr(out, " _cadre_reply '");
		completion_add_choices(out, option->choices);
		buf_addstr(out, "';");
	} else if (completion_takes_path(option)) {
		buf_addstr(out, " COMPREPLY=($(compgen -f -- \"$cur\"));");
	}
	buf_addstr(out, " return ;;\n");
}

void completion_bash(struct buf *out)
{
	buf_addstr(out, beginning);
	completion_each_option(out, add_value);
	buf_addstr(out, "\tesac\n\tcase $((COMP_CWORD > 1)):${COMP_WORDS[1]} in\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, "\t1:%s) flags='", c->name);
		command_options(c, add_name, out);
		buf_addstr(out, "' words='");
		completion_add_words(out, c);
		buf_addstr(out, "' sessions='");
		completion_add_holders(out, c, " ");
		buf_addstr(out, "' ;;\n");
	}
	buf_addstr(out, "\t*) flags='");
	command_options(NULL, add_name, out);
	buf_addstr(out, "' words='");
	for (const struct cadre_command *c = command_next(NULL), *next; c; c = next) {
		next = command_next(c);
		buf_addf(out, "%s%s", c->name, next ? " " : "");
	}
	buf_addstr(out, "'; ((COMP_CWORD == 1)) || words= ;;\n");
	buf_addstr(out, end);
}
