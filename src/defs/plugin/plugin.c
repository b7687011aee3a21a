/* SPDX-License-Identifier: MIT
 * plugin.c - the life of a plugin, its errors, its variables and the user's values for its options. */
#include "defs/plugin/plugin_int.h"
#include "config/settings/settings.h"
#include "lib/io/file.h"

enum { LONGEST_NAME = 64, MOST_ERRORS = 200 };

const char *plugin_fault_name(enum plugin_fault fault)
{
	static const char *const names[] = {
		[PLUGIN_NOT_FOUND] = "plugin-not-found",
		[PLUGIN_BAD_JSON] = "manifest-parse-error",
		[PLUGIN_BAD_MANIFEST] = "manifest-validation-error",
		[PLUGIN_BAD_PATH] = "path-not-found",
		[PLUGIN_BAD_HOOKS] = "hook-load-failed",
		[PLUGIN_BAD_MCP] = "mcp-config-invalid",
		[PLUGIN_BAD_COMPONENT] = "component-load-failed",
		[PLUGIN_BAD_DEPENDENCY] = "dependency-unsatisfied",
		[PLUGIN_BAD_CONFIG] = "user-config-invalid",
		[PLUGIN_BLOCKED] = "marketplace-blocked-by-policy",
		[PLUGIN_BAD_ARCHIVE] = "archive-invalid",
	};
	_Static_assert(COUNT_OF(names) == PLUGIN_FAULT_COUNT, "a word for each fault");

	return names[fault];
}

/* Limited, so that a hostile manifest cannot fill the memory. */
printf_like(3, 0) static void add_error(struct plugin *p, struct plugin_error error, const char *fmt, va_list args)
{
	char text[300];
	int n = error.key ? snprintf(text, sizeof text, "%s: ", error.key) : 0;

	if (p->error_count == MOST_ERRORS)
		return;
	vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
	error.file = arena_strdup(&p->arena, error.file);
	error.message = arena_strdup(&p->arena, text);
	*arena_push(&p->arena, p->errors, p->error_count) = error;
}

void plugin_complain(struct plugin *p, enum plugin_fault fault, const char *key, const char *file, unsigned line,
		     const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_error(p, (struct plugin_error){ .fault = fault, .key = key, .file = file, .line = line }, fmt, args);
	va_end(args);
}

void plugin_fail(struct plugin *p, enum plugin_fault fault, const char *file, unsigned line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_error(p, (struct plugin_error){ .fault = fault, .file = file, .line = line }, fmt, args);
	va_end(args);
	p->state = PLUGIN_FAILED;
}

void plugin_complain_err(struct plugin *p, enum plugin_fault fault, const char *file, const struct err *err)
{
	unsigned line;
	const char *what = settings_file_problem(err, file, &line);

	plugin_complain(p, fault, NULL, file, line, "%s", what);
}

bool plugin_name_is_good(struct str name)
{
	return name.n <= LONGEST_NAME && str_is_name(name, "-_.") && name.p[0] != '.' && name.p[0] != '-';
}

struct plugin *plugin_read_named(const char *dir, enum plugin_origin origin, const char *name, const char *marketplace)
{
	AUTO_FREE char *real = realpath(dir, NULL);
	struct plugin *p = xnew(struct plugin, .origin = origin, .default_enabled = true);

	p->notes.arena = &p->arena;
	p->root = arena_strdup(&p->arena, real ? real : dir);
	p->vars.root = p->root;
	/* Set before the manifest is read, because errors belong to a name. */
	const char *slash = strrchr(p->root, '/');
	p->name = arena_strdup(&p->arena, name ? name : slash ? slash + 1 : "");
	if (real && file_is_dir(real))
		manifest_read(p);
	else
		plugin_fail(p, PLUGIN_NOT_FOUND, dir, 0, real ? "is not a directory" : "does not exist");
	p->id = arena_printf(&p->arena, "%s@%s", p->name, marketplace);
	return p;
}

void plugin_free(struct plugin *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->file_count; i++) {
		settings_file_release(p->files[i]);
		free(p->files[i]);
	}
	arena_release(&p->arena);
	free(p);
}

struct settings_file *plugin_keep_file(struct plugin *p, struct settings_file *file)
{
	struct settings_file *kept = xmalloc(sizeof *kept);

	*kept = *file;
	*file = (struct settings_file){ 0 };
	*arena_push(&p->arena, p->files, p->file_count) = kept;
	return kept;
}

static int option_check_one(const struct plugin_option *o, const struct json *v, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!strcmp(o->type, "boolean"))
		return json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE)
			       ? 0
			       : err_set(err, ERR_USAGE, "expected a boolean: true or false");
	if (strcmp(o->type, "number") != 0) /* a NUL cannot be in an environment */
		return json_cstr(v, &a) ? 0 : err_set(err, ERR_USAGE, "expected a text");
	if (!json_is(v, JSON_NUMBER))
		return err_set(err, ERR_USAGE, "expected a number");
	if (json_double(v) < o->least)
		return err_set(err, ERR_USAGE, "expected a number, at least %g", o->least);
	return json_double(v) <= o->most ? 0 : err_set(err, ERR_USAGE, "expected a number, at most %g", o->most);
}

int plugin_option_check(const struct plugin_option *o, const struct json *value, struct err *err)
{
	if (!o->multiple)
		return option_check_one(o, value, err);
	if (!json_is(value, JSON_ARRAY))
		return err_set(err, ERR_USAGE, "expected a list");
	for (const struct json *e = json_first(value); e; e = json_next(value, e))
		if (option_check_one(o, e, err) < 0)
			return -ERR_USAGE;
	return 0;
}

struct option_search {
	const char *id, *name;
	const char *key;
	const struct json *found; /* of the highest layer so far */
	struct settings_origin origin;
};

static void on_option(void *data, const struct settings_item *item)
{
	struct option_search *s = data;
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
static void option_add_text(struct buf *out, struct arena *a, const struct json *v)
{
	struct str text = json_is(v, JSON_STRING) ? json_str(v, a) : json_raw(v);

	if (!json_is(v, JSON_ARRAY)) {
		buf_append(out, text);
		return;
	}
	for (const struct json *e = json_first(v); e; e = json_next(v, e)) {
		if (e != json_first(v))
			buf_addch(out, ',');
		option_add_text(out, a, e);
	}
}

void plugin_options_apply(struct plugin *p, const struct settings *settings)
{
	const char **list = arena_calloc(&p->arena, (p->option_count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < p->option_count; i++) {
		const struct plugin_option *o = &p->options[i];
		struct option_search s = { .id = p->id, .name = p->name, .key = o->key };
		AUTO_BUF struct buf text = { 0 };
		struct err err = { 0 };
		if (settings)
			settings_each(settings, "pluginConfigs", on_option, &s);
		const struct json *v = s.found ? s.found : o->otherwise;
		if (s.found && plugin_option_check(o, s.found, &err) < 0) {
			plugin_fail(p, PLUGIN_BAD_CONFIG, s.origin.file, s.origin.line,
				    "pluginConfigs.%s.options.%s: %s", p->id, o->key, err.text);
		} else if (v) {
			buf_addf(&text, "%s=", o->key);
			option_add_text(&text, &p->arena, v);
			list[n++] = arena_strdup(&p->arena, text.p);
		} else if (o->required) {
			plugin_fail(p, PLUGIN_BAD_CONFIG, p->manifest, o->line,
				    "userConfig.%s: needs a value in pluginConfigs.%s.options of the user's settings",
				    o->key, p->id);
		}
	}
	p->vars.options = list;
}
