/* SPDX-License-Identifier: MIT
 * placement.c - foreground or background? */
#include "agents/agent/placement.h"

bool placement_background(const struct placement *p)
{
	if (p->disabled)
		return false;
	if (p->definition || p->coordinator || p->fork_mode || p->host)
		return true;
	return p->call_says ? p->call_wants : p->by_default;
}
