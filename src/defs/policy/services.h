/* SPDX-License-Identifier: MIT
 * services.h - what every session borrows from its runtime: the loop, connections, registries, options and policy. struct cadre
 * (product/runtime) owns it; the rooms below that know only this struct. */
#pragma once
#include <cadre.h>
#include "lib/io/change_queue.h"
#include "lib/io/loop.h"
#include "core/message/message.h"
#include "core/model/provider.h"
#include "core/store/lock.h"
#include "core/store/store.h"
#include "mcp/servers/server.h"
#include "defs/policy/options.h"
#include "defs/policy/policy.h"

struct catalog;
struct agent_tree;
struct cadre_session;
struct cadre_wire;
struct classifier;
struct hook_engine;
struct hook_runner;
struct mcp_pool;
struct mcp_transport;
struct mcp_transport_handlers;
struct session_list;
struct web;
struct worktree_pool;

/* Receives all events of the sessions of a runtime: the trace, the debug log, the control socket. Functions may be
 * NULL. An event's line is on disk before the event. */
struct event;
struct query;
struct observer {
	struct observer *next;
	void (*on_event)(struct observer *o, struct cadre_session *s, const struct event *event);
	void (*on_state)(struct observer *o, const struct query *q, const char *to); /* of an agent's query */
	void (*on_log)(struct observer *o, const char *subject, const char *text);
	void (*on_close)(struct observer *o, struct cadre_session *s); /* it is about to be freed */
	void (*free)(struct observer *o);
};

/* A variable that a client has set. The process's own environment is the host's and is never changed. */
struct variable {
	struct variable *next;
	char *name, *value;
};

struct services {
	struct cadre *owner; /* for functions of cadre.h */
	struct options options;
	struct loop *loop;
	struct endpoints endpoints; /* usual is chosen with the first session */
	struct spawner *spawner;
	struct head_pool heads;
	struct lock_table locks;
	struct store store;          /* ready once store.config_dir is set */
	struct policy policy;        /* of the first session, and of what has no session */
	struct policy *policies;     /* of sessions with other folders or options; list by next */
	struct change_queue changes; /* of files behind locks: settings, tokens */
	struct variable *variables;  /* owned list */
	struct plugin_list *plugins; /* reference; created with the first session, as are all members below */
	struct catalog *registry;
	const char
		*recorded_mode; /* "coordinator" or "normal", of the session that was resumed first; NULL: none was */
	struct catalog *skills; /* NULL: there are none */
	struct hook_engine *hooks;
	struct http *hook_http;
	const struct hook_runner *hook_callback; /* hooks that are functions of the host; NULL: none */
	struct web *web;
	struct classifier *classifier;
	struct worktree_pool *worktrees;
	struct mcp_env server_env; /* shared by the servers of all sessions */
	struct mcp_pool *server_pool;
	/* Creates the transport of a server inside the host; NULL: there are none. */
	struct mcp_transport *(*host_transport)(struct services *sv, struct mcp_server *server,
						const struct mcp_transport_handlers *handlers, void *data);
	struct host_server {
		struct host_server *next;
		struct mcp_server *server; /* reference */
	} * host_servers;                  /* that every session joins */
	struct cadre_wire *wires;          /* clients that speak stream-json; list by next */
	void (*on_idle)(
		struct services *sv); /* a session has nothing to do any more; set by wires, NULL: there are none */
	void (*on_servers)(struct services *sv); /* a server of a session has changed its state; the same */
	bool lends_tools;                        /* sessions have no turns: their main agents ask no questions */
	struct cadre_session *sessions;          /* list by next */
	struct map sessions_by_id;               /* id -> struct cadre_session */
	struct agent_tree *trees;                /* of these sessions; list by next */
	size_t session_count;
	size_t descriptor_limit;
	size_t most_children;       /* running at a time, by the settings */
	struct observer *observers; /* list by next; owned */
	unsigned draining;          /* worktrees, servers and hooks that are being ended */
	unsigned busy;              /* running turns, watches with keep, closing sessions */
	unsigned in_callback;       /* event callbacks of the host that have not returned */
	bool paused;                /* a writer is too far behind */
};

struct services *cadre_services(struct cadre *c);               /* NULL for NULL; product/runtime */
void services_observe(struct services *sv, struct observer *o); /* takes it; called after the earlier ones */
void services_log(struct services *sv, const char *subject, const char *fmt, ...) printf_like(3, 4); /* for observers */
/* The value of a variable in the settings (NULL: none are asked), of a client, of the environment; NULL: none. Borrowed. */
const char *services_getenv(const struct services *sv, const struct settings *settings, enum env_trust trust,
			    const char *name);
/* The same with the settings and the trust of the policy: what a variable of this program itself is. */
const char *services_variable(const struct services *sv, const char *name);
/* The same with those of another one. */
static inline const char *policy_variable(const struct services *sv, const struct policy *p, const char *name)
{
	return services_getenv(sv, p->settings, policy_env_trust(p), name);
}
void services_setenv(struct services *sv, const char *name, const char *value);
void services_free_variables(struct services *sv);
void services_busy(struct services *sv, int change); /* cadre_run() returns when it is 0 */
/* services.c */
int services_open_endpoints(struct services *sv, struct err *err); /* the places, and that of the run; once */
const char *services_catalog_file(const struct services *sv,
				  struct arena *a); /* of models that was installed; NULL: none */
void services_adjust_governor(struct services *sv); /* as many requests as agents may be alive */
/* For functions that block: -ERR_BUSY inside of cadre_run() and of event callbacks, where the loop cannot run. */
int services_may_block(const struct services *sv, struct err *err);
/* All sessions of the working directory's project; as session_list_read(). */
int services_list_sessions(struct services *sv, const char *text, struct session_list *ret, struct err *err);
/* For the functions of cadre.h: err into why. Returns status. */
int api_status(int status, const struct err *err, char *why, size_t why_size);
