/* SPDX-License-Identifier: MIT
 * bash_result.h - what the model reads about a command that ended; only for tool_bash.c. */
#pragma once
#include "tools/shell_set.h"

struct bash_limits {
	size_t inline_chars;  /* more goes to a file */
	size_t failure_chars; /* of a failure: beginning and end, half of it each */
};

/* Fills result and result_json. meaning explains an exit code that is no failure; may be NULL. */
void bash_result_success(struct tool_call *call, struct shell *shell, const struct bash_limits *limits,
			 const char *meaning);
/* first_line ("Exit code 2"), then the output. */
void bash_result_failure(struct tool_call *call, struct shell *shell, const struct bash_limits *limits,
			 struct str first_line);
/* For a command that goes on: no output yet, id and (when it was moved) the time it had. */
void bash_result_background(struct tool_call *call, const struct shell *shell, uint64_t timed_out_ms);
