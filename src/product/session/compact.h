/* SPDX-License-Identifier: MIT
 * compact.h - compaction as a session has it: when, from settings and environment, and the prompt /compact
 * (docs/internals/compact.md). */
#pragma once
#include "product/session/session_int.h"

/* The prompt of this turn is "/compact", with or without instructions. */
bool session_asks_compact(const struct cadre_session *s);
struct str session_compact_instructions(const struct cadre_session *s); /* of such a prompt */
