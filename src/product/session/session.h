/* SPDX-License-Identifier: MIT
 * session.h - one conversation: the agents of a session, its turn, and what it borrows (services.h). */
#pragma once
#include "core/message/event.h"
#include "core/store/load.h"
#include "guard/hook/hook.h"
#include "defs/policy/services.h"
#include "agents/subagent/subagent.h"
#include "product/session/classifier.h"
#include "tools/tools.h"

struct config_change;
struct elicitation;
struct expansion;
struct file_watch;
struct mentions;
struct output_style;
struct schema;
struct server_approval;

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
	struct services *services;
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
	struct agent_tree tree;          /* its agents; the main one is tree.main */
	bool agent_recorded;             /* which agent it runs as (main_agent.h) is in its file */
	bool preloaded, preload_stopped; /* skills of that agent: they were begun; they were cut short */
	void (*after_preload)(struct cadre_session *s, bool cancelled);
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

struct cadre_session *session_by_id(struct services *sv, const char *id);          /* NULL: there is none */
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

void app_use_policy(struct services *sv, struct policy *changed); /* takes it: it holds for all sessions from now on */

void app_check_backlog(struct services *sv); /* pauses or resumes all sessions */

struct json_out;
void session_put_commands(struct json_out *w, const struct cadre_session *s); /* an array: what a user calls by /name */
void session_put_model_usage(struct json_out *w,
			     const struct cadre_session *s); /* an object: a member for each model */

/* As the options of sv say. on_event may be NULL. */
int session_open(struct services *sv, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
		 struct err *err);
event_fn session_emit;                                                 /* data is the session */
void session_note(struct cadre_session *s, const struct event *event); /* to observers only, not to the host */

/* hook_engine.c: the one of a runtime */
int app_open_hooks(struct services *sv, struct err *err);
void app_close_hooks(struct services *sv);

/* How the last turn ended (turn_result.c) */
struct str turn_text(const struct cadre_session *s, struct buf *scratch);
const char *turn_subtype(const struct cadre_session *s);
bool turn_is_error(const struct cadre_session *s);
