/* SPDX-License-Identifier: MIT
 * app_int.h - the two objects behind the handles of cadre.h, and what the files of this room ask of each other. */
#pragma once
#include <cadre.h>
#include "app/options.h"
#include "io/spawn.h"
#include "io/writer.h"
#include "message/event.h"
#include "query/query.h"
#include "session/load.h"
#include "session/lock.h"
#include "session/store.h"
#include "tools/file_state.h"
#include "tools/shell_set.h"
#include "tools/tools.h"

struct watch;

struct cadre {
	struct options options;
	struct loop *loop;
	struct endpoint *endpoint; /* opened with the first session */
	struct spawner *spawner;
	struct head_pool heads;
	struct store store; /* ready once store.config_dir is set */
	struct lock_table locks;
	struct cadre_session *sessions; /* list by next */
	size_t session_count;
	struct watch *watches;
	struct cadre_writer *writers;
	unsigned busy; /* turns that run, watches that keep us, sessions that close */
	bool stopped;  /* cadre_stop() was called */
	bool paused;   /* a writer is too far behind */
	size_t descriptor_limit;
};

/* For the result's permission_denials */
struct denial {
	char *tool, *id;
	struct buf input;
};

struct cadre_session {
	struct cadre *cadre;
	struct cadre_session *next;
	cadre_event_fn *on_event;
	void *data;
	struct arena arena; /* texts that live as long as the session */
	char id[UUID_LEN + 1];
	const char *model, *cwd, *branch;
	char *moved_cwd;           /* where Bash went; owned, NULL: still in cwd */
	struct session_load *load; /* of a resumed session, until its first turn; owned */
	bool running, closing;
	const char *locked_in; /* directory of its lock; NULL: not locked */
	const char *origin_id; /* forked from this session; NULL: not a fork */
	char origin_uuid[UUID_LEN + 1];
	bool origin_recorded;
	uint64_t seq;

	struct tool_set tools;
	struct tool_env env;
	struct file_state files;
	struct tool_gate gate;
	struct permission permission;
	struct denial *denials;
	size_t denial_count;
	struct usage total_usage; /* of all turns of this process */

	struct journal *journal; /* NULL: nothing is kept */
	struct record_context record;
	struct recorder recorder;
	struct query query;
	struct fork_gate *fork_gate; /* of the forks made since the transcript last grew */
	uint32_t forked_at;
};

struct cadre_event {
	const struct event *event;
	struct cadre_session *session; /* borrowed */
	uint64_t seq;
	int64_t time_ms;
	char uuid[UUID_LEN + 1];
	struct buf text, frame; /* built when asked for */
};

/* cadre.c */
int app_status(int status, const struct err *err, char *why, size_t why_size); /* err into why; returns status */
void app_busy(struct cadre *c, int change);                                    /* cadre_run() returns when it is 0 */

/* output.c */
void app_check_backlog(struct cadre *c); /* pauses or resumes all sessions */

/* watch.c */
void watch_end_all(struct cadre *c);

/* endpoint.c */
int app_open_endpoint(struct cadre *c, struct err *err);
void app_adjust_governor(struct cadre *c);

/* context.c */
void context_system_prompt(struct buf *out, const struct options *o);
/* The blocks before the first prompt: environment, date, instructions. */
void context_first_message(struct buf *out, struct cadre_session *s);

/* gate.c */
void gate_ask(struct tool_gate *gate, struct tool_call *call);
void gate_forget_denials(struct cadre_session *s);

/* emit.c */
event_fn session_emit;                   /* data is the session */
void frame_write(struct cadre_event *e); /* frame.c */

/* turn.c */
struct str turn_text(const struct cadre_session *s, struct buf *scratch);
const char *turn_subtype(const struct cadre_session *s);
bool turn_is_error(const struct cadre_session *s);

/* session.c */
void session_free(struct cadre_session *s);

/* resume.c */
int session_find(struct cadre_session *s, const struct options *o, const char *project_dir, struct err *err);
int session_take_load(struct cadre_session *s, bool run,
		      struct err *err); /* the interrupted turn becomes the query's */
