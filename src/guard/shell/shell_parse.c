/* SPDX-License-Identifier: MIT
 * shell_parse.c - the entry, the list of commands, and the grammar above a single command: lists and pipelines.
 *
 *     list := and_or { (";" | "&" | newline) and_or }      and_or := pipeline { ("&&" | "||") pipeline }
 *     pipeline := { "!" | "time" ["-p"] } command { ("|" | "|&") command }      command := compound | simple */
#include "guard/shell/shell_parse_int.h"
#include "lib/base/utf8.h"

void shell_fail(struct shell_parser *p, const char *why)
{
	struct shell_script *s = p->sink->script;

	if (s->understood)
		s->why_not = why;
	s->understood = false;
}

bool shell_enter(struct shell_parser *p)
{
	if (p->depth >= SHELL_MAX_DEPTH) {
		shell_fail(p, "it is nested too deeply");
		p->at = p->text.n;
		return false;
	}
	p->depth++;
	return true;
}

/* The capacity is not stored: it is 4, and then the next power of two. */
void *shell_grow(struct arena *a, void *items, size_t count, size_t size)
{
	bool full = count == 0 || (count >= 4 && (count & (count - 1)) == 0);

	if (!full)
		return items;
	void *wider = arena_alloc(a, MAX(count * 2, (size_t)4) * size);
	if (count)
		memcpy(wider, items, count * size);
	return wider;
}

void shell_add_command(struct shell_parser *p, struct shell_command *c)
{
	struct shell_script *s = p->sink->script;

	c->where = p->where;
	c->source = str_trim(c->source);
	c->hides = shell_hides(c);
	s->commands = shell_grow(p->sink->arena, s->commands, s->count, sizeof *s->commands);
	s->commands[s->count++] = *c;
}

void shell_add_variable(struct shell_parser *p, struct str name)
{
	struct shell_assignment *assignment = arena_calloc(p->sink->arena, sizeof *assignment);
	struct shell_command c = { .assignments = assignment, .assignment_count = 1, .source = name };

	assignment->name = name;
	assignment->value = (struct shell_word){ .text = { name.p, 0 }, .source = { name.p, 0 } };
	shell_add_command(p, &c);
}

struct str shell_peek_word(const struct shell_parser *p)
{
	size_t n = 0;

	while (!shell_is_meta(shell_peek(p, n)) && !char_in(shell_peek(p, n), "\\'\"`$"))
		n++;
	if (shell_is_meta(shell_peek(p, n)))
		return (struct str){ p->text.p + p->at, n };
	return (struct str){ p->text.p + p->at, 0 };
}

static bool is_closing_word(struct str word)
{

	return str_is_one_of(word, "then|do|done|fi|elif|else|esac|in|}|]]");
}

static bool at_closer(const struct shell_parser *p)
{
	char c = shell_peek(p, 0);

	if (c == ')')
		return true;
	if (c == ';' && (shell_peek(p, 1) == ';' || shell_peek(p, 1) == '&'))
		return true;
	return is_closing_word(shell_peek_word(p));
}

/* "!" and "time" before a pipeline. Behind a "|" time is a program like any other, which shell_command.c knows. */
static void read_prefixes(struct shell_parser *p)
{
	for (;;) {
		shell_skip_blanks(p);
		struct str word = shell_peek_word(p);
		bool is_time = str_is(word, "time");
		if (!is_time && !str_is(word, "!"))
			return;
		p->at += word.n;
		if (!is_time && shell_peek(p, 0) == '(')
			shell_fail(p, "!( is a pattern or a subshell, depending on an option");
		shell_skip_blanks(p);
		if (is_time && str_is(shell_peek_word(p), "-p"))
			p->at += 2;
		shell_skip_blanks(p);
		if (is_time && str_is(shell_peek_word(p), "--"))
			p->at += 2;
	}
}

static void read_pipeline(struct shell_parser *p)
{
	const struct shell_known *known = p->known;
	unsigned where = p->where;
	bool piped = false;

	read_prefixes(p);
	for (;;) {
		p->after_compound = false;
		shell_skip_blanks(p);
		if (is_closing_word(shell_peek_word(p)))
			shell_fail(p, "a command is missing");
		else if (!shell_read_compound(p))
			shell_read_simple(p);
		p->where = where;
		shell_skip_blanks(p);
		bool more = shell_peek(p, 0) == '|' && shell_peek(p, 1) != '|';
		piped = piped || more;
		if (piped)
			p->known = known;
		if (!more)
			return;
		p->at += shell_peek(p, 1) == '&' ? 2 : 1;
		p->where |= SHELL_BEHIND_PIPE;
		shell_skip_newlines(p);
		if (str_is(shell_peek_word(p), "!"))
			shell_fail(p, "! follows |");
	}
}

/* What && leads to knows what was set before it, as long as no || lets something be skipped. */
static void read_and_or(struct shell_parser *p)
{
	bool skips = false;

	read_pipeline(p);
	const struct shell_known *known = p->known;
	for (;;) {
		shell_skip_blanks(p);
		bool and = shell_starts(p, "&&");
		if (!and&&!shell_starts(p, "||"))
			break;
		p->at += 2;
		skips = skips || !and;
		if (skips)
			p->known = known;
		shell_skip_newlines(p);
		read_pipeline(p);
	}
	p->known = known;
}

/* Behind a command; false if no other one can follow in the list. */
static bool read_separator(struct shell_parser *p)
{
	char c = shell_peek(p, 0);

	if (shell_at_end(p) || c == '\n' || (c == '#' && p->at && shell_is_blank(p->text.p[p->at - 1])))
		return true;
	if (c == '&' || (c == ';' && !at_closer(p))) {
		p->sink->script->has_background |= c == '&';
		p->at++;
		return true;
	}
	if (c == ')' || c == ';' || p->after_compound)
		return at_closer(p);
	return false;
}

size_t shell_read_list(struct shell_parser *p)
{
	size_t count = 0;

	if (!shell_enter(p))
		return 0;
	for (;;) {
		size_t line = p->at;
		shell_skip_newlines(p);
		if (p->depth == 1 && memchr(p->text.p + line, '\n', p->at - line))
			shell_end_line(p);
		if (shell_at_end(p) || at_closer(p))
			break;
		size_t before = p->at;
		const struct shell_known *known = p->known;
		read_and_or(p);
		count++;
		shell_skip_blanks(p);
		if (shell_peek(p, 0) == '&')
			p->known = known;
		if (!read_separator(p))
			shell_fail(p, "a separator is missing between two commands");
		if (p->at == before) {
			shell_fail(p, "something stands where a command is expected");
			p->at++;
		}
	}
	shell_leave(p);
	return count;
}

/* Characters that no honest command needs and that make the text look different from what it is. */
static const char *bad_character(struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (!c)
			return "it has a NUL byte";
		if (c == '\r')
			return "it has a carriage return";
		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
			return "it has a control character";
		/* U+202A..U+202E and U+2066..U+2069 turn the direction of the text around. */
		if (c == 0xe2 && text.n - i > 2) {
			unsigned char b = (unsigned char)text.p[i + 1];
			unsigned char d = (unsigned char)text.p[i + 2];
			if ((b == 0x80 && d >= 0xaa && d <= 0xae) || (b == 0x81 && d >= 0xa6 && d <= 0xa9))
				return "it has a character that changes the direction of the text";
		}
	}
	return utf8_valid(text) ? NULL : "it is not UTF-8";
}

static void read_text(struct shell_sink *sink, struct str text)
{
	struct shell_parser p = { .sink = sink, .text = text };

	while (!shell_at_end(&p)) {
		shell_read_list(&p);
		if (!shell_at_end(&p)) {
			shell_fail(&p, "something is closed that was not opened");
			shell_skip(&p, MAX(shell_peek_word(&p).n, (size_t)1));
		}
	}
	if (p.pending)
		shell_fail(&p, "a here-document has no body");
	shell_check_names(&p);
}

void shell_parse(struct arena *a, struct str text, struct shell_script *ret)
{
	struct shell_sink sink = { .arena = a, .script = ret };
	struct shell_parser p = { .sink = &sink, .text = text };
	const char *bad = bad_character(text);

	*ret = (struct shell_script){ .understood = true };
	if (bad)
		shell_fail(&p, bad);
	if (text.n > SHELL_MAX_BYTES)
		shell_fail(&p, "it is too long");
	read_text(&sink, text);
	/* Bash may have joined what was read here in two pieces: rules that forbid must see both. */
	if (!ret->understood && str_has(text, STR("\\\n"))) {
		char *joined = arena_alloc(a, text.n);
		size_t n = 0;
		for (size_t i = 0; i < text.n; i++) {
			if (text.p[i] == '\\' && i + 1 < text.n && text.p[i + 1] == '\n')
				i++;
			else
				joined[n++] = text.p[i];
		}
		read_text(&sink, (struct str){ joined, n });
	}
	buf_release(&sink.scratch);
}
