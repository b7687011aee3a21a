/* SPDX-License-Identifier: MIT
 * grep_scan.c - the search in one file. */
#include "tools/search/grep_scan.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/io/file.h"
#include "lib/base/utf8.h"

enum {
	PIECE = 64 * 1024,             /* the size matters: a NUL is looked for piece by piece */
	MAX_LINE = 64 * 1024 * 1024,   /* a longer line ends the search of its file */
	MAX_WHOLE = 256 * 1024 * 1024, /* for multiline and UTF-16 */
};

struct grep_scanner {
	const struct pattern *pattern;
	const struct grep_want *want;
	const atomic_bool *stop;
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
	struct grep_printer printer;
	struct err *err;
};

struct grep_scanner *grep_scanner_new(const struct pattern *pattern, const struct grep_want *want,
				      const atomic_bool *stop)
{
	struct grep_scanner *s = xcalloc(1, sizeof *s);

	s->pattern = pattern;
	s->want = want;
	s->stop = stop;
	s->matcher = matcher_new(pattern);
	s->room = PIECE;
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
	if (!s->non_ascii || s->non_ascii < p)
		s->non_ascii = find_non_ascii(p, s->lines_end);
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

	for (size_t at = 0; at <= text.n && !grep_print_full(&s->printer);) {
		int rc = find_in(s, text, at, &m);
		if (rc <= 0)
			return rc;
		at = m.to > m.from ? m.to : m.to + 1;
		if (m.from == m.to && m.from == last_end)
			continue;
		last_end = m.to;
		s->printer.hits->matches++;
		if (s->want->mode == GREP_CONTENT)
			grep_print_part(&s->printer, (struct span){ lines.from + m.from, lines.from + m.to });
		while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80 && m.from == m.to)
			at++;
	}
	return 0;
}

/* These lines match, with so many matches as far as the count goes: one a line, all of those that may cross lines. */
static int take_hit(struct grep_scanner *s, struct span lines, uint64_t matches)
{
	if (s->binary) {
		char note[100];
		snprintf(note, sizeof note, "binary file matches (found a NUL byte around offset %llu)",
			 (unsigned long long)s->nul_at);
		s->printer.hits->matches++;
		s->over = true;
		if (s->want->mode == GREP_CONTENT)
			grep_print_note(&s->printer, note);
		return 0;
	}
	s->over = s->want->mode == GREP_FILES;
	if (s->want->mode == GREP_CONTENT)
		grep_print_match(&s->printer, lines);
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
	s->over = s->over || grep_print_full(&s->printer);
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

static struct str text_of(const struct grep_scanner *s, struct span line)
{
	size_t n = line.to - line.from;

	n -= n && s->window[line.to - 1] == '\n';
	return (struct str){ s->window + line.from, n };
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
		int rc = find_in(s, text_of(s, line), 0, &m);
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
			grep_print_after(&s->printer, end);
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
	grep_print_after(&s->printer, text.n);
	return 0;
}

/* The rest of the file into the window, UTF-16 decoded. */
static int fill_whole(struct grep_scanner *s, int fd)
{
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_BUF struct buf text = { 0 };
	size_t mark_len;
	bool exact;

	buf_add(&bytes, s->window, s->filled);
	int rc = file_read_fd(fd, MAX_WHOLE, &bytes, s->err);
	if (rc < 0)
		return rc;
	struct str all = buf_str(&bytes);
	enum text_encoding encoding = text_encoding_of(all, &mark_len);
	all = (struct str){ all.p + mark_len, all.n - mark_len };
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

/* Looks for NUL in the bytes from..to. False: the file is not searched on. */
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
	if (s->want->mode == GREP_CONTENT && s->printer.hits->matches) {
		char note[100];
		snprintf(note, sizeof note, "search stopped: binary file (found a NUL byte around offset %llu)",
			 (unsigned long long)s->nul_at);
		grep_print_note(&s->printer, note);
	}
	return false;
}

/* Reads one piece behind what is there: its size, 0 at the end of the file, or an error. */
static ssize_t fill(struct grep_scanner *s, int fd, const char *path)
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
static void roll(struct grep_scanner *s)
{
	size_t drop = MIN(grep_print_keep(&s->printer, s->done), s->done);

	grep_print_move(&s->printer, drop);
	memmove(s->window, s->window + drop, s->filled - drop);
	s->filled -= drop;
	s->done -= drop;
	s->offset += drop;
}

/* The file in pieces; the first one is in the window. */
static int scan_pieces(struct grep_scanner *s, int fd, const char *path)
{
	size_t from = 0;

	for (ssize_t n = (ssize_t)s->filled; !s->over; n = fill(s, fd, path)) {
		if (n < 0)
			return (int)n;
		if ((s->stop && atomic_load_explicit(s->stop, memory_order_relaxed)) ||
		    !check_binary(s, from, s->filled))
			return 0;
		const char *lf = s->filled > from ? memrchr(s->window + from, '\n', s->filled - from) : NULL;
		if (lf || n == 0) {
			int rc = scan_lines(s, n == 0 ? s->filled : (size_t)(lf - s->window) + 1);
			if (rc < 0 || n == 0)
				return rc;
			if (s->filled == s->room) /* else the file was shorter than the window and is over */
				roll(s);
		} else if (s->filled > MAX_LINE) {
			return 0;
		}
		from = s->filled;
	}
	return 0;
}

static int scan_open_file(struct grep_scanner *s, int fd, const char *path)
{
	size_t mark_len;

	ssize_t n = fill(s, fd, path);
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

int grep_scan_file(struct grep_scanner *s, const char *path, const char *shown, bool named, struct grep_hits *hits,
		   struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path);
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
	s->printer = grep_printer(s->want, shown, hits);
	s->err = err;
	return scan_open_file(s, fd, path);
}
