/* SPDX-License-Identifier: MIT
 * stage.h - queries on a virtual clock with a model, tools and a session file of their own. */
#pragma once
#include "fake_model.h"
#include "fake_tools.h"
#include "agents/query/query.h"
#include "core/store/load.h"
#include "unit.h"

enum { AGENTS = 3 };

struct agent {
	struct query q;
	struct recorder recorder;
	struct buf trail;  /* "ASK GATE STREAM FINISH IDLE " */
	struct buf events; /* "text:hi +t1 -t1 =t1 retry:overloaded " and so on, see stage.c */
	unsigned ends;
	struct stage *stage;
};

struct stage {
	struct loop *loop;
	char dir[FOLDER_MAX];
	struct arena arena;
	struct fake_model model;
	struct head_pool heads;
	struct head *head;
	struct tool_set tools;
	struct tool_env env;
	struct tool_gate gate;
	bool hold_gate; /* the gate does not answer */
	struct tool_call *asked;
	struct buf log; /* of the tools */
	struct store store;
	struct record_context context;
	struct journal *journal;
	struct query_config config; /* tests change it before stage_agent() */
	struct agent agents[AGENTS];
	unsigned agent_count;
	struct query *q;  /* of the first agent */
	const char *path; /* of its session file */
};

void stage_init(struct stage *s, const struct reply *replies, size_t count);
/* The first one records into the session file, the others nowhere. */
struct agent *stage_agent(struct stage *s);
void stage_prompt(struct agent *a, const char *text); /* adds it and starts the turn */
/* The whole of most tests: one agent, one prompt, until nothing is left to do. */
struct agent *stage_run(struct stage *s);
void stage_after(struct stage *s, uint64_t ms, void (*act)(struct query *q)); /* on the first agent; runs to the end */
/* "u:hi, a:call t1, u:t1=ok, a:done"; in the arena. Fails unless the API would accept it. */
char *stage_transcript(struct stage *s, const struct query *q);
/* What the session file gives is what the first agent has in memory. */
void stage_check_disk(struct stage *s);
void stage_release(struct stage *s);

#define STAGE(s, ...)                                          \
	struct stage s;                                        \
	static const struct reply replies[] = { __VA_ARGS__ }; \
	stage_init(&s, replies, COUNT_OF(replies))
