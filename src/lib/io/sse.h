/* SPDX-License-Identifier: MIT
 * sse.h - parser for server-sent events.
 *
 * A line ends with LF, CR or CRLF; a byte order mark at the start is skipped; data lines of one event are joined with
 * LF; comments and unknown fields are ignored; events without data and a truncated last event are not reported. An
 * event larger than limit_bytes is an error (ERR_LIMIT). `id:` takes effect at the end of its event, with or without
 * data; `retry:` at once. An event with one data line inside one chunk is not copied. With bare, a line that is a JSON object, or has
 * the field "error", is an event of its own: so end answers of servers that fail in the middle. */
#pragma once
#include "lib/base/buf.h"

struct sse {
	size_t limit_bytes; /* 0: 32 MB */
	/* Both slices are borrowed until return. name is empty when the event has none. A non-zero return stops the feed
	 * and is returned by it. */
	int (*event)(void *data, struct str name, struct str payload);
	void *data;
	struct buf last_id;                 /* the last event id; readable in event */
	uint64_t retry_ms;                  /* last retry value; 0: none */
	struct buf line, payload, name, id; /* state between two feeds */
	bool bare;                          /* see above */
	bool skip_lf, started, has_data, has_id;
};

int sse_feed(struct sse *s, const char *p, size_t n, struct err *err);
void sse_release(struct sse *s);
