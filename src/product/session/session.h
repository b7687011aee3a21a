/* SPDX-License-Identifier: MIT
 * session.h - one conversation: the agents of a session, its turn, and what it borrows (defs/policy/services.h). */
#pragma once
#include "core/message/event.h"
#include "core/store/load.h"
#include "guard/hook/hook.h"
#include "defs/policy/services.h"
#include "agents/subagent/subagent.h"
#include "product/session/turn.h"
#include "tools/tools.h"
#include "lib/json/json.h"

struct elicitation;
struct file_watch;
struct schema;
struct server_approval;

struct cadre_session {
	struct services *services;
	struct cadre_session *next, **prev; /* in services->sessions */
	cadre_event_fn *on_event;
	void *data;
	struct arena arena; /* texts that live as long as the session */
	char id[UUID_LEN + 1];
	struct kick kick;            /* its one step (turn.c) */
	bool lead_resumes;           /* a member in a pane: its earlier turns are resumed */
	bool closing, closing_begun; /* it is freed when nothing of it runs */
	bool counted;                /* among what keeps cadre_run() going */
	bool gave_up;                /* waiting for children in the background took too long */
	bool servers_awaited;        /* before its first turn */
	const char *locked_in;       /* directory of its lock; NULL: not locked */
	uint64_t seq;
	unsigned results;                /* turns that have ended */
	const struct buf *prompt_origin; /* JSON of the prompt's sender, for the result; NULL or empty: unknown */
	const unsigned *queued;          /* messages of the host that wait for a turn; NULL: it has no queue */
	unsigned policy_reported;        /* generation of the policy whose notes were emitted, + 1 */
	uint64_t policy_notes;           /* a hash of these */
	struct timer children_wait;      /* after the last turn */
	struct timer async_hooks_wait;   /* when nothing else is left */
	struct turn turn;
	struct agent_tree tree;                /* its agents; the main one is tree.main */
	bool agent_recorded;                   /* which agent it runs as is in its file */
	bool mode_recorded;                    /* that it coordinates is in its file */
	bool preloaded;                        /* the skills of that agent */
	bool agent_reported;                   /* the notes of its start were emitted */
	const char *name;                      /* the option; NULL: none */
	bool name_kept;                        /* it is on disk */
	bool context_lacks;                    /* a part of the context before the first prompt could not be written */
	const char *style_name;                /* of the main agent (styles.c), whether it exists or not */
	struct schema *schema;                 /* that its answers have to fit (answer.c); owned; NULL: none */
	struct file_watch *files;              /* that hooks watch; NULL: none */
	struct elicitation *elicitations;      /* that servers wait for an answer to */
	struct server_call *server_calls;      /* of servers' tools, that no model made (server_pool.h) */
	struct file_search *file_searches;     /* list by next */
	struct server_approval *approval;      /* of servers that its project brings; NULL: nothing is asked */
	const char *start_source, *end_reason; /* of its hooks; NULL: the usual ones */
	bool host_elicits;       /* its host answers them, even if another client decides on permissions */
	const char *project_dir; /* <config>/projects/<key> */
	const char *rules_file;  /* where rules of the user go; found when first asked for */
	struct buf answer;       /* of the latest cadre_request() */
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
/* A prompt: its text, which hooks see and commands are found in; the blocks that the model gets, if it is more than text; and
 * the id of its line, if the host has given it one. */
struct session_prompt {
	struct str text; /* p == NULL: an interrupted turn continues */
	struct segment **blocks;
	size_t block_count;
	const char *uuid;
	bool verbatim; /* its text names no commands, skills and files */
};
/* Keeps references. A failure is an error of this call only before the turn was announced; then no turn was there. */
int session_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err);
/* More settings in the layer of --settings, from the next call and request on. more: an object; null takes a key out. On
 * failure the old ones hold. */
int session_apply_settings(struct cadre_session *s, const struct json *more, struct err *err);

/* Changes a settings file, at once or later; then a failure becomes an error event of the session. */
struct settings_change;
int session_store_setting(struct cadre_session *s, const struct settings_change *c, struct err *err);

void session_use_env(
	struct services *sv); /* policy_renew_env() has made another environment for programs of all agents */
/* Takes changed: it holds from now on for all sessions with that policy. */
void policy_apply(struct services *sv, struct policy *p, struct policy *changed);

void services_check_backlog(struct services *sv); /* pauses or resumes all sessions */

void session_put_commands(struct json_out *w, const struct cadre_session *s); /* an array: what a user calls by /name */
void session_put_model_usage(struct json_out *w,
			     const struct cadre_session *s); /* an object: a member for each model */

/* As the options of sv say. on_event may be NULL. */
int session_open(struct services *sv, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
		 struct err *err);
event_fn session_emit; /* data is the session */
void session_emit_error(struct cadre_session *s, const char *format, ...) printf_like(2, 3);
static inline void session_note(struct cadre_session *s,
				const struct event *event) /* to observers only, not to the host */
{
	for (struct observer *o = s->services->observers; o; o = o->next)
		if (o->on_event)
			o->on_event(o, s, event);
}

/* hook_engine.c: the one of a runtime */
void services_open_hooks(struct services *sv);
void services_close_hooks(struct services *sv);
static inline void services_drained(void *data) /* a drain that sv->draining counts is over */
{
	struct services *sv = data;

	sv->draining--;
	loop_stop(sv->loop);
}

/* Where the skills of these options are; all texts are in the arena. */
int services_skill_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err);
/* sv->skills, made with the first session; it stays NULL if there are to be none. */
int services_open_skills(struct services *sv, struct err *err);

/* Texts that the build puts into the program. */

extern const char agent_template_text[]; /* agent_template.md */
extern const char style_explanatory_text[], style_learning_text[], style_proactive_text[];

/* Output styles: how the main agent talks. The setting outputStyle names one: built in, or a Markdown file in
 * output-styles/ of the managed directory, of .claude in cwd and the directories above it up to the repository's root, of the
 * user's configuration, or of a plugin (then called plugin:name). The first of these places that has the name counts. */

/* Sets s->style_name and tree.style. An unknown name is noted, and the default style is used. */
void session_find_style(struct cadre_session *s);
/* Files of the working directory, for suggestions: relative, each with its NUL; at most so many, and as far as they are found in a few
 * seconds. done comes from the loop, exactly once, also when the session is closed meanwhile. */
typedef void file_names_fn(void *data, struct str names);
void session_find_files(struct cadre_session *s, file_names_fn *done, void *data);
bool session_has_style(const struct cadre_session *s, struct str name); /* also "default" */
/* "output_style" and "available_output_styles" */
void session_put_styles(struct json_out *w, const struct cadre_session *s);

/* Changes of permissions that a hook or a host sends along with its yes:
 *
 *   {"type": "addRules"|"replaceRules"|"removeRules", "rules": [{"toolName", "ruleContent"?}], "behavior", "destination"}
 *   {"type": "setMode", "mode", "destination"}
 *   {"type": "addDirectories"|"removeDirectories", "directories": [...], "destination"}
 *
 * The destination is session (cliArg is the same), or the settings file of user, project or local. What goes into a file
 * holds for the session at once; what is taken out of one, from the next turn on. */

/* Another model from the next request on; wish NULL or "default": that of the start. source, for hooks: who wishes it. Returns 0, an error, or
 * MODEL_SWITCH_ASKED: PreModelSwitch hooks look at it, then done comes, once. err NULL: the model is set; ERR_CANCELLED: the session
 * ends, and may be gone. */
enum { MODEL_SWITCH_ASKED = 1 };
typedef void model_switch_fn(void *data, const struct err *err);
int session_switch_model(struct cadre_session *s, const char *wish, const char *source, model_switch_fn *done,
			 void *data, struct err *err);

void session_add_directory(struct cadre_session *s, const char *dir); /* absolute; copied; for the session alone */
int session_update_permission(struct cadre_session *s, const struct json *update, struct err *err);
/* updates: an array. An update that fails is reported to the user; the others are made. */
void session_update_permissions(struct agent_tree *t, const struct json *updates);

/* An answer in the form that the host wants (option json-schema): the main agent gets a tool StructuredOutput whose
 * input is the answer. See docs/internals/structured.md. */
struct schema {
	struct tool tool;  /* its ctx is the session */
	struct buf output; /* of this turn: the last one that fits; empty: none yet */
	unsigned tries;    /* of this turn that led to nothing */
};

/* Reads the option, if it is given: s->schema, and its tool for the main agent, which no definition has to name. ERR_USAGE: not a
 * schema. */
int session_open_schema(struct cadre_session *s, struct err *err);

void structured_output_on_event(struct cadre_session *s, const struct event *event); /* every event of the session */
/* The turn would end. True: the model was asked once more, and the turn continues. */
bool structured_output_retry(struct cadre_session *s);
struct str schema_output(const struct cadre_session *s); /* JSON; empty: there is none */
