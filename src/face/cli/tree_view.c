/* SPDX-License-Identifier: MIT
 * tree_view.c - the children that run. A line must never wrap, or the way back up would be too short: it is cut to the width
 * of the terminal. */
#include "face/cli/tree_view.h"
#include "face/screen/paint.h"

enum { MOST_LINES = 8, MOST_INDENT = 8, MANY = 64, REDRAW_MS = 80 };

void tree_view_event(struct tree_view *t, const struct cadre_event *e)
{
	t->changed = agents_event(&t->agents, e, cadre_event_time_ms(e)) || t->changed;
	if (cadre_event_kind(e) == CADRE_AGENT_ENDED)
		agents_remove(&t->agents, cadre_event_agent(e));
}

void tree_view_erase(struct tree_view *t, struct buf *out)
{
	if (t->drawn)
		buf_addf(out, "\033[%uA\r\033[J", t->drawn);
	t->drawn = 0;
	t->changed = t->agents.first != NULL;
}

bool tree_view_is_due(const struct tree_view *t, const struct cadre_event *e)
{
	if (!t->changed || !t->agents.first)
		return t->drawn && !t->agents.first;
	if (!t->drawn || t->agents.running <= MANY)
		return true;
	return cadre_event_time_ms(e) - t->drawn_ms >= REDRAW_MS;
}

void tree_view_draw(struct tree_view *t, struct buf *out, unsigned columns)
{
	size_t more = t->agents.running > MOST_LINES ? t->agents.running - MOST_LINES + 1 : 0;
	unsigned lines = more ? MOST_LINES - 1 : MOST_LINES;

	for (const struct agent_row *r = t->agents.first; r && lines; r = r->next, lines--) {
		AUTO_STYLED struct styled row = { 0 };
		AUTO_BUF struct buf figures = { 0 };
		styled_addf(&row, LOOK_PLAIN, "%*s", (int)MIN(r->depth, (int64_t)MOST_INDENT) * 2, "");
		buf_addf(&figures, "%s: %s", r->type, r->title);
		styled_add(&row, look_of_colour(r->colour), buf_str(&figures));
		buf_clear(&figures);
		buf_addf(&figures, "  %lld turns, ", (long long)r->turns);
		buf_addcount(&figures, r->tokens);
		buf_addf(&figures, " tokens%s" STR_FMT, r->last_tool.n ? ", " : "", STR_ARG(buf_str(&r->last_tool)));
		styled_add(&row, LOOK_DIM, buf_str(&figures));
		size_t fits = cells_fit(buf_str(&row.text), columns > 1 ? columns - 1 : 0, NULL);
		styled_write(&row, 0, fits, t->colour ? THEME_ANSI : THEME_BARE, out);
		buf_addch(out, '\n');
		t->drawn++;
	}
	if (more) {
		buf_addf(out, "  and %zu more\n", more);
		t->drawn++;
	}
	t->changed = false;
}

/* A member of a team by its name, as the others speak to it; another agent by its task */
static const char *called(const struct cadre_event *e)
{
	return cadre_event_str(e, cadre_event_str(e, CADRE_STR_TEAM)[0] ? CADRE_STR_NAME : CADRE_STR_DESCRIPTION);
}

void agent_title(struct buf *out, const struct cadre_event *e)
{
	if (cadre_event_agent(e)[0])
		buf_addf(out, "agent \"%s\" (%s)", called(e), cadre_event_str(e, CADRE_STR_TYPE));
}

void agent_note(struct buf *out, const struct cadre_event *e)
{
	long long turns = (long long)cadre_event_int(e, CADRE_INT_TURNS);

	if (cadre_event_kind(e) == CADRE_AGENT_STARTED) {
		buf_addf(out, "Agent \"%s\" begins (%s)", called(e), cadre_event_str(e, CADRE_STR_TYPE));
		return;
	}
	buf_addf(out, "Agent \"%s\" %s (%lld turn%s, ", called(e), cadre_event_str(e, CADRE_STR_END), turns,
		 turns == 1 ? "" : "s");
	buf_addcount(out, cadre_event_int(e, CADRE_INT_TOKENS));
	buf_addstr(out, " tokens, ");
	buf_addspan(out, cadre_event_int(e, CADRE_INT_MS));
	buf_addstr(out, ")");
}
