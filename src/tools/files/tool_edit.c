/* SPDX-License-Identifier: MIT
 * tool_edit.c - Edit and Write: change a text file that the agent has seen, or make a new one. */
#include "lib/json/json_write.h"
#include "tools/files/text_file.h"
#include "core/tool/tool_list.h"

/* The model sees LF only: a line end in its text stands for LF and for CRLF alike, and what it puts in gets the line ends of the
 * file. Bytes outside the matches never change. */

/* Length of the text at p that needle matches, LF matching CRLF as well; 0: no match. */
static size_t match_at(const char *p, size_t n, struct str needle)
{
	size_t at = 0;

	for (size_t i = 0; i < needle.n; i++) {
		if (needle.p[i] == '\n' && at + 1 < n && p[at] == '\r' && p[at + 1] == '\n')
			at++;
		if (at >= n || p[at] != needle.p[i])
			return 0;
		at++;
	}
	return at;
}

/* The first match at or after from; n == 0: none. */
static struct str find_match(struct str text, size_t from, struct str needle)
{
	if (from >= text.n)
		return (struct str){ NULL, 0 };
	const char *nl = memchr(needle.p, '\n', needle.n);
	if (!nl) {
		const char *hit = memmem(text.p + from, text.n - from, needle.p, needle.n);
		return (struct str){ hit, hit ? needle.n : 0 };
	}
	/* The first line of the needle is searched for; when it is empty, every line end is a candidate. */
	struct str head = { needle.p, (size_t)(nl - needle.p) };
	for (const char *p = text.p + from, *end = text.p + text.n; p < end; p++) {
		p = head.n ? memmem(p, (size_t)(end - p), head.p, head.n) : memchr(p, '\n', (size_t)(end - p));
		if (!p)
			break;
		const char *start = !head.n && p > text.p + from && p[-1] == '\r' ? p - 1 : p;
		size_t n = match_at(start, (size_t)(end - start), needle);
		if (n)
			return (struct str){ start, n };
	}
	return (struct str){ NULL, 0 };
}

size_t text_count(struct str text, struct str needle)
{
	size_t count = 0;
	struct str hit;

	for (size_t from = 0; (hit = find_match(text, from, needle)).n; count++)
		from = (size_t)(hit.p - text.p) + hit.n;
	return count;
}

/* Appends text with the first `count` occurrences replaced. */
static void text_replace(struct str text, struct str needle, struct str with, size_t count, struct buf *out)
{
	size_t from = 0, lines = 0, crlf_lines = 0;

	for (size_t i = 0; i < text.n; i++) {
		lines += text.p[i] == '\n';
		crlf_lines += text.p[i] == '\n' && i && text.p[i - 1] == '\r';
	}
	bool crlf = crlf_lines * 2 > lines;
	for (; count; count--) {
		struct str hit = find_match(text, from, needle);
		if (!hit.n)
			break;
		buf_add(out, text.p + from, (size_t)(hit.p - text.p) - from);
		for (size_t i = 0; i < with.n; i++) {
			if (crlf && with.p[i] == '\n' && (i == 0 || with.p[i - 1] != '\r'))
				buf_addch(out, '\r');
			buf_addch(out, with.p[i]);
		}
		from = (size_t)(hit.p - text.p) + hit.n;
	}
	buf_add(out, text.p + from, text.n - from);
}

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

/* False: the call has been rejected. The order of the checks is part of the tool's behaviour. */
static bool edit_check(struct edit *e)
{
	/* An empty old_string means a new file, or a file with nothing in it. */
	if (!e->old.n && str_trim(buf_str(&e->file.text)).n)
		tool_call_reject(e->call,
				 "Cannot create the file: %s exists and is not empty. Give the text to replace as "
				 "old_string.",
				 e->path);
	else if (e->old.n && !e->file.exists)
		file_tool_missing(e->call, true);
	else if (e->old.n && e->known == FILE_UNREAD)
		tool_call_reject(e->call, "File has not been read yet. Read it first before writing to it.");
	else if (!e->file.exact)
		tool_call_reject(e->call,
				 "%s has UTF-16 text with errors in it; an edit would change other parts of the file.",
				 e->path);
	else if (!e->old.n)
		return true;
	else if (e->known == FILE_CHANGED && e->matches != 1)
		tool_call_reject(e->call,
				 "File has been modified since it was read, and old_string does not name one place "
				 "in it now. Read it again before editing it.");
	else if (!e->matches)
		tool_call_reject(e->call, "String to replace not found in file.\nString: " STR_FMT, STR_ARG(e->old));
	else if (e->matches > 1 && !e->all)
		tool_call_reject(
			e->call,
			"Found %zu matches of the string to replace, but replace_all is false. To replace all of them "
			"set replace_all to true; to replace one of them give more of the text around it.\n"
			"String: " STR_FMT,
			e->matches, STR_ARG(e->old));
	else
		return true;
	return false;
}

static void edit_take_input(struct edit *e)
{
	e->old = json_str(json_get(e->call->input, "old_string"), &e->call->arena);
	e->new = json_str(json_get(e->call->input, "new_string"), &e->call->arena);
	e->all = json_bool(json_get(e->call->input, "replace_all"));
}

static void edit_make_text(struct edit *e)
{
	if (e->old.n)
		text_replace(buf_str(&e->file.text), e->old, e->new, e->all ? SIZE_MAX : 1, &e->text);
	else
		buf_append(&e->text, e->new);
}

static void edit_preview(struct tool_call *call, struct buf *out)
{
	CLEANUP(edit_release) struct edit e = { .call = call };
	struct json_out w = json_out(out);
	struct err err = { 0 };

	edit_take_input(&e);
	if (text_file_load(call->file_target, &e.file, &err) < 0)
		return;
	edit_make_text(&e);
	if (!str_eq(buf_str(&e.text), buf_str(&e.file.text)))
		line_diff_put(&w, buf_str(&e.file.text), buf_str(&e.text));
}

static void edit_apply(struct edit *e)
{
	struct err err = { 0 };
	struct file_stamp stamp;

	edit_make_text(e);
	if (file_tool_save(e->call, e->target, &e->file, buf_str(&e->text), &stamp, &err) < 0) {
		tool_call_fail(e->call, "%s", err.text);
		return;
	}
	/* An edit of a changed file shows the model one place of it, not the rest. */
	if (e->known != FILE_CHANGED || !e->old.n)
		file_state_note(e->call->env->files, e->path, stamp);
	struct json_out w = json_out(&e->call->result_json);
	json_putf(&w,
		  "{filePath:'%s', oldString:'%.*s', newString:'%.*s', originalFile:'%.*s', structuredPatch:", e->path,
		  STR_ARG(e->old), STR_ARG(e->new), STR_ARG(buf_str(&e->file.text)));
	line_diff_put(&w, buf_str(&e->file.text), buf_str(&e->text));
	json_putf(&w, "userModified:false, replaceAll:!!%d}", e->all);
	buf_addf(&e->call->result, "The file %s has been updated successfully.", e->path);
	if (e->known == FILE_CHANGED && e->old.n)
		buf_addstr(&e->call->result,
			   " (note: the file had been modified since you read it; your edit matched one place "
			   "and was applied, Read it again to see the other changes)");
	else
		buf_addstr(&e->call->result,
			   " (file state is current in your context \xe2\x80\x94 no need to Read it back)");
	tool_call_end(e->call);
}

static void edit_start(struct tool_call *call)
{
	CLEANUP(edit_release) struct edit e = { .call = call };
	struct err err = { 0 };

	if (!file_tool_find(call, "file_path", &e.path, &e.target))
		return;
	edit_take_input(&e);
	if (str_eq(e.old, e.new)) {
		tool_call_reject(call, "No changes to make: old_string and new_string are exactly the same.");
		return;
	}
	if (text_file_load(e.target, &e.file, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	e.known = file_state_check(call->env->files, e.path, e.file.stamp);
	if (e.old.n)
		e.matches = text_count(buf_str(&e.file.text), e.old);
	if (edit_check(&e))
		edit_apply(&e);
}

const struct tool tool_edit = { TOOL_EDIT_FACTS, .preview = edit_preview, .start = edit_start };

static void write_preview(struct tool_call *call, struct buf *out)
{
	AUTO_TEXT_FILE struct text_file file = { 0 };
	struct json_out w = json_out(out);
	struct err err = { 0 };
	struct str content = json_str(json_get(call->input, "content"), &call->arena);

	if (text_file_load(call->file_target, &file, &err) == 0 && !str_eq(content, buf_str(&file.text)))
		line_diff_put(&w, buf_str(&file.text), content);
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
	if (!file_tool_check_seen(call, path, &file))
		return;
	if (file_tool_save(call, target, &file, content, &stamp, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	file_state_note(call->env->files, path, stamp);
	struct json_out w = json_out(&call->result_json);
	json_putf(&w, "{type:'%s', filePath:'%s', content:'%.*s', structuredPatch:", file.exists ? "update" : "create",
		  path, STR_ARG(content));
	if (file.exists) {
		line_diff_put(&w, buf_str(&file.text), content);
		json_kstr(&w, "originalFile", buf_str(&file.text));
	} else {
		json_putf(&w, "[], originalFile:null");
	}
	json_close(&w);
	buf_addf(&call->result,
		 file.exists ? "The file %s has been updated successfully." : "File created successfully at: %s", path);
	buf_addstr(&call->result, " (file state is current in your context \xe2\x80\x94 no need to Read it back)");
	tool_call_end(call);
}

const struct tool tool_write = { TOOL_WRITE_FACTS, .preview = write_preview, .start = write_start };
