/* SPDX-License-Identifier: MIT
 * template.c - the text of a skill, taken apart and filled in. */
#include "defs/skill/template.h"
#include <ctype.h>

enum { MOST_WORDS = 1000 };

#define BLANKS " \t\n\r"

static void add_part(struct template_parts *p, bool is_command, const char *from, const char *to)
{
	if (from == to && !is_command)
		return;
	*xpush(p->list, p->count, p->cap) = (struct template_part){ is_command, { from, (size_t)(to - from) } };
}

static const char *line_end(const char *p, const char *end)
{
	const char *found = memchr(p, '\n', (size_t)(end - p));

	return found ? found : end;
}

/* A !`command` on one line, or a block that begins on this line, at p; *ret_end is behind its last mark. A block that is never
 * closed is text. */
static bool is_command(const char *p, const char *start, const char *end, struct str *ret_command, const char **ret_end)
{
	const char *eol = line_end(p, end);

	if (end - p < 4)
		return false;
	if (p[0] == '!' && p[1] == '`' && (p == start || char_in(p[-1], BLANKS))) {
		const char *stop = memchr(p + 2, '`', (size_t)(eol - p - 2));
		*ret_command = (struct str){ p + 2, stop ? (size_t)(stop - p - 2) : 0 };
		*ret_end = stop ? stop + 1 : NULL;
		return ret_command->n > 0;
	}
	if (strncmp(p, "```!", 4) != 0 || (p > start && p[-1] != '\n') || eol == end ||
	    str_trim((struct str){ p + 4, (size_t)(eol - p - 4) }).n)
		return false;
	for (const char *at = eol + 1; at <= end;) {
		const char *stop = line_end(at, end);
		if (str_is(str_trim(str_between(at, stop)), "```")) {
			*ret_command = str_trim((struct str){ eol + 1, (size_t)(at - eol - 1) });
			*ret_end = stop;
			return ret_command->n > 0;
		}
		at = stop + 1;
	}
	return false;
}

void template_split(struct template_parts *parts, struct str text)
{
	const char *end = text.p + text.n;
	const char *from = text.p;
	struct str command;
	const char *behind;

	for (const char *p = text.p; p < end; p++) {
		if ((*p != '!' && *p != '`') || !is_command(p, text.p, end, &command, &behind))
			continue;
		add_part(parts, false, from, p);
		add_part(parts, true, command.p, command.p + command.n);
		from = behind;
		p = behind - 1;
	}
	add_part(parts, false, from, end);
}

/* One word: quotes and backslashes as a shell reads them. A quote that is never closed is a character. */
static struct str cut_word(struct arena *a, struct str *rest)
{
	AUTO_BUF struct buf word = { 0 };
	size_t i = 0;

	for (; i < rest->n && !char_in(rest->p[i], BLANKS); i++) {
		char c = rest->p[i];
		const char *stop = c == '\'' || c == '"' ? memchr(rest->p + i + 1, c, rest->n - i - 1) : NULL;
		if (stop) {
			size_t n = (size_t)(stop - rest->p) - i - 1;
			buf_add(&word, rest->p + i + 1, n);
			i += n + 1;
			continue;
		}
		if (c == '\\' && i + 1 < rest->n)
			c = rest->p[++i];
		buf_addch(&word, c);
	}
	*rest = str_trim((struct str){ rest->p + i, rest->n - i });
	return arena_str(a, buf_str(&word));
}

void template_values_open(struct template_values *v)
{
	struct str rest = str_trim(v->arguments);

	v->words = arena_alloc(&v->arena, MOST_WORDS * sizeof *v->words);
	while (rest.n && v->count < MOST_WORDS)
		v->words[v->count++] = cut_word(&v->arena, &rest);
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_number(struct str s)
{
	size_t n = 0;

	while (n < s.n && isdigit((unsigned char)s.p[n]))
		n++;
	return n == s.n;
}

/* "${NAME}" at the beginning of s. Returns its length, 0: not a variable of ours. */
static size_t put_variable(struct buf *out, struct str s, struct template_values *v)
{
	const struct skill *k = v->skill;
	const struct {
		const char *name, *value;
	} variables[] = {
		{ "CLAUDE_SESSION_ID", v->session_id },   { "CLAUDE_EFFORT", v->effort },
		{ "CLAUDE_SKILL_DIR", k->dir },           { "CLAUDE_PROJECT_DIR", v->project_dir },
		{ "CLAUDE_PLUGIN_ROOT", k->plugin_root }, { "CLAUDE_PLUGIN_DATA", k->plugin_data },
	};
	const char *stop = s.n > 2 && s.p[1] == '{' ? memchr(s.p, '}', s.n) : NULL;

	if (!stop)
		return 0;
	struct str name = { s.p + 2, (size_t)(stop - s.p) - 2 };
	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		bool is_plugin = !strncmp(variables[i].name, "CLAUDE_PLUGIN", 13);
		if (!str_is(name, variables[i].name) || (is_plugin && !k->plugin))
			continue;
		const char *value = variables[i].value ? variables[i].value : "";
		if (v->in_command && strpbrk(value, "$`\"'\\;&|<>()#\n\r\t"))
			v->refused = variables[i].name;
		else
			buf_addstr(out, value);
		return name.n + 3;
	}
	return 0;
}

/* The longest name that stands at the beginning of s, behind the dollar; nothing if it was not given. */
static size_t put_named(struct buf *out, struct str s, struct template_values *v)
{
	const struct name_list *names = &v->skill->arguments;
	size_t best = SIZE_MAX;
	size_t length = 0;

	for (size_t i = 0; i < names->count; i++) {
		struct str name = str_from(names->names[i]);
		bool ends = str_starts(s, name) && (s.n == name.n || !is_word_char(s.p[name.n]));
		if (ends && name.n > length) {
			best = i;
			length = name.n;
		}
	}
	if (!length)
		return 0;
	if (best < v->count)
		buf_append(out, v->words[best]);
	v->used = true;
	return length + 1;
}

/* What begins with the dollar at the beginning of s. Returns its length, 0: it stays as it is. */
static size_t put_placeholder(struct buf *out, struct str s, struct template_values *v)
{
	struct str tail = { s.p + 1, s.n - 1 }, all = str_trim(v->arguments);
	struct str word = { tail.p, 0 }, number;
	size_t length;
	uint64_t i;

	while (word.n < tail.n && is_word_char(tail.p[word.n]))
		word.n++;
	number = word;
	length = 1 + word.n;
	if (str_is(word, "ARGUMENTS")) {
		struct str rest = { tail.p + word.n, tail.n - word.n };
		const char *close = str_starts(rest, STR("[")) ? memchr(rest.p, ']', rest.n) : NULL;
		number = close ? (struct str){ rest.p + 1, (size_t)(close - rest.p - 1) } : STR("");
		if (!number.n || !is_number(number)) {
			buf_append(out, all);
			v->used = true;
			return length;
		}
		length += number.n + 2;
	} else if (!word.n) {
		return put_variable(out, s, v);
	} else if (!is_number(word)) {
		return put_named(out, tail, v);
	}
	if (!str_to_u64(number, &i) || i >= v->count)
		return 0;
	buf_append(out, v->words[i]);
	v->used = true;
	return length;
}

void template_fill(struct buf *out, struct str text, struct template_values *v)
{
	for (size_t i = 0; i < text.n;) {
		struct str rest = str_tail(text, i);
		bool escaped = rest.n > 2 && rest.p[0] == '\\' && rest.p[1] == '$' && is_word_char(rest.p[2]);
		size_t n = 0;
		if (escaped) {
			buf_addch(out, '$');
			i += 2;
			continue;
		}
		if (rest.p[0] == '$')
			n = put_placeholder(out, rest, v);
		if (!n)
			buf_addch(out, rest.p[0]);
		i += n ? n : 1;
	}
}

bool template_next_file(struct str *rest, struct str *ret_path)
{
	for (size_t i = 0; i < rest->n; i++) {
		if (rest->p[i] != '@' || (i && !char_in(rest->p[i - 1], BLANKS)))
			continue;
		size_t n = i + 1;
		while (n < rest->n && !char_in(rest->p[n], BLANKS))
			n++;
		struct str path = { rest->p + i + 1, n - i - 1 };
		while (path.n && char_in(path.p[path.n - 1], ".,;:!?)]}>\"'`"))
			path.n--;
		if (!path.n)
			continue;
		*ret_path = path;
		*rest = (struct str){ rest->p + n, rest->n - n };
		return true;
	}
	*rest = (struct str){ 0 };
	return false;
}
