/* SPDX-License-Identifier: MIT
 * test_state_file.c - what may happen to the file of the state database: damage, locks, other versions, other processes,
 * kill -9. */
#include "core/store/state.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "stage.h"
#include "test_session.h"

enum { WRITERS = 4, ROWS_EACH = 200, KILLS = 6, MANY_ROWS = 1000000, SOON_MS = 10000, FAILURES_MAX = 10 };

struct desk {
	struct stage stage;
	struct loop *loop;
	struct state *state;
	char *path;
};

static void desk_init(struct desk *d)
{
	*d = (struct desk){ 0 };
	stage_init(&d->stage);
	d->path = stage_path(&d->stage, "cadre/state.db");
	d->loop = loop_new(0);
	d->state = state_new(d->loop, d->stage.dir);
}

static void desk_release(struct desk *d)
{
	(void)state_close(d->state, NULL);
	loop_free(d->loop);
	stage_release(&d->stage);
}

static void put(struct desk *d, const char *agent)
{
	state_put_task(d->state, &(struct task_row){ .session = "s", .agent = agent });
}

static void count_row(void *data, const struct task_row *row)
{
	int *count = data;

	(void)row;
	++*count;
}

/* Waits until all that was put is on disk, and makes a new writer. */
static void rewrite(struct desk *d)
{
	struct err err = { 0 };

	CHECK_INT(state_close(d->state, &err), 0);
	d->state = state_new(d->loop, d->stage.dir);
}

/* The number of tasks, or the reader's error. */
static int count_tasks(struct desk *d, struct err *err)
{
	int count = 0;
	int rc = state_each_task(d->stage.dir, count_row, &count, err);

	return rc < 0 ? rc : count;
}

static sqlite3 *open_sqlite(struct desk *d)
{
	sqlite3 *db = NULL;

	CHECK_INT(sqlite3_open(d->path, &db), SQLITE_OK);
	return db;
}

static void run_sql(struct desk *d, const char *sql)
{
	sqlite3 *db = open_sqlite(d);

	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
}

/* Lets the open writer write, and waits for it: until something changes in the directory, and then until nobody is writing
 * (the end of a commit is a change in shared memory, which no event tells). */
static void write_and_wait(struct desk *d, int rows)
{
	int inotify = inotify_init1(IN_CLOEXEC);
	struct pollfd p = { .fd = inotify, .events = POLLIN };
	struct err err = { 0 };
	char events[4096];

	CHECK_INT(file_make_dirs(stage_path(&d->stage, "cadre"), 0700, &err), 0);
	CHECK(inotify_add_watch(inotify, stage_path(&d->stage, "cadre"), IN_MODIFY | IN_CREATE) >= 0);
	loop_run(d->loop);
	while (count_tasks(d, &err) != rows) {
		CHECK_INT(poll(&p, 1, SOON_MS), 1);
		CHECK(read(inotify, events, sizeof events) > 0);
		sqlite3 *db = open_sqlite(d);
		sqlite3_busy_timeout(db, SOON_MS);
		CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
		CHECK_INT(sqlite3_close(db), SQLITE_OK);
	}
	close(inotify);
}

/* The number of files that were moved aside; ret_path is one of them, in the arena. */
static int count_aside(struct desk *d, char **ret_path)
{
	AUTO_BUF struct buf path = { 0 };
	int count = 0;
	DIR *dir = opendir(stage_path(&d->stage, "cadre"));

	CHECK(dir != NULL);
	for (struct dirent *e; (e = readdir(dir));) {
		struct str name = str_from(e->d_name);
		if (!str_starts(name, STR("state.db.broken-")) || str_ends(name, STR("-wal")) ||
		    str_ends(name, STR("-shm")))
			continue;
		count++;
		buf_clear(&path);
		buf_addf(&path, "cadre/%s", e->d_name);
		if (ret_path)
			*ret_path = arena_dup(&d->stage.arena, path.p, path.n);
	}
	closedir(dir);
	return count;
}

TEST(the_file_is_for_its_owner_only)
{
	struct desk d;
	struct stat st;
	desk_init(&d);

	put(&d, "a");
	rewrite(&d);

	CHECK_INT(stat(d.path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK_INT(stat(stage_path(&d.stage, "cadre"), &st), 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	desk_release(&d);
}

TEST(an_empty_file_is_an_empty_database)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	stage_write(&d.stage, "cadre/state.db", "");

	CHECK_INT(count_tasks(&d, &err), 0);
	put(&d, "a");
	rewrite(&d);
	CHECK_INT(count_tasks(&d, &err), 1);
	CHECK_INT(count_aside(&d, NULL), 0);
	desk_release(&d);
}

static void make_short(struct desk *d)
{
	stage_write(&d->stage, "cadre/state.db", "garbage");
}

static void make_long(struct desk *d)
{
	AUTO_FREE char *text = xmalloc(100001);

	memset(text, 'x', 100000);
	text[100000] = '\0';
	stage_write(&d->stage, "cadre/state.db", text);
}

/* A real one with 500 rows, closed. */
static void make_real(struct desk *d)
{
	char agent[16];
	struct state *writer = state_new(d->loop, d->stage.dir);

	for (int i = 0; i < 500; i++) {
		snprintf(agent, sizeof agent, "old%d", i);
		state_put_task(writer, &(struct task_row){ .session = "old", .agent = agent });
	}
	CHECK_INT(state_close(writer, NULL), 0);
}

static void make_cut(struct desk *d)
{
	struct stat st;

	make_real(d);
	CHECK_INT(stat(d->path, &st), 0);
	CHECK_INT(truncate(d->path, st.st_size / 2), 0);
}

/* The header is whole, all pages behind it are not. */
static void make_smeared(struct desk *d)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };

	make_real(d);
	CHECK_INT(file_read(d->path, 1 << 24, &bytes, &err), 0);
	memset(bytes.p + 4096, 0xa5, bytes.n - 4096);
	CHECK_INT(file_replace(d->path, bytes.p, bytes.n, &err), 0);
}

static const struct damage {
	const char *name;
	void (*make)(struct desk *d);
} damages[] = {
	{ "short garbage", make_short },
	{ "long garbage", make_long },
	{ "cut in half", make_cut },
	{ "pages overwritten", make_smeared },
};

static void check_damage(const struct damage *damage)
{
	struct desk d;
	struct err err = { 0 };
	struct stat before, after;
	char *aside = NULL;
	desk_init(&d);
	damage->make(&d);
	CHECK_INT(stat(d.path, &before), 0);

	CHECK_INT(count_tasks(&d, &err), -ERR_PARSE);
	CHECK(strstr(err.text, d.path) != NULL);
	CHECK(strstr(err.text, "can be removed") != NULL);

	put(&d, "a");
	CHECK_INT(state_close(TAKE(d.state), &err), -ERR_PARSE);
	CHECK(strstr(err.text, "was damaged; it is state.db.broken-") != NULL);
	CHECK_INT(count_tasks(&d, &err), 1);
	CHECK_INT(count_aside(&d, &aside), 1);
	CHECK_INT(stat(stage_path(&d.stage, aside), &after), 0);
	CHECK(after.st_ino == before.st_ino && after.st_size == before.st_size);
	desk_release(&d);
}

TEST(a_damaged_file_is_named_by_readers_and_moved_aside_by_writers)
{
	for (size_t i = 0; i < COUNT_OF(damages); i++) {
		print_message("# %s\n", damages[i].name);
		check_damage(&damages[i]);
	}
}

static void wait_for_event(int inotify)
{
	struct inotify_event event;
	struct pollfd p = { .fd = inotify, .events = POLLIN };

	CHECK_INT(poll(&p, 1, SOON_MS), 1);
	CHECK_INT(read(inotify, &event, sizeof event), sizeof event);
}

/* Nobody can move the file before both have it open: its directory is locked until then. */
TEST(two_writers_move_a_damaged_file_once)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	make_long(&d);
	struct state *second = state_new(d.loop, d.stage.dir);
	int inotify = inotify_init1(IN_CLOEXEC);
	CHECK(inotify_add_watch(inotify, d.path, IN_OPEN) >= 0);
	int dir = open(stage_path(&d.stage, "cadre"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(flock(dir, LOCK_EX), 0);

	put(&d, "a");
	loop_run(d.loop);
	wait_for_event(inotify);
	state_put_task(second, &(struct task_row){ .session = "s", .agent = "b" });
	loop_run(d.loop);
	wait_for_event(inotify);
	close(dir);

	int first_rc = state_close(TAKE(d.state), &err);
	int second_rc = state_close(second, &err);
	CHECK((first_rc == -ERR_PARSE) + (second_rc == -ERR_PARSE) == 1 && first_rc + second_rc == -ERR_PARSE);
	CHECK_INT(count_tasks(&d, &err), 2);
	CHECK_INT(count_aside(&d, NULL), 1);
	close(inotify);
	desk_release(&d);
}

TEST(a_file_replaced_while_open_is_found)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	put(&d, "a");
	write_and_wait(&d, 1);
	make_short(&d);
	CHECK_INT(unlink(stage_path(&d.stage, "cadre/state.db-wal")), 0); /* SQLite would take it for the new one's */

	put(&d, "b");
	CHECK_INT(state_close(TAKE(d.state), &err), -ERR_PARSE);

	CHECK_INT(count_tasks(&d, &err), 1);
	CHECK_INT(count_aside(&d, NULL), 1);
	desk_release(&d);
}

TEST(a_file_removed_while_open_is_made_again)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	put(&d, "a");
	write_and_wait(&d, 1);

	CHECK_INT(unlink(d.path), 0);
	CHECK_INT(count_tasks(&d, &err), 0);
	put(&d, "b");
	rewrite(&d);

	CHECK_INT(count_tasks(&d, &err), 1);
	desk_release(&d);
}

TEST(a_newer_file_is_left_alone)
{
	struct desk d;
	struct err err = { 0 };
	struct stat before, after;
	desk_init(&d);
	stage_write(&d.stage, "cadre/state.db", "");
	run_sql(&d, "CREATE TABLE task (future TEXT); PRAGMA user_version = 99");
	CHECK_INT(stat(d.path, &before), 0);

	put(&d, "a");
	CHECK_INT(state_close(TAKE(d.state), &err), -ERR_DENIED);

	CHECK(strstr(err.text, "newer") != NULL && strstr(err.text, d.path) != NULL);
	CHECK_INT(count_tasks(&d, &err), -ERR_DENIED);
	CHECK_INT(stat(d.path, &after), 0);
	CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	CHECK(!file_exists(stage_path(&d.stage, "cadre/state.db-wal")));
	desk_release(&d);
}

TEST(a_file_that_becomes_newer_is_written_no_more)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	put(&d, "a");
	write_and_wait(&d, 1);
	run_sql(&d, "PRAGMA user_version = 99");

	put(&d, "b");
	CHECK_INT(state_close(TAKE(d.state), &err), -ERR_DENIED);

	run_sql(&d, "PRAGMA user_version = 2");
	CHECK_INT(count_tasks(&d, &err), 1);
	desk_release(&d);
}

/* As the first version made it, with one row: what it had too much goes, what it knew stays. */
TEST(an_older_file_is_brought_to_this_version)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	put(&d, "old");
	rewrite(&d);
	run_sql(&d, "ALTER TABLE task ADD COLUMN output TEXT NOT NULL DEFAULT ''; CREATE TABLE notice (id TEXT); "
		    "CREATE TABLE mail (id TEXT); PRAGMA user_version = 1");

	CHECK_INT(count_tasks(&d, &err), 1);
	put(&d, "new");
	rewrite(&d);

	CHECK_INT(count_tasks(&d, &err), 2);
	run_sql(&d, "CREATE TABLE notice (id TEXT); CREATE TABLE mail (id TEXT)"); /* are gone */
	desk_release(&d);
}

TEST(a_locked_database_does_not_hold_up_the_end)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	put(&d, "a");
	rewrite(&d);
	sqlite3 *other = open_sqlite(&d);
	CHECK_INT(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);

	put(&d, "b");
	int64_t before_ms = id_wall_ms();
	CHECK_INT(state_close(TAKE(d.state), &err), -ERR_IO);

	CHECK(strstr(err.text, "locked") != NULL);
	CHECK(id_wall_ms() - before_ms < SOON_MS);
	CHECK_INT(sqlite3_close(other), SQLITE_OK);
	CHECK_INT(count_tasks(&d, &err), 1);
	desk_release(&d);
}

TEST(a_place_that_cannot_be_written_is_said_at_the_end)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	char *obstacle = stage_write(&d.stage, "cadre", "a file where the directory should be");

	put(&d, "a");
	loop_run(d.loop);
	CHECK_INT(state_close(TAKE(d.state), &err), -ERR_IO);

	CHECK(strstr(err.text, obstacle) != NULL);
	CHECK_INT(count_tasks(&d, &err), 0);
	desk_release(&d);
}

/* The writer closes its connection when it could not get the lock: it is past its first try. */
TEST(a_locked_database_is_tried_again)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	put(&d, "a");
	rewrite(&d);
	sqlite3 *other = open_sqlite(&d);
	CHECK_INT(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	int inotify = inotify_init1(IN_CLOEXEC);
	CHECK(inotify_add_watch(inotify, stage_path(&d.stage, "cadre/state.db-wal"), IN_CLOSE) >= 0);

	put(&d, "b");
	loop_run(d.loop);
	wait_for_event(inotify);
	put(&d, "c"); /* joins what waits */
	CHECK_INT(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_close(other), SQLITE_OK);

	write_and_wait(&d, 3);
	CHECK_INT(state_close(TAKE(d.state), &err), 0);
	close(inotify);
	desk_release(&d);
}

/* This program again, as a writer (state_writer() below); it says on `out` when rows are on disk. */
static pid_t start_writer(struct desk *d, const char *name, int rows, int out)
{
	char count[16];
	snprintf(count, sizeof count, "%d", rows);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(out, 1);
		execl("/proc/self/exe", "test_session", "--write-state", d->stage.dir, name, count, NULL);
		_exit(9);
	}
	return pid;
}

/* Ten rows at a time, and again if they could not be written. */
int state_writer(const char *config_dir, const char *name, int rows)
{
	struct loop *loop = loop_new(0);
	char agent[32];
	int failures = 0;

	for (int i = 0; i < rows && failures < FAILURES_MAX;) {
		struct state *s = state_new(loop, config_dir);
		struct err err = { 0 };
		for (int k = i; k < i + 10; k++) {
			snprintf(agent, sizeof agent, "%s-%d", name, k);
			state_put_task(s, &(struct task_row){ .session = name, .agent = agent });
			loop_run(loop);
		}
		int rc = state_close(s, &err);
		if (rc < 0 && rc != -ERR_PARSE) { /* that one says: moved aside, and written */
			failures++;
			continue;
		}
		i += 10;
		if (write(1, ".", 1) != 1)
			break;
	}
	loop_free(loop);
	return failures == FAILURES_MAX;
}

static void run_writers(struct desk *d)
{
	pid_t pids[WRITERS];
	char name[8];
	int said[2], status;

	CHECK_INT(pipe(said), 0);
	for (int i = 0; i < WRITERS; i++) {
		snprintf(name, sizeof name, "w%d", i);
		pids[i] = start_writer(d, name, ROWS_EACH, said[1]);
	}
	for (int i = 0; i < WRITERS; i++) {
		CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
		CHECK_INT(status, 0);
	}
	close(said[0]);
	close(said[1]);
}

static void copy(struct desk *from, struct desk *to, const char *name)
{
	AUTO_BUF struct buf bytes = { 0 };

	CHECK_INT(file_read(stage_path(&from->stage, name), 64 << 20, &bytes, NULL), 0);
	CHECK_INT(file_make_parents(stage_path(&to->stage, name), NULL), 0);
	CHECK_INT(file_replace(stage_path(&to->stage, name), bytes.p, bytes.n, NULL), 0);
}

/* Half of a change is in the file, and what was there before is in the journal. */
static void die_in_a_change(struct desk *from, struct desk *to)
{
	put(from, "a");
	CHECK_INT(state_close(TAKE(from->state), NULL), 0);
	sqlite3 *db = open_sqlite(from);
	CHECK_INT(sqlite3_exec(db,
			       "PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; BEGIN; CREATE TABLE x(y);"
			       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5000)"
			       "INSERT INTO x SELECT hex(randomblob(500)) FROM n;",
			       NULL, NULL, NULL),
		  SQLITE_OK);
	copy(from, to, "cadre/state.db");
	copy(from, to, "cadre/state.db-journal");
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
}

TEST(a_change_that_a_killed_writer_left_half_done_is_undone_by_readers)
{
	struct desk from, to;
	struct err err = { 0 };
	desk_init(&from);
	desk_init(&to);

	die_in_a_change(&from, &to);

	CHECK_INT(count_tasks(&to, &err), 1);
	CHECK_CSTR(err.text, "");
	desk_release(&to);
	desk_release(&from);
}

TEST(several_processes_write_at_once)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);

	run_writers(&d);

	CHECK_INT(count_tasks(&d, &err), WRITERS * ROWS_EACH);
	desk_release(&d);
}

TEST(several_processes_find_one_damaged_file)
{
	struct desk d;
	struct err err = { 0 };
	desk_init(&d);
	make_long(&d);

	run_writers(&d);

	CHECK_INT(count_tasks(&d, &err), WRITERS * ROWS_EACH);
	CHECK_INT(count_aside(&d, NULL), 1);
	desk_release(&d);
}

TEST(a_killed_writer_leaves_a_whole_database)
{
	struct desk d;
	struct err err = { 0 };
	char name[8], c;
	int said[2];
	desk_init(&d);

	for (int i = 0; i < KILLS; i++) {
		CHECK_INT(pipe(said), 0);
		snprintf(name, sizeof name, "k%d", i);
		pid_t pid = start_writer(&d, name, MANY_ROWS, said[1]);
		close(said[1]);
		for (int flushed = 0; flushed <= i; flushed++)
			CHECK_INT(read(said[0], &c, 1), 1);
		CHECK_INT(kill(pid, SIGKILL), 0);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		close(said[0]);
	}
	int left = count_tasks(&d, &err);
	put(&d, "after");
	rewrite(&d);

	CHECK(left >= 10 * KILLS * (KILLS + 1) / 2);
	CHECK_INT(count_tasks(&d, &err), left + 1);
	CHECK_INT(count_aside(&d, NULL), 0);
	desk_release(&d);
}

int test_state_file(void)
{
	return RUN_TESTS(T(the_file_is_for_its_owner_only), T(an_empty_file_is_an_empty_database),
			 T(a_damaged_file_is_named_by_readers_and_moved_aside_by_writers),
			 T(two_writers_move_a_damaged_file_once), T(a_file_replaced_while_open_is_found),
			 T(a_file_removed_while_open_is_made_again), T(a_newer_file_is_left_alone),
			 T(a_file_that_becomes_newer_is_written_no_more), T(an_older_file_is_brought_to_this_version),
			 T(a_locked_database_does_not_hold_up_the_end),
			 T(a_place_that_cannot_be_written_is_said_at_the_end), T(a_locked_database_is_tried_again),
			 T(a_change_that_a_killed_writer_left_half_done_is_undone_by_readers),
			 T(several_processes_write_at_once), T(several_processes_find_one_damaged_file),
			 T(a_killed_writer_leaves_a_whole_database));
}
