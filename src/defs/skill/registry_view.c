/* SPDX-License-Identifier: MIT
 * registry_view.c - from what the files gave to what counts, and lookup. */
#include "defs/skill/registry_int.h"

enum { NEAR_LIMIT = 5, NEAR_LENGTH = 64 };

static void add_failed(struct skill_registry *r, const struct skill_unit *u, unsigned line, const char *message)
{
	r->failed = xrealloc(r->failed, (r->failed_count + 1) * sizeof *r->failed);
	r->failed[r->failed_count++] = (struct skill_failure){ u->source, u->path, line, message };
}

static void add_refused(struct skill_registry *r, const struct skill_unit *u)
{
	for (size_t i = 0; i < u->skill->diagnostic_count; i++) {
		const struct diagnostic *why = &u->skill->diagnostics[i];
		if (why->level == DIAGNOSTIC_ERROR) {
			add_failed(r, u, why->line, why->message);
			return;
		}
	}
}

/* ---- who has which name ---------------------------------------------------------------------------------------- */

/* Of the project's own directories the one nearest to the root keeps the name. */
static const char *name_below(struct skill_registry *r, const struct skill_unit *u, const struct map *names)
{
	const struct skill_entry *above = map_get(names, str_from(u->skill->name));

	if (!u->below[0] || !above || above->skill->source != SKILL_PROJECT ||
	    above->skill->is_command != u->skill->is_command)
		return u->skill->name;
	return arena_printf(&r->scan->view, "%s:%s", u->below, u->skill->name);
}

static bool wins(const struct skill_entry *new, const struct skill_entry *old)
{
	if (!old || new->skill->is_command == old->skill->is_command)
		return true;
	return !new->skill->is_command;
}

static void add_unit(struct skill_registry *r, const struct skill_unit *u, struct map *names)
{
	if (u->error)
		add_failed(r, u, 0, u->error);
	if (!u->skill)
		return;
	r->looked_at[r->looked_at_count++] = u->skill;
	if (u->skill->refused) {
		add_refused(r, u);
		return;
	}
	struct skill_entry *e = &r->all[r->all_count++];
	*e = (struct skill_entry){ .skill = u->skill, .name = name_below(r, u, names), .nested = u->nested };
	if (wins(e, map_get(names, str_from(e->name))))
		map_set(names, str_from(e->name), e);
}

static int by_name(const void *a, const void *b)
{
	const struct skill_entry *x = *(const struct skill_entry *const *)a;
	const struct skill_entry *y = *(const struct skill_entry *const *)b;
	int order = strcasecmp(x->name, y->name);

	return order ? order : strcmp(x->name, y->name);
}

void skill_view_build(struct skill_registry *r)
{
	const struct skill_scan *s = r->scan;
	struct map names = { 0 };

	r->all = xcalloc(s->count + 1, sizeof *r->all);
	r->active = xcalloc(s->count + 1, sizeof(struct skill_entry *));
	r->looked_at = xcalloc(s->count + 1, sizeof(struct skill *));
	for (size_t i = 0; i < s->count; i++)
		add_unit(r, s->order[i], &names);
	for (size_t i = 0; i < r->all_count; i++) {
		const struct skill_entry *winner = map_get(&names, str_from(r->all[i].name));
		if (winner != &r->all[i])
			r->all[i].hidden_by = winner;
		else
			r->active[r->active_count++] = winner;
	}
	if (r->active_count)
		qsort(r->active, r->active_count, sizeof *r->active, by_name);
	map_release(&names);
}

void skill_view_release(struct skill_registry *r)
{
	free(TAKE(r->all));
	free((void *)TAKE(r->active));
	free(TAKE(r->failed));
	free(TAKE(r->looked_at));
	arena_release(&r->scan->view);
	r->all_count = r->active_count = r->failed_count = r->looked_at_count = 0;
}

/* ---- lookup ------------------------------------------------------------------------------------------------------ */

static struct str without_slash(struct str name)
{
	name = str_trim(name);
	return name.n && name.p[0] == '/' ? (struct str){ name.p + 1, name.n - 1 } : name;
}

const struct skill_entry *skill_registry_find(const struct skill_registry *r, struct str name)
{
	name = without_slash(name);
	for (size_t i = 0; i < r->active_count; i++)
		if (str_is(name, r->active[i]->name))
			return r->active[i];
	for (size_t i = 0; name.n && i < r->active_count; i++)
		if (str_is_nocase(name, r->active[i]->name))
			return r->active[i];
	return NULL;
}

/* How many letters are to be put in, taken out or changed. */
static size_t distance(struct str a, struct str b)
{
	size_t row[NEAR_LENGTH + 1];

	for (size_t k = 0; k <= b.n; k++)
		row[k] = k;
	for (size_t i = 1; i <= a.n; i++) {
		size_t left_above = row[0];
		row[0] = i;
		for (size_t k = 1; k <= b.n; k++) {
			size_t above = row[k];
			size_t changed = left_above + ((a.p[i - 1] | 0x20) != (b.p[k - 1] | 0x20));
			row[k] = MIN(changed, MIN(above, row[k - 1]) + 1);
			left_above = above;
		}
	}
	return row[b.n];
}

/* The last part of "plugin:name" alone is often what somebody remembers. */
static bool is_near(struct str wanted, struct str name)
{
	const char *colon = memchr(name.p, ':', name.n);

	if (!wanted.n || wanted.n > NEAR_LENGTH || name.n > NEAR_LENGTH)
		return false;
	if (str_has(name, wanted) || str_has(wanted, name) || distance(wanted, name) <= 1 + wanted.n / 4)
		return true;
	if (!colon)
		return false;
	struct str last = { colon + 1, (size_t)(name.p + name.n - colon - 1) };
	return last.n && distance(wanted, last) <= 1 + wanted.n / 4;
}

void skill_registry_add_near(struct buf *out, const struct skill_registry *r, struct str name)
{
	size_t found = 0;

	name = without_slash(name);
	for (size_t i = 0; i < r->active_count && found < NEAR_LIMIT; i++) {
		if (!is_near(name, str_from(r->active[i]->name)))
			continue;
		buf_addf(out, "%s%s", found++ ? ", " : "", r->active[i]->name);
	}
}
