/* SPDX-License-Identifier: MIT
 * completion_zsh.c - the flags as _arguments reads them, a list for each verb. */
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

static void add_argument(struct buf *out, const struct option *option)
{
	if (!option->value)
		return;
	buf_addstr(out, option->arg == OPTION_OPTIONAL ? "::" : ":");
	completion_add_escaped(out, str_from(option->value + (option->value[0] == '=')), ":");
	buf_addch(out, ':');
	if (option->choices) {
		buf_addch(out, '(');
		completion_add_words(out, option->choices);
		buf_addch(out, ')');
	} else if (completion_takes_session(option)) {
		buf_addstr(out, "_cadre_sessions");
	} else if (completion_takes_path(option)) {
		buf_addstr(out, "_files");
	}
}

/* Any number of times: that is how lists are given. */
static void add_spelling(struct buf *out, const struct option *option, const char *spelling)
{
	buf_addf(out, "\t\t'*%s[", spelling);
	add_gist(out, completion_gist(option));
	buf_addch(out, ']');
	add_argument(out, option);
	buf_addstr(out, "'\n");
}

static void add_flag(struct buf *out, const struct option *option)
{
	const char *equals = option->arg == OPTION_REQUIRED ? "=" : option->flags & OPTION_JOINED ? "=-" : "";
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

/* What follows a verb, which is the first argument: one of its words, a session behind one of those. */
static void add_words(struct buf *out, const struct verb *verb)
{
	if (verb->words) {
		buf_addstr(out, "\tflags+=('2:word:(");
		completion_add_words(out, verb->words);
		buf_addstr(out, ")')\n");
	}
	if (verb->session_words) {
		buf_addf(out, "\t[[ $words[%d] == (", verb->words ? 3 : 2);
		completion_add_holders(out, verb, "|");
		buf_addf(out, ") ]] && flags+=('%d:session:_cadre_sessions')\n", verb->words ? 3 : 2);
	}
}

static void add_verb(struct buf *out, const struct verb *verb)
{
	buf_addf(out, "\t%s) flags=(\n", verb ? verb->name : "*");
	completion_flags(verb, add_flag, out);
	buf_addstr(out, "\t)\n");
	if (verb)
		add_words(out, verb);
	buf_addstr(out, "\t;;\n");
}

void completion_zsh(struct buf *out)
{
	buf_addstr(out, "#compdef cadre\n"
			"_cadre_sessions()\n{\n\tlocal -a ids\n"
			"\tids=(${(f)\"$(_call_program sessions cadre sessions ids 2>/dev/null)\"})\n"
			"\tids=(${ids//:/\\\\:})\n\tids=(${ids/$'\\t'/:})\n\t_describe session ids\n}\n"
			"_cadre()\n{\n\tlocal -a verbs flags\n\tverbs=(\n");
	for (size_t i = 0; verb_table[i]; i++) {
		buf_addf(out, "\t\t'%s:", verb_table[i]->name);
		add_gist(out, str_from(verb_table[i]->summary));
		buf_addstr(out, "'\n");
	}
	buf_addstr(out, "\t)\n\tif ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then\n\t\t_describe command verbs\n"
			"\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (size_t i = 0; verb_table[i]; i++)
		add_verb(out, verb_table[i]);
	add_verb(out, NULL);
	buf_addstr(out, "\tesac\n\t_arguments $flags '*:file:_files'\n}\n_cadre \"$@\"\n");
}
