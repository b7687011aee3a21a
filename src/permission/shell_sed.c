/* SPDX-License-Identifier: MIT
 * shell_sed.c - sed without -i, with a script that only prints and changes the text on its way:
 *
 *     script := command { (";" | newline) command }      command := [ address [ "," address ] ] [ "!" ] verb
 *     address := number | "$" | "/" text "/"             verb := one of =dDgGhHlnNpPqx, or s/text/text/flags */
#include "permission/shell_read_only.h"

static bool skip_delimited(struct str *s, char delimiter)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->p[i] == '\\')
			i++;
		else if (s->p[i] == '\n')
			return false;
		else if (s->p[i] == delimiter) {
			*s = (struct str){ s->p + i + 1, s->n - i - 1 };
			return true;
		}
	}
	return false;
}

static void skip_any(struct str *s, const char *set)
{
	while (s->n && strchr(set, s->p[0]))
		*s = (struct str){ s->p + 1, s->n - 1 };
}

static bool skip_address(struct str *s)
{
	if (!s->n || s->p[0] != '/') {
		skip_any(s, "0123456789$~+");
		return true;
	}
	*s = (struct str){ s->p + 1, s->n - 1 };
	return skip_delimited(s, '/');
}

static bool skip_command(struct str *s)
{
	if (!skip_address(s))
		return false;
	if (s->n && s->p[0] == ',') {
		*s = (struct str){ s->p + 1, s->n - 1 };
		if (!skip_address(s))
			return false;
	}
	skip_any(s, " !");
	if (!s->n)
		return false;
	char verb = s->p[0];
	*s = (struct str){ s->p + 1, s->n - 1 };
	if (verb != 's')
		return strchr("=dDgGhHlnNpPqx", verb) != NULL;
	char delimiter = s->n ? s->p[0] : '\\';
	if (delimiter == '\\' || delimiter == '\n')
		return false;
	*s = (struct str){ s->p + 1, s->n - 1 };
	if (!skip_delimited(s, delimiter) || !skip_delimited(s, delimiter))
		return false;
	skip_any(s, "gpiI0123456789");
	return true;
}

static bool script_only_prints(struct str s)
{
	for (;;) {
		skip_any(&s, " \t\n;");
		if (!s.n)
			return true;
		if (!skip_command(&s))
			return false;
		skip_any(&s, " \t");
		if (s.n && s.p[0] != ';' && s.p[0] != '\n')
			return false;
	}
}

static bool is_flag(struct str word)
{
	for (size_t i = 1; i < word.n; i++)
		if (!strchr("nErsuz", word.p[i]))
			return false;
	return true;
}

bool shell_sed_is_read_only(const struct shell_command *c)
{
	bool has_script = false;

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		bool is_script = false;
		if (str_is(word, "-e") && i + 1 < c->word_count)
			is_script = true, word = c->words[++i].text;
		else if (word.n > 1 && word.p[0] == '-') {
			if (!is_flag(word))
				return false;
		} else {
			is_script = !has_script;
		}
		if (is_script && !script_only_prints(word))
			return false;
		has_script = has_script || is_script;
	}
	return has_script;
}
