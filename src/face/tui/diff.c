/* SPDX-License-Identifier: MIT
 * diff.c - the hunks of an edit: numbers, signs, lines, and what differs within a line that replaces another. */
#include "face/tui/state.h"
#include "lib/json/json.h"

enum { MOST_PAIRS = 64 };

/* Blanks, signs, or the characters of words: a difference is made of whole runs of them. */
static int class_of(char c)
{
	bool word = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
		    (unsigned char)c >= 0x80;

	return c == ' ' || c == '\t' ? 0 : word ? 1 : 2;
}

/* Whether the run of characters that ends before the end of one line continues in this one */
static bool goes_on(char last, struct str s, size_t at)
{
	return at < s.n && class_of(last) && class_of(s.p[at]) == class_of(last);
}

/* The part of a that b does not have, in whole words: *ret_from to *ret_to. Two lines that share little have no such part. */
static void differing_words(struct str a, struct str b, size_t *ret_from, size_t *ret_to)
{
	size_t shorter = MIN(a.n, b.n), head = 0, tail = 0;

	while (head < shorter && a.p[head] == b.p[head])
		head++;
	while (tail < shorter - head && a.p[a.n - tail - 1] == b.p[b.n - tail - 1])
		tail++;
	while (head && (goes_on(a.p[head - 1], a, head) || goes_on(a.p[head - 1], b, head)))
		head--;
	while (tail && ((tail < a.n && class_of(a.p[a.n - tail]) &&
			 class_of(a.p[a.n - tail]) == class_of(a.p[a.n - tail - 1])) ||
			(tail < b.n && class_of(a.p[a.n - tail]) &&
			 class_of(a.p[a.n - tail]) == class_of(b.p[b.n - tail - 1]))))
		tail--;
	bool alike = (head + tail) * 3 >= MAX(a.n, b.n);
	*ret_from = alike ? head : a.n;
	*ret_to = alike ? MAX(a.n - tail, head) : a.n;
}

/* digits: of the column of numbers */
static void add_line(struct styled *s, int digits, int64_t number, char sign, struct str text, const struct str *other)
{
	unsigned look = sign == '+' ? LOOK_ADDED : sign == '-' ? LOOK_REMOVED : LOOK_DIM;
	size_t from = text.n, to = text.n;

	if (other)
		differing_words(text, *other, &from, &to);
	styled_addf(s, LOOK_DIM, "%*lld ", digits, (long long)number);
	styled_addf(s, look, "%c ", sign);
	styled_add_code(s, look, (struct str){ text.p, from });
	styled_add_code(s, sign == '+' ? LOOK_ADDED_WORD : LOOK_REMOVED_WORD, (struct str){ text.p + from, to - from });
	styled_add_code(s, look, (struct str){ text.p + to, text.n - to });
	styled_add(s, LOOK_PLAIN, STR("\n"));
}

/* Lines with one sign from *at on; at most `most` are kept in ret. Returns how many there are. */
static size_t take_run(const struct json *lines, const struct json **at, char sign, bool crlf, struct str *ret,
		       size_t most, struct arena *arena)
{
	size_t n = 0;

	for (; *at; *at = json_next(lines, *at)) {
		struct str text = json_str(*at, arena);
		if ((text.n ? text.p[0] : ' ') != sign || n == most)
			break;
		text.n -= crlf && text.n > 1;
		ret[n++] = (struct str){ text.p + (text.n > 0), text.n - (text.n > 0) };
	}
	return n;
}

/* A file of another system: each of its lines ends with CR LF, which is said once. A line that differs in that from others shows it. */
static bool has_crlf(const struct json *patch, struct arena *arena)
{
	bool any = false;

	for (const struct json *hunk = json_first(patch); hunk; hunk = json_next(patch, hunk)) {
		const struct json *lines = json_get(hunk, "lines");
		for (const struct json *line = json_items(lines); line; line = json_next(lines, line)) {
			struct str text = json_str(line, arena);
			if (!str_ends(text, STR("\r")) && !str_starts(text, STR("\\")))
				return false;
			any = true;
		}
	}
	return any;
}

void diff_paint(struct tui *t, const struct json *patch, int digits, size_t most, struct styled *s, size_t *ret_added,
		size_t *ret_removed)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct str gone[MOST_PAIRS], come[MOST_PAIRS];
	size_t rows = 0, left = 0;

	*ret_added = *ret_removed = 0;
	bool crlf = has_crlf(patch, &arena);
	if (crlf)
		styled_addf(s, LOOK_DIM, "%*s(lines end with CR LF)\n", digits + 1, "");
	for (const struct json *hunk = json_first(patch); hunk; hunk = json_next(patch, hunk)) {
		int64_t old_at = 0, new_at = 0;
		(void)json_i64(json_get(hunk, "oldStart"), &old_at);
		(void)json_i64(json_get(hunk, "newStart"), &new_at);
		const struct json *lines = json_get(hunk, "lines");
		const struct json *at = json_items(lines);
		struct str section = json_str(json_get(hunk, "section"), &arena);
		if (section.n) {
			styled_add(s, LOOK_DIM, STR("  "));
			styled_add_line(s, LOOK_DIM, section);
		} else if (rows && rows < most) {
			styled_addf(s, LOOK_DIM, "%*s%s\n", digits + 1, "", tui_mark(t, MARK_MORE));
		}
		while (at) {
			size_t same = take_run(lines, &at, ' ', crlf, gone, MOST_PAIRS, &arena);
			for (size_t i = 0; i < same; i++, old_at++, new_at++, rows++)
				if (rows < most)
					add_line(s, digits, new_at, ' ', gone[i], NULL);
				else
					left++;
			size_t removed = take_run(lines, &at, '-', crlf, gone, MOST_PAIRS, &arena);
			size_t added = take_run(lines, &at, '+', crlf, come, MOST_PAIRS, &arena);
			bool pairs = removed == added;
			for (size_t i = 0; i < removed; i++, old_at++, rows++)
				if (rows < most)
					add_line(s, digits, old_at, '-', gone[i], pairs ? &come[i] : NULL);
				else
					left++;
			for (size_t i = 0; i < added; i++, new_at++, rows++)
				if (rows < most)
					add_line(s, digits, new_at, '+', come[i], pairs ? &gone[i] : NULL);
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
