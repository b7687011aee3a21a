/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests of this room; each returns how many failed. */
#pragma once

int test_config(void);
int test_policy(void);
int test_server(void);
int test_client(void);
int test_client_again(void);
int test_client_connect(void);
int test_client_list(void);
int test_client_ask(void);
int test_pool(void);
int test_tool(void);
int test_catalog(void);
int test_line_reader(void);
int test_transport_stdio(void);
int test_transport_http(void);
int test_transport_loss(void);
int test_transport_sse(void);
int test_transport_auth(void);
int test_auth(void);
int test_auth_again(void);
int test_oauth(void);
int test_oauth_store(void);
