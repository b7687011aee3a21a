/* SPDX-License-Identifier: MIT
 * sandbox.h - shared by the files of `cadre sandbox`. */
#pragma once
#include "product/command/command.h"
#include "guard/sandbox/sandbox.h"

const char *sandbox_temp_dir(struct arena *a); /* a name for one; the sandbox makes and removes it */
/* The environment of a command that is held (NULL: it is not). In the arena; texts are borrowed. */
const char *const *sandbox_envp(struct arena *a, const struct sandbox_held *held, const char *const *base);
int sandbox_test(struct cadre_call *call);
