/* SPDX-License-Identifier: MIT
 * options.h - what a host may set; the table in options.c is the list that cadre.h documents. */
#pragma once
#include "base/arena.h"
#include "permission/permission.h"

struct options {
	struct arena arena; /* holds the texts */
	const char *model, *system_prompt, *append_system_prompt;
	const char *append_subagent_system_prompt;
	bool forward_subagent_text;
	double max_budget_usd;                        /* 0: no limit */
	const char *tools;                            /* comma list; NULL: all */
	const char *allowed_tools, *disallowed_tools; /* rules with commas between */
	enum permission_mode permission_mode;
	bool mode_given;
	const char *resume, *session_id;
	bool continue_newest, fork_session, no_persistence, partial_messages, hook_events, interactive;
	const char **add_dirs, **plugin_dirs;
	size_t add_dir_count, plugin_dir_count;
	const char *agents;   /* JSON, or a file; NULL: none */
	const char *settings; /* a file, or a JSON object */
	bool some_sources;    /* setting_sources was given; otherwise all count */
	unsigned setting_sources;
	int64_t max_turns, retry_deadline_s;
	const char *trace; /* file; NULL: none is written */
	const char *provider, *scenario, *base_url, *api_key, *auth_token;
	const char *cwd, *config_dir, *managed_dir, *entrypoint;
};

/* The working directory and <config>, from options and environment; in the arena. */
int options_directories(const struct options *o, struct arena *a, const char **ret_cwd, const char **ret_config,
			struct err *err);
int options_set(struct options *o, const char *name, const char *value, struct err *err);
void options_release(struct options *o);
