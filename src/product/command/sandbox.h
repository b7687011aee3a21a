/* SPDX-License-Identifier: MIT
 * sandbox.h - shared by the files of `cadre sandbox`. */
#pragma once
#include "product/command/command.h"
#include "defs/policy/permissions.h"
#include "guard/sandbox/sandbox.h"

/* A sandbox without a session */
struct sandbox_room {
	struct arena arena;
	struct permission_setup permission;
	struct sandbox *sandbox;
	const struct sandbox_policy *policy;
	struct sandbox_held *held;
	bool enabled; /* by the settings */
};
/* As of a session with this setup, whose env gets what commands are held by; sandbox_use_policy() follows. Returns owned. */
struct sandbox *sandbox_of_setup(struct services *sv, struct permission_setup *p, struct arena *a);
int sandbox_room_open(struct sandbox_room *r, struct cadre_call *call);
void sandbox_room_close(struct sandbox_room *r);
#define AUTO_ROOM CLEANUP(sandbox_room_close)
/* r->held is what holds a command inside or, if it reads, one that passed as reading. */
int sandbox_room_hold(struct sandbox_room *r, bool reads, const char *command, struct err *err);

const char *sandbox_temp_dir(struct arena *a); /* a name for one; the sandbox makes and removes it */
command_fn sandbox_run, sandbox_test;
