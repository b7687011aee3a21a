/* SPDX-License-Identifier: MIT
 * test_todo.c - the task list in its files, and files that are shown before they change. */
#include "unit.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/tasks/todo_list.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

static struct todo_list *open_list(struct toolbox *box, struct todo_list *l, bool to_change)
{
	CHECK_INT(todo_list_open(l, toolbox_path(box, "list"), to_change, NULL), 0);
	return l;
}

static void add(struct toolbox *box, const char *subject)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };

	open_list(box, &l, true);
	CHECK_INT(todo_write(&l, &(struct todo){ .id = l.highest + 1, .subject = subject, .description = "" }, NULL),
		  0);
}

static void drop(struct toolbox *box, const char *id)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };

	CHECK_INT(todo_remove(&l, todo_find(open_list(box, &l, true), str_from(id)), NULL), 0);
}

static void block(struct toolbox *box, const char *blocker, const char *blocked)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	struct todo *a = todo_find(open_list(box, &l, true), str_from(blocker));
	struct todo *b = todo_find(&l, str_from(blocked));

	CHECK(todo_block(&l, a, b));
	CHECK(!todo_block(&l, a, b));
	CHECK_INT(todo_write(&l, a, NULL), 0);
	CHECK_INT(todo_write(&l, b, NULL), 0);
}

/* "1:subject 3:other<2" */
static char *describe(struct toolbox *box)
{
	AUTO_TODO_LIST struct todo_list l = { .lock = -1 };
	AUTO_BUF struct buf out = { 0 };

	open_list(box, &l, false);
	for (size_t i = 0; i < l.count; i++) {
		buf_addf(&out, "%s%u:%s", i ? " " : "", l.items[i].id, l.items[i].subject);
		for (size_t k = 0; k < l.items[i].blocked_by.count; k++)
			buf_addf(&out, "<%u", l.items[i].blocked_by.ids[k]);
	}
	return arena_strdup(&box->arena, buf_str(&out).p);
}

TEST(numbers_are_given_in_order_and_never_twice)
{
	BOX(box);
	add(&box, "a");
	add(&box, "b");
	drop(&box, "2");
	add(&box, "c");

	CHECK_CSTR(describe(&box), "1:a 3:c");
}

TEST(items_are_in_the_order_of_their_numbers)
{
	BOX(box);
	for (int i = 0; i < 11; i++)
		add(&box, "x");

	CHECK_CSTR(describe(&box), "1:x 2:x 3:x 4:x 5:x 6:x 7:x 8:x 9:x 10:x 11:x");
}

TEST(a_removed_item_blocks_no_other)
{
	BOX(box);
	add(&box, "a");
	add(&box, "b");
	add(&box, "c");
	block(&box, "1", "2");
	block(&box, "3", "2");
	CHECK_CSTR(describe(&box), "1:a 2:b<1<3 3:c");

	drop(&box, "1");

	CHECK_CSTR(describe(&box), "2:b<3 3:c");
}

TEST(a_list_that_another_one_changes_is_busy)
{
	BOX(box);
	AUTO_TODO_LIST struct todo_list first = { .lock = -1 };
	AUTO_TODO_LIST struct todo_list second = { .lock = -1 };
	open_list(&box, &first, true);

	CHECK_INT(todo_list_open(&second, toolbox_path(&box, "list"), true, &(struct err){ 0 }), -ERR_BUSY);
}

/* A call of a session that has a book */
struct booked {
	struct tool_env env;
	struct todo_book *book;
};

static void booked_open(struct booked *b, struct toolbox *box)
{
	*b = (struct booked){ .env.loop = box->env.loop, .env.todo_dir = toolbox_path(box, "list") };
	b->env.todos = &b->book;
}

static void booked_close(struct booked *b)
{
	todo_book_free(b->book);
}

static const char *owned(struct toolbox *box, struct booked *b)
{
	AUTO_BUF struct buf out = { 0 };

	(void)todo_tasks_of(&b->env, "ann", &out);
	return out.n ? arena_dup(&box->arena, out.p, out.n) : "";
}

static void put_owned(struct toolbox *box, const char *owner, bool old)
{
	AUTO_ARENA struct arena a = { 0 };
	struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000 } };

	toolbox_put(box, "list/1.json",
		    arena_printf(&a, "{\"subject\":\"s\",\"status\":\"pending\",\"owner\":\"%s\"}", owner));
	if (old)
		CHECK_INT(utimensat(AT_FDCWD, toolbox_path(box, "list/1.json"), times, 0), 0);
}

TEST(a_book_sees_what_others_write)
{
	BOX(box);
	CLEANUP(booked_close) struct booked b;
	booked_open(&b, &box);
	for (int old = 0; old < 2; old++) { /* known by its time, or too young for that */
		put_owned(&box, "ann", old);
		CHECK_CSTR(owned(&box, &b), "#1 [pending] s\n");
		CHECK_CSTR(owned(&box, &b), "#1 [pending] s\n");
		put_owned(&box, "bob", false); /* as long as before, in place */
		CHECK_CSTR(owned(&box, &b), "");
	}
}

TEST(a_book_keeps_the_locks_of_a_change_for_a_moment)
{
	BOX(box);
	CLEANUP(booked_close) struct booked b;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_TODO_LIST struct todo_list other = { .lock = -1 };
	struct todo_info task;
	booked_open(&b, &box);
	for (int i = 0; i < 3; i++)
		add(&box, "s");

	for (int i = 0; i < 3; i++) { /* the lock of one item becomes that of the next */
		CHECK_INT(todo_claim_next(&b.env, i == 0 ? "ann" : i == 1 ? "bob" : "cem", false, &a, &task), 1);
		CHECK_INT(atoi(task.id), i + 1);
		CHECK(file_exists(toolbox_path(&box, arena_printf(&a, "list/%d.json.lock", i + 1))));
		CHECK(!file_exists(toolbox_path(&box, arena_printf(&a, "list/%d.json.lock", i))));
	}
	CHECK_INT(todo_claim_next(&b.env, "ann", false, &a, &task), 0); /* it owns one */
	CHECK(file_exists(toolbox_path(&box, "list/.lock.lock")));
	CHECK_INT(todo_list_open(&other, toolbox_path(&box, "list"), true, &(struct err){ 0 }), -ERR_BUSY);
	todo_list_close(&other);
	loop_run(box.env.loop); /* until no timer is left */
	CHECK(!file_exists(toolbox_path(&box, "list/.lock.lock")) &&
	      !file_exists(toolbox_path(&box, "list/3.json.lock")));
	CHECK_INT(todo_list_open(&other, toolbox_path(&box, "list"), true, NULL), 0);
}

TEST(other_files_are_skipped)
{
	static const char *const names[] = { "list/0.json", "list/x.json",  "list/2.json",
					     "list/3.json", "list/4.jsonl", "list/-5.json" };
	BOX(box);
	add(&box, "a");
	for (size_t i = 0; i < COUNT_OF(names); i++)
		toolbox_put(&box, names[i], "{\"subject\":\"s\"}");
	toolbox_put(&box, "list/3.json", "{\"subject\":\"s\",\"status\":");
	toolbox_put(&box, "list/7.json",
		    "{\"subject\":\"foreign\",\"status\":\"pending\",\"blockedBy\":[\"1\",\"1\",\"x\",9]}");

	CHECK_CSTR(describe(&box), "1:a 7:foreign<1");
}

TEST(a_list_that_is_not_there_is_empty)
{
	BOX(box);

	CHECK_CSTR(describe(&box), "");
}

static int refuse(struct tool_env *env, const char *path, struct str bytes, struct err *err)
{
	(void)env;
	return err_set(err, ERR_IO, "no place for %s, which would be %zu bytes", path, bytes.n);
}

TEST(a_file_that_cannot_be_kept_stays_as_it_is)
{
	BOX(box);
	toolbox_put(&box, "a", "one");
	box.env.before_change = refuse;
	toolbox_run(&box, "Read", "{'file_path':'a'}");

	toolbox_run(&box, "Edit", "{'file_path':'a','old_string':'one','new_string':'three'}");
	CHECK(box.call->is_error && str_has(toolbox_text(&box), STR("/a, which would be 5 bytes")));
	toolbox_run(&box, "Write", "{'file_path':'a','content':'1'}");
	CHECK(box.call->is_error && str_has(toolbox_text(&box), STR("/a, which would be 1 bytes")));

	CHECK_STR(toolbox_get(&box, "a"), "one");
}

int test_todo(void)
{
	return RUN_TESTS(T(numbers_are_given_in_order_and_never_twice), T(items_are_in_the_order_of_their_numbers),
			 T(a_removed_item_blocks_no_other), T(a_list_that_another_one_changes_is_busy),
			 T(a_book_sees_what_others_write), T(a_book_keeps_the_locks_of_a_change_for_a_moment),
			 T(other_files_are_skipped), T(a_list_that_is_not_there_is_empty),
			 T(a_file_that_cannot_be_kept_stays_as_it_is));
}
