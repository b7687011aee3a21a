/* SPDX-License-Identifier: MIT
 * turn.h - the turn of a session's main agent: one prompt, notification or preparation, and everything until its result
 * (docs/internals/turn.md). */
#pragma once
#include "lib/base/buf.h"
#include "lib/base/id.h"

struct cadre_session;
struct config_change;
struct expansion;
struct hook_batch;
struct mentions;
struct segment;

/* States before RUN can be left for ENDED at any time; the order counts. */
#define TURN_STATES(X) \
	X(IDLE)        \
	X(SETTINGS)    \
	X(APPROVAL)    \
	X(SERVERS)     \
	X(SETUP)       \
	X(START) X(SUBMIT) X(PRELOAD) X(EXPAND) X(MENTIONS) X(COMMIT) X(COMPACT) X(RUN) X(STOP) X(MEMBER) X(ENDED)
enum turn_state {
#define X(s) TURN_##s,
	TURN_STATES(X)
#undef X
		TURN_STATE_COUNT
};

enum turn_origin { TURN_BY_PROMPT, TURN_BY_NOTICE, TURN_BY_PREPARE };

/* How the expansion of a prompt that begins with /name ended (skill_command.c) */
enum expansion_end {
	EXPANSION_EXPANDED, /* also: there was nothing to expand */
	EXPANSION_ANSWERED,
	EXPANSION_REJECTED, /* no such skill, or it cannot be used */
	EXPANSION_BLOCKED,  /* by a hook */
	EXPANSION_HALTED,   /* a hook ends the turn */
	EXPANSION_CANCELLED,
};

struct turn {
	enum turn_state state; /* turn_set_state() alone assigns it */
	enum turn_origin origin;
	bool begun, pending;         /* the work of the state was started; turn_work_over() is still to come */
	bool announced;              /* EVENT_SESSION_STARTED was emitted */
	bool compacts;               /* the prompt is /compact */
	bool notice_came;            /* while no turn ran */
	bool interrupted, cancelled; /* by the host, a hook or the session's end; the pending work was cancelled */
	struct err *caller; /* of session_prompt() while it runs: for a disk that fails before anything is announced */

	/* The prompt (session_prompt.c) */
	struct buf prompt;       /* until the hooks have let it through */
	size_t initial;          /* bytes at its beginning that are the agent's, not the user's */
	struct segment **blocks; /* that the model gets in place of the prompt's text; owned; NULL: the text */
	size_t block_count;
	char uuid[UUID_LEN + 1];     /* that the prompt's line is to have; "": any */
	bool verbatim;               /* it names no commands, skills and files */
	bool suppressed;             /* a hook's context stands in place of the prompt */
	struct mentions *mentions;   /* files that the prompt names (mention.c); NULL: none */
	struct expansion *expansion; /* of a prompt that names a skill (skill_command.c); NULL: none */
	enum expansion_end expansion_end;
	struct buf answer; /* text of that end */

	/* Hooks (session_hooks.c) */
	struct hook_batch *hook_batch;            /* that the session waits for; NULL: none */
	bool hooks_over, hooks_stop, hooks_block; /* in this state: they have ended; their decision */
	struct buf hook_reason;                   /* of the latter two */
	struct buf context;                       /* for the model, with the next prompt */
	struct buf opening;                       /* a SessionStart hook's text before the prompt; empty: none */
	unsigned stop_blocks;                     /* how often a stop hook wanted more */
	unsigned tasks_shown;                     /* of a member in a pane: to TaskCompleted hooks ... */
	bool idle_shown;                          /* ... and its end to TeammateIdle hooks */
	struct config_change *change;             /* settings that hooks look at; NULL: none */
	bool setup_hooks_ran, start_hooks_ran, end_hooks_ran; /* or there were none */
};

static inline bool turn_is_running(const struct turn *t)
{
	return t->state != TURN_IDLE;
}

void turn_attach(struct cadre_session *s);       /* before its tree is open */
void session_meet_lead(struct cadre_session *s); /* of a member in a pane; otherwise nothing */
void turn_release(struct cadre_session *s);
/* Emits EVENT_SESSION_STARTED and what belongs before it, once a turn: before the first work that takes time, or when the prompt
 * is on disk. */
void turn_announce(struct cadre_session *s);
/* The work that the state waits for has ended: records it and kicks. */
void turn_work_over(struct cadre_session *s);
/* Queues one step of the session, however often; until then the session counts as at work. */
void session_kick(struct cadre_session *s);

/* How the last turn ended, for the host */
struct str turn_text(const struct cadre_session *s, struct buf *scratch, bool *ret_is_error);
const char *turn_subtype(const struct cadre_session *s);
