/* SPDX-License-Identifier: MIT
 * test_config.c - all places together: who goes before whom, approvals, what is refused. */
#include "mcp/servers/config.h"
#include "../settings/stage.h"
#include "lib/json/json.h"
#include "tests.h"

/* A stage with what a load needs besides files */
struct setup {
	struct stage stage;
	struct mcp_config_spec spec;
	struct mcp_config *config;
};

static void setup_init(struct setup *t)
{
	*t = (struct setup){ 0 };
	stage_init(&t->stage);
	t->spec = (struct mcp_config_spec){
		.cwd = t->stage.spec.cwd,
		.state_file = stage_path(&t->stage, "home/.claude.json"),
		.managed_dir = t->stage.spec.managed_dir,
		.sources = SETTINGS_ALL,
	};
}

static void setup_release(struct setup *t)
{
	mcp_config_free(t->config);
	stage_release(&t->stage);
}

static int load(struct setup *t, struct err *err)
{
	mcp_config_free(TAKE(t->config));
	stage_load(&t->stage);
	t->spec.settings = t->stage.settings;
	return mcp_config_load(&t->spec, &t->config, err);
}

/* Every entry as "NAME SCOPE STANDING", a comma between; of those that count the command is in front. */
static const char *loaded(struct setup *t)
{
	AUTO_BUF struct buf out = { 0 };
	struct err err = { 0 };

	if (load(t, &err) < 0)
		return stage_short(&t->stage, err.text);
	for (size_t i = 0; i < t->config->count; i++) {
		const struct mcp_item *item = &t->config->items[i];
		bool counts = item->standing == MCP_COUNTS;
		buf_addf(&out, "%s%s %s %s", i ? ", " : "", item->name, mcp_scope_word(item->scope),
			 counts ? item->server->command : mcp_standing_word(item->standing));
		CHECK_INT(item->by != NULL, item->standing == MCP_SHADOWED);
		CHECK_INT(item->reason[0] == '\0', counts);
	}
	return arena_str(&t->stage.arena, buf_str(&out)).p;
}

static const char *why(struct setup *t, size_t i)
{
	return stage_short(&t->stage, t->config->items[i].reason);
}

static const struct mcp_server *counting(const struct setup *t, const char *name)
{
	for (size_t i = 0; i < t->config->count; i++)
		if (t->config->items[i].standing == MCP_COUNTS && !strcmp(t->config->items[i].name, name))
			return t->config->items[i].server;
	return NULL;
}

static void put_state(struct setup *t, const char *folder, const char *local, const char *user)
{
	stage_put(&t->stage, "home/.claude.json",
		  arena_printf(&t->stage.arena, "{\"mcpServers\": %s, \"projects\": {\"%s\": {\"mcpServers\": %s}}}",
			       user, stage_path(&t->stage, folder), local));
}

#define SERVER(command) "{\"s\": {\"command\": \"" command "\"}}"
#define FILE_OF(map)    "{\"mcpServers\": " map "}"

static const char flag_json[] = FILE_OF(SERVER("flag"));

TEST(the_highest_scope_with_an_entry_counts_whole)
{
	/* Each scope is there or not: all 64 combinations. */
	static const char *const scopes[] = { "managed", "flag", "local", "project", "user", "plugin" };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value;
	struct err err = { 0 };
	CHECK_INT(json_parse(&reader, "{\"command\":\"plugin\"}", 20, &value, &err), 0);
	const struct mcp_entry plugin = { .name = STR("s"), .value = value, .scope = MCP_SCOPE_PLUGIN };
	const char *const flag = flag_json;

	for (unsigned bits = 0; bits < 64; bits++) {
		struct setup t;
		setup_init(&t);
		if (bits & 1)
			stage_put(&t.stage, "managed/managed-mcp.json", FILE_OF(SERVER("managed")));
		t.spec.flags = &flag;
		t.spec.flag_count = bits >> 1 & 1;
		put_state(&t, "top/project", bits & 4 ? SERVER("local") : "{}", bits & 16 ? SERVER("user") : "{}");
		if (bits & 8)
			stage_put(&t.stage, "top/project/.mcp.json", FILE_OF(SERVER("project")));
		t.spec.plugins = &plugin;
		t.spec.plugin_count = bits >> 5 & 1;
		AUTO_BUF struct buf expected = { 0 };
		bool first = true;
		for (unsigned i = 0; i < COUNT_OF(scopes); i++) {
			if (!(bits >> i & 1))
				continue;
			buf_addf(&expected, "%ss %s %s", first ? "" : ", ", scopes[i],
				 first      ? scopes[i]
				 : bits & 1 ? "refused"
					    : "shadowed");
			first = false;
		}
		CHECK_CSTR(loaded(&t), buf_str(&expected).p);
		CHECK_INT(counting(&t, "s") != NULL, bits != 0);
		setup_release(&t);
	}
}

TEST(strict_reads_nothing_but_flags_and_managed_files)
{
	const char *const flag = flag_json;
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "home/.claude.json", "broken");
	stage_put(&t.stage, "top/project/.mcp.json", "broken");
	t.spec.strict = true;

	CHECK_CSTR(loaded(&t), "");
	t.spec.flags = &flag;
	t.spec.flag_count = 1;
	CHECK_CSTR(loaded(&t), "s flag flag");
	stage_put(&t.stage, "managed/managed-mcp.json", FILE_OF(SERVER("managed")));
	CHECK_CSTR(loaded(&t), "s managed managed, s flag refused");
	setup_release(&t);
}

TEST(only_the_files_of_the_chosen_sources_are_read)
{
	static const struct {
		unsigned sources;
		const char *expected;
	} rows[] = {
		{ 0, "" },
		{ SETTINGS_USER, "s user user" },
		{ SETTINGS_PROJECT, "s project project" },
		{ SETTINGS_LOCAL, "s local local" },
		{ SETTINGS_LOCAL | SETTINGS_USER, "s local local, s user shadowed" },
	};
	struct setup t;

	setup_init(&t);
	put_state(&t, "top/project", SERVER("local"), SERVER("user"));
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF(SERVER("project")));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		t.spec.sources = rows[i].sources;
		CHECK_CSTR(loaded(&t), rows[i].expected);
	}
	setup_release(&t);
}

TEST(of_several_flags_the_last_one_goes_first)
{
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "top/project/more.json",
		  FILE_OF("{\"s\": {\"command\": \"file\"}, \"t\": {\"command\": \"t\"}}"));
	const char *flags[] = { flag_json, "more.json", " " FILE_OF("{\"u\": {\"command\": \"u\"}}") };
	t.spec.flags = flags;
	t.spec.flag_count = 3;

	CHECK_CSTR(loaded(&t), "u flag u, s flag file, t flag t, s flag shadowed");
	CHECK_CSTR(t.config->items[0].file, "--mcp-config");
	CHECK_CSTR(stage_short(&t.stage, t.config->items[1].file), "top/project/more.json");
	setup_release(&t);
}

TEST(files_of_a_project_are_looked_for_up_to_the_repository)
{
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, ".mcp.json", FILE_OF("{\"above\": {\"command\": \"x\"}}"));
	stage_put(&t.stage, "top/.mcp.json", FILE_OF("{\"s\": {\"command\": \"root\"}, \"r\": {\"command\": \"r\"}}"));
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF(SERVER("near")));

	CHECK_CSTR(loaded(&t), "s project near, s project shadowed, r project r");
	t.spec.cwd = stage_path(&t.stage, ""); /* no repository: nothing but the directory itself */
	CHECK_CSTR(loaded(&t), "above project x");
	setup_release(&t);
}

TEST(local_servers_of_the_repository_count_below_it_too)
{
	struct setup t;
	setup_init(&t);
	put_state(&t, "top", SERVER("root"), "{}");

	CHECK_CSTR(loaded(&t), "s local root");
	stage_put(&t.stage, "home/.claude.json",
		  arena_printf(&t.stage.arena,
			       "{\"projects\": {\"%s\": {\"mcpServers\": %s}, \"%s\": {\"mcpServers\": %s}, \"/\": 3}}",
			       stage_path(&t.stage, "top"), SERVER("root"), stage_path(&t.stage, "top/project"),
			       SERVER("here")));
	CHECK_CSTR(loaded(&t), "s local here, s local shadowed");
	setup_release(&t);
}

TEST(a_bad_file_is_an_error_with_its_place)
{
	static const struct {
		const char *file, *text, *expected;
	} rows[] = {
		{ "managed/managed-mcp.json", "{", "managed/managed-mcp.json:1:2: " },
		{ "managed/managed-mcp.json", "{\"servers\": {}}",
		  "managed/managed-mcp.json:1:1: expected {\"mcpServers\"" },
		{ "top/project/.mcp.json", "{\n\"mcpServers\": []}",
		  "top/project/.mcp.json:2:15: mcpServers: expected an object" },
		{ "top/.mcp.json", "[]", "top/.mcp.json:1:1: expected an object" },
		{ "home/.claude.json", "{\"mcpServers\": 1}",
		  "home/.claude.json:1:16: mcpServers: expected an object" },
		{ "home/.claude.json", "{\"a\": }", "home/.claude.json:1:7: " },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct setup t;
		struct err err = { 0 };
		bool note = strncmp(rows[i].file, "managed", 7) != 0; /* it can only add servers: the rest counts */
		setup_init(&t);
		stage_put(&t.stage, rows[i].file, rows[i].text);
		CHECK_INT(load(&t, &err), note ? 0 : -ERR_USAGE);
		const char *text = note ? t.config->bad_files.p : err.text;
		if (!str_starts(str_from(stage_short(&t.stage, text)), str_from(rows[i].expected)))
			fail_msg("%s", text);
		CHECK(!note || strstr(t.config->notes.p, "; none of its servers runs\n"));
		setup_release(&t);
	}
}

TEST(a_bad_flag_is_an_error)
{
	static const struct {
		const char *flag, *expected;
	} rows[] = {
		{ "", "--mcp-config: expected a JSON object, or a file with one" },
		{ "gone.json", "MCP config file not found: top/project/gone.json" },
		{ "{\"mcpServers\": {}", "--mcp-config:1:" },
		{ "{\"s\": {\"command\": \"x\"}}", "--mcp-config:1:1: expected {\"mcpServers\"" },
	};
	struct setup t;

	setup_init(&t);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		t.spec.flags = &rows[i].flag;
		t.spec.flag_count = 1;
		CHECK(str_starts(str_from(loaded(&t)), str_from(rows[i].expected)));
	}
	setup_release(&t);
}

TEST(a_bad_entry_is_refused_and_the_one_below_counts)
{
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "top/project/.mcp.json",
		  FILE_OF("{\n\"s\": {\"url\": \"https://h\"},\n\"t\": {\"command\": \"t\"}}"));
	put_state(&t, "top/project", "{}", SERVER("user"));

	CHECK_CSTR(loaded(&t), "s project refused, t project t, s user user");
	CHECK_CSTR(t.config->items[0].error_type, "url_missing_type");
	CHECK_INT(t.config->items[0].line, 2);
	CHECK(str_starts(str_from(why(&t, 0)), STR("top/project/.mcp.json:2: server 's': it has a url and no type")));
	CHECK_STR(t.config->items[0].json, "{\"url\": \"https://h\"}");
	setup_release(&t);
}

TEST(servers_of_a_project_wait_for_approval_or_without_a_user_for_trust)
{
	static const struct {
		const char *user, *project;
		bool trusted, interactive;
		const char *expected;
	} rows[] = {
		{ "{}", "{}", true, true, "s project pending approval, s user user" },
		{ "{}", "{}", true, false, "s project project, s user shadowed" },
		{ "{}", "{}", false, false, "s project pending approval, s user user" },
		{ "{\"enabledMcpjsonServers\":[\"s\"]}", "{}", false, false, "s project project, s user shadowed" },
		{ "{}", "{\"enableAllProjectMcpServers\":true}", false, false,
		  "s project pending approval, s user user" },
		{ "{\"enabledMcpjsonServers\":[\"s\"]}", "{}", false, true, "s project project, s user shadowed" },
		{ "{\"enabledMcpjsonServers\":[\"S\"]}", "{}", false, true, "s project pending approval, s user user" },
		{ "{\"enableAllProjectMcpServers\":true}", "{}", false, true, "s project project, s user shadowed" },
		{ "{\"disabledMcpjsonServers\":[\"s\"]}", "{}", true, false, "s project refused, s user user" },
		{ "{\"disabledMcpjsonServers\":[\"s\"],\"enableAllProjectMcpServers\":true}", "{}", true, true,
		  "s project refused, s user user" },
		{ "{}", "{\"enableAllProjectMcpServers\":true,\"enabledMcpjsonServers\":[\"s\"]}", false, true,
		  "s project pending approval, s user user" },
		{ "{}", "{\"enableAllProjectMcpServers\":true}", true, true, "s project project, s user shadowed" },
		{ "{}", "{\"enabledMcpjsonServers\":[\"s\"]}", true, true, "s project project, s user shadowed" },
		{ "{\"enableAllProjectMcpServers\":true}", "{\"enableAllProjectMcpServers\":false}", true, true,
		  "s project pending approval, s user user" },
		{ "{\"enableAllProjectMcpServers\":true}", "{\"disabledMcpjsonServers\":[\"s\"]}", false, true,
		  "s project refused, s user user" },
	};
	struct setup t;

	setup_init(&t);
	put_state(&t, "top/project", "{}", SERVER("user"));
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF(SERVER("project")));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		stage_put(&t.stage, "config/settings.json", rows[i].user);
		stage_put(&t.stage, "top/project/.claude/settings.json", rows[i].project);
		t.stage.spec.trusted = rows[i].trusted;
		t.spec.interactive = rows[i].interactive;
		const char *got = loaded(&t);
		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("row %zu: %s", i, got);
	}
	setup_release(&t);
}

TEST(an_answer_decides_a_server_that_was_pending_and_what_is_below_it)
{
	struct setup t;

	setup_init(&t);
	put_state(&t, "top/project", "{}", SERVER("user"));
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF(SERVER("project")));
	t.spec.interactive = true;
	CHECK_CSTR(loaded(&t), "s project pending approval, s user user");
	mcp_config_answer(t.config, &t.config->items[0], true);
	CHECK_INT(t.config->items[0].standing, MCP_COUNTS);
	CHECK_INT(t.config->items[1].standing, MCP_SHADOWED);
	mcp_config_answer(t.config, &t.config->items[0], false);
	CHECK_INT(t.config->items[0].standing, MCP_COUNTS); /* only what is pending can be answered */

	CHECK_CSTR(loaded(&t), "s project pending approval, s user user");
	mcp_config_answer(t.config, &t.config->items[0], false);
	CHECK_INT(t.config->items[0].standing, MCP_REFUSED);
	CHECK_INT(t.config->items[1].standing, MCP_COUNTS);
	setup_release(&t);
}

TEST(policies_hold_for_every_scope)
{
	static const struct {
		const char *managed, *expected, *why;
	} rows[] = {
		{ "{\"deniedMcpServers\":[{\"serverName\":\"s\"}]}",
		  "s flag refused, s project refused, s user refused",
		  "denied by deniedMcpServers in managed/managed-settings.json:1" },
		{ "{\"deniedMcpServers\":[{\"serverCommand\":[\"flag\"]}]}",
		  "s flag refused, s project project, s user shadowed",
		  "denied by deniedMcpServers in managed/managed-settings.json:1" },
		{ "{\"allowedMcpServers\":[{\"serverCommand\":[\"user\"]}]}",
		  "s flag refused, s project refused, s user user", "not in allowedMcpServers" },
		{ "{\"strictPluginOnlyCustomization\":true}", "s flag refused, s project refused, s user refused",
		  "managed settings allow servers of plugins only" },
		{ "{\"strictPluginOnlyCustomization\":{\"mcp\":true}}",
		  "s flag refused, s project refused, s user refused",
		  "managed settings allow servers of plugins only" },
		{ "{\"strictPluginOnlyCustomization\":[\"mcp\"]}", "s flag refused, s project refused, s user refused",
		  "managed settings allow servers of plugins only" },
		{ "{\"strictPluginOnlyCustomization\":[\"hooks\"]}", "s flag flag, s project shadowed, s user shadowed",
		  "" },
		{ "{\"disableSideloadFlags\":true}", "s flag refused, s project project, s user shadowed",
		  "managed settings do not allow servers of --mcp-config" },
	};
	const char *const flag = flag_json;
	struct setup t;

	setup_init(&t);
	put_state(&t, "top/project", "{}", SERVER("user"));
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF(SERVER("project")));
	t.spec.flags = &flag;
	t.spec.flag_count = 1;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		stage_put(&t.stage, "managed/managed-settings.json", rows[i].managed);
		CHECK_CSTR(loaded(&t), rows[i].expected);
		CHECK_CSTR(why(&t, 0), rows[i].why);
	}
	setup_release(&t);
}

TEST(a_plugin_server_that_is_there_already_does_not_count)
{
	AUTO_JSON struct json_reader reader = { 0 };
	static const char text[] = "[{\"command\":\"x\",\"args\":[\"a\"]},{\"command\":\"x\",\"args\":[\"b\"]}]";
	const struct json *list;
	struct err err = { 0 };
	struct setup t;
	CHECK_INT(json_parse(&reader, text, strlen(text), &list, &err), 0);
	const struct json *first = json_first(list);
	const struct mcp_entry plugins[] = {
		{ .name = STR("plugin:p:a"), .value = first, .scope = MCP_SCOPE_PLUGIN },
		{ .name = STR("plugin:p:b"), .value = json_next(list, first), .scope = MCP_SCOPE_PLUGIN },
		{ .name = STR("plugin:q:b"), .value = json_next(list, first), .scope = MCP_SCOPE_PLUGIN },
	};
	setup_init(&t);
	put_state(&t, "top/project", "{}",
		  "{\"mine\": {\"command\": \"x\", \"args\": [\"a\"], \"env\": {\"A\": \"1\"}}}");
	t.spec.plugins = plugins;
	t.spec.plugin_count = 3;

	CHECK_CSTR(loaded(&t),
		   "mine user x, plugin:p:a plugin shadowed, plugin:p:b plugin x, plugin:q:b plugin shadowed");
	CHECK_CSTR(why(&t, 1), "'mine' is the same server");
	setup_release(&t);
}

TEST(of_two_names_that_give_tools_the_same_names_the_projects_never_counts)
{
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF("{\"my.x\": {\"command\": \"a\"}}"));
	put_state(&t, "top/project", "{}", "{\"my x\": {\"command\": \"b\"}}");

	CHECK_CSTR(loaded(&t), "my.x project shadowed, my x user b");
	CHECK_CSTR(why(&t, 0), "its tools could have the same names as those of 'my x'");
	put_state(&t, "top/project", "{\"my:x\": {\"command\": \"c\"}}", "{\"my x\": {\"command\": \"b\"}}");
	CHECK_CSTR(loaded(&t), "my:x local c, my.x project shadowed, my x user shadowed");
	put_state(&t, "top/project", "{}", "{}");
	CHECK_CSTR(loaded(&t), "my.x project a");
	/* Rules ignore case, and a tool b__c of the one has the name of a tool c of the other. */
	stage_put(
		&t.stage, "top/project/.mcp.json",
		FILE_OF("{\"GitHub\": {\"command\": \"a\"}, \"my__y\": {\"command\": \"a\"}, \"myy\": {\"command\": \"a\"}}"));
	put_state(&t, "top/project", "{}", "{\"github\": {\"command\": \"b\"}, \"my\": {\"command\": \"c\"}}");
	CHECK_CSTR(loaded(&t),
		   "GitHub project shadowed, my__y project shadowed, myy project a, github user b, my user c");
	put_state(&t, "top/project", "{}", "{\"GITHUB\": {\"command\": \"b\"}, \"my__y__z\": {\"command\": \"c\"}}");
	CHECK_CSTR(loaded(&t),
		   "GitHub project shadowed, my__y project shadowed, myy project a, GITHUB user b, my__y__z user c");
	setup_release(&t);
}

TEST(a_project_does_not_take_names_of_a_plugins_tools)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value;
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "top/project/.mcp.json", FILE_OF("{\"plugin_p_s\": {\"command\": \"a\"}}"));
	CHECK_INT(json_parse(&reader, "{\"command\":\"b\"}", 15, &value, NULL), 0);
	const struct mcp_entry plugin = { .name = STR("plugin:p:s"), .value = value, .scope = MCP_SCOPE_PLUGIN };
	t.spec.plugins = &plugin;
	t.spec.plugin_count = 1;

	CHECK_CSTR(loaded(&t), "plugin_p_s project shadowed, plugin:p:s plugin b");
	setup_release(&t);
}

TEST(of_a_name_that_stands_twice_in_a_file_the_last_one_counts)
{
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "top/project/.mcp.json",
		  FILE_OF("{\n\"s\": {\"command\": \"a\"},\n\"s\": {\"command\": \"b\"}}"));

	CHECK_CSTR(loaded(&t), "s project b");
	CHECK_CSTR(stage_short(&t.stage, buf_str(&t.config->notes).p),
		   "top/project/.mcp.json:2: server 's' is defined twice; the last definition is used\n");
	setup_release(&t);
}

TEST(only_the_headers_helper_of_an_untrusted_project_is_not_believed)
{
	static const char map[] =
		"{\"mcpServers\": {\"p\": {\"type\": \"http\", \"url\": \"https://h\", \"headersHelper\": \"x\"}}}";
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "top/project/.mcp.json", map);
	put_state(&t, "top/project", "{}",
		  "{\"u\": {\"type\": \"http\", \"url\": \"https://h\", \"headersHelper\": \"x\"}}");
	struct err err = { 0 };

	CHECK_INT(load(&t, &err), 0);
	CHECK(counting(&t, "p")->believed);
	t.stage.spec.trusted = false;
	stage_put(&t.stage, "config/settings.json", "{\"enabledMcpjsonServers\":[\"p\"]}");
	CHECK_INT(load(&t, &err), 0);
	CHECK(!counting(&t, "p")->believed);
	CHECK(counting(&t, "u")->believed);
	setup_release(&t);
}

TEST(servers_from_elsewhere_are_admitted_by_the_same_policies)
{
	struct err err = { 0 };
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "config/settings.json", "{\"deniedMcpServers\":[{\"serverCommand\":[\"bad\"]}]}");
	struct mcp_server bad = {
		.name = "inline", .kind = MCP_STDIO, .command = "bad", .args = (const char *[]){ NULL }
	};
	struct mcp_server good = {
		.name = "inline", .kind = MCP_STDIO, .command = "good", .args = (const char *[]){ NULL }
	};

	CHECK_INT(load(&t, &err), 0);
	CHECK_INT(mcp_config_admit(t.config, &good, &err), 0);
	CHECK_INT(mcp_config_admit(t.config, &bad, &err), -ERR_DENIED);
	CHECK_CSTR(stage_short(&t.stage, err.text),
		   "server 'inline': denied by deniedMcpServers in config/settings.json:1");
	stage_put(&t.stage, "managed/managed-mcp.json", "{}");
	CHECK_INT(load(&t, &err), 0);
	CHECK_INT(mcp_config_admit(t.config, &good, &err), -ERR_DENIED);
	setup_release(&t);
}

TEST(places_are_those_that_are_read_the_highest_first)
{
	static const struct {
		enum mcp_scope scope;
		const char *file, *folder;
	} expected[] = {
		{ MCP_SCOPE_LOCAL, "home/.claude.json", "top/project" },
		{ MCP_SCOPE_LOCAL, "home/.claude.json", "top" },
		{ MCP_SCOPE_PROJECT, "top/project/.mcp.json", "" },
		{ MCP_SCOPE_PROJECT, "top/.mcp.json", "" },
		{ MCP_SCOPE_USER, "home/.claude.json", "" },
	};
	struct mcp_locations locations;
	struct setup t;
	setup_init(&t);

	mcp_locations_find(&locations, &t.stage.arena, t.spec.cwd, t.spec.state_file, SETTINGS_ALL);

	CHECK_INT(locations.count, COUNT_OF(expected));
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		const struct mcp_location *p = &locations.list[i];
		CHECK_INT(p->scope, expected[i].scope);
		CHECK_CSTR(stage_short(&t.stage, p->file), expected[i].file);
		CHECK_CSTR(p->folder ? stage_short(&t.stage, p->folder) : "", expected[i].folder);
	}
	CHECK(mcp_locations_first(&locations, MCP_SCOPE_PROJECT) == &locations.list[2]);
	CHECK(mcp_locations_first(&locations, MCP_SCOPE_PLUGIN) == NULL);
	setup_release(&t);
}

TEST(an_entry_is_set_in_each_place_read_there_and_removed)
{
	struct mcp_locations locations;
	struct err err = { 0 };
	bool there;
	struct setup t;
	setup_init(&t);
	stage_put(&t.stage, "home/.claude.json", "{\"history\": [1]}");
	mcp_locations_find(&locations, &t.stage.arena, t.spec.cwd, t.spec.state_file, SETTINGS_ALL);

	for (size_t i = 0; i < locations.count; i++) {
		const struct mcp_location *p = &locations.list[i];
		CHECK_INT(mcp_location_has(p, STR("s"), &there, &err), 0);
		CHECK(!there);
		CHECK_INT(mcp_location_set(p, STR("s"), STR("{\"command\":\"x\"}"), &err), 0);
		CHECK_INT(mcp_location_has(p, STR("s"), &there, &err), 0);
		CHECK(there);
		CHECK_CSTR(loaded(&t), arena_printf(&t.stage.arena, "s %s x", mcp_scope_word(p->scope)));
		CHECK_INT(mcp_location_set(p, STR("s"), (struct str){ 0 }, &err), 0);
		CHECK_CSTR(loaded(&t), "");
	}
	CHECK(str_starts(str_from(stage_text(&t.stage, "home/.claude.json")), STR("{\"history\": [1], ")));
	setup_release(&t);
}

TEST(a_name_that_stands_twice_is_removed_twice)
{
	struct mcp_locations locations;
	struct err err = { 0 };
	struct setup t;
	setup_init(&t);
	stage_put(
		&t.stage, "top/project/.mcp.json",
		"{\"mcpServers\": {\"s\": {\"command\": \"a\"}, \"t\": {\"command\": \"t\"}, \"s\": {\"command\": \"b\"}}}");
	mcp_locations_find(&locations, &t.stage.arena, t.spec.cwd, t.spec.state_file, SETTINGS_ALL);

	CHECK_INT(
		mcp_location_set(mcp_locations_first(&locations, MCP_SCOPE_PROJECT), STR("s"), (struct str){ 0 }, &err),
		0);

	CHECK_CSTR(loaded(&t), "t project t");
	setup_release(&t);
}

int test_config(void)
{
	return RUN_TESTS(
		T(the_highest_scope_with_an_entry_counts_whole), T(strict_reads_nothing_but_flags_and_managed_files),
		T(only_the_files_of_the_chosen_sources_are_read), T(of_several_flags_the_last_one_goes_first),
		T(files_of_a_project_are_looked_for_up_to_the_repository),
		T(local_servers_of_the_repository_count_below_it_too), T(a_bad_file_is_an_error_with_its_place),
		T(a_bad_flag_is_an_error), T(a_bad_entry_is_refused_and_the_one_below_counts),
		T(servers_of_a_project_wait_for_approval_or_without_a_user_for_trust),
		T(an_answer_decides_a_server_that_was_pending_and_what_is_below_it), T(policies_hold_for_every_scope),
		T(a_plugin_server_that_is_there_already_does_not_count),
		T(of_two_names_that_give_tools_the_same_names_the_projects_never_counts),
		T(a_project_does_not_take_names_of_a_plugins_tools),
		T(of_a_name_that_stands_twice_in_a_file_the_last_one_counts),
		T(only_the_headers_helper_of_an_untrusted_project_is_not_believed),
		T(servers_from_elsewhere_are_admitted_by_the_same_policies),
		T(places_are_those_that_are_read_the_highest_first),
		T(an_entry_is_set_in_each_place_read_there_and_removed), T(a_name_that_stands_twice_is_removed_twice));
}
