/* SPDX-License-Identifier: MIT
 * test_version.c - versions and ranges. */
#include "unit.h"
#include "defs/plugin/plugin.h"
#include "tests.h"

TEST(versions_fit_the_ranges_that_package_managers_write)
{
	static const struct {
		const char *version, *range;
		bool fits;
	} table[] = {
		{ "1.2.3", "", true },
		{ "1.2.3", "*", true },
		{ "1.2.3", "1.2.3", true },
		{ "1.2.3", "=1.2.3", true },
		{ "v1.2.3", "1.2.3", true },
		{ "1.2.4", "1.2.3", false },
		{ "1.9.0", "^1.2.3", true },
		{ "1.2.2", "^1.2.3", false },
		{ "2.0.0", "^1.2.3", false },
		{ "0.2.9", "^0.2.3", true },
		{ "0.3.0", "^0.2.3", false },
		{ "0.0.3", "^0.0.3", true },
		{ "0.0.4", "^0.0.3", false },
		{ "1.2.9", "~1.2.3", true },
		{ "1.3.0", "~1.2.3", false },
		{ "1.9.9", "~1", true },
		{ "2.0.0", "~1", false },
		{ "1.5.0", "1.x", true },
		{ "1.5.0", "1", true },
		{ "2.0.0", "1.*", false },
		{ "1.5.0", ">=1.2 <2", true },
		{ "2.0.0", ">= 1.2 < 2", false },
		{ "2.0.0", "<=2", true },
		{ "2.9.0", "<=2", true },
		{ "3.0.0", "<=2", false },
		{ "2.9.0", ">2", false },
		{ "3.0.0", ">2", true },
		{ "1.5.0", "1.2 - 1.6", true },
		{ "1.7.0", "1.2 - 1.6", false },
		{ "3.1.0", "^1 || ^3", true },
		{ "2.1.0", "^1 || ^3", false },
		{ "1.2.3-beta.2", "^1.2.3-beta.1", true },
		{ "1.2.3-beta.2", "^1.2.0", false },
		{ "1.3.0-beta", "^1.2.3-beta.1", false },
		{ "1.2.3+build.7", "1.2.3", true },
		{ "none", "^1", false },
		{ "none", "*", true },
		{ "", "1", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		bool fits = version_fits(str_from(table[i].version), str_from(table[i].range));
		if (fits != table[i].fits)
			print_error("%s in %s\n", table[i].version, table[i].range);
		CHECK(fits == table[i].fits);
	}
}

TEST(what_is_no_range_is_said_to_be_none)
{
	static const char *const bad[] = {
		"newest", "^", ">=", "1.2.3.4", "1 | 2", "^a.b", "1.-2", "1.2.3-", "99999999999999999999"
	};
	static const char *const good[] = { "", "*", "1", "^1.2", "~1.2.3", ">=1 <2", "1 || 2", "1.0 - 2.0", "x" };

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		if (version_range_is_good(str_from(bad[i])))
			print_error("%s\n", bad[i]);
		CHECK(!version_range_is_good(str_from(bad[i])));
	}
	for (size_t i = 0; i < COUNT_OF(good); i++)
		CHECK(version_range_is_good(str_from(good[i])));
}

int test_version(void)
{
	return RUN_TESTS(T(versions_fit_the_ranges_that_package_managers_write),
			 T(what_is_no_range_is_said_to_be_none));
}
