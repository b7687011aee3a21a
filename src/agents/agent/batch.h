/* SPDX-License-Identifier: MIT
 * batch.h - the calls of one answer, all done, shown to PostToolBatch hooks before their results go to the model. A hook may
 * end the turn there, or add something for the model to know. */
#pragma once
#include "agents/agent/agent.h"

bool agent_show_batch(struct agent *a); /* true: query_batch_over() follows */
void agent_drop_batch(struct agent *a); /* the turn is over: what hooks still say about it does not count */
