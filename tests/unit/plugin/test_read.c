/* SPDX-License-Identifier: MIT
 * test_read.c - from a directory to a plugin: which components are found, and that nothing leads out. */
#include "stage.h"
#include "lib/io/file.h"
#include "tests.h"

static void add_paths(struct buf *out, const struct plugin *p, const char *title, const struct plugin_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		buf_addf(out, "%s:%s%s ", title, paths->list[i].path + strlen(p->root) + 1,
			 paths->list[i].is_dir ? "/" : "");
}

static void add_parts(struct buf *out, const char *title, const struct plugin_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		buf_addf(out, "%s:%s#%u ", title, strrchr(parts->list[i].file, '/') + 1, parts->list[i].value->count);
}

static const char *components(struct arena *a, const struct plugin *p)
{
	AUTO_BUF struct buf out = { 0 };

	add_paths(&out, p, "agents", &p->agents);
	add_paths(&out, p, "skills", &p->skills);
	add_paths(&out, p, "commands", &p->commands);
	add_parts(&out, "hooks", &p->hooks);
	add_parts(&out, "mcp", &p->mcp);
	if (p->bin)
		buf_addf(&out, "bin:%s ", p->bin + strlen(p->root) + 1);
	if (p->agent)
		buf_addf(&out, "agent:%s ", p->agent);
	return out.n ? arena_strdup(a, out.p) : "";
}

TEST(components_are_found_in_their_places_and_where_the_manifest_names_them)
{
	static const struct {
		const char *dir, *found;
	} table[] = {
		{ "sound-agents", "agents:agents/ " },
		{ "sound-agent-paths", "agents:crew/ agents:extra/lone.md " },
		{ "sound-skills", "skills:skills/ " },
		{ "sound-skill-paths", "skills:skills/ skills:more/ skills:single/SKILL.md " },
		{ "sound-root-skill", "skills:SKILL.md " },
		{ "sound-commands", "commands:commands/ " },
		{ "sound-command-path", "commands:slash/ " },
		{ "sound-hooks", "hooks:hooks.json#1 " },
		{ "sound-inline-hooks", "hooks:plugin.json#1 " },
		{ "sound-hook-files", "hooks:a.json#1 hooks:b.json#1 " },
		{ "sound-mcp", "mcp:.mcp.json#1 " },
		{ "sound-bare-mcp", "mcp:.mcp.json#1 " },
		{ "sound-inline-mcp", "mcp:plugin.json#2 " },
		{ "sound-bin", "bin:bin " },
		{ "sound-settings", "agents:agents/ agent:lead " },
		{ "bad-link-out", "" },
		{ "bad-path-gone", "" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct plugin *p = plugin_read(path_join(&a, PLUGINS_DIR, table[i].dir), PLUGIN_INLINE, "inline");
		CHECK_CSTR(components(&a, p), table[i].found);
		CHECK_INT(p->state, PLUGIN_ENABLED);
		plugin_free(p);
	}
}

TEST(a_manifest_says_who_the_plugin_is)
{
	AUTO_ARENA struct arena a = { 0 };
	struct plugin *p = plugin_read(path_join(&a, PLUGINS_DIR, "sound-everything"), PLUGIN_INSTALLED, "shop");
	struct plugin *bare = plugin_read(path_join(&a, PLUGINS_DIR, "sound-no-manifest"), PLUGIN_INLINE, "inline");

	CHECK_CSTR(p->id, "sound-everything@shop");
	CHECK_CSTR(p->version, "3.2.1-beta.4");
	CHECK(!p->default_enabled);
	CHECK_CSTR(bare->id, "sound-no-manifest@inline");
	CHECK(!bare->manifest && !bare->version && bare->default_enabled);
	plugin_free(p);
	plugin_free(bare);
}

TEST(nothing_in_a_plugin_leads_out_of_it)
{
	static const struct {
		const char *link, *target, *key;
	} table[] = {
		{ "agents", "out", "agents" },
		{ "skills", "out", "skills" },
		{ "commands", "out", "commands" },
		{ "hooks/hooks.json", "out/hooks.json", "hooks" },
		{ ".mcp.json", "out/.mcp.json", "mcpServers" },
		{ "bin", "out", "bin" },
		{ "settings.json", "out/settings.json", "settings" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		stage_init(&s);
		stage_put(&s, "out/hooks.json", "{\"hooks\":{}}");
		stage_put(&s, "out/.mcp.json", "{}");
		stage_put(&s, "out/settings.json", "{\"agent\":\"evil\"}");
		stage_put(&s, "dir/.claude-plugin/plugin.json", "{\"name\":\"p\"}");
		const char *link = stage_path(&s, arena_printf(&s.arena, "dir/%s", table[i].link));
		CHECK_INT(file_make_parents(link, NULL), 0);
		CHECK_INT(symlink(stage_path(&s, table[i].target), link), 0);
		struct plugin *p = plugin_read(stage_path(&s, "dir"), PLUGIN_INLINE, "inline");
		CHECK_CSTR(components(&s.arena, p), "");
		CHECK_INT(p->error_count, 1);
		CHECK_INT(p->errors[0].fault, PLUGIN_BAD_PATH);
		CHECK_CSTR(p->errors[0].key, table[i].key);
		plugin_free(p);
		stage_release(&s);
	}
}

TEST(a_manifest_that_is_a_link_out_fails_the_plugin)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "out/plugin.json", "{\"name\":\"evil\"}");
	stage_put(&s, "dir/agents/a.md", "x");
	CHECK_INT(symlink(stage_path(&s, "out/plugin.json"), stage_path(&s, "dir/plugin.json")), 0);

	struct plugin *p = plugin_read(stage_path(&s, "dir"), PLUGIN_INLINE, "inline");

	CHECK_INT(p->state, PLUGIN_FAILED);
	CHECK_INT(p->agents.count, 0);
	plugin_free(p);
	stage_release(&s);
}

TEST(a_key_that_is_there_twice_counts_once)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "dir/plugin.json",
		  "{\"name\":\"p\",\"userConfig\":{\"A\":{\"type\":\"string\"}},\"dependencies\":[\"x\"],"
		  "\"userConfig\":{\"B\":{\"type\":\"string\"}},\"dependencies\":[\"y\",\"z\"]}");

	struct plugin *p = plugin_read(stage_path(&s, "dir"), PLUGIN_INLINE, "inline");

	CHECK_INT(p->option_count, 1);
	CHECK_CSTR(p->options[0].key, "B");
	CHECK_INT(p->dependency_count, 2);
	CHECK_INT(p->notes.count, 2);
	plugin_free(p);
	stage_release(&s);
}

TEST(what_is_not_there_is_a_failed_plugin)
{
	struct plugin *p = plugin_read("/nowhere/at/all", PLUGIN_INLINE, "inline");

	CHECK_INT(p->state, PLUGIN_FAILED);
	CHECK_INT(p->errors[0].fault, PLUGIN_NOT_FOUND);
	CHECK_CSTR(p->id, "all@inline");
	plugin_free(p);
}

int test_read(void)
{
	return RUN_TESTS(T(components_are_found_in_their_places_and_where_the_manifest_names_them),
			 T(a_manifest_says_who_the_plugin_is), T(nothing_in_a_plugin_leads_out_of_it),
			 T(a_manifest_that_is_a_link_out_fails_the_plugin), T(a_key_that_is_there_twice_counts_once),
			 T(what_is_not_there_is_a_failed_plugin));
}
