/* SPDX-License-Identifier: MIT
 * test_state.c - tasks go into the state database and come back. */
#include "core/store/state.h"
#include "lib/io/spawn.h"
#include <poll.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include "lib/io/file.h"
#include "stage.h"
#include "test_session.h"

enum { WAIT_MS = 20000 };

struct desk {
	struct stage stage;
	struct loop *loop;
	struct state *state;
	struct buf seen; /* what the readers gave */
};

static void desk_init(struct desk *d)
{
	*d = (struct desk){ 0 };
	stage_init(&d->stage);
	d->loop = loop_new(0);
	d->state = state_new(d->loop, d->stage.dir);
}

static void desk_release(struct desk *d)
{
	(void)state_close(d->state, NULL);
	loop_free(d->loop);
	buf_release(&d->seen);
	stage_release(&d->stage);
}

static void see_task(void *data, const struct task_row *row)
{
	struct buf *out = data;

	buf_addf(out, "%s/%s=%s ", row->session, row->agent, row->state);
}

static const char *tasks(struct desk *d)
{
	struct err err = { 0 };

	buf_clear(&d->seen);
	CHECK_INT(state_each_task(d->stage.dir, see_task, &d->seen, &err), 0);
	return d->seen.n ? d->seen.p : "";
}

/* Waits until all that was put is on disk. */
static void close_state(struct desk *d)
{
	struct err err = { 0 };

	CHECK_INT(state_close(TAKE(d->state), &err), 0);
}

static void put(struct desk *d, const char *session, const char *agent, const char *state, int64_t started_ms)
{
	state_put_task(
		d->state,
		&(struct task_row){ .session = session, .agent = agent, .state = state, .started_ms = started_ms });
}

/* A second connection, to look behind the curtain. */
static void run_sql(struct desk *d, const char *sql)
{
	sqlite3 *db = NULL;

	CHECK_INT(sqlite3_open(stage_path(&d->stage, "cadre/state.db"), &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
}

TEST(a_run_that_puts_nothing_makes_nothing)
{
	struct desk d;
	desk_init(&d);

	close_state(&d);

	CHECK_CSTR(tasks(&d), "");
	CHECK(!file_exists(stage_path(&d.stage, "cadre")));
	desk_release(&d);
}

static const struct task_row full_task = {
	.session = "s1",
	.agent = "a1",
	.parent = "a0",
	.tool_use_id = "toolu_1",
	.type = "Explore",
	.name = "scout",
	.description = "look at 'it'; \xe2\x82\xac",
	.model = "haiku",
	.depth = 2,
	.background = 1,
	.state = "completed",
	.started_ms = 1000,
	.ended_ms = 2000,
	.updated_ms = 3000,
	.turns = 4,
	.tool_uses = 5,
	.input_tokens = 6,
	.output_tokens = 7,
	.cache_read_tokens = INT64_MAX,
	.cache_write_tokens = 9,
	.cost_usd = 0.125,
	.last_tool = "Read",
	.worktree = "/w",
	.branch = "b",
	.transcript = "/t.jsonl",
	.verdict = "PASS",
	.pid = 77,
	.pid_start = 88,
};

static void is_full_task(void *data, const struct task_row *row)
{
	bool *seen = data;

#define SAME_TEXT(member) CHECK_CSTR(row->member, full_task.member)
#define SAME_INT(member)  CHECK(row->member == full_task.member)
	SAME_TEXT(session), SAME_TEXT(agent), SAME_TEXT(parent), SAME_TEXT(tool_use_id), SAME_TEXT(type);
	SAME_TEXT(name), SAME_TEXT(description), SAME_TEXT(model), SAME_TEXT(state), SAME_TEXT(last_tool);
	SAME_TEXT(worktree), SAME_TEXT(branch), SAME_TEXT(transcript), SAME_TEXT(verdict);
	SAME_INT(depth), SAME_INT(background), SAME_INT(started_ms), SAME_INT(ended_ms), SAME_INT(updated_ms);
	SAME_INT(turns), SAME_INT(tool_uses), SAME_INT(input_tokens), SAME_INT(output_tokens);
	SAME_INT(cache_read_tokens), SAME_INT(cache_write_tokens), SAME_INT(cost_usd), SAME_INT(pid);
	SAME_INT(pid_start);
	*seen = true;
}

TEST(a_task_comes_back_as_it_was_put)
{
	struct desk d;
	struct err err = { 0 };
	bool seen = false;
	desk_init(&d);

	state_put_task(d.state, &full_task);
	close_state(&d);

	CHECK_INT(state_each_task(d.stage.dir, is_full_task, &seen, &err), 0);
	CHECK(seen);
	desk_release(&d);
}

static void is_bare_task(void *data, const struct task_row *row)
{
	bool *seen = data;

	CHECK_CSTR(row->parent, "");
	CHECK_INT(row->ended_ms, 0);
	CHECK(row->updated_ms > 0);
	CHECK_INT(row->pid, getpid());
	CHECK(process_lives(row->pid, row->pid_start));
	CHECK(!process_lives(row->pid, row->pid_start + 1));
	*seen = true;
}

TEST(a_bare_task_gets_a_time_and_this_process_as_its_owner)
{
	struct desk d;
	struct err err = { 0 };
	bool seen = false;
	desk_init(&d);

	state_put_task(d.state, &(struct task_row){ .session = "s", .agent = "a" });
	close_state(&d);

	CHECK_INT(state_each_task(d.stage.dir, is_bare_task, &seen, &err), 0);
	CHECK(seen);
	desk_release(&d);
}

TEST(tasks_are_listed_by_age)
{
	struct desk d;
	desk_init(&d);

	put(&d, "s1", "b", "running", 20);
	put(&d, "s1", "a", "running", 30);
	put(&d, "s2", "a", "running", 10);
	put(&d, "s", "1a", "running", 40); /* not the same key as s1 a */
	close_state(&d);

	CHECK_CSTR(tasks(&d), "s2/a=running s1/b=running s1/a=running s/1a=running ");
	desk_release(&d);
}

TEST(several_puts_of_one_row_are_one_write)
{
	struct desk d;
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	desk_init(&d);
	put(&d, "s", "other", "running", 1);
	close_state(&d);
	run_sql(&d, "CREATE TABLE writes (agent TEXT); CREATE TRIGGER count_writes AFTER INSERT ON task BEGIN "
		    "INSERT INTO writes VALUES (NEW.agent); END");
	d.state = state_new(d.loop, d.stage.dir);

	for (int i = 0; i < 50; i++)
		put(&d, "s", "a", i % 2 ? "waiting for a much longer name than before" : "running", 1);
	put(&d, "s", "a", "done", 1);
	close_state(&d);

	CHECK_CSTR(tasks(&d), "s/a=done s/other=running ");
	CHECK_INT(sqlite3_open(stage_path(&d.stage, "cadre/state.db"), &db), SQLITE_OK);
	CHECK_INT(sqlite3_prepare_v2(db, "SELECT count(*) FROM writes", -1, &stmt, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_step(stmt), SQLITE_ROW);
	CHECK_INT(sqlite3_column_int(stmt, 0), 1);
	CHECK_INT(sqlite3_finalize(stmt), SQLITE_OK);
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
	desk_release(&d);
}

/* Until something changes in the directory, and then until nobody is writing: the end of a commit is a change in shared
 * memory, which no event tells. */
static void wait_for_change(struct desk *d, int inotify)
{
	struct pollfd p = { .fd = inotify, .events = POLLIN };
	char events[4096];
	sqlite3 *db = NULL;

	CHECK_INT(poll(&p, 1, WAIT_MS), 1);
	CHECK(read(inotify, events, sizeof events) > 0);
	CHECK_INT(sqlite3_open(stage_path(&d->stage, "cadre/state.db"), &db), SQLITE_OK);
	sqlite3_busy_timeout(db, WAIT_MS);
	CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
}

TEST(a_loop_turn_is_enough_to_write)
{
	struct desk d;
	desk_init(&d);
	stage_write(&d.stage, "cadre/neighbour", "");
	int inotify = inotify_init1(IN_CLOEXEC);
	CHECK(inotify_add_watch(inotify, stage_path(&d.stage, "cadre"), IN_MODIFY | IN_CREATE) >= 0);

	put(&d, "s", "a", "running", 1);
	CHECK(!file_exists(stage_path(&d.stage, "cadre/state.db")));
	loop_run(d.loop);

	while (!*tasks(&d))
		wait_for_change(&d, inotify);
	CHECK_CSTR(tasks(&d), "s/a=running ");
	close(inotify);
	desk_release(&d);
}

static void count_row(void *data, const struct task_row *row)
{
	int *count = data;

	*count += row->turns == 3;
}

TEST(ten_thousand_tasks_in_a_burst_are_all_written)
{
	struct desk d;
	struct err err = { 0 };
	char agent[16];
	int count = 0;
	desk_init(&d);

	for (int round = 1; round <= 3; round++) {
		for (int i = 0; i < 10000; i++) {
			snprintf(agent, sizeof agent, "a%d", i);
			state_put_task(d.state, &(struct task_row){ .session = "s", .agent = agent, .turns = round });
		}
		loop_run(d.loop);
	}
	close_state(&d);

	CHECK_INT(state_each_task(d.stage.dir, count_row, &count, &err), 0);
	CHECK_INT(count, 10000);
	desk_release(&d);
}

int test_state(void)
{
	return RUN_TESTS(T(a_run_that_puts_nothing_makes_nothing), T(a_task_comes_back_as_it_was_put),
			 T(a_bare_task_gets_a_time_and_this_process_as_its_owner), T(tasks_are_listed_by_age),
			 T(several_puts_of_one_row_are_one_write), T(a_loop_turn_is_enough_to_write),
			 T(ten_thousand_tasks_in_a_burst_are_all_written));
}
