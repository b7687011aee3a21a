/* SPDX-License-Identifier: MIT
 * settings_file.h - one settings file: strict JSON with an object at the top, and the line of each value. */
#pragma once
#include "lib/json/json.h"
#include "lib/base/arena.h"

struct settings_file {
	char *path; /* owned; names the file in messages */
	struct buf text;
	struct json_reader reader;
	const struct json *root; /* an object; NULL: there is no such file */
};

enum { SETTINGS_FILE_LIMIT = 2 << 20, SETTINGS_FILE_DEPTH = 60 };

/* A missing file is not an error. A bad one is -ERR_USAGE with a text "PATH:LINE:COLUMN: what". f need not be
 * initialised; on failure it is released. */
int settings_file_read_up_to(struct settings_file *f, const char *path, size_t limit_bytes, struct err *err);
/* The same for a text from elsewhere, such as the command line; path is its name in messages. text is copied. */
int settings_file_parse_up_to(struct settings_file *f, const char *path, struct str text, size_t limit_bytes,
			      struct err *err);
static inline int settings_file_read(struct settings_file *f, const char *path, struct err *err)
{
	return settings_file_read_up_to(f, path, SETTINGS_FILE_LIMIT, err);
}

static inline int settings_file_parse(struct settings_file *f, const char *path, struct str text, struct err *err)
{
	return settings_file_parse_up_to(f, path, text, SETTINGS_FILE_LIMIT, err);
}
/* What is wrong, without "PATH:LINE:COLUMN: " before it; the line is 0 if the text names none. Borrowed from err. */
const char *settings_file_problem(const struct err *err, const char *path, unsigned *ret_line);
void settings_file_release(struct settings_file *f);
#define AUTO_SETTINGS_FILE CLEANUP(settings_file_release)

/* Lines and columns of values. Values that are asked for in the order of the text cost one pass together. */
struct settings_cursor {
	const char *line_start; /* NULL: at the beginning */
	unsigned line, column;  /* of the last value, 1-based, the column in bytes; 0: not in this file */
};
void settings_cursor_move(struct settings_cursor *c, const struct settings_file *f, const struct json *value);
unsigned settings_line(const struct settings_file *f, const struct json *value); /* 1-based; 0: not in this file */

/* Search paths of settings files, lowest priority first.
 * 
 *     user < project < local < flag < managed
 * 
 *     user      CONFIG/settings.json
 *     project   CWD/.claude/settings.json; nothing above CWD
 *     local     CWD/.claude/settings.local.json, then that of the repository's root (of a linked worktree: of the main
 *               checkout), which is the higher one
 *     flag      --settings: a JSON object, or a file
 *     managed   MANAGED/managed-settings.json, then MANAGED/managed-settings.d/NAME.json in the order of the names
 * 
 * The list is rebuilt for each check, so that new files are found. */
enum settings_layer { LAYER_USER, LAYER_PROJECT, LAYER_LOCAL, LAYER_FLAG, LAYER_MANAGED, LAYER_COUNT };

const char *settings_layer_name(enum settings_layer layer); /* "user", "project", "local", "flag", "managed" */

enum setting_sources { SETTINGS_USER = 1 << 0, SETTINGS_PROJECT = 1 << 1, SETTINGS_LOCAL = 1 << 2, SETTINGS_ALL = 7 };

/* "user,project,local" in any order; "" is none. -ERR_USAGE names what is expected. */
int setting_sources_parse(struct str list, unsigned *ret_sources, struct err *err);

/* All paths absolute */
struct settings_spec {
	const char *cwd, *config_dir;
	const char *managed_dir; /* NULL: none */
	const char *managed;     /* a JSON object used if there are no managed files; NULL: none */
	const char *flag;        /* a JSON object, or the path of a file; NULL: none */
	const char *
		bad_state; /* why state_file, which says what is trusted, cannot be read: agents do not run; NULL: it can */
	const char *state_file; /* for that message; NULL: none */
	unsigned sources;       /* enum setting_sources: which of user, project and local count */
	bool bare;              /* none of them */
	bool sdk;               /* started by an SDK or a script: only the local file in cwd applies */
	bool trusted;           /* the user trusts the folder: its files may widen permissions */
};

struct settings_path {
	enum settings_layer layer;
	const char *path; /* a path; for flag and managed also the JSON text, which begins with '{' */
};

/* { .arena = a } is empty; lives and dies with the arena */
struct settings_paths {
	struct arena *arena;
	struct settings_path *list;
	size_t count;
};

/* The files need not exist. A managed directory that cannot be listed is an error: its restrictions are unknown. */
int settings_paths_find(struct settings_paths *paths, const struct settings_spec *spec, struct err *err);
/* The file that stores local settings: the last local entry of the list. In the arena. */
char *settings_local_path(struct arena *a, const struct settings_spec *spec);
