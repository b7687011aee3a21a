/* SPDX-License-Identifier: MIT
 * library.h - what other packages bring: loads optional shared libraries on first use, so that they cost no start time
 * and a machine without them lacks only that feature.
 *
 * The caller has a struct of function pointers with types from the library's header (`__typeof__(gdImageScale)
 * *scale;`), and a const table that maps symbols to members. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

struct library_symbol {
	const char *name;
	size_t offset; /* of its member */
};

struct library {
	const char *const *files; /* names for dlopen in order of preference, NULL-terminated */
	const char *package;      /* the package to install, for the error */
	const struct library_symbol *symbols;
	size_t count;
};

/* Fills *functions. The library stays loaded until the process ends; loading it again is cheap. Thread-safe, but the
 * caller must guard *functions. On failure *functions is unchanged. */
int library_load(const struct library *library, void *functions, struct err *err);

/* The same question for a program: the first in the absolute directories of this PATH, which may be
 * NULL. False: there is none. */
bool program_find(const char *path, const char *name, struct buf *ret_file);
