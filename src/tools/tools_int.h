/* SPDX-License-Identifier: MIT
 * tools_int.h - the definitions that the build makes from the .json files, and the entries of the table. */
#pragma once
#include "core/tool/tool.h"

extern const char tool_agent_json[], tool_ask_user_question_json[], tool_bash_json[], tool_edit_json[],
	tool_enter_plan_mode_json[], tool_exit_plan_mode_json[], tool_glob_json[], tool_grep_json[],
	tool_list_mcp_resources_json[], tool_notebook_edit_json[], tool_read_json[], tool_read_mcp_resource_json[],
	tool_read_mcp_resource_dir_json[], tool_send_message_json[], tool_skill_json[], tool_task_create_json[],
	tool_task_get_json[], tool_task_list_json[], tool_task_output_json[], tool_task_stop_json[],
	tool_task_update_json[], tool_todo_write_json[], tool_tool_search_json[], tool_web_fetch_json[],
	tool_web_search_json[], tool_write_json[];
extern const struct tool tool_agent, tool_ask_user_question, tool_bash, tool_edit, tool_enter_plan_mode,
	tool_exit_plan_mode, tool_glob, tool_grep, tool_list_mcp_resources, tool_notebook_edit, tool_read,
	tool_read_mcp_resource, tool_read_mcp_resource_dir, tool_send_message, tool_skill, tool_task_create,
	tool_task_get, tool_task_list, tool_task_output, tool_task_stop, tool_task_update, tool_todo_write,
	tool_tool_search, tool_web_fetch, tool_web_search, tool_write;
