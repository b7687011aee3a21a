/* SPDX-License-Identifier: MIT
 * test_face.c - the same events seen through each face. */
#include "test_cli.h"
#include "face/cli/view.h"

static const struct made conversation[] = {
	{ .kind = CADRE_SESSION_STARTED, .frame = "{\"type\":\"system\"}" },
	{ .kind = CADRE_DELTA, .name = "thinking", .text = "hm" },
	{ .kind = CADRE_DELTA, .name = "text", .text = "I will " },
	{ .kind = CADRE_DELTA, .name = "text", .text = "look\033[2J." },
	{ .kind = CADRE_MESSAGE, .frame = "{\"type\":\"assistant\"}" },
	{ .kind = CADRE_TOOL_STARTED, .name = "Ping", .text = "{}" },
	{ .kind = CADRE_TOOL_STARTED, .name = "Read", .text = "src/x.c" },
	{ .kind = CADRE_TOOL_ENDED,
	  .name = "Read",
	  .text = "<tool_use_error>no such file\nsecond line</tool_use_error>",
	  .is_error = true },
	{ .kind = CADRE_RETRY, .text = "529, again in 2 s", .frame = "{\"type\":\"retry\"}" },
	{ .kind = CADRE_ERROR, .name = "note", .text = "from a hook" },
	{ .kind = CADRE_ERROR, .text = "no disk" },
	{ .kind = CADRE_DELTA, .name = "text", .text = "Done.\n" },
	{ .kind = CADRE_TURN_ENDED, .text = "Done.", .frame = "{\"type\":\"result\"}" },
};

static void show_all(struct view *v, const struct made *events, size_t n, const char *expected)
{
	out_open(v);
	for (size_t i = 0; i < n; i++)
		view_show(v, &events[i]);
	view_end(v);
	out_expect(v, expected);
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
		{ "line", "I will look\\x1b[2J.\n"
			  "* Ping\n"
			  "* Read src/x.c\n"
			  "  no such file\n"
			  "529, again in 2 s\n"
			  "from a hook\n"
			  "Error: no disk\n"
			  "Done.\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct view v = { .face = face_find(table[i].face) };
		show_all(&v, conversation, COUNT_OF(conversation), table[i].out);
	}
	CHECK(!face_find("xml"));
}

TEST(text_shows_every_end_of_a_turn_on_standard_output)
{
	static const struct {
		struct made end;
		bool terminal;
		const char *out;
	} table[] = {
		{ { .text = "42" }, false, "42\n" },
		{ { .text = "42\n" }, false, "42\n" },
		{ { .text = "" }, false, "" },
		{ { .text = "raw\033" }, false, "raw\033\n" },
		{ { .text = "raw\033" }, true, "raw\\x1b\n" },
		{ { .text = "API Error: 500 x", .end = QUERY_MODEL_ERROR, .is_error = true },
		  false,
		  "API Error: 500 x\n" },
		{ { .text = "Reached max turns (2)", .end = QUERY_MAX_TURNS, .is_error = true },
		  false,
		  "Error: Reached max turns (2)\n" },
		{ { .end = QUERY_CANCELLED, .is_error = true }, false, "Error: error_during_execution\n" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct made end = table[i].end;
		struct view v = { .face = &face_text, .terminal = table[i].terminal };
		end.kind = CADRE_TURN_ENDED;
		show_all(&v, &end, 1, table[i].out);
	}
}

TEST(only_the_last_of_several_turns_is_the_result)
{
	static const struct made turns[] = {
		{ .kind = CADRE_TURN_ENDED, .text = "first", .frame = "{\"n\":1}" },
		{ .kind = CADRE_TURN_ENDED, .text = "second", .frame = "{\"n\":2}" },
	};
	struct view text = { .face = &face_text };
	struct view json = { .face = &face_json };

	show_all(&text, turns, COUNT_OF(turns), "second\n");
	show_all(&json, turns, COUNT_OF(turns), "{\"n\":2}\n");
}

TEST(output_is_held_back_for_who_shows_an_input_line)
{
	struct view v = { .face = &face_line, .hold = true };
	struct made note = { .kind = CADRE_NOTIFICATION, .text = "a task ended" };
	out_open(&v);

	view_show(&v, &note);
	out_expect(&v, "");
	CHECK_STR(buf_str(&v.held), "a task ended\n");
	view_release(&v);
}

TEST(colours_surround_our_lines_only_where_they_are_wanted)
{
	static const struct made tool = { .kind = CADRE_TOOL_STARTED, .name = "Bash", .text = "ls" };
	struct view v = { .face = &face_line, .colour = true };
	out_open(&v);

	view_show(&v, &tool);

	out_expect(&v, "\033[36m* Bash ls\033[0m\n");
	view_release(&v);
}

TEST(a_turn_that_the_user_ended_is_not_shown_as_an_error)
{
	static const struct made end = { .kind = CADRE_TURN_ENDED, .end = QUERY_CANCELLED, .is_error = true };
	struct view v = { .face = &face_line, .cancelled = true };
	out_open(&v);

	view_show(&v, &end);

	out_expect(&v, "Interrupted. What should be done instead?\n");
	CHECK(!v.cancelled);
	view_release(&v);
}

const struct test_group face_tests =
	GROUP(T(each_face_shows_the_conversation_in_its_way), T(text_shows_every_end_of_a_turn_on_standard_output),
	      T(only_the_last_of_several_turns_is_the_result), T(output_is_held_back_for_who_shows_an_input_line),
	      T(colours_surround_our_lines_only_where_they_are_wanted),
	      T(a_turn_that_the_user_ended_is_not_shown_as_an_error));
