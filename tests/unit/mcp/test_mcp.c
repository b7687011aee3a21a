/* SPDX-License-Identifier: MIT
 * test_mcp.c - all groups of the room. */
#include "tests.h"

int main(void)
{
	int failed = test_config() + test_policy() + test_server();

	failed += test_catalog() + test_client() + test_client_again() + test_client_ask();
	failed += test_client_connect() + test_client_list();
	failed += test_pool() + test_tool();
	failed += test_oauth() + test_oauth_store() + test_auth() + test_auth_again();
	failed += test_transport_stdio() + test_transport_http() + test_transport_loss() + test_transport_sse();
	failed += test_transport_auth() + test_line_reader();
	return failed ? 1 : 0;
}
