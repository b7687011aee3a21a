/* SPDX-License-Identifier: MIT
 * glob.c - path patterns. Braces are expanded first; each alternative is a flat list of operations.
 *
 * Matching needs only two places to go back to, the last * and the last **: an earlier * ended at a slash, which no
 * other choice can move, and what follows a ** may as well begin at its first possible place. So it is never worse than
 * the product of both lengths, for any pattern. */
#include "lib/match/glob.h"
#include "lib/base/buf.h"

enum glob_kind {
	OP_END, /* of an alternative */
	OP_CHAR,
	OP_ANY_CHAR, /* ? */
	OP_STAR,     /* any characters but slash */
	OP_CLASS,
	OP_DIRS, /* "**" + slash: any number of whole components, each with its slash */
	OP_REST, /* "**" at the end: everything, at least one character */
};

struct glob_op {
	uint8_t kind;
	unsigned char ch;
	uint32_t class[8]; /* one bit a byte; negation is resolved when compiling */
};

static struct glob_op *add_op(struct glob *g, enum glob_kind kind)
{
	struct glob_op *op = xpush(g->ops, g->count, g->cap);

	*op = (struct glob_op){ .kind = (uint8_t)kind };
	return op;
}

/* A character of a class at *at, with its escape. */
static bool class_char(struct str p, size_t *at, unsigned char *ret_ch)
{
	if (*at < p.n && p.p[*at] == '\\')
		(*at)++;
	if (*at >= p.n)
		return false;
	*ret_ch = (unsigned char)p.p[(*at)++];
	return true;
}

/* *at is behind the opening bracket. A closing one that comes first stands for itself. */
static int compile_class(struct glob *g, struct str p, size_t *at, struct err *err)
{
	struct glob_op *op = add_op(g, OP_CLASS);
	bool negated = *at < p.n && (p.p[*at] == '!' || p.p[*at] == '^');

	*at += negated;
	for (size_t first = *at; *at < p.n;) {
		unsigned char from;
		unsigned char to;
		if (p.p[*at] == ']' && *at > first) {
			(*at)++;
			if (negated)
				for (size_t i = 0; i < COUNT_OF(op->class); i++)
					op->class[i] = ~op->class[i];
			op->class['/' / 32] &= ~(1u << '/' % 32);
			return 0;
		}
		if (!class_char(p, at, &from))
			break;
		to = from;
		if (*at + 1 < p.n && p.p[*at] == '-' && p.p[*at + 1] != ']') {
			(*at)++;
			if (!class_char(p, at, &to))
				break;
		}
		if (to < from)
			return err_set(err, ERR_PARSE, "invalid range in glob '" STR_FMT "'", STR_ARG(p));
		for (unsigned c = from; c <= to; c++)
			op->class[c / 32] |= 1u << c % 32;
	}
	return err_set(err, ERR_PARSE, "unclosed character class in glob '" STR_FMT "'", STR_ARG(p));
}

/* At a star. Two stars between slashes or ends are special, other runs of stars are one star. */
static void compile_star(struct glob *g, struct str p, size_t *at)
{
	size_t n = 0;
	while (*at + n < p.n && p.p[*at + n] == '*')
		n++;
	bool component = n == 2 && (*at == 0 || p.p[*at - 1] == '/') && (*at + n == p.n || p.p[*at + n] == '/');
	*at += n;
	if (!component) {
		add_op(g, OP_STAR);
		return;
	}
	if (*at == p.n) {
		add_op(g, OP_REST);
		return;
	}
	(*at)++;
	add_op(g, OP_DIRS);
}

/* One alternative, without braces. */
static int compile_flat(struct glob *g, struct str p, struct err *err)
{
	for (size_t at = 0; at < p.n;) {
		char c = p.p[at];
		if (c == '*') {
			compile_star(g, p, &at);
			continue;
		}
		at++;
		if (c == '[') {
			int rc = compile_class(g, p, &at, err);
			if (rc < 0)
				return rc;
		} else if (c == '?') {
			add_op(g, OP_ANY_CHAR);
		} else {
			if (c == '\\' && at < p.n)
				c = p.p[at++];
			add_op(g, OP_CHAR)->ch = (unsigned char)c;
		}
	}
	add_op(g, OP_END);
	return 0;
}

/* Position behind the character at `at`: an escape and a class count as one. */
static size_t skip_one(struct str p, size_t at)
{
	if (p.p[at] == '\\')
		return MIN(at + 2, p.n);
	if (p.p[at] != '[')
		return at + 1;
	size_t end = at + 1 + (at + 1 < p.n && (p.p[at + 1] == '!' || p.p[at + 1] == '^'));
	for (size_t i = end; i < p.n; i += 1 + (p.p[i] == '\\'))
		if (p.p[i] == ']' && i > end)
			return i + 1;
	return at + 1;
}

/* The end of the brace group that opens at `at`: position of its closing brace, or p.n. */
static size_t brace_end(struct str p, size_t at)
{
	size_t depth = 0;

	for (; at < p.n; at = skip_one(p, at)) {
		depth += p.p[at] == '{';
		if (p.p[at] == '}' && --depth == 0)
			return at;
	}
	return p.n;
}

static int glob_expand(struct glob *g, struct str p, size_t *alternatives, struct err *err)
{
	size_t open = 0;
	while (open < p.n && p.p[open] != '{')
		open = skip_one(p, open);
	if (open >= p.n) {
		if (++*alternatives > GLOB_MAX_ALTERNATIVES)
			return err_set(err, ERR_LIMIT, "a glob has more than %d alternatives", GLOB_MAX_ALTERNATIVES);
		return compile_flat(g, p, err);
	}
	size_t close = brace_end(p, open);
	if (close == p.n)
		return err_set(err, ERR_PARSE, "unclosed alternate group in glob '" STR_FMT "'", STR_ARG(p));
	struct str before = { p.p, open };
	struct str after = { p.p + close + 1, p.n - close - 1 };
	size_t depth = 0;
	size_t start = open + 1;
	for (size_t at = start;; at = skip_one(p, at)) {
		if (at == close || (!depth && p.p[at] == ',')) {
			struct str part = { p.p + start, at - start };
			/* before + part + after, expanded further. */
			AUTO_BUF struct buf joined = { 0 };
			buf_append(&joined, before);
			buf_append(&joined, part);
			buf_append(&joined, after);
			int rc = glob_expand(g, buf_str(&joined), alternatives, err);
			if (rc < 0 || at == close)
				return rc;
			start = at + 1;
		}
		depth += p.p[at] == '{';
		depth -= p.p[at] == '}';
	}
}

int glob_compile(struct glob *g, struct str pattern, struct err *err)
{
	size_t alternatives = 0;

	*g = (struct glob){ 0 };
	if (pattern.n > GLOB_MAX_LENGTH)
		return err_set(err, ERR_LIMIT, "a glob is longer than %d bytes", GLOB_MAX_LENGTH);
	int rc = glob_expand(g, pattern, &alternatives, err);
	if (rc < 0)
		glob_release(g);
	return rc;
}

static bool one_matches(const struct glob_op *op, unsigned char c)
{
	switch (op->kind) {
	case OP_CHAR:
		return op->ch == c;
	case OP_ANY_CHAR:
		return c != '/';
	case OP_CLASS:
		return op->class[c / 32] >> c % 32 & 1;
	default:
		return false;
	}
}

struct resume {
	const struct glob_op *op; /* NULL: nowhere to go back to */
	size_t at;
};

/* Takes one more character or component and continues there. */
static bool glob_backtrack(struct resume *star, struct resume *dirs, struct str path, const struct glob_op **op,
			   size_t *at)
{
	if (star->op && star->at < path.n && path.p[star->at] != '/') {
		*at = ++star->at;
		*op = star->op;
		return true;
	}
	const char *slash = dirs->op && dirs->at < path.n ? memchr(path.p + dirs->at, '/', path.n - dirs->at) : NULL;
	if (!slash)
		return false;
	*at = dirs->at = (size_t)(slash - path.p) + 1;
	*op = dirs->op;
	star->op = NULL;
	return true;
}

static bool match_alternative(const struct glob_op *op, struct str path)
{
	struct resume star = { 0 };
	struct resume dirs = { 0 };
	size_t at = 0;

	for (;;) {
		if (op->kind == OP_STAR) {
			star = (struct resume){ ++op, at };
		} else if (op->kind == OP_DIRS) {
			dirs = (struct resume){ ++op, at };
			star.op = NULL;
		} else if (op->kind == OP_REST && at < path.n) {
			return true;
		} else if (op->kind == OP_END && at == path.n) {
			return true;
		} else if (at < path.n && one_matches(op, (unsigned char)path.p[at])) {
			op++;
			at++;
		} else if (!glob_backtrack(&star, &dirs, path, &op, &at)) {
			return false;
		}
	}
}

bool glob_match(const struct glob *g, struct str path)
{
	const struct glob_op *op = g->ops;
	const struct glob_op *end = op + g->count;

	while (op < end) {
		if (match_alternative(op, path))
			return true;
		while (op->kind != OP_END)
			op++;
		op++;
	}
	return false;
}

bool glob_cut(struct str *rest, struct str *ret_pattern)
{
	size_t n = 0;

	if (!rest->p)
		return false;
	for (int depth = 0; n < rest->n && (rest->p[n] != ',' || depth > 0); n++)
		depth += (rest->p[n] == '{') - (rest->p[n] == '}');
	*ret_pattern = (struct str){ rest->p, n };
	*rest = n < rest->n ? str_tail(*rest, n + 1) : (struct str){ 0 };
	return true;
}

struct str glob_static_prefix(struct str pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < pattern.n && !char_in(pattern.p[i], "*?[{\\"); i++)
		if (pattern.p[i] == '/')
			n = i;
	return (struct str){ pattern.p, n };
}

static bool is_escape(struct str pattern, size_t at)
{
	return pattern.p[at] == '\\' && at + 1 < pattern.n && (pattern.p[at + 1] == '*' || pattern.p[at + 1] == '\\');
}

/* Only the last * needs to be tried again: the text before it is matched at its first possible place, which leaves the most
 * for the rest. */
bool wildcard_match(struct str pattern, struct str text)
{
	size_t p = 0;
	size_t t = 0;
	size_t star = SIZE_MAX; /* behind the last *, in the pattern */
	size_t again = 0;       /* end of the text that this * has matched */

	for (;;) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = ++p;
			again = t;
			continue;
		}
		if (p == pattern.n && t == text.n)
			return true;
		size_t escape = p < pattern.n && is_escape(pattern, p);
		if (p < pattern.n && t < text.n && pattern.p[p + escape] == text.p[t]) {
			p += escape + 1;
			t++;
		} else if (star != SIZE_MAX && again < text.n) {
			p = star;
			t = ++again;
		} else {
			return false;
		}
	}
}

bool wildcard_is_plain(struct str pattern)
{
	for (size_t i = 0; i < pattern.n; i++)
		if (pattern.p[i] == '*' || is_escape(pattern, i))
			return false;
	return true;
}
