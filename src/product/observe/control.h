/* SPDX-License-Identifier: MIT
 * control.h - control socket: other processes of the same user list and stop the agents of a running session
 * (docs/internals/control.md).
 *
 * A session listens on <runtime>/<session id>.sock from its first child on; <runtime> is $XDG_RUNTIME_DIR/cadre or
 * /tmp/cadre-<uid>, mode 0700. A request is one line of JSON, an answer is one line:
 *
 *     {"request":"tasks"}                      {"session":{...,"tasks":[{...},...]}}
 *     {"request":"stop","agents":["a1..."]}    {"session":{...,"tasks":[those]}}   after they have ended
 *     {"request":"stop"}                       the same for all that run
 *     {"request":"tell","agent":"ann","text":"..."}    words of the user for a member: {"session":{...,"tasks":[it]}}
 *     anything else                            {"error":"what was expected"} */
#pragma once
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "core/store/state.h"

enum {
	CONTROL_CLIENTS = 16,         /* concurrent connections; more are closed at once */
	CONTROL_REQUEST_LIMIT = 8192, /* bytes of a line */
	CONTROL_ANSWER_LIMIT = 64 << 20,
};

/* ---- control_socket.c: the directory, its sockets, and a request to one ------------------------------------------ */

/* -ERR_NOT_FOUND: no such directory. -ERR_DENIED: accessible to other users. */
int control_dir(struct arena *a, bool make, const char **ret_dir, struct err *err);
typedef void control_socket_fn(void *data, const char *session, const char *path); /* both borrowed until it returns */
void control_each(const char *dir, control_socket_fn *fn, void *data);
char *control_socket_path(const char *dir, const char *session); /* owned; removes stale sockets of other sessions */
int control_listen(const char *path, struct err *err);           /* returns a descriptor, owned */
/* The same, without waiting. -ERR_NOT_FOUND: no listener; -ERR_BUSY: the session accepts no more clients now (a stopped
 * process never does again). */
int control_connect(const char *path, struct err *err);
/* Sends one request and appends the answer, without its line end. -ERR_NOT_FOUND: no listener; -ERR_TIMEOUT. Blocks. */
int control_ask(const char *path, struct str request, int timeout_ms, struct buf *answer, struct err *err);

/* ---- task_json.c: a task row as JSON, also the format of `cadre tasks --json` ------------------------------------ */

void task_json_write(struct json_out *w, const struct task_row *row); /* an object */
/* Texts go into the arena; missing members are "" or 0. */
void task_json_read(const struct json *object, struct arena *a, struct task_row *ret_row);
static inline int64_t task_row_tokens(const struct task_row *row)
{
	return row->input_tokens + row->output_tokens + row->cache_read_tokens + row->cache_write_tokens;
}
/* Until its end; until now while it runs; until its last update if it was interrupted. */
int64_t task_row_duration_ms(const struct task_row *row);
