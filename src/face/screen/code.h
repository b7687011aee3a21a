/* SPDX-License-Identifier: MIT
 * code.h - source code with colours: words, strings, comments and numbers of a language. */
#pragma once
#include "face/screen/paint.h"

/* Appends harmless text, line by line; a language that is not known stays plain. */
void code_paint(struct str language, struct str code, struct styled *out);
