/* SPDX-License-Identifier: MIT
 * edit.c - the input line and the terminal. */
#include "face/cli/edit.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include "face/cli/view.h"

enum { ESC_MS = 100 /* a sequence comes faster */, CHUNK_BYTES = 4096 /* a terminal gives no more */ };

#define PASTE_ON  "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

void edit_init(struct edit *e)
{
	*e = (struct edit){ 0 };
	screen_init(&e->screen);
	e->screen.dumb = e->screen.dumb || view_is_for_reader();
	/* Widths are asked of the locale; that of C has none for letters outside ASCII. */
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

void edit_release(struct edit *e)
{
	edit_leave(e);
	editor_release(&e->draft);
	editor_release(&e->answer);
	screen_release(&e->screen);
	buf_release(&e->prompt);
	buf_release(&e->unread);
}

static struct editor *edit_text(struct edit *e)
{
	return e->kind == EDIT_ANSWER ? &e->answer : &e->draft;
}

/* ---- the terminal ------------------------------------------------------------------------------------ */

/* A terminal that is gone is seen by the next read. */
static void edit_write(struct str s)
{
	while (s.n) {
		ssize_t n = write(STDOUT_FILENO, s.p, s.n);
		struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
		if (n > 0)
			s = (struct str){ s.p + n, s.n - (size_t)n };
		else if (errno == EAGAIN)
			(void)poll(&p, 1, -1);
		else if (errno != EINTR)
			return;
	}
}

/* Signals of keys (Ctrl-C, Ctrl-Z, Ctrl-\) and the terminal's own way with line ends of the output stay. */
static void edit_take_terminal(struct edit *e)
{
	if (e->raw || tcgetattr(STDIN_FILENO, &e->outside) < 0)
		return;
	struct termios t = e->outside;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	t.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | ISTRIP);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	e->raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0; /* what was typed already is not lost */
	if (!e->screen.dumb)
		edit_write(STR(PASTE_ON));
}

static void edit_return_terminal(struct edit *e)
{
	if (!e->raw)
		return;
	if (!e->screen.dumb)
		edit_write(STR(PASTE_OFF));
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &e->outside);
	e->raw = false;
}

static void edit_draw(struct edit *e)
{
	const struct editor *text = edit_text(e);
	AUTO_BUF struct buf out = { 0 };

	screen_draw(&e->screen, buf_str(&e->prompt), buf_str(&text->text), text->cursor, &out);
	edit_write(buf_str(&out));
}

static void edit_erase(struct edit *e)
{
	AUTO_BUF struct buf out = { 0 };

	screen_erase(&e->screen, &out);
	edit_write(buf_str(&out));
}

/* ---- shown and hidden -------------------------------------------------------------------------------- */

void edit_show(struct edit *e, enum edit_kind kind, const char *prompt, edit_line_fn *done, void *data)
{
	struct winsize size = { 0 };

	e->kind = kind;
	e->done = done;
	e->data = data;
	e->shown = true;
	e->full_said = false;
	buf_clear(&e->prompt);
	buf_addstr(&e->prompt, prompt);
	if (kind == EDIT_ANSWER)
		editor_clear(&e->answer);
	edit_take_terminal(e);
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	screen_set_size(&e->screen, size.ws_col, size.ws_row);
	edit_draw(e);
}

void edit_hide(struct edit *e)
{
	struct buf *text = &e->draft.text;

	if (!e->shown)
		return;
	e->shown = false;
	edit_erase(e);
	/* Enter that was typed while the draft waited separates lines, if there are any behind it. */
	for (; e->held_line_ends && text->n && text->p[text->n - 1] == '\n'; e->held_line_ends--)
		text->p[--text->n] = '\0';
	e->held_line_ends = 0;
	e->draft.cursor = MIN(e->draft.cursor, text->n);
}

void edit_leave(struct edit *e)
{
	edit_hide(e);
	edit_return_terminal(e);
}

void edit_resize(struct edit *e)
{
	struct winsize size = { 0 };
	AUTO_BUF struct buf out = { 0 };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	if (!e->shown || !size.ws_col || (size.ws_col == e->screen.columns && size.ws_row == e->screen.window_rows))
		return;
	screen_resize(&e->screen, size.ws_col, size.ws_row, &out);
	edit_write(buf_str(&out));
	edit_draw(e);
}

void edit_suspend(struct edit *e)
{
	edit_erase(e);
	edit_return_terminal(e);
}

/* Also behind a SIGSTOP, which gave no time for edit_suspend(): what the shell set is undone, and the line is drawn where the
 * cursor is now. */
void edit_resume(struct edit *e)
{
	AUTO_BUF struct buf out = { 0 };

	if (!e->shown)
		return;
	edit_return_terminal(e);
	edit_take_terminal(e);
	screen_erase(&e->screen, &out); /* only forgets: what it would write is about another place */
	edit_write(e->screen.dumb ? STR("\r\n") : STR("\r\033[J"));
	edit_draw(e);
}

/* ---- what is typed ----------------------------------------------------------------------------------- */

int64_t edit_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void edit_read_kept(struct edit *e)
{
	while (e->shown && e->unread.n) {
		struct editor *text = edit_text(e);
		AUTO_BUF struct buf out = { 0 };
		enum editor_event event;
		buf_drop(&e->unread, editor_feed(text, e->unread.p, e->unread.n, &event));
		bool over = event == EDITOR_ENTER || event == EDITOR_END;
		if (over && e->kind != EDIT_WAITING) {
			screen_finish(&e->screen, buf_str(&e->prompt), buf_str(&text->text), &out);
			edit_write(buf_str(&out));
			e->shown = false;
			AUTO_FREE char *line = buf_take(&text->text, NULL);
			editor_clear(text);
			e->done(event == EDITOR_END ? NULL : line, e->data); /* may show e again, or free it */
			return;
		}
		if (event == EDITOR_ENTER && e->draft.text.n) {
			e->draft.cursor = e->draft.text.n;
			e->held_line_ends += editor_insert(&e->draft, STR("\n"));
		} else if (event == EDITOR_FULL) {
			if (!e->full_said) {
				screen_erase(&e->screen, &out);
				buf_addf(
					&out,
					"That does not fit: the input line holds %d MB. Name a file in the prompt instead.\r\n",
					EDITOR_LIMIT_BYTES >> 20);
			}
			buf_addch(&out, '\a');
			edit_write(buf_str(&out));
			e->full_said = true;
		} else if (event == EDITOR_REDRAW) {
			edit_erase(e);
		}
	}
	if (e->shown)
		edit_draw(e);
}

bool edit_read(struct edit *e)
{
	int64_t now = edit_now_ms();

	buf_reserve(&e->unread, CHUNK_BYTES);
	ssize_t n = read(STDIN_FILENO, e->unread.p + e->unread.n, CHUNK_BYTES);
	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	if (now - e->read_ms > ESC_MS)
		editor_settle(edit_text(e));
	e->read_ms = now;
	e->unread.n += (size_t)n;
	edit_resize(e); /* the signal may come behind the key */
	edit_read_kept(e);
	return true;
}
