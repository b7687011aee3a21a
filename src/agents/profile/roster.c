/* SPDX-License-Identifier: MIT
 * roster.c - the list of agents for a main agent. */
#include "agents/profile/roster.h"
#include "lib/base/budgeted_list.h"
#include "lib/base/utf8.h"

enum { SHORT_TOOLS = 60, REST_RESERVE = 300 };

struct roster {
	struct arena arena; /* has the texts of the items */
	struct budgeted_item *items;
	size_t count;
};

bool roster_has(const struct catalog *r, const struct agent_definition *d, const struct roster_spec *spec)
{
	bool listed = !spec->only.p;

	for (struct str rest = spec->only; rest.p && !listed;)
		listed = agent_type_same(str_trim(str_cut(&rest, ',')), str_from(d->name));
	if (!listed || agent_denied(r, str_from(d->name)) ||
	    (spec->reader && definition_is_hidden(spec->reader, &d->common)))
		return false;
	for (size_t i = 0; spec->mcp_servers && i < d->required_mcp_servers.count; i++) {
		const char *const *server = spec->mcp_servers;
		while (*server && !str_is_nocase(str_from(*server), d->required_mcp_servers.names[i]))
			server++;
		if (!*server)
			return false;
	}
	return true;
}

static void add_names(struct buf *out, const char *before, const struct name_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		buf_addstr(out, i ? ", " : before);
		buf_addstr(out, list->names[i]);
	}
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

/* A description is text of others: on one line it cannot look like another entry. */
static struct str roster_fold(struct arena *a, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	buf_addfolded(&out, text);
	return arena_str(a, buf_str(&out));
}

/* The text behind a description: "(Tools: Read, Grep)", or if it must be short "(Tools: Read, Grep and 12 more)" */
static struct str tail_of(struct arena *a, const struct agent_definition *d, bool whole)
{
	AUTO_BUF struct buf tools = { 0 }, text = { 0 };

	roster_tools(&tools, d);
	struct str all = roster_fold(a, buf_str(&tools));
	struct str shown = all;
	size_t left = 0;
	if (!whole && all.n > SHORT_TOOLS) {
		shown.n = 0;
		left = 1;
		for (size_t i = 0; i < all.n; i++)
			if (all.p[i] == ',') {
				left = i <= SHORT_TOOLS ? 1 : left + 1;
				shown.n = i <= SHORT_TOOLS ? i : shown.n;
			}
		if (!shown.n)
			shown = utf8_cut(all, SHORT_TOOLS);
	}
	buf_addstr(&text, d->fork_context ? " (Properties: access to current context; Tools: " : " (Tools: ");
	buf_append(&text, shown);
	if (left)
		buf_addf(&text, " and %zu more", left);
	buf_addch(&text, ')');
	return arena_str(a, buf_str(&text));
}

static void add_lines(struct buf *out, const struct roster *l, size_t room)
{
	size_t named;
	enum budgeted_form form =
		budgeted_list_write(out, &(struct budgeted_list){ l->items, l->count }, room, REST_RESERVE, &named);

	if (form == BUDGETED_WHOLE)
		return;
	if (form == BUDGETED_SHORTENED) {
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

void roster_write(struct buf *out, const struct catalog *r, const struct roster_spec *spec)
{
	AUTO_BUF struct buf notes = { 0 };
	struct roster l = { 0 };
	static const char head[] = "Available agent types and the tools they have access to:\n";
	size_t budget = spec->budget_bytes ? spec->budget_bytes : ROSTER_BUDGET;
	bool context = false;

	l.items = xcalloc(r->active_count + 1, sizeof *l.items);
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		if (!roster_has(r, d, spec))
			continue;
		l.items[l.count++] = (struct budgeted_item){ roster_fold(&l.arena, str_from(d->name)),
							     roster_fold(&l.arena, str_from(d->description)),
							     tail_of(&l.arena, d, true), tail_of(&l.arena, d, false) };
		context |= d->fork_context;
	}
	if (l.count) {
		if (!spec->one_at_a_time)
			buf_addstr(&notes, "- Agents whose work does not depend on each other run at the same time if "
					   "they are called in one message.\n");
		if (!spec->background_off)
			buf_addstr(&notes, "- With run_in_background an agent works on while you do; its result is "
					   "reported to you when it is ready.\n");
		if (context)
			buf_addstr(&notes, "- An agent with access to current context sees this conversation up to the "
					   "call: a short prompt is enough.\n");
		size_t fixed = sizeof head + notes.n;
		buf_addstr(out, head);
		add_lines(out, &l, budget > fixed ? budget - fixed : 0);
		buf_add(out, buf_str(&notes).p, notes.n);
	}
	free(l.items);
	arena_release(&l.arena);
}
