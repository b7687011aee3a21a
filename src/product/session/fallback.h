/* SPDX-License-Identifier: MIT
 * fallback.h - which models stand in for others (option fallback-model, or else the setting fallbackModel); what they are
 * there for is in agents/agent/fallback.h. */
#pragma once
#include "lib/base/base.h"

struct cadre_session;

/* For all its agents, if some are named. ERR_USAGE: a name means nothing. */
int session_open_fallback(struct cadre_session *s, struct err *err);
