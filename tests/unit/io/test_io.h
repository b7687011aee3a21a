/* SPDX-License-Identifier: MIT
 * test_io.h - the test groups of the io room. Each returns the number of its failed tests. */
#pragma once

int test_address(void);
int test_confine(void);
int test_loop(void);
int test_sse(void);
int test_http(void);
int test_http_body(void);
int test_http_shard(void);
int test_http_tls(void);
int test_spawn(void);
int test_spawn_end(void);
int test_spawn_stdin(void);
int test_file(void);
int test_file_at(void);
int test_url(void);
int test_writer(void);
