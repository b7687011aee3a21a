/* SPDX-License-Identifier: MIT
 * fuzz_frames.c - frames of Bedrock, whole and byte by byte: the same frames and the same end. Input that is not damaged comes from
 * here: the bytes also stand as the payload of a good frame, which must be read. */
#include <zlib.h>
#include "core/model/event_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note_frame(void *data, const char *exception, struct str payload)
{
	buf_addf(data, "%s %zu ", exception ? exception : "event", payload.n);
	buf_add(data, payload.p, payload.n);
}

static void feed(struct buf *seen, const char *p, size_t n, size_t step)
{
	struct event_stream s = { .on_frame = note_frame, .data = seen };
	struct err err = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i += MIN(step, n - i))
		rc = event_stream_feed(&s, p + i, MIN(step, n - i), &err);
	buf_addf(seen, " %d", rc);
	buf_release(&s.bytes);
}

static void add_be32(struct buf *out, uint32_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addch(out, (char)(n >> shift));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = size ? (const char *)data : "";
	AUTO_BUF struct buf whole = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_BUF struct buf frame = { 0 };
	AUTO_BUF struct buf seen = { 0 };

	feed(&whole, p, size, SIZE_MAX);
	feed(&bytes, p, size, 1);
	if (!str_eq(buf_str(&whole), buf_str(&bytes)))
		abort();
	add_be32(&frame, (uint32_t)(16 + size));
	add_be32(&frame, 0);
	add_be32(&frame, (uint32_t)crc32(0, (const unsigned char *)frame.p, 8));
	buf_add(&frame, p, size);
	add_be32(&frame, (uint32_t)crc32(0, (const unsigned char *)frame.p, (uInt)frame.n));
	feed(&seen, frame.p, frame.n, SIZE_MAX);
	if (!str_starts(buf_str(&seen), STR("event ")))
		abort();
	return 0;
}
