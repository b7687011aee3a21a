/* SPDX-License-Identifier: MIT
 * git_objects.h - an object store of an agent's own, so that it cannot destroy the history of the repository. git must remove
 * files where it writes objects. So commands of the agent see their own store in the place of the shared one (lib/confine/confine.h), and
 * the shared one, read-only, as its alternate. What they made is moved to the shared store when a command has ended. */
#pragma once
#include "lib/base/arena.h"

struct git_objects {
	const char *admin;  /* the worktree's part of the git directory, which the agent can write */
	const char *shared; /* <common>/objects */
	const char *own;    /* <admin>/objects: seen in its place, and written */
	const char *seen;   /* <admin>/history: where the shared ones are seen then */
};

/* Makes the directories. No link in admin is followed. Texts are in the arena. */
int git_objects_prepare(struct git_objects *ret, const char *admin, const char *common, struct arena *a,
			struct err *err);
/* Only whole objects and packs are moved, none replaces one that is there. What fails stays for the next time. */
void git_objects_move(const struct git_objects *o);
