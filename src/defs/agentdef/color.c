/* SPDX-License-Identifier: MIT
 * color.c - colours of agents. */
#include "defs/agentdef/color.h"

static const char *const colors[] = { "red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan" };

/* FNV-1a: the colour of a type must be the same in every run and every version, which str_hash() does not promise. */
static uint32_t stable_hash(const char *text)
{
	uint32_t hash = 2166136261U;

	for (const char *p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619U;
	return hash ^ hash >> 16;
}

const char *agent_color(const struct agent_definition *d)
{
	return d->color ? d->color : colors[stable_hash(d->name) % COUNT_OF(colors)];
}
