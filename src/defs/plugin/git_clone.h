/* SPDX-License-Identifier: MIT
 * git_clone.h - gets a repository by git: no hooks, no questions, no programs of the address's choice. */
#pragma once
#include "defs/plugin/marketplace.h"
#include "defs/plugin/program.h"

/* dir must not be there, or be empty. Without a pinned commit only the newest one comes; a pinned one is what is in dir
 * afterwards, or the clone fails. Waits, as program.h says. */
int git_clone(const struct git_source *source, const char *dir, struct err *err);
