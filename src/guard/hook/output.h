/* SPDX-License-Identifier: MIT
 * output.h - reads the output of one hook. It is not trusted: any bytes, any length up to the limits, any exit. */
#pragma once
#include "lib/base/arena.h"
#include "guard/hook/event.h"

enum {
	HOOK_OUT_LIMIT = 1 << 20,    /* bytes of stdout, or of an HTTP body, that are kept */
	HOOK_ERR_LIMIT = 64 << 10,   /* bytes of stderr that are kept */
	HOOK_FLOOD_LIMIT = 64 << 20, /* a hook that prints more is killed */
	HOOK_NO_EXIT = -1,           /* it did not exit by itself */
};

/* The stricter one is the greater one */
enum hook_permission {
	HOOK_PERMISSION_NONE,
	HOOK_PERMISSION_ALLOW,
	HOOK_PERMISSION_ASK,
	HOOK_PERMISSION_DEFER,
	HOOK_PERMISSION_DENY,
};

enum hook_result { HOOK_SUCCESS, HOOK_ERROR, HOOK_CANCELLED };
const char *hook_result_name(enum hook_result result); /* "success", "error", "cancelled" */

/* What came back from a handler; borrowed */
struct hook_raw {
	enum hook_event event;
	int exit_code; /* 0 for handlers that are not processes */
	struct str out, err;
	bool out_cut;   /* there was more than the limit */
	bool json_only; /* anything but nothing and a JSON object is an error */
};

/* Texts are in the arena or in the raw text. p == NULL: not given. */
struct hook_reply {
	enum hook_result result;
	struct str note; /* one line for people: why it is an error */
	bool stop, block;
	bool unread; /* there is an answer, and it cannot be read */
	struct str stop_reason, system_message, terminal_sequence;
	struct str reason; /* of block */
	enum hook_permission permission;
	struct str permission_reason;
	struct str context;                  /* for the model */
	struct str fields[HOOK_FIELD_COUNT]; /* JSON; only those that count for the event */
};

/* Exit 0 or any: see docs/hooks.md. Never fails; *ret is wholly written. */
void hook_output_read(struct arena *arena, const struct hook_raw *raw, struct hook_reply *ret);
/* The answer of a model to a prompt or agent hook: {"ok": bool, "reason"?, "impossible"?}, also with text around it. */
void hook_answer_read(struct arena *arena, enum hook_event event, bool continue_on_block, struct str answer,
		      struct hook_reply *ret);
/* The event is refused for this reason; also the permission, where the event has one. */
void hook_reply_block(struct hook_reply *reply, enum hook_event event, struct str reason);
struct str hook_repaired(struct arena *arena, struct str text); /* as valid UTF-8: itself, or a copy in the arena */

/* Only BEL and the titles and notices of OSC 0, 1, 2, 9, 99, 777: nothing that moves, clears, reads or pastes. */
bool hook_sequence_is_harmless(struct str s);
