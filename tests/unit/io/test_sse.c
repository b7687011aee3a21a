/* SPDX-License-Identifier: MIT
 * test_sse.c - event streams: line ends, fields, splits, limits, what is handed over in place. */
#include "test_io.h"
#include "unit.h"
#include "lib/io/sse.h"

static int note(void *data, struct str name, struct str payload)
{
	struct buf *seen = data;

	buf_addf(seen, "[" STR_FMT "|" STR_FMT "]", STR_ARG(name), STR_ARG(payload));
	return str_is(name, "stop") ? 77 : 0;
}

static int feed_in_pieces(struct sse *s, struct str text, size_t piece, struct err *err)
{
	int rc = 0;

	for (size_t at = 0; at < text.n && !rc; at += piece)
		rc = sse_feed(s, text.p + at, MIN(piece, text.n - at), err);
	return rc;
}

TEST(events_are_the_same_however_the_stream_is_split)
{
	static const struct {
		struct str stream;
		const char *events;
	} table[] = {
		{ STR("data: a\n\n"), "[|a]" },
		{ STR("data:a\n\ndata:  b\n\n"), "[|a][| b]" },
		{ STR("event: e\ndata: a\n\ndata: b\n\n"), "[e|a][|b]" },
		{ STR("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), "[|a][|b][|c]" },
		{ STR("data: a\r\n\rdata: b\n\r\n"), "[|a][|b]" },
		{ STR("event: e\r\ndata: a\r\ndata: b\r\n\r\n"), "[e|a\nb]" },
		{ STR("data: a\ndata: b\ndata\ndata: c\n\n"), "[|a\nb\n\nc]" },
		{ STR("data\n\n"), "[|]" },
		{ STR("data:\ndata:\n\n"), "[|\n]" },
		{ STR("\xEF\xBB\xBF"
		      "data: a\n\n"),
		  "[|a]" },
		{ STR("\n\xEF\xBB\xBF"
		      "data: a\n\n"),
		  "" },
		{ STR(": note\ndata: a\n: note\n\n:\n\n"), "[|a]" },
		{ STR("id: 1\nretry: 2\nDATA: no\ndatum: no\ndata: a\n\n"), "[|a]" },
		{ STR("event: lost\n\ndata: a\n\n"), "[|a]" },
		{ STR("event: one\nevent: two\ndata: a\n\n"), "[two|a]" },
		{ STR("event: one\nevent:\ndata: a\n\n"), "[|a]" },
		{ STR("data: a:b: c\n\n"), "[|a:b: c]" },
		{ STR("data: \xC3\xA9\xC3\ndata: \xFF.\n\n"), "[|\xC3\xA9\xEF\xBF\xBD\n\xEF\xBF\xBD.]" },
		{ STR("data: whole\n\ndata: cut\n"), "[|whole]" },
		{ STR("data: whole\n\ndata: cut"), "[|whole]" },
		{ STR(""), "" },
		{ STR("\n\n\r\r\n"), "" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		for (size_t piece = 1; piece <= table[i].stream.n + 1; piece++) {
			AUTO_BUF struct buf seen = { 0 };
			struct sse s = { .event = note, .data = &seen };
			CHECK_INT(feed_in_pieces(&s, table[i].stream, piece, NULL), 0);
			CHECK_STR(buf_str(&seen), table[i].events);
			sse_release(&s);
		}
	}
}

static int check_in_place(void *data, struct str name, struct str payload)
{
	const struct str *chunk = data;

	CHECK(payload.p > chunk->p && payload.p + payload.n < chunk->p + chunk->n);
	CHECK(name.p > chunk->p && name.p < payload.p);
	return 0;
}

TEST(an_event_inside_one_chunk_is_handed_over_in_place)
{
	struct str chunk = STR("event: delta\ndata: {\"text\":\"Hi\"}\n\nevent: delta\ndata: {\"text\":\"!\"}\n\n");
	struct sse s = { .event = check_in_place, .data = &chunk };

	CHECK_INT(sse_feed(&s, chunk.p, chunk.n, NULL), 0);

	CHECK(!s.line.p && !s.payload.p && !s.name.p);
}

struct resumable {
	struct sse sse;
	struct buf seen;
};

static int note_with_id(void *data, struct str name, struct str payload)
{
	struct resumable *r = data;

	buf_addf(&r->seen, "[" STR_FMT "|" STR_FMT "]", STR_ARG(payload), STR_ARG(buf_str(&r->sse.last_id)));
	return (int)name.n;
}

TEST(an_id_counts_with_its_event_and_a_retry_at_once_however_the_stream_is_split)
{
	static const struct {
		struct str stream;
		const char *events, *last_id;
		uint64_t retry_ms;
	} table[] = {
		{ STR("id: 1\ndata: a\n\ndata: b\n\n"), "[a|1][b|1]", "1", 0 },
		{ STR("data: a\nid: 1\n\nid:2\ndata: b\n\n"), "[a|1][b|2]", "2", 0 },
		{ STR("id: 1\nretry: 500\ndata: \n\n"), "[|1]", "1", 500 },
		{ STR("id: only\n\ndata: a\n\n"), "[a|only]", "only", 0 },
		{ STR("id: 1\n\nid: cut\ndata: a\n"), "", "1", 0 },
		{ STR("id: 1\n\nid\ndata: a\n\n"), "[a|]", "", 0 },
		{ STR("id: 1\n\nid: x\0y\ndata: a\n\n"), "[a|1]", "1", 0 },
		{ STR("id: 1\nid: 2\n\n"), "", "2", 0 },
		{ STR("retry: 7"), "", "", 0 },
		{ STR("retry: 7\n"), "", "", 7 },
		{ STR("retry: 7\nretry: soon\nretry:\nretry: -1\nretry: 99999999999999999999\n"), "", "", 7 },
		{ STR("ID: 1\nids: 2\nretrys: 3\n\n"), "", "", 0 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		for (size_t piece = 1; piece <= table[i].stream.n; piece++) {
			struct resumable r = { .sse = { .event = note_with_id } };
			r.sse.data = &r;
			CHECK_INT(feed_in_pieces(&r.sse, table[i].stream, piece, NULL), 0);
			CHECK_STR(buf_str(&r.seen), table[i].events);
			CHECK_STR(buf_str(&r.sse.last_id), table[i].last_id);
			CHECK_INT(r.sse.retry_ms, table[i].retry_ms);
			sse_release(&r.sse);
			buf_release(&r.seen);
		}
	}
}

TEST(an_event_above_the_limit_is_an_error_in_every_split)
{
	static const struct {
		struct str stream;
		const char *events;
		int rc;
	} table[] = {
		{ STR("data: 123456\n\n"), "[|123456]", 0 },
		{ STR("data: a\n\ndata: 1234567\n\n"), "[|a]", -ERR_LIMIT },
		{ STR("data: 1234567"), "", -ERR_LIMIT },
		{ STR("data:12345\ndata:123456\n\n"), "[|12345\n123456]", 0 },
		{ STR("data:12345\ndata:1234567\n\n"), "", -ERR_LIMIT },
		{ STR("data:12345\ndata\ndata:123456\n\n"), "", -ERR_LIMIT },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		for (size_t piece = 1; piece <= table[i].stream.n; piece++) {
			AUTO_BUF struct buf seen = { 0 };
			struct err err = { 0 };
			struct sse s = { .limit_bytes = 12, .event = note, .data = &seen };
			CHECK_INT(feed_in_pieces(&s, table[i].stream, piece, &err), table[i].rc);
			CHECK_STR(buf_str(&seen), table[i].events);
			CHECK_CSTR(err.text, table[i].rc ? "event stream: an event has more than 12 bytes" : "");
			sse_release(&s);
		}
	}
}

TEST(an_answer_of_the_event_callback_stops_the_feed_and_is_returned)
{
	AUTO_BUF struct buf seen = { 0 };
	struct sse s = { .event = note, .data = &seen };
	struct str stream = STR("data: a\n\nevent: stop\ndata: b\n\ndata: c\n\n");

	CHECK_INT(sse_feed(&s, stream.p, stream.n, NULL), 77);

	CHECK_STR(buf_str(&seen), "[|a][stop|b]");
	sse_release(&s);
}

TEST(a_released_reader_starts_a_new_stream)
{
	AUTO_BUF struct buf seen = { 0 };
	struct sse s = { .event = note, .data = &seen };
	struct str first = STR("event: x\ndata: a\r"), second = STR("\xEF\xBB\xBF"
								    "data: b\n\n");

	CHECK_INT(sse_feed(&s, first.p, first.n, NULL), 0);
	sse_release(&s);
	CHECK_INT(sse_feed(&s, second.p, second.n, NULL), 0);

	CHECK_STR(buf_str(&seen), "[|b]");
	sse_release(&s);
}

int test_sse(void)
{
	return RUN_TESTS(T(events_are_the_same_however_the_stream_is_split),
			 T(an_event_inside_one_chunk_is_handed_over_in_place),
			 T(an_id_counts_with_its_event_and_a_retry_at_once_however_the_stream_is_split),
			 T(an_event_above_the_limit_is_an_error_in_every_split),
			 T(an_answer_of_the_event_callback_stops_the_feed_and_is_returned),
			 T(a_released_reader_starts_a_new_stream));
}
