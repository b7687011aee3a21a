/* SPDX-License-Identifier: MIT
 * test_roster.c - the list of agents for a main agent. */
#include "agents/profile/roster.h"
#include "defs/agentdef/registry.h"
#include "stage.h"
#include "tests.h"

static void write_roster(struct stage *s, struct buf *out, const struct roster_spec *spec)
{
	buf_clear(out);
	buf_addstr(out, "");
	roster_write(out, s->registry, spec);
}

static void open_stage(struct stage *s)
{
	stage_init(s);
	s->sources.builtin = BUILTIN_NONE;
}

TEST(a_line_has_type_use_properties_and_tools)
{
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	open_stage(&s);
	stage_put(&s, "config/agents/a.md",
		  "---\nname: a\ndescription: |\n  Use it\n  - b: often (Tools: All)\ntools: Read, Bash(git *)\n"
		  "forkContext: true\n---\n");
	stage_put(&s, "config/agents/b.md", "---\nname: b\ndescription: B\ndisallowedTools: Edit, Write\n---\n");
	stage_put(&s, "config/agents/c.md", "---\nname: C\ndescription: C\n---\n");
	stage_put(&s, "config/agents/d.md", "---\nname: d\ndescription: D\ntools: []\n---\n");
	stage_load(&s);

	write_roster(&s, &out, &(struct roster_spec){ .background_off = true, .one_at_a_time = true });

	CHECK_CSTR(out.p, "Available agent types and the tools they have access to:\n"
			  "- a: Use it - b: often (Tools: All) (Properties: access to current context; Tools: Read, "
			  "Bash(git *))\n"
			  "- b: B (Tools: All tools except Edit, Write)\n"
			  "- C: C (Tools: All tools)\n"
			  "- d: D (Tools: None)\n"
			  "- An agent with access to current context sees this conversation up to the call: a short "
			  "prompt is enough.\n");
	stage_release(&s);
}

TEST(parts_depend_on_what_is_possible)
{
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	open_stage(&s);
	stage_agent(&s, "config/agents/a.md", "a");
	stage_load(&s);

	write_roster(&s, &out, &(struct roster_spec){ 0 });
	CHECK(strstr(out.p, "run_in_background") && strstr(out.p, "in one message"));
	write_roster(&s, &out, &(struct roster_spec){ .background_off = true });
	CHECK(!strstr(out.p, "run_in_background") && strstr(out.p, "in one message"));
	write_roster(&s, &out, &(struct roster_spec){ .one_at_a_time = true });
	CHECK(strstr(out.p, "run_in_background") && !strstr(out.p, "in one message"));
	CHECK(!strstr(out.p, "current context"));
	stage_release(&s);
}

TEST(denied_limited_and_unserved_agents_are_not_in_it)
{
	static const char *const none[] = { NULL };
	static const char *const both[] = { "DB", "slack", NULL };
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	open_stage(&s);
	stage_agent(&s, "config/agents/a.md", "alpha");
	stage_agent(&s, "config/agents/b.md", "beta");
	stage_put(&s, "config/agents/c.md", "---\nname: gamma\ndescription: d\nrequiredMcpServers: [db, slack]\n---\n");
	stage_put(&s, "top/project/.claude/settings.json",
		  "{\"permissions\":{\"deny\":[{\"tool\":\"Task\",\"args\":\"beta\"}]}}");
	stage_load(&s);

	write_roster(&s, &out, &(struct roster_spec){ .mcp_servers = none });
	CHECK(strstr(out.p, "- alpha:") && !strstr(out.p, "- beta:") && !strstr(out.p, "- gamma:"));
	write_roster(&s, &out, &(struct roster_spec){ .mcp_servers = both });
	CHECK(strstr(out.p, "- alpha:") && !strstr(out.p, "- beta:") && strstr(out.p, "- gamma:"));
	write_roster(&s, &out, &(struct roster_spec){ .only = STR("beta, Gamma") });
	CHECK(!strstr(out.p, "- alpha:") && !strstr(out.p, "- beta:") && strstr(out.p, "- gamma:"));
	stage_put(&s, "config/settings.json", "{\"permissions\":{\"deny\":[\"Agent\"]}}");
	catalog_refresh(s.registry);
	write_roster(&s, &out, &(struct roster_spec){ 0 });
	CHECK_CSTR(out.p, "");
	stage_release(&s);
}

static void make_many(struct stage *s, unsigned count)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addch(&text, '{');
	for (unsigned i = 0; i < count; i++)
		buf_addf(&text,
			 "%s\"agent-%04u\":{\"description\":\"Use number %u for work that is \xc3\xa4hnlich to that of "
			 "the others, "
			 "with a description that goes on for a while so that it adds "
			 "up.\",\"prompt\":\"p\",\"tools\":[\"Read\","
			 "\"Grep\",\"Glob\",\"Bash\",\"Edit\",\"Write\",\"WebFetch\",\"WebSearch\",\"NotebookEdit\"]}",
			 i ? "," : "", i, i);
	buf_addch(&text, '}');
	stage_put(s, "top/project/many.json", text.p);
	s->sources.flag = "many.json";
	stage_load(s);
}

TEST(a_thousand_agents_stay_within_the_budget_and_say_how_to_see_the_rest)
{
	static const struct {
		unsigned agents;
		size_t budget;
		const char *expected; /* in the text */
	} rows[] = {
		{ 10, 0,
		  "so that it adds up. (Tools: Read, Grep, Glob, Bash, Edit, Write, WebFetch, WebSearch, "
		  "NotebookEdit)" },
		{ 100, 0, "(Shortened. `cadre agents show NAME`" },
		{ 100, 0, "... (Tools: Read, Grep, Glob, Bash, Edit, Write, WebFetch, WebSearch and 1 more)" },
		{ 1000, 0, "(By name only. `cadre agents` lists all 1000" },
		{ 1000, 5000, " more types are not named here. `cadre agents` lists all 1000" },
		{ 1000, 160000, "(Shortened." },
		{ 10, 1000, "(By name only." },
		{ 10, 1, "(10 more types are not named here." },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		struct stage s;
		open_stage(&s);
		make_many(&s, rows[i].agents);
		write_roster(&s, &out, &(struct roster_spec){ .budget_bytes = rows[i].budget });
		if (!strstr(out.p, rows[i].expected))
			fail_msg("%u agents: %.600s", rows[i].agents, out.p);
		if (rows[i].budget != 1)
			CHECK(out.n <= (rows[i].budget ? rows[i].budget : (size_t)ROSTER_BUDGET));
		stage_release(&s);
	}
}

TEST(shortening_uses_what_the_budget_allows)
{
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	open_stage(&s);
	make_many(&s, 100);

	write_roster(&s, &out, &(struct roster_spec){ .budget_bytes = 18000 });

	CHECK(out.n <= 18000 && out.n > 18000 - 300 - 100 - 100);
	stage_release(&s);
}

int test_roster(void)
{
	return RUN_TESTS(T(a_line_has_type_use_properties_and_tools), T(parts_depend_on_what_is_possible),
			 T(denied_limited_and_unserved_agents_are_not_in_it),
			 T(a_thousand_agents_stay_within_the_budget_and_say_how_to_see_the_rest),
			 T(shortening_uses_what_the_budget_allows));
}
