/* SPDX-License-Identifier: MIT
 * sandbox.h - shared by the files of `cadre sandbox`. */
#pragma once
#include "product/command/command.h"
#include "guard/sandbox/sandbox.h"

const char *sandbox_temp_dir(struct arena *a); /* a name for one; the sandbox makes and removes it */
int sandbox_test(struct cadre_call *call);
