/* SPDX-License-Identifier: MIT
 * test_table.c - reports as tables, and the help of commands. */
#include "test_cli.h"
#include "face/cli/command.h"
#include "product/command/report.h"

/* run.h: not used here */
int run_fail(const struct err *err);
int run_fail(const struct err *err)
{
	return err->kind == ERR_USAGE ? 2 : 1;
}

TEST(the_help_of_a_command_has_its_options_and_its_words)
{
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		AUTO_BUF struct buf help = { 0 };
		help_write_command(&help, c);
		for (const struct cadre_option *o = c->options; o->name; o++)
			CHECK(str_has(buf_str(&help), str_from(o->name)));
		for (const struct cadre_command_word *w = c->words; w->name; w++) {
			const char *last = strrchr(w->name, ' ');
			CHECK(str_has(buf_str(&help), str_from(last ? last + 1 : w->name)));
		}
		for (const char *const *setting = c->settings; *setting; setting++)
			CHECK(str_has(buf_str(&help), str_from(*setting)));
		CHECK(str_has(buf_str(&help), STR("--help")));
	}
}

static void free_report(struct cadre_report **r)
{
	cadre_report_free(*r);
}

TEST(a_table_is_aligned_and_its_cells_cannot_act_on_the_terminal)
{
	CLEANUP(free_report) struct cadre_report *r = xcalloc(1, sizeof *r);
	AUTO_BUF struct buf plain = { 0 };
	AUTO_BUF struct buf coloured = { 0 };
	report_row(r, CADRE_HEAD, "NAME", "SOURCE", "TOOLS", NULL);
	report_row(r, CADRE_PLAIN, "\xc3\xa4", "built-in", "Read,\nEdit", NULL);
	report_row(r, CADRE_BAD, "long name", "x", "\x1b[2J", NULL);
	report_row(r, CADRE_PLAIN, "\xe6\x97\xa5\xe6\x9c\xac e\xcc\x81", "x", "y", NULL); /* six columns */
	report_row(r, CADRE_NOTE, "a line of its own", NULL);
	report_row(r, CADRE_HEAD, "SECOND", "B", NULL);
	report_row(r, CADRE_PLAIN, "1", "2", NULL);

	table_write(&plain, r, false);
	table_write(&coloured, r, true);

	CHECK_CSTR(plain.p, "NAME       SOURCE    TOOLS\n"
			    "\xc3\xa4          built-in  Read, Edit\n"
			    "long name  x         \\x1b[2J\n"
			    "\xe6\x97\xa5\xe6\x9c\xac e\xcc\x81     x         y\n"
			    "a line of its own\n"
			    "\n"
			    "SECOND  B\n"
			    "1       2\n");
	CHECK(!strchr(plain.p, '\033'));
	CHECK(strstr(coloured.p, "\033[31mlong name  x         \\x1b[2J\033[0m\n") != NULL);
}

const struct test_group table_tests = GROUP(T(the_help_of_a_command_has_its_options_and_its_words),
					    T(a_table_is_aligned_and_its_cells_cannot_act_on_the_terminal));
