/* SPDX-License-Identifier: MIT
 * fuzz_chat.c - answers of chat completions. */
#define FUZZED_FORM form_chat
#include "fuzz_stream.h"
