/* SPDX-License-Identifier: MIT
 * page.c - views on the alternate screen: a pager, and a list to choose from with a preview; roster.c has the agents. The
 * conversation continues below them; what it writes is shown when the view is closed. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/cli/view.h"
#include "face/tui/state.h"
#include "lib/base/base64.h"

/* GNU screen has an alternate screen only if it is configured to: what stands there goes into its scrollback first. */
static bool may_lack_alternate(void)
{
	const char *screen = getenv("STY");

	return screen && *screen;
}

void page_show(struct tui *t, struct page *p)
{
	AUTO_BUF struct buf out = { 0 };

	if (!t->lines)
		tui_leave_one_row(t);
	t->page = p;
	p->screen.columns = 0; /* nothing of it is on the screen */
	if (may_lack_alternate()) {
		region_erase(&t->region, &out);
		buf_addf(&out, "\033[%uB", t->region.rows);
		for (unsigned i = 0; i < t->region.rows; i++)
			buf_addch(&out, '\n');
	}
	buf_addstr(&out, "\033[?1049h\033[H\033[J");
	if (!t->lines)
		tui_write(t, out.p, out.n);
	tui_changed(t);
}

struct page *page_open(struct tui *t, enum page_kind kind, const char *title)
{
	bool of_agent = kind == PAGE_TEXT && t->page && t->page->kind == PAGE_AGENTS;
	struct page *p = xcalloc(1, sizeof *p);

	p->below = of_agent ? TAKE(t->page) : NULL;
	while (t->page)
		page_close(t);
	menu_close(t);
	p->kind = kind;
	p->title = render_copy(str_from(title));
	p->screen.colour = t->region.colour;
	if (of_agent)
		t->page = p;
	else
		page_show(t, p);
	return p;
}

void page_close(struct tui *t)
{
	struct page *p = TAKE(t->page);
	AUTO_BUF struct buf out = { 0 };

	if (!p)
		return;
	bool moved = p->resized && t->region.cuts; /* such a terminal may have cut the row that the cursor was in */
	struct page *below = p->below;
	if (below) {
		below->resized = below->resized || p->resized;
		below->screen.columns = 0;
	}
	for (size_t i = 0; i < p->count; i++) {
		free(p->items[i].id);
		free(p->items[i].text);
	}
	free(p->items);
	free(p->lines);
	free(p->title);
	free(p->path);
	free(p->ask_id);
	styled_release(&p->text);
	draft_release(&p->filter);
	draft_release(&p->message);
	map_release(&p->folds);
	free(p->rows);
	region_release(&p->screen);
	free(p);
	t->page = below;
	buf_addstr(&out, "\033[?1049l");
	if (may_lack_alternate())
		buf_addstr(&out, "\033[H\033[J");
	else if (moved && !below)
		region_keep(&t->region, &out);
	if (!t->lines && !below)
		tui_write(t, out.p, out.n);
	tui_changed(t);
}

struct page *page_open_text(struct tui *t, const char *title, struct str foreign)
{
	struct page *p = page_open(t, PAGE_TEXT, title);

	styled_add_foreign_lines(&p->text, LOOK_PLAIN, foreign);
	styled_expand_tabs(&p->text);
	return p;
}

/* The file again, if it has grown; a view that is at its end stays there. */
static void page_read_file(struct tui *t, struct page *p)
{
	struct past past = { .tui = t, .columns = t->region.columns - 1, .out = &p->text };
	struct stat st;

	if (!p->path || stat(p->path, &st) < 0 || st.st_size == p->size)
		return;
	p->size = st.st_size;
	bool at_end = p->top + p->room >= p->line_count;
	styled_clear(&p->text);
	(void)past_read(&past, p->path, 0);
	buf_release(&past.title);
	styled_expand_tabs(&p->text);
	p->wrapped = 0;
	if (at_end)
		p->top = SIZE_MAX;
}

void page_open_transcript(struct tui *t, const char *title, const char *path)
{
	struct page *p = page_open(t, PAGE_TEXT, title);

	p->path = xstrdup(path);
	page_read_file(t, p);
	if (!p->text.text.n)
		styled_add(&p->text, LOOK_DIM, STR("Nothing was said yet.\n"));
}

struct page *page_open_list(struct tui *t, const char *title, page_choose_fn *choose)
{
	struct page *p = page_open(t, PAGE_LIST, title);

	p->choose = choose;
	return p;
}

void page_add_item(struct page *p, struct str id, struct str foreign)
{
	p->items = xrealloc(p->items, (p->count + 1) * sizeof *p->items);
	p->items[p->count++] = (struct page_item){ xstrndup(id.p, id.n), render_copy(foreign) };
}

void page_add_choice(struct page *p, struct str id, struct str foreign, bool now)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, STR_FMT "%s", STR_ARG(foreign), now ? " (now)" : "");
	if (now)
		p->selected = p->count;
	page_add_item(p, id, buf_str(&text));
}

bool tui_clipboard(struct tui *t, struct str base64)
{
	const char *term = getenv("TERM");
	AUTO_BUF struct buf b = { 0 };

	if (t->dumb || (term && !strcmp(term, "linux")))
		return false;
	buf_addf(&b, "\033]52;c;" STR_FMT "\a", STR_ARG(base64));
	tui_write(t, b.p, b.n);
	return true;
}

void tui_copy(struct tui *t, struct str text, const char *what)
{
	const char *wayland = getenv("WAYLAND_DISPLAY"), *x = getenv("DISPLAY"),
		   *program = wayland && *wayland ? "wl-copy >/dev/null 2>&1"
			      : x && *x           ? "xclip -selection clipboard >/dev/null 2>&1"
						  : NULL;
	AUTO_BUF struct buf base64 = { 0 }, said = { 0 };

	base64_add(&base64, text);
	bool written = tui_clipboard(t, buf_str(&base64));
	if (program) /* also: no terminal says whether it knows the sequence */
		job_feed(t, program, text);
	buf_addf(&said, "%s %s", what,
		 written || program ? "is in the clipboard" : "is not copied: this terminal has no clipboard");
	tui_note(t, said.p);
}

static void wrap_text(struct page *p, unsigned columns)
{
	struct str s = buf_str(&p->text.text);
	size_t cap = 0, next;

	if (p->wrapped == columns)
		return;
	p->wrapped = columns;
	p->line_count = 0;
	free(TAKE(p->lines));
	for (size_t from = 0; from < s.n; from = next) {
		*xpush(p->lines, p->line_count, cap) = from;
		(void)cells_wrap(s, from, columns, &next);
	}
}

bool page_has_text(struct str s, struct str part)
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
	if (p->ask_id && p->top + room >= p->line_count)
		ask_saw_end(t, p->ask_id);
	for (size_t i = p->top; i < p->line_count && i < p->top + room; i++) {
		size_t end = cells_wrap(buf_str(&p->text.text), p->lines[i], columns, &next);
		struct styled *row = rows_add(t);
		struct str line = { p->text.text.p + p->lines[i], end - p->lines[i] };
		if (p->filter.text.n && page_has_text(line, buf_str(&p->filter.text)))
			styled_add(row, LOOK_BOLD | LOOK_YELLOW, line);
		else
			styled_append(row, &p->text, p->lines[i], end);
	}
}

static bool item_fits(const struct page *p, size_t i)
{
	return page_has_text(str_from(p->items[i].text), buf_str(&p->filter.text));
}

/* The selected item; SIZE_MAX: nothing fits */
static size_t item_selected(const struct page *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->count; i++)
		if (item_fits(p, i) && at++ == p->selected)
			return i;
	return SIZE_MAX;
}

/* A preview of the selected item has the lower half. */
static void add_preview(struct tui *t, struct page *p, size_t room)
{
	size_t chosen = item_selected(p), next, rows = 0;

	if (chosen != p->previewed) {
		p->previewed = chosen;
		styled_clear(&p->text);
		if (chosen != SIZE_MAX)
			p->preview(t, p, p->items[chosen].id, &p->text);
		styled_expand_tabs(&p->text);
	}
	styled_add(rows_add(t), LOOK_DIM, STR("---"));
	/* of a conversation its end */
	struct str s = buf_str(&p->text.text);
	size_t count = 0, at = 0;
	for (size_t from = 0; from < s.n; from = next, count++)
		(void)cells_wrap(s, from, p->screen.columns - 1, &next);
	size_t first = p->preview_end && count + 1 > room ? count + 1 - room : 0;
	for (size_t from = 0; from < s.n && rows + 1 < room; from = next, at++) {
		size_t end = cells_wrap(s, from, p->screen.columns - 1, &next);
		if (at < first)
			continue;
		styled_append(rows_add(t), &p->text, from, end);
		rows++;
	}
}

static void add_list_rows(struct tui *t, struct page *p, size_t room)
{
	size_t lower = p->preview && room > 6 ? room / 2 : 0, upper = room - lower, fitting = 0, at = 0;
	size_t first = p->selected >= upper ? p->selected - upper + 1 : 0;

	for (size_t i = 0; i < p->count; i++)
		fitting += item_fits(p, i);
	for (size_t i = 0; i < p->count; i++) {
		if (!item_fits(p, i))
			continue;
		if (at >= first && at < first + upper) {
			struct styled *row = rows_add(t);
			unsigned look = at == p->selected ? LOOK_BOLD | LOOK_CYAN : LOOK_PLAIN;
			styled_addf(row, look, "%s ", at == p->selected ? tui_mark(t, MARK_PROMPT) : " ");
			styled_add(row, look, str_from(p->items[i].text));
		}
		at++;
	}
	if (!at)
		styled_add(rows_add(t), LOOK_DIM, STR("  nothing fits"));
	struct styled *title = &t->rows[0];
	const char *about = strstr(p->title, " . ");
	styled_clear(title); /* the count stands before the words that may be left out */
	styled_add(title, LOOK_BOLD, (struct str){ p->title, about ? (size_t)(about - p->title) : strlen(p->title) });
	styled_addf(title, LOOK_DIM, " . %zu of %zu%s", fitting, p->count, about ? about : "");
	if (lower)
		add_preview(t, p, lower);
}

void page_draw(struct tui *t, struct buf *out)
{
	struct page *p = t->page;
	size_t room = t->region.rows > 3 ? t->region.rows - 2 : 1;
	struct styled *row;

	p->room = room;
	if (p->screen.columns != t->region.columns || p->screen.rows != t->region.rows) {
		p->screen.columns = t->region.columns;
		p->screen.rows = t->region.rows;
		p->screen.shown_count = p->screen.at_row = p->screen.at_column = 0;
		buf_addstr(out, "\033[H\033[J");
	}
	page_read_file(t, p);
	t->row_count = 0;
	styled_add(rows_add(t), LOOK_BOLD, str_from(p->title));
	if (p->kind == PAGE_TEXT)
		add_text_rows(t, p, room);
	else if (p->kind == PAGE_LIST)
		add_list_rows(t, p, room);
	else
		roster_add_rows(t, p, room);
	while (t->row_count < room + 1)
		(void)rows_add(t);
	unsigned column = 0;
	if (p->writing || p->filtering || p->kind == PAGE_LIST) {
		size_t at;
		rows_add_input(t, p->writing ? &p->message : &p->filter, p->writing ? STR("message: ") : STR("/"), 1,
			       &at, &column);
		row = &t->rows[t->row_count - 1];
		if (t->note.n) {
			styled_add(row, LOOK_PLAIN, STR("   "));
			styled_add_foreign(row, LOOK_YELLOW, buf_str(&t->note));
		} else if (cells_width(buf_str(&row->text)) + 15 < t->region.columns)
			styled_add(row, LOOK_DIM,
				   p->writing ? STR("   enter sends . esc back") : STR("   enter takes . esc leaves"));
	} else if (t->note.n) {
		styled_add_foreign(row = rows_add(t), LOOK_YELLOW, buf_str(&t->note));
	} else if (p->kind == PAGE_TEXT) {
		styled_add(row = rows_add(t), LOOK_DIM,
			   STR("q leaves . / searches . n N . PgUp PgDn g G . y copies . v editor"));
	} else {
		styled_add(row = rows_add(t), LOOK_DIM,
			   STR("q leaves . enter . m message . x stop . b background . / find . s sort . h hide . "
			       "left right fold . y id"));
	}
	rows_cut_hints(t, row);
	rows_cut_hints(t, &t->rows[0]);
	for (size_t i = 0; i < t->row_count; i++)
		rows_cut(t, &t->rows[i]);
	region_draw(&p->screen, t->rows, t->row_count, t->row_count - 1, column, STR(""), out);
}

/* The next row that has the text, downwards or upwards */
static void find_next(struct tui *t, struct page *p, bool up)
{
	struct str s = buf_str(&p->text.text);

	for (size_t k = 1; k <= p->line_count; k++) {
		size_t at = MIN(p->top, p->line_count - 1);
		size_t i = (at + (up ? p->line_count - k : k)) % p->line_count;
		size_t end = i + 1 < p->line_count ? p->lines[i + 1] : s.n;
		if (page_has_text((struct str){ s.p + p->lines[i], end - p->lines[i] }, buf_str(&p->filter.text))) {
			p->top = i;
			return;
		}
	}
	tui_note(t, "no row has this");
}

void page_choose(struct tui *t, size_t item)
{
	AUTO_FREE char *id = xstrdup(t->page->items[item].id);
	page_choose_fn *choose = t->page->choose;
	const char *option = t->page->option;

	page_close(t);
	if (option)
		command_set(t, option, id);
	else
		choose(t, id);
}

/* The line at the bottom, with the keys of the prompt */
static void line_key(struct tui *t, struct page *p, const struct key *key, struct draft *line)
{
	size_t before = line->text.n;

	if (key->code == KEY_PASTE && !p->writing) {
		struct str rest = str_trim(key->text);
		(void)draft_type(line, str_cut(&rest, '\n'));
	} else if (key->code != KEY_ENTER || (p->writing && (key->shift || key->alt))) {
		(void)input_edit(t, line, key);
	} else if (p->writing) {
		roster_send(t, p);
	} else if (p->kind == PAGE_LIST) {
		if (item_selected(p) != SIZE_MAX)
			page_choose(t, item_selected(p));
		return; /* it is closed */
	} else {
		p->filtering = false;
		if (p->kind == PAGE_TEXT && p->filter.text.n)
			find_next(t, p, false);
	}
	if (!p->writing && line->text.n != before)
		p->selected = 0;
}

static void move(struct page *p, int64_t by)
{
	size_t *at = p->kind == PAGE_TEXT ? &p->top : &p->selected, last = p->line_count;

	if (p->kind == PAGE_LIST) {
		last = 0;
		for (size_t i = 0; i < p->count; i++)
			last += item_fits(p, i);
	} else if (p->kind == PAGE_AGENTS) {
		last = p->row_count;
	}
	last = last ? last - 1 : 0;
	*at = by < 0 ? *at - MIN(*at, (size_t)-by) : MIN(*at + (size_t)by, last);
}

static void text_seen(struct tui *t, const char *path, bool good)
{
	(void)unlink(path);
	tui_write(t, "\033[?1049h", 8);
	if (t->page)
		t->page->screen.columns = 0; /* all of it is drawn again */
}

/* The text of the view in the user's editor; what is changed there is not kept. */
static void open_editor(struct tui *t, struct page *p)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	AUTO_BUF struct buf path = { 0 };

	buf_addf(&path, "%s/cadre-view-XXXXXX.md", dir && *dir ? dir : "/tmp");
	int fd = mkostemps(path.p, 3, O_CLOEXEC);
	if (fd < 0 || write(fd, p->text.text.p, p->text.text.n) < 0)
		tui_note(t, "the text cannot be written");
	else
		job_edit_file(t, path.p, text_seen);
	if (fd >= 0)
		close(fd);
}

static bool text_letter(struct tui *t, struct page *p, char letter)
{
	if ((letter == 'n' || letter == 'N') && p->filter.text.n) {
		find_next(t, p, letter == 'N');
	} else if (letter == 'y') {
		tui_copy(t, buf_str(&p->text.text), "the text");
	} else if (letter == 'v') {
		open_editor(t, p);
	} else if (letter == ' ') {
		move(p, (int64_t)p->room - 1);
	} else {
		return false;
	}
	return true;
}

void page_key(struct tui *t, const struct key *key)
{
	struct page *p = t->page;

	/* typed ahead: where a key leads is known when the rows are */
	if (!p->room || (t->due[TIMER_FRAME] && p->kind != PAGE_LIST))
		tui_draw(t);
	int64_t screenful = MAX((int64_t)p->room - 1, (int64_t)1);
	char letter = key->code == KEY_TEXT && key->text.n == 1 ? key->text.p[0] : 0;
	bool typing = p->filtering || p->writing || p->kind == PAGE_LIST;

	tui_changed(t);
	if (key->code == KEY_ESC || (key->code == KEY_CTRL && key->letter == 'c')) {
		if (p->filtering || p->writing) {
			p->filtering = p->writing = false;
			draft_clear(&p->message);
			draft_clear(&p->filter);
		} else {
			page_close(t);
		}
		return;
	}
	if (key->code == KEY_UP || key->code == KEY_DOWN)
		move(p, key->code == KEY_UP ? -1 : 1);
	else if (key->code == KEY_PAGE_UP || key->code == KEY_PAGE_DOWN)
		move(p, key->code == KEY_PAGE_UP ? -screenful : screenful);
	else if (typing)
		line_key(t, p, key, p->writing ? &p->message : &p->filter);
	else if (letter == 'q' || (key->code == KEY_CTRL && key->letter == 'o'))
		page_close(t);
	else if (letter == '/') {
		p->filtering = true;
		draft_clear(&p->filter);
	} else if (letter == 'g' || letter == 'G')
		move(p, letter == 'g' ? -((int64_t)1 << 40) : (int64_t)1 << 40);
	else if (letter == 'j' || letter == 'k')
		move(p, letter == 'k' ? -1 : 1);
	else if (p->kind == PAGE_AGENTS)
		roster_key(t, p, key, letter);
	else
		(void)text_letter(t, p, letter);
}
