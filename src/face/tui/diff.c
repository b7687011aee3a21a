/* SPDX-License-Identifier: MIT
 * diff.c - the hunks of an edit: numbers, signs, lines, and what differs within a line that replaces another. */
#include "face/tui/tui_int.h"
#include "lib/json/json.h"

enum { DIFF_ROWS = 30, MOST_PAIRS = 64 };

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

/* The part of a that b does not have, in whole words: *ret_from to *ret_to. Two lines that share little have no such part. */
static void differing_words(struct str a, struct str b, size_t *ret_from, size_t *ret_to)
{
	size_t shorter = MIN(a.n, b.n), head = 0, tail = 0;

	while (head < shorter && a.p[head] == b.p[head])
		head++;
	while (tail < shorter - head && a.p[a.n - tail - 1] == b.p[b.n - tail - 1])
		tail++;
	while (head && is_word(a.p[head - 1]) &&
	       ((head < a.n && is_word(a.p[head])) || (head < b.n && is_word(b.p[head]))))
		head--;
	while (tail && is_word(a.p[a.n - tail]) &&
	       ((tail < a.n && is_word(a.p[a.n - tail - 1])) || (tail < b.n && is_word(b.p[b.n - tail - 1]))))
		tail--;
	bool alike = (head + tail) * 3 >= MAX(a.n, b.n);
	*ret_from = alike ? head : a.n;
	*ret_to = alike ? MAX(a.n - tail, head) : a.n;
}

static void add_line(struct styled *s, int64_t number, char sign, struct str text, const struct str *other)
{
	unsigned look = sign == '+' ? LOOK_ADDED : sign == '-' ? LOOK_REMOVED : LOOK_DIM;
	size_t from = text.n, to = text.n;

	if (other)
		differing_words(text, *other, &from, &to);
	styled_addf(s, LOOK_DIM, "    %5lld ", (long long)number);
	styled_addf(s, look, "%c ", sign);
	styled_add_foreign(s, look, (struct str){ text.p, from }, true);
	styled_add_foreign(s, sign == '+' ? LOOK_ADDED_WORD : LOOK_REMOVED_WORD,
			   (struct str){ text.p + from, to - from }, true);
	styled_add_foreign(s, look, (struct str){ text.p + to, text.n - to }, true);
	styled_add(s, LOOK_PLAIN, STR("\n"));
}

/* Lines with one sign from *at on; at most `most` are kept in ret. Returns how many there are. */
static size_t take_run(const struct json *lines, const struct json **at, char sign, struct str *ret, size_t most,
		       struct arena *arena)
{
	size_t n = 0;

	for (; *at; *at = json_next(lines, *at)) {
		struct str text = json_str(*at, arena);
		if ((text.n ? text.p[0] : ' ') != sign || n == most)
			break;
		ret[n++] = (struct str){ text.p + (text.n > 0), text.n - (text.n > 0) };
	}
	return n;
}

void diff_paint(struct tui *t, const struct json *patch, struct styled *s, size_t *ret_added, size_t *ret_removed)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct str gone[MOST_PAIRS], come[MOST_PAIRS];
	size_t rows = 0, left = 0;

	*ret_added = *ret_removed = 0;
	for (const struct json *hunk = json_first(patch); hunk; hunk = json_next(patch, hunk)) {
		int64_t old_at = 0, new_at = 0;
		(void)json_i64(json_get(hunk, "oldStart"), &old_at);
		(void)json_i64(json_get(hunk, "newStart"), &new_at);
		const struct json *lines = json_get(hunk, "lines");
		const struct json *at = json_is(lines, JSON_ARRAY) ? json_first(lines) : NULL;
		if (hunk != json_first(patch) && rows < DIFF_ROWS)
			styled_addf(s, LOOK_DIM, "          %s\n", tui_mark(t, MARK_MORE));
		while (at) {
			size_t same = take_run(lines, &at, ' ', gone, MOST_PAIRS, &arena);
			for (size_t i = 0; i < same; i++, old_at++, new_at++, rows++)
				if (rows < DIFF_ROWS)
					add_line(s, new_at, ' ', gone[i], NULL);
				else
					left++;
			size_t removed = take_run(lines, &at, '-', gone, MOST_PAIRS, &arena);
			size_t added = take_run(lines, &at, '+', come, MOST_PAIRS, &arena);
			bool pairs = removed == added;
			for (size_t i = 0; i < removed; i++, old_at++, rows++)
				if (rows < DIFF_ROWS)
					add_line(s, old_at, '-', gone[i], pairs ? &come[i] : NULL);
				else
					left++;
			for (size_t i = 0; i < added; i++, new_at++, rows++)
				if (rows < DIFF_ROWS)
					add_line(s, new_at, '+', come[i], pairs ? &gone[i] : NULL);
				else
					left++;
			*ret_added += added;
			*ret_removed += removed;
			if (at && !same && !removed && !added)
				at = json_next(lines, at); /* "\ No newline at end of file" */
		}
	}
	if (left)
		styled_addf(s, LOOK_DIM, "    %s %zu lines more\n", tui_mark(t, MARK_MORE), left);
}
