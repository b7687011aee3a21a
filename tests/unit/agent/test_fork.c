/* SPDX-License-Identifier: MIT
 * test_fork.c - the words that make a child out of its parent's conversation, and how a fork is known again. */
#include "unit.h"
#include "agents/agent/context.h"
#include "tests.h"

static void add_text(struct transcript *t, enum role role, const char *text)
{
	transcript_add(t, role, segment_text(str_from(text)));
}

TEST(forks_of_one_answer_have_the_same_bytes_up_to_their_task)
{
	AUTO_BUF struct buf first = { 0 };
	AUTO_BUF struct buf second = { 0 };

	fork_directive(&first, STR("Read a"));
	fork_directive(&second, STR("Write b"));

	CHECK(str_starts(buf_str(&first), STR(FORK_TAG)));
	CHECK(str_ends(buf_str(&first), STR("Read a")));
	size_t shared = first.n - strlen("Read a");
	CHECK_INT(second.n - strlen("Write b"), shared);
	assert_memory_equal(first.p, second.p, shared);
}

TEST(every_open_call_is_answered_by_the_same_words)
{
	struct segment *a = fork_placeholder("toolu_a");
	struct segment *b = fork_placeholder("toolu_b");

	CHECK(str_has(segment_json(a), str_from(fork_placeholder_text)));
	CHECK(str_has(segment_json(a), STR("\"toolu_a\"")));
	CHECK(str_has(segment_json(b), str_from(fork_placeholder_text)));
	CHECK_INT(a->len, b->len);
	CHECK_INT(a->kind, SEGMENT_TOOL_RESULT);
	segment_unref(a);
	segment_unref(b);
}

TEST(a_conversation_with_the_directive_is_that_of_a_fork)
{
	AUTO_BUF struct buf directive = { 0 };
	struct transcript t = { 0 };
	struct transcript child = { 0 };

	fork_directive(&directive, STR("task"));
	add_text(&t, ROLE_USER, "hello");
	add_text(&t, ROLE_ASSISTANT, "yes");
	CHECK(!fork_is_marked(&t));
	add_text(&t, ROLE_USER, directive.p);
	CHECK(fork_is_marked(&t));
	transcript_fork(&t, &child); /* packed, and shared */
	CHECK(fork_is_marked(&child));
	transcript_release(&child);
	transcript_release(&t);
}

TEST(the_tag_in_anybody_elses_words_makes_no_fork)
{
	struct transcript t = { 0 };

	add_text(&t, ROLE_USER, "what does " FORK_TAG " mean?");
	add_text(&t, ROLE_ASSISTANT, FORK_TAG " is a tag");
	transcript_add(&t, ROLE_USER, segment_tool_result(STR("toolu_1"), STR(FORK_TAG "\nFrom a file"), false));

	CHECK(!fork_is_marked(&t));
	transcript_release(&t);
}

TEST(a_fork_in_another_directory_is_told_how_to_read_paths)
{
	AUTO_BUF struct buf text = { 0 };

	fork_worktree_notice(&text, "/repo", "/repo/.claude/worktrees/agent-a1");

	CHECK(str_has(buf_str(&text), STR("worktree at /repo/.claude/worktrees/agent-a1.")));
	CHECK(str_has(buf_str(&text), STR("speak of /repo:")));
}

int test_fork(void)
{
	return RUN_TESTS(T(forks_of_one_answer_have_the_same_bytes_up_to_their_task),
			 T(every_open_call_is_answered_by_the_same_words),
			 T(a_conversation_with_the_directive_is_that_of_a_fork),
			 T(the_tag_in_anybody_elses_words_makes_no_fork),
			 T(a_fork_in_another_directory_is_told_how_to_read_paths));
}
