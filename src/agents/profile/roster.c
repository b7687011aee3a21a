/* SPDX-License-Identifier: MIT
 * roster.c - the list of agents for a main agent. */
#include "agents/profile/roster.h"
#include "lib/base/shortlist.h"
#include "lib/base/utf8.h"

enum { SHORT_TOOLS = 60, REST_RESERVE = 300 };

struct roster {
	struct arena arena; /* has the texts of the items */
	struct shortlist_item *items;
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

bool roster_has(const struct catalog *r, const struct agent_definition *d, const struct roster_spec *spec)
{
	if (agent_denied(r, str_from(d->name)))
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

/* What stands behind a description. */
static struct str tail_of(struct arena *a, const struct agent_definition *d, bool whole)
{
	AUTO_BUF struct buf tools = { 0 }, text = { 0 };

	roster_tools(&tools, d);
	struct str folded = fold(a, buf_str(&tools));
	buf_addf(&text, " (%sTools: ", d->fork_context ? "Properties: access to current context; " : "");
	if (whole)
		buf_add(&text, folded.p, folded.n);
	else
		add_short_tools(&text, folded);
	buf_addch(&text, ')');
	return arena_str(a, buf_str(&text));
}

/* ---- within the budget ------------------------------------------------------------------------------------------- */

static void collect(struct roster *l, const struct catalog *r, const struct roster_spec *spec)
{
	l->items = xcalloc(r->active_count + 1, sizeof *l->items);
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		if (!roster_has(r, d, spec))
			continue;
		l->items[l->count++] =
			(struct shortlist_item){ fold(&l->arena, str_from(d->name)),
						 fold(&l->arena, str_from(d->description)), tail_of(&l->arena, d, true),
						 tail_of(&l->arena, d, false) };
		l->context |= d->fork_context;
	}
}

static void add_body(struct buf *out, const struct roster *l, size_t room)
{
	size_t named;
	enum shortlist_form form =
		shortlist_write(out, &(struct shortlist){ l->items, l->count }, room, REST_RESERVE, &named);

	if (form == SHORTLIST_WHOLE)
		return;
	if (form == SHORTLIST_SHORTENED) {
		buf_addstr(out, "(Shortened. `cadre agents show NAME` prints all about one type.)\n");
		return;
	}
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

void roster_write(struct buf *out, const struct catalog *r, const struct roster_spec *spec)
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
