/* SPDX-License-Identifier: MIT
 * test_mcp.c - all groups of the room. */
#include "tests.h"
#include "unit.h"

int main(void)
{
	test_config();
	test_policy();
	test_server();
	test_catalog();
	test_client();
	test_client_again();
	test_client_ask();
	test_client_connect();
	test_client_list();
	test_pool();
	test_tool();
	test_oauth();
	test_oauth_store();
	test_auth();
	test_auth_again();
	test_transport_stdio();
	test_transport_http();
	test_transport_loss();
	test_transport_sse();
	test_transport_auth();
	test_line_reader();
	return tests_run();
}
