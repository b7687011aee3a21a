/* SPDX-License-Identifier: MIT
 * tool_table.c - the built-in tools, sorted by name. */
#include "tools/tools.h"
#include "tools/tools_int.h"

const struct tool *const tool_table[] = {
	&tool_agent,
	&tool_ask_user_question,
	&tool_bash,
	&tool_edit,
	&tool_enter_plan_mode,
	&tool_exit_plan_mode,
	&tool_glob,
	&tool_grep,
	&tool_list_mcp_resources,
	&tool_notebook_edit,
	&tool_read,
	&tool_read_mcp_resource_dir,
	&tool_read_mcp_resource,
	&tool_send_message,
	&tool_skill,
	&tool_task_create,
	&tool_task_get,
	&tool_task_list,
	&tool_task_output,
	&tool_task_stop,
	&tool_task_update,
	&tool_todo_write,
	&tool_tool_search,
	&tool_web_fetch,
	&tool_web_search,
	&tool_write,
	NULL,
};
