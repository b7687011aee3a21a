/* SPDX-License-Identifier: MIT
 * test_verb.c - verbs: what reaches the library, and reports as tables. */
#include "test_cli.h"
#include "face/cli/verb.h"

enum { ARGS_MAX = 14 };

int verb_print(struct str text)
{
	buf_add(&fake_out, text.p, text.n);
	return 0;
}

/* What the library was asked for, or the error. */
static char *ask(const char *const *words)
{
	char *argv[ARGS_MAX + 1] = { (char *)(uintptr_t) "cadre" };
	AUTO_ARGS struct args args = { 0 };
	struct cadre_report *report;
	struct err err = { 0 };
	int argc = 1;

	while (*words && argc < ARGS_MAX)
		argv[argc++] = (char *)(uintptr_t)*words++;
	buf_clear(&fake_settings);
	const struct verb *verb = verb_find(argv[1]);
	CHECK(verb != NULL);
	if (args_parse_verb(argc, argv, verb->options, &args, &err) < 0 || verb->run(NULL, &args, &report, &err) < 0)
		return xstrdup(err.text);
	return xstrdup(fake_settings.p);
}

TEST(words_after_a_verb_reach_the_library)
{
	static const struct {
		const char *words[12], *expected;
	} rows[] = {
		{ { "agents" }, "list();" },
		{ { "agents", "--json" }, "list();" },
		{ { "agents", "show", "Explore" }, "show(Explore);" },
		{ { "agents", "--json", "show", "a" }, "show(a);" },
		{ { "agents", "show", "--", "--json" }, "show(--json);" },
		{ { "agents", "show", "nobody" }, "there is no agent nobody" },
		{ { "agents", "check" }, "check();" },
		{ { "agents", "check", "a.md", "b" }, "check(a.md,b);" },
		{ { "agents", "new", "x" }, "new(x);" },
		{ { "agents", "new" }, "expected one name: cadre agents new NAME" },
		{ { "agents", "show", "a", "b" }, "expected one name: cadre agents show NAME" },
		{ { "agents", "memory", "x" }, "memory(x);" },
		{ { "agents", "list" }, "cadre agents: 'list' is not known; expected show, check, memory or new" },
		{ { "agents", "--resume", "x" },
		  "--resume has no meaning for `cadre agents` (cadre agents --help lists its flags)" },
		{ { "sessions" }, "sessions_list();" },
		{ { "sessions", "list", "--json" }, "sessions_list();" },
		{ { "sessions", "search", "the word" }, "sessions_list(the word);" },
		{ { "sessions", "search" }, "expected: cadre sessions search TEXT" },
		{ { "sessions", "show", "12ab" }, "sessions_show(12ab);" },
		{ { "sessions", "export", "12ab", "--format", "markdown" }, "sessions_export(12ab);" },
		{ { "sessions", "export" }, "expected one session: cadre sessions export ID" },
		{ { "sessions", "prune", "--older-than", "30d" }, "sessions_prune(2592000);" },
		{ { "sessions", "prune", "--older-than=2w", "--dry-run" }, "sessions_prune(1209600,dry);" },
		{ { "sessions", "prune" }, "sessions_prune(-1);" },
		{ { "sessions", "prune", "x" }, "expected: cadre sessions prune [--older-than AGE] [--dry-run]" },
		{ { "sessions", "prune", "--older-than", "30" },
		  "--older-than expects an age such as 30d, 12h or 2w, not '30'" },
		{ { "sessions", "drop" },
		  "cadre sessions: 'drop' is not known; expected list, search, show, export, ids or prune" },
		{ { "completion", "csh" }, "expected: cadre completion bash, fish or zsh" },
		{ { "manual", "x" }, "expected: cadre manual" },
		{ { "skills" }, "skills_list();" },
		{ { "skills", "list", "--json" }, "skills_list();" },
		{ { "skills", "show", "deploy" }, "skills_show(deploy);" },
		{ { "skills", "show" }, "expected: cadre skills show NAME" },
		{ { "skills", "check" }, "skills_check();" },
		{ { "skills", "check", "x" }, "expected: cadre skills check" },
		{ { "skills", "new" }, "cadre skills: 'new' is not known; expected list, show or check" },
		{ { "config" }, "config_list();" },
		{ { "config", "list", "--settings", "{}" }, "config_list();" },
		{ { "config", "list", "x" }, "cadre config list takes no further words" },
		{ { "config", "get", "model" }, "config_get(model);" },
		{ { "config", "get" }, "expected one key: cadre config get KEY" },
		{ { "config", "explain", "a.b", "--json" }, "config_explain(a.b);" },
		{ { "config", "keys" }, "config_keys();" },
		{ { "config", "set", "a" }, "cadre config: 'set' is not known; expected list, get, explain or keys" },
		{ { "mcp" }, "mcp_list();" },
		{ { "mcp", "list", "--json", "--mcp-config", "a", "--strict-mcp-config" }, "mcp_list();" },
		{ { "mcp", "list", "x" }, "expected: cadre mcp list" },
		{ { "mcp", "get", "a" }, "mcp_get(a);" },
		{ { "mcp", "get" }, "expected: cadre mcp get NAME" },
		{ { "mcp", "add", "a", "--", "npx", "-y", "x" }, "mcp_add(a - -: npx -y x | |);" },
		{ { "mcp", "add", "a", "npx", "--scope", "user", "--env", "A=1", "B=2", "--env=C=3" },
		  "mcp_add(a user -: npx | A=1 B=2 C=3 |);" },
		{ { "mcp", "add", "-t", "http", "a", "https://h", "-H", "X: y", "-H", "Z: w" },
		  "mcp_add(a - http: https://h | | X: y Z: w);" },
		{ { "mcp", "add", "a" },
		  "expected: cadre mcp add NAME -- COMMAND [ARG...], or add NAME --transport http URL" },
		{ { "mcp", "add", "a", "x", "--scope", "all" },
		  "--scope: 'all' is not known; expected: local, project, user" },
		{ { "mcp", "add", "a", "x", "--transport=ws" },
		  "--transport: 'ws' is not known; expected: stdio, http, sse" },
		{ { "mcp", "add-json", "a", "{}", "-s", "project" }, "mcp_add_json(a project {});" },
		{ { "mcp", "add-json", "a" }, "expected: cadre mcp add-json NAME JSON" },
		{ { "mcp", "remove", "a" }, "mcp_remove(a -);" },
		{ { "mcp", "remove", "a", "--scope", "local" }, "mcp_remove(a local);" },
		{ { "mcp", "remove", "a", "b" }, "expected: cadre mcp remove NAME" },
		{ { "mcp", "test", "a" }, "mcp_test(a -:);" },
		{ { "mcp", "test", "--", "a" }, "mcp_test(- stdio: a);" },
		{ { "mcp", "test", "--", "npx", "-y", "x" }, "mcp_test(- stdio: npx -y x);" },
		{ { "mcp", "test", "--url", "http://h/mcp" }, "mcp_test(- http: http://h/mcp);" },
		{ { "mcp", "test", "--url", "http://h/sse", "-t", "sse" }, "mcp_test(- sse: http://h/sse);" },
		{ { "mcp", "test" }, "expected: cadre mcp test NAME, --url URL, or -- COMMAND [ARG...]" },
		{ { "mcp", "test", "a", "b" }, "expected: cadre mcp test NAME, --url URL, or -- COMMAND [ARG...]" },
		{ { "mcp", "test", "a", "--url", "b" },
		  "expected: cadre mcp test NAME, --url URL, or -- COMMAND [ARG...]" },
		{ { "mcp", "login", "a" }, "mcp_test(a -:);" },
		{ { "mcp", "serve" }, "interactive=;strict-mcp-config=;mcp_serve(0 1);" },
		{ { "mcp", "serve", "x" }, "expected: cadre mcp serve" },
		{ { "mcp", "approve" },
		  "cadre mcp: 'approve' is not known; expected one of add, add-json, get, list, login, remove, serve, test" },
		{ { "permissions" }, "permissions_list();" },
		{ { "permissions", "list", "--json" }, "permissions_list();" },
		{ { "permissions", "test", "Bash(ls)" }, "permissions_test(Bash(ls));" },
		{ { "permissions", "test", "Bash(ls)", "Explore", "--json" }, "permissions_test(Bash(ls));" },
		{ { "permissions", "test" }, "expected one call: cadre permissions test 'Bash(git push)' [AGENT]" },
		{ { "permissions", "add" }, "cadre permissions: 'add' is not known; expected list or test" },
		{ { "plugin" }, "plugins_list();" },
		{ { "plugin", "list", "--json", "--plugin-dir", "x" }, "plugins_list();" },
		{ { "plugin", "validate", "dir" }, "plugins_validate(dir);" },
		{ { "plugin", "validate" }, "expected one path: cadre plugin validate PATH" },
		{ { "plugin", "install", "a@b", "--scope", "local" }, "plugins_change(0 a@b local);" },
		{ { "plugin", "uninstall", "a" }, "plugins_change(1 a );" },
		{ { "plugin", "enable", "a" }, "plugins_change(2 a );" },
		{ { "plugin", "disable", "a", "-s", "project" }, "plugins_change(3 a project);" },
		{ { "plugin", "trust", "a" }, "plugins_change(4 a );" },
		{ { "plugin", "trust", "a", "--forget" }, "plugins_change(5 a );" },
		{ { "plugin", "trust" }, "expected one name: cadre plugin trust NAME" },
		{ { "plugin", "remove", "a" },
		  "cadre plugin: 'remove' is not known; expected list, validate, install, uninstall, enable, disable, trust or "
		  "marketplace" },
		{ { "plugin", "marketplace" }, "marketplaces_list();" },
		{ { "plugin", "marketplace", "list" }, "marketplaces_list();" },
		{ { "plugin", "marketplace", "add", "o/r" }, "marketplaces_change(0 o/r);" },
		{ { "plugin", "marketplace", "remove", "m" }, "marketplaces_change(1 m);" },
		{ { "plugin", "marketplace", "update" }, "marketplaces_change(2 );" },
		{ { "plugin", "marketplace", "add" }, "expected one word: cadre plugin marketplace add NAME" },
		{ { "plugin", "marketplace", "x" },
		  "cadre plugin marketplace: 'x' is not known; expected list, add, remove or update" },
		{ { "tasks" }, "tasks();" },
		{ { "tasks", "1234" }, "tasks(1234);" },
		{ { "tasks", "--all" }, "tasks_all();" },
		{ { "tasks", "--all", "1234" }, "expected one session, or --all: cadre tasks [SESSION]" },
		{ { "stop", "a1" }, "stop(a1,);" },
		{ { "stop", "a1", "--session", "12" }, "stop(a1,12);" },
		{ { "stop", "--all" }, "stop(,);" },
		{ { "stop" }, "expected one agent, or --all: cadre stop AGENT (cadre tasks lists them)" },
		{ { "stop", "--all", "a1" },
		  "expected one agent, or --all: cadre stop AGENT (cadre tasks lists them)" },
		{ { "logs", "a1" }, "logs(a1);" },
		{ { "logs", "-f", "a1" }, "follow(a1);" },
		{ { "logs" }, "expected one agent: cadre logs AGENT (cadre tasks lists them)" },
		{ { "trust" }, "trust();" },
		{ { "trust", "dir" }, "trust(dir);" },
		{ { "trust", "--forget", "dir" }, "forget(dir);" },
		{ { "trust", "--list" }, "trust_list();" },
		{ { "trust", "--list", "dir" }, "--list stands alone: cadre trust --list" },
		{ { "trust", "a", "b" }, "expected one directory: cadre trust [DIR]" },
		{ { "config", "--list" },
		  "--list has no meaning for `cadre config` (cadre config --help lists its flags)" },
		{ { "agents", "-p" },
		  "--print has no meaning for `cadre agents` (cadre agents --help lists its flags)" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_FREE char *got = ask(rows[i].words);
		CHECK_CSTR(got, rows[i].expected);
	}
}

TEST(flags_of_a_verb_are_known_and_in_its_help)
{
	for (size_t i = 0; verb_table[i]; i++) {
		AUTO_BUF struct buf help = { 0 };
		CHECK(!i || strcmp(verb_table[i - 1]->name, verb_table[i]->name) < 0);
		verb_write_help(&help, verb_table[i]);
		for (size_t k = 0; verb_table[i]->options[k]; k++) {
			CHECK(option_find(str_from(verb_table[i]->options[k])) != NULL);
			CHECK(str_has(buf_str(&help), str_from(verb_table[i]->options[k])));
		}
		CHECK(str_has(buf_str(&help), STR("--json")));
	}
}

TEST(a_table_is_aligned_and_its_cells_cannot_act_on_the_terminal)
{
	static const struct fake_row rows[] = {
		{ CADRE_HEAD, { "NAME", "SOURCE", "TOOLS" } },
		{ CADRE_PLAIN, { "\xc3\xa4", "built-in", "Read,\nEdit" } },
		{ CADRE_BAD, { "long name", "x", "\x1b[2J" } },
		{ CADRE_NOTE, { "a line of its own" } },
		{ CADRE_HEAD, { "SECOND", "B" } },
		{ CADRE_PLAIN, { "1", "2" } },
	};
	AUTO_BUF struct buf plain = { 0 };
	AUTO_BUF struct buf coloured = { 0 };
	fake_set_rows(rows, COUNT_OF(rows));

	table_write(&plain, NULL, false);
	table_write(&coloured, NULL, true);

	CHECK_CSTR(plain.p, "NAME       SOURCE    TOOLS\n"
			    "\xc3\xa4          built-in  Read, Edit\n"
			    "long name  x         \\x1b[2J\n"
			    "a line of its own\n"
			    "\n"
			    "SECOND  B\n"
			    "1       2\n");
	CHECK(!strchr(plain.p, '\033'));
	CHECK(strstr(coloured.p, "\033[31mlong name  x         \\x1b[2J\033[0m\n") != NULL);
}

const struct test_group verb_tests =
	GROUP(T(words_after_a_verb_reach_the_library), T(flags_of_a_verb_are_known_and_in_its_help),
	      T(a_table_is_aligned_and_its_cells_cannot_act_on_the_terminal));
