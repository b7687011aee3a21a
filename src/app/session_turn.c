/* SPDX-License-Identifier: MIT
 * session_turn.c - the turns of a session's main agent.
 *
 *     cadre_prompt -> SessionStart hooks (once) -> UserPromptSubmit hooks -> prompt on disk -> query -> Stop hooks -> ended
 *                            |                           |                                    ^           |
 *                            +-- cancelled --> ended     +-- refused --> ended                +-- go on --+
 *
 * A session is at work while a turn runs or children are alive. A notification that comes between turns starts one. */
#include "app/app_int.h"
#include "base/crash.h"
#include "subagent/context.h"
#include "subagent/firing.h"

/* TOLD_WAIT_MS: a hook that nobody waits for may still end its work when everything else is done. */
enum { DEFAULT_WAIT_MS = 10 * 60 * 1000, TOLD_WAIT_MS = 5000 };

static struct cadre_session *session_of(struct actor *a)
{
	return CONTAINER_OF(a, struct cadre_session, tree.main);
}

/* ---- what goes on disk first --------------------------------------------------------------------------------- */

static int record_origin(struct cadre_session *s, struct err *err)
{
	struct actor *a = &s->tree.main;

	if (!s->origin_id || s->origin_recorded || !a->journal)
		return 0;
	s->origin_recorded = true;
	return recorder_fork_origin(&a->recorder,
				    &(struct fork_origin){ .session_id = s->origin_id, .uuid = s->origin_uuid }, err);
}

static int add_context(struct cadre_session *s, struct err *err)
{
	AUTO_BUF struct buf environment = { 0 };
	struct query *q = &s->tree.main.query;

	context_environment(&environment, &s->tree.main);
	struct segment *block = segment_text(buf_str(&environment));
	if (query_add_user(q, &block, 1, true, err) < 0)
		return -(int)err->kind;
	block = context_instructions(&s->tree, false);
	return block ? query_add_user(q, &block, 1, true, err) : 0;
}

static int add_reminder(struct cadre_session *s, struct str text, struct err *err)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(text));
	struct segment *block = segment_text(buf_str(&b));
	return query_add_user(&s->tree.main.query, &block, 1, true, err);
}

static int add_prompt(struct cadre_session *s, struct err *err)
{
	struct query *q = &s->tree.main.query;
	struct turn *t = &s->turn;

	if (!transcript_count(&q->transcript) && add_context(s, err) < 0)
		return -(int)err->kind;
	if (t->context.n && add_reminder(s, buf_str(&t->context), err) < 0)
		return -(int)err->kind;
	struct segment *block = segment_text(buf_str(&t->prompt));
	return query_add_user(q, &block, 1, false, err);
}

/* The prompt was let through. */
static int commit(struct cadre_session *s, struct err *err)
{
	bool asks = s->turn.prompt.n;
	int status = record_origin(s, err);

	if (status == 0)
		status = session_take_load(s, !asks, err);
	if (status == 0 && asks)
		status = add_prompt(s, err);
	buf_clear(&s->turn.context);
	return status;
}

int cadre_has_interrupted_turn(const struct cadre_session *s)
{
	return s->load && (s->load->interrupted || agent_tree_unfinished(&s->tree, &s->load->delivered));
}

/* ---- hooks around a turn ------------------------------------------------------------------------------------- */

static void end_turn(struct cadre_session *s);
static void turn_over(struct cadre_session *s);
static void submit(struct cadre_session *s);
static void go(struct cadre_session *s);

static void hear(struct cadre_session *s, const struct hook_outcome *outcome)
{
	s->turn.firing = NULL;
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&s->turn.context, "%s" STR_FMT, s->turn.context.n ? "\n" : "", STR_ARG(outcome->contexts[i]));
	agent_tree_say(&s->tree, NULL, outcome);
}

/* The turn is over before anything was asked. */
static void give_up(struct cadre_session *s, enum query_end end, struct str why)
{
	struct query *q = &s->tree.main.query;

	q->end = end;
	q->turn = 0;
	q->usage = (struct usage){ 0 };
	buf_clear(&q->text);
	q->started_ms = loop_now_ms(s->cadre->loop);
	snprintf(q->failure.text, sizeof q->failure.text, STR_FMT, STR_ARG(why));
	buf_clear(&s->turn.prompt);
	end_turn(s);
	session_settle(s);
}

static bool is_over(struct cadre_session *s, const struct hook_outcome *outcome)
{
	if (outcome->cancelled || s->closing)
		give_up(s, QUERY_CANCELLED, STR("interrupted"));
	else if (outcome->stop)
		give_up(s, QUERY_HALTED, outcome->stop_reason);
	else
		return false;
	return true;
}

static void on_session_started(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	hear(s, outcome);
	if (!is_over(s, outcome))
		submit(s);
}

static void on_submitted(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	hear(s, outcome);
	if (is_over(s, outcome))
		return;
	if (outcome->blocked)
		give_up(s, QUERY_BLOCKED, outcome->block_reason);
	else
		go(s);
}

static void submit(struct cadre_session *s)
{
	if (!session_tell_prompt(s, on_submitted))
		go(s);
}

static void on_stopped(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct err err = { 0 };

	hear(s, outcome);
	AUTO_BUF struct buf context = s->turn.context;
	s->turn.context = (struct buf){ 0 };
	struct str said = outcome->blocked ? outcome->block_reason : buf_str(&context);
	bool over = outcome->stop || outcome->cancelled || s->closing || ++s->turn.stop_blocks > MOST_STOP_BLOCKS;
	if (!said.n || over || add_reminder(s, said, &err) < 0) {
		end_turn(s);
		turn_over(s);
	} else {
		query_go_on(&s->tree.main.query);
	}
}

static void on_ended(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	hear(s, outcome);
	session_settle(s);
}

/* ---- a turn -------------------------------------------------------------------------------------------------- */

static void announce(struct cadre_session *s, bool notified)
{
	session_tell_policy(s);
	s->running = true;
	s->notified = notified;
	s->turn.stop_blocks = 0;
	timer_stop(s->cadre->loop, &s->wait);
	timer_stop(s->cadre->loop, &s->told_wait);
	agent_tree_forget_denials(&s->tree);
	session_settle(s);
	session_emit(s, &(struct event){ .kind = EVENT_SESSION_STARTED });
}

static void start_notified(struct cadre_session *s, bool cancelled)
{
	announce(s, true);
	if (cancelled)
		give_up(s, QUERY_CANCELLED, STR("interrupted"));
	else
		query_start(&s->tree.main.query);
}

static void begin_turn(struct cadre_session *s)
{
	s->running = true;
	if (session_look_at_settings(s, start_notified))
		session_settle(s);
	else
		start_notified(s, false);
}

/* Hooks have let the prompt through. */
static void go(struct cadre_session *s)
{
	struct err err = { 0 };

	if (commit(s, &err) < 0)
		give_up(s, QUERY_DISK_ERROR, str_from(err.text));
	else
		query_start(&s->tree.main.query);
}

/* Only children were cut off: a turn begins when one of them has something to tell. */
static void await_children(struct cadre_session *s)
{
	s->running = false;
	if (s->tree.main.query.notice_count)
		begin_turn(s);
	else
		session_settle(s);
}

static int check_prompt(struct cadre_session *s, struct str text, struct err *err)
{
	if (s->running || s->closing)
		return err_set(err, ERR_BUSY, "a turn is running");
	if (!text.p && !cadre_has_interrupted_turn(s))
		return err_set(err, ERR_USAGE, "session %s has no interrupted turn to continue: give it a prompt",
			       s->id);
	if (text.p && !str_trim(text).n)
		return err_set(err, ERR_USAGE, "the prompt is empty");
	return 0;
}

static bool asks(const struct cadre_session *s)
{
	return s->turn.prompt.n || (s->load && s->load->interrupted);
}

static bool has_hooks(const struct cadre_session *s)
{
	const struct hook_set *set = s->tree.hook_set;

	return set &&
	       ((!s->turn.start_told && set->events[HOOK_SESSION_START]) || set->events[HOOK_USER_PROMPT_SUBMIT]);
}

static int start_asked(struct cadre_session *s, struct err *err)
{
	bool has_question = asks(s);

	if (has_hooks(s) && has_question) {
		announce(s, false);
		if (!session_tell_start(s, on_session_started))
			submit(s);
		return 0;
	}
	s->turn.start_told = true;
	if (commit(s, err) < 0)
		return -(int)err->kind;
	if (!has_question) {
		await_children(s);
		return 0;
	}
	announce(s, false);
	query_start(&s->tree.main.query);
	return 0;
}

static void on_settings_known(struct cadre_session *s, bool cancelled)
{
	struct err err = { 0 };

	if (cancelled) {
		announce(s, false);
		give_up(s, QUERY_CANCELLED, STR("interrupted"));
	} else if (start_asked(s, &err) < 0) {
		announce(s, false);
		give_up(s, QUERY_DISK_ERROR, str_from(err.text));
	}
}

/* Without hooks a disk that fails is known before this returns. */
static int prompt(struct cadre_session *s, struct str text, struct err *err)
{
	if (check_prompt(s, text, err) < 0)
		return -(int)err->kind;
	buf_clear(&s->turn.prompt);
	buf_add(&s->turn.prompt, text.p, text.n);
	s->running = true; /* what children of an earlier run have to tell waits for this turn */
	if (session_look_at_settings(s, on_settings_known)) {
		session_settle(s);
		return 0;
	}
	int status = start_asked(s, err);
	if (status < 0)
		s->running = false;
	return status;
}

int cadre_prompt(struct cadre_session *s, const char *text, size_t n, char *why, size_t why_size)
{
	struct err err = { 0 };
	int status = s ? prompt(s, (struct str){ text, n }, &err) : CADRE_USAGE;

	return app_status(status, &err, why, why_size);
}

static void on_notice(struct actor *a)
{
	struct cadre_session *s = session_of(a);

	if (!s->running && !s->closing && !s->gave_up)
		begin_turn(s);
}

static void end_turn(struct cadre_session *s)
{
	AUTO_BUF struct buf scratch = { 0 };

	s->running = false;
	s->results++;
	buf_clear(&s->turn.prompt);
	session_emit(s, &(struct event){ .kind = EVENT_TURN_ENDED,
					 .text = turn_text(s, &scratch),
					 .is_error = turn_is_error(s) });
}

/* After a failure nothing is asked by itself: what is to be told waits for the next prompt. */
static bool goes_on(const struct query *q)
{
	return q->notice_count &&
	       (q->end == QUERY_DONE || q->end == QUERY_REFUSED || q->end == QUERY_EMPTY || q->end == QUERY_CUT_OFF);
}

static void turn_over(struct cadre_session *s)
{
	crash_point(turn_ended);
	if (!s->closing && goes_on(&s->tree.main.query))
		begin_turn(s);
	else
		session_settle(s);
}

static void on_turn_end(struct actor *a)
{
	struct cadre_session *s = session_of(a);

	if (session_tell_stop(s, on_stopped))
		return;
	end_turn(s);
	turn_over(s);
}

void cadre_interrupt(struct cadre_session *s)
{
	if (s->running && s->turn.firing)
		hook_cancel(s->turn.firing);
	if (s->running && s->tree.main.query.state != QUERY_IDLE)
		query_cancel(&s->tree.main.query);
}

/* ---- waiting for children ------------------------------------------------------------------------------------ */

static void on_waited(struct timer *timer)
{
	struct cadre_session *s = CONTAINER_OF(timer, struct cadre_session, wait);

	s->gave_up = true;
	agent_tree_end(&s->tree, true);
}

static uint64_t longest_wait_ms(const struct options *o)
{
	const char *text = getenv("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS");
	uint64_t ms;

	if (o->interactive)
		return 0;
	return text && str_to_u64(str_from(text), &ms) ? ms : DEFAULT_WAIT_MS;
}

/* Nobody is there to come back later: the run waits for its children, but not for ever. */
static void limit_wait(struct cadre_session *s)
{
	uint64_t limit_ms = longest_wait_ms(&s->cadre->options);

	if (!s->running && s->tree.alive_count && limit_ms && !timer_running(&s->wait) && !s->gave_up)
		timer_start(s->cadre->loop, &s->wait, limit_ms);
}

static void on_told_long(struct timer *timer)
{
	agent_tree_drop_told(&CONTAINER_OF(timer, struct cadre_session, told_wait)->tree);
}

/* The same for hooks that were only told. */
static void limit_told(struct cadre_session *s, bool at_work)
{
	if (!at_work && s->tree.told && !s->cadre->options.interactive && !timer_running(&s->told_wait))
		timer_start(s->cadre->loop, &s->told_wait, TOLD_WAIT_MS);
}

void session_settle(struct cadre_session *s)
{
	bool at_work = s->running || s->tree.alive_count || s->turn.firing;

	if (s->gave_up && !at_work && !s->closing) {
		end_turn(s);
		s->gave_up = false;
	}
	limit_wait(s);
	limit_told(s, at_work);
	at_work = at_work || s->tree.told;
	if (s->closing && !at_work && session_tell_end(s, on_ended))
		at_work = true;
	if (at_work != s->counted) {
		s->counted = at_work;
		app_busy(s->cadre, at_work ? 1 : -1);
	}
	if (s->closing && !at_work)
		session_free(s);
}

/* ---- its place in a session ---------------------------------------------------------------------------------- */

void session_turn_init(struct cadre_session *s)
{
	s->wait.fire = on_waited;
	s->told_wait.fire = on_told_long;
}

void session_turn_attach(struct cadre_session *s)
{
	s->tree.main.on_turn_end = on_turn_end;
	s->tree.main.on_notice = on_notice;
}

void session_turn_release(struct cadre_session *s)
{
	timer_stop(s->cadre->loop, &s->wait);
	timer_stop(s->cadre->loop, &s->told_wait);
	if (s->cadre->hooks)
		hook_engine_end_agent(s->cadre->hooks, s->id, NULL);
	session_config_release(s);
	buf_release(&s->turn.prompt);
	buf_release(&s->turn.context);
}
