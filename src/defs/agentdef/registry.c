/* SPDX-License-Identifier: MIT
 * registry.c - scans the places, keeps what has not changed, finds agents. */
#include "defs/agentdef/registry.h"
#include <errno.h>
#include <fcntl.h>
#include "defs/agentdef/registry_int.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"

/* ---- units ------------------------------------------------------------------------------------------------------- */

static struct unit *unit_find(struct registry_scan *s, const char *path, const char *prefix)
{
	AUTO_BUF struct buf key = { 0 };

	buf_addf(&key, "%d:%s:%s", (int)s->at->source, prefix, path);
	struct unit *u = map_get(&s->units, buf_str(&key));
	if (u)
		return u;
	u = xcalloc(1, sizeof *u);
	u->kind = s->at->kind;
	u->source = s->at->source;
	u->path = xstrdup(path);
	u->key = xstrdup(key.p);
	map_set(&s->units, buf_str(&key), u);
	return u;
}

static void keep(struct registry_scan *s, struct unit *u)
{
	if (u->seen == s->number)
		return;
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->order = xrealloc(s->order, s->cap * sizeof(struct unit *));
	}
	s->order[s->count++] = u;
	s->changed |= !u->seen || u->place != s->at->group;
	u->seen = s->number;
	u->place = s->at->group;
}

static void keep_problem(struct registry_scan *s, const char *path, unsigned line, const char *message)
{
	struct unit *u = unit_find(s, path, message);

	if (!u->error)
		unit_fail(u, line, message);
	keep(s, u);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* A manifest may name what the agents directory has already. */
static bool is_double(struct registry_scan *s, const struct tree_file *file)
{
	char key[128];
	struct stat st;

	if (!s->at->plugin || fstatat(file->dir, file->name, &st, 0) < 0)
		return false;
	snprintf(key, sizeof key, "%.64s:%ju:%ju", s->at->plugin->name, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return map_set(&s->plugin_files, str_from(key), s) != NULL;
}

static void read_file(struct registry_scan *s, struct unit *u, const struct tree_file *file)
{
	struct stat st;
	AUTO_CLOSE int fd = openat(file->dir, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	s->changed = true;
	if (fd < 0 || fstat(fd, &st) < 0) {
		unit_clear(u);
		unit_fail(u, 0, strerror(errno));
		return;
	}
	stamp_take(&u->stamp, &st);
	unit_read_markdown(u, s->at, file, fd, &s->text);
}

static void on_file(void *data, const struct tree_file *file)
{
	struct registry_scan *s = data;
	char prefix[256];
	struct stat st;

	if (is_double(s, file))
		return;
	snprintf(prefix, sizeof prefix, "%s/%s", s->at->plugin ? s->at->plugin->name : "",
		 s->at->plugin ? file->below : "");
	struct unit *u = unit_find(s, file->path, prefix);
	bool known = u->seen && fstatat(file->dir, file->name, &st, 0) == 0 && stamp_holds(&u->stamp, &st);
	if (!known && u->seen != s->number)
		read_file(s, u, file);
	keep(s, u);
}

static void on_problem(void *data, const char *path, const char *message)
{
	keep_problem(data, path, 0, message);
}

static void scan_tree(struct registry_scan *s)
{
	tree_walk(
		&(struct tree_walk){ .on_file = on_file, .on_problem = on_problem, .data = s, .inside = s->at->inside },
		s->at->path);
}

static void scan_settings(struct registry_scan *s)
{
	struct stat st = { 0 };
	bool is_file = s->at->path[0] != '{';

	if (is_file && stat(s->at->path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	struct unit *u = unit_find(s, s->at->path, "settings");
	if (!u->seen || (is_file && !stamp_holds(&u->stamp, &st))) {
		s->changed = true;
		stamp_take(&u->stamp, &st);
		unit_read_settings(u);
	}
	keep(s, u);
}

static void scan_flag(struct registry_scan *s)
{
	struct stat st = { 0 };
	char *path = path_absolute(&s->arena, s->sources.cwd, str_from(s->sources.flag));
	bool is_file = !str_starts(str_trim(str_from(s->sources.flag)), STR("{")) && stat(path, &st) == 0;
	struct unit *u = unit_find(s, path, "flag");

	if (!u->seen || (is_file && !stamp_holds(&u->stamp, &st))) {
		s->changed = true;
		stamp_take(&u->stamp, &st);
		unit_read_flag(u, &s->sources);
	}
	keep(s, u);
}

static void add_builtin(void *data, struct agent_definition *d)
{
	unit_add(data, d);
}

static void scan_builtin(struct registry_scan *s)
{
	struct unit *u = unit_find(s, "built-in", "");

	if (!u->seen)
		builtin_each(&s->sources.builtin, add_builtin, u);
	keep(s, u);
}

static void scan_place(struct registry_scan *s)
{
	switch (s->at->kind) {
	case PLACE_BUILT_IN:
		return scan_builtin(s);
	case PLACE_TREE:
		return scan_tree(s);
	case PLACE_FILE:
		return on_file(s, &(struct tree_file){
					  .dir = AT_FDCWD, .name = s->at->path, .path = s->at->path, .below = "" });
	case PLACE_SETTINGS:
		return scan_settings(s);
	case PLACE_FLAG:
		return scan_flag(s);
	case PLACE_PROBLEM:
		return keep_problem(s, s->at->path, s->at->line, s->at->problem);
	}
}

static void drop_unseen(struct registry_scan *s)
{
	for (struct map_entry *e = map_next(&s->units, NULL); e; e = map_next(&s->units, e)) {
		struct unit *u = e->value;
		if (u->seen == s->number)
			continue;
		s->changed |= u->seen > 0;
		map_remove(&s->units, (struct str){ e->key, e->key_len });
		unit_free(u);
	}
}

static void scan(struct registry_scan *s)
{
	CLEANUP(agent_places_release) struct agent_places places = { 0 };

	agent_places_find(&places, &s->sources);
	s->number++;
	s->count = 0;
	for (size_t i = 0; i < places.count; i++) {
		s->at = &places.list[i];
		scan_place(s);
	}
	s->at = NULL;
	buf_release(&s->text);
	map_release(&s->plugin_files);
	drop_unseen(s);
}

void agent_registry_refresh(struct agent_registry *r)
{
	struct registry_scan *s = r->scan;

	s->changed = false;
	scan(s);
	if (!s->changed)
		return;
	registry_release_view(r);
	registry_build(r);
	r->generation++;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static const char *const *copy_list(struct arena *a, const char *const *list, size_t count)
{
	const char **copy = arena_alloc(a, (count + 1) * sizeof *copy);

	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(a, list[i]);
	copy[count] = NULL;
	return copy;
}

static const char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static struct registry_scan *scan_new(const struct agent_sources *from)
{
	struct registry_scan *s = xcalloc(1, sizeof *s);
	struct arena *a = &s->arena;

	s->sources = *from;
	s->sources.cwd = copy(a, from->cwd);
	s->sources.config_dir = copy(a, from->config_dir);
	s->sources.managed_dir = copy(a, from->managed_dir);
	s->sources.settings = copy(a, from->settings);
	s->sources.flag = copy(a, from->flag);
	s->sources.denied = copy(a, from->denied);
	s->sources.add_dirs = copy_list(a, from->add_dirs, from->add_dir_count);
	s->sources.plugins = agent_plugins_copy(a, from->plugins, from->plugin_count);
	return s;
}

/* At the start a broken settings file is a reason not to start. */
static int check_settings(const struct registry_scan *s, struct err *err)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct unit *u = s->order[i];
		if (!u->error || (u->kind != PLACE_SETTINGS && u->kind != PLACE_FLAG))
			continue;
		if (u->error_line)
			return err_set(err, ERR_USAGE, "%s:%u: %s", u->path, u->error_line, u->error);
		return err_set(err, ERR_USAGE, "%s", u->error);
	}
	return 0;
}

int agent_registry_new(const struct agent_sources *sources, struct agent_registry **ret_registry, struct err *err)
{
	struct agent_registry *r = xcalloc(1, sizeof *r);

	r->scan = scan_new(sources);
	agent_registry_refresh(r);
	int status = check_settings(r->scan, err);
	if (status < 0) {
		agent_registry_free(r);
		return status;
	}
	*ret_registry = r;
	return 0;
}

void agent_registry_free(struct agent_registry *r)
{
	if (!r)
		return;
	registry_release_view(r);
	for (struct map_entry *e = map_next(&r->scan->units, NULL); e; e = map_next(&r->scan->units, e))
		unit_free(e->value);
	map_release(&r->scan->units);
	free(r->scan->order);
	arena_release(&r->scan->arena);
	free(r->scan);
	free(r);
}

/* ---- lookup ------------------------------------------------------------------------------------------------------ */

const struct agent_entry *agent_registry_find(const struct agent_registry *r, struct str type)
{
	const char *alias = builtin_alias(type);

	for (size_t i = 0; i < r->active_count; i++)
		if (str_is(type, r->active[i]->definition->name))
			return r->active[i];
	for (size_t i = 0; alias && i < r->active_count; i++)
		if (!strcmp(alias, r->active[i]->definition->name))
			return r->active[i];
	for (size_t i = 0; i < r->active_count; i++)
		if (agent_type_same(type, str_from(r->active[i]->definition->name)))
			return r->active[i];
	return NULL;
}

struct agent_definition *agent_registry_get(const struct agent_registry *r, struct str type, struct err *err)
{
	const struct agent_entry *e = agent_registry_find(r, type);
	if (!e) {
		err_set(err, ERR_NOT_FOUND, "Agent type '" STR_FMT "' not found", STR_ARG(utf8_cut(type, 80)));
		return NULL;
	}
	const struct agent_denial *denial = agent_denied(&r->denied, str_from(e->definition->name));
	if (denial) {
		err_set(err, ERR_DENIED, "Agent type '%.80s' has been denied by permission rule '%.60s' from %s.",
			e->definition->name, denial->rule, denial->origin);
		return NULL;
	}
	return agent_ref(e->definition);
}
