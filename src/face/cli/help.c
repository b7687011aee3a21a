/* SPDX-License-Identifier: MIT
 * help.c - the text of --help, made from the tables of flags and commands. */
#include "face/cli/command.h"
#include "face/cli/completion.h"

enum { HELP_WIDTH = 100, HELP_INDENT = 38 };

static const char help_intro[] =
	"cadre - a coding agent: it reads, searches and edits files in this directory and runs commands.\n"
	"\n"
	"Usage: cadre [flags] [prompt]        a conversation on the terminal\n"
	"       cadre -p [flags] [prompt]     answer once and exit, for scripts and pipes\n"
	"       cadre <command> ...           inspect or change configuration; see below\n"
	"\n"
	"Examples:\n"
	"  cadre -p \"What does this project do?\"\n"
	"  git diff | cadre -p \"Review this change\"\n"
	"  cadre -p --allowed-tools Edit,Bash --max-turns 30 -- \"Make the tests pass\"\n"
	"  cadre -p --output-format json \"List the entry points\" | jq -r .result\n"
	"  cadre -p --output-format stream-json --verbose \"Explain src/\"      one event per line\n"
	"  cadre --continue                                                   continue the latest session\n"
	"  cadre -p --resume 2f1c0e6a-...                                     finish an interrupted turn\n"
	"\n"
	"A flag that takes several names takes all words up to the next flag: put the prompt before it, or\n"
	"after --.\n";

static const char help_outro[] =
	"Environment:\n"
	"  ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN   one is required, except with --provider scripted\n"
	"  ANTHROPIC_BASE_URL                        another server with the Messages API\n"
	"  CLAUDE_CODE_USE_BEDROCK, _MANTLE, _ANTHROPIC_AWS, _VERTEX, _FOUNDRY\n"
	"                                            all requests go to that cloud (docs/models.md)\n"
	"  OPENAI_BASE_URL, OPENAI_API_KEY           the same for --provider openai (local: no key)\n"
	"  CLAUDE_CONFIG_DIR                         directory of sessions and settings (default ~/.claude)\n"
	"  HTTPS_PROXY, http_proxy, NO_PROXY         proxies\n"
	"  NO_COLOR                                  no colours on the terminal\n"
	"  All others are in docs/variables.md.\n"
	"\n"
	"Exit codes:\n"
	"  0   success\n"
	"  1   the run failed: an error of the service, the turn limit, an output error\n"
	"  2   the command line or the configuration is wrong; nothing was started\n"
	"  130, 143   ended by SIGINT or SIGTERM; the session is on disk and can be resumed\n"
	"  141        the reader closed the output (`cadre --help | head`)\n";

static const char *const help_group_titles[GROUP_COUNT] = {
	[GROUP_RUN] = "Running",
	[GROUP_MODEL] = "Model and prompt",
	[GROUP_TOOLS] = "Tools and permissions",
	[GROUP_SESSION] = "Sessions",
	[GROUP_OTHER] = "Other",
};

static void add_wrapped(struct buf *out, struct str text)
{
	size_t column = HELP_INDENT;

	while (text.p) {
		struct str word = str_cut(&text, ' ');
		if (column > HELP_INDENT && column + 1 + word.n > HELP_WIDTH) {
			buf_addf(out, "\n%*s", HELP_INDENT, "");
			column = HELP_INDENT;
		} else if (column > HELP_INDENT) {
			buf_addch(out, ' ');
			column++;
		}
		buf_add(out, word.p, word.n);
		column += word.n;
	}
}

static void add_option(void *data, const struct cadre_option *opt)
{
	struct buf *out = data;
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text, opt->help);
	if (opt->alias)
		buf_addf(&text, " Also --%s.", opt->alias);
	size_t start = out->n;
	if (opt->letter)
		buf_addf(out, "  -%c, ", opt->letter);
	else
		buf_addstr(out, "      ");
	buf_addf(out, "--%s", opt->name);
	if (opt->value)
		buf_addf(out, opt->arg == CADRE_OPTION_OPTIONAL ? " [%s]" : " <%s>", opt->value);
	if (out->n - start >= HELP_INDENT) {
		buf_addch(out, '\n');
		start = out->n;
	}
	while (out->n - start < HELP_INDENT)
		buf_addch(out, ' ');
	add_wrapped(out, buf_str(&text));
	buf_addch(out, '\n');
}

void help_write_command(struct buf *out, const struct cadre_command *command)
{
	buf_addf(out, "%s\nFlags:\n", command->help);
	command_options(command, add_option, out);
}

void help_write(struct buf *out)
{
	buf_addstr(out, help_intro);
	buf_addstr(out, "\nCommands (each has --help, and --json where it prints a report):\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		buf_addf(out, "  cadre %-*s%s\n", HELP_INDENT - 8, c->name, c->summary);
	for (int group = 0; group < GROUP_COUNT; group++) {
		buf_addf(out, "\n%s:\n", help_group_titles[group]);
		for (size_t i = 0; i < flag_count; i++)
			if ((int)flag_table[i].group == group)
				add_option(out, &flag_table[i].option);
	}
	buf_addch(out, '\n');
	buf_addstr(out, help_outro);
}

/* The manual page: the words of --help in the form of man(7). */

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

static void manual_add_option(struct buf *out, const struct cadre_option *option)
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
	buf_addstr(out, ".SH NAME\ncadre \\- coding agents for the terminal, scripts and C programs\n.SH SYNOPSIS\n"
			"\\fBcadre\\fR [\\fIflags\\fR] [\\fIprompt\\fR]\n.br\n"
			"\\fBcadre \\-p\\fR [\\fIflags\\fR] [\\fIprompt\\fR]\n.br\n"
			"\\fBcadre\\fR \\fIcommand\\fR ...\n.SH DESCRIPTION\n");
	add_lines(out, help_intro);
	buf_addstr(out, ".SH OPTIONS\n");
	for (int group = 0; group < GROUP_COUNT; group++) {
		buf_addf(out, ".SS \"%s\"\n", help_group_titles[group]);
		for (size_t i = 0; i < flag_count; i++)
			if ((int)flag_table[i].group == group)
				manual_add_option(out, &flag_table[i].option);
	}
	buf_addstr(out, ".SH COMMANDS\nEach takes \\-\\-help, and most take \\-\\-json.\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, ".SS \"cadre %s\"\n", c->name);
		add_text(out, str_from(c->summary));
		buf_addstr(out, ".\n.PP\n");
		add_lines(out, c->help);
		for (const struct cadre_option *o = c->options; o->name; o++)
			manual_add_option(out, o);
	}
	buf_addstr(out, ".SH \"ENVIRONMENT AND EXIT STATUS\"\n");
	add_lines(out, help_outro);
}
