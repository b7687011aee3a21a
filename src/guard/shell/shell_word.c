/* SPDX-License-Identifier: MIT
 * shell_word.c - one word, and what stands between words. */
#include "guard/shell/shell_parse_int.h"
#include "lib/base/utf8.h"

/* What stands between tokens: blanks, continued lines, comments, newlines, and behind a newline the bodies
 * of here-documents. */

void shell_skip_blanks(struct shell_parser *p)
{
	for (;;) {
		bool continued = shell_peek(p, 0) == '\\' && shell_peek(p, 1) == '\n';
		if (!continued && !shell_is_blank(shell_peek(p, 0)))
			return;
		/* Between two tokens only. Inside one bash joins the halves (& \ & is &&), which is not understood here. */
		char before = p->at ? p->text.p[p->at - 1] : '\n';
		if (continued && !shell_is_blank(before) && before != '\n' && char_in(shell_peek(p, 2), "&|;<>()\\"))
			shell_fail(p, "a line is continued inside an operator");
		p->at += continued ? 2 : 1;
	}
}

/* Moves behind the delimiter; false: it never came. */
static bool skip_here_lines(struct shell_parser *p, const struct shell_here *h)
{
	bool joined = false;

	while (!shell_at_end(p)) {
		struct str rest = { p->text.p + p->at, p->text.n - p->at };
		h->body->n = (size_t)(rest.p - h->body->p);
		struct str line = str_cut(&rest, '\n');
		shell_skip(p, line.n + 1);
		while (h->tabs && line.n && line.p[0] == '\t')
			line = (struct str){ line.p + 1, line.n - 1 };
		if (!joined && str_eq(line, h->delimiter))
			return true;
		size_t backslashes = 0;
		while (backslashes < line.n && line.p[line.n - 1 - backslashes] == '\\')
			backslashes++;
		joined = !h->quoted && backslashes % 2;
		/* Bash joins a continued line with the next one before it looks for the delimiter. */
		if (joined && str_starts(h->delimiter, (struct str){ line.p, line.n - 1 }))
			shell_fail(p, "the end of a here-document may be a continued line");
	}
	h->body->n = (size_t)(p->text.p + p->text.n - h->body->p);
	return false;
}

static void read_here_bodies(struct shell_parser *p)
{
	struct shell_here *h = p->pending;

	for (p->pending = NULL; h; h = h->next) {
		struct shell_parser inside = *p;
		*h->body = (struct str){ p->text.p + p->at, 0 };
		if (!skip_here_lines(p, h))
			shell_fail(p, "a here-document has no end");
		if (h->quoted)
			continue;
		inside.text.n = inside.at + h->body->n;
		inside.known = h->known;
		shell_read_body(&inside);
	}
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
		read_here_bodies(p);
	}
}

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

void shell_read_quoted(struct shell_parser *p, struct shell_word *w)
{
	char quote = shell_peek(p, 0);

	w->quoted = true;
	p->at++;
	while (!shell_at_end(p)) {
		char c = shell_peek(p, 0);
		char next = shell_peek(p, 1);
		if (c == quote) {
			p->at++;
			return;
		}
		if (quote == '"' && c == '$') {
			shell_read_dollar(p, SHELL_DOUBLE_QUOTED, w);
		} else if (quote == '"' && c == '`') {
			shell_read_backticks(p, SHELL_DOUBLE_QUOTED, w);
		} else if (quote == '"' && c == '\\' && char_in(next, "$`\"\\\n")) {
			if (next != '\n')
				keep_byte(p, next);
			p->at += 2;
		} else {
			keep_byte(p, c);
			p->at++;
		}
	}
	shell_fail(p, quote == '"' ? "a double quote is not closed" : "a single quote is not closed");
}

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
	const char *at = char_find(c, from);
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

	for (size_t i = 0; i < COUNT_OF(unusual); i++)
		if (shell_starts(p, unusual[i]))
			shell_fail(p, "it has an unusual space or an invisible character");
}

static void read_plain(struct shell_parser *p, struct shell_word *w, struct braces *b, bool first)
{
	char c = shell_peek(p, 0);
	char next = shell_peek(p, 1);

	if (first && c == '=' && (shell_is_name_start(next) || next == '/'))
		shell_fail(p, "=name is the path of a command in some shells");
	if ((unsigned char)c >= 0x80)
		check_unusual(p);
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
	b->last = c;
	keep_byte(p, c);
	p->at++;
}

/* <( ) and >( ), and inside a pattern ( ) and |. Returns false where the word ends. */
static bool read_meta(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *w, const struct braces *b,
		      unsigned *depth)
{
	char c = shell_peek(p, 0);
	bool opens = c == '(' && (mode == SHELL_WORD_REGEX || *depth || char_in(b->last, "?*+@!"));

	if (mode == SHELL_WORD_PLAIN) {
		if ((c != '<' && c != '>') || shell_peek(p, 1) != '(')
			return false;
		shell_read_process(p, w);
		return true;
	}
	if (!opens && !(*depth && (c == ')' || c == '|')) && !(mode == SHELL_WORD_REGEX && c == '|'))
		return false;
	*depth += opens;
	*depth -= c == ')';
	keep_byte(p, c);
	p->at++;
	return true;
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
	w.text = w.source;
	struct str text = { p->sink->scratch.p + scratch, p->sink->scratch.n - scratch };
	if (w.literal && !str_eq(text, w.source))
		w.text = arena_str(p->sink->arena, text);
	/* A number is written there, or computed by $(( )), perhaps in quotes. */
	struct str inner = w.source;
	if (inner.n > 2 && inner.p[0] == '"' && inner.p[inner.n - 1] == '"')
		inner = (struct str){ inner.p + 1, inner.n - 2 };
	bool computed = inner.p == p->arithmetic.p && inner.n == p->arithmetic.n;
	w.number = w.literal ? shell_is_decimal(w.text) : computed;
	p->sink->scratch.n = scratch;
	*ret = w;
	return p->at > from;
}
