/* SPDX-License-Identifier: MIT
 * stage.h - a directory of a test's own, and loaded sessions as text. */
#pragma once
#include "core/store/load.h"
#include "unit.h"

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
};

void stage_init(struct stage *s);
void stage_release(struct stage *s);                                    /* removes the directory */
char *stage_path(struct stage *s, const char *name);                    /* in the arena */
char *stage_write(struct stage *s, const char *name, const char *text); /* returns the path */
char *stage_read(struct stage *s, const char *name);                    /* the whole file; in the arena */

/* The transcript and what else was found, in short:
 *     "u:hi, a:looking, a:call t1, u:t1=found, a:done; calls t2=no; interrupted; skipped 1; repaired" */
char *stage_describe(struct stage *s, const struct session_load *l);
