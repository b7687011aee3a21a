/* SPDX-License-Identifier: MIT
 * probe.c - what the terminal is asked: its keys, the widths of clusters, and how a resize went. Nothing waits for an answer: one that
 * is late, or does not come, leaves what we assume.
 *
 * Behind the first paint three clusters are written at the caret, each followed by a question for the cursor, and wiped by the same
 * write, which then writes the row again: screen inside tmux goes back by the width that it believes in, and wipes more than them. What
 * they showed is kept in <config>/cadre/terminals.json, {"NAME": "4 2 1"}, for the first paint of the next time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/screen/term.h"
#include "face/screen/width.h"
#include "face/tui/state.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { ANSWER_MS = 100, ANSWER_TMUX_MS = 1000, MOST_SETTLINGS = 4, LEAST_COLUMNS = 20, FILE_BYTES = 64 << 10 };

#define FILE_NAME "cadre/terminals.json"

static const char *terminal_name(void)
{
	const char *program = getenv("TERM_PROGRAM"), *term = getenv("TERM");

	return program && *program ? program : term ? term : "";
}

void probe_load(void)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = FILE_BYTES, .depth = 4 } };
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf text = { 0 };
	unsigned answers[WIDTH_PROBES];
	const struct json *root;
	size_t count = 0;

	if (!tui_read_config(FILE_NAME, FILE_BYTES, &text) || json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return;
	struct str rest = json_str(json_get(root, terminal_name()), &arena);
	for (uint64_t n; rest.p && count < WIDTH_PROBES; count++) {
		if (!str_to_u64(str_cut(&rest, ' '), &n) || n > 20)
			return;
		answers[count] = (unsigned)n;
	}
	if (count == WIDTH_PROBES && !rest.p)
		(void)width_learn(answers);
}

/* In place of the file, whole; what it says about other terminals stays. */
static void store_answers(const unsigned answers[WIDTH_PROBES])
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = FILE_BYTES, .depth = 4 } };
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf path = { 0 }, text = { 0 }, out = { 0 }, temporary = { 0 };
	struct json_out w = json_out(&out);
	const struct json *root = NULL;
	char said[32];

	snprintf(said, sizeof said, "%u %u %u", answers[0], answers[1], answers[2]);
	if (tui_read_config(FILE_NAME, FILE_BYTES, &text) && json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		root = NULL;
	if (!tui_config_path(&path, FILE_NAME) || json_str_is(json_get(root, terminal_name()), said))
		return;
	json_open(&w, '{');
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		char *name = json_cstr(m.key, &arena);
		if (name && strcmp(name, terminal_name()) != 0)
			json_kstr(&w, name, json_str(m.value, &arena));
	}
	json_kcstr(&w, terminal_name(), said);
	json_close(&w);
	buf_addf(&temporary, "%s.%d", path.p, (int)getpid());
	path.p[path.n - (sizeof "/terminals.json" - 1)] = '\0';
	(void)mkdir(path.p, 0700);
	path.p[path.n - (sizeof "/terminals.json" - 1)] = '/';
	int fd = open(temporary.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	bool written = write(fd, out.p, out.n) == (ssize_t)out.n;
	close(fd);
	if (!written || rename(temporary.p, path.p) < 0)
		(void)unlink(temporary.p);
}

void probe_start(struct tui *t)
{
	AUTO_BUF struct buf out = { 0 };
	unsigned column = t->region.at_column + 1;

	buf_addstr(&out, "\033[?u");
	if (t->osc && t->region.colour == THEME_AUTO && !getenv("COLORFGBG"))
		buf_addstr(&out, "\033]11;?\033\\");
	if (t->region.columns >= LEAST_COLUMNS && !t->draft.text.n && !t->asking && !t->page && t->region.shown_count) {
		buf_addstr(&out, "\033[?2026h");
		for (size_t i = 0; i < WIDTH_PROBES; i++)
			buf_addf(&out, "%s\033[6n\033[%uG", width_probes[i], column);
		buf_addstr(&out, "\033[K");
		region_write_again(&t->region, &out);
		buf_addstr(&out, "\033[?2026l");
		t->probes = WIDTH_PROBES;
		t->probe_column = column;
	}
	tui_write(t, out.p, out.n);
}

/* The size has changed: nothing is drawn until the terminal has told where it put the cursor. */
void probe_resize(struct tui *t)
{
	unsigned columns, rows;

	term_size(&columns, &rows);
	if (t->page || !t->region.shown_count || (t->region.at_column < columns && !t->region.rewraps_caret)) {
		tui_resize(t, REGION_COLUMN_UNKNOWN);
		return;
	}
	t->resizing = true;
	tui_write(t, "\033[6n", 4);
	tui_set_timer(t, TIMER_ANSWER, t->region.rewraps_caret ? ANSWER_TMUX_MS : ANSWER_MS);
}

/* tmux may have a size already that it tells later: its rows are not those of the size that we know. */
static void on_cursor(struct tui *t, unsigned column)
{
	unsigned columns, rows;

	term_size(&columns, &rows);
	if (t->region.rewraps_caret && t->settlings < MOST_SETTLINGS &&
	    !region_is_wrapped(&t->region, columns, column)) {
		t->settlings++;
		tui_await_size(t);
	} else {
		tui_resize(t, column);
	}
}

void probe_late(struct tui *t)
{
	if (t->resizing)
		tui_resize(t, REGION_COLUMN_UNKNOWN);
}

void probe_key(struct tui *t, const struct key *key)
{
	if (key->code == KEY_KITTY) {
		tui_set_mode(t, TERM_KITTY, true);
	} else if (key->code == KEY_LIGHT || key->code == KEY_DARK) {
		theme_set_background(key->code == KEY_LIGHT);
	} else if (t->probes) {
		unsigned answered = WIDTH_PROBES - t->probes--;
		t->answers[answered] = key->column > t->probe_column ? key->column - t->probe_column : 0;
		if (!t->probes && width_learn(t->answers)) {
			store_answers(t->answers);
			tui_changed(t);
		}
	} else if (t->resizing) {
		on_cursor(t, key->column ? key->column - 1 : 0);
	}
}
