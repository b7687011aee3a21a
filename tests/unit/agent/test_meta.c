/* SPDX-License-Identifier: MIT
 * test_meta.c - what is on disk about a child: it comes back as it was, and a foreign file does no harm. */
#include "unit.h"
#include <sys/inotify.h>
#include <sys/stat.h>
#include "agents/agent/record.h"
#include "lib/io/file.h"
#include "tests.h"
#include "tree_stage.h"

#define META(id) "session/subagents/agent-" id ".meta.json"

static struct agent_record *read_back(struct tree_stage *st, const char *id, struct buf *notes)
{
	tree_stage_reopen(st);
	meta_read_all(&st->tree, true, notes);
	return agent_tree_record(&st->tree, str_from(id));
}

static struct agent_record *write_and_read(struct tree_stage *st, const struct agent_record *t)
{
	AUTO_BUF struct buf notes = { 0 };
	struct err err = { 0 };

	CHECK_INT(meta_write(t, &err), 0);
	struct agent_record *back = read_back(st, TASK_1, &notes);
	CHECK_INT(notes.n, 0);
	CHECK(back != NULL);
	return back;
}

TEST(a_child_comes_back_as_it_was_written)
{
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);

	t->type = "Ex\"plore\n";
	t->name = "scout";
	t->parent_id = TASK_2;
	t->prompt = "Look for \xc3\xa4 \xf0\x9f\x90\xa7 and \\";
	t->model = "claude-haiku-5-5";
	t->depth = 2;
	t->run = 3;
	t->background = t->is_fork = t->built_in = t->stopped_by_user = true;
	t->state = AGENT_TURN_LIMIT;
	t->worktree = "/r/.claude/worktrees/agent-" TASK_1;
	t->branch = "worktree-agent-" TASK_1;
	t->base = "0123456789012345678901234567890123456789";
	t->request.model = "haiku";
	t->request.effort = "low";
	t->request.isolation = "worktree";
	t->request.max_turns = 7;
	t->limits = "{\"root\":\"/r\",\"ancestors\":[{\"deny\":[\"Bash(rm:*)\"]}]}";
	struct agent_record *back = write_and_read(&st, t);

	CHECK_CSTR(back->type, "Ex\"plore\n");
	CHECK_CSTR(back->name, "scout");
	CHECK_CSTR(back->description, "Look around");
	CHECK_CSTR(back->tool_use_id, "toolu_1");
	CHECK_CSTR(back->parent_id, TASK_2);
	CHECK_CSTR(back->prompt, "Look for \xc3\xa4 \xf0\x9f\x90\xa7 and \\");
	CHECK_CSTR(back->model, "claude-haiku-5-5");
	CHECK_CSTR(back->limits, "{\"root\":\"/r\",\"ancestors\":[{\"deny\":[\"Bash(rm:*)\"]}]}");
	CHECK_INT(back->depth, 2);
	CHECK_INT(back->run, 3);
	CHECK_INT(back->started_ms, 1000);
	CHECK(back->background && back->is_fork && back->built_in && back->stopped_by_user);
	CHECK_INT(back->state, AGENT_TURN_LIMIT);
	CHECK_CSTR(back->worktree, "/r/.claude/worktrees/agent-" TASK_1);
	CHECK_CSTR(back->branch, "worktree-agent-" TASK_1);
	CHECK_CSTR(back->base, "0123456789012345678901234567890123456789");
	CHECK_CSTR(back->request.model, "haiku");
	CHECK_CSTR(back->request.effort, "low");
	CHECK_CSTR(back->request.isolation, "worktree");
	CHECK_INT(back->request.max_turns, 7);
	CHECK(back->restored && back->recorded);
	tree_stage_release(&st);
}

TEST(what_was_not_said_stays_unsaid)
{
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *back = write_and_read(&st, tree_stage_task(&st, TASK_1));

	CHECK(!back->name && !back->model && !back->worktree && !back->branch && !back->base);
	CHECK(!back->request.model && !back->request.effort && !back->request.isolation);
	CHECK_INT(back->request.max_turns, 0);
	CHECK(!back->background && !back->is_fork && !back->built_in && !back->stopped_by_user);
	tree_stage_release(&st);
}

/* A process that died left "running": it goes on from where it stood, as one that was suspended. */
TEST(a_child_that_ran_is_suspended_when_it_is_read)
{
	static const enum end_state states[] = { AGENT_RUNNING, AGENT_SUSPENDED };

	for (size_t i = 0; i < COUNT_OF(states); i++) {
		struct tree_stage st;
		tree_stage_init(&st);
		struct agent_record *t = tree_stage_task(&st, TASK_1);
		t->state = states[i];
		CHECK_INT(write_and_read(&st, t)->state, AGENT_SUSPENDED);
		tree_stage_release(&st);
	}
}

TEST(children_are_in_the_order_in_which_they_were_started)
{
	AUTO_BUF struct buf notes = { 0 };
	struct err err = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *late = tree_stage_task(&st, TASK_1);
	struct agent_record *early = tree_stage_task(&st, TASK_2);

	late->started_ms = 2000;
	CHECK_INT(meta_write(late, &err), 0);
	CHECK_INT(meta_write(early, &err), 0);
	read_back(&st, TASK_1, &notes);

	CHECK_CSTR(st.tree.records->id, TASK_2);
	CHECK_CSTR(st.tree.records->next->id, TASK_1);
	CHECK_INT(st.tree.restored_count, 2);
	tree_stage_release(&st);
}

TEST(a_child_that_is_known_is_not_read_again)
{
	AUTO_BUF struct buf notes = { 0 };
	struct err err = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);

	CHECK_INT(meta_write(t, &err), 0);
	meta_read_all(&st.tree, true, &notes);

	CHECK_INT(st.tree.record_count, 1);
	CHECK(!t->restored);
	tree_stage_release(&st);
}

TEST(a_session_that_keeps_nothing_writes_and_reads_nothing)
{
	AUTO_BUF struct buf notes = { 0 };
	struct err err = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);

	st.tree.session_dir = NULL;
	struct agent_record *t = tree_stage_task(&st, TASK_1);
	CHECK(!t->recorded && !t->transcript && !t->meta);
	CHECK_INT(meta_write(t, &err), 0);
	meta_read_all(&st.tree, true, &notes);

	CHECK_INT(st.tree.record_count, 1);
	CHECK_INT(notes.n, 0);
	tree_stage_release(&st);
}

TEST(a_file_that_is_no_record_is_named_and_passed_over)
{
	static const char *const texts[] = { "{\n",        "[]",
					     "null",       "42",
					     "\"text\"",   "{\"agentType\":\"x\"} x\n",
					     "\xff\xfe\n", "{\"agentType\": \xff}\n" };

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		AUTO_BUF struct buf notes = { 0 };
		struct tree_stage st;
		tree_stage_init(&st);
		tree_stage_put(&st, META(TASK_1), str_from(texts[i]));
		tree_stage_put(&st, META(TASK_2), STR("{}"));
		meta_read_all(&st.tree, true, &notes);
		CHECK_INT(st.tree.record_count, 1);
		CHECK(str_has(buf_str(&notes), STR(TASK_1)));
		CHECK(!str_has(buf_str(&notes), STR(TASK_2)));
		tree_stage_release(&st);
	}
}

TEST(fields_of_another_type_count_as_missing)
{
	AUTO_BUF struct buf notes = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);

	tree_stage_put(&st, META(TASK_1),
		       STR("{\"agentType\":1,\"isBuiltIn\":\"yes\",\"name\":{},\"description\":[],\"toolUseId\":null,"
			   "\"parentAgentId\":false,\"spawnDepth\":\"2\",\"requestShape\":7,\"isFork\":1,\"run\":1.5,"
			   "\"startedAt\":\"now\",\"model\":[1],\"requestedMaxTurns\":\"9\",\"prompt\":{\"a\":1},"
			   "\"finished\":\"true\",\"endState\":\"completed\",\"stoppedByUser\":\"no\"}"));
	struct agent_record *t = read_back(&st, TASK_1, &notes);

	CHECK_CSTR(t->type, "general-purpose");
	CHECK(!t->built_in && !t->name && !t->background && !t->is_fork && !t->model && !t->stopped_by_user);
	CHECK_CSTR(t->description, "");
	CHECK_CSTR(t->tool_use_id, "");
	CHECK_CSTR(t->parent_id, "");
	CHECK_CSTR(t->prompt, "");
	CHECK_INT(t->depth, 1);
	CHECK_INT(t->run, 1);
	CHECK_INT(t->request.max_turns, 0);
	CHECK_INT(t->state, AGENT_SUSPENDED);
	tree_stage_release(&st);
}

TEST(numbers_without_sense_are_brought_into_range)
{
	static const struct {
		const char *number;
		unsigned depth, max_turns;
	} rows[] = {
		{ "0", 1, 0 },
		{ "-1", 1, 0 },
		{ "5", 5, 5 },
		{ "4294967296", 1 << 30, 1 << 30 },
		{ "9223372036854775807", 1 << 30, 1 << 30 },
		{ "-9223372036854775808", 1, 0 },
		{ "1e99", 1, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf notes = { 0 };
		struct tree_stage st;
		tree_stage_init(&st);
		tree_stage_put(
			&st, META(TASK_1),
			str_from(arena_printf(&st.arena, "{\"spawnDepth\":%s,\"run\":%s,\"requestedMaxTurns\":%s}",
					      rows[i].number, rows[i].number, rows[i].number)));
		struct agent_record *t = read_back(&st, TASK_1, &notes);
		CHECK_INT(t->depth, rows[i].depth);
		CHECK_INT(t->run, rows[i].depth);
		CHECK_INT(t->request.max_turns, rows[i].max_turns);
		tree_stage_release(&st);
	}
}

TEST(only_files_named_after_an_agent_are_read)
{
	static const char *const names[] = {
		"session/subagents/agent-.meta.json",
		"session/subagents/agent-x.meta.json",
		"session/subagents/agent-a000000000000000G.meta.json",
		"session/subagents/agent-a00000000000000011.meta.json",
		"session/subagents/" TASK_1 ".meta.json",
		"session/subagents/agent-" TASK_1 ".json",
		"session/subagents/agent-" TASK_1 ".meta.json.tmp",
	};
	AUTO_BUF struct buf notes = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);

	for (size_t i = 0; i < COUNT_OF(names); i++)
		tree_stage_put(&st, names[i], STR("{}"));
	meta_read_all(&st.tree, true, &notes);

	CHECK_INT(st.tree.record_count, 0);
	CHECK_INT(notes.n, 0);
	tree_stage_release(&st);
}

TEST(a_file_that_is_too_large_or_a_directory_is_passed_over)
{
	AUTO_BUF struct buf notes = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);

	buf_addstr(&text, "{\"prompt\":\"");
	for (size_t i = 0; i < 5 << 10; i++)
		buf_addf(&text, "%01024d", 0);
	buf_addstr(&text, "\"}");
	tree_stage_put(&st, META(TASK_1), buf_str(&text));
	CHECK_INT(mkdir(tree_stage_path(&st, META(TASK_2)), 0755), 0);
	meta_read_all(&st.tree, true, &notes);

	CHECK_INT(st.tree.record_count, 0);
	CHECK(str_has(buf_str(&notes), STR(TASK_1)));
	CHECK(str_has(buf_str(&notes), STR(TASK_2)));
	tree_stage_release(&st);
}

TEST(a_file_whose_writer_died_is_no_child_and_no_problem)
{
	AUTO_BUF struct buf notes = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);

	tree_stage_put(&st, META(TASK_1), STR(""));
	tree_stage_put(&st, META(TASK_2), STR("{\"run\":1,\"agentType\":\"Explore\",\"prom"));
	meta_read_all(&st.tree, true, &notes);

	CHECK_INT(st.tree.record_count, 0);
	CHECK_INT(notes.n, 0);
	CHECK(!file_exists(tree_stage_path(&st, META(TASK_1))) && !file_exists(tree_stage_path(&st, META(TASK_2))));
	tree_stage_release(&st);
}

TEST(a_torn_file_of_another_program_is_left_alone_and_named)
{
	AUTO_BUF struct buf notes = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);

	tree_stage_put(&st, META(TASK_1), STR("{\"agentType\":\"Explore\",\"descr"));
	meta_read_all(&st.tree, true, &notes);

	CHECK_INT(st.tree.record_count, 0);
	CHECK(str_has(buf_str(&notes), STR(TASK_1)));
	CHECK(file_exists(tree_stage_path(&st, META(TASK_1))));
	tree_stage_release(&st);
}

TEST(a_new_file_is_made_once_and_never_renamed)
{
	_Alignas(struct inotify_event) char events[4096];
	struct tree_stage st;
	struct err err = { 0 };
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);
	CHECK_INT(file_make_parents(t->meta, &err), 0);
	AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	CHECK(inotify_add_watch(watch, tree_stage_path(&st, "session/subagents"), IN_CREATE | IN_MOVE | IN_DELETE) >=
	      0);

	CHECK_INT(meta_write(t, &err), 0);

	ssize_t n = read(watch, events, sizeof events);
	const struct inotify_event *made = (const struct inotify_event *)(const void *)events;
	CHECK_INT(n, sizeof *made + made->len); /* one event in all */
	CHECK_INT(made->mask, IN_CREATE);
	CHECK_CSTR(made->name, "agent-" TASK_1 ".meta.json");
	tree_stage_release(&st);
}

TEST(a_pipe_in_the_place_of_the_file_is_an_error_and_does_not_block)
{
	struct tree_stage st;
	struct err err = { 0 };
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);
	CHECK_INT(file_make_parents(t->meta, &err), 0);
	CHECK_INT(mkfifo(t->meta, 0600), 0);

	CHECK_INT(meta_write(t, &err), -ERR_IO);

	CHECK(str_has(str_from(err.text), STR("the agent cannot be recorded")));
	tree_stage_release(&st);
}

TEST(an_end_comes_back_as_it_was_written)
{
	AUTO_BUF struct buf end = { 0 };
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);
	struct agent_record *back = tree_stage_task(&st, TASK_2);

	t->state = AGENT_BUDGET;
	t->turns = 4;
	t->tool_uses = 5;
	t->usage = (struct usage){ .input = 10, .output = 20, .cache_read = 30, .cache_write = 40 };
	t->cost_usd = 0.25;
	t->verdict = "FAIL";
	t->worktree = "/w";
	t->branch = "b";
	buf_addstr(&t->report, "line \"one\"\nline two");
	end_write(&end, t);

	CHECK(end_read(back, buf_str(&end)));
	CHECK_INT(back->state, AGENT_BUDGET);
	CHECK_INT(back->turns, 4);
	CHECK_INT(back->tool_uses, 5);
	CHECK_INT(back->usage.input + back->usage.output + back->usage.cache_read + back->usage.cache_write, 100);
	CHECK(back->cost_usd > 0.249 && back->cost_usd < 0.251);
	CHECK_INT(back->ended_ms, 1250);
	CHECK_CSTR(back->verdict, "FAIL");
	CHECK_CSTR(back->worktree, "/w");
	CHECK_CSTR(back->branch, "b");
	CHECK_STR(buf_str(&back->report), "line \"one\"\nline two");
	tree_stage_release(&st);
}

TEST(what_is_no_end_leaves_the_child_as_it_is)
{
	static const char *const texts[] = { "",
					     "{",
					     "[]",
					     "{}",
					     "{\"run\":1,\"state\":7}",
					     "{\"run\":1,\"state\":\"gone\"}",
					     "{\"run\":2,\"state\":\"completed\"}" };
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);

	t->state = AGENT_SUSPENDED;
	buf_addstr(&t->report, "kept");
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		CHECK(!end_read(t, str_from(texts[i])));
	CHECK(!end_read(t, (struct str){ 0 }));

	CHECK_INT(t->state, AGENT_SUSPENDED);
	CHECK_STR(buf_str(&t->report), "kept");
	tree_stage_release(&st);
}

TEST(an_end_with_negative_figures_has_none)
{
	struct tree_stage st;
	tree_stage_init(&st);
	struct agent_record *t = tree_stage_task(&st, TASK_1);

	CHECK(end_read(t, STR("{\"state\":\"completed\",\"run\":1,\"turns\":-1,\"toolUses\":-9223372036854775808}")));

	CHECK_INT(t->turns, 0);
	CHECK_INT(t->tool_uses, 0);
	tree_stage_release(&st);
}

static ino_t inode_of(const struct agent_record *t)
{
	struct stat st;

	CHECK_INT(stat(t->meta, &st), 0);
	return st.st_ino;
}

/* Written, changed and written again: is it the same file? */
static bool is_written_over(struct tree_stage *st, const char *first_prompt, const char *prompt)
{
	struct agent_record *t = tree_stage_task(st, TASK_1);
	struct err err = { 0 };

	t->prompt = first_prompt;
	CHECK_INT(meta_write(t, &err), 0);
	ino_t before = inode_of(t);
	t->prompt = prompt;
	t->state = AGENT_COMPLETED;
	const struct agent_record *back = write_and_read(st, t);

	CHECK_CSTR(back->prompt, prompt);
	CHECK_INT(back->state, AGENT_COMPLETED);
	return inode_of(back) == before;
}

TEST(a_small_file_is_written_over_and_not_made_anew)
{
	static const char *const prompts[][2] = { { "Look", "Look around, at everything" },
						  { "Look around, at everything that is there, and more", "Look" } };

	for (size_t i = 0; i < COUNT_OF(prompts); i++) {
		struct tree_stage st;
		tree_stage_init(&st);

		CHECK(is_written_over(&st, prompts[i][0], prompts[i][1]));

		tree_stage_release(&st);
	}
}

TEST(a_file_of_several_pages_is_replaced)
{
	char large[5000];
	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	const char *const prompts[][2] = { { "Look", large }, { large, "Look" } };

	for (size_t i = 0; i < COUNT_OF(prompts); i++) {
		struct tree_stage st;
		tree_stage_init(&st);

		CHECK(!is_written_over(&st, prompts[i][0], prompts[i][1]));

		tree_stage_release(&st);
	}
}

int test_meta(void)
{
	return RUN_TESTS(
		T(a_file_whose_writer_died_is_no_child_and_no_problem), T(a_new_file_is_made_once_and_never_renamed),
		T(a_torn_file_of_another_program_is_left_alone_and_named),
		T(a_pipe_in_the_place_of_the_file_is_an_error_and_does_not_block),
		T(a_small_file_is_written_over_and_not_made_anew), T(a_file_of_several_pages_is_replaced),
		T(a_child_comes_back_as_it_was_written), T(what_was_not_said_stays_unsaid),
		T(a_child_that_ran_is_suspended_when_it_is_read),
		T(children_are_in_the_order_in_which_they_were_started), T(a_child_that_is_known_is_not_read_again),
		T(a_session_that_keeps_nothing_writes_and_reads_nothing),
		T(a_file_that_is_no_record_is_named_and_passed_over), T(fields_of_another_type_count_as_missing),
		T(numbers_without_sense_are_brought_into_range), T(only_files_named_after_an_agent_are_read),
		T(a_file_that_is_too_large_or_a_directory_is_passed_over), T(an_end_comes_back_as_it_was_written),
		T(what_is_no_end_leaves_the_child_as_it_is), T(an_end_with_negative_figures_has_none));
}
