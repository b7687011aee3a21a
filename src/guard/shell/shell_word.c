/* SPDX-License-Identifier: MIT
 * shell_word.c - one word, and what stands between words. */
#include "guard/shell/shell_parse_int.h"
#include "lib/base/utf8.h"

/* ---- between tokens --------------------------------------------------------------------------------------------- */

/* What stands between tokens: blanks, continued lines, comments, newlines, and behind a newline the bodies
 * of here-documents. */

/* A line may be continued between two tokens. Inside one bash joins the halves (& \ & is &&), which is not understood here. */
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
		/* Bash joins a continued line with the next one before it looks for the delimiter. */
		if (joined && str_starts(h->delimiter, (struct str){ line.p, line.n - 1 }))
			shell_fail(p, "the end of a here-document may be a continued line");
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

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* One word: quotes, escapes, and what makes it more than its text. The text is collected in the sink's
 * scratch buffer, behind the words around it, and kept only if the word is literal. */

/* A brace expansion needs all three, unquoted and in this order; [ needs its ]. */
struct braces {
	bool open;
	bool list; /* a comma or two dots since then */
	bool bracket;
	char last; /* the byte before, if it was not quoted */
};

static void keep_byte(struct shell_parser *p, char c)
{
	buf_addch(&p->sink->scratch, c);
}

static void read_single_quoted(struct shell_parser *p, struct shell_word *w)
{
	w->quoted = true;
	for (p->at++; !shell_at_end(p); p->at++) {
		if (shell_peek(p, 0) == '\'') {
			p->at++;
			return;
		}
		keep_byte(p, shell_peek(p, 0));
	}
	shell_fail(p, "a single quote is not closed");
}

static void read_double_quoted(struct shell_parser *p, struct shell_word *w)
{
	w->quoted = true;
	p->at++;
	while (!shell_at_end(p)) {
		char c = shell_peek(p, 0);
		char next = shell_peek(p, 1);
		if (c == '"') {
			p->at++;
			return;
		}
		if (c == '$') {
			shell_read_dollar(p, SHELL_DOUBLE_QUOTED, w);
		} else if (c == '`') {
			shell_read_backticks(p, SHELL_DOUBLE_QUOTED, w);
		} else if (c == '\\' && char_in(next, "$`\"\\\n")) {
			if (next != '\n')
				keep_byte(p, next);
			p->at += 2;
		} else {
			keep_byte(p, c);
			p->at++;
		}
	}
	shell_fail(p, "a double quote is not closed");
}

void shell_read_quoted(struct shell_parser *p, struct shell_word *w)
{
	if (shell_peek(p, 0) == '"')
		read_double_quoted(p, w);
	else
		read_single_quoted(p, w);
}

/* ---- $'...' ---- */

/* Up to max digits of the base; returns how many there were. */
static size_t read_number(struct shell_parser *p, unsigned base, size_t max, uint32_t *ret_value)
{
	size_t n = 0;

	*ret_value = 0;
	for (; n < max; n++, p->at++) {
		char c = shell_peek(p, 0);
		unsigned digit = 99;
		if (shell_is_digit(c))
			digit = (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (unsigned)((c | 0x20) - 'a' + 10);
		if (digit >= base)
			break;
		*ret_value = *ret_value * base + digit;
	}
	return n;
}

static void keep_code(struct shell_parser *p, uint32_t code, bool is_byte)
{
	char utf8[4];

	if (!code || (!is_byte && (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))))
		shell_fail(p, "an escape in $'...' has no character");
	else if (is_byte)
		keep_byte(p, (char)code);
	else
		buf_add(&p->sink->scratch, utf8, utf8_encode(code, utf8));
}

/* Behind the backslash. */
static void read_ansi_escape(struct shell_parser *p)
{
	static const char from[] = "abeEfnrtv\\\"?";
	static const char to[] = "\a\b\033\033\f\n\r\t\v\\\"?";
	char c = shell_peek(p, 0);
	const char *at = c ? strchr(from, c) : NULL;
	uint32_t code;

	if (at) {
		keep_byte(p, to[at - from]);
		p->at++;
	} else if (c >= '0' && c <= '7') {
		read_number(p, 8, 3, &code);
		keep_code(p, code & 0xff, true);
	} else if (c == 'x' || c == 'u' || c == 'U') {
		p->at++;
		if (read_number(p, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code))
			keep_code(p, code, c == 'x');
		else
			shell_fail(p, "an escape in $'...' has no digits");
	} else {
		/* \' ends the string in shells that do not know $'...'; \c is a control character. */
		shell_fail(p, "an escape in $'...' that shells read differently");
		p->at += c ? 1 : 0;
	}
}

static void read_ansi_quoted(struct shell_parser *p, struct shell_word *w)
{
	w->quoted = true;
	p->at += 2;
	while (!shell_at_end(p)) {
		char c = shell_peek(p, 0);
		p->at++;
		if (c == '\'')
			return;
		if (c == '\\')
			read_ansi_escape(p);
		else
			keep_byte(p, c);
	}
	shell_fail(p, "a $' quote is not closed");
}

/* ---- unquoted ---- */

static bool read_escape(struct shell_parser *p, struct shell_word *w)
{
	char next = shell_peek(p, 1);

	if (next == '\n') {
		char behind = shell_peek(p, 2);
		if (!behind || shell_is_blank(behind) || behind == '\n')
			return false;
		shell_fail(p, "a line is continued inside a word");
		p->at += 2;
		return true;
	}
	if (!next)
		shell_fail(p, "a backslash stands at the end");
	else
		keep_byte(p, next);
	w->quoted = true;
	p->at += next ? 2 : 1;
	return true;
}

/* Spaces and invisible characters that bash takes for letters and people do not. */
static void check_unusual(struct shell_parser *p)
{
	static const char *const unusual[] = {
		"\xc2\x85",     "\xc2\xa0",     "\xc2\xad",     "\xe1\x9a\x80", "\xe1\xa0\x8e", "\xe2\x80\x80",
		"\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
		"\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b", "\xe2\x80\x8c",
		"\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
		"\xe2\x81\x9f", "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf",
	};
	struct str rest = { p->text.p + p->at, p->text.n - p->at };

	for (size_t i = 0; i < COUNT_OF(unusual); i++)
		if (str_starts(rest, str_from(unusual[i])))
			shell_fail(p, "it has an unusual space or an invisible character");
}

static void note_special(struct shell_word *w, struct braces *b, char c, bool first)
{
	if (c == '*' || c == '?' || (c == ']' && b->bracket))
		w->globs = true;
	if (c == '[')
		b->bracket = true;
	if (c == '{')
		b->open = true;
	if (b->open && (c == ',' || (c == '.' && b->last == '.')))
		b->list = true;
	if (b->list && c == '}')
		w->globs = true;
	/* NAME=~ and NAME=x:~ are expanded in arguments too. */
	if (c == '~' && (first || b->last == '=' || b->last == ':'))
		w->tilde = true;
}

static void read_plain(struct shell_parser *p, struct shell_word *w, struct braces *b, bool first)
{
	char c = shell_peek(p, 0);
	char next = shell_peek(p, 1);

	if (first && c == '=' && (shell_is_name_start(next) || next == '/'))
		shell_fail(p, "=name is the path of a command in some shells");
	if ((unsigned char)c >= 0x80)
		check_unusual(p);
	note_special(w, b, c, first);
	b->last = c;
	keep_byte(p, c);
	p->at++;
}

/* ( ) | inside a pattern. Returns false where the word ends. */
static bool read_pattern_meta(struct shell_parser *p, enum shell_word_mode mode, const struct braces *b,
			      unsigned *depth)
{
	char c = shell_peek(p, 0);
	bool opens = c == '(' && (mode == SHELL_WORD_REGEX || *depth || char_in(b->last, "?*+@!"));

	if (mode == SHELL_WORD_PLAIN ||
	    !(opens || (*depth && (c == ')' || c == '|')) || (mode == SHELL_WORD_REGEX && c == '|')))
		return false;
	*depth += opens;
	*depth -= c == ')';
	keep_byte(p, c);
	p->at++;
	return true;
}

static bool read_meta(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *w, const struct braces *b,
		      unsigned *depth)
{
	char c = shell_peek(p, 0);

	if (mode == SHELL_WORD_PLAIN && (c == '<' || c == '>') && shell_peek(p, 1) == '(') {
		shell_read_process(p, w);
		return true;
	}
	return read_pattern_meta(p, mode, b, depth);
}

/* Returns false where the word ends. */
static bool read_part(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *w, struct braces *b,
		      unsigned *depth, bool first)
{
	char c = shell_peek(p, 0);

	if (shell_is_meta(c))
		return read_meta(p, mode, w, b, depth);
	if (c != '\\' && c != '\'' && c != '"' && c != '`' && c != '$') {
		read_plain(p, w, b, first);
		return true;
	}
	b->last = '\0';
	if (c == '\\')
		return read_escape(p, w);
	if (c == '\'' || c == '"')
		shell_read_quoted(p, w);
	else if (c == '`')
		shell_read_backticks(p, SHELL_UNQUOTED, w);
	else if (shell_peek(p, 1) == '\'')
		read_ansi_quoted(p, w);
	else if (shell_peek(p, 1) == '"') /* a text to be translated */
		p->at++, shell_read_quoted(p, w);
	else
		shell_read_dollar(p, SHELL_UNQUOTED, w);
	return true;
}

static struct str literal_text(struct shell_parser *p, const struct shell_word *w, size_t from)
{
	struct str text = { p->sink->scratch.p + from, p->sink->scratch.n - from };

	if (str_eq(text, w->source))
		return w->source;
	return arena_str(p->sink->arena, text);
}

static bool is_number(const struct shell_parser *p, const struct shell_word *w)
{
	struct str s = w->source;

	if (w->literal)
		return shell_is_decimal(w->text);
	if (s.n > 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
		s = (struct str){ s.p + 1, s.n - 2 };
	return s.p == p->arithmetic.p && s.n == p->arithmetic.n;
}

bool shell_read_word(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *ret)
{
	struct shell_word w = { .literal = true };
	struct braces braces = { 0 };
	unsigned depth = 0;
	size_t from = p->at;
	size_t scratch = p->sink->scratch.n;
	bool comment = shell_peek(p, 0) == '#';

	buf_reserve(&p->sink->scratch, 1);
	while (!comment && !shell_at_end(p) && read_part(p, mode, &w, &braces, &depth, p->at == from))
		;
	if (depth)
		shell_fail(p, "a parenthesis in a pattern is not closed");
	w.source = shell_slice(p, from);
	w.literal = w.literal && !w.globs && !w.tilde;
	w.text = w.literal ? literal_text(p, &w, scratch) : w.source;
	w.number = is_number(p, &w);
	p->sink->scratch.n = scratch;
	*ret = w;
	return p->at > from;
}
