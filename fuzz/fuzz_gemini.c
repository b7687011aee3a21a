/* SPDX-License-Identifier: MIT
 * fuzz_gemini.c - answers of Gemini. */
#define FUZZED_FORM form_gemini
#include "fuzz_stream.h"
