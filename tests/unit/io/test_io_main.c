/* SPDX-License-Identifier: MIT
 * test_io_main.c - runs the test groups of the io room; each file has its own. */
#include "test_io.h"
#include "lib/base/base.h"

int main(void)
{
	static const char *const proxies[] = { "http_proxy",  "HTTP_PROXY", "https_proxy",
					       "HTTPS_PROXY", "all_proxy",  "ALL_PROXY" };
	int failed = 0;

	for (size_t i = 0; i < COUNT_OF(proxies); i++)
		unsetenv(proxies[i]); /* or nothing would be on loopback */
	failed += test_address();
	failed += test_loop();
	failed += test_sse();
	failed += test_http();
	failed += test_http_body();
	failed += test_http_shard();
	failed += test_http_tls();
	failed += test_file();
	failed += test_url();
	failed += test_writer();
	failed += test_spawn();
	failed += test_spawn_end();
	failed += test_spawn_stdin();
	return failed != 0;
}
