/* SPDX-License-Identifier: MIT
 * settings_int.h - the snapshot, for the files that make it. */
#pragma once
#include "lib/io/file.h"
#include "config/settings/settings.h"
#include "config/settings/settings_file.h"
#include "config/settings/settings_key.h"

enum { SETTINGS_NOTES_LIMIT = 200, SETTINGS_MISFITS_LIMIT = 500, SETTINGS_PARTS_LIMIT = 50 };

struct layer_file {
	enum settings_layer layer;
	struct settings_file file;
	struct read_stamp stamp;
	bool refused;  /* it cannot be read */
	bool believed; /* it may widen permissions: settings_is_own(), or the folder is trusted */
	/* Values that do not fit their keys, or keys of such variables: nothing in them counts. */
	const struct json **misfits;
	size_t misfit_count;
};

struct env_var {
	const char *name, *value;
	bool foreign; /* of a file that others can write */
	struct settings_origin origin;
};

struct settings {
	unsigned refs;
	struct arena arena;
	struct settings_spec spec;
	struct layer_file *files; /* one for each path, lowest first */
	size_t file_count;
	struct settings_note *notes;
	size_t note_count, note_cap;
	size_t held_count, other_count; /* of notes */
	struct env_var *vars;           /* of all files, lowest first */
	size_t var_count, var_cap;
	struct err refusal; /* why agents may not run; an empty text: they may */
	struct buf text;    /* the merged settings */
	struct json_reader reader;
	const struct json *root;
};

/* The value of one path in one file */
struct settings_part {
	const struct json *value;
	const struct layer_file *from;
};

struct settings_origin settings_origin_of(const struct layer_file *f, struct settings_cursor *at,
					  const struct json *value);

/* settings_merge.c: types and unknown keys; fills notes, vars, misfits and the refusal. */
void settings_check(struct settings *s, struct layer_file *from);
/* The file cannot be read at all, so that what it takes away from agents is not known. */
void settings_refuse_file(struct settings *s, const struct layer_file *from, const char *why);
/* Whether a value stands in one that does not fit its key. */
bool settings_left_out(const struct layer_file *from, const struct json *value);

/* settings_merge.c */
void settings_merge(struct settings *s); /* writes s->text */
extern const char settings_untrusted[];
/* NULL if the value of this file applies, else the reason; settings_untrusted: it is held. key: that of the value, or
 * the known one above it. */
const char *settings_ignored(const struct settings *s, const struct setting_key *key, const struct layer_file *from,
			     const struct json *value);
/* The parts from *ret_first on, lowest first, make the merged value; returns the index of the winner. count is not
 * 0. */
size_t settings_winner(const struct setting_key *key, bool whole, const struct settings_part *parts, size_t count,
		       size_t *ret_first);

static inline bool settings_is_projects(enum settings_layer layer)
{
	return layer == LAYER_PROJECT || layer == LAYER_LOCAL;
}
/* Whether the file was written by the user, not by the author of the project. */
bool settings_is_own(enum settings_layer layer, const char *file, const char *config_dir);

/* settings_env.c */
void settings_env_add(struct settings *s, const struct layer_file *from, const struct json *env);
