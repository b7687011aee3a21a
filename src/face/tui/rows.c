/* SPDX-License-Identifier: MIT
 * rows.c - the rows of the live region, from top to bottom: the end of the answer, what runs, agents, what is queued, the input or
 * a question, suggestions, the status. When the window has few rows, some are left out. */
#include "face/tui/ask.h"
#include "face/tui/state.h"

enum { AGENT_ROWS = 6, QUEUE_ROWS = 3, SMALL_COLUMNS = 40, SMALL_ROWS = 8 };

struct styled *rows_add(struct tui *t)
{
	if (t->row_count == t->row_cap) {
		size_t cap = t->row_cap ? t->row_cap * 2 : 16;
		t->rows = xrealloc(t->rows, cap * sizeof *t->rows);
		memset(t->rows + t->row_cap, 0, (cap - t->row_cap) * sizeof *t->rows);
		t->row_cap = cap;
	}
	styled_clear(&t->rows[t->row_count]);
	return &t->rows[t->row_count++];
}

static void cut_at(struct styled *s, size_t n)
{
	s->text.n = s->looks.n = n;
}

void rows_cut(struct tui *t, struct styled *s)
{
	unsigned columns = t->region.columns - 1;
	struct str text = buf_str(&s->text), mark = str_from(tui_mark(t, MARK_MORE));

	if (cells_fit(text, columns, NULL) == text.n)
		return;
	unsigned room = cells_width(mark) < columns ? columns - cells_width(mark) : 0;
	size_t n = cells_fit(text, room ? room : columns, NULL);
	while (room && n && text.p[n - 1] == ' ')
		n--;
	unsigned look = n ? (unsigned char)s->looks.p[n - 1] : LOOK_PLAIN;
	cut_at(s, n);
	if (room)
		styled_add(s, look, mark);
}

void rows_cut_hints(struct tui *t, struct styled *s)
{
	while (cells_width(buf_str(&s->text)) > t->region.columns - 1) {
		const char *dot = NULL;
		for (size_t i = s->text.n; i >= 3 && !dot; i--)
			dot = memcmp(s->text.p + i - 3, " . ", 3) ? NULL : s->text.p + i - 3;
		if (!dot)
			return;
		cut_at(s, (size_t)(dot - s->text.p));
	}
}

void rows_add_agent(struct tui *t, const struct agent_row *r, bool folded)
{
	struct styled *row = rows_add(t);
	enum tui_mark mark = r->asks                     ? MARK_ASKS
			     : !r->ended_ms && !r->waits ? MARK_RUNS
			     : r->failed                 ? MARK_FAILED
							 : MARK_DONE;
	AUTO_BUF struct buf b = { 0 };

	styled_addf(row, look_of_colour(r->colour), "%*s%s%s %s ", (int)MIN(r->depth, (int64_t)6) * 2, "",
		    folded ? "+" : "", tui_mark(t, mark),
		    r->team[0] ? r->name : r->type); /* a member is called by its name */
	styled_add(row, LOOK_PLAIN, str_from(r->title));
	buf_addf(&b, "  %lld turn%s, ", (long long)r->turns, r->turns == 1 ? "" : "s");
	buf_addcount(&b, r->tokens);
	buf_addstr(&b, " tokens, ");
	if (r->cost_micros)
		buf_addf(&b, "$%.2f, ", (double)r->cost_micros / 1e6);
	buf_addspan(&b, ((r->ended_ms ? r->ended_ms : tui_now_ms()) - r->started_ms) / 1000 * 1000);
	styled_add(row, LOOK_DIM, buf_str(&b));
	if (r->asks)
		styled_add(row, LOOK_YELLOW, STR("  asks"));
	else if (r->ended_ms || r->waits)
		styled_addf(row, LOOK_DIM, "  %s", r->state);
	else if (r->last_tool.n) {
		styled_add(row, LOOK_DIM, STR("  "));
		styled_add(row, LOOK_DIM, buf_str(&r->last_tool));
	}
}

/* Those that ask, then those that run, then those that have just ended: one walk, however many there are */
void rows_add_agents(struct tui *t, bool small)
{
	struct agents *a = &t->agents;
	size_t alive = 0, shown = 0;
	int64_t now = tui_now_ms();

	if (!a->running && a->recent_until_ms <= now)
		return;
	if (a->recent_until_ms > now && !t->in_turn && !t->due[TIMER_TICK])
		tui_set_timer(t, TIMER_TICK, a->recent_until_ms - now + 1);
	for (const struct agent_row *r = a->first; r; r = r->next)
		alive += !r->ended_ms || r->ended_ms + AGENTS_RECENT_MS > now;
	struct styled *row = rows_add(t);
	styled_addf(row, LOOK_PLAIN, "%s %zu agent%s: %zu run%s", tui_mark(t, MARK_TOOL), alive, alive == 1 ? "" : "s",
		    a->running, a->running == 1 ? "s" : "");
	if (a->asking)
		styled_addf(row, LOOK_YELLOW, ", %zu ask%s", a->asking, a->asking == 1 ? "s" : "");
	if (a->cost_usd > 0)
		styled_addf(row, LOOK_DIM, " . $%.2f", a->cost_usd);
	size_t head = t->row_count - 1; /* rows may move */
	for (const struct agent_row *r;
	     !small && shown < MAX((size_t)AGENT_ROWS, t->agent_focus) && (r = agents_shown(a, shown, now)); shown++) {
		if (shown + AGENT_ROWS < t->agent_focus)
			continue;
		rows_add_agent(t, r, false);
		if (shown + 1 == t->agent_focus)
			memset(t->rows[t->row_count - 1].looks.p, LOOK_BOLD | LOOK_UNDERLINE,
			       t->rows[t->row_count - 1].looks.n);
	}
	if (!small && alive > shown)
		styled_addf(&t->rows[head], LOOK_DIM, " . %zu more, ctrl+%s", alive - shown,
			    t->todo_count ? "x t" : "t"); /* ctrl+t is for the list of what is to be done */
}

/* A row of the draft: marks are shown with their labels. */
static void add_input_row(struct tui *t, const struct draft *d, size_t from, size_t to, struct str prompt)
{
	struct styled *row = rows_add(t);
	struct str text = buf_str(&d->text);
	size_t selected = 0, selected_end = 0;

	if (d == &t->draft)
		vim_selection(&t->vim, d, &selected, &selected_end);
	styled_add(row, LOOK_BOLD, from ? STR("  ") : prompt);
	for (size_t at = from; at < to;) {
		const char *label = draft_mark_at(d, at);
		unsigned width;
		size_t end = cells_next(text, at, &width);
		if (label)
			styled_addf(row, LOOK_CYAN, "[%s]", label);
		else
			styled_add_foreign(row, at >= selected && at < selected_end ? LOOK_UNDERLINE : LOOK_PLAIN,
					   (struct str){ text.p + at, end - at });
		at = end;
	}
}

/* The end of the row that begins at `from`; *ret_caret is its column if it is in this row. */
static size_t input_row_end(struct tui *t, const struct draft *d, size_t from, struct str prompt, unsigned *ret_caret,
			    bool *ret_has_caret)
{
	struct str text = buf_str(&d->text);
	unsigned column = from ? 2 : cells_width(prompt), width, most = t->region.columns - 1;
	size_t at = from;

	*ret_has_caret = false;
	for (;;) {
		if (at == d->cursor) {
			*ret_caret = column;
			*ret_has_caret = true;
		}
		if (at >= text.n || text.p[at] == '\n')
			return at;
		const char *label = draft_mark_at(d, at);
		size_t end = cells_next(text, at, &width);
		if (label)
			width = (unsigned)strlen(label) + 2;
		else if (width == 0 || text.p[at] == '\t')
			width = text.p[at] == '\t' ? 1 : width;
		if (column + width > most && at > from) {
			if (at == d->cursor)
				*ret_has_caret = false; /* it is at the start of the next one */
			return at;
		}
		column += width;
		at = end;
	}
}

void rows_add_input(struct tui *t, const struct draft *d, struct str prompt, size_t most, size_t *ret_row,
		    unsigned *ret_column)
{
	struct str text = buf_str(&d->text);
	struct input_row {
		size_t from, to;
	} *rows = NULL;
	size_t count = 0, cap = 0, caret_row = 0, to;
	unsigned column = 2;
	bool here;

	for (size_t from = 0;; from = text.p[to] == '\n' ? to + 1 : to) {
		to = input_row_end(t, d, from, prompt, &column, &here);
		if (here) {
			caret_row = count;
			*ret_column = column;
		}
		*xpush(rows, count, cap) = (struct input_row){ from, to };
		if (to >= text.n)
			break;
	}
	size_t top = caret_row >= most ? caret_row - most + 1 : 0;
	for (size_t i = top; i < count && i < top + most; i++) {
		add_input_row(t, d, rows[i].from, rows[i].to, prompt);
		if (i == caret_row)
			*ret_row = t->row_count - 1;
	}
	free(rows);
}

/* The text of the question, as many rows as there is room for. */
static void add_text_rows(struct tui *t, struct ask *ask, size_t room)
{
	const struct styled *text = &ask->inquiries[ask->at].text;
	struct str s = buf_str(&text->text);
	unsigned columns = t->region.columns - 1;
	size_t count = 0, next;

	for (size_t from = 0; from < s.n; from = next, count++)
		(void)cells_wrap(s, from, columns, &next);
	bool cut = count > room;
	room -= cut && room > 1; /* for the row that says so */
	ask->scroll = MIN(ask->scroll, count > room ? count - room : 0);
	ask->saw_end = ask->saw_end || ask->scroll + room >= count;
	size_t at = 0;
	for (size_t from = 0; from < s.n; from = next, at++) {
		size_t end = cells_wrap(s, from, columns, &next);
		if (at >= ask->scroll && at < ask->scroll + room)
			styled_append(rows_add(t), text, from, end);
	}
	if (!cut)
		return;
	struct styled *more = rows_add(t);
	styled_addf(more, LOOK_YELLOW, "%s %zu-%zu of %zu . PgDn . PgUp . ctrl+o", tui_mark(t, MARK_MORE),
		    ask->scroll + 1, ask->scroll + room, count);
	rows_cut_hints(t, more);
}

/* A choice in as many rows as it needs, or in one. Returns how many; draws: they are added. */
static size_t choice_rows(struct tui *t, const struct ask *ask, size_t i, bool whole, bool draws)
{
	const struct inquiry *q = &ask->inquiries[ask->at];
	const struct choice *c = &q->choices[i];
	bool selected = i == ask->selected;
	unsigned look = selected ? LOOK_BOLD : LOOK_PLAIN, columns = t->region.columns - 1;
	struct str label = str_from(c->label);
	AUTO_BUF struct buf mark = { 0 };
	size_t count = 0, next = 0;

	buf_addf(&mark, "%s %zu %s", selected ? tui_mark(t, MARK_PROMPT) : " ", i + 1,
		 q->several && c->kind == CHOICE_ANSWER ? c->chosen ? "[x] " : "[ ] " : "");
	unsigned indent = cells_width(buf_str(&mark));
	for (size_t from = 0; !count || (whole && from < label.n); from = next, count++) {
		size_t end = whole && columns > indent + 4 ? cells_wrap(label, from, columns - indent, &next)
							   : (next = label.n);
		if (!draws)
			continue;
		struct styled *row = rows_add(t);
		styled_addf(row, look, "%*s", count ? (int)indent : 0, "");
		styled_add(row, look, count ? STR("") : buf_str(&mark));
		styled_add(row, look, (struct str){ label.p + from, end - from });
	}
	return count;
}

/* What it takes to answer: the choices, whole if a third of the window is enough for them, else the selected one */
static size_t add_choices(struct tui *t, const struct ask *ask, bool draws, size_t *ret_row)
{
	const struct inquiry *q = &ask->inquiries[ask->at];
	size_t count = 0;

	for (size_t i = 0; i < q->count; i++)
		count += choice_rows(t, ask, i, true, false);
	bool whole = count <= MAX((size_t)t->region.rows / 3, q->count);
	count = 0;
	for (size_t i = 0; i < q->count; i++) {
		if (ask->in_words && (ask->in_rule || i != ask->selected))
			continue; /* one is chosen */
		if (i == ask->selected)
			*ret_row = t->row_count;
		count += choice_rows(t, ask, i, whole || i == ask->selected, draws);
	}
	return count;
}

static void add_question(struct tui *t, size_t *ret_row, unsigned *ret_column)
{
	struct ask *ask = t->asks;
	struct inquiry *q = &ask->inquiries[ask->at];
	size_t waiting = 0, most = MAX(t->region.rows / 3, 1u), high = t->region.rows > 1 ? t->region.rows - 1 : 1;

	for (const struct ask *a = ask->next; a; a = a->next)
		waiting++;
	if (ask->count > 1 && !ask->form) { /* tabs: which are answered, which one is shown */
		struct styled *tabs = rows_add(t);
		for (size_t i = 0; i < ask->count; i++)
			styled_addf(tabs, i == ask->at ? LOOK_BOLD | LOOK_CYAN : LOOK_DIM, "%s%zu%s ",
				    i == ask->at ? "[" : " ", i + 1,
				    i == ask->at               ? "]"
				    : ask->inquiries[i].answer ? "x"
							       : " ");
	}
	size_t below = 1 + (ask->form ? form_count(ask->form) : add_choices(t, ask, false, ret_row)) +
		       (ask->in_words ? most : 0);
	add_text_rows(t, ask, high > t->row_count + below ? high - t->row_count - below : 1);
	if (ask->form)
		form_add_rows(t, ask->form, ret_row, ret_column);
	else
		(void)add_choices(t, ask, true, ret_row);
	if (ask->in_words) {
		AUTO_BUF struct buf prompt = { 0 };
		buf_addf(&prompt, "%s ", tui_mark(t, MARK_PROMPT));
		rows_add_input(t, &ask->words, buf_str(&prompt), most, ret_row, ret_column);
	}
	struct styled *hint = rows_add(t);
	styled_add(hint, LOOK_DIM, ask->takes_keys ? STR("") : STR("in a moment: "));
	if (t->note.n)
		styled_add_foreign(hint, LOOK_YELLOW, buf_str(&t->note));
	else
		styled_add(hint, LOOK_DIM,
			   ask->in_rule    ? STR("enter . esc back . the rule that is kept")
			   : ask->in_words ? STR("enter sends . esc back")
			   : ask->form ? STR("enter next, sends . esc declines . tab field . space, left, right choose")
				       : STR("enter . 1-9 choose . esc no"));
	bool more = !ask->in_words && !ask->form && !t->note.n;
	if (more && waiting)
		styled_addf(hint, LOOK_DIM, " . %zu more wait: n p", waiting);
	if (more && q->several)
		styled_add(hint, LOOK_DIM, STR(" . space marks"));
	if (more && ask->count > 1)
		styled_add(hint, LOOK_DIM, STR(" . tab next"));
	if (more && ask->rule)
		styled_add(hint, LOOK_DIM, STR(" . e edits the rule"));
	rows_cut_hints(t, hint);
}

/* small: only what must be known now */
static void add_status(struct tui *t, bool small)
{
	bool waiting = t->asks && !t->asking;

	if (!t->note.n && !waiting && (small || status_add_rows(t)))
		return;
	struct styled *row = rows_add(t);
	if (t->note.n) {
		styled_add_foreign(row, LOOK_YELLOW, buf_str(&t->note));
	} else if (small) {
		styled_add(row, LOOK_YELLOW, STR("tab: a question"));
	} else {
		if (t->vim.on)
			styled_addf(row, LOOK_BOLD, "%s ", vim_mode_name(&t->vim));
		styled_add_foreign(row, LOOK_DIM, str_from(cadre_session_model(t->session)));
		if (t->window)
			styled_addf(row, LOOK_DIM, " . ctx %lld%%", (long long)(t->context * 100 / t->window));
		if (t->cost_usd > 0)
			styled_addf(row, LOOK_DIM, " . $%.2f", t->cost_usd);
		if (strcmp(cadre_session_mode(t->session), "default") != 0)
			styled_addf(row, LOOK_DIM, " . %s", cadre_session_mode(t->session));
		if (waiting)
			styled_add(row, LOOK_YELLOW, STR(" . a question waits: tab"));
		else if (t->job)
			styled_add(row, LOOK_DIM, STR(" . a command runs"));
		else
			styled_add(row, LOOK_DIM, t->in_turn ? STR(" . enter queues") : STR(" . ? keys . / commands"));
		rows_cut_hints(t, row);
	}
}

void rows_frame(struct tui *t, size_t *ret_row, unsigned *ret_column)
{
	bool small = t->region.columns < SMALL_COLUMNS || t->region.rows < SMALL_ROWS;
	size_t most = MAX(t->region.rows / 3, 1u);

	t->row_count = 0;
	*ret_row = *ret_column = 0;
	if (t->asking) {
		add_question(t, ret_row, ret_column);
	} else {
		if (!small)
			feed_add_tail(t);
		feed_add_activity(t);
		rows_add_agents(t, small);
		if (!small)
			todo_add_rows(t);
		for (size_t i = 0; i < t->queue_count && i < QUEUE_ROWS && !small; i++) {
			struct styled *row = rows_add(t);
			styled_add(row, LOOK_DIM, STR("queued: "));
			styled_add_foreign(row, LOOK_DIM, str_from(t->queue[i].text));
		}
		AUTO_BUF struct buf prompt = { 0 };
		buf_addf(&prompt, "%s ", tui_mark(t, MARK_PROMPT));
		rows_add_input(t, &t->draft, buf_str(&prompt), most, ret_row, ret_column);
		if (t->menu)
			menu_add_rows(t);
		add_status(t, small);
	}
	for (size_t i = 0; i < t->row_count; i++)
		rows_cut(t, &t->rows[i]);
	/* never higher than the window: the upper rows go */
	size_t high = t->region.rows > 1 ? t->region.rows - 1 : 1;
	if (t->row_count > high) {
		size_t drop = MIN(t->row_count - high, *ret_row);
		for (size_t i = 0; i + drop < t->row_count; i++) {
			struct styled moved = t->rows[i];
			t->rows[i] = t->rows[i + drop];
			t->rows[i + drop] = moved;
		}
		t->row_count = MIN(t->row_count - drop, high);
		*ret_row -= drop;
	}
}
