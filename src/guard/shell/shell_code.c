/* SPDX-License-Identifier: MIT
 * shell_code.c - programs that are given code, which can start any command. Only rules that forbid look at this: a person who
 * allows python3 has said so. Code in a file that lies there is not looked at. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_parse_int.h"

/* When the input of a program is code: if no file to run is named; or always when it comes through a pipe (what stands in the text
 * itself is looked at elsewhere) */
enum { CODE_ALONE = 1 << 0, CODE_PIPED = 1 << 1 };

static const struct coder {
	const char *names;   /* a version may follow: python3.11 */
	const char *letters; /* options that are code, or are followed by some */
	const char *words;   /* beginnings of other words that are */
	const char *values;  /* options that are followed by a word that is neither */
	const char *files;   /* letters of options that name a file of code: - is the input */
	unsigned input;
} coders[] = {
	{ .names = "awk|gawk|mawk|nawk|original-awk|sed", .files = "f" },
	{ .names = "bun", .letters = "ep", .words = "--eval|--print|data:" },
	{ .names = "c++|cc|clang|g++|gcc", .words = "-wrapper|-fplugin|-specs|--specs" },
	{ .names = "cmake", .files = "P" },
	{ .names = "dc|gdb|groff|lldb|m4|pic|tmux|troff",
	  .words = "-ex|--ex|-ev|--ev",
	  .files = "xf",
	  .input = CODE_ALONE | CODE_PIPED },
	{ .names = "deno", .words = "eval|data:", .input = CODE_ALONE },
	{ .names = "emacs", .words = "--eval|--exec|--batch" },
	{ .names = "ex", .letters = "c", .words = "+|--cmd", .input = CODE_ALONE },
	{ .names = "expect|ipython|pypy|python",
	  .letters = "c",
	  .values = "-X|-W|--check-hash-based-pycs",
	  .input = CODE_ALONE },
	{ .names = "git", .letters = "c", .words = "--config-env|--exec-path" },
	{ .names = "gmake|make", .letters = "E", .words = "--ev|SHELL=|.SHELLFLAGS=", .files = "f" },
	{ .names = "guile", .letters = "c", .input = CODE_ALONE },
	{ .names = "irb|lua|luajit|osascript|Rscript|ruby",
	  .letters = "e",
	  .values = "-I|-r|-C|-E|-l",
	  .input = CODE_ALONE },
	{ .names = "jshell", .files = "s", .input = CODE_PIPED },
	{ .names = "ltrace|strace", .words = "!" },
	{ .names = "ninja", .files = "f" },
	{ .names = "node|nodejs",
	  .letters = "ep",
	  .words = "--eval|--print|data:|--import=data:|--loader=data:|--experimental-loader=data:",
	  .values = "-r|-C|--require|--import|--loader|--experimental-loader|--conditions|--env-file|--title",
	  .input = CODE_ALONE },
	{ .names = "gvim|nvim|rview|rvim|vi|view|vim|vim.basic|vim.tiny|vimdiff",
	  .letters = "c",
	  .words = "+|--cmd",
	  .files = "sS",
	  .input = CODE_PIPED },
	{ .names = "mariadb|mysql|psql|sqlite", .files = "f", .input = CODE_PIPED },
	{ .names = "perl", .letters = "eE", .values = "-I", .input = CODE_ALONE },
	{ .names = "php", .letters = "rBRE", .words = "--run|--process", .values = "-c|-d|-z", .input = CODE_ALONE },
	{ .names = "rsync", .letters = "e", .words = "--rsh|--rsync-path" },
	{ .names = "scp|sftp|ssh", .files = "F" },
	{ .names = "tar", .letters = "IF", .words = "--to-c|--checkpoint-|--us|--inf|--new-|--rs|--rm", .files = "T" },
	{ .names = "tclsh|wish", .input = CODE_ALONE },
	{ .names = "zip", .words = "-TT|--unz" },
};

static const struct coder *find_coder(struct str name)
{
	struct str plain = name;

	while (plain.n && char_in(plain.p[plain.n - 1], "0123456789."))
		plain.n--;
	for (size_t i = 0; i < COUNT_OF(coders); i++)
		if (str_is_one_of(plain, coders[i].names) || str_is_one_of(name, coders[i].names))
			return &coders[i];
	return NULL;
}

/* Of awk: most programs run nothing. */
static bool awk_may_run(const struct shell_command *c)
{
	static const char *const marks[] = { "system", "|", "@load", "@include" };

	for (size_t i = 1; i < c->word_count; i++)
		for (size_t k = 0; k < COUNT_OF(marks); k++)
			if (str_has(c->words[i].text, str_from(marks[k])))
				return true;
	return false;
}

/* Of sed: the scripts are the values of -e and --expression, or the first operand where neither they nor -f are there. */
static bool sed_may_run(const struct shell_command *c)
{
	bool named = false, ended = false, found = false;
	struct str first = STR("");

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		struct str script = STR("");
		bool option = !ended && word.n > 1 && word.p[0] == '-';
		char letter = '\0';
		if (!option) {
			first = found ? first : word;
			found = true;
			continue;
		}
		if (str_starts(word, STR("--"))) {
			const char *equals = memchr(word.p, '=', word.n);
			letter = str_starts(word, STR("--e")) ? 'e' : str_starts(word, STR("--fi")) ? 'f' : '\0';
			script = equals ? str_tail(word, (size_t)(equals + 1 - word.p)) : STR("");
			ended = word.n == 2;
		} else {
			size_t k = 1;
			while (k < word.n && !char_in(word.p[k], "efil"))
				k++;
			letter = k < word.n ? word.p[k] : '\0';
			script = k < word.n ? str_tail(word, k + 1) : STR("");
		}
		named = named || (letter && char_in(letter, "ef"));
		if (letter && char_in(letter, "efl") && !script.n && i + 1 < c->word_count && !ended)
			script = c->words[++i].text;
		if (letter == 'e' && shell_sed_may_run(script))
			return true;
	}
	return !named && found && shell_sed_may_run(first);
}

static bool names_input(struct str word)
{
	return str_has(word, STR("/dev/stdin")) || str_has(word, STR("/dev/fd/")) ||
	       (str_has(word, STR("/proc/")) && str_has(word, STR("/fd/")));
}

/* -f - and -f-, --file=-, and /dev/stdin in any place */
static bool takes_input_for_file(const struct coder *row, const struct shell_command *c)
{
	for (size_t i = 1; row->files && i < c->word_count; i++) {
		struct str word = c->words[i].text;
		struct str before = c->words[i - 1].text;
		size_t n = str_ends(word, STR("-")) ? word.n - 1 : 0;
		bool glued = n > 1 && word.p[0] == '-' && (char_in(word.p[n - 1], row->files) || word.p[n - 1] == '=');
		bool behind = i > 1 && before.n > 1 && before.p[0] == '-' &&
			      (char_in(before.p[before.n - 1], row->files) || str_starts(before, STR("--f")));
		if (names_input(word) || glued ||
		    (behind && (str_is(word, "-") || str_starts(c->words[i].source, STR("<(")))))
			return true;
	}
	return false;
}

/* By a pipe or a process substitution. A function may be called behind a pipe. */
static bool may_be_fed(const struct shell_command *c)
{
	bool fed = c->where & (SHELL_BEHIND_PIPE | SHELL_IN_FUNCTION);

	for (size_t i = 0; i < c->redirect_count; i++)
		fed = fed || str_starts(c->redirects[i].target.source, STR("<("));
	return fed;
}

/* python3 -m timeit CODE, -Im timeit, -Bmtimeit */
static bool names_module_of_code(struct str word, struct str before)
{
	static const char modules[] = "asyncio|code|pdb|timeit";
	const char *m = word.n > 2 && word.p[0] == '-' && word.p[1] != '-' ? memchr(word.p, 'm', word.n) : NULL;

	return (m && str_is_one_of(str_between(m + 1, word.p + word.n), modules)) ||
	       (str_starts(before, STR("-")) && str_ends(before, STR("m")) && str_is_one_of(word, modules));
}

const char *shell_runs_code(const struct shell_command *c)
{
	static const char why[] = "it runs code in which commands can hide";
	struct str name = shell_base_name(c->words[0].text);
	const struct coder *row = find_coder(name);
	bool has_file = false, may_have_file = false;

	if (!row)
		return NULL;
	if (takes_input_for_file(row, c) || ((row->input & CODE_PIPED) && may_be_fed(c)))
		return why;
	bool sed = str_is(name, "sed");
	if (sed || str_ends(name, STR("awk"))) {
		for (size_t k = 1; k < c->word_count; k++)
			if (!c->words[k].literal)
				return why;
		return (sed ? sed_may_run(c) : awk_may_run(c)) ? why : NULL;
	}
	bool alone = row->input & CODE_ALONE;
	for (size_t k = 1; k < c->word_count; k++) {
		struct str word = c->words[k].text;
		struct str before = c->words[k - 1].text;
		bool cluster = k == 1 && str_is(name, "tar") && word.n && word.p[0] != '-'; /* tar cfI */
		bool option = cluster || (word.n > 1 && word.p[0] == '-');
		bool coded = false;
		for (size_t m = !cluster; option && (cluster || word.p[1] != '-') && m < word.n; m++)
			coded = coded || (row->letters && char_in(word.p[m], row->letters));
		/* What follows the script of an interpreter is the script's. */
		if ((row->words && str_starts_with_one_of(word, row->words)) || (coded && !(has_file && alone)) ||
		    (!c->words[k].literal && !has_file) ||
		    (alone && (names_input(word) || (!has_file && str_is(word, "-")))) ||
		    (alone && names_module_of_code(word, before)))
			return why;
		bool value = k > 1 && row->values && str_is_one_of(before, row->values);
		bool told = str_is_one_of(word, "--version|--help|-V|-v|-m");
		may_have_file = may_have_file || (!option && !value) || told;
		/* Behind a long option it may be the value of that. */
		bool maybe = str_starts(before, STR("--")) && before.n > 2 && !memchr(before.p, '=', before.n);
		has_file = has_file || (!option && !value && !maybe) || told;
	}
	return alone && !may_have_file ? why : NULL;
}
