/* SPDX-License-Identifier: MIT
 * rule.h - one permission rule: "Tool" or "Tool(specifier)".
 *
 *   Bash(npm run build)   exactly this command     Read(src/x)            a path, as in .gitignore (rule_pattern.h)
 *   Bash(npm run *)       words at its beginning   WebFetch(domain:HOST)  a host (rule_pattern.h)
 *   Bash(npm:*)           the same                 Agent(TYPE, TYPE)      a type of agent
 *   Bash(git * main)      * is any text            Skill(NAME), (NAME *)  a skill, with any arguments
 *   mcp__server           all tools of a server    Tool(parameter:value)  a member of the input; deny and ask only
 *
 * Names of tools are compared without case; old names are known; a name with * stands for several (allow: only below one
 * MCP server). A backslash before ( or ) in a specifier takes the parenthesis as it is. */
#pragma once
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "guard/permission/rule_pattern.h"
#include "core/tool/tool_facts.h"

enum rule_list {
	RULE_DENY,
	RULE_ASK,
	RULE_ALLOW,
	RULE_ONLY, /* a limit of an agent: of those for a tool, one must match */
	RULE_LIST_COUNT
};

/* Where a rule stands. The texts are copied. */
struct rule_origin {
	const char *layer; /* "userSettings", "projectSettings", "cliArg", "session" ... */
	const char *file;  /* NULL: no file */
	unsigned line;     /* 0: unknown */
	const char *base;  /* where a path that begins with one slash starts; NULL: where the agent started */
};

enum rule_kind {
	RULE_BARE, /* every use of the tool */
	RULE_PARAMETER,
	RULE_COMMAND,
	RULE_PATH,
	RULE_HOST,
	RULE_AGENT,
	RULE_SKILL,
	RULE_INERT, /* accepted, never looked at */
	RULE_KIND_COUNT
};

struct rule {
	enum rule_list list;
	enum rule_kind kind;
	const char *text; /* as it was written, trimmed */
	const char *tool; /* lower case, today's name; with * if several */
	bool several;
	const struct tool_facts *subject; /* of the tool; NULL: not known by name */
	const struct rule_origin *origin; /* shared by the rules of one file */
	union {
		struct {
			struct str name, value; /* value: * is any text */
		} parameter;
		struct command_rule command;
		struct path_rule path;
		struct str host;  /* lower case, * in it */
		struct str names; /* types of agents, with commas between */
		struct {
			struct str name;
			bool any_arguments;
		} skill;
	};
};

typedef void rule_warn_fn(void *data, const char *message);

/* Makes *ret_rule from text; all it needs is in the arena (a path's glob is freed by rule_release). origin is kept as a pointer.
 * 1: made. 0: an allow rule that has no meaning was skipped, with a warning. -ERR_PARSE: one that forbids or asks
 * cannot be understood, which must not pass in silence. warn may be NULL. */
int rule_parse(struct arena *a, enum rule_list list, struct str text, const struct rule_origin *origin,
	       rule_warn_fn *warn, void *data, struct rule *ret_rule, struct err *err);
static inline void rule_release(struct rule *r)
{
	if (r->kind == RULE_PATH)
		path_rule_release(&r->path);
}
/* For a rule about every use of its tool, or about a parameter; false for others */
bool rule_matches_input(const struct rule *r, const struct json *input);
/* names: "a, b"; * is every type. Types are the same if only case, blanks, - and _ differ. */
bool agent_rule_match(struct str names, struct str type);
/* The name of a tool as rules have it: today's, in lower case */
char *rule_tool_name(struct arena *a, struct str tool);
/* Whether a rule without a specifier is about the tool: names differ in case, those of servers as they are written; * is any text. */
bool rule_names_tool(struct str rule, const char *tool);
/* Cuts the next rule off a list with commas between; those in parentheses separate nothing. As str_cut() ends a loop. */
struct str rule_cut(struct str *rest);
/* The list's name in a settings file: "deny", "ask", "allow"; "tools" for a limit. */
const char *rule_list_name(enum rule_list list);
