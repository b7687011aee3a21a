/* SPDX-License-Identifier: MIT
 * mode.h - permission modes: what happens to a call that no rule decides. */
#pragma once
#include "lib/base/str.h"

/* bubble is the mode of forks: it decides as the parent does, and questions go where the parent's go. */
#define PERMISSION_MODES(X)               \
	X(DEFAULT, "default", 2)          \
	X(ACCEPT_EDITS, "acceptEdits", 3) \
	X(PLAN, "plan", 0)                \
	X(DONT_ASK, "dontAsk", 1)         \
	X(AUTO, "auto", 4)                \
	X(BYPASS, "bypassPermissions", 5) \
	X(BUBBLE, "bubble", 2)

enum permission_mode {
#define X(mode, name, width) PERMISSION_##mode,
	PERMISSION_MODES(X)
#undef X
		PERMISSION_MODE_COUNT
};

#define PERMISSION_MODE_UNKNOWN \
	"unknown permission mode '%s': expected default, acceptEdits, plan, dontAsk, auto or bypassPermissions"
/* Case is ignored; "manual" is default. */
bool permission_mode_parse(struct str name, enum permission_mode *ret_mode);
const char *permission_mode_name(enum permission_mode mode);
/* 0, or -ERR_USAGE: bypass as root is refused unless IS_SANDBOX=1. */
int permission_check_mode(enum permission_mode mode, struct err *err);
/* The order of strictness: plan < dontAsk < default = bubble < acceptEdits < auto < bypassPermissions. plan comes first
 * because there even what a rule allows may not be written; dontAsk runs what default runs, and asks nothing. */
bool permission_mode_is_wider(enum permission_mode a, enum permission_mode b);
