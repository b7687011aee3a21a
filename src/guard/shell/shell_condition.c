/* SPDX-License-Identifier: MIT
 * shell_condition.c - [[ ]]: runs no command by itself, but holds words with substitutions, and compares numbers by
 * evaluating them.
 *
 *     or := and { "||" and }   and := term { "&&" term }   term := "!" term | "(" or ")" | "-f" word | word [op word] */
#include "guard/shell/shell_parse_int.h"

static void read_or(struct shell_parser *p);

static bool is_one_of(struct str word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(word, list[i]))
			return true;
	return false;
}

static bool is_number(const struct shell_word *w)
{
	int64_t value;

	return w->literal && str_to_i64(w->text, &value);
}

static bool is_name(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.n; i++)
		if (!shell_is_name_char(w->text.p[i]))
			return false;
	return w->literal;
}

static void read_operand(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *ret)
{
	*ret = (struct shell_word){ 0 };
	shell_skip_blanks(p);
	if (str_is(shell_peek_word(p), "]]") || !shell_read_word(p, mode, ret))
		shell_fail(p, "an operand is missing in [[ ]]");
}

/* "<" and ">" are operators here, not redirections. Returns an empty text if there is none. */
static struct str read_operator(struct shell_parser *p)
{
	static const char *const words[] = { "=",   "==",  "!=",  "=~",  "-eq", "-ne", "-lt",
					     "-le", "-gt", "-ge", "-nt", "-ot", "-ef" };
	char c = shell_peek(p, 0);
	struct str op = shell_peek_word(p);

	if ((c == '<' || c == '>') && shell_is_blank(shell_peek(p, 1)))
		op = (struct str){ p->text.p + p->at, 1 };
	else if (!is_one_of(op, words, COUNT_OF(words)))
		op.n = 0;
	p->at += op.n;
	return op;
}

static void read_comparison(struct shell_parser *p, const struct shell_word *left)
{
	static const char *const numeric[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge" };
	static const char *const patterns[] = { "=", "==", "!=" };
	struct shell_word right;
	enum shell_word_mode mode = SHELL_WORD_PLAIN;

	shell_skip_blanks(p);
	struct str op = read_operator(p);
	if (!op.n)
		return;
	if (str_is(op, "=~"))
		mode = SHELL_WORD_REGEX;
	else if (is_one_of(op, patterns, COUNT_OF(patterns)))
		mode = SHELL_WORD_PATTERN;
	read_operand(p, mode, &right);
	if (is_one_of(op, numeric, COUNT_OF(numeric)) && (!is_number(left) || !is_number(&right)))
		shell_fail(p, "a comparison of numbers can run what a variable holds");
}

static bool read_unary(struct shell_parser *p)
{
	struct str word = shell_peek_word(p);
	struct shell_word operand;

	if (word.n != 2 || word.p[0] != '-' || !char_in(word.p[1], "abcdefghknoprstuvwxzGLNORS"))
		return false;
	p->at += 2;
	read_operand(p, SHELL_WORD_PLAIN, &operand);
	if ((word.p[1] == 'v' || word.p[1] == 'R') && !is_name(&operand))
		shell_fail(p, "a test of a variable can run what a variable holds");
	return true;
}

static void read_term(struct shell_parser *p)
{
	struct shell_word word;

	shell_skip_newlines(p);
	while (str_is(shell_peek_word(p), "!")) {
		p->at++;
		shell_skip_newlines(p);
	}
	if (shell_peek(p, 0) == '(') {
		p->at++;
		read_or(p);
		if (shell_peek(p, 0) == ')')
			p->at++;
		else
			shell_fail(p, "a parenthesis in [[ ]] is not closed");
	} else if (!read_unary(p)) {
		read_operand(p, SHELL_WORD_PLAIN, &word);
		read_comparison(p, &word);
	}
	shell_skip_blanks(p);
}

static void read_joined(struct shell_parser *p, char op, void (*read)(struct shell_parser *p))
{
	read(p);
	while (shell_peek(p, 0) == op && shell_peek(p, 1) == op) {
		p->at += 2;
		read(p);
	}
}

static void read_and(struct shell_parser *p)
{
	read_joined(p, '&', read_term);
}

static void read_or(struct shell_parser *p)
{
	if (!shell_enter(p))
		return;
	read_joined(p, '|', read_and);
	shell_leave(p);
}

void shell_read_condition(struct shell_parser *p)
{
	if (!shell_is_blank(shell_peek(p, 0)) && shell_peek(p, 0) != '\n')
		shell_fail(p, "[[ is not followed by a blank");
	read_or(p);
	if (str_is(shell_peek_word(p), "]]"))
		p->at += 2;
	else
		shell_fail(p, "[[ is not closed");
}
