/* SPDX-License-Identifier: MIT
 * wire_int.h - one stream-json client; internals of this room (docs/internals/wire.md). */
#pragma once
#include "product/session/session.h"
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "mcp/transport/line_reader.h"

enum wire_priority { WIRE_NOW, WIRE_NEXT, WIRE_LATER };

/* A queued user message */
struct wire_message {
	struct wire_message *next;
	struct buf text; /* its text blocks joined, for hooks and commands */
	struct segment **blocks;
	size_t block_count;
	char uuid[UUID_LEN + 1]; /* may be "" */
	struct buf origin;       /* JSON; may be empty */
	enum wire_priority priority;
	bool waits;    /* "shouldQuery": false: for the next message, whose beginning it becomes */
	bool named;    /* the client chose the uuid */
	bool verbatim; /* a text that no user typed: no commands and names of files in it */
};

/* A request of ours to the client. done: exactly once, unless withdrawn; payload is borrowed until return, NULL: the
 * client answered with the error why. */
struct wire_ask;
typedef void wire_answer_fn(void *data, const struct json *payload, struct str why);

/* An MCP server in the client's process */
struct wire_server {
	struct wire_server *next;
	char *name;
	struct buf manifest;             /* {"initializeResult":..,"toolsListResult":..}; empty: ask the client */
	struct mcp_transport *transport; /* borrowed, while one is open */
};

struct wire_deferred;
struct wire_settling;

struct cadre_wire {
	struct services *services;
	struct cadre_wire *next; /* of the runtime */
	cadre_wire_fn *out;
	void *data;
	struct cadre_session *session; /* NULL: not opened yet, or closed */
	char session_id[UUID_LEN + 1]; /* "": never opened */
	char cleared_id[UUID_LEN + 1]; /* of the session before /clear, whose end hooks may run; may be "" */
	struct line_reader lines;      /* of the input */
	bool input_over, closing, working;
	bool awaits;       /* waiting for `initialize`, which must be the first line */
	bool finishing;    /* end of input; pending work keeps cadre_run() running */
	bool failed;       /* the last result was an error */
	bool of_host;      /* it lives for one cadre_request() only: what comes later is an event */
	bool began;        /* the first init was sent */
	struct buf early;  /* texts that wait for it, each with its NUL */
	struct buf error;  /* why the session could not be opened */
	struct buf origin; /* JSON of the current message's `origin`; may be empty */
	struct buf
		sender; /* the same of its uuid and those of what has waited for it, as members; empty: the client chose none */
	unsigned bound; /* kinds of events (1 << kind) of this turn whose frames have named it */
	struct wire_message *queue;
	unsigned queued;       /* prompts in it */
	struct wire_ask *asks; /* list by next */
	uint64_t next_ask;
	struct wire_deferred *deferred;  /* list by next */
	struct wire_settling *settlings; /* list by next */
	struct wire_server *servers;
	struct str servers_at_start; /* JSON: `mcpServers` of initialize */
	struct map named_servers;    /* set by control requests; keys in the arena */
	struct kick kick;            /* the next message of the queue */
	bool replay, sends_state;
	const char *state; /* last reported value */
	uint64_t opened_ms;
	uint64_t api_ms; /* API time of earlier turns */
	char *title;     /* for the session from its first turn on; NULL: none */
	struct arena arena;
};

struct mcp_transport *wire_make_transport(struct services *sv, struct mcp_server *server,
					  const struct mcp_transport_handlers *handlers, void *data); /* server.c */

/* wire.c */
static inline void wire_send(struct cadre_wire *w, struct buf *line) /* a frame without line end; emptied */
{
	buf_addch(line, '\n');
	w->out(w->data, line->p, line->n);
	buf_clear(line);
	services_check_backlog(w->services);
}
struct json_out wire_frame_begin(struct buf *line, const char *type, const char *subtype); /* subtype may be NULL */
void wire_frame_end(struct cadre_wire *w, struct json_out *out, const char *session_id);   /* adds a uuid; sends it */
int wire_open_session(struct cadre_wire *w, struct err *err);                              /* if there is none */
void wire_refuse(struct cadre_wire *w, const char *why);     /* the run ends with exit code 2 */
void wire_fail_start(struct cadre_wire *w, const char *why); /* no session: an error result, and exit code 1 */
void wire_warn(struct cadre_wire *w, const char *fmt, ...) printf_like(2, 3); /* system/informational */
void wire_send_state(struct cadre_wire *w, const char *state);
static inline bool wire_is_idle(
	const struct cadre_wire *w) /* no turn, no queued prompt, no background agent that will notify */
{
	return !w->session || (!w->working && !w->queued && !w->session->counted);
}

/* queue.c */
void wire_take_message(struct cadre_wire *w, const struct json *message);
void wire_start_next(struct cadre_wire *w); /* if none runs */
void wire_drop_message(struct cadre_wire *w, struct wire_message *m);
static inline void wire_list_messages(struct json_out *out, const struct cadre_wire *w) /* an array of their uuids */
{
	json_open(out, '[');
	for (const struct wire_message *m = w->queue; m; m = m->next)
		json_put_cstr(out, m->uuid);
	json_close(out);
}

/* request.c: requests of the client */
struct wire_request {
	struct cadre_wire *wire;
	struct str id;           /* borrowed while the handler runs */
	const struct json *body; /* the `request` object; the same */
	struct arena *arena;
	struct buf payload;
	struct json_out out;    /* the payload: an open object */
	const char *error_code; /* of a failure; NULL: none */
};
/* 0: the payload is the reply. WIRE_ANSWERED: the handler has answered, or will, exactly once. A failure is the reply, too. */
enum { WIRE_ANSWERED = 1 };
typedef int wire_request_fn(struct wire_request *r, struct err *err);
void wire_take_request(struct cadre_wire *w, const struct json *message);
/* payload: a JSON object; empty: {}. id is the request's. */
void wire_reply(struct cadre_wire *w, struct str id, struct str payload);
void wire_reply_pending(struct wire_request *r); /* the payload, and pending permission requests */
wire_request_fn wire_initialize;                 /* initialize.c */
wire_request_fn wire_interrupt, wire_set_mode, wire_set_thinking, wire_cancel_message, wire_mcp_override,
	wire_set_model, wire_apply_settings, wire_update_permissions, wire_update_settings, wire_rename, wire_seed_read,
	wire_register_root, wire_reload_plugins, wire_reload_skills, wire_reload_styles, wire_rewind, wire_stop_task,
	wire_background; /* change.c */
wire_request_fn wire_get_settings, wire_get_context, wire_list_models, wire_get_version, wire_list_rules,
	wire_list_hooks, wire_get_cost, wire_get_usage, wire_task_output, wire_read_file; /* show.c */
/* show.c: the agent that the request names */
int wire_find_record(const struct wire_request *r, struct agent_record **ret_record, struct err *err);
wire_request_fn wire_list_mentions, wire_mcp_status, wire_mcp_set, wire_mcp_reconnect, wire_mcp_toggle, wire_mcp_call,
	wire_mcp_resource;        /* servers.c */
wire_request_fn wire_mcp_message; /* server.c */

/* A request that is answered later, exactly once. No answer is sent if the client withdraws it or the wire ends. */
struct wire_deferred *wire_deferred(const struct wire_request *r);     /* the handler returns WIRE_ANSWERED */
void wire_deferred_reply(struct wire_deferred *l, struct str payload); /* takes l */
void wire_deferred_fail(struct wire_deferred *l, const char *why);     /* takes l */
void wire_withdraw(struct cadre_wire *w, const struct json *message);
void wire_deferred_end(struct cadre_wire *w);

/* Lists requests of a kind for a client that sends `initialize` again. */
enum wire_ask_kind { WIRE_ASK_OTHER, WIRE_ASK_PERMISSION, WIRE_ASK_ELICITATION };
struct wire_ask {
	struct cadre_wire *wire;
	struct wire_ask *next, **prev;
	char id[32];
	enum wire_ask_kind kind;
	struct buf line; /* the request as sent; empty: never repeated */
	wire_answer_fn *done;
	void *data;
};
struct wire_ask *wire_ask(struct cadre_wire *w, enum wire_ask_kind kind, struct str request, wire_answer_fn *done,
			  void *data);
void wire_ask_take_back(struct wire_ask *ask); /* notifies the client; done is not called */
void wire_take_answer(struct cadre_wire *w, const struct json *message);
void wire_asks_end(struct cadre_wire *w, const char *why); /* all get an error */

/* client.c */
void wire_ask_call(struct cadre_wire *w, const struct event *event); /* a permission, or a question of an agent */
void wire_ask_elicitation(struct cadre_wire *w, const struct event *event);
void wire_sweep_questions(struct cadre_wire *w);  /* an agent's turn has ended: withdraws its requests */
extern const struct hook_runner wire_hook_runner; /* of callback hooks; its data are the services */
/* initialize.c */
void wire_put_agents(struct json_out *out, const struct agent_tree *t); /* "agents" */
void wire_put_models(struct json_out *out, const struct services *sv);
/* server.c */
/* config: its entry of sdkMcpServerConfigs; NULL: none */
void wire_add_server(struct cadre_wire *w, struct str name, const struct json *manifest, const struct json *config);
void wire_drop_server(struct cadre_wire *w, struct str name);
/* servers.c */
void wire_put_servers(struct json_out *out, struct cadre_wire *w); /* "mcpServers" */
void wire_servers_changed(struct cadre_wire *w);                   /* answers requests that waited for servers */
void wire_settlings_end(struct cadre_wire *w);
/* frame.c: the event as a line of stream-json; nothing if it has no frame */
void frame_write(struct cadre_event *e);
