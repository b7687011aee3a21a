/* SPDX-License-Identifier: MIT
 * test_memory.c - memory of agents: directories, limits, snapshots. */
#include "agents/profile/memory.h"
#include <sys/stat.h>
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "stage.h"
#include "tests.h"

static struct memory_dirs dirs_of(struct stage *s)
{
	return (struct memory_dirs){ .config_dir = stage_path(s, "config"),
				     .project_dir = stage_path(s, "top/project"),
				     .trusted = true };
}

TEST(each_scope_has_its_directory)
{
	static const struct {
		enum agent_memory memory;
		const char *expected;
	} rows[] = {
		{ MEMORY_USER, "config/agent-memory/a" },
		{ MEMORY_PROJECT, "top/project/.claude/agent-memory/a" },
		{ MEMORY_LOCAL, "top/project/.claude/agent-memory-local/a" },
	};
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct agent_definition d = { .name = "a", .memory = rows[i].memory };
		CHECK_CSTR(agent_memory_dir(&s.arena, &d, &dirs), stage_path(&s, rows[i].expected));
		CHECK_INT(agent_memory_prepare(&d, &dirs, &err), 0);
		CHECK(file_exists(stage_path(&s, rows[i].expected)));
	}
	struct agent_definition none = { .name = "a" };
	AUTO_BUF struct buf out = { 0 };
	agent_memory_prompt(&out, &none, &dirs);
	CHECK(!agent_memory_dir(&s.arena, &none, &dirs) && !out.n);
	stage_release(&s);
}

TEST(a_type_never_becomes_a_path_outside_its_directory)
{
	char long_name[4097];
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	const char *types[] = { "../x",
				"a/b",
				"..",
				".",
				"",
				"/etc/passwd",
				"a/../../b",
				".hidden",
				"-x",
				"a\nb",
				"a\\b",
				"\xe2\x80\xae"
				"txt",
				"\xff\xfe",
				"日本語",
				"x:y:z",
				"a b",
				"%2e%2e%2f",
				long_name };
	struct stage s;
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	char *parent = stage_path(&s, "config/agent-memory");

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct agent_definition d = { .name = types[i], .memory = MEMORY_USER };
		struct err err = { 0 };
		char *dir = agent_memory_dir(&s.arena, &d, &dirs);
		struct str name = str_from(dir + strlen(parent) + 1);
		CHECK(path_is_inside(dir, parent) && name.n > 0 && name.n < 200);
		CHECK(!memchr(name.p, '/', name.n) && name.p[0] != '.' && utf8_valid(name));
		CHECK_INT(agent_memory_prepare(&d, &dirs, &err), 0);
		CHECK(file_exists(dir));
	}
	stage_release(&s);
}

TEST(types_that_need_a_change_do_not_share_a_memory)
{
	static const char *const types[] = {
		"a/b", "a\\b", "a b", "a-b", "a//b", "A-b", "a:b", "a::b", "..", ".-", ""
	};
	struct map seen = { 0 };

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		AUTO_BUF struct buf name = { 0 };
		agent_memory_name(&name, str_from(types[i]));
		CHECK(map_set(&seen, buf_str(&name), &seen) == NULL);
	}
	map_release(&seen);
	AUTO_BUF struct buf plugin = { 0 };
	agent_memory_name(&plugin, STR("plg:sub:name"));
	CHECK(str_starts(buf_str(&plugin), STR("plg-sub-name-")));
}

static void prompt_of(struct stage *s, struct buf *out, const char *memory)
{
	struct agent_definition d = { .name = "a", .memory = MEMORY_USER };
	struct memory_dirs dirs = dirs_of(s);

	stage_put(s, "config/agent-memory/a/MEMORY.md", memory);
	buf_clear(out);
	agent_memory_prompt(out, &d, &dirs);
}

TEST(the_first_200_lines_or_25_kb_are_in_the_prompt)
{
	AUTO_BUF struct buf lines = { 0 };
	AUTO_BUF struct buf wide = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	stage_init(&s);

	prompt_of(&s, &out, "one\ntwo\n");
	CHECK(strstr(out.p, "## MEMORY.md\n\none\ntwo\n") && !strstr(out.p, "is longer"));
	CHECK(strstr(out.p, stage_path(&s, "config/agent-memory/a")) != NULL);

	for (int i = 1; i <= 200; i++)
		buf_addf(&lines, "line %d.\n", i);
	prompt_of(&s, &out, lines.p);
	CHECK(strstr(out.p, "line 200.\n") && !strstr(out.p, "is longer"));

	buf_addstr(&lines, "line 201.\n");
	prompt_of(&s, &out, lines.p);
	CHECK(strstr(out.p, "line 200.\n") && !strstr(out.p, "line 201.") && strstr(out.p, "is longer"));

	while (wide.n < 24 * 1024)
		buf_addstr(
			&wide,
			"\xc3\xa4\xc3\xa4 a line of some length, because two hundred of them have to come to more than "
			"twenty-five "
			"kilobytes, as the notes of people do now and then, and this one is neither long nor short\n");
	prompt_of(&s, &out, wide.p);
	CHECK(!strstr(out.p, "is longer"));
	while (wide.n < 30 * 1024)
		buf_addstr(&wide, "\xc3\xa4");
	prompt_of(&s, &out, wide.p);
	CHECK(strstr(out.p, "neither long nor short\n\n(MEMORY.md is longer") && utf8_valid(buf_str(&out)));
	CHECK(out.n < 25 * 1024 + 2500);

	buf_clear(&wide);
	while (wide.n < 30 * 1024)
		buf_addstr(&wide, "\xc3\xa4");
	prompt_of(&s, &out, wide.p);
	CHECK(out.n > 25 * 1024 && out.n < 25 * 1024 + 2500 && utf8_valid(buf_str(&out)));
	stage_release(&s);
}

TEST(an_empty_or_missing_memory_is_said)
{
	AUTO_BUF struct buf out = { 0 };
	struct agent_definition d = { .name = "nobody", .memory = MEMORY_LOCAL };
	struct stage s;
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);

	prompt_of(&s, &out, " \n\n");
	CHECK(strstr(out.p, "MEMORY.md is empty") != NULL);
	buf_clear(&out);
	agent_memory_prompt(&out, &d, &dirs);
	CHECK(strstr(out.p, "does not exist yet") != NULL);
	stage_release(&s);
}

TEST(a_link_that_leads_a_projects_memory_out_of_it_is_refused_before_anything_is_made)
{
	struct agent_definition d = { .name = "a", .memory = MEMORY_PROJECT };
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	stage_put(&s, "outside/keep", "");
	stage_put(&s, "top/project/.claude/keep", "");
	CHECK_INT(symlink(stage_path(&s, "outside"), stage_path(&s, "top/project/.claude/agent-memory")), 0);

	CHECK_INT(agent_memory_prepare(&d, &dirs, &err), -ERR_DENIED);

	CHECK(!file_exists(stage_path(&s, "outside/a")));
	stage_release(&s);
}

/* The repository may bring them, and the agent's own commands may make them. */
TEST(a_memory_that_is_a_link_or_a_pipe_is_not_shown_and_blocks_nothing)
{
	struct agent_definition d = { .name = "a", .memory = MEMORY_PROJECT };
	AUTO_BUF struct buf linked = { 0 };
	AUTO_BUF struct buf pipe = { 0 };
	struct stage s;
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	stage_put(&s, "secret", "a key");
	CHECK_INT(agent_memory_prepare(&d, &dirs, NULL), 0);
	const char *file = stage_path(&s, "top/project/.claude/agent-memory/a/MEMORY.md");

	CHECK_INT(symlink(stage_path(&s, "secret"), file), 0);
	agent_memory_prompt(&linked, &d, &dirs);
	CHECK_INT(unlink(file), 0);
	CHECK_INT(mkfifo(file, 0600), 0);
	agent_memory_prompt(&pipe, &d, &dirs);

	CHECK(!str_has(buf_str(&linked), STR("a key")) && str_has(buf_str(&linked), STR("cannot be read now")));
	CHECK(str_has(buf_str(&pipe), STR("cannot be read now")));
	stage_release(&s);
}

static const char *text_of(struct stage *s, const char *name)
{
	AUTO_BUF struct buf text = { 0 };

	(void)file_read(stage_path(s, name), 100000, &text, NULL);
	return arena_str(&s->arena, buf_str(&text)).p;
}

#define SNAPSHOT "top/project/.claude/agent-memory-snapshots/a/"

TEST(a_snapshot_fills_an_empty_memory_once)
{
	struct agent_definition d = { .name = "a", .memory = MEMORY_USER };
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	stage_put(&s, SNAPSHOT "snapshot.json", "{\"updatedAt\":\"2026-01-01T00:00:00.000Z\"}");
	stage_put(&s, SNAPSHOT "MEMORY.md", "from the project");
	stage_put(&s, SNAPSHOT "detail.md", "more");
	stage_put(&s, SNAPSHOT "run.sh", "no");

	CHECK_INT(agent_memory_prepare(&d, &dirs, &err), 0);
	CHECK_CSTR(text_of(&s, "config/agent-memory/a/MEMORY.md"), "from the project");
	CHECK_CSTR(text_of(&s, "config/agent-memory/a/detail.md"), "more");
	CHECK(!file_exists(stage_path(&s, "config/agent-memory/a/run.sh")));

	CHECK_INT(remove(stage_path(&s, "config/agent-memory/a/MEMORY.md")), 0);
	CHECK_INT(agent_memory_prepare(&d, &dirs, &err), 0);
	CHECK(!file_exists(stage_path(&s, "config/agent-memory/a/MEMORY.md")));
	stage_release(&s);
}

TEST(a_newer_snapshot_is_mentioned_and_overwrites_nothing)
{
	AUTO_BUF struct buf before = { 0 };
	AUTO_BUF struct buf after = { 0 };
	struct agent_definition d = { .name = "a", .memory = MEMORY_USER };
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	stage_put(&s, "config/agent-memory/a/MEMORY.md", "mine");
	stage_put(&s, "config/agent-memory/a/.snapshot-synced.json", "{\"syncedFrom\":\"2026-01-01T00:00:00.000Z\"}");
	stage_put(&s, SNAPSHOT "snapshot.json", "{\"updatedAt\":\"2026-01-01T00:00:00.000Z\"}");
	stage_put(&s, SNAPSHOT "MEMORY.md", "theirs");

	agent_memory_prompt(&before, &d, &dirs);
	stage_put(&s, SNAPSHOT "snapshot.json", "{\"updatedAt\":\"2026-02-01T00:00:00.000Z\"}");
	CHECK_INT(agent_memory_prepare(&d, &dirs, &err), 0);
	agent_memory_prompt(&after, &d, &dirs);

	CHECK(!strstr(before.p, "snapshot"));
	CHECK(strstr(after.p, "snapshot of this memory from 2026-02-01") != NULL);
	CHECK_CSTR(text_of(&s, "config/agent-memory/a/MEMORY.md"), "mine");
	stage_release(&s);
}

TEST(a_snapshot_of_an_untrusted_folder_or_with_links_is_not_used)
{
	struct agent_definition d = { .name = "a", .memory = MEMORY_USER };
	AUTO_BUF struct buf prompt = { 0 };
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	stage_put(&s, SNAPSHOT "snapshot.json", "{\"updatedAt\":\"2026-01-01T00:00:00.000Z\"}");
	stage_put(&s, "secret", "secret");
	CHECK_INT(symlink(stage_path(&s, "secret"), stage_path(&s, SNAPSHOT "MEMORY.md")), 0);

	dirs.trusted = false;
	CHECK_INT(agent_memory_prepare(&d, &dirs, &err), 0);
	agent_memory_prompt(&prompt, &d, &dirs);
	CHECK(!file_exists(stage_path(&s, "config/agent-memory/a/MEMORY.md")) && !strstr(prompt.p, "snapshot"));

	dirs.trusted = true;
	CHECK_INT(agent_memory_prepare(&d, &dirs, &err), -ERR_DENIED);
	CHECK(!file_exists(stage_path(&s, "config/agent-memory/a/MEMORY.md")));
	stage_release(&s);
}

TEST(a_snapshot_that_is_saved_reaches_another_user)
{
	struct agent_definition d = { .name = "a", .memory = MEMORY_USER };
	struct agent_definition local = { .name = "a", .memory = MEMORY_LOCAL };
	struct stage s;
	struct err err = { 0 };
	size_t files;
	stage_init(&s);
	struct memory_dirs dirs = dirs_of(&s);
	struct memory_dirs other = dirs;
	other.config_dir = stage_path(&s, "other");
	stage_put(&s, "config/agent-memory/a/MEMORY.md", "known");

	CHECK_INT(agent_memory_save_snapshot(&d, &dirs, &files, &err), 0);
	CHECK_INT(files, 1);
	CHECK_INT(agent_memory_prepare(&d, &other, &err), 0);

	CHECK_CSTR(text_of(&s, "other/agent-memory/a/MEMORY.md"), "known");
	CHECK_INT(agent_memory_save_snapshot(&local, &dirs, &files, &err), -ERR_USAGE);
	stage_release(&s);
}

int test_memory(void)
{
	return RUN_TESTS(T(each_scope_has_its_directory), T(a_type_never_becomes_a_path_outside_its_directory),
			 T(types_that_need_a_change_do_not_share_a_memory),
			 T(the_first_200_lines_or_25_kb_are_in_the_prompt), T(an_empty_or_missing_memory_is_said),
			 T(a_link_that_leads_a_projects_memory_out_of_it_is_refused_before_anything_is_made),
			 T(a_memory_that_is_a_link_or_a_pipe_is_not_shown_and_blocks_nothing),
			 T(a_snapshot_fills_an_empty_memory_once),
			 T(a_newer_snapshot_is_mentioned_and_overwrites_nothing),
			 T(a_snapshot_of_an_untrusted_folder_or_with_links_is_not_used),
			 T(a_snapshot_that_is_saved_reaches_another_user));
}
