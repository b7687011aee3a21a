/* SPDX-License-Identifier: MIT
 * test_lock.c - one process at a time works on a session. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "core/store/lock.h"
#include "stage.h"
#include "test_session.h"

#define ONE "aaaaaaaa-0000-4000-8000-000000000001"
#define TWO "bbbbbbbb-0000-4000-8000-000000000002"

TEST(a_session_is_locked_once_per_runtime)
{
	struct stage s;
	struct lock_table t = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	char *dir = stage_path(&s, "deep/down");

	CHECK_INT(session_lock(&t, dir, ONE, &err), 0);
	CHECK_INT(session_lock(&t, dir, TWO, &err), 0);
	CHECK_INT(session_lock(&t, dir, ONE, &err), -ERR_BUSY);
	CHECK(strstr(err.text, ONE) != NULL);
	session_unlock(&t, dir, ONE);
	session_unlock(&t, dir, ONE);
	session_unlock(&t, "/nowhere", ONE);
	CHECK_INT(session_lock(&t, dir, ONE, &err), 0);
	lock_table_release(&t);
	stage_release(&s);
}

TEST(two_runtimes_of_one_process_exclude_each_other)
{
	struct stage s;
	struct lock_table first = { 0 }, second = { 0 };
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_lock(&first, s.dir, ONE, &err), 0);
	CHECK_INT(session_lock(&second, s.dir, ONE, &err), -ERR_BUSY);
	CHECK_INT(session_lock(&second, s.dir, TWO, &err), 0);
	session_unlock(&first, s.dir, ONE);
	CHECK_INT(session_lock(&second, s.dir, ONE, &err), 0);
	lock_table_release(&first);
	lock_table_release(&second);
	stage_release(&s);
}

static int count_descriptors(void)
{
	int count = 0;
	DIR *dir = opendir("/proc/self/fd");

	CHECK(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

TEST(a_thousand_sessions_need_one_descriptor)
{
	struct stage s;
	struct lock_table t = { 0 };
	struct err err = { 0 };
	char id[UUID_LEN + 1];
	stage_init(&s);
	int before = count_descriptors();

	for (int i = 0; i < 1000; i++) {
		id_uuid(id);
		CHECK_INT(session_lock(&t, s.dir, id, &err), 0);
	}

	CHECK_INT(count_descriptors(), before + 1);
	lock_table_release(&t);
	stage_release(&s);
}

TEST(a_directory_that_cannot_be_made_is_an_error)
{
	struct stage s;
	struct lock_table t = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	stage_write(&s, "file", "in the way");

	CHECK_INT(session_lock(&t, stage_path(&s, "file/dir"), ONE, &err), -ERR_IO);
	CHECK(err.text[0]);
	lock_table_release(&t);
	stage_release(&s);
}

/* The exit code of this program, started anew to try the lock. */
static int try_elsewhere(const char *dir)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "test_session", "--try-lock", dir, ONE, NULL);
		_exit(9);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

TEST(another_process_is_refused_too)
{
	struct stage s;
	struct lock_table t = { 0 };
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_lock(&t, s.dir, ONE, &err), 0);
	CHECK_INT(try_elsewhere(s.dir), 3);
	session_unlock(&t, s.dir, ONE);
	CHECK_INT(try_elsewhere(s.dir), 0);
	lock_table_release(&t);
	stage_release(&s);
}

/* The owner: takes the lock, says so, and waits to be killed. */
static void own_lock(const char *dir, int ready)
{
	struct lock_table t = { 0 };
	struct err err = { 0 };

	if (session_lock(&t, dir, ONE, &err) == 0 && write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

TEST(a_lock_dies_with_its_owner)
{
	struct stage s;
	struct lock_table t = { 0 };
	struct err err = { 0 };
	int ready[2];
	char c;
	stage_init(&s);
	CHECK_INT(pipe(ready), 0);

	pid_t owner = fork();
	if (owner == 0)
		own_lock(s.dir, ready[1]);
	CHECK_INT(read(ready[0], &c, 1), 1);
	CHECK_INT(session_lock(&t, s.dir, ONE, &err), -ERR_BUSY);
	CHECK_INT(kill(owner, SIGKILL), 0);
	CHECK_INT(waitpid(owner, NULL, 0), owner);

	CHECK_INT(session_lock(&t, s.dir, ONE, &err), 0);
	close(ready[0]);
	close(ready[1]);
	lock_table_release(&t);
	stage_release(&s);
}

TEST(a_child_program_does_not_inherit_the_lock)
{
	struct stage s;
	struct lock_table first = { 0 }, second = { 0 };
	struct err err = { 0 };
	int input[2], started[2];
	char c;
	stage_init(&s);
	CHECK_INT(session_lock(&first, s.dir, ONE, &err), 0);
	CHECK_INT(pipe2(input, O_CLOEXEC), 0);
	CHECK_INT(pipe2(started, O_CLOEXEC), 0);

	/* It lives until its input ends. That it runs is seen when exec closes its end of `started`. */
	pid_t child = fork();
	if (child == 0) {
		dup2(input[0], 0);
		execlp("cat", "cat", NULL);
		_exit(9);
	}
	close(started[1]);
	CHECK_INT(read(started[0], &c, 1), 0);
	lock_table_release(&first);

	CHECK_INT(session_lock(&second, s.dir, ONE, &err), 0);
	close(started[0]);
	close(input[0]);
	close(input[1]);
	CHECK_INT(waitpid(child, NULL, 0), child);
	lock_table_release(&second);
	stage_release(&s);
}

int test_lock(void)
{
	return RUN_TESTS(T(a_session_is_locked_once_per_runtime), T(two_runtimes_of_one_process_exclude_each_other),
			 T(a_thousand_sessions_need_one_descriptor), T(a_directory_that_cannot_be_made_is_an_error),
			 T(another_process_is_refused_too), T(a_lock_dies_with_its_owner),
			 T(a_child_program_does_not_inherit_the_lock));
}
