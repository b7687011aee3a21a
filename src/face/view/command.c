/* SPDX-License-Identifier: MIT
 * command.c - what a line that begins with a slash does. To add one: a row, and a function if no subcommand of cadre answers it. A
 * name that is not here may be a skill, which the session knows. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/cli/run.h"
#include "face/cli/view.h"
#include "face/tui/state.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

/* The command or skill that was probably meant: almost its name */
static const char *name_meant(struct tui *t, struct str name)
{
	size_t limit = name.n > 3 ? 2 : 1, i = 0;
	const struct map_entry *e = NULL;
	const char *best = NULL;

	while (i < slash_count || (e = map_next(&t->skills, e))) {
		const char *known = i < slash_count ? slash_table[i++].name : e->key;
		size_t d = str_distance(name, str_from(known));
		/* of two that are as near, the one that is as long */
		if (d < limit || (d == limit && (!best || strlen(known) == name.n))) {
			best = known;
			limit = d;
		}
	}
	return best;
}

static void say_unknown(struct tui *t, struct str name)
{
	const char *meant = name_meant(t, name);
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "no command /" STR_FMT "%s%s%s\n", STR_ARG(name), meant ? "; did you mean /" : "; / lists them",
		 meant ? meant : "", meant ? "?" : "");
	feed_words(t, LOOK_YELLOW, buf_str(&b));
}

static void run_help(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	if (str_starts(rest, STR("/")))
		rest = (struct str){ rest.p + 1, rest.n - 1 };
	for (size_t i = 0; i < slash_count; i++) {
		const struct slash *s = &slash_table[i];
		AUTO_BUF struct buf name = { 0 };
		if (rest.n && !command_is(s, rest))
			continue;
		buf_addf(&name, "/%s%s%s", s->name, s->args[0] ? " " : "", s->args);
		for (const char *alias = s->aliases; *alias; alias += strlen(alias) + 1)
			buf_addf(&name, ", /%s", alias);
		show_pair(t, &b, buf_str(&name), 34, str_from(s->help));
	}
	if (!b.n)
		say_unknown(t, rest);
	feed_foreign(t, LOOK_PLAIN, buf_str(&b));
	if (!rest.n)
		feed_say(
			t, LOOK_PLAIN,
			STR("/NAME uses a skill or a prompt of a server: / lists them. ? on an empty line shows the keys.\n"));
}

static void run_cadre(struct tui *t, const struct slash *slash, struct str rest)
{
	job_cadre(t, slash->words, rest, NULL);
}

bool command_address(struct tui *t, struct str line)
{
	struct str text = { line.p + 1, line.n - 1 }, name = str_cut(&text, ' ');

	if (!name.n && roster_has_team(t)) {
		job_cadre(t, "tasks", STR(""), NULL);
		return true;
	}
	const struct agent_row *member = roster_find(t, name);
	if (!member || !member->team[0] || !text.p || !str_trim(text).n)
		return false;
	AUTO_FREE char *words = xstrndup(text.p, text.n);
	feed_prompt(t, line);
	roster_tell(t, member->id, words);
	return true;
}

static void run_clear(struct tui *t, const struct slash *slash, struct str rest)
{
	tui_want(t, TUI_NEW, rest);
}

static void run_fork(struct tui *t, const struct slash *slash, struct str rest)
{
	tui_want(t, TUI_FORK, str_from(cadre_session_id(t->session)));
}

static void run_exit(struct tui *t, const struct slash *slash, struct str rest)
{
	if (t->agents.running && !t->leave_asked && !t->lines) {
		t->leave_asked = true;
		feed_say(t, LOOK_YELLOW,
			 STR("Agents run: /exit again leaves, and --resume continues them; /stop all ends them.\n"));
		return;
	}
	tui_leave(t, EXIT_ANSWER);
}

static void choose_session(struct tui *t, const char *id)
{
	struct str rest = str_from(id);

	tui_want(t, TUI_OLD, str_cut(&rest, ' '));
}

static void run_resume(struct tui *t, const struct slash *slash, struct str rest)
{
	if (rest.n)
		tui_want(t, TUI_OLD, rest);
	else if (!show_sessions(t, choose_session))
		feed_say(t, LOOK_DIM, STR("There is no earlier session in this project.\n"));
}

static void run_rename(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf request = { 0 };
	struct json_out w = json_out(&request);
	char why[240] = "";

	json_putf(&w, "{subtype:'rename_session', title:'%.*s'}", STR_ARG(rest));
	if (!cadre_request(t->session, request.p, request.n, NULL, why, sizeof why)) {
		feed_words(t, LOOK_RED, str_from(why));
		return;
	}
	notice_title(t, rest);
	tui_note(t, "the session has this title now");
}

/* A path as people type it: ~ is their home */
static char *path_typed(struct str path)
{
	const char *home = getenv("HOME");
	bool at_home = home && str_starts(path, STR("~")) && (path.n == 1 || path.p[1] == '/');
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "%s" STR_FMT, at_home ? home : "", STR_ARG(str_tail(path, at_home)));
	return buf_take(&b, NULL);
}

void command_show_transcript(struct tui *t)
{
	page_open_transcript(t, "Conversation", cadre_session_file(t->session));
}

/* The conversation as Markdown into a file */
static void write_export(struct tui *t, struct str output, bool ok)
{
	AUTO_BUF struct buf name = { 0 }, said = { 0 };
	AUTO_FREE char *path = TAKE(t->export_path);

	if (!path) {
		buf_addf(&name, "cadre-%.8s.md", cadre_session_id(t->session));
		path = buf_take(&name, NULL);
	}
	buf_addf(&said, "the conversation is in %s", path);
	int fd = ok ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	if (!ok)
		feed_words(t, LOOK_RED, output);
	else if (fd < 0 || write(fd, output.p, output.n) < (ssize_t)output.n)
		feed_words(t, LOOK_RED,
			   str_from(errno == EEXIST ? "the file exists: name another one" : strerror(errno)));
	else
		feed_words(t, LOOK_DIM, buf_str(&said));
	if (fd >= 0)
		close(fd);
}

/* False: there is no conversation yet, which is said */
static bool has_past(struct tui *t)
{
	bool has = access(cadre_session_file(t->session), F_OK) == 0;

	if (!has)
		tui_note(t, "there is no conversation yet");
	return has;
}

static void run_export(struct tui *t, const struct slash *slash, struct str rest)
{
	if (!has_past(t))
		return;
	free(t->export_path);
	t->export_path = rest.n ? path_typed(rest) : NULL;
	job_cadre(t, "sessions export", str_from(cadre_session_id(t->session)), write_export);
}

/* Points of the session: files, the conversation or both are set back to the one that is chosen. The conversation continues in a
 * copy, so the one so far stays as it is. */
static void rewind_to(struct tui *t, const char *what)
{
	struct str point = str_from(what), kind = str_cut(&point, ' ');
	AUTO_BUF struct buf prompt = { 0 }, before = { 0 };

	if (!str_is(kind, "conversation"))
		show_rewind(t, point.p, false, NULL);
	if (str_is(kind, "files"))
		return;
	if (!past_find(cadre_session_file(t->session), point, &prompt, &before)) {
		feed_say(t, LOOK_RED, STR("The message is not in the transcript.\n"));
		return;
	}
	draft_set(&t->draft, buf_str(&prompt));
	free(t->wanted_at);
	t->wanted_at = before.n ? buf_take(&before, NULL) : NULL;
	tui_want(t, t->wanted_at ? TUI_FORK : TUI_NEW, t->wanted_at ? str_from(cadre_session_id(t->session)) : STR(""));
}

static void choose_point(struct tui *t, const char *id)
{
	static const char *const kinds[][2] = { { "files", "files, as they were before this message" },
						{ "conversation",
						  "conversation: it continues from before this message" },
						{ "both", "both" } };
	struct page *p = page_open_list(t, "Set back", rewind_to);

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		AUTO_BUF struct buf what = { 0 };
		buf_addf(&what, "%s %s", kinds[i][0], id);
		page_add_item(p, buf_str(&what), str_from(kinds[i][1]));
	}
}

static void preview_point(struct tui *t, struct page *p, const char *id, struct styled *out)
{
	show_rewind(t, id, true, out);
}

static void list_points(struct tui *t, struct str output, bool ok)
{
	if (!ok || !str_trim(output).n) {
		feed_words(t, LOOK_DIM, ok ? STR("no message changed files") : output);
		return;
	}
	struct page *p = page_open_list(t, "Back to before", choose_point);
	p->preview = preview_point;
	p->previewed = SIZE_MAX - 1;
	for (struct str rest = str_trim(output); rest.n;) { /* the newest first: lines are ID  TIME  N files */
		const char *before = memrchr(rest.p, '\n', rest.n);
		struct str line = before ? (struct str){ before + 1, (size_t)(rest.p + rest.n - before) - 1 } : rest;
		struct str about = str_trim(line), id = str_cut(&about, ' ');
		AUTO_BUF struct buf prompt = { 0 }, parent = { 0 }, text = { 0 };
		(void)past_find(cadre_session_file(t->session), id, &prompt, &parent);
		struct str words = str_trim(buf_str(&prompt)), first = str_cut(&words, '\n');
		about = about.p ? str_trim(about) : STR("");
		struct str when = str_cut(&about, ' ');
		buf_addf(&text, STR_FMT "  (", STR_ARG(utf8_cut(first, 60)));
		show_age(&text, when);
		buf_addf(&text, ", " STR_FMT ")", STR_ARG(about.p ? str_trim(about) : id));
		page_add_item(p, id, buf_str(&text));
		rest.n = before ? (size_t)(before - rest.p) : 0;
	}
}

static void run_rewind(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf words = { 0 };

	if (!has_past(t))
		return;
	buf_addf(&words, "%s --list", cadre_session_id(t->session));
	job_cadre(t, "rewind", buf_str(&words), list_points);
}

void command_set(struct tui *t, const char *option, const char *value)
{
	AUTO_BUF struct buf b = { 0 };
	char why[240] = "";
	bool usual = value && !strcmp(option, "effort") && !strcmp(value, "default"); /* that of the model */

	if (cadre_session_set(t->session, option, usual ? NULL : value, why, sizeof why) < 0) {
		feed_words(t, LOOK_RED, str_from(why));
		return;
	}
	buf_addf(&b, "%s: %s\n", option, value ? value : "none");
	feed_foreign(t, LOOK_DIM, buf_str(&b));
	if (value && !strcmp(option, "model"))
		show_unknown_model(t, value);
	status_refresh(t);
}

static void choose_style(struct tui *t, const char *value)
{
	if (config_store(t, "outputStyle", str_from(value)))
		tui_note(t, "this output style holds from the next request on");
}

static void choose_theme(struct tui *t, const char *value)
{
	if (config_store(t, "theme", str_from(value)))
		tui_note(t, "the theme is kept in your settings");
}

/* What holds now, in the arena */
static struct str choice_now(struct tui *t, const char *name, struct arena *a)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct str theme = tui_setting(t, "theme");

	if (!strcmp(name, "mode"))
		return str_from(cadre_session_mode(t->session));
	if (!strcmp(name, "theme"))
		return theme.n ? theme : STR("auto");
	struct str effort = json_str(json_get(show_applied(t, &reader), "effort"), a);
	return effort.n ? arena_str(a, effort) : STR("default");
}

/* One of a few words: given, or from a list. words: those, each perhaps with what it means behind a colon */
static void run_choice(struct tui *t, const struct slash *slash, struct str rest)
{
	static const struct {
		const char *name, *title, *option; /* of the session; NULL: choose */
		page_choose_fn *choose;
	} kinds[] = { { "effort", "Effort . from the next request on", "effort", NULL },
		      { "mode", "Permission mode", "permission-mode", NULL },
		      { "theme", "Theme", NULL, choose_theme },
		      { "output-style", "", NULL, choose_style },
		      { "model", "", "model", NULL } };
	size_t k = 0;

	while (strcmp(kinds[k].name, slash->name) != 0)
		k++;
	if (rest.n) {
		AUTO_FREE char *value = xstrndup(rest.p, rest.n);
		if (kinds[k].option)
			command_set(t, kinds[k].option, value);
		else
			kinds[k].choose(t, value);
	} else if (!strcmp(slash->name, "model")) {
		show_models(t, "model");
	} else if (kinds[k].choose == choose_style) {
		show_styles(t, choose_style);
	} else {
		struct page *p = page_open_list(t, kinds[k].title, kinds[k].choose);
		AUTO_ARENA struct arena a = { 0 };
		struct str now = choice_now(t, slash->name, &a);
		p->option = kinds[k].option;
		for (struct str words = str_from(slash->words); words.p;) {
			struct str text = str_cut(&words, '|'), means = text, word = str_cut(&means, ':');
			page_add_choice(p, word, text, str_eq(word, now));
		}
		if (kinds[k].choose == choose_theme) {
			p->preview = show_theme;
			p->previewed = SIZE_MAX - 1;
		}
	}
}

/* A list with commas, or the models as they are known; "none" takes it away */
static void run_fallback(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_FREE char *value = xstrndup(rest.p, rest.n);

	if (rest.n)
		command_set(t, "fallback-model", str_is(rest, "none") ? NULL : value);
	else
		show_models(t, "fallback-model");
}

static void run_plan(struct tui *t, const struct slash *slash, struct str rest)
{
	command_set(t, "permission-mode", "plan");
}

static void run_thinking(struct tui *t, const struct slash *slash, struct str rest)
{
	char why[240] = "";

	if (!str_is(rest, "on") && !str_is(rest, "off") && !str_is(rest, "show") && !str_is(rest, "hide")) {
		tui_note(t, "/thinking on, off, show or hide");
		return;
	}
	if (str_is(rest, "show") || str_is(rest, "hide"))
		t->shows_thinking = str_is(rest, "show");
	else if (cadre_session_set(t->session, "max-thinking-tokens", str_is(rest, "off") ? "0" : NULL, why,
				   sizeof why) < 0) {
		feed_words(t, LOOK_RED, str_from(why));
		return;
	} else
		t->thinks_not = str_is(rest, "off");
	tui_note(t, str_is(rest, "show")   ? "thinking is shown"
		    : str_is(rest, "hide") ? "thinking is not shown: ctrl+o does"
		    : str_is(rest, "off")  ? "the model does not think from the next request on"
					   : "the model thinks from the next request on");
}

static void run_add_dir(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_FREE char *wish = path_typed(rest), *real = realpath(wish, NULL);

	command_set(t, "add-dir", real ? real : wish);
}

static void run_shown(struct tui *t, const struct slash *slash, struct str rest)
{
	static const struct {
		const char *name;
		void (*show)(struct tui *t);
	} shown[] = { { "context", show_context }, { "usage", show_usage },
		      { "status", show_status },   { "mcp", show_servers },
		      { "hooks", show_hooks },     { "transcript", command_show_transcript },
		      { "vim", input_toggle_vim }, { "keybindings", input_edit_bindings },
		      { "diff", changes_open },    { "tasks", page_open_agents } };
	size_t i = 0;

	while (strcmp(shown[i].name, slash->name) != 0)
		i++;
	if (rest.n)
		job_cadre(t, slash->words, rest, NULL);
	else
		shown[i].show(t);
}

static void run_version(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "cadre %s (protocol " CADRE_PROTOCOL_VERSION ")\n", cadre_version());
	feed_say(t, LOOK_PLAIN, buf_str(&b));
}

static void run_tell(struct tui *t, const struct slash *slash, struct str rest)
{
	struct str to = str_cut(&rest, ' ');
	AUTO_FREE char *agent = xstrndup(to.p, to.n), *text = rest.p ? xstrndup(rest.p, rest.n) : NULL;

	if (text && *text)
		roster_tell(t, agent, text);
	else
		tui_note(t, "/tell AGENT TEXT");
}

static void run_background(struct tui *t, const struct slash *slash, struct str rest)
{
	if (t->in_turn)
		input_action(t, ACTION_BACKGROUND);
	else
		tui_note(t, "no agent is waited for");
}

static void run_keys(struct tui *t, const struct slash *slash, struct str rest)
{
	input_action(t, ACTION_KEYS);
}

static void run_todo(struct tui *t, const struct slash *slash, struct str rest)
{
	t->todo_open = !t->todo_open;
	if (!t->todo_count)
		tui_note(t, "there is no list of what is to be done");
}

static void run_redraw(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_STYLED struct styled lines = { 0 };
	struct past past = { .tui = t, .columns = t->region.columns - 1, .out = &lines };

	(void)past_read(&past, cadre_session_file(t->session), t->region.rows);
	buf_release(&past.title);
	feed_styled(t, &lines);
}

/* A question aside: a copy of the conversation without tools answers it, and neither is kept */
static void run_btw(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_FREE char *text = xstrndup(rest.p, rest.n);
	const char *const argv[] = { "/proc/self/exe",
				     "-p",
				     "--resume",
				     cadre_session_id(t->session),
				     "--fork-session",
				     "--no-session-persistence",
				     "--tools",
				     "",
				     "--model",
				     cadre_session_model(t->session),
				     "--",
				     text,
				     NULL };

	if (has_past(t))
		job_program(t, argv, NULL);
}

static void run_stop(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf words = { 0 };

	if (str_is(rest, "all"))
		buf_addf(&words, "--all --session %s", cadre_session_id(t->session));
	else
		buf_add(&words, rest.p, rest.n);
	job_cadre(t, slash->words, buf_str(&words), NULL);
}

static void run_copy(struct tui *t, const struct slash *slash, struct str rest)
{
	size_t first = !t->copies[0].n; /* the last turn may have had no answer */
	uint64_t back = 1;

	if (rest.n && (!str_to_u64(rest, &back) || !back))
		back = COPIES + 1;
	const struct buf *text = first + back <= COPIES ? &t->copies[first + back - 1] : NULL;
	if (text && text->n)
		tui_copy(t, buf_str(text), back == 1 ? "the last answer" : "the answer");
	else
		tui_note(t, "there is no such answer");
}

/* Prompts that we give in the user's name */
static void run_words(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "%s%s" STR_FMT, slash->words, rest.n ? "\n\n" : "", STR_ARG(rest));
	tui_submit(t, buf_str(&b));
}

/* Whole lines that the session answers itself */
static void run_prompt(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "/%s%s" STR_FMT, slash->name, rest.n ? " " : "", STR_ARG(rest));
	if (!t->in_turn)
		feed_prompt(t, buf_str(&b));
	tui_submit(t, buf_str(&b));
}

const struct slash slash_table[] = {
	{ "add-dir", "", "DIR", "one more directory that tools may work in", run_add_dir, NULL },
	{ "agents", "", "[command]", "the agents that can be used", run_cadre, "agents" },
	{ "bg", "background\0", "", "agents that are waited for continue in the background", run_background, NULL },
	{ "btw", "", "QUESTION", "a question aside: answered without tools, and not kept", run_btw, NULL },
	{ "clear", "new\0reset\0", "[title]", "start a new session", run_clear, NULL },
	{ "compact", "", "[instructions]", "replace the conversation by a summary of it", run_prompt, NULL },
	{ "config", "settings\0", "[key[=value]]", "settings: a list to change them, or one with its sources",
	  command_config, "config explain" },
	{ "context", "", "", "how full the model's window is, by kind", run_shown, NULL },
	{ "copy", "", "[n]", "the last answer, or the n-th last, into the clipboard", run_copy, NULL },
	{ "debug", "", "[subjects]", "a log of this session from now on; subjects as of --debug", command_observe,
	  NULL },
	{ "diff", "", "", "what differs from the last commit", run_shown, NULL },
	{ "doctor", "", "", "checks of the terminal, your keys and the installation", command_doctor, NULL },
	{ "effort", "", "[level]", "low, medium, high, xhigh, max or default, from the next request on", run_choice,
	  "default: what the model does by itself|low|medium|high|xhigh|max" },
	{ "exit", "quit\0", "", "leave (also Ctrl-D)", run_exit, NULL },
	{ "export", "", "[file]", "the conversation as Markdown into a file", run_export, NULL },
	{ "fallback", "", "[models|none]", "models that answer when yours cannot: a list with commas", run_fallback,
	  NULL },
	{ "fork", "branch\0", "", "continue as a copy; this session stays as it is", run_fork, NULL },
	{ "help", "", "[command]", "this list", run_help, NULL },
	{ "hooks", "", "", "hooks and where they come from", run_shown, NULL },
	{ "init", "", "", "write a CLAUDE.md for this project", run_words,
	  "Look at this project: how it is built, tested and run, how its parts fit together, and what a newcomer must know. Write "
	  "that into CLAUDE.md in the project's root, short and with commands that can be copied. If the file exists, improve it." },
	{ "keybindings", "", "", "your keys: keybindings.json in $EDITOR", run_shown, NULL },
	{ "keys", "", "", "the keys (also ? on an empty line)", run_keys, NULL },
	{ "logs", "", "AGENT", "what an agent did", run_cadre, "logs" },
	{ "mcp", "", "[command]", "MCP servers and their state", run_shown, "mcp" },
	{ "memory", "", "", "edit a memory file", command_memory, NULL },
	{ "mode", "", "[name]", "permission mode: default, acceptEdits, plan ...", run_choice,
	  "default: asks before edits, and before commands that do more than read|acceptEdits: edits in the working directories run|"
	  "plan: reads only, and ends with a plan for you|dontAsk: what would be asked is refused|"
	  "auto: a model decides what would be asked|bypassPermissions: asks only where an ask rule says so" },
	{ "model", "", "[name]", "another model, from the next request on", run_choice, NULL },
	{ "output-style", "", "[name]", "how the main agent talks", run_choice, NULL },
	{ "permissions", "", "[command]", "permission rules with their files: list, add, remove, test CALL",
	  command_permissions, "permissions" },
	{ "plan", "", "", "plan mode", run_plan, NULL },
	{ "plugin", "plugins\0", "[command]", "plugins that are installed", run_cadre, "plugin" },
	{ "redraw", "", "", "print the last messages again", run_redraw, NULL },
	{ "rename", "", "TITLE", "give the session a title", run_rename, NULL },
	{ "resume", "continue\0", "[session]", "continue an earlier session: a list, or by id or title", run_resume,
	  NULL },
	{ "review", "", "[what]", "review the changes of the working tree", run_words,
	  "Review the changes that are not committed yet (git diff, and new files), or what is named below: bugs first, with file and "
	  "line, then what is missing, then what could be simpler. Do not change anything." },
	{ "rewind", "checkpoint\0", "", "set files or the conversation back to before a message", run_rewind, NULL },
	{ "sandbox", "", "", "what the kernel enforces", run_cadre, "sandbox status" },
	{ "sessions", "", "", "stored sessions", run_cadre, "sessions" },
	{ "skills", "", "[command]", "skills and commands of the user, the project and plugins", run_cadre, "skills" },
	{ "status", "", "", "session, model, mode, address", run_shown, NULL },
	{ "statusline", "", "", "your status command, run again", command_statusline, NULL },
	{ "stop", "", "AGENT", "end an agent and all below it; all: every agent", run_stop, "stop" },
	{ "tasks", "", "", "all agents of this session (also Ctrl-T)", run_shown, NULL },
	{ "team", "", "[command]", "teams and their members", run_cadre, "team" },
	{ "tell", "", "AGENT TEXT", "a message to an agent or a member of a team", run_tell, NULL },
	{ "terminal-setup", "", "", "how Shift-Enter makes a new line on this terminal", command_terminal_setup, NULL },
	{ "theme", "", "[name]", "colours", run_choice, "auto|dark|light|dark-daltonized|light-daltonized|ansi" },
	{ "thinking", "", "on|off|show|hide", "whether the model thinks, and whether it is shown", run_thinking, NULL },
	{ "todo", "", "", "the list of what is to be done: open or closed", run_todo, NULL },
	{ "trace", "", "[file]", "a timeline of this session from now on, for ui.perfetto.dev", command_observe, NULL },
	{ "transcript", "", "", "the whole conversation (also Ctrl-O)", run_shown, NULL },
	{ "trust", "", "[DIR]", "trust this folder: its hooks, servers and rules count", run_cadre, "trust" },
	{ "usage", "cost\0", "", "cost and tokens by model and agent", run_shown, NULL },
	{ "version", "", "", "the version", run_version, NULL },
	{ "vim", "", "", "keys of vim, on and off", run_shown, NULL },
};
const size_t slash_count = COUNT_OF(slash_table);

bool command_is(const struct slash *s, struct str name)
{
	const char *alias = s->aliases;

	while (*alias && !str_is(name, alias))
		alias += strlen(alias) + 1;
	return *alias || str_is(name, s->name);
}

bool command_slash(struct tui *t, struct str line)
{
	struct str rest = line, name = str_cut(&rest, ' ');

	name = (struct str){ name.p + 1, name.n - 1 };
	rest = rest.p ? str_trim(rest) : STR("");
	for (size_t i = 0; i < slash_count; i++) {
		const struct slash *s = &slash_table[i];
		if (!command_is(s, name))
			continue;
		if (s->run != run_prompt)
			feed_prompt(t, line);
		AUTO_BUF struct buf usage = { 0 };
		buf_addf(&usage, "/%s %s: %s", s->name, s->args, s->help);
		if (rest.n && !s->args[0])
			feed_say(t, LOOK_YELLOW, STR("this command takes no arguments"));
		else if (!rest.n && s->args[0] && s->args[0] != '[')
			feed_say(t, LOOK_YELLOW, buf_str(&usage));
		else
			s->run(t, s, rest);
		return true;
	}
	if (memchr(name.p, '/', name.n) || memchr(name.p, '\n', name.n))
		return false; /* a path, or a text */
	show_read_skills(t);
	if (map_get(&t->skills, name))
		return false;
	feed_prompt(t, line);
	say_unknown(t, name);
	return true;
}
