/* SPDX-License-Identifier: MIT
 * frontmatter.c - decode, find, read as YAML or else by line, and look what was lost on the way. */
#include "config/catalog/frontmatter.h"
#include "config/catalog/frontmatter_int.h"

static bool became_field(const struct fm_reader *r, struct str key, unsigned line)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->fields[i].line == line && str_eq(r->fields[i].key, key))
			return true;
	return false;
}

static void add_lost(struct frontmatter *fm, struct arena *arena, struct str key, unsigned line)
{
	enum { LIMIT = 32 };

	if (!fm->lost)
		fm->lost = arena_alloc(arena, LIMIT * sizeof *fm->lost);
	if (fm->lost_count < LIMIT)
		fm->lost[fm->lost_count++] = (struct frontmatter_line){ arena_str(arena, key), line };
}

/* Restrictions must have become fields however the text was read: a quote that swallows the line of `tools` can
 * be perfectly good YAML. */
static void find_lost(struct frontmatter *fm, struct fm_reader *r, struct str text, unsigned line)
{
	for (struct str rest = text; rest.p; line++) {
		struct str key, at = str_cut(&rest, '\n');
		if (fm_restriction(at, r->flags_of, &key) && !became_field(r, key, line))
			add_lost(fm, r->arena, key, line);
	}
}

/* A mapping in braces has no lines that recovery could go by. */
static bool is_in_braces(struct str text)
{
	while (text.p) {
		struct str line = str_trim(str_cut(&text, '\n'));
		if (line.n && line.p[0] != '#')
			return line.p[0] == '{';
	}
	return false;
}

static void read_fields(struct frontmatter *fm, struct fm_reader *r, const struct fm_place *place)
{
	struct fm_problem why;

	if (place->text.n > FRONTMATTER_LIMIT_BYTES) {
		diagnostics_add(r->diagnostics, DIAGNOSTIC_ERROR, place->line, "the frontmatter is longer than %d KB",
				FRONTMATTER_LIMIT_BYTES >> 10);
		return;
	}
	if (fm_yaml(r, place->text, place->line, &why))
		return;
	if (is_in_braces(place->text)) {
		diagnostics_add(r->diagnostics, DIAGNOSTIC_ERROR, why.line, "the frontmatter is not YAML: %s",
				why.what);
		return;
	}
	fm->recovered = true;
	diagnostics_add(r->diagnostics, DIAGNOSTIC_NOTE, why.line, "not YAML (%s); read line by line", why.what);
	fm_recover(r, place->text, place->line);
}

void frontmatter_read(struct frontmatter *ret, struct arena *arena, struct str bytes, frontmatter_key_fn *flags_of,
		      struct diagnostics *diagnostics)
{
	struct fm_reader r = { .arena = arena, .flags_of = flags_of, .diagnostics = diagnostics };
	struct fm_place place = fm_find(&r, fm_decode(arena, bytes, diagnostics));

	*ret = (struct frontmatter){ .found = place.found, .body = place.body };
	if (!place.found)
		return;
	read_fields(ret, &r, &place);
	find_lost(ret, &r, place.text, place.line);
	if (!place.closed)
		find_lost(ret, &r, place.body, place.body_line);
	ret->fields = r.fields;
	ret->field_count = r.count;
	buf_release(&r.json);
}
