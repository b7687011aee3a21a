/* SPDX-License-Identifier: MIT
 * test_install.c - what installing leaves on disk. */
#include "stage.h"
#include "lib/io/file.h"
#include "defs/plugin/install.h"
#include "tests.h"

static int install(struct stage *s, const char *dir, const struct market_plugin *offer, struct installed_plugin *ret,
		   struct err *err)
{
	struct install what = { s->spec.plugins_dir, stage_path(s, dir), "shop", offer, "user" };

	return plugin_install(&s->arena, &what, ret, err);
}

TEST(an_installed_plugin_is_a_copy_under_its_version)
{
	struct stage s;
	struct installed_plugin installed;
	struct err err = { 0 };
	stage_init(&s);
	stage_plugin(&s, "src/p", "{\"name\":\"p\",\"version\":\"1.2.0\"}");
	stage_put(&s, "src/p/.git/config", "x");
	CHECK_INT(symlink("agents/a.md", stage_path(&s, "src/p/inner.md")), 0);

	CHECK_INT(install(&s, "src/p", NULL, &installed, &err), 0);

	CHECK_CSTR(installed.id, "p@shop");
	CHECK_CSTR(installed.path, stage_path(&s, "home/plugins/cache/shop/p/1.2.0"));
	CHECK(file_exists(path_join(&s.arena, installed.path, "agents/a.md")));
	CHECK(file_exists(path_join(&s.arena, installed.path, "inner.md")));
	CHECK(!file_exists(path_join(&s.arena, installed.path, ".git")));
	AUTO_PLUGIN_RECORDS struct plugin_records r = { 0 };
	CHECK_INT(plugin_records_read(&r, s.spec.plugins_dir, &err), 0);
	CHECK_CSTR(plugin_records_installed(&r, "p@shop")->path, installed.path);
	stage_release(&s);
}

TEST(a_plugin_that_would_not_load_leaves_nothing)
{
	static const struct {
		const char *manifest, *link, *why;
	} table[] = {
		{ "{\"name\":\"p\",\"version\":7}", NULL, "version: expected a text" },
		{ "{\"name\":\"p\",\"version\":\"../../x\"}", NULL, "cannot be the name of a directory" },
		{ "{\"name\":\"p\",\"version\":\"..\"}", NULL, "cannot be the name of a directory" },
		{ "{\"name\":\"p\"}", "/etc", "leads out of the plugin" },
		{ "{\"name\":\"other\"}", NULL, "its name is other" },
	};
	static const struct market_plugin offer = { .name = "p" };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		struct installed_plugin installed;
		struct err err = { 0 };
		stage_init(&s);
		stage_plugin(&s, "src/p", table[i].manifest);
		if (table[i].link)
			CHECK_INT(symlink(table[i].link, stage_path(&s, "src/p/link")), 0);
		CHECK(install(&s, "src/p", &offer, &installed, &err) < 0);
		if (!strstr(err.text, table[i].why))
			print_error("%s\n", err.text);
		CHECK(strstr(err.text, table[i].why) != NULL);
		CHECK(!file_exists(stage_path(&s, "home/plugins/installed_plugins.json")));
		CHECK_INT(rmdir(stage_path(&s, "home/plugins/cache/shop")), 0);
		stage_release(&s);
	}
}

TEST(the_offer_gives_a_version_and_a_manifest_where_the_plugin_has_none)
{
	struct stage s;
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	struct installed_plugin installed;
	struct err err = { 0 };
	stage_init(&s);
	stage_put(&s, "shop/.claude-plugin/marketplace.json",
		  "{\"name\":\"shop\",\"owner\":{\"name\":\"o\"},\"plugins\":[{\"name\":\"p\",\"source\":\"./p\","
		  "\"version\":\"4.0.0\",\"strict\":false,\"category\":\"c\",\"agents\":[\"./crew\"]}]}");
	stage_put(&s, "shop/p/crew/a.md", "x");
	CHECK_INT(marketplace_read(&m, stage_path(&s, "shop"), &err), 0);

	CHECK_INT(install(&s, "shop/p", marketplace_find(&m, "p"), &installed, &err), 0);

	CHECK_CSTR(installed.version, "4.0.0");
	struct plugin *p = plugin_read(installed.path, PLUGIN_INSTALLED, "shop");
	CHECK_CSTR(p->id, "p@shop");
	CHECK_INT(p->agents.count, 1);
	CHECK_INT(p->notes.count, 0);
	plugin_free(p);
	stage_release(&s);
}

TEST(installing_again_replaces_and_uninstalling_keeps_the_data)
{
	struct stage s;
	struct installed_plugin installed;
	struct err err = { 0 };
	stage_init(&s);
	stage_plugin(&s, "src/p", "{\"name\":\"p\"}");
	stage_put(&s, "src/p/old.txt", "x");
	CHECK_INT(install(&s, "src/p", NULL, &installed, &err), 0);
	CHECK_INT(unlink(stage_path(&s, "src/p/old.txt")), 0);
	stage_put(&s, "home/plugins/data/p-shop/kept", "x");

	CHECK_INT(install(&s, "src/p", NULL, &installed, &err), 0);
	CHECK_CSTR(installed.version, "unknown");
	CHECK(!file_exists(path_join(&s.arena, installed.path, "old.txt")));

	CHECK_INT(plugin_uninstall(s.spec.plugins_dir, "p@shop", &err), 0);
	CHECK(!file_exists(stage_path(&s, "home/plugins/cache/shop/p")));
	CHECK(file_exists(stage_path(&s, "home/plugins/data/p-shop/kept")));
	CHECK_INT(plugin_uninstall(s.spec.plugins_dir, "p@shop", &err), -ERR_NOT_FOUND);
	stage_release(&s);
}

TEST(records_keep_what_others_wrote)
{
	struct stage s;
	AUTO_BUF struct buf text = { 0 };
	AUTO_PLUGIN_RECORDS struct plugin_records r = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	stage_put(
		&s, "home/plugins/known_marketplaces.json",
		"{\n  \"a\": {\"source\": {\"source\": \"github\", \"repo\": \"o/a\"}, \"installLocation\": \"/a\", \"x\": 1},\n"
		"  \"bad\": 7\n}\n");
	stage_put(&s, "home/plugins/installed_plugins.json",
		  "{\"version\":1,\"plugins\":{\"old@a\":{\"version\":\"1\",\"installPath\":\"/old\"}}}");

	CHECK_INT(record_market(s.spec.plugins_dir, "b", STR("{\"source\":\"directory\",\"path\":\"/b\"}"), "/b", &err),
		  0);
	CHECK_INT(record_market(s.spec.plugins_dir, "b", (struct str){ 0 }, NULL, &err), 0);
	CHECK_INT(record_market(s.spec.plugins_dir, "never", (struct str){ 0 }, NULL, &err), 0);

	CHECK_INT(file_read(stage_path(&s, "home/plugins/known_marketplaces.json"), 1000, &text, &err), 0);
	CHECK_STR(buf_str(&text), "{\n  \"a\": {\"source\": {\"source\": \"github\", \"repo\": \"o/a\"}, "
				  "\"installLocation\": \"/a\", \"x\": 1},\n  \"bad\": 7\n}\n");
	CHECK_INT(plugin_records_read(&r, s.spec.plugins_dir, &err), 0);
	CHECK_INT(r.known_count, 1);
	CHECK_CSTR(plugin_records_installed(&r, "old@a")->path, "/old");
	stage_release(&s);
}

TEST(a_marketplace_is_checked_when_it_is_read)
{
	static const struct {
		const char *text, *why;
	} table[] = {
		{ "{\"plugins\":[]}", ":1: name: expected" },
		{ "{\"name\":\"inline\",\"plugins\":[]}", "not a reserved word" },
		{ "{\"name\":\"../x\",\"plugins\":[]}", "name: expected" },
		{ "{\"name\":\"m\"}", "plugins: expected a list" },
		{ "{\"name\":\"m\",\"plugins\":[{\"source\":\"./x\"}]}", "needs a name" },
		{ "{\"name\":\"m\",\"plugins\":[{\"name\":\"p\"}]}", "needs a source" },
		{ "{\"name\":\"m\",\"plugins\":[{\"name\":\"p\",\"source\":\"./x\"},\n{\"name\":\"p\",\"source\":\"./x\"}]}",
		  ":2: plugins: two entries" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		AUTO_MARKETPLACE struct marketplace m = { 0 };
		struct err err = { 0 };
		stage_init(&s);
		stage_put(&s, "shop/.claude-plugin/marketplace.json", table[i].text);
		CHECK_INT(marketplace_read(&m, stage_path(&s, "shop"), &err), -ERR_USAGE);
		CHECK(strstr(err.text, table[i].why) != NULL);
		stage_release(&s);
	}
}

TEST(an_offer_cannot_lead_out_of_its_marketplace)
{
	static const char *const sources[] = { "../out", "/etc", "./../out", "out", "./link", "./gone" };

	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		struct stage s;
		AUTO_MARKETPLACE struct marketplace m = { 0 };
		struct err err = { 0 };
		const char *dir;
		stage_init(&s);
		stage_plugin(&s, "out", "{\"name\":\"p\"}");
		stage_put(&s, "shop/.claude-plugin/marketplace.json",
			  arena_printf(&s.arena, "{\"name\":\"m\",\"plugins\":[{\"name\":\"p\",\"source\":\"%s\"}]}",
				       sources[i]));
		CHECK_INT(symlink(stage_path(&s, "out"), stage_path(&s, "shop/link")), 0);
		CHECK_INT(marketplace_read(&m, stage_path(&s, "shop"), &err), 0);
		CHECK_INT(marketplace_plugin_dir(&m, &m.plugins[0], &dir, &err), -ERR_USAGE);
		stage_release(&s);
	}
}

TEST(only_addresses_that_git_can_reach_safely_are_repositories)
{
	static const struct {
		const char *source, *url;
	} table[] = {
		{ "{\"source\":\"github\",\"repo\":\"o/r\"}", "https://github.com/o/r.git" },
		{ "{\"source\":\"git\",\"url\":\"https://h/x.git\",\"ref\":\"v1\"}", "https://h/x.git" },
		{ "{\"source\":\"url\",\"url\":\"file:///x\"}", "file:///x" },
		{ "{\"source\":\"git\",\"url\":\"git@h:x.git\"}", "git@h:x.git" },
		{ "{\"source\":\"github\",\"repo\":\"-o/../r\"}", NULL },
		{ "{\"source\":\"git\",\"url\":\"--upload-pack=evil\"}", NULL },
		{ "{\"source\":\"git\",\"url\":\"ext::sh -c evil\"}", NULL },
		{ "{\"source\":\"git\",\"url\":\"https://h/x\",\"ref\":\"--evil\"}", NULL },
		{ "{\"source\":\"git\",\"url\":\"https://h/x\",\"sha\":\"abc\"}", NULL },
		{ "{\"source\":\"npm\",\"package\":\"x\"}", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *source;
		struct git_source git = { 0 };
		CHECK_INT(json_parse(&reader, table[i].source, strlen(table[i].source), &source, NULL), 0);
		int status = git_source_read(&a, source, &git, NULL);
		CHECK_INT(status, table[i].url ? 0 : -ERR_USAGE);
		if (table[i].url)
			CHECK_CSTR(git.url, table[i].url);
	}
}

int test_install(void)
{
	return RUN_TESTS(
		T(an_installed_plugin_is_a_copy_under_its_version), T(a_plugin_that_would_not_load_leaves_nothing),
		T(the_offer_gives_a_version_and_a_manifest_where_the_plugin_has_none),
		T(installing_again_replaces_and_uninstalling_keeps_the_data), T(records_keep_what_others_wrote),
		T(a_marketplace_is_checked_when_it_is_read), T(an_offer_cannot_lead_out_of_its_marketplace),
		T(only_addresses_that_git_can_reach_safely_are_repositories));
}
