/* SPDX-License-Identifier: MIT
 * shell_compound.c - the commands that hold others: ( ) { } if while until for select case function coproc [[ ]] (( )). */
#include "guard/shell/shell_parse_int.h"

/* ---- [[ ]] ------------------------------------------------------------------------------------------------------ */

/* [[ ]]: runs no command by itself, but holds words with substitutions, and compares numbers by
 * evaluating them.
 *
 *     or := and { "||" and }   and := term { "&&" term }   term := "!" term | "(" or ")" | "-f" word | word [op word] */

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

/* Behind "[[" to behind "]]" */
static void shell_read_condition(struct shell_parser *p)
{
	if (!shell_is_blank(shell_peek(p, 0)) && shell_peek(p, 0) != '\n')
		shell_fail(p, "[[ is not followed by a blank");
	read_or(p);
	if (str_is(shell_peek_word(p), "]]"))
		p->at += 2;
	else
		shell_fail(p, "[[ is not closed");
}

/* ---- the others ------------------------------------------------------------------------------------------------- */

static void expect_word(struct shell_parser *p, const char *word)
{
	if (str_is(shell_peek_word(p), word))
		p->at += strlen(word);
	else
		shell_fail(p, "a compound command is not complete");
}

static bool skip_word(struct shell_parser *p, const char *word)
{
	if (!str_is(shell_peek_word(p), word))
		return false;
	p->at += strlen(word);
	return true;
}

static void read_body(struct shell_parser *p, unsigned where)
{
	unsigned outside = p->where;
	const struct shell_known *known = p->known;

	p->where |= where;
	if (!shell_read_list(p))
		shell_fail(p, "a compound command is empty");
	p->where = outside;
	if (where != SHELL_IN_GROUP)
		p->known = known;
}

/* ---- if, loops ---- */

static void read_if(struct shell_parser *p)
{
	do {
		read_body(p, SHELL_IN_CONTROL);
		expect_word(p, "then");
		read_body(p, SHELL_IN_CONTROL);
	} while (skip_word(p, "elif"));
	if (skip_word(p, "else"))
		read_body(p, SHELL_IN_CONTROL);
	expect_word(p, "fi");
}

static void read_do(struct shell_parser *p)
{
	expect_word(p, "do");
	read_body(p, SHELL_IN_CONTROL);
	expect_word(p, "done");
}

static void read_while(struct shell_parser *p)
{
	read_body(p, SHELL_IN_CONTROL);
	read_do(p);
}

/* {1..9} */
static bool is_range(const struct shell_word *w)
{
	struct str to = w->source;

	if (to.n < 2 || to.p[0] != '{' || to.p[to.n - 1] != '}')
		return false;
	to = (struct str){ to.p + 1, to.n - 2 };
	struct str from = str_cut(&to, '.');
	return to.n && to.p[0] == '.' && shell_is_decimal(from) && shell_is_decimal((struct str){ to.p + 1, to.n - 1 });
}

/* Returns whether all of them are numbers. */
static bool read_words(struct shell_parser *p)
{
	struct shell_word word;
	bool numbers = true;

	for (;;) {
		shell_skip_blanks(p);
		if (!shell_read_word(p, SHELL_WORD_PLAIN, &word))
			return numbers;
		numbers = numbers && ((word.literal && word.number) || is_range(&word));
	}
}

/* for (( ; ; )): the three parts are arithmetic. */
static void read_for_arithmetic(struct shell_parser *p)
{
	p->at += 2;
	if (!shell_read_arithmetic(p, true))
		return;
	shell_skip_blanks(p);
	shell_skip(p, shell_peek(p, 0) == ';');
	shell_skip_newlines(p);
	read_do(p);
}

static void read_for(struct shell_parser *p)
{
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(') {
		read_for_arithmetic(p);
		return;
	}
	struct str name = shell_peek_word(p);
	for (size_t i = 0; i < name.n; i++)
		if (!shell_is_name_char(name.p[i]))
			name.n = 0;
	if (!name.n || shell_is_digit(name.p[0]))
		shell_fail(p, "the variable of a loop is not a name");
	p->at += name.n;
	shell_add_variable(p, name);
	shell_skip_newlines(p);
	bool has_words = skip_word(p, "in");
	bool numbers = has_words && read_words(p);
	shell_set_name(p, name, numbers);
	if (numbers)
		shell_know(p, name);
	if (shell_peek(p, 0) == ';' && shell_peek(p, 1) != ';')
		p->at++;
	else if (has_words && shell_peek(p, 0) != '\n' && shell_peek(p, 0) != '#')
		shell_fail(p, "a loop is not complete");
	shell_skip_newlines(p);
	read_do(p);
}

/* What is chosen may be nothing, or anything that is typed. */
static void read_select(struct shell_parser *p)
{
	shell_skip_blanks(p);
	shell_set_name(p, shell_peek_word(p), false);
	read_for(p);
}

/* ---- case ---- */

static void read_patterns(struct shell_parser *p)
{
	struct shell_word word;

	do {
		shell_skip_blanks(p);
		if (!shell_read_word(p, SHELL_WORD_PLAIN, &word))
			shell_fail(p, "a pattern is missing");
		shell_skip_blanks(p);
	} while (shell_peek(p, 0) == '|' && (p->at++, true));
	if (shell_peek(p, 0) == ')')
		p->at++;
	else
		shell_fail(p, "a pattern that is not known");
}

/* ";;" ";&" ";;&" */
static bool skip_branch_end(struct shell_parser *p)
{
	bool twice = shell_peek(p, 1) == ';';

	if (shell_peek(p, 0) != ';' || (!twice && shell_peek(p, 1) != '&'))
		return false;
	p->at += 2;
	if (twice && shell_peek(p, 0) == '&')
		p->at++;
	return true;
}

static void read_case(struct shell_parser *p)
{
	struct shell_word word;
	unsigned outside = p->where;
	const struct shell_known *known = p->known;

	shell_skip_blanks(p);
	if (!shell_read_word(p, SHELL_WORD_PLAIN, &word))
		shell_fail(p, "case has no word");
	shell_skip_newlines(p);
	expect_word(p, "in");
	shell_skip_newlines(p);
	p->where |= SHELL_IN_CONTROL;
	while (!skip_word(p, "esac")) {
		if (shell_peek(p, 0) == '(')
			p->at++;
		read_patterns(p);
		shell_read_list(p);
		p->known = known;
		if (!skip_branch_end(p)) {
			expect_word(p, "esac");
			break;
		}
		shell_skip_newlines(p);
	}
	p->where = outside;
}

/* ---- ( ), { }, functions, coprocesses, arrays ---- */

static void read_subshell(struct shell_parser *p)
{
	p->sink->script->has_subshell = true;
	p->at++;
	read_body(p, SHELL_IN_SUBSHELL);
	if (shell_peek(p, 0) == ')')
		p->at++;
	else
		shell_fail(p, "a subshell is not closed");
}

static void read_group(struct shell_parser *p)
{
	p->sink->script->has_group = true;
	read_body(p, SHELL_IN_GROUP);
	expect_word(p, "}");
}

void shell_read_function_body(struct shell_parser *p, struct str name)
{
	unsigned outside = p->where;
	const struct shell_known *known = p->known;
	bool can_fail = p->sink->can_fail;

	p->sink->can_fail = false;
	if (shell_declares(name))
		shell_fail(p, "a function has the name of a builtin that sets variables");
	p->sink->script->has_function = true;
	p->where |= SHELL_IN_FUNCTION;
	shell_skip_newlines(p);
	if (!shell_enter(p))
		return;
	if (!shell_read_compound(p))
		shell_fail(p, "a function has no body");
	shell_leave(p);
	p->where = outside;
	p->known = known;
	if (p->sink->can_fail || p->pending)
		p->sink->call_can_fail = true;
	p->sink->can_fail = can_fail || p->sink->call_can_fail;
}

static void read_function(struct shell_parser *p)
{
	struct shell_word name;

	shell_skip_blanks(p);
	if (!shell_read_word(p, SHELL_WORD_PLAIN, &name) || !name.literal || name.quoted)
		shell_fail(p, "a function has no name");
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == ')')
		p->at += 2;
	shell_read_function_body(p, name.text);
}

/* Inside $( ) bash 5.2 runs "coproc a" as if it were "coproc COPROC a", so it is listed and never understood. */
static void read_coproc(struct shell_parser *p)
{
	shell_fail(p, "coproc is not read by all versions of bash in the same way");
	p->sink->script->has_background = true;
	shell_skip_blanks(p);
	if (!shell_enter(p))
		return;
	if (!shell_read_compound(p))
		shell_read_simple(p);
	shell_leave(p);
}

static void check_element(struct shell_parser *p)
{
	size_t n = 1;

	if (shell_peek(p, 0) != '[')
		return;
	while (shell_is_digit(shell_peek(p, n)))
		n++;
	if (n == 1 || shell_peek(p, n) != ']' || shell_peek(p, n + 1) != '=')
		shell_fail(p, "a subscript that is more than a number can run what a variable holds");
}

void shell_read_array(struct shell_parser *p)
{
	struct shell_word word;

	if (p->pending)
		shell_fail(p, "an array begins while a here-document waits");
	p->at++;
	for (;;) {
		shell_skip_newlines(p);
		if (shell_peek(p, 0) == ')')
			break;
		check_element(p);
		if (!shell_read_word(p, SHELL_WORD_PLAIN, &word)) {
			shell_fail(p, "an array is not closed");
			break;
		}
	}
	shell_skip(p, 1);
	if (!shell_is_meta(shell_peek(p, 0)))
		shell_fail(p, "something follows an array without a blank");
}

/* ---- the table ---- */

enum { CONTROL = 1 << 0, CLOSES = 1 << 1 }; /* CLOSES: a closing word may follow at once */

static const struct compound {
	const char *word;
	void (*read)(struct shell_parser *p); /* behind the word */
	unsigned flags;
} compounds[] = {
	{ "[[", shell_read_condition, 0 },
	{ "case", read_case, CONTROL | CLOSES },
	{ "coproc", read_coproc, 0 },
	{ "for", read_for, CONTROL | CLOSES },
	{ "function", read_function, 0 },
	{ "if", read_if, CONTROL | CLOSES },
	{ "select", read_select, CONTROL | CLOSES },
	{ "until", read_while, CONTROL | CLOSES },
	{ "while", read_while, CONTROL | CLOSES },
	{ "{", read_group, CLOSES },
};

/* The redirections of a compound command hold for all of it; they are listed as a command without words. */
static bool read_redirects(struct shell_parser *p)
{
	struct shell_command c = { 0 };

	shell_skip_blanks(p);
	size_t from = p->at;
	while (shell_read_redirect(p, &c)) {
		c.source = shell_slice(p, from);
		shell_skip_blanks(p);
		p->after_compound = false;
	}
	if (c.redirect_count)
		shell_add_command(p, &c);
	return c.redirect_count;
}

static bool read_parenthesis(struct shell_parser *p)
{
	if (shell_peek(p, 0) != '(')
		return false;
	if (shell_peek(p, 1) == '(') {
		p->at += 2;
		p->after_compound = false;
		if (shell_read_arithmetic(p, false))
			return true;
		p->at -= 2;
	}
	read_subshell(p);
	p->after_compound = true;
	return true;
}

static bool read_keyword(struct shell_parser *p)
{
	struct str word = shell_peek_word(p);
	size_t i = 0;

	while (i < COUNT_OF(compounds) && !str_is(word, compounds[i].word))
		i++;
	if (i == COUNT_OF(compounds))
		return false;
	p->at += word.n;
	p->after_compound = false;
	if (compounds[i].flags & CONTROL)
		p->sink->script->has_control_flow = true;
	const struct shell_known *known = p->known;
	compounds[i].read(p);
	if (compounds[i].flags & CONTROL)
		p->known = known;
	if (compounds[i].flags & CLOSES)
		p->after_compound = true;
	return true;
}

/* Redirections are opened first: they know nothing of what is set inside, and where one fails nothing is. */
bool shell_read_compound(struct shell_parser *p)
{
	const struct shell_known *before = p->known;

	shell_skip_blanks(p);
	if (!read_parenthesis(p) && !read_keyword(p))
		return false;
	const struct shell_known *after = p->known;
	p->known = before;
	if (!read_redirects(p))
		p->known = after;
	return true;
}
