/* SPDX-License-Identifier: MIT
 * shell_sed.c - sed without -i, with a script that only prints and changes the text on its way:
 *
 *     script := command { (";" | newline) command }      command := [ address [ "," address ] ] [ "!" ] verb
 *     address := number | "$" | "/" text "/"             verb := one of =dDgGhHlnNpPqx, or s/text/text/flags */
#include "guard/shell/shell_read_only.h"

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
	while (s->n && char_in(s->p[0], set))
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
		return char_in(verb, "=dDgGhHlnNpPqx");
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

bool check_sed_part(const struct shell_part *part, size_t operands)
{
	return part->kind == PART_READ ? false : part->kind != PART_PATTERN || script_only_prints(part->text);
}
