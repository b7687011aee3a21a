/* SPDX-License-Identifier: MIT
 * session_settle.c - what a session does when something of it has ended: it waits for its children, tells its end, is idle, or is
 * freed. */
#include "product/session/session_int.h"
#include "agents/agent/hooks.h"

/* TOLD_WAIT_MS: a hook that nobody waits for may still end its work when everything else is done. */
enum { DEFAULT_WAIT_MS = 10 * 60 * 1000, TOLD_WAIT_MS = 5000 };

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
	uint64_t limit_ms = longest_wait_ms(&s->services->options);

	if (!s->running && s->tree.alive_count && limit_ms && !timer_running(&s->wait) && !s->gave_up)
		timer_start(s->services->loop, &s->wait, limit_ms);
}

static void on_told_long(struct timer *timer)
{
	agent_tree_cancel_async_hooks(&CONTAINER_OF(timer, struct cadre_session, told_wait)->tree);
}

/* The same for hooks that were only told. */
static void limit_told(struct cadre_session *s, bool at_work)
{
	if (!at_work && s->tree.async_hooks && !s->services->options.interactive && !timer_running(&s->told_wait))
		timer_start(s->services->loop, &s->told_wait, TOLD_WAIT_MS);
}

static void on_ended(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;

	session_hear(s, outcome);
	session_settle(s);
}

void session_settle(struct cadre_session *s)
{
	bool at_work = s->running || s->tree.alive_count || s->turn.firing;

	if (s->gave_up && !at_work && !s->closing) {
		session_end_turn(s);
		s->gave_up = false;
	}
	limit_wait(s);
	limit_told(s, at_work);
	at_work = at_work || s->tree.async_hooks;
	if (s->closing && !at_work && session_tell_end(s, on_ended))
		at_work = true;
	if (at_work != s->counted) {
		s->counted = at_work;
		services_busy(s->services, at_work ? 1 : -1);
	}
	struct services *sv = s->services;
	if (s->closing && !at_work)
		session_free(s);
	else if (!at_work && sv->on_idle)
		sv->on_idle(sv);
}

void session_settle_init(struct cadre_session *s)
{
	s->wait.fire = on_waited;
	s->told_wait.fire = on_told_long;
}

void session_settle_release(struct cadre_session *s)
{
	timer_stop(s->services->loop, &s->wait);
	timer_stop(s->services->loop, &s->told_wait);
}
