/* SPDX-License-Identifier: MIT
 * test_credential.h - the test groups of the credential room. */
#pragma once

int test_sigv4(void);
int test_wait(void);
