/* SPDX-License-Identifier: MIT
 * fuzz_hello.c - the server name in the first message of TLS: it lies in the bytes that were given, and more bytes behind it do not
 * change it. */
#include <stdlib.h>
#include "guard/sandbox/sandbox_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf more = { 0 };
	struct str bytes = { (const char *)data, size };
	struct str name;
	struct str again;
	enum hello hello = tls_hello_name(bytes, &name);

	if (hello == HELLO_NAMED && (!name.n || name.p < bytes.p || name.p + name.n > bytes.p + bytes.n))
		abort();
	buf_add(&more, data, size);
	buf_addstr(&more, "more");
	if (hello == HELLO_NAMED && (tls_hello_name(buf_str(&more), &again) != HELLO_NAMED || !str_eq(again, name)))
		abort();
	return 0;
}
