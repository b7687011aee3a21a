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
#include "lib/io/loop.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "product/observe/observe.h"

enum {
	CONTROL_CLIENTS = 16,         /* concurrent connections; more are closed at once */
	CONTROL_REQUEST_LIMIT = 8192, /* bytes of a line */
	CONTROL_ANSWER_LIMIT = 64 << 20,
};

/* control_socket.c: the directory, its sockets, and a request to one. */

/* -ERR_NOT_FOUND: no such directory. -ERR_DENIED: accessible to other users. */
int control_dir(struct arena *a, bool make, const char **ret_dir, struct err *err);
typedef void control_socket_fn(void *data, const char *session, const char *path); /* both borrowed until it returns */
void control_each(const char *dir, control_socket_fn *fn, void *data);
#define CONTROL_SOCKET ".sock"
/* Returns a descriptor, owned, without waiting. -ERR_NOT_FOUND: no listener; -ERR_BUSY: the session accepts no more clients now (a stopped
 * process never does again). */
int control_connect(const char *path, struct err *err);
/* Sends one request and appends the answer, without its line end. -ERR_NOT_FOUND: no listener; -ERR_TIMEOUT. Blocks. */
int control_ask(const char *path, struct str request, int timeout_ms, struct buf *answer, struct err *err);

/* control_socket.c: a socket of this process. It never keeps a run alive; its clients are of the same user. */

struct control_client {
	struct control_server *server;
	struct control_client *next, **prev;
	uv_pipe_t pipe;
	struct buf in; /* what it has sent */
	bool closing;
};

/* May be the first member of a larger struct. */
struct control_server {
	struct cadre_session *session; /* borrowed; NULL: it is gone, only handles are left */
	uv_pipe_t pipe;
	struct control_client *clients;
	unsigned client_count;
	unsigned open;      /* handles that are not closed yet */
	char *path;         /* owned; NULL: it does not listen */
	size_t client_size; /* of a struct whose first member is its control_client */
	void (*on_read)(struct control_client *c, bool ended); /* there is more in c->in, or no more comes */
	void (*on_close)(struct control_client *c);            /* may be NULL */
	void (*on_free)(struct control_client *c);             /* may be NULL */
	void (*on_end)(struct control_server *s); /* the last handle is closed, and s is freed; may be NULL */
};

void control_client_close(struct control_client *c);

/* An observer with a socket for each session, which closes with it */
struct control_table {
	struct observer observer;
	struct map by_session; /* id -> struct control_server */
};

void control_table_observe(struct services *sv,
			   const struct observer *observer);           /* on_event, and on_close if it does more */
void control_table_close(struct observer *o, struct cadre_session *s); /* on_close */
struct control_server *control_table_get(struct observer *o, const struct cadre_session *s);
/* Takes server, whose callbacks and client_size are set. It is in the table also if it cannot listen. */
int control_table_listen(struct observer *o, struct cadre_session *s, struct control_server *server, const char *suffix,
			 struct err *err);

/* task_json.c: a task row as JSON, also the format of `cadre tasks --json`. */

void task_json_write(struct json_out *w, const struct task_row *row); /* an object */
/* Texts go into the arena; missing members are "" or 0. */
void task_json_read(const struct json *object, struct arena *a, struct task_row *ret_row);
static inline int64_t task_row_tokens(const struct task_row *row)
{
	return row->input_tokens + row->output_tokens + row->cache_read_tokens + row->cache_write_tokens;
}
/* Until its end; until now while it runs; until its last update if it was interrupted. */
int64_t task_row_duration_ms(const struct task_row *row);
