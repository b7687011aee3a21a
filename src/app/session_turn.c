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
#include "json/json_write.h"
#include "subagent/context.h"
#include "subagent/hooks.h"

enum { DEFAULT_WAIT_MS = 10 * 60 * 1000, MOST_STOP_BLOCKS = 8 };

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

/* Of hooks that nobody waits for */
static void on_nothing(void *data, const struct hook_outcome *outcome)
{
	(void)data;
	(void)outcome;
}

static bool fire(struct cadre_session *s, enum hook_event event, const char *subject, struct str fields,
		 hook_done_fn *done)
{
	struct agent_tree *t = &s->tree;
	struct hook_context context;
	struct hook_fire_spec spec = { .event = event,
				       .subject = str_from(subject),
				       .fields = fields,
				       .context = &context,
				       .sets = &t->hook_set,
				       .set_count = 1 };

	if (!t->hooks || !t->hook_set || !hook_wanted(&spec))
		return false;
	actor_hook_context(&t->main, &context);
	struct hook_firing *firing = hook_fire(t->hooks, &spec, done, s);
	if (done != on_nothing)
		s->turn.firing = firing;
	return true;
}

static void hear(struct cadre_session *s, const struct hook_outcome *outcome)
{
	s->turn.firing = NULL;
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&s->turn.context, "%s" STR_FMT, s->turn.context.n ? "\n" : "", STR_ARG(outcome->contexts[i]));
	for (size_t i = 0; i < outcome->message_count; i++)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = outcome->messages[i] });
	for (size_t i = 0; i < outcome->note_count; i++)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = outcome->notes[i] });
}

/* The turn is over before anything was asked. */
static void give_up(struct cadre_session *s, enum query_end end, struct str why)
{
	struct query *q = &s->tree.main.query;

	q->end = end;
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

static bool tell_start(struct cadre_session *s)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);
	const char *source = s->origin_id ? "fork" : s->load ? "resume" : "startup";

	if (s->turn.start_told)
		return false;
	s->turn.start_told = true;
	json_open(&w, '{');
	json_kcstr(&w, "source", source);
	json_kcstr(&w, "model", s->tree.main.model);
	json_close(&w);
	return fire(s, HOOK_SESSION_START, source, buf_str(&fields), on_session_started);
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

static bool tell_prompt(struct cadre_session *s)
{
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!s->turn.prompt.n)
		return false;
	json_open(&w, '{');
	json_kstr(&w, "prompt", buf_str(&s->turn.prompt));
	json_close(&w);
	return fire(s, HOOK_USER_PROMPT_SUBMIT, "", buf_str(&fields), on_submitted);
}

static void submit(struct cadre_session *s)
{
	if (!tell_prompt(s))
		go(s);
}

static void on_stopped(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct err err = { 0 };

	hear(s, outcome);
	bool more = outcome->blocked || s->turn.context.n;
	struct str said = outcome->blocked ? outcome->block_reason : buf_str(&s->turn.context);
	if (!more || outcome->stop || outcome->cancelled || s->closing || ++s->turn.stop_blocks > MOST_STOP_BLOCKS ||
	    add_reminder(s, said, &err) < 0) {
		end_turn(s);
		turn_over(s);
	} else {
		query_go_on(&s->tree.main.query);
	}
	buf_clear(&s->turn.context);
}

static void put_last_message(struct json_out *w, const struct query *q)
{
	if (q->text.n)
		json_kstr(w, "last_assistant_message", buf_str(&q->text));
}

/* An interrupt is no stop; a failure is told, and nobody can change it. */
static bool tell_stop(struct cadre_session *s)
{
	const struct query *q = &s->tree.main.query;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	json_open(&w, '{');
	if (q->end == QUERY_MODEL_ERROR) {
		const char *error = failure_name(&q->failure);
		json_kcstr(&w, "error", error);
		json_kcstr(&w, "error_details", q->failure.text);
		put_last_message(&w, q);
		json_close(&w);
		(void)fire(s, HOOK_STOP_FAILURE, error, buf_str(&fields), on_nothing);
		return false;
	}
	if (q->end != QUERY_DONE || s->closing)
		return false;
	json_kbool(&w, "stop_hook_active", s->turn.stop_blocks > 0);
	put_last_message(&w, q);
	json_close(&w);
	return fire(s, HOOK_STOP, "", buf_str(&fields), on_stopped);
}

static void on_ended(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	hear(s, outcome);
	session_settle(s);
}

static bool tell_end(struct cadre_session *s)
{
	if (s->turn.end_told || !s->turn.start_told)
		return false;
	s->turn.end_told = true;
	return fire(s, HOOK_SESSION_END, "other", STR("{\"reason\":\"other\"}"), on_ended);
}

/* ---- a turn -------------------------------------------------------------------------------------------------- */

/* Settings may have changed since the last turn; one that cannot be read any more leaves them as they were. */
static void look_at_settings(struct cadre_session *s)
{
	struct cadre *c = s->cadre;
	struct err err = { 0 };
	int status = policy_refresh(c, &err);

	if (status < 0)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
	for (struct cadre_session *other = c->sessions; status > 0 && other; other = other->next)
		session_use_policy(other);
	if (s->policy_told != c->policy.generation + 1 && c->policy.notes.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_trim(buf_str(&c->policy.notes)) });
	s->policy_told = c->policy.generation + 1;
}

static void announce(struct cadre_session *s, bool notified)
{
	look_at_settings(s);
	s->running = true;
	s->notified = notified;
	s->turn.stop_blocks = 0;
	timer_stop(s->cadre->loop, &s->wait);
	agent_tree_forget_denials(&s->tree);
	session_settle(s);
	session_emit(s, &(struct event){ .kind = EVENT_SESSION_STARTED });
}

static void begin_turn(struct cadre_session *s)
{
	announce(s, true);
	query_start(&s->tree.main.query);
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

static bool has_hooks(const struct cadre_session *s)
{
	const struct hook_set *set = s->tree.hook_set;

	return set && ((!s->turn.start_told && set->events[HOOK_SESSION_START]) || set->events[HOOK_USER_PROMPT_SUBMIT]);
}

/* Without hooks a disk that fails is known before this returns. */
static int prompt(struct cadre_session *s, struct str text, struct err *err)
{
	bool asks = text.p || (s->load && s->load->interrupted);

	if (check_prompt(s, text, err) < 0)
		return -(int)err->kind;
	buf_clear(&s->turn.prompt);
	buf_add(&s->turn.prompt, text.p, text.n);
	s->running = true; /* what children of an earlier run have to tell waits for this turn */
	if (has_hooks(s) && asks) {
		announce(s, false);
		if (!tell_start(s))
			submit(s);
		return 0;
	}
	s->turn.start_told = true;
	if (commit(s, err) < 0) {
		s->running = false;
		return -(int)err->kind;
	}
	if (!asks) {
		await_children(s);
		return 0;
	}
	announce(s, false);
	query_start(&s->tree.main.query);
	return 0;
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

	if (tell_stop(s))
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

void session_settle(struct cadre_session *s)
{
	bool at_work = s->running || s->tree.alive_count || s->turn.firing;

	if (s->gave_up && !at_work && !s->closing) {
		end_turn(s);
		s->gave_up = false;
	}
	limit_wait(s);
	if (s->closing && !at_work && tell_end(s))
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
}

void session_turn_attach(struct cadre_session *s)
{
	s->tree.main.on_turn_end = on_turn_end;
	s->tree.main.on_notice = on_notice;
}

void session_turn_release(struct cadre_session *s)
{
	timer_stop(s->cadre->loop, &s->wait);
	buf_release(&s->turn.prompt);
	buf_release(&s->turn.context);
}
