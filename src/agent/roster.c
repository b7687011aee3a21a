/* SPDX-License-Identifier: MIT
 * roster.c - the list of agents for a main agent. */
#include "agent/roster.h"
#include "base/utf8.h"

enum { SHORTEST_DESCRIPTION = 40, SHORT_TOOLS = 60, REST_RESERVE = 300 };

struct item {
	struct str name, description, tools; /* in the arena, one line each */
	bool context;
};

struct roster {
	struct arena arena;
	struct item *items;
	size_t count;
	bool context; /* some agent has access to the current context */
};

/* ---- who is in it ------------------------------------------------------------------------------------------------ */

static bool has_server(const char *const *servers, const char *wanted)
{
	for (; *servers; servers++)
		if (str_is_nocase(str_from(*servers), wanted))
			return true;
	return false;
}

static bool is_listed(struct str list, struct str type)
{
	while (list.p)
		if (agent_type_same(str_trim(str_cut(&list, ',')), type))
			return true;
	return false;
}

bool roster_has(const struct agent_registry *r, const struct agent_definition *d, const struct roster_spec *spec)
{
	if (agent_denied(&r->denied, str_from(d->name)))
		return false;
	if (spec->only.p && !is_listed(spec->only, str_from(d->name)))
		return false;
	for (size_t i = 0; spec->mcp_servers && i < d->required_mcp_servers.count; i++)
		if (!has_server(spec->mcp_servers, d->required_mcp_servers.names[i]))
			return false;
	return true;
}

/* ---- one line ---------------------------------------------------------------------------------------------------- */

static void add_names(struct buf *out, const char *before, const struct name_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		buf_addf(out, "%s%s", i ? ", " : before, list->names[i]);
}

void roster_tools(struct buf *out, const struct agent_definition *d)
{
	if (d->tools.present && !d->tools.all)
		add_names(out, "", &d->tools);
	else if (d->disallowed_tools.count)
		add_names(out, "All tools except ", &d->disallowed_tools);
	else
		buf_addstr(out, "All tools");
	if (d->tools.present && !d->tools.all && !d->tools.count)
		buf_addstr(out, "None");
}

/* A description is somebody's text: on one line it cannot look like another entry. */
static struct str fold(struct arena *a, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	buf_addfolded(&out, text);
	return arena_str(a, buf_str(&out));
}

static struct str cut(struct str text, size_t limit)
{
	return text.n <= limit ? text : str_trim(utf8_cut(text, limit - 3));
}

/* "Read, Grep and 12 more" */
static void add_short_tools(struct buf *out, struct str tools)
{
	size_t left = 1;
	struct str shown = { tools.p, 0 };

	if (tools.n <= SHORT_TOOLS) {
		buf_add(out, tools.p, tools.n);
		return;
	}
	for (size_t i = 0; i < tools.n; i++)
		if (tools.p[i] == ',') {
			left = i <= SHORT_TOOLS ? 1 : left + 1;
			shown.n = i <= SHORT_TOOLS ? i : shown.n;
		}
	if (!shown.n)
		shown = utf8_cut(tools, SHORT_TOOLS);
	buf_addf(out, STR_FMT " and %zu more", STR_ARG(shown), left);
}

static void add_line(struct buf *out, const struct item *item, size_t limit)
{
	struct str description = cut(item->description, limit);

	buf_addf(out, "- " STR_FMT ": " STR_FMT "%s (%sTools: ", STR_ARG(item->name), STR_ARG(description),
		 description.n < item->description.n ? "..." : "",
		 item->context ? "Properties: access to current context; " : "");
	if (limit == SIZE_MAX)
		buf_add(out, item->tools.p, item->tools.n);
	else
		add_short_tools(out, item->tools);
	buf_addstr(out, ")\n");
}

/* ---- within the budget ------------------------------------------------------------------------------------------- */

static void collect(struct roster *l, const struct agent_registry *r, const struct roster_spec *spec)
{
	l->items = xcalloc(r->active_count + 1, sizeof *l->items);
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		AUTO_BUF struct buf tools = { 0 };
		if (!roster_has(r, d, spec))
			continue;
		roster_tools(&tools, d);
		l->items[l->count++] =
			(struct item){ fold(&l->arena, str_from(d->name)), fold(&l->arena, str_from(d->description)),
				       fold(&l->arena, buf_str(&tools)), d->fork_context };
		l->context |= d->fork_context;
	}
}

static void add_lines(struct buf *out, const struct roster *l, size_t limit)
{
	for (size_t i = 0; i < l->count; i++)
		add_line(out, &l->items[i], limit);
}

/* The longest limit for descriptions whose lines fit; false: not even the shortest does. */
static bool find_limit(const struct roster *l, size_t room, size_t *ret_limit)
{
	size_t low = SHORTEST_DESCRIPTION;
	size_t high = low;
	bool fits = false;

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
		fits = true;
		*ret_limit = limit;
		low = limit + 1;
	}
	return fits;
}

/* Returns how many are named. */
static size_t add_by_name(struct buf *out, const struct roster *l, size_t room)
{
	size_t start = out->n;
	size_t i = 0;

	for (; i < l->count; i++) {
		if (out->n - start + l->items[i].name.n + 3 > room)
			break;
		buf_addf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(l->items[i].name));
	}
	buf_addch(out, '\n');
	return i;
}

static void add_body(struct buf *out, const struct roster *l, size_t room)
{
	AUTO_BUF struct buf full = { 0 };
	size_t limit;

	add_lines(&full, l, SIZE_MAX);
	if (full.n <= room) {
		buf_add(out, full.p, full.n);
		return;
	}
	room = room > REST_RESERVE ? room - REST_RESERVE : 0;
	if (find_limit(l, room, &limit)) {
		add_lines(out, l, limit);
		buf_addstr(out, "(Shortened. `cadre agents show NAME` prints all about one type.)\n");
		return;
	}
	size_t named = add_by_name(out, l, room);
	if (named < l->count)
		buf_addf(out, "(%zu more types are not named here. ", l->count - named);
	else
		buf_addstr(out, "(By name only. ");
	buf_addf(out, "`cadre agents` lists all %zu with their descriptions, `cadre agents show NAME` prints one.)\n",
		 l->count);
}

static void add_notes(struct buf *out, const struct roster *l, const struct roster_spec *spec)
{
	if (!spec->one_at_a_time)
		buf_addstr(out, "- Agents whose work does not depend on each other run at the same time if they are "
				"called in one message.\n");
	if (!spec->background_off)
		buf_addstr(out, "- With run_in_background an agent works on while you do; its result is reported to "
				"you when it is there.\n");
	if (l->context)
		buf_addstr(out, "- An agent with access to current context sees this conversation up to the call: a "
				"short prompt is enough.\n");
}

void roster_write(struct buf *out, const struct agent_registry *r, const struct roster_spec *spec)
{
	AUTO_BUF struct buf notes = { 0 };
	struct roster l = { 0 };
	static const char head[] = "Available agent types and the tools they have access to:\n";
	size_t budget = spec->budget_bytes ? spec->budget_bytes : ROSTER_BUDGET;

	collect(&l, r, spec);
	if (l.count) {
		add_notes(&notes, &l, spec);
		size_t fixed = sizeof head + notes.n;
		buf_addstr(out, head);
		add_body(out, &l, budget > fixed ? budget - fixed : 0);
		buf_add(out, buf_str(&notes).p, notes.n);
	}
	free(l.items);
	arena_release(&l.arena);
}
