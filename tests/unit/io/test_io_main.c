/* SPDX-License-Identifier: MIT
 * test_io_main.c - runs the test groups of the io room; each file has its own. */
#include "test_io.h"

int main(void)
{
	int failed = 0;

	failed += test_loop();
	failed += test_sse();
	failed += test_http();
	failed += test_http_tls();
	failed += test_file();
	failed += test_writer();
	failed += test_spawn();
	failed += test_spawn_end();
	return failed != 0;
}
