/* SPDX-License-Identifier: MIT
 * turn.c - the turn of a session's main agent, and what a session does between turns.
 *
 *     IDLE --prompt--> SETTINGS -> APPROVAL -> SERVERS -> SETUP -> START -> SUBMIT -> PRELOAD -> EXPAND -> MENTIONS -> COMMIT -> RUN
 *      |                  |                       |         ^        |        |                    |                           ^ |
 *      |--notification----+-> RUN                 |         |        |        +--/compact--> COMPACT --------------------------+ |
 *      |                          nothing to ask  +-> COMMIT -> IDLE |                             |                           | v
 *      |--prepare-------------------------------------------+        +--prepare--> ENDED           +--answered--> ENDED        STOP
 *      |                                                                                                                       |
 *      +<--------------------------------------------------- ENDED <-----------------------------------------------------------+
 *     every state before RUN --refused, failed, interrupted, closed--> ENDED
 *
 * Every callback records a fact and kicks. All decisions are in the step functions, turn_set_state() is the only place where the
 * state changes, and a state without work is passed in the same kick. Turns end, and sessions are freed, only in on_kick(), so a
 * host may call any function from inside any event. docs/internals/turn.md has the table of failures. */
#include <signal.h>
#include "agents/member/lead.h"
#include "agents/team/pane.h"
#include "product/session/turn.h"
#include "product/session/session_int.h"
#include "product/session/session.h"
#include "product/session/server_pool.h"
#include "lib/base/crash.h"
#include "agents/agent/hooks.h"
#include "agents/life/life.h"
#include "agents/agent/context.h"
#include "agents/agent/skill_use.h"

/* ASYNC_HOOKS_WAIT_MS: how long asynchronous hooks may run on when everything else is done. */
enum { CHILDREN_WAIT_MS = 10 * 60 * 1000, ASYNC_HOOKS_WAIT_MS = 5000 };

enum step { STEP_AGAIN, STEP_WAIT }; /* AGAIN: the state changed, step on. WAIT: a callback will kick us */
typedef enum step step_fn(struct cadre_session *s);

static const char *const state_names[] = {
#define X(s) [TURN_##s] = #s,
	TURN_STATES(X)
#undef X
};

static enum step turn_set_state(struct cadre_session *s, enum turn_state to)
{
	struct turn *t = &s->turn;

	t->state = to;
	t->begun = t->pending = false;
	t->hooks_over = t->hooks_stop = t->hooks_block = false;
	buf_clear(&t->hook_reason);
	services_log(s->services, "session", "turn %s", state_names[to]);
	return STEP_AGAIN;
}

static void count_work(struct cadre_session *s, bool at_work)
{
	if (at_work == s->counted)
		return;
	s->counted = at_work;
	services_busy(s->services, at_work ? 1 : -1);
}

void session_kick(struct cadre_session *s)
{
	count_work(s, true);
	loop_kick(s->services->loop, &s->kick);
}

void turn_work_over(struct cadre_session *s)
{
	s->turn.pending = false;
	session_kick(s);
}

static void on_query_over(struct agent *a)
{
	turn_work_over(CONTAINER_OF(a, struct cadre_session, tree.main));
}

/* A notice that comes during a turn is sent with that turn, or with the next prompt. */
static void on_notice(struct agent *a)
{
	struct cadre_session *s = CONTAINER_OF(a, struct cadre_session, tree.main);

	s->turn.notice_came = !turn_is_running(&s->turn) && !s->gave_up;
	session_kick(s);
}

static void on_children_late(struct timer *timer)
{
	struct cadre_session *s = CONTAINER_OF(timer, struct cadre_session, children_wait);

	s->gave_up = true;
	agent_tree_suspend(&s->tree);
	session_kick(s);
}

static void on_async_hooks_late(struct timer *timer)
{
	agent_tree_cancel_async_hooks(&CONTAINER_OF(timer, struct cadre_session, async_hooks_wait)->tree);
}

static void turn_begin(struct cadre_session *s, enum turn_origin origin)
{
	struct turn *t = &s->turn;

	t->origin = origin;
	t->announced = t->interrupted = t->cancelled = t->compacts = t->notice_came = false;
	t->expansion_end = EXPANSION_EXPANDED;
	t->stop_blocks = t->tasks_shown = 0;
	t->idle_shown = false;
	timer_stop(s->services->loop, &s->children_wait);
	timer_stop(s->services->loop, &s->async_hooks_wait);
	turn_set_state(s, origin == TURN_BY_PREPARE ? TURN_SETUP : TURN_SETTINGS);
}

void turn_announce(struct cadre_session *s)
{
	if (s->turn.announced)
		return;
	s->turn.announced = true;
	session_report_policy(s);
	session_report_agent(s);
	if (s->schema) {
		buf_clear(&s->schema->output);
		s->schema->tries = 0;
	}
	agent_tree_forget_denials(&s->tree);
	session_watch_files(s);
	session_emit(s, &(struct event){ .kind = EVENT_SESSION_STARTED });
}

/* The turn ends and no query ran: text is its result, where an end has one. */
static enum step turn_finish(struct cadre_session *s, enum query_end end, struct str text)
{
	struct query *q = &s->tree.main.query;

	turn_announce(s);
	q->end = end;
	q->turn = 0;
	q->usage = (struct usage){ 0 };
	buf_clear(&q->text);
	buf_add(&q->text, text.p, text.n);
	q->started_ms = loop_now_ms(s->services->loop);
	return turn_set_state(s, TURN_ENDED);
}

static enum step turn_give_up(struct cadre_session *s, enum query_end end, struct str why)
{
	struct query *q = &s->tree.main.query;

	snprintf(q->failure.text, sizeof q->failure.text, STR_FMT, STR_ARG(why));
	return turn_finish(s, end, STR(""));
}

/* Starts the work of a state, once. True: turn_work_over() is to come. */
static bool turn_starts(struct cadre_session *s, bool (*work)(struct cadre_session *s))
{
	struct turn *t = &s->turn;

	if (t->begun)
		return false;
	t->begun = t->pending = true;
	if (!work(s))
		t->pending = false;
	return t->pending;
}

/* The query was started. */
static enum step turn_await_query(struct cadre_session *s)
{
	turn_set_state(s, TURN_RUN);
	s->turn.pending = true;
	return STEP_WAIT;
}

static enum step step_settings(struct cadre_session *s)
{
	if (s->turn.origin != TURN_BY_NOTICE)
		return turn_set_state(s, TURN_APPROVAL);
	turn_announce(s);
	query_start(&s->tree.main.query);
	return turn_await_query(s);
}

/* Without a question only children were interrupted: a turn begins when one of them sends a notice. */
static bool has_question(const struct cadre_session *s)
{
	return (s->turn.prompt.n || s->turn.blocks) || (s->tree.main.load && s->tree.main.load->interrupted);
}

static enum step step_servers(struct cadre_session *s)
{
	agent_tree_renew_pool(&s->tree); /* the callback of a server's change may still be to come */
	if (has_question(s))
		return turn_set_state(s, TURN_SETUP);
	s->turn.start_hooks_ran = true;
	return turn_set_state(s, TURN_COMMIT);
}

static enum step step_start(struct cadre_session *s)
{
	if (s->turn.origin == TURN_BY_PREPARE)
		return turn_finish(s, QUERY_DONE, STR(""));
	return turn_set_state(s, TURN_SUBMIT);
}

static enum step step_submit(struct cadre_session *s)
{
	struct str instructions;

	if (session_asks_compact(s, &instructions))
		return turn_set_state(s, TURN_COMPACT);
	if (turn_starts(s, session_run_prompt_hooks))
		return STEP_WAIT;
	if (s->turn.hooks_block)
		return turn_give_up(s, QUERY_BLOCKED, buf_str(&s->turn.hook_reason));
	return turn_set_state(s, TURN_PRELOAD);
}

static enum step step_expand(struct cadre_session *s)
{
	struct str text = buf_str(&s->turn.answer);

	switch (s->turn.expansion_end) {
	case EXPANSION_EXPANDED:
		break;
	case EXPANSION_ANSWERED:
		return turn_finish(s, QUERY_DONE, text);
	case EXPANSION_REJECTED:
		return turn_finish(s, QUERY_REJECTED, text);
	case EXPANSION_BLOCKED:
		return turn_give_up(s, QUERY_BLOCKED, text);
	case EXPANSION_HALTED:
		return turn_give_up(s, QUERY_HALTED, text);
	case EXPANSION_CANCELLED:
		return turn_give_up(s, QUERY_CANCELLED, STR("interrupted"));
	}
	return turn_set_state(s, TURN_MENTIONS);
}

/* Before the turn is announced, the caller of session_prompt() gets the failure, and there was no turn. */
static enum step step_commit(struct cadre_session *s)
{
	struct turn *t = &s->turn;
	struct query *q = &s->tree.main.query;
	bool asks = has_question(s);
	struct err err = { 0 };

	if (session_commit(s, &err) < 0 && (t->announced || !t->caller))
		return turn_give_up(s, QUERY_DISK_ERROR, str_from(err.text));
	if (err.kind) {
		*TAKE(t->caller) = err;
		session_drop_prompt(s);
		return turn_set_state(s, TURN_IDLE);
	}
	if (!asks) {
		t->notice_came = q->notice_count > 0;
		return turn_set_state(s, TURN_IDLE);
	}
	turn_announce(s);
	query_start(q);
	return turn_await_query(s);
}

/* The prompt is /compact: it is about the conversation and does not become a part of it. */
static enum step step_compact(struct cadre_session *s)
{
	struct query *q = &s->tree.main.query;
	struct str instructions = STR("");
	struct err err = { 0 };

	turn_announce(s);
	s->turn.compacts = true;
	buf_clear(&s->turn.opening);
	if (agent_record_origin(&s->tree.main, &err) < 0 || session_take_load(s, false, &err) < 0)
		return turn_give_up(s, QUERY_DISK_ERROR, str_from(err.text));
	if (!q->config.compact.possible)
		return turn_finish(s, QUERY_REJECTED, STR("Compaction is switched off (DISABLE_COMPACT)"));
	if (!query_can_compact(q))
		return turn_finish(s, QUERY_REJECTED, STR("Nothing to compact yet"));
	(void)session_asks_compact(s, &instructions);
	query_compact(q, instructions);
	return turn_await_query(s);
}

/* A SessionStart hook's opening was answered: the prompt is the other half of the turn. */
static bool turn_follows_opening(struct cadre_session *s)
{
	struct query *q = &s->tree.main.query;
	struct err err = { 0 };

	if (!s->turn.opening.n)
		return false;
	buf_clear(&s->turn.opening);
	if (q->end == QUERY_DONE && s->turn.interrupted)
		q->end = QUERY_CANCELLED;
	if (q->end != QUERY_DONE || s->turn.suppressed)
		return false;
	if (session_add_prompt(s, &err) < 0) {
		query_end_disk(q, &err);
		return false;
	}
	query_continue(q);
	return true;
}

/* The model has to continue, with this text. False: it cannot be written, and the turn ends with that error. */
static bool turn_reminds(struct cadre_session *s, struct str text)
{
	struct query *q = &s->tree.main.query;
	struct err err = { 0 };

	if (agent_remind(&s->tree.main, text, &err) < 0) {
		query_end_disk(q, &err);
		return false;
	}
	query_continue(q);
	return true;
}

/* The text of Stop hooks is sent to the model, which then has to continue. */
static enum step step_stop(struct cadre_session *s)
{
	struct turn *t = &s->turn;

	if (t->compacts)
		return turn_set_state(s, TURN_ENDED);
	if (!t->begun && (turn_follows_opening(s) || structured_output_retry(s)))
		return turn_await_query(s);
	if (turn_starts(s, session_run_stop_hooks))
		return STEP_WAIT;
	enum turn_state after = s->tree.lead ? TURN_MEMBER : TURN_ENDED;
	if (!t->hooks_over)
		return turn_set_state(s, after);
	AUTO_BUF struct buf context = t->context;
	t->context = (struct buf){ 0 };
	struct str text = buf_str(t->hooks_block ? &t->hook_reason : &context);
	if (!text.n || t->hooks_stop || t->interrupted || ++t->stop_blocks > MOST_STOP_BLOCKS || !turn_reminds(s, text))
		return turn_set_state(s, after);
	return turn_await_query(s);
}

/* A member in a pane: hooks of each task that it has in progress, then of its idleness. Their text sends it back to work, and
 * continue false ends it. */
static enum step step_member(struct cadre_session *s)
{
	struct turn *t = &s->turn;
	AUTO_BUF struct buf text = { 0 };

	if (!t->hooks_over || t->interrupted)
		return turn_set_state(s, TURN_ENDED);
	if (t->hooks_stop && t->idle_shown)
		lead_dismiss(&s->tree);
	if (t->hooks_stop)
		return turn_set_state(s, TURN_ENDED);
	if (!t->hooks_block)
		return turn_set_state(s, TURN_MEMBER); /* the next task, or idleness */
	buf_addf(&text, "%s hook feedback:\n%s", t->idle_shown ? "TeammateIdle" : "TaskCompleted",
		 t->hook_reason.n ? t->hook_reason.p : "");
	if (++t->stop_blocks > MOST_STOP_BLOCKS || !turn_reminds(s, buf_str(&text)))
		return turn_set_state(s, TURN_ENDED);
	t->tasks_shown = 0;
	t->idle_shown = false;
	return turn_await_query(s);
}

/* The host may prompt, fork and close from inside the event: the session is idle by then. */
static enum step step_ended(struct cadre_session *s)
{
	struct agent *a = &s->tree.main;
	const struct query *q = &a->query;
	AUTO_BUF struct buf scratch = { 0 };
	bool waited = s->gave_up;

	turn_set_state(s, TURN_IDLE);
	s->results++;
	permission_revoke(&a->permission, NULL);
	agent_leave_turn_models(a);
	session_drop_prompt(s);
	buf_clear(&s->turn.opening);
	struct event ended = { .kind = EVENT_TURN_ENDED };
	ended.text = turn_text(s, &scratch, &ended.is_error);
	session_emit(s, &ended);
	s->gave_up = false;
	crash_point(turn_ended);
	/* After a failure the model is not asked again by itself: news waits for the next prompt. */
	if (!waited && !turn_is_running(&s->turn) && query_wants_turn(q) &&
	    (q->end == QUERY_DONE || q->end == QUERY_REFUSED || q->end == QUERY_EMPTY || q->end == QUERY_CUT_OFF))
		s->turn.notice_came = true;
	return STEP_AGAIN;
}

/* No turn runs: a notification begins one. */
static enum step step_idle(struct cadre_session *s)
{
	if (!s->turn.notice_came || s->closing)
		return STEP_WAIT;
	turn_begin(s, TURN_BY_NOTICE);
	return STEP_AGAIN;
}

static const struct {
	bool (*work)(struct cadre_session *s); /* what the state waits for; NULL: nothing, or its step starts it */
	step_fn *step;                         /* when the work has ended; NULL: the turn moves to next */
	enum turn_state next;
} states[TURN_STATE_COUNT] = {
	[TURN_IDLE] = { .step = step_idle },
	[TURN_SETTINGS] = { .work = session_look_at_settings, .step = step_settings },
	[TURN_APPROVAL] = { .work = session_await_approval, .next = TURN_SERVERS },
	[TURN_SERVERS] = { .work = session_await_servers, .step = step_servers },
	[TURN_SETUP] = { .work = session_run_setup_hooks, .next = TURN_START },
	[TURN_START] = { .work = session_run_start_hooks, .step = step_start },
	[TURN_SUBMIT] = { .step = step_submit },
	[TURN_PRELOAD] = { .work = session_preload, .next = TURN_EXPAND },
	[TURN_EXPAND] = { .work = session_expand, .step = step_expand },
	[TURN_MENTIONS] = { .work = session_read_mentions, .next = TURN_COMMIT },
	[TURN_COMMIT] = { .step = step_commit },
	[TURN_COMPACT] = { .step = step_compact },
	[TURN_RUN] = { .next = TURN_STOP },
	[TURN_STOP] = { .step = step_stop },
	[TURN_MEMBER] = { .work = session_run_member_hooks, .step = step_member },
	[TURN_ENDED] = { .step = step_ended },
};

static enum step turn_step(struct cadre_session *s)
{
	struct turn *t = &s->turn;
	bool is_before_run = t->state > TURN_IDLE && t->state < TURN_RUN;

	if (t->pending)
		return STEP_WAIT;
	if (t->interrupted && is_before_run)
		return turn_give_up(s, QUERY_CANCELLED, STR("interrupted"));
	if (t->hooks_stop && is_before_run)
		return turn_give_up(s, QUERY_HALTED, buf_str(&t->hook_reason));
	if (states[t->state].work && turn_starts(s, states[t->state].work))
		return STEP_WAIT;
	return states[t->state].step ? states[t->state].step(s) : turn_set_state(s, states[t->state].next);
}

/* No turn runs: wait for children and hooks, but not for ever, run SessionEnd hooks, become idle, or be freed. */
static void session_update_idle(struct cadre_session *s)
{
	struct services *sv = s->services;
	bool has_turn = turn_is_running(&s->turn);
	/* Idle members do not hold a session, but one that closes is not freed before they are gone. */
	unsigned working = s->tree.alive_count - (s->closing ? 0 : s->tree.idle_count) + team_working(&s->tree);
	if (!s->closing && s->tree.team) /* what was read may wake an idle member */
		working += team_files_reading(s->tree.team->files);
	bool at_work = has_turn || working || s->turn.hook_batch;
	const char *ceiling = services_variable(sv, "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS");
	uint64_t wait_ms = CHILDREN_WAIT_MS;

	lead_step(&s->tree, has_turn || s->turn.notice_came);
	if (s->closing && pane_end_all(&s->tree))
		at_work = true;
	if (s->gave_up && !at_work && !s->closing) {
		turn_set_state(s, TURN_ENDED);
		session_kick(s);
		return;
	}
	if (ceiling)
		(void)str_to_u64(str_from(ceiling), &wait_ms);
	/* A user at a terminal can come back later. */
	if (!has_turn && working && !sv->options.interactive && wait_ms && !timer_running(&s->children_wait) &&
	    !s->gave_up)
		timer_start(sv->loop, &s->children_wait, wait_ms);
	if (!at_work && s->tree.async_hooks && !sv->options.interactive && !timer_running(&s->async_hooks_wait))
		timer_start(sv->loop, &s->async_hooks_wait, ASYNC_HOOKS_WAIT_MS);
	if (!at_work && !s->closing && sv->options.one_run && s->tree.main.query.end == QUERY_DONE &&
	    team_wind_up(&s->tree))
		at_work = true;
	at_work = at_work || s->tree.async_hooks || s->server_calls || s->file_searches;
	if (s->closing && !at_work)
		at_work = session_run_end_hooks(s);
	count_work(s, at_work);
	if (s->closing && !at_work)
		session_free(s);
	else if (!at_work && sv->on_idle)
		sv->on_idle(sv);
}

static void on_kick(struct kick *kick)
{
	struct cadre_session *s = CONTAINER_OF(kick, struct cadre_session, kick);

	if (s->closing && !s->closing_begun) {
		s->closing_begun = true;
		s->turn.interrupted = turn_is_running(&s->turn);
		agent_tree_suspend(&s->tree);
		agent_tree_cancel_async_hooks(&s->tree);
		session_cancel_server_calls(s);
		session_stop_file_searches(s);
	}
	if (s->turn.interrupted && !s->turn.cancelled) {
		/* Cancels the work that the state waits for; its callback still comes. A question about servers stays open. */
		struct turn *t = &s->turn;

		t->cancelled = true;
		if (t->state == TURN_APPROVAL)
			t->pending = false;
		if (t->state == TURN_SERVERS && t->pending)
			session_stop_awaiting(s);
		if (t->hook_batch)
			hook_cancel(t->hook_batch);
		session_expand_cancel(s);
		session_stop_mentions(s);
		if (s->tree.main.preload)
			preload_stop(s->tree.main.preload);
		if (s->tree.main.query.state != QUERY_IDLE)
			query_cancel(&s->tree.main.query);
	}
	if (s->lead_resumes && !turn_is_running(&s->turn)) {
		s->lead_resumes = false;
		turn_begin(s, TURN_BY_PROMPT);
	}
	if (s->services->options.interactive && !s->policy_reported && !s->closing)
		session_report_policy(s); /* a person hears of it before the first prompt */
	while (turn_step(s) == STEP_AGAIN)
		;
	session_update_idle(s);
}

/* The first steps are taken at once, so that the caller learns of a disk failure; inside an event they are taken with the next
 * kick. A turn never ends in here. */
static int turn_begin_now(struct cadre_session *s, enum turn_origin origin, struct err *err)
{
	struct turn *t = &s->turn;

	turn_begin(s, origin);
	session_kick(s);
	if (s->services->in_callback)
		return 0;
	t->caller = err;
	while (t->state != TURN_ENDED && t->state != TURN_IDLE && turn_step(s) == STEP_AGAIN)
		;
	bool failed = !t->caller;
	t->caller = NULL;
	return failed ? -(int)err->kind : 0;
}

int session_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err)
{
	if (session_check_prompt(s, p, err) < 0)
		return -(int)err->kind;
	session_keep_prompt(s, p);
	return turn_begin_now(s, TURN_BY_PROMPT, err);
}

static void on_lead_prompt(void *data, struct str text)
{
	struct cadre_session *s = data;
	struct err err = { 0 };

	if (session_prompt(s, &(struct session_prompt){ .text = text }, &err) < 0)
		session_emit_error(s, "%s", err.text);
}

/* A turn that was cut continues; otherwise what waits begins one. */
static void on_lead_resume(void *data)
{
	struct cadre_session *s = data;

	s->lead_resumes = true;
	session_kick(s);
}

static void on_lead_leave(void *data)
{
	(void)kill(getpid(), SIGTERM); /* the program ends as if the user had asked for it */
}

void session_meet_lead(struct cadre_session *s)
{
	lead_open(&s->tree, &(struct lead_callbacks){ on_lead_prompt, on_lead_resume, on_lead_leave, s });
}

int cadre_prompt(struct cadre_session *s, const char *text, size_t n, char *why, size_t why_size)
{
	struct err err = { 0 };
	struct session_prompt p = { .text = { text, n } };

	if (!s)
		return CADRE_USAGE;
	return api_status(session_prompt(s, &p, &err), &err, why, why_size);
}

int cadre_prompt_blocks(struct cadre_session *s, const char *text, size_t n, const char *blocks, size_t blocks_n,
			char *why, size_t why_size)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct session_prompt p = { .text = { text, n } };
	const struct json *list;
	struct err err = { 0 };

	if (!blocks)
		return cadre_prompt(s, text, n, why, why_size);
	if (!s || !text)
		return CADRE_USAGE;
	int rc = json_parse(&reader, blocks, blocks_n, &list, &err);
	if (rc == 0 && !json_is(list, JSON_ARRAY))
		rc = err_set(&err, ERR_USAGE, "the blocks of a prompt are not a list");
	if (rc < 0)
		return api_status(rc, &err, why, why_size);
	p.blocks = xmalloc((list->count + 1) * sizeof *p.blocks);
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (json_is(json_get(v, "type"), JSON_STRING))
			p.blocks[p.block_count++] = segment_new(SEGMENT_OTHER, json_raw(v));
	if (n)
		p.blocks[p.block_count++] = segment_text(p.text);
	rc = session_prompt(s, &p, &err);
	for (size_t i = 0; i < p.block_count; i++)
		segment_unref(p.blocks[i]);
	free(p.blocks);
	return api_status(rc, &err, why, why_size);
}

int cadre_prepare(struct cadre_session *s, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!s)
		return CADRE_USAGE;
	if (turn_is_running(&s->turn) || s->closing)
		return api_status(err_set(&err, ERR_BUSY, "a turn is running"), &err, why, why_size);
	return api_status(turn_begin_now(s, TURN_BY_PREPARE, &err), &err, why, why_size);
}

void cadre_interrupt(struct cadre_session *s)
{
	if (!s || !turn_is_running(&s->turn))
		return;
	s->turn.interrupted = true;
	session_kick(s);
}

void cadre_close(struct cadre_session *s)
{
	if (!s)
		return;
	s->closing = true;
	session_kick(s);
}

void turn_attach(struct cadre_session *s)
{
	s->kick.step = on_kick;
	s->children_wait.fire = on_children_late;
	s->async_hooks_wait.fire = on_async_hooks_late;
	s->tree.main.on_turn_end = on_query_over;
	s->tree.main.on_notice = on_notice;
}

void turn_release(struct cadre_session *s)
{
	struct turn *t = &s->turn;

	kick_cancel(&s->kick);
	count_work(s, false);
	timer_stop(s->services->loop, &s->children_wait);
	timer_stop(s->services->loop, &s->async_hooks_wait);
	if (s->services->hooks)
		hook_engine_end_agent(s->services->hooks, s->id, NULL);
	session_drop_change(s);
	session_drop_prompt(s);
	buf_release(&t->prompt);
	buf_release(&t->answer);
	buf_release(&t->hook_reason);
	buf_release(&t->context);
	buf_release(&t->opening);
}
