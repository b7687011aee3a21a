/* SPDX-License-Identifier: MIT
 * tool_load.c - tools that wait, and tools that are asked for. A tool is asked for while the calls of an answer run; it is
 * loaded when all of them are recorded, between two requests, so that a fork of this answer has the head that its history was
 * made with. */
#include "agents/agent/tool_load.h"
#include "core/model/catalog.h"
#include "agents/agent/context.h"
#include "agents/agent/tree.h"

enum { BYTES_PER_TOKEN = 4 };

static bool is_out(void *data, const struct tool *tool)
{
	const struct agent *a = data;

	return permission_forbids(&a->permission, tool);
}

/* Without a tool that finds them, what waits could never be used. */
static bool can_search(const struct agent *a)
{
	for (size_t i = 0; i < a->tools.count; i++)
		if (a->tools.tools[i]->flags & TOOL_FINDS_TOOLS)
			return !permission_forbids(&a->permission, a->tools.tools[i]);
	return false;
}

static bool are_many(const struct agent *a)
{
	const struct deferral_policy *p = &a->tree->deferral;
	uint64_t context = (uint64_t)model_find(a->model)->context;
	size_t bytes = deferral_bytes(&a->tools);

	if (p->when == DEFER_NEVER || !bytes)
		return false;
	return p->when == DEFER_ALWAYS || bytes / BYTES_PER_TOKEN * 100 > context * p->percent;
}

static void arrange(struct agent *a)
{
	deferral_arrange(&a->deferral, &a->tools, is_out, a);
}

void agent_defer_tools(struct agent *a)
{
	a->deferral.on = can_search(a) && (a->deferral.on || are_many(a));
	arrange(a);
}

void agent_defer_like(struct agent *a, const struct agent *parent)
{
	a->deferral.on = parent->deferral.on;
	for (size_t i = 0; i < parent->deferral.loaded.count; i++)
		deferral_want(&a->deferral, parent->deferral.loaded.tools[i]->name);
	arrange(a);
}

void agent_recall_tools(struct agent *a, const struct session_load *load)
{
	for (size_t i = 0; i < load->tool_count; i++)
		deferral_want(&a->deferral, load->tools[i]);
}

void agent_load_tools(struct agent *a)
{
	const struct query *q = &a->query;

	if (!deferral_has_news(&a->deferral))
		return;
	arrange(a);
	query_set_head(&a->query, context_head_like(a, q->next_head ? q->next_head : q->config.head), a->model);
}

/* ---- the definitions --------------------------------------------------------------------------------------------- */

bool agent_offers(const struct agent *a, const struct tool *tool)
{
	return tool == a->tree->answer_tool || !permission_hides(&a->permission, tool);
}

static bool is_sent(const struct agent *a, const struct tool *tool)
{
	const struct deferral *d = &a->deferral;

	if (!agent_offers(a, tool))
		return false;
	if (tool->flags & TOOL_FINDS_TOOLS)
		return d->known.count > 0;
	return !d->on || !(tool->flags & TOOL_MAY_WAIT);
}

static const char *definition_of(const struct deferral *d, const struct tool *tool, struct arena *arena)
{
	AUTO_BUF struct buf text = { 0 };

	if (!(tool->flags & TOOL_FINDS_TOOLS))
		return tool->definition;
	deferral_describe(&text, d, tool->definition);
	return arena_dup(arena, text.p, text.n);
}

const char **agent_definitions(const struct agent *a, struct arena *arena)
{
	const struct deferral *d = &a->deferral;
	const char **list = arena_calloc(arena, (a->tools.count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < a->tools.count; i++)
		if (is_sent(a, a->tools.tools[i]))
			list[n++] = definition_of(d, a->tools.tools[i], arena);
	for (size_t i = 0; i < d->loaded.count; i++)
		list[n++] = d->loaded.tools[i]->definition;
	return list;
}
