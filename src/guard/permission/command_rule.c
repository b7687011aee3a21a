/* SPDX-License-Identifier: MIT
 * command_rule.c - patterns for commands. */
#include "guard/permission/command_rule.h"
#include "lib/base/buf.h"
#include "lib/match/wildcard.h"

static struct str one_blank(struct arena *a, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < text.n; i++) {
		bool blank = text.p[i] == ' ' || text.p[i] == '\t';
		if (!blank)
			buf_addch(&out, text.p[i]);
		else if (out.n && out.p[out.n - 1] != ' ')
			buf_addch(&out, ' ');
	}
	return arena_str(a, buf_str(&out));
}

struct str command_first_word(struct str words)
{
	struct str rest = words;

	return str_cut(&rest, ' ');
}

/* What stands behind the last *; empty if more words may follow, or if something in it is escaped. */
static struct str literal_end(const struct command_rule *r)
{
	const char *star = r->text.n ? memrchr(r->text.p, '*', r->text.n) : NULL;

	if (!star || r->words || memchr(r->text.p, '\\', r->text.n))
		return STR("");
	return (struct str){ star + 1, r->text.n - (size_t)(star + 1 - r->text.p) };
}

void command_rule_compile(struct command_rule *r, struct arena *a, struct str pattern)
{
	struct str text = str_trim(pattern);
	bool words = str_ends(text, STR(":*")) || str_ends(text, STR(" *"));

	if (words)
		text.n -= 2;
	*r = (struct command_rule){ .words = words };
	if (!wildcard_is_plain(text))
		r->shape = COMMAND_WILD;
	else
		r->shape = words ? COMMAND_WORDS : COMMAND_EXACT;
	r->text = r->shape == COMMAND_EXACT ? arena_str(a, text) : one_blank(a, str_trim(text));
	struct str first = command_first_word(r->text);
	if (wildcard_is_plain(first))
		r->first = first;
	r->last = literal_end(r);
}

static bool match_wild(const struct command_rule *r, struct str words)
{
	if (!str_ends(words, r->last))
		return false;
	if (wildcard_match(r->text, words))
		return true;
	/* "* --version *" with words behind: the pattern must end where a word does. */
	for (size_t i = 0; r->words && i < words.n; i++)
		if (words.p[i] == ' ' && wildcard_match(r->text, (struct str){ words.p, i }))
			return true;
	return false;
}

bool command_rule_match(const struct command_rule *r, const struct command_text *command)
{
	struct str words = command->words;

	switch (r->shape) {
	case COMMAND_EXACT:
		return str_eq(r->text, command->exact);
	case COMMAND_WORDS:
		return str_starts(words, r->text) && (words.n == r->text.n || words.p[r->text.n] == ' ');
	case COMMAND_WILD:
		break;
	}
	return match_wild(r, words);
}
