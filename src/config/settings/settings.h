/* SPDX-License-Identifier: MIT
 * settings.h - all layers of settings as one immutable snapshot, shared by reference.
 *
 *     struct settings *s;
 *     if (settings_load(&spec, &s, &err) < 0) ...                        (a bad file: "PATH:LINE:COLUMN: what")
 *     int64_t depth = settings_i64(s, "subagents.maxDepth", 3);
 *     settings_each(s, "permissions.deny", add_rule, data);              (every rule with the file it stands in)
 *     settings_unref(s);
 *
 * Where files are and which one is higher: settings_place.h. What is known of a key and how its layers are merged:
 * settings_key.h. A path names members from the top, "worktree.baseRef"; below a map of the user's own names, what is left
 * of the path may be one name ("enabledPlugins.tool@my.place"). Values are borrowed from the snapshot.
 *
 * Files that came with a project may only narrow until the user trusts the folder (spec.trusted). This is enforced here, for
 * all keys, so that no reader has to ask: what such a file may not say is in no value, and settings_explain() and the notes
 * show it as held. Variables have a rule of their own, enum env_trust. */
#pragma once
#include "lib/json/json.h"
#include "config/settings/settings_place.h"

struct settings;

/* Where a value stands */
struct settings_origin {
	enum settings_layer layer;
	const char *file;      /* borrowed from the snapshot; "--settings" for JSON on the command line */
	unsigned line, column; /* 1-based, the column in bytes */
};

/* Copies spec. A file that is not strict JSON, or that gives a known key a value of a wrong type, is -ERR_USAGE. A file that
 * is not there is none, but for the one that --settings names. */
int settings_load(const struct settings_spec *spec, struct settings **ret_settings, struct err *err);
struct settings *settings_ref(struct settings *s); /* keeps a reference, returns it; NULL is allowed */
void settings_unref(struct settings *s);
bool settings_trusted(const struct settings *s); /* the user trusts the folder, as spec said */

/* Whether a file has changed, appeared or gone since the snapshot was made. Costs some stats. */
bool settings_stale(const struct settings *s);
/* 1: *s was replaced by a new snapshot, and the reference to the old one was dropped; 0: nothing has changed. A file that has
 * become bad is an error, said with each call for as long as it is bad, and *s stays as it is. Keys with SETTING_AT_START
 * are in the new snapshot too: who uses them takes them from the first. */
int settings_refresh(struct settings **s, struct err *err);
/* Borrowed until return. */
typedef void settings_change_fn(void *data, enum settings_layer layer, const char *file);
/* Every file that says something else in `to`, is new there, or is gone; lowest layer first, those that are gone last. */
void settings_each_change(const struct settings *from, const struct settings *to, settings_change_fn *fn, void *data);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The merged value; NULL: nobody says anything. The origin is that of the highest file with a say (ret_origin may be NULL). */
const struct json *settings_get(const struct settings *s, const char *path, struct settings_origin *ret_origin);
bool settings_bool(const struct settings *s, const char *path, bool fallback);
int64_t settings_i64(const struct settings *s, const char *path, int64_t fallback);
double settings_double(const struct settings *s, const char *path, double fallback);
/* A copy in the arena. */
const char *settings_cstr(const struct settings *s, const char *path, struct arena *a, const char *fallback);
/* A list of texts, NULL-terminated, in the arena; NULL: nobody says anything. */
const char *const *settings_texts(const struct settings *s, const char *path, struct arena *a);

/* One element of an array, or one member of an object (with its key), as one file says it. */
struct settings_item {
	struct settings_origin origin;
	const struct json *key; /* NULL: an element */
	const struct json *value;
};
/* Borrowed until return. */
typedef void settings_item_fn(void *data, const struct settings_item *item);
/* Of every file that counts, the lowest layer first, nothing merged and no doubles removed. */
void settings_each(const struct settings *s, const char *path, settings_item_fn *fn, void *data);

/* ---- environment ------------------------------------------------------------------------------------------------- */

/* Whose variables count. A project's are the words of whoever wrote the project. */
enum env_trust {
	ENV_OWN,  /* none of project and local: on the terminal, before the folder is trusted */
	ENV_SAFE, /* all but the dangerous names of project and local: a script in a folder that is not trusted */
	ENV_ALL,  /* the folder is trusted */
};

struct settings_var {
	const char *name, *value;
	struct settings_origin origin;
	bool held; /* not applied, because the folder is not trusted */
};
typedef void settings_var_fn(void *data, const struct settings_var *var);
/* Every variable once, with the highest value that counts; then those that are held back. */
void settings_env_each(const struct settings *s, enum env_trust trust, settings_var_fn *fn, void *data);
/* As a process would see it: the settings' value, else that of the environment, else NULL. Borrowed from either. */
const char *settings_getenv(const struct settings *s, enum env_trust trust, const char *name);
/* Names that decide which program runs, which code it loads, where keys are sent, or what protects the user. */
bool env_is_dangerous(struct str name);
/* Names that by custom hold a credential: ANTHROPIC_API_KEY, GITHUB_TOKEN, DB_PASSWORD, also in lower case. */
bool env_is_secret(struct str name);

/* ---- for people -------------------------------------------------------------------------------------------------- */

/* What was read and has no effect */
enum settings_note_kind {
	NOTE_UNKNOWN,   /* a key that is not known */
	NOTE_IGNORED,   /* a managed key outside the managed layer, and the like */
	NOTE_HELD,      /* it waits for trust in the folder */
	NOTE_NO_EFFECT, /* SETTING_NO_EFFECT */
};
struct settings_note {
	struct settings_origin origin;
	enum settings_note_kind kind;
	const char *key; /* NULL: not known */
	const char *message;
};
const struct settings_note *settings_notes(const struct settings *s, size_t *ret_count);

enum settings_effect {
	EFFECT_NO_FILE,    /* there is no such file */
	EFFECT_SILENT,     /* it says nothing about the key */
	EFFECT_IGNORED,    /* it may not say this */
	EFFECT_HELD,       /* it may not say this until the user trusts the folder */
	EFFECT_OVERRIDDEN, /* a higher file replaces it */
	EFFECT_JOINS,      /* the merged value is made of it and others */
	EFFECT_WINS,       /* it is the merged value */
};
struct settings_view {
	struct settings_origin origin;
	const struct json *value; /* as it stands in the file; NULL: not said */
	enum settings_effect effect;
	const char *why; /* of EFFECT_IGNORED and EFFECT_HELD */
};
typedef void settings_view_fn(void *data, const struct settings_view *view);
/* What each file says about a key, the highest first. An empty path tells of the files alone. */
void settings_explain(const struct settings *s, const char *path, settings_view_fn *fn, void *data);
/* Every known key, and every unknown one, that somebody set, with its merged value, in the order of the files. An unknown key
 * with a dot in its name can look like a path to another one; key is NULL then. */
struct setting_key;
typedef void settings_member_fn(void *data, const char *path, const struct setting_key *key, const struct json *value);
void settings_each_set(const struct settings *s, settings_member_fn *fn, void *data);
