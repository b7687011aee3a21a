/* SPDX-License-Identifier: MIT
 * test_worktree_record.c - the text of our locks, and whose they are. */
#include "tests_worktree.h"
#include <sys/wait.h>
#include "worktree_stage.h"

#define BASE "0123456789012345678901234567890123456789"

TEST(a_record_reads_back_as_it_was_written)
{
	struct worktree_record in = { .kind = RECORD_SPARE, .agent_id = ID_1, .base = BASE, .owner = { 7, 8, 9 } };
	struct worktree_record out = { 0 };
	AUTO_BUF struct buf text = { 0 };

	record_format(&in, &text);

	CHECK_STR(buf_str(&text), "cadre spare agent " ID_1 " base " BASE " pid 7 start 8 space 9");
	CHECK(record_parse(buf_str(&text), &out));
	CHECK(!memcmp(&in, &out, sizeof in));
}

TEST(only_whole_records_of_ours_are_read)
{
	static const struct {
		const char *text;
		bool ours;
	} table[] = {
		{ "cadre agent agent " ID_1 " base " BASE " pid 7 start 8 space 9\n", true },
		{ "cadre making agent " ID_1 " base " BASE " pid 7 start 8 space 9", true },
		{ "", false },
		{ "on a portable disk", false },
		{ "cadre", false },
		{ "cadre agent", false },
		{ "cadre other agent " ID_1 " base " BASE " pid 7 start 8 space 9", false },
		{ "cadre agent agent ../../../etc/x base " BASE " pid 7 start 8 space 9", false },
		{ "cadre agent agent a000000000000000G base " BASE " pid 7 start 8 space 9", false },
		{ "cadre agent agent " ID_1 " base HEAD pid 7 start 8 space 9", false },
		{ "cadre agent agent " ID_1 " base " BASE " pid x start 8 space 9", false },
		{ "cadre agent agent " ID_1 " base " BASE " pid 7 start 8 space", false },
		{ "cadre agent agent " ID_1 " base " BASE " pid 7 start 8 space 9 more", false },
		{ "cadre agent agent " ID_1 " base " BASE BASE " pid 7 start 8 space 9", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct worktree_record r;
		if (record_parse(str_from(table[i].text), &r) != table[i].ours)
			fail_msg("%s", table[i].text);
	}
}

TEST(an_owner_is_its_pid_and_its_start_and_foreign_namespaces_count_as_alive)
{
	struct worktree_owner self = owner_self();
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);

	struct worktree_owner dead = { .pid = (uint64_t)pid, .start = self.start, .space = self.space };
	struct worktree_owner reused = { .pid = self.pid, .start = self.start - 1, .space = self.space };
	struct worktree_owner elsewhere = { .pid = (uint64_t)pid, .start = 1, .space = self.space + 1 };

	CHECK(self.start && self.space);
	CHECK(owner_alive(&self, &self));
	CHECK(!owner_alive(&dead, &self));
	CHECK(!owner_alive(&reused, &self));
	CHECK(owner_alive(&elsewhere, &self));
}

int test_worktree_record(void)
{
	return RUN_TESTS(T(a_record_reads_back_as_it_was_written), T(only_whole_records_of_ours_are_read),
			 T(an_owner_is_its_pid_and_its_start_and_foreign_namespaces_count_as_alive));
}
