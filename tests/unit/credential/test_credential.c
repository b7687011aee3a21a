/* SPDX-License-Identifier: MIT
 * test_credential.c - runs the groups of the credential room. */
#include "unit.h"
#include "test_credential.h"

int main(void)
{
	test_sigv4();
	test_wait();
	return tests_run();
}
