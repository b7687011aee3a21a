/* SPDX-License-Identifier: MIT
 * event.h - the events of hooks, and which output each of them accepts. One const table; no other code in
 * the room compares names of events. event_list.h explains how to add one. */
#pragma once
#include "lib/base/str.h"

#define EVENT(id, ...) HOOK_##id,
enum hook_event {
#include "guard/hook/event_list.h"
	HOOK_EVENT_COUNT
};
#undef EVENT

enum hook_type { HOOK_COMMAND, HOOK_HTTP, HOOK_MCP_TOOL, HOOK_PROMPT, HOOK_AGENT, HOOK_CALLBACK, HOOK_TYPE_COUNT };

/* Members of hookSpecificOutput */
enum hook_field {
	HOOK_ADDITIONAL_CONTEXT,
	HOOK_PERMISSION_DECISION,
	HOOK_PERMISSION_REASON,
	HOOK_UPDATED_INPUT,
	HOOK_DECISION, /* of PermissionRequest: {behavior, ...} */
	HOOK_INITIAL_MESSAGE,
	HOOK_SESSION_TITLE,
	HOOK_WATCH_PATHS,
	HOOK_RELOAD_SKILLS,
	HOOK_SUPPRESS_PROMPT,
	HOOK_RETRY,
	HOOK_UPDATED_OUTPUT,
	HOOK_UPDATED_MCP_OUTPUT,
	HOOK_CLASSIFIER_CONTEXT,
	HOOK_WORKTREE_PATH,
	HOOK_ACTION,
	HOOK_CONTENT,
	HOOK_FIELD_COUNT
};

enum hook_event_flags {
	HOOK_CAN_BLOCK = 1 << 0,     /* exit 2 and "decision": "block" refuse, or make an agent continue */
	HOOK_EXIT2_TO_USER = 1 << 1, /* exit 2 cannot block: its stderr is shown to the user */
	HOOK_NONZERO_FAILS = 1 << 2, /* any exit but 0 refuses */
	HOOK_STOP_IGNORED = 1 << 3,  /* "continue": false has no effect */
	HOOK_PLAIN_CONTEXT = 1 << 4, /* output other than JSON goes to the model */
	HOOK_ABOUT_TOOL = 1 << 5,    /* `if` can be evaluated; the matcher knows former names of tools */
	HOOK_NARROW_NAMES = 1 << 6,  /* a matcher with '-', ' ' or ',' is a regular expression */
	HOOK_HAS_ENV_FILE = 1 << 7,  /* CLAUDE_ENV_FILE is set */
	HOOK_SHARED_BUDGET = 1 << 8, /* all hooks together share one short timeout */
	HOOK_PRINTS_PATH = 1 << 9,   /* the last line that a command prints is the answer */
	HOOK_GUARDS = 1 << 10,       /* a late one refuses: a function of the SDK, and any hook about a tool */
};

/* What {"ok": false} of a prompt or agent hook means */
enum hook_refusal {
	HOOK_REFUSAL_NONE,
	HOOK_REFUSAL_BLOCKS,            /* the reason goes to the model */
	HOOK_REFUSAL_CONTINUES,         /* the same, unless it says that what it wants is impossible */
	HOOK_REFUSAL_ENDS,              /* and the turn ends */
	HOOK_REFUSAL_ENDS_OR_CONTINUES, /* the turn ends, unless the hook has continueOnBlock */
};

struct hook_event_info {
	const char *name;
	const char *subject; /* input member that a matcher tests; NULL: matchers are ignored */
	uint32_t fields;     /* 1 << enum hook_field: members of hookSpecificOutput that count */
	unsigned flags;      /* enum hook_event_flags */
	unsigned types;      /* 1 << enum hook_type: handlers that may be used */
	enum hook_refusal refusal;
	uint32_t timeout_ms; /* of command, http and mcp_tool; 0: the type's own */
};

extern const struct hook_event_info hook_events[HOOK_EVENT_COUNT];
bool hook_event_find(struct str name, enum hook_event *ret_event); /* exact */

struct hook_type_info {
	const char *name; /* value of "type" */
	uint32_t timeout_ms;
};
extern const struct hook_type_info hook_types[HOOK_TYPE_COUNT];
bool hook_type_find(struct str name, enum hook_type *ret_type);

struct hook_field_info {
	const char *name;
	unsigned types; /* 1 << enum json_type */
};
extern const struct hook_field_info hook_fields[HOOK_FIELD_COUNT];
