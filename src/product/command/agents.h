/* SPDX-License-Identifier: MIT
 * agents.h - from the options of a runtime to its agents, for the files of this room. */
#pragma once
#include "defs/agentdef/registry.h"
#include "product/runtime/app_int.h"
#include "product/command/report.h"
#include "lib/json/json_write.h"

/* All texts are in the arena. */
int app_agent_sources(struct cadre *c, struct arena *a, struct agent_sources *ret_sources, struct err *err);
int app_agents(struct cadre *c, struct arena *a, struct agent_registry **ret_registry, struct err *err);
void app_put_line(struct json_out *w, unsigned line); /* "line": null if 0 */
void app_report_diagnostics(struct cadre_report *r, const struct agent_definition *d);
/* Ends a function of the API: the report is handed out, or freed with the error in why. */
int app_give_report(int status, struct cadre_report *report, struct cadre_report **ret_report, const struct err *err,
		    char *why, size_t why_size);
