/* SPDX-License-Identifier: MIT
 * frontmatter_recover.c - reads a frontmatter that is not YAML: every line that starts a field begins a chunk, all
 * other lines continue the chunk before. A chunk that is YAML by itself is read as YAML, so that one bad description
 * does not spoil the lists and maps beside it. Any other is its words. */
#include "config/catalog/frontmatter_int.h"
#include "lib/json/json_write.h"

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

static struct str value_of(const struct chunk *c)
{
	return (struct str){ c->key.value.p, (size_t)(c->text.p + c->text.n - c->key.value.p) };
}

/* Whether all that follows the key is lines `- item`. */
static bool is_item_list(const struct chunk *c)
{
	struct str rest = value_of(c);
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
	for (struct str rest = value_of(c); rest.p;) {
		AUTO_BUF struct buf item = { 0 };
		struct str line = str_trim(str_cut(&rest, '\n'));
		if (!line.n)
			continue;
		fm_literal(&item, (struct str){ line.p + 1, line.n - 1 });
		json_put_str(&w, buf_str(&item));
	}
	json_close(&w);
	f->json = arena_str(r->arena, buf_str(&r->json));
	diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c->line,
			"%s: its list is not YAML; each line was taken as it stands", f->key.p);
}

/* A restriction is taken by its word only if all of it stands on its own line and nothing was opened there. */
static bool is_doubtful(struct str value)
{
	struct str s = fm_trim(value);

	if (!s.n)
		return false;
	if (memchr(s.p, '\n', s.n) || char_in(s.p[0], "{|>&?"))
		return true;
	return s.p[0] == '[' && s.p[s.n - 1] != ']';
}

/* Fields such as model are words of one line; prose that follows them belongs to something else. */
static struct str one_line(struct fm_reader *r, const struct chunk *c, struct str value)
{
	struct str rest = value, first = str_cut(&rest, '\n');

	if (!c->key.flags || (c->key.flags & (FRONTMATTER_TEXT | FRONTMATTER_RESTRICTION)) || !str_trim(first).n ||
	    char_in(first.p[0], "|>[{") || !rest.p || !str_trim(rest).n)
		return value;
	diagnostics_add(r->diagnostics, DIAGNOSTIC_WARNING, c->line + 1, "text that follows " STR_FMT " was ignored",
			STR_ARG(c->key.name));
	return first;
}

static void read_as_words(struct fm_reader *r, const struct chunk *c)
{
	AUTO_BUF struct buf words = { 0 };
	struct str value = one_line(r, c, value_of(c));
	struct frontmatter_field *f = fm_add(r, c->key.name, c->line);

	fm_literal(&words, value);
	buf_clear(&r->json);
	struct json_out w = json_out(&r->json);
	json_put_str(&w, fm_trim(buf_str(&words)));
	f->json = arena_str(r->arena, buf_str(&r->json));
	f->literal = true;
	f->doubtful = (c->key.flags & FRONTMATTER_RESTRICTION) && is_doubtful(value);
	diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, c->line,
			"%s: its value is not YAML and was taken as it stands", f->key.p);
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
static void watch_examples(struct str line, int *open)
{
	if (str_has(line, STR("<example")))
		++*open;
	if (*open > 0 && str_has(line, STR("</example")))
		--*open;
}

static bool starts_chunk(struct fm_reader *r, struct str line, int open_examples, struct fm_key *ret)
{
	return fm_key(line, r->flags_of, ret) && (ret->flags || !open_examples);
}

void fm_recover(struct fm_reader *r, struct str text, unsigned line)
{
	struct str rest = text;
	struct chunk c = { 0 };
	int open_examples = 0;

	for (; rest.p; line++) {
		struct str at = str_cut(&rest, '\n');
		struct fm_key key;
		if (starts_chunk(r, at, open_examples, &key)) {
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
		watch_examples(at, &open_examples);
	}
	if (c.line)
		read_chunk(r, &c);
}
