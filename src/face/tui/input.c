/* SPDX-License-Identifier: MIT
 * input.c - what a key does at the prompt and during a turn. */
#include "face/tui/tui_int.h"
#include "face/cli/run.h"
#include "face/cli/view.h"

enum { TWICE_MS = 2000 };

static const char *const modes[] = { "default", "acceptEdits", "plan" };

static bool is_twice(int64_t *last_ms)
{
	int64_t now = tui_now_ms();
	bool twice = *last_ms && now - *last_ms < TWICE_MS;

	*last_ms = twice ? 0 : now;
	return twice;
}

static void cycle_mode(struct tui *t)
{
	size_t next = 1;
	char why[240] = "";

	for (size_t i = 0; t->mode && i < COUNT_OF(modes); i++)
		if (!strcmp(modes[i], t->mode))
			next = (i + 1) % COUNT_OF(modes);
	if (cadre_session_set(t->session, "permission-mode", modes[next], why, sizeof why) < 0) {
		tui_note(t, why);
		return;
	}
	free(t->mode);
	t->mode = next ? xstrdup(modes[next]) : NULL;
	status_refresh(t);
}

static void say_keys(struct tui *t)
{
	feed_say(
		t, LOOK_PLAIN,
		STR("enter sends . alt+enter, ctrl+j or \\ enter: a new line . up, down: history . ctrl+r searches it\n"
		    "esc interrupts a turn, twice clears the line . ctrl+c the same, twice leaves . ctrl+d leaves\n"
		    "shift+tab: default, acceptEdits, plan . ctrl+b: agents continue in the background . tab opens a question\n"
		    "ctrl+g edits in $EDITOR . ctrl+_ undoes . ctrl+a e k u w y, alt+b f d y as in readline . ctrl+z suspends\n"
		    "ctrl+o the whole conversation . ctrl+t all agents\n"
		    "/ commands . @ files . ! runs a shell command, !! without telling the model . # keeps a line in memory\n"));
}

static void enter_line(struct tui *t)
{
	AUTO_BUF struct buf text = { 0 };
	struct draft *d = &t->draft;

	if (d->cursor && d->cursor == d->text.n && d->text.p[d->cursor - 1] == '\\') {
		draft_replace(d, d->cursor - 1, d->cursor, STR("\n"));
		return;
	}
	draft_expand(d, &text);
	struct str line = str_trim(buf_str(&text));
	if (!line.n) {
		draft_clear(d);
		return;
	}
	history_load(t);
	bool marked = d->mark_count > 0; /* what was pasted is not a command */
	AUTO_BUF struct buf shown = { 0 };
	for (size_t i = 0; i < d->text.n;) {
		const char *label = draft_mark_at(d, i);
		if (label)
			buf_addf(&shown, "[%s]", label);
		else
			buf_addch(&shown, d->text.p[i]);
		i += label ? 4 : 1;
	}
	draft_add_history(d, str_trim(buf_str(&shown)));
	history_append(t, str_trim(buf_str(&shown)));
	draft_clear(d);
	menu_close(t);
	if (!marked && str_starts(line, STR("!"))) {
		bool alone = str_starts(line, STR("!!"));
		feed_prompt(t, line);
		job_shell(t, (struct str){ line.p + 1 + alone, line.n - 1 - alone }, !alone);
		return;
	}
	if (!marked && line.n > 1 && line.p[0] == '#') {
		feed_prompt(t, line);
		command_remember(t, str_trim((struct str){ line.p + 1, line.n - 1 }));
		return;
	}
	if (!marked && (str_is(line, "exit") || str_is(line, "quit") || str_is(line, ":q"))) {
		tui_leave(t, EXIT_ANSWER);
		return;
	}
	if (!marked && str_starts(line, STR("/")) && command_slash(t, line))
		return;
	if (!t->in_turn)
		feed_prompt(t, buf_str(&shown));
	tui_submit(t, line);
}

static void take_back_queued(struct tui *t)
{
	char *last = t->queue[--t->queue_count];

	draft_set(&t->draft, str_from(last));
	free(last);
}

static void move_to_background(struct tui *t)
{
	AUTO_BUF struct buf b = { 0 };
	int moved = t->in_turn ? cadre_background(t->session, NULL) : 0;

	if (moved > 0)
		buf_addf(&b, "%d agent%s in the background now", moved, moved == 1 ? " works" : "s work");
	else
		buf_addstr(&b, "no agent can be sent to the background");
	tui_note(t, b.p);
}

/* Up and Down: within the text, then the history. */
static void move_row(struct tui *t, bool up)
{
	struct draft *d = &t->draft;
	size_t start = draft_position(d, MOVE_LINE_START), column = d->cursor - start;

	if (up && start > 0) {
		d->cursor = start - 1;
		size_t above = draft_position(d, MOVE_LINE_START);
		d->cursor = MIN(above + column, start - 1);
	} else if (!up && draft_position(d, MOVE_LINE_END) < d->text.n) {
		size_t below = draft_position(d, MOVE_LINE_END) + 1;
		d->cursor = below;
		d->cursor = MIN(below + column, draft_position(d, MOVE_LINE_END));
	} else if (up && t->queue_count && !d->text.n) {
		take_back_queued(t);
	} else {
		history_load(t);
		(void)(up ? draft_older(d) : draft_newer(d));
	}
	while (d->cursor < d->text.n && ((unsigned char)d->text.p[d->cursor] & 0xc0) == 0x80)
		d->cursor++; /* not inside a character */
}

static void control_key(struct tui *t, char letter)
{
	struct draft *d = &t->draft;

	switch (letter) {
	case 'a':
		draft_move(d, MOVE_LINE_START);
		break;
	case 'b':
		if (t->in_turn)
			move_to_background(t);
		else
			draft_move(d, MOVE_LEFT);
		break;
	case 'c':
		if (t->job)
			job_cancel(t);
		else if (d->text.n)
			draft_clear(d);
		else if (t->in_turn)
			tui_interrupt(t);
		else if (is_twice(&t->interrupted_ms))
			tui_leave(t, EXIT_ANSWER);
		else
			tui_note(t, "ctrl+c again leaves");
		break;
	case 'd':
		if (d->text.n)
			draft_delete(d, MOVE_RIGHT);
		else if (t->in_turn || t->agents.running ? is_twice(&t->interrupted_ms) : true)
			tui_leave(t, EXIT_ANSWER);
		else
			tui_note(t, "agents are at work: ctrl+d again leaves");
		break;
	case 'e':
		draft_move(d, MOVE_LINE_END);
		break;
	case 'f':
		draft_move(d, MOVE_RIGHT);
		break;
	case 'g':
		job_edit_draft(t);
		break;
	case 'k':
		draft_kill(d, MOVE_LINE_END);
		break;
	case 'l': {
		AUTO_BUF struct buf b = { 0 };
		region_erase(&t->region, &b);
		cadre_write(t->out, b.p, b.n);
		break;
	}
	case 'o':
		command_show_transcript(t);
		break;
	case 't':
		page_open_agents(t);
		break;
	case 'n':
	case 'p':
		move_row(t, letter == 'p');
		break;
	case 'r':
		menu_search_history(t);
		break;
	case 'u':
		draft_kill(d, MOVE_LINE_START);
		break;
	case 'w':
		draft_kill(d, MOVE_WORD_LEFT);
		break;
	case 'y':
		draft_yank(d);
		break;
	case 'z':
		tui_suspend(t);
		break;
	case '_':
		draft_undo(d);
		break;
	default:
		break;
	}
}

static void text_key(struct tui *t, const struct key *key)
{
	struct draft *d = &t->draft;
	char c = key->text.n == 1 ? key->text.p[0] : 0;

	if (key->alt && c == 'b')
		draft_move(d, MOVE_WORD_LEFT);
	else if (key->alt && c == 'f')
		draft_move(d, MOVE_WORD_RIGHT);
	else if (key->alt && c == 'd')
		draft_kill(d, MOVE_WORD_RIGHT);
	else if (key->alt && c == 'y')
		draft_yank_older(d);
	else if (!key->alt && c == '?' && !d->text.n)
		say_keys(t);
	else if (!key->alt && !draft_type(d, key->text))
		tui_note(t, "the text is too long");
}

static void prompt_key(struct tui *t, const struct key *key)
{
	struct draft *d = &t->draft;
	bool by_word = key->ctrl || key->alt;

	switch (key->code) {
	case KEY_TEXT:
		text_key(t, key);
		break;
	case KEY_PASTE:
		if (!draft_paste(d, key->text))
			tui_note(t, "the paste is too long");
		break;
	case KEY_ENTER:
		if (key->alt || key->shift)
			(void)draft_type(d, STR("\n"));
		else
			enter_line(t);
		break;
	case KEY_TAB:
		if (key->shift)
			cycle_mode(t);
		else if (t->asks)
			ask_open(t);
		break;
	case KEY_BACKSPACE:
		if (by_word)
			draft_kill(d, MOVE_WORD_LEFT);
		else
			draft_delete(d, MOVE_LEFT);
		break;
	case KEY_DELETE:
		draft_delete(d, MOVE_RIGHT);
		break;
	case KEY_LEFT:
		draft_move(d, by_word ? MOVE_WORD_LEFT : MOVE_LEFT);
		break;
	case KEY_RIGHT:
		draft_move(d, by_word ? MOVE_WORD_RIGHT : MOVE_RIGHT);
		break;
	case KEY_HOME:
		draft_move(d, MOVE_LINE_START);
		break;
	case KEY_END:
		draft_move(d, MOVE_LINE_END);
		break;
	case KEY_UP:
	case KEY_DOWN:
		move_row(t, key->code == KEY_UP);
		break;
	case KEY_CTRL:
		control_key(t, key->letter);
		break;
	case KEY_ESC:
		if (t->in_turn)
			tui_interrupt(t);
		else if (d->text.n && is_twice(&t->esc_ms)) {
			draft_add_history(d, buf_str(&d->text));
			draft_clear(d);
		} else if (d->text.n)
			tui_note(t, "esc again clears the line");
		break;
	default:
		break;
	}
}

void input_key(struct tui *t, const struct key *key)
{
	if (key->code == KEY_FOCUS_IN || key->code == KEY_FOCUS_OUT)
		t->unfocused = key->code == KEY_FOCUS_OUT;
	if (key->code == KEY_MORE || key->code == KEY_UNKNOWN || key->code == KEY_POSITION ||
	    key->code == KEY_FOCUS_IN || key->code == KEY_FOCUS_OUT)
		return;
	if (t->page) {
		page_key(t, key);
		return;
	}
	if (ask_takes_keys(t) || (t->asking && (key->code == KEY_PAGE_UP || key->code == KEY_PAGE_DOWN))) {
		ask_key(t, key);
		return;
	}
	t->key_ms = tui_now_ms();
	tui_changed(t);
	if (t->asking) { /* it is on the screen, but not long enough: keys are for the draft, and nothing is sent */
		if (key->code == KEY_TEXT || key->code == KEY_PASTE || key->code == KEY_BACKSPACE)
			prompt_key(t, key);
		ask_consider(t);
		return;
	}
	if (t->menu && menu_key(t, key))
		return;
	size_t before = t->draft.text.n, cursor = t->draft.cursor;
	prompt_key(t, key);
	if (t->draft.text.n != before || t->draft.cursor != cursor || t->menu)
		menu_update(t);
	if (key->code == KEY_PASTE) /* a slash in it opens nothing */
		menu_close(t);
	if (t->asks && !t->asking)
		ask_consider(t);
}
