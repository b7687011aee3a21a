/* SPDX-License-Identifier: MIT
 * styles.c - see styles.h. */
#include "product/session/styles.h"
#include <dirent.h>
#include "product/session/session_int.h"
#include "product/session/texts.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "config/catalog/frontmatter.h"
#include "lib/git/git_head.h"
#include "config/settings/settings_place.h"

enum { LARGEST_STYLE = 256 * 1024 };

/* Called for each style, the one that counts before others of its name. False: enough. */
typedef bool style_fn(void *data, const struct output_style *style);

struct walk {
	struct arena *arena;
	style_fn *fn;
	void *data;
};

static const struct {
	const char *name, *description, *text;
} builtin[] = {
	{ "Explanatory", "Explains its choices while it works", style_explanatory_text },
	{ "Learning", "Leaves small pieces of the work to the user, and explains", style_learning_text },
};

/* ---- one file ---------------------------------------------------------------------------------------------------- */

static unsigned key_flags(struct str key)
{
	if (str_is_nocase(key, "name") || str_is_nocase(key, "description"))
		return FRONTMATTER_KNOWN | FRONTMATTER_TEXT;
	return str_is_nocase(key, "keep-coding-instructions") ? FRONTMATTER_KNOWN : 0;
}

static void take_field(struct output_style *style, struct arena *a, const struct frontmatter_field *field)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value;

	if (json_parse(&reader, field->json.p, field->json.n, &value, NULL) < 0)
		return;
	const char *text = json_cstr(value, a);
	if (str_is_nocase(field->key, "name") && text && text[0])
		style->name = text;
	else if (str_is_nocase(field->key, "description") && text)
		style->description = text;
	else if (str_is_nocase(field->key, "keep-coding-instructions"))
		style->keeps_prompt = json_bool(value) || (text && !strcasecmp(text, "true"));
}

static bool read_file(const char *path, const char *stem, struct arena *a, struct output_style *ret)
{
	struct diagnostics ignored = { .arena = a };
	AUTO_BUF struct buf bytes = { 0 };
	struct frontmatter head;

	if (file_read(path, LARGEST_STYLE, &bytes, NULL) < 0)
		return false;
	frontmatter_read(&head, a, arena_str(a, buf_str(&bytes)), key_flags, &ignored);
	*ret = (struct output_style){ .name = stem, .description = "", .prompt = head.body };
	for (size_t i = 0; i < head.field_count; i++)
		take_field(ret, a, &head.fields[i]);
	return true;
}

/* ---- all places -------------------------------------------------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* True: go on. plugin NULL: not of a plugin. */
static bool walk_file(const struct walk *w, const char *path, const char *plugin)
{
	const char *slash = strrchr(path, '/');
	struct str name = str_from(slash ? slash + 1 : path);
	struct output_style style;

	if (name.n <= 3 || !str_ends(name, STR(".md")) ||
	    !read_file(path, arena_dup(w->arena, name.p, name.n - 3), w->arena, &style))
		return true;
	if (plugin)
		style.name = arena_printf(w->arena, "%s:%s", plugin, style.name);
	return w->fn(w->data, &style);
}

static bool walk_dir(const struct walk *w, const char *dir, const char *plugin)
{
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, NULL, by_name);
	bool more = true;

	for (int i = 0; i < count; i++) {
		more = more && walk_file(w, path_join(w->arena, dir, entries[i]->d_name), plugin);
		free(entries[i]);
	}
	free(entries);
	return more;
}

static bool walk_usual(const struct walk *w, const char *parent)
{
	return walk_dir(w, path_join(w->arena, parent, "output-styles"), NULL);
}

static bool walk_plugin(const struct walk *w, const struct plugin *p)
{
	for (size_t i = 0; i < p->styles.count; i++) {
		const struct plugin_path *at = &p->styles.list[i];
		if (!(at->is_dir ? walk_dir(w, at->path, p->name) : walk_file(w, at->path, p->name)))
			return false;
	}
	return true;
}

/* From cwd up to the root of the repository; without one cwd alone. */
static bool walk_project(const struct walk *w, const char *cwd, const char *config_dir)
{
	const char *root = git_root(w->arena, cwd);

	for (char *dir = arena_strdup(w->arena, cwd); dir[0];) {
		const char *claude = path_join(w->arena, dir, ".claude");
		if (strcmp(claude, config_dir) != 0 && !walk_usual(w, claude))
			return false;
		if (!root || !strcmp(dir, root))
			break;
		*strrchr(dir, '/') = '\0';
	}
	return true;
}

static bool walk_builtin(const struct walk *w)
{
	for (size_t i = 0; i < COUNT_OF(builtin); i++) {
		struct output_style style = { builtin[i].name, builtin[i].description, str_from(builtin[i].text),
					      true };
		if (!w->fn(w->data, &style))
			return false;
	}
	return true;
}

static void walk_all(const struct cadre_session *s, const struct walk *w)
{
	const struct services *sv = s->services;
	unsigned sources = sv->options.some_sources ? sv->options.setting_sources : SETTINGS_ALL;

	if (s->tree.managed_dir && !walk_usual(w, s->tree.managed_dir))
		return;
	const char *project = sv->options.config_root ? sv->options.config_root : s->tree.main.cwd;
	if ((sources & SETTINGS_PROJECT) && !walk_project(w, project, sv->store.config_dir))
		return;
	if ((sources & SETTINGS_USER) && !walk_usual(w, sv->store.config_dir))
		return;
	for (size_t i = 0; sv->plugins && i < sv->plugins->enabled_count; i++)
		if (!walk_plugin(w, sv->plugins->enabled[i]))
			return;
	(void)walk_builtin(w);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

struct search {
	struct cadre_session *session;
	const char *name;
};

static bool is_wanted(void *data, const struct output_style *style)
{
	const struct search *search = data;

	if (strcasecmp(style->name, search->name) != 0)
		return true;
	struct output_style *copy = arena_alloc(&search->session->arena, sizeof *copy);
	*copy = *style;
	search->session->style = copy;
	return false;
}

void session_find_style(struct cadre_session *s)
{
	const struct json *setting = settings_get(s->services->policy.settings, "outputStyle", NULL);
	struct search search = { s, json_cstr(setting, &s->arena) };

	s->style = NULL;
	s->tree.style.on = false;
	if (!search.name || !search.name[0] || !strcasecmp(search.name, "default"))
		return;
	walk_all(s, &(struct walk){ &s->arena, is_wanted, &search });
	if (s->style) {
		s->tree.style.on = true;
		s->tree.style.keeps_prompt = s->style->keeps_prompt;
		s->tree.style.prompt = s->style->prompt;
	} else {
		buf_addf(&s->tree.main.notes, "there is no output style '%s': the usual one is used\n", search.name);
	}
}

struct listing {
	struct json_out *out;
	struct map seen;
};

static bool list_one(void *data, const struct output_style *style)
{
	struct listing *l = data;

	if (!map_get(&l->seen, str_from(style->name)))
		json_put_cstr(l->out, style->name);
	map_set(&l->seen, str_from(style->name), l);
	return true;
}

void session_put_styles(struct json_out *w, const struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	struct listing listing = { .out = w };

	json_kcstr(w, "output_style", s->style ? s->style->name : "default");
	json_key(w, "available_output_styles");
	json_open(w, '[');
	json_put_cstr(w, "default");
	walk_all(s, &(struct walk){ &a, list_one, &listing });
	json_close(w);
	map_release(&listing.seen);
}
