/* SPDX-License-Identifier: MIT
 * test_model.h - the test groups of the model room. Each returns the number of its failed tests. */
#pragma once

int test_event_stream(void);
int test_call(void);
int test_governor(void);
int test_catalog(void);
int test_endpoints(void);
