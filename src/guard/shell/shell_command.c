/* SPDX-License-Identifier: MIT
 * shell_command.c - the command behind its wrappers, as rules that allow see it. A wrapper is seen through only if every
 * word up to the command is known; else the wrapper is the command. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

struct str shell_command_text(struct arena *a, const struct shell_command *c)
{
	size_t n = 0;
	size_t at = 0;

	for (size_t i = 0; i < c->word_count; i++)
		n += MAX(c->words[i].text.n, c->words[i].source.n) + 1;
	char *text = arena_alloc(a, n + 1);
	for (size_t i = 0; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		struct str part = w->literal && w->text.n ? w->text : w->source;
		for (size_t k = 0; w->literal && k < w->text.n; k++)
			if (char_in(w->text.p[k], " \t\n;&|<>()$`\"'\\*?#"))
				part = w->source;
		if (i)
			text[at++] = ' ';
		memcpy(text + at, part.p, part.n);
		at += part.n;
	}
	text[at] = '\0';
	return (struct str){ text, at };
}

bool shell_variable_is_harmless(struct str name)
{
	static const char names[] =
		"CI|CLICOLOR|COLORTERM|COLUMNS|DEBIAN_FRONTEND|FORCE_COLOR|LANG|LANGUAGE|LC_ALL|LC_CTYPE|"
		"LC_COLLATE|LC_MESSAGES|LC_TIME|LC_NUMERIC|LINES|NODE_ENV|NO_COLOR|PYTHONUNBUFFERED|RUST_LOG|"
		"RUST_BACKTRACE|TERM|TZ|GOOS|GOARCH|CGO_ENABLED|PYTHONDONTWRITEBYTECODE";

	return str_is_one_of(name, names);
}

struct wrapper {
	const char *names;
	const char *alone;    /* letters of options without an argument */
	const char *with;     /* letters of options with one, in the same word or the next */
	const char *words;    /* long options without an argument; with =value if they end in = */
	unsigned positionals; /* numbers between the options and the command */
};

static const struct wrapper wrappers[] = {
	{ "builtin|command|noglob|nohup|xargs", "", "", "", 0 },
	{ "nice", "", "n", "--adjustment=", 0 },
	{ "stdbuf", "", "ioe", "--input= --output= --error=", 0 },
	{ "time", "p", "", "", 0 },
	{ "timeout", "v", "ks", "--foreground --preserve-status --verbose --kill-after= --signal=", 1 },
};

/* How many words this option takes, 0 if it is not known. */
static size_t option_words(const struct wrapper *w, const struct shell_word *word, size_t left)
{
	struct str text = word->text;
	struct str list = str_from(w->words);

	if (text.n == 2 || text.p[1] != '-') {
		if (char_in(text.p[1], w->with))
			return text.n > 2 ? 1 : left > 1 && word[1].literal ? 2 : 0;
		return text.n == 2 && char_in(text.p[1], w->alone) ? 1 : 0;
	}
	while (list.p) {
		struct str known = str_cut(&list, ' ');
		bool has_value = str_ends(known, STR("="));
		if (known.n && (has_value ? str_starts(text, known) : str_eq(text, known)))
			return 1;
	}
	return 0;
}

static bool is_amount(const struct shell_word *w)
{
	size_t digits = 0;

	if (!w->literal)
		return false;
	while (digits < w->text.n && char_in(w->text.p[digits], "0123456789."))
		digits++;
	return digits && (digits == w->text.n || (digits + 1 == w->text.n && char_in(w->text.p[digits], "smhd")));
}

/* The index of the word that the wrapper runs, 0 if that is not certain. */
static size_t wrapped_index(const struct wrapper *w, const struct shell_command *c)
{
	size_t i = 1;

	for (; i < c->word_count; i++) {
		const struct shell_word *word = &c->words[i];
		if (!word->literal || word->text.n < 2 || word->text.p[0] != '-')
			break;
		size_t taken = option_words(w, word, c->word_count - i);
		if (!taken)
			return 0;
		i += taken - 1;
	}
	for (unsigned k = 0; k < w->positionals; k++, i++)
		if (i >= c->word_count || !is_amount(&c->words[i]))
			return 0;
	return i < c->word_count && c->words[i].literal ? i : 0;
}

static void drop_words(struct shell_command *c, size_t n)
{
	const char *end = c->source.p + c->source.n;

	c->words += n;
	c->word_count -= n;
	c->source.p = c->words[0].source.p;
	c->source.n = (size_t)(end - c->source.p);
}

struct shell_command shell_strip_for_allow(const struct shell_command *c)
{
	struct shell_command stripped = *c;
	size_t kept = 0;

	while (kept < c->assignment_count && shell_variable_is_harmless(c->assignments[kept].name))
		kept++;
	if (c->word_count && kept == c->assignment_count && kept) {
		stripped.assignment_count = 0;
		drop_words(&stripped, 0);
	}
	while (stripped.word_count && !stripped.assignment_count) {
		size_t index = 0;
		for (size_t i = 0; stripped.words[0].literal && i < COUNT_OF(wrappers); i++)
			if (str_is_one_of(stripped.words[0].text, wrappers[i].names))
				index = wrapped_index(&wrappers[i], &stripped);
		if (!index)
			break;
		drop_words(&stripped, index);
	}
	return stripped;
}

size_t shell_behind_xargs(const struct shell_command *c)
{
	static const struct wrapper xargs = {
		"xargs", "0rtx", "nLPsdIE",
		"--null --no-run-if-empty --verbose --max-args= --max-lines= --max-procs= --delimiter=", 0
	};

	return wrapped_index(&xargs, c);
}

bool shell_needs_exact_rule(const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);

	if (!s.word_count)
		return false;
	if (str_is_one_of(s.words[0].text, "watch|setsid|ionice|flock"))
		return true;
	if (!str_is(s.words[0].text, "find"))
		return false;
	for (size_t i = 1; i < s.word_count; i++)
		if (!s.words[i].literal || str_is_one_of(s.words[i].text, "-exec|-execdir|-ok|-okdir|-delete"))
			return true;
	return shell_gets_more_words(c, &s);
}
