/* SPDX-License-Identifier: MIT
 * definition.c - the rules that hold for the fields of all definitions: the last of a doubled key wins, an unknown key is
 * noted, and a restriction that cannot be read with certainty refuses the definition. Then lists of names. */
#include "config/catalog/definition.h"
#include "lib/base/buf.h"
#include "config/catalog/frontmatter.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"

enum { MOST_NAMES = 1024, DEEPEST_LIST = 4 };

const char *definition_source_name(enum definition_source source)
{
	static const char *const names[SOURCE_COUNT] = {
		[SOURCE_BUILT_IN] = "built-in", [SOURCE_PLUGIN] = "plugin",
		[SOURCE_USER] = "userSettings", [SOURCE_PROJECT] = "projectSettings",
		[SOURCE_FLAG] = "flagSettings", [SOURCE_MANAGED] = "policySettings",
	};

	return names[source];
}

void *definition_new(size_t size, enum definition_source source, const char *file, const char *name)
{
	struct definition *d = xcalloc(1, size);

	d->refs = 1;
	d->source = source;
	d->file = arena_strdup(&d->arena, file);
	d->name = arena_strdup(&d->arena, name);
	return d;
}

void definition_unref(struct definition *d)
{
	if (!d || --d->refs)
		return;
	if (d->release)
		d->release(d);
	arena_release(&d->arena);
	free(d);
}

const char *definition_first_error(const struct definition *d, unsigned *ret_line)
{
	for (size_t i = 0; i < d->diagnostic_count; i++)
		if (d->diagnostics[i].level == DIAGNOSTIC_ERROR) {
			*ret_line = d->diagnostics[i].line;
			return d->diagnostics[i].message;
		}
	return NULL;
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

int definition_word(struct definition_reader *r, const struct json *value, const char *const *words)
{
	struct str text = str_from(definition_text(r, value));
	int i = 0;

	while (words[i] && (!text.n || !str_is_nocase(text, words[i])))
		i++;
	if (words[i] && !r->format->terse && !str_is(text, words[i]))
		definition_note(r, DIAGNOSTIC_NOTE, "%s: " STR_FMT " was read as %s", r->key, STR_ARG(text), words[i]);
	return words[i] ? i : -1;
}

void definition_read_member(struct definition_reader *r, const struct definition_field *f, const struct json *value,
			    size_t count)
{
	struct definition *d = r->d;

	r->key = f->name;
	if (!d->fields)
		d->fields = arena_alloc(&d->arena, count * sizeof *d->fields);
	d->fields[d->field_count].field = f->name;
	d->fields[d->field_count++].line = r->line;
	if (f->read)
		f->read(r, value, (char *)d + f->offset);
	else if (!r->format->terse)
		definition_note(r, DIAGNOSTIC_NOTE, "%s: known, but without effect in this program", f->name);
}

static void read_field(struct definition_reader *r, const struct definition_field *f,
		       const struct frontmatter_field *field, size_t count)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value = NULL;
	struct err err;

	if (!r->format->terse && !str_is(field->key, f->name))
		definition_note(r, DIAGNOSTIC_NOTE, "%s was read as %s", field->key.p, f->name);
	if (field->doubtful && r->format->limits && !r->format->limits(f->name, field->json))
		definition_note(r, DIAGNOSTIC_WARNING, "%s: its value cannot be read and limits nothing; it is ignored",
				f->name);
	else if (field->doubtful && (f->flags & FRONTMATTER_RESTRICTION))
		definition_refuse(r, "%s: its value cannot be read, so the %s is refused", f->name, r->format->noun);
	else if (json_parse(&reader, field->json.p, field->json.n, &value, &err) < 0)
		definition_refuse(r, "%s: %s", f->name, err.text);
	else
		definition_read_member(r, f, value, count);
}

void definition_read_markdown(struct definition_reader *r, struct str text, struct frontmatter *ret)
{
	struct frontmatter *fm = ret;

	frontmatter_read(fm, &r->scratch, text, r->format->fields, &r->diagnostics);
	const struct definition_field **known = arena_alloc(&r->scratch, fm->field_count * sizeof *known);
	for (size_t i = 0; i < fm->field_count; i++)
		known[i] = definition_field_find(r->format->fields, fm->fields[i].key);
	for (size_t i = 0; i < fm->field_count; i++) {
		const struct definition_field *f = known[i];
		size_t later = i + 1;

		r->line = fm->fields[i].line;
		while (f && later < fm->field_count && known[later] != f)
			later++;
		/* The last of several wins. But where lines were guessed, one of two different restrictions may be an example
		 * in prose, and which one cannot be known. */
		if (!f)
			definition_note(r, DIAGNOSTIC_NOTE, "%s: unknown key", fm->fields[i].key.p);
		else if (later >= fm->field_count)
			read_field(r, f, &fm->fields[i], fm->field_count);
		else if (fm->recovered && (f->flags & FRONTMATTER_RESTRICTION) &&
			 !str_eq(fm->fields[i].json, fm->fields[later].json))
			definition_refuse(r, "%s: given twice with different values, so the %s is refused", f->name,
					  r->format->noun);
		else
			definition_note(r, DIAGNOSTIC_WARNING, "%s: given twice; the last one counts", f->name);
	}
	for (size_t i = 0; i < fm->lost_count; i++) {
		r->line = fm->lost[i].line;
		definition_refuse(r,
				  "%s: this line limits the %s but could not be read as a field, so the %s is refused",
				  fm->lost[i].key.p, r->format->noun, r->format->noun);
	}
	r->line = 0;
}

struct list_reader {
	struct definition_reader *r;
	struct name_list *list;
	enum names_rule rule;
	const char *wrong; /* the last complaint */
	bool full;
};

static void list_complain(struct list_reader *l, const char *what)
{
	l->wrong = what;
	if (l->rule == NAMES_REFUSE)
		definition_refuse(l->r, "%s: %s, so the %s is refused", l->r->key, what, l->r->format->noun);
	else if (l->rule == NAMES_WARN)
		definition_note(l->r, DIAGNOSTIC_WARNING, "%s: %s; this part is ignored", l->r->key, what);
}

static void list_add_name(struct list_reader *l, struct str name)
{
	struct name_list *list = l->list;

	for (name = str_trim(name); name.n && char_in(name.p[0], "\"'`");)
		name = str_tail(name, 1);
	while (name.n && char_in(name.p[name.n - 1], "\"'`"))
		name.n--;
	name = str_trim(name);
	if (!name.n || l->full)
		return;
	for (size_t i = 0; i < list->count; i++)
		if (str_is(name, list->names[i]))
			return;
	if (list->count == MOST_NAMES) {
		list_complain(l, "too many names");
		l->full = true;
		return;
	}
	*arena_push(&l->r->d->arena, list->names, list->count) = arena_dup(&l->r->d->arena, name.p, name.n);
	list->all = list->all || str_is(name, "*");
}

/* Splits at commas and blanks, but not inside parentheses: `Bash(git add:*, git commit:*) Read` is two names. */
static void list_add_split(struct list_reader *l, struct str s)
{
	size_t start = 0;
	int depth = 0;

	for (size_t i = 0; i < s.n && depth >= 0; i++) {
		depth += (s.p[i] == '(') - (s.p[i] == ')');
		if (depth || !char_in(s.p[i], ", \t\n\r"))
			continue;
		list_add_name(l, (struct str){ s.p + start, i - start });
		start = i + 1;
	}
	if (depth)
		list_complain(l, "a parenthesis is not closed or not opened");
	else
		list_add_name(l, str_tail(s, start));
}

/* YAML takes `- Edit(a: b)` for a map, because of the blank behind the colon. Nothing is lost by joining it again. */
static bool list_add_torn_entry(struct list_reader *l, const struct json *entry)
{
	struct json_member m = json_members(entry);
	struct str key = json_str(m.key, &l->r->scratch), value = json_str(m.value, &l->r->scratch);
	AUTO_BUF struct buf whole = { 0 };

	if (entry->count != 1 || !json_is(m.value, JSON_STRING) || !str_has(key, STR("(")) ||
	    !str_ends(value, STR(")")))
		return false;
	buf_addf(&whole, STR_FMT ": " STR_FMT, STR_ARG(key), STR_ARG(value));
	list_add_split(l, buf_str(&whole));
	return true;
}

/* Names in a text, a list, or the keys of a map. `[a, b]` inside a text is JSON, or the same without its quotes. */
static void list_add_value(struct list_reader *l, const struct json *value, unsigned depth)
{
	AUTO_JSON struct json_reader reader = { .limits = { .depth = 8, .bytes = 1 << 20 } };
	const struct json *root;

	if (depth > DEEPEST_LIST) {
		list_complain(l, "lists are nested too deeply");
	} else if (json_is(value, JSON_STRING)) {
		struct str s = str_trim(json_str(value, &l->r->scratch));
		if (str_is_nocase(s, "all") || str_is_nocase(s, "all tools"))
			list_add_name(l, STR("*"));
		else if (!s.n || s.p[0] != '[')
			list_add_split(l, s);
		else if (s.p[s.n - 1] != ']')
			list_complain(l, "the list is not closed");
		else if (json_parse(&reader, s.p, s.n, &root, NULL) == 0)
			list_add_value(l, root, depth + 1);
		else
			list_add_split(l, (struct str){ s.p + 1, s.n - 2 });
	} else if (json_is(value, JSON_ARRAY)) {
		for (const struct json *v = json_first(value); v; v = json_next(value, v)) {
			if (!json_is(v, JSON_OBJECT))
				list_add_value(l, v, depth + 1);
			else if (!list_add_torn_entry(l, v))
				list_complain(l, "an entry is a map");
		}
	} else if (json_is(value, JSON_OBJECT)) {
		definition_note(l->r, DIAGNOSTIC_NOTE, "%s: a map was read as the list of its keys that are not false",
				l->r->key);
		for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
			bool is_no = json_is(m.value, JSON_FALSE) || json_str_is(m.value, "false") ||
				     json_str_is(m.value, "no") || json_str_is(m.value, "off") ||
				     json_str_is(m.value, "deny");
			if (json_is(m.value, JSON_ARRAY) || json_is(m.value, JSON_OBJECT))
				list_complain(l, "a map with lists or maps inside is not a list of names");
			else if (!is_no)
				list_add_name(l, json_str(m.key, &l->r->scratch));
		}
	} else if (json_is(value, JSON_NUMBER) || json_is(value, JSON_TRUE)) {
		list_add_name(l, json_raw(value));
	}
}

const char *definition_names(struct definition_reader *r, const struct json *value, struct name_list *ret,
			     enum names_rule rule)
{
	struct list_reader l = { .r = r, .list = ret, .rule = rule };

	*ret = (struct name_list){ .present = true };
	list_add_value(&l, value, 0);
	return l.wrong;
}

/* A growing list of complaints in an arena. */

struct diagnostic *diagnostics_addv(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt,
				    va_list args)
{
	AUTO_BUF struct buf tidy = { 0 };
	char text[400];

	if (d->count >= DIAGNOSTICS_LIMIT * (level == DIAGNOSTIC_ERROR ? 2 : 1))
		return NULL;
	/* Messages quote foreign text: they are reduced to one line of valid UTF-8. */
	vsnprintf(text, sizeof text, fmt, args);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
	utf8_add_repaired(&tidy, str_from(text));
	struct diagnostic *one = arena_push(d->arena, d->list, d->count);
	*one = (struct diagnostic){ level, line, arena_dup(d->arena, tidy.p, tidy.n), NULL };
	return one;
}

struct diagnostic *diagnostics_add(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt,
				   ...)
{
	va_list args;

	va_start(args, fmt);
	struct diagnostic *one = diagnostics_addv(d, level, line, fmt, args);
	va_end(args);
	return one;
}

const char *diagnostic_level_name(enum diagnostic_level level)
{
	static const char *const names[] = { [DIAGNOSTIC_NOTE] = "note",
					     [DIAGNOSTIC_WARNING] = "warning",
					     [DIAGNOSTIC_LOST] = "warning",
					     [DIAGNOSTIC_ERROR] = "error" };

	return names[level];
}

void diagnostics_put(struct json_out *w, const struct diagnostic *list, size_t count)
{
	json_kopen(w, "diagnostics", '[');
	for (size_t i = 0; i < count; i++)
		json_putf(w, "{level:'%s', line:?%u, message:'%s'}", diagnostic_level_name(list[i].level), list[i].line,
			  list[i].message);
	json_close(w);
}

/* ${NAME} in texts of plugins. */

const char *plugin_vars_find(const struct plugin_vars *vars, struct str name, bool with_options)
{
	static const char prefix[] = "user_config.";
	size_t n = sizeof prefix - 1;

	if (str_is(name, "CLAUDE_PLUGIN_ROOT"))
		return vars->root;
	if (str_is(name, "CLAUDE_PLUGIN_DATA"))
		return vars->data;
	if (str_is(name, "CLAUDE_PROJECT_DIR"))
		return vars->project;
	if (!with_options || !str_starts(name, str_from(prefix)))
		return NULL;
	struct str key = str_tail(name, n);
	for (const char *const *option = vars->options; option && *option; option++)
		if (str_starts(str_from(*option), key) && (*option)[key.n] == '=')
			return *option + key.n + 1;
	return NULL;
}

/* A variable is "${", a name without braces, "}". */
void plugin_vars_expand(struct buf *out, struct str text, const struct plugin_vars *vars, bool with_options)
{
	while (text.n) {
		const char *dollar = memchr(text.p, '$', text.n);
		size_t before = dollar ? (size_t)(dollar - text.p) : text.n;
		buf_add(out, text.p, before);
		text = str_tail(text, before);
		if (!text.n)
			return;
		const char *end = text.n > 3 && text.p[1] == '{' ? memchr(text.p, '}', text.n) : NULL;
		size_t n = end ? (size_t)(end - text.p) - 2 : 0;
		const char *value = n ? plugin_vars_find(vars, (struct str){ text.p + 2, n }, with_options) : NULL;
		size_t used = value ? n + 3 : 1;
		buf_addstr(out, value ? value : "$");
		text = str_tail(text, used);
	}
}
