/* SPDX-License-Identifier: MIT
 * validate.h - a closer look at a plugin than loading needs: every component file is read too. */
#pragma once
#include "defs/plugin/plugin.h"

/* Adds what is wrong with the components to the plugin's errors, what is untidy to its notes. */
void plugin_validate(struct plugin *p);
