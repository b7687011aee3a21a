/* SPDX-License-Identifier: MIT
 * test_host.c - a host that calls every function of the public headers from inside every kind of event. Each pair of an event and a
 * group of calls is a run of its own: the calls are made when the event comes first. The lists of kinds and functions are read from
 * the headers, so that a new one fails the test until it has a cause and a call here. */
#include <cadre_command.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>
#include "host_script.h"
#include "lib/json/json_write.h"
#include "stage.h"

enum { FUNCTIONS_MAX = 160 };

struct host {
	struct stage stage;
	enum cadre_event_kind kind; /* when to call; 0: never */
	const struct call *call;
	bool called;
	bool stopped;   /* the call ended cadre_run() */
	bool times_out; /* nothing is answered; a question is closed by its time */
	unsigned seen[KINDS_MAX];
	unsigned depth;              /* of events in events */
	bool may_nest;               /* the call is one that causes events of its own */
	struct cadre_session *other; /* that a call opened */
	struct cadre_wire *wire;
	struct cadre_writer *writer;
	struct buf answer; /* of the last turn, where it is asked for */
	bool wants_answer;
};

struct call {
	const char *name;
	void (*make)(struct host *h, const struct cadre_event *e);
};

/* What the headers declare, and which functions were called in which kind of event; in kind 0 without valid arguments. */
static struct api {
	char *header;
	const char *function[FUNCTIONS_MAX], *kind[KINDS_MAX];
	size_t functions, kinds; /* kinds: with the 0, which is none */
	bool called[KINDS_MAX][FUNCTIONS_MAX];
	int now; /* the kind of the event whose calls are counted */
} api;

/* The name before each '(' behind CADRE_API, and each word that begins a line of enum cadre_event_kind. */
static void read_headers(void)
{
	AUTO_ARENA struct arena a = { 0 };

	if (api.functions)
		return;
	const char *text = file_text(&a, HEADERS "/cadre.h");
	text = arena_printf(&a, "%s%s", text, file_text(&a, HEADERS "/cadre_command.h"));
	for (const char *at = text; (at = strstr(at, "\nCADRE_API "));) {
		const char *end = at + 1 + strcspn(at + 1, "(");
		const char *name = end;
		while (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z'))
			name--;
		CHECK(api.functions < FUNCTIONS_MAX);
		api.function[api.functions++] = xstrndup(name, (size_t)(end - name));
		at = end;
	}
	const char *at = strstr(text, "enum cadre_event_kind {\n");
	api.kinds = 1;
	for (at += strcspn(at, "\n") + 1; *at != '}'; at += strcspn(at, "\n") + 1) {
		CHECK(api.kinds < KINDS_MAX);
		if (strncmp(at, "\tCADRE_", 7) == 0)
			api.kind[api.kinds++] = xstrndup(at + 1, strcspn(at + 1, " ,\n"));
	}
	CHECK(api.functions > 70 && api.kinds > 25);
}

static void count_call(const char *name)
{
	size_t i = 0;

	read_headers();
	while (i < api.functions && strcmp(api.function[i], name) != 0)
		i++;
	if (i == api.functions)
		fail_msg("%s is not a function of the headers", name);
	api.called[api.now][i] = true;
}
#define CALL(function) (count_call(#function), function)

static void check_all_called(int kind, const char *except)
{
	for (size_t i = 0; i < api.functions; i++)
		if (!api.called[kind][i] && strcmp(api.function[i], except) != 0)
			fail_msg("%s is not called in %s", api.function[i], kind ? api.kind[kind] : "the test of NULL");
}

static void call_close(struct host *h, const struct cadre_event *e)
{
	(void)e;
	CALL(cadre_close)(TAKE(h->stage.session));
}

/* Of a function that an idle session takes. A member changes its state in turns and between them, and so do files come. */
static void check_idle_only(const struct cadre_event *e, int status)
{
	if (cadre_event_kind(e) == CADRE_MEMBER_STATE || cadre_event_kind(e) == CADRE_FILES_FOUND)
		CHECK(status == CADRE_OK || status == CADRE_BUSY);
	else
		CHECK_INT(status, cadre_event_kind(e) == CADRE_TURN_ENDED ? CADRE_OK : CADRE_BUSY);
}

static void call_prompt(struct host *h, const struct cadre_event *e)
{
	check_idle_only(e, CALL(cadre_prompt)(h->stage.session, "once more", 9, NULL, 0));
}

static void call_prompt_blocks(struct host *h, const struct cadre_event *e)
{
	static const char image[] =
		"[{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\","
		"\"data\":\"x\"}}]";

	check_idle_only(e,
			CALL(cadre_prompt_blocks)(h->stage.session, "once more", 9, image, sizeof image - 1, NULL, 0));
}

static void call_prepare(struct host *h, const struct cadre_event *e)
{
	check_idle_only(e, CALL(cadre_prepare)(h->stage.session, NULL, 0));
}

static void on_other_event(const struct cadre_event *e, void *data)
{
	(void)e;
	(void)data;
}

static void call_fork(struct host *h, const struct cadre_event *e)
{
	int status = CALL(cadre_fork)(h->stage.session, on_other_event, NULL, &h->other, NULL, 0);

	check_idle_only(e, status);
	if (status == CADRE_OK) {
		CHECK_INT(CALL(cadre_prompt)(h->other, "once more", 9, NULL, 0), CADRE_OK);
		CALL(cadre_close)(TAKE(h->other));
	}
}

static void call_open(struct host *h, const struct cadre_event *e)
{
	(void)e;
	CHECK_INT(CALL(cadre_open)(h->stage.c, on_other_event, NULL, &h->other, NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_prompt)(h->other, "once more", 9, NULL, 0), CADRE_OK);
}

static void call_interrupt(struct host *h, const struct cadre_event *e)
{
	(void)e;
	CALL(cadre_interrupt)(h->stage.session);
	CALL(cadre_interrupt)(h->stage.session);
}

static void call_background(struct host *h, const struct cadre_event *e)
{
	(void)e;
	h->may_nest = true;
	CHECK(CALL(cadre_background)(h->stage.session, NULL) >= 0);
}

static void call_answers(struct host *h, const struct cadre_event *e)
{
	const char *id = CALL(cadre_event_id)(e), *answer = "Red";
	struct cadre_session *s = h->stage.session;
	enum cadre_event_kind kind = CALL(cadre_event_kind)(e);

	h->may_nest = true;
	int status = CALL(cadre_answer)(s, id, 0, CADRE_ONCE, "not now", NULL, 0);
	CHECK(status == CADRE_OK || (kind != CADRE_PERMISSION_ASKED && status == CADRE_NOT_FOUND));
	CHECK_INT(CALL(cadre_answer_elicitation)(s, id, "cancel", NULL),
		  kind == CADRE_ELICITATION_ASKED ? CADRE_OK : CADRE_NOT_FOUND);
	status = CALL(cadre_answer_question)(s, id, &answer, 1);
	CHECK(status == CADRE_OK || (kind != CADRE_QUESTION_ASKED && status == CADRE_NOT_FOUND));
	CHECK(status == CADRE_NOT_FOUND || kind != CADRE_QUESTION_CLOSED);
}

/* To the child that the event is about; of the main agent there is none by this name. */
static void call_tell(struct host *h, const struct cadre_event *e)
{
	const char *child = cadre_event_agent(e);
	int status;

	h->may_nest = true;
	status = CALL(cadre_tell)(h->stage.session, *child ? child : "unknown", "Look again", NULL, 0);
	if (cadre_event_kind(e) == CADRE_AGENT_ENDED)
		CHECK_INT(status, CADRE_BUSY);
	else
		CHECK_INT(status, *child ? CADRE_OK : CADRE_NOT_FOUND);
}

static void on_lines(void *data, const char *lines, size_t n)
{
	(void)lines;
	*(size_t *)data += n;
}

/* One wire works beside the session, another one is dropped at once. */
static void call_wire(struct host *h, const struct cadre_event *e)
{
	static const char message[] = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"once more\"}}\n";
	static size_t written;
	struct cadre_wire *dropped = CALL(cadre_wire_new)(h->stage.c, on_lines, &written);

	(void)e;
	h->wire = CALL(cadre_wire_new)(h->stage.c, on_lines, &written);
	CALL(cadre_wire_feed)(h->wire, message, sizeof message - 1);
	CALL(cadre_wire_end_input)(h->wire);
	CALL(cadre_wire_feed)(dropped, message, sizeof message - 1);
	CALL(cadre_wire_interrupt)(dropped);
	CHECK_INT(CALL(cadre_wire_status)(dropped, NULL), CADRE_OK);
	CALL(cadre_wire_free)(dropped);
}

static void on_watch(struct cadre *c, int fd_or_signal, void *data)
{
	(void)c;
	(void)fd_or_signal;
	(void)data;
}

static void on_writer(struct cadre_writer *w, void *data)
{
	(void)w;
	(void)data;
}

/* The loop of the runtime ends and is entered again; another runtime comes and goes. */
static void call_loop(struct host *h, const struct cadre_event *e)
{
	struct cadre *c = h->stage.c, *another = CALL(cadre_new)(NULL, 0);
	struct termios modes = { 0 };
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int pipes[2];

	(void)e;
	CHECK(another && CALL(cadre_version)()[0] && fd >= 0 && pipe(pipes) == 0);
	CALL(cadre_free)(another);
	CHECK_INT(CALL(cadre_watch_fd)(c, pipes[0], 0, on_watch, NULL), CADRE_OK);
	CALL(cadre_unwatch_fd)(c, pipes[0]);
	CHECK_INT(CALL(cadre_watch_signal)(c, SIGUSR2, on_watch, NULL), CADRE_OK);
	CHECK_INT(cadre_watch_signal(c, SIGUSR2, NULL, NULL), CADRE_OK);
	bool terminal = tcgetattr(STDIN_FILENO, &modes) == 0;
	CHECK_INT(CALL(cadre_keep_terminal)(c, &modes, "", NULL, 0), terminal ? CADRE_OK : CADRE_IO);
	CHECK_INT(CALL(cadre_mcp_serve)(c, fd, fd, NULL, 0), CADRE_BUSY);
	h->writer = CALL(cadre_writer_new)(c, pipes[1]);
	CALL(cadre_writer_on_failure)(h->writer, on_writer, NULL);
	CALL(cadre_writer_on_drained)(h->writer, on_writer, NULL);
	CALL(cadre_write)(h->writer, "x", 1);
	CHECK_INT(CALL(cadre_writer_flush)(h->writer, 1000, NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_writer_queued)(h->writer), 0);
	CALL(cadre_writer_free)(TAKE(h->writer));
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	h->stopped = true;
	CALL(cadre_stop)(c);
}

static void call_command(struct host *h, const struct cadre_event *e)
{
	static const char *const agents[] = { "agents" }, *const test[] = { "mcp", "test" };
	struct cadre_report *report = NULL;

	(void)e;
	CHECK(CALL(cadre_command_next)(NULL));
	CHECK_INT(CALL(cadre_command)(h->stage.c, 2, test, NULL, &report, NULL, 0), CADRE_BUSY);
	CHECK_INT(cadre_command(h->stage.c, 1, agents, NULL, &report, NULL, 0), CADRE_OK);
	CHECK(strstr(CALL(cadre_report_json)(report, NULL), "Explore") && CALL(cadre_report_rows)(report) > 1);
	CHECK(CALL(cadre_report_style)(report, 0) <= CADRE_BAD && CALL(cadre_report_cells)(report, 0) > 0);
	CHECK(CALL(cadre_report_cell)(report, 0, 0)[0]);
	CHECK_INT(CALL(cadre_report_bad)(report) + CALL(cadre_report_code)(report), 0);
	CALL(cadre_report_free)(report);
}

static void call_set(struct host *h, const struct cadre_event *e)
{
	struct cadre_session *s = h->stage.session;

	CHECK_CSTR(CALL(cadre_session_id)(s), CALL(cadre_event_session)(e));
	CHECK(CALL(cadre_session_model)(s)[0] && CALL(cadre_session_mode)(s)[0]);
	CHECK_INT(CALL(cadre_session_is_trusted)(s), 0);
	CHECK(CALL(cadre_rules_file)(s)[0]);
	CHECK(!CALL(cadre_session_setting)(s, "statusLine", NULL));
	CHECK_INT(CALL(cadre_has_interrupted_turn)(s) + CALL(cadre_has_initial_prompt)(s), 0);
	CHECK_INT(CALL(cadre_session_set)(s, "model", "haiku", NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_session_set)(s, "effort", "low", NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_session_set)(s, "permission-mode", "plan", NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_session_set)(s, "add-dir", "/no/such/directory", NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_session_set)(s, "start-source", "boredom", NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_session_set)(s, "end-reason", "logout", NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_session_set)(s, "add-dir", "/usr", NULL, 0), CADRE_OK);
	CHECK_INT(CALL(cadre_set)(h->stage.c, "model", "sonnet", NULL, 0), CADRE_OK);
	CHECK(strstr(CALL(cadre_session_file)(s), CALL(cadre_session_id)(s)));
}

static const char *request(struct cadre_session *s, const char *json, char *why, size_t why_size)
{
	size_t n = 0;
	const char *answer = CALL(cadre_request)(s, json, strlen(json), &n, why, why_size);

	CHECK(!answer || n == strlen(answer));
	return answer;
}

static void call_request(struct host *h, const struct cadre_event *e)
{
	struct cadre_session *s = h->stage.session;
	char why[240] = "";

	(void)e;
	const char *answer = request(s, "{\"subtype\":\"get_context_usage\"}", why, sizeof why);
	CHECK(answer && strstr(answer, "\"Custom agents\"") && strstr(answer, "\"Free space\""));
	answer = request(s, "{\"subtype\":\"list_models\"}", why, sizeof why);
	CHECK(answer && strstr(answer, "\"sonnet\""));
	CHECK(!request(s, "{\"subtype\":\"stop_task\",\"task_id\":\"x\"}", why, sizeof why));
	CHECK_CSTR(why, "a host cannot make this request");
	CHECK(!request(s, "{\"subtype\":\"rename_session\"}", why, sizeof why));
	CHECK_CSTR(why, "title is empty");
	CHECK(!request(s, "{", why, sizeof why));
}

static void call_accessors(struct host *h, const struct cadre_event *e)
{
	size_t n;

	(void)h;
	CHECK(CALL(cadre_event_seq)(e) > 0 && CALL(cadre_event_time_ms)(e) > 0);
	CHECK(CALL(cadre_event_text)(e, &n) && CALL(cadre_event_text)(e, NULL));
	(void)CALL(cadre_event_frame)(e, &n);
	(void)CALL(cadre_event_frame)(e, NULL);
	for (int i = 0; i <= CADRE_STR_TEAM; i++)
		CHECK(CALL(cadre_event_str)(e, (enum cadre_str)i));
	for (int i = 0; i <= CADRE_INT_LEFT_MS; i++)
		CHECK(CALL(cadre_event_int)(e, (enum cadre_int)i) >= 0);
	CHECK(CALL(cadre_event_agent)(e) && CALL(cadre_event_name)(e) && CALL(cadre_event_why)(e) &&
	      CALL(cadre_event_subtype)(e));
	(void)CALL(cadre_event_rule)(e, 0);
	CHECK(CALL(cadre_event_patch)(e, NULL) && CALL(cadre_event_is_error)(e) >= 0);
	(void)CALL(cadre_event_question)(e, 0);
	(void)CALL(cadre_event_choice)(e, 0, 0, NULL);
	CHECK(CALL(cadre_event_can_accept_edits)(e) >= 0 && CALL(cadre_event_multi_select)(e, 0) >= 0);
}

/* A session that is busy refuses these, and nothing changes. */
static const struct call calls_of_idle[] = {
	{ "prompt", call_prompt },
	{ "prompt with files", call_prompt_blocks },
	{ "prepare", call_prepare },
	{ "fork", call_fork },
};

static bool may_be_idle(enum cadre_event_kind kind)
{
	return kind == CADRE_TURN_ENDED || kind == CADRE_MEMBER_STATE || kind == CADRE_FILES_FOUND;
}

/* The turn goes on as if none of these had been called. */
static void call_unchanging(struct host *h, const struct cadre_event *e)
{
	call_command(h, e);
	call_request(h, e);
	call_accessors(h, e);
	for (size_t i = 0; i < COUNT_OF(calls_of_idle) && !may_be_idle(h->kind); i++)
		calls_of_idle[i].make(h, e);
}

static const struct call calls[] = {
	{ "close", call_close },
	{ "open", call_open },
	{ "interrupt", call_interrupt },
	{ "background", call_background },
	{ "answers", call_answers },
	{ "tell", call_tell },
	{ "wire", call_wire },
	{ "loop", call_loop },
	{ "set", call_set },
	{ "what changes nothing", call_unchanging },
};

static void on_event(const struct cadre_event *e, void *data)
{
	struct host *h = data;
	enum cadre_event_kind kind = cadre_event_kind(e);
	const char *answer = "Red";

	h->depth++;
	CHECK(h->depth == 1 || h->may_nest); /* no event comes from inside another, but by these calls */
	h->seen[kind]++;
	if (kind == CADRE_TURN_ENDED && h->wants_answer) {
		buf_clear(&h->answer);
		buf_addstr(&h->answer, cadre_event_text(e, NULL));
	}
	if (kind == h->kind && !h->called) {
		h->called = true;
		api.now = (int)kind;
		h->call->make(h, e);
	}
	h->may_nest = true;
	struct cadre_session *s = h->stage.session;
	if (kind == CADRE_PERMISSION_ASKED && s)
		(void)cadre_answer(s, cadre_event_id(e), !strstr(cadre_event_text(e, NULL), "refused"), CADRE_ONCE,
				   NULL, NULL, 0);
	if (kind == CADRE_QUESTION_ASKED && !h->times_out && s)
		(void)cadre_answer_question(s, cadre_event_id(e), &answer, 1);
	if (kind == CADRE_ELICITATION_ASKED && h->kind != CADRE_QUESTION_CLOSED && s)
		(void)cadre_answer_elicitation(s, cadre_event_id(e), "cancel", NULL);
	if (kind == CADRE_TOOL_PROGRESS) { /* what the command waits for */
		AUTO_ARENA struct arena a = { 0 };
		file_put(arena_printf(&a, "%s/seen", h->stage.dir), str_from("x"));
	}
	h->may_nest = false;
	h->depth--;
}

/* Two turns of work and a compaction, unless the call changes that. */
static void play(struct host *h, const char *settings)
{
	static const char *const prompts[] = { "work", "rest", "/compact" };

	AUTO_BUF struct buf script = { 0 }, servers = { 0 };
	bool asks = h->kind == CADRE_ELICITATION_ASKED || h->kind == CADRE_QUESTION_CLOSED;

	const char *cause = h->kind == CADRE_RETRY && settings == hooked ? other_model : causes[h->kind];
	buf_addf(&script, "%s%s", cause && !h->times_out ? cause : "", scenario);
	json_addf(&servers, "{mcpServers:{form:{command:'sh', args:['-c', '%s']}}}", server);
	setenv("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", h->kind == CADRE_MEMBER_STATE ? "1" : "0", 1);
	h->stage.mcp_config = asks ? servers.p : NULL;
	stage_open(&h->stage, script.p, settings, on_event, h);
	if (h->kind == CADRE_FILES_FOUND)
		CHECK(request(h->stage.session, "{\"subtype\":\"list_mentions\"}", NULL, 0));
	for (size_t i = 0; i < COUNT_OF(prompts) && h->stage.session; i++) {
		CHECK_INT(stage_prompt(&h->stage, prompts[i]), CADRE_OK);
		do {
			h->stopped = false;
			cadre_run(h->stage.c);
		} while (h->stopped);
	}
	cadre_close(TAKE(h->other));
	cadre_wire_free(TAKE(h->wire));
	stage_close(&h->stage);
	CHECK_INT(h->seen[CADRE_SESSION_STARTED], h->seen[CADRE_TURN_ENDED]);
	if (!h->called)
		fail_msg("%s did not come", api.kind[h->kind]);
}

/* Whether commands can be confined here: `cadre sandbox status` says so. */
static bool has_sandbox(void)
{
	static const char *const argv[] = { "sandbox", "status" };
	struct cadre_report *report = NULL;
	struct cadre *c = cadre_new(NULL, 0);

	CHECK_INT(cadre_command(c, 2, argv, NULL, &report, NULL, 0), CADRE_OK);
	bool has = strncmp(cadre_report_cell(report, 0, 0), "full", 4) == 0;
	if (!has)
		print_message("# without CADRE_SANDBOX_VIOLATION: %s\n", cadre_report_cell(report, 0, 0));
	cadre_report_free(report);
	cadre_free(c);
	return has;
}

static void play_each(enum cadre_event_kind kind, const char *settings, const struct call *call, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct host h = { .kind = kind, .call = &call[i], .times_out = settings == timed };
		print_message("# %s in %s\n", call[i].name, api.kind[kind]);
		play(&h, settings);
	}
}

static void play_calls(int kind, const char *settings)
{
	if (kind == CADRE_SANDBOX_VIOLATION && !has_sandbox())
		return;
	memset(api.called[kind], 0, sizeof api.called[kind]);
	play_each((enum cadre_event_kind)kind, settings, calls, COUNT_OF(calls));
	if (may_be_idle((enum cadre_event_kind)kind))
		play_each((enum cadre_event_kind)kind, settings, calls_of_idle, COUNT_OF(calls_of_idle));
	check_all_called(kind, "cadre_run");
}

/* Those that only hooks cause. */
static bool is_of_hooks(int kind)
{
	return kind == CADRE_HOOK_STARTED || kind == CADRE_HOOK_ENDED || kind == CADRE_ERROR ||
	       kind == CADRE_TERMINAL_SEQUENCE;
}

TEST(every_function_may_be_called_from_every_event)
{
	read_headers();
	for (int kind = 1; kind < (int)api.kinds; kind++)
		if (!is_of_hooks(kind))
			play_calls(kind, kind == CADRE_SANDBOX_VIOLATION ? sandboxed : plain);
}

/* The hooks make a turn wait at its start and its end. What comes in the middle of one, and is slow to cause, is left out. */
TEST(every_function_may_be_called_from_every_event_with_hooks)
{
	read_headers();
	for (int kind = 1; kind < (int)api.kinds; kind++)
		if (kind == CADRE_MEMBER_STATE || kind == CADRE_RETRY || !causes[kind])
			play_calls(kind, hooked);
	play_calls(CADRE_QUESTION_CLOSED, timed);
}

TEST(null_arguments_are_refused_or_ignored)
{
	const char *answer = "x";
	struct cadre_session *s;
	struct cadre_report *report;
	size_t n;

	api.now = 0;
	CALL(cadre_free)(NULL);
	CALL(cadre_free)(CALL(cadre_new)(NULL, 0));
	CHECK(CALL(cadre_version)() && CALL(cadre_command_next)(NULL));
	CHECK_INT(CALL(cadre_prompt_blocks)(NULL, "x", 1, NULL, 0, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_tell)(NULL, "x", "x", NULL, 0), CADRE_USAGE);
	CHECK_CSTR(CALL(cadre_session_mode)(NULL), "");
	CHECK_CSTR(CALL(cadre_session_file)(NULL), "");
	CHECK_INT(CALL(cadre_session_is_trusted)(NULL), 0);
	CHECK(!CALL(cadre_request)(NULL, "{}", 2, &n, NULL, 0));
	CHECK_CSTR(CALL(cadre_event_patch)(NULL, NULL), "");
	CHECK_INT(CALL(cadre_mcp_serve)(NULL, 0, 1, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_keep_terminal)(NULL, NULL, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_command)(NULL, 0, NULL, NULL, &report, NULL, 0), CADRE_USAGE);
	CHECK(CALL(cadre_report_json)(NULL, &n) && CALL(cadre_report_cell)(NULL, 0, 0));
	CHECK_INT(CALL(cadre_report_rows)(NULL) + CALL(cadre_report_cells)(NULL, 0) + CALL(cadre_report_style)(NULL, 0),
		  0);
	CHECK_INT(CALL(cadre_report_bad)(NULL) + CALL(cadre_report_code)(NULL), 0);
	CALL(cadre_report_free)(NULL);
	CALL(cadre_run)(NULL);
	CALL(cadre_stop)(NULL);
	CALL(cadre_close)(NULL);
	CALL(cadre_interrupt)(NULL);
	CALL(cadre_unwatch_fd)(NULL, 0);
	CHECK_INT(CALL(cadre_set)(NULL, "model", "x", NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_open)(NULL, NULL, NULL, &s, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_fork)(NULL, NULL, NULL, &s, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_prompt)(NULL, "x", 1, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_prepare)(NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_has_interrupted_turn)(NULL) + CALL(cadre_has_initial_prompt)(NULL), 0);
	CHECK_INT(CALL(cadre_background)(NULL, NULL), CADRE_USAGE);
	CHECK_INT(CALL(cadre_answer)(NULL, "x", 1, CADRE_ONCE, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_answer_question)(NULL, "x", &answer, 1), CADRE_USAGE);
	CHECK_INT(CALL(cadre_answer_elicitation)(NULL, "x", "cancel", NULL), CADRE_USAGE);
	CHECK_INT(CALL(cadre_session_set)(NULL, "model", "x", NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_watch_fd)(NULL, 0, 0, NULL, NULL), CADRE_USAGE);
	CHECK_INT(CALL(cadre_watch_signal)(NULL, 1, NULL, NULL), CADRE_USAGE);
	CHECK_CSTR(CALL(cadre_rules_file)(NULL), "");
	CHECK_CSTR(CALL(cadre_session_id)(NULL), "");
	CHECK_CSTR(CALL(cadre_session_model)(NULL), "");
	CHECK(!CALL(cadre_session_setting)(NULL, "model", NULL));
	CHECK(!CALL(cadre_wire_new)(NULL, NULL, NULL) && !CALL(cadre_writer_new)(NULL, 1));
	CALL(cadre_wire_feed)(NULL, "x", 1);
	CALL(cadre_wire_end_input)(NULL);
	CALL(cadre_wire_interrupt)(NULL);
	CALL(cadre_wire_free)(NULL);
	CHECK_INT(CALL(cadre_wire_status)(NULL, NULL), CADRE_USAGE);
	CALL(cadre_write)(NULL, "x", 1);
	CALL(cadre_writer_on_failure)(NULL, NULL, NULL);
	CALL(cadre_writer_on_drained)(NULL, NULL, NULL);
	CALL(cadre_writer_free)(NULL);
	CHECK_INT(CALL(cadre_writer_queued)(NULL), 0);
	CHECK_INT(CALL(cadre_writer_flush)(NULL, 0, NULL, 0), CADRE_USAGE);
	CHECK_INT(CALL(cadre_event_kind)(NULL), 0);
	CHECK_CSTR(CALL(cadre_event_text)(NULL, &n), "");
	CHECK(!CALL(cadre_event_frame)(NULL, &n));
	CHECK_INT(CALL(cadre_event_seq)(NULL) + (uint64_t)CALL(cadre_event_time_ms)(NULL), 0);
	CHECK_CSTR(CALL(cadre_event_session)(NULL), "");
	CHECK_CSTR(CALL(cadre_event_agent)(NULL), "");
	CHECK_CSTR(CALL(cadre_event_name)(NULL), "");
	CHECK_CSTR(CALL(cadre_event_id)(NULL), "");
	CHECK_CSTR(CALL(cadre_event_why)(NULL), "");
	CHECK_CSTR(CALL(cadre_event_subtype)(NULL), "");
	CHECK_CSTR(CALL(cadre_event_str)(NULL, CADRE_STR_TYPE), "");
	CHECK_INT(CALL(cadre_event_int)(NULL, CADRE_INT_MS), 0);
	CHECK_INT(CALL(cadre_event_is_error)(NULL) + CALL(cadre_event_can_accept_edits)(NULL) +
			  CALL(cadre_event_multi_select)(NULL, 0),
		  0);
	CHECK(!CALL(cadre_event_rule)(NULL, 0) && !CALL(cadre_event_question)(NULL, 0) &&
	      !CALL(cadre_event_choice)(NULL, 0, 0, NULL));
	check_all_called(0, "");
}

TEST(null_ids_and_options_are_refused)
{
	struct stage st = { 0 };
	struct cadre_session *s;

	stage_open(&st, "rule\n  text ok\n", NULL, NULL, NULL);
	s = st.session;
	CHECK_INT(cadre_answer(s, NULL, 1, CADRE_ONCE, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_answer_question(s, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_answer_question(s, "x", NULL, 1), CADRE_USAGE);
	CHECK_INT(cadre_answer_elicitation(s, NULL, "cancel", NULL), CADRE_USAGE);
	CHECK_INT(cadre_answer_elicitation(s, "x", NULL, NULL), CADRE_USAGE);
	CHECK_INT(cadre_session_set(s, NULL, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_set(st.c, NULL, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_open(st.c, NULL, NULL, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_fork(s, NULL, NULL, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_watch_fd(st.c, 0, 0, NULL, NULL), CADRE_USAGE);
	stage_close(&st);
}

/* A notification waits when the turn ends: it goes with the prompt, and one turn runs, not two. */
TEST(a_prompt_at_the_end_of_a_turn_takes_the_waiting_notification_along)
{
	static const char script[] =
		"rule\n  agent main\n  prompt contains \"task-notification\"\n  prompt contains \"once more\"\n  text told\n"
		"rule\n  agent main\n  turn 1\n  prompt contains \"work\"\n"
		"  call Agent {\"description\": \"Back\", \"prompt\": \"Look\", \"run_in_background\": true}\n"
		"rule\n  agent main\n  latency 500\n  text ok\n"
		"rule\n  text seen\n";
	struct host h = { .kind = CADRE_TURN_ENDED, .call = &calls_of_idle[0], .wants_answer = true };

	stage_open(&h.stage, script, hooked, on_event, &h);
	CHECK_INT(stage_prompt(&h.stage, "work"), CADRE_OK);
	cadre_run(h.stage.c);
	CHECK_INT(h.seen[CADRE_NOTIFICATION], 1);
	CHECK_INT(h.seen[CADRE_TURN_ENDED], 2);
	CHECK_CSTR(h.answer.p, "told");
	buf_release(&h.answer);
	stage_close(&h.stage);
}

struct late {
	struct stage stage;
	bool closes;
	unsigned ends; /* of turns */
};

/* The second end is that of the wait for agents in the background. */
static void on_late(const struct cadre_event *e, void *data)
{
	struct late *l = data;

	if (cadre_event_kind(e) != CADRE_TURN_ENDED || ++l->ends != 2)
		return;
	if (l->closes)
		cadre_close(TAKE(l->stage.session));
	else
		CHECK_INT(cadre_prompt(l->stage.session, "rest", 4, NULL, 0), CADRE_OK);
}

TEST(a_host_prompts_or_closes_when_a_session_gives_up_on_its_agents)
{
	static const char script[] =
		FIRST "Agent {\"description\": \"Back\", \"prompt\": \"Look\", \"run_in_background\": true}\n"
		      "rule\n  agent main\n  text ok\n"
		      "rule\n  text I begin\n  stall at byte 0\n";

	for (int closes = 0; closes < 2; closes++) {
		struct late l = { .closes = closes, .stage.unattended = true };
		stage_open(&l.stage, script, "{\"env\": {\"CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS\": \"20\"}}", on_late,
			   &l);
		CHECK_INT(stage_prompt(&l.stage, "work"), CADRE_OK);
		cadre_run(l.stage.c);
		CHECK_INT(l.ends, closes ? 2 : 3);
		stage_close(&l.stage);
	}
}

int test_host(void)
{
	return RUN_TESTS(T(a_prompt_at_the_end_of_a_turn_takes_the_waiting_notification_along),
			 T(a_host_prompts_or_closes_when_a_session_gives_up_on_its_agents),
			 T(null_arguments_are_refused_or_ignored), T(null_ids_and_options_are_refused),
			 T(every_function_may_be_called_from_every_event),
			 T(every_function_may_be_called_from_every_event_with_hooks));
}
