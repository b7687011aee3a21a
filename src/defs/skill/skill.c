/* SPDX-License-Identifier: MIT
 * skill.c - one skill from a file, and the rules that hold for all its fields: the last of a doubled key wins, an unknown key
 * is said, and a restriction that cannot be read with certainty refuses the skill. */
#include "defs/skill/skill.h"
#include "lib/base/utf8.h"
#include "defs/skill/skill_int.h"

enum { LONGEST_NAME = 100 };

const char *skill_source_name(enum skill_source source)
{
	static const char *const names[SKILL_SOURCE_COUNT] = {
		[SKILL_PLUGIN] = "plugin",
		[SKILL_PROJECT] = "projectSettings",
		[SKILL_USER] = "userSettings",
		[SKILL_MANAGED] = "policySettings",
	};

	return names[source];
}

struct skill *skill_ref(struct skill *s)
{
	s->refs++;
	return s;
}

void skill_unref(struct skill *s)
{
	if (!s || --s->refs)
		return;
	gitignore_release(&s->path_rules);
	arena_release(&s->arena);
	free(s);
}

bool skill_name_is_good(struct str name)
{
	if (!name.n || name.n > LONGEST_NAME || name.p[0] == '.' || name.p[0] == '-')
		return false;
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!letter && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

void skill_note(struct skill_reader *r, enum diagnostic_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(&r->diagnostics, level, r->line, fmt, args);
	va_end(args);
}

void skill_refuse(struct skill_reader *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(&r->diagnostics, DIAGNOSTIC_ERROR, r->line, fmt, args);
	va_end(args);
	r->s->refused = true;
}

/* ---- fields ---------------------------------------------------------------------------------------------------- */

static void read_field(struct skill_reader *r, const struct skill_field *f, const struct frontmatter_field *field)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value = NULL;
	struct err err;

	r->key = f->name;
	if (field->doubtful && (f->flags & FRONTMATTER_RESTRICTION))
		skill_refuse(r, "%s: its value cannot be read, so the skill is refused", f->name);
	else if (json_parse(&reader, field->json.p, field->json.n, &value, &err) < 0)
		skill_refuse(r, "%s: %s", f->name, err.text);
	else if (f->read)
		f->read(r, value);
}

/* Where lines were guessed, two different restrictions may be one of the author and one of an example in prose. */
static bool is_replaced(struct skill_reader *r, const struct frontmatter *fm, size_t at, const struct skill_field *f)
{
	for (size_t i = at + 1; i < fm->field_count; i++) {
		if (skill_field_find(fm->fields[i].key) != f)
			continue;
		if (fm->recovered && (f->flags & FRONTMATTER_RESTRICTION) &&
		    !str_eq(fm->fields[at].json, fm->fields[i].json))
			skill_refuse(r, "%s: stands there twice with different values, so the skill is refused",
				     f->name);
		else
			skill_note(r, DIAGNOSTIC_WARNING, "%s: stands there twice; the last one counts", f->name);
		return true;
	}
	return false;
}

static void read_fields(struct skill_reader *r, const struct frontmatter *fm)
{
	for (size_t i = 0; i < fm->field_count; i++) {
		const struct frontmatter_field *field = &fm->fields[i];
		const struct skill_field *f = skill_field_find(field->key);
		r->line = field->line;
		if (!f)
			skill_note(r, DIAGNOSTIC_NOTE, "%s: unknown key", field->key.p);
		else if (!is_replaced(r, fm, i, f))
			read_field(r, f, field);
	}
	for (size_t i = 0; i < fm->lost_count; i++) {
		r->line = fm->lost[i].line;
		skill_refuse(r,
			     "%s: this line limits the skill but could not be read as a field, so the skill is refused",
			     fm->lost[i].key.p);
	}
	r->line = 0;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* Text up to the first empty line, headings left out. */
static struct str first_paragraph(struct str body)
{
	struct str paragraph = { body.p, 0 };

	while (body.p) {
		struct str line = str_cut(&body, '\n');
		bool is_text = str_trim(line).n && line.p[0] != '#';
		if (!is_text && paragraph.n)
			break;
		if (is_text && !paragraph.n)
			paragraph.p = line.p;
		if (is_text)
			paragraph.n = (size_t)(line.p + line.n - paragraph.p);
	}
	return str_trim(paragraph);
}

static void describe(struct skill_reader *r)
{
	struct skill *s = r->s;
	struct str text = first_paragraph(s->body);
	AUTO_BUF struct buf repaired = { 0 };

	if (s->description)
		return;
	utf8_add_repaired(&repaired, utf8_cut(text, 2000));
	for (char *nul; repaired.n && (nul = memchr(repaired.p, '\0', repaired.n));)
		*nul = ' ';
	s->description = repaired.n ? arena_dup(&s->arena, repaired.p, repaired.n) : "";
	skill_note(r, DIAGNOSTIC_NOTE, "no description: %s",
		   repaired.n ? "the first paragraph stands in for it" : "and no text that could stand in for it");
}

static const char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static const char *directory_of(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? arena_dup(a, file, (size_t)(slash - file)) : ".";
}

static struct skill *begin(const struct skill_origin *origin)
{
	struct skill *s = xcalloc(1, sizeof *s);
	struct arena *a = &s->arena;

	s->refs = 1;
	s->source = origin->source;
	s->is_command = origin->is_command;
	s->plugin_trusted = origin->plugin_trusted;
	s->file = arena_strdup(a, origin->file);
	s->dir = directory_of(a, origin->file);
	s->plugin = copy(a, origin->plugin);
	s->plugin_root = copy(a, origin->plugin_root);
	s->plugin_data = copy(a, origin->plugin_data);
	return s;
}

/* A plugin's skill has its plugin in its name, and its own `name` is what is called. */
static void name_it(struct skill_reader *r, const struct skill_origin *origin)
{
	struct skill *s = r->s;
	const char *own = origin->name;

	if (s->plugin && s->title && !s->is_command) {
		if (skill_name_is_good(str_from(s->title)))
			own = s->title;
		else
			skill_note(r, DIAGNOSTIC_WARNING,
				   "name: letters, digits, '-', '_' and '.' only; the skill is called %s", own);
	}
	s->name = s->plugin ? arena_printf(&s->arena, "%s:%s", s->plugin, own) : arena_strdup(&s->arena, own);
}

struct skill *skill_from_markdown(const struct skill_origin *origin, struct str text)
{
	struct skill *s = begin(origin);
	struct skill_reader r = { .s = s, .diagnostics = { .arena = &s->arena } };
	struct frontmatter fm;

	frontmatter_read(&fm, &r.scratch, text, skill_field_flags, &r.diagnostics);
	s->body = (struct str){ arena_dup(&s->arena, fm.body.p, fm.body.n), fm.body.n };
	read_fields(&r, &fm);
	name_it(&r, origin);
	describe(&r);
	s->diagnostics = r.diagnostics.list;
	s->diagnostic_count = r.diagnostics.count;
	arena_release(&r.scratch);
	return s;
}
