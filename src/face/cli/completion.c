/* SPDX-License-Identifier: MIT
 * completion.c - `cadre completion` and `cadre manual`. A script of a shell asks the program what may follow: `cadre completion reply --
 * WORDS...` gets the words behind `cadre` up to the one that is typed, and prints a line for each continuation of that one, with what it
 * means behind a tab; or ":", where files follow. So the tables of flags and commands are read in one place.
 * To add a shell: its script, and a row in completion_shells. */
#include "face/cli/completion.h"
#include "face/screen/paint.h"

struct reply {
	struct buf *out;
	struct str typed;   /* so far */
	const char *before; /* what the shell has in the same word, in front of it: "--flag=" */
};

static void offer(const struct reply *r, const char *front, const char *word, struct str meaning)
{
	AUTO_BUF struct buf whole = { 0 };

	buf_addf(&whole, "%s%s", front, word);
	if (str_starts(buf_str(&whole), r->typed))
		buf_addf(r->out, "%s%s\t" STR_FMT "\n", r->before, whole.p, STR_ARG(meaning));
}

static void offer_sessions(const struct reply *r)
{
	static const char *const words[] = { "sessions", "ids" };
	struct cadre_report *report = NULL;
	struct cadre *c = cadre_new(NULL, 0);

	if (c)
		(void)cadre_command(c, COUNT_OF(words), words, NULL, &report, NULL, 0);
	for (size_t i = 0; i < cadre_report_rows(report); i++) {
		AUTO_BUF struct buf id = { 0 }, shown = { 0 };
		struct str title = str_from(cadre_report_cell(report, i, 0));
		buf_append(&id, str_cut(&title, '\t'));
		render_line(&shown, title);
		offer(r, "", id.p, buf_str(&shown));
	}
	cadre_report_free(report);
	cadre_free(c);
}

/* With the first sentence of its help */
static void offer_option(void *data, const struct cadre_option *option)
{
	const char letter[] = { option->letter, '\0' };
	const char *end = strstr(option->help, ". ");
	struct str help = str_from(option->help);

	if (end)
		help.n = (size_t)(end - option->help);
	else if (str_ends(help, STR(".")))
		help.n--;
	offer(data, "--", option->name, help);
	if (option->alias)
		offer(data, "--", option->alias, help);
	if (option->letter)
		offer(data, "-", letter, help);
}

struct option_wanted {
	struct str spelling;
	const struct cadre_option *found;
};

static void find_option(void *data, const struct cadre_option *option)
{
	struct option_wanted *w = data;
	struct str name = str_tail(w->spelling, MIN(w->spelling.n, 2));
	const char letter[] = { '-', option->letter, '\0' };

	if (str_starts(w->spelling, STR("--"))
		    ? str_is(name, option->name) || (option->alias && str_is(name, option->alias))
		    : option->letter && str_is(w->spelling, letter))
		w->found = option;
}

/* False: something else than a value follows the option. */
static bool offer_values(const struct reply *r, const struct cadre_option *option)
{
	const char *value = option && option->value ? option->value : "";
	bool is_session = !strcmp(value, "session");

	if (!option || (is_session ? str_starts(r->typed, STR("-")) : option->arg != CADRE_OPTION_REQUIRED))
		return false;
	for (size_t i = 0; option->choices && option->choices[i]; i++)
		offer(r, "", option->choices[i], STR(""));
	if (is_session)
		offer_sessions(r);
	else if (!option->choices && (strstr(value, "file") || strstr(value, "dir")))
		buf_addstr(r->out, ":\n");
	return true;
}

/* before: the word in front, of the command itself its name */
static void offer_words(const struct reply *r, const struct cadre_command *command, const char *before)
{
	bool has_words = false;

	for (const struct cadre_command_word *w = command->words; w->name; w++) {
		bool takes_session = w->operands && strstr(w->operands, "SESSION");
		if (takes_session && !strcmp(w->name[0] ? w->name : command->name, before)) {
			offer_sessions(r);
			return;
		}
		/* Of words that belong together, as marketplace add, the first one stands alone. */
		if (before != command->name || !w->name[0] || strchr(w->name, ' '))
			continue;
		has_words = true;
		offer(r, "", w->name, STR(""));
	}
	if (!has_words)
		buf_addstr(r->out, ":\n");
}

void completion_reply(const char *const *words, size_t count, struct buf *out)
{
	struct reply r = { .out = out, .typed = str_from(words[count - 1]), .before = "" };
	const struct cadre_command *command = NULL;
	AUTO_BUF struct buf before = { 0 };
	size_t at = count - 1; /* so many words stand before */

	/* bash makes a word of the "=" in --flag=value. */
	if (str_is(r.typed, "="))
		r.typed = STR("");
	else if (at && !strcmp(words[at - 1], "="))
		at--;
	struct option_wanted wanted = { .spelling = str_from(at ? words[at - 1] : "") };
	if (str_starts(r.typed, STR("--")) && memchr(r.typed.p, '=', r.typed.n)) {
		wanted.spelling = str_cut(&r.typed, '=');
		buf_addf(&before, STR_FMT "=", STR_ARG(wanted.spelling));
		r.before = before.p;
	}
	for (const struct cadre_command *c = NULL; at && (c = command_next(c));)
		if (!strcmp(c->name, words[0]))
			command = c;
	command_options(command, find_option, &wanted);
	if (offer_values(&r, wanted.found))
		return;
	if (str_starts(r.typed, STR("-")))
		command_options(command, offer_option, &r);
	else if (command)
		offer_words(&r, command, at == 1 ? command->name : words[at - 1]);
	else if (at)
		buf_addstr(out, ":\n");
	else
		for (const struct cadre_command *c = NULL; (c = command_next(c));)
			offer(&r, "", c->name, str_from(c->summary));
}

static const char bash_script[] =
	"# bash completion of cadre\n"
	"_cadre()\n{\n"
	"\tlocal IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\tCOMPREPLY=($(\"$1\" completion reply -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f1))\n"
	"\t[[ $cur != = ]] || cur=\n"
	"\t[[ ${COMPREPLY[0]} != : ]] || COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
	"complete -o filenames -F _cadre cadre\n";

static const char fish_script[] = "# fish completion of cadre\n"
				  "function __cadre_reply\n"
				  "\tset -l words (commandline -opc) (commandline -ct)\n"
				  "\tset -l lines (cadre completion reply -- $words[2..-1] 2>/dev/null)\n"
				  "\tif test \"$lines\" = :\n\t\t__fish_complete_path (commandline -ct)\n"
				  "\telse\n\t\tprintf '%s\\n' $lines\n\tend\nend\n"
				  "complete -c cadre -f -a '(__cadre_reply)'\n";

static const char zsh_script[] =
	"#compdef cadre\n"
	"_cadre()\n{\n\tlocal -a lines\n"
	"\tlines=(${(f)\"$(_call_program reply cadre completion reply -- \"${(@q)words[2,CURRENT-1]}\" \"${(q)PREFIX}\")\"})\n"
	"\tif [[ $lines == : ]]; then\n\t\t_files\n\t\treturn\n\tfi\n"
	"\tlines=(${lines//:/\\\\:})\n\tlines=(${lines/$'\\t'/:})\n\t_describe -V cadre lines\n}\n"
	"_cadre \"$@\"\n";

static const struct cadre_option no_options[] = { { .name = NULL } };
static const char *const no_settings[] = { NULL };

const struct cadre_command completion_command = {
	.name = "completion",
	.summary = "print the completion script of a shell",
	.help = "Usage: cadre completion bash    eval \"$(cadre completion bash)\" in ~/.bashrc\n"
		"       cadre completion zsh     save as _cadre in a directory of $fpath\n"
		"       cadre completion fish    save as ~/.config/fish/completions/cadre.fish\n"
		"\n"
		"`make install` installs all three.\n"
		"\n"
		"Example:\n"
		"  cadre completion bash > ~/.local/share/bash-completion/completions/cadre\n",
	.words =
		(const struct cadre_command_word[]){
			{ .name = "bash" }, { .name = "fish" }, { .name = "zsh" }, { .name = NULL } },
	.options = no_options,
	.settings = no_settings,
};

const struct cadre_command manual_command = {
	.name = "manual",
	.summary = "print the manual page",
	.help = "Usage: cadre manual | man -l -\n"
		"\n"
		"Example:\n"
		"  cadre manual > ~/.local/share/man/man1/cadre.1\n",
	.words = (const struct cadre_command_word[]){ { .name = "" }, { .name = NULL } },
	.options = no_options,
	.settings = no_settings,
};

static const struct {
	const char *name, *script;
} completion_shells[] = { { "bash", bash_script }, { "fish", fish_script }, { "zsh", zsh_script } };

int completion_run(const struct cadre_command *command, const struct args *args, struct buf *out, struct err *err)
{
	if (command == &manual_command) {
		manual_write(out);
		return 0;
	}
	if (args->word_count > 1 && !strcmp(args->words[0], "reply")) { /* for the scripts */
		completion_reply(args->words + 1, args->word_count - 1, out);
		return 0;
	}
	for (size_t i = 0; args->word_count == 1 && i < COUNT_OF(completion_shells); i++) {
		if (strcmp(args->words[0], completion_shells[i].name) != 0)
			continue;
		buf_addstr(out, completion_shells[i].script);
		return 0;
	}
	return err_set(err, ERR_USAGE, "expected: cadre completion bash, fish or zsh");
}
