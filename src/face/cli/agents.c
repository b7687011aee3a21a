/* SPDX-License-Identifier: MIT
 * agents.c - what is known about all agents of a session. */
#include "face/cli/agents.h"
#include "face/screen/paint.h"
#include "lib/base/list.h"

static void row_free(struct agent_row *r)
{
	buf_release(&r->last_tool);
	free(r->id);
	free(r->title);
	free(r->type);
	free(r->state);
	free(r->parent);
	free(r->model);
	free(r->worktree);
	free(r->team);
	free(r->name);
	free(r->colour);
	free(r);
}

void agents_release(struct agents *a)
{
	for (struct agent_row *r = a->first, *next; r; r = next) {
		next = r->next;
		row_free(r);
	}
	map_release(&a->by_id);
	*a = (struct agents){ 0 };
}

static char *detail_of(const struct cadre_event *e, enum cadre_str which)
{
	return render_copy(str_from(cadre_event_str(e, which)));
}

void agents_remove(struct agents *a, const char *id)
{
	struct agent_row *gone = map_remove(&a->by_id, str_from(id));

	if (!gone)
		return;
	list_drop(&a->first, gone);
	a->running -= !gone->ended_ms && !gone->waits;
	a->asking -= gone->asks;
	row_free(gone);
}

static void add_row(struct agents *a, const struct cadre_event *e, int64_t now_ms)
{
	agents_remove(a, cadre_event_agent(e)); /* one that was resumed */
	struct agent_row *above = map_get(&a->by_id, str_from(cadre_event_str(e, CADRE_STR_PARENT)));
	struct agent_row **at = above ? &above->next : &a->first;
	while (*at && (!above || (*at)->depth > above->depth))
		at = &(*at)->next;
	struct agent_row *r = xcalloc(1, sizeof *r);
	*r = (struct agent_row){ .next = *at,
				 .id = xstrdup(cadre_event_agent(e)),
				 .title = detail_of(e, CADRE_STR_DESCRIPTION),
				 .type = detail_of(e, CADRE_STR_TYPE),
				 .parent = detail_of(e, CADRE_STR_PARENT),
				 .model = detail_of(e, CADRE_STR_MODEL),
				 .worktree = detail_of(e, CADRE_STR_WORKTREE),
				 .team = detail_of(e, CADRE_STR_TEAM),
				 .name = detail_of(e, CADRE_STR_NAME),
				 .colour = detail_of(e, CADRE_STR_COLOR),
				 .depth = cadre_event_int(e, CADRE_INT_DEPTH),
				 .started_ms = now_ms };
	*at = r;
	map_set(&a->by_id, str_from(r->id), r);
	a->running++;
}

bool agents_event(struct agents *a, const struct cadre_event *e, int64_t now_ms)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	struct agent_row *r = NULL;

	if (!cadre_event_agent(e)[0])
		return false;
	if (kind == CADRE_AGENT_STARTED)
		add_row(a, e, now_ms);
	r = map_get(&a->by_id, str_from(cadre_event_agent(e)));
	if (!r)
		return false;
	bool counts = kind == CADRE_AGENT_PROGRESS || kind == CADRE_TOOL_ENDED || kind == CADRE_AGENT_ENDED ||
		      kind == CADRE_MEMBER_STATE;
	if (counts) {
		r->turns = cadre_event_int(e, CADRE_INT_TURNS);
		r->tokens = cadre_event_int(e, CADRE_INT_TOKENS);
		int64_t cost_micros = cadre_event_int(e, CADRE_INT_COST_MICROS);
		a->cost_usd += (double)(cost_micros - r->cost_micros) / 1e6;
		r->cost_micros = cost_micros;
		buf_clear(&r->last_tool);
		render_line(&r->last_tool, str_from(cadre_event_str(e, CADRE_STR_LAST_TOOL)));
	}
	if (kind == CADRE_MEMBER_STATE && !r->ended_ms) {
		a->running += r->waits;
		free(r->state);
		r->state = detail_of(e, CADRE_STR_STATE);
		r->waits = strcmp(r->state, "running") != 0;
		a->running -= r->waits;
	}
	if (kind == CADRE_AGENT_ENDED && !r->ended_ms) {
		agents_set_asking(a, r->id, false);
		a->running -= !r->waits;
		free(r->state);
		r->ended_ms = now_ms;
		a->recent_until_ms = now_ms + AGENTS_RECENT_MS;
		r->failed = cadre_event_is_error(e);
		r->state = detail_of(e, CADRE_STR_STATE);
	}
	return counts || kind == CADRE_AGENT_STARTED;
}

void agents_set_asking(struct agents *a, const char *id, bool asks)
{
	struct agent_row *r = map_get(&a->by_id, str_from(id));

	if (!r || r->asks == asks)
		return;
	r->asks = asks;
	a->asking = asks ? a->asking + 1 : a->asking - 1;
}

const struct agent_row *agents_shown(const struct agents *a, size_t index, int64_t now_ms)
{
	for (int pass = 0; pass < 3; pass++)
		for (const struct agent_row *r = a->first; r; r = r->next) {
			if (r->ended_ms && r->ended_ms + AGENTS_RECENT_MS <= now_ms)
				continue;
			if ((r->asks ? 0 : r->ended_ms || r->waits ? 2 : 1) == pass && !index--)
				return r;
		}
	return NULL;
}
