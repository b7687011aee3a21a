/* SPDX-License-Identifier: MIT
 * input.c - what a key does at the prompt and during a turn. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include "face/tui/tui.h"
#include "face/tui/ask.h"
#include "face/tui/state.h"
#include "face/cli/run.h"
#include "face/cli/view.h"
#include "lib/json/json.h"

enum { TWICE_MS = 2000, BURST_MS = 30, CHAT = 1 << CONTEXT_GLOBAL | 1 << CONTEXT_CHAT | 1 << CONTEXT_TASK };

static const char *const modes[] = { "default", "acceptEdits", "plan", "auto", "bypassPermissions" };

bool input_is_twice(struct tui *t, const char *what)
{
	int64_t now = tui_now_ms();
	bool twice = !strcmp(t->again, what) && now - t->again_ms < TWICE_MS && t->key_count - t->again_key <= 1;

	snprintf(t->again, sizeof t->again, "%s", twice ? "" : what);
	t->again_ms = now;
	t->again_key = t->key_count;
	return twice;
}

/* The next mode that the session may be in */
static void cycle_mode(struct tui *t)
{
	size_t next = 0;
	char why[240] = "";

	for (size_t i = 0; i < COUNT_OF(modes); i++)
		if (!strcmp(modes[i], cadre_session_mode(t->session)))
			next = i;
	for (size_t tries = 0; tries < COUNT_OF(modes); tries++) {
		next = (next + 1) % COUNT_OF(modes);
		if (cadre_session_set(t->session, "permission-mode", modes[next], why, sizeof why) < 0)
			continue;
		status_refresh(t);
		return;
	}
	tui_note(t, why);
}

static void say_keys(struct tui *t)
{
	AUTO_BUF struct buf b = { 0 }, lines = { 0 };

	keymap_add_help(&t->keymap, &lines);
	for (struct str rest = buf_str(&lines), words; rest.n;) {
		words = str_cut(&rest, '\n');
		struct str keys = str_cut(&words, '\t');
		show_pair(t, &b, keys, 32, words);
	}
	feed_foreign(t, LOOK_PLAIN, buf_str(&b));
	feed_say(
		t, LOOK_PLAIN,
		STR("/ commands . @ files . ! runs a shell command, !! without telling the model . # keeps a line in memory\n"));
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
	if (plain_choose(t, line) || !line.n) {
		draft_clear(d);
		return;
	}
	history_load(t);
	AUTO_BUF struct buf shown = { 0 }, kept = { 0 };
	draft_show(d, buf_str(&d->text), &shown);
	buf_clear(&t->attached);
	draft_blocks(d, &t->attached);
	draft_add_history(d, str_trim(buf_str(&d->text)));
	history_append(t, str_trim(buf_str(&d->text)));
	draft_keep(d, &kept);
	struct str typed = str_trim(buf_str(&kept)); /* what was pasted is not a command, but can be its argument */
	vim_reset(&t->vim, d);
	menu_close(t);
	if (str_starts(typed, STR("!"))) {
		bool alone = str_starts(line, STR("!!"));
		feed_prompt(t, line);
		job_shell(t, (struct str){ line.p + 1 + alone, line.n - 1 - alone }, !alone);
		return;
	}
	if (typed.n > 1 && typed.p[0] == '#') {
		feed_prompt(t, line);
		command_remember(t, str_trim((struct str){ line.p + 1, line.n - 1 }));
		return;
	}
	if (str_is(typed, "exit") || str_is(typed, "quit") || str_is(typed, ":q")) {
		tui_leave(t, EXIT_ANSWER);
		return;
	}
	if (str_starts(typed, STR("/")) && command_slash(t, line))
		return;
	if (str_starts(typed, STR("@")) && command_address(t, line))
		return;
	if (!t->in_turn)
		feed_prompt(t, buf_str(&shown));
	size_t queued = t->queue_count;
	tui_submit(t, line);
	if (t->queue_count > queued) {
		t->queue[queued].draft = kept;
		kept = (struct buf){ 0 };
	}
}

/* At the prompt its key is a letter to the left */
static void move_to_background(struct tui *t)
{
	AUTO_BUF struct buf b = { 0 };

	if (!t->in_turn) {
		draft_move(&t->draft, MOVE_LEFT);
		return;
	}
	int moved = cadre_background(t->session, NULL);

	if (moved > 0)
		buf_addf(&b, "%d agent%s in the background now", moved, moved == 1 ? " works" : "s work");
	else
		buf_addstr(&b, "no agent can be sent to the background");
	tui_note(t, b.p);
}

/* Above the first row and below the last one */
static void leave_rows(struct tui *t, bool up)
{
	struct draft *d = &t->draft;

	if (up && t->queue_count && !d->text.n) {
		CLEANUP(tui_queued_release) struct queued last = t->queue[--t->queue_count];
		if (last.draft.n)
			draft_bring(d, &last.draft);
		else
			draft_set(d, str_from(last.text));
	} else {
		history_load(t);
		if (!(up ? draft_older(d) : draft_newer(d)) && !up && agents_shown(&t->agents, 0, tui_now_ms()))
			t->agent_focus = 1;
	}
}

static void redraw(struct tui *t)
{
	AUTO_BUF struct buf b = { 0 };

	region_erase(&t->region, &b);
	buf_addstr(&b, t->typed.n ? "\r\n" : "");
	buf_clear(&t->typed);
	tui_write(t, buf_str(&b).p, b.n);
	tui_changed(t);
}

static void interrupt(struct tui *t)
{
	struct draft *d = &t->draft;
	bool idle = !t->job && !t->in_turn && !d->text.n;

	if ((idle || t->lines) && input_is_twice(t, "leave")) {
		tui_leave(t, t->lines ? EXIT_SIGNAL + SIGINT : EXIT_ANSWER);
	} else if (t->job) {
		job_cancel(t);
	} else if (t->in_turn) { /* what is typed stays */
		tui_interrupt(t);
	} else {
		if (d->text.n) {
			draft_clear(d);
			vim_reset(&t->vim, d);
		}
		if (idle || t->lines)
			tui_note(t, "ctrl+c again leaves");
	}
}

static void cancel(struct tui *t)
{
	struct draft *d = &t->draft;

	if (t->in_turn) {
		tui_interrupt(t);
	} else if (!input_is_twice(t, "clear")) {
		tui_note(t, d->text.n ? "esc again clears the line" : "esc again: points to rewind to");
	} else if (d->text.n) {
		draft_add_history(d, buf_str(&d->text));
		draft_clear(d);
		vim_reset(&t->vim, d);
	} else {
		(void)command_slash(t, STR("/rewind"));
	}
}

/* Before what is queued already, and the turn ends for it */
static void submit_now(struct tui *t)
{
	size_t queued = t->queue_count;

	enter_line(t);
	if (t->queue_count <= queued)
		return;
	struct queued last = t->queue[queued];
	memmove(t->queue + 1, t->queue, queued * sizeof *t->queue);
	t->queue[0] = last;
	tui_interrupt(t);
}

static void toggle_thinking(struct tui *t)
{
	char why[240] = "";
	bool off = !t->thinks_not;

	if (cadre_session_set(t->session, "max-thinking-tokens", off ? "0" : NULL, why, sizeof why) < 0) {
		tui_note(t, why);
		return;
	}
	t->thinks_not = off;
	tui_note(t, off ? "thinking is off, from the next request on" : "thinking is on, from the next request on");
}

static void stop_result(struct tui *t, struct str output, bool ok)
{
	struct str rest = str_trim(output), line = str_cut(&rest, '\n');
	AUTO_FREE char *text = xstrndup(line.p, line.n);

	tui_note(t, ok ? "stopped" : text);
}

static void kill_agents(struct tui *t)
{
	AUTO_BUF struct buf words = { 0 };

	if (!t->agents.running) {
		tui_note(t, "no agent runs");
	} else if (!input_is_twice(t, "stop all")) {
		tui_note(t, "the same keys again stop all agents");
	} else {
		buf_addf(&words, "--session %s", cadre_session_id(t->session));
		job_cadre(t, "stop --all", buf_str(&words), stop_result);
	}
}

bool input_edit(struct tui *t, struct draft *d, const struct key *key)
{
	enum action action = ACTION_SUBMIT;

	if (key->code == KEY_PASTE)
		return draft_paste(d, key->text);
	if (key->code == KEY_TEXT && !key->alt)
		return draft_type(d, key->text);
	return keymap_find(&t->keymap, CHAT, key, &action) == KEYMAP_ACTION && draft_edit(d, action, t->readline);
}

static void exit_or_delete(struct tui *t)
{
	if (t->draft.text.n)
		draft_delete(&t->draft, MOVE_RIGHT);
	else if ((t->lines && !t->in_turn) || input_is_twice(t, "leave"))
		tui_leave(t, EXIT_ANSWER);
	else
		tui_note(t, t->agents.running ? "agents are at work: ctrl+d again leaves, --resume continues them"
					      : "ctrl+d again leaves");
}

/* What was pasted, beside its mark; else the conversation */
static void show_all(struct tui *t)
{
	size_t at = t->draft.cursor;
	struct str pasted = draft_mark_text(&t->draft, at);

	if (!pasted.n && at >= 4)
		pasted = draft_mark_text(&t->draft, at - 4);
	if (pasted.n)
		page_open_text(t, "Pasted", pasted);
	else
		command_show_transcript(t);
}

static void toggle_todos(struct tui *t)
{
	if (t->todo_count)
		t->todo_open = !t->todo_open;
	else
		page_open_agents(t);
}

static void stash(struct tui *t)
{
	if (!draft_stash(&t->draft))
		tui_note(t, "there is no text");
	else if (!t->draft.text.n)
		tui_note(t, "the text is put aside; the same key brings it back");
}

static void move_row(struct tui *t, bool up)
{
	unsigned indent = cells_width(str_from(tui_mark(t, MARK_PROMPT))) + 1;

	if (!draft_move_row(&t->draft, up, indent, t->region.columns - 1))
		leave_rows(t, up);
}

static void row_up(struct tui *t)
{
	move_row(t, true);
}

static void row_down(struct tui *t)
{
	move_row(t, false);
}

static void complete(struct tui *t)
{
	if (!t->lines || !menu_complete(t))
		ask_open(t);
}

static void choose_model(struct tui *t)
{
	(void)command_slash(t, STR("/model"));
}

void input_action(struct tui *t, enum action action)
{
	static void (*const actions[ACTION_COUNT])(struct tui * t) = {
		[ACTION_SUBMIT] = enter_line,
		[ACTION_SUBMIT_NOW] = submit_now,
		[ACTION_CANCEL] = cancel,
		[ACTION_INTERRUPT] = interrupt,
		[ACTION_EXIT] = exit_or_delete,
		[ACTION_PREVIOUS] = row_up,
		[ACTION_NEXT] = row_down,
		[ACTION_SEARCH] = menu_search_history,
		[ACTION_COMPLETE] = complete,
		[ACTION_CYCLE_MODE] = cycle_mode,
		[ACTION_MODEL] = choose_model,
		[ACTION_THINKING] = toggle_thinking,
		[ACTION_TRANSCRIPT] = show_all,
		[ACTION_TODOS] = toggle_todos,
		[ACTION_AGENTS] = page_open_agents,
		[ACTION_KILL_AGENTS] = kill_agents,
		[ACTION_BACKGROUND] = move_to_background,
		[ACTION_STASH] = stash,
		[ACTION_EDITOR] = job_edit_draft,
		[ACTION_IMAGE] = attach_clipboard,
		[ACTION_REDRAW] = redraw,
		[ACTION_SUSPEND] = tui_suspend,
		[ACTION_KEYS] = say_keys,
	};

	if (actions[action])
		actions[action](t);
	else
		(void)draft_edit(&t->draft, action, t->readline);
}

static void show_log(struct tui *t, struct str output, bool ok)
{
	page_open_text(t, "Agent", output);
}

/* false: not for them; the key is for the line again */
static bool agents_key(struct tui *t, const struct key *key)
{
	const struct agent_row *r = agents_shown(&t->agents, t->agent_focus - 1, tui_now_ms());
	enum action action;

	if (!r || keymap_find(&t->keymap, 1u << CONTEXT_FOOTER, key, &action) != KEYMAP_ACTION) {
		t->agent_focus = 0;
		return !r && key->code != KEY_TEXT;
	}
	if (action == ACTION_AGENT_UP)
		t->agent_focus--;
	else if (action == ACTION_AGENT_DOWN && agents_shown(&t->agents, t->agent_focus, tui_now_ms()))
		t->agent_focus++;
	else if (action == ACTION_AGENT_LEAVE)
		t->agent_focus = 0;
	else if (action == ACTION_AGENT_OPEN)
		job_cadre(t, "logs", str_from(r->id), show_log);
	else if (action == ACTION_AGENT_STOP)
		roster_stop(t, r);
	return true;
}

static void prompt_key(struct tui *t, const struct key *key)
{
	struct draft *d = &t->draft;
	buf_clear(&t->note); /* it was read: the row is for what the key does */
	enum vim_result by_vim = t->keymap.pending[0] ? VIM_OTHER : vim_key(&t->vim, d, key);
	enum action action;

	if (by_vim == VIM_ABOVE || by_vim == VIM_BELOW)
		leave_rows(t, by_vim == VIM_ABOVE);
	else if (by_vim == VIM_SEARCH)
		menu_search_history(t);
	if (by_vim != VIM_OTHER)
		return;
	if (key->code == KEY_PASTE) {
		if (t->keys.paste_cut || (!attach_paths(t, key->text) && !draft_paste(d, key->text)))
			tui_note(t, "the paste is too long");
		return;
	}
	enum keymap_found found = keymap_find(&t->keymap, CHAT, key, &action);
	if (found == KEYMAP_ACTION && !(action == ACTION_KEYS && d->text.n))
		input_action(t, action);
	else if (found == KEYMAP_MORE)
		tui_note(t, t->keymap.pending);
	else if (found != KEYMAP_DROP && key->code == KEY_TEXT && !key->alt && !draft_type(d, key->text))
		tui_note(t, "the text is too long");
}

/* Letters that came in one read, one after the other, where each may be a key of its own: q closes a view, the rest is text. False:
 * they are text. */
static bool input_letters(struct tui *t, const struct key *key)
{
	bool keys = t->page || ask_takes_keys(t) || t->agent_focus || t->keymap.pending[0];
	struct str text = key->text;
	unsigned width;

	if (key->code != KEY_TEXT || !keys || t->lines || text.n < 2 || cells_next(text, 0, &width) >= text.n)
		return false;
	for (size_t at = 0, end; at < text.n; at = end) {
		end = cells_next(text, at, &width);
		struct key one = *key;
		one.text = (struct str){ text.p + at, end - at };
		input_key(t, &one);
	}
	return true;
}

void input_key(struct tui *t, const struct key *pressed)
{
	struct key translated = *pressed;
	const struct key *key = &translated;

	if (input_letters(t, pressed))
		return;
	if (t->lines && key->code == KEY_ENTER && !key->alt)
		translated.shift = false; /* a line feed: typed before the terminal was ours */
	if (key->code == KEY_FOCUS_IN || key->code == KEY_FOCUS_OUT)
		t->unfocused = key->code == KEY_FOCUS_OUT;
	if (key->code == KEY_POSITION || key->code == KEY_KITTY || key->code == KEY_LIGHT || key->code == KEY_DARK)
		probe_key(t, key);
	else if (key->code == KEY_CLIPBOARD && !t->page && !t->asking)
		attach_clipboard_bytes(t, key->text);
	if (key->code == KEY_MORE || key->code >= KEY_FOCUS_IN)
		return;
	t->key_count += !t->keymap.pending[0]; /* strokes of a chord are one key */
	bool viewed = t->page && !t->lines, asked = !viewed && ask_takes_keys(t);
	if (key->code == KEY_CTRL && key->letter == 'z' && (viewed || (t->asking && !t->lines))) {
		tui_suspend(t);
		return;
	}
	if (viewed) {
		if (keymap_translate(&t->keymap, 1u << CONTEXT_TRANSCRIPT | 1u << CONTEXT_SELECT, &translated))
			page_key(t, key);
		return;
	}
	if (asked && key->code == KEY_PASTE && !t->asks->in_words && !t->asks->form) {
		prompt_key(t, key);
		tui_note(t, "what was pasted waits in the prompt");
		tui_changed(t);
		return;
	}
	if (asked || (t->asking && (key->code == KEY_PAGE_UP || key->code == KEY_PAGE_DOWN))) {
		if (t->lines || keymap_translate(&t->keymap, 1u << CONTEXT_CONFIRMATION, &translated))
			ask_key(t, key);
		return;
	}
	t->key_ms = tui_now_ms();
	tui_changed(t);
	if (t->asking) { /* it is on the screen, but not long enough: keys are for the draft, and nothing is sent */
		bool interrupts = t->lines && key->code == KEY_CTRL && key->letter == 'c';
		if (key->code == KEY_TEXT || key->code == KEY_PASTE || key->code == KEY_BACKSPACE || interrupts)
			prompt_key(t, key);
		ask_consider(t);
		return;
	}
	if (t->menu) {
		if (!keymap_translate(&t->keymap, 1u << CONTEXT_AUTOCOMPLETE | 1u << CONTEXT_HISTORY_SEARCH,
				      &translated) ||
		    menu_key(t, key))
			return;
	}
	if (t->agent_focus && agents_key(t, key))
		return;
	size_t before = t->draft.text.n, cursor = t->draft.cursor;
	size_t back = t->draft.history_count - t->draft.history_at;
	prompt_key(t, key);
	if (t->draft.text.n != before || t->draft.cursor != cursor || t->menu)
		menu_update(t);
	/* a slash in what was not typed opens nothing: the next Up is one more line of the history */
	if (key->code == KEY_PASTE || t->draft.history_count - t->draft.history_at != back ||
	    (t->vim.on && t->vim.mode != VIM_INSERT && !t->draft.text.n))
		menu_close(t);
	if (t->asks && !t->asking)
		ask_consider(t);
}

/* Terminals without bracketed paste: what comes in one rush is text, also its line ends. */
void input_burst_end(struct tui *t)
{
	AUTO_BUF struct buf raw = t->burst, text = { 0 };

	t->burst = (struct buf){ 0 };
	t->due[TIMER_BURST] = 0;
	keys_clean_paste(&raw, &text);
	if (text.n)
		input_key(t, &(struct key){ .code = KEY_PASTE, .text = buf_str(&text) });
}

void input_bytes(struct tui *t, const char *bytes, size_t n)
{
	struct key key;

	for (size_t at = 0; at < n && !t->over;) {
		if (t->switching || t->lent) {
			buf_add(&t->ahead, bytes + at, n - at);
			return;
		}
		const char *esc = memchr(bytes + at, '\033', n - at);
		size_t plain = esc ? (size_t)(esc - bytes) - at : n - at;
		bool free = !t->keys.n && !t->keys.pasting && !t->keys.reporting && plain;
		if (free && !t->lines && (t->burst.n || keys_is_burst(&t->keys, bytes + at, plain))) {
			buf_add(&t->burst, bytes + at, MIN(plain, KEY_PASTE_BYTES - t->burst.n));
			tui_set_timer(t, TIMER_BURST, BURST_MS);
			at += plain;
			continue;
		}
		at += keys_feed(&t->keys, bytes + at, n - at, &key);
		if (t->burst.n && key.code != KEY_MORE && key.code != KEY_POSITION && key.code != KEY_KITTY)
			input_burst_end(t);
		input_key(t, &key);
	}
}

bool tui_key_problems(struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	struct keymap m = { 0 };

	if (!tui_read_config("keybindings.json", KEYMAP_FILE_BYTES, &text))
		return false;
	keymap_read(&m, buf_str(&text), out);
	keymap_release(&m);
	return true;
}

static void load_bindings(struct tui *t)
{
	AUTO_BUF struct buf text = { 0 }, problems = { 0 };

	if (!tui_read_config("keybindings.json", KEYMAP_FILE_BYTES, &text)) {
		keymap_release(&t->keymap);
		return;
	}
	keymap_read(&t->keymap, buf_str(&text), &problems);
	if (problems.n)
		tui_note(t, "keybindings.json has errors: /doctor");
}

void input_configure(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	size_t n = 0;
	const char *remaps = cadre_session_setting(t->session, "vimInsertModeRemaps", &n);

	load_bindings(t);
	size_t flavor_n = 0, mode_n = 0;
	const char *flavor = cadre_session_setting(t->session, "keybindingFlavor", &flavor_n);
	const char *mode = cadre_session_setting(t->session, "editorMode", &mode_n);
	t->readline = flavor && str_is((struct str){ flavor, flavor_n }, "\"readline\"");
	if (mode && str_is((struct str){ mode, mode_n }, "\"vim\"") && !t->vim.on)
		vim_set(&t->vim, &t->draft, true);
	t->vim.remap_count = 0;
	if (!remaps || json_parse(&reader, remaps, n, &root, NULL) < 0)
		return;
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m))
		if (str_is_one_of_nocase(json_str(m.value, &arena), "<esc>|esc|escape") &&
		    !vim_add_remap(&t->vim, json_str(m.key, &arena)))
			tui_note(t, "vimInsertModeRemaps: at most 8, of 2 to 7 letters");
}

void input_toggle_vim(struct tui *t)
{
	vim_set(&t->vim, &t->draft, !t->vim.on);
	tui_note(t, t->vim.on ? "keys of vim" : "keys of readline");
	status_refresh(t);
}

static void bindings_edited(struct tui *t, const char *path, bool good)
{
	AUTO_BUF struct buf problems = { 0 };

	load_bindings(t);
	if (tui_key_problems(&problems) && problems.n)
		feed_foreign(t, LOOK_RED, buf_str(&problems));
}

void input_edit_bindings(struct tui *t)
{
	static const char empty[] = "{\n  \"bindings\": [\n    { \"context\": \"Chat\", \"bindings\": {} }\n  ]\n}\n";
	AUTO_BUF struct buf path = { 0 };

	if (!tui_config_path(&path, "keybindings.json"))
		return;
	int fd = open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, empty, sizeof empty - 1) < 0)
		tui_note(t, "keybindings.json cannot be written");
	if (fd >= 0)
		close(fd);
	job_edit_file(t, path.p, bindings_edited);
}
