/* SPDX-License-Identifier: MIT
 * page.c - views on the alternate screen: a pager, a list to choose from, and all agents. The conversation continues below them;
 * what it writes is shown when the view is closed. */
#include "face/tui/tui_int.h"
#include "face/cli/view.h"

enum { TWICE_MS = 2000 };

struct page {
	enum { PAGE_TEXT, PAGE_LIST, PAGE_AGENTS } kind;
	char *title;
	struct region screen; /* all rows of the window */
	struct styled text;   /* PAGE_TEXT */
	size_t *lines;        /* starts of its rows at this width */
	size_t line_count;
	unsigned wrapped; /* the width that lines were made for */
	struct page_item *items;
	size_t count;
	page_choose_fn *choose;
	size_t selected, top;
	struct buf filter;
	bool filtering;     /* letters change the filter; a list always does */
	struct buf message; /* PAGE_AGENTS: to the selected one */
	bool writing;
	char stop_id[64]; /* asked once whether this one is to be stopped */
	int64_t stop_ms;
};

/* ---- opening and closing -------------------------------------------------------------------------------------------- */

static struct page *page_open(struct tui *t, int kind, const char *title)
{
	page_close(t);
	menu_close(t);
	struct page *p = xcalloc(1, sizeof *p);
	p->kind = kind;
	p->title = xstrdup(title);
	p->screen.colour = t->region.colour;
	t->page = p;
	cadre_write(t->out, "\033[?1049h\033[H\033[J", 14);
	tui_changed(t);
	return p;
}

void page_close(struct tui *t)
{
	struct page *p = TAKE(t->page);

	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		free(p->items[i].id);
		free(p->items[i].text);
	}
	free(p->items);
	free(p->lines);
	free(p->title);
	styled_release(&p->text);
	buf_release(&p->filter);
	buf_release(&p->message);
	region_release(&p->screen);
	free(p);
	cadre_write(t->out, "\033[?1049l", 8);
	tui_changed(t);
}

void page_open_text(struct tui *t, const char *title, struct str foreign)
{
	struct page *p = page_open(t, PAGE_TEXT, title);

	styled_add_foreign(&p->text, LOOK_PLAIN, foreign, false);
	for (size_t i = 0; i < p->text.text.n; i++)
		if (p->text.text.p[i] == '\t')
			p->text.text.p[i] = ' ';
	p->top = SIZE_MAX; /* its end */
}

struct page *page_open_list(struct tui *t, const char *title, page_choose_fn *choose)
{
	struct page *p = page_open(t, PAGE_LIST, title);

	p->choose = choose;
	return p;
}

void page_add_item(struct page *p, struct str id, struct str foreign)
{
	AUTO_BUF struct buf safe = { 0 };

	render_line(&safe, foreign);
	p->items = xrealloc(p->items, (p->count + 1) * sizeof *p->items);
	p->items[p->count++] = (struct page_item){ xstrndup(id.p, id.n), buf_take(&safe, NULL) };
}

void page_open_agents(struct tui *t)
{
	(void)page_open(t, PAGE_AGENTS, "Agents");
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static void wrap_text(struct page *p, unsigned columns)
{
	struct str s = buf_str(&p->text.text);
	size_t cap = 0, next;

	if (p->wrapped == columns)
		return;
	p->wrapped = columns;
	p->line_count = 0;
	for (size_t from = 0; from < s.n; from = next) {
		if (p->line_count == cap) {
			cap = cap ? cap * 2 : 256;
			p->lines = xrealloc(p->lines, cap * sizeof *p->lines);
		}
		p->lines[p->line_count++] = from;
		(void)cells_wrap(s, from, columns, &next);
	}
}

static bool has_text(struct str s, struct str part)
{
	for (size_t i = 0; part.n && i + part.n <= s.n; i++)
		if (!strncasecmp(s.p + i, part.p, part.n))
			return true;
	return !part.n;
}

static void add_text_rows(struct tui *t, struct page *p, size_t room)
{
	unsigned columns = p->screen.columns - 1;
	size_t next;

	wrap_text(p, columns);
	p->top = MIN(p->top, p->line_count > room ? p->line_count - room : 0);
	for (size_t i = p->top; i < p->line_count && i < p->top + room; i++) {
		size_t end = cells_wrap(buf_str(&p->text.text), p->lines[i], columns, &next);
		struct styled *row = rows_add(t);
		struct str line = { p->text.text.p + p->lines[i], end - p->lines[i] };
		if (p->filter.n && has_text(line, buf_str(&p->filter)))
			styled_add(row, LOOK_BOLD | LOOK_YELLOW, line);
		else
			styled_append(row, &p->text, p->lines[i], end);
	}
}

static bool item_fits(const struct page *p, size_t i)
{
	return has_text(str_from(p->items[i].text), buf_str(&p->filter));
}

static void add_list_rows(struct tui *t, struct page *p, size_t room)
{
	size_t at = 0, first = p->selected >= room ? p->selected - room + 1 : 0;

	for (size_t i = 0; i < p->count; i++) {
		if (!item_fits(p, i))
			continue;
		if (at >= first && at < first + room) {
			struct styled *row = rows_add(t);
			unsigned look = at == p->selected ? LOOK_BOLD | LOOK_CYAN : LOOK_PLAIN;
			styled_addf(row, look, "%s ", at == p->selected ? tui_mark(t, MARK_PROMPT) : " ");
			styled_add(row, look, str_from(p->items[i].text));
		}
		at++;
	}
	if (!at)
		styled_add(rows_add(t), LOOK_DIM, STR("  nothing fits"));
}

static const struct agent_row *agent_at(const struct tui *t, size_t index)
{
	const struct agent_row *r = t->agents.first;

	for (size_t i = 0; r && i < index; i++)
		r = r->next;
	return r;
}

static void add_agents_rows(struct tui *t, struct page *p, size_t room)
{
	size_t count = t->agents.by_id.count;

	p->selected = MIN(p->selected, count ? count - 1 : 0);
	size_t first = p->selected >= room ? p->selected - room + 1 : 0;
	const struct agent_row *r = agent_at(t, first);
	for (size_t i = first; r && i < first + room; i++, r = r->next) {
		rows_add_agent(t, r);
		if (i == p->selected)
			memset(t->rows[t->row_count - 1].looks.p, LOOK_BOLD | LOOK_CYAN,
			       t->rows[t->row_count - 1].looks.n);
	}
	if (!count)
		styled_add(rows_add(t), LOOK_DIM, STR("  no agent runs"));
}

void page_draw(struct tui *t, struct buf *out)
{
	struct page *p = t->page;
	size_t room = t->region.rows > 3 ? t->region.rows - 2 : 1;
	struct styled *row;

	if (p->screen.columns != t->region.columns || p->screen.rows != t->region.rows) {
		p->screen.columns = t->region.columns;
		p->screen.rows = t->region.rows;
		p->screen.shown_count = p->screen.at_row = p->screen.at_column = 0;
		buf_addstr(out, "\033[H\033[J");
	}
	t->row_count = 0;
	row = rows_add(t);
	styled_add_foreign(row, LOOK_BOLD, str_from(p->title), true);
	if (p->kind == PAGE_AGENTS)
		styled_addf(row, LOOK_BOLD, ": %zu, %zu run, %zu ask", t->agents.by_id.count, t->agents.running,
			    t->agents.asking);
	if (p->kind == PAGE_TEXT)
		add_text_rows(t, p, room);
	else if (p->kind == PAGE_LIST)
		add_list_rows(t, p, room);
	else
		add_agents_rows(t, p, room);
	while (t->row_count < room + 1)
		(void)rows_add(t);
	row = rows_add(t);
	if (p->filtering || p->kind == PAGE_LIST) {
		styled_add(row, LOOK_PLAIN, STR("/"));
		styled_add_foreign(row, LOOK_PLAIN, buf_str(&p->filter), true);
		styled_add(row, LOOK_DIM, STR("   enter takes . esc leaves"));
	} else if (p->writing) {
		styled_add(row, LOOK_PLAIN, STR("message: "));
		styled_add_foreign(row, LOOK_PLAIN, buf_str(&p->message), true);
	} else if (t->note.n) {
		styled_add_foreign(row, LOOK_YELLOW, buf_str(&t->note), true);
	} else {
		styled_add(row, LOOK_DIM,
			   p->kind == PAGE_TEXT ? STR("q leaves . / searches . n next . PgUp PgDn g G")
						: STR("enter shows . m message . x stop . q leaves"));
	}
	for (size_t i = 0; i < t->row_count; i++)
		rows_cut(t, &t->rows[i]);
	region_draw(&p->screen, t->rows, t->row_count, t->row_count - 1, 0, STR(""), out);
}

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

/* Of a program that was run for the view: its last line, if it failed */
static void page_say_result(struct tui *t, struct str output, bool ok)
{
	AUTO_BUF struct buf line = { 0 };
	struct str rest = str_trim(output);

	render_line(&line, str_cut(&rest, '\n'));
	tui_note(t, ok ? "done" : buf_str(&line).p);
}

static void show_log(struct tui *t, struct str output, bool ok)
{
	(void)ok;
	page_open_text(t, "Agent", output);
}

/* The next row below the first one that has the text */
static void find_next(struct page *p)
{
	struct str s = buf_str(&p->text.text);

	for (size_t k = 1; k <= p->line_count; k++) {
		size_t i = (MIN(p->top, p->line_count - 1) + k) % p->line_count;
		size_t end = i + 1 < p->line_count ? p->lines[i + 1] : s.n;
		if (has_text((struct str){ s.p + p->lines[i], end - p->lines[i] }, buf_str(&p->filter))) {
			p->top = i;
			return;
		}
	}
}

static void agents_letter(struct tui *t, struct page *p, char letter)
{
	const struct agent_row *r = agent_at(t, p->selected);
	int64_t now = tui_now_ms();

	if (!r)
		return;
	if (letter == 'm') {
		p->writing = true;
	} else if (letter == 'x' && !strcmp(p->stop_id, r->id) && now - p->stop_ms < TWICE_MS) {
		job_cadre(t, "stop", str_from(r->id), page_say_result);
		p->stop_id[0] = '\0';
	} else if (letter == 'x') {
		snprintf(p->stop_id, sizeof p->stop_id, "%s", r->id);
		p->stop_ms = now;
		tui_note(t, "x again stops it and all below it");
	}
}

static void send_message(struct tui *t, struct page *p)
{
	const struct agent_row *r = agent_at(t, p->selected);
	AUTO_BUF struct buf words = { 0 };

	p->writing = false;
	if (r && p->message.n) {
		buf_addf(&words, "%s " STR_FMT, r->id, STR_ARG(buf_str(&p->message)));
		job_cadre(t, "team message", buf_str(&words), page_say_result);
	}
	buf_clear(&p->message);
}

static void choose(struct tui *t, struct page *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->count; i++)
		if (item_fits(p, i) && at++ == p->selected) {
			AUTO_FREE char *id = xstrdup(p->items[i].id);
			page_choose_fn *fn = p->choose;
			page_close(t);
			fn(t, id);
			return;
		}
}

/* Letters of the line at the bottom */
static void line_key(struct tui *t, struct page *p, const struct key *key, struct buf *line)
{
	if (key->code == KEY_TEXT && !key->alt) {
		buf_add(line, key->text.p, key->text.n);
		p->selected = p->kind == PAGE_LIST ? 0 : p->selected;
	} else if (key->code == KEY_BACKSPACE && line->n) {
		line->n = cells_previous(buf_str(line), line->n);
	} else if (key->code == KEY_ENTER && p->writing) {
		send_message(t, p);
	} else if (key->code == KEY_ENTER && p->kind == PAGE_LIST) {
		choose(t, p);
	} else if (key->code == KEY_ENTER) {
		p->filtering = false;
		find_next(p);
	}
}

static void move(struct tui *t, struct page *p, int64_t by)
{
	size_t *at = p->kind == PAGE_TEXT ? &p->top : &p->selected;
	size_t fitting = 0;

	for (size_t i = 0; p->kind == PAGE_LIST && i < p->count; i++)
		fitting += item_fits(p, i);
	size_t last = p->kind == PAGE_TEXT ? p->line_count : p->kind == PAGE_LIST ? fitting : t->agents.by_id.count;
	last = last ? last - 1 : 0;
	*at = by < 0 ? *at - MIN(*at, (size_t)-by) : MIN(*at + (size_t)by, last);
}

void page_key(struct tui *t, const struct key *key)
{
	struct page *p = t->page;
	int64_t half = MAX((int64_t)t->region.rows - 3, (int64_t)1);
	char letter = key->code == KEY_TEXT && key->text.n == 1 ? key->text.p[0] : 0;

	tui_changed(t);
	if (key->code == KEY_ESC || (key->code == KEY_CTRL && key->letter == 'c')) {
		if (p->filtering || p->writing) {
			p->filtering = p->writing = false;
			buf_clear(&p->message);
		} else {
			page_close(t);
		}
		return;
	}
	if (key->code == KEY_UP || key->code == KEY_DOWN)
		move(t, p, key->code == KEY_UP ? -1 : 1);
	else if (key->code == KEY_PAGE_UP || key->code == KEY_PAGE_DOWN)
		move(t, p, key->code == KEY_PAGE_UP ? -half : half);
	else if (p->filtering || p->writing || p->kind == PAGE_LIST)
		line_key(t, p, key, p->writing ? &p->message : &p->filter);
	else if (letter == 'q' || (key->code == KEY_CTRL && key->letter == 'o'))
		page_close(t);
	else if (letter == '/' && p->kind == PAGE_TEXT) {
		p->filtering = true;
		buf_clear(&p->filter);
	} else if (letter == 'n' && p->kind == PAGE_TEXT && p->filter.n)
		find_next(p);
	else if (letter == 'g' || letter == 'G')
		move(t, p, letter == 'g' ? -(int64_t)(1LL << 40) : (int64_t)1 << 40);
	else if (letter == 'j' || letter == 'k')
		move(t, p, letter == 'k' ? -1 : 1);
	else if (p->kind == PAGE_AGENTS && key->code == KEY_ENTER && agent_at(t, p->selected))
		job_cadre(t, "logs", str_from(agent_at(t, p->selected)->id), show_log);
	else if (p->kind == PAGE_AGENTS && letter)
		agents_letter(t, p, letter);
}
