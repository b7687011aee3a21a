/* SPDX-License-Identifier: MIT
 * frontmatter_recover.c - reads a frontmatter that is not YAML: every line that starts a field begins a chunk, all
 * other lines continue the chunk before. A chunk that is YAML by itself is read as YAML, so that one bad description
 * does not spoil the lists and maps beside it. Any other is its words. */
#include "config/catalog/frontmatter_int.h"
#include "lib/json/json_write.h"

/* `#x` is text, ` # x` is a comment; a quote that is never closed or that has quotes inside is still a quote; a block
 * without indentation is still a block. */

/* s up to a ` # comment`. */
static struct str before_comment(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '#' && (!i || fm_blank(s.p[i - 1])) && (i + 1 == s.n || fm_blank(s.p[i + 1])))
			return (struct str){ s.p, i };
	return s;
}

void fm_fold(struct buf *out, struct str plain)
{
	size_t start = out->n, blanks = 0;

	while (plain.p) {
		struct str line = fm_trim(before_comment(str_cut(&plain, '\n')));
		if (!line.n) {
			blanks++;
			continue;
		}
		if (out->n > start && !blanks)
			buf_addch(out, ' ');
		for (; blanks && out->n > start; blanks--)
			buf_addch(out, '\n');
		blanks = 0;
		buf_append(out, line);
	}
}

/* An indented line that begins with # is a heading of the text. */
static void add_lines(struct buf *out, struct str lines, bool comments)
{
	size_t start = out->n, common = SIZE_MAX;

	for (struct str rest = lines; rest.p;) {
		struct str line = str_cut(&rest, '\n');
		size_t n = 0;
		while (n < line.n && fm_blank(line.p[n]))
			n++;
		if (n < line.n)
			common = MIN(common, n);
	}
	while (lines.p) {
		struct str line = str_cut(&lines, '\n');
		size_t n = MIN(common, line.n);
		line = str_tail(line, n);
		bool is_heading = line.n && fm_blank(line.p[0]) && str_starts(fm_trim(line), STR("#"));
		if (comments && !is_heading)
			line = before_comment(line);
		while (line.n && fm_blank(line.p[line.n - 1]))
			line.n--;
		buf_append(out, line);
		buf_addch(out, '\n');
	}
	while (out->n > start && out->p[out->n - 1] == '\n')
		out->p[--out->n] = '\0';
}

/* Whether the quote at the start of s is meant for all of it. In `"a" and "b"` it is not: the next quote closes a word.
 * In `"say "a" now"` it is: the next one opens a word. */
static bool quote_is_around(struct str s)
{
	char quote = s.p[0];

	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] != quote || (quote == '"' && s.p[i - 1] == '\\'))
			continue;
		if (i + 1 == s.n)
			return true;
		bool in_word = quote == '\'' && s.p[i + 1] != ' ' && s.p[i + 1] != ','; /* an apostrophe */
		if (!in_word)
			return s.p[i - 1] == ' ' || s.p[i - 1] == '(';
	}
	return true; /* never closed */
}

void fm_literal(struct buf *out, struct str value)
{
	struct str rest = value, first = fm_trim(before_comment(str_cut(&rest, '\n')));
	struct str all = fm_trim(value);
	bool is_block_mark = first.n && first.n <= 3 && char_in(first.p[0], "|>");

	for (size_t i = 1; is_block_mark && i < first.n; i++)
		is_block_mark = char_in(first.p[i], "+-0123456789");
	if (is_block_mark) {
		if (rest.p)
			add_lines(out, rest, false);
		return;
	}
	if (!all.n || !char_in(all.p[0], "\"'") || !quote_is_around(all)) {
		if (all.n)
			add_lines(out, all, true);
		return;
	}
	char quote = all.p[0];
	size_t end = all.n > 1 && all.p[all.n - 1] == quote ? all.n - 1 : all.n;
	for (size_t i = 1; i < end; i++) {
		bool pair = quote == '"' && all.p[i] == '\\' && i + 1 < end;
		if (pair && (all.p[i + 1] == '"' || all.p[i + 1] == '\\'))
			buf_addch(out, all.p[++i]);
		else if (pair && (all.p[i + 1] == 'n' || all.p[i + 1] == 't'))
			buf_addch(out, all.p[++i] == 'n' ? '\n' : '\t');
		else
			buf_addch(out, all.p[i]);
	}
}

struct chunk {
	struct fm_key key;
	struct str text; /* all its lines */
	unsigned line;
};

/* A tab of indentation is two spaces: YAML allows none, people use them all the same. */
static struct str without_tabs(struct arena *arena, struct str text)
{
	AUTO_BUF struct buf out = { 0 };
	bool indentation = true;

	for (size_t i = 0; i < text.n; i++) {
		indentation = indentation && fm_blank(text.p[i]);
		if (indentation && text.p[i] == '\t')
			buf_addstr(&out, "  ");
		else
			buf_addch(&out, text.p[i]);
		indentation = indentation || text.p[i] == '\n';
	}
	return arena_str(arena, buf_str(&out));
}

static bool read_as_yaml(struct fm_reader *r, const struct chunk *c, struct str text)
{
	size_t count = r->count;

	if (!fm_yaml(r, text, c->line, NULL))
		return false;
	if (r->count == count + 1 && str_eq(r->fields[count].key, c->key.name))
		return true;
	r->count = count;
	return false;
}

/* Whether all that follows the key is lines `- item`. */
static bool is_item_list(const struct chunk *c)
{
	struct str rest = str_between(c->key.value.p, c->text.p + c->text.n);
	bool any = str_trim(str_cut(&rest, '\n')).n > 0;

	if (any || !rest.p)
		return false;
	while (rest.p) {
		struct str line = str_trim(str_cut(&rest, '\n'));
		bool item = line.n > 2 && line.p[0] == '-' && fm_blank(line.p[1]);
		if (line.n && !item)
			return false;
		any = any || item;
	}
	return any;
}

/* Such a list is clear even where an item is not YAML, as `- *` or `- Bash(git log: *)`. */
static void read_as_items(struct fm_reader *r, const struct chunk *c)
{
	struct frontmatter_field *f = fm_add(r, c->key.name, c->line);
	struct json_out w = json_out(&r->json);

	buf_clear(&r->json);
	json_open(&w, '[');
	for (struct str rest = str_between(c->key.value.p, c->text.p + c->text.n); rest.p;) {
		AUTO_BUF struct buf item = { 0 };
		struct str line = str_trim(str_cut(&rest, '\n'));
		if (!line.n)
			continue;
		fm_literal(&item, str_tail(line, 1));
		json_put_str(&w, buf_str(&item));
	}
	json_close(&w);
	f->json = arena_str(r->arena, buf_str(&r->json));
	diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c->line,
			"%s: its list is not YAML; each line was taken literally", f->key.p);
}

static void read_as_words(struct fm_reader *r, const struct chunk *c)
{
	AUTO_BUF struct buf words = { 0 };
	struct str value = str_between(c->key.value.p, c->text.p + c->text.n);
	struct str rest = value, first = str_cut(&rest, '\n');

	/* Fields such as model are words of one line; prose that follows them belongs to something else. */
	if (c->key.flags && !(c->key.flags & (FRONTMATTER_TEXT | FRONTMATTER_RESTRICTION)) && str_trim(first).n &&
	    !char_in(first.p[0], "|>[{") && rest.p && str_trim(rest).n) {
		diagnostics_add(r->diagnostics, DIAGNOSTIC_WARNING, c->line + 1,
				"text that follows " STR_FMT " was ignored", STR_ARG(c->key.name));
		value = first;
	}
	struct frontmatter_field *f = fm_add(r, c->key.name, c->line);
	fm_literal(&words, value);
	buf_clear(&r->json);
	struct json_out w = json_out(&r->json);
	json_put_str(&w, fm_trim(buf_str(&words)));
	f->json = arena_str(r->arena, buf_str(&r->json));
	f->literal = true;
	/* A restriction is taken by its word only if all of it stands on its own line and nothing was opened there. */
	struct str s = fm_trim(value);
	f->doubtful = (c->key.flags & FRONTMATTER_RESTRICTION) && s.n &&
		      (memchr(s.p, '\n', s.n) || char_in(s.p[0], "{|>&?") || (s.p[0] == '[' && s.p[s.n - 1] != ']'));
	diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c->line, "%s: its value is not YAML and was taken literally",
			f->key.p);
}

static void read_chunk(struct fm_reader *r, const struct chunk *c)
{
	if (r->count >= FRONTMATTER_LIMIT_FIELDS)
		return;
	if (read_as_yaml(r, c, c->text))
		return;
	if (memchr(c->text.p, '\t', c->text.n) && read_as_yaml(r, c, without_tabs(r->arena, c->text))) {
		diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c->line, STR_FMT ": tabs were read as indentation",
				STR_ARG(c->key.name));
		return;
	}
	if (is_item_list(c))
		read_as_items(r, c);
	else
		read_as_words(r, c);
}

/* Dialogue inside <example> has lines such as `user:`; only known keys end an example that is still open. */
void fm_recover(struct fm_reader *r, struct str text, unsigned line)
{
	struct str rest = text;
	struct chunk c = { 0 };
	int open_examples = 0;

	for (; rest.p; line++) {
		struct str at = str_cut(&rest, '\n');
		struct fm_key key;
		if (fm_key(at, r->known, &key) && (key.flags || !open_examples)) {
			if (c.line)
				read_chunk(r, &c);
			c = (struct chunk){ key, at, line };
			open_examples = 0;
		} else if (c.line) {
			c.text.n = (size_t)(at.p + at.n - c.text.p);
		} else if (str_trim(at).n && at.p[0] != '#') {
			diagnostics_add(r->diagnostics, DIAGNOSTIC_WARNING, line,
					"this line belongs to no key and was ignored");
		}
		open_examples += str_has(at, STR("<example"));
		open_examples -= open_examples > 0 && str_has(at, STR("</example"));
	}
	if (c.line)
		read_chunk(r, &c);
}
