/* SPDX-License-Identifier: MIT
 * policy.h - the sandbox.* settings of a session as lists: real paths, hosts, commands. Made again when the settings change;
 * a command uses what holds when it starts. */
#pragma once
#include "lib/base/arena.h"
#include "config/settings/settings.h"

/* A list that ends with NULL; { 0 } is empty */
struct paths {
	const char **list;
	size_t count, cap;
};
/* path is borrowed; NULL, "" or one that is there adds nothing. */
void paths_add(struct paths *p, struct arena *a, const char *path);
/* It is one of them or below one, as text and as resolved. */
bool paths_hold(const struct paths *p, const char *path);

struct host_entry {
	const char *name; /* lower case; "*.name" */
	uint64_t port;    /* 0: any but those that need to be named */
};
struct host_list {
	const struct host_entry *list;
	size_t count;
};

/* One line of a settings file, as it was understood: what `cadre sandbox` shows and explains with */
struct policy_entry {
	const char *key, *text; /* as it stands there */
	const char *value;      /* the path, pattern or host that it means */
	const char *file;
	unsigned line;
	bool of_project; /* a file of the project, also the local one */
};

/* Which programs of others run inside */
enum cage_level { CAGE_OFF, CAGE_PROJECT, CAGE_ALL };

/* Of sandbox.ignoreViolations: a report with this text, of a command with that one ("*": any), is not told */
struct violation_rule {
	const char *command, *report;
};

struct sandbox_policy {
	struct arena arena;
	struct settings *settings; /* reference: it can be made again */
	const char *cwd, *config_dir;
	bool locked; /* files of the project open nothing */
	bool enabled, fail_if_unavailable, auto_allow;
	enum cage_level hooks, servers;
	bool may_leave;            /* dangerouslyDisableSandbox counts */
	bool may_leave_explicitly; /* and a file of the user's says so */
	/* NULL-terminated */
	const char *const *allow_write, *const *deny_write, *const *deny_read, *const *allow_read;
	const char *const *deny_read_patterns; /* with wildcards, absolute: looked for before each command */
	const char *const *excluded;           /* as in Bash(...) */
	const char *const *deny_variables;
	struct host_list allowed, denied;
	bool managed_domains_only, strict_domains; /* hosts that no list names are not asked about */
	const char *const *unix_sockets;           /* outside, that may be reached: real paths */
	bool all_unix_sockets;                     /* no check */
	uint64_t http_port, socks_port;            /* of the user's own proxy; 0: none */
	bool nested_user_namespaces;               /* may be made inside */
	bool files_open;                           /* filesystem.disabled: no rules for files */
	bool weaker;                               /* enableWeakerNestedSandbox */
	bool local_binding;                        /* what listens inside is reached from the machine too */
	bool git_config;                           /* cadre.gitConfig */
	const char *const *devices; /* that are there inside; as they were found when the policy was made */
	const char *const *sealed;  /* of deny_read, by credentials.files: no allowRead of a project opens them */
	const struct violation_rule *ignored; /* reports that are left out */
	size_t ignored_count;
	const struct policy_entry *entries; /* of all lists of paths and hosts, lowest layer first */
	size_t entry_count;
	const char *const *notes; /* what was said and cannot be meant, a line each */
};

/* Returns owned. cwd: the project. */
struct sandbox_policy *sandbox_policy_new(const struct settings *s, const char *cwd, const char *config_dir);
void sandbox_policy_free(struct sandbox_policy *p);
/* More places, hosts and sockets, for `cadre sandbox run` and servers. Paths from cwd; NULL: none. -ERR_USAGE: not a host. */
int sandbox_policy_widen(struct sandbox_policy *p, const char *cwd, const char *const *writes, const char *const *hosts,
			 const char *const *sockets, struct err *err);
/* The same from the same settings; returns owned. NULL: it was not made from settings. */
struct sandbox_policy *sandbox_policy_again(const struct sandbox_policy *p);

/* "host", "host:port", "[v6]:port"; *port stays if there is none. False: it is not a port. */
bool host_split(struct str text, struct str *ret_name, uint64_t *port);
/* NULL: a command may reach this host; else why not. port needs a look for names that are allowed without one. */
const char *host_refusal(const struct sandbox_policy *p, struct str host, unsigned port);
/* Whether a person may be asked about a host that is refused: no list names it, and it is not this machine. */
bool host_may_be_asked(const struct sandbox_policy *p, struct str host, unsigned port);
/* Whether a socket of a program outside may be reached; path is absolute. */
bool sandbox_may_connect(const struct sandbox_policy *p, const char *path);
/* The kinds of addresses (lib/io/address.h) that a name which may be reached may lead to. */
unsigned host_addresses(const struct sandbox_policy *p, struct str host, unsigned port);
