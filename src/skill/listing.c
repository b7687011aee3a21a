/* SPDX-License-Identifier: MIT
 * listing.c - the list of skills for a model. */
#include "skill/listing.h"
#include "base/utf8.h"

enum { SHORTEST_DESCRIPTION = 40, REST_RESERVE = 200 };

unsigned skill_views(const struct skill_entry *e, const struct json *overrides)
{
	const struct skill *s = e->skill;
	unsigned views = SKILL_DESCRIBED | (s->user_only ? 0 : SKILL_FOR_MODEL) | (s->model_only ? 0 : SKILL_FOR_USER);
	const struct json *word = json_get(overrides, e->name);

	if (!word || json_str_is(word, "on"))
		return views;
	if (json_str_is(word, "name-only"))
		return views & ~(unsigned)SKILL_DESCRIBED;
	if (json_str_is(word, "user-invocable-only"))
		return views & ~(unsigned)SKILL_FOR_MODEL;
	return 0;
}

struct item {
	struct str name, description; /* in the arena, one line each */
};

struct listing {
	struct arena arena;
	struct item *items;
	size_t count;
};

static struct str describe(struct arena *a, const struct skill *s, size_t most)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addfolded(&text, str_from(s->description));
	if (s->when_to_use) {
		buf_addstr(&text, text.n ? " - " : "");
		buf_addfolded(&text, str_from(s->when_to_use));
	}
	return arena_str(a, utf8_cut(buf_str(&text), most));
}

static void collect(struct listing *l, const struct skill_registry *r, const struct skill_listing_spec *spec)
{
	size_t most = spec->most_chars ? spec->most_chars : SKILL_LISTING_CHARS;

	l->items = xcalloc(r->active_count + 1, sizeof *l->items);
	for (size_t i = 0; i < r->active_count; i++) {
		const struct skill_entry *e = r->active[i];
		unsigned views = skill_views(e, spec->overrides);
		if (views & SKILL_FOR_MODEL)
			l->items[l->count++] =
				(struct item){ str_from(e->name), views & SKILL_DESCRIBED
									  ? describe(&l->arena, e->skill, most)
									  : STR("") };
	}
}

static void add_lines(struct buf *out, const struct listing *l, size_t limit)
{
	for (size_t i = 0; i < l->count; i++) {
		struct str whole = l->items[i].description;
		struct str shown = whole.n <= limit ? whole : str_trim(utf8_cut(whole, limit - 3));
		buf_addf(out, "- " STR_FMT "%s" STR_FMT "%s\n", STR_ARG(l->items[i].name), shown.n ? ": " : "",
			 STR_ARG(shown), shown.n < whole.n ? "..." : "");
	}
}

/* The longest limit for descriptions whose lines fit; 0: not even the shortest does. */
static size_t find_limit(const struct listing *l, size_t room)
{
	size_t low = SHORTEST_DESCRIPTION;
	size_t high = low;
	size_t best = 0;

	for (size_t i = 0; i < l->count; i++)
		high = MAX(high, l->items[i].description.n);
	while (low <= high) {
		AUTO_BUF struct buf text = { 0 };
		size_t limit = low + (high - low) / 2;
		add_lines(&text, l, limit);
		if (text.n > room) {
			high = limit - 1;
			continue;
		}
		best = limit;
		low = limit + 1;
	}
	return best;
}

static void add_names(struct buf *out, const struct listing *l, size_t room)
{
	size_t start = out->n;
	size_t i = 0;

	for (; i < l->count && out->n - start + l->items[i].name.n + 3 <= room; i++)
		buf_addf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(l->items[i].name));
	buf_addch(out, '\n');
	if (i < l->count)
		buf_addf(out, "(%zu more are not named here; `cadre skills` lists all.)\n", l->count - i);
}

void skill_listing_write(struct buf *out, const struct skill_registry *r, const struct skill_listing_spec *spec)
{
	static const char head[] = "Skills that the Skill tool can use:\n";
	size_t budget = spec->budget_bytes ? spec->budget_bytes : SKILL_LISTING_BUDGET;
	size_t room = budget > sizeof head + REST_RESERVE ? budget - sizeof head - REST_RESERVE : 0;
	struct listing l = { 0 };

	collect(&l, r, spec);
	if (l.count) {
		size_t limit = find_limit(&l, room);
		buf_addstr(out, head);
		if (limit)
			add_lines(out, &l, limit);
		else
			add_names(out, &l, room);
	}
	free(l.items);
	arena_release(&l.arena);
}
