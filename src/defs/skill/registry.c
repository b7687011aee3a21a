/* SPDX-License-Identifier: MIT
 * registry.c - where skills and commands are looked for, which one has a name, lookup, and the list for a model. */
#include "defs/skill/registry.h"
#include <ctype.h>
#include "config/settings/settings_file.h"
#include "lib/base/budgeted_list.h"
#include "lib/base/utf8.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"

enum { LARGEST_FILE = 1 << 20, NEAR_LIMIT = 5, NEAR_LENGTH = 64, REST_RESERVE = 200 };

static void add_both(struct catalog_locations *p, enum definition_source source, const char *dir, const char *below)
{
	struct catalog_location *location =
		catalog_add_location(p, LOCATION_TREE, source, path_join(&p->arena, dir, "commands"));

	location->is_command = true;
	location->below = below;
	catalog_add_location(p, LOCATION_FOLDERS, source, path_join(&p->arena, dir, "skills"))->below = below;
}

static void add_project(struct catalog_locations *p, const char *claude_dir, const char *below)
{
	add_both(p, SOURCE_PROJECT, claude_dir, below);
}

/* A directory of skills, a directory or file of commands, or one directory with a SKILL.md */
static void add_plugin_path(struct catalog_locations *p, const struct catalog_plugin *plugin,
			    const struct catalog_plugin_path *at)
{
	const char *path = at->path;
	const char *skill_file = path_join(&p->arena, path, "SKILL.md");
	enum catalog_location_kind kind = at->is_command ? LOCATION_TREE : LOCATION_FOLDERS;

	if (file_is_regular(path)) {
		kind = LOCATION_FILE;
	} else if (!at->is_command && file_exists(skill_file)) {
		kind = LOCATION_FILE;
		path = skill_file;
	}
	struct catalog_location *location = catalog_add_location(p, kind, SOURCE_PLUGIN, path);
	location->plugin = plugin;
	location->is_command = at->is_command;
}

static void find_skill_locations(struct catalog_locations *p, const struct catalog_sources *s)
{
	unsigned chosen = s->bare || s->plugins_only ? 0 : s->setting_sources;

	for (size_t i = 0; i < s->plugin_count; i++)
		for (size_t k = 0; k < s->plugins[i].path_count; k++)
			add_plugin_path(p, &s->plugins[i], &s->plugins[i].paths[k]);
	if (chosen & SETTINGS_PROJECT) {
		const char *root = git_root(&p->arena, s->cwd);
		size_t from = strlen(root ? root : s->cwd) + 1;
		catalog_each_project(p, s, root, add_project);
		/* Called by their way from the root of the repository, or from cwd. */
		for (size_t i = 0; i < s->nested_count; i++) {
			struct catalog_location *location =
				catalog_add_location(p, LOCATION_FOLDERS, SOURCE_PROJECT,
						     path_join(&p->arena, s->nested[i], ".claude/skills"));
			location->below = s->nested[i] + from;
			location->nested = s->nested[i];
		}
	}
	if (chosen & SETTINGS_USER)
		add_both(p, SOURCE_USER, s->config_dir, "");
	if (s->managed_dir)
		add_both(p, SOURCE_MANAGED, path_join(&p->arena, s->managed_dir, ".claude"), "");
	/* Groups are not used: the order alone decides, and it may shift when a nested directory appears. */
	for (size_t i = 0; i < p->count; i++)
		p->list[i].group = 0;
}

static struct definition *parse_skill(const struct catalog_location *location, const struct tree_file *file,
				      struct str text, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct catalog_plugin *plugin = location->plugin;
	const char *slash = strrchr(file->path, '/');
	struct skill_origin origin = { .source = location->source,
				       .is_command = location->is_command,
				       .file = file->path };

	/* DIR/NAME/SKILL.md is NAME; of commands a/b.md is a:b. */
	if (location->kind == LOCATION_FOLDERS) {
		origin.name = file->below;
	} else if (location->kind == LOCATION_FILE && !location->is_command && slash) {
		const char *dir = arena_dup(&a, file->path, (size_t)(slash - file->path));
		const char *above = strrchr(dir, '/');
		origin.name = above ? above + 1 : dir;
	} else {
		origin.name =
			arena_printf(&a, "%s%s%s", file->below, file->below[0] ? ":" : "", tree_stem(&a, file->path));
	}
	for (struct str rest = str_from(origin.name); rest.p;)
		if (!skill_name_is_good(str_cut(&rest, ':'))) {
			err_set(err, ERR_USAGE, "the name of a skill has letters, digits, '-', '_' and '.' only");
			return NULL;
		}
	if (plugin) {
		origin.plugin = plugin->name;
		origin.plugin_root = plugin->vars.root;
		origin.plugin_data = plugin->vars.data;
		origin.plugin_trusted = plugin->trusted;
		origin.stands_alone = location->kind == LOCATION_FILE && !location->is_command;
	}
	return &skill_from_markdown(&origin, text)->common;
}

/* Of the project's own directories the one nearest to the root keeps the name. */
static const char *name_below(struct catalog *c, const struct catalog_file *file, const struct definition *d,
			      const struct map *names)
{
	const struct catalog_entry *above = map_get(names, str_from(d->name));

	if (!file->below[0] || !above || above->skill->source != SOURCE_PROJECT ||
	    above->skill->is_command != ((const struct skill *)d)->is_command)
		return d->name;
	return arena_printf(&c->view, "%s:%s", file->below, d->name);
}

static bool skill_wins(const struct catalog_entry *newer, const struct catalog_entry *older)
{
	return newer->skill->is_command == older->skill->is_command || !newer->skill->is_command;
}

/* The folder `synced` belongs to a service that this program does not have. */
static const struct catalog_kind skill_kind = {
	.leaf = "SKILL.md",
	.reserved = "synced",
	.largest = LARGEST_FILE,
	.once = ONE_INODE,
	.find_locations = find_skill_locations,
	.parse = parse_skill,
	.name = name_below,
	.wins = skill_wins,
};

struct catalog *skill_registry_new(const struct catalog_sources *sources)
{
	struct catalog *r = NULL;

	(void)catalog_new(&skill_kind, sources, &r,
			  NULL); /* fails for locations of a kind's own, and skills have none */
	return r;
}

bool skill_registry_add_nested(struct catalog *r, const char *dir)
{
	struct catalog_sources *s = &r->sources;

	for (size_t i = 0; i < s->nested_count; i++)
		if (!strcmp(s->nested[i], dir))
			return false;
	if (s->nested_count == SKILL_MOST_NESTED)
		return false;
	*arena_push(&r->arena, s->nested, s->nested_count) = arena_strdup(&r->arena, dir);
	return true;
}

const struct catalog_entry *skill_registry_find(const struct catalog *r, struct str name)
{
	name = str_trim(name);
	if (str_starts(name, STR("/")))
		name = str_tail(name, 1);
	for (size_t i = 0; i < r->active_count; i++)
		if (str_is(name, r->active[i]->name))
			return r->active[i];
	for (size_t i = 0; name.n && i < r->active_count; i++)
		if (str_is_nocase(name, r->active[i]->name))
			return r->active[i];
	return NULL;
}

/* The last part of "plugin:name" alone is often what a person remembers. */
void skill_registry_add_near(struct buf *out, const struct catalog *r, struct str name)
{
	AUTO_ARENA struct arena scratch = { 0 };
	size_t found = 0;

	name = str_trim(arena_lower(&scratch, name));
	if (str_starts(name, STR("/")))
		name = str_tail(name, 1);
	for (size_t i = 0; name.n && i < r->active_count && found < NEAR_LIMIT; i++) {
		struct str known = str_from(r->active[i]->name);
		const char *colon = memchr(known.p, ':', known.n);
		struct str last = str_from(colon ? colon + 1 : known.p);
		if (known.n <= NEAR_LENGTH && name.n <= NEAR_LENGTH &&
		    (str_has(known, name) || str_has(name, known) || str_distance(name, known) <= 1 + name.n / 4 ||
		     (last.n && str_distance(name, last) <= 1 + name.n / 4)))
			buf_addf(out, "%s%s", found++ ? ", " : "", r->active[i]->name);
	}
}

static bool is_chosen(const char *list, struct str name)
{
	for (struct str rest = str_from(list); rest.n;) {
		struct str one = str_trim(str_cut(&rest, ','));
		if (str_eq(one, name) || (str_ends(name, one) && one.n < name.n && name.p[name.n - one.n - 1] == ':'))
			return true;
	}
	return false;
}

unsigned skill_views(const struct catalog_entry *e, const struct json *overrides, const char *chosen)
{
	const struct skill *s = e->skill;
	bool for_model = !s->user_only && (!chosen || is_chosen(chosen, str_from(e->name)));
	unsigned views = SKILL_DESCRIBED | (for_model ? SKILL_FOR_MODEL : 0) | (s->model_only ? 0 : SKILL_FOR_USER);
	const struct json *word = json_get(overrides, e->name);

	if (!word || json_str_is(word, "on"))
		return views;
	if (json_str_is(word, "name-only"))
		return views & ~(unsigned)SKILL_DESCRIBED;
	if (json_str_is(word, "user-invocable-only"))
		return views & ~(unsigned)SKILL_FOR_MODEL;
	return 0;
}

void skill_listing_write(struct buf *out, const struct catalog *r, const struct skill_listing_spec *spec)
{
	AUTO_ARENA struct arena descriptions = { 0 };
	AUTO_FREE struct budgeted_item *items = xcalloc(r->active_count + 1, sizeof *items);
	struct str title = str_from(spec->title ? spec->title : "Skills that the Skill tool can use:");
	size_t budget = spec->budget_bytes ? spec->budget_bytes : SKILL_LISTING_BUDGET;
	size_t room = budget > title.n + 1 ? budget - title.n - 1 : 0;
	size_t most = spec->most_chars ? spec->most_chars : SKILL_LISTING_CHARS;
	size_t count = 0;
	size_t named;

	for (size_t i = 0; i < r->active_count; i++) {
		const struct catalog_entry *e = r->active[i];
		unsigned views = skill_views(e, spec->overrides, spec->chosen);
		if (!(views & SKILL_FOR_MODEL) || (spec->shows && !spec->shows(spec->data, e)))
			continue;
		AUTO_BUF struct buf text = { 0 };
		if (views & SKILL_DESCRIBED)
			buf_addfolded(&text, str_from(e->skill->description));
		if (views & SKILL_DESCRIBED && e->skill->when_to_use) {
			buf_addstr(&text, text.n ? " - " : "");
			buf_addfolded(&text, str_from(e->skill->when_to_use));
		}
		struct str description = arena_str(&descriptions, utf8_cut(buf_str(&text), most));
		items[count++] = (struct budgeted_item){ .name = str_from(e->name), .description = description };
	}
	if (!count)
		return;
	buf_addf(out, STR_FMT "\n", STR_ARG(title));
	budgeted_list_write(out, &(struct budgeted_list){ items, count }, room, REST_RESERVE, &named);
	if (named < count)
		buf_addf(out, "(%zu more are not named here; `cadre skills` lists all.)\n", count - named);
}
