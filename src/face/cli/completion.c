/* SPDX-License-Identifier: MIT
 * completion.c - `cadre completion` and `cadre manual`, and what all the texts have in common. */
#include "face/cli/completion.h"

static int run_completion(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);
static int run_manual(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_completion = {
	.name = "completion",
	.summary = "print what a shell needs to complete the words of this program",
	.help = "Usage: cadre completion bash    eval \"$(cadre completion bash)\" in ~/.bashrc\n"
		"       cadre completion zsh     into a file _cadre in a directory of $fpath\n"
		"       cadre completion fish    into ~/.config/fish/completions/cadre.fish\n"
		"\n"
		"An installed cadre has brought all three to their usual places.\n",
	.words = (const char *const[]){ "bash", "fish", "zsh", NULL },
	.options = (const char *const[]){ NULL },
	.run = run_completion,
};

const struct verb verb_manual = {
	.name = "manual",
	.summary = "print the manual page, as man reads it",
	.help = "Usage: cadre manual | man -l -\n",
	.options = (const char *const[]){ NULL },
	.run = run_manual,
};

const struct completion_shell completion_shells[] = {
	{ "bash", completion_bash },
	{ "fish", completion_fish },
	{ "zsh", completion_zsh },
	{ NULL, NULL },
};

static int print(const struct args *args, const struct buf *text, struct err *err)
{
	if (args->json)
		return err_set(err, ERR_USAGE, "--json has no meaning here: the text is for another program");
	if (fwrite(text->p, 1, text->n, stdout) == text->n && fflush(stdout) == 0)
		return 0;
	return err_set(err, ERR_IO, "cannot write to standard output: %m");
}

static int run_completion(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };

	(void)c, (void)ret_report;
	for (size_t i = 0; args->word_count == 1 && completion_shells[i].name; i++) {
		if (strcmp(args->words[0], completion_shells[i].name) != 0)
			continue;
		completion_shells[i].write(&out);
		return print(args, &out, err);
	}
	return err_set(err, ERR_USAGE, "expected: cadre completion bash, fish or zsh");
}

static int run_manual(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };

	(void)c, (void)ret_report;
	if (args->word_count)
		return err_set(err, ERR_USAGE, "expected: cadre manual");
	manual_write(&out);
	return print(args, &out, err);
}

/* ---- what the texts have in common ------------------------------------------------------------------------------- */

/* Flags of the last group belong to verbs, but for two. */
static bool stands_alone(const struct option *option)
{
	return option->group != GROUP_OTHER || !strcmp(option->name, "help") || !strcmp(option->name, "version");
}

void completion_flags(const struct verb *verb, void (*fn)(struct buf *out, const struct option *option),
		      struct buf *out)
{
	for (size_t i = 0; !verb && i < option_count; i++)
		if (stands_alone(&option_table[i]))
			fn(out, &option_table[i]);
	for (size_t i = 0; verb && verb->options[i]; i++)
		fn(out, option_find(str_from(verb->options[i])));
	if (verb) {
		fn(out, option_find(STR("json")));
		fn(out, option_find(STR("help")));
	}
}

bool completion_takes_path(const struct option *option)
{
	return option->value && (strstr(option->value, "file") || strstr(option->value, "dir"));
}

bool completion_takes_session(const struct option *option)
{
	return option->value && !strcmp(option->value, "session");
}

void completion_add_words(struct buf *out, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", words[i]);
}

void completion_add_holders(struct buf *out, const struct verb *verb, const char *between)
{
	for (size_t i = 0; verb->session_words && verb->session_words[i]; i++)
		buf_addf(out, "%s%s", i ? between : "",
			 verb->session_words[i][0] ? verb->session_words[i] : verb->name);
}

struct str completion_gist(const struct option *option)
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
