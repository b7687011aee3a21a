/* SPDX-License-Identifier: MIT
 * library.h - shared libraries that only some work needs: they are loaded when it comes, so that a start does not pay for
 * them and a machine without them misses that work alone.
 *
 * The user keeps a struct of pointers whose types come from the library's own header
 * (`__typeof__(gdImageScale) *scale;`), and a const table that says which name goes into which member. */
#pragma once
#include <stddef.h>

struct err;

struct library_symbol {
	const char *name;
	size_t offset; /* of the member that takes its address */
};

struct library {
	const char *const *files; /* names that dlopen knows, the best first, NULL-terminated */
	const char *package;      /* what to install when none is there, for the error */
	const struct library_symbol *symbols;
	size_t count;
};

/* Fills the members of *functions. The library stays loaded until the process ends, and a second load of it is cheap. May
 * be called on any thread; *functions is the caller's to guard. On failure it is as it was. */
int library_load(const struct library *library, void *functions, struct err *err);
