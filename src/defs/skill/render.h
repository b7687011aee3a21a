/* SPDX-License-Identifier: MIT
 * render.h - from a skill and its arguments to the text that a model reads (docs/internals/skill.md).
 *
 *     START -> COMMANDS (one after the other) -> FILES (the same) -> DONE
 *                  |  one failed or was not allowed
 *                  +--> DONE with the reason
 *
 * Commands and files are calls of the agent's own tools through its own gate: its rules, its hooks, its questions. */
#pragma once
#include "defs/skill/skill.h"
#include "core/tool/tool.h"

struct skill_render;

struct skill_render_spec {
	struct skill *skill;  /* keeps a reference */
	struct str arguments; /* copied */
	struct tool_env *env; /* borrowed until done, as the gate and the texts below */
	struct tool_gate *gate;
	const struct tool *shell, *reader; /* Bash and Read; NULL: the agent does not have it */
	const char *session_id, *effort, *project_dir;
	bool no_commands; /* disableSkillShellExecution */
};

/* Borrowed until return */
struct skill_text {
	struct str text;
	struct str failure; /* n > 0: there is no text, and this is why */
};
typedef void skill_render_fn(void *data, const struct skill_text *result);

/* Leads to done exactly once, from the loop; the render is gone then. */
struct skill_render *skill_render_start(const struct skill_render_spec *spec, skill_render_fn *done, void *data);
void skill_render_cancel(struct skill_render *r); /* a request: done still comes */
/* The call that it waits for; NULL: none. */
struct tool_call *skill_render_call(const struct skill_render *r);
