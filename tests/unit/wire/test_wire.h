/* SPDX-License-Identifier: MIT
 * test_wire.h - the test groups of the wire room. Each returns the number of its failed tests. */
#pragma once

int test_answer(void);
int test_failure(void);
int test_refusals(void);
int test_chat_request(void);
int test_chat_stream(void);
