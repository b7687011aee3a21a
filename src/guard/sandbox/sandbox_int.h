/* SPDX-License-Identifier: MIT
 * sandbox_int.h - shared by the files of this room. */
#pragma once
#include "lib/base/buf.h"
#include "lib/confine/cell.h"
#include "lib/confine/seccomp.h"
#include "guard/sandbox/sandbox.h"

struct proxy;
struct publish;
struct trace;
struct seccomp_notif;

enum sandbox_filter {
	FILTER_READS,
	FILTER_READS_SILENT, /* and without signals */
	FILTER_EDITS,
	FILTER_REDUCED,
	FILTER_INSIDE,
	FILTER_SUPERVISED,
	FILTER_NESTED,
	FILTER_COUNT
};

enum { RULESETS_MAX = 8 };

/* A Landlock ruleset that the next command with the same lists can use again */
struct kept_ruleset {
	struct buf key; /* the lists, and which files they meant */
	int fd;
};

enum { HOST_QUESTIONS_MAX = 4, HOST_ANSWERS_MAX = 256 };

/* A host that was asked about */
struct host_wish {
	char *host;
	unsigned port;
	bool answered, allowed;
};

struct sandbox {
	struct loop *loop;
	struct spawner *spawner; /* NULL: none */
	char *config_dir, *temp_dir;
	struct sandbox_policy *policy; /* NULL: nothing is set */
	bool probed, temp_made;
	char *real_temp_dir;          /* without links, once it is made */
	bool looked, keeps_signals;   /* probe_reading() */
	enum sandbox_strength reads;  /* READING or NONE */
	char *empty_file, *empty_dir; /* as root: what stands in hidden places; NULL: not yet */
	enum sandbox_strength strength;
	char refusal[512];
	struct err why; /* of the strength, if it is not full */
	struct cell *cells[2];
	struct sock_fprog *filters[FILTER_COUNT];
	struct arena programs_arena; /* of the PATH that was looked at last */
	struct paths programs;
	struct file_id *program_ids;
	char *programs_of;
	struct kept_ruleset rulesets[RULESETS_MAX];
	size_t ruleset_count, ruleset_next;
	struct connects *connects; /* NULL: not yet, or it cannot be done */
	struct proxy *proxy;       /* of the whole cell; NULL: not yet */
	struct publish *publish;   /* NULL: not yet */
	struct trace *trace;       /* NULL: nothing is traced */
	struct find_tree *trees;   /* find.c */
	struct sandbox_held *held;
	struct buf refusals;            /* lines */
	struct sandbox *cages;          /* of servers that want more than others; they go with us */
	struct sandbox *next_cage, *of; /* of such a one */
	const struct tool_env *under;   /* sandbox_serve_under() */
	bool retired;                   /* it starts nothing any more, and goes with the last that it holds */
	struct buf cage_key; /* of such a one: what it was made for; empty: the settings have changed since */
	sandbox_ask_fn *ask; /* NULL: hosts that no list names are refused */
	void *ask_data;
	struct host_wish *wishes;
	size_t wish_count;
};

/* plan.c: mounts, ruleset and filter of a profile. Closed by plan_release. */
/* PLAN_MOVED: directories of programs lead elsewhere since they were looked at (the profile was made by that): make the profile again. */
enum { PLAN_MOVED = 1 };
int plan_make(struct sandbox *s, struct sandbox_held *held, struct err *err);
void plan_release(struct sandbox_held *held);
void plan_forget(struct sandbox *s); /* rulesets that are kept */
/* sandbox.c */
int sandbox_cell(struct sandbox *s, enum cell_kind kind, struct cell **ret_cell, struct err *err);
void sandbox_own_path(struct sandbox *s, const char *path); /* it goes with us, also if we are killed */
/* Something was refused, by cadre itself: all commands that run inside get a note, and the last ones are kept. */
void sandbox_note_refusal(struct sandbox *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool held_ignores(const struct sandbox_held *held, const char *report); /* report.c: ignoreViolations */
const struct sock_fprog *sandbox_filter(struct sandbox *s, enum sandbox_filter which);

/* find.c: files that exist now and that rules or customs set apart, found by walking. Links are judged by their names and
 * not followed: a mount on their target holds whatever name leads there. trees: what earlier walks found. */
enum { FIND_HIDDEN_MAX = 500, FIND_ENTRIES_MAX = 500000, FIND_PROTECTED_DEPTH = 4, FIND_INCLUDES_DEPTH = 4 };

/* Below dir: what deny rules of the agent's line hide, or a pattern (absolute, with wildcards) names. -ERR_LIMIT: the tree is
 * too large to be sure. */
int find_denied(struct paths *found, struct arena *a, const struct tool_env *env, const char *dir,
		const char *const *patterns, struct find_tree **trees, struct err *err);
void find_forget(struct find_tree **trees, size_t kept); /* all but the newest */
/* What deny rules name elsewhere, by a path of their own. */
int find_named_by_rules(struct paths *found, struct arena *a, const struct tool_env *env, struct find_tree **trees,
			struct err *err);
/* Below root, some levels deep: names that make other programs run something, and what Edit rules deny. In a profile for the
 * inside, git must be able to commit: of a .git only that is taken which makes it run programs. err is NULL after a command: a directory that it
 * closed is not taken then. */
int find_protected(struct paths *found, struct arena *a, const struct tool_env *env, const char *root,
		   const struct profile *p, struct find_tree **trees, struct err *err);

/* git_config.c: what the configuration of git was before a command, and what must not be in it afterwards. */
void git_config_keep(struct sandbox_held *held);
void git_config_check(struct sandbox_held *held, struct buf *out);

/* connects.c: answers connect(2) of what runs inside. diag_fd: CELL_SOCKET_DIAG of its cell, borrowed. NULL: it cannot be done. */
struct connects *connects_new(struct sandbox *s, int diag_fd);
int connects_fd(const struct connects *c); /* for confine.listener_to; 0 for NULL */
void connects_free(struct connects *c);

/* trace.c: answers what a filter with .observed asks, of the one command that is held. */
const int *trace_calls(const struct trace *t, size_t *ret_count);
void trace_serve(struct sandbox *s, int listener, const struct seccomp_notif *req);
void trace_add(struct trace *t, const char *kind, const char *what); /* kind: a literal; what is copied */
void trace_free(struct trace *t);                                    /* NULL is allowed */

/* names.c: answers lookups of the inside with invented addresses; nothing is asked outside. */
enum { NAMES_PACKET_MAX = 512 };
struct names;
struct names *names_new(struct loop *loop, const struct cell *cell); /* NULL for both: it has no sockets */
void names_free(struct names *n);
/* The answer to a packet, in its place, which has room for NAMES_PACKET_MAX bytes. Returns its size; 0: none. */
size_t names_answer(struct names *n, unsigned char *packet, size_t size);
const char *names_find(const struct names *n,
		       uint32_t address); /* the name that got this address (host order); NULL: none */

/* tls_hello.c: the server name that a client asks for, before anything is forwarded. */
enum hello { HELLO_PART, HELLO_NONE, HELLO_NAMED, HELLO_BAD /* TLS, and servers may read it in different ways */ };
/* Of the first bytes of a connection. The message is joined from its records in *joined; the name is borrowed from there. */
enum hello tls_hello_name(struct str bytes, struct buf *joined, struct str *ret_name);

/* NULL: the host may be reached. *ret_wait: it is being asked about, and proxy_answered() comes. */
const char *sandbox_host_refusal(struct sandbox *s, const char *host, unsigned port, bool *ret_wait);
void proxy_answered(struct proxy *p, const char *host, unsigned port); /* p may be NULL */

/* proxy_request.c: the first bytes of a client of the proxy. */
enum proxy_kind { PROXY_CONNECT, PROXY_PLAIN, PROXY_SOCKS, PROXY_CLEAR /* of a program that knows no proxy */ };
struct proxy_request {
	enum proxy_kind kind;
	bool greeted; /* SOCKS: its first message was read */
	char *host;   /* owned; as it was written, in lower case */
	unsigned port;
	struct buf first; /* what goes to the host before all else */
};
enum request_state {
	REQUEST_PART,
	REQUEST_GREETED, /* *ret_taken bytes were read, 5 and 0 is the answer, more follows */
	REQUEST_WHOLE,
	REQUEST_BAD
};
/* said: all that has come and was not taken. */
enum request_state proxy_request_read(struct proxy_request *r, struct str said, size_t *ret_taken);
void proxy_request_release(struct proxy_request *r);

/* proxy.c: serves the cell's listening socket on the loop. */
struct proxy *proxy_new(struct sandbox *s, const struct cell *cell);
void proxy_free(struct proxy *p);
/* Accepts a connection of the machine and leads it to a port of the inside, through fd, a spare socket; -1: there is none, and it
 * is closed. When it has ended, publish_return() comes. */
void proxy_join(struct proxy *p, uv_stream_t *listener, int fd, size_t spare, unsigned port);

/* publish.c: a command with sandbox.network.allowLocalBinding begins. */
void publish_watch(struct sandbox *s);
void publish_return(struct publish *p, size_t spare);
void publish_free(struct publish *p); /* before the cell; NULL is allowed */
