/* SPDX-License-Identifier: MIT
 * test_modeld.c - the model server: its parser, its connections, and the scenarios that come with it. */
#include "test_modeld.h"
#include <fts.h>
#include "lib/io/file.h"
#include "core/scenario/engine.h"

TEST(every_scenario_that_comes_with_modeld_is_valid)
{
	char root[] = SCENARIOS;
	char *const roots[] = { root, NULL };
	FTS *tree = fts_open(roots, FTS_LOGICAL, NULL);
	size_t seen = 0;

	for (FTSENT *e; (e = fts_read(tree));) {
		AUTO_BUF struct buf text = { 0 };
		struct scenario *s = NULL;
		struct err err = { 0 };
		if (e->fts_info != FTS_F)
			continue;
		if (file_read(e->fts_path, 1 << 20, &text, &err) < 0 ||
		    scenario_parse(e->fts_path, buf_str(&text), &s, &err) < 0)
			fail_msg("%s", err.text);
		scenario_free(s);
		seen++;
	}

	CHECK(seen > 30);
	fts_close(tree);
}

int main(void)
{
	http_in_tests();
	conn_tests();
	RUN_TESTS(T(every_scenario_that_comes_with_modeld_is_valid));
	return tests_run();
}
