/* SPDX-License-Identifier: MIT
 * builtin_text.h - the files of builtin/, which the build turns into constants (scripts/embed.py). */
#pragma once
#include <stddef.h>

#define BUILTIN_TEXT(name)        \
	extern const char name[]; \
	extern const size_t name##_len
BUILTIN_TEXT(builtin_bash);
BUILTIN_TEXT(builtin_cadre_guide);
BUILTIN_TEXT(builtin_explore);
BUILTIN_TEXT(builtin_general_purpose);
BUILTIN_TEXT(builtin_plan);
BUILTIN_TEXT(builtin_statusline_setup);
BUILTIN_TEXT(builtin_verification);
BUILTIN_TEXT(builtin_worker);
#undef BUILTIN_TEXT
