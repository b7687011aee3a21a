/* SPDX-License-Identifier: MIT
 * program.h - runs a program that fetches something (git, npm) and waits for it: no terminal, at most ten minutes. Only for
 * commands of the user, never while a session runs: the loop runs inside. */
#pragma once
#include "lib/io/spawn.h"

struct program {
	const char *const *argv; /* argv[0] is found on PATH */
	const char *const *envp;
	const char *cwd;  /* NULL: ours */
	const char *what; /* for the error: "git clone ADDRESS" */
};

/* -ERR_IO with what it printed, if it ends with anything but 0; -ERR_TIMEOUT. */
int program_run(struct loop *loop, struct spawner *spawner, const struct program *p, struct err *err);
