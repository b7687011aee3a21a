/* SPDX-License-Identifier: MIT
 * settings_file.h - one settings file: strict JSON with an object at the top, and the line of each value. */
#pragma once
#include "lib/json/json.h"

struct settings_file {
	char *path; /* owned; names the file in messages */
	struct buf text;
	struct json_reader reader;
	const struct json *root; /* an object; NULL: there is no such file */
};

enum { SETTINGS_FILE_LIMIT = 2 << 20, SETTINGS_FILE_DEPTH = 60 };

/* A missing file is not an error. A bad one is -ERR_USAGE with a text "PATH:LINE:COLUMN: what". f need not be
 * initialised; on failure it is released. */
int settings_file_read(struct settings_file *f, const char *path, struct err *err);
int settings_file_read_up_to(struct settings_file *f, const char *path, size_t limit_bytes, struct err *err);
/* The same for a text from elsewhere, such as the command line; path is its name in messages. text is copied. */
int settings_file_parse(struct settings_file *f, const char *path, struct str text, struct err *err);
int settings_file_parse_up_to(struct settings_file *f, const char *path, struct str text, size_t limit_bytes,
			      struct err *err);
void settings_file_release(struct settings_file *f);
#define AUTO_SETTINGS_FILE CLEANUP(settings_file_release)

/* Lines and columns of values. Values that are asked for in the order of the text cost one pass together. */
struct settings_cursor {
	const char *line_start; /* NULL: at the beginning */
	unsigned line, column;  /* of the last value, 1-based, the column in bytes; 0: not in this file */
};
void settings_cursor_move(struct settings_cursor *c, const struct settings_file *f, const struct json *value);
unsigned settings_line(const struct settings_file *f, const struct json *value); /* 1-based; 0: not in this file */
