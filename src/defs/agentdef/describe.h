/* SPDX-License-Identifier: MIT
 * describe.h - a definition field by field, as `cadre agents show` prints it. */
#pragma once
#include "defs/agentdef/definition.h"

struct agent_fact {
	const char *field;
	struct str text; /* for people; "" if the field has no value */
	struct str json; /* one value */
	bool given;      /* it stands in the definition, and may have been ignored; otherwise the default holds */
	unsigned line;   /* 0: none */
};

/* Every field in a fixed order, the prompt not among them. The fact is borrowed until fn returns. */
void agent_describe(const struct agent_definition *d, void (*fn)(void *data, const struct agent_fact *fact),
		    void *data);
