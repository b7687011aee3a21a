/* SPDX-License-Identifier: MIT
 * sources.h - from the options of a runtime to the files that count: settings, agents, state. */
#pragma once
#include "config/settings/settings.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/services.h"

/* All texts are in the arena. */
int app_settings_spec(struct services *sv, struct arena *a, struct settings_spec *ret_spec, struct err *err);
int app_settings(struct services *sv, struct settings **ret_settings, struct err *err); /* returns a reference */
typedef void settings_warn_fn(void *data, const char *message);
/* A line each: values that are held, left out or without effect. warn may be NULL. */
void app_warn_settings(const struct settings *s, settings_warn_fn *warn, void *data);
int app_state_file(struct services *sv, struct arena *a, const char **ret_path, struct err *err); /* .claude.json */
int app_agent_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err);
int app_agents(struct services *sv, struct arena *a, struct catalog **ret_registry, struct err *err);
