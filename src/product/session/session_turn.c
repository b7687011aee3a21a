/* SPDX-License-Identifier: MIT
 * session_turn.c - the turns of a session's main agent.
 *
 *     cadre_prompt -> SessionStart hooks (once) -> UserPromptSubmit hooks -> prompt on disk -> query -> Stop hooks -> ended
 *                            |                           |          ^                         ^           |
 *                            +-- cancelled --> ended     +-- refused|--> ended                +-- go on --+
 *                                                        +-- /name --> skill (skills.h) --> prompt on disk, or ended
 *
 * Where the option setup says so, Setup hooks come before those of SessionStart; cadre_prepare() ends behind both.
 * A session is at work while a turn runs or children are alive. A notification that comes between turns starts one. */
#include "product/session/session_int.h"
#include "product/session/compact.h"
#include "product/session/main_agent.h"
#include "product/session/mention.h"
#include "product/session/schema.h"
#include "product/session/server_approval.h"
#include "product/session/servers.h"
#include "product/session/skills.h"
#include "lib/base/crash.h"
#include "agents/agent/hooks.h"
#include "agents/agent/skill_use.h"

static struct cadre_session *session_of(struct agent *a)
{
	return CONTAINER_OF(a, struct cadre_session, tree.main);
}

/* ---- hooks around a turn ------------------------------------------------------------------------------------- */

void session_end_turn(struct cadre_session *s);
static void turn_over(struct cadre_session *s);
static void start_up(struct cadre_session *s);
static void started(struct cadre_session *s);
static void submit(struct cadre_session *s);
static void go(struct cadre_session *s);
static void ask(struct cadre_session *s);
static void on_mentions_read(struct cadre_session *s, bool cancelled);
static void send_prompt(struct cadre_session *s);

void session_hear(struct cadre_session *s, const struct hook_outcome *outcome)
{
	s->turn.firing = NULL;
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(&s->turn.context, "%s" STR_FMT, s->turn.context.n ? "\n" : "", STR_ARG(outcome->contexts[i]));
	emit_hook_messages(&s->tree, NULL, outcome);
	session_obey_title(s, outcome);
	session_watch_more(s, outcome);
	if (str_is(outcome->fields[HOOK_RELOAD_SKILLS], "true"))
		agent_tree_reload_skills(&s->tree);
}

/* The turn is over and nothing was asked: text is its result, where an end has one. */
static void end_unasked(struct cadre_session *s, enum query_end end, struct str text)
{
	struct query *q = &s->tree.main.query;

	q->end = end;
	q->turn = 0;
	q->usage = (struct usage){ 0 };
	buf_clear(&q->text);
	buf_add(&q->text, text.p, text.n);
	q->started_ms = loop_now_ms(s->services->loop);
	session_end_turn(s);
}

static void give_up(struct cadre_session *s, enum query_end end, struct str why)
{
	struct query *q = &s->tree.main.query;

	snprintf(q->failure.text, sizeof q->failure.text, STR_FMT, STR_ARG(why));
	end_unasked(s, end, STR(""));
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

/* On a terminal the user speaks first. */
static void take_opening(struct cadre_session *s, struct str json)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (s->services->options.interactive || !json.n || json_parse(&reader, json.p, json.n, &root, NULL) < 0)
		return;
	struct str text = str_trim(json_str(root, &a));
	buf_add(&s->turn.opening, text.p, text.n);
}

/* The opening was answered: the prompt is the other half of the turn. */
static bool follow_opening(struct cadre_session *s)
{
	struct query *q = &s->tree.main.query;
	struct err err = { 0 };

	if (!s->turn.opening.n)
		return false;
	buf_clear(&s->turn.opening);
	if (q->end != QUERY_DONE || s->closing || s->turn.suppressed)
		return false;
	if (session_add_prompt(s, &err) < 0) {
		q->end = QUERY_DISK_ERROR;
		snprintf(q->failure.text, sizeof q->failure.text, "%s", err.text);
		return false;
	}
	query_go_on(q);
	return true;
}

static void on_session_started(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	session_hear(s, outcome);
	take_opening(s, outcome->fields[HOOK_INITIAL_MESSAGE]);
	if (!is_over(s, outcome))
		started(s);
}

static void on_set_up(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	session_hear(s, outcome);
	if (!is_over(s, outcome))
		start_up(s);
}

/* The turn is announced: hooks come first. */
static void start_up(struct cadre_session *s)
{
	if (!session_tell_setup(s, on_set_up) && !session_tell_start(s, on_session_started))
		started(s);
}

static void started(struct cadre_session *s)
{
	if (!s->turn.prepares) {
		submit(s);
		return;
	}
	s->turn.prepares = false;
	end_unasked(s, QUERY_DONE, STR(""));
	session_settle(s);
}

static void on_submitted(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	session_hear(s, outcome);
	s->turn.suppressed = outcome->context_count && str_is(outcome->fields[HOOK_SUPPRESS_PROMPT], "true");
	if (is_over(s, outcome))
		return;
	if (outcome->blocked)
		give_up(s, QUERY_BLOCKED, outcome->block_reason);
	else
		go(s);
}

/* The prompt is /compact: it is a wish about the conversation, not a part of it. */
static void sum_up(struct cadre_session *s)
{
	struct query *q = &s->tree.main.query;
	struct err err = { 0 };

	buf_clear(&s->turn.opening);
	if (session_record_origin(s, &err) < 0 || session_take_load(s, false, &err) < 0) {
		give_up(s, QUERY_DISK_ERROR, str_from(err.text));
	} else if (query_can_compact(q)) {
		query_compact(q, session_compact_instructions(s));
	} else {
		end_unasked(s, QUERY_REJECTED,
			    q->config.compact.possible ? STR("There is nothing to sum up yet")
						       : STR("Compaction is switched off (DISABLE_COMPACT)"));
		session_settle(s);
	}
}

static void submit(struct cadre_session *s)
{
	if (session_asks_compact(s))
		sum_up(s);
	else if (!session_tell_prompt(s, on_submitted))
		go(s);
}

static void on_stopped(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct err err = { 0 };

	session_hear(s, outcome);
	AUTO_BUF struct buf context = s->turn.context;
	s->turn.context = (struct buf){ 0 };
	struct str said = outcome->blocked ? outcome->block_reason : buf_str(&context);
	bool over = outcome->stop || outcome->cancelled || s->closing || ++s->turn.stop_blocks > MOST_STOP_BLOCKS;
	if (!said.n || over || session_add_reminder(s, said, &err) < 0) {
		session_end_turn(s);
		turn_over(s);
	} else {
		query_go_on(&s->tree.main.query);
	}
}

/* ---- a turn -------------------------------------------------------------------------------------------------- */

static void announce(struct cadre_session *s, bool notified)
{
	session_tell_policy(s);
	session_tell_agent(s);
	s->running = true;
	s->notified = notified;
	s->turn.stop_blocks = 0;
	schema_begin(s);
	session_settle_release(s);
	agent_tree_forget_denials(&s->tree);
	session_watch_files(s);
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

static void on_expanded(struct cadre_session *s, enum expansion_end how, struct str text)
{
	switch (how) {
	case EXPANSION_EXPANDED:
		ask(s);
		break;
	case EXPANSION_ANSWERED:
		end_unasked(s, QUERY_DONE, text);
		turn_over(s);
		break;
	case EXPANSION_REJECTED:
		end_unasked(s, QUERY_REJECTED, text);
		session_settle(s);
		break;
	case EXPANSION_BLOCKED:
		give_up(s, QUERY_BLOCKED, text);
		break;
	case EXPANSION_HALTED:
		give_up(s, QUERY_HALTED, text);
		break;
	case EXPANSION_CANCELLED:
		give_up(s, QUERY_CANCELLED, STR("interrupted"));
		break;
	}
}

static void on_skills_ready(struct cadre_session *s, bool cancelled)
{
	if (cancelled || s->closing)
		give_up(s, QUERY_CANCELLED, STR("interrupted"));
	else if (!session_expand(s, on_expanded))
		ask(s);
}

/* Hooks have let the prompt through. */
static void go(struct cadre_session *s)
{
	if (!session_preload(s, on_skills_ready))
		on_skills_ready(s, false);
}

static void ask(struct cadre_session *s)
{
	if (!session_read_mentions(s, on_mentions_read))
		send_prompt(s);
}

static void on_mentions_read(struct cadre_session *s, bool cancelled)
{
	if (cancelled)
		give_up(s, QUERY_CANCELLED, STR("interrupted"));
	else
		send_prompt(s);
}

static void send_prompt(struct cadre_session *s)
{
	struct err err = { 0 };

	if (session_commit(s, &err) < 0)
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

static bool asks(const struct cadre_session *s)
{
	return session_has_prompt(s) || (s->load && s->load->interrupted);
}

static bool has_hooks_in(const struct cadre_session *s, const struct hook_set *set)
{
	bool sets_up = s->services->options.setup && !s->turn.setup_told;

	return set &&
	       ((sets_up && set->events[HOOK_SETUP]) || (!s->turn.start_told && set->events[HOOK_SESSION_START]) ||
		set->events[HOOK_USER_PROMPT_SUBMIT]);
}

/* Something comes before the prompt: hooks, or texts that are made ready. */
static bool takes_time(struct cadre_session *s)
{
	return has_hooks_in(s, s->tree.hook_set) || has_hooks_in(s, s->tree.main.hooks) || s->tree.skill_hook_count ||
	       (s->tree.main.definition && s->tree.main.definition->skills.count) || session_asks_compact(s) ||
	       session_has_command(s) || session_has_mentions(s);
}

static int start_asked(struct cadre_session *s, struct err *err)
{
	bool has_question = asks(s);

	if (has_question && takes_time(s)) {
		announce(s, false);
		start_up(s);
		return 0;
	}
	s->turn.start_told = true;
	if (session_commit(s, err) < 0)
		return -(int)err->kind;
	if (!has_question) {
		await_children(s);
		return 0;
	}
	announce(s, false);
	query_start(&s->tree.main.query);
	return 0;
}

static void on_servers_known(struct cadre_session *s, bool cancelled)
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

static void on_servers_approved(struct cadre_session *s, bool cancelled)
{
	if (cancelled || !session_await_servers(s, on_servers_known))
		on_servers_known(s, cancelled);
}

static void on_settings_known(struct cadre_session *s, bool cancelled)
{
	if (cancelled || !session_await_approval(s, on_servers_approved))
		on_servers_approved(s, cancelled);
}

/* Without hooks a disk that fails is known before this returns. */
int session_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err)
{
	if (session_check_prompt(s, p, err) < 0)
		return -(int)err->kind;
	session_keep_prompt(s, p);
	s->running = true; /* what children of an earlier run have to tell waits for this turn */
	if (session_look_at_settings(s, on_settings_known) || session_await_approval(s, on_servers_approved) ||
	    session_await_servers(s, on_servers_known)) {
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
	struct session_prompt p = { .text = { text, n } };
	int status = s ? session_prompt(s, &p, &err) : CADRE_USAGE;

	return api_status(status, &err, why, why_size);
}

int cadre_prepare(struct cadre_session *s, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!s || s->running || s->closing)
		return api_status(err_set(&err, ERR_BUSY, "a turn is running"), &err, why, why_size);
	s->turn.prepares = true;
	announce(s, false);
	start_up(s);
	return CADRE_OK;
}

static void on_notice(struct agent *a)
{
	struct cadre_session *s = session_of(a);

	if (!s->running && !s->closing && !s->gave_up)
		begin_turn(s);
}

void session_end_turn(struct cadre_session *s)
{
	AUTO_BUF struct buf scratch = { 0 };

	s->running = false;
	s->results++;
	permission_revoke(&s->tree.main.permission, NULL);
	agent_leave_fallback(&s->tree.main);
	agent_leave_turn_model(&s->tree.main);
	session_drop_prompt(s);
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

static void on_turn_end(struct agent *a)
{
	struct cadre_session *s = session_of(a);

	if (!session_asks_compact(s) && (follow_opening(s) || schema_insist(s) || session_tell_stop(s, on_stopped)))
		return;
	session_end_turn(s);
	turn_over(s);
}

void cadre_interrupt(struct cadre_session *s)
{
	session_stop_approval(s);
	session_stop_awaiting(s);
	if (s->running && s->turn.firing)
		hook_cancel(s->turn.firing);
	session_expand_cancel(s);
	session_stop_mentions(s);
	session_stop_preload(s);
	if (s->running && s->tree.main.query.state != QUERY_IDLE)
		query_cancel(&s->tree.main.query);
}

/* ---- its place in a session ---------------------------------------------------------------------------------- */

void session_turn_attach(struct cadre_session *s)
{
	s->tree.main.on_turn_end = on_turn_end;
	s->tree.main.on_notice = on_notice;
}

void session_turn_release(struct cadre_session *s)
{
	session_settle_release(s);
	if (s->services->hooks)
		hook_engine_end_agent(s->services->hooks, s->id, NULL);
	session_config_release(s);
	said_release(&s->turn.said);
	buf_release(&s->turn.opening);
	session_drop_prompt(s);
	buf_release(&s->turn.prompt);
	buf_release(&s->turn.context);
}
