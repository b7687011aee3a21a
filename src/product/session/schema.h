/* SPDX-License-Identifier: MIT
 * schema.h - an answer in the form that the host wants (option json-schema): the main agent gets a tool StructuredOutput whose
 * input is the answer. See docs/internals/structured.md. */
#pragma once
#include "product/session/session.h"

struct schema {
	struct tool tool;  /* its ctx is the session */
	struct buf output; /* of this turn: the last one that fits; empty: none yet */
	unsigned tries;    /* of this turn that led to nothing */
};

/* Reads the option, if it is given: s->schema, and its tool for the main agent, which no definition has to name. ERR_USAGE: not a
 * schema. */
int session_open_schema(struct cadre_session *s, struct err *err);

void structured_output_on_event(struct cadre_session *s, const struct event *event); /* every event of the session */
/* The turn would end. True: the model was asked once more, and the turn continues. */
bool structured_output_retry(struct cadre_session *s);
struct str schema_output(const struct cadre_session *s); /* JSON; empty: there is none */
