/* SPDX-License-Identifier: MIT
 * definition.c - one agent definition from a file or from JSON, and the rules that hold for all its fields: the
 * last of a doubled key wins, an unknown key is said, and a restriction that cannot be read with certainty refuses
 * the agent. */
#include "defs/agentdef/definition.h"
#include "defs/agentdef/definition_int.h"

struct agent_definition *agent_ref(struct agent_definition *d)
{
	d->refs++;
	return d;
}

void agent_unref(struct agent_definition *d)
{
	if (!d || --d->refs)
		return;
	arena_release(&d->arena);
	free(d);
}

void definition_note(struct definition_reader *r, enum diagnostic_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(&r->diagnostics, level, r->line, fmt, args);
	va_end(args);
}

void definition_refuse(struct definition_reader *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(&r->diagnostics, DIAGNOSTIC_ERROR, r->line, fmt, args);
	va_end(args);
	r->d->refused = true;
}

const char *definition_text(struct definition_reader *r, const struct json *value)
{
	return frontmatter_text(value, &r->d->arena, &r->scratch);
}

static struct agent_definition *begin(struct definition_reader *r, enum agent_source source, const char *file,
				      const char *name)
{
	struct agent_definition *d = xcalloc(1, sizeof *d);

	d->refs = 1;
	d->source = source;
	d->file = arena_strdup(&d->arena, file);
	d->name = arena_strdup(&d->arena, name);
	*r = (struct definition_reader){ .d = d, .diagnostics = { .arena = &d->arena } };
	return d;
}

static struct agent_definition *finish(struct definition_reader *r)
{
	r->d->diagnostics = r->diagnostics.list;
	r->d->diagnostic_count = r->diagnostics.count;
	arena_release(&r->scratch);
	return r->d;
}

static void remember_field(struct agent_definition *d, const char *name, unsigned line, size_t limit)
{
	if (!d->fields)
		d->fields = arena_alloc(&d->arena, limit * sizeof *d->fields);
	d->fields[d->field_count].field = name;
	d->fields[d->field_count++].line = line;
}

static void read_value(struct definition_reader *r, const struct agent_field *f, const struct json *value)
{
	if (r->doubtful && (f->flags & FRONTMATTER_RESTRICTION))
		definition_refuse(r, "%s: its value cannot be read, so the agent is refused", f->name);
	else if (f->read)
		f->read(r, value);
	else
		definition_note(r, DIAGNOSTIC_NOTE, "%s: known, but without effect in this program", f->name);
}

static void read_field(struct definition_reader *r, const struct agent_field *f, const struct frontmatter_field *field)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value = NULL;
	struct err err;

	if (!str_is(field->key, f->name))
		definition_note(r, DIAGNOSTIC_NOTE, "%s was read as %s", field->key.p, f->name);
	if (json_parse(&reader, field->json.p, field->json.n, &value, &err) < 0)
		definition_refuse(r, "%s: %s", f->name, err.text);
	else
		read_value(r, f, value);
}

/* The last of several wins. But where lines were guessed, two different restrictions may be one of the author and
 * one of an example in prose, and nobody knows which is which. */
static bool is_replaced(struct definition_reader *r, const struct frontmatter *fm, size_t at,
			const struct agent_field *const *known)
{
	const struct frontmatter_field *field = &fm->fields[at];
	const struct agent_field *f = known[at];

	for (size_t i = at + 1; i < fm->field_count; i++) {
		if (known[i] != f)
			continue;
		if (fm->recovered && (f->flags & FRONTMATTER_RESTRICTION) && !str_eq(field->json, fm->fields[i].json))
			definition_refuse(r, "%s: stands there twice with different values, so the agent is refused",
					  f->name);
		else
			definition_note(r, DIAGNOSTIC_WARNING, "%s: stands there twice; the last one counts", f->name);
		return true;
	}
	return false;
}

static void report_lost(struct definition_reader *r, const struct frontmatter *fm)
{
	for (size_t i = 0; i < fm->lost_count; i++) {
		r->line = fm->lost[i].line;
		definition_refuse(r,
				  "%s: this line limits the agent but could not be read as a field, so the "
				  "agent is refused",
				  fm->lost[i].key.p);
	}
}

static void read_fields(struct definition_reader *r, const struct frontmatter *fm)
{
	const struct agent_field **known = arena_alloc(&r->scratch, fm->field_count * sizeof *known);

	for (size_t i = 0; i < fm->field_count; i++)
		known[i] = agent_field_find(fm->fields[i].key);
	for (size_t i = 0; i < fm->field_count; i++) {
		const struct frontmatter_field *field = &fm->fields[i];
		const struct agent_field *f = known[i];
		r->line = field->line;
		r->doubtful = field->doubtful;
		if (!f) {
			definition_note(r, DIAGNOSTIC_NOTE, "%s: unknown key", field->key.p);
			continue;
		}
		if (is_replaced(r, fm, i, known))
			continue;
		r->key = f->name;
		remember_field(r->d, f->name, field->line, fm->field_count);
		read_field(r, f, field);
	}
	report_lost(r, fm);
	r->line = 0;
}

struct agent_definition *agent_from_markdown(enum agent_source source, const char *file, const char *fallback_name,
					     struct str text)
{
	struct definition_reader r;
	struct agent_definition *d = begin(&r, source, file, fallback_name);
	struct frontmatter fm;

	frontmatter_read(&fm, &r.scratch, text, agent_field_flags, &r.diagnostics);
	d->prompt = arena_dup(&d->arena, fm.body.p, fm.body.n);
	d->prompt_len = fm.body.n;
	read_fields(&r, &fm);
	d->is_agent = d->description != NULL;
	d->refused = d->refused && d->is_agent;
	if (!fm.found)
		definition_note(&r, DIAGNOSTIC_NOTE, "no frontmatter: not an agent");
	else if (!d->is_agent)
		definition_note(&r, DIAGNOSTIC_WARNING, "no description: not an agent");
	else if (!d->name_given)
		definition_note(&r, DIAGNOSTIC_NOTE, "no name: the agent is called %s, as its file", d->name);
	return finish(&r);
}

static void read_member(struct definition_reader *r, struct json_member m, size_t count)
{
	struct str key = json_str(m.key, &r->scratch);
	const struct agent_field *f = agent_field_find(key);

	if (str_is(key, "prompt")) {
		struct str text = str_trim(json_str(m.value, &r->scratch));
		r->d->prompt = text.n ? arena_dup(&r->d->arena, text.p, text.n) : NULL;
		r->d->prompt_len = text.n;
	} else if (!f || str_is(key, "name")) {
		definition_note(r, DIAGNOSTIC_NOTE, STR_FMT ": unknown key", STR_ARG(key));
	} else {
		r->key = f->name;
		remember_field(r->d, f->name, 0, count);
		read_value(r, f, m.value);
	}
}

/* What a program wrote is not guessed at: both texts must be there. */
struct agent_definition *agent_from_json(enum agent_source source, const char *file, const char *name,
					 const struct json *value)
{
	struct definition_reader r;
	struct agent_definition *d = begin(&r, source, file, name);

	d->name_given = true;
	if (!json_is(value, JSON_OBJECT))
		definition_refuse(&r, "must be an object with description and prompt");
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m))
		read_member(&r, m, value->count);
	if (json_is(value, JSON_OBJECT) && !d->description)
		definition_refuse(&r, "description: missing or not a text");
	if (json_is(value, JSON_OBJECT) && !d->prompt)
		definition_refuse(&r, "prompt: missing or not a text");
	if (!name[0])
		definition_refuse(&r, "the name is empty");
	if (!d->prompt)
		d->prompt = "";
	d->is_agent = true;
	return finish(&r);
}
