/* SPDX-License-Identifier: MIT
 * permission.h - may this call run? The one place that decides; rules, more modes and hooks grow here. */
#pragma once
#include "base/map.h"
#include "tool/tool.h"

enum permission_mode { PERMISSION_DEFAULT, PERMISSION_BYPASS };
enum permission_decision { PERMISSION_ALLOW, PERMISSION_ASK, PERMISSION_DENY };

struct permission {
	enum permission_mode mode;
	bool can_ask;       /* somebody answers questions */
	struct map allowed; /* tool names that need no question, lower case */
};

void permission_release(struct permission *p);
bool permission_mode_parse(struct str name, enum permission_mode *ret_mode);
const char *permission_mode_name(enum permission_mode mode);
/* 0, or -ERR_USAGE: bypass as root is refused unless IS_SANDBOX=1. */
int permission_check_mode(enum permission_mode mode, struct err *err);
void permission_allow_tool(struct permission *p, struct str name);

/* reason gets a text for the model when denied. */
enum permission_decision permission_decide(const struct permission *p, const struct tool_call *call,
					   struct buf *reason);
