/* SPDX-License-Identifier: MIT
 * settings_key.h - the known settings: type, merge rule, default, one-line description.
 *
 * To add one: 1. a row in settings_key_table.c, in alphabetical order; 2. its line in docs/settings.md (a test compares
 * the two); 3. its reader calls settings_bool(), settings_i64(), settings_cstr(), settings_get() or settings_each()
 * with its path (a test looks for that), or it has SETTING_NO_EFFECT. A new key has no effect from a project in an
 * untrusted folder; SETTING_ANYONE is for harmless keys. */
#pragma once
#include "lib/json/json.h"

enum setting_type {
	SETTING_ANY,
	SETTING_BOOL,
	SETTING_INTEGER, /* from `least` on */
	SETTING_NUMBER,  /* from `least` on */
	SETTING_TEXT,
	SETTING_CHOICE,      /* one of `choices` */
	SETTING_TEXTS,       /* an array of strings */
	SETTING_ONE_OR_MORE, /* a string, or an array of strings */
	SETTING_RULES,       /* an array of permission rules: strings, or objects of the old form */
	SETTING_LIST,        /* an array of anything */
	SETTING_MAP,         /* an object with user-chosen member names */
	SETTING_ENV,         /* an object of strings, numbers and booleans, its keys names of variables */
	SETTING_LISTS,       /* an object of arrays, as hooks are */
	SETTING_TEXT_LISTS,  /* an object of arrays of strings */
	SETTING_CREDENTIALS, /* files and envVars: arrays of names, or of objects with one */
	SETTING_TYPE_COUNT
};

/* Without a flag: the highest layer's scalar wins, objects are merged by member, arrays are concatenated. */
enum setting_flags {
	SETTING_MANAGED = 1 << 0,          /* only from the managed layer */
	SETTING_WHOLE = 1 << 1,            /* the highest layer's value, never merged */
	SETTING_WHOLE_IF_MANAGED = 1 << 2, /* a managed value replaces all others, which are merged otherwise */
	SETTING_WHOLE_MEMBERS = 1 << 3,    /* merged by member name, but each member is taken whole */
	SETTING_AT_START = 1 << 4,         /* a change takes effect with the next session */
	SETTING_NO_AUTO = 1 << 5,          /* "auto" has no effect from the project and local layers */
	SETTING_OURS = 1 << 6,             /* cadre only: other programs do not read it */
	SETTING_NOT_PROJECT = 1 << 7,      /* has no effect from the project and local layers */
	SETTING_NO_EFFECT = 1 << 10,       /* known from other programs, not used here */
	SETTING_STORABLE = 1 << 11,        /* a session may store it for the user: it gives no agent more power */
	/* An untrusted file (settings_is_own()) has no effect, unless the key has one of these flags: */
	SETTING_ANYONE = 1 << 8, /* from every file: it can only narrow, or protects nothing */
	/* Applies if it narrows the value of the trusted files: true, a smaller number (where 0 is the default, 0 is no
	 * limit), a later one of the choices. */
	SETTING_IF_NARROWER = 1 << 9,
};

struct setting_key {
	const char *path; /* "worktree.baseRef" */
	enum setting_type type;
	unsigned flags;
	int64_t least;              /* of SETTING_INTEGER and SETTING_NUMBER */
	int64_t most;               /* the same; 0: any */
	const char *const *choices; /* of SETTING_CHOICE; ends with NULL; with SETTING_IF_NARROWER the widest first */
	/* JSON texts, from lax to strict; ends with NULL. The strictest one of all layers applies. */
	const char *const *strictness;
	const char *fallback; /* JSON text: the default; NULL: none */
	const char *summary;
};

extern const struct setting_key setting_table[]; /* sorted by path */
extern const size_t setting_count;

const struct setting_key *setting_find(struct str path); /* NULL: not known */
/* The one that was probably meant: its last name alone, in another case, or with a slip of a letter or two; NULL: none. */
const struct setting_key *setting_nearest(struct str path);
const struct setting_key *setting_at_or_above(struct str path);
bool setting_is_whole(struct str path); /* its value is taken from one layer, never merged */
bool setting_is_group(struct str path); /* known keys stand below it: "worktree" */

/* Position of a walk through a settings file. { .group = true } is its root. */
struct setting_ref {
	const struct setting_key *key; /* NULL: not a known setting */
	bool group;                    /* known settings stand below */
	struct str path;               /* of a key or a group */
};
/* A member named "a.b" is never the setting a.b: two ways to write one setting would need a rule for which one wins. */
struct setting_ref setting_below(struct arena *a, struct setting_ref above, struct str name);

/* The first part of the value that is not as it should be, behind `after` (NULL: from its start); NULL: it fits. */
const struct json *setting_misfit(const struct setting_key *key, const struct json *value, const struct json *after);
/* Whether this setting, or one of this group, takes something away from agents: if its value cannot be read, they must not
 * run without it. */
bool setting_restricts(struct str path);
void setting_expected(struct buf *out, const struct setting_key *key); /* one of "fresh", "head" */
