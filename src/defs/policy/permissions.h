/* SPDX-License-Identifier: MIT
 * permissions.h - from options and settings to rules, for the files of this room. */
#pragma once
#include "defs/policy/sources.h"
#include "guard/permission/permission.h"

/* The rules of all settings files that count; with allowManagedPermissionRulesOnly only the managed ones. Returns
 * a reference. warn gets a line for each rule that has no effect; may be NULL. A rule that denies or asks and cannot be
 * understood is left out, and *refusal, which the caller has zeroed, names its file and line: no agent may run. */
struct rule_set *policy_rules(const struct settings *s, rule_warn_fn *warn, void *data, struct err *refusal);
/* The mode that a session of these options begins in. -ERR_USAGE: a file has switched it off, or root may not. */
int policy_start_mode(const struct settings *s, const struct options *o, enum permission_mode *ret_mode,
		      struct err *err);
/* Modes that no agent of a session may be in, as the settings are now; p is the main agent's. */
void policy_limit_modes(struct permission *p, const struct settings *s);
/* Those of the options allowed-tools and disallowed-tools, added to p->own. */
void policy_add_flag_rules(struct permission *p, const struct options *o, rule_warn_fn *warn, void *data);

/* Its working directories: cwd, --add-dir, then those of the settings, of which one that does not exist grants nothing: it could
 * become a link. NULL-terminated, in the arena. */
int policy_directories(const struct options *o, const struct settings *s, struct arena *a, const char *cwd,
		       const char *const **ret_dirs, struct err *err);
/* What options and settings say about the main agent of a session, but for the rules of the settings and policy_limit_modes(), which
 * change with the files, and those of the options: its directories, what it must not write, the mode. Borrows from the arena. If
 * it fails, by policy_start_mode(), the rest is done. */
int policy_start_permission(struct permission *p, const struct options *o, const struct settings *s, struct arena *a,
			    const char *const *dirs, struct err *err);

/* What a session of these options would be allowed. Borrows from the arena; release permission and settings. What would keep
 * agents from running (settings_refusal(), policy_rules(), policy_start_mode()) is a line for warn. */
struct permission_setup {
	struct permission permission; /* of the main agent */
	struct settings *settings;
	struct settings_spec spec;
	struct tool_env env; /* its directories alone */
	bool trusted;
	const char *refusal; /* why no agent may run; NULL: one may */
};
int permission_setup_open(struct services *sv, struct arena *a, struct permission_setup *ret_p, rule_warn_fn *warn,
			  void *data, struct err *err);
void permission_setup_release(struct permission_setup *p);
#define AUTO_PERMISSION_SETUP CLEANUP(permission_setup_release)
