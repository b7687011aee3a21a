/* SPDX-License-Identifier: MIT
 * fuzz_responses.c - answers of the Responses API. */
#define FUZZED_FORM form_responses
#include "fuzz_stream.h"
