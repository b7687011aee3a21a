/* SPDX-License-Identifier: MIT
 * batch.h - the calls of one answer, all done, shown to PostToolBatch hooks before their results go to the model. A hook may
 * end the turn there, or add something for the model to know. */
#pragma once
#include "agents/agent/actor.h"

bool actor_show_batch(struct actor *a); /* true: query_batch_over() follows */
void actor_drop_batch(struct actor *a); /* the turn is over: what hooks still say about it does not count */
