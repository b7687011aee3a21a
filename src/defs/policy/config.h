/* SPDX-License-Identifier: MIT
 * config.h - from the options of a runtime to its settings, for the files of this room. */
#pragma once
#include "product/command/agents.h"
#include "config/settings/settings.h"

/* All texts are in the arena. */
int app_settings_spec(struct cadre *c, struct arena *a, struct settings_spec *ret_spec, struct err *err);
/* Settings of whoever started us, without what would give more freedom; NULL: there are none. In the arena. */
int app_parent_settings(const struct options *o, struct arena *a, const char **ret_json, struct err *err);
int app_settings(struct cadre *c, struct settings **ret_settings, struct err *err); /* returns a reference */
/* One line about what files of the project say and may not say before the folder is trusted; none if there is nothing.
 * warn may be NULL. */
void app_warn_held(const struct settings *s, void (*warn)(void *data, const char *message), void *data);
/* ~/.claude.json, or .claude.json in the directory that the option config-dir or CLAUDE_CONFIG_DIR names. */
int app_state_file(struct cadre *c, struct arena *a, const char **ret_path, struct err *err);

void app_put_origin(struct json_out *w, const struct settings_origin *origin); /* "layer", "file", "line" */
void app_origin_text(struct buf *out, const struct settings_origin *origin);   /* FILE:LINE */
