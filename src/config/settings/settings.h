/* SPDX-License-Identifier: MIT
 * settings.h - all layers of settings as one immutable snapshot, shared by reference.
 *
 *     struct settings *s;
 *     if (settings_load(&spec, &s, &err) < 0) ...                        (bad --settings: "PATH:LINE:COLUMN: what")
 *     if (settings_refusal(s, &err) < 0) ...                             (no agent may run)
 *     int64_t depth = settings_i64(s, "subagents.maxDepth");
 *     settings_each(s, "permissions.deny", add_rule, data);              (every rule with the file it stands in)
 *     settings_unref(s);
 *
 * File locations and their priority: settings_file.h. Known keys and how layers are merged: settings_key.h. A path
 * names members from the top, "worktree.baseRef"; below a map with user-chosen names, the rest of the path may be one
 * name ("enabledPlugins.tool@my.place"). Values are borrowed from the snapshot.
 *
 * Project files may only narrow until the user trusts the folder (spec.trusted). This is enforced here for all keys,
 * not by readers: a value that such a file may not set is left out, and settings_explain() and the notes show it as
 * held. Variables have their own rule, enum env_trust. */
#pragma once
#include "lib/json/json.h"
#include "config/settings/settings_file.h"

struct settings;

/* Source position of a value */
struct settings_origin {
	enum settings_layer layer;
	const char *file;      /* borrowed from the snapshot; "--settings" for JSON on the command line */
	unsigned line, column; /* 1-based, the column in bytes */
};

/* Copies spec. What --settings gives must be there and be strict JSON, otherwise -ERR_USAGE. A value that does not fit its key
 * is left out, with a note. If it restricts (setting_restricts()), or a file cannot be read, the snapshot can be looked at but
 * settings_refusal() is the reason why no agent may run. null is the same as no value. */
int settings_load(const struct settings_spec *spec, struct settings **ret_settings, struct err *err);
/* The value of strictPluginOnlyCustomization: whether this kind ("agents", "hooks", "mcp", "skills") may come from plugins only. true:
 * every kind; an object or a list names them. */
bool settings_locks_kind(const struct json *lock, const char *kind);
int settings_refusal(const struct settings *s, struct err *err); /* -ERR_USAGE names file, line and what was expected */
struct settings *settings_ref(struct settings *s);               /* keeps a reference, returns it; NULL is allowed */
void settings_unref(struct settings *s);
const struct settings_spec *settings_source(const struct settings *s); /* the spec that it was loaded by */
static inline bool settings_trusted(const struct settings *s)
{
	return settings_source(s)->trusted;
}
/* Paths of the files that exist, lowest layer first, NULL-terminated. The list is in the arena; paths are borrowed. */
const char *const *settings_files(const struct settings *s, struct arena *a);

/* Whether a file was changed, created or deleted since the snapshot. Costs a few stat calls. */
bool settings_stale(const struct settings *s);
/* 1: *s was replaced by a new snapshot, and the reference to the old one was dropped; 0: nothing has changed. An
 * invalid file is an error, reported with each call while it is invalid, and *s stays. Keys with SETTING_AT_START are
 * in the new snapshot too; their readers use the first one. */
int settings_refresh(struct settings **s, struct err *err);
/* Borrowed until return. */
typedef void settings_change_fn(void *data, enum settings_layer layer, const char *file);
/* Every file that was changed, added or removed in `to`; lowest layer first, removed files last. */
void settings_each_change(const struct settings *from, const struct settings *to, settings_change_fn *fn, void *data);

/* The merged value; NULL: not set. The origin is the highest file that sets it (ret_origin may be NULL). */
const struct json *settings_get(const struct settings *s, const char *path, struct settings_origin *ret_origin);
/* The same, or the default of the table of keys; without one false, 0 or NULL. */
bool settings_bool(const struct settings *s, const char *path);
int64_t settings_i64(const struct settings *s, const char *path);
double settings_double(const struct settings *s, const char *path);
const char *settings_cstr(const struct settings *s, const char *path, struct arena *a); /* a copy in the arena */
/* A list of texts, NULL-terminated, in the arena; NULL: not set. */
const char *const *settings_texts(const struct settings *s, const char *path, struct arena *a);

/* One element of an array, or one member of an object (with its key), from one file. */
struct settings_item {
	struct settings_origin origin;
	const struct json *key; /* NULL: an element */
	const struct json *value;
};
/* Borrowed until return. */
typedef void settings_item_fn(void *data, const struct settings_item *item);
/* From every file in use, lowest layer first, without merging or removal of duplicates. */
void settings_each(const struct settings *s, const char *path, settings_item_fn *fn, void *data);

/* Which variables apply: the project's are not the user's own. */
enum env_trust {
	ENV_OWN, /* no project and local variables: on the terminal, before the folder is trusted */
	ENV_SAFE, /* of the project's and local ones those that are known to be harmless: a script in an untrusted folder */
	ENV_ALL, /* the folder is trusted */
};

struct settings_var {
	const char *name, *value;
	struct settings_origin origin;
	bool held; /* not applied, because the folder is not trusted */
};
typedef void settings_var_fn(void *data, const struct settings_var *var);
/* Every variable once, with its effective value; then the held ones. */
void settings_env_each(const struct settings *s, enum env_trust trust, settings_var_fn *fn, void *data);
/* The value that counts, or NULL. Borrowed. */
const char *settings_getenv(const struct settings *s, enum env_trust trust, const char *name);
/* Variables that select the program to run, the code it loads, where keys are sent, or a protection of the user. */
bool env_is_dangerous(struct str name);
bool env_is_harmless(struct str name);
bool env_is_model_key(struct str name); /* commands and servers do not get it */
/* Variables that usually hold a credential: ANTHROPIC_API_KEY, GITHUB_TOKEN, DB_PASSWORD, also in lower case. */
bool env_is_secret(struct str name);
bool env_holds_secret(struct str name, const char *value); /* by its name or its value; value may be NULL */

/* A value that was read and has no effect */
enum settings_note_kind {
	NOTE_UNKNOWN,   /* a key that is not known */
	NOTE_IGNORED,   /* for example a managed key outside the managed layer */
	NOTE_HELD,      /* held until the folder is trusted */
	NOTE_NO_EFFECT, /* SETTING_NO_EFFECT */
	NOTE_LEFT_OUT,  /* it does not fit its key */
	NOTE_REFUSED,   /* it does not fit, or cannot be read, and could restrict: settings_refusal() */
};
struct settings_note {
	struct settings_origin origin;
	enum settings_note_kind kind;
	const char *key; /* its path; NULL: the whole file, which the message names */
	const char *message;
};
const struct settings_note *settings_notes(const struct settings *s, size_t *ret_count);
/* The first value of this key that was left out; NULL: none was. */
const struct settings_note *settings_misfit_of(const struct settings *s, const char *key);

enum settings_effect {
	EFFECT_NO_FILE,    /* no such file */
	EFFECT_REFUSED,    /* a file that cannot be read: settings_refusal() */
	EFFECT_SILENT,     /* does not set the key */
	EFFECT_IGNORED,    /* may not set it */
	EFFECT_HELD,       /* may not set it until the user trusts the folder */
	EFFECT_OVERRIDDEN, /* overridden by a higher file */
	EFFECT_JOINS,      /* part of the merged value */
	EFFECT_WINS,       /* it is the merged value */
};
struct settings_view {
	struct settings_origin origin;
	const struct json *value;         /* as in the file; NULL: not set */
	const struct settings_file *file; /* gives the lines of values; lives as long as the settings */
	enum settings_effect effect;
	const char *why; /* of EFFECT_IGNORED and EFFECT_HELD */
};
typedef void settings_view_fn(void *data, const struct settings_view *view);
/* What each file sets for a key, highest first. An empty path lists the files alone. */
void settings_explain(const struct settings *s, const char *path, settings_view_fn *fn, void *data);
/* Every key that is set, known or not, with its merged value, in the order of the files. An unknown key with a dot in
 * its name can look like a path to another one; key is NULL then. */
struct setting_key;
typedef void settings_member_fn(void *data, const char *path, const struct setting_key *key, const struct json *value);
void settings_each_set(const struct settings *s, settings_member_fn *fn, void *data);
