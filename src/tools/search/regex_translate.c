/* SPDX-License-Identifier: MIT
 * regex_translate.c - a pattern in ripgrep's regex syntax as one for PCRE2.
 *
 * One pass over the pattern copies it item by item. An item that could match a line feed is written so that it cannot:
 *     \s -> [^\S\n]    \W -> [^\w\n]    [^a] -> [^a\n]    [\s,] -> (?:(?!\n)[\s,])
 * On the way the literal characters outside of groups are collected; a quantifier ends a run of them. */
#include "tools/search/pattern.h"
#include "lib/base/utf8.h"

enum { MAX_DEPTH = 200 };

struct translator {
	struct str in;
	size_t at;
	bool multiline, nocase;
	struct regex *regex;
	struct buf *out;
	size_t depth;
	size_t groups[MAX_DEPTH]; /* where in out each open group begins */
	size_t atom;              /* where in out the last item begins; SIZE_MAX: there is none to repeat */
	bool repeated;            /* the last item is a repetition */
	size_t in_run;            /* bytes of the last item in run; 0: it is not a literal */
	struct buf run, best;     /* literals at depth 0 of this branch: the current run and the longest */
	bool plain;               /* this branch is literals only */
	bool all_plain;           /* and so were those before */
	bool no_needles;
	bool at_start; /* of a branch: nothing but assertions and opened groups so far */
	struct err *err;
};

static int translate_fail(struct translator *t, const char *why)
{
	return err_set(t->err, ERR_PARSE, "regex parse error at byte %zu of '%.*s': %s", t->at,
		       (int)utf8_cut(t->in, 120).n, t->in.p, why);
}

static char peek_char(const struct translator *t, size_t ahead)
{
	return t->at + ahead < t->in.n ? t->in.p[t->at + ahead] : '\0';
}

static void end_run(struct translator *t)
{
	if (t->run.n > t->best.n) {
		buf_clear(&t->best);
		buf_append(&t->best, buf_str(&t->run));
	}
	buf_clear(&t->run);
	t->in_run = 0;
}

/* An item that is not a literal begins. */
static void begin_atom(struct translator *t)
{
	end_run(t);
	t->plain = false;
	t->atom = t->out->n;
	t->repeated = false;
}

/* An item that takes characters, many different ones or few. */
static void note_start(struct translator *t, bool broad)
{
	t->regex->broad = t->regex->broad || (t->at_start && broad);
	t->at_start = false;
}

static int add_literal(struct translator *t, uint32_t cp)
{
	char bytes[4];
	size_t n = utf8_encode(cp, bytes);

	if (cp == '\n' && !t->multiline)
		return translate_fail(t,
				      "a line feed is not allowed in the pattern; set multiline to match across lines");
	t->regex->crosses = t->regex->crosses || cp == '\n';
	note_start(t, false);
	t->atom = t->out->n;
	t->repeated = false;
	if (cp >= 0x80)
		t->regex->ascii = false;
	if (cp < 0x80 && !memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ", (int)cp, 64))
		buf_addf(t->out, "\\x%02x", cp);
	else
		buf_add(t->out, bytes, n);
	/* With -i, K and S have relatives outside of ASCII (the Kelvin sign, the long s), so a needle stops at them. */
	if (t->depth || (t->nocase && (cp >= 0x80 || char_in((char)cp, "kKsS")))) {
		end_run(t);
		t->plain = false;
		return 0;
	}
	buf_add(&t->run, bytes, n);
	t->in_run = n;
	return 0;
}

/* \xHH, \x{H..}, \uHHHH, \u{H..}, \UHHHHHHHH; at is behind the letter. */
static int parse_hex(struct translator *t, size_t digits, uint32_t *ret_cp)
{
	uint32_t cp = 0;
	size_t seen = 0;
	bool braces = peek_char(t, 0) == '{';

	t->at += braces;
	for (; braces ? seen <= 8 : seen < digits; seen++, t->at++) {
		char c = peek_char(t, 0);
		uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)c - '0' : (uint32_t)(c | 0x20) - 'a' + 10;
		if (digit > 15)
			break;
		cp = cp << 4 | digit;
	}
	if (!seen || seen > 8 || (!braces && seen < digits) || (braces && peek_char(t, 0) != '}'))
		return translate_fail(t, "invalid hexadecimal escape");
	t->at += braces;
	if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return translate_fail(t, "not a Unicode character");
	*ret_cp = cp;
	return 0;
}

/* The character that an escape stands for, at being at the letter; *ret_known false: it is not a single character. */
static int parse_char_escape(struct translator *t, uint32_t *ret_cp, bool *ret_known)
{
	static const char names[] = "ntrfva";
	static const char values[] = "\n\t\r\f\v\a";
	char c = peek_char(t, 0);
	const char *named = char_find(c, names);

	*ret_known = true;
	if (c == 'x' || c == 'u' || c == 'U') {
		t->at++;
		return parse_hex(t, c == 'x' ? 2 : c == 'u' ? 4 : 8, ret_cp);
	}
	if (named ||
	    (c > ' ' && c < 0x7f && !char_in(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")) ||
	    c == ' ') {
		t->at++;
		*ret_cp = named ? (unsigned char)values[named - names] : (unsigned char)c;
		return 0;
	}
	*ret_known = false;
	return 0;
}

/* \p{..} or \pL, at being at the letter; appended to out. */
static int copy_property(struct translator *t)
{
	size_t n = 2;
	if (peek_char(t, 1) == '{') {
		const char *end = memchr(t->in.p + t->at, '}', t->in.n - t->at);
		if (!end)
			return translate_fail(t, "unclosed property name");
		n = (size_t)(end - t->in.p) - t->at + 1;
	} else if (!peek_char(t, 1)) {
		return translate_fail(t, "property name missing");
	}
	t->regex->ascii = false;
	buf_addch(t->out, '\\');
	buf_add(t->out, t->in.p + t->at, n);
	t->at += n;
	return 0;
}

/* Whether the property at hand can match a line feed: not if it is one of the general categories but C. */
static bool property_matches_lf(const struct translator *t)
{
	bool braces = peek_char(t, 1) == '{';
	char category = peek_char(t, 1 + braces);
	bool is_category = !braces || peek_char(t, 3) == '}' || peek_char(t, 4) == '}';

	return !is_category || !category || !char_in(category, "LMNPSZ") || peek_char(t, 0) == 'P';
}

/* Escapes that do not stand for a character: classes and assertions. */
static const struct escape {
	char letter;
	bool alone;
	const char *line; /* where no line feed may match */
	const char *multi;
} escapes[] = {
	{ 'd', false, "\\d", "\\d" },
	{ 'D', false, "[^\\d\\n]", "\\D" },
	{ 'w', false, "\\w", "\\w" },
	{ 'W', false, "[^\\w\\n]", "\\W" },
	{ 's', false, "[^\\S\\n]", "\\s" },
	{ 'S', false, "\\S", "\\S" },
	{ 'b', false, "\\b", "\\b" },
	{ 'B', false, "\\B", "\\B" },
	{ 'A', true, "\\A", "\\A" },
	{ 'z', true, "\\z", "\\z" },
	{ '<', false, "\\b(?=\\w)", "\\b(?=\\w)" },
	{ '>', false, "\\b(?<=\\w)", "\\b(?<=\\w)" },
};

static int translate_escape(struct translator *t)
{
	uint32_t cp;
	bool known;

	t->at++;
	char c = peek_char(t, 0);
	for (size_t i = 0; i < COUNT_OF(escapes); i++) {
		if (c != escapes[i].letter)
			continue;
		begin_atom(t);
		if (char_in(c, "dDwWsS"))
			note_start(t, c != 'd');
		buf_addstr(t->out, t->multiline ? escapes[i].multi : escapes[i].line);
		t->regex->alone = t->regex->alone || escapes[i].alone;
		/* An escape that is written differently for lines matches a line feed. */
		t->regex->crosses = t->regex->crosses || (t->multiline && strcmp(escapes[i].line, escapes[i].multi));
		t->at++;
		return 0;
	}
	if (c == 'p' || c == 'P') {
		bool has_lf = property_matches_lf(t);
		bool narrow = has_lf && !t->multiline;
		begin_atom(t);
		note_start(t, true);
		t->regex->crosses = t->regex->crosses || (has_lf && t->multiline);
		buf_addstr(t->out, narrow ? "(?:(?!\\n)" : "");
		int rc = copy_property(t);
		buf_addstr(t->out, narrow ? ")" : "");
		return rc;
	}
	if (c >= '1' && c <= '9') {
		begin_atom(t);
		buf_addf(t->out, "\\g{%c}", c);
		t->regex->alone = true;
		t->at++;
		return 0;
	}
	int rc = parse_char_escape(t, &cp, &known);
	if (rc < 0)
		return rc;
	return known ? add_literal(t, cp) : translate_fail(t, "unrecognized escape sequence");
}

/* What a class has besides plain characters. */
struct class_state {
	bool negated;
	bool empty;        /* nothing but line feeds, which were dropped */
	bool may_match_lf; /* through a range or an escape */
	bool has_lf;
	bool has_escape; /* \\w and its like */
};

static uint32_t take_char(struct translator *t)
{
	const unsigned char *p = (const unsigned char *)t->in.p + t->at;
	size_t n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	uint32_t cp = n == 1 ? *p : *p & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		cp = cp << 6 | (p[i] & 0x3f);
	t->at += n;
	return cp;
}

/* One character of a class, escaped or not; *ret_is_char false: the escape was a class and is written already. */
static int class_item(struct translator *t, struct class_state *s, uint32_t *ret_cp, bool *ret_is_char)
{
	*ret_is_char = peek_char(t, 0) != '\\';
	if (*ret_is_char) {
		*ret_cp = take_char(t);
		return 0;
	}
	t->at++;
	char c = peek_char(t, 0);
	if (char_in(c, "dws")) {
		s->may_match_lf = s->may_match_lf || c == 's';
	} else if (char_in(c, "DWS")) {
		s->may_match_lf = s->may_match_lf || c != 'S';
	} else if (c == 'p' || c == 'P') {
		s->may_match_lf = s->may_match_lf || property_matches_lf(t);
		return copy_property(t);
	} else {
		int rc = parse_char_escape(t, ret_cp, ret_is_char);
		return rc < 0 ? rc : *ret_is_char ? 0 : translate_fail(t, "unrecognized escape sequence in a class");
	}
	s->has_escape = s->has_escape || c != 'd';
	buf_addf(t->out, "\\%c", c);
	t->at++;
	return 0;
}

static void add_class_char(struct translator *t, uint32_t cp)
{
	buf_addf(t->out, "\\x{%x}", cp);
	if (cp >= 0x80)
		t->regex->ascii = false;
}

/* A character or a range of them. */
static int class_range(struct translator *t, struct class_state *s)
{
	uint32_t from = 0;
	uint32_t to = 0;
	bool is_char;

	int rc = class_item(t, s, &from, &is_char);
	if (rc < 0 || !is_char) {
		s->empty = false;
		return rc;
	}
	if (peek_char(t, 0) != '-' || peek_char(t, 1) == ']' || t->at + 1 >= t->in.n) {
		s->has_lf = s->has_lf || from == '\n';
		if (from == '\n' && !t->multiline)
			return 0;
		s->empty = false;
		add_class_char(t, from);
		return 0;
	}
	t->at++;
	rc = class_item(t, s, &to, &is_char);
	if (rc < 0)
		return rc;
	if (!is_char || to < from)
		return translate_fail(t, "invalid range in a class");
	s->empty = false;
	s->may_match_lf = s->may_match_lf || (from <= '\n' && to >= '\n');
	add_class_char(t, from);
	buf_addch(t->out, '-');
	add_class_char(t, to);
	return 0;
}

/* Named classes are ASCII here; to PCRE2 they would be Unicode. */
static const struct {
	const char *name, *ranges;
	bool has_lf;
} named_classes[] = {
	{ "[:alnum:]", "0-9A-Za-z", false },
	{ "[:alpha:]", "A-Za-z", false },
	{ "[:ascii:]", "\\x00-\\x7f", true },
	{ "[:blank:]", "\\t\\x20", false },
	{ "[:cntrl:]", "\\x00-\\x1f\\x7f", true },
	{ "[:digit:]", "0-9", false },
	{ "[:graph:]", "!-~", false },
	{ "[:lower:]", "a-z", false },
	{ "[:print:]", "\\x20-~", false },
	{ "[:punct:]", "!-\\/:-@\\[-`{-~", false },
	{ "[:space:]", "\\t-\\r\\x20", true },
	{ "[:upper:]", "A-Z", false },
	{ "[:word:]", "0-9A-Z_a-z", false },
	{ "[:xdigit:]", "0-9A-Fa-f", false },
};

/* False: no named class begins here. */
static bool class_named(struct translator *t, struct class_state *s)
{
	struct str rest = { t->in.p + t->at, t->in.n - t->at };

	for (size_t i = 0; i < COUNT_OF(named_classes); i++) {
		if (!str_starts(rest, str_from(named_classes[i].name)))
			continue;
		buf_addstr(t->out, named_classes[i].ranges);
		t->at += strlen(named_classes[i].name);
		s->may_match_lf = s->may_match_lf || named_classes[i].has_lf;
		s->empty = false;
		return true;
	}
	return false;
}

static int class_items(struct translator *t, struct class_state *s)
{
	for (bool first = true; first || peek_char(t, 0) != ']'; first = false) {
		if (t->at >= t->in.n)
			return translate_fail(t, "unclosed character class");
		if (peek_char(t, 0) == '&' && peek_char(t, 1) == '&')
			return translate_fail(t, "intersections of classes (&&) are not supported");
		int rc = class_named(t, s) ? 0 : class_range(t, s);
		if (rc < 0)
			return rc;
	}
	t->at++;
	return 0;
}

static int translate_class(struct translator *t)
{
	AUTO_BUF struct buf items = { 0 };
	struct class_state s = { .empty = true };
	struct buf *out = t->out;

	begin_atom(t);
	t->at++;
	s.negated = peek_char(t, 0) == '^';
	t->at += s.negated;
	t->out = &items;
	int rc = class_items(t, &s);
	t->out = out;
	if (rc < 0)
		return rc;
	if (s.empty && !s.negated)
		return translate_fail(t,
				      "a line feed is not allowed in the pattern; set multiline to match across lines");
	note_start(t, s.negated || s.has_escape);
	bool narrow = !t->multiline && !s.negated && s.may_match_lf;
	if (t->multiline && (s.negated ? !s.has_lf : s.may_match_lf || s.has_lf))
		t->regex->crosses = true;
	buf_addf(out, "%s[%s%s%s]%s", narrow ? "(?:(?!\\n)" : "", s.negated ? "^" : "", buf_str(&items).p,
		 s.negated && !t->multiline ? "\\n" : "", narrow ? ")" : "");
	return 0;
}

/* (?flags) or (?flags: ; at is at the parenthesis. */
static int translate_flags(struct translator *t)
{
	char c;

	buf_addstr(t->out, "(?");
	for (t->at += 2; (c = peek_char(t, 0)) != ')' && c != ':'; t->at++) {
		if (!char_in(c, "imsU-"))
			return translate_fail(t, "unsupported flag or group");
		t->no_needles = t->no_needles || c == 'i';
		t->regex->alone = t->regex->alone || c == '-'; /* (?-m): then ^ is the start of what is searched */
		if (c != 's' || t->multiline)                  /* without multiline a dot never matches a line feed */
			buf_addch(t->out, c);
	}
	buf_addch(t->out, c);
	t->depth += c == ':';
	t->atom = SIZE_MAX;
	t->at++;
	return 0;
}

static int open_group(struct translator *t)
{
	static const char *const looks[] = { "?=", "?!", "?<=", "?<!" };
	struct str rest = { t->in.p + t->at + 1, t->in.n - t->at - 1 };
	size_t copied = 0;

	if (t->depth == MAX_DEPTH)
		return translate_fail(t, "groups are nested too deeply");
	begin_atom(t);
	t->groups[t->depth] = t->out->n;
	if (rest.n && rest.p[0] == '?') {
		for (size_t i = 0; i < COUNT_OF(looks) && !copied; i++)
			copied = str_starts(rest, str_from(looks[i])) ? strlen(looks[i]) : 0;
		t->regex->alone = t->regex->alone || copied;
		if (!copied && (str_starts(rest, STR("?P<")) || str_starts(rest, STR("?<")))) {
			const char *end = memchr(rest.p, '>', rest.n);
			if (!end)
				return translate_fail(t, "unclosed group name");
			copied = (size_t)(end - rest.p) + 1;
		}
		if (!copied)
			return translate_flags(t);
	}
	t->depth++;
	buf_addch(t->out, '(');
	buf_add(t->out, rest.p, copied);
	t->at += 1 + copied;
	t->atom = SIZE_MAX;
	return 0;
}

/* A branch at depth 0 is over: its longest literal becomes a needle. */
static void end_branch(struct translator *t)
{
	struct regex *r = t->regex;

	end_run(t);
	t->all_plain = t->all_plain && t->plain && t->best.n;
	t->plain = true;
	t->at_start = true;
	if (!t->best.n || r->needle_count == REGEX_MAX_NEEDLES)
		t->no_needles = true;
	if (t->no_needles) {
		buf_clear(&t->best);
		return;
	}
	r->needles[r->needle_count++] = t->best;
	t->best = (struct buf){ 0 };
}

/* Length of {n}, {n,} or {n,m} at the opening brace; 0: something else. *ret_least is n. */
static size_t repetition_len(const struct translator *t, uint64_t *ret_least)
{
	const char *end = memchr(t->in.p + t->at, '}', t->in.n - t->at);
	if (!end)
		return 0;
	struct str most = { t->in.p + t->at + 1, (size_t)(end - t->in.p) - t->at - 1 };
	size_t n = most.n + 2;
	uint64_t ignored;
	struct str least = str_cut(&most, ',');
	if (!str_to_u64(least, ret_least) || (most.n && !str_to_u64(most, &ignored)))
		return 0;
	return n;
}

static int translate_repetition(struct translator *t, size_t n, uint64_t least)
{
	if (t->atom == SIZE_MAX)
		return translate_fail(t, "repetition operator missing expression");
	if (t->repeated) { /* legal here, but something else to PCRE2 (a++): the inner one gets a group */
		AUTO_BUF struct buf inner = { 0 };
		buf_add(&inner, t->out->p + t->atom, t->out->n - t->atom);
		t->out->n = t->atom;
		buf_addf(t->out, "(?:%s)", inner.p);
	}
	if (!least)
		t->run.n -= t->in_run; /* the character need not be there */
	size_t atom = t->atom;
	end_run(t);
	t->plain = false;
	buf_add(t->out, t->in.p + t->at, n);
	t->at += n;
	if (peek_char(t, 0) == '?') {
		buf_addch(t->out, '?');
		t->at++;
	}
	t->atom = atom;
	t->repeated = true;
	return 0;
}

static int translate_item(struct translator *t)
{
	char c = peek_char(t, 0);
	uint64_t least = 0;
	size_t n;

	switch (c) {
	case '\\':
		return translate_escape(t);
	case '[':
		return translate_class(t);
	case '(':
		return open_group(t);
	case ')':
		if (!t->depth)
			return translate_fail(t, "unopened group");
		begin_atom(t);
		t->atom = t->groups[--t->depth];
		buf_addch(t->out, ')');
		t->at++;
		return 0;
	case '*':
	case '?':
		return translate_repetition(t, 1, 0);
	case '+':
		return translate_repetition(t, 1, 1);
	case '{':
		n = repetition_len(t, &least);
		if (n)
			return translate_repetition(t, n, least);
		break;
	case '|':
		if (t->depth)
			begin_atom(t);
		else
			end_branch(t);
		t->atom = SIZE_MAX;
		buf_addch(t->out, c);
		t->at++;
		return 0;
	case '.':
		note_start(t, true);
		t->regex->crosses = t->regex->crosses || t->multiline;
		/* fall through */
	case '^':
	case '$':
		begin_atom(t);
		buf_addch(t->out, c);
		t->at++;
		return 0;
	default:
		break;
	}
	return add_literal(t, take_char(t));
}

int regex_translate(struct regex *regex, struct str pattern, unsigned flags, struct err *err)
{
	AUTO_BUF struct buf valid = { 0 };

	*regex = (struct regex){ .ascii = true };
	if (pattern.n > REGEX_MAX_LENGTH)
		return err_set(err, ERR_LIMIT, "the pattern is longer than %d KB", REGEX_MAX_LENGTH / 1024);
	utf8_add_repaired(&valid, pattern);
	struct translator t = {
		.in = buf_str(&valid),
		.multiline = flags & REGEX_MULTILINE,
		.nocase = flags & REGEX_NOCASE,
		.regex = regex,
		.out = &regex->pcre,
		.atom = SIZE_MAX,
		.plain = true,
		.all_plain = true,
		.at_start = true,
		.err = err,
	};
	int rc = 0;
	while (rc == 0 && t.at < t.in.n)
		rc = translate_item(&t);
	if (rc == 0 && t.depth)
		rc = translate_fail(&t, "unclosed group");
	end_branch(&t);
	if (t.no_needles)
		regex->needle_count = 0;
	regex->exact = t.all_plain && regex->needle_count && !t.nocase;
	buf_release(&t.run);
	buf_release(&t.best);
	return rc;
}

void regex_release(struct regex *regex)
{
	buf_release(&regex->pcre);
	for (size_t i = 0; i < REGEX_MAX_NEEDLES; i++)
		buf_release(&regex->needles[i]);
}
