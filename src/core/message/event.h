/* SPDX-License-Identifier: MIT
 * event.h - everything that the library reports to its host. An event about a line of the transcript is emitted after
 * that line is on disk. The kinds are those of cadre.h, with the same numbers. */
#pragma once
#include "core/message/message.h"

enum event_kind {
	EVENT_SESSION_STARTED = 1,
	EVENT_MESSAGE,
	EVENT_DELTA,
	EVENT_TOOL_STARTED,
	EVENT_TOOL_ENDED,
	EVENT_PERMISSION_ASKED,
	EVENT_PERMISSION_DENIED,
	EVENT_RETRY,
	EVENT_NOTIFICATION,
	EVENT_ERROR,
	EVENT_TURN_ENDED,
	EVENT_AGENT_STARTED,
	EVENT_AGENT_PROGRESS,
	EVENT_AGENT_ENDED,
	EVENT_TASKS_CHANGED,
	EVENT_QUESTION_ASKED,
	EVENT_HOOK_STARTED,
	EVENT_HOOK_ENDED,
	EVENT_ELICITATION_ASKED,
	EVENT_COMPACTING,
	EVENT_COMPACTED,
	EVENT_MEMBER_STATE, /* task->member is the new one */
	EVENT_SANDBOX_VIOLATION,
	EVENT_TOOL_PROGRESS,
	EVENT_QUESTION_CLOSED,
	EVENT_TERMINAL_SEQUENCE,
	EVENT_FILES_FOUND,
};

/* The agent of an event. Members may be NULL. */
struct event_agent {
	const char *id; /* "" for the main agent */
	const char *type, *name, *description;
	const char *tool_use_id; /* of the call that started it */
	const char *parent_id;   /* "" for the main agent's children */
	const char *team;        /* of a member; NULL: it is none */
	unsigned depth;          /* 0 for the main agent */
};

/* State of a child, in EVENT_AGENT_* and in its notifications. Members may be NULL. */
struct event_task {
	const char *run_id; /* new for each continuation; sorts by time */
	const char *state;  /* running, completed, failed, killed, ... (agents/agent/agent.h) */
	const char *prompt, *model, *output_file, *last_tool, *worktree, *branch;
	const char *verdict;       /* PASS, FAIL or PARTIAL of a verifying agent */
	const char *team, *member; /* of a member: its team and its state; NULL: it is none */
	bool background;
	struct usage usage;
	double cost_usd;
	unsigned turns, tool_uses;
	uint64_t duration_ms;
};

/* Of EVENT_HOOK_*; outcome and the members after it only at its end */
struct event_hook {
	const char *event;   /* PreToolUse, ... */
	const char *outcome; /* success, error or cancelled */
	int exit_code;
	bool exited;         /* the code counts */
	struct str out, err; /* what it printed */
	struct str note;     /* why it is an error */
};

/* Of EVENT_COMPACTING and EVENT_COMPACTED */
struct event_compact {
	const char *trigger; /* "auto" or "manual" */
	const char *result;  /* "success" or "failed"; NULL: starting */
	int64_t tokens_before, tokens_after;
	uint64_t duration_ms;
};

/* Everything is borrowed until the receiver returns. Members that a kind does not use are zero. */
struct event {
	enum event_kind kind;
	const struct event_agent *agent; /* NULL: the main agent */
	const struct event_task *task;
	const struct event_hook *hook;
	const struct event_compact *compact;
	const char *uuid; /* of the line; NULL: the receiver makes one */
	const char *name; /* tool; "text" or "thinking" */
	const char *id;   /* of the call */
	struct str text;
	bool is_error;
	uint64_t lines; /* EVENT_TOOL_PROGRESS: printed so far */

	/* EVENT_MESSAGE */
	bool from_model; /* a block of an answer; otherwise a tool result */
	const struct segment *block;
	const char *message_id, *model, *request_id;
	const struct usage *usage;     /* of the answer so far; NULL for results */
	struct str tool_use_result;    /* JSON, or empty */
	const char *const *supersedes; /* uuids of the frames of a discarded answer; NULL-terminated, or NULL */

	struct str raw; /* EVENT_DELTA: the raw API event; empty for decoded text */

	struct str why; /* EVENT_PERMISSION_ASKED, EVENT_SANDBOX_VIOLATION */
	/* EVENT_PERMISSION_ASKED */
	const char *const *rules; /* rules that would allow it */
	size_t rule_count;
	bool offers_edits; /* the answer may also accept edits from then on */
	struct str patch;  /* {"filePath", "structuredPatch"}: what the call would change; empty: not an edit */

	/* EVENT_RETRY */
	unsigned attempt;
	unsigned most_attempts;    /* attempts that fit into the deadline */
	int64_t delay_ms, left_ms; /* until the next one; until none begins any more, 0: attempts are counted */
	int status;                /* HTTP; 0: none */
	const char *error;         /* "overloaded", ...; model: the fallback, NULL: the same model */
};

typedef void event_fn(void *data, const struct event *event);
