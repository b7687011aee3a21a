/* SPDX-License-Identifier: MIT
 * listing.c - the list of skills for a model. */
#include "defs/skill/listing.h"
#include "lib/base/shortlist.h"
#include "lib/base/utf8.h"

enum { REST_RESERVE = 200 };

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

struct listing {
	struct arena arena; /* has the descriptions */
	struct shortlist_item *items;
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
		if ((views & SKILL_FOR_MODEL) && (!spec->shows || spec->shows(spec->data, e)))
			l->items[l->count++] = (struct shortlist_item){
				.name = str_from(e->name),
				.description = views & SKILL_DESCRIBED ? describe(&l->arena, e->skill, most) : STR("")
			};
	}
}

void skill_listing_write(struct buf *out, const struct skill_registry *r, const struct skill_listing_spec *spec)
{
	struct str title = str_from(spec->title ? spec->title : "Skills that the Skill tool can use:");
	size_t budget = spec->budget_bytes ? spec->budget_bytes : SKILL_LISTING_BUDGET;
	size_t room = budget > title.n + 1 ? budget - title.n - 1 : 0;
	size_t named;
	struct listing l = { 0 };

	collect(&l, r, spec);
	if (l.count) {
		buf_addf(out, STR_FMT "\n", STR_ARG(title));
		shortlist_write(out, &(struct shortlist){ l.items, l.count }, room, REST_RESERVE, &named);
		if (named < l.count)
			buf_addf(out, "(%zu more are not named here; `cadre skills` lists all.)\n", l.count - named);
	}
	free(l.items);
	arena_release(&l.arena);
}
