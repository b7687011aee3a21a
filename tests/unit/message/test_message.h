/* SPDX-License-Identifier: MIT
 * test_message.h - the test groups of the message room. Each returns the number of its failed tests. */
#pragma once

int test_segment(void);
int test_transcript(void);
int test_body(void);
int test_usage(void);
