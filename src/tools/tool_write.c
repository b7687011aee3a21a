/* SPDX-License-Identifier: MIT
 * tool_write.c - Write: a whole file, new or in place of one that the agent has seen. */
#include "lib/json/json_write.h"
#include "tools/file_tool.h"
#include "tools/line_diff.h"
#include "tools/tool_list.h"

static void write_start(struct tool_call *call);

const struct tool tool_write = {
	TOOL_WRITE_FACTS,
	.start = write_start,
};

static void put_result(struct tool_call *call, const char *path, const struct text_file *file, struct str content)
{
	struct json_out w = json_out(&call->result_json);

	json_open(&w, '{');
	json_kcstr(&w, "type", file->exists ? "update" : "create");
	json_kcstr(&w, "filePath", path);
	json_kstr(&w, "content", content);
	json_key(&w, "structuredPatch");
	if (file->exists) {
		line_diff_put(&w, buf_str(&file->text), content);
		json_kstr(&w, "originalFile", buf_str(&file->text));
	} else {
		json_put_raw(&w, STR("[]"));
		json_key(&w, "originalFile");
		json_put_null(&w);
	}
	json_close(&w);
}

/* True when the agent may replace the file; otherwise the call has been answered. */
static bool may_replace(struct tool_call *call, const char *path, const struct text_file *file)
{
	enum file_known known = file_state_check(call->env->files, path, file->stamp);

	if (!file->exists || known == FILE_CURRENT)
		return true;
	if (known == FILE_UNREAD)
		tool_call_reject(call, "File has not been read yet. Read it first before writing to it.");
	else
		tool_call_reject(call, "File has been modified since it was read, by somebody else or by a program. "
				       "Read it again before writing to it.");
	return false;
}

static void write_start(struct tool_call *call)
{
	AUTO_TEXT_FILE struct text_file file = { 0 };
	struct file_stamp stamp;
	struct err err = { 0 };
	const char *target;
	char *path;

	if (!file_tool_find(call, "file_path", &path, &target))
		return;
	struct str content = json_str(json_get(call->input, "content"), &call->arena);
	if (text_file_load(target, &file, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	if (!may_replace(call, path, &file))
		return;
	if (file_tool_save(call, target, &file, content, &stamp, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	file_state_note(call->env->files, path, stamp);
	put_result(call, path, &file, content);
	buf_addf(&call->result,
		 file.exists ? "The file %s has been updated successfully." : "File created successfully at: %s", path);
	buf_addstr(&call->result, " (file state is current in your context \xe2\x80\x94 no need to Read it back)");
	tool_call_end(call, false);
}
