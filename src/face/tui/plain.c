/* SPDX-License-Identifier: MIT
 * plain.c - plain mode: the same keys, questions and commands, but lines in place of a live region. For `--plain`, terminals that
 * cannot move their cursor, screen readers and members in panes. docs/internals/line.md. */
#include "face/cli/choice.h"
#include "face/cli/view.h"
#include "face/screen/term.h"
#include "face/tui/ask.h"
#include "lib/base/utf8.h"

enum { HINT_MS = 3000, PROGRESS_FIRST_MS = 15000, PROGRESS_MS = 60000, FINISHED_ROWS = 20, OVERWRITTEN_COLUMNS = 8 };

void plain_init(struct tui *t, bool reader)
{
	plain_release(t);
	t->lines = xcalloc(1, sizeof *t->lines);
	t->dumb = reader || !term_fits();
	*t->lines = (struct view){ .face = &face_line,
				   .hold = true, /* plain_event() takes what it holds */
				   .verbose = args_has(t->args, "verbose"),
				   .reader = reader,
				   .live = !t->dumb,
				   .colour = view_wants_colour() && !t->dumb };
	if (t->dumb)
		term_use_no_sequences();
}

void plain_release(struct tui *t)
{
	if (t->lines)
		view_release(t->lines);
	free(TAKE(t->lines));
	buf_release(&t->typed);
}

static void add_lines(struct buf *out, struct str text) /* with the line ends of a terminal */
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			buf_addch(out, '\r');
		buf_addch(out, text.p[i]);
	}
}

static void take_lines(struct tui *t)
{
	add_lines(&t->above, buf_str(&t->lines->held));
	buf_clear(&t->lines->held);
}

void plain_end_line(struct tui *t)
{
	view_end_line(t->lines);
	take_lines(t);
}

static void say_time(struct tui *t, const char *what, int64_t ms)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addstr(&b, what);
	buf_addspan(&b, ms);
	feed_say(t, LOOK_PLAIN, buf_str(&b));
}

void plain_event(struct tui *t, const struct cadre_event *e)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	bool is_main = !cadre_event_agent(e)[0];
	struct str text = view_event_text(e);

	t->lines->cancelled = t->cancelled;
	view_event(t->lines, e);
	take_lines(t);
	if (kind == CADRE_DELTA && is_main && strcmp(cadre_event_name(e), "thinking") != 0)
		buf_add(&t->copies[0], text.p, text.n);
	if (kind == CADRE_SESSION_STARTED && t->dumb)
		tui_set_timer(t, TIMER_TICK, PROGRESS_FIRST_MS);
	if (kind == CADRE_AGENT_STARTED && t->in_turn && !t->hinted &&
	    strstr(cadre_event_frame(e, NULL), "\"is_backgrounded\":false"))
		tui_set_timer(t, TIMER_HINT, HINT_MS);
	if (kind == CADRE_AGENT_ENDED || (kind == CADRE_TURN_ENDED && is_main))
		tui_set_timer(t, TIMER_HINT, -1);
	if (kind == CADRE_TURN_ENDED && is_main) {
		t->cancelled = false;
		tui_set_timer(t, TIMER_TICK, -1);
		if (t->lines->reader)
			say_time(t, "done, ", tui_now_ms() - t->turn_ms);
	}
	tui_changed(t);
}

void plain_timer(struct tui *t, enum tui_timer which)
{
	if (which == TIMER_TICK && t->dumb && t->in_turn) /* nothing moves: a turn that takes long says so */
		tui_set_timer(t, TIMER_TICK, PROGRESS_MS);
	if (t->asking) /* it waits for the user */
		return;
	if (which == TIMER_HINT) {
		t->hinted = true;
		feed_say(t, LOOK_PLAIN, STR("Ctrl-B sends the agents that are waited for to the background."));
	} else if (t->dumb && t->in_turn) {
		say_time(t, "still working, ", (tui_now_ms() - t->turn_ms) / 1000 * 1000);
	}
}

/* What would be on a screen of its own. A list stays open for a number. */
static void say_page(struct tui *t)
{
	AUTO_STYLED struct styled s = { 0 };
	struct page *p = t->page;

	styled_addf(&s, LOOK_BOLD, "%s\n", p->title);
	styled_append(&s, &p->text, 0, p->text.text.n);
	for (size_t i = 0; i < p->count; i++)
		styled_addf(&s, LOOK_PLAIN, "  %zu. %s\n", i + 1, p->items[i].text);
	for (const struct agent_row *r = p->kind == PAGE_AGENTS ? t->agents.first : NULL; r; r = r->next) {
		t->row_count = 0;
		rows_add_agent(t, r, false);
		styled_append(&s, &t->rows[0], 0, t->rows[0].text.n);
		styled_add(&s, LOOK_PLAIN, STR("\n"));
	}
	feed_styled(t, &s);
	p->room = 1;
	if (!p->count)
		page_close(t);
}

static void list_prompt(const struct tui *t, struct buf *out)
{
	buf_addf(out, "Enter 1 to %zu, or nothing: ", t->page->count);
}

bool plain_choose(struct tui *t, struct str line)
{
	AUTO_BUF struct buf prompt = { 0 };
	uint64_t number = 0;

	if (t->lines && t->page && !t->page->room) /* typed ahead: it is shown first */
		say_page(t);
	if (!t->lines || !t->page)
		return false;
	bool ours = !line.n || str_to_u64(line, &number);
	list_prompt(t, &prompt);
	if (ours)
		plain_finish(t, buf_str(&prompt), line);
	if (number && number <= t->page->count) {
		page_choose(t, (size_t)number - 1);
		return true;
	}
	page_close(t);
	if (ours && line.n) {
		AUTO_BUF struct buf said = { 0 };
		buf_addf(&said, "There is no " STR_FMT ": nothing was chosen.", STR_ARG(line));
		feed_say(t, LOOK_PLAIN, buf_str(&said));
	}
	return ours;
}

/* What stands for an answer besides its number; anything else is a no with a reason. */
static const struct {
	const char *letter, *word;
	bool allows;
	enum cadre_scope scope;
} words[] = {
	{ "y", "yes", true, CADRE_ONCE },
	{ "e", "edits", true, CADRE_ACCEPT_EDITS },
	{ "s", "session", true, CADRE_FOR_SESSION },
	{ "a", "always", true, CADRE_ALWAYS },
	{ "n", "no", false, CADRE_ONCE },
};

/* NULL: it is not offered */
static const struct choice *choice_of_word(const struct inquiry *q, size_t word)
{
	for (size_t i = 0; i < q->count; i++)
		if (words[word].allows ? q->choices[i].kind == CHOICE_ALLOW && q->choices[i].scope == words[word].scope
				       : q->choices[i].kind == CHOICE_DENY)
			return &q->choices[i];
	return NULL;
}

/* Choices with a number: the last one may be to use words, as any text does */
static size_t numbered(const struct inquiry *q)
{
	int last = q->choices[q->count - 1].kind;

	return q->count - (last == CHOICE_OWN || last == CHOICE_DENY_WHY);
}

/* All its lines are shown: what is allowed must have been seen. */
void plain_say_question(struct tui *t, const struct ask *ask)
{
	const struct inquiry *q = &ask->inquiries[ask->at];
	AUTO_STYLED struct styled s = { 0 };

	if (ask->permission && t->lines->reader)
		styled_add(&s, LOOK_BOLD, STR("Permission Required: "));
	styled_append(&s, &q->text, 0, q->text.text.n);
	for (size_t i = 0; i < numbered(q); i++)
		styled_addf(&s, LOOK_PLAIN, "  %zu. %s\n", i + 1, q->choices[i].label);
	feed_styled(t, &s);
}

/* The question's own input line; NULL: there is none, and the prompt's is shown */
static const struct draft *question_line(const struct tui *t, struct buf *ret_prompt)
{
	const struct ask *ask = t->asks;
	const char *separator = "";

	if (!ask_takes_keys(t))
		return NULL;
	const struct inquiry *q = &ask->inquiries[ask->at];
	if (!ask->permission) {
		buf_addf(ret_prompt, "%s%s: ", q->several ? "Numbers with commas" : "A number",
			 numbered(q) < q->count ? ", or your own words" : "");
		return &ask->words;
	}
	buf_addf(ret_prompt, "Enter 1 to %zu or ", numbered(q));
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!choice_of_word(q, i))
			continue;
		buf_addf(ret_prompt, "%s%s", separator, words[i].letter);
		separator = "/";
	}
	buf_addstr(ret_prompt, ", or say why: ");
	return &ask->words;
}

static void answer_inquiry(struct tui *t, const struct inquiry *q, struct str typed)
{
	const char **labels = xcalloc(q->count, sizeof *labels);
	AUTO_BUF struct buf answer = { 0 };

	bool known = false;
	for (size_t i = 0; i < numbered(q); i++)
		labels[i] = q->choices[i].value;
	if (choice_read(labels, numbered(q), q->several, typed, &answer))
		known = numbered(q) < q->count;
	for (size_t i = 0; !known && i < numbered(q); i++)
		known = str_is(buf_str(&answer), labels[i]);
	free(labels);
	if (known)
		ask_answer(t, buf_take(&answer, NULL));
	else
		ask_again(t);
}

void plain_answer(struct tui *t, struct ask *ask, struct str typed)
{
	const struct inquiry *q = &ask->inquiries[ask->at];
	struct str s = str_trim(typed);
	AUTO_BUF struct buf prompt = { 0 };
	const struct choice *chosen = NULL;
	size_t word = 0;
	uint64_t number;

	(void)question_line(t, &prompt);
	plain_finish(t, buf_str(&prompt), typed);
	if (!ask->permission) {
		answer_inquiry(t, q, typed);
		return;
	}
	while (word < COUNT_OF(words) && !str_is_nocase(s, words[word].letter) && !str_is_nocase(s, words[word].word))
		word++;
	bool is_number = str_to_u64(s, &number);
	if (is_number && number && number <= numbered(q))
		chosen = &q->choices[number - 1];
	else if (word < COUNT_OF(words))
		chosen = choice_of_word(q, word);
	if (chosen) {
		ask_permit(t, chosen, NULL);
	} else if (!s.n || is_number || word < COUNT_OF(words)) {
		ask_again(t);
	} else {
		AUTO_FREE char *reason = xstrndup(s.p, s.n);
		ask_permit(t, &(struct choice){ .kind = CHOICE_DENY }, reason);
	}
}

void plain_finish(struct tui *t, struct str prompt, struct str text)
{
	AUTO_BUF struct buf line = { 0 }, more = { 0 }, out = { 0 };
	struct str shown = utf8_cut(text, (size_t)FINISHED_ROWS * t->region.columns);
	size_t row;
	unsigned column;

	plain_end_line(t);
	if (shown.n < text.n) {
		buf_addstr(&more, "... ");
		buf_addsize(&more, text.n - shown.n);
		buf_addstr(&more, " more\r\n");
	}
	if (t->dumb) {
		buf_add(&line, prompt.p, prompt.n);
		render_text(&line, shown);
		buf_addch(&line, '\n');
		struct str rest = buf_str(&line);
		if (t->typed.n && !t->above.n) { /* it stands there already, perhaps without its end */
			rest = str_starts(rest, buf_str(&t->typed)) ? str_tail(rest, t->typed.n) : STR("\n");
			buf_clear(&t->typed);
		}
		add_lines(&t->above, rest);
	} else { /* the rows stay where they are */
		struct draft whole = { .text = { .p = (char *)(uintptr_t)shown.p, .n = shown.n } };
		t->row_count = 0;
		rows_add_input(t, &whole, prompt, SIZE_MAX / 2, &row, &column);
		for (size_t i = 0; i < t->row_count; i++)
			rows_cut(t, &t->rows[i]);
		region_draw(&t->region, t->rows, t->row_count, t->row_count - 1, 0, buf_str(&t->above), &out);
		region_keep(&t->region, &out);
		buf_clear(&t->above);
		tui_write(t, out.p, out.n);
	}
	t->mid_line = false;
	buf_add(&t->above, more.p, more.n);
	tui_changed(t);
}

/* Without sequences: what is added at the end is written, what is removed at the end is overwritten, else it is written again. Its
 * end is the cursor; what stands behind it is shown when it is finished. */
static void draw_typed(struct tui *t, const struct draft *d, struct str prompt, struct buf *out)
{
	AUTO_BUF struct buf now = { 0 }, text = { 0 };
	struct str old = buf_str(&t->typed);

	draft_show(d, (struct str){ d->text.p, d->cursor }, &text);
	buf_add(&now, prompt.p, prompt.n);
	render_text(&now, buf_str(&text));
	bool added = str_starts(buf_str(&now), old), removed = !added && str_starts(old, buf_str(&now));
	struct str gone = removed ? str_tail(old, now.n) : STR("");
	if (added) {
		add_lines(out, str_tail(buf_str(&now), old.n));
	} else if (removed && cells_width(gone) < OVERWRITTEN_COLUMNS && !memchr(gone.p, '\n', gone.n)) {
		for (unsigned i = cells_width(gone); i; i--)
			buf_addstr(out, "\b \b");
	} else {
		buf_addstr(out, "\r\n");
		add_lines(out, buf_str(&now));
	}
	buf_clear(&t->typed);
	buf_add(&t->typed, now.p, now.n);
}

/* The input line is not shown during a turn, unless there is something in it. Above it only whole lines are written; between them
 * and it may be the agents that run. */
void plain_draw(struct tui *t, struct buf *out)
{
	AUTO_BUF struct buf prompt = { 0 }, text = { 0 };
	const struct draft *d = question_line(t, &prompt);
	size_t row = 0;
	unsigned column = 0;

	if (t->page && !t->page->room)
		say_page(t);
	bool input = !t->leaving && (d || t->draft.text.n || (!t->in_turn && !t->asking));
	if (!d && t->page)
		list_prompt(t, &prompt);
	else if (!d)
		buf_addf(&prompt, "%s ", tui_mark(t, MARK_PROMPT));
	d = d ? d : &t->draft;

	size_t whole = t->above.n;
	while (input && whole && t->above.p[whole - 1] != '\n')
		whole--;
	if (input && !whole && t->mid_line) {
		buf_addstr(&text, "\r\n");
		t->lines->mid_line = t->above.n > 0;
	}
	buf_add(&text, t->above.p, whole);
	buf_drop(&t->above, whole);
	if (text.n)
		t->mid_line = text.p[text.n - 1] != '\n';
	if (t->dumb) {
		if (t->typed.n && (text.n || !input)) {
			buf_addstr(out, "\r\n");
			buf_clear(&t->typed);
		}
		buf_add(out, text.p, text.n);
		if (input)
			draw_typed(t, d, buf_str(&prompt), out);
		return;
	}
	t->row_count = 0;
	if (!t->mid_line && t->agents.running && !t->asking)
		rows_add_agents(t, false);
	if (input)
		rows_add_input(t, d, buf_str(&prompt), MAX(t->region.rows / 3, 1u), &row, &column);
	for (size_t i = 0; i < t->row_count; i++)
		rows_cut(t, &t->rows[i]);
	if (t->row_count || t->region.shown_count)
		region_draw(&t->region, t->rows, t->row_count, row, MIN(column, t->region.columns - 1), buf_str(&text),
			    out);
	else
		buf_add(out, text.p, text.n);
}
