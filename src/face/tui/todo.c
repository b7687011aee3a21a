/* SPDX-License-Identifier: MIT
 * todo.c - the list of what is to be done: what the main agent writes with TodoWrite, or with TaskCreate and TaskUpdate. One row
 * of the live region; opened, eight. */
#include "face/cli/view.h"
#include "face/tui/state.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { OPEN_ROWS = 8, ITEM_BYTES = 60, MOST_ITEMS = 500 };

struct todo {
	char *id, *text; /* text: harmless */
	enum { TODO_OPEN, TODO_WORKED_ON, TODO_DONE } state;
};

void todo_release(struct tui *t)
{
	for (size_t i = 0; i < t->todo_count; i++) {
		free(t->todos[i].id);
		free(t->todos[i].text);
	}
	free(TAKE(t->todos));
	t->todo_count = 0;
}

static struct todo *todo_add(struct tui *t, struct str id, struct str text)
{
	if (t->todo_count == MOST_ITEMS)
		return NULL;
	t->todos = xrealloc(t->todos, (t->todo_count + 1) * sizeof *t->todos);
	struct todo *item = &t->todos[t->todo_count++];
	*item = (struct todo){ .id = xstrndup(id.p, id.n), .text = render_copy(text) };
	return item;
}

static int state_of(const struct json *status)
{
	return json_str_is(status, "completed")     ? TODO_DONE
	       : json_str_is(status, "in_progress") ? TODO_WORKED_ON
						    : TODO_OPEN;
}

static void todo_update(struct tui *t, struct str id, const struct json *status)
{
	for (size_t i = 0; i < t->todo_count; i++) {
		struct todo *item = &t->todos[i];
		if (!str_is(id, item->id))
			continue;
		if (json_str_is(status, "deleted")) {
			free(item->id);
			free(item->text);
			memmove(item, item + 1, (--t->todo_count - i) * sizeof *item);
			return;
		}
		item->state = state_of(status);
	}
}

void todo_message(struct tui *t, const struct cadre_event *e)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 16 << 20, .depth = 64 } };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;
	size_t n = 0;
	const char *frame = cadre_event_frame(e, &n);

	if (!frame || (!memmem(frame, n, "\"TodoWrite\"", 11) && !memmem(frame, n, "\"TaskUpdate\"", 12)) ||
	    json_parse(&reader, frame, n, &root, NULL) < 0 || !json_str_is(json_get(root, "type"), "assistant"))
		return;
	const struct json *blocks = json_get(json_get(root, "message"), "content");
	for (const struct json *b = json_items(blocks); b; b = json_next(blocks, b)) {
		const struct json *input = json_get(b, "input"), *list = json_get(input, "todos");
		if (json_str_is(json_get(b, "name"), "TaskUpdate") && json_get(input, "status"))
			todo_update(t, json_str(json_get(input, "taskId"), &a), json_get(input, "status"));
		if (!json_str_is(json_get(b, "name"), "TodoWrite") || !json_is(list, JSON_ARRAY))
			continue;
		todo_release(t);
		for (const struct json *k = json_first(list); k; k = json_next(list, k)) {
			struct todo *item = todo_add(t, STR(""), json_str(json_get(k, "content"), &a));
			if (item)
				item->state = state_of(json_get(k, "status"));
		}
	}
	tui_changed(t);
}

/* What TaskCreate answered: Task #2 created successfully: TEXT */
void todo_created(struct tui *t, struct str result)
{
	struct str rest = result;

	if (!str_starts(rest, STR("Task #")))
		return;
	rest = (struct str){ rest.p + 6, rest.n - 6 };
	struct str id = str_cut(&rest, ' ');
	if (rest.p)
		(void)str_cut(&rest, ':');
	if (rest.p)
		(void)todo_add(t, id, str_trim(rest));
}

void todo_add_rows(struct tui *t)
{
	static const char *const marks[] = { "[ ]", "[>]", "[x]" };
	size_t done = 0, first = 0;

	for (size_t i = 0; i < t->todo_count; i++)
		done += t->todos[i].state == TODO_DONE;
	if (!t->todo_count || (done == t->todo_count && !t->in_turn && !t->todo_open))
		return;
	/* from the last one that is done on */
	while (first + 1 < t->todo_count && t->todos[first + 1].state == TODO_DONE)
		first++;
	struct styled *row = rows_add(t);
	styled_addf(row, LOOK_DIM, "todo %zu/%zu:", done, t->todo_count);
	for (size_t i = first; i < t->todo_count && !t->todo_open; i++) {
		const struct todo *item = &t->todos[i];
		unsigned look = item->state == TODO_WORKED_ON ? LOOK_BOLD : LOOK_DIM;
		styled_addf(row, look, " %s ", marks[item->state]);
		styled_add(row, look, utf8_cut(str_from(item->text), ITEM_BYTES));
	}
	size_t shown = 0;
	for (size_t i = t->todo_count > OPEN_ROWS ? first : 0; i < t->todo_count && t->todo_open && shown < OPEN_ROWS;
	     i++, shown++)
		styled_addf(rows_add(t), t->todos[i].state == TODO_WORKED_ON ? LOOK_BOLD : LOOK_DIM, "  %s %s",
			    marks[t->todos[i].state], t->todos[i].text);
}
