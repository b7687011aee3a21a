/* SPDX-License-Identifier: MIT
 * frontmatter_scan.c - decodes a file, finds its frontmatter and the keys in it, has it read as YAML or else by line, and
 * looks for restrictions that were lost on the way. */
#include "config/catalog/frontmatter_int.h"
#include "lib/base/utf8.h"

/* Where the frontmatter is */
struct source_pos {
	struct str text; /* its lines without the dashes, dedented */
	unsigned line;   /* of the first of them */
	struct str body;
	unsigned body_line;
	bool found, closed;
};

static struct str decode_text(struct arena *arena, struct str bytes, struct diagnostics *d)
{
	AUTO_BUF struct buf wide = { 0 }, valid = { 0 };
	size_t mark_len, n = 0;
	struct str text = bytes.n ? bytes : STR("");
	enum text_encoding encoding = text_encoding_of(text, &mark_len);

	text = str_tail(text, mark_len);
	if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE) {
		bool exact;
		utf16_decode(text, encoding, &wide, &exact);
		diagnostics_add(d, DIAGNOSTIC_NOTE, 1, "the file is UTF-16; it was read as UTF-8");
		text = arena_str(arena, buf_str(&wide));
	}
	if (!utf8_valid(text)) {
		unsigned line = 1;
		for (size_t i = utf8_valid_prefix(text.p, text.n); i-- > 0;)
			line += text.p[i] == '\n';
		utf8_add_repaired(&valid, text);
		diagnostics_add(d, DIAGNOSTIC_NOTE, line, "bytes that are not UTF-8 were replaced");
		text = arena_str(arena, buf_str(&valid));
	}
	if (!text.n || !memchr(text.p, '\r', text.n))
		return text;
	char *out = arena_alloc(arena, text.n + 1);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '\r')
			out[n++] = text.p[i];
		else if (i + 1 == text.n || text.p[i + 1] != '\n')
			out[n++] = '\n';
	}
	return (struct str){ out, n };
}

struct str fm_trim(struct str s)
{
	static const char *const blanks[] = { " ", "\t", "\n", "\r", "\v", "\f", "\xc2\xa0", "\xef\xbb\xbf" };

	for (size_t i = 0; i < COUNT_OF(blanks);) {
		struct str blank = str_from(blanks[i++]);
		bool first = str_starts(s, blank);
		if (!first && !str_ends(s, blank))
			continue;
		s = (struct str){ s.p + (first ? blank.n : 0), s.n - blank.n };
		i = 0;
	}
	return s;
}

/* People write `Tools :`, `"tools":`, `tools:Read` and a no-break space behind the colon; and they write prose with
 * colons in it, which must not be taken for fields. */

/* Words that begin a line of dialogue or explanation in descriptions, and name no field that is known. */
static const char prose[] =
	"user|assistant|human|system|context|example|examples|commentary|note|notes|tip|warning|result|"
	"question|important|answer|response|reasoning|e.g|i.e|scenario|situation|http|https|mailto";

static struct str skip_blanks(struct str s)
{
	for (;;) {
		if (s.n && fm_blank(s.p[0]))
			s = str_tail(s, 1);
		else if (str_starts(s, STR("\xc2\xa0")))
			s = str_tail(s, 2);
		else
			return s;
	}
}

/* The word at the start of s, in quotes or not; *rest is what follows. */
static bool take_word(struct str s, struct str *ret_word, struct str *rest)
{
	char quote = s.n && (s.p[0] == '"' || s.p[0] == '\'') ? s.p[0] : '\0';
	size_t n = 0;

	if (quote)
		s = str_tail(s, 1);
	while (n < s.n && (((s.p[n] | 0x20) >= 'a' && (s.p[n] | 0x20) <= 'z') || char_in(s.p[n], "0123456789_-.")))
		n++;
	if (!n || s.p[0] == '-' || s.p[0] == '.' || (quote && (n == s.n || s.p[n] != quote)))
		return false;
	*ret_word = (struct str){ s.p, n };
	*rest = skip_blanks(str_tail(s, n + (quote != '\0')));
	return true;
}

bool fm_key(struct str line, const struct definition_field *known, struct fm_key *ret)
{
	struct str word, rest;

	if (!take_word(line, &word, &rest) || !rest.n || rest.p[0] != ':')
		return false;
	rest = str_tail(rest, 1);
	unsigned flags = fm_flags(known, word);
	/* Unknown keys need the look of one: lower case first, and a blank behind the colon. */
	bool apart = !rest.n || fm_blank(rest.p[0]) || str_starts(rest, STR("\xc2\xa0"));
	if (!flags && (!apart || word.p[0] < 'a' || word.p[0] > 'z'))
		return false;
	if (!flags && str_is_one_of_nocase(word, prose))
		return false;
	*ret = (struct fm_key){ word, flags, skip_blanks(rest) };
	return true;
}

/* Blank lines, whole HTML comments and one code fence may stand before it. It closes at a whole line `---` or `...`,
 * never in the middle of a line; at four or more dashes only if all before looks like keys. One that never closes is
 * its leading run of key lines, and then no restriction may stand anywhere below: its place cannot be known. */

struct cursor {
	struct str rest; /* p == NULL: at the end */
	unsigned line;   /* of the next line to come */
};

static struct str next_line(struct cursor *c)
{
	c->line++;
	return str_cut(&c->rest, '\n');
}

static size_t line_indentation(struct str line)
{
	size_t n = 0;

	while (n < line.n && fm_blank(line.p[n]))
		n++;
	return n;
}

static struct str line_unindented(struct str line, size_t amount)
{
	size_t n = MIN(line_indentation(line), amount);

	return str_tail(line, n);
}

static bool is_blank_line(struct str line)
{
	return line_indentation(line) == line.n;
}

/* Number of dashes of a line that has nothing else, but blanks behind them. */
static size_t count_dashes(struct str line)
{
	size_t n = 0;

	while (n < line.n && line.p[n] == '-')
		n++;
	return is_blank_line(str_tail(line, n)) ? n : 0;
}

static bool is_close(struct str line)
{
	return count_dashes(line) == 3 || (str_starts(line, STR("...")) && is_blank_line(str_tail(line, 3)));
}

static bool is_fence(struct str line)
{
	struct str s = str_trim(line);

	return str_starts(s, STR("```")) || str_starts(s, STR("~~~"));
}

/* Moves *c behind a comment that begins with its next line and has its last line to itself. */
static bool skip_comment(struct cursor *c)
{
	struct cursor at = *c;

	if (!str_starts(str_trim((struct str){ at.rest.p, MIN(at.rest.n, (size_t)64) }), STR("<!--")))
		return false;
	while (at.rest.p) {
		struct str line = next_line(&at);
		if (str_has(line, STR("-->"))) {
			*c = at;
			return str_ends(str_trim(line), STR("-->"));
		}
	}
	return false;
}

/* Moves *c to the opening dashes, if there are any; *ret_fenced: a code fence stands around all. */
static bool find_open(struct cursor *c, bool *ret_fenced, size_t *ret_indent)
{
	*ret_fenced = false;
	while (c->rest.p) {
		struct cursor after = *c;
		struct str line = next_line(&after);
		struct str bare = line_unindented(line, SIZE_MAX);
		if (count_dashes(bare) == 3) {
			*ret_indent = line_indentation(line);
			*c = after;
			return true;
		}
		if (is_fence(line) && !*ret_fenced)
			*ret_fenced = true;
		else if (!is_blank_line(line)) {
			if (!skip_comment(c))
				return false;
			continue;
		}
		*c = after;
	}
	return false;
}

struct look {
	const struct definition_field *known;
	bool any_key;
	bool after_blank;
};

/* Whether a line can stand in a tidy frontmatter: a key, what belongs to the key before, a comment, nothing. */
static bool looks_tidy(struct look *look, struct str line)
{
	struct fm_key key;
	bool blank = is_blank_line(line), after_blank = look->after_blank;

	look->after_blank = blank;
	if (blank)
		return true;
	if (line.p[0] == '#') /* behind a blank line it is as well a heading of the body */
		return !after_blank;
	if (look->any_key && (fm_blank(line.p[0]) || str_starts(line, STR("- "))))
		return true;
	look->any_key = fm_key(line, look->known, &key) || look->any_key;
	return fm_key(line, look->known, &key);
}

/* Behind four dashes: do more keys follow, up to a proper close? Then the dashes were an ornament between keys. */
static bool keys_go_on(struct cursor at, size_t indent, const struct definition_field *known)
{
	struct look look = { .known = known };

	while (at.rest.p) {
		struct str line = line_unindented(next_line(&at), indent);
		if (is_close(line))
			return look.any_key;
		if (!looks_tidy(&look, line))
			return false;
	}
	return false;
}

/* Leaves *c behind the closing line and gives the end of the text before it; NULL if nothing closes. */
static const char *find_close(struct cursor *c, size_t indent, const struct definition_field *known)
{
	struct look look = { .known = known };
	bool tidy = true;

	while (c->rest.p) {
		struct str whole = next_line(c), line = line_unindented(whole, indent);
		if (is_close(line))
			return whole.p;
		if (count_dashes(line) > 3 && tidy && look.any_key && !keys_go_on(*c, indent, known))
			return whole.p;
		tidy = tidy && looks_tidy(&look, line);
	}
	return NULL;
}

static const char *find_run(struct cursor *c, size_t indent, const struct definition_field *known)
{
	struct look look = { .known = known };
	struct cursor end = *c;

	for (struct cursor at = *c; at.rest.p;) {
		struct str line = line_unindented(next_line(&at), indent);
		if (!looks_tidy(&look, line))
			break;
		if (!is_blank_line(line))
			end = at;
	}
	*c = end;
	return end.rest.p;
}

static struct str text_dedented(struct arena *arena, struct str text, size_t amount)
{
	if (!amount)
		return text;
	char *out = arena_alloc(arena, text.n + 1);
	size_t n = 0;
	for (struct str rest = text; rest.p;) {
		struct str line = line_unindented(str_cut(&rest, '\n'), amount);
		memcpy(out + n, line.p, line.n);
		n += line.n;
		if (rest.p)
			out[n++] = '\n';
	}
	return (struct str){ out, n };
}

/* A fence that was opened before the frontmatter ends right behind it, or with the file. */
static struct str without_fence(struct str body)
{
	struct str rest = body, first = str_cut(&rest, '\n');
	const char *last = body.n ? memrchr(body.p, '\n', body.n) : NULL;

	if (is_fence(first) && str_trim(first).n == 3)
		return rest.p ? fm_trim(rest) : STR("");
	if (last && is_fence((struct str){ last + 1, (size_t)(body.p + body.n - last - 1) }))
		return fm_trim(str_between(body.p, last));
	return body;
}

static struct source_pos find_frontmatter(struct fm_reader *r, struct str text)
{
	struct source_pos pos = { .body = fm_trim(text) };
	struct cursor c = { text, 1 };
	bool fenced;
	size_t indent;

	if (!find_open(&c, &fenced, &indent))
		return pos;
	const char *from = c.rest.p ? c.rest.p : text.p + text.n;
	struct cursor after = c;
	const char *end = find_close(&after, indent, r->known);
	pos.found = true;
	pos.line = c.line;
	pos.closed = end != NULL;
	if (!end) {
		after = c;
		end = find_run(&after, indent, r->known);
		diagnostics_add(r->diagnostics, DIAGNOSTIC_WARNING, c.line - 1,
				"the frontmatter is never closed with ---; the lines that look like keys were taken");
	}
	if (!end) /* the run goes to the end of the file */
		end = text.p + text.n;
	struct str head = { from, (size_t)(end - from) };
	size_t own = 0; /* its indentation is that of its first line with something in it */
	for (struct str rest = head; rest.p;) {
		struct str line = str_cut(&rest, '\n');
		own = line_indentation(line);
		if (own < line.n && line.p[own] != '#')
			break;
	}
	pos.text = text_dedented(r->arena, head, own);
	pos.body = after.rest.p ? fm_trim(after.rest) : STR("");
	pos.body_line = after.line;
	for (const char *p = after.rest.p; p && p < pos.body.p; p++)
		pos.body_line += *p == '\n';
	if (indent && after.rest.p)
		pos.body = fm_trim(text_dedented(r->arena, after.rest, indent));
	if (fenced)
		pos.body = without_fence(pos.body);
	if (c.line > 2 || indent)
		diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c.line - 1,
				"the frontmatter does not begin in the first line and column");
	return pos;
}

/* Restrictions must have become fields however the text was read: a quote that swallows the line of `tools` can
 * be perfectly good YAML. */
static void find_lost(struct frontmatter *fm, struct fm_reader *r, struct str text, unsigned line)
{
	enum { MOST_LOST = 32 };

	for (struct str rest = text; rest.p; line++) {
		struct str key, behind, at = str_cut(&rest, '\n');
		bool explicit = at.n > 1 && at.p[0] == '?' && fm_blank(at.p[1]);
		if (explicit)
			at = skip_blanks(str_tail(at, 1));
		bool lost = take_word(at, &key, &behind) && (behind.n ? behind.p[0] == ':' : explicit) &&
			    fm_flags(r->known, key) & FRONTMATTER_RESTRICTION;
		for (size_t i = 0; lost && i < r->count; i++)
			lost = r->fields[i].line != line || !str_eq(r->fields[i].key, key);
		if (!lost || fm->lost_count == MOST_LOST)
			continue;
		if (!fm->lost)
			fm->lost = arena_alloc(r->arena, MOST_LOST * sizeof *fm->lost);
		fm->lost[fm->lost_count++] = (struct frontmatter_line){ arena_str(r->arena, key), line };
	}
}

static void read_fields(struct frontmatter *fm, struct fm_reader *r, const struct source_pos *pos)
{
	struct fm_problem why;

	if (pos->text.n > FRONTMATTER_LIMIT_BYTES) {
		diagnostics_add(r->diagnostics, DIAGNOSTIC_ERROR, pos->line, "the frontmatter is longer than %d KB",
				FRONTMATTER_LIMIT_BYTES >> 10);
		return;
	}
	if (fm_yaml(r, pos->text, pos->line, &why))
		return;
	/* A mapping in braces has no lines that recovery could use. */
	struct str rest = pos->text, line = { 0 };
	while (rest.p && (!line.n || line.p[0] == '#'))
		line = str_trim(str_cut(&rest, '\n'));
	if (line.n && line.p[0] == '{') {
		diagnostics_add(r->diagnostics, DIAGNOSTIC_ERROR, why.line, "the frontmatter is not YAML: %s",
				why.what);
		return;
	}
	fm->recovered = true;
	diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, why.line, "not YAML (%s); read line by line", why.what);
	fm_recover(r, pos->text, pos->line);
}

void frontmatter_read(struct frontmatter *ret, struct arena *arena, struct str bytes,
		      const struct definition_field *fields, struct diagnostics *diagnostics)
{
	struct fm_reader r = { .arena = arena, .known = fields, .diagnostics = diagnostics };
	struct source_pos pos = find_frontmatter(&r, decode_text(arena, bytes, diagnostics));

	*ret = (struct frontmatter){ .found = pos.found, .body = pos.body };
	if (!pos.found)
		return;
	read_fields(ret, &r, &pos);
	find_lost(ret, &r, pos.text, pos.line);
	if (!pos.closed)
		find_lost(ret, &r, pos.body, pos.body_line);
	ret->fields = r.fields;
	ret->field_count = r.count;
	buf_release(&r.json);
}

const struct definition_field *definition_field_find(const struct definition_field *fields, struct str key)
{
	for (const struct definition_field *f = fields; key.n && f->name; f++) {
		if ((key.p[0] | 0x20) != (f->name[0] | 0x20))
			continue;
		if (str_is_nocase(key, f->name))
			return f;
		for (size_t i = 0; i < FRONTMATTER_ALIASES && f->aliases[i]; i++)
			if (str_is_nocase(key, f->aliases[i]))
				return f;
	}
	return NULL;
}

unsigned fm_flags(const struct definition_field *known, struct str key)
{
	const struct definition_field *f = known ? definition_field_find(known, key) : NULL;

	return f ? f->flags : known ? 0 : FRONTMATTER_KNOWN;
}

const char *frontmatter_text(const struct json *value, struct arena *arena, struct arena *scratch)
{
	struct str text = { 0 };

	if (json_is(value, JSON_STRING))
		text = str_trim(json_str(value, scratch));
	else if (json_is(value, JSON_NUMBER) || json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
		text = json_raw(value);
	if (!text.n)
		return NULL;
	char *copy = arena_dup(arena, text.p, text.n);
	for (char *nul; (nul = memchr(copy, '\0', text.n));)
		*nul = ' '; /* a text must not seem to end before it does */
	return copy;
}
