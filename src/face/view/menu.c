/* SPDX-License-Identifier: MIT
 * menu.c - suggestions below the input: commands and skills behind a slash, files, agents and resources
 * behind an @, the history behind Ctrl-R. */
#include <dirent.h>
#include <sys/stat.h>
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/base/utf8.h"

enum { MENU_ROWS = 8, MENU_LINES = 20, MOST_ITEMS = 2000, MOST_FOUND = 50 };

struct item {
	char *text, *help; /* text: as it is put in; help: harmless, may be "" */
};

struct menu {
	enum { MENU_SLASH, MENU_FILES, MENU_HISTORY } kind;
	size_t from; /* what it replaces in the draft begins here */
	struct item *items;
	size_t count, selected;
};

void menu_close(struct tui *t)
{
	struct menu *m = TAKE(t->menu);

	t->files_awaited = false;
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		free(m->items[i].text);
		free(m->items[i].help);
	}
	free(m->items);
	free(m);
}

static struct menu *menu_new(struct tui *t, int kind, size_t from)
{
	menu_close(t);
	t->menu = xcalloc(1, sizeof *t->menu);
	t->menu->kind = kind;
	t->menu->from = from;
	return t->menu;
}

static void menu_add(struct menu *m, struct str text, const char *help)
{
	if (m->count >= MOST_ITEMS)
		return;
	m->items = xrealloc(m->items, (m->count + 1) * sizeof *m->items);
	m->items[m->count++] = (struct item){ xstrndup(text.p, text.n), render_copy(str_from(help)) };
}

/* All letters of the pattern in their order */
static bool fits(struct str pattern, const char *text)
{
	size_t at = 0;

	for (; *text && at < pattern.n; text++)
		at += (pattern.p[at] | 0x20) == (*text | 0x20);
	return at == pattern.n;
}

static void add_command(struct menu *m, struct str typed, bool starting, const char *name, const char *help)
{
	bool starts = str_starts(str_from(name), typed);
	AUTO_BUF struct buf b = { 0 };

	if (starting ? !starts : starts || !fits(typed, name))
		return;
	buf_addf(&b, "/%s", name);
	menu_add(m, buf_str(&b), help);
}

static void add_commands(struct tui *t, struct menu *m, struct str typed)
{
	if (!typed.n || !t->skills.count)
		show_read_skills(t);
	for (int starting = 1; starting >= 0; starting--) { /* those that begin so come first */
		for (size_t i = 0; i < slash_count; i++)
			add_command(m, typed, starting, slash_table[i].name, slash_table[i].help);
		for (const struct map_entry *e = map_next(&t->skills, NULL); e; e = map_next(&t->skills, e))
			add_command(m, typed, starting, e->key, e->value);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->text, ((const struct item *)b)->text);
}

static void sort_from(struct menu *m, size_t first)
{
	if (m->count > first)
		qsort(m->items + first, m->count - first, sizeof *m->items, by_text);
}

/* Members of a team, at the start of the line: @NAME TEXT is a message to one */
static void add_members(const struct tui *t, struct menu *m, struct str typed)
{
	for (const struct agent_row *r = t->agents.first; r && !m->from; r = r->next) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "@%s", r->name);
		if (r->team[0] && !r->ended_ms && fits(typed, r->name))
			menu_add(m, buf_str(&text), r->title);
	}
	sort_from(m, 0);
}

/* A name with blanks is put in quotes; those of a directory stay open for what follows. One that a prompt cannot hold is left out. */
static void add_path(struct menu *m, struct str path, bool is_dir)
{
	AUTO_BUF struct buf text = { 0 };
	bool quoted = memchr(path.p, ' ', path.n), typed = utf8_valid(path);

	for (size_t i = 0; i < path.n; i++)
		typed = typed && (unsigned char)path.p[i] >= ' ' && path.p[i] != 0x7f;
	if (!typed)
		return;
	buf_addf(&text, "@%s" STR_FMT "%s", quoted ? "\"" : "", STR_ARG(path), is_dir ? "/" : quoted ? "\"" : "");
	menu_add(m, buf_str(&text), "");
}

/* Entries of the directory that is typed so far */
static void add_files(struct menu *m, struct str typed)
{
	AUTO_BUF struct buf dir = { 0 }, path = { 0 };
	size_t base = typed.n, first = m->count;

	while (base && typed.p[base - 1] != '/')
		base--;
	struct str name = { typed.p + base, typed.n - base };
	buf_add(&dir, typed.p, base);
	DIR *d = opendir(base ? dir.p : ".");
	for (const struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		if ((e->d_name[0] == '.' && !(name.n && name.p[0] == '.')) || !strcmp(e->d_name, ".") ||
		    !strcmp(e->d_name, "..") || !fits(name, e->d_name))
			continue;
		bool is_dir = fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
		buf_clear(&path);
		buf_addf(&path, STR_FMT "%s", (int)base, typed.p, e->d_name);
		add_path(m, buf_str(&path), is_dir);
	}
	if (d)
		closedir(d);
	sort_from(m, first);
}

/* How well a path fits what is typed; the least is the best. UINT32_MAX: not at all */
static unsigned path_rank(struct str typed, struct str path)
{
	const char *slash = memrchr(path.p, '/', path.n), *name = slash ? slash + 1 : path.p;

	if (!fits(typed, path.p))
		return UINT32_MAX;
	unsigned how = !strncasecmp(name, typed.p, typed.n) ? 0
		       : strcasestr(name, typed.p)          ? 1
		       : strcasestr(path.p, typed.p)        ? 2
							    : 3;
	return how << 16 | (unsigned)MIN(path.n, (size_t)0xffff);
}

struct found_path {
	unsigned rank;
	const char *path;
};

static bool is_better(const struct found_path *a, const struct found_path *b)
{
	return a->rank != b->rank ? a->rank < b->rank : strcmp(a->path, b->path) < 0;
}

/* Files of the project in whatever directory they are, the best ones; those of the directory that is typed stand there already. */
static void add_found(struct tui *t, struct menu *m, struct str typed)
{
	AUTO_FREE char *text = xstrndup(typed.p, typed.n);
	struct found_path found[MOST_FOUND];
	size_t count = 0;

	typed.p = text;
	struct str rest = buf_str(&t->files), path;
	for (; typed.n && rest.n; rest = str_tail(rest, path.n + 1)) {
		path = str_from(rest.p);
		const char *slash = memrchr(path.p, '/', path.n);
		bool listed = !slash || (str_starts(path, typed) && !memchr(path.p + typed.n, '/', path.n - typed.n));
		struct found_path f = { listed ? UINT32_MAX : path_rank(typed, path), path.p };
		if (f.rank == UINT32_MAX || (count == MOST_FOUND && !is_better(&f, &found[count - 1])))
			continue;
		size_t at = count < MOST_FOUND ? count++ : count - 1;
		for (; at && is_better(&f, &found[at - 1]); at--)
			found[at] = found[at - 1];
		found[at] = f;
	}
	for (size_t i = 0; i < count; i++)
		add_path(m, str_from(found[i].path), false);
}

/* Agents and resources of servers, behind the files */
static void add_mentions(struct tui *t, struct menu *m, struct str typed)
{
	size_t files = m->count;

	for (const struct map_entry *e = map_next(&t->mentions, NULL); e; e = map_next(&t->mentions, e)) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "@%s", e->key);
		if (fits(typed, e->key))
			menu_add(m, buf_str(&text), e->value);
	}
	sort_from(m, files);
}

void menu_search_history(struct tui *t)
{
	if (t->lines)
		return;
	history_load(t);
	struct menu *m = menu_new(t, MENU_HISTORY, 0);
	struct str typed = buf_str(&t->draft.text);
	for (size_t i = t->draft.history_count; i-- > 0 && m->count < MOST_FOUND;) {
		struct str line = str_from(t->draft.history[i]);
		bool skip = typed.n && !str_has(line, typed);
		for (size_t k = 0; k < m->count && !skip; k++)
			skip = str_is(line, m->items[k].text);
		if (!skip)
			menu_add(m, line, "");
	}
}

/* What fits the word before the cursor; none: there is no menu */
static void menu_build(struct tui *t)
{
	struct str text = buf_str(&t->draft.text);
	size_t cursor = t->draft.cursor, at = cursor;

	menu_close(t);
	while (at && text.p[at - 1] != ' ' && text.p[at - 1] != '\n')
		at--;
	for (size_t i = cursor; i >= 2 && text.p[i - 1] != '\n'; i--) /* a name in quotes that is not closed */
		if (text.p[i - 1] == '"') {
			at = text.p[i - 2] == '@' ? i - 2 : at;
			break;
		}
	struct str word = { text.p + at, cursor - at };
	if (at == 0 && str_starts(word, STR("/"))) {
		add_commands(t, menu_new(t, MENU_SLASH, 0), (struct str){ word.p + 1, word.n - 1 });
	} else if (str_starts(word, STR("@"))) {
		struct menu *m = menu_new(t, MENU_FILES, at);
		struct str typed = str_tail(word, str_starts(word, STR("@\"")) ? 2 : 1);
		if (!typed.n || !t->mentions.count)
			show_read_mentions(t);
		add_members(t, m, typed);
		add_files(m, typed);
		add_found(t, m, typed);
		add_mentions(t, m, typed);
	}
	bool awaits = t->menu && t->menu->kind == MENU_FILES && t->files_sought;
	if (t->menu && !t->menu->count)
		menu_close(t);
	t->files_awaited = awaits;
}

void menu_take_files(struct tui *t, struct str names)
{
	const struct menu *m = t->menu;
	AUTO_BUF struct buf chosen = { 0 };
	bool awaited = t->files_awaited;

	t->files_sought = t->files_awaited = false;
	buf_clear(&t->files);
	buf_append(&t->files, names);
	if (!awaited)
		return;
	if (t->lines) {
		if (t->complete_key == t->key_count)
			(void)menu_complete(t);
		tui_changed(t);
		return;
	}
	if (m)
		buf_addstr(&chosen, m->items[m->selected].text);
	menu_build(t);
	for (size_t i = 0; t->menu && i < t->menu->count; i++) /* what Enter takes stays */
		if (str_is(buf_str(&chosen), t->menu->items[i].text))
			t->menu->selected = i;
	tui_changed(t);
}

void menu_update(struct tui *t)
{
	if (t->menu && t->menu->kind == MENU_HISTORY)
		menu_search_history(t);
	else if (!t->lines)
		menu_build(t);
}

static void menu_accept(struct tui *t)
{
	struct menu *m = t->menu;
	AUTO_BUF struct buf text = { 0 };
	struct str chosen = str_from(m->items[m->selected].text);

	buf_add(&text, chosen.p, chosen.n);
	bool whole = m->kind == MENU_HISTORY, is_dir = str_ends(chosen, STR("/"));
	if (!whole && !is_dir)
		buf_addch(&text, ' ');
	draft_replace(&t->draft, m->from, whole ? t->draft.text.n : t->draft.cursor, buf_str(&text));
	menu_close(t);
	if (is_dir)
		menu_update(t);
}

bool menu_complete(struct tui *t)
{
	AUTO_BUF struct buf lines = { 0 };

	menu_build(t);
	if (t->files_awaited) { /* the key does its work when they are known */
		menu_close(t);
		t->files_awaited = true;
		t->complete_key = t->key_count;
		return true;
	}
	struct menu *m = t->menu;
	if (!m)
		return false;
	struct str typed = { t->draft.text.p + m->from, t->draft.cursor - m->from };
	size_t starting = 0;
	for (size_t i = 0; i < m->count; i++) { /* those that begin so come first, and count alone */
		struct str text = str_from(m->items[i].text);
		/* A name that gets quotes begins with what is typed without them, too. */
		bool quoted = str_starts(text, STR("@\"")) && !str_starts(typed, STR("@\""));
		if (quoted ? str_starts(str_tail(text, 2), str_tail(typed, 1)) : str_starts(text, typed)) {
			struct item one = m->items[i];
			m->items[i] = m->items[starting];
			m->items[starting++] = one;
		}
	}
	struct str first = str_from(m->items[0].text);
	size_t common = starting ? first.n : 0, count = starting ? starting : m->count;
	for (size_t i = 1; i < starting; i++)
		while (strncmp(m->items[i].text, first.p, common) != 0)
			common--;
	m->selected = 0;
	if (count == 1) {
		menu_accept(t);
		return true;
	}
	if (common > typed.n) {
		draft_replace(&t->draft, m->from, t->draft.cursor, (struct str){ first.p, common });
	} else {
		for (size_t i = 0; i < count && i < MENU_LINES; i++)
			buf_addf(&lines, "  %s%s%s\n", m->items[i].text, m->items[i].help[0] ? "  " : "",
				 m->items[i].help);
		if (count > MENU_LINES)
			buf_addf(&lines, "  %zu more\n", count - MENU_LINES);
		feed_foreign(t, LOOK_PLAIN, buf_str(&lines));
	}
	menu_close(t);
	return true;
}

bool menu_key(struct tui *t, const struct key *key)
{
	struct menu *m = t->menu;
	bool down = key->code == KEY_DOWN || (key->code == KEY_CTRL && (key->letter == 'n' || key->letter == 'r'));
	bool up = key->code == KEY_UP || (key->code == KEY_CTRL && key->letter == 'p');

	if (key->code == KEY_ESC && m->kind == MENU_HISTORY && m->count) {
		menu_accept(t);
		return true;
	}
	if (key->code == KEY_ESC || (key->code == KEY_CTRL && key->letter == 'c')) {
		menu_close(t);
		return true;
	}
	bool enter = key->code == KEY_ENTER && !key->shift && !key->alt;
	if (!m->count && enter) { /* nothing was found: what was searched for is not a prompt */
		menu_close(t);
		return true;
	}
	if (!m->count)
		return false;
	if (up || down) {
		m->selected = (m->selected + (up ? m->count - 1 : 1)) % m->count;
		return true;
	}
	/* Enter runs a command that is typed whole, sends a mere @ (the members of a team), and takes a suggestion otherwise */
	bool typed_whole = m->kind == MENU_SLASH ? str_is(buf_str(&t->draft.text), m->items[m->selected].text)
						 : str_is(buf_str(&t->draft.text), "@") && !m->selected;
	if (key->code != KEY_TAB && (!enter || typed_whole))
		return false;
	bool runs = enter && m->kind == MENU_SLASH;
	menu_accept(t);
	return !runs;
}

void menu_add_rows(struct tui *t, size_t most)
{
	const struct menu *m = t->menu;
	size_t rows = MIN(most - (most > 1 && m->count >= most),
			  (size_t)MENU_ROWS); /* and one that says how many there are */
	size_t first = m->selected >= rows ? m->selected - rows + 1 : 0;
	unsigned column = 20; /* of the words behind the names */

	for (size_t i = first; i < m->count && i < first + rows; i++)
		column = MAX(column, MIN(cells_width(str_from(m->items[i].text)) + 3, t->region.columns / 2));

	for (size_t i = first; i < m->count && i < first + rows; i++) {
		AUTO_BUF struct buf shown = { 0 };
		struct styled *row = rows_add(t);
		unsigned look = i == m->selected ? LOOK_BOLD | LOOK_CYAN : LOOK_PLAIN;
		styled_add(row, look, i == m->selected ? str_from(tui_mark(t, MARK_PROMPT)) : STR(" "));
		styled_add(row, look, STR(" "));
		draft_show(&t->draft, str_from(m->items[i].text), &shown);
		styled_add_foreign(row, look, buf_str(&shown));
		if (m->items[i].help[0] && t->region.columns >= 40) {
			unsigned width = cells_width(buf_str(&row->text));
			styled_addf(row, LOOK_PLAIN, "%*s", width < column ? (int)(column - width) : 1, "");
			styled_add(row, LOOK_DIM, str_from(m->items[i].help));
		}
	}
	if (!m->count)
		styled_add(rows_add(t), LOOK_DIM, STR("  nothing in the history has this"));
	if (m->count > rows)
		styled_addf(rows_add(t), LOOK_DIM, "  %zu of %zu", m->selected + 1, m->count);
}
