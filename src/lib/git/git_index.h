/* SPDX-License-Identifier: MIT
 * git_index.h - whether a file came with the repository: read from git's index, without running git. */
#pragma once
#include "lib/base/base.h"

/* path is relative to root, a directory that holds .git. True also when it cannot be known: the index is there and cannot be
 * understood, or only a part of it is. */
bool git_tracks(const char *root, const char *path);
