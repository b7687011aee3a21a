/* SPDX-License-Identifier: MIT
 * registry.h - the catalog of agents.
 *
 * built-in < plugins < user (settings.json, agents/) < project (settings.json, settings.local.json of cwd and of the
 * repository's root, .claude/agents of the main checkout of a linked worktree, of each --add-dir, then of the repository's
 * root down to cwd) < --settings < --agents < managed (managed-settings.json, managed-settings.d, .claude/agents).
 *
 * A later place replaces an earlier one by agent type; of two definitions of one type in the same directory tree the first by
 * path counts. */
#pragma once
#include "config/catalog/catalog.h"
#include "config/settings/settings_path.h"
#include "defs/agentdef/definition.h"
#include "defs/agentdef/denial.h"

/* Copies the sources. -ERR_USAGE if a settings file or --agents cannot be read; later such a file is in failed and its
 * previous definitions still apply. */
int agent_registry_new(const struct catalog_sources *sources, struct catalog **ret_registry, struct err *err);

/* An active agent: by its exact type, else by an alias, else ignoring case and separators. NULL: there is none. */
const struct catalog_entry *agent_registry_find(const struct catalog *r, struct str type);
/* Returns a reference, or NULL with ERR_NOT_FOUND or ERR_DENIED (and the rule) in err. */
struct agent_definition *agent_registry_get(const struct catalog *r, struct str type, struct err *err);
/* The deny rule of the settings or the command line that takes this type away, or NULL. */
const struct agent_denial *agent_denied(const struct catalog *r, struct str type);
