/* SPDX-License-Identifier: MIT
 * event_stream.h - the frames in which Bedrock sends events (application/vnd.amazon.eventstream). A frame whose checksums do not hold
 * ends the stream: no byte of it is used. */
#pragma once
#include "lib/base/buf.h"

/* Borrowed until return. exception: NULL for an event, else its name; payload is then {"message"}. */
typedef void event_frame_fn(void *data, const char *exception, struct str payload);

struct event_stream {
	event_frame_fn *on_frame;
	void *data;
	struct buf bytes; /* of a frame that is not complete */
};

/* -ERR_PARSE: not such a stream, or a damaged one. */
int event_stream_feed(struct event_stream *s, const char *p, size_t n, struct err *err);
