/* SPDX-License-Identifier: MIT
 * line_key.c - Ctrl-B while a turn runs: agents that are waited for go on in the background. Nobody reads the terminal then,
 * so that what is typed ahead stays there; the terminal itself makes a signal of the key, its quit key for that time. */
#include <signal.h>
#include <termios.h>
#include "lib/base/buf.h"
#include "face/cli/line_int.h"
#include "face/cli/run.h"

enum { CTRL_B = 2 };

/* False: it is no terminal, or it is gone. */
static bool set_quit_key(cc_t key, cc_t *ret_old)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &t) < 0)
		return false;
	*ret_old = t.c_cc[VQUIT];
	t.c_cc[VQUIT] = key;
	return tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
}

void line_bind_key(struct line *l)
{
	if (!l->key_bound)
		l->key_bound = set_quit_key(CTRL_B, &l->quit_key);
}

void line_unbind_key(struct line *l)
{
	cc_t key;

	if (l->key_bound)
		(void)set_quit_key(l->quit_key, &key);
	l->key_bound = false;
}

static void on_quit(struct cadre *c, int signal, void *data)
{
	struct line *l = data;
	AUTO_BUF struct buf b = { 0 };

	if (l->state != LINE_WORKING) {
		line_leave(l, EXIT_SIGNAL + signal);
		return;
	}
	int moved = cadre_background(l->session, NULL);
	if (moved > 0)
		buf_addf(&b, "%d %s in the background now.", moved, moved == 1 ? "agent works" : "agents work");
	else
		buf_addstr(&b, "There is no agent to send to the background.");
	line_say(l, b.p);
}

void line_watch_key(struct line *l, struct cadre *c)
{
	(void)cadre_watch_signal(c, SIGQUIT, on_quit, l);
}
