/* SPDX-License-Identifier: MIT
 * run.h - the ways to use the program. All return its exit code; errors were printed to standard
 * error. */
#pragma once
#include "face/cli/flag.h"

enum exit_code { EXIT_ANSWER = 0, EXIT_RUN = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

int print_run(const struct args *args); /* -p */
int wire_run(const struct args *args);  /* a program that speaks stream-json */

/* From now on SIGINT and SIGTERM end the program at once: there is nothing (or nothing more) to complete. */
void run_leave_on_signal(void);
int run_fail(const struct err *err); /* prints it; returns the exit code for its kind */
