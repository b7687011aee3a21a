/* SPDX-License-Identifier: MIT
 * test_placement.c - foreground or background, over all that can be said about it. */
#include "unit.h"
#include "agents/subagent/subagent.h"
#include "tests.h"

enum fact {
	DISABLED = 1 << 0,
	CALL_SAYS = 1 << 1,
	CALL_WANTS = 1 << 2,
	DEFINITION = 1 << 3,
	COORDINATOR = 1 << 4,
	FORK_MODE = 1 << 5,
	HOST = 1 << 6,
	BY_DEFAULT = 1 << 7,
	ALL_FACTS = 1 << 8,
};

/* The rule as users are told it: the first line whose facts hold decides. */
static bool is_background(unsigned facts)
{
	static const struct {
		unsigned known, hold;
		bool background;
	} lines[] = {
		{ DISABLED, DISABLED, false },
		{ DEFINITION, DEFINITION, true },
		{ COORDINATOR, COORDINATOR, true },
		{ FORK_MODE, FORK_MODE, true },
		{ HOST, HOST, true },
		{ CALL_SAYS | CALL_WANTS, CALL_SAYS | CALL_WANTS, true },
		{ CALL_SAYS | CALL_WANTS, CALL_SAYS, false },
		{ BY_DEFAULT, BY_DEFAULT, true },
		{ 0, 0, false },
	};
	size_t i = 0;

	while ((facts & lines[i].known) != lines[i].hold)
		i++;
	return lines[i].background;
}

static bool placed_in_background(unsigned facts)
{
	const struct tree_switches switches = {
		.background_off = facts & DISABLED,
		.coordinator = facts & COORDINATOR,
		.fork_mode = facts & FORK_MODE,
		.background_host = facts & HOST,
		.background_default = facts & BY_DEFAULT,
	};
	const struct spawn_request request = { .background_given = facts & CALL_SAYS,
					       .background = facts & CALL_WANTS };

	return spawn_in_background(&switches, &request, facts & DEFINITION);
}

TEST(every_combination_of_facts_is_placed_as_the_rule_says)
{
	unsigned in_background = 0;

	for (unsigned facts = 0; facts < ALL_FACTS; facts++) {
		bool background = placed_in_background(facts);
		if (background != is_background(facts))
			fail_msg("facts 0x%02x are placed wrongly", facts);
		in_background += background;
	}
	/* half is disabled; of the rest 15 of 16 have a reason that nobody overrules, and of those without, half */
	CHECK_INT(in_background, 120 + 4);
}

TEST(an_agent_runs_in_the_foreground_if_nothing_is_said)
{
	CHECK(!placed_in_background(0));
}

TEST(a_definition_that_wants_the_background_wins_over_a_call_that_does_not)
{
	CHECK(placed_in_background(DEFINITION | CALL_SAYS));
}

TEST(a_call_that_says_no_wins_over_the_default_only)
{
	CHECK(!placed_in_background(BY_DEFAULT | CALL_SAYS));
	CHECK(placed_in_background(BY_DEFAULT));
}

int test_placement(void)
{
	return RUN_TESTS(T(every_combination_of_facts_is_placed_as_the_rule_says),
			 T(an_agent_runs_in_the_foreground_if_nothing_is_said),
			 T(a_definition_that_wants_the_background_wins_over_a_call_that_does_not),
			 T(a_call_that_says_no_wins_over_the_default_only));
}
