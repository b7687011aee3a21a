/* SPDX-License-Identifier: MIT
 * grep_print.c - the lines that a search found in one file, as ripgrep prints them. */
#include "tools/search/grep_print.h"
#include "lib/base/utf8.h"

struct grep_printer grep_printer(const struct grep_want *want, const char *path, struct grep_hits *hits)
{
	return (struct grep_printer){ .want = want, .path = str_from(path), .hits = hits, .line = 1 };
}

bool grep_print_full(const struct grep_printer *p)
{
	return p->want->max_lines && p->hits->lines >= p->want->max_lines;
}

static uint64_t number_of(struct grep_printer *p, size_t line_from)
{
	p->line += count_line_feeds(p->window + p->counted, line_from - p->counted);
	p->counted = line_from;
	return p->line;
}

/* The end of the line at `at`, behind its line feed, but not beyond `to`. */
static size_t line_end(const struct grep_printer *p, size_t at, size_t to)
{
	const char *lf = memchr(p->window + at, '\n', to - at);

	return lf ? (size_t)(lf - p->window) + 1 : to;
}

static char *put(char *at, const char *p, size_t n)
{
	memcpy(at, p, n);
	return at + n;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	size_t from = sizeof digits;

	do
		digits[--from] = (char)('0' + number % 10);
	while (number /= 10);
	return put(at, digits + from, sizeof digits - from);
}

/* A search may print millions of lines: one check for room in the buffer, no formatting functions. */
static void print_text(struct grep_printer *p, char mark, size_t line_from, struct str text)
{
	struct buf *out = &p->hits->text;

	text.n -= text.n && text.p[text.n - 1] == '\n';
	struct str shown = text.n > GREP_MAX_LINE ? utf8_cut(text, GREP_MAX_LINE) : text;
	buf_reserve(out, p->path.n + shown.n + 32);
	char *at = out->p + out->n;
	if (p->want->with_path) {
		at = put(at, p->path.p, p->path.n);
		*at++ = mark;
	}
	if (p->want->numbers) {
		at = put_number(at, number_of(p, line_from));
		*at++ = mark;
	}
	at = put(at, shown.p, shown.n);
	out->n = (size_t)(at - out->p);
	if (shown.n < text.n)
		buf_addf(out, " [... %zu more bytes in this line]", text.n - shown.n);
	buf_addch(out, '\n');
	p->hits->lines++;
}

static void print_lines(struct grep_printer *p, char mark, struct span lines)
{
	for (size_t at = lines.from; at < lines.to;) {
		size_t end = line_end(p, at, lines.to);
		print_text(p, mark, at, (struct str){ p->window + at, end - at });
		at = end;
	}
	p->printed = lines.to;
	p->gap = false;
}

void grep_print_after(struct grep_printer *p, size_t to)
{
	while (p->after_left && p->printed < to) {
		size_t end = line_end(p, p->printed, to);
		print_lines(p, '-', (struct span){ p->printed, end });
		p->after_left--;
	}
}

/* Start of the line `count` lines before the line at `at`, not before `from`. */
static size_t lines_before(const struct grep_printer *p, size_t at, size_t from, size_t count)
{
	for (; count && at > from; count--) {
		const char *lf = at - from > 1 ? memrchr(p->window + from, '\n', at - from - 1) : NULL;
		at = lf ? (size_t)(lf - p->window) + 1 : from;
	}
	return at;
}

/* Context and separator in front of the lines at `at`. */
static void print_before(struct grep_printer *p, size_t at)
{
	grep_print_after(p, at);
	size_t from = lines_before(p, at, p->printed, p->want->before);
	bool apart = p->gap || from > p->printed;
	if (apart && p->hits->lines && (p->want->before || p->want->after)) {
		buf_addstr(&p->hits->text, "--\n");
		p->hits->lines++;
	}
	print_lines(p, '-', (struct span){ from, at });
}

void grep_print_match(struct grep_printer *p, struct span lines)
{
	print_before(p, lines.from);
	if (!p->want->only_matching)
		print_lines(p, ':', lines);
}

void grep_print_part(struct grep_printer *p, struct span match)
{
	size_t at = match.from;

	do {
		size_t end = line_end(p, at, match.to);
		const char *lf = at ? memrchr(p->window, '\n', at) : NULL;
		print_text(p, ':', lf ? (size_t)(lf - p->window) + 1 : 0, (struct str){ p->window + at, end - at });
		at = end;
	} while (at < match.to);
}

void grep_print_note(struct grep_printer *p, const char *text)
{
	if (p->want->with_path)
		buf_addf(&p->hits->text, STR_FMT ": ", STR_ARG(p->path));
	buf_addf(&p->hits->text, "%s\n", text);
	p->hits->lines++;
}

size_t grep_print_keep(const struct grep_printer *p, size_t end)
{
	return lines_before(p, end, MIN(p->printed, end), p->want->before);
}

void grep_print_move(struct grep_printer *p, size_t drop)
{
	if (p->want->numbers && p->counted < drop)
		(void)number_of(p, drop);
	p->counted -= MIN(p->counted, drop);
	p->gap = p->gap || p->printed < drop;
	p->printed -= MIN(p->printed, drop);
}
