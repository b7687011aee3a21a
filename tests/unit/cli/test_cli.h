/* SPDX-License-Identifier: MIT
 * test_cli.h - the tests of this room by subject, and the library that stands in for libcadre. */
#pragma once
#include "unit.h"
#include <cadre.h>

struct test_group {
	const struct CMUnitTest *tests;
	size_t count;
};
extern const struct test_group args_tests, choice_tests, completion_tests, editor_tests, face_tests, input_tests,
	render_tests, screen_tests, tree_tests, verb_tests;
#define GROUP(...)                                                                                     \
	{                                                                                              \
		(const struct CMUnitTest[]){ __VA_ARGS__ },                                            \
			sizeof((const struct CMUnitTest[]){ __VA_ARGS__ }) / sizeof(struct CMUnitTest) \
	}

/* An event made by hand; members that are not set are "". */
struct cadre_event {
	enum cadre_event_kind kind;
	const char *name;
	const char *text;
	const char *subtype;
	const char *frame;
	int is_error;
	const char *agent, *details[CADRE_DETAIL_LAST_TOOL + 1];
	int64_t figures[CADRE_FIGURE_MS + 1];
	int64_t time_ms;
};

extern struct buf fake_out;      /* everything written by cadre_write() */
extern struct buf fake_settings; /* "name=value;" for each cadre_set() */

/* Of the report that every verb gets */
struct fake_row {
	enum cadre_tone tone;
	const char *cells[3]; /* NULL: no more */
};
void fake_set_rows(const struct fake_row *rows, size_t count);
