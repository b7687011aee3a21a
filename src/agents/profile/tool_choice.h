/* SPDX-License-Identifier: MIT
 * tool_choice.h - which tools of a set an agent gets.
 *
 * The pool loses what no subagent may have, then what a background run may not have, then `disallowedTools`; `tools`, if
 * present, selects from what is left, in its own order; memory adds Read, Write and Edit unless they are disallowed. Names
 * match ignoring case; old names are accepted; mcp__SERVER and mcp__SERVER__* stand for all tools of a server. */
#pragma once
#include "agents/profile/memory.h"
#include "defs/agentdef/definition.h"
#include "guard/permission/permission.h"
#include "core/tool/tool.h"

/* "Bash(git diff:*)": limits that the permission engine holds */
struct tool_limits {
	struct permission_limit *list;
	size_t count;
};

struct tool_names {
	const char **list;
	size_t count;
};

/* Texts are in the arena, or borrowed from the definition and the tools */
struct tool_choice {
	struct arena arena;
	struct tool_set tools;
	struct tool_limits only;      /* of a tool that is named with specifiers only, one of them must match */
	struct tool_limits never;     /* none of these may match */
	struct tool_names for_memory; /* tools it has for its memory directory alone */
	struct tool_names unknown;    /* entries of `tools` that are no tool at all */
	struct tool_names withheld;   /* that no such agent may have */
	struct tool_names missing;    /* that this session does not have */
	const char *mode;             /* of tool_choice_narrow(): borrowed; NULL: none */
};

struct tool_choice_spec {
	const struct tool_set *pool; /* of the session, MCP tools included */
	const struct tool_set *own;  /* of servers that the definition brings: kept whatever `tools` says; NULL: none */
	bool background;
	bool deepest;     /* it may not start agents of its own */
	bool memory;      /* memory is on for this run */
	bool whole;       /* a fork: the pool as it is */
	bool member;      /* of a team: it can always speak and use the task list */
	bool plans;       /* its plan is approved before it works */
	bool main_thread; /* the session runs as this agent: nothing is withheld that only subagents lack */
};

void tool_choose(const struct agent_definition *d, const struct tool_choice_spec *spec, struct tool_choice *ret_choice);
/* Takes away what another definition does not allow. An agent of a project that is not trusted, with the name of one of the user's, gets
 * the project's prompt and may do no more than the user's. by is borrowed until the choice is released; NULL takes nothing. */
void tool_choice_narrow(struct tool_choice *c, const struct agent_definition *by, const struct tool_choice_spec *spec);
static inline void tool_choice_release(struct tool_choice *c)
{
	tool_set_release(&c->tools);
	arena_release(&c->arena);
	*c = (struct tool_choice){ 0 };
}
/* A tool of a server that is named and not there is a mistake; appends which one. False: none is missing. */
bool tool_choice_lacks(const struct tool_choice *c, struct buf *why);
/* An agent that names tools and gets none is not started; appends the reason. False: it may start. */
bool tool_choice_refuses(const struct tool_choice *c, const struct agent_definition *d, struct buf *why);

/* What a definition and the tools chosen by it say about permission, for an agent that runs and for `cadre permissions test`: mode,
 * limits, memory, what the guide may read. believed: the user trusts its source. The rest of the birth is the caller's. Borrows from
 * the choice and the arena. */
void tool_choice_birth(struct tool_choice *c, const struct agent_definition *d, bool believed,
		       const struct memory_dirs *places, bool memory, struct arena *a,
		       struct permission_birth *ret_birth);
/* The mode of a main agent that runs as the definition. As for a child: it may always be narrower; it may be wider only if the user
 * trusts the source. narrow: the mode of its choice of tools, above which it does not go. notes says why it is not as the definition
 * wants. */
void definition_use_mode(const struct agent_definition *d, const char *narrow, bool believed, struct permission *p,
			 struct buf *notes);
