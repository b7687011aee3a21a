/* SPDX-License-Identifier: MIT
 * test_tree_view.c - running children as lines, and how the faces show them. */
#include "test_cli.h"
#include "face/cli/tree_view.h"
#include "face/cli/view.h"

static struct made about(enum cadre_event_kind kind, const char *agent, const char *parent, unsigned depth)
{
	return (struct made){ .kind = kind, .agent = agent, .parent = parent, .depth = depth };
}

static void hear(const struct cadre_event *e, void *data)
{
	tree_view_event(data, e);
}

static void tell(struct tree_view *t, enum cadre_event_kind kind, const char *agent, const char *parent, unsigned depth)
{
	struct made m = about(kind, agent, parent, depth);

	event_make(&m, hear, t);
}

struct due {
	struct tree_view *tree;
	bool is_due;
};

static void ask_due(const struct cadre_event *e, void *data)
{
	struct due *d = data;

	d->is_due = tree_view_is_due(d->tree, e);
}

static bool is_due(struct tree_view *t, const struct made *m)
{
	struct due d = { .tree = t };

	event_make(m, ask_due, &d);
	return d.is_due;
}

/* What stands on the terminal after it was drawn. */
static const char *drawn(struct tree_view *t, unsigned columns)
{
	static struct buf out;

	buf_clear(&out);
	tree_view_erase(t, &out);
	buf_clear(&out);
	tree_view_draw(t, &out, columns);
	return buf_str(&out).p;
}

TEST(children_stand_below_their_parents_in_the_order_of_starting)
{
	struct tree_view t = { 0 };

	tell(&t, CADRE_AGENT_STARTED, "a", "", 1);
	tell(&t, CADRE_AGENT_STARTED, "b", "", 1);
	tell(&t, CADRE_AGENT_STARTED, "a1", "a", 2);
	tell(&t, CADRE_AGENT_STARTED, "a2", "a", 2);
	tell(&t, CADRE_AGENT_STARTED, "a1x", "a1", 3);
	tell(&t, CADRE_AGENT_PROGRESS, "a1x", "a1", 3);

	CHECK_CSTR(drawn(&t, 100), "  Explore: a  0 turns, 0 tokens\n"
				   "    Explore: a1  0 turns, 0 tokens\n"
				   "      Explore: a1x  3 turns, 1.2 k tokens, Read\n"
				   "    Explore: a2  0 turns, 0 tokens\n"
				   "  Explore: b  0 turns, 0 tokens\n");
	agents_release(&t.agents);
}

TEST(a_child_that_ended_is_gone_and_one_that_goes_on_is_there_once)
{
	struct tree_view t = { 0 };

	tell(&t, CADRE_AGENT_STARTED, "a", "", 1);
	tell(&t, CADRE_AGENT_STARTED, "b", "", 1);
	tell(&t, CADRE_AGENT_ENDED, "a", "", 1);
	tell(&t, CADRE_AGENT_ENDED, "a", "", 1);
	tell(&t, CADRE_AGENT_STARTED, "b", "", 1);

	CHECK_CSTR(drawn(&t, 100), "  Explore: b  0 turns, 0 tokens\n");
	agents_release(&t.agents);
}

TEST(a_line_never_reaches_the_last_column)
{
	static const struct {
		unsigned columns;
		const char *line;
	} table[] = {
		{ 0, "\n" },
		{ 3, "  \n" },
		{ 10, "  Explore\n" },
		{ 13, "  Explore: \n" },
		{ 14, "  Explore: \xe6\x97\xa5\n" },
		{ 15, "  Explore: \xe6\x97\xa5x\n" },
	};
	struct tree_view t = { 0 };

	tell(&t, CADRE_AGENT_STARTED, "\xe6\x97\xa5xyz", "", 1);
	for (size_t i = 0; i < COUNT_OF(table); i++)
		CHECK_CSTR(drawn(&t, table[i].columns), table[i].line);
	agents_release(&t.agents);
}

TEST(many_children_take_eight_lines_and_are_drawn_with_patience)
{
	struct tree_view t = { 0 };
	struct made late = about(CADRE_AGENT_PROGRESS, "c0", "", 1);
	char id[16];

	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "c%d", i);
		tell(&t, CADRE_AGENT_STARTED, id, "", 1);
	}
	CHECK(str_ends(str_from(drawn(&t, 80)), STR("Explore: c6  0 turns, 0 tokens\n  and 93 more\n")));
	CHECK_INT(t.drawn, 8);
	event_make(&late, hear, &t);
	CHECK(!is_due(&t, &late));
	late.time_ms = 1000;
	CHECK(is_due(&t, &late));
	agents_release(&t.agents);
}

TEST(what_was_drawn_is_erased_once)
{
	struct tree_view t = { 0 };
	AUTO_BUF struct buf out = { 0 };

	tell(&t, CADRE_AGENT_STARTED, "a", "", 1);
	tell(&t, CADRE_AGENT_STARTED, "b", "", 1);
	tree_view_erase(&t, &out);
	CHECK_INT(out.n, 0);
	(void)drawn(&t, 80);
	tree_view_erase(&t, &out);
	tree_view_erase(&t, &out);

	CHECK_STR(buf_str(&out), "\033[2A\r\033[J");
	agents_release(&t.agents);
}

TEST(colours_are_those_of_the_types_and_foreign_text_is_harmless)
{
	struct tree_view t = { .colour = true };

	tell(&t, CADRE_AGENT_STARTED, "x\033[2J", "", 1);

	CHECK_CSTR(drawn(&t, 80), "  \033[0;36mExplore: x\\x1b[2J\033[0;2m  0 turns, 0 tokens\033[0m\n");
	agents_release(&t.agents);
}

TEST(the_line_face_shows_the_end_of_a_child_and_not_its_tools)
{
	struct made tool = about(CADRE_TOOL_STARTED, "a", "", 1);
	struct made end = about(CADRE_AGENT_ENDED, "a", "", 1);
	struct made retry = about(CADRE_RETRY, "a", "", 1);
	struct view v = { .face = &face_line };
	out_open(&v);

	retry.text = "529, again in 2 s";
	view_show(&v, &tool);
	view_show(&v, &retry);
	view_show(&v, &end);

	out_expect(&v, "agent \"a\" (Explore): 529, again in 2 s\n"
		       "Agent \"a\" finished (3 turns, 1.2 k tokens, 4.0 s)\n");
	view_release(&v);
}

const struct test_group tree_tests =
	GROUP(T(children_stand_below_their_parents_in_the_order_of_starting),
	      T(a_child_that_ended_is_gone_and_one_that_goes_on_is_there_once), T(a_line_never_reaches_the_last_column),
	      T(many_children_take_eight_lines_and_are_drawn_with_patience), T(what_was_drawn_is_erased_once),
	      T(colours_are_those_of_the_types_and_foreign_text_is_harmless),
	      T(the_line_face_shows_the_end_of_a_child_and_not_its_tools));
