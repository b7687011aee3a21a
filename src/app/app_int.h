/* SPDX-License-Identifier: MIT
 * app_int.h - the two objects behind the handles of cadre.h, and what the files of this room ask of each other. */
#pragma once
#include <cadre.h>
#include "app/classifier.h"
#include "app/options.h"
#include "app/policy.h"
#include "hook/hook.h"
#include "io/spawn.h"
#include "io/writer.h"
#include "mcp/transport.h"
#include "message/event.h"
#include "model/endpoints.h"
#include "query/query.h"
#include "session/load.h"
#include "session/lock.h"
#include "session/store.h"
#include "subagent/subagent.h"
#include "tools/tools.h"

struct config_change;
struct control;
struct expansion;
struct elicitation;
struct mcp_config;
struct mcp_pool;
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
	void (*on_idle)(struct cadre *c);  /* a session has nothing to do any more; set by wires, NULL: there are none */
	struct worktree_pool *worktrees;
	unsigned draining; /* worktrees and hooks that are being ended */
	struct lock_table locks;
	struct cadre_session *sessions; /* list by next */
	size_t session_count;
	struct watch *watches;
	struct trace *trace; /* NULL: none is written */
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
	struct segment **blocks; /* that the model gets in place of the prompt's text; owned; NULL: the text */
	size_t block_count;
	char uuid[UUID_LEN + 1];      /* that the prompt's line is to have; "": any */
	struct buf opening;           /* what a SessionStart hook says before the prompt; empty: nothing */
	struct said said;             /* what the user said so far */
	struct buf context;           /* what hooks have to tell the model */
	struct hook_firing *firing;   /* hooks that the session waits for */
	struct expansion *expansion;  /* of a prompt that names a skill (skills.h); NULL: none */
	unsigned stop_blocks;         /* how often a stop hook wanted more */
	struct config_change *change; /* settings that hooks look at; NULL: none */
	bool start_told, end_told;    /* SessionStart and SessionEnd */
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
	unsigned policy_told;   /* generation of the policy whose notes were told, + 1 */
	struct timer wait;      /* for children after the last turn */
	struct timer told_wait; /* for hooks that nobody waits for, when nothing else is left */
	struct turn turn;
	struct agent_tree tree;  /* its agents; the main one is tree.main */
	size_t own_tools;        /* of the main agent: the first of its tools; those of servers follow */
	const char **roots;      /* "file://..." of its directories, NULL-terminated */
	void (*after_servers)(struct cadre_session *s, bool cancelled); /* it waits for its servers; NULL: it does not */
	struct elicitation *elicitations;                               /* that servers wait for an answer to */
	const char *project_dir; /* <config>/projects/<key> */
	const char *rules_file;  /* where rules of the user go; found when first asked for */
	struct control *control; /* since its first child; NULL: nobody can ask about them */
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

/* cadre.c */
int app_status(int status, const struct err *err, char *why, size_t why_size); /* err into why; returns status */
void app_busy(struct cadre *c, int change);                                    /* cadre_run() returns when it is 0 */

/* output.c */
void app_check_backlog(struct cadre *c); /* pauses or resumes all sessions */

/* watch.c */
void watch_end_all(struct cadre *c);

/* endpoint.c */
int session_choose_model(struct cadre_session *s, struct err *err); /* provider, model and endpoint of the main agent */
/* name: NULL for that of the options, the environment or the settings. On failure nothing has changed. */
int session_set_model(struct cadre_session *s, const char *name, struct err *err);
void app_adjust_governor(struct cadre *c);

/* context.c */
void context_system_prompt(struct buf *out, const struct options *o);

/* hooks.c */
struct cadre_session *app_session(struct cadre *c, const char *id); /* NULL: there is none */
int app_open_hooks(struct cadre *c, struct err *err);
void app_close_hooks(struct cadre *c);

/* tree.c */
void session_use_policy(struct cadre_session *s); /* what the settings say now */
int session_open_tree(struct cadre_session *s, const char *project_dir, struct err *err); /* all but the main agent */
void session_leave_places(struct cadre_session *s); /* directories that are not needed any more */

/* emit.c */
event_fn session_emit;                   /* data is the session */
void frame_write(struct cadre_event *e); /* frame.c */

/* turn.c */
struct str turn_text(const struct cadre_session *s, struct buf *scratch);
const char *turn_subtype(const struct cadre_session *s);
bool turn_is_error(const struct cadre_session *s);

/* session.c */
void session_free(struct cadre_session *s);
void session_renew_head(struct cadre_session *s); /* model, tools or thinking have changed: from the next request on */
/* session_turn.c */
/* A prompt: its text, which hooks see and commands are found in; the blocks that the model gets, if it is more than text; and
 * the id of its line, if the host has given it one. */
struct session_prompt {
	struct str text; /* p == NULL: an interrupted turn goes on */
	struct segment **blocks;
	size_t block_count;
	const char *uuid;
};
int session_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err); /* keeps references */
int session_commit(struct cadre_session *s, struct err *err); /* the prompt, as it is now, on disk */
void session_hear(struct cadre_session *s, const struct hook_outcome *outcome); /* s->turn.firing is over */
void session_turn_init(struct cadre_session *s);
void session_turn_attach(struct cadre_session *s); /* the tree is open */
void session_turn_release(struct cadre_session *s);
void session_settle(struct cadre_session *s); /* something ended: goes on, waits, or is freed */

/* session_hooks.c: true if hooks look at it: s->turn.firing, and done comes */
bool session_tell_start(struct cadre_session *s, hook_done_fn *done);
bool session_tell_prompt(struct cadre_session *s, hook_done_fn *done);
bool session_tell_stop(struct cadre_session *s, hook_done_fn *done); /* a failure is told without waiting */
bool session_tell_end(struct cadre_session *s, hook_done_fn *done);
/* session_config.c. True: hooks look at what has changed, and then comes. A file that cannot be read any more is said and
 * leaves the settings as they were. */
bool session_look_at_settings(struct cadre_session *s, void (*then)(struct cadre_session *s, bool cancelled));
void session_tell_policy(struct cadre_session *s); /* notes about settings, once for each change */
void session_config_release(struct cadre_session *s);

/* commands.c */
struct json_out;
void session_put_commands(struct json_out *w, const struct cadre_session *s); /* "commands": what a user can call by /name */

/* resume.c */
int session_find(struct cadre_session *s, const struct options *o, const char *project_dir, struct err *err);
void session_find_children(struct cadre_session *s); /* those of an earlier process become known */
int session_take_load(struct cadre_session *s, bool run,
		      struct err *err); /* the interrupted turn becomes the query's */
