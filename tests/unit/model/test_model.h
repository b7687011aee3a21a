/* SPDX-License-Identifier: MIT
 * test_model.h - the test groups of the model room. Each returns the number of its failed tests. */
#pragma once

int test_answer(void);
int test_failure(void);
int test_event_stream(void);
int test_call(void);
int test_refusals(void);
int test_governor(void);
int test_catalog(void);
int test_endpoints(void);
int test_openai_request(void);
int test_openai_stream(void);
