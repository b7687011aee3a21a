/* SPDX-License-Identifier: MIT
 * placement.h - foreground or background? The one function that decides. */
#pragma once
#include "lib/base/base.h"

struct placement {
	bool disabled;    /* CLAUDE_CODE_DISABLE_BACKGROUND_TASKS */
	bool call_says;   /* the call has run_in_background ... */
	bool call_wants;  /* ... and this is its value */
	bool definition;  /* background: true in the definition */
	bool coordinator; /* the caller coordinates workers */
	bool fork_mode;   /* forks are implied, and everything runs in the background */
	bool host;        /* the host asked for it */
	bool by_default;  /* CADRE_BACKGROUND_DEFAULT: what nobody spoke about */
};

bool placement_background(const struct placement *p);
