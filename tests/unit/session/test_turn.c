/* SPDX-License-Identifier: MIT
 * test_turn.c - the states that a turn goes through, read from the log of the runtime. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "stage.h"
#include "defs/policy/services.h"
#include "lib/io/file.h"

struct watcher {
	struct observer observer; /* first; the runtime frees it */
	struct trail *trail;
};

struct trail {
	struct stage stage;
	struct buf states; /* names with blanks between */
	const char *at;    /* when this state waits ... */
	void (*act)(struct cadre_session *s);
	bool acted, closes;
	struct buf ends; /* of turns: text, a line each */
};

/* From the log, inside a step: the act is a call of the host in the midst of everything. */
static void on_log(struct observer *o, const char *subject, const char *text)
{
	struct trail *t = ((struct watcher *)o)->trail;

	if (strcmp(subject, "session") != 0 || !str_starts(str_from(text), STR("turn ")))
		return;
	buf_addf(&t->states, "%s%s", t->states.n ? " " : "", text + 5);
	if (!t->act || t->acted || strcmp(text + 5, t->at) != 0)
		return;
	t->acted = true;
	t->act(t->closes ? TAKE(t->stage.session) : t->stage.session);
}

static void free_watcher(struct observer *o)
{
	free(o);
}

static void on_event(const struct cadre_event *e, void *data)
{
	struct trail *t = data;
	size_t n;

	if (cadre_event_kind(e) != CADRE_TURN_ENDED)
		return;
	const char *text = cadre_event_text(e, &n);
	buf_addf(&t->ends, "%.*s\n", (int)n, text);
}

static const char scenario[] =
	"rule\n  agent main\n  prompt contains \"delegate\"\n  turn 1\n"
	"  call Agent {\"description\": \"Back\", \"prompt\": \"Look\", \"run_in_background\": true}\n"
	"rule\n  agent main\n  prompt contains \"task-notification\"\n  text told\n"
	"rule\n  agent main\n  prompt contains \"look\"\n  turn 1\n  call Read {\"file_path\": \"a\"}\n"
	"  call Read {\"file_path\": \"b\"}\n"
	"rule\n  agent main\n  text ok\n"
	"rule\n  latency 50\n  text seen\n";

#define HOOK(event, command) \
	"{\"hooks\": {\"" event "\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"" command "\"}]}]}}"

static void open_trail(struct trail *t, const char *settings)
{
	struct watcher *w = xcalloc(1, sizeof *w);

	*w = (struct watcher){ .observer = { .on_log = on_log, .free = free_watcher }, .trail = t };
	AUTO_ARENA struct arena a = { 0 };

	stage_open(&t->stage, scenario, settings, on_event, t);
	file_put(arena_printf(&a, "%s/notes", t->stage.dir), STR("a note"));
	services_observe(cadre_services(t->stage.c), &w->observer);
}

static void close_trail(struct trail *t)
{
	stage_close(&t->stage);
	buf_release(&t->states);
	buf_release(&t->ends);
}

#define TO_SUBMIT "SETTINGS APPROVAL SERVERS SETUP START SUBMIT"
#define TO_RUN    TO_SUBMIT " PRELOAD EXPAND MENTIONS COMMIT RUN"
#define PLAIN     TO_RUN " STOP ENDED IDLE"

static const struct {
	const char *what, *settings, *prompt, *states, *ends;
} rows[] = {
	{ "a prompt", NULL, "hi", PLAIN, "ok\n" },
	{ "a file in the prompt", NULL, "see @notes", PLAIN, "ok\n" },
	{ "a command that does not exist", NULL, "/no-such-command", TO_SUBMIT " PRELOAD EXPAND ENDED IDLE", NULL },
	{ "nothing to compact", NULL, "/compact", TO_SUBMIT " COMPACT ENDED IDLE", "Nothing to compact yet\n" },
	{ "SessionStart hooks", HOOK("SessionStart", "true"), "hi", PLAIN, "ok\n" },
	{ "SessionStart hooks that stop", HOOK("SessionStart", "echo '{\\\"continue\\\": false}'"), "hi",
	  "SETTINGS APPROVAL SERVERS SETUP START ENDED IDLE", "\n" },
	{ "UserPromptSubmit hooks", HOOK("UserPromptSubmit", "true"), "hi", PLAIN, "ok\n" },
	{ "UserPromptSubmit hooks that block", HOOK("UserPromptSubmit", "echo no >&2; exit 2"), "hi",
	  TO_SUBMIT " ENDED IDLE", "A hook did not let the prompt through: no\n" },
	{ "Stop hooks", HOOK("Stop", "true"), "hi", PLAIN, "ok\n" },
	{ "Stop hooks that want more once", HOOK("Stop", "test -e seen || { touch seen; echo more >&2; exit 2; }"),
	  "hi", TO_RUN " STOP RUN STOP ENDED IDLE", "ok\n" },
	{ "a notification", NULL, "delegate", PLAIN " SETTINGS RUN STOP ENDED IDLE", "ok\ntold\n" },
};

TEST(a_turn_goes_through_these_states)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct trail t = { 0 };
		open_trail(&t, rows[i].settings);
		CHECK_INT(stage_prompt(&t.stage, rows[i].prompt), CADRE_OK);
		cadre_run(t.stage.c);
		if (strcmp(t.states.p, rows[i].states) != 0 || (rows[i].ends && strcmp(t.ends.p, rows[i].ends) != 0))
			fail_msg("%s: %s\n%s", rows[i].what, t.states.p, t.ends.p);
		close_trail(&t);
	}
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The transcript does not grow any more. */
static void fill_disk(struct cadre_session *s)
{
	struct stat st;

	CHECK_INT(stat(cadre_session_file(s), &st), 0);
	limit_files((rlim_t)st.st_size);
}

TEST(what_the_model_still_has_to_do_and_cannot_be_written_is_an_error)
{
	static const struct {
		const char *settings, *option, *value;
	} wants[] = {
		{ HOOK("Stop", "echo more >&2; exit 2"), NULL, NULL },
		{ NULL, "json-schema", "{\"type\":\"object\"}" },
	};

	for (size_t i = 0; i < COUNT_OF(wants); i++) {
		struct trail t = { .at = "STOP", .act = fill_disk };
		open_trail(&t, wants[i].settings);
		if (wants[i].option) {
			cadre_close(t.stage.session);
			stage_set(&t.stage, wants[i].option, wants[i].value);
			CHECK_INT(cadre_open(t.stage.c, on_event, &t, &t.stage.session, NULL, 0), CADRE_OK);
		}
		CHECK_INT(stage_prompt(&t.stage, "hi"), CADRE_OK);
		cadre_run(t.stage.c);
		limit_files(RLIM_INFINITY);
		CHECK(t.acted);
		if (!str_starts(buf_str(&t.ends), STR("The session cannot be written: ")))
			fail_msg("%zu: %s", i, t.ends.p);
		close_trail(&t);
	}
}

static void open_named(struct trail *t, const char *fork_of)
{
	AUTO_ARENA struct arena a = { 0 };

	open_trail(
		t,
		"{\"agent\": \"rev\", \"agents\": {\"rev\": {\"description\": \"d\", \"prompt\": \"p\"}}, "
		"\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo by a hook\"}]}]}}");
	file_put(arena_printf(&a, "%s/managed/CLAUDE.md", t->stage.dir), STR("Use tabs."));
	file_put(arena_printf(&a, "%s/managed/.claude/skills/tabs/SKILL.md", t->stage.dir),
		 STR("---\ndescription: Indents lines\n---\nWith tabs.\n"));
	stage_set(&t->stage, "name", "a title"); /* of sessions that are opened from now on */
	cadre_close(t->stage.session);
	CHECK_INT(cadre_open(t->stage.c, on_event, t, &t->stage.session, NULL, 0), CADRE_OK);
	if (!fork_of)
		return;
	struct cadre_session *origin = t->stage.session;
	CHECK_INT(cadre_prompt(origin, fork_of, strlen(fork_of), NULL, 0), CADRE_OK);
	cadre_run(t->stage.c);
	CHECK_INT(cadre_fork(origin, on_event, t, &t->stage.session, NULL, 0), CADRE_OK);
	cadre_close(origin);
}

static void read_transcript(const struct trail *t, struct buf *text)
{
	struct err err = { 0 };

	buf_clear(text);
	if (file_read(cadre_session_file(t->stage.session), 1 << 20, text, &err) < 0)
		CHECK_INT(err.kind, ERR_NOT_FOUND);
}

/* The first prompt with room for so many bytes, and one more when there is room again. */
static void prompt_twice(struct trail *t, size_t room)
{
	limit_files(room);
	if (stage_prompt(&t->stage, "one") == CADRE_OK)
		cadre_run(t->stage.c);
	limit_files(RLIM_INFINITY);
	buf_clear(&t->ends);
	CHECK_INT(stage_prompt(&t->stage, "two"), CADRE_OK);
	cadre_run(t->stage.c);
	CHECK_CSTR(t->ends.p, "ok\n");
}

TEST(what_a_conversation_begins_with_is_written_when_the_disk_has_room_again)
{
	static const char *const parts[] = { "\"custom-title\"", "\"agent-setting\"", "# Environment", "Use tabs.",
					     "by a hook",        "Indents lines",     "\"two\"" };
	AUTO_BUF struct buf whole = { 0 }, text = { 0 };
	struct trail t = { 0 };
	open_named(&t, NULL);
	prompt_twice(&t, RLIM_INFINITY);
	read_transcript(&t, &whole);
	close_trail(&t);

	for (const char *p = whole.p, *end; (end = strchr(p, '\n')); p = end + 1) {
		struct trail again = { 0 };
		open_named(&again, NULL);
		prompt_twice(&again, (size_t)(p - whole.p));
		read_transcript(&again, &text);
		for (size_t k = 0; k < COUNT_OF(parts); k++)
			if (!strstr(text.p, parts[k]))
				fail_msg("with %zu bytes: no %s", (size_t)(p - whole.p), parts[k]);
		close_trail(&again);
	}
}

TEST(a_fork_has_its_history_when_the_disk_has_room_again)
{
	AUTO_BUF struct buf text = { 0 };
	struct trail t = { 0 };
	open_named(&t, "before the fork");

	prompt_twice(&t, 10);

	read_transcript(&t, &text);
	CHECK(strstr(text.p, "before the fork"));
	close_trail(&t);
}

/* The file of a session whose program ended while two calls ran. */
static void cut_transcript(const char *path)
{
	AUTO_BUF struct buf text = { 0 };
	const char *result;

	CHECK_INT(file_read(path, 1 << 20, &text, NULL), 0);
	result = strstr(text.p, "\"tool_result\"");
	CHECK(result);
	while (result > text.p && result[-1] != '\n')
		result--;
	file_put(path, (struct str){ text.p, (size_t)(result - text.p) });
}

TEST(calls_that_a_resume_cannot_close_for_want_of_room_are_closed_later)
{
	AUTO_ARENA struct arena a = { 0 };
	struct trail t = { 0 };
	struct stat st;
	open_trail(&t, NULL);
	CHECK_INT(stage_prompt(&t.stage, "look"), CADRE_OK);
	cadre_run(t.stage.c);
	const char *path = arena_strdup(&a, cadre_session_file(t.stage.session));
	stage_set(&t.stage, "resume", cadre_session_id(t.stage.session));
	cadre_close(t.stage.session);
	cadre_run(t.stage.c);
	cut_transcript(path);
	CHECK_INT(cadre_open(t.stage.c, on_event, &t, &t.stage.session, NULL, 0), CADRE_OK);
	CHECK_INT(stat(path, &st), 0);

	prompt_twice(&t, (size_t)st.st_size);

	cadre_close(t.stage.session);
	cadre_run(t.stage.c);
	CHECK_INT(cadre_open(t.stage.c, on_event, &t, &t.stage.session, NULL, 0), CADRE_OK);
	prompt_twice(&t, RLIM_INFINITY);
	close_trail(&t);
}

TEST(a_preparation_runs_the_first_hooks_only)
{
	struct trail t = { 0 };

	open_trail(&t, HOOK("SessionStart", "true"));
	CHECK_INT(cadre_prepare(t.stage.session, NULL, 0), CADRE_OK);
	CHECK_INT(cadre_prepare(t.stage.session, NULL, 0), CADRE_BUSY);
	CHECK_CSTR(t.states.p, "SETUP START");
	cadre_run(t.stage.c);
	CHECK_CSTR(t.states.p, "SETUP START ENDED IDLE");
	close_trail(&t);
}

TEST(a_conversation_is_compacted)
{
	struct trail t = { 0 };

	open_trail(&t, NULL);
	CHECK_INT(stage_prompt(&t.stage, "hi"), CADRE_OK);
	cadre_run(t.stage.c);
	buf_clear(&t.states);
	CHECK_INT(stage_prompt(&t.stage, "/compact"), CADRE_OK);
	cadre_run(t.stage.c);
	CHECK_CSTR(t.states.p, TO_SUBMIT " COMPACT RUN STOP ENDED IDLE");
	close_trail(&t);
}

/* The turn is cut off when it enters the state. */
static void cut_off(const char *state, void (*act)(struct cadre_session *s), bool closes)
{
	static const char settings[] =
		"{\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"sleep 60\"}]}]}}";
	bool in_hooks = !strcmp(state, "START");
	struct trail t = { .at = state, .act = act, .closes = closes };

	open_trail(&t, in_hooks ? settings : HOOK("Stop", "true"));
	CHECK_INT(stage_prompt(&t.stage, "see @notes"), CADRE_OK);
	cadre_run(t.stage.c);
	if (!t.acted || !t.ends.n || !str_ends(buf_str(&t.states), STR("ENDED IDLE")))
		fail_msg("%s: %s", state, t.states.p ? t.states.p : "");
	if (strcmp(state, "STOP") != 0 && strcmp(state, "ENDED") != 0)
		CHECK_CSTR(t.ends.p, "Interrupted\n");
	close_trail(&t);
}

static const char *const states[] = { "SETTINGS", "APPROVAL", "SERVERS", "SETUP", "START", "SUBMIT", "PRELOAD",
				      "EXPAND",   "MENTIONS", "COMMIT",  "RUN",   "STOP",  "ENDED" };

TEST(an_interrupt_in_any_state_ends_the_turn)
{
	for (size_t i = 0; i < COUNT_OF(states); i++)
		cut_off(states[i], cadre_interrupt, false);
}

TEST(a_close_in_any_state_ends_the_turn_and_the_session)
{
	for (size_t i = 0; i < COUNT_OF(states); i++)
		cut_off(states[i], cadre_close, true);
}

int test_turn(void)
{
	return RUN_TESTS(T(calls_that_a_resume_cannot_close_for_want_of_room_are_closed_later),
			 T(what_a_conversation_begins_with_is_written_when_the_disk_has_room_again),
			 T(a_fork_has_its_history_when_the_disk_has_room_again),
			 T(what_the_model_still_has_to_do_and_cannot_be_written_is_an_error),
			 T(a_turn_goes_through_these_states), T(a_preparation_runs_the_first_hooks_only),
			 T(a_conversation_is_compacted), T(an_interrupt_in_any_state_ends_the_turn),
			 T(a_close_in_any_state_ends_the_turn_and_the_session));
}
