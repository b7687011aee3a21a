/* SPDX-License-Identifier: MIT
 * configure.h - from the command line to the settings of a runtime. */
#pragma once
#include <cadre.h>
#include "face/cli/flag.h"

/* Flags that make no sense together. interactive: a person at a terminal, not --print. */
int configure_check(const struct args *args, bool interactive, struct err *err);

enum configure_flags {
	CONFIGURE_INTERACTIVE = 1 << 0, /* a person answers questions */
	CONFIGURE_FRESH = 1 << 1,       /* without the flags that chose the session to begin with */
	CONFIGURE_SINGLE = 1 << 2,      /* one prompt and no more */
};
/* Makes a runtime and hands every setting to it; reads the files that are named. Returns it owned; err names the flag that is at
 * fault. */
int configure_runtime(const struct args *args, unsigned flags, struct cadre **ret_c, struct err *err);
/* cadre_set() with our kind of error. */
int configure_set(struct cadre *c, const char *name, const char *value, struct err *err);
