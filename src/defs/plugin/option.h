/* SPDX-License-Identifier: MIT
 * option.h - the user's values for a plugin's userConfig: pluginConfigs.ID.options of user, flag and managed settings. A project
 * says nothing about them: they may be keys and paths of the user. */
#pragma once
#include "defs/plugin/plugin.h"
#include "config/settings/settings.h"

/* -ERR_USAGE: what is expected. */
int plugin_option_check(const struct plugin_option *o, const struct json *value, struct err *err);
/* Puts the values, or the defaults, into vars.options. A value that does not fit, or a required one that is missing, fails
 * the plugin. settings may be NULL. */
void plugin_options_apply(struct plugin *p, const struct settings *settings);
