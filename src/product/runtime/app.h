/* SPDX-License-Identifier: MIT
 * app.h - the objects behind the handles of cadre.h, for this room and for the one above it that speaks with agent SDKs. */
#pragma once
#include <cadre.h>
#include "product/session/classifier.h"
#include "product/runtime/options.h"
#include "defs/policy/policy.h"
#include "guard/hook/hook.h"
#include "lib/io/spawn.h"
#include "lib/io/writer.h"
#include "mcp/transport/transport.h"
#include "core/message/event.h"
#include "core/model/endpoints.h"
#include "agents/query/query.h"
#include "core/store/load.h"
#include "core/store/lock.h"
#include "core/store/store.h"
#include "agents/agent/subagent.h"
#include "tools/tools.h"

struct config_change;
struct control;
struct debug_log;
struct expansion;
struct elicitation;
struct file_watch;
struct main_agent;
struct mcp_config;
struct mentions;
struct output_style;
struct mcp_pool;
struct schema;
struct skill_registry;
struct trace;
struct watch;

struct cadre {
	struct options options;
	struct loop *loop;
	struct endpoints endpoints; /* usual is chosen with the first session */
	struct spawner *spawner;
	struct head_pool heads;
	struct store store;              /* ready once store.config_dir is set */
	struct state *state;             /* opened with the first session */
	struct agent_registry *registry; /* the same */
	struct skill_registry *skills;   /* the same; NULL: there are none */
	struct policy policy;            /* the same */
	struct plugin_list *plugins;     /* the same; reference */
	struct hook_engine *hooks;
	struct http *hook_http;
	struct hook_runner *hook_model, *hook_server;
	struct web *web;               /* made with the first session (tools/web/web.h) */
	struct classifier *classifier; /* made with the first session */
	struct mcp_world server_world;
	struct mcp_pool *server_pool;  /* opened with the first session */
	struct mcp_config *mcp_config; /* the same */
	/* Makes the transport of a server that lives in the host; NULL: there are none. */
	struct mcp_transport *(*host_transport)(struct cadre *c, struct mcp_server *server,
						const struct mcp_transport_handlers *handlers, void *data);
	struct host_server {
		struct host_server *next;
		struct mcp_server *server; /* reference */
	} * host_servers;                  /* that every session joins */
	struct hook_runner *hook_callback; /* hooks that are functions of the host; NULL: none */
	struct cadre_wire *wires;          /* list by next */
	void (*on_idle)(struct cadre *c); /* a session has nothing to do any more; set by wires, NULL: there are none */
	void (*on_servers)(struct cadre *c); /* a server of a session has changed its state; the same */
	bool lends_tools;                    /* sessions have no turns: their main agents need nobody to ask */
	struct worktree_pool *worktrees;
	unsigned draining; /* worktrees and hooks that are being ended */
	struct lock_table locks;
	struct cadre_session *sessions; /* list by next */
	size_t session_count;
	struct watch *watches;
	struct trace *trace;     /* NULL: none is written */
	struct debug_log *debug; /* NULL: nothing is logged */
	struct cadre_writer *writers;
	unsigned busy; /* turns that run, watches that keep us, sessions that close */
	bool stopped;  /* cadre_stop() was called */
	bool paused;   /* a writer is too far behind */
	size_t descriptor_limit;
	size_t most_children; /* at work at a time, as the settings say */
};

/* The turn that runs, and hooks around it */
struct turn {
	struct buf prompt;       /* until the hooks have let it through */
	size_t initial;          /* bytes at its beginning that are the agent's, not the user's */
	struct segment **blocks; /* that the model gets in place of the prompt's text; owned; NULL: the text */
	size_t block_count;
	char uuid[UUID_LEN + 1];               /* that the prompt's line is to have; "": any */
	struct buf opening;                    /* what a SessionStart hook says before the prompt; empty: nothing */
	struct said said;                      /* what the user said so far */
	struct buf context;                    /* what hooks have to tell the model */
	struct hook_firing *firing;            /* hooks that the session waits for */
	struct mentions *mentions;             /* files that the prompt names (mention.h); NULL: none */
	struct expansion *expansion;           /* of a prompt that names a skill (skills.h); NULL: none */
	unsigned stop_blocks;                  /* how often a stop hook wanted more */
	struct config_change *change;          /* settings that hooks look at; NULL: none */
	bool setup_told, start_told, end_told; /* Setup, SessionStart and SessionEnd */
	bool prepares;                         /* hooks before a first turn are all that is wanted */
	bool suppressed; /* a hook has told the model what it needs: the prompt itself stays out */
};

struct cadre_session {
	struct cadre *cadre;
	struct cadre_session *next;
	cadre_event_fn *on_event;
	void *data;
	struct arena arena; /* texts that live as long as the session */
	char id[UUID_LEN + 1];
	struct session_load *load; /* of a resumed session, until its first turn; owned */
	bool running, closing;     /* a turn of the main agent runs; it is freed when nothing does */
	bool counted;              /* among what keeps cadre_run() going */
	bool notified;             /* the turn was started by a notification, not by a prompt */
	bool gave_up;              /* waiting for children in the background took too long */
	bool servers_awaited;      /* before its first turn */
	const char *locked_in;     /* directory of its lock; NULL: not locked */
	const char *origin_id;     /* forked from this session; NULL: not a fork */
	char origin_uuid[UUID_LEN + 1];
	bool origin_recorded;
	uint64_t seq;
	unsigned results;       /* turns that have ended */
	const unsigned *queued; /* messages of the host that wait for a turn; NULL: it has no queue */
	unsigned policy_told;   /* generation of the policy whose notes were told, + 1 */
	struct timer wait;      /* for children after the last turn */
	struct timer told_wait; /* for hooks that nobody waits for, when nothing else is left */
	struct turn turn;
	struct agent_tree tree;           /* its agents; the main one is tree.main */
	struct main_agent *agent;         /* that the session runs as (main_agent.h); owned; NULL: the usual one */
	struct buf agent_notes;           /* about it, for the user, a line each */
	bool agent_told;                  /* what is known about it at the start was said */
	size_t own_tools;                 /* of its pool: the first ones; those of servers follow */
	const char *effort;               /* that the settings said at the start; NULL: nothing */
	bool name_kept;                   /* the option name is on disk */
	const struct output_style *style; /* of the main agent (styles.h); NULL: the usual one */
	struct schema *schema;            /* that its answers have to fit (schema.h); owned; NULL: none */
	const char **roots;               /* "file://..." of its directories, NULL-terminated */
	void (*after_servers)(struct cadre_session *s,
			      bool cancelled); /* it waits for its servers; NULL: it does not */
	struct file_watch *files;              /* that hooks want to hear of; NULL: none */
	struct elicitation *elicitations;      /* that servers wait for an answer to */
	struct server_approval *approval;      /* of servers that its project brings; NULL: nothing is asked */
	bool host_elicits;                     /* its host answers them, whoever is asked for permission */
	const char *project_dir;               /* <config>/projects/<key> */
	const char *rules_file;                /* where rules of the user go; found when first asked for */
	struct control *control;               /* since its first child; NULL: nobody can ask about them */
};

struct cadre_event {
	const struct event *event;
	struct cadre_session *session; /* borrowed */
	uint64_t seq;
	int64_t time_ms;
	char uuid[UUID_LEN + 1];
	/* built when asked for */
	struct buf text, frame;
	struct arena arena;
	struct json_reader reader;
	const struct json *questions; /* of the reader */
};

struct cadre_session *app_session(struct cadre *c, const char *id); /* NULL: there is none */
void app_busy(struct cadre *c, int change);                         /* cadre_run() returns when it is 0 */
int session_set_title(struct cadre_session *s, struct str title, struct err *err); /* on disk */
void session_renew_head(struct cadre_session *s); /* model, tools or thinking have changed: from the next request on */
/* A prompt: its text, which hooks see and commands are found in; the blocks that the model gets, if it is more than text; and
 * the id of its line, if the host has given it one. */
struct session_prompt {
	struct str text; /* p == NULL: an interrupted turn goes on */
	struct segment **blocks;
	size_t block_count;
	const char *uuid;
};
int session_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err); /* keeps references */
/* More settings in the layer of --settings, from the next call and request on. more: an object; null takes a key out. On
 * failure the old ones hold. */
struct json;
int session_apply_settings(struct cadre_session *s, const struct json *more, struct err *err);

void app_use_policy(struct cadre *c, struct policy *changed); /* takes it: it holds for all sessions from now on */

void app_check_backlog(struct cadre *c); /* pauses or resumes all sessions */

struct json_out;
void session_put_commands(struct json_out *w, const struct cadre_session *s); /* an array: what a user calls by /name */
void session_put_model_usage(struct json_out *w,
			     const struct cadre_session *s); /* an object: a member for each model */
