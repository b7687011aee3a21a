/* SPDX-License-Identifier: MIT
 * hooks.h - runs the hooks of an event: the session's, then the agent's own. Also the events of agents: start and stop, the
 * calls of one answer (PostToolBatch), items of the task list. */
#pragma once
#include "guard/hook/hook.h"
#include "agents/agent/agent.h"
#include "agents/agent/tree.h"
#include "lib/json/json_write.h"
#include "core/tool/tool.h"
#include "guard/hook/event.h"

enum { MOST_STOP_BLOCKS = 8 }; /* in a row: then an agent stops, even if its stop hooks block it */

/* Uses only event and subject of spec, and for tools the rule. Allocates nothing: call it before writing the fields. */
bool agent_has_hooks(const struct agent *a, const struct hook_event_spec *spec);
/* Fills in the sets and the context of spec. done is called exactly once, later; the agent must still exist then, or the
 * hook_batch must have been cancelled and data must not need it. */
struct hook_batch *agent_run_hooks(struct agent *a, struct hook_event_spec *spec, hook_done_fn *done, void *data);
/* Runs hooks that a turn waits for; slot: in the agent, empty. done calls turn_hooks_end(), which returns the agent, or NULL if its
 * turn has ended: then the outcome is ignored. False: there are no hooks. */
bool turn_hooks_startf(struct agent *a, struct turn_hooks **slot, enum hook_event event, const char *subject,
		       hook_done_fn *done, const char *fields, ...) printf_like(6, 7);
struct agent *turn_hooks_end(void *data);
void turn_hooks_drop(struct turn_hooks **slot); /* the turn is over */
/* fields: a template of json_putf(). done NULL: nothing waits for them, and their messages reach the user, even if the agent no
 * longer exists. Returns NULL then, and if there are no hooks. */
struct hook_batch *agent_run_hooksf(struct agent *a, enum hook_event event, const char *subject, hook_done_fn *done,
				    void *data, const char *fields, ...) printf_like(6, 7);
struct hook_batch *agent_vrun_hooks(struct agent *a, enum hook_event event, const char *subject, hook_done_fn *done,
				    void *data, const char *fields, va_list args);
#define agent_notify_hooksf(a, event, subject, ...) \
	((void)agent_run_hooksf((a), (event), (subject), NULL, NULL, __VA_ARGS__))
void agent_tree_cancel_async_hooks(struct agent_tree *t); /* ends those that still run; on_idle follows */

/* The parts of an outcome that every event has: context for the model, messages and notes for the user, the end of the turn. */
void agent_apply_hook_outcome(struct agent *a, const struct hook_outcome *outcome);
void hook_contexts_add(struct buf *out, const struct hook_outcome *outcome); /* context for the model, a line each */
/* Only the messages for the user */
void emit_hook_messages(struct agent_tree *t, const struct event_agent *who, const struct hook_outcome *outcome);

/* Steps of life[] and ending[]: the hooks of its definition, and those of its start and end */
int agent_step_hooks(struct agent *a, struct err *err);
static inline int agent_unregister_hooks(struct agent *a, struct err *err)
{
	if (a->parent && a->tree->services->hooks)
		hook_engine_end_agent(a->tree->services->hooks, a->tree->session_id, a->record->id);
	hook_set_unref(TAKE(a->hooks));
	return 0;
}
int agent_start_hooks(struct agent *a, struct err *err);
int agent_undo_start_hooks(struct agent *a, struct err *err);
static inline int agent_check_start_hooks(struct agent *a, struct err *err) /* one of them may forbid the agent */
{
	return a->start_refusal.n ? err_set(err, ERR_DENIED, "%s", a->start_refusal.p) : 0;
}
int agent_stop_hooks(struct agent *a, struct err *err);

/* A tool call as hooks see it: with absolute paths, and with the plan from its file. */

/* Opens an object with tool_name and tool_input; the caller adds to it and closes it. */
void tool_event_open(struct json_out *w, struct agent *a, struct tool_call *call);
/* Sets the input from a hook, without the members that only hooks see. False: it is invalid, and the call has been answered. */
bool tool_event_amend(struct tool_call *call, struct str json);

/* After all calls of one answer: a hook may end the turn. */

bool agent_show_batch(struct agent *a); /* true: query_batch_over() follows */

/* Items of the task list, when they are created and before they count as completed. */

/* id: in the call's arena. refusal: why a hook blocks it; p == NULL: it does not. Borrowed until return. */
typedef void todo_hooks_fn(struct tool_call *call, const char *id, struct str refusal);

/* Calls then exactly once: at once if there is no hook, else later. Uses call->state. */
void todo_run_hooks(struct tool_call *call, bool completed, const struct todo_info *words, todo_hooks_fn *then);
void todo_hooks_cancel(struct tool_call *call); /* a tool's .cancel */

/* Shell lines that hooks leave for the commands of their session (CLAUDE_ENV_FILE). */

void env_files_remove(const struct agent_tree *t);
