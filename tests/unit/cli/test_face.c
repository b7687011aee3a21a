/* SPDX-License-Identifier: MIT
 * test_face.c - the same events seen through each face. */
#include "test_cli.h"
#include "face/cli/view.h"

static const struct cadre_event conversation[] = {
	{ .kind = CADRE_SESSION_STARTED, .frame = "{\"type\":\"system\"}" },
	{ .kind = CADRE_DELTA, .name = "thinking", .text = "hm" },
	{ .kind = CADRE_DELTA, .name = "text", .text = "I will " },
	{ .kind = CADRE_DELTA, .name = "text", .text = "look\033[2J." },
	{ .kind = CADRE_MESSAGE, .frame = "{\"type\":\"assistant\"}" },
	{ .kind = CADRE_TOOL_STARTED, .name = "Read", .text = "src/x.c" },
	{ .kind = CADRE_TOOL_ENDED, .name = "Read", .text = "no such file\nsecond line", .is_error = 1 },
	{ .kind = CADRE_RETRY, .text = "529, again in 2 s", .frame = "{\"type\":\"retry\"}" },
	{ .kind = CADRE_DELTA, .name = "text", .text = "Done.\n" },
	{ .kind = CADRE_TURN_ENDED, .text = "Done.", .subtype = "success", .frame = "{\"type\":\"result\"}" },
};

static void show(struct view *v, const struct cadre_event *events, size_t n)
{
	buf_clear(&fake_out);
	if (v->face->start)
		v->face->start(v);
	for (size_t i = 0; i < n; i++)
		view_event(v, &events[i]);
	view_end(v);
	view_release(v);
}

TEST(each_face_shows_the_conversation_in_its_way)
{
	static const struct {
		const char *face;
		const char *out;
	} table[] = {
		{ "text", "Done.\n" },
		{ "json", "{\"type\":\"result\"}\n" },
		{ "stream-json", "{\"type\":\"system\"}\n{\"type\":\"assistant\"}\n"
				 "{\"type\":\"retry\"}\n{\"type\":\"result\"}\n" },
		{ "line", "cadre 9.8.7 - /help for help, Ctrl-D to leave\n"
			  "I will look\\x1b[2J.\n"
			  "* Read src/x.c\n"
			  "  no such file\n"
			  "529, again in 2 s\n"
			  "Done.\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct view v = { .face = face_find(table[i].face) };
		show(&v, conversation, COUNT_OF(conversation));
		CHECK_STR(buf_str(&fake_out), table[i].out);
	}
	CHECK(!face_find("xml"));
}

TEST(text_shows_every_end_of_a_turn_on_standard_output)
{
	static const struct {
		struct cadre_event end;
		bool terminal;
		const char *out;
	} table[] = {
		{ { .text = "42", .subtype = "success" }, false, "42\n" },
		{ { .text = "42\n", .subtype = "success" }, false, "42\n" },
		{ { .text = "", .subtype = "success" }, false, "" },
		{ { .text = "raw\033", .subtype = "success" }, false, "raw\033\n" },
		{ { .text = "raw\033", .subtype = "success" }, true, "raw\\x1b\n" },
		{ { .text = "API Error: 500 x", .subtype = "success", .is_error = 1 }, false, "API Error: 500 x\n" },
		{ { .text = "Reached max turns (2)", .subtype = "error_max_turns", .is_error = 1 },
		  false,
		  "Error: Reached max turns (2)\n" },
		{ { .subtype = "error_during_execution", .is_error = 1 }, false, "Error: error_during_execution\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct cadre_event end = table[i].end;
		struct view v = { .face = &face_text, .terminal = table[i].terminal };
		end.kind = CADRE_TURN_ENDED;
		show(&v, &end, 1);
		CHECK_STR(buf_str(&fake_out), table[i].out);
	}
}

TEST(only_the_last_of_several_turns_is_the_result)
{
	static const struct cadre_event turns[] = {
		{ .kind = CADRE_TURN_ENDED, .text = "first", .subtype = "success", .frame = "{\"n\":1}" },
		{ .kind = CADRE_TURN_ENDED, .text = "second", .subtype = "success", .frame = "{\"n\":2}" },
	};
	struct view text = { .face = &face_text };
	struct view json = { .face = &face_json };

	show(&text, turns, COUNT_OF(turns));
	CHECK_STR(buf_str(&fake_out), "second\n");
	show(&json, turns, COUNT_OF(turns));
	CHECK_STR(buf_str(&fake_out), "{\"n\":2}\n");
}

TEST(output_is_held_back_while_the_input_line_is_shown)
{
	struct view v = { .face = &face_line, .hold = true };
	struct cadre_event note = { .kind = CADRE_NOTIFICATION, .text = "a task ended" };
	buf_clear(&fake_out);

	view_event(&v, &note);
	CHECK_INT(fake_out.n, 0);
	view_release_held(&v);

	CHECK_STR(buf_str(&fake_out), "a task ended\n");
	view_release(&v);
}

TEST(colours_surround_our_lines_only_where_they_are_wanted)
{
	static const struct cadre_event tool = { .kind = CADRE_TOOL_STARTED, .name = "Bash", .text = "ls" };
	struct view v = { .face = &face_line, .colour = true };
	buf_clear(&fake_out);

	view_event(&v, &tool);

	CHECK_STR(buf_str(&fake_out), "\033[36m* Bash ls\033[0m\n");
	view_release(&v);
}

TEST(a_turn_that_the_user_ended_is_not_shown_as_an_error)
{
	static const struct cadre_event end = { .kind = CADRE_TURN_ENDED,
						.subtype = "error_during_execution",
						.is_error = 1 };
	struct view v = { .face = &face_line, .cancelled = true };
	buf_clear(&fake_out);

	view_event(&v, &end);

	CHECK_STR(buf_str(&fake_out), "Interrupted. Say how to go on.\n");
	CHECK(!v.cancelled);
	view_release(&v);
}

const struct test_group face_tests =
	GROUP(T(each_face_shows_the_conversation_in_its_way), T(text_shows_every_end_of_a_turn_on_standard_output),
	      T(only_the_last_of_several_turns_is_the_result), T(output_is_held_back_while_the_input_line_is_shown),
	      T(colours_surround_our_lines_only_where_they_are_wanted),
	      T(a_turn_that_the_user_ended_is_not_shown_as_an_error));
