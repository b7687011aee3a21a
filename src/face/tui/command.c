/* SPDX-License-Identifier: MIT
 * command.c - what a line that begins with a slash does. To add one: a row, and a function if no subcommand of cadre answers it. A
 * name that is not here may be a skill, which the session knows. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/tui/tui_int.h"
#include "face/cli/run.h"
#include "face/cli/view.h"

static void run_help(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	(void)slash;
	for (size_t i = 0; i < slash_count; i++) {
		const struct slash *s = &slash_table[i];
		size_t start = b.n;
		if (rest.n && !str_is(rest, s->name))
			continue;
		buf_addf(&b, "/%s%s%s", s->name, s->args[0] ? " " : "", s->args);
		if (s->alias)
			buf_addf(&b, ", /%s", s->alias);
		buf_addf(&b, "%*s%s\n", (int)(b.n - start < 28 ? 28 - (b.n - start) : 1), "", s->help);
	}
	buf_addstr(&b, rest.n ? "" : "/NAME uses a skill: /skills lists them. ? on an empty line shows the keys.\n");
	feed_say(t, LOOK_PLAIN, buf_str(&b));
}

static void run_cadre(struct tui *t, const struct slash *slash, struct str rest)
{
	job_cadre(t, slash->words, rest, NULL);
}

static void run_of_session(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };
	char id[128];

	(void)rest;
	snprintf(id, sizeof id, "%s", cadre_session_id(t->session));
	buf_addstr(&b, slash->words);
	job_cadre(t, b.p, str_from(id), NULL);
}

static void run_clear(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	tui_want(t, TUI_NEW, STR(""));
}

static void run_exit(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	tui_leave(t, EXIT_ANSWER);
}

static void choose_session(struct tui *t, const char *id)
{
	tui_want(t, TUI_OLD, str_from(id));
}

static void list_sessions(struct tui *t, struct str output, bool ok)
{
	if (!ok || !str_trim(output).n) {
		feed_foreign(t, LOOK_RED, ok ? STR("there is no earlier session") : output);
		return;
	}
	struct page *p = page_open_list(t, "Sessions", choose_session);
	for (struct str rest = str_trim(output); rest.p;) {
		struct str line = str_cut(&rest, '\n'), id = line;
		page_add_item(p, str_cut(&id, '\t'), line);
	}
}

static void run_resume(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	if (rest.n)
		tui_want(t, TUI_OLD, rest);
	else
		job_cadre(t, "sessions ids", STR(""), list_sessions);
}

static void show_transcript(struct tui *t, struct str output, bool ok)
{
	(void)ok;
	page_open_text(t, "Conversation", output);
}

void command_show_transcript(struct tui *t)
{
	job_cadre(t, "sessions show", str_from(cadre_session_id(t->session)), show_transcript);
}

static void run_transcript(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	command_show_transcript(t);
}

/* Points of the session: files are set back to the one that is chosen */
static void choose_point(struct tui *t, const char *id)
{
	AUTO_BUF struct buf words = { 0 };

	buf_addf(&words, "%s --to %s", cadre_session_id(t->session), id);
	job_cadre(t, "rewind", buf_str(&words), NULL);
}

static void list_points(struct tui *t, struct str output, bool ok)
{
	if (!ok || !str_trim(output).n) {
		feed_foreign(t, LOOK_DIM, ok ? STR("no message changed files") : output);
		return;
	}
	struct page *p = page_open_list(t, "Set files back to before", choose_point);
	for (struct str rest = str_trim(output); rest.p;) {
		struct str line = str_cut(&rest, '\n'), id = str_trim(line);
		page_add_item(p, str_cut(&id, ' '), line);
	}
}

static void run_rewind(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf words = { 0 };

	(void)slash;
	(void)rest;
	buf_addf(&words, "%s --list", cadre_session_id(t->session));
	job_cadre(t, "rewind", buf_str(&words), list_points);
}

static void run_set(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_FREE char *value = rest.n ? xstrndup(rest.p, rest.n) : NULL;
	AUTO_BUF struct buf b = { 0 };
	char why[240] = "";

	if (!value) {
		buf_addf(&b, "/%s %s", slash->name, slash->args);
		tui_note(t, b.p);
		return;
	}
	if (cadre_session_set(t->session, slash->words, value, why, sizeof why) < 0) {
		feed_foreign(t, LOOK_RED, str_from(why));
		return;
	}
	if (!strcmp(slash->words, "permission-mode")) {
		free(t->mode);
		t->mode = strcmp(value, "default") != 0 ? TAKE(value) : NULL;
	}
	buf_addf(&b, "%s: " STR_FMT, slash->words, STR_ARG(rest));
	feed_say(t, LOOK_DIM, buf_str(&b));
}

static void run_plan(struct tui *t, const struct slash *slash, struct str rest)
{
	static const struct slash mode = { .name = "mode", .words = "permission-mode" };

	(void)slash;
	(void)rest;
	run_set(t, &mode, STR("plan"));
}

static void run_status(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	(void)slash;
	(void)rest;
	buf_addf(&b, "session  %s\nmodel    %s\nmode     %s\nversion  %s\nagents   %zu run\n",
		 cadre_session_id(t->session), cadre_session_model(t->session), t->mode ? t->mode : "default",
		 cadre_version(), t->agents.running);
	feed_foreign(t, LOOK_PLAIN, buf_str(&b));
}

static void run_background(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	input_action(t, ACTION_BACKGROUND);
}

static void run_redraw(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	input_action(t, ACTION_REDRAW);
}

static void run_keys(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	input_action(t, ACTION_KEYS);
}

static void run_vim(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	input_toggle_vim(t);
}

static void run_keybindings(struct tui *t, const struct slash *slash, struct str rest)
{
	(void)slash;
	(void)rest;
	input_edit_bindings(t);
}

/* What is wrong with the user's own files, then what a subcommand finds */
static void run_doctor(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf problems = { 0 };

	if (input_problems(&problems))
		feed_foreign(t, problems.n ? LOOK_RED : LOOK_PLAIN,
			     problems.n ? buf_str(&problems) : STR("keybindings.json: ok"));
	run_cadre(t, slash, rest);
}

/* ---- memory and clipboard -------------------------------------------------------------------------------------------- */

static void choose_memory(struct tui *t, const char *path)
{
	AUTO_BUF struct buf line = { 0 };
	struct stat st;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	buf_addf(&line, "%s- %s\n", fd >= 0 && fstat(fd, &st) == 0 && st.st_size ? "" : "# Memory\n\n", t->remembered);
	if (fd < 0 || write(fd, line.p, line.n) < (ssize_t)line.n)
		feed_foreign(t, LOOK_RED, str_from(strerror(errno)));
	else
		feed_foreign(t, LOOK_DIM, str_from(path));
	if (fd >= 0)
		close(fd);
}

void command_remember(struct tui *t, struct str text)
{
	const char *config = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");
	AUTO_BUF struct buf user = { 0 };

	free(t->remembered);
	t->remembered = xstrndup(text.p, text.n);
	struct page *p = page_open_list(t, "Keep this in", choose_memory);
	page_add_item(p, STR("CLAUDE.md"), STR("CLAUDE.md: this project, for everyone who works on it"));
	page_add_item(p, STR("CLAUDE.local.md"), STR("CLAUDE.local.md: this project, for you"));
	buf_addf(&user, "%s%s/CLAUDE.md",
		 config && *config ? config
		 : home            ? home
				   : "",
		 config && *config ? "" : "/.claude");
	page_add_item(p, buf_str(&user), STR("your own memory: all projects"));
}

/* The clipboard through the terminal (OSC 52) */
static void run_copy(struct tui *t, const struct slash *slash, struct str rest)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	AUTO_BUF struct buf b = { 0 };
	const unsigned char *p = (const unsigned char *)buf_str(&t->copied).p;
	size_t n = t->copied.n;

	(void)slash;
	(void)rest;
	buf_addstr(&b, "\033]52;c;");
	for (size_t i = 0; i < n; i += 3) {
		unsigned v =
			(unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63], i + 1 < n ? digits[v >> 6 & 63] : '=',
				 i + 2 < n ? digits[v & 63] : '=' };
		buf_add(&b, four, 4);
	}
	buf_addstr(&b, "\a");
	if (n)
		cadre_write(t->out, b.p, b.n);
	tui_note(t, n ? "the last answer is in the clipboard" : "there is no answer yet");
}

/* Prompts that we give in the user's name */
static void run_words(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "%s%s" STR_FMT, slash->words, rest.n ? "\n\n" : "", STR_ARG(rest));
	tui_submit(t, buf_str(&b));
}

static void run_usage(struct tui *t, const struct slash *slash, struct str rest)
{
	AUTO_BUF struct buf b = { 0 };

	(void)slash;
	(void)rest;
	buf_addf(&b, "cost     $%.4f of all agents so far\ncontext  ", t->cost_usd);
	buf_addcount(&b, t->context);
	buf_addstr(&b, " of ");
	buf_addcount(&b, t->window);
	buf_addstr(&b, " tokens\n");
	feed_say(t, LOOK_PLAIN, buf_str(&b));
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
	{ "agents", NULL, "[name]", "the agents that can be used", run_cadre, "agents" },
	{ "bg", NULL, "", "agents that are waited for continue in the background", run_background, NULL },
	{ "clear", "new", "", "start a new session", run_clear, NULL },
	{ "compact", NULL, "[instructions]", "replace the conversation by a summary of it", run_prompt, NULL },
	{ "config", NULL, "[key]", "settings with their sources", run_cadre, "config explain" },
	{ "context", NULL, "", "how full the model's window is", run_usage, NULL },
	{ "copy", NULL, "", "the last answer into the clipboard", run_copy, NULL },
	{ "doctor", NULL, "", "checks of the installation: keys, the sandbox, servers, settings", run_doctor,
	  "sandbox status" },
	{ "effort", NULL, "LEVEL", "low, medium, high, xhigh or max, from the next request on", run_set, "effort" },
	{ "exit", "quit", "", "leave (also Ctrl-D)", run_exit, NULL },
	{ "export", NULL, "", "the conversation as text", run_of_session, "sessions show" },
	{ "help", NULL, "[command]", "this list", run_help, NULL },
	{ "init", NULL, "", "write a CLAUDE.md for this project", run_words,
	  "Look at this project: how it is built, tested and run, how its parts fit together, and what a newcomer must know. Write "
	  "that into CLAUDE.md in the project's root, short and with commands that can be copied. If the file exists, improve it." },
	{ "keybindings", NULL, "", "your keys: keybindings.json in $EDITOR", run_keybindings, NULL },
	{ "keys", NULL, "", "the keys (also ? on an empty line)", run_keys, NULL },
	{ "logs", NULL, "AGENT", "what an agent did", run_cadre, "logs" },
	{ "mcp", NULL, "", "MCP servers and their state", run_cadre, "mcp list" },
	{ "mode", NULL, "NAME", "permission mode: default, acceptEdits, plan ...", run_set, "permission-mode" },
	{ "model", NULL, "NAME", "another model, from the next request on", run_set, "model" },
	{ "permissions", NULL, "[call]", "permission rules with their files", run_cadre, "permissions" },
	{ "plan", NULL, "", "plan mode", run_plan, NULL },
	{ "plugin", NULL, "", "plugins that are installed", run_cadre, "plugin list" },
	{ "redraw", NULL, "", "draw the last rows again", run_redraw, NULL },
	{ "resume", NULL, "[session]", "continue an earlier session, by id or title; without one the latest",
	  run_resume, NULL },
	{ "review", NULL, "[what]", "review the changes of the working tree", run_words,
	  "Review the changes that are not committed yet (git diff, and new files), or what is named below: bugs first, with file and "
	  "line, then what is missing, then what could be simpler. Do not change anything." },
	{ "rewind", NULL, "", "set files back to before a message", run_rewind, NULL },
	{ "sandbox", NULL, "", "what the kernel enforces", run_cadre, "sandbox status" },
	{ "sessions", NULL, "", "stored sessions", run_cadre, "sessions" },
	{ "skills", NULL, "", "skills and commands of the user, the project and plugins", run_cadre, "skills" },
	{ "status", NULL, "", "session, model, mode", run_status, NULL },
	{ "stop", NULL, "AGENT", "end an agent and all below it", run_cadre, "stop" },
	{ "tasks", NULL, "", "agents of this and other sessions", run_cadre, "tasks" },
	{ "team", NULL, "", "teams and their members", run_cadre, "team" },
	{ "transcript", NULL, "", "the whole conversation (also Ctrl-O)", run_transcript, NULL },
	{ "usage", "cost", "", "cost and tokens so far", run_usage, NULL },
	{ "vim", NULL, "", "keys of vim, on and off", run_vim, NULL },
};
const size_t slash_count = COUNT_OF(slash_table);

/* The command that was probably meant: almost the name of one of ours */
static const char *name_meant(struct str name)
{
	size_t limit = name.n > 3 ? 2 : 1;
	const char *best = NULL;

	for (size_t i = 0; i < slash_count; i++) {
		struct str known = str_from(slash_table[i].name);
		size_t d = str_distance(name, known);
		/* of two that are as near, the one that is as long */
		if (d && (d < limit || (d == limit && (!best || known.n == name.n)))) {
			best = slash_table[i].name;
			limit = d;
		}
	}
	return best;
}

bool command_slash(struct tui *t, struct str line)
{
	struct str rest = line, name = str_cut(&rest, ' ');

	name = (struct str){ name.p + 1, name.n - 1 };
	rest = rest.p ? str_trim(rest) : STR("");
	for (size_t i = 0; i < slash_count; i++) {
		const struct slash *s = &slash_table[i];
		if (!str_is(name, s->name) && !(s->alias && str_is(name, s->alias)))
			continue;
		if (s->run != run_prompt)
			feed_prompt(t, line);
		s->run(t, s, rest);
		return true;
	}
	const char *meant = memchr(name.p, '/', name.n) ? NULL : name_meant(name);
	if (meant) {
		AUTO_BUF struct buf b = { 0 };
		buf_addf(&b, "no command /" STR_FMT "; did you mean /%s?", STR_ARG(name), meant);
		feed_foreign(t, LOOK_YELLOW, buf_str(&b));
		return true;
	}
	return false;
}
