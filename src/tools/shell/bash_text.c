/* SPDX-License-Identifier: MIT
 * bash_text.c - what the text of a command tells about it. */
#include "tools/shell/shell_set.h"

static const struct {
	const char *program;
	const char *verb; /* of git; NULL: any */
	const char *meaning;
} answers[] = {
	{ "grep", NULL, "No matches found" },   { "egrep", NULL, "No matches found" },
	{ "fgrep", NULL, "No matches found" },  { "rg", NULL, "No matches found" },
	{ "git", "grep", "No matches found" },  { "find", NULL, "Some directories could not be read" },
	{ "diff", NULL, "Files differ" },       { "git", "diff", "Files differ" },
	{ "test", NULL, "Condition is false" }, { "[", NULL, "Condition is false" },
};

/* Walks over the text and skips quoted characters. */
struct scan {
	struct str text;
	size_t at;
	char quote; /* 0, ' or " */
};

/* The next character outside of quotes, 0 at the end. */
static char scan_next(struct scan *s)
{
	while (s->at < s->text.n) {
		char c = s->text.p[s->at++];
		if (c == '\\' && s->quote != '\'') {
			s->at += s->at < s->text.n;
		} else if (s->quote) {
			s->quote = c == s->quote ? 0 : s->quote;
		} else if (c == '\'' || c == '"') {
			s->quote = c;
		} else {
			return c;
		}
	}
	return 0;
}

static struct str last_command(struct str command)
{
	struct scan s = { .text = command };
	struct str last = command;
	size_t start = 0;
	char c;

	while ((c = scan_next(&s))) {
		char before = s.at > 1 ? command.p[s.at - 2] : 0;
		char after = s.at < command.n ? command.p[s.at] : 0;
		/* The & of 2>&1 and &> belongs to a redirection, and so does the | of >|. */
		if (c == '&' ? before == '>' || before == '<' || after == '>'
			     : (c != '|' || before == '>') && !char_in(c, ";\n()"))
			continue;
		struct str part = str_trim((struct str){ command.p + start, s.at - 1 - start });
		last = part.n ? part : last;
		start = s.at;
	}
	struct str part = str_trim(str_tail(command, start));
	return part.n ? part : last;
}

static struct str next_word(struct str *rest)
{
	*rest = str_trim(*rest);
	size_t n = 0;

	while (n < rest->n && !char_in(rest->p[n], " \t\n"))
		n++;
	struct str word = { rest->p, n };
	*rest = (struct str){ rest->p + n, rest->n - n };
	return word;
}

static struct str program_of(struct str *rest)
{
	struct str word = next_word(rest);

	for (; word.n; word = next_word(rest)) {
		const char *equals = memchr(word.p, '=', word.n);
		bool is_assignment = equals && equals != word.p && word.p[0] != '-';
		if (!is_assignment && !str_is(word, "{") && !str_is(word, "!") && !str_is(word, "command"))
			break;
	}
	const char *slash = word.n ? memrchr(word.p, '/', word.n) : NULL;
	return slash ? (struct str){ slash + 1, word.n - (size_t)(slash + 1 - word.p) } : word;
}

const char *bash_exit_meaning(struct str command, int code)
{
	struct str rest = last_command(command);
	struct str program = program_of(&rest), verb = next_word(&rest);

	if (code != 1)
		return NULL;
	while (verb.n && verb.p[0] == '-') {
		if (str_is(verb, "-C") || str_is(verb, "-c"))
			(void)next_word(&rest);
		verb = next_word(&rest);
	}
	for (size_t i = 0; i < COUNT_OF(answers); i++)
		if (str_is(program, answers[i].program) && (!answers[i].verb || str_is(verb, answers[i].verb)))
			return answers[i].meaning;
	return NULL;
}

bool bash_may_move(struct str command)
{
	struct scan s = { .text = command };
	struct str rest = command;

	while (scan_next(&s))
		;
	if (s.quote || str_is(program_of(&rest), "sleep"))
		return false;
	for (size_t at = 0; at + 3 <= command.n; at++) {
		char before = at ? command.p[at - 1] : ' ', after = at + 3 < command.n ? command.p[at + 3] : ' ';
		bool begins = !char_is_alnum(before) && before != '_';
		bool ends = !char_is_alnum(after) && after != '_';
		if (begins && ends && !memcmp(command.p + at, "git", 3))
			return false;
	}
	return true;
}

void bash_add_duration(struct buf *out, uint64_t ms)
{
	if (ms < 60000)
		buf_addf(out, "%gs", (double)ms / 1000);
	else
		buf_addf(out, "%um %us", (unsigned)(ms / 60000), (unsigned)(ms / 1000 % 60));
}
