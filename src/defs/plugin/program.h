/* SPDX-License-Identifier: MIT
 * program.h - runs a program that fetches something (git, npm) and waits for it: no terminal, at most ten minutes. It has a
 * loop and a spawner of its own, so a loop of the caller never runs inside; what the program leaves running is ended. */
#pragma once
#include "lib/io/spawn.h"

struct program {
	const char *const *argv; /* argv[0] is found on PATH */
	const char *const *envp;
	const char *cwd;  /* NULL: ours */
	const char *what; /* for the error: "git clone ADDRESS" */
};

/* Blocks. -ERR_IO with what it printed, if it ends with anything but 0; -ERR_TIMEOUT. */
int program_run(const struct program *p, struct err *err);
