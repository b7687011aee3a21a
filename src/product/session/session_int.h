/* SPDX-License-Identifier: MIT
 * session_int.h - what the files of this room ask of each other. */
#pragma once
#include "product/session/session.h"

/* emit.c */
void session_watch_states(struct cadre_session *s); /* before its agents are open */

/* endpoint.c */
int session_choose_model(struct cadre_session *s, struct err *err); /* provider, model and endpoint of the main agent */
/* name: NULL for that of the options, the environment or the settings. On failure nothing has changed. */
int session_set_model(struct cadre_session *s, const char *name, struct err *err);
void app_adjust_governor(struct services *sv);

/* context.c */
void context_system_prompt(struct buf *out, const struct cadre_session *s);

/* tree.c */
void session_use_policy(struct cadre_session *s); /* what the settings say now */
int session_open_tree(struct cadre_session *s, const char *project_dir, struct err *err); /* all but the main agent */
void session_leave_places(struct cadre_session *s); /* directories that are not needed any more */

/* session.c */
void session_free(struct cadre_session *s);
/* session_turn.c */
/* session_prompt.c */
int session_check_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err);
void session_keep_prompt(struct cadre_session *s, const struct session_prompt *p);
void session_drop_prompt(struct cadre_session *s);
bool session_has_prompt(const struct cadre_session *s);
int session_record_origin(struct cadre_session *s, struct err *err); /* of a fork; once */
int session_add_prompt(struct cadre_session *s, struct err *err);
int session_add_reminder(struct cadre_session *s, struct str text, struct err *err);
int session_commit(struct cadre_session *s, struct err *err);                   /* the prompt, as it is now, on disk */
void session_hear(struct cadre_session *s, const struct hook_outcome *outcome); /* s->turn.firing is over */
void session_end_turn(struct cadre_session *s);                                 /* tells its result */
void session_turn_attach(struct cadre_session *s);                              /* the tree is open */
void session_turn_release(struct cadre_session *s);

/* session_settle.c */
void session_settle_init(struct cadre_session *s);
void session_settle_release(struct cadre_session *s);
void session_settle(struct cadre_session *s); /* something ended: goes on, waits, or is freed */

/* session_hooks.c: true if hooks look at it: s->turn.firing, and done comes */
bool session_tell_setup(struct cadre_session *s, hook_done_fn *done); /* once, if it is asked for */
bool session_tell_start(struct cadre_session *s, hook_done_fn *done);
bool session_tell_prompt(struct cadre_session *s, hook_done_fn *done);
bool session_tell_stop(struct cadre_session *s, hook_done_fn *done); /* a failure is told without waiting */
bool session_tell_end(struct cadre_session *s, hook_done_fn *done);
/* session_config.c. True: hooks look at what has changed, and then comes. A file that cannot be read any more is said and
 * leaves the settings as they were. */
bool session_look_at_settings(struct cadre_session *s, void (*then)(struct cadre_session *s, bool cancelled));
void session_tell_policy(struct cadre_session *s); /* notes about settings, once for each change */
void session_config_release(struct cadre_session *s);

/* file_watch.c */
void session_watch_files(struct cadre_session *s); /* as the hooks are now; while a turn runs */
void session_watch_more(struct cadre_session *s, const struct hook_outcome *outcome); /* watchPaths */
void session_unwatch_files(struct cadre_session *s);

/* commands.c: what a session itself understands by /name; NULL behind the last one */
struct builtin_command {
	const char *name, *description, *hint;
};
const struct builtin_command *session_builtin(const struct cadre_session *s, size_t i);

/* title.c */
void session_obey_title(struct cadre_session *s,
			const struct hook_outcome *outcome);     /* of a hook that names the session */
int session_keep_name(struct cadre_session *s, struct err *err); /* once, if it has one */

/* dropped_turn.c */
int session_check_dropped(const char *path, const struct options *o, struct err *err);

/* resume.c */
int session_find(struct cadre_session *s, const struct options *o, const char *project_dir, struct err *err);
void session_find_children(struct cadre_session *s); /* those of an earlier process become known */
int session_take_load(struct cadre_session *s, bool run,
		      struct err *err); /* the interrupted turn becomes the query's */
