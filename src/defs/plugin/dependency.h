/* SPDX-License-Identifier: MIT
 * dependency.h - plugins that need each other. */
#pragma once
#include "defs/plugin/list.h"

/* Fails every enabled plugin that needs one which is not enabled or has a version outside the range, until nothing changes:
 * what fails here is missing for others. Those that need each other in a circle are fine. */
void dependencies_check(struct plugin_list *list);
