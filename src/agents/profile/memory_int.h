/* SPDX-License-Identifier: MIT
 * memory_int.h - snapshots, for memory.c. */
#pragma once
#include "agents/profile/memory.h"

char *memory_snapshot_dir(struct arena *a, const struct agent_definition *d, const struct memory_places *places);
/* Whether a usable snapshot is there that this memory has not seen; ret_time is when it was made. */
bool memory_snapshot_is_new(struct arena *a, const char *snapshot, const char *memory, const char **ret_time);
int memory_snapshot_restore(const char *snapshot, const char *memory, const char *time, struct err *err);
