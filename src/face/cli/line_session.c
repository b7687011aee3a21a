/* SPDX-License-Identifier: MIT
 * line_session.c - the session at the terminal, and how another one takes its place. Each has a runtime of its
 * own: what chose the first session (--resume, --session-id ...) holds for a runtime as long as it lives. */
#include "face/cli/configure.h"
#include "face/cli/line_int.h"

static int choose(struct line *l, struct cadre *c, struct err *err)
{
	switch (l->wanted) {
	case LINE_OLD:
		return configure_set(c, "resume", l->wanted_id, err);
	case LINE_LATEST:
		return configure_set(c, "continue", "", err);
	case LINE_FIRST:
	case LINE_NEW:
		break;
	}
	return 0;
}

static int open_in(struct line *l, struct cadre *c, struct cadre_session **ret_session, struct err *err)
{
	char why[sizeof err->text] = "";
	int rc = choose(l, c, err);

	if (rc < 0)
		return rc;
	rc = cadre_open(c, line_on_event, l, ret_session, why, sizeof why);
	return rc < 0 ? err_set(err, (enum err_kind) - rc, "%s", why) : 0;
}

int line_open(struct line *l, struct err *err)
{
	unsigned flags = CONFIGURE_INTERACTIVE | (l->wanted == LINE_FIRST ? 0 : CONFIGURE_FRESH);
	struct cadre_session *session;
	struct cadre *c;

	int rc = configure_runtime(l->args, flags, &c, err);
	if (rc < 0)
		return rc;
	rc = open_in(l, c, &session, err);
	if (rc < 0) {
		cadre_free(c);
		return rc;
	}
	line_watch_signals(l, c); /* before the old runtime goes: in between Ctrl-C would end the program */
	if (l->c) {
		view_move(&l->view, c);
		line_close(l);
	}
	l->c = c;
	l->session = session;
	l->worked = false;
	return 0;
}

void line_close(struct line *l)
{
	cadre_close(l->session);
	cadre_free(l->c);
	l->session = NULL;
	l->c = NULL;
}
