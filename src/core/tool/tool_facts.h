/* SPDX-License-Identifier: MIT
 * tool_facts.h - facts about tools by their name, including tools that only rules and definitions of other programs name. The
 * build makes the table from NAME.json below src/tools and other_tools.json (scripts/tools.py). Tools of MCP servers are not in
 * it. */
#pragma once
#include "lib/base/buf.h"

/* The word in "flags" of NAME.json is the name in small letters, without TOOL_. */
enum tool_flags {
	/* What a call does */
	/* Changes nothing: runs in parallel, runs again after a crash, allowed by default */
	TOOL_READ_ONLY = 1 << 0,
	TOOL_EDITS = 1 << 1, /* changes files in place */
	/* Waits for other agents: runs in parallel without counting against the limit; an agent that only waits for such calls
	 * releases its slot */
	TOOL_DELEGATES = 1 << 2,
	/* Runs in parallel (declared by a server for its tool), but needs permission and does not run again */
	TOOL_CONCURRENT = 1 << 3,
	TOOL_SPAWNS = 1 << 4, /* starts agents: not offered at the greatest depth */

	/* How a call runs */
	TOOL_AFTER_ANSWER = 1 << 5, /* starts when the answer that makes it is complete */
	TOOL_RESUMES = 1 << 6,      /* a call without a result starts again after a crash: it finds what it began */
	TOOL_OWN_LIMIT = 1 << 7,    /* bounds its results itself */
	TOOL_CONFINED = 1 << 8,     /* its commands run in the sandbox */
	TOOL_NO_ASK = 1 << 9,       /* needs no permission of its own: what it leads to is checked by itself */
	TOOL_IS_QUESTION = 1 << 10, /* asks the user itself: no question comes before it */
	TOOL_ENDS_PLAN = 1 << 11,   /* the answer that allows it chooses the mode that follows */

	/* Where it is offered */
	TOOL_NEEDS_USER = 1 << 12,    /* only where a user answers */
	TOOL_NEEDS_SERVERS = 1 << 13, /* only where an MCP server has resources */
	TOOL_TEAM = 1 << 14,          /* only where there are teams */
	TOOL_NEEDS_SEARCH = 1 << 15,  /* only where the model's server searches the web */
	TOOL_TODOS = 1 << 16,         /* an agent's own list of work: only where there is no task list */
	TOOL_TASK_LIST = 1 << 17,     /* the task list: only to models that do not plan without one */
	TOOL_MAY_WAIT = 1 << 18, /* where there are many tools, requests carry it only after the model asked for it */
	TOOL_FINDS_TOOLS = 1 << 19, /* finds those: only where some wait (core/tool/deferral.h) */
	TOOL_MAIN_ONLY = 1 << 20,   /* belongs to the conversation with the user: withheld from subagents. One with
				       * TOOL_ENDS_PLAN stays with agents that plan */
	TOOL_BACKGROUND = 1 << 21,  /* background runs keep it; they lose all other tools but those of MCP servers */
	TOOL_FOR_MEMORY = 1 << 22,  /* an agent with a memory directory gets it, for that directory alone */
	TOOL_SIDE_QUERY = 1 << 23,  /* side queries (hooks that are agents) get it */
	TOOL_SERVED = 1 << 24,      /* `cadre mcp serve` offers it */

	/* How permission rules understand it */
	TOOL_RULES_LEAD = 1 << 25,  /* Read and Edit: their rules hold for all tools with the same subject */
	TOOL_SHOWS_FILE = 1 << 26,  /* an edit that needs the content: a rule against reading forbids this too */
	TOOL_LISTS_NAMES = 1 << 27, /* shows names of files, not their content */

	/* Who has it. Tools of a server with "role": "comms" are a coordinator's, too; all others are for its workers */
	TOOL_COORDINATOR = 1 << 28, /* a coordinator itself */
	TOOL_LEAD = 1 << 29,        /* the lead of a team that only coordinates (teams.leadTools) */
	TOOL_MEMBER = 1 << 30,      /* each member of a team, whatever its definition says */
};

/* What a permission rule about the tool looks at */
enum subject_kind {
	SUBJECT_NAME,  /* nothing but the tool's name and parameters */
	SUBJECT_SHELL, /* a command */
	SUBJECT_READ,  /* a path that is read */
	SUBJECT_EDIT,  /* a path that is written */
	SUBJECT_HOST,  /* the host of an address */
	SUBJECT_AGENT,
	SUBJECT_SKILL,
};

struct tool_facts {
	const char *name;
	const char *now; /* the present name of a renamed tool, whose other members are unset; NULL: not renamed */
	unsigned flags;  /* enum tool_flags */
	enum subject_kind kind;
	const char *primary;           /* input member that rules look at; NULL: none */
	const char *const *parameters; /* other members, NULL-terminated; NULL: not known, any name may be one */
};

extern const struct tool_facts tool_facts_table[]; /* sorted by name */
extern const size_t tool_facts_count;

const struct tool_facts *tool_facts_find(struct str name); /* any case; NULL: no tool has or had this name */
struct str tool_current_name(struct str name);             /* today's name of a renamed tool, else the name itself */
bool tool_has_parameter(const struct tool_facts *facts, struct str member); /* facts may be NULL: false */
/* mcp__SERVER__TOOL: every character outside [A-Za-z0-9_-] becomes '_'. tool empty: without the last part. */
void mcp_name_add(struct buf *out, struct str server, struct str tool);
