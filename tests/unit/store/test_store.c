/* SPDX-License-Identifier: MIT
 * test_store.c - where sessions are, and lines that are written whole or not at all. */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include "core/store/store.h"
#include "stage.h"
#include "test_session.h"

TEST(a_project_key_is_its_path_with_dashes)
{
	static const struct {
		const char *cwd, *key;
	} table[] = {
		{ "/", "-" },
		{ "/home/me/my.project", "-home-me-my-project" },
		{ "/srv/a_b c-D9", "-srv-a-b-c-D9" },
		{ "/caf\xc3\xa9/x", "-caf--x" },
		{ "/\xe6\xbc\xa2\xe5\xad\x97", "---" },
		{ "/\xf0\x9f\x98\x80!", "----" },
		{ "", "" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf key = { 0 };
		store_project_key(&key, str_from(table[i].cwd));
		CHECK_STR(buf_str(&key), table[i].key);
	}
}

TEST(a_long_project_key_is_cut_and_stays_unique)
{
	char one[400], two[400];
	AUTO_BUF struct buf key_one = { 0 };
	AUTO_BUF struct buf key_two = { 0 };
	AUTO_BUF struct buf again = { 0 };
	memset(one, 'x', sizeof one);
	memset(two, 'x', sizeof two);
	two[sizeof two - 1] = 'y';

	store_project_key(&key_one, (struct str){ one, sizeof one });
	store_project_key(&key_two, (struct str){ two, sizeof two });
	store_project_key(&again, (struct str){ one, sizeof one });

	CHECK(key_one.n > 200 && key_one.n <= 220);
	CHECK(!memcmp(key_one.p, one, 200));
	CHECK_INT(key_one.p[200], '-');
	CHECK(strcmp(key_one.p, key_two.p) != 0);
	CHECK_CSTR(key_one.p, again.p);
}

TEST(a_project_directory_is_below_the_configuration)
{
	AUTO_ARENA struct arena a = { 0 };

	CHECK_CSTR(store_project_dir(&a, "/home/me/.claude", "/srv/x"), "/home/me/.claude/projects/-srv-x");
}

static int append(struct journal *j, const char *text, struct err *err)
{
	AUTO_BUF struct buf line = { 0 };

	buf_addstr(&line, text);
	return journal_append(j, &line, err);
}

static size_t open_descriptors(void)
{
	size_t count = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

TEST(open_files_are_an_eighth_of_the_descriptors_within_limits)
{
	CHECK_INT(store_open_files(64), STORE_OPEN_FILES);
	CHECK_INT(store_open_files(20000), 2500);
	CHECK_INT(store_open_files(1 << 20), STORE_MOST_OPEN_FILES);
}

TEST(more_journals_than_descriptors_lose_no_line)
{
	enum { JOURNALS = STORE_OPEN_FILES + 44 };
	struct stage s;
	struct store store;
	struct journal *j[JOURNALS];
	struct err err = { 0 };
	stage_init(&s);
	store_init(&store, NULL, s.dir);
	size_t before = open_descriptors();
	for (int i = 0; i < JOURNALS; i++)
		j[i] = journal_new(&store, stage_path(&s, arena_printf(&s.arena, "deep/%d.jsonl", i)));
	CHECK_INT(open_descriptors(), before);

	for (int i = 0; i < JOURNALS; i++)
		CHECK_INT(append(j[i], "first", &err), 0);
	CHECK_INT(store.open_count, STORE_OPEN_FILES);
	CHECK(store.newest == j[JOURNALS - 1] && store.oldest == j[JOURNALS - STORE_OPEN_FILES]);
	CHECK_INT(append(store.oldest, "used again", &err), 0);
	CHECK(store.newest == j[JOURNALS - STORE_OPEN_FILES]);
	for (int i = 0; i < JOURNALS; i++)
		CHECK_INT(append(j[i], "second", &err), 0);

	CHECK(open_descriptors() <= before + STORE_OPEN_FILES);
	CHECK_CSTR(stage_read(&s, "deep/0.jsonl"), "first\nsecond\n");
	CHECK_CSTR(stage_read(&s, "deep/299.jsonl"), "first\nsecond\n");
	CHECK_CSTR(stage_read(&s, "deep/44.jsonl"), "first\nused again\nsecond\n");
	for (int i = 0; i < JOURNALS; i++)
		journal_free(j[i]);
	CHECK_INT(open_descriptors(), before);
	store_release(&store);
	stage_release(&s);
}

TEST(without_free_descriptors_the_oldest_journal_gives_its_own)
{
	struct stage s;
	struct store store;
	struct journal *j[4];
	struct err err = { 0 };
	struct rlimit before, tight;
	stage_init(&s);
	store_init(&store, NULL, s.dir);
	for (int i = 0; i < 4; i++)
		j[i] = journal_new(&store, stage_path(&s, arena_printf(&s.arena, "new%d/x.jsonl", i)));
	for (int i = 0; i < 3; i++)
		CHECK_INT(append(j[i], "a", &err), 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	int free_fd = dup(0);
	close(free_fd);
	tight = before;
	tight.rlim_cur = (rlim_t)free_fd;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);

	int status = append(j[3], "b", &err);

	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_INT(status, 0);
	CHECK_INT(store.open_count, 3);
	CHECK_INT(append(j[0], "b", &err), 0);
	CHECK_CSTR(stage_read(&s, "new3/x.jsonl"), "b\n");
	CHECK_CSTR(stage_read(&s, "new0/x.jsonl"), "a\nb\n");
	for (int i = 0; i < 4; i++)
		journal_free(j[i]);
	store_release(&store);
	stage_release(&s);
}

/* Files may not grow past this many bytes: what a full disk does, without a disk. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_line_that_does_not_fit_is_taken_back_and_reported)
{
	struct stage s;
	struct store store;
	struct err half = { 0 }, none = { 0 }, err = { 0 };
	stage_init(&s);
	store_init(&store, NULL, s.dir);
	struct journal *j = journal_new(&store, stage_path(&s, "s.jsonl"));
	CHECK_INT(append(j, "0123456789", &err), 0);

	limit_files(15);
	int short_write = append(j, "does not fit", &half);
	limit_files(11);
	int no_write = append(j, "does not fit", &none);
	limit_files(RLIM_INFINITY);

	CHECK_INT(short_write, -ERR_IO);
	CHECK(strstr(half.text, "cannot write 13 bytes") != NULL);
	CHECK_INT(no_write, -ERR_IO);
	CHECK(strstr(none.text, "File too large") != NULL);
	CHECK_CSTR(stage_read(&s, "s.jsonl"), "0123456789\n");
	CHECK_INT(append(j, "fits now", &err), 0);
	CHECK_CSTR(stage_read(&s, "s.jsonl"), "0123456789\nfits now\n");
	journal_free(j);
	store_release(&store);
	stage_release(&s);
}

struct waiter {
	struct kick kick;
	unsigned kicks;
};

static void on_waited(struct kick *kick)
{
	CONTAINER_OF(kick, struct waiter, kick)->kicks++;
}

/* Half of them ask, and one batch is for all that are written; the next one for what came while it ran. */
TEST(with_power_a_line_is_safe_after_the_wait_and_all_files_go_together)
{
	enum { COUNT = 50 };
	struct stage s;
	struct store store;
	struct err err = { 0 };
	struct waiter w = { .kick.step = on_waited };
	struct journal *j[COUNT];
	stage_init(&s);
	struct loop *loop = loop_new(0);
	store_init(&store, loop, s.dir);
	store.power = true;
	for (int i = 0; i < COUNT; i++) {
		j[i] = journal_new(&store, stage_path(&s, arena_printf(&s.arena, "deep/%d.jsonl", i)));
		CHECK_INT(journal_settle(j[i], &w.kick, &err), 1); /* nothing is written */
		CHECK_INT(append(j[i], "line", &err), 0);
	}

	CHECK_INT(journal_settle(j[0], &w.kick, &err), 0);
	CHECK_INT(journal_settle(j[0], &w.kick, &err), 0); /* asking again changes nothing */
	loop_run(loop);

	CHECK_INT(w.kicks, 1);
	for (int i = 0; i < COUNT; i++)
		CHECK_INT(journal_settle(j[i], &w.kick, &err), 1);
	CHECK_INT(append(j[1], "more", &err), 0);
	CHECK_INT(journal_settle(j[0], &w.kick, &err), 1);
	CHECK_INT(journal_settle(j[1], &w.kick, &err), 0);
	for (int i = 0; i < COUNT; i++)
		journal_free(j[i]); /* one of them with a sync that is not begun */
	CHECK(store.queue);
	store_release(&store);
	CHECK(!store.queue && !store.batch);
	loop_free(loop);
	stage_release(&s);
}

TEST(without_power_nothing_waits_and_only_what_is_asked_for_is_forced)
{
	struct stage s;
	struct store store;
	struct err err = { 0 };
	struct waiter w = { .kick.step = on_waited };
	stage_init(&s);
	struct loop *loop = loop_new(0);
	store_init(&store, loop, s.dir);
	struct journal *a = journal_new(&store, stage_path(&s, "a.jsonl"));
	struct journal *b = journal_new(&store, stage_path(&s, "b.jsonl"));
	CHECK_INT(append(a, "line", &err), 0);
	CHECK_INT(append(b, "line", &err), 0);

	CHECK_INT(journal_settle(a, &w.kick, &err), 1);
	CHECK_INT(journal_settle(NULL, &w.kick, &err), 1);
	CHECK(!store.queue);
	CHECK_INT(journal_sync(a, &w.kick, &err), 0);
	loop_run(loop);

	CHECK_INT(w.kicks, 1);
	CHECK_INT(journal_sync(a, &w.kick, &err), 1);
	CHECK_INT(journal_sync(b, &w.kick, &err), 0);
	loop_run(loop);
	CHECK_INT(w.kicks, 2);
	journal_free(a);
	journal_free(b);
	store_release(&store);
	loop_free(loop);
	stage_release(&s);
}

/* The last batch has a thread of its own; a request that comes all the same waits for it and is a batch of the pool. */
TEST(the_last_sync_runs_beside_other_work_and_the_release_waits_for_it)
{
	struct stage s;
	struct store store;
	struct err err = { 0 };
	struct waiter w = { .kick.step = on_waited };
	stage_init(&s);
	struct loop *loop = loop_new(0);
	store_init(&store, loop, s.dir);
	store_finish(&store); /* nothing to sync */
	CHECK(!store.batch);
	struct journal *j = journal_new(&store, stage_path(&s, "a.jsonl"));
	CHECK_INT(append(j, "line", &err), 0);
	CHECK_INT(journal_sync(j, NULL, &err), 0);

	store_finish(&store);
	CHECK(store.batch && !store.queue);
	CHECK_INT(append(j, "more", &err), 0);
	CHECK_INT(journal_sync(j, &w.kick, &err), 0);
	loop_run(loop);
	CHECK_INT(w.kicks, 1);
	CHECK_INT(journal_sync(j, &w.kick, &err), 1);

	CHECK_INT(append(j, "last", &err), 0);
	CHECK_INT(journal_sync(j, NULL, &err), 0);
	journal_free(j);
	store_finish(&store);
	CHECK(store.batch);
	store_release(&store);
	CHECK(!store.batch && !store.queue);
	loop_free(loop);
	stage_release(&s);
}

TEST(a_disk_that_refuses_is_said_for_good)
{
	struct stage s;
	struct store store;
	struct err err = { 0 };
	struct waiter w = { .kick.step = on_waited };
	stage_init(&s);
	struct loop *loop = loop_new(0);
	store_init(&store, loop, s.dir);
	store.power = true;
	struct journal *j = journal_new(&store, stage_path(&s, "dir/s.jsonl"));
	CHECK_INT(append(j, "line", &err), 0);
	CHECK_INT(rename(stage_path(&s, "dir"), stage_path(&s, "moved")), 0);
	char *obstacle = stage_write(&s, "dir", "");

	CHECK_INT(journal_settle(j, &w.kick, &err), 0);
	loop_run(loop);
	CHECK_INT(w.kicks, 1);
	CHECK_INT(journal_settle(j, &w.kick, &err), -ERR_IO);

	CHECK(strstr(err.text, "cannot sync the transcript") && strstr(err.text, "Not a directory"));
	CHECK_INT(unlink(obstacle), 0);
	CHECK_INT(journal_settle(j, &w.kick, &err), -ERR_IO);
	journal_free(j);
	store_release(&store);
	loop_free(loop);
	stage_release(&s);
}

TEST(a_journal_that_cannot_be_made_says_so_each_time)
{
	struct stage s;
	struct store store;
	struct err err = { 0 };
	stage_init(&s);
	store_init(&store, NULL, s.dir);
	stage_write(&s, "file", "in the way");
	struct journal *j = journal_new(&store, stage_path(&s, "file/s.jsonl"));

	CHECK_INT(append(j, "x", &err), -ERR_IO);
	CHECK_INT(append(j, "x", &err), -ERR_IO);
	CHECK(strstr(err.text, "cannot write the transcript") != NULL);
	CHECK_CSTR(journal_path(j), stage_path(&s, "file/s.jsonl"));
	CHECK_INT(store.open_count, 0);
	journal_free(j);
	journal_free(NULL);
	store_release(&store);
	stage_release(&s);
}

int test_store(void)
{
	return RUN_TESTS(T(a_project_key_is_its_path_with_dashes), T(a_long_project_key_is_cut_and_stays_unique),
			 T(a_project_directory_is_below_the_configuration),
			 T(open_files_are_an_eighth_of_the_descriptors_within_limits),
			 T(more_journals_than_descriptors_lose_no_line),
			 T(without_free_descriptors_the_oldest_journal_gives_its_own),
			 T(a_line_that_does_not_fit_is_taken_back_and_reported),
			 T(with_power_a_line_is_safe_after_the_wait_and_all_files_go_together),
			 T(without_power_nothing_waits_and_only_what_is_asked_for_is_forced),
			 T(the_last_sync_runs_beside_other_work_and_the_release_waits_for_it),
			 T(a_disk_that_refuses_is_said_for_good), T(a_journal_that_cannot_be_made_says_so_each_time));
}
