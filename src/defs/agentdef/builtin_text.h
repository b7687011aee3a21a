/* SPDX-License-Identifier: MIT
 * builtin_text.h - the files of builtin/, which the build turns into constants (scripts/embed.py). */
#pragma once

extern const char builtin_bash[];
extern const char builtin_cadre_guide[];
extern const char builtin_explore[];
extern const char builtin_general_purpose[];
extern const char builtin_plan[];
extern const char builtin_statusline_setup[];
extern const char builtin_verification[];
extern const char builtin_worker[];
