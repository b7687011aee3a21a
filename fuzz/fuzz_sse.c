/* SPDX-License-Identifier: MIT
 * fuzz_sse.c - where a stream is split must not matter: the input is fed whole, byte by byte and in pieces
 * whose sizes come from the input itself, and all three must give the same events and the same end. The
 * first byte chooses the limit, so that the error path is compared as well. */
#include "lib/io/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note_event(void *data, struct str name, struct str payload)
{
	struct buf *seen = data;

	buf_addf(seen, "%zu %zu ", name.n, payload.n);
	buf_add(seen, name.p, name.n);
	buf_add(seen, payload.p, payload.n);
	return str_is(name, "stop") ? 1 : 0;
}

/* step 0: whole; 1: byte by byte; otherwise a cheap generator seeded with it chooses 1..16 bytes. */
static void feed(struct buf *seen, size_t limit, const char *p, size_t n, uint32_t step)
{
	struct sse s = { .limit_bytes = limit, .event = note_event, .data = seen };
	uint32_t random = step;
	int rc = 0;

	while (n && !rc) {
		random = random * 1664525 + 1013904223;
		size_t piece = step == 0 ? n : step == 1 ? 1 : MIN(n, 1 + (random >> 28));
		rc = sse_feed(&s, p, piece, NULL);
		p += piece;
		n -= piece;
	}
	buf_addf(seen, "rc %d", rc);
	if (!rc)
		buf_addf(seen, " retry %llu id " STR_FMT, (unsigned long long)s.retry_ms, STR_ARG(buf_str(&s.last_id)));
	sse_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	size_t limit = data[0] < 128 ? 0 : data[0] - 127u;
	const char *p = (const char *)data + 1;
	uint32_t seed = (uint32_t)str_hash((struct str){ p, size - 1 }) | 2;
	AUTO_BUF struct buf whole = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_BUF struct buf pieces = { 0 };

	feed(&whole, limit, p, size - 1, 0);
	feed(&bytes, limit, p, size - 1, 1);
	feed(&pieces, limit, p, size - 1, seed);
	if (!str_eq(buf_str(&whole), buf_str(&bytes)) || !str_eq(buf_str(&whole), buf_str(&pieces)))
		abort();
	return 0;
}
