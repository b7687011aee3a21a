/* SPDX-License-Identifier: MIT
 * file_tool.c - what the file tools share. */
#include "tools/files/text_file.h"
#include "lib/io/file.h"
#include "guard/permission/resolved_path.h"

char *file_tool_path(struct tool_call *call, const char *parameter)
{
	struct str path = json_str(json_get(call->input, parameter), &call->arena);

	if (!path.n || memchr(path.p, '\0', path.n)) {
		tool_call_reject(call, "%s must be a path, not an empty text or one with a NUL in it.", parameter);
		return NULL;
	}
	return path_absolute(&call->arena, call->env->cwd, path);
}

bool file_tool_find(struct tool_call *call, const char *parameter, char **ret_path, const char **ret_target)
{
	char *path = file_tool_path(call, parameter);

	if (!path)
		return false;
	*ret_path = call->file ? arena_strdup(&call->arena, call->file) : path;
	*ret_target = call->file ? call->file_target : resolved_path_find(&call->arena, "/", str_from(path)).target;
	if (!*ret_target)
		tool_call_fail(call, "cannot open %s: too many levels of symbolic links", path);
	return *ret_target;
}

void file_tool_missing(struct tool_call *call, bool reject)
{
	(reject ? tool_call_reject : tool_call_fail)(
		call, "File does not exist. Note: your current working directory is %s.", call->env->cwd);
}

bool file_tool_check_seen(struct tool_call *call, const char *path, const struct text_file *file)
{
	enum file_known known = file_state_check(call->env->files, path, file->stamp);

	if (!file->exists || known == FILE_CURRENT)
		return true;
	tool_call_reject(call, known == FILE_UNREAD
				       ? "File has not been read yet. Read it first before writing to it."
				       : "File has been modified since it was read, by the user or by a program. "
					 "Read it again before writing to it.");
	return false;
}

int file_tool_save(struct tool_call *call, const char *target, const struct text_file *file, struct str text,
		   struct file_stamp *ret_stamp, struct err *err)
{
	struct tool_env *env = call->env;
	AUTO_BUF struct buf bytes = { 0 };

	if (env->before_change) {
		text_file_encode(file, text, &bytes);
		int rc = env->before_change(env, target, buf_str(&bytes), err);
		if (rc < 0)
			return rc;
	}
	return text_file_save(target, file, text, ret_stamp, err);
}
