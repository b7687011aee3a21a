/* SPDX-License-Identifier: MIT
 * manifest.c - .claude-plugin/plugin.json: one table says which keys there are and what they hold.
 *
 * A known key with a wrong value fails the plugin: somebody meant something by it, and half of it is not what he meant. A key
 * that is not known is a note, because newer programs may know it. To add a key: a row here, and in docs/plugins.md. */
#include "defs/plugin/plugin_int.h"
#include "lib/io/file.h"

enum value_form {
	FORM_ANY,
	FORM_TEXT,
	FORM_TEXTS,
	FORM_BOOL,
	FORM_OBJECT,
	FORM_LIST,
	FORM_PATHS,       /* "./x", or a list of such */
	FORM_SKILL_PATHS, /* the same; "." is the root */
	FORM_PATHS_OR_OBJECT,
};

static const struct field {
	const char *key;
	enum value_form form;
	void (*read)(struct manifest *m, const struct json *value);
} fields[] = {
	{ "$schema", FORM_ANY, NULL },
	{ "agents", FORM_PATHS, NULL },
	{ "author", FORM_OBJECT, manifest_read_author },
	{ "channels", FORM_LIST, NULL },
	{ "commands", FORM_PATHS, NULL },
	{ "defaultEnabled", FORM_BOOL, NULL },
	{ "dependencies", FORM_LIST, manifest_read_dependencies },
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
	{ "userConfig", FORM_OBJECT, manifest_read_options },
	{ "version", FORM_TEXT, NULL },
	{ "workflows", FORM_PATHS, NULL },
};

static unsigned line_of(const struct manifest *m, const struct json *value)
{
	return m->file && value ? settings_line(m->file, value) : 0;
}

void manifest_fail(struct manifest *m, const struct json *value, const char *fmt, ...)
{
	char text[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	plugin_fail(m->plugin, PLUGIN_BAD_MANIFEST, m->plugin->manifest, line_of(m, value), "%s", text);
}

void manifest_note(struct manifest *m, const struct json *value, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(&m->plugin->notes, DIAGNOSTIC_NOTE, line_of(m, value), fmt, args);
	va_end(args);
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

static bool is_path(const struct json *v, bool root_allowed)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *text = json_cstr(v, &a);

	return text && component_path_is_good(str_from(text), root_allowed);
}

/* The part of a value that does not fit; NULL: all does. */
static const struct json *path_misfit(const struct json *v, enum value_form form)
{
	bool root = form == FORM_SKILL_PATHS;

	if (json_is(v, JSON_OBJECT))
		return form == FORM_PATHS_OR_OBJECT ? NULL : v;
	if (!json_is(v, JSON_ARRAY))
		return is_path(v, root) ? NULL : v;
	for (const struct json *e = json_first(v); e; e = json_next(v, e))
		if (!is_path(e, root) && !(form == FORM_PATHS_OR_OBJECT && json_is(e, JSON_OBJECT)))
			return e;
	return NULL;
}

static const struct json *text_misfit(const struct json *list)
{
	if (!json_is(list, JSON_ARRAY))
		return list;
	for (const struct json *e = json_first(list); e; e = json_next(list, e))
		if (!json_is(e, JSON_STRING))
			return e;
	return NULL;
}

static const struct json *misfit(const struct json *v, enum value_form form)
{
	switch (form) {
	case FORM_ANY:
		return NULL;
	case FORM_TEXT:
		return json_is(v, JSON_STRING) ? NULL : v;
	case FORM_TEXTS:
		return text_misfit(v);
	case FORM_BOOL:
		return json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE) ? NULL : v;
	case FORM_OBJECT:
		return json_is(v, JSON_OBJECT) ? NULL : v;
	case FORM_LIST:
		return json_is(v, JSON_ARRAY) ? NULL : v;
	case FORM_PATHS:
	case FORM_SKILL_PATHS:
	case FORM_PATHS_OR_OBJECT:
		return path_misfit(v, form);
	}
	return NULL;
}

static const char *expected(enum value_form form)
{
	static const char *const texts[] = {
		[FORM_ANY] = "anything",
		[FORM_TEXT] = "a text",
		[FORM_TEXTS] = "a list of texts",
		[FORM_BOOL] = "true or false",
		[FORM_OBJECT] = "an object",
		[FORM_LIST] = "a list",
		[FORM_PATHS] = "a path that begins with ./ and has no .., or a list of such",
		[FORM_SKILL_PATHS] = "a path that begins with ./ and has no .., or a list of such",
		[FORM_PATHS_OR_OBJECT] = "a path that begins with ./ and has no .., an object, or a list of such",
	};

	return texts[form];
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static const struct field *find_field(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (str_is(key, fields[i].key))
			return &fields[i];
	return NULL;
}

static void read_field(struct manifest *m, const struct json_member *member)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str key = json_str(member->key, &a);
	const struct field *f = find_field(key);

	if (!f) {
		manifest_note(m, member->key, "%.*s: not known, and without effect", (int)MIN(key.n, 80), key.p);
		return;
	}
	if (json_get_str(m->root, key) != member->value) {
		manifest_note(m, member->key, "%s: said again below, and that counts", f->key);
		return;
	}
	const struct json *wrong = misfit(member->value, f->form);
	if (wrong) {
		struct str raw = json_raw(wrong);
		struct str line = str_cut(&raw, '\n');
		manifest_fail(m, wrong, "%s: expected %s, not %.*s", f->key, expected(f->form), (int)MIN(line.n, 60),
			      line.p);
	} else if (f->read) {
		f->read(m, member->value);
	}
}

static bool is_kebab(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!(name.p[i] >= 'a' && name.p[i] <= 'z') && !(name.p[i] >= '0' && name.p[i] <= '9') &&
		    name.p[i] != '-')
			return false;
	return true;
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
		return; /* the table has said so */
	if (!name || !plugin_name_is_good(str_from(name))) {
		if (m->root)
			manifest_fail(m, given, "name: expected %s", rule);
		else
			plugin_fail(p, PLUGIN_BAD_MANIFEST, p->root, 0,
				    "the directory's name is the plugin's name: expected %s", rule);
		return;
	}
	p->name = name;
	if (!is_kebab(str_from(name)))
		manifest_note(m, given, "name: small letters, digits and '-' are usual");
}

static const char *text_of(struct manifest *m, const char *key)
{
	return json_cstr(json_get(m->root, key), &m->plugin->arena);
}

static void read_fields(struct manifest *m)
{
	struct plugin *p = m->plugin;

	for (struct json_member f = json_members(m->root); f.key; f = json_member_next(m->root, f))
		read_field(m, &f);
	read_name(m);
	if (p->state == PLUGIN_FAILED)
		return;
	p->version = text_of(m, "version");
	p->description = text_of(m, "description");
	p->default_enabled = !json_is(json_get(m->root, "defaultEnabled"), JSON_FALSE);
	component_find_all(m);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The manifest has its own directory; older plugins have it at their top. */
static const char *find_manifest(struct manifest *m)
{
	static const char *const places[] = { ".claude-plugin/plugin.json", "plugin.json" };

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		const char *path = path_join(&m->plugin->arena, m->plugin->root, places[i]);
		if (file_exists(path))
			return component_locate(m, places[i], NULL, "the manifest");
	}
	return NULL;
}

void manifest_read(struct plugin *p)
{
	struct settings_file file = { 0 };
	struct manifest m = { .plugin = p };
	struct err err = { 0 };
	size_t errors = p->error_count;
	const char *path = find_manifest(&m);

	if (p->error_count > errors) { /* a link that leads out: whose manifest it is cannot be said */
		p->state = PLUGIN_FAILED;
		return;
	}
	if (path && settings_file_read(&file, path, &err) < 0) {
		plugin_complain_err(p, PLUGIN_BAD_JSON, path, &err);
		p->state = PLUGIN_FAILED;
		return;
	}
	p->manifest = path;
	if (path) {
		m.file = plugin_keep_file(p, &file);
		m.root = m.file->root;
	}
	read_fields(&m);
}
