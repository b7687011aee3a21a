/* SPDX-License-Identifier: MIT
 * tool_edit.c - Edit: replaces text in a file that the agent has seen.
 *
 * A file that changed since the agent read it may still be edited when old_string occurs exactly once: then the model
 * knew the place it changes. Otherwise it has to read again. */
#include "lib/json/json_write.h"
#include "tools/file_tool.h"
#include "tools/line_diff.h"
#include "tools/text_replace.h"
#include "tools/tool_list.h"

static void edit_start(struct tool_call *call);

const struct tool tool_edit = {
	TOOL_EDIT_FACTS,
	.start = edit_start,
};

struct edit {
	struct tool_call *call;
	char *path;
	const char *target;
	struct str old, new;
	bool all;
	struct text_file file;
	enum file_known known;
	size_t matches;
	struct buf text; /* after the edit */
};

static void edit_release(struct edit *e)
{
	text_file_release(&e->file);
	buf_release(&e->text);
}

/* Each check answers the call and returns false, or returns true. Their order is part of the tool's behaviour. */
static bool check_strings(struct edit *e)
{
	if (!str_eq(e->old, e->new))
		return true;
	tool_call_reject(e->call, "No changes to make: old_string and new_string are exactly the same.");
	return false;
}

/* An empty old_string means a new file, or a file with nothing in it. */
static bool check_creation(struct edit *e)
{
	struct str text = str_trim(buf_str(&e->file.text));

	if (e->old.n || !e->file.exists || !text.n)
		return true;
	tool_call_reject(e->call,
			 "Cannot create the file: %s exists and is not empty. Give the text to replace as "
			 "old_string.",
			 e->path);
	return false;
}

static bool check_known(struct edit *e)
{
	if (!e->file.exists && e->old.n) {
		file_tool_missing(e->call, true);
		return false;
	}
	if (!e->file.exists || !e->old.n || e->known != FILE_UNREAD)
		return true;
	tool_call_reject(e->call, "File has not been read yet. Read it first before writing to it.");
	return false;
}

static bool check_encoding(struct edit *e)
{
	if (e->file.exact)
		return true;
	tool_call_reject(e->call, "%s has UTF-16 text with errors in it; an edit would change other parts of the file.",
			 e->path);
	return false;
}

static bool check_matches(struct edit *e)
{
	if (!e->old.n)
		return true;
	e->matches = text_count(buf_str(&e->file.text), e->old);
	if (e->known == FILE_CHANGED && e->matches != 1) {
		tool_call_reject(e->call,
				 "File has been modified since it was read, and old_string does not name one place "
				 "in it now. Read it again before editing it.");
		return false;
	}
	if (!e->matches) {
		tool_call_reject(e->call, "String to replace not found in file.\nString: " STR_FMT, STR_ARG(e->old));
		return false;
	}
	if (e->matches > 1 && !e->all) {
		tool_call_reject(
			e->call,
			"Found %zu matches of the string to replace, but replace_all is false. To replace all of them "
			"set replace_all to true; to replace one of them give more of the text around it.\n"
			"String: " STR_FMT,
			e->matches, STR_ARG(e->old));
		return false;
	}
	return true;
}

static void put_result(struct edit *e)
{
	struct json_out w = json_out(&e->call->result_json);

	json_open(&w, '{');
	json_kcstr(&w, "filePath", e->path);
	json_kstr(&w, "oldString", e->old);
	json_kstr(&w, "newString", e->new);
	json_kstr(&w, "originalFile", buf_str(&e->file.text));
	json_key(&w, "structuredPatch");
	line_diff_put(&w, buf_str(&e->file.text), buf_str(&e->text));
	json_kbool(&w, "userModified", false);
	json_kbool(&w, "replaceAll", e->all);
	json_close(&w);
}

static void apply(struct edit *e)
{
	struct err err = { 0 };
	struct file_stamp stamp;

	if (e->old.n)
		text_replace(buf_str(&e->file.text), e->old, e->new, e->all ? SIZE_MAX : 1, &e->text);
	else
		buf_add(&e->text, e->new.p, e->new.n);
	if (file_tool_save(e->call, e->target, &e->file, buf_str(&e->text), &stamp, &err) < 0) {
		tool_call_fail(e->call, "%s", err.text);
		return;
	}
	/* An edit of a changed file shows the model one place of it, not the rest. */
	if (e->known != FILE_CHANGED || !e->old.n)
		file_state_note(e->call->env->files, e->path, stamp);
	put_result(e);
	buf_addf(&e->call->result, "The file %s has been updated successfully.", e->path);
	if (e->known == FILE_CHANGED && e->old.n)
		buf_addstr(&e->call->result,
			   " (note: the file had been modified since you read it; your edit matched one place "
			   "and was applied, Read it again to see the other changes)");
	else
		buf_addstr(&e->call->result,
			   " (file state is current in your context \xe2\x80\x94 no need to Read it back)");
	tool_call_end(e->call, false);
}

static void edit_start(struct tool_call *call)
{
	CLEANUP(edit_release) struct edit e = { .call = call };
	struct err err = { 0 };

	if (!file_tool_find(call, "file_path", &e.path, &e.target))
		return;
	e.old = json_str(json_get(call->input, "old_string"), &call->arena);
	e.new = json_str(json_get(call->input, "new_string"), &call->arena);
	e.all = json_bool(json_get(call->input, "replace_all"));
	if (!check_strings(&e))
		return;
	if (text_file_load(e.target, &e.file, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	e.known = file_state_check(call->env->files, e.path, e.file.stamp);
	if (check_creation(&e) && check_known(&e) && check_encoding(&e) && check_matches(&e))
		apply(&e);
}
