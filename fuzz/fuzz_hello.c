/* SPDX-License-Identifier: MIT
 * fuzz_hello.c - the server name in the first message of TLS: it lies in the message that was joined, more bytes behind it do not
 * change it, and neither does another cut into records. */
#include <stdlib.h>
#include "guard/sandbox/sandbox_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf joined = { 0 };
	AUTO_BUF struct buf other = { 0 };
	AUTO_BUF struct buf more = { 0 };
	struct str bytes = { (const char *)data, size };
	struct str name;
	struct str again;
	enum hello hello = tls_hello_name(bytes, &joined, &name);

	if ((hello == HELLO_NAMED) != (name.n > 0))
		abort();
	if (hello != HELLO_NAMED)
		return 0;
	if (name.p < joined.p || name.p + name.n > joined.p + joined.n)
		abort();
	buf_add(&more, data, size);
	buf_addstr(&more, "more");
	if (tls_hello_name(buf_str(&more), &other, &again) != HELLO_NAMED || !str_eq(again, name))
		abort();
	buf_clear(&more);
	for (size_t i = 0; i < MIN(joined.n, (size_t)2048); i++) {
		buf_add(&more, "\x16\3\1\0\1", 5);
		buf_addch(&more, joined.p[i]);
	}
	if (joined.n <= 2048 && (tls_hello_name(buf_str(&more), &other, &again) != HELLO_NAMED || !str_eq(again, name)))
		abort();
	return 0;
}
