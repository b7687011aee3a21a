/* SPDX-License-Identifier: MIT
 * tasks_tree.c - the tasks of a session as rows, children below their parents. */
#include "product/command/report.h"
#include "product/observe/task_json.h"
#include "product/command/tasks.h"
#include "lib/base/utf8.h"

enum { MOST_TITLE = 48, SHOWN_ID = 8 };

/* A task in the tree: indices into the session's tasks + 1; 0: none */
struct node {
	size_t first, last, next;
};

/* One whose parent is not known stands at the top. */
static struct node *make_nodes(const struct task_session *s)
{
	struct node *nodes = xcalloc(s->count + 1, sizeof *nodes); /* the last one is the main agent */
	struct map by_id = { 0 };

	for (size_t i = 0; i < s->count; i++)
		map_set(&by_id, str_from(s->tasks[i].agent), (void *)(i + 1));
	for (size_t i = 0; i < s->count; i++) {
		size_t parent = (size_t)map_get(&by_id, str_from(s->tasks[i].parent));
		struct node *above = &nodes[parent && parent != i + 1 ? parent - 1 : s->count];
		if (above->last)
			nodes[above->last - 1].next = i + 1;
		else
			above->first = i + 1;
		above->last = i + 1;
	}
	map_release(&by_id);
	return nodes;
}

static enum cadre_tone tone_of(const struct task_row *row)
{
	static const struct {
		const char *state;
		enum cadre_tone tone;
	} tones[] = {
		{ "running", CADRE_GOOD }, { "completed", CADRE_PLAIN }, { "suspended", CADRE_NOTE },
		{ "killed", CADRE_WARN },  { "turn_limit", CADRE_WARN }, { "interrupted", CADRE_WARN },
	};

	for (size_t i = 0; i < COUNT_OF(tones); i++)
		if (!strcmp(row->state, tones[i].state))
			return tones[i].tone;
	return CADRE_BAD;
}

static void add_row(struct cadre_report *r, const struct task_row *row, unsigned depth)
{
	AUTO_BUF struct buf title = { 0 }, state = { 0 }, turns = { 0 }, tokens = { 0 }, cost = { 0 }, span = { 0 };
	struct str text = utf8_cut(str_from(row->description), MOST_TITLE);
	char id[SHOWN_ID + 1];

	buf_addf(&title, "%*s" STR_FMT, (int)MIN(depth, 20u) * 2, "", STR_ARG(text));
	if (row->name[0])
		buf_addf(&title, " [%s]", row->name);
	snprintf(id, sizeof id, "%s", row->agent);
	buf_addf(&state, "%s%s%s", row->state, row->verdict[0] ? " " : "", row->verdict);
	buf_addf(&turns, "%lld", (long long)row->turns);
	buf_addcount(&tokens, task_row_tokens(row));
	buf_addf(&cost, "$%.4f", row->cost_usd);
	buf_addspan(&span, task_row_duration_ms(row));
	report_row(r, tone_of(row), title.p, id, row->type, state.p, turns.p, tokens.p, cost.p, span.p, row->last_tool,
		   NULL);
}

static void add_below(struct cadre_report *r, const struct task_session *s, const struct node *nodes, size_t at,
		      unsigned depth)
{
	for (size_t i = nodes[at].first; i; i = nodes[i - 1].next) {
		add_row(r, &s->tasks[i - 1], depth);
		if (depth < 100)
			add_below(r, s, nodes, i - 1, depth + 1);
	}
}

void task_tree_rows(struct cadre_report *r, const struct task_session *s)
{
	AUTO_FREE struct node *nodes = make_nodes(s);

	report_row(r, CADRE_HEAD, "AGENT", "ID", "TYPE", "STATE", "TURNS", "TOKENS", "COST", "TIME", "LAST TOOL", NULL);
	add_below(r, s, nodes, s->count, 0);
}
