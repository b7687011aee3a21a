/* SPDX-License-Identifier: MIT
 * notice.c - what reaches a user who looks elsewhere: the terminal's title, and a notice when a long turn has ended or a question
 * waits while the terminal has no focus. Only our own sequences, around harmless text. */
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/base/utf8.h"

enum { TITLE_BYTES = 60, LONG_TURN_MS = 10000 };

static void write_harmless(struct tui *t, const char *before, struct str text, const char *after)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addstr(&b, before);
	render_line(&b, utf8_cut(text, TITLE_BYTES));
	buf_addstr(&b, after);
	cadre_write(t->out, b.p, b.n);
}

void notice_title(struct tui *t, struct str prompt)
{
	const char *off = getenv("CLAUDE_CODE_DISABLE_TERMINAL_TITLE");
	struct str first = str_trim(prompt);

	if (t->osc && (!off || !*off))
		write_harmless(t, "\033]0;cadre: ", str_cut(&first, '\n'), "\a");
}

/* Focus is reported while it matters: during a turn. */
void notice_turn(struct tui *t, bool runs)
{
	if (t->lines)
		return;
	t->unfocused = false;
	cadre_write(t->out, runs ? "\033[?1004h" : "\033[?1004l", 8);
	/* OSC 9;4 is progress for some terminals; others would take it for a notice */
	const char *program = getenv("TERM_PROGRAM"), *tmux = getenv("TMUX");
	bool shows = (program && (!strcmp(program, "ghostty") || !strcmp(program, "WezTerm"))) ||
		     getenv("WT_SESSION") || getenv("ConEmuANSI");
	if (t->osc && shows && (!tmux || !*tmux))
		cadre_write(t->out, runs ? "\033]9;4;3\a" : "\033]9;4;0\a", 9);
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
	if (chosen->after)
		write_harmless(t, chosen->before, str_from(text), chosen->after);
	else
		cadre_write(t->out, "\a", 1);
}

void notice_turn_end(struct tui *t)
{
	if (tui_now_ms() - t->turn_ms >= LONG_TURN_MS)
		notice_user(t, "the turn has ended");
	notice_turn(t, false);
}
