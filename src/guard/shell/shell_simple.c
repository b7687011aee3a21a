/* SPDX-License-Identifier: MIT
 * shell_simple.c - one simple command: assignments, words and redirections, in any order that bash allows; or the name of
 * a function that is defined here. */
#include "guard/shell/shell_parse_int.h"
#include "lib/base/list.h"

static const struct {
	const char *text;
	enum shell_op op;
	int fd;
	bool writes;
} operators[] = {
	/* longest first */
	{ "&>>", SHELL_APPEND_BOTH, 1, true }, { "<<<", SHELL_HERE_STRING, 0, false },
	{ "<<-", SHELL_HERE_TABS, 0, false },  { "&>", SHELL_WRITE_BOTH, 1, true },
	{ ">>", SHELL_APPEND, 1, true },       { ">|", SHELL_CLOBBER, 1, true },
	{ ">&", SHELL_DUP_OUT, 1, false },     { "<&", SHELL_DUP_IN, 0, false },
	{ "<>", SHELL_READ_WRITE, 0, true },   { "<<", SHELL_HERE, 0, false },
	{ ">", SHELL_WRITE, 1, true },         { "<", SHELL_READ, 0, false },
};

static bool is_descriptor(const struct shell_word *w)
{
	struct str s = w->text;

	if (s.n && s.p[s.n - 1] == '-')
		s.n--;
	for (size_t i = 0; i < s.n; i++)
		if (!shell_is_digit(s.p[i]))
			return false;
	return w->literal && w->text.n;
}

static void add_here(struct shell_parser *p, struct shell_redirect *r)
{
	struct shell_here *h = arena_calloc(p->sink->arena, sizeof *h);

	if (!r->target.literal || memchr(r->target.text.p, '\n', r->target.text.n))
		shell_fail(p, "the delimiter of a here-document is not plain text");
	p->sink->script->has_here_document = true;
	h->delimiter = r->target.text;
	h->quoted = r->target.quoted;
	h->known = p->known;
	h->tabs = r->op == SHELL_HERE_TABS;
	h->body = arena_calloc(p->sink->arena, sizeof *h->body);
	h->body->p = "";
	r->body = h->body;
	list_push_last(&p->pending, h);
}

/* The digits before an operator, {name} before one, or nothing. Returns the length, and *ret_fd for digits. */
static size_t descriptor_length(const struct shell_parser *p, int *ret_fd)
{
	size_t n = 0;

	if (shell_peek(p, 0) == '{') {
		for (n = 1; shell_is_name_char(shell_peek(p, n)); n++)
			;
		n = shell_peek(p, n) == '}' ? n + 1 : 0;
	} else {
		for (*ret_fd = 0; shell_is_digit(shell_peek(p, n)) && n < 9; n++)
			*ret_fd = *ret_fd * 10 + (shell_peek(p, n) - '0');
	}
	char c = shell_peek(p, n);
	return c == '<' || c == '>' ? n : 0;
}

bool shell_read_redirect(struct shell_parser *p, struct shell_command *c)
{
	struct shell_redirect r = { 0 };
	int fd = -1;
	size_t digits = descriptor_length(p, &fd);
	struct str rest = { p->text.p + p->at + digits, p->text.n - p->at - digits };
	size_t i = 0;

	while (i < COUNT_OF(operators) && !str_starts(rest, str_from(operators[i].text)))
		i++;
	bool process = rest.n > 1 && (rest.p[0] == '<' || rest.p[0] == '>') && rest.p[1] == '(';
	if (i == COUNT_OF(operators) || (process && !digits))
		return false;
	if (process || (digits && shell_peek(p, 0) == '{'))
		shell_fail(p, "a redirection of a kind that is not known");
	p->at += digits + strlen(operators[i].text);
	r.op = operators[i].op;
	r.fd = digits ? fd : operators[i].fd;
	r.writes_file = operators[i].writes;
	/* Bash takes ">&-" for one token, whatever follows, and digits before the next operator for a descriptor. */
	bool closes = (r.op == SHELL_DUP_OUT || r.op == SHELL_DUP_IN) && shell_peek(p, 0) == '-';
	shell_skip_blanks(p);
	if (closes && !shell_is_meta(shell_peek(p, 1)))
		shell_fail(p, "something follows >&- without a blank");
	if (descriptor_length(p, &fd))
		shell_fail(p, "a redirection has no target");
	if (!shell_read_word(p, SHELL_WORD_PLAIN, &r.target))
		shell_fail(p, "a redirection has no target");
	if (r.op == SHELL_DUP_OUT && !is_descriptor(&r.target)) {
		r.op = SHELL_WRITE_BOTH;
		r.writes_file = true;
	}
	if (r.op == SHELL_HERE || r.op == SHELL_HERE_TABS)
		add_here(p, &r);
	c->redirects = shell_grow(p->sink->arena, c->redirects, c->redirect_count, sizeof r);
	c->redirects[c->redirect_count++] = r;
	return true;
}

/* The length of NAME= or NAME+= or NAME[0]=, and in *ret_name that of the name; 0 if there is none. */
static size_t assignment_length(struct shell_parser *p, size_t *ret_name)
{
	size_t n = 0;

	if (!shell_is_name_start(shell_peek(p, 0)))
		return 0;
	while (shell_is_name_char(shell_peek(p, n)))
		n++;
	*ret_name = n;
	if (shell_peek(p, n) == '[') {
		for (n++; shell_is_digit(shell_peek(p, n)); n++)
			;
		if (shell_peek(p, n) != ']' || (shell_peek(p, n + 1) != '=' && shell_peek(p, n + 1) != '+')) {
			shell_fail(p, "a subscript that is more than a number can run what a variable holds");
			return 0;
		}
		n++;
	}
	n += shell_peek(p, n) == '+';
	return shell_peek(p, n) == '=' ? n + 1 : 0;
}

static bool read_assignment(struct shell_parser *p, struct shell_command *c)
{
	struct shell_assignment assignment = { 0 };
	size_t name_n = 0;
	size_t n = assignment_length(p, &name_n);

	if (!n)
		return false;
	assignment.name = (struct str){ p->text.p + p->at, name_n };
	p->at += n;
	size_t from = p->at;
	if (shell_peek(p, 0) == '(') {
		shell_read_array(p);
		assignment.value.text = assignment.value.source = shell_slice(p, from);
	} else {
		shell_read_word(p, SHELL_WORD_PLAIN, &assignment.value);
	}
	if (n > name_n + 1) { /* NAME+=x or NAME[0]=x: x is a part of the value */
		assignment.value.number = false;
		p->sink->can_fail = true;
	}
	c->assignments = shell_grow(p->sink->arena, c->assignments, c->assignment_count, sizeof assignment);
	c->assignments[c->assignment_count++] = assignment;
	return true;
}

/* NAME= or NAME+= */
static bool is_array_head(struct str s)
{
	if (str_ends(s, STR("+=")))
		s.n--;
	if (s.n < 2 || !shell_is_name_start(s.p[0]))
		return false;
	for (size_t i = 1; i + 1 < s.n; i++)
		if (!shell_is_name_char(s.p[i]))
			return false;
	return true;
}

/* NAME=x where x is a number. */
static bool declares_number(const struct shell_parser *p, const struct shell_word *w)
{
	struct str s = w->literal ? w->text : w->source;
	const char *equals = memchr(s.p, '=', s.n);

	if (!equals || !is_array_head((struct str){ s.p, (size_t)(equals + 1 - s.p) }) || equals[-1] == '+')
		return false;
	struct str value = { equals + 1, s.n - (size_t)(equals + 1 - s.p) };
	if (w->literal)
		return shell_is_decimal(value);
	return value.p == p->arithmetic.p && value.n == p->arithmetic.n;
}

static bool read_argument(struct shell_parser *p, struct shell_command *c)
{
	struct shell_word word;
	bool declares = c->word_count && shell_declares(c->words[0].source);
	size_t from = p->at;

	if (!shell_read_word(p, SHELL_WORD_PLAIN, &word))
		return false;
	if (shell_peek(p, 0) == '(' && declares && str_ends(word.source, STR("=")) && is_array_head(word.source)) {
		shell_read_array(p);
		word.literal = false;
		word.text = word.source = shell_slice(p, from);
	}
	if (declares)
		word.number = declares_number(p, &word);
	c->words = shell_grow(p->sink->arena, c->words, c->word_count, sizeof word);
	c->words[c->word_count++] = word;
	return true;
}

/* Is this NAME ( ), with the cursor behind the name? A parenthesis that is anything else ends the command. */
static bool skip_function_head(struct shell_parser *p, const struct shell_command *c)
{
	struct shell_parser ahead = *p;

	if (shell_peek(p, 0) != '(' || c->word_count != 1 || c->assignment_count || c->redirect_count)
		return false;
	ahead.at++;
	shell_skip_blanks(&ahead);
	if (shell_peek(&ahead, 0) != ')' || !c->words[0].literal || c->words[0].quoted)
		return false;
	p->at = ahead.at + 1;
	return true;
}

void shell_read_simple(struct shell_parser *p)
{
	struct shell_command c = { 0 };

	shell_skip_blanks(p);
	size_t from = p->at;
	size_t end = from;
	/* A reserved word that is continued on the next line is still one for bash. */
	size_t n = 0;
	while (shell_is_name_char(shell_peek(p, n)) || char_in(shell_peek(p, n), "{}![]"))
		n++;
	if (shell_peek(p, n) == '\\' && shell_peek(p, n + 1) == '\n')
		shell_fail(p, "a line is continued inside the name of a command");
	while (shell_read_redirect(p, &c) || (!c.word_count && read_assignment(p, &c)) || read_argument(p, &c)) {
		end = p->at;
		shell_skip_blanks(p);
		if (skip_function_head(p, &c)) {
			shell_read_function_body(p, c.words[0].text);
			return;
		}
	}
	p->after_compound = false;
	if (end == from) {
		shell_fail(p, "a command is missing");
		return;
	}
	shell_note_simple(p, &c);
	c.source = (struct str){ p->text.p + from, end - from };
	shell_add_command(p, &c);
}
