/* SPDX-License-Identifier: MIT
 * frontmatter_find.c - where the frontmatter begins and ends.
 *
 * Blank lines, whole HTML comments and one code fence may stand before it. It closes at a whole line `---` or `...`,
 * never in the middle of a line; at four or more dashes only if all before looks like keys. One that never closes is
 * its leading run of key lines, and then no restriction may stand anywhere below: nobody can say where it belongs. */
#include "config/catalog/frontmatter_int.h"

struct cursor {
	struct str rest; /* p == NULL: at the end */
	unsigned line;   /* of the next line to come */
};

static struct str next_line(struct cursor *c)
{
	c->line++;
	return str_cut(&c->rest, '\n');
}

static size_t indentation(struct str line)
{
	size_t n = 0;

	while (n < line.n && fm_blank(line.p[n]))
		n++;
	return n;
}

static struct str unindented(struct str line, size_t amount)
{
	size_t n = MIN(indentation(line), amount);

	return (struct str){ line.p + n, line.n - n };
}

static bool is_blank_line(struct str line)
{
	return indentation(line) == line.n;
}

/* Number of dashes of a line that has nothing else, but blanks behind them. */
static size_t dashes(struct str line)
{
	size_t n = 0;

	while (n < line.n && line.p[n] == '-')
		n++;
	return is_blank_line((struct str){ line.p + n, line.n - n }) ? n : 0;
}

static bool is_close(struct str line)
{
	return dashes(line) == 3 ||
	       (str_starts(line, STR("...")) && is_blank_line((struct str){ line.p + 3, line.n - 3 }));
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

/* Moves *c to the opening dashes, if there are any; *ret_fenced says that a code fence stands around all. */
static bool find_open(struct cursor *c, bool *ret_fenced, size_t *ret_indent)
{
	*ret_fenced = false;
	while (c->rest.p) {
		struct cursor after = *c;
		struct str line = next_line(&after);
		struct str bare = unindented(line, SIZE_MAX);
		if (dashes(bare) == 3) {
			*ret_indent = indentation(line);
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
	frontmatter_key_fn *flags_of;
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
	look->any_key = fm_key(line, look->flags_of, &key) || look->any_key;
	return fm_key(line, look->flags_of, &key);
}

/* Behind four dashes: do more keys follow, up to a proper close? Then the dashes were an ornament between keys. */
static bool keys_go_on(struct cursor at, size_t indent, frontmatter_key_fn *flags_of)
{
	struct look look = { .flags_of = flags_of };

	while (at.rest.p) {
		struct str line = unindented(next_line(&at), indent);
		if (is_close(line))
			return look.any_key;
		if (!looks_tidy(&look, line))
			return false;
	}
	return false;
}

/* Leaves *c behind the closing line and gives the end of the text before it; NULL if nothing closes. */
static const char *find_close(struct cursor *c, size_t indent, frontmatter_key_fn *flags_of)
{
	struct look look = { .flags_of = flags_of };
	bool tidy = true;

	while (c->rest.p) {
		struct str whole = next_line(c), line = unindented(whole, indent);
		if (is_close(line))
			return whole.p;
		if (dashes(line) > 3 && tidy && look.any_key && !keys_go_on(*c, indent, flags_of))
			return whole.p;
		tidy = tidy && looks_tidy(&look, line);
	}
	return NULL;
}

static const char *find_run(struct cursor *c, size_t indent, frontmatter_key_fn *flags_of)
{
	struct look look = { .flags_of = flags_of };
	struct cursor end = *c;

	for (struct cursor at = *c; at.rest.p;) {
		struct str line = unindented(next_line(&at), indent);
		if (!looks_tidy(&look, line))
			break;
		if (!is_blank_line(line))
			end = at;
	}
	*c = end;
	return end.rest.p;
}

/* The frontmatter's own indentation is that of its first line with something in it. */
static struct str dedented(struct arena *arena, struct str text)
{
	struct str rest = text;
	size_t own = 0;

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		own = indentation(line);
		if (own < line.n && line.p[own] != '#')
			break;
	}
	if (!own)
		return text;
	char *out = arena_alloc(arena, text.n + 1);
	size_t n = 0;
	for (rest = text; rest.p;) {
		struct str line = unindented(str_cut(&rest, '\n'), own);
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
		return fm_trim((struct str){ body.p, (size_t)(last - body.p) });
	return body;
}

static void find_body(struct fm_place *place, const struct cursor *after, bool fenced)
{
	place->body = after->rest.p ? fm_trim(after->rest) : STR("");
	place->body_line = after->line;
	for (const char *p = after->rest.p; p && p < place->body.p; p++)
		place->body_line += *p == '\n';
	if (fenced)
		place->body = without_fence(place->body);
}

struct fm_place fm_find(struct fm_reader *r, struct str text)
{
	struct fm_place place = { .body = fm_trim(text) };
	struct cursor c = { text, 1 };
	bool fenced;
	size_t indent;

	if (!find_open(&c, &fenced, &indent))
		return place;
	const char *from = c.rest.p ? c.rest.p : text.p + text.n;
	struct cursor after = c;
	const char *end = find_close(&after, indent, r->flags_of);
	place.found = true;
	place.line = c.line;
	place.closed = end != NULL;
	if (!end) {
		after = c;
		end = find_run(&after, indent, r->flags_of);
		diagnostics_add(r->diagnostics, DIAGNOSTIC_WARNING, c.line - 1,
				"the frontmatter is never closed with ---; the lines that look like keys were taken");
	}
	if (!end) /* the run goes to the end of the file */
		end = text.p + text.n;
	place.text = dedented(r->arena, (struct str){ from, (size_t)(end - from) });
	find_body(&place, &after, fenced);
	if (c.line > 2 || indent)
		diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c.line - 1,
				"the frontmatter does not begin in the first line and column");
	return place;
}
