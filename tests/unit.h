/* SPDX-License-Identifier: MIT
 * unit.h - what every unit test uses: cmocka with short names, files. A test's name is a sentence that is true when the test passes.
 *
 *     TEST(a_torn_last_line_is_cut_off) { ...given... ...when... ...then... }
 *     int test_lines(void) { return RUN_TESTS(T(a_torn_last_line_is_cut_off), ...); }
 *     int main(void) { test_lines(); return tests_run(); }
 *
 * Results are printed as TAP, which `meson test` reads. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"

#define TEST(name) static void name(void **unit_state __attribute__((unused)))
#define T(name)    cmocka_unit_test(name)
#define RUN_TESTS(...)                                                  \
	__extension__({                                                 \
		const struct CMUnitTest unit_tests[] = { __VA_ARGS__ }; \
		tests_add(unit_tests, COUNT_OF(unit_tests));            \
	})

int tests_add(const struct CMUnitTest *tests, size_t count); /* for tests_run(); returns 0 */
int tests_run(void); /* all that were added, as one TAP stream; returns 0 or 1 */

#define CHECK(x)         assert_true(x)
#define CHECK_INT(a, b)  assert_int_equal((a), (b))
#define CHECK_CSTR(a, b) assert_string_equal((a), (b))
#define CHECK_STR(a, b)                                                         \
	do {                                                                    \
		struct str unit_a = (a);                                        \
		char *unit_copy = xstrndup(unit_a.n ? unit_a.p : "", unit_a.n); \
		assert_string_equal(unit_copy, (b));                            \
		free(unit_copy);                                                \
	} while (0)

/* Files: each of these fails the test if it cannot do its work. */

enum { FOLDER_MAX = 64 };

/* A directory of the test's own, below $TEST_FOLDERS (tests/run sets it) or $TMPDIR if that is short enough, else below /tmp; no symbolic link is in its path. */
void folder_make(char dir[static FOLDER_MAX]);
void folder_remove(const char *dir);                    /* with everything in it */
void file_put(const char *path, struct str text);       /* makes the directories as well */
char *file_text(struct arena *arena, const char *path); /* what the file holds, with a NUL behind it */

/* Runs a program in dir and adds what it writes to out; envp NULL: our environment. Its standard input is empty. Returns the exit code,
 * 128 after a signal, -1 if it cannot be run. It is spawned: a fork of a sanitized process costs 6 ms for its page tables. */
int program_run(const char *dir, const char *const *argv, const char *const *envp, bool with_errors, struct buf *out);
