/* SPDX-License-Identifier: MIT
 * session_int.h - functions that the files of this room share. */
#pragma once
#include "product/session/session.h"

/* session.c */
void session_use_policy(struct cadre_session *s); /* what the settings say now */
void session_free(struct cadre_session *s);

/* session_prompt.c */
int session_check_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err);
void session_keep_prompt(struct cadre_session *s, const struct session_prompt *p);
void session_drop_prompt(struct cadre_session *s);
/* Skills of the definition, before the first prompt of a new session. True: they are being made ready, and turn_work_over()
 * comes. */
bool session_preload(struct cadre_session *s);

void session_report_agent(struct cadre_session *s); /* emits the notes of the agent's start, once */
int session_add_prompt(struct cadre_session *s, struct err *err);
/* The prompt of this turn is "/compact", with or without instructions, which are then in *ret_instructions. */
bool session_asks_compact(const struct cadre_session *s, struct str *ret_instructions);
int session_commit(struct cadre_session *s, struct err *err); /* the prompt, as it is now, on disk */

/* session_hooks.c. True: hooks run; their outcome is recorded in the turn, then turn_work_over() comes. */
bool session_run_setup_hooks(struct cadre_session *s); /* once, if the option setup is given */
bool session_run_start_hooks(struct cadre_session *s); /* once */
bool session_run_prompt_hooks(struct cadre_session *s);
bool session_run_stop_hooks(struct cadre_session *s);   /* those of a failure are not waited for */
bool session_run_member_hooks(struct cadre_session *s); /* of a member in a pane: the next that are to run */
bool session_run_end_hooks(struct cadre_session *s);    /* once */
/* The same for ConfigChange hooks, if settings have changed. A file that cannot be read any more is reported and leaves the
 * settings as they were. */
bool session_look_at_settings(struct cadre_session *s);
void session_drop_change(struct cadre_session *s);
/* s->turn.hook_batch has ended: applies its context, messages, title and watched files. */
void session_apply_hook_outcome(struct cadre_session *s, const struct hook_outcome *outcome);
void session_report_policy(struct cadre_session *s); /* notes about settings, once for each change */

/* session_hooks.c */
void session_watch_files(struct cadre_session *s); /* as the hooks are now; while a turn runs */
void session_watch_more(struct agent_tree *t, const struct hook_outcome *outcome); /* watchPaths */
void session_unwatch_files(struct cadre_session *s);

/* skill_command.c: what a session itself understands by /name; NULL behind the last one */
struct builtin_command {
	const char *name, *description, *hint;
};
const struct builtin_command *session_builtin(const struct cadre_session *s, size_t i);

/* resume.c */
int session_find(struct cadre_session *s, const struct options *o, const char *project_dir, struct err *err);
int session_take_load(struct cadre_session *s, bool run,
		      struct err *err); /* the interrupted turn becomes the query's */

/* mention.c: files that a prompt names as @path or @"path with blanks". The model gets them with the prompt, as Read returns them,
 * a directory as a list of names. A file that the rules forbid to read is not attached; the model gets the reason. */
enum { MOST_MENTIONS = 20 };

/* Reads what the prompt names into s->turn.mentions. True: turn_work_over() comes when all of it was read. */
bool session_read_mentions(struct cadre_session *s);
/* Records what was read, a message for all; only when the query is idle. */
int session_add_mentions(struct cadre_session *s, struct err *err);
void session_stop_mentions(struct cadre_session *s);      /* its calls end soon; also when nothing is read */
void session_drop_mentions(struct cadre_session *s);      /* no call of them may run */
void session_stop_file_searches(struct cadre_session *s); /* they end soon */

/* skill_command.c: "/name arguments" as a prompt.
 *
 *     the prompt -> UserPromptExpansion hooks -> the text is made ready --> EXPANDED: turn.blocks is what the model gets
 *          |               |                          |                +--> ANSWERED: a subagent did it
 *          +---------------+--------------------------+--> REJECTED, BLOCKED, HALTED, CANCELLED: nothing is asked */
bool session_expand(
	struct cadre_session *s); /* true: turn.expansion_end and turn.answer are set, then turn_work_over() comes */
void session_expand_cancel(struct cadre_session *s);  /* also when nothing is expanded */
void session_drop_expansion(struct cadre_session *s); /* it has ended, or there is none */
