/* SPDX-License-Identifier: MIT
 * web.h - the web for the tools of a session: one client and cache for the runtime, what settings say about it, and the way
 * from a tool to a model. */
#pragma once

#include <stdbool.h>

struct cadre_session;

void session_use_web(struct cadre_session *s); /* as the settings are now */
