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

static const struct hook_event_info events[] = {
	[HOOK_SESSION_START] = { "SessionStart", "source",
				 CONTEXT | BIT(HOOK_INITIAL_MESSAGE) | BIT(HOOK_SESSION_TITLE) | BIT(HOOK_WATCH_PATHS) |
					 BIT(HOOK_RELOAD_SKILLS),
				 HOOK_EXIT2_TO_USER | HOOK_PLAIN_CONTEXT | HOOK_HAS_ENV_FILE, START_TYPES,
				 HOOK_REFUSAL_NONE, 0 },
	[HOOK_SETUP] = { "Setup", "trigger", CONTEXT, HOOK_EXIT2_TO_USER | HOOK_HAS_ENV_FILE, START_TYPES,
			 HOOK_REFUSAL_NONE, 0 },
	[HOOK_INSTRUCTIONS_LOADED] = { "InstructionsLoaded", "load_reason", 0, HOOK_STOP_IGNORED, PLAIN_TYPES,
				       HOOK_REFUSAL_NONE, 0 },
	[HOOK_USER_PROMPT_SUBMIT] = { "UserPromptSubmit", NULL,
				      CONTEXT | BIT(HOOK_SESSION_TITLE) | BIT(HOOK_SUPPRESS_PROMPT),
				      HOOK_CAN_BLOCK | HOOK_PLAIN_CONTEXT | HOOK_GUARDS, ALL_TYPES, HOOK_REFUSAL_ENDS,
				      PROMPT_MS },
	[HOOK_USER_PROMPT_EXPANSION] = { "UserPromptExpansion", "command_name", CONTEXT | BIT(HOOK_SUPPRESS_PROMPT),
					 HOOK_CAN_BLOCK | HOOK_PLAIN_CONTEXT, ALL_TYPES, HOOK_REFUSAL_ENDS, 0 },
	[HOOK_PRE_TOOL_USE] = { "PreToolUse", "tool_name", CONTEXT | PERMISSION | BIT(HOOK_UPDATED_INPUT),
				HOOK_CAN_BLOCK | HOOK_ABOUT_TOOL | HOOK_GUARDS, ALL_TYPES, HOOK_REFUSAL_ENDS_OR_TELLS,
				0 },
	[HOOK_PERMISSION_REQUEST] = { "PermissionRequest", "tool_name", BIT(HOOK_DECISION), HOOK_ABOUT_TOOL, ALL_TYPES,
				      HOOK_REFUSAL_NONE, 0 },
	[HOOK_PERMISSION_DENIED] = { "PermissionDenied", "tool_name", BIT(HOOK_RETRY), HOOK_ABOUT_TOOL, ALL_TYPES,
				     HOOK_REFUSAL_NONE, 0 },
	[HOOK_POST_TOOL_USE] = { "PostToolUse", "tool_name",
				 CONTEXT | BIT(HOOK_UPDATED_OUTPUT) | BIT(HOOK_UPDATED_MCP_OUTPUT) |
					 BIT(HOOK_CLASSIFIER_CONTEXT),
				 HOOK_CAN_BLOCK | HOOK_ABOUT_TOOL, ALL_TYPES, HOOK_REFUSAL_ENDS_OR_TELLS, 0 },
	[HOOK_POST_TOOL_USE_FAILURE] = { "PostToolUseFailure", "tool_name", CONTEXT, HOOK_CAN_BLOCK | HOOK_ABOUT_TOOL,
					 ALL_TYPES, HOOK_REFUSAL_BLOCKS, 0 },
	[HOOK_POST_TOOL_BATCH] = { "PostToolBatch", NULL, CONTEXT, HOOK_CAN_BLOCK, ALL_TYPES, HOOK_REFUSAL_ENDS, 0 },
	[HOOK_NOTIFICATION] = { "Notification", "notification_type", CONTEXT, HOOK_STOP_IGNORED, PLAIN_TYPES,
				HOOK_REFUSAL_NONE, 0 },
	[HOOK_SUBAGENT_START] = { "SubagentStart", "agent_type", CONTEXT, HOOK_EXIT2_TO_USER, PLAIN_TYPES,
				  HOOK_REFUSAL_NONE, 0 },
	[HOOK_SUBAGENT_STOP] = { "SubagentStop", "agent_type", CONTEXT, HOOK_CAN_BLOCK, ALL_TYPES, HOOK_REFUSAL_GOES_ON,
				 0 },
	[HOOK_TASK_CREATED] = { "TaskCreated", NULL, 0, HOOK_CAN_BLOCK | HOOK_STOP_IGNORED, ALL_TYPES,
				HOOK_REFUSAL_BLOCKS, 0 },
	[HOOK_TASK_COMPLETED] = { "TaskCompleted", NULL, 0, HOOK_CAN_BLOCK, ALL_TYPES, HOOK_REFUSAL_BLOCKS, 0 },
	[HOOK_TEAMMATE_IDLE] = { "TeammateIdle", NULL, 0, HOOK_CAN_BLOCK, ALL_TYPES, HOOK_REFUSAL_ENDS_OR_TELLS, 0 },
	[HOOK_STOP] = { "Stop", NULL, CONTEXT, HOOK_CAN_BLOCK, ALL_TYPES, HOOK_REFUSAL_GOES_ON, 0 },
	[HOOK_STOP_FAILURE] = { "StopFailure", "error", 0, HOOK_STOP_IGNORED | HOOK_NARROW_NAMES, PLAIN_TYPES,
				HOOK_REFUSAL_NONE, 0 },
	[HOOK_PRE_COMPACT] = { "PreCompact", "trigger", 0, HOOK_CAN_BLOCK | HOOK_PLAIN_CONTEXT, PLAIN_TYPES,
			       HOOK_REFUSAL_NONE, 0 },
	[HOOK_POST_COMPACT] = { "PostCompact", "trigger", 0, HOOK_STOP_IGNORED, PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_PRE_MODEL_SWITCH] = { "PreModelSwitch", NULL, PERMISSION, 0, ALL_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_POST_MODEL_SWITCH] = { "PostModelSwitch", NULL, CONTEXT, 0, ALL_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_CONFIG_CHANGE] = { "ConfigChange", "source", 0, HOOK_CAN_BLOCK, PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_CWD_CHANGED] = { "CwdChanged", NULL, BIT(HOOK_WATCH_PATHS), HOOK_STOP_IGNORED | HOOK_HAS_ENV_FILE,
			       PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_DIRECTORY_ADDED] = { "DirectoryAdded", "source", 0, HOOK_STOP_IGNORED, PLAIN_TYPES, HOOK_REFUSAL_NONE,
				   0 },
	[HOOK_FILE_CHANGED] = { "FileChanged", "file_path", BIT(HOOK_WATCH_PATHS),
				HOOK_STOP_IGNORED | HOOK_NARROW_NAMES | HOOK_HAS_ENV_FILE, PLAIN_TYPES,
				HOOK_REFUSAL_NONE, 0 },
	[HOOK_WORKTREE_CREATE] = { "WorktreeCreate", NULL, BIT(HOOK_WORKTREE_PATH),
				   HOOK_NONZERO_FAILS | HOOK_PRINTS_PATH, PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_WORKTREE_REMOVE] = { "WorktreeRemove", NULL, 0, HOOK_STOP_IGNORED, PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_ELICITATION] = { "Elicitation", "mcp_server_name", BIT(HOOK_ACTION) | BIT(HOOK_CONTENT), HOOK_CAN_BLOCK,
			       PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_ELICITATION_RESULT] = { "ElicitationResult", "mcp_server_name", BIT(HOOK_ACTION) | BIT(HOOK_CONTENT),
				      HOOK_CAN_BLOCK, PLAIN_TYPES, HOOK_REFUSAL_NONE, 0 },
	[HOOK_SESSION_END] = { "SessionEnd", "reason", 0, HOOK_STOP_IGNORED | HOOK_SHARED_BUDGET, PLAIN_TYPES,
			       HOOK_REFUSAL_NONE, 0 },
};
_Static_assert(COUNT_OF(events) == HOOK_EVENT_COUNT, "a row for each event");

static const struct hook_type_info types[] = {
	[HOOK_COMMAND] = { "command", 600 * 1000 },   [HOOK_HTTP] = { "http", 600 * 1000 },
	[HOOK_MCP_TOOL] = { "mcp_tool", 600 * 1000 }, [HOOK_PROMPT] = { "prompt", 30 * 1000 },
	[HOOK_AGENT] = { "agent", 60 * 1000 },        [HOOK_CALLBACK] = { "callback", 60 * 1000 },
};
_Static_assert(COUNT_OF(types) == HOOK_TYPE_COUNT, "a row for each type");

enum {
	TEXT = BIT(JSON_STRING),
	LIST = BIT(JSON_ARRAY),
	OBJECT = BIT(JSON_OBJECT),
	BOOL = BIT(JSON_TRUE) | BIT(JSON_FALSE),
	ANY = ~0,
};

static const struct hook_field_info fields[] = {
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
_Static_assert(COUNT_OF(fields) == HOOK_FIELD_COUNT, "a row for each member");

const struct hook_event_info *hook_event_info(enum hook_event event)
{
	return &events[event];
}

bool hook_event_find(struct str name, enum hook_event *ret_event)
{
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		if (str_is(name, events[i].name)) {
			*ret_event = i;
			return true;
		}
	}
	return false;
}

const struct hook_type_info *hook_type_info(enum hook_type type)
{
	return &types[type];
}

bool hook_type_find(struct str name, enum hook_type *ret_type)
{
	for (enum hook_type i = 0; i < HOOK_TYPE_COUNT; i++) {
		if (str_is(name, types[i].name)) {
			*ret_type = i;
			return true;
		}
	}
	return false;
}

const struct hook_field_info *hook_field_info(enum hook_field field)
{
	return &fields[field];
}
