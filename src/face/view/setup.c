/* SPDX-License-Identifier: MIT
 * setup.c - what is set up around a session: its log and timeline, the status line, the keys of the terminal. */
#include <stdlib.h>
#include <sys/stat.h>
#include "face/screen/term.h"
#include "face/tui/state.h"

/* The debug log, or a timeline, from now on and for this session */
void command_observe(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf path = { 0 }, said = { 0 };
	AUTO_FREE char *given = xstrndup(rest.p, rest.n);
	bool traces = !strcmp(slash->name, "trace"), *observed = traces ? &t->traced : &t->debugged;
	char why[240] = "", name[80];

	snprintf(name, sizeof name, "cadre/%s-%.8s.%s", slash->name, cadre_session_id(t->session),
		 traces ? "json" : "log");
	if (*observed) {
		tui_note(t, traces ? "the timeline is being written" : "the log is being written");
		return;
	}
	if (traces && rest.n)
		buf_add(&path, rest.p, rest.n);
	else if (tui_config_path(&path, "cadre"))
		(void)mkdir(path.p, 0700), buf_clear(&path), (void)tui_config_path(&path, name);
	if (!traces && cadre_set(t->c, "debug", given, why, sizeof why) < 0) {
		feed_words(t, LOOK_RED, str_from(why));
		return;
	}
	*observed = path.n && cadre_set(t->c, traces ? "trace" : "debug-file", path.p, why, sizeof why) == CADRE_OK;
	buf_addf(&said, "the %s goes into %s", traces ? "timeline" : "log", path.n ? path.p : "");
	feed_words(t, *observed ? LOOK_DIM : LOOK_RED, *observed ? buf_str(&said) : str_from(why));
}

/* How Shift-Enter comes to be told apart from Enter on this terminal */
void command_terminal_setup(struct tui *t, const struct slash *slash, struct str rest)
{
	const char *program = getenv("TERM_PROGRAM"), *tmux = getenv("TMUX");

	if (term_has(TERM_KITTY))
		feed_say(t, LOOK_PLAIN, STR("Shift-Enter makes a new line here: the terminal has kitty's keys."));
	else if (tmux && *tmux)
		feed_say(t, LOOK_PLAIN, STR("tmux does not tell Shift-Enter apart from Enter. In tmux.conf:"));
	else
		feed_say(t, LOOK_PLAIN,
			 STR("This terminal does not tell Shift-Enter apart from Enter. Map it to ESC Enter:"));
	if (!term_has(TERM_KITTY))
		feed_foreign(
			t, LOOK_PLAIN,
			tmux && *tmux ? STR("bind-key -n S-Enter send-keys Escape Enter")
			: program && !strcmp(program, "vscode")
				? STR("{\"key\": \"shift+enter\", \"command\": \"workbench.action.terminal.sendSequence\", "
				      "\"args\": {\"text\": \"\\u001b\\r\"}, \"when\": \"terminalFocus\"}  "
				      "(keybindings.json of VS Code)")
				: STR("a key binding of the terminal: Shift-Enter sends \\e\\r"));
	feed_say(t, LOOK_DIM,
		 STR("Without it: \\ Enter, Alt-Enter or Ctrl-J. /doctor checks the rest of the terminal."));
}

/* The checks of `cadre doctor`, and one that only this view can make, as a line of the same form */
void command_doctor(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	if (t->status_problem.n) {
		buf_addf(&b, "BAD   %-14s %s: " STR_FMT, "status line", t->status_problem.p,
			 STR_ARG(tui_setting(t, "statusLine.command")));
		feed_foreign(t, LOOK_PLAIN, buf_str(&b));
	}
	job_cadre(t, "doctor", STR(""), NULL);
}

void command_statusline(struct tui *t, const struct slash *slash, struct str rest)
{
	size_t n = 0;
	const char *now = cadre_session_setting(t->session, "statusLine", &n);

	feed_foreign(t, LOOK_PLAIN, now ? (struct str){ now, n } : STR("statusLine is not set"));
	feed_say(
		t, LOOK_DIM,
		STR("{\"statusLine\": {\"type\": \"command\", \"command\": \"...\"}} in settings.json: docs/terminal.md\n"));
	status_refresh(t);
}
