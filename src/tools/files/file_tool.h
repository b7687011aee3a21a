/* SPDX-License-Identifier: MIT
 * file_tool.h - what tools with a path among their parameters share. */
#pragma once
#include "core/tool/tool.h"
#include "tools/files/text_file.h"

/* A parameter that is a path, made absolute from the agent's directory. NULL: the call has been rejected. */
char *file_tool_path(struct tool_call *call, const char *parameter);
/* The one file that a call is about: its path for people and for the agent's memory of files, its target to open. Both are
 * what the gate has checked, even if links and directories have changed since. False: the call has been answered. */
bool file_tool_find(struct tool_call *call, const char *parameter, char **ret_path, const char **ret_target);
/* text_file_save() for a tool, after env->before_change. */
int file_tool_save(struct tool_call *call, const char *target, const struct text_file *file, struct str text,
		   struct file_stamp *ret_stamp, struct err *err);
/* How often needle (not empty) occurs in text, without overlaps; LF matches CRLF too. */
size_t text_count(struct str text, struct str needle);
/* False: the file exists and the agent has not read it as it is now; the call has been rejected. */
bool file_tool_check_seen(struct tool_call *call, const char *path, const struct text_file *file);
void file_tool_missing(struct tool_call *call, bool reject); /* ends the call: there is no such file */
