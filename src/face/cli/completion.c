/* SPDX-License-Identifier: MIT
 * completion.c - `cadre completion` and `cadre manual`: scripts for shells, made from the tables of flags and commands.
 * To add a shell: a function that writes its script, a row in completion_shells. */
#include "face/cli/completion.h"

/* Calls fn once for each option of the program and of commands, by name. */
static void completion_each_option(struct buf *out, void (*fn)(void *out, const struct cadre_option *option))
{
	for (size_t i = 0; i < flag_count; i++)
		fn(out, &flag_table[i].option);
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		for (const struct cadre_option *o = c->options; o->name; o++) {
			bool first = true;
			for (const struct cadre_command *b = NULL; (b = command_next(b)) && b != c && first;)
				for (const struct cadre_option *other = b->options; other->name; other++)
					first = first && strcmp(other->name, o->name) != 0;
			if (first)
				fn(out, o);
		}
}

static bool completion_takes_path(const struct cadre_option *option)
{
	return option->value && (strstr(option->value, "file") || strstr(option->value, "dir"));
}

static bool completion_takes_session(const struct cadre_option *option)
{
	return option->value && !strcmp(option->value, "session");
}

static void completion_add_choices(struct buf *out, const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", choices[i]);
}

/* The words of a command, or those that a session follows (of a command without words: its name). Of words that belong
 * together, as marketplace add, the first one stands alone. */
static void completion_add_words(struct buf *out, const struct cadre_command *command, bool with_session,
				 const char *between)
{
	const char *gap = "";

	for (const struct cadre_command_word *w = command->words; w->name; w++) {
		bool takes_session = w->operands && strstr(w->operands, "SESSION");
		if (with_session ? !takes_session : !w->name[0] || strchr(w->name, ' '))
			continue;
		buf_addf(out, "%s%s", gap, w->name[0] ? w->name : command->name);
		gap = between;
	}
}

static struct str completion_gist(const struct cadre_option *option)
{
	struct str help = str_from(option->help);
	const char *end = strstr(option->help, ". ");

	if (end)
		help.n = (size_t)(end - option->help);
	else if (str_ends(help, STR(".")))
		help.n--;
	return help;
}

static void completion_add_escaped(struct buf *out, struct str text, const char *special)
{
	for (size_t i = 0; i < text.n; i++) {
		if (char_in(text.p[i], special))
			buf_addch(out, '\\');
		buf_addch(out, text.p[i]);
	}
}

/* What bash takes for a word of its own in --flag=value is put together again. */
static const char bash_beginning[] =
	"# bash completion of cadre\n"
	"_cadre_reply()\n{\n\tCOMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n}\n"
	"_cadre_sessions()\n{\n\t_cadre_reply \"$(\"$1\" sessions ids 2>/dev/null | cut -f1)\"\n}\n"
	"_cadre()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags words sessions\n"
	"\tif [[ $cur == = ]]; then\n\t\tcur=\n"
	"\telif [[ $prev == = ]] && ((COMP_CWORD > 1)); then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n"
	"\tCOMPREPLY=()\n\tcase $prev in\n";

static const char bash_end[] = "\tesac\n"
			       "\tif [[ $cur == -* ]]; then\n\t\t_cadre_reply \"$flags\"\n"
			       "\telif ((COMP_CWORD == 1)); then\n\t\t_cadre_reply \"$words\"\n"
			       "\telif [[ \" $sessions \" == *\" $prev \"* ]]; then\n\t\t_cadre_sessions \"$1\"\n"
			       "\telif ((COMP_CWORD == 2)) && [[ $words ]]; then\n\t\t_cadre_reply \"$words\"\n"
			       "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
			       "complete -o filenames -F _cadre cadre\n";

static void bash_add_name(void *data, const struct cadre_option *option)
{
	struct buf *out = data;

	buf_addf(out, " --%s", option->name);
	if (option->alias)
		buf_addf(out, " --%s", option->alias);
	if (option->letter)
		buf_addf(out, " -%c", option->letter);
}

static void bash_add_value(void *data, const struct cadre_option *option)
{
	struct buf *out = data;

	if (option->arg != CADRE_OPTION_REQUIRED && !completion_takes_session(option))
		return;
	/* `-p|--print` as a pattern of case */
	buf_addf(out, "\t--%s", option->name);
	if (option->alias)
		buf_addf(out, "|--%s", option->alias);
	if (option->letter)
		buf_addf(out, "|-%c", option->letter);
	buf_addstr(out, ")");
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
	buf_addstr(out, bash_beginning);
	completion_each_option(out, bash_add_value);
	buf_addstr(out, "\tesac\n\tcase $((COMP_CWORD > 1)):${COMP_WORDS[1]} in\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, "\t1:%s) flags='", c->name);
		command_options(c, bash_add_name, out);
		buf_addstr(out, "' words='");
		completion_add_words(out, c, false, " ");
		buf_addstr(out, "' sessions='");
		completion_add_words(out, c, true, " ");
		buf_addstr(out, "' ;;\n");
	}
	buf_addstr(out, "\t*) flags='");
	command_options(NULL, bash_add_name, out);
	buf_addstr(out, "' words='");
	for (const struct cadre_command *c = command_next(NULL), *next; c; c = next) {
		next = command_next(c);
		buf_addf(out, "%s%s", c->name, next ? " " : "");
	}
	buf_addstr(out, "'; ((COMP_CWORD == 1)) || words= ;;\n");
	buf_addstr(out, bash_end);
}

static void fish_add_quoted(struct buf *out, struct str text)
{
	buf_addch(out, '\'');
	completion_add_escaped(out, text, "'\\");
	buf_addch(out, '\'');
}

/* All of a line but its condition, which a variable holds */
static void fish_add_flag(void *data, const struct cadre_option *option)
{
	struct buf *out = data;

	buf_addf(out, "complete -c cadre $when -l %s", option->name);
	if (option->letter)
		buf_addf(out, " -s %c", option->letter);
	if (completion_takes_session(option))
		buf_addstr(out, " -x -a '(cadre sessions ids 2>/dev/null)'");
	else if (option->arg == CADRE_OPTION_REQUIRED)
		buf_addstr(out, completion_takes_path(option) ? " -rF" : " -x");
	if (option->choices) {
		buf_addstr(out, " -a '");
		completion_add_choices(out, option->choices);
		buf_addch(out, '\'');
	}
	buf_addstr(out, " -d ");
	fish_add_quoted(out, completion_gist(option));
	buf_addch(out, '\n');
	if (option->alias)
		buf_addf(out, "complete -c cadre $when -l %s%s\n", option->alias,
			 option->arg == CADRE_OPTION_REQUIRED ? " -x" : "");
}

/* What follows a command: one of its words, a session behind one of those. */
static void fish_add_words(struct buf *out, const struct cadre_command *command)
{
	AUTO_BUF struct buf words = { 0 }, holders = { 0 };
	static const char seen[] = "complete -c cadre -f -n '__fish_seen_subcommand_from";

	completion_add_words(&words, command, false, " ");
	if (words.n)
		buf_addf(out, "%s %s; and not __fish_seen_subcommand_from %s' -a '%s'\n", seen, command->name, words.p,
			 words.p);
	completion_add_words(&holders, command, true, " ");
	if (holders.n)
		buf_addf(out, "%s %s; and __fish_seen_subcommand_from %s' -a '(cadre sessions ids 2>/dev/null)'\n",
			 seen, command->name, holders.p);
}

void completion_fish(struct buf *out)
{
	buf_addstr(out, "# fish completion of cadre\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		buf_addf(out, "complete -c cadre -n __fish_use_subcommand -a %s -d ", c->name);
		fish_add_quoted(out, str_from(c->summary));
		buf_addch(out, '\n');
	}
	buf_addstr(out, "set -l when -n 'not __fish_seen_subcommand_from");
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		buf_addf(out, " %s", c->name);
	buf_addstr(out, "'\n");
	command_options(NULL, fish_add_flag, out);
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		fish_add_words(out, c);
		buf_addf(out, "set when -n '__fish_seen_subcommand_from %s'\n", c->name);
		command_options(c, fish_add_flag, out);
	}
}

/* Inside '...' of the shell and [...] of a specification */
static void zsh_add_gist(struct buf *out, struct str gist)
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

/* Any number of times: that is how lists are given. */
static void zsh_add_spelling(struct buf *out, const struct cadre_option *option, const char *spelling)
{
	buf_addf(out, "\t\t'*%s[", spelling);
	zsh_add_gist(out, completion_gist(option));
	buf_addch(out, ']');
	if (option->value) {
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
	buf_addstr(out, "'\n");
}

static void zsh_add_flag(void *data, const struct cadre_option *option)
{
	struct buf *out = data;
	const char *equals = option->arg == CADRE_OPTION_REQUIRED  ? "="
			     : option->flags & CADRE_OPTION_JOINED ? "=-"
								   : "";
	char spelling[64];

	snprintf(spelling, sizeof spelling, "--%s%s", option->name, equals);
	zsh_add_spelling(out, option, spelling);
	snprintf(spelling, sizeof spelling, "--%s%s", option->alias ? option->alias : "", equals);
	if (option->alias)
		zsh_add_spelling(out, option, spelling);
	snprintf(spelling, sizeof spelling, "-%c", option->letter);
	if (option->letter)
		zsh_add_spelling(out, option, spelling);
}

/* What follows a command, which is the first argument: one of its words, a session behind one of those. */
static void zsh_add_command(struct buf *out, const struct cadre_command *command)
{
	AUTO_BUF struct buf holders = { 0 };

	buf_addf(out, "\t%s) flags=(\n", command ? command->name : "*");
	command_options(command, zsh_add_flag, out);
	buf_addstr(out, "\t)\n");
	bool has_words = command && command->words[0].name[0];
	if (has_words) {
		buf_addstr(out, "\tflags+=('2:word:(");
		completion_add_words(out, command, false, " ");
		buf_addstr(out, ")')\n");
	}
	if (command)
		completion_add_words(&holders, command, true, "|");
	if (holders.n)
		buf_addf(out, "\t[[ $words[%d] == (%s) ]] && flags+=('%d:session:_cadre_sessions')\n",
			 has_words ? 3 : 2, holders.p, has_words ? 3 : 2);
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
		zsh_add_gist(out, str_from(c->summary));
		buf_addstr(out, "'\n");
	}
	buf_addstr(out, "\t)\n\tif ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then\n\t\t_describe command subcommands\n"
			"\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		zsh_add_command(out, c);
	zsh_add_command(out, NULL);
	buf_addstr(out, "\tesac\n\t_arguments $flags '*:file:_files'\n}\n_cadre \"$@\"\n");
}

static const struct cadre_option no_options[] = { { .name = NULL } };
static const char *const no_settings[] = { NULL };

const struct cadre_command completion_command = {
	.name = "completion",
	.summary = "print what a shell needs to complete the words of this program",
	.help = "Usage: cadre completion bash    eval \"$(cadre completion bash)\" in ~/.bashrc\n"
		"       cadre completion zsh     into a file _cadre in a directory of $fpath\n"
		"       cadre completion fish    into ~/.config/fish/completions/cadre.fish\n"
		"\n"
		"`make install` puts all three into their usual places.\n",
	.words =
		(const struct cadre_command_word[]){
			{ .name = "bash" }, { .name = "fish" }, { .name = "zsh" }, { .name = NULL } },
	.options = no_options,
	.settings = no_settings,
};

const struct cadre_command manual_command = {
	.name = "manual",
	.summary = "print the manual page, as man reads it",
	.help = "Usage: cadre manual | man -l -\n",
	.words = (const struct cadre_command_word[]){ { .name = "" }, { .name = NULL } },
	.options = no_options,
	.settings = no_settings,
};

const struct completion_shell completion_shells[] = {
	{ "bash", completion_bash },
	{ "fish", completion_fish },
	{ "zsh", completion_zsh },
	{ NULL, NULL },
};

int completion_run(const struct cadre_command *command, const struct args *args, struct buf *out, struct err *err)
{
	if (args_has(args, "json"))
		return err_set(err, ERR_USAGE, "--json has no meaning here: the text is for another program");
	if (command == &manual_command) {
		if (args->word_count)
			return err_set(err, ERR_USAGE, "expected: cadre manual");
		manual_write(out);
		return 0;
	}
	for (size_t i = 0; args->word_count == 1 && completion_shells[i].name; i++) {
		if (strcmp(args->words[0], completion_shells[i].name) != 0)
			continue;
		completion_shells[i].write(out);
		return 0;
	}
	return err_set(err, ERR_USAGE, "expected: cadre completion bash, fish or zsh");
}
