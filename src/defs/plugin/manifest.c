/* SPDX-License-Identifier: MIT
 * manifest.c - .claude-plugin/plugin.json: one table has the known keys and their forms.
 *
 * A known key with an invalid value fails the plugin, because half a plugin is not what its author meant. A key
 * that is not known is a note, because newer programs may know it. To add a key: a row here, and in docs/plugins.md. */
#include "defs/plugin/plugin_int.h"
#include <math.h>
#include "lib/io/file.h"
#include "defs/plugin/plugin.h"

enum { MOST_OPTIONS = 100, MOST_DEPENDENCIES = 100 };

enum value_form {
	FORM_ANY,
	FORM_TEXT,
	FORM_TEXTS,
	FORM_BOOL,
	FORM_NUMBER,
	FORM_OBJECT,
	FORM_LIST,
	FORM_PATHS,       /* "./x", or a list of such */
	FORM_SKILL_PATHS, /* the same; "." is the root */
	FORM_PATHS_OR_OBJECT,
};

static unsigned line_of(const struct manifest *m, const struct json *value)
{
	return m->file && value ? settings_line(m->file, value) : 0;
}

/* Fails the plugin with the line of value, "KEY: ..." */
printf_like(3, 4) static void manifest_fail(struct manifest *m, const struct json *value, const char *fmt, ...)
{
	char text[300];

	PRINT_ARGS(text, fmt);
	plugin_fail(m->plugin, PLUGIN_BAD_MANIFEST, m->plugin->manifest, line_of(m, value), "%s", text);
}

void manifest_note(struct manifest *m, const struct json *value, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(&m->plugin->notes, DIAGNOSTIC_NOTE, line_of(m, value), fmt, args);
	va_end(args);
}

static const char *const expected[] = {
	[FORM_ANY] = "anything",
	[FORM_TEXT] = "a text",
	[FORM_TEXTS] = "a list of texts",
	[FORM_BOOL] = "true or false",
	[FORM_NUMBER] = "a number",
	[FORM_OBJECT] = "an object",
	[FORM_LIST] = "a list",
	[FORM_PATHS] = "a path that begins with ./ and has no .., or a list of such",
	[FORM_SKILL_PATHS] = "a path that begins with ./ and has no .., or a list of such",
	[FORM_PATHS_OR_OBJECT] = "a path that begins with ./ and has no .., an object, or a list of such",
};

static bool is_path(const struct json *v, enum value_form form)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *text = json_cstr(v, &a);

	if (json_is(v, JSON_OBJECT))
		return form == FORM_PATHS_OR_OBJECT;
	return text && component_path_is_good(str_from(text), form == FORM_SKILL_PATHS);
}

/* The part of a value that does not fit; NULL: all does. */
static const struct json *find_misfit(const struct json *v, enum value_form form)
{
	static const enum json_type types[] = { [FORM_TEXT] = JSON_STRING,
						[FORM_NUMBER] = JSON_NUMBER,
						[FORM_OBJECT] = JSON_OBJECT,
						[FORM_LIST] = JSON_ARRAY,
						[FORM_PATHS_OR_OBJECT] = 0 };

	if (form == FORM_ANY || (types[form] && json_is(v, types[form])))
		return NULL;
	if (types[form])
		return v;
	if (form == FORM_BOOL)
		return json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE) ? NULL : v;
	if (!json_is(v, JSON_ARRAY))
		return form != FORM_TEXTS && is_path(v, form) ? NULL : v;
	for (const struct json *e = json_first(v); e; e = json_next(v, e))
		if (form == FORM_TEXTS ? !json_is(e, JSON_STRING) : !is_path(e, form))
			return e;
	return NULL;
}

static void read_author(struct manifest *m, const struct json *author)
{
	static const char *const keys[] = { "name", "email", "url" };

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct json *v = json_get(author, keys[i]);
		if (v && !json_is(v, JSON_STRING))
			manifest_fail(m, v, "author.%s: expected a text", keys[i]);
	}
	if (!json_get(author, "name"))
		manifest_fail(m, author, "author.name: is missing");
}

static void read_option(struct manifest *m, struct plugin_option *o, const struct json *object)
{
	static const char *const types[] = { "string", "number", "boolean", "directory", "file" };
	static const struct {
		const char *key;
		enum value_form form;
	} members[] = { { "title", FORM_TEXT },     { "description", FORM_TEXT }, { "required", FORM_BOOL },
			{ "sensitive", FORM_BOOL }, { "multiple", FORM_BOOL },    { "min", FORM_NUMBER },
			{ "max", FORM_NUMBER } };
	const struct json *least = json_get(object, "min");
	const struct json *most = json_get(object, "max");
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (json_str_is(json_get(object, "type"), types[i]))
			o->type = types[i];
	if (!o->type) {
		manifest_fail(m, object, "userConfig.%s.type: expected string, number, boolean, directory or file",
			      o->key);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct json *v = json_get(object, members[i].key);
		if (v && find_misfit(v, members[i].form))
			manifest_fail(m, v, "userConfig.%s.%s: expected %s", o->key, members[i].key,
				      expected[members[i].form]);
	}
	o->required = json_bool(json_get(object, "required"));
	o->multiple = json_bool(json_get(object, "multiple"));
	o->least = json_is(least, JSON_NUMBER) ? json_double(least) : -INFINITY;
	o->most = json_is(most, JSON_NUMBER) ? json_double(most) : INFINITY;
	o->otherwise = json_get(object, "default");
	o->line = settings_line(m->file, object);
	if (o->otherwise && plugin_option_check(o, o->otherwise, &err) < 0)
		manifest_fail(m, o->otherwise, "userConfig.%s.default: %s", o->key, err.text);
}

static void read_options(struct manifest *m, const struct json *map)
{
	struct plugin *p = m->plugin;

	if (map->count > MOST_OPTIONS) {
		manifest_fail(m, map, "userConfig: more than %d options", MOST_OPTIONS);
		return;
	}
	p->options = arena_calloc(&p->arena, (map->count + 1) * sizeof *p->options);
	for (struct json_member e = json_members(map); e.key; e = json_member_next(map, e)) {
		const char *key = json_cstr(e.key, &p->arena);
		/* It becomes the name of an environment variable. */
		if (!str_is_name(str_from(key), "_") || strlen(key) > 64 || (key[0] >= '0' && key[0] <= '9')) {
			manifest_fail(m, e.key, "userConfig: expected names of letters, digits and '_'");
		} else if (!json_is(e.value, JSON_OBJECT)) {
			manifest_fail(m, e.value, "userConfig.%s: expected an object", key);
		} else {
			struct plugin_option *o = &p->options[p->option_count++];
			o->key = key;
			read_option(m, o, e.value);
		}
	}
}

static void read_dependencies(struct manifest *m, const struct json *list)
{
	struct plugin *p = m->plugin;

	if (list->count > MOST_DEPENDENCIES) {
		manifest_fail(m, list, "dependencies: more than %d", MOST_DEPENDENCIES);
		return;
	}
	p->dependencies = arena_calloc(&p->arena, (list->count + 1) * sizeof *p->dependencies);
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		bool plain = json_is(v, JSON_STRING);
		const char *name = json_cstr(plain ? v : json_get(v, "name"), &p->arena);
		const struct json *range = plain ? NULL : json_get(v, "version");
		struct str market = str_from(name);
		struct str bare = str_cut(&market, '@');
		if (!plugin_name_is_good(bare) || (market.p && !plugin_name_is_good(market))) {
			manifest_fail(m, v, "dependencies: expected the name of a plugin, or an object with one");
			continue;
		}
		struct plugin_dependency d = { .name = arena_str(&p->arena, bare).p,
					       .marketplace = market.p,
					       .range = json_cstr(range, &p->arena),
					       .line = settings_line(m->file, v) };
		if (range && (!d.range || !version_range_is_good(str_from(d.range))))
			manifest_fail(m, range, "dependencies: %s: expected a range of versions, such as ^1.2.0",
				      d.name);
		else
			p->dependencies[p->dependency_count++] = d;
	}
}

static const struct field {
	const char *key;
	enum value_form form;
	void (*read)(struct manifest *m, const struct json *value);
} fields[] = {
	{ "$schema", FORM_ANY, NULL },
	{ "agents", FORM_PATHS, NULL },
	{ "author", FORM_OBJECT, read_author },
	{ "channels", FORM_LIST, NULL },
	{ "commands", FORM_PATHS, NULL },
	{ "defaultEnabled", FORM_BOOL, NULL },
	{ "dependencies", FORM_LIST, read_dependencies },
	{ "description", FORM_TEXT, NULL },
	{ "displayName", FORM_TEXT, NULL },
	{ "experimental", FORM_ANY, NULL },
	{ "homepage", FORM_TEXT, NULL },
	{ "hooks", FORM_PATHS_OR_OBJECT, NULL },
	{ "keywords", FORM_TEXTS, NULL },
	{ "license", FORM_TEXT, NULL },
	{ "lspServers", FORM_PATHS_OR_OBJECT, NULL },
	{ "mcpServers", FORM_PATHS_OR_OBJECT, NULL },
	{ "metadata", FORM_ANY, NULL },
	{ "name", FORM_TEXT, NULL },
	{ "outputStyles", FORM_PATHS, NULL },
	{ "repository", FORM_TEXT, NULL },
	{ "skills", FORM_SKILL_PATHS, NULL },
	{ "userConfig", FORM_OBJECT, read_options },
	{ "version", FORM_TEXT, NULL },
	{ "workflows", FORM_PATHS, NULL },
};

static void read_field(struct manifest *m, const struct json_member *member)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str key = json_str(member->key, &a);
	const struct field *f = NULL;

	for (size_t i = 0; i < COUNT_OF(fields) && !f; i++)
		if (str_is(key, fields[i].key))
			f = &fields[i];
	if (!f) {
		manifest_note(m, member->key, "%.*s: unknown key, without effect", (int)MIN(key.n, 80), key.p);
		return;
	}
	if (json_get_str(m->root, key) != member->value) {
		manifest_note(m, member->key, "%s: defined again below; the last value is used", f->key);
		return;
	}
	const struct json *wrong = find_misfit(member->value, f->form);
	if (wrong) {
		struct str raw = json_raw(wrong);
		struct str line = str_cut(&raw, '\n');
		manifest_fail(m, wrong, "%s: expected %s, not %.*s", f->key, expected[f->form], (int)MIN(line.n, 60),
			      line.p);
	} else if (f->read) {
		f->read(m, member->value);
	}
}

/* Without a manifest the directory's name is the plugin's. */
static void read_name(struct manifest *m)
{
	static const char rule[] = "letters, digits, '-', '_' and '.', 64 at most";
	struct plugin *p = m->plugin;
	const struct json *given = json_get(m->root, "name");

	if (m->root && !given) {
		manifest_fail(m, m->root, "name: is missing; it is the one key that every manifest needs");
		return;
	}
	const char *name = m->root ? json_cstr(given, &p->arena) : p->name;
	if (m->root && !json_is(given, JSON_STRING))
		return; /* read_field() has reported it */
	if (!name || !plugin_name_is_good(str_from(name))) {
		if (m->root)
			manifest_fail(m, given, "name: expected %s", rule);
		else
			plugin_fail(p, PLUGIN_BAD_MANIFEST, p->root, 0,
				    "the directory's name is the plugin's name: expected %s", rule);
		return;
	}
	p->name = name;
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		manifest_note(m, given, "name: small letters, digits and '-' are usual");
}

/* Several entries may offer the marketplace's own directory, each with some of its skills. The copy of such a plugin has the
 * marketplace's file in it. */
static void read_offer(struct manifest *m)
{
	struct plugin *p = m->plugin;
	struct settings_file file = { 0 };
	const char *path = path_join(&p->arena, p->root, ".claude-plugin/marketplace.json");
	const struct json *offer = NULL;

	if (p->origin != PLUGIN_INSTALLED || settings_file_read(&file, path, NULL) < 0)
		return;
	const struct json *list = json_get(file.root, "plugins");
	for (const struct json *e = json_items(list); e; e = json_next(list, e)) {
		const struct json *source = json_get(e, "source");
		const struct json *skills = json_get(e, "skills");
		if (json_str_is(json_get(e, "name"), p->name) && skills && !find_misfit(skills, FORM_SKILL_PATHS) &&
		    (json_str_is(source, "./") || json_str_is(source, ".")))
			offer = e;
	}
	if (!offer) {
		settings_file_release(&file);
		return;
	}
	m->market_file = plugin_keep_file(p, &file);
	m->offer = offer;
}

void manifest_read(struct plugin *p)
{
	/* The manifest has its own directory; older plugins have it at their top. */
	static const char *const places[] = { ".claude-plugin/plugin.json", "plugin.json" };
	struct settings_file file = { 0 };
	struct manifest m = { .plugin = p };
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT_OF(places) && !p->manifest; i++) {
		if (!file_exists(path_join(&p->arena, p->root, places[i])))
			continue;
		p->manifest = component_locate(&m, places[i], NULL, "the manifest");
		if (!p->manifest) { /* a link that leads out of the plugin */
			p->state = PLUGIN_FAILED;
			return;
		}
	}
	if (p->manifest && settings_file_read(&file, p->manifest, &err) < 0) {
		plugin_complain_err(p, PLUGIN_BAD_JSON, p->manifest, &err);
		p->manifest = NULL;
		p->state = PLUGIN_FAILED;
		return;
	}
	if (p->manifest) {
		m.file = plugin_keep_file(p, &file);
		m.root = m.file->root;
	}
	for (struct json_member f = json_members(m.root); f.key; f = json_member_next(m.root, f))
		read_field(&m, &f);
	read_name(&m);
	if (p->state == PLUGIN_FAILED)
		return;
	p->version = json_cstr(json_get(m.root, "version"), &p->arena);
	p->description = json_cstr(json_get(m.root, "description"), &p->arena);
	p->default_enabled = !json_is(json_get(m.root, "defaultEnabled"), JSON_FALSE);
	read_offer(&m);
	component_find_all(&m);
}
