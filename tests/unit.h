/* SPDX-License-Identifier: MIT
 * unit.h - cmocka with short names. A test's name is a sentence that is true when the test passes.
 *
 *     TEST(a_torn_last_line_is_cut_off) { ...given... ...when... ...then... }
 *     int main(void) { return RUN_TESTS(T(a_torn_last_line_is_cut_off), ...); }
 *
 * Results are printed as TAP, which tests/run counts. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "lib/base/buf.h"

#define TEST(name) static void name(void **unit_state __attribute__((unused)))
#define T(name)    cmocka_unit_test(name)
#define RUN_TESTS(...)                                                  \
	__extension__({                                                 \
		const struct CMUnitTest unit_tests[] = { __VA_ARGS__ }; \
		cmocka_set_message_output(CM_OUTPUT_TAP);               \
		cmocka_run_group_tests(unit_tests, NULL, NULL);         \
	})

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
