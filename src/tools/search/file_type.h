/* SPDX-License-Identifier: MIT
 * file_type.h - names for kinds of files ("c", "py", "make"), with the globs that ripgrep gives them. */
#pragma once
#include "lib/match/gitignore.h"

/* Adds the globs of the type to list, which is then matched with file names. False: no such type. */
bool file_type_add(struct str type, struct gitignore *list);
