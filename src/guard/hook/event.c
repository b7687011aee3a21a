/* SPDX-License-Identifier: MIT
 * event.c - the tables of events, of handler types and of output members. */
#include "guard/hook/event.h"
#include "lib/json/json.h"

#define BIT(n) (1u << (n))

enum {
	CONTEXT = BIT(HOOK_ADDITIONAL_CONTEXT),
	PERMISSION = BIT(HOOK_PERMISSION_DECISION) | BIT(HOOK_PERMISSION_REASON),
	START_TYPES = BIT(HOOK_COMMAND) | BIT(HOOK_MCP_TOOL) | BIT(HOOK_CALLBACK),
	PLAIN_TYPES = START_TYPES | BIT(HOOK_HTTP),
	ALL_TYPES = PLAIN_TYPES | BIT(HOOK_PROMPT) | BIT(HOOK_AGENT),
	PROMPT_MS = 30 * 1000,
};

#define EVENT(id, ...) [HOOK_##id] = { __VA_ARGS__ },
const struct hook_event_info hook_events[HOOK_EVENT_COUNT] = {
#include "guard/hook/event_list.h"
};
#undef EVENT

const struct hook_type_info hook_types[HOOK_TYPE_COUNT] = {
	[HOOK_COMMAND] = { "command", 600 * 1000 },   [HOOK_HTTP] = { "http", 600 * 1000 },
	[HOOK_MCP_TOOL] = { "mcp_tool", 600 * 1000 }, [HOOK_PROMPT] = { "prompt", 30 * 1000 },
	[HOOK_AGENT] = { "agent", 60 * 1000 },        [HOOK_CALLBACK] = { "callback", 60 * 1000 },
};

enum {
	TEXT = BIT(JSON_STRING),
	LIST = BIT(JSON_ARRAY),
	OBJECT = BIT(JSON_OBJECT),
	BOOL = BIT(JSON_TRUE) | BIT(JSON_FALSE),
	ANY = ~0,
};

const struct hook_field_info hook_fields[HOOK_FIELD_COUNT] = {
	[HOOK_ADDITIONAL_CONTEXT] = { "additionalContext", TEXT },
	[HOOK_PERMISSION_DECISION] = { "permissionDecision", TEXT },
	[HOOK_PERMISSION_REASON] = { "permissionDecisionReason", TEXT },
	[HOOK_UPDATED_INPUT] = { "updatedInput", OBJECT },
	[HOOK_DECISION] = { "decision", OBJECT },
	[HOOK_INITIAL_MESSAGE] = { "initialUserMessage", TEXT },
	[HOOK_SESSION_TITLE] = { "sessionTitle", TEXT },
	[HOOK_WATCH_PATHS] = { "watchPaths", LIST },
	[HOOK_RELOAD_SKILLS] = { "reloadSkills", BOOL },
	[HOOK_SUPPRESS_PROMPT] = { "suppressOriginalPrompt", BOOL },
	[HOOK_RETRY] = { "retry", BOOL },
	[HOOK_UPDATED_OUTPUT] = { "updatedToolOutput", ANY },
	[HOOK_UPDATED_MCP_OUTPUT] = { "updatedMCPToolOutput", ANY },
	[HOOK_CLASSIFIER_CONTEXT] = { "classifierContext", TEXT },
	[HOOK_WORKTREE_PATH] = { "worktreePath", TEXT },
	[HOOK_ACTION] = { "action", TEXT },
	[HOOK_CONTENT] = { "content", OBJECT },
};

bool hook_event_find(struct str name, enum hook_event *ret_event)
{
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		if (str_is(name, hook_events[i].name)) {
			*ret_event = i;
			return true;
		}
	}
	return false;
}

bool hook_type_find(struct str name, enum hook_type *ret_type)
{
	for (enum hook_type i = 0; i < HOOK_TYPE_COUNT; i++) {
		if (str_is(name, hook_types[i].name)) {
			*ret_type = i;
			return true;
		}
	}
	return false;
}
