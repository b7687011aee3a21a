/* SPDX-License-Identifier: MIT
 * tool_todo_write.c - TodoWrite: the agent's own list of what is to be done, replaced as a whole. It is a file of JSON, so that
 * a resumed agent still has it: an array of {"content", "status", "activeForm"}. */
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/tool_list.h"

enum { LARGEST_LIST = 1 << 20 };

static void todo_start(struct tool_call *call);

const struct tool tool_todo_write = {
	TOOL_TODO_WRITE_FACTS,
	.start = todo_start,
};

/* An array; what cannot be read is none. */
static void read_old(const struct tool_call *call, struct buf *out)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (file_read(call->env->todo_file, LARGEST_LIST, out, NULL) == 0 &&
	    json_parse(&reader, out->p, out->n, &root, NULL) == 0 && json_is(root, JSON_ARRAY))
		return;
	buf_clear(out);
	buf_addstr(out, "[]");
}

static int save(const char *path, struct str list, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	if (list.n > LARGEST_LIST)
		return err_set(err, ERR_LIMIT, "the list is larger than %d bytes", LARGEST_LIST);
	buf_addf(&text, STR_FMT "\n", STR_ARG(list));
	if (file_make_parents(path, err) < 0)
		return -(int)err->kind;
	return file_replace(path, text.p, text.n, err);
}

static void todo_start(struct tool_call *call)
{
	AUTO_BUF struct buf old = { 0 };
	struct str list = json_raw(json_get(call->input, "todos"));
	struct json_out w = json_out(&call->result_json);
	struct err err = { 0 };

	if (!call->env->todo_file) {
		tool_call_fail(call, "There is no list: the session is not kept on disk.");
		return;
	}
	read_old(call, &old);
	if (save(call->env->todo_file, list, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	json_open(&w, '{');
	json_kraw(&w, "oldTodos", str_trim(buf_str(&old)));
	json_kraw(&w, "newTodos", list);
	json_close(&w);
	buf_addstr(&call->result,
		   "The list was replaced. Keep it true while you work: one item in progress at a time, and each "
		   "one completed as soon as it is.");
	tool_call_end(call, false);
}
