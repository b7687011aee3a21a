/* SPDX-License-Identifier: MIT
 * fallback.h - other models for a turn whose own cannot answer (option fallback-model): overloaded again and again, or not
 * known to the server. They are asked in their order; the next turn begins with the usual one again. */
#pragma once
#include "base/base.h"

struct cadre_session;
struct endpoint;

struct fallback_model {
	const char *name; /* resolved; lives as long as the session */
	struct endpoint *endpoint;
};

struct fallback {
	struct fallback_model *models;
	size_t count, next;          /* that is asked when the one at work cannot answer */
	struct fallback_model usual; /* to go back to; name NULL: it is at work */
};

/* Reads the option, if it is given. ERR_USAGE: a name means nothing. */
int session_open_fallback(struct cadre_session *s, struct err *err);
void session_leave_fallback(struct cadre_session *s); /* the turn is over */
