/* SPDX-License-Identifier: MIT
 * test_tree.c - what a tree reports about its background tasks, and the order of its records. */
#include "unit.h"
#include "tests.h"
#include "tree_stage.h"

struct listener {
	unsigned told;
	uint64_t last_ms;
	struct loop *loop;
};

static void on_event(void *data, const struct event *event)
{
	struct listener *l = data;

	CHECK_INT(event->kind, EVENT_TASKS_CHANGED);
	l->told++;
	l->last_ms = loop_now_ms(l->loop);
}

static void start_listening(struct tree_stage *st, struct listener *l)
{
	tree_stage_init(st);
	*l = (struct listener){ .loop = st->tree.services->loop };
	st->tree.on_event = on_event;
	st->tree.data = l;
	st->tree.alive_count = 1;
}

TEST(a_change_of_the_tasks_is_told_at_once)
{
	struct tree_stage st;
	struct listener l;
	start_listening(&st, &l);

	agent_tree_tasks_changed(&st.tree);

	CHECK_INT(l.told, 1);
	tree_stage_release(&st);
}

TEST(changes_that_follow_soon_are_told_together_a_moment_later)
{
	struct tree_stage st;
	struct listener l;
	start_listening(&st, &l);
	uint64_t start = loop_now_ms(st.tree.services->loop);

	for (int i = 0; i < 1000; i++)
		agent_tree_tasks_changed(&st.tree);
	CHECK_INT(l.told, 1);
	loop_run(st.tree.services->loop);

	CHECK_INT(l.told, 2);
	CHECK_INT(l.last_ms - start, 100);
	tree_stage_release(&st);
}

TEST(when_no_child_is_left_nothing_waits)
{
	struct tree_stage st;
	struct listener l;
	start_listening(&st, &l);
	agent_tree_tasks_changed(&st.tree);
	st.tree.alive_count = 0;

	agent_tree_tasks_changed(&st.tree);
	CHECK_INT(l.told, 2);
	loop_run(st.tree.services->loop);

	CHECK_INT(l.told, 2);
	tree_stage_release(&st);
}

TEST(a_child_that_started_in_the_millisecond_of_its_parent_is_listed_behind_it)
{
	struct tree_stage st;

	tree_stage_init(&st);
	tree_stage_task(&st, TASK_1)->depth = 2;
	struct agent_record *parent = tree_stage_task(&st, TASK_2);

	agent_tree_sort_records(&st.tree);

	CHECK(st.tree.records == parent);
	tree_stage_release(&st);
}

int test_tree(void)
{
	return RUN_TESTS(T(a_change_of_the_tasks_is_told_at_once),
			 T(changes_that_follow_soon_are_told_together_a_moment_later),
			 T(when_no_child_is_left_nothing_waits),
			 T(a_child_that_started_in_the_millisecond_of_its_parent_is_listed_behind_it));
}
