/* SPDX-License-Identifier: MIT
 * test_scheduler.c - which calls run at the same time. */
#include "unit.h"
#include "tests.h"
#include "core/tool/tool.h"

/* A letter for each call: r reads, c is concurrent, d delegates, w changes something, a reads after the answer; in capitals
 * it has started already. Returns the calls that may start, the others as dots. */
static const char *pass_over(const char *calls, unsigned limit, bool in_answer, char *out)
{
	static const struct {
		char letter;
		unsigned flags;
	} kinds[] = { { 'r', TOOL_READ_ONLY },
		      { 'c', TOOL_CONCURRENT },
		      { 'd', TOOL_DELEGATES },
		      { 'w', 0 },
		      { 'a', TOOL_READ_ONLY | TOOL_AFTER_ANSWER } };
	struct tool_scheduler pass = { .limit = limit, .in_answer = in_answer };
	size_t n = strlen(calls);

	for (size_t i = 0; i < n; i++) {
		struct tool_call call = { .started = calls[i] < 'a' };
		for (size_t k = 0; k < COUNT_OF(kinds); k++)
			if ((calls[i] | 0x20) == kinds[k].letter)
				call.flags = kinds[k].flags;
		out[i] = tool_scheduler_pass(&pass, &call) ? calls[i] : '.';
	}
	out[n] = 0;
	return out;
}

TEST(calls_that_read_run_together_and_a_writer_runs_alone)
{
	static const struct {
		const char *calls;
		unsigned limit;
		bool in_answer;
		const char *start;
	} rows[] = {
		{ "rrr", 0, false, "rrr" },   { "rcd", 0, false, "rcd" },   { "w", 0, false, "w" },
		{ "wr", 0, false, "w." },     { "rw", 0, false, "r." },     { "Rw", 0, false, ".." },
		{ "rwr", 0, false, "r.." },   { "Wrw", 0, false, "..." },   { "ww", 0, false, "w." },
		{ "rrrr", 2, false, "rr.." }, { "RRr", 2, false, "..." },   { "Rrr", 2, false, ".r." },
		{ "rrd", 2, false, "rrd" },   { "ddrr", 1, false, "ddr." }, { "ra", 0, true, "r." },
		{ "ar", 0, true, ".r" },      { "ra", 0, false, "ra" },     { "Dw", 0, false, ".." },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char got[8];
		print_message("# %s %u\n", rows[i].calls, rows[i].limit);
		CHECK_CSTR(pass_over(rows[i].calls, rows[i].limit, rows[i].in_answer, got), rows[i].start);
	}
}

int test_scheduler(void)
{
	return RUN_TESTS(T(calls_that_read_run_together_and_a_writer_runs_alone));
}
