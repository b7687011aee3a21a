/* SPDX-License-Identifier: MIT
 * catalog.c - walks the locations of a kind, keeps what has not changed, and decides which definition of a name counts. */
#include "config/catalog/catalog.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/io/loop.h"

enum { MOST_INODE_KEY = 128 };

struct catalog_location *catalog_add_location(struct catalog_locations *locations, enum catalog_location_kind kind,
					      enum definition_source source, const char *path)
{
	struct catalog_location *location = xpush(locations->list, locations->count, locations->cap);
	*location =
		(struct catalog_location){ .kind = kind, .source = source, .group = locations->groups++, .below = "" };
	location->path = arena_strdup(&locations->arena, path);
	return location;
}

void catalog_add_plugin(struct catalog_locations *locations, const struct catalog_plugin *p,
			enum catalog_location_kind dirs)
{
	unsigned group = locations->groups;

	for (size_t i = 0; i < p->path_count; i++) {
		struct catalog_location *location = catalog_add_location(
			locations, p->paths[i].is_dir ? dirs : LOCATION_FILE, SOURCE_PLUGIN, p->paths[i].path);
		location->plugin = p;
		location->group = group;
	}
	for (size_t i = 0; i < p->problem_count; i++) {
		struct catalog_location *location =
			catalog_add_location(locations, LOCATION_PROBLEM, SOURCE_PLUGIN, p->problems[i].path);
		location->plugin = p;
		location->problem = p->problems[i];
	}
}

void catalog_each_project(struct catalog_locations *locations, const struct catalog_sources *s, const char *root,
			  catalog_project_fn *fn)
{
	struct arena *a = &locations->arena;
	size_t from = root && strcmp(root, s->cwd) != 0 ? strlen(root) + (root[1] != '\0') : 0;

	for (size_t i = 0; i < s->add_dir_count; i++) {
		const char *claude = path_join(a, s->add_dirs[i], ".claude");
		if (strcmp(claude, s->config_dir) != 0)
			fn(locations, claude, "");
	}
	/* The ends of the directories on the way: the root, each one below it, cwd. */
	for (size_t end = from ? strlen(root) : strlen(s->cwd);;) {
		const char *dir = arena_dup(a, s->cwd, end);
		const char *claude = path_join(a, dir, ".claude");
		if (strcmp(claude, s->config_dir) != 0)
			fn(locations, claude, from && end > from ? dir + from : "");
		if (!s->cwd[end])
			return;
		const char *next = strchr(s->cwd + MAX(end + 1, from), '/');
		end = next ? (size_t)(next - s->cwd) : strlen(s->cwd);
	}
}

void catalog_file_clear(const struct catalog *c, struct catalog_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		definition_unref(f->list[i]);
	free(TAKE(f->list));
	f->count = 0;
	if (f->state)
		c->kind->release_state(TAKE(f->state));
	free(TAKE(f->error));
	f->error_line = 0;
}

static void catalog_file_free(const struct catalog *c, struct catalog_file *f)
{
	catalog_file_clear(c, f);
	free(f->path);
	free(f->below);
	free(f->nested);
	free(f);
}

/* tag: what tells files of one path apart. */
static struct catalog_file *catalog_file_find(struct catalog *c, const char *path, const char *tag)
{
	AUTO_BUF struct buf key = { 0 };
	const struct catalog_plugin *plugin = c->at->plugin;

	buf_addf(&key, "%d:%s/%s:%s", (int)c->at->source, plugin ? plugin->name : "", tag, path);
	struct catalog_file *f = map_get(&c->files, buf_str(&key));
	if (f)
		return f;
	f = xcalloc(1, sizeof *f);
	f->kind = c->at->kind;
	f->source = c->at->source;
	f->path = xstrdup(path);
	f->below = xstrdup(c->at->below);
	f->nested = c->at->nested ? xstrdup(c->at->nested) : NULL;
	map_set(&c->files, buf_str(&key), f);
	return f;
}

static void catalog_file_seen(struct catalog *c, struct catalog_file *f)
{
	if (f->seen == c->number)
		return;
	c->order = xgrow(c->order, c->order_count, &c->order_cap, sizeof(struct catalog_file *));
	c->order[c->order_count++] = f;
	c->changed |= !f->seen || f->group != c->at->group;
	f->seen = c->number;
	f->group = c->at->group;
}

static void scan_on_problem(void *data, const char *path, const char *message)
{
	struct catalog *c = data;
	struct catalog_file *f = catalog_file_find(c, path, message);

	if (!f->error)
		catalog_file_fail(f, c->at->problem.line, message); /* 0, but of LOCATION_PROBLEM */
	catalog_file_seen(c, f);
}

static void scan_read_file(struct catalog *c, struct catalog_file *f, const struct tree_file *file)
{
	struct stat st;
	struct err err = { 0 };
	AUTO_CLOSE int fd = openat(file->dir, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	c->changed = true;
	catalog_file_clear(c, f);
	if (fd < 0 || fstat(fd, &st) < 0) {
		catalog_file_fail(f, 0, strerror(errno));
		return;
	}
	f->stamp = read_stamp_of(&st);
	buf_clear(&c->text);
	struct definition *d = NULL;
	if (file_read_known(fd, &st, c->kind->largest, &c->text, &err) == 0)
		d = c->kind->parse(c->at, file, buf_str(&c->text), &err);
	if (d)
		catalog_file_add(f, d);
	else
		catalog_file_fail(f, 0, err.text);
}

static void scan_on_file(void *data, const struct tree_file *file)
{
	struct catalog *c = data;
	const struct catalog_kind *kind = c->kind;
	const struct catalog_plugin *plugin = c->at->plugin;
	bool once = kind->once == ONE_INODE || (kind->once == ONE_INODE_IN_PLUGIN && plugin);
	struct stat st;

	if (c->at->kind == LOCATION_FOLDERS && kind->reserved && !strcmp(file->below, kind->reserved))
		return;
	struct catalog_file *f = catalog_file_find(c, file->path, plugin ? file->below : "");
	bool there = (once || f->seen) && fstatat(file->dir, file->name, &st, 0) == 0;
	if (once && there) {
		char key[MOST_INODE_KEY];
		snprintf(key, sizeof key, "%.64s:%ju:%ju", kind->once == ONE_INODE ? "" : plugin->name,
			 (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
		if (map_set(&c->inodes, str_from(key), c))
			return;
	}
	bool holds = f->seen && there && read_stamp_holds(&f->stamp, &st);
	if (!holds && f->seen != c->number)
		scan_read_file(c, f, file);
	catalog_file_seen(c, f);
}

/* A file that the kind reads itself keeps its definitions if it becomes unreadable: a half-saved file must not drop them in
 * the middle of a run. */
static void scan_own(struct catalog *c)
{
	const struct catalog_location *at = c->at;
	struct stat st = { 0 };
	bool there = at->in_memory || stat(at->path, &st) == 0;

	if (!there && !at->must_exist && (errno == ENOENT || errno == ENOTDIR))
		return;
	struct catalog_file *f = catalog_file_find(c, at->path, "own");
	bool is_stale = !at->in_memory && (there || !at->must_exist) && !read_stamp_holds(&f->stamp, &st);
	if (!f->seen || is_stale) {
		c->changed = true;
		f->stamp = read_stamp_of(&st);
		c->kind->read_own(c, f, at);
	}
	catalog_file_seen(c, f);
}

/* A plugin, and a project that is not trusted, are foreign directories: what they name must not lead out of them. */
static void scan_location(struct catalog *c)
{
	const struct catalog_location *at = c->at;
	const struct catalog_sources *s = &c->sources;
	const char *inside = at->plugin ? at->plugin->vars.root : at->source == SOURCE_PROJECT ? s->held_in : NULL;
	AUTO_FREE char *added = NULL;
	bool foreign = at->source == SOURCE_PROJECT && at->path && s->is_covered && !s->held_in &&
		       !s->is_covered(s->cwd, s->state_file, at->path);

	for (size_t i = 0; (inside || foreign) && !at->plugin && !added && i < s->add_dir_count; i++)
		if (path_is_inside(at->path, s->add_dirs[i]))
			inside = added = realpath(s->add_dirs[i], NULL);
	if (foreign && !added && at->nested)
		inside = added = realpath(at->nested, NULL);

	if (at->kind == LOCATION_PROBLEM)
		scan_on_problem(c, at->problem.path, at->problem.message);
	else if (at->kind == LOCATION_OWN)
		scan_own(c);
	else if (inside && file_exists(at->path) && !tree_is_inside(at->path, inside))
		scan_on_problem(c, at->path, "is a link that leads out of its plugin or project: not read");
	else if (at->kind == LOCATION_FILE)
		scan_on_file(c,
			     &(struct tree_file){ .dir = AT_FDCWD, .name = at->path, .path = at->path, .below = "" });
	else
		tree_walk(&(struct tree_walk){ .on_file = scan_on_file,
					       .on_problem = scan_on_problem,
					       .data = c,
					       .inside = inside,
					       .flat = at->kind == LOCATION_FLAT,
					       .leaf = at->kind == LOCATION_FOLDERS ? c->kind->leaf : NULL },
			  at->path);
}

static int view_by_name(const void *a, const void *b)
{
	const struct catalog_entry *x = *(const struct catalog_entry *const *)a;
	const struct catalog_entry *y = *(const struct catalog_entry *const *)b;
	int order = strcasecmp(x->name, y->name);

	return order ? order : strcmp(x->name, y->name);
}

static void view_release(struct catalog *c)
{
	arena_release(&c->view);
	c->failed = NULL;
	c->all_count = c->active_count = c->failed_count = c->looked_at_count = 0;
	c->plugins_only = false;
	if (c->kind->close_rules)
		c->kind->close_rules(c);
}

static void view_add_definition(struct catalog *c, const struct catalog_file *f, struct definition *d,
				struct map *names)
{
	unsigned line = 0;

	c->looked_at[c->looked_at_count++] = d;
	if (d->refused) {
		const char *why = definition_first_error(d, &line);
		*arena_push(&c->view, c->failed, c->failed_count) =
			(struct catalog_failure){ d->source, d->file, line, why ? why : "refused" };
		return;
	}
	if (d->ignored || (c->kind->admits && !c->kind->admits(c, d)))
		return;
	struct catalog_entry *e = &c->all[c->all_count++];
	*e = (struct catalog_entry){ .item = d, .name = d->name, .nested = f->nested, .group = f->group };
	if (c->kind->name)
		e->name = c->kind->name(c, f, d, names);
	const struct catalog_entry *older = map_get(names, str_from(e->name));
	if (!older || (c->kind->wins ? c->kind->wins(e, older) : e->group != older->group))
		map_set(names, str_from(e->name), e);
}

static void view_build(struct catalog *c)
{
	struct map names = { 0 };
	size_t most = 1;

	if (c->kind->open_rules)
		c->kind->open_rules(c);
	for (size_t i = 0; i < c->order_count; i++)
		most += c->order[i]->count;
	c->all = arena_calloc(&c->view, most * sizeof *c->all);
	c->active = arena_calloc(&c->view, most * sizeof *c->active);
	c->looked_at = arena_calloc(&c->view, most * sizeof *c->looked_at);
	for (size_t i = 0; i < c->order_count; i++) {
		const struct catalog_file *f = c->order[i];
		if (f->error)
			*arena_push(&c->view, c->failed, c->failed_count) =
				(struct catalog_failure){ f->source, f->path, f->error_line, f->error };
		for (size_t k = 0; k < f->count; k++)
			view_add_definition(c, f, f->list[k], &names);
	}
	for (size_t i = 0; i < c->all_count; i++) {
		const struct catalog_entry *winner = map_get(&names, str_from(c->all[i].name));
		if (winner != &c->all[i])
			c->all[i].hidden_by = winner;
		else
			c->active[c->active_count++] = winner;
	}
	if (c->active_count)
		qsort(c->active, c->active_count, sizeof *c->active, view_by_name);
	map_release(&names);
}

void catalog_refresh(struct catalog *c)
{
	struct catalog_locations locations = { 0 };

	/* The list is made for each look: it costs a few stats, and directories that appear later are seen. */
	c->kind->find_locations(&locations, &c->sources);
	c->changed = false;
	c->number++;
	c->order_count = 0;
	for (size_t i = 0; i < locations.count; i++) {
		c->at = &locations.list[i];
		scan_location(c);
	}
	c->at = NULL;
	free(locations.list);
	arena_release(&locations.arena);
	buf_release(&c->text);
	map_release(&c->inodes);
	for (struct map_entry *e = map_next(&c->files, NULL); e; e = map_next(&c->files, e)) {
		struct catalog_file *f = e->value;
		if (f->seen == c->number)
			continue;
		c->changed |= f->seen > 0;
		map_remove(&c->files, (struct str){ e->key, e->key_len });
		catalog_file_free(c, f);
	}
	if (!c->changed)
		return;
	view_release(c);
	view_build(c);
	c->generation++;
}

void catalog_refresh_once(struct catalog *c, struct loop *loop)
{
	uint64_t turn = loop_turn(loop);

	if (!c || c->refreshed_turn == turn)
		return;
	c->refreshed_turn = turn;
	catalog_refresh(c);
}

/* Without the user's options, which no body may name. */
static void copy_plugin(struct arena *a, struct catalog_plugin *p)
{
	struct catalog_plugin_path *paths = arena_calloc(a, (p->path_count + 1) * sizeof *paths);
	struct catalog_problem *problems = arena_calloc(a, (p->problem_count + 1) * sizeof *problems);

	p->name = arena_strdup(a, p->name);
	p->vars = (struct plugin_vars){ .root = arena_strdup(a, p->vars.root),
					.data = arena_strdup(a, p->vars.data),
					.project = arena_strdup(a, p->vars.project) };
	for (size_t i = 0; i < p->path_count; i++) {
		paths[i] = p->paths[i];
		paths[i].path = arena_strdup(a, paths[i].path);
	}
	for (size_t i = 0; i < p->problem_count; i++)
		problems[i] = (struct catalog_problem){ arena_strdup(a, p->problems[i].path), p->problems[i].line,
							arena_strdup(a, p->problems[i].message) };
	p->paths = paths;
	p->problems = problems;
}

int catalog_new(const struct catalog_kind *kind, const struct catalog_sources *sources, struct catalog **ret_catalog,
		struct err *err)
{
	struct catalog *c = xcalloc(1, sizeof *c);
	struct catalog_sources *s = &c->sources;
	struct arena *a = &c->arena;
	const char **texts[] = { &s->cwd,  &s->config_dir, &s->managed_dir, &s->settings,
				 &s->flag, &s->denied,     &s->held_in,     &s->state_file };

	c->kind = kind;
	*s = *sources;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		*texts[i] = arena_strdup(a, *texts[i]);
	const char **dirs = arena_alloc(a, (s->add_dir_count + 1) * sizeof *dirs);
	for (size_t i = 0; i < s->add_dir_count; i++)
		dirs[i] = arena_strdup(a, sources->add_dirs[i]);
	s->add_dirs = dirs;
	struct catalog_plugin *plugins = arena_alloc(a, (s->plugin_count + 1) * sizeof *plugins);
	for (size_t i = 0; i < s->plugin_count; i++) {
		plugins[i] = sources->plugins[i];
		copy_plugin(a, &plugins[i]);
	}
	s->plugins = plugins;
	s->nested = NULL;
	s->nested_count = 0; /* they come later */
	catalog_refresh(c);
	for (size_t i = 0; i < c->order_count; i++) {
		const struct catalog_file *f = c->order[i];
		if (!f->error || f->kind != LOCATION_OWN || f->source != SOURCE_FLAG)
			continue;
		int status = f->error_line ? err_set(err, ERR_USAGE, "%s:%u: %s", f->path, f->error_line, f->error)
					   : err_set(err, ERR_USAGE, "%s", f->error);
		catalog_free(c);
		return status;
	}
	*ret_catalog = c;
	return 0;
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	view_release(c);
	for (struct map_entry *e = map_next(&c->files, NULL); e; e = map_next(&c->files, e))
		catalog_file_free(c, e->value);
	map_release(&c->files);
	free(c->order);
	arena_release(&c->arena);
	free(c);
}
