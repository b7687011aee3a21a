/* SPDX-License-Identifier: MIT
 * test_scenario.c - the scripted model: scenario files, checks of requests, answers, faults, the prompt cache. */
#include "stage.h"

int main(void)
{
	parse_tests();
	request_tests();
	answer_tests();
	fault_tests();
	cache_tests();
	chat_tests();
	return tests_run();
}
