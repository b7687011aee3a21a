/* SPDX-License-Identifier: MIT
 * toolbox.c - a place for tests of tools. */
#include "toolbox.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "unit.h"
#include "lib/io/file.h"
#include "tools/tools.h"

static void allow(struct tool_gate *gate, struct tool_call *call)
{
	tool_call_decided(call, TOOL_ALLOW, STR(""));
}

void toolbox_open(struct toolbox *box)
{

	*box = (struct toolbox){ .gate = { .ask = allow } };
	folder_make(box->dir);
	const char **dirs = arena_calloc(&box->arena, 2 * sizeof(char *));
	dirs[0] = box->dir;
	const char **envp = arena_calloc(&box->arena, 3 * sizeof(char *));
	envp[0] = arena_printf(&box->arena, "HOME=%s", box->dir);
	envp[1] = arena_printf(&box->arena, "PATH=%s", getenv("PATH"));
	box->env = (struct tool_env){
		.loop = loop_new(0),
		.cwd = box->dir,
		.root = box->dir,
		.dirs = dirs,
		.session_id = "00000000-0000-4000-8000-000000000000",
		.results_dir = toolbox_path(box, ".results"),
		.tasks_dir = toolbox_path(box, ".tasks"),
		.envp = envp,
		.files = &box->files,
		.main_thread = true,
		.owner = box,
	};
}

void toolbox_close(struct toolbox *box)
{
	tool_call_free(box->call);
	file_state_release(&box->files);
	loop_free(box->env.loop);
	folder_remove(box->dir);
	arena_release(&box->arena);
}

static void on_done(struct tool_call *call)
{
	struct toolbox *box = call->owner;

	box->done++;
}

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; tool_table[i]; i++)
		if (!strcmp(tool_table[i]->name, name))
			return tool_table[i];
	return NULL;
}

static void begin(struct toolbox *box, const char *tool, struct str input)
{
	char id[32];

	tool_call_free(box->call);
	snprintf(id, sizeof id, "toolu_%u", ++box->calls);
	box->call = tool_call_new(&box->env, &box->gate, find_tool(tool), str_from(id), str_from(tool), input);
	box->call->done = on_done;
	box->call->owner = box;
	box->done = 0;
	tool_call_start(box->call);
}

void toolbox_finish(struct toolbox *box)
{
	loop_run(box->env.loop);
	CHECK_INT(box->done, 1);
}

void toolbox_begin(struct toolbox *box, const char *tool, const char *input)
{
	char *json = arena_strdup(&box->arena, input);

	for (char *c = json; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	begin(box, tool, str_from(json));
}

void toolbox_run_json(struct toolbox *box, const char *tool, struct str input)
{
	begin(box, tool, input);
	toolbox_finish(box);
}

void toolbox_run(struct toolbox *box, const char *tool, const char *input_fmt, ...)
{
	AUTO_FREE char *input = NULL;
	va_list ap;

	va_start(ap, input_fmt);
	if (vasprintf(&input, input_fmt, ap) < 0)
		base_oom(0);
	va_end(ap);
	toolbox_begin(box, tool, input);
	toolbox_finish(box);
}

struct str toolbox_text(const struct toolbox *box)
{
	return buf_str(&box->call->result);
}

struct str toolbox_object(const struct toolbox *box)
{
	return buf_str(&box->call->result_json);
}

char *toolbox_path(struct toolbox *box, const char *name)
{
	return path_join(&box->arena, box->dir, name);
}

void toolbox_put_bytes(struct toolbox *box, const char *name, struct str bytes)
{
	file_put(toolbox_path(box, name), bytes);
}

void toolbox_put(struct toolbox *box, const char *name, const char *text)
{
	toolbox_put_bytes(box, name, str_from(text));
}

struct str toolbox_get(struct toolbox *box, const char *name)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };

	if (file_read(toolbox_path(box, name), 64 << 20, &bytes, &err) < 0)
		fail_msg("%s", err.text);
	return arena_str(&box->arena, buf_str(&bytes));
}

void toolbox_age(struct toolbox *box, const char *name, long seconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - seconds } };

	CHECK_INT(utimensat(AT_FDCWD, toolbox_path(box, name), times, 0), 0);
}

int toolbox_program(struct toolbox *box, const char *const *argv, struct buf *out)
{
	return program_run(box->dir, argv, box->env.envp, false, out);
}
