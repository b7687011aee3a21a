/* SPDX-License-Identifier: MIT
 * fuzz_proxy.c - the first bytes of a client of the sandbox's proxy. How they are split must not matter, and what is taken for a
 * request has one host, one port, and a head for the server that is whole and names nothing else. */
#include <stdlib.h>
#include "guard/sandbox/sandbox_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static enum request_state feed(struct proxy_request *r, const uint8_t *data, size_t size, size_t step)
{
	AUTO_BUF struct buf head = { 0 };
	enum request_state state = REQUEST_PART;
	size_t taken;

	for (size_t at = 0; at < size && state == REQUEST_PART; at += step) {
		buf_add(&head, data + at, MIN(step, size - at));
		while ((state = proxy_request_read(r, buf_str(&head), &taken)) == REQUEST_GREETED) {
			require(taken && taken <= head.n);
			buf_drop(&head, taken);
		}
	}
	return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_request whole = { 0 };
	struct proxy_request split = { 0 };

	if (!size)
		return 0;
	enum request_state state = feed(&whole, data, size, size);
	enum request_state other = feed(&split, data, size, 1);
	if (state == REQUEST_WHOLE) {
		require(whole.host && whole.host[0] && whole.port && whole.port <= 65535);
		if (whole.kind == PROXY_PLAIN) {
			const char *end = memmem(whole.first.p, whole.first.n, "\r\n\r\n", 4);
			require(end && !memchr(whole.first.p, '\0', (size_t)(end - whole.first.p)));
		}
		/* Byte by byte it is whole with the same first one, and without what follows. */
		require(other == REQUEST_WHOLE && whole.kind == split.kind && whole.port == split.port &&
			!strcmp(whole.host, split.host));
	}
	if (state == REQUEST_PART)
		require(other == REQUEST_PART);
	proxy_request_release(&whole);
	proxy_request_release(&split);
	return 0;
}
