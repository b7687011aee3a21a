/* SPDX-License-Identifier: MIT
 * error_words.h - what the JSON of an error says. */
#pragma once
#include "lib/json/json.h"

struct error_words {
	struct str type, code, message; /* empty: it says none */
};

/* Texts are in the arena, or slices of what was parsed. */
struct error_words error_words_of(const struct json *root, struct arena *arena);
