/* SPDX-License-Identifier: MIT
 * todo_recall.c - what an agent still has to do, of both lists, for a conversation that begins anew. */
#include "lib/io/file.h"
#include "lib/json/json.h"
#include "tools/todo.h"

enum { LARGEST_LIST = 1 << 20, MOST_RECALLED = 100 };

/* The agent's own list (TodoWrite) */
static void add_own(const char *path, struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (file_read(path, LARGEST_LIST, &text, NULL) < 0 || json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return;
	for (const struct json *t = json_first(root); t; t = json_next(root, t)) {
		if (json_str_is(json_get(t, "status"), "completed"))
			continue;
		buf_addf(out, "- [" STR_FMT "] " STR_FMT "\n", STR_ARG(json_str(json_get(t, "status"), &a)),
			 STR_ARG(json_str(json_get(t, "content"), &a)));
	}
}

/* The session's task list */
static void add_tasks(const char *dir, struct buf *out)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	size_t shown = 0;

	if (todo_list_open(&l, dir, false, NULL) < 0)
		return;
	for (size_t i = 0; i < l.count && shown < MOST_RECALLED; i++) {
		const struct todo *t = &l.items[i];
		if (t->status == TODO_COMPLETED)
			continue;
		buf_addf(out, "- [%s] #%u %s\n", todo_status_name(t->status), t->id, t->subject);
		shown++;
	}
}

void todo_recall(const struct tool_env *env, struct buf *out)
{
	if (env->todo_file)
		add_own(env->todo_file, out);
	if (env->todo_dir)
		add_tasks(env->todo_dir, out);
}
