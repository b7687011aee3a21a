/* SPDX-License-Identifier: MIT
 * manual.c - the manual page: the words of --help in the form of man(7). */
#include "face/cli/completion.h"

/* Text for roff: nothing in it is a command. */
static void add_text(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		bool first = i == 0 || text.p[i - 1] == '\n';
		if (first && (text.p[i] == '.' || text.p[i] == '\''))
			buf_addstr(out, "\\&");
		if (text.p[i] == '\\')
			buf_addstr(out, "\\e");
		else if (text.p[i] == '-')
			buf_addstr(out, "\\-");
		else
			buf_addch(out, text.p[i]);
	}
}

/* Lines as they are */
static void add_lines(struct buf *out, const char *text)
{
	buf_addstr(out, ".nf\n");
	add_text(out, str_from(text));
	buf_addstr(out, ".fi\n");
}

static void add_name(struct buf *out, const char *dashes, const char *name)
{
	buf_addstr(out, "\\fB");
	add_text(out, str_from(dashes));
	add_text(out, str_from(name));
	buf_addstr(out, "\\fR");
}

static void add_option(struct buf *out, const struct cadre_option *option)
{
	buf_addstr(out, ".TP\n");
	if (option->letter) {
		add_name(out, "-", (char[]){ option->letter, '\0' });
		buf_addstr(out, ", ");
	}
	add_name(out, "--", option->name);
	if (option->alias) {
		buf_addstr(out, ", ");
		add_name(out, "--", option->alias);
	}
	if (option->value) {
		buf_addstr(out, option->arg == CADRE_OPTION_OPTIONAL ? " [\\fI" : " \\fI");
		add_text(out, str_from(option->value));
		buf_addstr(out, option->arg == CADRE_OPTION_OPTIONAL ? "\\fR]" : "\\fR");
	}
	buf_addch(out, '\n');
	add_text(out, str_from(option->help));
	buf_addch(out, '\n');
}

void manual_write(struct buf *out)
{
	buf_addf(out, ".TH CADRE 1 \"\" \"cadre %s\" \"User Commands\"\n", cadre_version());
	buf_addstr(out, ".SH NAME\ncadre \\- an agent that works in this directory\n.SH SYNOPSIS\n"
			"\\fBcadre\\fR [\\fIflags\\fR] [\\fIprompt\\fR]\n.br\n"
			"\\fBcadre \\-p\\fR [\\fIflags\\fR] [\\fIprompt\\fR]\n.br\n"
			"\\fBcadre\\fR \\fIcommand\\fR ...\n.SH DESCRIPTION\n");
	add_lines(out, help_intro);
	buf_addstr(out, ".SH OPTIONS\n");
	for (int group = 0; group < GROUP_COUNT; group++) {
		buf_addf(out, ".SS \"%s\"\n", help_group_titles[group]);
		for (size_t i = 0; i < flag_count; i++)
			if ((int)flag_table[i].group == group)
				add_option(out, &flag_table[i].option);
	}
	buf_addstr(out, ".SH COMMANDS\nEach takes \\-\\-help, and most take \\-\\-json.\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, ".SS \"cadre %s\"\n", c->name);
		add_text(out, str_from(c->summary));
		buf_addstr(out, ".\n.PP\n");
		add_lines(out, c->help);
		for (const struct cadre_option *o = c->options; o->name; o++)
			add_option(out, o);
	}
	buf_addstr(out, ".SH \"ENVIRONMENT AND EXIT STATUS\"\n");
	add_lines(out, help_outro);
}
