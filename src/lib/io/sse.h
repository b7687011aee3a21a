/* SPDX-License-Identifier: MIT
 * sse.h - server-sent events out of a byte stream. Bytes in, events out; no JSON here.
 *
 * A line ends with LF, CR or CRLF; a byte order mark at the start is skipped; data lines of one event are joined with
 * LF; comments and unknown fields are ignored; an event without data is not reported; the event that the end of the
 * stream cuts is not reported. An event larger than limit_bytes is an error (ERR_LIMIT). `id:` counts when its event is
 * complete, with or without data; `retry:` at once.
 * When a whole event with one data line lies inside one fed chunk, its data is handed over in place, without a copy. */
#pragma once
#include "lib/base/buf.h"

struct sse {
	size_t limit_bytes; /* 0: 32 MB */
	/* Both slices are borrowed until return. name is empty when the event has none. A non-zero return stops the feed
	 * and is returned by it. */
	int (*event)(void *data, struct str name, struct str payload);
	void *data;
	struct buf last_id; /* of the last complete event that had one, or an earlier one; readable in event */
	uint64_t retry_ms;  /* what the stream said last; 0: nothing, or 0 */
	struct buf line, payload, name, id; /* what is kept between two feeds */
	bool skip_lf, started, has_data, has_id;
};

int sse_feed(struct sse *s, const char *p, size_t n, struct err *err);
void sse_release(struct sse *s);
