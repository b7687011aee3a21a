/* SPDX-License-Identifier: MIT
 * set_int.h - shared by set.c (sources, events, matchers) and handler.c (one handler). */
#pragma once
#include "guard/hook/set.h"
#include "config/settings/settings_file.h"

struct hook_builder {
	struct hook_set *set;
	const struct hook_source *source;
	const struct hook_policy *policy;
	struct diagnostics *diagnostics;
	struct hook_origin *origin;
	struct hook **tails[HOOK_EVENT_COUNT];
	enum hook_event event; /* being read */
	const struct hook_matcher *matcher;
	struct settings_cursor cursor; /* values come in the order of the file: lines are counted once */
};

unsigned hook_builder_line(struct hook_builder *b, const struct json *value);
void hook_builder_note(struct hook_builder *b, enum diagnostic_level level, const struct json *where, const char *fmt,
		       ...) printf_like(4, 5);
/* Something of the event that is read has no effect: an error if its hooks guard calls or prompts, because a guard that is lost opens
 * the door. */
void hook_builder_warn(struct hook_builder *b, const struct json *where, const char *fmt, ...) printf_like(3, 4);

enum { HOOKS_LIMIT = 10000 }; /* in a set */

/* One object of a list "hooks" is added to the set; what cannot be used is a diagnostic instead. */
void hook_read(struct hook_builder *b, const struct json *handler);
/* A function of the SDK; entry has timeout and onFailure. */
void hook_read_callback(struct hook_builder *b, const struct json *entry, const struct json *id);
