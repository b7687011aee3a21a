/* SPDX-License-Identifier: MIT
 * grep_scan.c - the search in one file. */
#include "tools/search/grep.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/base/id.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"

enum {
	PIECE = 64 * 1024,             /* the size matters: a NUL is looked for piece by piece */
	MAX_PRINTED = 10000,           /* bytes of a line */
	MAX_LINE = 64 * 1024 * 1024,   /* a longer line ends the search of its file */
	MAX_WHOLE = 256 * 1024 * 1024, /* for multiline and UTF-16 */
};

/* Prints the lines that match and their context. It sees a window of the file that moves forward; positions are offsets into
 * it. */
struct printer {
	const struct grep_want *want;
	struct str path; /* as it is shown; borrowed */
	struct grep_hits *hits;
	const char *window;
	size_t printed; /* everything before this is printed or left out */
	size_t counted; /* line is the number of the line that begins here */
	uint64_t line;
	size_t after_left; /* lines of context still wanted after a match */
	bool gap;          /* lines before `printed` were left out since the last printed line */
};

static uint64_t line_number(struct printer *p, size_t line_from)
{
	p->line += count_line_feeds(p->window + p->counted, line_from - p->counted);
	p->counted = line_from;
	return p->line;
}

/* The end of the line at `at`, behind its line feed, but not beyond `to`. */
static size_t line_end(const struct printer *p, size_t at, size_t to)
{
	const char *lf = memchr(p->window + at, '\n', to - at);

	return lf ? (size_t)(lf - p->window) + 1 : to;
}

/* A search may print millions of lines: one check for room in the buffer, no formatting functions. */
static void print_text(struct printer *p, char mark, size_t line_from, struct str text)
{
	struct buf *out = &p->hits->text;

	text.n -= text.n && text.p[text.n - 1] == '\n';
	struct str shown = text.n > MAX_PRINTED ? utf8_cut(text, MAX_PRINTED) : text;
	buf_reserve(out, p->path.n + shown.n + 32);
	char *at = out->p + out->n;
	if (p->want->with_path) {
		at = mempcpy(at, p->path.p, p->path.n);
		*at++ = mark;
	}
	if (p->want->numbers) {
		char digits[20];
		size_t from = sizeof digits;
		uint64_t number = line_number(p, line_from);
		do
			digits[--from] = (char)('0' + number % 10);
		while (number /= 10);
		at = mempcpy(at, digits + from, sizeof digits - from);
		*at++ = mark;
	}
	at = mempcpy(at, shown.p, shown.n);
	out->n = (size_t)(at - out->p);
	if (shown.n < text.n)
		buf_addf(out, " [... %zu more bytes in this line]", text.n - shown.n);
	buf_addch(out, '\n');
	p->hits->lines++;
}

static void print_lines(struct printer *p, char mark, struct span lines)
{
	for (size_t at = lines.from; at < lines.to;) {
		size_t end = line_end(p, at, lines.to);
		print_text(p, mark, at, (struct str){ p->window + at, end - at });
		at = end;
	}
	p->printed = lines.to;
	p->gap = false;
}

/* Context after the last match, not beyond `to` */
static void print_after(struct printer *p, size_t to)
{
	for (; p->after_left && p->printed < to; p->after_left--)
		print_lines(p, '-', (struct span){ p->printed, line_end(p, p->printed, to) });
}

/* Start of the line `count` lines before the line at `at`, not before `from`. */
static size_t lines_before(const struct printer *p, size_t at, size_t from, size_t count)
{
	for (; count && at > from; count--) {
		const char *lf = at - from > 1 ? memrchr(p->window + from, '\n', at - from - 1) : NULL;
		at = lf ? (size_t)(lf - p->window) + 1 : from;
	}
	return at;
}

/* One match of only_matching; its lines are printed apart. */
static void print_part(struct printer *p, struct span match)
{
	size_t at = match.from;

	do {
		size_t end = line_end(p, at, match.to);
		const char *lf = at ? memrchr(p->window, '\n', at) : NULL;
		print_text(p, ':', lf ? (size_t)(lf - p->window) + 1 : 0, (struct str){ p->window + at, end - at });
		at = end;
	} while (at < match.to);
}

static void print_binary(struct printer *p, const char *what, uint64_t nul_at)
{
	if (p->want->mode != GREP_CONTENT)
		return;
	if (p->want->with_path)
		buf_addf(&p->hits->text, STR_FMT ": ", STR_ARG(p->path));
	buf_addf(&p->hits->text, "%s (found a NUL byte around offset %llu)\n", what, (unsigned long long)nul_at);
	p->hits->lines++;
}

struct grep_scanner {
	const struct pattern *pattern;
	const struct grep_want *want;
	const atomic_bool *stop;
	uint64_t deadline_ms, limit_ms; /* of the whole search; 0: none */
	struct matcher *matcher;
	char *window;
	size_t room;
	/* the file at hand */
	size_t filled;                       /* bytes in the window */
	size_t done;                         /* lines before this are searched */
	const char *next[REGEX_MAX_NEEDLES]; /* where each needle comes next; NULL: not searched yet */
	const char *lines_end;               /* of the lines at hand */
	const char *non_ascii;               /* where the next such byte is, or lines_end; NULL: not searched yet */
	bool over;                           /* nothing more to find */
	bool named;
	bool binary;
	uint64_t offset, nul_at; /* in the file: of the window, of the first NUL */
	struct printer printer;
	struct err *err;
};

/* One file can be as large as a tree. */
static int check_deadline(struct grep_scanner *s)
{
	if (!s->deadline_ms || clock_ms(CLOCK_MONOTONIC) < s->deadline_ms)
		return 0;
	return err_set(s->err, ERR_TIMEOUT,
		       "the search took more than %g s and was ended: search a smaller part, or with a simpler pattern",
		       (double)s->limit_ms / 1000);
}

struct grep_scanner *grep_scanner_new(const struct pattern *pattern, const struct grep_want *want,
				      const atomic_bool *stop, uint64_t limit_ms)
{
	struct grep_scanner *s =
		xnew(struct grep_scanner, .limit_ms = limit_ms,
		     .deadline_ms = limit_ms ? clock_ms(CLOCK_MONOTONIC) + limit_ms : 0, .pattern = pattern,
		     .want = want, .stop = stop, .matcher = matcher_new(pattern), .room = PIECE);

	s->window = xmalloc(s->room);
	return s;
}

void grep_scanner_free(struct grep_scanner *s)
{
	if (!s)
		return;
	matcher_free(s->matcher);
	free(s->window);
	free(s);
}

/* The lines up to end are searched next. */
static void set_lines(struct grep_scanner *s, size_t end)
{
	s->printer.window = s->window;
	s->lines_end = s->window + end;
	s->non_ascii = NULL;
	memset(s->next, 0, sizeof s->next);
}

/* The first byte at or after p that is not ASCII, or lines_end. Asked for places that grow, it reads them once. */
static const char *next_non_ascii(struct grep_scanner *s, const char *p)
{
	if (!s->non_ascii || s->non_ascii < p) {
		for (; s->lines_end - p >= 32; p += 32) {
			uint64_t words[4];
			memcpy(words, p, sizeof words);
			if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u)
				break;
		}
		while (p < s->lines_end && !(*p & 0x80))
			p++;
		s->non_ascii = p;
	}
	return s->non_ascii;
}

/* Text is some of the lines at hand; it is matched by the faster code when it is ASCII. */
static int find_in(struct grep_scanner *s, struct str text, size_t from, struct span *ret_match)
{
	bool ascii = s->pattern->ascii && next_non_ascii(s, text.p) >= text.p + text.n;

	return matcher_find(s->matcher, text, from, ascii, ret_match, s->err);
}

/* Each match inside the lines, for only_matching. An empty match right behind another one is none. */
static int take_parts(struct grep_scanner *s, struct span lines)
{
	size_t end = lines.to - (lines.to > lines.from && s->window[lines.to - 1] == '\n');
	struct str text = { s->window + lines.from, end - lines.from };
	size_t last_end = SIZE_MAX;
	struct span m;

	for (size_t at = 0;
	     at <= text.n && !(s->printer.want->max_lines && s->printer.hits->lines >= s->printer.want->max_lines);) {
		int rc = find_in(s, text, at, &m);
		if (rc <= 0)
			return rc;
		at = m.to > m.from ? m.to : m.to + 1;
		if (m.from == m.to && m.from == last_end)
			continue;
		last_end = m.to;
		s->printer.hits->matches++;
		if (s->want->mode == GREP_CONTENT)
			print_part(&s->printer, (struct span){ lines.from + m.from, lines.from + m.to });
		while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80 && m.from == m.to)
			at++;
	}
	return 0;
}

/* These lines match. matches: for the count; one for a line, all of those in lines that matches share. */
static int take_hit(struct grep_scanner *s, struct span lines, uint64_t matches)
{
	if (s->binary) {
		s->printer.hits->matches++;
		s->over = true;
		print_binary(&s->printer, "binary file matches", s->nul_at);
		return 0;
	}
	s->over = s->want->mode == GREP_FILES;
	if (s->want->mode == GREP_CONTENT) {
		/* Lines that match, with the context and the separator in front of them; before them, from `printed`, none does. */
		struct printer *p = &s->printer;
		print_after(p, lines.from);
		size_t from = lines_before(p, lines.from, p->printed, p->want->before);
		bool apart = p->gap || from > p->printed;
		if (apart && p->hits->lines && (p->want->before || p->want->after)) {
			buf_addstr(&p->hits->text, "--\n");
			p->hits->lines++;
		}
		print_lines(p, '-', (struct span){ from, lines.from });
		if (!p->want->only_matching)
			print_lines(p, ':', lines);
	}
	if (!s->want->only_matching || s->over) {
		s->printer.hits->matches += matches;
	} else {
		int rc = take_parts(s, lines);
		if (rc < 0)
			return rc;
	}
	s->printer.printed = lines.to;
	s->printer.gap = false;
	s->printer.after_left = s->want->after;
	s->over = s->over || (s->printer.want->max_lines && s->printer.hits->lines >= s->printer.want->max_lines);
	return 0;
}

/* The first needle in p..end, or end. What was found ahead is kept for the next call. */
static const char *find_needle(struct grep_scanner *s, const char *p, const char *end)
{
	const char *first = end;

	for (size_t i = 0; i < s->pattern->needle_count; i++) {
		if (!s->next[i] || s->next[i] < p) {
			const char *hit = literal_find(&s->pattern->needles[i], p, (size_t)(end - p));
			s->next[i] = hit ? hit : end;
		}
		first = MIN(first, s->next[i]);
	}
	return first;
}

static struct span line_around(const struct grep_scanner *s, size_t at, size_t from, size_t end)
{
	const char *before = at > from ? memrchr(s->window + from, '\n', at - from) : NULL;
	const char *after = memchr(s->window + at, '\n', end - at);

	return (struct span){ before ? (size_t)(before - s->window) + 1 : from,
			      after ? (size_t)(after - s->window) + 1 : end };
}

/* As many lines as one matcher can take at once: up to the next line that is not ASCII, or that one alone. */
static struct span lines_of_a_kind(struct grep_scanner *s, size_t from, size_t end)
{
	if (!s->pattern->ascii)
		return (struct span){ from, end };
	size_t at = (size_t)(next_non_ascii(s, s->window + from) - s->window);
	if (at >= end)
		return (struct span){ from, end };
	struct span other = line_around(s, at, from, end);
	return other.from > from ? (struct span){ from, other.from } : other;
}

/* The next line in from..end that matches: 1, 0, or an error. With needles only their lines are looked at; a pattern
 * that looks around itself sees each line alone; any other runs over all lines at once. */
static int next_line(struct grep_scanner *s, size_t from, size_t end, struct span *ret_line)
{
	struct span m;

	while (from < end) {
		struct span line;
		if (s->pattern->needle_count) {
			size_t at = (size_t)(find_needle(s, s->window + from, s->window + end) - s->window);
			if (at == end)
				return 0;
			line = line_around(s, at, from, end);
			if (s->pattern->exact) {
				*ret_line = line;
				return 1;
			}
		} else if (s->pattern->alone) {
			line = line_around(s, from, from, end);
		} else {
			line = lines_of_a_kind(s, from, end);
		}
		struct str text = { s->window + line.from, line.to - line.from };
		text.n -= text.n && text.p[text.n - 1] == '\n';
		int rc = find_in(s, text, 0, &m);
		if (rc > 0)
			*ret_line = line_around(s, line.from + m.from, line.from, line.to);
		if (rc)
			return rc;
		from = line.to;
	}
	return 0;
}

/* Searches the lines up to end, which is behind a line feed or the end of the file. */
static int scan_lines(struct grep_scanner *s, size_t end)
{
	set_lines(s, end);
	while (s->done < end && !s->over) {
		struct span line;
		int rc = next_line(s, s->done, end, &line);
		if (rc < 0)
			return rc;
		if (!rc) {
			print_after(&s->printer, end);
			s->done = end;
			return 0;
		}
		rc = take_hit(s, line, 1);
		if (rc < 0)
			return rc;
		s->done = line.to;
	}
	return 0;
}

/* Matches may cross lines: the lines that matches share are one hit. */
static int scan_whole(struct grep_scanner *s)
{
	struct str text = { s->window, s->filled };
	struct span block = { 0 };
	uint64_t matches = 0; /* in block */
	struct span m;

	set_lines(s, text.n);
	if (s->pattern->needle_count && find_needle(s, text.p, text.p + text.n) == text.p + text.n)
		return 0;
	/* The place behind a last line feed belongs to no line. */
	size_t limit = text.n + (text.n && text.p[text.n - 1] != '\n');
	for (size_t at = 0; at < limit && !s->over;) {
		if (s->stop && atomic_load(s->stop))
			return 0;
		if (check_deadline(s) < 0)
			return -ERR_TIMEOUT;
		int rc = find_in(s, text, at, &m);
		if (rc < 0)
			return rc;
		if (!rc || m.from >= limit)
			break;
		struct span first = line_around(s, m.from, 0, text.n);
		struct span last = line_around(s, m.to > m.from ? m.to - 1 : m.from, first.from, text.n);
		if (block.to > first.from) {
			block.to = MAX(block.to, last.to);
		} else {
			if (block.to && (rc = take_hit(s, block, matches)) < 0)
				return rc;
			block = (struct span){ first.from, last.to };
			matches = 0;
		}
		matches++;
		at = m.to > m.from ? m.to : m.to + 1;
	}
	if (block.to && !s->over) {
		int rc = take_hit(s, block, matches);
		if (rc < 0)
			return rc;
	}
	print_after(&s->printer, text.n);
	return 0;
}

/* The rest of the file into the window, UTF-16 decoded. */
static int fill_whole(struct grep_scanner *s, int fd)
{
	AUTO_BUF struct buf bytes = { 0 }, text = { 0 };
	size_t mark_len;
	bool exact;

	buf_add(&bytes, s->window, s->filled);
	int rc = file_read_fd(fd, MAX_WHOLE, &bytes, s->err);
	if (rc < 0)
		return rc;
	struct str all = buf_str(&bytes);
	enum text_encoding encoding = text_encoding_of(all, &mark_len);
	all = str_tail(all, mark_len);
	if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE) {
		utf16_decode(all, encoding, &text, &exact);
		all = buf_str(&text);
	}
	if (s->room < all.n) {
		s->room = all.n;
		free(s->window);
		s->window = xmalloc(s->room);
	}
	memcpy(s->window, all.p, all.n);
	s->filled = all.n;
	return 0;
}

/* Looks for NUL in the bytes from..to. False: the search of the file ends. */
static bool check_binary(struct grep_scanner *s, size_t from, size_t to)
{
	char *nul = to > from ? memchr(s->window + from, '\0', to - from) : NULL;

	if (!nul)
		return true;
	if (!s->binary)
		s->nul_at = s->offset + (uint64_t)(nul - s->window);
	if (s->named) {
		s->binary = true;
		for (; nul; nul = memchr(nul, '\0', to - (size_t)(nul - s->window)))
			*nul = '\n';
		return true;
	}
	if (s->want->mode == GREP_COUNT)
		s->printer.hits->matches = 0;
	if (s->printer.hits->matches)
		print_binary(&s->printer, "search stopped: binary file", s->nul_at);
	return false;
}

/* Reads one piece behind what is there: its size, 0 at the end of the file, or an error. */
static ssize_t scanner_fill(struct grep_scanner *s, int fd, const char *path)
{
	if (s->filled == s->room) {
		s->room *= 2;
		s->window = xrealloc(s->window, s->room);
	}
	ssize_t n;
	do
		n = read(fd, s->window + s->filled, s->room - s->filled);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(s->err, ERR_IO, "cannot read %s: %m", path);
	s->filled += (size_t)n;
	return n;
}

/* Drops what neither the search nor the context of later lines needs. */
static void scanner_roll(struct grep_scanner *s)
{
	struct printer *p = &s->printer;
	size_t drop = lines_before(p, s->done, MIN(p->printed, s->done), s->want->before);

	if (s->want->numbers && p->counted < drop)
		(void)line_number(p, drop);
	p->counted -= MIN(p->counted, drop);
	p->gap = p->gap || p->printed < drop;
	p->printed -= MIN(p->printed, drop);
	memmove(s->window, s->window + drop, s->filled - drop);
	s->filled -= drop;
	s->done -= drop;
	s->offset += drop;
}

/* The file in pieces; the first one is in the window. */
static int scan_pieces(struct grep_scanner *s, int fd, const char *path)
{
	size_t from = 0;

	for (ssize_t n = (ssize_t)s->filled; !s->over; n = scanner_fill(s, fd, path)) {
		if (n < 0)
			return (int)n;
		if (check_deadline(s) < 0)
			return -ERR_TIMEOUT;
		if ((s->stop && atomic_load_explicit(s->stop, memory_order_relaxed)) ||
		    !check_binary(s, from, s->filled))
			return 0;
		const char *lf = s->filled > from ? memrchr(s->window + from, '\n', s->filled - from) : NULL;
		if (lf || n == 0) {
			int rc = scan_lines(s, n == 0 ? s->filled : (size_t)(lf - s->window) + 1);
			if (rc < 0 || n == 0)
				return rc;
			if (s->filled == s->room) /* else the file was shorter than the window and is over */
				scanner_roll(s);
		} else if (s->filled > MAX_LINE) {
			return 0;
		}
		from = s->filled;
	}
	return 0;
}

int grep_scan_file(struct grep_scanner *s, int fd, const char *path, const char *shown, bool named,
		   struct grep_hits *hits, struct err *err)
{
	size_t mark_len;

	if (s->room > 16 * PIECE) { /* a file with a very long line, or one that was read whole, is over */
		s->room = PIECE;
		s->window = xrealloc(s->window, s->room);
	}
	s->filled = 0;
	s->done = 0;
	s->over = false;
	s->binary = false;
	s->named = named;
	s->offset = 0;
	s->printer = (struct printer){ .want = s->want, .path = str_from(shown), .hits = hits, .line = 1 };
	s->err = err;
	ssize_t n = scanner_fill(s, fd, path);
	if (n <= 0)
		return (int)n;
	enum text_encoding encoding = text_encoding_of((struct str){ s->window, s->filled }, &mark_len);
	if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE || s->pattern->multiline) {
		int rc = fill_whole(s, fd);
		if (rc < 0)
			return rc;
		if (!check_binary(s, 0, MIN(s->filled, (size_t)PIECE)))
			return 0;
		return s->pattern->multiline ? scan_whole(s) : scan_lines(s, s->filled);
	}
	memmove(s->window, s->window + mark_len, s->filled - mark_len);
	s->filled -= mark_len;
	return scan_pieces(s, fd, path);
}
