/* SPDX-License-Identifier: MIT
 * hidden.h - files that a search must not show, though it may look at the directories around them: some deny rule forbids
 * to read them. A snapshot: it is made and freed on the loop and asked on any thread, while rules may be added. */
#pragma once
#include "guard/permission/permission.h"

struct hidden_files;

/* What is hidden below root (absolute) from the agent whose env this is. Returns owned; NULL: nothing is. */
struct hidden_files *hidden_files_find(const struct tool_env *env, const char *root);
void hidden_files_free(struct hidden_files *h);
/* path begins with root. Of a directory that is hidden all below it is, too. h may be NULL. */
bool hidden_files_has(const struct hidden_files *h, const char *path);
