/* SPDX-License-Identifier: MIT
 * shell_expand.c - $ and ` and <( ): commands inside a word go into the same list. Where bash evaluates a value as
 * arithmetic, or takes it for a name, a value such as a[$(cmd)] runs cmd; so only numbers are understood there, and in
 * arithmetic names that hold numbers. */
#include "guard/shell/shell_parse_int.h"

static void not_literal(struct shell_word *w, enum shell_quoting quoting)
{
	w->literal = false;
	if (quoting == SHELL_UNQUOTED)
		w->splits = true;
}

/* Behind "(" to behind ")". */
static void read_substitution(struct shell_parser *p)
{
	struct shell_here *pending = p->pending;
	const struct shell_known *known = p->known;
	unsigned where = p->where;
	size_t from = p->at;

	p->pending = NULL;
	p->where |= SHELL_IN_SUBSTITUTION;
	p->sink->script->has_substitution = true;
	shell_read_list(p);
	if (shell_peek(p, 0) == ')')
		p->at++;
	else
		shell_fail(p, "a substitution is not closed");
	if (p->pending)
		shell_fail(p, "a here-document begins in a substitution and does not end there");
	if (pending && memchr(p->text.p + from, '\n', p->at - from))
		shell_fail(p, "a line ends in a substitution while a here-document waits");
	p->pending = pending;
	p->known = known;
	p->where = where;
}

void shell_read_process(struct shell_parser *p, struct shell_word *w)
{
	not_literal(w, SHELL_UNQUOTED);
	p->at += 2;
	read_substitution(p);
}

void shell_read_backticks(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w)
{
	AUTO_BUF struct buf text = { 0 };
	bool closed = false;

	not_literal(w, quoting);
	for (p->at++; !shell_at_end(p) && !closed; p->at++) {
		char c = shell_peek(p, 0);
		char next = shell_peek(p, 1);
		closed = c == '`';
		if (c == '\\' && next == '"' && quoting != SHELL_UNQUOTED)
			shell_fail(p, "a quote is escaped in quoted backticks");
		if (c == '\\' && char_in(next, "$`\\"))
			c = next, p->at++;
		if (!closed)
			buf_addch(&text, c);
	}
	if (!closed)
		shell_fail(p, "a backtick is not closed");
	if (!shell_enter(p))
		return;
	/* Its end is the end of the text inside, and ")" closes nothing there. */
	struct shell_parser inside = { .sink = p->sink, .depth = p->depth, .where = p->where | SHELL_IN_SUBSTITUTION };
	inside.text = arena_str(p->sink->arena, buf_str(&text));
	inside.known = p->known;
	p->sink->script->has_substitution = true;
	shell_read_list(&inside);
	if (!shell_at_end(&inside) || inside.pending)
		shell_fail(p, "the text in backticks is not a whole command");
	shell_leave(p);
}

/* Where the ")" is that closes the expression, or 0. The same way as bash: only quotes and parentheses count. */
static size_t arithmetic_end(const struct shell_parser *p)
{
	struct shell_parser ahead = *p;
	unsigned depth = 0;

	for (; !shell_at_end(&ahead); ahead.at++) {
		char c = shell_peek(&ahead, 0);
		if (c == '\'' || c == '"')
			for (ahead.at++; !shell_at_end(&ahead) && shell_peek(&ahead, 0) != c; ahead.at++)
				ahead.at += c == '"' && shell_peek(&ahead, 0) == '\\';
		else if (c == '\\')
			ahead.at++;
		else if (c == '(')
			depth++;
		else if (c == ')' && !depth--)
			return shell_peek(&ahead, 1) == ')' ? ahead.at : 0;
	}
	return 0;
}

bool shell_read_arithmetic(struct shell_parser *p, bool loop)
{
	size_t from = p->at;

	if (shell_read_expression(p, loop))
		return true;
	p->at = from;
	shell_fail(p, "arithmetic with more than numbers can run what a variable holds");
	size_t end = arithmetic_end(p);
	if (!end)
		return false;
	struct shell_parser inside = *p;
	inside.text.n = end;
	inside.pending = NULL;
	shell_read_body(&inside);
	p->at = end + 2;
	return true;
}

/* A word inside ${ }, up to the "}". */
static void read_parameter_word(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w)
{
	while (!shell_at_end(p) && shell_peek(p, 0) != '}') {
		char c = shell_peek(p, 0);
		if (c == '$') {
			if (shell_peek(p, 1) == '\'')
				shell_fail(p, "a $' quote stands in ${ }");
			shell_read_dollar(p, quoting, w);
		} else if (c == '`') {
			shell_read_backticks(p, quoting, w);
		} else if ((c == '<' || c == '>') && shell_peek(p, 1) == '(') {
			shell_fail(p, "a process substitution stands in ${ }");
			shell_read_process(p, w);
		} else if ((c == '"' || c == '\'') && quoting == SHELL_UNQUOTED) {
			shell_read_quoted(p, w);
		} else {
			if (c == '\'' || c == '"' || c == '{')
				shell_fail(p, "quotes or braces in ${ } that shells read differently");
			shell_skip(p, c == '\\' ? 2 : 1);
		}
	}
}

static size_t name_length(const struct shell_parser *p)
{
	size_t n = 0;

	if (shell_is_digit(shell_peek(p, 0)))
		while (shell_is_digit(shell_peek(p, n)))
			n++;
	else if (shell_is_name_start(shell_peek(p, 0)))
		while (shell_is_name_char(shell_peek(p, n)))
			n++;
	return n;
}

/* [0] [-1] [@] [*]; any other subscript is arithmetic. Leaves the cursor where it is not one of these. */
static void read_subscript(struct shell_parser *p, struct shell_word *w)
{
	size_t n = 1;

	if (shell_peek(p, 0) != '[')
		return;
	if (shell_peek(p, 1) == '@' || shell_peek(p, 1) == '*') {
		w->splits = true;
		n = 2;
	} else {
		n += shell_peek(p, n) == '-';
		while (shell_is_digit(shell_peek(p, n)))
			n++;
	}
	if (n > 1 && shell_peek(p, n) == ']')
		p->at += n + 1;
}

static void read_operation(struct shell_parser *p, enum shell_quoting quoting, struct str name, struct shell_word *w)
{
	char c = shell_peek(p, 0);
	bool colon = c == ':' && char_in(shell_peek(p, 1), "-=?+");

	if (colon)
		c = shell_peek(p, 1);
	if (c == '=') {
		shell_add_variable(p, name);
		shell_set_name(p, name, false);
	}
	if (char_in(c, "-=?+#%/^,")) {
		shell_skip(p, colon ? 2 : 1);
		read_parameter_word(p, quoting, w);
	} else if (c == ':') {
		while (char_in(shell_peek(p, 0), " -:0123456789")) /* ${x:1:2}: numbers only */
			p->at++;
	} else if (c == '@') {
		p->at += char_in(shell_peek(p, 1), "QEAaUuLKk") ? 2 : 0;
	}
}

static void read_named(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w)
{
	size_t n = name_length(p);
	char c = shell_peek(p, 0);

	if (!n && char_in(c, "@*?-$!#")) {
		n = 1;
		w->splits |= c == '@' || c == '*';
	}
	struct str name = { p->text.p + p->at, n };
	p->at += n;
	if (!n)
		return;
	read_subscript(p, w);
	read_operation(p, quoting, name, w);
}

/* Length, default, prefix, suffix, replacement and case: these are never errors. */
static bool is_never_an_error(const struct shell_parser *p)
{
	size_t n = shell_peek(p, 0) == '#' && shell_peek(p, 1) != '}';

	while (shell_is_name_char(shell_peek(p, n)))
		n++;
	n += shell_peek(p, n) == ':' && char_in(shell_peek(p, n + 1), "-+");
	return char_in(shell_peek(p, n), "}-+#%/^,");
}

/* Behind "${". Each branch reads what it knows; where that does not end at "}", nothing is known. */
static void read_parameter(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w)
{
	char c = shell_peek(p, 0);
	char next = shell_peek(p, 1);

	if (!shell_enter(p))
		return;
	if (!is_never_an_error(p))
		p->sink->can_fail = true;
	if (c == '#' && next != '}') {
		p->at++;
		size_t n = name_length(p);
		p->at += n ? n : (next == '@' || next == '*');
		read_subscript(p, w);
	} else if (c == '!' && next != '}') {
		/* ${!x*} ${!x@} ${!x[@]} list names; any other ${!x} takes a value for a name. */
		p->at++;
		size_t n = name_length(p);
		char after = shell_peek(p, n);
		if (n && (after == '*' || after == '@') && shell_peek(p, n + 1) == '}') {
			p->at += n + 1;
		} else if (n && after == '[' && (shell_peek(p, n + 1) == '@' || shell_peek(p, n + 1) == '*')) {
			p->at += n;
			read_subscript(p, w);
		}
		w->splits = true;
	} else {
		read_named(p, quoting, w);
	}
	if (shell_peek(p, 0) != '}') {
		shell_fail(p, "a ${ } that is not closed, or that can run what a variable holds");
		read_parameter_word(p, quoting, w);
	}
	shell_skip(p, 1);
	shell_leave(p);
}

void shell_read_dollar(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w)
{
	const struct shell_known *known = p->known;
	char next = shell_peek(p, 1);
	bool arithmetic = next == '(' && shell_peek(p, 2) == '(';
	size_t from = p->at;

	if (next == '(') {
		not_literal(w, quoting);
		p->at += arithmetic ? 3 : 2;
		bool done = arithmetic && shell_read_arithmetic(p, false);
		p->known = known; /* this word may not be expanded at all */
		if (done) {
			p->arithmetic = shell_slice(p, from);
			return;
		}
		p->at -= arithmetic;
		read_substitution(p);
	} else if (next == '{') {
		not_literal(w, quoting);
		p->at += 2;
		read_parameter(p, quoting, w);
	} else if (shell_is_name_char(next) || char_in(next, "@*#?-$!")) {
		not_literal(w, quoting);
		w->splits |= next == '@' || next == '*';
		p->at++;
		p->at += shell_is_name_start(next) ? name_length(p) : 1;
	} else {
		if (next == '[' || next == '\\')
			shell_fail(p, next == '[' ? "$[ ] is old arithmetic" : "a backslash follows $");
		buf_addch(&p->sink->scratch, '$');
		p->at++;
	}
}

void shell_read_body(struct shell_parser *p)
{
	struct shell_word w = { 0 };

	if (!shell_enter(p))
		return;
	while (!shell_at_end(p)) {
		char c = shell_peek(p, 0);
		if (c == '$')
			shell_read_dollar(p, SHELL_HERE_BODY, &w);
		else if (c == '`')
			shell_read_backticks(p, SHELL_HERE_BODY, &w);
		else
			shell_skip(p, c == '\\' ? 2 : 1);
	}
	shell_leave(p);
}
