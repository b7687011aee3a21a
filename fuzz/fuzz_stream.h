/* SPDX-License-Identifier: MIT
 * fuzz_stream.h - a stream of FUZZED_FORM, whole and byte by byte: the same blocks and the same end, every block valid JSON. Ids
 * that had to be made differ from run to run and are not compared. */
#pragma once
#include "core/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note_block(void *data, struct segment *block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, block->bytes, block->len, &root, NULL) < 0)
		abort();
	struct str input = json_raw(json_get(root, "input"));
	if (block->kind == SEGMENT_TOOL_USE)
		buf_addf(data, "call " STR_FMT "\n", STR_ARG(input));
	else
		buf_addf(data, STR_FMT "\n", STR_ARG(segment_json(block)));
	segment_unref(block);
}

static void feed(struct buf *seen, const char *p, size_t n, size_t step)
{
	static const struct answer_sink sink = { note_block, NULL, NULL };
	struct answer a;
	struct wire_stream s;

	answer_init(&a, &sink, seen);
	wire_stream_init(&s, &FUZZED_FORM, &a, NULL, 100);
	for (size_t i = 0; i < n; i += MIN(step, n - i))
		wire_stream_feed(&s, p + i, MIN(step, n - i));
	wire_stream_end(&s);
	buf_addf(seen, "%s %d %d %lld", a.stop_reason, (int)a.failure.kind, (int)answer_complete(&a),
		 (long long)a.usage.output);
	wire_stream_release(&s);
	answer_release(&a);
}

static void feed_whole(const char *p, size_t n)
{
	static const struct answer_sink sink = { note_block, NULL, NULL };
	AUTO_BUF struct buf seen = { 0 };
	struct answer a;
	struct wire_stream s;

	answer_init(&a, &sink, &seen);
	wire_stream_init(&s, &FUZZED_FORM, &a, NULL, 100);
	(void)wire_stream_whole(&s, (struct str){ p, n });
	wire_stream_end(&s);
	wire_stream_release(&s);
	answer_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = size ? (const char *)data : "";
	AUTO_BUF struct buf whole = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	feed(&whole, p, size, SIZE_MAX);
	feed(&bytes, p, size, 1);
	feed_whole(p, size);
	if (!str_eq(buf_str(&whole), buf_str(&bytes)))
		abort();
	return 0;
}
