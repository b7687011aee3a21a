/* SPDX-License-Identifier: MIT
 * frontmatter_key.c - does this line start a field? People write `Tools :`, `"tools":`, `tools:Read` and a no-break
 * space behind the colon; and they write prose with colons in it, which must not be taken for fields. */
#include "config/catalog/frontmatter_int.h"

/* Words that begin a line of dialogue or explanation in descriptions, and name no field that is known. */
static const char *const prose[] = {
	"user",  "assistant", "human",    "system",    "context",  "example",   "examples", "commentary", "note",
	"notes", "tip",       "warning",  "result",    "question", "important", "answer",   "response",   "reasoning",
	"e.g",   "i.e",       "scenario", "situation", "http",     "https",     "mailto",
};

static bool is_prose(struct str word)
{
	for (size_t i = 0; i < COUNT_OF(prose); i++)
		if (str_is_nocase(word, prose[i]))
			return true;
	return false;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c == '.';
}

static struct str skip(struct str s, size_t n)
{
	return (struct str){ s.p + n, s.n - n };
}

static struct str skip_blanks(struct str s)
{
	for (;;) {
		if (s.n && fm_blank(s.p[0]))
			s = skip(s, 1);
		else if (str_starts(s, STR("\xc2\xa0")))
			s = skip(s, 2);
		else
			return s;
	}
}

/* The word at the start of s, in quotes or not; *rest is what follows. */
static bool take_word(struct str s, struct str *ret_word, struct str *rest)
{
	char quote = s.n && (s.p[0] == '"' || s.p[0] == '\'') ? s.p[0] : '\0';
	size_t n = 0;

	if (quote)
		s = skip(s, 1);
	while (n < s.n && is_word_char(s.p[n]))
		n++;
	if (!n || s.p[0] == '-' || s.p[0] == '.' || (quote && (n == s.n || s.p[n] != quote)))
		return false;
	*ret_word = (struct str){ s.p, n };
	*rest = skip_blanks(skip(s, n + (quote != '\0')));
	return true;
}

/* Unknown keys need the look of one: lower case first, and a blank behind the colon. */
static bool looks_like_key(struct str word, struct str after)
{
	bool apart = !after.n || fm_blank(after.p[0]) || str_starts(after, STR("\xc2\xa0"));

	return apart && word.p[0] >= 'a' && word.p[0] <= 'z' && !is_prose(word);
}

bool fm_key(struct str line, frontmatter_key_fn *flags_of, struct fm_key *ret)
{
	struct str word, rest;

	if (!take_word(line, &word, &rest) || !rest.n || rest.p[0] != ':')
		return false;
	rest = skip(rest, 1);
	unsigned flags = flags_of(word);
	if (!flags && !looks_like_key(word, rest))
		return false;
	*ret = (struct fm_key){ word, flags, skip_blanks(rest) };
	return true;
}

bool fm_restriction(struct str line, frontmatter_key_fn *flags_of, struct str *ret_key)
{
	bool explicit = line.n > 1 && line.p[0] == '?' && fm_blank(line.p[1]);
	struct str word, rest;

	if (explicit)
		line = skip_blanks(skip(line, 1));
	if (!take_word(line, &word, &rest) || !(rest.n ? rest.p[0] == ':' : explicit))
		return false;
	*ret_key = word;
	return flags_of(word) & FRONTMATTER_RESTRICTION;
}
