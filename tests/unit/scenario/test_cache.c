/* SPDX-License-Identifier: MIT
 * test_cache.c - the model of the prompt cache. */
#include "stage.h"

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* A request whose one user message has the texts "0", "1" ... ; marked says after which of them there is a mark. */
static void ask_blocks(struct stage *s, int blocks, int marked, int also_marked)
{
	AUTO_BUF struct buf m = { 0 };

	for (int i = 0; i < blocks; i++)
		buf_addf(&m, "%s{\"type\":\"text\",\"text\":\"%04d\"%s}", i ? "," : "{\"role\":\"user\",\"content\":[",
			 i, i == marked || i == also_marked ? MARK : "");
	buf_addstr(&m, "]}");
	stage_ask(s, request_with(m.p, ""));
	CHECK_INT(stage_status(s), 200);
}

static uint64_t usage_of(struct stage *s, const char *name)
{
	AUTO_BUF struct buf key = { 0 };

	if (!s->bytes.n)
		stage_play(s);
	buf_addf(&key, "\"%s\":", name);
	const char *at = strstr(s->bytes.p, key.p);
	CHECK(at);
	return strtoull(at + key.n, NULL, 10);
}

TEST(a_prefix_is_written_at_a_mark_and_read_by_the_next_request)
{
	struct stage s;
	stage_open(&s, "cache min 0\nrule\ntext a\n");

	ask_blocks(&s, 10, 9, -1);
	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), 0);
	uint64_t written = usage_of(&s, "cache_creation_input_tokens");
	CHECK(written > 50);
	CHECK_INT(usage_of(&s, "input_tokens"), 0);
	ask_blocks(&s, 12, 11, -1);

	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), written);
	CHECK(usage_of(&s, "cache_creation_input_tokens") > 0);
	CHECK_INT(stage_stat(&s, "requests"), 2);
	CHECK(stage_stat(&s, "read_bytes") > 4 * (written - 1));
	stage_close(&s);
}

TEST(a_prefix_cannot_be_read_before_its_answer_has_begun)
{
	struct stage s;
	stage_open(&s, "cache min 0\nrule\ntext a\n");

	ask_blocks(&s, 10, 9, -1);
	struct reply *first = s.reply;
	s.reply = NULL;
	ask_blocks(&s, 10, 9, -1);
	(void)reply_next(s.reply);
	CHECK_INT(stage_stat(&s, "read_bytes"), 0);
	reply_begun(first);
	ask_blocks(&s, 10, 9, -1);

	CHECK(usage_of(&s, "cache_read_input_tokens") > 50);
	reply_free(first);
	stage_close(&s);
}

TEST(a_read_looks_back_twenty_blocks_and_no_further)
{
	static const struct {
		int blocks;
		bool found;
	} cases[] = { { 29, true }, { 30, false } };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stage s;
		stage_open(&s, "cache min 0\nrule\ntext a\n");
		ask_blocks(&s, 10, 9, -1);
		stage_play(&s);

		ask_blocks(&s, cases[i].blocks, cases[i].blocks - 1, -1);

		CHECK_INT(usage_of(&s, "cache_read_input_tokens") > 0, cases[i].found);
		stage_close(&s);
	}
}

TEST(a_second_mark_near_the_old_one_finds_it_again)
{
	struct stage s;
	stage_open(&s, "cache min 0\nrule\ntext a\n");
	ask_blocks(&s, 10, 9, -1);
	stage_play(&s);

	ask_blocks(&s, 60, 9, 59);

	CHECK(usage_of(&s, "cache_read_input_tokens") > 0);
	CHECK(usage_of(&s, "cache_creation_input_tokens") > 100);
	stage_close(&s);
}

TEST(another_byte_another_model_or_a_short_prefix_is_not_read)
{
	struct stage s;
	stage_open(&s, "cache min 0\nrule\ntext a\n");
	const char *one = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"same\"" MARK "}]}";
	const char *two = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"sane\"" MARK "}]}";

	/* Tools and all but the last block are the same: with the look-back, the mark at the end finds nothing of it. */
	stage_ask(&s, request_with(one, ""));
	stage_play(&s);
	stage_ask(&s, request_with(two, ""));
	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), 0);
	stage_ask(&s, request_with(one, ",\"model\":\"n\""));
	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), 0);
	stage_ask(&s, request_with(one, ",\"tool_choice\":{\"type\":\"any\"}"));
	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), 0);
	stage_ask(&s, request_with(one, ""));
	CHECK(usage_of(&s, "cache_read_input_tokens") > 0);
	stage_close(&s);

	stage_open(&s, "rule\ntext a\n");
	ask_blocks(&s, 10, 9, -1);
	stage_play(&s);
	ask_blocks(&s, 10, 9, -1);
	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), 0);
	stage_close(&s);
}

TEST(a_prefix_expires_five_minutes_after_its_last_use)
{
	struct stage s;
	stage_open(&s, "cache min 0\nrule\ntext a\n");

	ask_blocks(&s, 5, 4, -1);
	stage_play(&s);
	uint64_t read = 0;
	for (int i = 0; i < 3; i++) { /* these do not begin, so they use the prefix but do not write it again */
		s.now_ms += 4 * 60 * 1000;
		ask_blocks(&s, 5, 4, -1);
		CHECK(stage_stat(&s, "read_bytes") > read);
		read = stage_stat(&s, "read_bytes");
	}
	s.now_ms += 6 * 60 * 1000;
	ask_blocks(&s, 5, 4, -1);

	CHECK_INT(usage_of(&s, "cache_read_input_tokens"), 0);
	stage_close(&s);
}

TEST(thousands_of_prefixes_are_all_found_again)
{
	struct stage s;
	stage_open(&s, "cache min 0\nrule\ntext a\n");
	AUTO_BUF struct buf m = { 0 };

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5000; i++) {
			buf_clear(&m);
			buf_addf(&m, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"%d\"" MARK "}]}",
				 i);
			stage_ask(&s, request_with(m.p, ""));
			reply_begun(s.reply);
		}
	}

	CHECK_INT(stage_stat(&s, "prefix_bytes"), 2 * stage_stat(&s, "read_bytes"));
	stage_close(&s);
}

TEST(without_the_cache_all_tokens_are_input)
{
	struct stage s;
	stage_open(&s, "cache off\nrule\ntext a\n");

	ask_blocks(&s, 300, 299, -1);

	CHECK(usage_of(&s, "input_tokens") > 2000);
	CHECK_INT(usage_of(&s, "cache_creation_input_tokens"), 0);
	stage_close(&s);
}

int cache_tests(void)
{
	return RUN_TESTS(T(a_prefix_is_written_at_a_mark_and_read_by_the_next_request),
			 T(a_prefix_cannot_be_read_before_its_answer_has_begun),
			 T(a_read_looks_back_twenty_blocks_and_no_further),
			 T(a_second_mark_near_the_old_one_finds_it_again),
			 T(another_byte_another_model_or_a_short_prefix_is_not_read),
			 T(a_prefix_expires_five_minutes_after_its_last_use),
			 T(thousands_of_prefixes_are_all_found_again), T(without_the_cache_all_tokens_are_input));
}
