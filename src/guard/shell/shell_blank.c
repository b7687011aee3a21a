/* SPDX-License-Identifier: MIT
 * shell_blank.c - what stands between tokens: blanks, continued lines, comments, newlines, and behind a newline the bodies
 * of here-documents. */
#include "guard/shell/shell_parse_int.h"

/* A line may be continued between two tokens. Inside one bash joins the halves (& \ & is &&), and nobody writes that. */
static void skip_continuation(struct shell_parser *p)
{
	char before = p->at ? p->text.p[p->at - 1] : '\n';
	char behind = shell_peek(p, 2);

	if (!shell_is_blank(before) && before != '\n' && char_in(behind, "&|;<>()\\"))
		shell_fail(p, "a line is continued inside an operator");
	p->at += 2;
}

void shell_skip_blanks(struct shell_parser *p)
{
	for (;;) {
		if (shell_is_blank(shell_peek(p, 0)))
			p->at++;
		else if (shell_peek(p, 0) == '\\' && shell_peek(p, 1) == '\n')
			skip_continuation(p);
		else
			return;
	}
}

static struct str read_line(struct shell_parser *p)
{
	size_t from = p->at;

	while (!shell_at_end(p) && shell_peek(p, 0) != '\n')
		p->at++;
	struct str line = shell_slice(p, from);
	if (!shell_at_end(p))
		p->at++;
	return line;
}

static bool is_continued(struct str line)
{
	size_t n = 0;

	while (n < line.n && line.p[line.n - 1 - n] == '\\')
		n++;
	return n % 2;
}

/* Bash joins a continued line with the next one before it looks for the delimiter. */
static void check_continued(struct shell_parser *p, const struct shell_here *h, struct str line)
{
	struct str piece = { line.p, line.n - 1 };

	if (str_starts(h->delimiter, piece))
		shell_fail(p, "the end of a here-document may be a continued line");
}

/* Returns false at the end of the text: the delimiter never came. */
static bool read_here_lines(struct shell_parser *p, const struct shell_here *h)
{
	bool joined = false;

	while (!shell_at_end(p)) {
		size_t from = p->at;
		struct str line = read_line(p);
		while (h->tabs && line.n && line.p[0] == '\t')
			line = (struct str){ line.p + 1, line.n - 1 };
		if (!joined && str_eq(line, h->delimiter)) {
			h->body->n = p->text.p + from - h->body->p;
			return true;
		}
		joined = !h->quoted && is_continued(line);
		if (joined)
			check_continued(p, h, line);
	}
	h->body->n = (size_t)(p->text.p + p->text.n - h->body->p);
	return false;
}

static void read_here_body(struct shell_parser *p, const struct shell_here *h)
{
	*h->body = (struct str){ p->text.p + p->at, 0 };
	size_t from = p->at;
	if (!read_here_lines(p, h))
		shell_fail(p, "a here-document has no end");
	if (h->quoted)
		return;
	struct shell_parser inside = *p;
	inside.text.n = from + h->body->n;
	inside.at = from;
	inside.pending = NULL;
	inside.known = h->known;
	shell_read_body(&inside);
}

static void shell_read_here_bodies(struct shell_parser *p)
{
	struct shell_here *h = p->pending;

	p->pending = NULL;
	for (; h; h = h->next)
		read_here_body(p, h);
}

void shell_skip_newlines(struct shell_parser *p)
{
	for (;;) {
		shell_skip_blanks(p);
		if (shell_peek(p, 0) == '#')
			while (!shell_at_end(p) && shell_peek(p, 0) != '\n')
				p->at++;
		if (shell_peek(p, 0) != '\n')
			return;
		p->at++;
		shell_read_here_bodies(p);
	}
}
