/* SPDX-License-Identifier: MIT
 * rows.c - the rows of the live region, from top to bottom: the end of the answer, what runs, agents, what is queued, the input or
 * a question, suggestions, the status. When the window has few rows, some are left out. */
#include "face/tui/ask.h"
#include "face/tui/state.h"

enum {
	LIVE_ROWS = 6,
	LIVE_MOVE = 4,
	AGENT_ROWS = 6,
	QUEUE_ROWS = 3,
	SMALL_COLUMNS = 40,
	SMALL_ROWS = 8,
	LEAST_TOOL = 8
};

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

/* Rows start where they started before, so text that is added changes the last row alone. A full tail moves up by most of its
 * rows at once, because a move draws all that stay; it keeps its height. */
static void add_tail(struct tui *t)
{
	struct styled *s = &t->tail;
	size_t starts[LIVE_ROWS + 1], count, next;

	for (;;) {
		count = 0;
		for (size_t from = 0; from < s->text.n && count <= LIVE_ROWS; from = next) {
			starts[count++] = from;
			(void)cells_wrap(buf_str(&s->text), from, t->region.columns - 1, &next);
		}
		if (count <= LIVE_ROWS)
			break;
		buf_drop(&s->text, starts[LIVE_MOVE]);
		buf_drop(&s->looks, starts[LIVE_MOVE]);
		t->tail_moved = true;
	}
	for (size_t i = 0; i < (t->tail_moved ? LIVE_ROWS : count); i++) {
		struct styled *row = rows_add(t);
		if (i < count)
			styled_append(row, s, starts[i],
				      cells_wrap(buf_str(&s->text), starts[i], t->region.columns - 1, &next));
	}
}

/* Of a long text so much that what comes behind it is seen */
static void add_fitting(struct tui *t, struct styled *row, unsigned look, struct str text, size_t behind)
{
	unsigned taken = cells_width(buf_str(&row->text)) + (unsigned)behind + 2; /* and the mark */
	size_t fit = t->region.columns > taken + 10 ? cells_fit(text, t->region.columns - taken, NULL) : text.n;

	styled_add(row, look, (struct str){ text.p, fit });
	styled_add(row, look, fit < text.n ? str_from(tui_mark(t, MARK_MORE)) : STR(""));
}

/* What runs, since when */
static void add_activity(struct tui *t)
{
	struct styled *row;
	AUTO_BUF struct buf b = { 0 };
	size_t more = 0, hint = sizeof " .  . esc interrupts" - 1;
	int64_t now = tui_now_ms();

	if (!t->in_turn)
		return;
	row = rows_add(t);
	/* the mark turns with the seconds */
	static const char *const turning[] = { "◐", "◓", "◑", "◒" };
	bool turns = !t->ascii && !t->still;
	styled_addf(row, LOOK_CYAN, "%s ", turns ? turning[(now - t->turn_ms) / 1000 % 4] : tui_mark(t, MARK_RUNS));
	buf_addspan(&b, (now - (t->tools && !t->retry.n ? t->tools->started_ms : t->turn_ms)) / 1000 * 1000);
	if (t->retry.n) {
		AUTO_BUF struct buf when = { 0 };
		buf_addf(&when, "try %u%s", t->retries + 1, now < t->retry_due_ms ? " in " : "");
		if (now < t->retry_due_ms)
			buf_addspan(&when, (t->retry_due_ms - now + 999) / 1000 * 1000);
		long long left_s = MAX(t->retry_end_ms - now, (int64_t)0) / 1000;
		if (t->retry_end_ms && t->region.columns >= NARROW_COLUMNS)
			buf_addf(&when, ", gives up in %lld %s", left_s < 120 ? left_s : left_s / 60,
				 left_s < 120 ? "s" : "min");
		styled_add(row, LOOK_YELLOW, buf_str(&when));
	} else if (t->tools) {
		for (const struct tool_run *run = t->tools->next; run; run = run->next)
			more++;
		styled_add_foreign(row, LOOK_BOLD, str_from(t->tools->name));
		styled_add(row, LOOK_PLAIN, STR(" "));
		add_fitting(t, row, LOOK_PLAIN, str_from(t->tools->summary), hint + b.n + (more ? 12 : 0));
		if (more)
			styled_addf(row, LOOK_DIM, " and %zu more", more);
	} else {
		styled_add(row, LOOK_PLAIN,
			   t->thinking   ? STR("thinking")
			   : t->answer.n ? STR("writing")
					 : STR("waiting for the model"));
	}
	styled_addf(row, LOOK_DIM, " . %s . esc interrupts", b.p);
	if (t->retry.n) { /* long, and cut */
		styled_add(row, LOOK_DIM, STR(" . "));
		styled_add(row, LOOK_YELLOW, buf_str(&t->retry));
	} else if (t->tools && t->tools->last.n) {
		buf_clear(&b);
		buf_addcount(&b, t->tools->lines);
		styled_addf(row, LOOK_DIM, " . %s line%s: ", b.p, t->tools->lines == 1 ? "" : "s");
		styled_add(row, LOOK_DIM, buf_str(&t->tools->last));
	}
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
	buf_addf(&b, "  %lld turn%s, ", (long long)r->turns, r->turns == 1 ? "" : "s");
	buf_addcount(&b, r->tokens);
	buf_addstr(&b, " tokens, ");
	if (r->cost_micros >= SHOWN_MICROS)
		buf_addf(&b, "$%.2f, ", (double)r->cost_micros / 1e6);
	buf_addspan(&b, ((r->ended_ms ? r->ended_ms : tui_now_ms()) - r->started_ms) / 1000 * 1000);
	bool rests = r->ended_ms || r->waits;
	size_t behind = b.n + 2 + (r->asks ? 4 : rests ? strlen(r->state) : r->last_tool.n ? LEAST_TOOL : 0);
	if (t->lines)
		styled_add(row, LOOK_PLAIN, str_from(r->title));
	else /* what it does is seen beside a long title */
		add_fitting(t, row, LOOK_PLAIN, str_from(r->title), behind);
	styled_add(row, LOOK_DIM, buf_str(&b));
	if (r->asks)
		styled_add(row, LOOK_YELLOW, STR("  asks"));
	else if (rests)
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

void rows_add_input(struct tui *t, const struct draft *d, struct str prompt, size_t most, size_t *ret_row,
		    unsigned *ret_column)
{
	struct draft_row *rows = NULL;
	size_t count = 0, cap = 0, caret_row = 0;

	for (size_t from = 0; from != SIZE_MAX; from = rows[count - 1].next) {
		struct draft_row *row = xpush(rows, count, cap);
		*row = draft_row_at(d, from, cells_width(prompt), t->region.columns - 1);
		if (row->has_cursor) {
			caret_row = count - 1;
			*ret_column = draft_cursor_column(d, row);
		}
	}
	size_t top = caret_row >= most ? caret_row - most + 1 : 0;
	for (size_t i = top; i < count && i < top + most; i++) {
		add_input_row(t, d, rows[i].from, rows[i].to, prompt);
		if (i == caret_row)
			*ret_row = t->row_count - 1;
	}
	free(rows);
}

static size_t count_text_rows(const struct tui *t, const struct ask *ask)
{
	struct str s = buf_str(&ask->inquiries[ask->at].text.text);
	size_t count = 0, next;

	for (size_t from = 0; from < s.n; from = next, count++)
		(void)cells_wrap(s, from, t->region.columns - 1, &next);
	return count;
}

/* The text of the question, as many rows as there is room for. */
static void add_text_rows(struct tui *t, struct ask *ask, size_t room)
{
	const struct styled *text = &ask->inquiries[ask->at].text;
	struct str s = buf_str(&text->text);
	unsigned columns = t->region.columns - 1;
	size_t count = count_text_rows(t, ask), next;
	bool says_more = count > room && room > 1;

	if (!room)
		return;
	room -= says_more;
	ask->room = room;
	ask->scroll = MIN(ask->scroll, count > room ? count - room : 0);
	ask->saw_end = ask->saw_end || ask->scroll + room >= count;
	size_t at = 0;
	for (size_t from = 0; from < s.n; from = next, at++) {
		size_t end = cells_wrap(s, from, columns, &next);
		if (at >= ask->scroll && at < ask->scroll + room)
			styled_append(rows_add(t), text, from, end);
	}
	if (!says_more)
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

/* What it takes to answer: the choices, whole if a third of the window is enough for them, else the selected one. alone: nothing but a
 * row of that one */
static size_t add_choices(struct tui *t, const struct ask *ask, bool alone, bool draws, size_t *ret_row)
{
	const struct inquiry *q = &ask->inquiries[ask->at];
	size_t count = 0;

	if (alone) {
		*ret_row = t->row_count;
		return choice_rows(t, ask, ask->selected, false, draws);
	}

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
	size_t below = 1 + (ask->form ? form_count(ask->form) : add_choices(t, ask, false, false, ret_row)) +
		       (ask->in_words ? most : 0);
	/* in a low window what is asked comes first: it is read before one of the choices, which arrows walk through */
	size_t least = t->row_count + MIN(count_text_rows(t, ask), (size_t)2);
	bool alone = !ask->form && !ask->in_words && high < least + below;
	bool hints = !alone || high > t->row_count + 2;
	if (alone)
		below = 1 + hints;
	add_text_rows(t, ask, high > t->row_count + below ? high - t->row_count - below : 0);
	if (ask->form)
		form_add_rows(t, ask->form, ret_row, ret_column);
	else
		(void)add_choices(t, ask, alone, true, ret_row);
	if (ask->in_words) {
		AUTO_BUF struct buf prompt = { 0 };
		buf_addf(&prompt, "%s ", tui_mark(t, MARK_PROMPT));
		rows_add_input(t, &ask->words, buf_str(&prompt), most, ret_row, ret_column);
	}
	if (!hints)
		return;
	struct styled *hint = rows_add(t);
	styled_add(hint, LOOK_DIM, ask->takes_keys ? STR("") : STR("in a moment: "));
	if (alone && !t->note.n)
		styled_addf(hint, LOOK_DIM, "up, down: %zu choices . ", q->count);
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
	bool waiting = t->asks && !t->asking, urgent = t->note.n || waiting;
	bool has_mode = strcmp(cadre_session_mode(t->session), "default") != 0;
	bool by_command = !urgent && !small && status_add_rows(t);

	/* a command may not know of modes: what may be done without a question is seen beside any */
	if ((small && !urgent) || (by_command && !has_mode && !t->vim.on))
		return;
	struct styled *row = rows_add(t);
	if (t->note.n) {
		styled_add_foreign(row, LOOK_YELLOW, buf_str(&t->note));
	} else if (small) {
		styled_add(row, LOOK_YELLOW, STR("tab: a question"));
	} else {
		if (t->vim.on)
			styled_addf(row, LOOK_BOLD, "%s ", vim_mode_name(&t->vim));
		if (!by_command)
			styled_add_foreign(row, LOOK_DIM, str_from(cadre_session_model(t->session)));
		if (!by_command && t->window)
			styled_addf(row, LOOK_DIM, " . ctx %lld%%", (long long)(t->context * 100 / t->window));
		if (!by_command && t->cost_usd > 0)
			styled_addf(row, LOOK_DIM, " . $%.2f", t->cost_usd);
		if (has_mode)
			styled_addf(row, LOOK_DIM, "%s%s", by_command ? "" : " . ", cadre_session_mode(t->session));
		if (waiting)
			styled_add(row, LOOK_YELLOW, STR(" . a question waits: tab"));
		else if (!by_command)
			styled_add(row, LOOK_DIM, t->in_turn ? STR(" . enter queues") : STR(" . ? keys . / commands"));
		rows_cut_hints(t, row);
	}
}

/* Takes n rows out, from `first` on. */
static void take_rows(struct tui *t, size_t first, size_t n)
{
	for (size_t i = first; i + n < t->row_count; i++) {
		struct styled moved = t->rows[i];
		t->rows[i] = t->rows[i + n];
		t->rows[i + n] = moved;
	}
	t->row_count -= n;
}

static void add_queue(struct tui *t)
{
	for (size_t i = 0; i < t->queue_count && i < QUEUE_ROWS; i++) {
		struct styled *row = rows_add(t);
		if (i + 1 == QUEUE_ROWS && t->queue_count > QUEUE_ROWS)
			styled_addf(row, LOOK_DIM, "queued, and %zu more: ", t->queue_count - QUEUE_ROWS);
		else
			styled_add(row, LOOK_DIM, STR("queued: "));
		styled_add_foreign(row, LOOK_DIM, str_from(t->queue[i].text));
	}
}

/* From top to bottom. at: where each begins, and where the last one ends */
enum part { PART_TAIL, PART_ACTIVITY, PART_AGENTS, PART_TODO, PART_QUEUE, PART_INPUT, PART_MENU, PART_STATUS, PARTS };

static void add_parts(struct tui *t, bool small, size_t high, size_t at[PARTS + 1], size_t *ret_row,
		      unsigned *ret_column)
{
	AUTO_BUF struct buf prompt = { 0 };

	buf_addf(&prompt, "%s ", tui_mark(t, MARK_PROMPT));
	at[PART_TAIL] = t->row_count;
	if (!small)
		add_tail(t);
	at[PART_ACTIVITY] = t->row_count;
	add_activity(t);
	job_add_activity(t);
	at[PART_AGENTS] = t->row_count;
	rows_add_agents(t, small);
	at[PART_TODO] = t->row_count;
	if (!small)
		todo_add_rows(t);
	at[PART_QUEUE] = t->row_count;
	if (!small)
		add_queue(t);
	at[PART_INPUT] = t->row_count;
	rows_add_input(t, &t->draft, buf_str(&prompt), MAX(t->region.rows / 3, 1u), ret_row, ret_column);
	at[PART_MENU] = t->row_count;
	/* beside what is never dropped */
	size_t kept =
		at[PART_AGENTS] - at[PART_ACTIVITY] + (at[PART_TODO] > at[PART_AGENTS]) + t->row_count - at[PART_INPUT];
	if (t->menu)
		menu_add_rows(t, high > kept ? high - kept : 1);
	at[PART_STATUS] = t->row_count;
	add_status(t, small);
	at[PARTS] = t->row_count;
}

/* The window has too few rows: what can be missed goes first. */
static void drop_parts(struct tui *t, size_t high, size_t at[PARTS + 1], size_t *row)
{
	static const enum part order[] = { PART_STATUS, PART_TODO, PART_QUEUE, PART_AGENTS, PART_TAIL };
	bool told = t->note.n || t->asks; /* the status row says what must be known now */

	for (size_t i = told; i < COUNT_OF(order) && t->row_count > high; i++) {
		enum part part = order[i];
		size_t kept = part == PART_AGENTS, all = at[part + 1] - at[part];
		size_t n = MIN(all - MIN(all, kept), t->row_count - high);
		take_rows(t, part == PART_TAIL ? at[part] : at[part + 1] - n, n);
		for (size_t k = part + 1; k <= PARTS; k++)
			at[k] -= n;
		*row -= part < PART_INPUT ? n : 0;
	}
}

void rows_frame(struct tui *t, size_t *ret_row, unsigned *ret_column)
{
	bool small = t->region.columns < SMALL_COLUMNS || t->region.rows < SMALL_ROWS;
	size_t high = t->region.rows > 1 ? t->region.rows - 1 : 1, at[PARTS + 1];

	t->row_count = 0;
	*ret_row = *ret_column = 0;
	if (t->asking) {
		add_question(t, ret_row, ret_column);
	} else {
		add_parts(t, small, high, at, ret_row, ret_column);
		drop_parts(t, high, at, ret_row);
	}
	for (size_t i = 0; i < t->row_count; i++)
		rows_cut(t, &t->rows[i]);
	if (t->row_count > high) { /* the upper rows go */
		size_t drop = MIN(t->row_count - high, *ret_row);
		take_rows(t, 0, drop);
		t->row_count = MIN(t->row_count, high);
		*ret_row -= drop;
	}
}
