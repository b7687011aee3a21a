/* SPDX-License-Identifier: MIT
 * toolbox.h - a place for tests of tools: a temporary directory, a loop, an agent's tool_env with a gate that allows
 * everything. One call after the other: the last one stays readable in box.call.
 *
 *     CLEANUP(toolbox_close) struct toolbox box;
 *     toolbox_open(&box);
 *     toolbox_put(&box, "a.txt", "one\n");
 *     toolbox_run(&box, "Read", "{'file_path':'a.txt'}");
 *     CHECK_STR(toolbox_text(&box), "1\tone\n2\t");                                                              */
#pragma once
#include "core/tool/tool.h"
#include "tools/files/text_file.h"
#include "unit.h"

struct toolbox {
	char dir[FOLDER_MAX]; /* the agent's directory; removed at the end */
	struct tool_env env;  /* a test may change it before a run */
	struct tool_gate gate;
	struct file_state files;
	struct tool_call *call; /* the last one; NULL before the first */
	unsigned done;          /* how often the last call's done came */
	unsigned calls;
	struct arena arena; /* for texts of the test */
};

void toolbox_open(struct toolbox *box);
void toolbox_close(struct toolbox *box);

/* Input is JSON with ' in place of " (toolbox_run_json takes it as it is); runs the loop until the call is done. */
void toolbox_run(struct toolbox *box, const char *tool, const char *input_fmt, ...) printf_like(3, 4);
void toolbox_run_json(struct toolbox *box, const char *tool, struct str input);
void toolbox_begin(struct toolbox *box, const char *tool, const char *input); /* started, the loop not run yet */
void toolbox_finish(struct toolbox *box);
struct str toolbox_text(const struct toolbox *box);   /* the result's text */
struct str toolbox_object(const struct toolbox *box); /* its tool_use_result */

char *toolbox_path(struct toolbox *box, const char *name);                 /* absolute, in the arena */
void toolbox_put(struct toolbox *box, const char *name, const char *text); /* makes the directories as well */
void toolbox_put_bytes(struct toolbox *box, const char *name, struct str bytes);
struct str toolbox_get(struct toolbox *box, const char *name);         /* the file's bytes, in the arena */
void toolbox_age(struct toolbox *box, const char *name, long seconds); /* sets the file's time back */

/* Runs a program in the directory and gives its standard output; NULL-terminated arguments, HOME is the directory.
 * Returns its exit status, or -1 when it is not installed. */
int toolbox_program(struct toolbox *box, const char *const *argv, struct buf *out);
