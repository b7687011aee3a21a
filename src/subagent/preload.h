/* SPDX-License-Identifier: MIT
 * preload.h - skills that a child has from its birth. */
#pragma once
#include "subagent/subagent.h"

int subagent_preload(struct subagent *s, struct err *err); /* a step of life[]; its environment is open */
void subagent_stop_preload(struct subagent *s);            /* the step ends soon */
