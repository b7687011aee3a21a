/* SPDX-License-Identifier: MIT
 * check.h - what `cadre agents check` says about one file. */
#pragma once
#include "defs/agentdef/definition.h"
#include "lib/json/json_write.h"

/* One object: file, loaded, is_agent, name, description, model, tools (null: absent, []: none), disallowedTools,
 * body_sha256, diagnostics[{level, line, message}]. */
void agent_check_json(struct json_out *w, const struct agent_definition *d);
