/* SPDX-License-Identifier: MIT
 * rule_set.c - rules, indexed by what they look at, so that a thousand of them cost hardly more than ten. */
#include "guard/permission/rule_set.h"
#include <strings.h>
#include <unistd.h>
#include "guard/permission/resolved_path.h"
#include "lib/json/json.h"
#include "lib/io/file.h"
#include "lib/match/glob.h"

static void free_rows(struct map *m)
{
	for (struct map_entry *e = map_next(m, NULL); e; e = map_next(m, e))
		free(((struct rule_row *)e->value)->list);
	map_release(m);
}

void rule_set_unref(struct rule_set *s)
{
	if (!s || --s->refs)
		return;
	for (size_t i = 0; i < COUNT_OF(s->lists); i++) {
		struct rule_index *x = &s->lists[i];
		free_rows(&x->tools);
		free_rows(&x->commands);
		free_rows(&x->names);
		free(x->several.list);
		free(x->any_command.list);
		for (size_t k = 0; k < 2; k++) {
			free(x->paths[k].list);
			free(x->fixed[k].list);
		}
		for (size_t k = 0; k < COUNT_OF(x->words); k++)
			free(x->words[k].list);
	}
	for (size_t i = 0; i < s->all.count; i++)
		rule_release((struct rule *)(uintptr_t)s->all.list[i]);
	free(s->all.list);
	free(s->limits.list);
	arena_release(&s->arena);
	free(s);
}

static void row_add(struct rule_row *row, const struct rule *r)
{
	*xpush(row->list, row->count, row->cap) = r;
}

/* The row itself is in the arena, its list is not. */
static void map_row_add(struct rule_set *s, struct map *m, struct str key, const struct rule *r)
{
	struct rule_row *row = map_get(m, key);

	if (!row) {
		row = arena_calloc(&s->arena, sizeof *row);
		map_set(m, key, row);
	}
	row_add(row, r);
}

enum { NAME_KEY_MAX = 256 };

/* Reading and editing have their own names in one map. */
static struct str name_key(char key[NAME_KEY_MAX], bool edits, struct str name)
{
	key[0] = edits ? 'e' : 'r';
	memcpy(key + 1, name.p, name.n);
	return (struct str){ key, name.n + 1 };
}

static void index_path(struct rule_set *s, struct rule_index *x, struct rule *r)
{
	bool edits = r->subject->kind == SUBJECT_EDIT;
	struct rule_row *fixed = &x->fixed[edits];
	char key[NAME_KEY_MAX];

	if (r->path.shape == PATH_NAME && r->path.text.n < NAME_KEY_MAX) {
		map_row_add(s, &x->names, name_key(key, edits, r->path.text), r);
	} else if (r->path.base) {
		/* Neighbours with the same base share its text, so that they are known by the pointer. */
		const struct rule *last = fixed->count ? fixed->list[fixed->count - 1] : NULL;
		if (last && !strcmp(last->path.base, r->path.base))
			r->path.base = last->path.base;
		row_add(fixed, r);
	} else {
		row_add(&x->paths[edits], r);
	}
}

static void index_rule(struct rule_set *s, struct rule *r)
{
	if (r->list == RULE_ONLY) {
		row_add(&s->limits, r);
		return;
	}
	struct rule_index *x = &s->lists[r->list];
	switch (r->kind) {
	case RULE_BARE:
	case RULE_PARAMETER:
		if (r->several)
			row_add(&x->several, r);
		else
			map_row_add(s, &x->tools, str_from(r->tool), r);
		break;
	case RULE_COMMAND:
		if (r->command.first.n)
			map_row_add(s, &x->commands, r->command.first, r);
		else
			row_add(&x->any_command, r);
		break;
	case RULE_PATH:
		index_path(s, x, r);
		break;
	default:
		row_add(&x->words[r->kind], r);
		break;
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

int rule_set_add(struct rule_set *s, enum rule_list list, struct str text, const struct rule_origin *o,
		 rule_warn_fn *warn, void *data, struct err *err)
{
	const struct rule_origin *last = s->last_origin;
	struct arena *a = &s->arena;

	/* The rules of one file share their origin. */
	if (!last || !same_text(last->layer, o->layer) || !same_text(last->file, o->file) || last->line != o->line ||
	    !same_text(last->base, o->base)) {
		struct rule_origin *copy =
			arena_new(a, struct rule_origin, .layer = o->layer ? arena_strdup(a, o->layer) : NULL,
				  .file = o->file ? arena_strdup(a, o->file) : NULL, .line = o->line,
				  .base = o->base ? arena_strdup(a, o->base) : NULL);
		s->last_origin = copy;
	}
	struct rule *r = arena_calloc(a, sizeof *r);
	int made = rule_parse(a, list, text, s->last_origin, warn, data, r, err);
	if (made <= 0)
		return made;
	row_add(&s->all, r);
	index_rule(s, r);
	return 0;
}

const struct rule *rule_set_tool(const struct rule_set *s, enum rule_list list, const char *lower_name,
				 const char *server, const struct json *input)
{
	const struct rule_index *x = &s->lists[list];
	const struct rule_row *row = map_get(&x->tools, str_from(lower_name));

	for (size_t i = 0; row && i < row->count; i++)
		if (rule_matches_input(row->list[i], input))
			return row->list[i];
	for (size_t i = 0; i < x->several.count; i++) {
		const struct rule *r = x->several.list[i];
		if (list == RULE_ALLOW && server && strncasecmp(r->tool, server, strlen(server)) != 0)
			continue;
		if (wildcard_match(str_from(r->tool), str_from(lower_name)) && rule_matches_input(r, input))
			return r;
	}
	return NULL;
}

/* By the names of its components */
static const struct rule *path_by_name(const struct rule_index *x, bool edits, const char *path,
				       const struct path_anchors *anchors)
{
	char key[NAME_KEY_MAX];
	struct str rest = str_from(path);

	while (x->names.count && rest.p) {
		struct str part = str_cut(&rest, '/');
		const struct rule_row *row = NULL;
		if (part.n && part.n < NAME_KEY_MAX)
			row = map_get(&x->names, name_key(key, edits, part));
		for (size_t i = 0; row && i < row->count; i++)
			if (path_rule_match(&row->list[i]->path, path, anchors))
				return row->list[i];
	}
	return NULL;
}

const struct rule *rule_set_path(const struct rule_set *s, enum rule_list list, bool edits, const char *path,
				 const struct path_anchors *anchors)
{
	const struct rule_index *x = &s->lists[list];
	const struct rule_row *free_rules = &x->paths[edits];
	const struct rule_row *fixed = &x->fixed[edits];
	const struct rule *r = path_by_name(x, edits, path, anchors);
	struct str relative = STR("");

	if (r)
		return r;
	/* The path is taken relative to each anchor once for all rules, */
	for (size_t k = 0; free_rules->count && k < anchors->count; k++) {
		if (!path_relative(path, anchors->list[k], &relative))
			continue;
		for (size_t i = 0; i < free_rules->count; i++)
			if (path_rule_match_relative(&free_rules->list[i]->path, relative))
				return free_rules->list[i];
	}
	/* and to each base once for its neighbours. */
	const char *base = NULL;
	bool inside = false;
	for (size_t i = 0; i < fixed->count; i++) {
		const struct path_rule *rule = &fixed->list[i]->path;
		if (rule->base != base)
			inside = path_relative(path, rule->base, &relative);
		base = rule->base;
		if (inside && path_rule_match_relative(rule, relative))
			return fixed->list[i];
	}
	return NULL;
}

/* The last directory, with where it leads: neighbours are often together. */
struct aliasing {
	struct path_aliases *found;
	struct arena *arena;
	const char *dir, *real_dir;
};

static void add_alias(struct aliasing *at, const char *base, struct str below)
{
	const char *named = below.n ? path_join(at->arena, base, arena_str(at->arena, below).p) : base;
	const char *slash = strrchr(named, '/');
	size_t n = (size_t)(slash - named);
	char link[1];

	if (!slash[1])
		return; /* the root */
	if (!at->dir || strncmp(at->dir, named, n) != 0 || at->dir[n]) {
		at->dir = arena_dup(at->arena, named, n);
		at->real_dir = n ? resolved_path_find(at->arena, "/", str_from(at->dir)).target : "";
	}
	if (!at->real_dir)
		return;
	const char *real = path_join(at->arena, at->real_dir[0] ? at->real_dir : "/", slash + 1);
	if (readlink(real, link, sizeof link) >= 0)
		real = resolved_path_find(at->arena, "/", str_from(named)).target;
	if (real && strcmp(real, named) != 0)
		*arena_push(at->arena, at->found->list, at->found->count) = (struct path_alias){ named, real };
}

static void add_aliases(struct aliasing *at, const struct rule_row *row, const struct path_anchors *anchors)
{
	for (size_t i = 0; row && i < row->count; i++) {
		const struct path_rule *r = &row->list[i]->path;
		struct str below = r->shape == PATH_ALL ? STR("") : r->shape == PATH_GLOB ? r->start : r->text;
		if (r->base)
			add_alias(at, r->base, below);
		for (size_t k = 0; !r->base && k < anchors->count; k++)
			add_alias(at, anchors->list[k], below);
	}
}

void path_aliases_add(struct path_aliases *aliases, struct arena *a, const struct rule_set *s, enum rule_list list,
		      const struct path_anchors *anchors)
{
	struct aliasing at = { .found = aliases, .arena = a };
	const struct rule_index *x = &s->lists[list];

	for (size_t i = 0; i < COUNT_OF(x->paths); i++) {
		add_aliases(&at, &x->paths[i], anchors);
		add_aliases(&at, &x->fixed[i], anchors);
	}
	for (struct map_entry *e = map_next(&x->names, NULL); e; e = map_next(&x->names, e))
		add_aliases(&at, e->value, anchors);
}

const char *path_alias_name(const struct path_alias *alias, struct arena *a, const char *path)
{
	struct str rest;

	if (!path_relative(path, alias->real, &rest))
		return NULL;
	return rest.n ? arena_printf(a, "%s/" STR_FMT, alias->named, STR_ARG(rest)) : alias->named;
}

static const struct rule *command_in(const struct rule_row *row, const struct command_text *command)
{
	for (size_t i = 0; row && i < row->count; i++)
		if (command_rule_match(&row->list[i]->command, command))
			return row->list[i];
	return NULL;
}

const struct rule *rule_set_command(const struct rule_set *s, enum rule_list list, const struct command_text *command)
{
	const struct rule_index *x = &s->lists[list];
	struct str word = command_first_word(command->words);
	struct str exact = command_first_word(command->exact);
	const struct rule *r = command_in(map_get(&x->commands, word), command);

	if (!r && !str_eq(word, exact))
		r = command_in(map_get(&x->commands, exact), command);
	return r ? r : command_in(&x->any_command, command);
}
