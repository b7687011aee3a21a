/* SPDX-License-Identifier: MIT
 * shell_hides.c - words that hide what runs. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_parse_int.h"

/* Commands whose words do not say what runs: they run a text, change how the rest is read, or take a value
 * for the name of a variable, where a[$(cmd)] runs cmd. One table, one row per builtin. */

typedef const char *hide_fn(const struct shell_command *c, size_t name);

static const char takes_names[] = "it takes an argument for the name of a variable, which can hold a command";

bool shell_name_is_dangerous(struct str name)
{
	return str_starts_with_one_of(name, "BASH|LD_|DYLD_") ||
	       str_is_one_of(name,
			     "PATH|IFS|ENV|PS4|SHELLOPTS|PROMPT_COMMAND|CDPATH|GLOBIGNORE|EXECIGNORE|POSIXLY_CORRECT|"
			     "HOME|SHELL");
}

static bool is_option(const struct shell_word *w)
{
	return w->literal && w->text.n > 1 && w->text.p[0] == '-';
}

/* NAME or NAME=value, whatever the value is. */
static const char *check_name(const struct shell_word *w)
{
	struct str name = w->literal ? w->text : w->source;
	const char *equals = memchr(name.p, '=', name.n);

	if (!w->literal && !equals)
		return takes_names;
	if (equals)
		name.n = (size_t)(equals - name.p);
	if (name.n && name.p[name.n - 1] == '+')
		name.n--;
	bool plain = name.n && !shell_is_digit(name.p[0]);
	for (size_t i = 0; i < name.n; i++)
		plain = plain && shell_is_name_char(name.p[i]);
	if (!plain)
		return takes_names;
	return shell_name_is_dangerous(name) ? "it sets a variable that decides what runs" : NULL;
}

static const char *hide_names(const struct shell_command *c, size_t name)
{
	/* Only behind a declaration that is written as such is NAME=$x one word. */
	bool plain = !name && shell_declares(c->words[0].source);

	for (size_t i = name + 1; i < c->word_count; i++) {
		const char *why = is_option(&c->words[i]) ? NULL : check_name(&c->words[i]);
		if (!why && c->words[i].splits && !plain)
			why = takes_names;
		if (why)
			return why;
	}
	return NULL;
}

/* -i makes every later assignment arithmetic, -n makes the variable another one's name. */
static const char *hide_declare(const struct shell_command *c, size_t name)
{
	for (size_t i = name + 1; i < c->word_count; i++)
		if (is_option(&c->words[i]) && (memchr(c->words[i].text.p, 'i', c->words[i].text.n) ||
						memchr(c->words[i].text.p, 'n', c->words[i].text.n)))
			return "it changes what assignments mean";
	return hide_names(c, name);
}

/* The options of read that have an argument make it look like a name, which is as good as one. */
static const char *hide_read(const struct shell_command *c, size_t name)
{
	for (size_t i = name + 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		const char *why = w->literal ? NULL : takes_names;
		if (!why && !is_option(w)) {
			why = check_name(w);
		} else if (!why) {
			size_t k = 1;
			while (k + 1 < w->text.n && !char_in(w->text.p[k], "adinNptu"))
				k++;
			char last = w->text.p[w->text.n - 1];
			if (k + 1 < w->text.n && w->text.p[k] == 'a')
				why = takes_names; /* -aNAME, also behind other letters */
			else if (char_in(last, "adinNptu") && ++i < c->word_count && last == 'a')
				why = check_name(&c->words[i]);
		}
		if (why)
			return why;
	}
	return NULL;
}

/* Can the first argument become -v? In double quotes only what begins with an expansion or a dash can. */
static const char *hide_printf(const struct shell_command *c, size_t name)
{
	if (c->word_count <= name + 1)
		return NULL;
	const struct shell_word *w = &c->words[name + 1];
	bool quoted = w->source.p[0] == '"' && w->source.n > 1;
	char begin = w->source.p[quoted];
	bool may_become_option;
	if (w->literal)
		may_become_option = str_starts(w->text, STR("-v"));
	else if (quoted && begin == '\\')
		may_become_option = w->source.n > 2 && w->source.p[2] == '\n';
	else
		may_become_option = char_in(begin, quoted ? "$`-\"" : "$`-\"'\\{*?[~");
	return may_become_option ? takes_names : NULL;
}

/* test: only shapes where no word can turn into -v. */
static const char *hide_test(const struct shell_command *c, size_t name)
{
	size_t count = c->word_count - name - 1;
	bool known = true;

	if (str_is(c->words[name].text, "[") && count)
		count--;
	const struct shell_word *w = &c->words[name + 1];
	for (size_t i = 0; i < count; i++) {
		known = known && w[i].literal;
		if (w[i].splits)
			return "an argument of test can become several, and -v of them takes a variable's name";
		if (w[i].literal && (str_is(w[i].text, "-v") || str_is(w[i].text, "-R")))
			return takes_names;
	}
	if (count && w[0].literal && str_is(w[0].text, "!"))
		w++, count--;
	if (known || count <= 1 || (count <= 3 && w[count == 2 ? 0 : 1].literal))
		return NULL;
	return "it is not known which argument of test is the operator";
}

static const char *hide_set(const struct shell_command *c, size_t name)
{
	static const char known[] = "pipefail|errexit|nounset|xtrace|noglob";

	for (size_t i = name + 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		bool good = w->literal && w->text.n > 1 && (w->text.p[0] == '-' || w->text.p[0] == '+');
		for (size_t k = 1; good && k < w->text.n; k++)
			good = char_in(w->text.p[k], "euxo");
		good = good || (w->literal && str_is_one_of(w->text, known));
		if (w->literal && str_is(w->text, "--"))
			return NULL;
		if (!good)
			return "it changes how the shell reads";
	}
	return NULL;
}

static const struct {
	const char *names;
	const char *why;     /* NULL: as the check says */
	const char *options; /* why holds only with one of these letters, or a word that is not known; NULL: always */
	hide_fn *check;
} hiding[] = {
	{ ".|source", "it runs a file in this shell", NULL, NULL },
	{ "[|test", NULL, NULL, hide_test },
	{ "alias|enable|hash|history|unalias", "it changes what names mean", NULL, NULL },
	{ "bind|compgen|complete|compopt|mapfile|readarray", "it can run a text", NULL, NULL },
	{ "declare|export|local|readonly|typeset", NULL, NULL, hide_declare },
	{ "env", "env -S splits a text into a command", "Ss", NULL },
	{ "eval", "eval runs a text", NULL, NULL },
	{ "exec", "exec replaces the shell or its files", NULL, NULL },
	{ "fc", "it runs a command of the history", NULL, NULL },
	{ "getopts|unset", NULL, NULL, hide_names },
	{ "jobs", "jobs -x runs its arguments", "x", NULL },
	{ "let", "arithmetic can run what a variable holds", NULL, NULL },
	{ "printf", NULL, NULL, hide_printf },
	{ "read", NULL, NULL, hide_read },
	{ "set", NULL, NULL, hide_set },
	{ "shopt", "it changes how the shell reads", NULL, NULL },
	{ "trap", "trap runs a text later", NULL, NULL },
	{ "wait", takes_names, "p", NULL },
};

bool shell_may_hide(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(hiding); i++)
		if (str_is_one_of(name, hiding[i].names))
			return true;
	return false;
}

const char *shell_hides(const struct shell_command *c)
{
	size_t name = 0;

	for (size_t i = 0; i < c->assignment_count; i++)
		if (shell_name_is_dangerous(c->assignments[i].name))
			return "it sets a variable that decides what runs";
	for (size_t i = 0; i < c->redirect_count; i++) {
		if (str_starts_with_one_of(c->redirects[i].target.text, "/dev/tcp/|/dev/udp/"))
			return "a redirection opens a connection";
	}
	/* command and builtin in front of a builtin change nothing about it. */
	while (name + 1 < c->word_count && c->words[name].literal &&
	       str_is_one_of(c->words[name].text, "command|builtin"))
		for (name++; name + 1 < c->word_count && is_option(&c->words[name]); name++)
			if (str_is_one_of(c->words[name].text, "-v|-V") && str_is(c->words[0].text, "command"))
				return NULL; /* it says what it would run */
	if (c->word_count && !c->words[name].literal)
		return "the name of the command is known only when it runs";
	for (size_t i = 0; c->word_count && i < COUNT_OF(hiding); i++) {
		if (!str_is_one_of(c->words[name].text, hiding[i].names))
			continue;
		if (hiding[i].check)
			return hiding[i].check(c, name);
		bool found = !hiding[i].options;
		for (size_t k = name + 1; k < c->word_count && !found; k++) {
			const struct shell_word *w = &c->words[k];
			found = !w->literal;
			for (size_t n = 1; is_option(w) && n < w->text.n; n++)
				found = found || char_in(w->text.p[n], hiding[i].options);
		}
		return found ? hiding[i].why : NULL;
	}
	return NULL;
}
