/* SPDX-License-Identifier: MIT
 * mirror.h - which messages wait for agents of ours, for programs that show inbox files (setting teams.mirrorInboxes). files.c writes
 * them there, marked as read: no member takes them. */
#pragma once
#include "agents/team/team.h"

struct mirror;
typedef void mirror_changed_fn(void *data); /* mirror_next() has something; also from inside mirror_add() */
struct mirror *mirror_new(struct team *t, mirror_changed_fn *changed, void *data);
void mirror_add(struct mirror *m, const char *name, const struct mail *mail);
/* The receiver whose file is to be written now, owned; NULL: none. ret_entries: all that waits for it, as a JSON array. */
char *mirror_next(struct mirror *m, struct buf *ret_entries);
void mirror_again(struct mirror *m, const char *name); /* it could not be written */
void mirror_free(struct mirror *m);                    /* also NULL */
