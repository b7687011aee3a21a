/* SPDX-License-Identifier: MIT
 * styles.c - the catalog of output styles, made when one is looked for. */
#include "product/session/session.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "agents/profile/roster.h"
#include "defs/policy/plugins.h"
#include "defs/policy/sources.h"
#include "config/catalog/catalog.h"
#include "lib/git/git_head.h"
#include "config/settings/settings_file.h"

enum { LARGEST_STYLE = 256 * 1024 };

struct style_definition {
	DEFINITION_HEAD;
	struct str prompt;
	bool keeps_prompt;
};

static void read_style_text(struct definition_reader *r, const struct json *value, void *at)
{
	const char *text = json_is(value, JSON_STRING) ? definition_text(r, value) : NULL;

	if (text && text[0])
		*(const char **)at = text;
}

static void read_style_switch(struct definition_reader *r, const struct json *value, void *at)
{
	*(bool *)at = str_is_nocase(str_from(definition_text(r, value)), "true");
}

static const struct definition_field style_fields[] = {
	{ "name",
	  { 0 },
	  FRONTMATTER_KNOWN | FRONTMATTER_TEXT,
	  read_style_text,
	  offsetof(struct style_definition, name) },
	{ "description",
	  { 0 },
	  FRONTMATTER_KNOWN | FRONTMATTER_TEXT,
	  read_style_text,
	  offsetof(struct style_definition, description) },
	{ "keep-coding-instructions",
	  { 0 },
	  FRONTMATTER_KNOWN,
	  read_style_switch,
	  offsetof(struct style_definition, keeps_prompt) },
	{ 0 },
};

static const struct definition_format style_format = { .noun = "output style", .fields = style_fields, .terse = true };

static struct definition *parse_style(const struct catalog_location *location, const struct tree_file *file,
				      struct str text, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct style_definition *style =
		definition_new(sizeof *style, location->source, file->path, tree_stem(&a, file->path));
	struct definition_reader r;
	struct frontmatter head;

	definition_read_begin(&r, &style->common, &style_format);
	definition_read_markdown(&r, text, &head);
	style->prompt = arena_str(&style->arena, head.body);
	definition_read_end(&r);
	if (location->plugin)
		style->name = arena_printf(&style->arena, "%s:%s", location->plugin->name, style->name);
	return &style->common;
}

static void read_builtin_styles(struct catalog *c, struct catalog_file *f, const struct catalog_location *location)
{
	static const struct {
		const char *name, *description, *text;
	} builtin[] = {
		{ "Explanatory", "Explains its choices while it works", style_explanatory_text },
		{ "Learning", "Leaves small pieces of the work to the user, and explains", style_learning_text },
		{ "Proactive", "Decides by itself what is left open, and continues", style_proactive_text },
	};

	for (size_t i = 0; i < COUNT_OF(builtin); i++) {
		struct style_definition *style =
			definition_new(sizeof *style, location->source, location->path, builtin[i].name);
		style->description = builtin[i].description;
		style->prompt = str_from(builtin[i].text);
		style->keeps_prompt = true;
		catalog_file_add(f, &style->common);
	}
}

static void add_style_dir(struct catalog_locations *p, const char *claude_dir, const char *below)
{
	catalog_add_location(p, LOCATION_FLAT, SOURCE_PROJECT, path_join(&p->arena, claude_dir, "output-styles"));
}

/* Of two plugins the first goes first in the list, so it comes last here. */
static void find_style_locations(struct catalog_locations *p, const struct catalog_sources *s)
{
	catalog_add_location(p, LOCATION_OWN, SOURCE_BUILT_IN, "built-in")->in_memory = true;
	for (size_t i = s->plugin_count; i-- > 0;)
		catalog_add_plugin(p, &s->plugins[i], LOCATION_FLAT);
	if (s->setting_sources & SETTINGS_USER)
		catalog_add_location(p, LOCATION_FLAT, SOURCE_USER,
				     path_join(&p->arena, s->config_dir, "output-styles"));
	if (s->setting_sources & SETTINGS_PROJECT)
		catalog_each_project(p, s, git_root(&p->arena, s->cwd), add_style_dir);
	if (s->managed_dir)
		catalog_add_location(p, LOCATION_FLAT, SOURCE_MANAGED,
				     path_join(&p->arena, s->managed_dir, "output-styles"));
}

static const struct catalog_kind style_kind = {
	.largest = LARGEST_STYLE,
	.find_locations = find_style_locations,
	.parse = parse_style,
	.read_own = read_builtin_styles,
};

/* Returns owned. */
static struct catalog *open_styles(const struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct services *sv = s->services;
	struct catalog_sources sources = {
		.cwd = settings_source(s->tree.policy->settings)->cwd,
		.config_dir = sv->store.config_dir,
		.managed_dir = s->tree.managed_dir,
		.setting_sources = services_setting_sources(sv),
	};
	struct catalog *styles = NULL;

	if (sv->plugins)
		sources.plugins = plugin_list_definitions(sv->plugins, PLUGIN_STYLES, &a, &sources.plugin_count);
	catalog_sources_hold(&sources, &a, s->tree.policy->settings);
	(void)catalog_new(&style_kind, &sources, &styles,
			  NULL); /* fails for a location of its own, which is compiled in */
	return styles;
}

/* The active styles, highest priority first, in the order of names inside a location. NULL: the last one was before. */
static const struct catalog_entry *next_style(const struct catalog *c, const struct catalog_entry *e)
{
	const struct catalog_entry *next = NULL;

	for (const struct catalog_entry *other = c->all; other < c->all + c->all_count; other++) {
		bool behind = !e || other->group < e->group || (other->group == e->group && other > e);
		if (behind && !other->hidden_by && (!next || other->group > next->group))
			next = other;
	}
	return next;
}

static const struct catalog_entry *style_named(const struct catalog *c, const char *name)
{
	const struct catalog_entry *e = next_style(c, NULL);

	while (e && strcasecmp(e->name, name) != 0)
		e = next_style(c, e);
	return e;
}

bool session_has_style(const struct cadre_session *s, struct str name)
{
	struct catalog *styles = open_styles(s);
	AUTO_FREE char *wanted = xstrndup(name.p, name.n);
	bool found = !strcasecmp(wanted, "default") || style_named(styles, wanted);

	catalog_free(styles);
	return found;
}

void session_find_style(struct cadre_session *s)
{
	const char *name = json_cstr(settings_get(s->tree.policy->settings, "outputStyle", NULL), &s->arena);

	s->tree.style.on = false;
	s->style_name = "default";
	if (!name || !name[0] || !strcasecmp(name, "default"))
		return;
	struct catalog *styles = open_styles(s);
	const struct catalog_entry *e = style_named(styles, name);
	if (e && definition_is_hidden(&s->tree.main.env, e->item)) {
		buf_addf(&s->tree.main.notes, "the output style %s is not used: a deny rule forbids to read %s\n", name,
			 e->item->file);
	} else if (e) {
		const struct style_definition *d = (const struct style_definition *)e->item;
		s->style_name = arena_strdup(&s->arena, d->name);
		s->tree.style.on = true;
		s->tree.style.keeps_prompt = d->keeps_prompt;
		s->tree.style.prompt = arena_str(&s->arena, d->prompt);
	} else {
		s->style_name = name;
		buf_addf(&s->tree.main.notes,
			 "no such output style: %s; the default is used (`cadre config explain outputStyle`)\n", name);
	}
	catalog_free(styles);
}

void session_put_styles(struct json_out *w, const struct cadre_session *s)
{
	struct catalog *styles = open_styles(s);

	json_putf(w, "output_style:'%s', available_output_styles:['default'", s->style_name);
	for (const struct catalog_entry *e = next_style(styles, NULL); e; e = next_style(styles, e))
		json_put_cstr(w, e->name);
	json_close(w);
	catalog_free(styles);
}
