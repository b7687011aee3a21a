/* SPDX-License-Identifier: MIT
 * todos.c - who is offered a task list. */
#include "product/session/todos.h"
#include "config/settings/env_switch.h"

/* Beginnings of the names of models that keep track of their work by themselves */
static const char *const planners[] = {
	"claude-opus-4-8", "claude-opus-4-9", "claude-opus-5", "claude-sonnet-5", "claude-fable", "claude-mythos",
};

static bool plans_alone(const char *model)
{
	for (size_t i = 0; i < COUNT_OF(planners); i++)
		if (str_starts(str_from(model), str_from(planners[i])))
			return true;
	return false;
}

static bool is_named(const char *rules, const char *tool)
{
	struct str rest = rules ? str_from(rules) : (struct str){ 0 };

	while (rest.p)
		if (str_is(str_trim(str_cut(&rest, ',')), tool))
			return true;
	return false;
}

bool session_offers_list(const struct cadre_session *s, const struct tool *tool)
{
	const char *tasks = getenv("CLAUDE_CODE_ENABLE_TASKS");
	bool by_tasks = !tasks || !tasks[0] || env_is_on("CLAUDE_CODE_ENABLE_TASKS");

	if (!s->tree.session_dir)
		return false; /* lists are files of a session */
	if (is_named(s->services->options.allowed_tools, tool->name))
		return true;
	if (by_tasks != ((tool->flags & TOOL_TASK_LIST) != 0))
		return false;
	return env_is_on("CLAUDE_CODE_ENABLE_TODO_TOOLS") || !plans_alone(s->tree.main.model);
}
