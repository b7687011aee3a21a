/* SPDX-License-Identifier: MIT
 * option.c - values of userConfig: checked, then as "KEY=value". */
#include "defs/plugin/option.h"

/* ---- checking ---------------------------------------------------------------------------------------------------- */

static bool fits(const struct plugin_option *o, const struct json *v)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!strcmp(o->type, "boolean"))
		return json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE);
	if (!strcmp(o->type, "number"))
		return json_is(v, JSON_NUMBER) && json_double(v) >= o->least && json_double(v) <= o->most;
	return json_cstr(v, &a) != NULL; /* a NUL cannot be in an environment */
}

static int check_one(const struct plugin_option *o, const struct json *v, struct err *err)
{
	if (fits(o, v))
		return 0;
	if (strcmp(o->type, "number") != 0)
		return err_set(err, ERR_USAGE, "expected a %s",
			       strcmp(o->type, "boolean") != 0 ? "text" : "boolean: true or false");
	if (json_is(v, JSON_NUMBER) && json_double(v) < o->least)
		return err_set(err, ERR_USAGE, "expected a number, at least %g", o->least);
	if (json_is(v, JSON_NUMBER))
		return err_set(err, ERR_USAGE, "expected a number, at most %g", o->most);
	return err_set(err, ERR_USAGE, "expected a number");
}

int plugin_option_check(const struct plugin_option *o, const struct json *value, struct err *err)
{
	if (!o->multiple)
		return check_one(o, value, err);
	if (!json_is(value, JSON_ARRAY))
		return err_set(err, ERR_USAGE, "expected a list");
	for (const struct json *e = json_first(value); e; e = json_next(value, e))
		if (check_one(o, e, err) < 0)
			return -ERR_USAGE;
	return 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

struct search {
	const char *id, *name;
	const char *key;
	const struct json *found; /* of the highest layer so far */
	struct settings_origin origin;
};

static void look(void *data, const struct settings_item *item)
{
	struct search *s = data;
	enum settings_layer layer = item->origin.layer;
	bool own = layer == LAYER_USER || layer == LAYER_FLAG || layer == LAYER_MANAGED;

	if (!own || (!json_str_is(item->key, s->id) && !json_str_is(item->key, s->name)))
		return;
	const struct json *v = json_get(json_get(item->value, "options"), s->key);
	if (v) {
		s->found = v;
		s->origin = item->origin;
	}
}

/* Several values are one text with commas between, as an environment has it. */
static void add_text(struct buf *out, struct arena *a, const struct json *v)
{
	struct str text = json_is(v, JSON_STRING) ? json_str(v, a) : json_raw(v);

	if (!json_is(v, JSON_ARRAY)) {
		buf_add(out, text.p, text.n);
		return;
	}
	for (const struct json *e = json_first(v); e; e = json_next(v, e)) {
		if (e != json_first(v))
			buf_addch(out, ',');
		add_text(out, a, e);
	}
}

/* NULL: it has no value. */
static const char *find_value(struct plugin *p, const struct plugin_option *o, const struct settings *settings)
{
	struct search s = { .id = p->id, .name = p->name, .key = o->key };
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	if (settings)
		settings_each(settings, "pluginConfigs", look, &s);
	if (s.found && plugin_option_check(o, s.found, &err) < 0) {
		plugin_fail(p, PLUGIN_BAD_CONFIG, s.origin.file, s.origin.line, "pluginConfigs.%s.options.%s: %s",
			    p->id, o->key, err.text);
		return NULL;
	}
	const struct json *v = s.found ? s.found : o->otherwise;
	if (!v && o->required)
		plugin_fail(p, PLUGIN_BAD_CONFIG, p->manifest, o->line,
			    "userConfig.%s: needs a value in pluginConfigs.%s.options of the user's settings", o->key,
			    p->id);
	if (!v)
		return NULL;
	buf_addf(&text, "%s=", o->key);
	add_text(&text, &p->arena, v);
	return arena_strdup(&p->arena, text.p);
}

void plugin_options_apply(struct plugin *p, const struct settings *settings)
{
	const char **list = arena_calloc(&p->arena, (p->option_count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < p->option_count; i++) {
		const char *value = find_value(p, &p->options[i], settings);
		if (value)
			list[n++] = value;
	}
	p->vars.options = list;
}
