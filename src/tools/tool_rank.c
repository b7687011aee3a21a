/* SPDX-License-Identifier: MIT
 * tool_rank.c - words against names and descriptions. Texts are compared in a plain form: lower case, every word between two
 * blanks, so that create_issue and createIssue are the same two words. */
#include "tools/tool_rank.h"
#include <ctype.h>

enum { MOST_WORDS = 32 };
enum { NAME_WORD = 10, NAME_PART = 5, DESCRIPTION_WORD = 3, DESCRIPTION_PART = 1 };

struct word {
	char *part, *whole; /* "log" and " log " */
	bool required;
};

struct words {
	struct word list[MOST_WORDS];
	size_t count;
};

struct candidate {
	const struct tool *tool;
	unsigned score;
	size_t place; /* in the set */
};

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static char *plain(struct arena *arena, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	buf_addch(&out, ' ');
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (i && isupper((unsigned char)c) && islower((unsigned char)text.p[i - 1]))
			buf_addch(&out, ' ');
		buf_addch(&out, is_letter(c) ? (char)tolower((unsigned char)c) : ' ');
	}
	buf_addch(&out, ' ');
	return arena_dup(arena, out.p, out.n);
}

static void add_words(struct words *w, struct arena *arena, struct str token)
{
	bool required = token.n > 1 && token.p[0] == '+';
	struct str rest = str_from(plain(arena, token));

	while (rest.p && w->count < MOST_WORDS) {
		struct str part = str_cut(&rest, ' ');
		if (part.n)
			w->list[w->count++] =
				(struct word){ .part = arena_dup(arena, part.p, part.n),
					       .whole = arena_printf(arena, " " STR_FMT " ", STR_ARG(part)),
					       .required = required };
	}
}

static void read_words(struct words *w, struct arena *arena, struct str text)
{
	char *copy = arena_dup(arena, text.p, text.n);

	for (char *c = copy; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	for (struct str rest = { copy, text.n }; rest.p;)
		add_words(w, arena, str_cut(&rest, ' '));
}

struct str tool_description(const struct tool *tool, struct arena *arena)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, tool->definition, strlen(tool->definition), &root, NULL) < 0)
		return STR("");
	return arena_str(arena, json_str(json_get(root, "description"), arena));
}

static unsigned found_in(const char *text, const struct word *word, unsigned whole, unsigned part)
{
	return strstr(text, word->whole) ? whole : strstr(text, word->part) ? part : 0;
}

static unsigned score_of(const struct tool *tool, const struct words *w)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *name = plain(&arena, str_from(tool->name));
	const char *description = plain(&arena, tool_description(tool, &arena));
	unsigned score = 0;

	for (size_t i = 0; i < w->count; i++) {
		unsigned found = found_in(name, &w->list[i], NAME_WORD, NAME_PART) +
				 found_in(description, &w->list[i], DESCRIPTION_WORD, DESCRIPTION_PART);
		if (!found && w->list[i].required)
			return 0;
		score += found;
	}
	return score;
}

static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

size_t tool_rank(const struct tool_set *set, struct str text, size_t most, const struct tool **ret_best)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct candidate *all = arena_calloc(&arena, (set->count + 1) * sizeof *all);
	struct words words = { 0 };
	size_t n = 0;

	read_words(&words, &arena, text);
	for (size_t i = 0; i < set->count; i++) {
		struct candidate c = { set->tools[i], score_of(set->tools[i], &words), i };
		if (c.score)
			all[n++] = c;
	}
	qsort(all, n, sizeof *all, compare);
	n = MIN(n, most);
	for (size_t i = 0; i < n; i++)
		ret_best[i] = all[i].tool;
	return n;
}
