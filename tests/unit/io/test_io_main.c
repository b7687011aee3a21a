/* SPDX-License-Identifier: MIT
 * test_io_main.c - runs the test groups of the io room; each file has its own. */
#include "test_io.h"
#include "unit.h"

int main(void)
{
	static const char *const proxies[] = { "http_proxy",  "HTTP_PROXY", "https_proxy",
					       "HTTPS_PROXY", "all_proxy",  "ALL_PROXY" };

	for (size_t i = 0; i < COUNT_OF(proxies); i++)
		unsetenv(proxies[i]); /* or nothing would be on loopback */
	test_address();
	test_confine();
	test_loop();
	test_sse();
	test_http();
	test_http_body();
	test_http_shard();
	test_http_tls();
	test_file();
	test_file_at();
	test_url();
	test_writer();
	test_spawn();
	test_spawn_end();
	test_spawn_stdin();
	return tests_run();
}
