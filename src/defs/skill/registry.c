/* SPDX-License-Identifier: MIT
 * registry.c - scans the places, keeps what has not changed. */
#include "defs/skill/registry.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/io/file.h"
#include "defs/skill/registry_int.h"

enum { LARGEST_FILE = 1 << 20 };

/* ---- units ------------------------------------------------------------------------------------------------------- */

static void unit_clear(struct skill_unit *u)
{
	skill_unref(TAKE(u->skill));
	free(TAKE(u->error));
}

static void unit_free(struct skill_unit *u)
{
	unit_clear(u);
	free(u->path);
	free(u->below);
	free(u->nested);
	free(u);
}

static struct skill_unit *unit_find(struct skill_scan *s, const char *path)
{
	AUTO_BUF struct buf key = { 0 };
	const struct skill_plugin *plugin = s->at->plugin;

	buf_addf(&key, "%s:%d:%s", plugin ? plugin->name : "", (int)s->at->source, path);
	struct skill_unit *u = map_get(&s->units, buf_str(&key));
	if (u)
		return u;
	u = xcalloc(1, sizeof *u);
	u->path = xstrdup(path);
	map_set(&s->units, buf_str(&key), u);
	return u;
}

static void keep(struct skill_scan *s, struct skill_unit *u)
{
	if (u->seen == s->number)
		return;
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->order = xrealloc(s->order, s->cap * sizeof(struct skill_unit *));
	}
	s->order[s->count++] = u;
	s->changed |= !u->seen;
	u->seen = s->number;
	u->source = s->at->source;
	u->is_command = s->at->is_command;
	if (!u->below)
		u->below = xstrdup(s->at->below);
	if (!u->nested && s->at->nested)
		u->nested = xstrdup(s->at->nested);
}

static void unit_fail(struct skill_unit *u, const char *message)
{
	unit_clear(u);
	u->error = xstrdup(message);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* DIR/NAME/SKILL.md is NAME; of commands a/b.md is a:b. */
static const char *name_of(struct arena *a, const struct skill_place *place, const struct tree_file *file)
{
	const char *slash = strrchr(file->path, '/');
	struct str stem = str_from(slash ? slash + 1 : file->path);

	if (place->kind == SKILL_PLACE_SKILLS)
		return file->below;
	if (place->kind == SKILL_PLACE_FILE && !place->is_command && slash) {
		AUTO_ARENA struct arena scratch = { 0 };
		const char *dir = arena_dup(&scratch, file->path, (size_t)(slash - file->path));
		const char *above = strrchr(dir, '/');
		return arena_strdup(a, above ? above + 1 : dir);
	}
	stem.n -= str_ends(stem, STR(".md")) ? 3 : 0;
	return arena_printf(a, "%s%s" STR_FMT, file->below, file->below[0] ? ":" : "", STR_ARG(stem));
}

static bool is_good_name(struct str name)
{
	while (name.p)
		if (!skill_name_is_good(str_cut(&name, ':')))
			return false;
	return true;
}

static void parse(struct skill_scan *s, struct skill_unit *u, const struct tree_file *file)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct skill_plugin *plugin = s->at->plugin;
	struct skill_origin origin = { .source = s->at->source,
				       .is_command = s->at->is_command,
				       .file = file->path,
				       .name = name_of(&scratch, s->at, file) };

	if (!is_good_name(str_from(origin.name))) {
		unit_fail(u, "the name of a skill has letters, digits, '-', '_' and '.' only");
		return;
	}
	if (plugin) {
		origin.plugin = plugin->name;
		origin.plugin_root = plugin->root;
		origin.plugin_data = plugin->data_dir;
		origin.plugin_trusted = plugin->trusted;
	}
	u->skill = skill_from_markdown(&origin, buf_str(&s->text));
}

static void read_file(struct skill_scan *s, struct skill_unit *u, const struct tree_file *file)
{
	struct stat st;
	struct err err = { 0 };
	AUTO_CLOSE int fd = openat(file->dir, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	s->changed = true;
	unit_clear(u);
	if (fd < 0 || fstat(fd, &st) < 0) {
		unit_fail(u, strerror(errno));
		return;
	}
	stamp_take(&u->stamp, &st);
	buf_clear(&s->text);
	if (file_read_known(fd, &u->stamp.st, LARGEST_FILE, &s->text, &err) < 0)
		unit_fail(u, err.text);
	else
		parse(s, u, file);
}

/* The folder `synced` belongs to a service that this program does not have. */
static bool is_reserved(const struct skill_scan *s, const struct tree_file *file)
{
	return s->at->kind == SKILL_PLACE_SKILLS && !strcmp(file->below, "synced");
}

/* Links may lead to one directory by several ways. */
static bool is_double(struct skill_scan *s, const struct stat *st)
{
	char key[64];

	snprintf(key, sizeof key, "%ju:%ju", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
	return map_set(&s->files, str_from(key), s) != NULL;
}

static void on_file(void *data, const struct tree_file *file)
{
	struct skill_scan *s = data;
	struct stat st;

	if (is_reserved(s, file) || fstatat(file->dir, file->name, &st, 0) < 0 || is_double(s, &st))
		return;
	struct skill_unit *u = unit_find(s, file->path);
	if (!u->seen || !stamp_holds(&u->stamp, &st))
		read_file(s, u, file);
	keep(s, u);
}

static void on_problem(void *data, const char *path, const char *message)
{
	struct skill_scan *s = data;
	struct skill_unit *u = unit_find(s, path);

	if (!u->error || strcmp(u->error, message) != 0) {
		s->changed = true;
		unit_fail(u, message);
	}
	keep(s, u);
}

/* A plugin is somebody else's directory: what it names must not lead out of it. */
static void scan_file(struct skill_scan *s)
{
	const char *path = s->at->path;

	if (s->at->inside && file_exists(path) && !tree_is_inside(path, s->at->inside))
		on_problem(s, path, "is a link that leads out of its plugin: not read");
	else
		on_file(s, &(struct tree_file){ .dir = AT_FDCWD, .name = path, .path = path, .below = "" });
}

static void scan_place(struct skill_scan *s)
{
	struct tree_walk walk = {
		.on_file = on_file,
		.on_problem = on_problem,
		.data = s,
		.inside = s->at->inside,
		.leaf = s->at->kind == SKILL_PLACE_SKILLS ? "SKILL.md" : NULL,
	};

	if (s->at->kind == SKILL_PLACE_FILE)
		scan_file(s);
	else if (s->at->inside && file_exists(s->at->path) && !tree_is_inside(s->at->path, s->at->inside))
		on_problem(s, s->at->path, "is a link that leads out of its plugin: not read");
	else
		tree_walk(&walk, s->at->path);
}

/* ---- the scan ---------------------------------------------------------------------------------------------------- */

static void drop_unseen(struct skill_scan *s)
{
	for (struct map_entry *e = map_next(&s->units, NULL); e; e = map_next(&s->units, e)) {
		struct skill_unit *u = e->value;
		if (u->seen == s->number)
			continue;
		s->changed |= u->seen > 0;
		map_remove(&s->units, (struct str){ e->key, e->key_len });
		unit_free(u);
	}
}

void skill_registry_refresh(struct skill_registry *r)
{
	CLEANUP(skill_places_release) struct skill_places places = { 0 };
	struct skill_scan *s = r->scan;

	skill_places_find(&places, &s->sources);
	s->changed = false;
	s->number++;
	s->count = 0;
	for (size_t i = 0; i < places.count; i++) {
		s->at = &places.list[i];
		scan_place(s);
	}
	s->at = NULL;
	buf_release(&s->text);
	map_release(&s->files);
	drop_unseen(s);
	if (!s->changed)
		return;
	skill_view_release(r);
	skill_view_build(r);
	r->generation++;
}

bool skill_registry_add_nested(struct skill_registry *r, const char *dir)
{
	struct skill_sources *s = &r->scan->sources;

	for (size_t i = 0; i < s->nested_count; i++)
		if (!strcmp(s->nested[i], dir))
			return false;
	if (s->nested_count == SKILL_MOST_NESTED)
		return false;
	const char **more = arena_alloc(&r->scan->arena, (s->nested_count + 1) * sizeof *more);
	for (size_t i = 0; i < s->nested_count; i++)
		more[i] = s->nested[i];
	more[s->nested_count++] = arena_strdup(&r->scan->arena, dir);
	s->nested = more;
	return true;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static const char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static void copy_plugins(struct arena *a, struct skill_sources *to, const struct skill_sources *from)
{
	struct skill_plugin *list = arena_calloc(a, (from->plugin_count + 1) * sizeof *list);

	for (size_t i = 0; i < from->plugin_count; i++) {
		const struct skill_plugin *p = &from->plugins[i];
		list[i] = (struct skill_plugin){ copy(a, p->name), copy(a, p->root), copy(a, p->data_dir),
						 copy(a, p->path), p->is_command,    p->trusted };
	}
	to->plugins = list;
}

struct skill_registry *skill_registry_new(const struct skill_sources *from)
{
	struct skill_registry *r = xcalloc(1, sizeof *r);
	struct skill_scan *s = xcalloc(1, sizeof *s);
	struct arena *a = &s->arena;
	const char **dirs = arena_calloc(a, (from->add_dir_count + 1) * sizeof *dirs);

	s->sources = *from;
	s->sources.cwd = copy(a, from->cwd);
	s->sources.config_dir = copy(a, from->config_dir);
	s->sources.managed_dir = copy(a, from->managed_dir);
	for (size_t i = 0; i < from->add_dir_count; i++)
		dirs[i] = arena_strdup(a, from->add_dirs[i]);
	s->sources.add_dirs = dirs;
	s->sources.nested_count = 0; /* they come later */
	copy_plugins(a, &s->sources, from);
	r->scan = s;
	skill_registry_refresh(r);
	return r;
}

void skill_registry_free(struct skill_registry *r)
{
	if (!r)
		return;
	struct skill_scan *s = r->scan;
	skill_view_release(r);
	for (struct map_entry *e = map_next(&s->units, NULL); e; e = map_next(&s->units, e))
		unit_free(e->value);
	map_release(&s->units);
	free(s->order);
	arena_release(&s->arena);
	arena_release(&s->view);
	free(s);
	free(r);
}
