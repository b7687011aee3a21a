/* SPDX-License-Identifier: MIT
 * template.h - placeholders in the texts of handlers. Each kind has its own syntax; unknown placeholders stay as they are,
 * and an inserted text is never expanded again. */
#pragma once
#include "lib/base/buf.h"
#include "guard/hook/set.h"

/* Arguments of the exec form: ${CLAUDE_PROJECT_DIR}, ${CLAUDE_PLUGIN_ROOT}, ${CLAUDE_PLUGIN_DATA}, ${user_config.KEY}. */
void template_add_argument(struct buf *out, const char *text, const struct hook_origin *origin,
			   const char *project_dir);
/* Prompts: $ARGUMENTS is the event's JSON, \$ is a dollar; without $ARGUMENTS it comes after the text. */
void template_add_prompt(struct buf *out, const char *text, struct str input);
/* Headers: $NAME and ${NAME} for the names of the list; others become nothing. Line ends are left out. */
void template_add_header(struct buf *out, const char *text, const char *const *names, const char *const *envp);
/* Inputs of MCP tools: ${tool_input.file_path} in strings is a value of the event's JSON. */
void template_add_json(struct buf *out, struct str input_json, struct str event_json);
