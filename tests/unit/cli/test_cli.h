/* SPDX-License-Identifier: MIT
 * test_cli.h - the tests of this room by subject, events made by hand. */
#pragma once
#include "unit.h"
#include <cadre_command.h>
#include "agents/query/query.h"
#include "face/cli/view.h"

struct test_group {
	const struct CMUnitTest *tests;
	size_t count;
};
extern const struct test_group choice_tests, completion_tests, face_tests, flag_tests, input_tests, render_tests,
	table_tests, tree_tests;
#define GROUP(...)                                                                                     \
	{                                                                                              \
		(const struct CMUnitTest[]){ __VA_ARGS__ },                                            \
			sizeof((const struct CMUnitTest[]){ __VA_ARGS__ }) / sizeof(struct CMUnitTest) \
	}

/* An event made by hand. One with an agent is about a child of type Explore with 3 turns and 1,234 tokens. */
struct made {
	enum cadre_event_kind kind;
	const char *name, *text, *frame;
	enum query_end end; /* of the turn that ended */
	bool is_error;
	const char *agent, *parent;
	unsigned depth;
	int64_t time_ms;
};
void event_make(const struct made *m, void (*fn)(const struct cadre_event *e, void *data), void *data);
void view_show(struct view *v, const struct made *m);

void out_open(struct view *v);                         /* gives it an empty file to write to */
void out_expect(struct view *v, const char *expected); /* all that was written */
void out_close(void);                                  /* after the last test */
