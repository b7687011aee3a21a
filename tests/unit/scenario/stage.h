/* SPDX-License-Identifier: MIT
 * stage.h - an engine that plays a scenario given as text, and short ways to ask it and to look at what it answers. */
#pragma once
#include "unit.h"
#include "lib/json/json.h"
#include "core/scenario/engine.h"

struct stage {
	struct scenario *scenario;
	struct engine *engine;
	struct reply *reply; /* of the last ask */
	struct buf bytes;    /* all bytes of the reply, after stage_play() */
	struct buf trail;    /* its steps: "(delay)" where there is one, then BYTES, CUT, STALL or END */
	struct buf last;     /* body of the last request */
	uint64_t now_ms;
};

void stage_open(struct stage *s, const char *scenario); /* fails the test if the scenario does not parse */
void stage_close(struct stage *s);
/* Replies of earlier asks are freed. The body is a whole request. */
void stage_ask(struct stage *s, const char *body);
void stage_ask_as(struct stage *s, const char *agent, const char *path, struct str body);
void stage_prompt(struct stage *s, const char *text); /* one streamed request with that prompt */
/* Takes all steps. Ends at END, CUT or STALL. */
void stage_play(struct stage *s);
int stage_status(const struct stage *s);
/* What a client would put together from the stream: "text(Hello) tool_use(Read {}) tool_use", the stop reason last. */
void stage_read(struct stage *s, struct buf *out);
uint64_t stage_stat(const struct stage *s, const char *name); /* a number of engine_stats */
/* The request that a client sends next: the last one, the answer as it came, a result for each call. */
void stage_go_on(struct stage *s, const char *result);

/* "{...}" of a streamed request with tools Read and Write, these messages (the inside of the list) and these members. */
const char *request_with(const char *messages, const char *members);

int parse_tests(void);
int request_tests(void);
int answer_tests(void);
int fault_tests(void);
int cache_tests(void);
int chat_tests(void);
