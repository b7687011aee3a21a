/* SPDX-License-Identifier: MIT
 * one_shot.h - one question to a model outside the conversation: a small separate query, without transcript and hooks. It goes
 * through the same endpoint, governor and budget as everything else, and counts as spending of the agent that it is about.
 *
 * That agent and its session need not wait for the answer: only their ids are kept. */
#pragma once
#include "lib/base/str.h"

struct services;
struct one_shot;

/* Texts are copied, but instructions and label: constants */
struct one_shot_spec {
	struct services *services;
	const char *session_id, *agent_id; /* the agent that it is about; agent_id NULL or "": the main agent */
	const char *label;                 /* who asks, for the model server */
	const char *instructions;
	const char *model; /* NULL: the small one */
	struct str text;
	bool reads;                 /* it may look at files first, as far as the agent may */
	const char *server_tool;    /* JSON of a tool that the server runs; NULL: none. Borrowed until start returns */
	uint64_t retry_deadline_ms; /* of a request that fails; 0: as long as other requests */
};

/* answer: what the model said, with a server tool the JSON array of all its blocks; when failed, why there is none. Borrowed
 * until return. */
typedef void one_shot_done_fn(void *data, bool failed, struct str answer);

/* done comes exactly once, later, also after a cancel. NULL: it cannot be asked, and done does not come. Borrowed until
 * done. */
struct one_shot *one_shot_start(const struct one_shot_spec *spec, one_shot_done_fn *done, void *data, struct err *err);
void one_shot_cancel(struct one_shot *shot); /* a request */
