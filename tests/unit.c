/* SPDX-License-Identifier: MIT
 * unit.c - the tests of one program as one TAP stream; files and programs of tests. */
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"

static struct CMUnitTest *all;
static size_t all_count;

int tests_add(const struct CMUnitTest *tests, size_t count)
{
	all = xrealloc(all, (all_count + count) * sizeof *all);
	memcpy(all + all_count, tests, count * sizeof *all);
	all_count += count;
	return 0;
}

/* cmocka says "not ok" of a test that was skipped, which TAP calls a failure. */
static ssize_t write_tap(void *data, const char *p, size_t n)
{
	bool skipped = n > 4 && !memcmp(p, "not ok", 6) && memmem(p, n, "# SKIP", 6);
	const char *from = skipped ? p + 4 : p;

	return fwrite(from, 1, n - (size_t)(from - p), data) && fflush(data) == 0 ? (ssize_t)n : -1;
}

int tests_run(void)
{
	FILE *lines = fopencookie(stdout, "w", (cookie_io_functions_t){ .write = write_tap });

	setvbuf(lines, NULL, _IOLBF, BUFSIZ);
	stdout = lines;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	cmocka_set_test_filter(getenv("TEST_CASES"));
	int failed = _cmocka_run_group_tests("unit", all, all_count, NULL, NULL);

	free(all);
	return failed != 0;
}

void folder_make(char dir[static FOLDER_MAX])
{
	const char *folders = getenv("TEST_FOLDERS"), *tmp = folders ?: getenv("TMPDIR");
	const char *name = folders ? "" : "cadre-test-";
	char real[PATH_MAX];

	if (!tmp || !realpath(tmp, real) || strlen(real) + strlen(name) + 32 >= FOLDER_MAX)
		CHECK(realpath("/tmp", real));
	for (int n = 0;; n++) { /* a number: see tests/folders.py */
		snprintf(dir, FOLDER_MAX, "%s/%s%d-%d", real, name, getpid(), n);
		if (mkdir(dir, 0700) == 0)
			return;
		CHECK_INT(errno, EEXIST);
	}
}

void folder_remove(const char *dir)
{
	CHECK_INT(file_remove_raw(dir), 0);
}

void file_put(const char *path, struct str text)
{
	struct err err = { 0 };

	if (file_make_parents(path, &err) < 0 || file_replace(path, text.p, text.n, &err) < 0)
		fail_msg("%s", err.text);
}

char *file_text(struct arena *arena, const char *path)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	if (file_read(path, 1 << 24, &text, &err) < 0)
		fail_msg("%s", err.text);
	return arena_dup(arena, buf_str(&text).p, text.n);
}

int program_run(const char *dir, const char *const *argv, const char *const *envp, bool with_errors, struct buf *out)
{
	posix_spawn_file_actions_t files;
	struct err err = { 0 };
	int ends[2];
	int status = 0;
	pid_t pid;

	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	if (with_errors)
		posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addchdir_np(&files, dir);
	int error = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv,
				 envp ? (char *const *)(uintptr_t)envp : environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (!error && file_read_fd(ends[0], 256 << 20, out, &err) < 0)
		fail_msg("cannot read what %s writes: %s", argv[0], err.text);
	close(ends[0]);
	if (error)
		return -1;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
