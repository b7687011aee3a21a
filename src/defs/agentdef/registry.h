/* SPDX-License-Identifier: MIT
 * registry.h - all agent definitions of a run: what was found, which one counts for each type, what could not be read.
 *
 * A later place replaces an earlier one by agent type (source.h has the order); of two definitions of one type in the same
 * directory tree the first by path counts. Nothing is watched: agent_registry_refresh() looks at every file's stamp and
 * reads what is new, so the next lookup sees the disk as it is. */
#pragma once
#include "defs/agentdef/denial.h"
#include "defs/agentdef/source.h"

struct agent_entry {
	struct agent_definition *definition; /* owned by the registry; take a reference to keep it */
	unsigned place;                      /* entries of one place have the same number; higher wins */
	const struct agent_entry *hidden_by; /* the active one of its type; NULL: this one is active */
};

struct failed_file {
	enum agent_source source;
	const char *path;
	unsigned line; /* 0: none */
	const char *message;
};

/* Read only for everybody else; good until the next refresh */
struct agent_registry {
	struct agent_entry *all; /* in the order of priority, lowest first */
	size_t all_count;
	const struct agent_entry **active; /* in alphabetical order, case ignored */
	size_t active_count;
	struct failed_file *failed; /* agents that may not be loaded, files that could not be read */
	size_t failed_count;
	struct agent_definition **looked_at; /* every file and entry: agents, refused ones, and what is no agent */
	size_t looked_at_count;
	struct agent_denials denied; /* deny rules of the settings files */
	bool plugins_only;           /* managed settings allow no agents of users, projects and flags */
	uint64_t generation;         /* changes when anything above does */
	struct registry_scan *scan;  /* registry.c's own */
};

/* sources is copied. -ERR_USAGE if a settings file or --agents cannot be read; later such a file is in failed and what it
 * said before still counts. */
int agent_registry_new(const struct agent_sources *sources, struct agent_registry **ret_registry, struct err *err);
void agent_registry_free(struct agent_registry *r);
void agent_registry_refresh(struct agent_registry *r);

/* An active agent: by its exact type, else by an alias, else ignoring case and separators. NULL: there is none. */
const struct agent_entry *agent_registry_find(const struct agent_registry *r, struct str type);
/* Returns a reference, or NULL with ERR_NOT_FOUND or ERR_DENIED (and the rule) in err. */
struct agent_definition *agent_registry_get(const struct agent_registry *r, struct str type, struct err *err);
