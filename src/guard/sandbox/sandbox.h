/* SPDX-License-Identifier: MIT
 * sandbox.h - the kernel enforces what was believed of a command (docs/internals/sandbox.md).
 *
 *     call->where = sandbox_where(env->sandbox, tool, input); before the gate decides
 *     ... the gate decides and sets call->belief ...
 *     sandbox_hold(env->sandbox, &request, &held, &err)       when the command starts
 *     spawn_start(... .confine = held->confine ...)
 *     sandbox_started(held)
 *     sandbox_report(held, output, failed, &result);          when it has ended
 *     sandbox_held_free(held) */
#pragma once
#include "core/tool/tool.h"
#include "lib/confine/confine.h"
#include "guard/permission/permission.h"
#include "guard/sandbox/policy.h"
#include "guard/sandbox/profile.h"

enum sandbox_strength {
	SANDBOX_NONE,    /* no Landlock or no seccomp: nothing is enforced */
	SANDBOX_READING, /* Landlock and seccomp: commands that read are held */
	SANDBOX_FULL,    /* namespaces as well */
};

struct sandbox; /* of a session; its children use it too */

struct sandbox_options {
	struct loop *loop;
	const char *config_dir, *temp_dir; /* copied; temp_dir is made when it is needed and removed at the end */
	struct spawner *spawner;           /* whose keeper removes temp_dir if we are killed; NULL: it stays then */
};
struct sandbox *sandbox_new(const struct sandbox_options *options);
void sandbox_free(struct sandbox *s);
/* Takes the policy; commands that run keep what they started with. */
void sandbox_use_policy(struct sandbox *s, struct sandbox_policy *policy);
const struct sandbox_policy *sandbox_get_policy(const struct sandbox *s);

/* What the kernel can, found out once by doing it. ret_why (may be NULL): what is missing for full; borrowed. */
enum sandbox_strength sandbox_strength(struct sandbox *s, const char **ret_why);
/* What of the belief about commands the kernel cannot enforce, in this mode. s may be NULL. */
enum permission_unenforced sandbox_unenforced(struct sandbox *s, enum permission_mode mode);
/* The same for people, said at the start; NULL: nothing need be. In the arena. */
const char *sandbox_warning(struct sandbox *s, enum permission_mode mode, struct arena *a);
/* Why no command may run: failIfUnavailable. NULL: they may. */
const char *sandbox_refusal(struct sandbox *s);

/* The settings take a sandbox without namespaces, and that is what there is: no hiding, no network, no command unasked. */
bool sandbox_may_reduce(struct sandbox *s);

/* Asks whether a host that no list names may be reached; the answer comes later, by sandbox_answer_host(). Without one it is
 * refused. At most HOST_QUESTIONS_MAX are open; one is asked once in a session. */
typedef void sandbox_ask_fn(void *data, const char *host, unsigned port);
void sandbox_set_asker(struct sandbox *s, sandbox_ask_fn *ask, void *data);
void sandbox_answer_host(struct sandbox *s, const char *host, unsigned port, bool allow);

enum tool_where sandbox_where(struct sandbox *s, const struct tool *tool, const struct json *input);
/* The same for a command by itself; wish: it is called with dangerouslyDisableSandbox. */
enum tool_where sandbox_where_command(struct sandbox *s, const char *command, bool wish);

/* All borrowed until return */
struct sandbox_request {
	const struct tool_env *env;
	const char *cwd, *command;
	const char *shell; /* NULL: found in PATH */
	enum tool_belief belief;
	enum tool_where where;
	bool converts; /* HOLD_CONVERTS, whatever the rest says */
	bool lasts;    /* as long as the session: nothing is opened to it that is looked at when it has ended */
};

/* What was refused to programs inside by cadre itself (hosts, sockets), the first few, a line each. Borrowed. */
struct str sandbox_refusals(const struct sandbox *s);
/* Hooks, servers and converters of this spawner are held by the sandbox that each of them names (child_options.cage), if its policy
 * wants them inside. */
void sandbox_serve(struct spawner *spawner);
/* They are under the rules and in the working directories of this agent, which is borrowed until sandbox_retire(). */
void sandbox_serve_under(struct sandbox *s, const struct tool_env *env);
/* Takes a sandbox of hooks and servers: it holds no more of them, and is freed when the last of those that run has ended. NULL is
 * allowed. */
void sandbox_retire(struct sandbox *s);

/* Before the one command that will run: each refusal is kept. It is slow. */
struct sandbox_refused {
	const char *kind, *what; /* read, write, network, socket or call */
	size_t times;
};
void sandbox_trace(struct sandbox *s);
/* Borrowed. *ret_more: refusals that are not in the list, which is full. */
const struct sandbox_refused *sandbox_traced(const struct sandbox *s, size_t *ret_count, size_t *ret_more);

/* What holds one command, for as long as it runs */
struct sandbox_held {
	struct arena arena;
	struct profile profile;
	struct confine confine;
	struct confine_mount *mounts;
	const char *temp_dir;
	const char *const *variables; /* NAME=value to add, NAME to take away; NULL-terminated, or NULL */
	const char *cwd;              /* where it started */
	const char *command;
	const struct violation_rule *ignored; /* in the arena */
	size_t ignored_count;
	const char *why_out;        /* it runs outside though the settings want a sandbox; NULL: it does not */
	struct paths refused_hosts; /* "blocked: network host:port (why)" */
	struct str reported;        /* lines of the last report; in the arena */
	struct sandbox_held *next, **prev;
	struct sandbox *of; /* NULL: it is gone */
	struct kept_config {
		const char *root;
		struct str text;
	} * configs; /* of git, before the command; in the arena */
	size_t config_count;
	const struct git_objects *objects; /* in the arena; NULL: git writes the shared ones, or none */
	bool reduced;                      /* inside without namespaces */
	bool may_leave, lasts;
};

/* The environment of a command that is held: what the sandbox sets and takes away. In the arena; texts are borrowed. */
const char *const *sandbox_envp(struct arena *a, const struct sandbox_held *held, const char *const *base);
/* *ret_held is NULL if the command runs free, and nothing need be said about that. A command that cannot be held as it must be
 * does not run: err says why. */
int sandbox_hold(struct sandbox *s, const struct sandbox_request *request, struct sandbox_held **ret_held,
		 struct err *err);
/* The child has what it needs: closes our copy of its ruleset, which every child that is started meanwhile would have to close.
 * NULL is allowed; optional. */
void sandbox_started(struct sandbox_held *held);
/* The command has ended: moves away what must not have appeared, and adds the lines for the model, or nothing. */
void sandbox_report(struct sandbox_held *held, struct str output, bool failed, struct buf *out);
/* What that report named, for programs: lines of kind (write, read, network, socket, removed ...), what and rule, with tabs
 * between them. */
void sandbox_violations(const struct sandbox_held *held, struct buf *out);
/* A terminal for the command that is held, of the inside's own if it has one. Both descriptors are owned; the master does not block.
 * -1: errno says why. */
int sandbox_open_terminal(const struct sandbox_held *held, int *ret_master, int *ret_slave);
void sandbox_held_free(struct sandbox_held *held); /* NULL is allowed */
