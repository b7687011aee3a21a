/* SPDX-License-Identifier: MIT
 * roster.c - the view of all agents: a tree that folds, or a list by cost, tokens, time or state. Many children of one kind are one
 * row with their sum until it is opened. One agent is a view of its transcript, which follows its end. */
#include "face/cli/view.h"
#include "face/tui/state.h"

enum { GROUP_FROM = 10, MANY = 60 };

enum roster_sort { SORT_TREE, SORT_COST, SORT_TOKENS, SORT_TIME, SORT_STATE, SORT_COUNT };
static const char *const sort_names[] = { "tree", "cost", "tokens", "time", "state" };

struct roster_row {
	const struct agent_row *agent; /* of a group: its first */
	size_t group;                  /* how many; 0: one agent */
	size_t running, asking;
	int64_t tokens, cost_micros;
	bool parent, folded;
};

void page_open_agents(struct tui *t)
{
	(void)page_open(t, PAGE_AGENTS, "Agents");
}

static int64_t run_ms(const struct agent_row *r)
{
	return (r->ended_ms ? r->ended_ms : tui_now_ms()) - r->started_ms;
}

static int by_figure(const void *a, const void *b, void *data)
{
	const struct agent_row *x = ((const struct roster_row *)a)->agent, *y = ((const struct roster_row *)b)->agent;
	int64_t d = 0;

	switch (*(const enum roster_sort *)data) {
	case SORT_COST:
		d = y->cost_micros - x->cost_micros;
		break;
	case SORT_TOKENS:
		d = y->tokens - x->tokens;
		break;
	case SORT_TIME:
		d = run_ms(y) - run_ms(x);
		break;
	default: /* those that ask, that run, that failed, that are done */
		d = (x->asks        ? 0
		     : !x->ended_ms ? 1
		     : x->failed    ? 2
				    : 3) -
		    (y->asks        ? 0
		     : !y->ended_ms ? 1
		     : y->failed    ? 2
				    : 3);
	}
	return d < 0 ? -1 : d > 0 ? 1 : strcmp(x->id, y->id);
}

static struct roster_row *add_row(struct page *p, const struct agent_row *r)
{
	struct roster_row *row = xpush(p->rows, p->row_count, p->row_cap);

	*row = (struct roster_row){ .agent = r };
	return row;
}

static bool is_shown(const struct page *p, const struct agent_row *r)
{
	struct str find = buf_str(&p->filter.text);

	return !(p->hide_ended && r->ended_ms) &&
	       (!find.n || page_has_text(str_from(r->title), find) || page_has_text(str_from(r->type), find) ||
		page_has_text(str_from(r->id), find) || page_has_text(str_from(r->name), find));
}

/* The key of a group of siblings in p->folds: whose children, of which type */
static const char *group_key(char *out, size_t n, const struct agent_row *r)
{
	snprintf(out, n, "%s/%s", r->parent, r->type);
	return out;
}

/* Siblings of one type that stand behind each other without children, from r on */
static const struct agent_row *sum_group(const struct page *p, const struct agent_row *r, struct roster_row *ret)
{
	const struct agent_row *at = r;

	*ret = (struct roster_row){ .agent = r };
	for (; at && at->depth == r->depth && !strcmp(at->type, r->type) && (!at->next || at->next->depth <= at->depth);
	     at = at->next) {
		if (!is_shown(p, at))
			continue;
		ret->group++;
		ret->running += !at->ended_ms && !at->waits;
		ret->asking += at->asks;
		ret->tokens += at->tokens;
		ret->cost_micros += at->cost_micros;
	}
	return at;
}

static void collect_rows(struct tui *t, struct page *p)
{
	bool many = t->agents.by_id.count > MANY, tree = p->sort == SORT_TREE;
	int64_t folded_depth = INT64_MAX;
	char key[512];

	p->row_count = 0;
	for (const struct agent_row *r = t->agents.first; r;) {
		struct roster_row group;
		if (r->depth > folded_depth) {
			r = r->next;
			continue;
		}
		folded_depth = INT64_MAX;
		const struct agent_row *behind = tree && many && !p->filter.text.n ? sum_group(p, r, &group) : r;
		if (behind != r && group.group >= GROUP_FROM &&
		    !map_get(&p->folds, str_from(group_key(key, sizeof key, r)))) {
			*add_row(p, r) = group;
			r = behind;
			continue;
		}
		/* a group that is open, or too small, is single rows */
		const struct agent_row *end = behind != r ? behind : r->next;
		for (; r != end; r = r->next) {
			if (!is_shown(p, r))
				continue;
			struct roster_row *row = add_row(p, r);
			row->parent = r->next && r->next->depth > r->depth;
			row->folded = tree && row->parent && map_get(&p->folds, str_from(r->id)) != NULL;
			if (row->folded)
				folded_depth = r->depth;
		}
	}
	if (!tree)
		qsort_r(p->rows, p->row_count, sizeof *p->rows, by_figure, &p->sort);
}

static void add_group(struct tui *t, const struct roster_row *g)
{
	struct styled *row = rows_add(t);
	AUTO_BUF struct buf b = { 0 };

	styled_addf(row, look_of_colour(g->agent->colour), "%*s%s %zu %s", (int)MIN(g->agent->depth, (int64_t)6) * 2,
		    "",
		    tui_mark(t, g->asking    ? MARK_ASKS
				: g->running ? MARK_RUNS
					     : MARK_DONE),
		    g->group, g->agent->type);
	buf_addf(&b, ": %zu run, %zu ended, ", g->running, g->group - g->running);
	buf_addcount(&b, g->tokens);
	buf_addf(&b, " tokens, $%.2f", (double)g->cost_micros / 1e6);
	styled_add(row, LOOK_DIM, buf_str(&b));
	if (g->asking)
		styled_addf(row, LOOK_YELLOW, ", %zu ask", g->asking);
}

void roster_add_rows(struct tui *t, struct page *p, size_t room)
{
	struct styled *title = &t->rows[0];
	AUTO_BUF struct buf b = { 0 };
	int64_t tokens = 0;

	for (const struct agent_row *r = t->agents.first; r; r = r->next)
		tokens += r->tokens;
	buf_addcount(&b, tokens);
	styled_addf(title, LOOK_BOLD, ": %zu . %zu run%s, %zu ask . %s tokens . $%.2f", t->agents.by_id.count,
		    t->agents.running, t->agents.running == 1 ? "s" : "", t->agents.asking, b.p, t->agents.cost_usd);
	styled_addf(title, LOOK_DIM, " . by %s%s%s", sort_names[p->sort], p->hide_ended ? ", ended hidden" : "",
		    p->filter.text.n ? ", found" : "");
	collect_rows(t, p);
	p->selected = MIN(p->selected, p->row_count ? p->row_count - 1 : 0);
	size_t first = p->selected >= room ? p->selected - room + 1 : 0;
	for (size_t i = first; i < p->row_count && i < first + room; i++) {
		const struct roster_row *r = &p->rows[i];
		if (r->group)
			add_group(t, r);
		else
			rows_add_agent(t, r->agent, r->folded);
		struct styled *row = &t->rows[t->row_count - 1];
		if (i == p->selected)
			memset(row->looks.p, LOOK_BOLD | LOOK_CYAN, row->looks.n);
	}
	if (!p->row_count)
		styled_add(rows_add(t), LOOK_DIM,
			   t->agents.by_id.count ? STR("  nothing fits") : STR("  no agent was started"));
}

static const struct roster_row *row_at(const struct page *p)
{
	return p->selected < p->row_count ? &p->rows[p->selected] : NULL;
}

/* Of a program that was run for the view: its last line, if it failed */
static void say_result(struct tui *t, struct str output, bool ok)
{
	AUTO_BUF struct buf line = { 0 };
	struct str rest = str_trim(output);

	render_line(&line, str_cut(&rest, '\n'));
	tui_note(t, line.n ? line.p : ok ? "done" : "it failed");
}

void roster_stop(struct tui *t, const struct agent_row *r)
{
	if (r->ended_ms)
		tui_note(t, "it has ended");
	else if (input_is_twice(t, r->id))
		job_cadre(t, "stop", str_from(r->id), say_result);
	else
		tui_note(t, "x again stops it and all below it");
}

const struct agent_row *roster_find(const struct tui *t, struct str agent)
{
	const struct agent_row *r = map_get(&t->agents.by_id, agent);

	for (const struct agent_row *m = t->agents.first; m && !r; m = m->next)
		if (m->team[0] && str_is_nocase(agent, m->name))
			r = m;
	return r;
}

bool roster_has_team(const struct tui *t)
{
	for (const struct agent_row *r = t->agents.first; r; r = r->next)
		if (r->team[0])
			return true;
	return false;
}

void roster_tell(struct tui *t, const char *agent, const char *text)
{
	const struct agent_row *r = roster_find(t, str_from(agent));
	bool member = r && r->team[0];
	AUTO_BUF struct buf to = { 0 };
	char why[240] = "";
	int rc = member ? CADRE_NOT_FOUND : cadre_tell(t->session, agent, text, why, sizeof why);

	if (rc != CADRE_NOT_FOUND || (!roster_has_team(t) && !strchr(agent, '@'))) {
		tui_note(t, rc < 0 ? why : "it gets the message at its next step");
		return;
	}
	buf_addf(&to, "%s%s%s", member ? r->name : agent, member ? "@" : "", member ? r->team : "");
	const char *const argv[] = { "/proc/self/exe", "tell", to.p, text, NULL };
	job_program(t, argv, say_result);
}

void roster_send(struct tui *t, struct page *p)
{
	const struct roster_row *r = row_at(p);
	AUTO_BUF struct buf text = { 0 };

	p->writing = false;
	draft_expand(&p->message, &text);
	if (r && !r->group && text.n)
		roster_tell(t, r->agent->id, text.p);
	draft_clear(&p->message);
}

static void roster_show(struct tui *t, const char *id)
{
	const struct agent_row *r = map_get(&t->agents.by_id, str_from(id));
	struct str session = str_from(cadre_session_file(t->session));
	AUTO_BUF struct buf path = { 0 }, title = { 0 };

	if (!r || session.n < 6)
		return;
	if (r->asks) {
		page_close(t);
		ask_open_of(t, id);
		return;
	}
	buf_addf(&path, STR_FMT "/subagents/agent-%s.jsonl", (int)session.n - 6, session.p, r->id);
	buf_addf(&title, "%s %s  %s  %s%s%s%s%s", r->type, r->title, r->id, r->ended_ms || r->waits ? r->state : "runs",
		 r->model[0] ? "  model " : "", r->model, r->worktree[0] ? "  worktree " : "", r->worktree);
	page_open_transcript(t, title.p, path.p);
}

static void fold(struct page *p, const struct roster_row *r, bool close)
{
	char key[512];

	/* a group is known when it is open, an agent with children when it is folded */
	if (r->group && !close) {
		map_set(&p->folds, str_from(group_key(key, sizeof key, r->agent)), p);
	} else if (!r->group && r->parent) {
		if (close)
			map_set(&p->folds, str_from(r->agent->id), p);
		else
			map_remove(&p->folds, str_from(r->agent->id));
	} else if (close) {
		map_remove(&p->folds, str_from(group_key(key, sizeof key, r->agent)));
	}
}

void roster_key(struct tui *t, struct page *p, const struct key *key, char letter)
{
	const struct roster_row *r = row_at(p);

	if (letter == 's') {
		p->sort = (p->sort + 1) % SORT_COUNT;
	} else if (letter == 'h') {
		p->hide_ended = !p->hide_ended;
	} else if (letter == 'b') {
		int moved = cadre_background(t->session, NULL);
		tui_note(t, moved > 0 ? "they continue in the background" : "no agent is waited for");
	} else if (!r) {
		return;
	} else if (key->code == KEY_LEFT || key->code == KEY_RIGHT) {
		fold(p, r, key->code == KEY_LEFT);
	} else if (key->code == KEY_ENTER && r->group) {
		fold(p, r, false);
	} else if (key->code == KEY_ENTER) {
		roster_show(t, r->agent->id);
	} else if (letter == 'm' && !r->group) {
		p->writing = true;
	} else if ((letter == 'x' || letter == 'X') && !r->group) {
		roster_stop(t, r->agent);
	} else if (letter == 'y') {
		tui_copy(t, str_from(r->agent->id), "its id");
	}
}
