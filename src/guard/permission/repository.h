/* SPDX-License-Identifier: MIT
 * repository.h - may git be believed to read only? Its configuration in a directory names programs that it runs. */
#pragma once
#include "lib/base/arena.h"

/* Why git may run something in cwd, for people; NULL: nothing that the environment of such commands does not switch off
 * (tools/shell/shell_set.c). root: where the session started. trusted: the user trusts that folder, and so its configuration. */
const char *repository_runs(struct arena *a, const char *cwd, const char *root, bool trusted);
