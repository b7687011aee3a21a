/* SPDX-License-Identifier: MIT
 * event_stream.c - u32 size, u32 size of the headers, u32 CRC of these eight bytes, headers, payload, u32 CRC of all before. Big
 * endian. */
#include "core/model/messages.h"
#include <zlib.h>

enum {
	PRELUDE = 12,
	TRAILER = 4,
	LARGEST_FRAME = 24 << 20,
	LARGEST_HEADERS = 128 << 10
}; /* limits of AWS's own library */

static uint32_t be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static uint32_t checksum(const char *p, size_t n)
{
	return (uint32_t)crc32(0, (const unsigned char *)p, (uInt)n);
}

/* The next header; false at the end or if it is damaged (*ret_bad). value is empty for all types but a string. */
static bool next_header(struct str *rest, struct str *ret_name, struct str *ret_value, bool *ret_bad)
{
	static const unsigned char sizes[] = { 0, 0, 1, 2, 4, 8, 0, 0, 8, 16 };
	const unsigned char *p = (const unsigned char *)rest->p;

	if (!rest->n)
		return false;
	*ret_bad = true;
	size_t at = 1u + p[0];
	if (at >= rest->n || p[at] >= sizeof sizes)
		return false;
	*ret_name = (struct str){ rest->p + 1, p[0] };
	unsigned type = p[at++];
	size_t size = sizes[type];
	if (type == 6 || type == 7) {
		if (at + 2 > rest->n)
			return false;
		size = (size_t)p[at] << 8 | p[at + 1];
		at += 2;
	}
	if (at + size > rest->n)
		return false;
	*ret_value = type == 7 ? (struct str){ rest->p + at, size } : STR("");
	*rest = (struct str){ rest->p + at + size, rest->n - at - size };
	*ret_bad = false;
	return true;
}

int event_stream_feed(struct event_stream *s, const char *p, size_t n, struct err *err)
{
	size_t at = 0;

	buf_add(&s->bytes, p, n);
	while (s->bytes.n - at >= PRELUDE) {
		const char *frame = s->bytes.p + at;
		uint32_t total = be32(frame), header_bytes = be32(frame + 4);
		if (checksum(frame, 8) != be32(frame + 8))
			return err_set(err, ERR_PARSE, "the beginning of a frame does not have its checksum");
		if (total > LARGEST_FRAME || header_bytes > LARGEST_HEADERS || total < PRELUDE + TRAILER + header_bytes)
			return err_set(err, ERR_PARSE, "a frame has an impossible size");
		if (s->bytes.n - at < total)
			break;
		if (checksum(frame, total - TRAILER) != be32(frame + total - TRAILER))
			return err_set(err, ERR_PARSE, "a frame does not have its checksum");
		struct str headers = { frame + PRELUDE, header_bytes };
		struct str payload = { frame + PRELUDE + header_bytes, total - PRELUDE - TRAILER - header_bytes };
		struct str name, value, kind = STR("event");
		char exception[64] = "";
		bool bad = false;
		while (next_header(&headers, &name, &value, &bad)) {
			if (str_is(name, ":message-type"))
				kind = value;
			else if (str_is(name, ":exception-type") || str_is(name, ":error-code"))
				snprintf(exception, sizeof exception, STR_FMT, STR_ARG(value));
		}
		if (bad)
			return err_set(err, ERR_PARSE, "a frame has a damaged header");
		if (!str_is(kind, "event") && !exception[0])
			snprintf(exception, sizeof exception, "error");
		s->on_frame(s->data, str_is(kind, "event") ? NULL : exception, payload);
		at += total;
	}
	memmove(s->bytes.p, s->bytes.p + at, s->bytes.n - at);
	s->bytes.n -= at;
	return 0;
}
