/* SPDX-License-Identifier: MIT
 * configure.h - from what was said on the command line to the settings of a runtime. */
#pragma once
#include <cadre.h>
#include "cli/args.h"

/* Flags that make no sense together. interactive: a person at a terminal, not --print. */
int configure_check(const struct args *args, bool interactive, struct err *err);
/* Hands every setting to the runtime; reads the files that are named. err says which flag is at fault. */
int configure_apply(struct cadre *c, const struct args *args, bool interactive, struct err *err);
