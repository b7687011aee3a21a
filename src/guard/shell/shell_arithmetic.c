/* SPDX-License-Identifier: MIT
 * shell_arithmetic.c - $(( )), (( )) and for (( ; ; )): numbers, names that hold numbers, and operators. Operands and
 * operators take turns; what binds closer does not matter here. Two questions are answered on the way: is every name known
 * to hold a number, and can the expression fail? Behind one that can, nothing it sets counts as set. */
#include "guard/shell/shell_parse_int.h"

/* Which names hold a number for certain, so that arithmetic may use them. Two things must be true:
 *
 * Every value that the text gives to the name, wherever it does, is a whole number or the result of arithmetic. That is
 * collected while reading and checked at the end.
 *
 * The name was set before it is used, whatever happened: an inherited value is anybody's. The names of which that is true
 * are a list that only grows at its head, so a branch forgets what was set in it by going back to the head it had. */

static const char why_not[] = "arithmetic with more than numbers can run what a variable holds";

/* Bash writes to these by itself, or refuses that they are set. */
static bool is_owned_by_bash(struct str name)
{
	static const char names[] =
		"_|REPLY|OPTARG|PWD|OLDPWD|DIRSTACK|FUNCNAME|UID|MAPFILE|EUID|PPID|COPROC|GROUPS|PIPESTATUS|"
		"EPOCHREALTIME";

	return str_starts_with_one_of(name, "BASH|COMP_|READLINE_|HIST") || str_is_one_of(name, names) ||
	       shell_name_is_dangerous(name);
}

bool shell_is_decimal(struct str s)
{
	if (s.n > 1 && s.p[0] == '-')
		s = (struct str){ s.p + 1, s.n - 1 };
	for (size_t i = 0; i < s.n; i++)
		if (!shell_is_digit(s.p[i]))
			return false;
	return s.n && s.n <= 18 && (s.n == 1 || s.p[0] != '0');
}

static struct shell_name *find_name(struct shell_sink *sink, struct str name)
{
	for (size_t i = 0; i < sink->name_count; i++)
		if (str_eq(sink->names[i].name, name))
			return &sink->names[i];
	sink->names = shell_grow(sink->arena, sink->names, sink->name_count, sizeof *sink->names);
	sink->names[sink->name_count] = (struct shell_name){ .name = name, .other = is_owned_by_bash(name) };
	return &sink->names[sink->name_count++];
}

void shell_set_name(struct shell_parser *p, struct str name, bool number)
{
	struct shell_name *n = find_name(p->sink, name);

	n->other = n->other || !number;
	if (is_owned_by_bash(name))
		p->sink->can_fail = true;
}

static void set_in_arithmetic(struct shell_parser *p, struct str name)
{
	find_name(p->sink, name)->used = true;
	shell_add_variable(p, name);
}

/* Arithmetic evaluates it. */
static void use_in_arithmetic(struct shell_parser *p, struct str name)
{
	const struct shell_known *k = p->known;

	find_name(p->sink, name)->used = true;
	while (k && !str_eq(k->name, name))
		k = k->before;
	/* Bash keeps some as numbers itself and ignores what it inherits for them. */
	bool of_bash = str_is(name, "RANDOM") || str_is(name, "SECONDS") || str_is(name, "LINENO");
	if (!k && !of_bash)
		shell_fail(p, why_not);
}

void shell_know(struct shell_parser *p, struct str name)
{
	struct shell_known *k = arena_new(p->sink->arena, struct shell_known, .before = p->known, .name = name,
					  .doubtful = p->sink->can_fail || p->pending);

	p->known = k;
}

/* The name in NAME, NAME=x, NAME+=x, NAME[0]=x; empty if there is none. */
static struct str leading_name(const struct shell_word *w)
{
	struct str s = w->literal ? w->text : w->source;
	size_t n = 0;

	while (n < s.n && shell_is_name_char(s.p[n]))
		n++;
	return (struct str){ s.p, s.n && !shell_is_digit(s.p[0]) ? n : 0 };
}

/* NAME alone gives no value to it: export keeps it, and declare in a function makes a new one without any. */
static void note_declared(struct shell_parser *p, const struct shell_command *c)
{
	bool local = str_is(c->words[0].text, "local");

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		struct str name = leading_name(w);
		if (!name.n)
			p->sink->freezes = true;
		else if (!w->literal || name.n < w->text.n)
			shell_set_name(p, name, w->number);
	}
	if (c->word_count == 2 && !c->redirect_count && c->words[1].number &&
	    (!local || (p->where & SHELL_IN_FUNCTION)))
		shell_know(p, leading_name(&c->words[1]));
}

void shell_note_simple(struct shell_parser *p, const struct shell_command *c)
{
	bool sets = false;

	for (size_t i = 0; i < c->assignment_count; i++)
		shell_set_name(p, c->assignments[i].name, c->assignments[i].value.number);
	if (!c->word_count) {
		/* Of several, one that fails keeps the others from being set. */
		if (c->assignment_count == 1 && !c->redirect_count && c->assignments[0].value.number)
			shell_know(p, c->assignments[0].name);
		return;
	}
	if (shell_declares(c->words[0].source)) {
		p->sink->freezes = p->sink->freezes || str_is(c->words[0].text, "readonly");
		note_declared(p, c);
		return;
	}
	/* Wherever the builtin stands: command and builtin may be in front of it. Builtins that hide need no row. */
	for (size_t i = 0; i < c->word_count; i++)
		sets = sets || (c->words[i].literal && (str_is_one_of(c->words[i].text, "read|getopts|unset") ||
							shell_declares(c->words[i].text)));
	for (size_t i = 0; sets && i < c->word_count; i++) {
		p->sink->freezes = p->sink->freezes || shell_declares(c->words[i].text);
		shell_set_name(p, leading_name(&c->words[i]), false);
	}
}

/* Of what hides a command, not all can set a variable here: a redirection, IFS= in front, an argument of test. */
static bool can_set_names(const struct shell_command *c)
{
	struct shell_command rest = *c;

	rest.redirect_count = 0;
	if (c->assignment_count == 1 && str_is(c->assignments[0].name, "IFS"))
		rest.assignment_count = 0;
	if (!shell_hides(&rest))
		return false;
	return !rest.word_count || rest.assignment_count ||
	       !(str_is(rest.words[0].text, "[") || str_is(rest.words[0].text, "test"));
}

void shell_check_names(struct shell_parser *p)
{
	const struct shell_script *s = p->sink->script;
	bool used = false;

	for (size_t i = 0; i < p->sink->name_count; i++) {
		const struct shell_name *n = &p->sink->names[i];
		used = used || n->used;
		if (n->used && n->other)
			shell_fail(p, why_not);
	}
	if (used && p->sink->freezes)
		shell_fail(p, why_not);
	for (size_t i = 0; used && i < s->count; i++)
		if (can_set_names(&s->commands[i]))
			shell_fail(p, why_not);
}

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

/* Bash evaluates the name in all cases but NAME = x. Returns true if an operand follows. */
static bool read_variable(struct shell_parser *p, struct expression *e, bool *ret_ok)
{
	static const char *const operators[] = { "=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>=" };
	struct str name = read_name(p);
	const char *op = ""; /* of an assignment */

	skip_blanks(p);
	for (size_t i = 0; i < COUNT_OF(operators); i++)
		if (shell_starts(p, operators[i]) && !shell_starts(p, "=="))
			op = operators[i];
	*ret_ok = !*op || e->may_assign;
	if (!*op || op[1])
		use_in_arithmetic(p, name);
	if (*op || shell_starts(p, "++") || shell_starts(p, "--"))
		set_in_arithmetic(p, name);
	if (!*op) {
		p->at += shell_starts(p, "++") || shell_starts(p, "--") ? 2 : 0;
		return false;
	}
	if (e->begins && !op[1])
		e->target = name;
	e->can_fail = e->can_fail || op[0] == '/' || op[0] == '%';
	p->at += strlen(op);
	return true;
}

/* The name may be empty, a new one of a function for instance, and then an operand is missing. */
static bool read_dollar(struct shell_parser *p, struct expression *e)
{
	const struct shell_known *known = p->known;
	char next = shell_peek(p, 1);
	bool braces = next == '{';

	if (shell_starts(p, "$((")) {
		p->at += 3;
		if (!shell_enter(p))
			return false;
		bool ok = shell_read_expression(p, false);
		shell_leave(p);
		p->known = known;
		e->can_fail = true; /* a number with a sign may follow one */
		return ok;
	}
	if (next == '#' || next == '?' || next == '$') {
		p->at += 2;
		return true;
	}
	p->at += braces ? 2 : 1;
	if (!shell_is_name_start(shell_peek(p, 0)))
		return false;
	use_in_arithmetic(p, read_name(p));
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
		use_in_arithmetic(p, name);
		set_in_arithmetic(p, name);
		p->at -= name.n;
	} else {
		p->at++;
		e->can_fail = e->can_fail || twice;
	}
}

static bool read_operand(struct shell_parser *p, struct expression *e)
{
	for (;;) {
		bool more = true;
		bool ok = true;
		skip_blanks(p);
		char c = shell_peek(p, 0);
		if (c == '(') {
			e->depth++;
			e->may_assign = true;
			p->at++;
		} else if (char_in(c, "+-!~")) {
			e->may_assign = false;
			read_increment(p, e);
		} else if (shell_is_name_start(c)) {
			more = read_variable(p, e, &ok);
		} else if (shell_is_digit(c)) {
			e->can_fail = !shell_is_decimal(read_name(p)) || e->can_fail;
			more = false;
		} else {
			ok = c == '$' && read_dollar(p, e);
			more = false;
		}
		if (!ok || !more)
			return ok;
		e->begins = false;
	}
}

/* Division by a number that is written there, and is not 0, cannot fail. */
static bool operator_can_fail(const struct shell_parser *p, const char *op)
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

	while (i < COUNT_OF(operators) && !shell_starts(p, operators[i]))
		i++;
	if (i == COUNT_OF(operators))
		return false;
	p->at += strlen(operators[i]);
	e->can_fail = e->can_fail || operator_can_fail(p, operators[i]);
	e->may_assign = false;
	return true;
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
	return shell_starts(p, "))") && !e->depth && (!e->loop || e->parts == 2);
}

bool shell_read_expression(struct shell_parser *p, bool loop)
{
	struct expression e = { .loop = loop };

	begin_part(&e);
	do {
		skip_blanks(p);
		bool empty = e.loop && e.begins && (shell_peek(p, 0) == ';' || at_end(p, &e));
		if (!empty && !read_operand(p, &e))
			return false;
		skip_blanks(p);
		for (; shell_peek(p, 0) == ')' && e.depth; skip_blanks(p)) {
			e.depth--;
			p->at++;
		}
		if (at_end(p, &e)) {
			end_part(p, &e);
			p->at += 2;
			p->sink->can_fail = p->sink->can_fail || e.can_fail;
			return true;
		}
	} while (read_separator(p, &e) || read_binary(p, &e));
	return false;
}
