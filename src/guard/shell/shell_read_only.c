/* SPDX-License-Identifier: MIT
 * shell_read_only.c - commands that change nothing and run nothing. shell_programs.c says which programs these are, and with
 * which options; here are the checks of operands that matter, and of the words that an expansion may become. */
#include "guard/shell/shell_read_only.h"
#include <ctype.h>

/* ---- checks of parts ---- */

/* An operand that is not a format sets the clock. */
bool check_date_part(const struct shell_part *part, size_t operands)
{
	return part->kind != PART_PATTERN || str_starts(part->text, STR("+"));
}

/* import, include and modulemeta read files that the program names; env and $ENV are the environment. A field (.env) is
 * none of these. jq takes its options apart with code of its own, so a word with a dash may be an option behind -- too. */
bool check_jq_part(const struct shell_part *part, size_t operands)
{
	static const char *const names[] = { "import", "include", "modulemeta", "env", "ENV" };
	struct str s = part->text;

	if (part->kind == PART_OPERAND || part->kind == PART_PATTERN)
		if (s.n > 1 && s.p[0] == '-')
			return false;
	for (size_t i = 0; part->kind == PART_PATTERN && i < s.n;) {
		size_t from = i;
		while (i < s.n && (isalnum((unsigned char)s.p[i]) || s.p[i] == '_'))
			i++;
		bool field = from && s.p[from - 1] == '.' && !(from > 1 && s.p[from - 2] == '.');
		for (size_t k = 0; !field && k < COUNT_OF(names); k++)
			if (str_is((struct str){ s.p + from, i - from }, names[k]))
				return false;
		i += i == from;
	}
	return true;
}

/* ps e shows the environment of processes. */
bool check_ps_part(const struct shell_part *part, size_t operands)
{
	return part->kind != PART_PATTERN ||
	       (!memchr(part->text.p, 'e', part->text.n) && !memchr(part->text.p, 'E', part->text.n));
}

/* Programs listen to variables in capitals. */
static bool is_own_variable(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] >= 'A' && name.p[i] <= 'Z')
			return false;
	return !str_ends(name, STR("_proxy"));
}

bool check_read_part(const struct shell_part *part, size_t operands)
{
	return part->kind == PART_OPTION || is_own_variable(part->text);
}

/* @FILE is replaced by what is in the file. */
bool check_strings_part(const struct shell_part *part, size_t operands)
{
	return !str_starts(part->word->text, STR("@"));
}

/* The second operand is written. */
bool check_uniq_part(const struct shell_part *part, size_t operands)
{
	return part->kind != PART_OPERAND || !operands;
}

/* ---- commands ---- */

/* Programs that only say what they are when this is all that they are asked. Not here are those that files of the directory
 * choose, and that may come from there or from the network: cargo and rustc (rust-toolchain.toml), go (go.mod), npm, pnpm
 * and yarn (packageManager, .yarnrc). Tools such as pyenv and nvm choose among what is installed. */
static bool asks_for_version(const struct shell_command *c)
{
	static const char *const names[] = { "clang", "cmake", "docker", "gcc",  "git",    "java",    "make", "node",
					     "perl",  "php",   "pip",    "pip3", "python", "python3", "ruby" };

	for (size_t i = 0; c->word_count == 2 && i < COUNT_OF(names); i++)
		if (str_is(c->words[0].text, names[i]))
			return str_is(c->words[1].text, "--version");
	return false;
}

static bool all_words_are_known(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		if (!w->literal && !(w->tilde && !w->globs && !w->splits))
			return false;
	}
	return true;
}

static bool only_assigns(const struct shell_command *c)
{
	for (size_t i = 0; i < c->assignment_count; i++)
		if (!is_own_variable(c->assignments[i].name) && !shell_variable_is_harmless(c->assignments[i].name))
			return false;
	return true;
}

bool shell_is_read_only(const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);
	size_t first;

	if (c->hides)
		return false;
	if (!s.word_count)
		return only_assigns(&s);
	if (s.assignment_count || !s.words[0].literal)
		return false;
	const struct shell_program *p = shell_find_program(&s, &first);
	if (!p || !(p->flags & PROGRAM_READS))
		return asks_for_version(&s);
	if (!p->letters)
		return true;
	if (!(p->flags & PROGRAM_OPEN) && (shell_gets_more_words(c, &s) || !all_words_are_known(&s)))
		return false;
	return shell_options_are_harmless(p, &s, first);
}
