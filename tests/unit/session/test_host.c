/* SPDX-License-Identifier: MIT
 * test_host.c - a host that calls functions of cadre.h from inside events. Each pair of an event and a call is a run of its own:
 * the call is made when the event comes first. */
#include <stdlib.h>
#include "stage.h"

enum { KIND_COUNT = CADRE_TERMINAL_SEQUENCE + 1 };

struct host {
	struct stage stage;
	enum cadre_event_kind kind; /* when to call; 0: never */
	const struct call *call;
	bool called;
	unsigned seen[KIND_COUNT];
	unsigned depth;              /* of events in events */
	bool may_nest;               /* the call is one that causes events of its own */
	struct cadre_session *other; /* that a call opened */
};

struct call {
	const char *name;
	void (*make)(struct host *h, const struct cadre_event *e);
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void call_close(struct host *h, const struct cadre_event *e)
{
	(void)e;
	cadre_close(TAKE(h->stage.session));
}

/* Of a function that an idle session takes. A member changes its state in turns and between them. */
static void check_idle_only(const struct cadre_event *e, int status)
{
	if (cadre_event_kind(e) == CADRE_MEMBER_STATE)
		CHECK(status == CADRE_OK || status == CADRE_BUSY);
	else
		CHECK_INT(status, cadre_event_kind(e) == CADRE_TURN_ENDED ? CADRE_OK : CADRE_BUSY);
}

static void call_prompt(struct host *h, const struct cadre_event *e)
{
	check_idle_only(e, cadre_prompt(h->stage.session, "once more", 9, NULL, 0));
}

static void call_prepare(struct host *h, const struct cadre_event *e)
{
	check_idle_only(e, cadre_prepare(h->stage.session, NULL, 0));
}

static void on_other_event(const struct cadre_event *e, void *data)
{
	(void)e;
	(void)data;
}

static void call_fork(struct host *h, const struct cadre_event *e)
{
	int status = cadre_fork(h->stage.session, on_other_event, NULL, &h->other, NULL, 0);

	check_idle_only(e, status);
	if (status == CADRE_OK) {
		CHECK_INT(cadre_prompt(h->other, "once more", 9, NULL, 0), CADRE_OK);
		cadre_close(TAKE(h->other));
	}
}

static void call_open(struct host *h, const struct cadre_event *e)
{
	(void)e;
	CHECK_INT(cadre_open(h->stage.c, on_other_event, NULL, &h->other, NULL, 0), CADRE_OK);
	CHECK_INT(cadre_prompt(h->other, "once more", 9, NULL, 0), CADRE_OK);
}

static void call_interrupt(struct host *h, const struct cadre_event *e)
{
	(void)e;
	cadre_interrupt(h->stage.session);
	cadre_interrupt(h->stage.session);
}

static void call_background(struct host *h, const struct cadre_event *e)
{
	(void)e;
	h->may_nest = true;
	CHECK(cadre_background(h->stage.session, NULL) >= 0);
}

static void call_answers(struct host *h, const struct cadre_event *e)
{
	const char *id = cadre_event_id(e), *answer = "Red";
	struct cadre_session *s = h->stage.session;
	enum cadre_event_kind kind = cadre_event_kind(e);

	h->may_nest = true;
	int status = cadre_answer(s, id, 0, CADRE_ONCE, "not now", NULL, 0);
	CHECK(status == CADRE_OK || (kind != CADRE_PERMISSION_ASKED && status == CADRE_NOT_FOUND));
	status = cadre_answer_question(s, id, &answer, 1);
	CHECK(status == CADRE_OK || (kind != CADRE_QUESTION_ASKED && status == CADRE_NOT_FOUND));
	CHECK_INT(cadre_answer_elicitation(s, id, "cancel", NULL), CADRE_NOT_FOUND);
}

static void call_set(struct host *h, const struct cadre_event *e)
{
	struct cadre_session *s = h->stage.session;

	CHECK_CSTR(cadre_session_id(s), cadre_event_session(e));
	CHECK(cadre_session_model(s)[0]);
	CHECK(cadre_rules_file(s)[0]);
	CHECK(!cadre_session_setting(s, "statusLine", NULL));
	CHECK_INT(cadre_has_interrupted_turn(s) + cadre_has_initial_prompt(s), 0);
	CHECK_INT(cadre_session_set(s, "model", "haiku", NULL, 0), CADRE_OK);
	CHECK_INT(cadre_session_set(s, "effort", "low", NULL, 0), CADRE_OK);
	CHECK_INT(cadre_session_set(s, "permission-mode", "plan", NULL, 0), CADRE_OK);
	CHECK_INT(cadre_session_set(s, "add-dir", "/no/such/directory", NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_session_set(s, "add-dir", "/usr", NULL, 0), CADRE_OK);
	CHECK_INT(cadre_set(h->stage.c, "model", "sonnet", NULL, 0), CADRE_OK);
	CHECK(strstr(cadre_session_file(s), cadre_session_id(s)));
}

static const char *request(struct cadre_session *s, const char *json, char *why, size_t why_size)
{
	size_t n = 0;
	const char *answer = cadre_request(s, json, strlen(json), &n, why, why_size);

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
	CHECK(cadre_event_seq(e) > 0 && cadre_event_time_ms(e) > 0);
	CHECK(cadre_event_text(e, &n) && cadre_event_text(e, NULL));
	(void)cadre_event_frame(e, &n);
	(void)cadre_event_frame(e, NULL);
	for (int i = 0; i <= CADRE_DETAIL_PATH; i++)
		CHECK(cadre_event_detail(e, (enum cadre_detail)i));
	for (int i = 0; i <= CADRE_FIGURE_MS; i++)
		CHECK(cadre_event_figure(e, (enum cadre_figure)i) >= 0);
	CHECK(cadre_event_agent(e) && cadre_event_name(e) && cadre_event_why(e) && cadre_event_subtype(e));
	(void)cadre_event_rule(e, 0);
	(void)cadre_event_question(e, 0);
	(void)cadre_event_choice(e, 0, 0, NULL);
	CHECK(cadre_event_offers_edits(e) >= 0 && cadre_event_takes_several(e, 0) >= 0);
}

static const struct call calls[] = {
	{ "close", call_close },
	{ "prompt", call_prompt },
	{ "prepare", call_prepare },
	{ "fork", call_fork },
	{ "open", call_open },
	{ "interrupt", call_interrupt },
	{ "background", call_background },
	{ "answers", call_answers },
	{ "request", call_request },
	{ "set", call_set },
	{ "accessors", call_accessors },
};

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void on_event(const struct cadre_event *e, void *data)
{
	struct host *h = data;
	enum cadre_event_kind kind = cadre_event_kind(e);
	const char *answer = "Red";

	h->depth++;
	CHECK(h->depth == 1 || h->may_nest); /* no event comes from inside another, but by these calls */
	h->seen[kind]++;
	if (kind == h->kind && !h->called) {
		h->called = true;
		h->call->make(h, e);
	}
	h->may_nest = true;
	if (kind == CADRE_PERMISSION_ASKED && h->stage.session)
		(void)cadre_answer(h->stage.session, cadre_event_id(e), !strstr(cadre_event_text(e, NULL), "refused"),
				   CADRE_ONCE, NULL, NULL, 0);
	if (kind == CADRE_QUESTION_ASKED && h->stage.session)
		(void)cadre_answer_question(h->stage.session, cadre_event_id(e), &answer, 1);
	h->may_nest = false;
	h->depth--;
}

/* A retry takes time: it comes only where it is waited for. */
static const char retried[] = "rule\n  agent main\n  nth 1\n  status 529 overloaded_error\n";
static const char scenario[] =
	"rule\n  agent main\n  prompt contains \"work\"\n  turn 1\n  text I begin.\n"
	"  call Bash {\"command\": \"echo x > made\"}\n"
	"  call Read {\"file_path\": \"missing\"}\n"
	"  call AskUserQuestion {\"questions\": [{\"question\": \"Which?\", \"header\": \"C\", \"options\": "
	"[{\"label\": \"Red\", \"description\": \"r\"}, {\"label\": \"Blue\", \"description\": \"b\"}]}]}\n"
	"  call Agent {\"description\": \"Back\", \"prompt\": \"Look\", \"run_in_background\": true}\n"
	"  call Agent {\"description\": \"Fore\", \"prompt\": \"Look\"}\n"
	"  call Bash {\"command\": \"echo x > refused\"}\n"
	"rule\n  agent main\n  text ok\n"
	"rule\n  turn 1\n  call Read {\"file_path\": \"scenario.txt\"}\n"
	"rule\n  text seen\n";

/* Members of a team stay at work for long: they come only where one is waited for. */
static const char teamed[] =
	"rule\n  agent main\n  prompt contains \"work\"\n  turn 1\n  call TeamCreate {\"team_name\": \"alpha\"}\n"
	"rule\n  agent main\n  prompt contains \"work\"\n  turn 2\n  call Agent {\"description\": \"Join\", "
	"\"prompt\": \"Look\", \"name\": \"m1\", \"team_name\": \"alpha\"}\n";

static const char plain[] = "{}";
static const char hooked[] =
	"{\"hooks\": {"
	"\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}],"
	"\"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo context\"}]}],"
	"\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo '{\\\"systemMessage\\\": \\\"x\\\", "
	"\\\"terminalSequence\\\": \\\"\\\\u0007\\\"}'\"}]}],"
	"\"SessionEnd\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}";

/* Two turns of work and a compaction, unless the call changes that. */
static void play(struct host *h, const char *settings)
{
	static const char *const prompts[] = { "work", "rest", "/compact" };

	AUTO_BUF struct buf script = { 0 };

	buf_addf(&script, "%s%s%s", !h->kind || h->kind == CADRE_RETRY ? retried : "",
		 h->kind == CADRE_MEMBER_STATE ? teamed : "", scenario);
	setenv("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", h->kind == CADRE_MEMBER_STATE ? "1" : "0", 1);
	stage_open(&h->stage, script.p, settings, on_event, h);
	for (size_t i = 0; i < COUNT_OF(prompts) && h->stage.session; i++) {
		CHECK_INT(stage_prompt(&h->stage, prompts[i]), CADRE_OK);
		cadre_run(h->stage.c);
	}
	cadre_close(TAKE(h->other));
	stage_close(&h->stage);
	CHECK_INT(h->seen[CADRE_SESSION_STARTED], h->seen[CADRE_TURN_ENDED]);
}

/* Those that this script cannot cause: no server asks, no wall is touched, no command prints for long, no question is withdrawn. */
static bool is_provoked(int kind, bool with_hooks)
{
	bool of_hooks = kind == CADRE_HOOK_STARTED || kind == CADRE_HOOK_ENDED || kind == CADRE_ERROR ||
			kind == CADRE_TERMINAL_SEQUENCE;
	bool others = kind == CADRE_ELICITATION_ASKED || kind == CADRE_SANDBOX_VIOLATION ||
		      kind == CADRE_TOOL_PROGRESS || kind == CADRE_QUESTION_CLOSED;

	return !others && (with_hooks || !of_hooks);
}

TEST(the_script_causes_every_kind_of_event)
{
	struct host without = { 0 }, with = { 0 };

	play(&without, plain);
	play(&with, hooked);
	for (int kind = CADRE_SESSION_STARTED; kind < KIND_COUNT; kind++) {
		if (kind ==
		    CADRE_MEMBER_STATE) /* every_function_may_be_called_from_every_event() makes a team for it */
			continue;
		if (is_provoked(kind, false) && !without.seen[kind])
			fail_msg("event %d did not come without hooks", kind);
		if (is_provoked(kind, true) && !with.seen[kind])
			fail_msg("event %d did not come with hooks", kind);
	}
}

static void play_all(const char *settings, bool with_hooks)
{
	for (int kind = CADRE_SESSION_STARTED; kind < KIND_COUNT; kind++)
		for (size_t i = 0; i < COUNT_OF(calls) && is_provoked(kind, with_hooks); i++) {
			struct host h = { .kind = (enum cadre_event_kind)kind, .call = &calls[i] };
			print_message("# %s in event %d\n", calls[i].name, kind);
			play(&h, settings);
			CHECK(h.called);
		}
}

TEST(every_function_may_be_called_from_every_event)
{
	play_all(plain, false);
}

TEST(every_function_may_be_called_from_every_event_with_hooks)
{
	play_all(hooked, true);
}

TEST(null_arguments_are_refused_or_ignored)
{
	const char *answer = "x";
	struct cadre_session *s;
	size_t n;

	cadre_free(NULL);
	cadre_run(NULL);
	cadre_stop(NULL);
	cadre_close(NULL);
	cadre_interrupt(NULL);
	cadre_unwatch_fd(NULL, 0);
	CHECK_INT(cadre_set(NULL, "model", "x", NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_open(NULL, NULL, NULL, &s, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_fork(NULL, NULL, NULL, &s, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_prompt(NULL, "x", 1, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_prepare(NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_has_interrupted_turn(NULL) + cadre_has_initial_prompt(NULL), 0);
	CHECK_INT(cadre_background(NULL, NULL), CADRE_USAGE);
	CHECK_INT(cadre_answer(NULL, "x", 1, CADRE_ONCE, NULL, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_answer_question(NULL, "x", &answer, 1), CADRE_USAGE);
	CHECK_INT(cadre_answer_elicitation(NULL, "x", "cancel", NULL), CADRE_USAGE);
	CHECK_INT(cadre_session_set(NULL, "model", "x", NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_watch_fd(NULL, 0, 0, NULL, NULL), CADRE_USAGE);
	CHECK_INT(cadre_watch_signal(NULL, 1, NULL, NULL), CADRE_USAGE);
	CHECK_CSTR(cadre_rules_file(NULL), "");
	CHECK_CSTR(cadre_session_id(NULL), "");
	CHECK_CSTR(cadre_session_model(NULL), "");
	CHECK(!cadre_session_setting(NULL, "model", NULL));
	CHECK(!cadre_wire_new(NULL, NULL, NULL) && !cadre_writer_new(NULL, 1));
	cadre_wire_feed(NULL, "x", 1);
	cadre_wire_end_input(NULL);
	cadre_wire_interrupt(NULL);
	cadre_wire_free(NULL);
	CHECK_INT(cadre_wire_status(NULL, NULL), CADRE_USAGE);
	cadre_write(NULL, "x", 1);
	cadre_writer_on_failure(NULL, NULL, NULL);
	cadre_writer_on_drained(NULL, NULL, NULL);
	cadre_writer_free(NULL);
	CHECK_INT(cadre_writer_queued(NULL), 0);
	CHECK_INT(cadre_writer_flush(NULL, 0, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_event_kind(NULL), 0);
	CHECK_CSTR(cadre_event_text(NULL, &n), "");
	CHECK(!cadre_event_frame(NULL, &n));
	CHECK_INT(cadre_event_seq(NULL) + (uint64_t)cadre_event_time_ms(NULL), 0);
	CHECK_CSTR(cadre_event_session(NULL), "");
	CHECK_CSTR(cadre_event_agent(NULL), "");
	CHECK_CSTR(cadre_event_name(NULL), "");
	CHECK_CSTR(cadre_event_id(NULL), "");
	CHECK_CSTR(cadre_event_why(NULL), "");
	CHECK_CSTR(cadre_event_subtype(NULL), "");
	CHECK_CSTR(cadre_event_detail(NULL, CADRE_DETAIL_TYPE), "");
	CHECK_INT(cadre_event_figure(NULL, CADRE_FIGURE_MS), 0);
	CHECK_INT(cadre_event_is_error(NULL) + cadre_event_offers_edits(NULL) + cadre_event_takes_several(NULL, 0), 0);
	CHECK(!cadre_event_rule(NULL, 0) && !cadre_event_question(NULL, 0) && !cadre_event_choice(NULL, 0, 0, NULL));
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
		"rule\n  agent main\n  prompt contains \"task-notification\"\n  text told\n"
		"rule\n  agent main\n  turn 1\n  prompt contains \"work\"\n"
		"  call Agent {\"description\": \"Back\", \"prompt\": \"Look\", \"run_in_background\": true}\n"
		"rule\n  agent main\n  latency 500\n  text ok\n"
		"rule\n  text seen\n";
	struct host h = { .kind = CADRE_TURN_ENDED, .call = &calls[1] };

	stage_open(&h.stage, script, hooked, on_event, &h);
	CHECK_INT(stage_prompt(&h.stage, "work"), CADRE_OK);
	cadre_run(h.stage.c);
	CHECK_INT(h.seen[CADRE_NOTIFICATION], 1);
	CHECK_INT(h.seen[CADRE_TURN_ENDED], 2);
	stage_close(&h.stage);
}

static void keep_answer(const struct cadre_event *e, void *data)
{
	if (cadre_event_kind(e) == CADRE_TURN_ENDED)
		buf_addstr(data, cadre_event_text(e, NULL));
}

TEST(managed_settings_bring_instructions_of_their_own)
{
	struct stage st;
	AUTO_BUF struct buf answer = { 0 };

	stage_open_managed(&st, "rule\n  last contains \"Speak of ships.\"\n  text aye\nrule\n  text what\n",
			   "{\"claudeMd\": \"Speak of ships.\"}", keep_answer, &answer);
	CHECK_INT(stage_prompt(&st, "hi"), CADRE_OK);
	cadre_run(st.c);

	CHECK_CSTR(answer.p, "aye");
	stage_close(&st);
}

int test_host(void)
{
	return RUN_TESTS(T(managed_settings_bring_instructions_of_their_own),
			 T(a_prompt_at_the_end_of_a_turn_takes_the_waiting_notification_along),
			 T(null_arguments_are_refused_or_ignored), T(null_ids_and_options_are_refused),
			 T(the_script_causes_every_kind_of_event), T(every_function_may_be_called_from_every_event),
			 T(every_function_may_be_called_from_every_event_with_hooks));
}
