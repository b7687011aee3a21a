/* SPDX-License-Identifier: MIT
 * notice.c - what reaches a user who looks elsewhere: the terminal's title, and a notice when a long turn has ended or a question
 * waits while the terminal has no focus. Only our own sequences, around harmless text. */
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/base/utf8.h"

enum { TITLE_BYTES = 60, LONG_TURN_MS = 10000 };

static void add_harmless(struct buf *out, const char *before, struct str text, const char *after)
{
	buf_addstr(out, before);
	render_line(out, utf8_cut(text, TITLE_BYTES));
	buf_addstr(out, after);
}

static bool has_titles(const struct tui *t)
{
	const char *off = getenv("CLAUDE_CODE_DISABLE_TERMINAL_TITLE");

	return t->osc && (!off || !*off);
}

void notice_title(struct tui *t, struct str prompt)
{
	struct str first = str_trim(prompt);
	AUTO_BUF struct buf title = { 0 };

	if (!has_titles(t))
		return;
	add_harmless(&title, "\033]0;cadre: ", str_cut(&first, '\n'), "\a");
	const char *bytes = term_set_title(title.p);
	tui_write(t, bytes, strlen(bytes));
}

/* OSC 9;4 is progress for some terminals; others would take it for a notice. */
static bool has_progress(const struct tui *t)
{
	const char *program = getenv("TERM_PROGRAM"), *tmux = getenv("TMUX");
	bool shows = (program && (!strcmp(program, "ghostty") || !strcmp(program, "WezTerm"))) ||
		     getenv("WT_SESSION") || getenv("ConEmuANSI");

	return t->osc && shows && (!tmux || !*tmux);
}

unsigned notice_modes(const struct tui *t)
{
	return 1u << TERM_KITTY | 1u << TERM_FOCUS | (unsigned)has_progress(t) << TERM_PROGRESS |
	       (unsigned)has_titles(t) << TERM_TITLE;
}

/* Focus is reported while it matters: during a turn. */
void notice_turn(struct tui *t, bool runs)
{
	if (t->lines)
		return;
	t->unfocused = false;
	tui_set_mode(t, TERM_FOCUS, runs);
	if (has_progress(t))
		tui_set_mode(t, TERM_PROGRESS, runs);
}

static const struct channel {
	const char *name, *program; /* program: what TERM_PROGRAM or TERM says */
	const char *before, *after;
} channels[] = {
	{ "iterm2", "iTerm.app", "\033]9;", "\a" },
	{ "kitty", "xterm-kitty", "\033]99;;", "\033\\" },
	{ "ghostty", "ghostty", "\033]777;notify;cadre;", "\a" },
	{ "terminal_bell", "", "\a", NULL },
};

void notice_user(struct tui *t, const char *text)
{
	struct str wanted = tui_setting(t, "preferredNotifChannel");
	const char *program = getenv("TERM_PROGRAM"), *term = getenv("TERM");
	struct str name = wanted.n ? wanted : STR("auto");
	const struct channel *chosen = &channels[COUNT_OF(channels) - 1];

	if (!t->unfocused || str_is(name, "notifications_disabled"))
		return;
	for (size_t i = 0; i < COUNT_OF(channels); i++) {
		const struct channel *c = &channels[i];
		if (str_is(name, c->name) ||
		    (str_is(name, "auto") && c->program[0] &&
		     ((program && !strcmp(program, c->program)) || (term && !strcmp(term, c->program)))))
			chosen = c;
	}
	AUTO_BUF struct buf notice = { 0 };
	if (chosen->after)
		add_harmless(&notice, chosen->before, str_from(text), chosen->after);
	else
		buf_addch(&notice, '\a');
	tui_write(t, notice.p, notice.n);
}

void notice_turn_end(struct tui *t)
{
	if (tui_now_ms() - t->turn_ms >= LONG_TURN_MS)
		notice_user(t, "the turn has ended");
	notice_turn(t, false);
}
