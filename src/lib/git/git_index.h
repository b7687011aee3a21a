/* SPDX-License-Identifier: MIT
 * git_index.h - whether a file is tracked: reads git's index, without running git. */
#pragma once
#include "lib/base/base.h"

/* path is relative to root, a directory that holds .git. Also true if unknown: the index exists but cannot be parsed
 * completely. */
bool git_tracks(const char *root, const char *path);
