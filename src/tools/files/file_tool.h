/* SPDX-License-Identifier: MIT
 * file_tool.h - what the file tools (Read, Write, Edit) share; only for this room. */
#pragma once
#include "core/tool/tool.h"
#include "tools/files/text_file.h"

/* A parameter that is a path, made absolute from the agent's directory. NULL: the call has been rejected. */
char *file_tool_path(struct tool_call *call, const char *parameter);
/* The one file that a call is about: its path for people and for the agent's memory of files, its target to open. Both are
 * what the gate has judged, whatever became of links and directories since. False: the call has been answered. */
bool file_tool_find(struct tool_call *call, const char *parameter, char **ret_path, const char **ret_target);
/* text_file_save() for a tool: what is there now is kept before, where that is wanted. */
int file_tool_save(struct tool_call *call, const char *target, const struct text_file *file, struct str text,
		   struct file_stamp *ret_stamp, struct err *err);
/* How often needle (not empty) occurs in text, without overlaps; LF matches CRLF too. */
size_t text_count(struct str text, struct str needle);
void file_tool_missing(struct tool_call *call, bool reject); /* ends the call: there is no such file */
