/* SPDX-License-Identifier: MIT
 * shell_arithmetic.c - $(( )), (( )) and for (( ; ; )): numbers, names that hold numbers, and operators. Operands and
 * operators take turns; what binds closer does not matter here. Two questions are answered on the way: is every name known
 * to hold a number (shell_number.c), and can the expression fail? Behind one that can, nothing it sets counts as set. */
#include "guard/shell/shell_parse_int.h"

struct expression {
	unsigned depth; /* open parentheses */
	unsigned parts; /* ";" so far */
	bool loop;      /* for (( ; ; )) */
	bool can_fail;
	bool may_assign;   /* only here is NAME = an assignment */
	bool begins;       /* a part begins */
	struct str target; /* of the assignment with which this part began, or empty */
};

static void skip_blanks(struct shell_parser *p)
{
	while (shell_is_blank(shell_peek(p, 0)))
		p->at++;
}

static bool starts(const struct shell_parser *p, const char *text)
{
	return str_starts((struct str){ p->text.p + p->at, p->text.n - p->at }, str_from(text));
}

static struct str read_name(struct shell_parser *p)
{
	size_t from = p->at;

	while (shell_is_name_char(shell_peek(p, 0)))
		p->at++;
	return shell_slice(p, from);
}

static void begin_part(struct expression *e)
{
	e->may_assign = true;
	e->begins = !e->depth;
	e->target.n = 0;
}

static void end_part(struct shell_parser *p, struct expression *e)
{
	if (e->target.n && !e->can_fail && !e->parts)
		shell_know(p, e->target);
}

/* ---- operands ---- */

/* The operator of an assignment, "" if there is none. */
static const char *find_assignment(const struct shell_parser *p)
{
	static const char *const operators[] = { "=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>=" };

	for (size_t i = 0; i < COUNT_OF(operators); i++)
		if (starts(p, operators[i]) && !starts(p, "=="))
			return operators[i];
	return "";
}

/* Bash evaluates the name in all cases but NAME = x. Returns true if an operand follows. */
static bool read_variable(struct shell_parser *p, struct expression *e, bool *ret_ok)
{
	struct str name = read_name(p);

	skip_blanks(p);
	const char *op = find_assignment(p);
	*ret_ok = !*op || e->may_assign;
	if (!*op || op[1])
		shell_use_name(p, name);
	if (*op || starts(p, "++") || starts(p, "--"))
		shell_set_in_arithmetic(p, name);
	if (!*op) {
		p->at += starts(p, "++") || starts(p, "--") ? 2 : 0;
		return false;
	}
	if (e->begins && !op[1])
		e->target = name;
	e->can_fail = e->can_fail || op[0] == '/' || op[0] == '%';
	p->at += strlen(op);
	return true;
}

static bool read_nested(struct shell_parser *p, struct expression *e)
{
	const struct shell_known *known = p->known;

	p->at += 3;
	if (!shell_enter(p))
		return false;
	bool ok = shell_read_expression(p, false);
	shell_leave(p);
	p->known = known;
	e->can_fail = true; /* a number with a sign may follow one */
	return ok;
}

/* The name may be empty, a new one of a function for instance, and then an operand is missing. */
static bool read_dollar(struct shell_parser *p, struct expression *e)
{
	char next = shell_peek(p, 1);
	bool braces = next == '{';

	if (starts(p, "$(("))
		return read_nested(p, e);
	if (next == '#' || next == '?' || next == '$') {
		p->at += 2;
		return true;
	}
	p->at += braces ? 2 : 1;
	if (!shell_is_name_start(shell_peek(p, 0)))
		return false;
	shell_use_name(p, read_name(p));
	e->can_fail = true;
	if (braces && shell_peek(p, 0) != '}')
		return false;
	p->at += braces;
	return true;
}

static void read_increment(struct shell_parser *p, struct expression *e)
{
	char sign = shell_peek(p, 0);
	bool twice = shell_peek(p, 1) == sign && (sign == '+' || sign == '-');

	if (twice && shell_is_name_start(shell_peek(p, 2))) {
		p->at += 2;
		struct str name = read_name(p);
		shell_use_name(p, name);
		shell_set_in_arithmetic(p, name);
		p->at -= name.n;
	} else {
		p->at++;
		e->can_fail = e->can_fail || twice;
	}
}

static bool read_value(struct shell_parser *p, struct expression *e, bool *ret_more)
{
	char c = shell_peek(p, 0);
	bool ok = true;

	*ret_more = false;
	if (shell_is_digit(c))
		e->can_fail = !shell_is_decimal(read_name(p)) || e->can_fail;
	else if (shell_is_name_start(c))
		*ret_more = read_variable(p, e, &ok);
	else
		return c == '$' && read_dollar(p, e);
	return ok;
}

static bool read_operand(struct shell_parser *p, struct expression *e)
{
	for (;;) {
		bool more = true;
		skip_blanks(p);
		char c = shell_peek(p, 0);
		if (c == '(') {
			e->depth++;
			e->may_assign = true;
			p->at++;
		} else if (char_in(c, "+-!~")) {
			e->may_assign = false;
			read_increment(p, e);
		} else if (!read_value(p, e, &more)) {
			return false;
		} else if (!more) {
			return true;
		}
		e->begins = false;
	}
}

/* ---- operators ---- */

/* Division by a number that is written there, and is not 0, cannot fail. */
static bool can_fail(const struct shell_parser *p, const char *op)
{
	size_t n = 0;

	if (!strcmp(op, "**") || *op == '?' || *op == ':')
		return true;
	if (*op == '+' || *op == '-')
		return shell_peek(p, 0) == *op;
	if (*op != '/' && *op != '%')
		return false;
	while (shell_is_blank(shell_peek(p, n)))
		n++;
	return shell_peek(p, n) < '1' || shell_peek(p, n) > '9';
}

static bool read_binary(struct shell_parser *p, struct expression *e)
{
	static const char *const operators[] = { "**", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*", "/",
						 "%",  "+",  "-",  "<",  ">",  "&",  "^",  "|",  "?",  ":" };
	size_t i = 0;

	while (i < COUNT_OF(operators) && !starts(p, operators[i]))
		i++;
	if (i == COUNT_OF(operators))
		return false;
	p->at += strlen(operators[i]);
	e->can_fail = e->can_fail || can_fail(p, operators[i]);
	e->may_assign = false;
	return true;
}

static void close_parentheses(struct shell_parser *p, struct expression *e)
{
	skip_blanks(p);
	for (; shell_peek(p, 0) == ')' && e->depth; skip_blanks(p)) {
		e->depth--;
		p->at++;
	}
}

/* "," and ";". What stands behind the first ";" of a loop may never be evaluated. */
static bool read_separator(struct shell_parser *p, struct expression *e)
{
	bool part = shell_peek(p, 0) == ';' && e->loop && !e->depth;

	if (!part && shell_peek(p, 0) != ',')
		return false;
	p->at++;
	if (!e->depth)
		end_part(p, e);
	e->parts += part;
	begin_part(e);
	return true;
}

static bool at_end(const struct shell_parser *p, const struct expression *e)
{
	return starts(p, "))") && !e->depth && (!e->loop || e->parts == 2);
}

/* A part of a loop may be empty. */
static bool is_empty_part(struct shell_parser *p, const struct expression *e)
{
	skip_blanks(p);
	return e->loop && e->begins && (shell_peek(p, 0) == ';' || at_end(p, e));
}

bool shell_read_expression(struct shell_parser *p, bool loop)
{
	struct expression e = { .loop = loop };

	begin_part(&e);
	do {
		if (!is_empty_part(p, &e) && !read_operand(p, &e))
			return false;
		close_parentheses(p, &e);
		if (at_end(p, &e)) {
			end_part(p, &e);
			p->at += 2;
			p->sink->can_fail = p->sink->can_fail || e.can_fail;
			return true;
		}
	} while (read_separator(p, &e) || read_binary(p, &e));
	return false;
}
