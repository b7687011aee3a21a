/* SPDX-License-Identifier: MIT
 * completion_zsh.c - the flags as _arguments reads them, a list for each command. */
#include "face/cli/completion.h"

/* Inside '...' of the shell and [...] of a specification */
static void add_gist(struct buf *out, struct str gist)
{
	AUTO_BUF struct buf escaped = { 0 };

	completion_add_escaped(&escaped, gist, "[]:\\");
	for (size_t i = 0; i < escaped.n; i++) {
		if (escaped.p[i] == '\'')
			buf_addstr(out, "'\\''");
		else
			buf_addch(out, escaped.p[i]);
	}
}

static void add_argument(struct buf *out, const struct cadre_option *option)
{
	if (!option->value)
		return;
	buf_addstr(out, option->arg == CADRE_OPTION_OPTIONAL ? "::" : ":");
	completion_add_escaped(out, str_from(option->value + (option->value[0] == '=')), ":");
	buf_addch(out, ':');
	if (option->choices) {
		buf_addch(out, '(');
		completion_add_choices(out, option->choices);
		buf_addch(out, ')');
	} else if (completion_takes_session(option)) {
		buf_addstr(out, "_cadre_sessions");
	} else if (completion_takes_path(option)) {
		buf_addstr(out, "_files");
	}
}

/* Any number of times: that is how lists are given. */
static void add_spelling(struct buf *out, const struct cadre_option *option, const char *spelling)
{
	buf_addf(out, "\t\t'*%s[", spelling);
	add_gist(out, completion_gist(option));
	buf_addch(out, ']');
	add_argument(out, option);
	buf_addstr(out, "'\n");
}

static void add_flag(void *data, const struct cadre_option *option)
{
	struct buf *out = data;
	const char *equals = option->arg == CADRE_OPTION_REQUIRED  ? "="
			     : option->flags & CADRE_OPTION_JOINED ? "=-"
								   : "";
	char spelling[64];

	snprintf(spelling, sizeof spelling, "--%s%s", option->name, equals);
	add_spelling(out, option, spelling);
	snprintf(spelling, sizeof spelling, "--%s%s", option->alias ? option->alias : "", equals);
	if (option->alias)
		add_spelling(out, option, spelling);
	snprintf(spelling, sizeof spelling, "-%c", option->letter);
	if (option->letter)
		add_spelling(out, option, spelling);
}

/* What follows a command, which is the first argument: one of its words, a session behind one of those. */
static void add_command(struct buf *out, const struct cadre_command *command)
{
	buf_addf(out, "\t%s) flags=(\n", command ? command->name : "*");
	command_options(command, add_flag, out);
	buf_addstr(out, "\t)\n");
	bool has_words = command && completion_has_words(command);
	if (has_words) {
		buf_addstr(out, "\tflags+=('2:word:(");
		completion_add_words(out, command);
		buf_addstr(out, ")')\n");
	}
	if (command && completion_has_sessions(command)) {
		buf_addf(out, "\t[[ $words[%d] == (", has_words ? 3 : 2);
		completion_add_holders(out, command, "|");
		buf_addf(out, ") ]] && flags+=('%d:session:_cadre_sessions')\n", has_words ? 3 : 2);
	}
	buf_addstr(out, "\t;;\n");
}

void completion_zsh(struct buf *out)
{
	buf_addstr(out, "#compdef cadre\n"
			"_cadre_sessions()\n{\n\tlocal -a ids\n"
			"\tids=(${(f)\"$(_call_program sessions cadre sessions ids 2>/dev/null)\"})\n"
			"\tids=(${ids//:/\\\\:})\n\tids=(${ids/$'\\t'/:})\n\t_describe session ids\n}\n"
			"_cadre()\n{\n\tlocal -a subcommands flags\n\tsubcommands=(\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, "\t\t'%s:", c->name);
		add_gist(out, str_from(c->summary));
		buf_addstr(out, "'\n");
	}
	buf_addstr(out, "\t)\n\tif ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then\n\t\t_describe command subcommands\n"
			"\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		add_command(out, c);
	add_command(out, NULL);
	buf_addstr(out, "\tesac\n\t_arguments $flags '*:file:_files'\n}\n_cadre \"$@\"\n");
}
