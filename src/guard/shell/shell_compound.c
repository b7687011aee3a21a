/* SPDX-License-Identifier: MIT
 * shell_compound.c - the commands that hold others: ( ) { } if while until for select case function coproc [[ ]] (( )). */
#include "guard/shell/shell_parse_int.h"

/* [[ ]]: runs no command by itself, but holds words with substitutions, and compares numbers by
 * evaluating them.
 *
 *     test := term { ("||" | "&&") term }   term := "!" term | "(" test ")" | "-f" word | word [op word] */

static void read_test(struct shell_parser *p);

static void read_operand(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *ret)
{
	*ret = (struct shell_word){ 0 };
	shell_skip_blanks(p);
	if (str_is(shell_peek_word(p), "]]") || !shell_read_word(p, mode, ret))
		shell_fail(p, "an operand is missing in [[ ]]");
}

/* "<" and ">" are operators here, not redirections. */
static void read_comparison(struct shell_parser *p, const struct shell_word *left)
{
	static const char patterns[] = "=|==|!=";
	static const char others[] = "=~|-nt|-ot|-ef";
	struct shell_word right;
	enum shell_word_mode mode = SHELL_WORD_PLAIN;
	int64_t value;

	shell_skip_blanks(p);
	struct str op = shell_peek_word(p);
	bool numbers = str_is_one_of(op, "-eq|-ne|-lt|-le|-gt|-ge");
	if (char_in(shell_peek(p, 0), "<>") && shell_is_blank(shell_peek(p, 1)))
		op.n = 1;
	else if (!numbers && !str_is_one_of(op, patterns) && !str_is_one_of(op, others))
		return;
	if (str_is(op, "=~"))
		mode = SHELL_WORD_REGEX;
	else if (str_is_one_of(op, patterns))
		mode = SHELL_WORD_PATTERN;
	p->at += op.n;
	read_operand(p, mode, &right);
	if (numbers &&
	    !(left->literal && str_to_i64(left->text, &value) && right.literal && str_to_i64(right.text, &value)))
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
	bool is_name = operand.literal;
	for (size_t i = 0; i < operand.text.n; i++)
		is_name = is_name && shell_is_name_char(operand.text.p[i]);
	if ((word.p[1] == 'v' || word.p[1] == 'R') && !is_name)
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
		read_test(p);
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

static void read_test(struct shell_parser *p)
{
	if (!shell_enter(p))
		return;
	read_term(p);
	while (char_in(shell_peek(p, 0), "&|") && shell_peek(p, 1) == shell_peek(p, 0)) {
		p->at += 2;
		read_term(p);
	}
	shell_leave(p);
}

/* Behind "[[" to behind "]]" */
static void read_condition(struct shell_parser *p)
{
	if (!shell_is_blank(shell_peek(p, 0)) && shell_peek(p, 0) != '\n')
		shell_fail(p, "[[ is not followed by a blank");
	read_test(p);
	if (str_is(shell_peek_word(p), "]]"))
		p->at += 2;
	else
		shell_fail(p, "[[ is not closed");
}

static bool skip_word(struct shell_parser *p, const char *word)
{
	if (!str_is(shell_peek_word(p), word))
		return false;
	p->at += strlen(word);
	return true;
}

static void expect_word(struct shell_parser *p, const char *word)
{
	if (!skip_word(p, word))
		shell_fail(p, "a compound command is not complete");
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

/* Returns whether all of them are numbers. */
static bool read_words(struct shell_parser *p)
{
	struct shell_word word;
	bool numbers = true;

	for (;;) {
		shell_skip_blanks(p);
		if (!shell_read_word(p, SHELL_WORD_PLAIN, &word))
			return numbers;
		struct str to = word.source;
		bool braces = to.n >= 2 && to.p[0] == '{' && to.p[to.n - 1] == '}';
		to = braces ? (struct str){ to.p + 1, to.n - 2 } : STR("");
		struct str from = str_cut(&to, '.'); /* {1..9} */
		bool is_range = to.n && to.p[0] == '.' && shell_is_decimal(from) &&
				shell_is_decimal((struct str){ to.p + 1, to.n - 1 });
		numbers = numbers && ((word.literal && word.number) || is_range);
	}
}

static void read_for(struct shell_parser *p)
{
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(') {
		p->at += 2;
		if (!shell_read_arithmetic(p, true))
			return;
		shell_skip_blanks(p);
		shell_skip(p, shell_peek(p, 0) == ';');
		shell_skip_newlines(p);
		read_do(p);
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
		bool twice = shell_peek(p, 1) == ';';
		if (shell_peek(p, 0) != ';' || (!twice && shell_peek(p, 1) != '&')) {
			expect_word(p, "esac");
			break;
		}
		p->at += 2; /* ";;" ";&" ";;&" */
		p->at += twice && shell_peek(p, 0) == '&';
		shell_skip_newlines(p);
	}
	p->where = outside;
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
		size_t n = 1;
		while (shell_is_digit(shell_peek(p, n)))
			n++;
		if (shell_peek(p, 0) == '[' && (n == 1 || shell_peek(p, n) != ']' || shell_peek(p, n + 1) != '='))
			shell_fail(p, "a subscript that is more than a number can run what a variable holds");
		if (!shell_read_word(p, SHELL_WORD_PLAIN, &word)) {
			shell_fail(p, "an array is not closed");
			break;
		}
	}
	shell_skip(p, 1);
	if (!shell_is_meta(shell_peek(p, 0)))
		shell_fail(p, "something follows an array without a blank");
}

enum { CONTROL = 1 << 0, CLOSES = 1 << 1 }; /* CLOSES: a closing word may follow at once */

static const struct compound {
	const char *word;
	void (*read)(struct shell_parser *p); /* behind the word */
	unsigned flags;
} compounds[] = {
	{ "[[", read_condition, 0 },
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
	p->sink->script->has_subshell = true;
	p->at++;
	read_body(p, SHELL_IN_SUBSHELL);
	if (shell_peek(p, 0) == ')')
		p->at++;
	else
		shell_fail(p, "a subshell is not closed");
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

/* Its redirections hold for all of it; they are listed as a command without words. They are opened first: they know nothing
 * of what is set inside, and where one fails nothing is. */
bool shell_read_compound(struct shell_parser *p)
{
	const struct shell_known *before = p->known;
	struct shell_command c = { 0 };

	shell_skip_blanks(p);
	if (!read_parenthesis(p) && !read_keyword(p))
		return false;
	const struct shell_known *after = p->known;
	p->known = before;
	shell_skip_blanks(p);
	size_t from = p->at;
	while (shell_read_redirect(p, &c)) {
		c.source = shell_slice(p, from);
		shell_skip_blanks(p);
		p->after_compound = false;
	}
	if (c.redirect_count)
		shell_add_command(p, &c);
	else
		p->known = after;
	return true;
}
