/* SPDX-License-Identifier: MIT
 * tree_view.c - the children that run. A line must never wrap, or the way back up would be too short: it is cut to the width
 * of the terminal, where a character outside ASCII counts as two. */
#include "face/cli/tree_view.h"
#include "face/cli/view.h"

enum { MOST_LINES = 8, MOST_INDENT = 8, MANY = 64, REDRAW_MS = 80 };

#define DIM   "\033[2m"
#define PLAIN "\033[0m"

static const char *colour_code(const char *name)
{
	static const struct {
		const char *name, *code;
	} codes[] = {
		{ "red", "\033[31m" },          { "green", "\033[32m" },      { "yellow", "\033[33m" },
		{ "blue", "\033[34m" },         { "purple", "\033[35m" },     { "cyan", "\033[36m" },
		{ "orange", "\033[38;5;208m" }, { "pink", "\033[38;5;213m" },
	};

	for (size_t i = 0; i < COUNT_OF(codes); i++)
		if (!strcmp(codes[i].name, name))
			return codes[i].code;
	return "";
}

void tree_view_event(struct tree_view *t, const struct cadre_event *e)
{
	t->changed = agents_event(&t->agents, e, cadre_event_time_ms(e)) || t->changed;
	if (cadre_event_kind(e) == CADRE_AGENT_ENDED)
		agents_remove(&t->agents, cadre_event_agent(e));
}

/* ---- on the terminal --------------------------------------------------------------------------------------------- */

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

/* As much of s as fits; *left is what remains of the width. */
static void add_fitting(struct buf *out, struct str s, unsigned *left)
{
	size_t n = 0;

	while (n < s.n) {
		bool ascii = (unsigned char)s.p[n] < 0x80;
		unsigned wide = ascii ? 1 : 2;
		size_t end = n + 1;
		while (end < s.n && ((unsigned char)s.p[end] & 0xc0) == 0x80)
			end++;
		if (wide > *left)
			break;
		*left -= wide;
		n = end;
	}
	buf_add(out, s.p, n);
}

void tree_view_draw(struct tree_view *t, struct buf *out, unsigned columns)
{
	size_t more = t->agents.running > MOST_LINES ? t->agents.running - MOST_LINES + 1 : 0;
	unsigned lines = more ? MOST_LINES - 1 : MOST_LINES;

	for (const struct agent_row *r = t->agents.first; r && lines; r = r->next, lines--) {
		AUTO_BUF struct buf figures = { 0 }, title = { 0 };
		unsigned indent = (unsigned)MIN(r->depth, (int64_t)MOST_INDENT) * 2;
		unsigned left = columns > indent + 1 ? columns - indent - 1 : 0;
		buf_addf(&figures, "  %lld turns, ", (long long)r->turns);
		buf_addcount(&figures, r->tokens);
		buf_addf(&figures, " tokens%s" STR_FMT, r->last_tool.n ? ", " : "", STR_ARG(buf_str(&r->last_tool)));
		buf_addf(out, "%*s%s", (int)indent, "", t->colour ? colour_code(r->colour) : "");
		buf_addf(&title, "%s: %s", r->type, r->title);
		add_fitting(out, buf_str(&title), &left);
		buf_addstr(out, t->colour ? PLAIN DIM : "");
		add_fitting(out, buf_str(&figures), &left);
		buf_addf(out, "%s\n", t->colour ? PLAIN : "");
		t->drawn++;
	}
	if (more) {
		buf_addf(out, "  and %zu more\n", more);
		t->drawn++;
	}
	t->changed = false;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

/* A member of a team by its name, as the others speak to it; another agent by its task */
static const char *called(const struct cadre_event *e)
{
	return cadre_event_detail(e, cadre_event_detail(e, CADRE_DETAIL_TEAM)[0] ? CADRE_DETAIL_NAME
										 : CADRE_DETAIL_DESCRIPTION);
}

void agent_title(struct buf *out, const struct cadre_event *e)
{
	if (cadre_event_agent(e)[0])
		buf_addf(out, "agent \"%s\" (%s)", called(e), cadre_event_detail(e, CADRE_DETAIL_TYPE));
}

void agent_note(struct buf *out, const struct cadre_event *e)
{
	long long turns = (long long)cadre_event_figure(e, CADRE_FIGURE_TURNS);

	if (cadre_event_kind(e) == CADRE_AGENT_STARTED) {
		buf_addf(out, "Agent \"%s\" begins (%s)", called(e), cadre_event_detail(e, CADRE_DETAIL_TYPE));
		return;
	}
	buf_addf(out, "Agent \"%s\" %s (%lld turn%s, ", called(e), cadre_event_detail(e, CADRE_DETAIL_END), turns,
		 turns == 1 ? "" : "s");
	buf_addcount(out, cadre_event_figure(e, CADRE_FIGURE_TOKENS));
	buf_addstr(out, " tokens, ");
	buf_addspan(out, cadre_event_figure(e, CADRE_FIGURE_MS));
	buf_addstr(out, ")");
}
