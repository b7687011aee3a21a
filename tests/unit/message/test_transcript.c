/* SPDX-License-Identifier: MIT
 * test_transcript.c - blocks on packed_chunks: alternation, cutting, forks in any order. */
#include "unit.h"
#include "core/message/transcript.h"
#include "test_message.h"

static void add(struct transcript *t, enum role role, const char *text)
{
	transcript_add(t, role, segment_text(str_from(text)));
}

/* What is sent of it, up to the closing bracket of the last message. */
static void write_out(const struct transcript *t, struct buf *out)
{
	for (uint32_t i = 0; i < transcript_count(t); i++) {
		int before = i ? (int)transcript_block(t, i - 1).role : -1;
		struct str opening = role_opening(before, transcript_block(t, i).role),
			   json = transcript_block(t, i).json;
		buf_add(out, opening.p, opening.n);
		buf_add(out, json.p, json.n);
	}
}

static void check_bytes(const struct transcript *t)
{
	AUTO_BUF struct buf out = { 0 };

	write_out(t, &out);
	CHECK_INT(t->bytes, out.n);
}

#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"

TEST(blocks_of_one_role_in_a_row_are_one_message)
{
	struct transcript t = { 0 };
	AUTO_BUF struct buf out = { 0 };

	add(&t, ROLE_USER, "a");
	add(&t, ROLE_USER, "b");
	add(&t, ROLE_ASSISTANT, "c");
	add(&t, ROLE_ASSISTANT, "d");
	add(&t, ROLE_USER, "e");
	write_out(&t, &out);

	CHECK_CSTR(
		out.p,
		"{\"role\":\"user\",\"content\":[" TEXT("a") "," TEXT("b") "]},{\"role\":\"assistant\",\"content\":[" TEXT(
			"c") "," TEXT("d") "]},{\"role\":\"user\",\"content\":[" TEXT("e"));
	CHECK_INT(t.bytes, out.n);
	transcript_release(&t);
}

TEST(a_cut_takes_blocks_and_their_bytes_away_again)
{
	struct transcript t = { 0 };

	add(&t, ROLE_USER, "question");
	uint64_t before = t.bytes;
	for (int i = 0; i < 100; i++)
		add(&t, i % 3 ? ROLE_ASSISTANT : ROLE_USER, "more");
	transcript_cut(&t, 1);

	CHECK_INT(transcript_count(&t), 1);
	CHECK_INT(t.bytes, before);
	transcript_cut(&t, 5);
	CHECK_INT(transcript_count(&t), 1);
	transcript_cut(&t, 0);
	CHECK_INT(t.bytes, 0);
	transcript_release(&t);
}

TEST(a_fork_shares_the_past_and_not_the_future)
{
	struct transcript parent = { 0 }, child = { 0 };

	add(&parent, ROLE_USER, "one");
	add(&parent, ROLE_ASSISTANT, "two");
	transcript_fork(&parent, &child);
	add(&parent, ROLE_USER, "of the parent");
	add(&child, ROLE_USER, "of the child");
	add(&child, ROLE_ASSISTANT, "of the child too");

	CHECK_INT(child.forked_at, 2);
	CHECK_INT(parent.forked_at, 0);
	CHECK_INT(transcript_count(&parent), 3);
	CHECK_INT(transcript_count(&child), 4);
	CHECK(transcript_block(&parent, 1).json.p == transcript_block(&child, 1).json.p);
	CHECK_STR(transcript_block(&parent, 2).json, TEXT("of the parent"));
	CHECK_STR(transcript_block(&child, 2).json, TEXT("of the child"));
	check_bytes(&parent);
	check_bytes(&child);
	transcript_cut(&child, 2);
	check_bytes(&child);
	transcript_release(&child);
	transcript_release(&parent);
}

TEST(an_empty_transcript_can_be_forked)
{
	struct transcript parent = { 0 }, child = { 0 };

	transcript_fork(&parent, &child);
	add(&child, ROLE_USER, "x");

	CHECK_INT(transcript_count(&parent), 0);
	CHECK_INT(transcript_count(&child), 1);
	CHECK_INT(child.forked_at, 0);
	transcript_release(&parent);
	transcript_release(&child);
	transcript_release(&child);
}

TEST(a_long_tail_is_packed_and_reads_as_before)
{
	struct transcript t = { 0 };
	AUTO_BUF struct buf before = { 0 };
	AUTO_BUF struct buf after = { 0 };

	add(&t, ROLE_USER, "short");
	transcript_pack(&t);
	CHECK_INT(t.packed_chunk_count, 0);
	for (int i = 0; i < 2000; i++)
		add(&t, i % 3 ? ROLE_ASSISTANT : ROLE_USER, "one more block of the conversation");
	write_out(&t, &before);
	transcript_pack(&t);
	write_out(&t, &after);

	CHECK_INT(t.packed_chunk_count, 1);
	CHECK_INT(t.tail_count, 0);
	CHECK_CSTR(after.p, before.p);
	CHECK_INT(t.packed_chunks[0]->len, before.n);
	CHECK(!memcmp(t.packed_chunks[0]->bytes, before.p, before.n));
	transcript_release(&t);
}

enum { FORKS = 5 };

/* A chain of forks of forks, each with blocks of its own before and after the next fork. */
static void make_chain(struct transcript t[FORKS])
{
	for (int i = 0; i < FORKS; i++) {
		char text[16];
		if (i)
			transcript_fork(&t[i - 1], &t[i]);
		snprintf(text, sizeof text, "own %d", i);
		add(&t[i], i % 2 ? ROLE_ASSISTANT : ROLE_USER, text);
		if (i)
			add(&t[i - 1], ROLE_USER, "behind the fork");
	}
}

static void check_chain(const struct transcript t[FORKS], const bool gone[FORKS])
{
	for (int i = 0; i < FORKS; i++) {
		if (gone[i])
			continue;
		check_bytes(&t[i]);
		CHECK_INT(transcript_count(&t[i]), i + 1 + (i < FORKS - 1));
		for (int k = 0; k <= i; k++) {
			char text[40];
			snprintf(text, sizeof text, TEXT("own %d"), k);
			CHECK_STR(transcript_block(&t[i], (uint32_t)k).json, text);
		}
	}
}

TEST(forks_of_forks_can_be_released_in_any_order)
{
	for (int order = 0; order < 120; order++) {
		struct transcript t[FORKS] = { 0 };
		bool gone[FORKS] = { 0 };
		int left = order;

		make_chain(t);
		for (int n = FORKS; n > 0; n--) {
			int pick = left % n;
			left /= n;
			for (int i = 0; i < FORKS; i++) {
				if (gone[i] || pick-- > 0)
					continue;
				transcript_release(&t[i]);
				gone[i] = true;
				break;
			}
			check_chain(t, gone);
		}
	}
}

TEST(a_thousand_forks_copy_no_block)
{
	struct transcript parent = { 0 };
	struct transcript *forks = xcalloc(1000, sizeof *forks);

	for (int i = 0; i < 100; i++)
		add(&parent, i % 2 ? ROLE_ASSISTANT : ROLE_USER, "a block");
	for (int i = 0; i < 1000; i++)
		transcript_fork(&parent, &forks[i]);

	for (int i = 0; i < 1000; i++) {
		CHECK(!forks[i].tail);
		CHECK_INT(forks[i].packed_chunk_count, 1);
		CHECK(forks[i].packed_chunks[0] == parent.packed_chunks[0]);
		CHECK_INT(forks[i].bytes, parent.bytes);
	}
	CHECK_INT(parent.packed_chunks[0]->refs, 1001);
	transcript_release(&parent);
	for (int i = 0; i < 1000; i++)
		transcript_release(&forks[i]);
	free(forks);
}

TEST(a_block_that_is_never_sent_is_not_kept)
{
	struct transcript t = { 0 };

	add(&t, ROLE_USER, "question");
	uint64_t before = t.bytes;
	transcript_add(
		&t, ROLE_ASSISTANT,
		segment_new(SEGMENT_UNSENT, STR("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"\"}")));

	CHECK_INT(transcript_count(&t), 1);
	CHECK_INT(t.bytes, before);
	transcript_release(&t);
}

int test_transcript(void)
{
	return RUN_TESTS(T(a_block_that_is_never_sent_is_not_kept), T(blocks_of_one_role_in_a_row_are_one_message),
			 T(a_cut_takes_blocks_and_their_bytes_away_again), T(a_fork_shares_the_past_and_not_the_future),
			 T(an_empty_transcript_can_be_forked), T(a_long_tail_is_packed_and_reads_as_before),
			 T(forks_of_forks_can_be_released_in_any_order), T(a_thousand_forks_copy_no_block));
}
