/* SPDX-License-Identifier: MIT
 * completion.c - `cadre completion` and `cadre manual`, and what all the texts have in common. */
#include "face/cli/completion.h"

static const struct cadre_option no_options[] = { { .name = NULL } };
static const char *const no_settings[] = { NULL };

const struct cadre_command completion_command = {
	.name = "completion",
	.summary = "print what a shell needs to complete the words of this program",
	.help = "Usage: cadre completion bash    eval \"$(cadre completion bash)\" in ~/.bashrc\n"
		"       cadre completion zsh     into a file _cadre in a directory of $fpath\n"
		"       cadre completion fish    into ~/.config/fish/completions/cadre.fish\n"
		"\n"
		"An installed cadre has brought all three to their usual places.\n",
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

/* ---- what the texts have in common ------------------------------------------------------------------------------- */

/* Is this the first command that has an option of that name? */
static bool is_first(const struct cadre_command *command, const char *name)
{
	for (const struct cadre_command *c = NULL; (c = command_next(c)) && c != command;)
		for (const struct cadre_option *o = c->options; o->name; o++)
			if (!strcmp(o->name, name))
				return false;
	return true;
}

void completion_each_option(struct buf *out, void (*fn)(void *out, const struct cadre_option *option))
{
	for (size_t i = 0; i < flag_count; i++)
		fn(out, &flag_table[i].option);
	for (const struct cadre_command *c = NULL; (c = command_next(c));)
		for (const struct cadre_option *o = c->options; o->name; o++)
			if (is_first(c, o->name))
				fn(out, o);
}

bool completion_takes_path(const struct cadre_option *option)
{
	return option->value && (strstr(option->value, "file") || strstr(option->value, "dir"));
}

bool completion_takes_session(const struct cadre_option *option)
{
	return option->value && !strcmp(option->value, "session");
}

void completion_add_choices(struct buf *out, const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", choices[i]);
}

bool completion_has_words(const struct cadre_command *command)
{
	return command->words[0].name[0] != '\0';
}

static bool takes_session(const struct cadre_command_word *word)
{
	return word->operands && strstr(word->operands, "SESSION");
}

bool completion_has_sessions(const struct cadre_command *command)
{
	for (const struct cadre_command_word *w = command->words; w->name; w++)
		if (takes_session(w))
			return true;
	return false;
}

/* Of words that belong together, as marketplace add, the first one stands alone. */
void completion_add_words(struct buf *out, const struct cadre_command *command)
{
	const char *between = "";

	for (const struct cadre_command_word *w = command->words; w->name && w->name[0]; w++) {
		if (strchr(w->name, ' '))
			continue;
		buf_addf(out, "%s%s", between, w->name);
		between = " ";
	}
}

void completion_add_holders(struct buf *out, const struct cadre_command *command, const char *between)
{
	const char *gap = "";

	for (const struct cadre_command_word *w = command->words; w->name; w++) {
		if (!takes_session(w))
			continue;
		buf_addf(out, "%s%s", gap, w->name[0] ? w->name : command->name);
		gap = between;
	}
}

struct str completion_gist(const struct cadre_option *option)
{
	struct str help = str_from(option->help);
	const char *end = strstr(option->help, ". ");

	if (end)
		help.n = (size_t)(end - option->help);
	else if (str_ends(help, STR(".")))
		help.n--;
	return help;
}

void completion_add_escaped(struct buf *out, struct str text, const char *special)
{
	for (size_t i = 0; i < text.n; i++) {
		if (char_in(text.p[i], special))
			buf_addch(out, '\\');
		buf_addch(out, text.p[i]);
	}
}
