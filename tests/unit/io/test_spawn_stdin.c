/* SPDX-License-Identifier: MIT
 * test_spawn_stdin.c - children whose stdin stays open: a conversation, a child that is slow to read, one that is gone. */
#include "spawn_stage.h"
#include "test_io.h"

/* What the test does when output comes */
struct talk {
	struct loop *loop;
	struct spawner *spawner;
	struct child *child;
	struct buf out;
	void (*on_output)(struct talk *t);
	unsigned ends[2]; /* of stdout, stderr */
	int exits;
};

static void talk_on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct talk *t = child_data(c);

	CHECK_INT(t->exits, 0);
	if (!n)
		t->ends[is_stderr]++;
	buf_add(&t->out, p, n);
	if (t->on_output)
		t->on_output(t);
}

static void talk_on_exit(struct child *c, int status)
{
	struct talk *t = child_data(c);

	t->exits++;
	t->child = NULL;
}

static void talk_start(struct talk *t, const char *script, struct str input)
{
	static const struct child_handlers handlers = { talk_on_output, talk_on_exit };
	const char *argv[] = { "sh", "-c", script, NULL };
	struct child_options options = { .argv = argv, .input = input, .keep_stdin = true, .tell_end = true };

	t->loop = loop_new(0);
	t->spawner = spawner_new(t->loop);
	CHECK_INT(spawn_start(t->spawner, &options, &handlers, t, &t->child, NULL), 0);
}

static void talk_end(struct talk *t)
{
	loop_run(t->loop);
	CHECK_INT(t->exits, 1);
	spawner_free(t->spawner);
	loop_free(t->loop);
	buf_release(&t->out);
}

static void answer_twice(struct talk *t)
{
	if (str_is(buf_str(&t->out), "got one\n"))
		child_write(t->child, "two\n", 4);
	if (str_ends(buf_str(&t->out), STR("got two\n")))
		child_close_stdin(t->child);
}

TEST(an_open_stdin_carries_a_conversation_until_it_is_closed)
{
	struct talk t = { .on_output = answer_twice };

	talk_start(&t, "while read line; do echo got $line; done; echo end", STR("one\n"));
	loop_run(t.loop);

	CHECK_STR(buf_str(&t.out), "got one\ngot two\nend\n");
	talk_end(&t);
}

TEST(what_a_slow_reader_does_not_take_is_queued_and_arrives_whole_and_in_order)
{
	struct talk t = { 0 };
	AUTO_BUF struct buf want = { 0 };
	for (int i = 0; i < 100000; i++)
		buf_addf(&want, "%07d\n", i);
	size_t half = want.n / 2;

	talk_start(&t, "read first; cat", STR("hello\n"));
	child_write(t.child, want.p, half);
	CHECK(child_unsent(t.child) > 0);
	child_write(t.child, want.p + half, want.n - half);
	child_close_stdin(t.child);
	child_write(t.child, "dropped", 7);
	loop_run(t.loop);

	CHECK(str_eq(buf_str(&t.out), buf_str(&want)));
	talk_end(&t);
}

static void write_more(struct talk *t)
{
	static char block[1 << 20];

	if (!t->child)
		return;
	memset(block, 'x', sizeof block);
	child_write(t->child, block, sizeof block);
	child_write(t->child, block, sizeof block);
}

TEST(a_child_that_closed_its_stdin_or_died_takes_nothing_and_harms_nobody)
{
	static const char *const scripts[] = { "exec 0<&-; echo x", "echo x; exit 3", "kill -9 $$",
					       "echo x; sleep 0.05" };

	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		struct talk t = { .on_output = write_more };
		talk_start(&t, scripts[i], STR(""));
		write_more(&t);
		loop_run(t.loop);
		CHECK_INT(t.exits, 1);
		talk_end(&t);
	}
}

TEST(the_end_of_each_stream_is_told_once_when_it_was_asked_for)
{
	struct talk t = { 0 };

	talk_start(&t, "exec 1>&-; read go; echo bye >&2", STR(""));
	while (!t.ends[0])
		uv_run(loop_uv(t.loop), UV_RUN_ONCE);
	CHECK_INT(t.exits, 0);
	CHECK_INT(t.ends[1], 0);
	child_write(t.child, "\n", 1);
	loop_run(t.loop);

	CHECK_STR(buf_str(&t.out), "bye\n");
	CHECK_INT(t.ends[0], 1);
	CHECK_INT(t.ends[1], 1);
	talk_end(&t);
}

int test_spawn_stdin(void)
{
	return RUN_TESTS(T(an_open_stdin_carries_a_conversation_until_it_is_closed),
			 T(what_a_slow_reader_does_not_take_is_queued_and_arrives_whole_and_in_order),
			 T(a_child_that_closed_its_stdin_or_died_takes_nothing_and_harms_nobody),
			 T(the_end_of_each_stream_is_told_once_when_it_was_asked_for));
}
