/* SPDX-License-Identifier: MIT
 * options.h - what a host may set; the table in options.c is the list that cadre.h documents. */
#pragma once
#include "lib/base/arena.h"
#include "guard/permission/permission.h"
#include "defs/plugin/list.h"

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
	const char *resume; /* id, beginning of one, or title */
	const char *session_id;
	const char *name;      /* of the session, for people; NULL: none */
	const char *resume_at; /* uuid of the last line that counts; NULL: all do */
	bool no_slash_commands;
	const char *skills; /* comma list: those that the main agent may use; NULL: all */
	bool continue_newest, fork_session, no_persistence, partial_messages, hook_events, interactive;
	bool no_keeper, no_subreaper, raise_descriptors; /* what is done to the process of the host */
	const char **add_dirs;
	struct plugin_given *plugin_dirs; /* as written */
	size_t add_dir_count, plugin_dir_count;
	const char **mcp_configs; /* JSON, or files */
	size_t mcp_config_count;
	bool strict_mcp_config;     /* servers of no other place */
	bool trust_project;         /* the folder is trusted for this run */
	bool allow_unknown_price;   /* with max_budget_usd: such models count as free */
	bool allow_cut_prompt;      /* an answer to a prompt that the server has cut counts */
	const char *agent;          /* that the session runs as; NULL: by the settings */
	const char *agents;         /* JSON, or a file; NULL: none */
	const char *settings;       /* a file, or a JSON object */
	const char *fallback_model; /* comma list; NULL: none */
	const char *json_schema;    /* the same; NULL: an answer is any text */
	bool some_sources;          /* setting_sources was given; otherwise all count */
	unsigned setting_sources;
	int64_t max_turns, retry_deadline_s;
	const char *effort;           /* low .. max; NULL: the model's own */
	const char *thinking_display; /* summarized or omitted; NULL: the model's own way */
	const char *thinking;         /* adaptive, disabled or a number of tokens; NULL: the model's own */
	const char *managed_settings; /* JSON of the parent process, where there are no managed settings */
	const char *config_root;      /* checkout whose project files count in place of those of cwd; NULL: cwd */
	const char *resume_drops;     /* uuid of the one prompt behind resume_at; NULL: any */
	const char *channels;         /* servers that may push messages: there are none of this kind */
	bool background_agents;       /* no call waits for an agent */
	bool await_initialize, managed_in_initialize, session_mirror;
	const char *initialize_fields;      /* comma list: what initialize must have; NULL: nothing */
	const char *setup;                  /* "init" or "maintenance": Setup hooks come first; NULL: they do not */
	const char *hooks;                  /* JSON of the host's own hooks, with hookCallbackIds; NULL: none */
	const char *permission_prompt_tool; /* "stdio", or an MCP tool; NULL: there are no questions */
	bool replay_user_messages, may_bypass;
	bool single_prompt;     /* no further prompt follows: hooks that would wake an idle session are waited for */
	bool no_answers;        /* questions are not asked */
	bool coordinator;       /* the main agent only directs workers */
	bool one_run;           /* the program ends when all is quiet: a team ends with it */
	const char *trace;      /* file; NULL: none is written */
	int64_t task_budget;    /* tokens; 0: none */
	const char *betas;      /* comma list; besides those of the environment */
	const char *debug;      /* subjects to log, comma list; "": all; NULL: none, unless there is a file */
	const char *debug_file; /* NULL: standard error */
	/* Of a member in a pane, as its lead starts it; agent_id NULL: it is none */
	const char *agent_id, *agent_name, *team_name, *agent_color, *agent_type, *parent_session_id, *lead_process;
	bool plan_mode_required;
	const char *teammate_mode;        /* where members of a team live; NULL: by the settings */
	const char *setting_sources_text; /* as given; NULL: not given */
	const char *provider, *scenario, *base_url, *api_key, *auth_token;
	const char *cwd, *config_dir, *managed_dir, *entrypoint;
};

/* The working directory and <config>, from options and environment; in the arena. */
int options_directories(const struct options *o, struct arena *a, const char **ret_cwd, const char **ret_config,
			struct err *err);
/* Whether questions are answered: by a person, the host, or a tool. */
static inline bool options_can_ask(const struct options *o)
{
	return (o->interactive || o->permission_prompt_tool) && !o->no_answers;
}
int options_set(struct options *o, const char *name, const char *value, struct err *err);
