/* SPDX-License-Identifier: MIT
 * named_host.h - hosts that somebody named on purpose. What is not public may be reached only there. */
#pragma once
#include "guard/permission/permission.h"

/* An allow rule of the agent's line is about this host (normal, see host_rule.h) or a part of the net that it is in. A rule
 * for all hosts names none. */
bool permission_names_host(const struct permission *p, struct str host);
