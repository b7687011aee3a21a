/* SPDX-License-Identifier: MIT
 * edit.c - libedit, loaded on demand through the names of its readline interface. */
#include "cli/edit.h"
#include <langinfo.h>
#include <locale.h>
#include <editline/readline.h>
#include "base/buf.h"
#include "base/library.h"

enum { HISTORY_LINES = 500 };

/* What is used of libedit; types come from its header, addresses from the loaded library. */
static struct {
	__typeof__(rl_callback_handler_install) *install;
	__typeof__(rl_callback_handler_remove) *remove;
	__typeof__(rl_callback_read_char) *read_char;
	__typeof__(rl_insert_text) *insert_text;
	__typeof__(rl_forced_update_display) *update_display;
	__typeof__(rl_resize_terminal) *resize;
	__typeof__(add_history) *add_history;
	__typeof__(stifle_history) *stifle_history;
	__typeof__(using_history) *using_history;
	int *catch_signals;
	char **line_buffer;
} lib;

#define SYMBOL(name, member)                             \
	{                                                \
#name, offsetof(__typeof__(lib), member) \
	}
static const struct library_symbol symbols[] = {
	SYMBOL(rl_callback_handler_install, install),
	SYMBOL(rl_callback_handler_remove, remove),
	SYMBOL(rl_callback_read_char, read_char),
	SYMBOL(rl_insert_text, insert_text),
	SYMBOL(rl_forced_update_display, update_display),
	SYMBOL(rl_resize_terminal, resize),
	SYMBOL(add_history, add_history),
	SYMBOL(stifle_history, stifle_history),
	SYMBOL(using_history, using_history),
	SYMBOL(rl_catch_signals, catch_signals),
	SYMBOL(rl_line_buffer, line_buffer),
};

/* Debian counts its own versions of the same interface. */
static const char *const files[] = { "libedit.so.2", "libedit.so.0", NULL };
static const struct library libedit = { files, "libedit2", symbols, COUNT_OF(symbols) };

static struct {
	edit_line_fn *done;
	void *data;
	bool shown;
	bool touched;     /* a key was read since it is shown; before, libedit's buffer is that of the line before */
	struct buf typed; /* kept over edit_hide() */
} line;

/* libedit decodes what is typed by the locale; in the C locale every letter outside ASCII would be lost. */
static void want_utf8(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

int edit_load(struct err *err)
{
	if (library_load(&libedit, &lib, err) < 0)
		return err_wrap(err, "cannot load the line editor");
	want_utf8();
	*lib.catch_signals = 0; /* signals come through the loop */
	lib.using_history();
	lib.stifle_history(HISTORY_LINES);
	return 0;
}

static void on_line(char *text)
{
	AUTO_FREE char *owned = text;

	lib.remove();
	line.shown = false;
	buf_clear(&line.typed);
	line.done(owned, line.data);
}

void edit_show(const char *prompt, edit_line_fn *done, void *data)
{
	line.done = done;
	line.data = data;
	line.shown = true;
	line.touched = false;
	lib.install(prompt, on_line);
	if (line.typed.n) {
		lib.insert_text(line.typed.p);
		lib.update_display();
	}
}

/* The shown line will be shown again below what comes now; twice would be once too much. */
static void wipe(void)
{
	const char *term = getenv("TERM");

	fputs(!term || !strcmp(term, "dumb") ? "\n" : "\r\033[K", stdout);
	fflush(stdout);
}

void edit_hide(void)
{
	if (!line.shown)
		return;
	if (line.touched) {
		buf_clear(&line.typed);
		buf_addstr(&line.typed, *lib.line_buffer ? *lib.line_buffer : "");
	}
	lib.remove();
	line.shown = false;
	wipe();
}

void edit_forget(void)
{
	if (line.shown)
		lib.remove();
	line.shown = false;
	buf_clear(&line.typed);
}

void edit_read(void)
{
	line.touched = true;
	lib.read_char();
}

void edit_resize(void)
{
	if (line.shown)
		lib.resize();
}

void edit_add_history(const char *text)
{
	(void)lib.add_history(text);
}
