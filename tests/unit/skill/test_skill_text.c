/* SPDX-License-Identifier: MIT
 * test_skill_text.c - texts of skills, found in a conversation. */
#include "unit.h"
#include "defs/skill/skill_text.h"
#include "tests.h"

struct talk {
	struct transcript transcript;
	struct map known;
	struct buf out;
};

static void talk_release(struct talk *t)
{
	transcript_release(&t->transcript);
	map_release(&t->known);
	buf_release(&t->out);
}

static void add_call(struct talk *t, const char *id, const char *tool)
{
	char json[200];

	snprintf(json, sizeof json, "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\",\"input\":{}}", id, tool);
	transcript_add(&t->transcript, ROLE_ASSISTANT, segment_new(SEGMENT_TOOL_USE, str_from(json)));
}

static void add_result(struct talk *t, const char *id, const char *text, bool is_error)
{
	transcript_add(&t->transcript, ROLE_USER, segment_tool_result(str_from(id), str_from(text), is_error));
}

static void add_text(struct talk *t, const char *text)
{
	transcript_add(&t->transcript, ROLE_USER, segment_text(str_from(text)));
}

static const char *recall(struct talk *t)
{
	buf_clear(&t->out);
	skill_texts_restore(&t->known, &t->transcript, &t->out);
	return t->out.n ? t->out.p : "";
}

TEST(results_of_the_skill_tool_and_typed_texts_are_found_the_latest_first)
{
	CLEANUP(talk_release) struct talk t = { 0 };
	add_text(&t, "<skill name=\"born\">\nB\n</skill>\n\n<skill name=\"p:two\">\nT\n\nT\n</skill>");
	add_call(&t, "1", "Skill");
	add_result(&t, "1", "Skill deploy:\n\nDo it.", false);
	add_text(&t, "/typed");
	add_text(&t, "<skill name=\"typed\">\nType \"it\".\n</skill>");

	CHECK_CSTR(recall(&t),
		   "<skill name=\"typed\">\nType \"it\".\n</skill>\n\n<skill name=\"deploy\">\nDo it.\n</skill>\n\n"
		   "<skill name=\"p:two\">\nT\n\nT\n</skill>\n\n<skill name=\"born\">\nB\n</skill>");
}

TEST(of_a_skill_that_was_used_again_the_last_text_counts)
{
	CLEANUP(talk_release) struct talk t = { 0 };
	add_call(&t, "1", "Skill");
	add_call(&t, "2", "Skill");
	add_result(&t, "1", "Skill a:\n\nold", false);
	add_result(&t, "2", "Skill b:\n\nb", false);
	add_text(&t, "<skill name=\"a\">\nnew\n</skill>\n\nWhat was asked");
	add_call(&t, "3", "Skill");
	add_result(&t, "3", "Skill b: its text is in this conversation already, unchanged. Follow it.", false);

	CHECK_CSTR(recall(&t), "<skill name=\"b\">\nb\n</skill>\n\n<skill name=\"a\">\nnew\n</skill>");
}

TEST(what_only_looks_like_a_skill_is_none)
{
	CLEANUP(talk_release) struct talk t = { 0 };
	add_call(&t, "1", "Skill");
	add_call(&t, "2", "Read");
	add_result(&t, "1", "Skill a:\n\nfailed", true);
	add_result(&t, "2", "Skill b:\n\na file", false);
	add_text(&t, "I say <skill name=\"c\">\nx\n</skill>");
	add_text(&t, "<skill name=\"d");
	transcript_add(&t.transcript, ROLE_ASSISTANT, segment_text(STR("<skill name=\"e\">\nx\n</skill>")));

	CHECK_CSTR(recall(&t), "");
}

TEST(what_was_attached_is_found_again_and_a_text_that_is_too_long_is_cut_once)
{
	CLEANUP(talk_release) struct talk t = { 0 };
	CLEANUP(talk_release) struct talk next = { 0 };
	AUTO_BUF struct buf text = { 0 };
	buf_addstr(&text, "Skill long:\n\n");
	for (size_t i = 0; i < SKILL_KEPT_BYTES + 1; i++)
		buf_addch(&text, 'x');
	add_call(&t, "1", "Skill");
	add_result(&t, "1", text.p, false);
	add_text(&t, "<skill name=\"short\">\nwhole\n</skill>");
	(void)recall(&t);
	buf_clear(&text);
	buf_addf(&text, "<system-reminder>\nThey still hold:\n%s\n</system-reminder>", t.out.p);
	add_text(&next, text.p);

	CHECK_CSTR(recall(&next), t.out.p);

	CHECK(str_starts(buf_str(&next.out),
			 STR("<skill name=\"short\">\nwhole\n</skill>\n\n<skill name=\"long\">\nxxx")));
	CHECK(str_ends(buf_str(&next.out), STR("xxx\n[cut here]\n</skill>")));
	CHECK(next.out.n < SKILL_KEPT_BYTES + 200);
	CHECK(!skill_text_note(&next.known, "short", STR("whole")));
	CHECK(skill_text_note(&next.known, "long", STR("xxx")));
}

TEST(all_texts_together_stay_within_their_limit)
{
	CLEANUP(talk_release) struct talk t = { 0 };
	for (int k = 0; k < 8; k++) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_BUF struct buf body = { 0 };
		char name[8];
		for (size_t i = 0; i < 15000; i++)
			buf_addch(&body, 'x');
		snprintf(name, sizeof name, "s%d", k);
		skill_text_add(&text, name, buf_str(&body));
		add_text(&t, text.p);
	}

	const char *kept = recall(&t);

	CHECK(t.out.n <= SKILL_KEPT_TOTAL + 200);
	CHECK(strstr(kept, "\"s7\"") && strstr(kept, "\"s2\""));
	CHECK(!strstr(kept, "\"s1\""));
}

int test_skill_text(void)
{
	return RUN_TESTS(T(results_of_the_skill_tool_and_typed_texts_are_found_the_latest_first),
			 T(of_a_skill_that_was_used_again_the_last_text_counts),
			 T(what_only_looks_like_a_skill_is_none),
			 T(what_was_attached_is_found_again_and_a_text_that_is_too_long_is_cut_once),
			 T(all_texts_together_stay_within_their_limit));
}
