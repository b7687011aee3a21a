/* SPDX-License-Identifier: MIT
 * test_event_stream.c - frames of Bedrock: whole, cut at every byte, with every bit of them flipped. */
#include "unit.h"
#include <zlib.h>
#include "core/model/event_stream.h"
#include "test_model.h"

static void add_be32(struct buf *out, uint32_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addch(out, (char)(n >> shift));
}

static uint32_t checksum(const struct buf *b, size_t from)
{
	return (uint32_t)crc32(0, (const unsigned char *)b->p + from, (uInt)(b->n - from));
}

/* headers: as they stand in the frame. */
static void add_frame(struct buf *out, struct str headers, const char *payload)
{
	size_t start = out->n;

	add_be32(out, (uint32_t)(16 + headers.n + strlen(payload)));
	add_be32(out, (uint32_t)headers.n);
	add_be32(out, checksum(out, start));
	buf_add(out, headers.p, headers.n);
	buf_addstr(out, payload);
	add_be32(out, checksum(out, start));
}

#define EVENT     "\015:message-type\7\0\5event\013:event-type\7\0\5chunk"
#define EXCEPTION "\017:exception-type\7\0\023throttlingException\015:message-type\7\0\011exception"
#define ALL_TYPES \
	"\1a\0\1b\1\1c\2x\1d\3xx\1e\4xxxx\1f\5xxxxxxxx\1g\6\0\2xx\1h\7\0\1x\1i\10xxxxxxxx\1j\11xxxxxxxxxxxxxxxx" EVENT

static void note(void *data, const char *exception, struct str payload)
{
	buf_addf(data, "%s:" STR_FMT ";", exception ? exception : "event", STR_ARG(payload));
}

static void make(struct buf *out)
{
	add_frame(out, STR(EVENT), "one");
	add_frame(out, STR(ALL_TYPES), "");
	add_frame(out, STR(EXCEPTION), "slow");
}

static int feed(struct buf *seen, const char *p, size_t n, size_t piece)
{
	struct event_stream s = { .on_frame = note, .data = seen };
	struct err err = { 0 };
	int status = 0;

	for (size_t at = 0; at < n && status == 0; at += piece)
		status = event_stream_feed(&s, p + at, MIN(piece, n - at), &err);
	buf_release(&s.bytes);
	return status;
}

TEST(frames_are_read_in_pieces_of_any_size)
{
	AUTO_BUF struct buf bytes = { 0 };
	make(&bytes);

	for (size_t piece = 1; piece <= bytes.n; piece++) {
		AUTO_BUF struct buf seen = { 0 };
		CHECK_INT(feed(&seen, bytes.p, bytes.n, piece), 0);
		CHECK_CSTR(seen.p, "event:one;event:;throttlingException:slow;");
	}
}

TEST(a_cut_gives_only_whole_frames)
{
	AUTO_BUF struct buf bytes = { 0 };
	make(&bytes);

	for (size_t n = 0; n < bytes.n; n++) {
		AUTO_BUF struct buf seen = { 0 };
		CHECK_INT(feed(&seen, bytes.p, n, n + 1), 0);
		CHECK(!seen.n || !strncmp("event:one;event:;throttlingException:slow;", seen.p, seen.n));
		CHECK(seen.n < strlen("event:one;event:;throttlingException:slow;"));
	}
}

TEST(no_flipped_bit_goes_unseen)
{
	AUTO_BUF struct buf bytes = { 0 };
	add_frame(&bytes, STR(EVENT), "payload");

	for (size_t bit = 0; bit < bytes.n * 8; bit++) {
		AUTO_BUF struct buf seen = { 0 };
		bytes.p[bit / 8] ^= (char)(1 << bit % 8);
		CHECK_INT(feed(&seen, bytes.p, bytes.n, bytes.n), -ERR_PARSE);
		CHECK_INT(seen.n, 0);
		bytes.p[bit / 8] ^= (char)(1 << bit % 8);
	}
}

TEST(sizes_and_headers_that_cannot_be_are_refused)
{
	static const struct {
		uint32_t total, headers;
	} sizes[] = { { 25u << 20, 0 }, { 15, 0 }, { 32, 17 }, { 1 << 20, 200 << 10 }, { UINT32_MAX, UINT32_MAX } };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		AUTO_BUF struct buf bytes = { 0 };
		AUTO_BUF struct buf seen = { 0 };
		add_be32(&bytes, sizes[i].total);
		add_be32(&bytes, sizes[i].headers);
		add_be32(&bytes, checksum(&bytes, 0));
		CHECK_INT(feed(&seen, bytes.p, bytes.n, bytes.n), -ERR_PARSE);
	}
	static const struct str headers[] = {
		{ "\5abc", 4 }, { "\1a\12", 3 }, { "\1a\7\0\11x", 6 }, { "\1a\4xx", 5 }, { "\1a", 2 }
	};
	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		AUTO_BUF struct buf bytes = { 0 };
		AUTO_BUF struct buf seen = { 0 };
		add_frame(&bytes, headers[i], "x");
		CHECK_INT(feed(&seen, bytes.p, bytes.n, bytes.n), -ERR_PARSE);
		CHECK_INT(seen.n, 0);
	}
}

int test_event_stream(void)
{
	return RUN_TESTS(T(frames_are_read_in_pieces_of_any_size), T(a_cut_gives_only_whole_frames),
			 T(no_flipped_bit_goes_unseen), T(sizes_and_headers_that_cannot_be_are_refused));
}
