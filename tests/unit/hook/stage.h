/* SPDX-License-Identifier: MIT
 * stage.h - an engine on a loop, and what its callbacks said as text: outcomes in `said`, runs in `log`. */
#pragma once
#include "unit.h"
#include "guard/hook/hook_int.h"

struct stage {
	struct loop *loop;
	struct spawner *spawner;
	struct http *http;
	struct hook_engine *engine;
	struct arena arena;
	struct diagnostics diagnostics;
	struct hook_context context;
	struct hook_set *set;
	struct hook_batch *batch;
	struct buf said; /* one outcome: "ran 1; deny: why; blocked: why; ..." */
	struct buf log;  /* "start NAME LABEL", "end RESULT EXIT", "skipped LABEL: why", "late ..." */
	struct buf stdout_text, stderr_text; /* of the last hook that ended */
	unsigned dones, starts;
	size_t cancel_at_start; /* cancels the batch when so many hooks have started */
};

void stage_init(struct stage *st, unsigned loop_flags);
/* The same with these runners and the like; loop, spawner, http and observer are the stage's. */
void stage_init_with(struct stage *st, unsigned loop_flags, const struct hook_engine_options *options);
void stage_release(struct stage *st); /* drains first */

/* Hooks of a user's settings, trusted; replaces the set. */
void stage_hooks(struct stage *st, const char *hooks_json);
/* {EVENT: [{"hooks": [HANDLER]}]} */
void stage_handler(struct stage *st, enum hook_event event, const char *handler_json);
void stage_command(struct stage *st, enum hook_event event, const char *command);
struct hook_event_spec stage_spec(struct stage *st, enum hook_event event, const char *subject);
void stage_fire(struct stage *st, const struct hook_event_spec *spec);
/* Runs the hooks of the event, the loop to its end and returns said. */
const char *stage_run(struct stage *st, enum hook_event event, const char *subject);
