/* SPDX-License-Identifier: MIT
 * manifest_nested.c - the fields of a manifest that have a form of their own: author, userConfig, dependencies. */
#include "defs/plugin/plugin_int.h"
#include <math.h>
#include "defs/plugin/option.h"
#include "defs/plugin/version.h"

enum { MOST_OPTIONS = 100, MOST_DEPENDENCIES = 100 };

/* ---- author ------------------------------------------------------------------------------------------------------ */

void manifest_read_author(struct manifest *m, const struct json *author)
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

/* ---- userConfig -------------------------------------------------------------------------------------------------- */

static const char *const option_types[] = { "string", "number", "boolean", "directory", "file" };

/* It becomes the name of an environment variable. */
static bool is_option_key(const char *key)
{
	size_t n = key ? strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;

	return n && n <= 64 && !key[n] && !(key[0] >= '0' && key[0] <= '9');
}

static const char *find_type(const struct json *value)
{
	for (size_t i = 0; i < COUNT_OF(option_types); i++)
		if (json_str_is(value, option_types[i]))
			return option_types[i];
	return NULL;
}

static bool read_switch(struct manifest *m, const struct plugin_option *o, const struct json *object, const char *key)
{
	const struct json *v = json_get(object, key);

	if (v && !json_is(v, JSON_TRUE) && !json_is(v, JSON_FALSE))
		manifest_fail(m, v, "userConfig.%s.%s: expected true or false", o->key, key);
	return json_bool(v);
}

static double read_bound(struct manifest *m, const struct plugin_option *o, const struct json *object, const char *key,
			 double otherwise)
{
	const struct json *v = json_get(object, key);

	if (v && !json_is(v, JSON_NUMBER))
		manifest_fail(m, v, "userConfig.%s.%s: expected a number", o->key, key);
	return json_is(v, JSON_NUMBER) ? json_double(v) : otherwise;
}

static void read_texts(struct manifest *m, struct plugin_option *o, const struct json *object)
{
	static const char *const keys[] = { "title", "description" };

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct json *v = json_get(object, keys[i]);
		if (v && !json_is(v, JSON_STRING))
			manifest_fail(m, v, "userConfig.%s.%s: expected a text", o->key, keys[i]);
	}
	o->title = json_cstr(json_get(object, "title"), &m->plugin->arena);
}

static void read_option(struct manifest *m, struct plugin_option *o, const struct json *object)
{
	struct err err = { 0 };

	o->type = find_type(json_get(object, "type"));
	if (!o->type) {
		manifest_fail(m, object, "userConfig.%s.type: expected string, number, boolean, directory or file",
			      o->key);
		return;
	}
	read_texts(m, o, object);
	o->required = read_switch(m, o, object, "required");
	o->sensitive = read_switch(m, o, object, "sensitive");
	o->multiple = read_switch(m, o, object, "multiple");
	o->least = read_bound(m, o, object, "min", -INFINITY);
	o->most = read_bound(m, o, object, "max", INFINITY);
	o->otherwise = json_get(object, "default");
	o->line = settings_line(m->file, object);
	if (o->otherwise && plugin_option_check(o, o->otherwise, &err) < 0)
		manifest_fail(m, o->otherwise, "userConfig.%s.default: %s", o->key, err.text);
}

static void add_option(struct manifest *m, const struct json_member *member)
{
	struct plugin *p = m->plugin;
	const char *key = json_cstr(member->key, &p->arena);

	if (!is_option_key(key)) {
		manifest_fail(m, member->key, "userConfig: expected names of letters, digits and '_'");
	} else if (!json_is(member->value, JSON_OBJECT)) {
		manifest_fail(m, member->value, "userConfig.%s: expected an object", key);
	} else {
		struct plugin_option *o = &p->options[p->option_count++];
		o->key = key;
		read_option(m, o, member->value);
	}
}

void manifest_read_options(struct manifest *m, const struct json *map)
{
	struct plugin *p = m->plugin;

	if (map->count > MOST_OPTIONS) {
		manifest_fail(m, map, "userConfig: more than %d options", MOST_OPTIONS);
		return;
	}
	p->options = xcalloc(map->count + 1, sizeof *p->options);
	for (struct json_member e = json_members(map); e.key; e = json_member_next(map, e))
		add_option(m, &e);
}

/* ---- dependencies ------------------------------------------------------------------------------------------------ */

static bool split_name(struct plugin_dependency *d, struct arena *a, const char *text)
{
	const char *at = strchr(text, '@');
	struct str name = { text, at ? (size_t)(at - text) : strlen(text) };

	if (!plugin_name_is_good(name) || (at && !plugin_name_is_good(str_from(at + 1))))
		return false;
	d->name = arena_str(a, name).p;
	d->marketplace = at ? arena_strdup(a, at + 1) : NULL;
	return true;
}

static void read_dependency(struct manifest *m, const struct json *value)
{
	struct plugin *p = m->plugin;
	bool plain = json_is(value, JSON_STRING);
	const char *name = json_cstr(plain ? value : json_get(value, "name"), &p->arena);
	const struct json *range = plain ? NULL : json_get(value, "version");
	struct plugin_dependency d = { .line = settings_line(m->file, value) };

	if (!name || !split_name(&d, &p->arena, name)) {
		manifest_fail(m, value, "dependencies: expected the name of a plugin, or an object with one");
		return;
	}
	d.range = json_cstr(range, &p->arena);
	if (range && (!d.range || !version_range_is_good(str_from(d.range)))) {
		manifest_fail(m, range, "dependencies: %s: expected a range of versions, such as ^1.2.0", d.name);
		return;
	}
	p->dependencies[p->dependency_count++] = d;
}

void manifest_read_dependencies(struct manifest *m, const struct json *list)
{
	struct plugin *p = m->plugin;

	if (list->count > MOST_DEPENDENCIES) {
		manifest_fail(m, list, "dependencies: more than %d", MOST_DEPENDENCIES);
		return;
	}
	p->dependencies = xcalloc(list->count + 1, sizeof *p->dependencies);
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		read_dependency(m, v);
}
