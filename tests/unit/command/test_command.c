/* SPDX-License-Identifier: MIT
 * test_command.c - every command through cadre_command(), in folders of the test's own: its words, its options, what they change on
 * disk, and the JSON of its report. */
#include <cadre_command.h>
#include <stdlib.h>
#include "lib/io/file.h"
#include "lib/json/json.h"
#include "unit.h"

enum { WORDS_MAX = 12 };

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct cadre *c;
};

static const char *below(struct stage *s, const char *name)
{
	return arena_printf(&s->arena, "%s/%s", s->dir, name);
}

/* What belongs to the sessions of the folder. */
static const char *project_dir(struct stage *s)
{
	AUTO_BUF struct buf key = { 0 };

	for (const char *p = below(s, "work"); *p; p++)
		buf_addch(&key,
			  (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ? *p : '-');
	return arena_printf(&s->arena, "%s/config/projects/%s", s->dir, key.p);
}

static void stage_open(struct stage *s)
{
	char why[200] = "";

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	file_put(below(s, "work/.claude/agents/tester.md"),
		 STR("---\nname: tester\ndescription: Tests things\ntools: Read\n---\nTest.\n"));
	file_put(below(s, "work/.claude/agents/keeper.md"),
		 STR("---\nname: keeper\ndescription: Keeps things\nmemory: user\n---\nKeep.\n"));
	file_put(below(s, "config/agent-memory/keeper/MEMORY.md"), STR("milk\n"));
	file_put(below(s, "work/.claude/skills/greet/SKILL.md"), STR("---\ndescription: Says hello\n---\nHello.\n"));
	file_put(below(s, "config/settings.json"), STR("{\"permissions\": {\"deny\": [\"Bash(rm *)\"]}}"));
	file_put(
		below(s, "market/.claude-plugin/marketplace.json"),
		STR("{\"name\": \"stall\", \"owner\": {\"name\": \"x\"}, \"plugins\": [{\"name\": \"tool\", \"source\": "
		    "\"./tool\"}]}"));
	file_put(below(s, "market/tool/.claude-plugin/plugin.json"), STR("{\"name\": \"tool\", \"version\": \"1.0\"}"));
	file_put(
		arena_printf(&s->arena, "%s/99999999-2222-4333-8444-555555555555.jsonl", project_dir(s)),
		STR("{\"type\":\"user\",\"uuid\":\"11111111-2222-4333-8444-555555555556\",\"parentUuid\":null,\"message\":"
		    "{\"role\":\"user\",\"content\":\"hello there\"}}\n"));
	setenv("HOME", s->dir, 1);
	setenv("XDG_RUNTIME_DIR", s->dir, 1);
	unsetenv("CLAUDE_CONFIG_DIR");
	s->c = cadre_new(why, sizeof why);
	CHECK(s->c != NULL);
	CHECK_INT(cadre_set(s->c, "cwd", below(s, "work"), why, sizeof why), 0);
	CHECK_INT(cadre_set(s->c, "config-dir", below(s, "config"), why, sizeof why), 0);
}

static void stage_close(struct stage *s)
{
	cadre_free(s->c);
	folder_remove(s->dir);
	arena_release(&s->arena);
}

static int run_words(struct stage *s, const char *const *words, const struct cadre_command_io *io,
		     struct cadre_report **ret_report, char *why, size_t why_size)
{
	int argc = 0;

	while (words[argc])
		argc++;
	return cadre_command(s->c, argc, words, io, ret_report, why, why_size);
}

/* The value at a path such as "servers.0.name". */
static const struct json *json_at(const struct json *value, const char *path)
{
	for (struct str rest = str_from(path); rest.n && value;) {
		struct str name = str_cut(&rest, '.');
		int64_t index;
		char key[40];
		if (json_is(value, JSON_ARRAY) && str_to_i64(name, &index)) {
			const struct json *item = json_first(value);
			while (item && index--)
				item = json_next(value, item);
			value = item;
		} else {
			snprintf(key, sizeof key, STR_FMT, STR_ARG(name));
			value = json_get(value, key);
		}
	}
	return value;
}

static void expect(struct stage *s, const char *const *words, int status, const char *path, const char *expected)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct cadre_report *report = NULL;
	const struct json *root;
	char why[240] = "";
	size_t n = 0;

	int got = run_words(s, words, NULL, &report, why, sizeof why);
	if (got != status)
		fail_msg("%s %s: %d, %s", words[0], words[1] ? words[1] : "", got, why);
	if (status < 0) {
		CHECK(!report);
		if (!strstr(why, expected))
			fail_msg("%s: expected %s", why, expected);
		return;
	}
	const char *text = cadre_report_json(report, &n);
	CHECK_INT(json_parse(&reader, text, n, &root, NULL), 0);
	const struct json *value = json_at(root, path);
	if (!value)
		fail_msg("%s %s: no %s in %s", words[0], words[1] ? words[1] : "", path, text);
	CHECK_STR(json_is(value, JSON_STRING) ? json_str(value, &s->arena) : json_raw(value), expected);
	CHECK(cadre_report_rows(report) > 0);
	cadre_report_free(report);
}

static bool row_has(const char *const *words, const struct cadre_command *command,
		    const struct cadre_command_word *word)
{
	struct str rest = str_from(word->name);

	if (strcmp(*words++, command->name) != 0)
		return false;
	while (rest.n && *words) {
		if (!str_is(str_cut(&rest, ' '), *words++))
			return false;
	}
	return !rest.n;
}

/* In this order: some rows look at what those before them did. There is one for each word of each command. */
TEST(every_command_does_what_its_words_say)
{
	static const struct {
		const char *words[WORDS_MAX];
		int status;
		const char *path, *expected; /* in the JSON; of a failure expected is in the text */
	} rows[] = {
		{ { "agents" }, 0, "allAgents.0.source", "built-in" },
		{ { "agents", "list" }, 0, "pluginsOnly", "false" },
		{ { "agents", "show", "tester" }, 0, "resolvedTools.0", "Read" },
		{ { "agents", "show", "nobody" }, CADRE_NOT_FOUND, NULL, "no such agent: nobody" },
		{ { "agents", "show" }, CADRE_USAGE, NULL, "expected: cadre agents show NAME" },
		{ { "agents", "show", "a", "b" }, CADRE_USAGE, NULL, "expected: cadre agents show NAME" },
		{ { "agents", "new", "second" }, 0, "name", "second" },
		{ { "agents", "new", "second" }, CADRE_USAGE, NULL, "exists already" },
		{ { "agents", "new", "../x" }, CADRE_USAGE, NULL, "cannot be the name" },
		{ { "agents", "memory", "keeper" }, 0, "files", "1" },
		{ { "agents", "memory", "tester" }, CADRE_USAGE, NULL, "has no user memory" },
		{ { "agents", "memory", "nobody" }, CADRE_NOT_FOUND, NULL, "no such agent: nobody" },
		{ { "agents", "memory" }, CADRE_USAGE, NULL, "expected: cadre agents memory NAME" },
		{ { "agents", "check" }, 0, "1.loaded", "true" },
		{ { "agents", "check", "/nonexistent" }, CADRE_USAGE, NULL, "/nonexistent" },
		{ { "agents", "drop" },
		  CADRE_USAGE,
		  NULL,
		  "unknown subcommand 'drop'; expected list, check, memory, new or show" },
		{ { "config" }, 0, "settings.0.key", "permissions.deny" },
		{ { "config", "list" }, 0, "settings.0.key", "permissions.deny" },
		{ { "config", "get", "cleanupPeriodDays" }, 0, "value", "30" },
		{ { "config", "get", "nothing" }, CADRE_NOT_FOUND, NULL, "no such setting: nothing" },
		{ { "config", "get" }, CADRE_USAGE, NULL, "expected: cadre config get KEY" },
		{ { "config", "explain", "permissions.deny" }, 0, "known", "true" },
		{ { "config", "keys" }, 0, "0.managedOnly", "false" },
		{ { "config", "keys", "x" }, CADRE_USAGE, NULL, "expected: cadre config keys" },
		{ { "mcp" }, 0, "servers", "[]" },
		{ { "mcp", "add", "a", "--env=A=1", "--env", "B=2", "--", "true", "-y" }, 0, "scope", "local" },
		{ { "mcp", "list" }, 0, "servers.0.name", "a" },
		{ { "mcp", "get", "a" }, 0, "config.env.B", "2" },
		{ { "mcp", "get", "a" }, 0, "config.args.0", "-y" },
		{ { "mcp", "add", "a", "true" }, CADRE_USAGE, NULL, "has a server 'a' already" },
		{ { "mcp", "add", "b", "-t", "http", "-s", "user", "https://h", "-H", "X: y" }, 0, "scope", "user" },
		{ { "mcp", "get", "b" }, 0, "config.headers.X", "y" },
		{ { "mcp", "add", "c" }, CADRE_USAGE, NULL, "expected: cadre mcp add NAME -- COMMAND [ARG...]" },
		{ { "mcp", "add", "c", "x", "--scope", "all" }, CADRE_USAGE, NULL, "expected: local, project, user" },
		{ { "mcp", "add-json", "c", "{\"command\": \"true\"}", "-s", "project" }, 0, "done", "added" },
		{ { "mcp", "remove", "c" }, 0, "done", "removed" },
		{ { "mcp", "remove", "c" }, CADRE_NOT_FOUND, NULL, "no such server: c" },
		{ { "mcp", "test", "--", "/bin/false" }, 0, "state", "failed" },
		{ { "mcp", "test", "a", "b" }, CADRE_USAGE, NULL, "expected: cadre mcp test NAME, --url URL" },
		{ { "mcp", "test", "a", "--url", "x" }, CADRE_USAGE, NULL, "expected: cadre mcp test NAME, --url URL" },
		{ { "mcp", "login", "none" }, CADRE_NOT_FOUND, NULL, "no such MCP server: none" },
		{ { "mcp", "serve" }, CADRE_USAGE, NULL, "nothing to serve on" },
		{ { "models" }, 0, "models.0.windowSource", "built in" },
		{ { "models", "list", "openai" }, 0, "models.0.model", "openai/gpt-4.1" },
		{ { "models", "list", "nowhere" }, CADRE_NOT_FOUND, NULL, "no such provider: nowhere" },
		{ { "models", "show", "scripted/sonnet" }, 0, "provider", "scripted" },
		{ { "models", "test", "scripted/sonnet" }, 0, "requests.0.good", "true" },
		{ { "models", "update", "/nowhere" }, CADRE_NOT_FOUND, NULL, "/nowhere" },
		{ { "permissions" }, 0, "rules.0.rule", "Bash(rm *)" },
		{ { "permissions", "list" }, 0, "rules.0.list", "deny" },
		{ { "permissions", "test", "Bash(rm x)" }, 0, "decision", "deny" },
		{ { "permissions", "test", "Read(x)", "tester" }, 0, "agent", "tester" },
		{ { "permissions", "test" }, CADRE_USAGE, NULL, "expected: cadre permissions test CALL [AGENT]" },
		{ { "plugin" }, 0, "", "[]" },
		{ { "plugin", "validate", "../market" }, 0, "0.name", "tool" },
		{ { "plugin", "marketplace" }, 0, "", "[]" },
		{ { "plugin", "marketplace", "add", "../market" }, 0, "name", "stall" },
		{ { "plugin", "marketplace", "list" }, 0, "0.plugins.0.name", "tool" },
		{ { "plugin", "marketplace", "update" }, 0, "0.error", "null" },
		{ { "plugin", "marketplace", "drop" }, CADRE_USAGE, NULL, "expected list, add, remove or update" },
		{ { "plugin", "install", "tool@stall" }, 0, "enabled", "true" },
		{ { "plugin", "list" }, 0, "0.state", "enabled" },
		{ { "plugin", "disable", "tool" }, 0, "enabled", "false" },
		{ { "plugin", "enable", "tool", "--scope", "user" }, 0, "enabled", "true" },
		{ { "plugin", "trust", "tool" }, 0, "did", "trusted" },
		{ { "plugin", "trust", "tool", "--forget" }, 0, "did", "forgotten" },
		{ { "plugin", "uninstall", "tool" }, 0, "did", "uninstalled" },
		{ { "plugin", "marketplace", "remove", "stall" }, 0, "did", "removed" },
		{ { "plugin", "trust" }, CADRE_USAGE, NULL, "expected: cadre plugin trust NAME" },
		{ { "rewind" }, CADRE_USAGE, NULL, "expected: cadre rewind SESSION" },
		{ { "rewind", "12", "--list", "--force" }, CADRE_USAGE, NULL, "--list takes no other word" },
		{ { "rewind", "12" }, CADRE_NOT_FOUND, NULL, "no files were kept" },
		{ { "sandbox" }, 0, "enabled", "false" },
		{ { "sandbox", "status" }, 0, "entries", "[]" },
		{ { "sandbox", "explain", "x.test:80" }, 0, "reachable", "false" },
		{ { "sandbox", "explain", "ls -la" }, 0, "inside", "false" },
		{ { "sandbox", "apparmor" }, 0, "commands.1", "sudo apparmor_parser -r /etc/apparmor.d/cadre" },
		{ { "sandbox", "explain" }, CADRE_USAGE, NULL, "expected: cadre sandbox explain WHAT" },
		{ { "sandbox", "run", "--host=*", "true" }, CADRE_USAGE, NULL, "--host *: expected NAME" },
		{ { "sandbox", "test", "--attempt=unix-socket" }, 0, "did", "false" },
		{ { "sessions" }, 0, "", "[]" }, /* the only one has no answer */
		{ { "sessions", "--all" }, 0, "0.firstPrompt", "hello there" },
		{ { "sessions", "list", "--all" }, 0, "0.messages", "1" },
		{ { "sessions", "search", "HELLO" }, 0, "0.firstPrompt", "hello there" },
		{ { "sessions", "search", "nowhere" }, 0, "", "[]" },
		{ { "sessions", "ids" }, 0, "0.sessionId", "99999999-2222-4333-8444-555555555555" },
		{ { "sessions", "export", "9999", "--format", "json" }, 0, "0.message.content", "hello there" },
		{ { "sessions", "show", "9999" }, 0, "0.type", "user" },
		{ { "sessions", "show", "12" }, CADRE_NOT_FOUND, NULL, "12" },
		{ { "sessions", "show", "" }, CADRE_USAGE, NULL, "expected: cadre sessions show SESSION" },
		{ { "sessions", "prune", "--older-than", "2w", "--dry-run" }, 0, "", "[]" },
		{ { "sessions", "prune", "--older-than", "30" }, CADRE_USAGE, NULL, "--older-than expects an age" },
		{ { "skills" }, 0, "skills.0.name", "greet" },
		{ { "skills", "list" }, 0, "skills.0.kind", "skill" },
		{ { "skills", "show", "greet" }, 0, "description", "Says hello" },
		{ { "skills", "check" }, 0, "files.0.refused", "false" },
		{ { "tasks" }, 0, "sessions", "[]" },
		{ { "tasks", "12", "--all" }, CADRE_USAGE, NULL, "expected one session, or --all" },
		{ { "stop" }, CADRE_USAGE, NULL, "expected one agent, or --all" },
		{ { "stop", "--all", "x" }, CADRE_USAGE, NULL, "expected one agent, or --all" },
		{ { "stop", "x" }, CADRE_NOT_FOUND, NULL, "no such agent: x" },
		{ { "team" }, 0, "teams", "[]" },
		{ { "team", "list" }, 0, "teams", "[]" },
		{ { "team", "tasks", "x" }, CADRE_NOT_FOUND, NULL, "no team x in" },
		{ { "team", "stop", "x" }, CADRE_NOT_FOUND, NULL, "no member x in a session that runs" },
		{ { "team", "show", "x" }, CADRE_NOT_FOUND, NULL, "no team x in" },
		{ { "team", "show", "../x" }, CADRE_NOT_FOUND, NULL, "no team ../x in" },
		{ { "team", "message", "x", "y" }, CADRE_NOT_FOUND, NULL, "no member x in a session that runs" },
		{ { "tell", "x", "y" }, CADRE_NOT_FOUND, NULL, "no member x in a session that runs" },
		{ { "logs", "-f", "x" }, CADRE_NOT_FOUND, NULL, "no such agent: x" },
		{ { "logs" }, CADRE_USAGE, NULL, "expected: cadre logs AGENT" },
		{ { "trust" }, 0, "changed", "true" },
		{ { "trust", "." }, 0, "changed", "false" },
		{ { "trust", "--forget" }, 0, "trusted", "false" },
		{ { "trust", "--list" }, 0, "folders", "[]" },
		{ { "trust", "--list", "x" }, CADRE_USAGE, NULL, "--list takes no other word" },
		{ { "trust", "--lits" }, CADRE_USAGE, NULL, "unknown option '--lits' (did you mean --list?)" },
		{ { "trust", "--scope=user" }, CADRE_USAGE, NULL, "(cadre trust --help lists them)" },
		{ { "nothing" }, CADRE_USAGE, NULL, "unknown command 'nothing'" },
	};
	struct stage s;

	stage_open(&s);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect(&s, rows[i].words, rows[i].status, rows[i].path, rows[i].expected);
	stage_close(&s);
	for (const struct cadre_command *c = NULL; (c = cadre_command_next(c));)
		for (const struct cadre_command_word *w = c->words; w->name; w++) {
			size_t i = 0;
			while (i < COUNT_OF(rows) && !row_has(rows[i].words, c, w))
				i++;
			if (i == COUNT_OF(rows))
				fail_msg("no row for cadre %s %s", c->name, w->name);
		}
}

TEST(a_report_says_whether_something_was_refused)
{
	static const char *const denied[] = { "permissions", "test", "Bash(rm x)", NULL };
	static const char *const allowed[] = { "permissions", "test", "Read(x)", NULL };
	struct cadre_report *report;
	struct stage s;

	stage_open(&s);
	CHECK_INT(run_words(&s, denied, NULL, &report, NULL, 0), 0);
	CHECK(cadre_report_bad(report));
	cadre_report_free(report);
	CHECK_INT(run_words(&s, allowed, NULL, &report, NULL, 0), 0);
	CHECK(!cadre_report_bad(report));
	cadre_report_free(report);
	stage_close(&s);
}

/* A child of an earlier session, as a run leaves it. */
static void put_child(struct stage *s)
{
	static const char session[] = "11111111-2222-4333-8444-555555555555";
	const char *dir = arena_printf(&s->arena, "%s/%s/subagents", project_dir(s), session);

	file_put(arena_printf(&s->arena, "%s/agent-a0000000000000001.meta.json", dir),
		 STR("{\"agentType\":\"Explore\",\"description\":\"look\"}"));
	file_put(arena_printf(&s->arena, "%s/agent-a0000000000000001.jsonl", dir),
		 STR("{\"type\":\"user\",\"message\":{\"content\":\"first\"}}\n"
		     "{\"type\":\"assistant\",\"message\":{\"content\":\"second\"}}\n"));
}

static int count_piece(const struct cadre_report *piece, void *data)
{
	unsigned *count = data;

	CHECK(cadre_report_json(piece, NULL)[0] == '{' && cadre_report_rows(piece) == 2);
	return ++*count == 1;
}

TEST(a_transcript_comes_in_pieces_that_may_be_stopped_or_as_one_report)
{
	static const char *const words[] = { "logs", "a0000000000000001", NULL };
	unsigned count = 0;
	struct cadre_command_io io = { .on_piece = count_piece, .data = &count };
	struct cadre_report *report;
	struct stage s;
	char why[200] = "";

	stage_open(&s);
	put_child(&s);
	expect(&s, words, 0, "1.message.content", "second");
	CHECK_INT(run_words(&s, words, &io, &report, why, sizeof why), 0);
	CHECK(!report);
	CHECK_INT(count, 1);
	stage_close(&s);
}

TEST(bad_calls_of_the_function_are_refused)
{
	static const char *const words[] = { "agents", NULL };
	struct cadre_report *report = NULL;
	struct stage s;

	stage_open(&s);
	CHECK_INT(cadre_command(NULL, 1, words, NULL, &report, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_command(s.c, 0, words, NULL, &report, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_command(s.c, 1, NULL, NULL, &report, NULL, 0), CADRE_USAGE);
	CHECK_INT(cadre_command(s.c, 1, words, NULL, NULL, NULL, 0), CADRE_USAGE);
	stage_close(&s);
}

TEST(the_table_is_in_the_order_of_the_alphabet_and_complete)
{
	const struct cadre_command *before = NULL;

	for (const struct cadre_command *c = NULL; (c = cadre_command_next(c)); before = c) {
		CHECK(!before || strcmp(before->name, c->name) < 0);
		CHECK(c->summary[0] && c->help[0] && c->settings);
		for (const struct cadre_command_word *w = c->words; w->name; w++)
			CHECK(w->run && w->operands);
		for (const struct cadre_option *o = c->options; o->name; o++)
			CHECK(o->help && (o->value != NULL) == (o->arg != CADRE_OPTION_NONE));
	}
	CHECK(before != NULL);
}

int main(void)
{
	RUN_TESTS(T(every_command_does_what_its_words_say), T(a_report_says_whether_something_was_refused),
		  T(a_transcript_comes_in_pieces_that_may_be_stopped_or_as_one_report),
		  T(bad_calls_of_the_function_are_refused), T(the_table_is_in_the_order_of_the_alphabet_and_complete));
	return tests_run();
}
