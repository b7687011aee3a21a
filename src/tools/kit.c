/* SPDX-License-Identifier: MIT
 * kit.c - the state that tools keep for each agent: files that it has read, its shells, its task lists. */
#include <sys/stat.h>
#include "tools/files/text_file.h"
#include "tools/shell/shell_set.h"
#include "tools/tasks/todo_list.h"
#include "tools/tools.h"

enum { MOST_LISTED_FILES = 20 };

static void kit_open(struct tool_env *env)
{
	env->files = xcalloc(1, sizeof *env->files);
	env->shells = shell_set_new(env);
}

static void kit_end_shells(struct tool_env *env)
{
	shell_set_free(TAKE(env->shells));
}

static void kit_close(struct tool_env *env)
{
	kit_end_shells(env);
	if (env->main_thread && env->todos)
		todo_book_free(TAKE(*env->todos));
	env->todos = NULL;
	if (env->files)
		file_state_release(env->files);
	free(TAKE(env->files));
}

/* A file that has not changed since counts as seen. It is not read here, on the loop: until the agent reads it again, a new time counts
 * as a change. */
static void kit_recall_file(struct tool_env *env, const char *path, int64_t seen_ms, bool partial)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	struct file_stamp stamp = file_stamp_of(&st, STR(""));
	stamp.has_hash = false;
	stamp.partial = partial;
	if (stamp.mtime_ns / 1000000 <= seen_ms)
		file_state_note(env->files, path, stamp);
}

static void kit_share_files(struct tool_env *env, const struct tool_env *from)
{
	for (const struct map_entry *e = map_next(&from->files->stamps, NULL); e; e = map_next(&from->files->stamps, e))
		file_state_note(env->files, e->key, *(const struct file_stamp *)e->value);
}

static void kit_list_files(struct tool_env *env, struct buf *out)
{
	file_state_list(env->files, MOST_LISTED_FILES, out);
}

const struct tool_runtime tool_runtime = {
	.open = kit_open,
	.end_shells = kit_end_shells,
	.close = kit_close,
	.recall_file = kit_recall_file,
	.share_files = kit_share_files,
	.list_files = kit_list_files,
	.list_todos = todo_add_reminder,
	.tasks_of = todo_tasks_of,
	.release_tasks = todo_release_tasks,
	.claim_task = todo_claim_next,
	.task_at = todo_task_at,
	.open_tasks = todo_open_tasks,
	.table = tool_table,
};
