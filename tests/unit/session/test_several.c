/* SPDX-License-Identifier: MIT
 * test_several.c - a host with two sessions in one runtime, in different folders and with different rules: what the programs of each
 * can read, write and see is decided by the session that they belong to. */
#include "guard/sandbox/sandbox.h"
#include "lib/io/spawn.h"
#include "stage.h"

/* A hook, and a server with two tools: what it can reach, and dying. A file that is hidden is empty. */
static const char program[] =
	"import json, os, sys\n"
	"top = sys.argv[1]\n"
	"def reads(name):\n"
	"    try:\n"
	"        return open(f'{top}/{name}').read() == 'text'\n"
	"    except OSError:\n"
	"        return False\n"
	"def writes(name):\n"
	"    try:\n"
	"        open(f'{top}/{name}/written', 'w').close()\n"
	"        return True\n"
	"    except OSError:\n"
	"        return False\n"
	"def seen(kind):\n"
	"    names = [n for n in ('one.txt', 'two.txt', 'one-hidden/text', 'two-hidden/text') if reads(n)] + [n for n in ('one', 'two', 'more-one', 'more-two') if writes(n)]\n"
	"    names += sorted(k for k in os.environ if k.startswith('OF_'))\n"
	"    return ' '.join([kind, os.path.basename(os.getcwd())] + names + ['.'])\n"
	"if sys.argv[2] == 'hook':\n"
	"    print(json.dumps({'systemMessage': seen('hook')}))\n"
	"    sys.exit()\n"
	"for line in sys.stdin:\n"
	"    m = json.loads(line)\n"
	"    if 'id' not in m or 'method' not in m:\n"
	"        continue\n"
	"    result = {}\n"
	"    if m['method'] == 'initialize':\n"
	"        result = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}},\n"
	"                  'serverInfo': {'name': 's', 'version': '1'}}\n"
	"    if m['method'] == 'tools/list':\n"
	"        result = {'tools': [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('die', 'see')]}\n"
	"    if m['method'] == 'tools/call':\n"
	"        if m['params']['name'] == 'die':\n"
	"            sys.exit(1)\n"
	"        result = {'content': [{'type': 'text', 'text': seen('server')}]}\n"
	"    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': result}), flush=True)\n";

/* The server starts again a second after its death, and the next time it waits for two. */
static const char scenario[] = "rule\n  prompt contains \"die\"\n  turn 1\n  call mcp__s__die {}\n"
			       "rule\n  prompt contains \"die\"\n  turn 2\n  call mcp__s__see {}\n"
			       "rule\n  prompt contains \"see\"\n  turn 1\n  call mcp__s__see {}\n"
			       "rule\n  text done\n";

enum { SESSIONS = 2 };
static const char *const names[SESSIONS] = { "one", "two" };

/* What its programs must tell: where they run, what the other one hides, its own folders, its own variable. */
static const char *const told[SESSIONS] = { "one two.txt two-hidden/text one more-one OF_ONE .",
					    "two one.txt one-hidden/text two more-two OF_TWO ." };

struct host {
	struct stage stage;
	struct cadre_session *session[SESSIONS];
	struct buf heard[SESSIONS];
};

static void on_event(const struct cadre_event *e, void *data)
{
	size_t n;
	const char *text = cadre_event_text(e, &n);

	if (cadre_event_kind(e) == CADRE_ERROR || cadre_event_kind(e) == CADRE_TOOL_ENDED)
		buf_addf(data, STR_FMT "\n", (int)n, text);
}

/* In the folder of that name, where the file of that name is hidden and the directory "more" of that name is one more to work in. */
static void open_session_as(struct host *h, int which, int like)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *dir = h->stage.dir, *name = names[like];
	char why[256] = "";

	stage_set(&h->stage, "cwd", arena_printf(&a, "%s/%s", dir, name));
	stage_set(&h->stage, "settings", arena_printf(&a, "%s/%s.json", dir, name));
	stage_set(&h->stage, "disallowed-tools", arena_printf(&a, "Read(/%s/%s.txt)", dir, name));
	stage_set(&h->stage, "add-dir", NULL);
	stage_set(&h->stage, "add-dir", arena_printf(&a, "%s/more-%s", dir, name));
	if (cadre_open(h->stage.c, on_event, &h->heard[which], &h->session[which], why, sizeof why) < 0)
		fail_msg("%s", why);
}

static void open_session(struct host *h, int which)
{
	open_session_as(h, which, which);
}

/* The project's: a variable, a directory that is hidden, the hook. */
static void put_project(struct host *h, int which, const char *hidden, const char *variable)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *dir = h->stage.dir;

	file_put(
		arena_printf(&a, "%s/%s/.claude/settings.json", dir, names[which]),
		str_from(arena_printf(&a,
				      "{\"env\":{\"%s\":\"1\"},\"sandbox\":{\"filesystem\":{\"denyRead\":[\"%s/%s\"]}},"
				      "\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":"
				      "[{\"type\":\"command\",\"command\":\"python3 %s/program.py %s hook\"}]}]}}",
				      variable, dir, hidden, dir, dir)));
}

/* Of the user, in the file that the option settings names: whether hooks and servers are held. */
static void put_level(struct host *h, int which, const char *level)
{
	AUTO_ARENA struct arena a = { 0 };

	file_put(arena_printf(&a, "%s/%s.json", h->stage.dir, names[which]),
		 str_from(arena_printf(&a, "{\"sandbox\":{\"cadre\":{\"hooks\":\"%s\",\"mcpServers\":\"%s\"}}}", level,
				       level)));
}

static bool is_held(void)
{
	AUTO_ARENA struct arena a = { 0 };
	char dir[FOLDER_MAX];
	const char *why = NULL;

	folder_make(dir);
	struct loop *loop = loop_new(0);
	struct sandbox *s = sandbox_new(&(struct sandbox_options){ loop, dir, arena_printf(&a, "%s/temp", dir), NULL });
	bool full = sandbox_strength(s, &why) == SANDBOX_FULL;
	if (!full)
		print_message("# skipped: %s\n", why ? why : "no sandbox");
	sandbox_free(s);
	loop_free(loop);
	folder_remove(dir);
	return full;
}

static void skip_unless_held(void)
{
	if (!is_held())
		skip();
}

static void host_open(struct host *h)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stage *st = &h->stage;
	char why[256] = "";

	*h = (struct host){ 0 };
	folder_make(st->dir);
	file_put(arena_printf(&a, "%s/program.py", st->dir), str_from(program));
	file_put(arena_printf(&a, "%s/scenario.txt", st->dir), str_from(scenario));
	for (int i = 0; i < SESSIONS; i++) {
		file_put(arena_printf(&a, "%s/%s.txt", st->dir, names[i]), STR("text"));
		file_put(arena_printf(&a, "%s/more-%s/.keep", st->dir, names[i]), STR(""));
		file_put(arena_printf(&a, "%s/%s-hidden/text", st->dir, names[i]), STR("text"));
		put_project(h, i, i ? "two-hidden" : "one-hidden", i ? "OF_TWO" : "OF_ONE");
		put_level(h, i, "all");
	}
	st->c = cadre_new(why, sizeof why);
	stage_set(st, "provider", "scripted");
	stage_set(st, "scenario", arena_printf(&a, "%s/scenario.txt", st->dir));
	stage_set(st, "config-dir", arena_printf(&a, "%s/config", st->dir));
	stage_set(st, "managed-dir", arena_printf(&a, "%s/managed", st->dir));
	stage_set(st, "setting-sources", "project");
	stage_set(st, "trust-project", "");
	stage_set(st, "allowed-tools", "mcp__s");
	stage_set(
		st, "mcp-config",
		arena_printf(
			&a,
			"{\"mcpServers\":{\"s\":{\"command\":\"python3\",\"args\":[\"%s/program.py\",\"%s\",\"server\"]}}}",
			st->dir, st->dir));
}

static void host_close(struct host *h)
{
	for (int i = 0; i < SESSIONS; i++) {
		cadre_close(TAKE(h->session[i]));
		buf_release(&h->heard[i]);
	}
	cadre_run(h->stage.c);
	cadre_free(h->stage.c);
	folder_remove(h->stage.dir);
}

/* A turn: what its hook tells, and its server, "see"; or "die", and what is started in place of it. */
static void check_told(struct host *h, int which, const char *prompt, const char *expected)
{
	static const char *const kinds[] = { "hook", "server" };
	struct buf *heard = &h->heard[which];

	buf_clear(heard);
	CHECK_INT(cadre_prompt(h->session[which], prompt, strlen(prompt), NULL, 0), 0);
	cadre_run(h->stage.c);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		AUTO_BUF struct buf line = { 0 };
		buf_addf(&line, "%s %s", kinds[i], expected);
		if (!str_has(buf_str(heard), buf_str(&line)))
			fail_msg("%s: not \"%s\":\n%s", names[which], buf_str(&line).p, buf_str(heard).p);
	}
}

TEST(programs_of_each_of_two_sessions_are_under_the_rules_of_their_own)
{
	skip_unless_held();
	for (int first = 0; first < SESSIONS; first++) {
		struct host h;
		host_open(&h);
		open_session(&h, first);
		open_session(&h, !first);
		check_told(&h, first, "see", told[first]);
		check_told(&h, !first, "die", told[!first]);
		check_told(&h, first, "die", told[first]);
		host_close(&h);
	}
}

TEST(the_end_of_one_session_changes_nothing_for_programs_of_the_other)
{
	skip_unless_held();
	for (int closed = 0; closed < SESSIONS; closed++) {
		struct host h;
		host_open(&h);
		open_session(&h, 0);
		open_session(&h, 1);
		check_told(&h, closed, "see", told[closed]);
		cadre_close(TAKE(h.session[closed]));
		cadre_run(h.stage.c);
		check_told(&h, !closed, "die", told[!closed]);
		host_close(&h);
	}
}

/* What changes in the files of one holds for it from its next turn on. */
TEST(changed_settings_hold_for_programs_of_their_own_session_alone)
{
	skip_unless_held();
	for (int changed = 0; changed < SESSIONS; changed++) {
		AUTO_ARENA struct arena a = { 0 };
		struct host h;
		host_open(&h);
		open_session(&h, 0);
		open_session(&h, 1);
		check_told(&h, changed, "see", told[changed]);
		put_project(&h, changed, changed ? "one-hidden" : "two-hidden", "OF_NEW");
		const char *name = names[changed], *other = names[!changed];
		check_told(&h, changed, "die",
			   arena_printf(&a, "%s %s.txt %s-hidden/text %s more-%s OF_NEW .", name, other, name, name,
					name));
		check_told(&h, !changed, "die", told[!changed]);
		host_close(&h);
	}
}

/* Servers that nothing holds are shared by sessions that are alike; once they are to be held, each session has its own. */
TEST(servers_that_sessions_shared_are_held_from_the_change_of_settings_on)
{
	struct host h;

	skip_unless_held();
	host_open(&h);
	put_level(&h, 0, "off");
	open_session(&h, 0);
	open_session_as(&h, 1, 0);
	const char *free = "one one.txt two.txt one-hidden/text two-hidden/text one two more-one more-two OF_ONE .";
	check_told(&h, 0, "see", free);
	check_told(&h, 1, "die", free);
	put_level(&h, 0, "all");
	check_told(&h, 0, "see", told[0]);
	check_told(&h, 1, "die", told[0]);
	host_close(&h);
}

TEST(what_one_session_was_opened_with_gives_the_other_nothing)
{
	for (int first = 0; first < SESSIONS; first++) {
		AUTO_ARENA struct arena a = { 0 };
		struct host h;
		host_open(&h);
		for (int i = 0; i < SESSIONS; i++) {
			bool wide = i == first;
			stage_set(&h.stage, "trust-project", wide ? "" : NULL);
			stage_set(&h.stage, "allow-dangerously-skip-permissions", wide ? "" : NULL);
			open_session(&h, i);
		}
		stage_set(&h.stage, "trust-project", "");
		stage_set(&h.stage, "allow-dangerously-skip-permissions", "");
		for (int i = 0; i < SESSIONS; i++) {
			struct cadre_session *s = h.session[i];
			CHECK_INT(cadre_session_is_trusted(s), i == first);
			if (i != first)
				CHECK_INT(cadre_session_set(s, "permission-mode", "bypassPermissions", NULL, 0),
					  CADRE_DENIED);
			CHECK_STR(str_from(cadre_rules_file(s)),
				  arena_printf(&a, "%s/%s/.claude/settings.local.json", h.stage.dir, names[i]));
			CHECK((cadre_session_setting(s, "env.OF_ONE", NULL) != NULL) == (i == 0));
			CHECK((cadre_session_setting(s, "env.OF_TWO", NULL) != NULL) == (i == 1));
		}
		host_close(&h);
	}
}

/* Whoever was opened last, and whoever has asked before: a page of this machine is out of reach for the one, and not there for the other. */
TEST(private_addresses_are_open_to_the_session_alone_whose_settings_say_so)
{
	static const char fetch[] =
		"rule\n  turn 1\n  call WebFetch {\"url\": \"http://127.0.0.1:1/\", \"prompt\": \"x\"}\n"
		"rule\n  text done\n";

	for (int wide = 0; wide < SESSIONS; wide++) {
		AUTO_ARENA struct arena a = { 0 };
		struct host h;
		host_open(&h);
		file_put(arena_printf(&a, "%s/scenario.txt", h.stage.dir), str_from(fetch));
		stage_set(&h.stage, "allowed-tools", "WebFetch");
		stage_set(&h.stage, "mcp-config", NULL);
		for (int i = 0; i < SESSIONS; i++) {
			file_put(arena_printf(&a, "%s/%s.json", h.stage.dir, names[i]),
				 i == wide ? STR("{\"webFetch\":{\"allowPrivate\":true}}") : STR("{}"));
			open_session(&h, i);
		}
		for (int i = 0; i < SESSIONS; i++) {
			CHECK_INT(cadre_prompt(h.session[i], "go", 2, NULL, 0), 0);
			cadre_run(h.stage.c);
			struct str heard = buf_str(&h.heard[i]);
			if (!str_has(heard, STR("127.0.0.1:1/ cannot be fetched: ")) ||
			    str_has(heard, STR("such addresses are refused")) == (i == wide))
				fail_msg("%s: " STR_FMT, names[i], STR_ARG(heard));
		}
		host_close(&h);
	}
}

static void on_exit_(struct child *c, int status)
{
	fail_msg("process %d ran and ended with %d", (int)child_pid(c), status);
}

TEST(a_program_whose_session_is_not_known_does_not_start)
{
	static const struct child_handlers handlers = { .on_exit = on_exit_ };
	static const enum child_of kinds[] = { CHILD_OF_HOOK, CHILD_OF_PROJECT_HOOK, CHILD_OF_SERVER,
					       CHILD_OF_PROJECT_SERVER, CHILD_OF_CONVERTER };
	struct err err = { 0 };
	struct loop *loop = loop_new(0);
	struct spawner *spawner = spawner_new(loop);

	sandbox_serve(spawner);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct child_options options = { .argv = (const char *const[]){ "true", NULL }, .of = kinds[i] };
		struct child *child;
		CHECK_INT(spawn_start(spawner, &options, &handlers, NULL, &child, &err), -ERR_DENIED);
		CHECK_STR(str_from(err.text), "the session whose rules would hold it is gone");
	}
	spawner_free(spawner);
	loop_free(loop);
}

static void on_end_of_cat(struct child *c, int status)
{
	CHECK_INT(status, 0);
	*(bool *)child_data(c) = true;
}

/* What still runs is held to its end; nothing is started any more. */
TEST(a_session_that_is_over_starts_no_program_while_one_of_its_programs_runs)
{
	static const struct child_handlers runs = { .on_exit = on_end_of_cat }, never = { .on_exit = on_exit_ };
	AUTO_ARENA struct arena a = { 0 };
	char dir[FOLDER_MAX];
	struct err err = { 0 };
	struct child *cat, *late;
	struct settings *settings;
	bool ended = false;

	skip_unless_held();
	folder_make(dir);
	struct loop *loop = loop_new(0);
	struct spawner *spawner = spawner_new(loop);
	struct sandbox *s =
		sandbox_new(&(struct sandbox_options){ loop, dir, arena_printf(&a, "%s/temp", dir), spawner });
	CHECK_INT(settings_load(&(struct settings_spec){ .cwd = dir, .config_dir = dir }, &settings, &err), 0);
	sandbox_use_policy(s, sandbox_policy_new(settings, dir, dir));
	settings_unref(settings);
	sandbox_serve(spawner);
	struct child_options options = { .argv = (const char *const[]){ "cat", NULL },
					 .cwd = dir,
					 .of = CHILD_OF_CONVERTER,
					 .cage = s,
					 .keep_stdin = true };

	if (spawn_start(spawner, &options, &runs, &ended, &cat, &err) < 0)
		fail_msg("%s", err.text);
	sandbox_retire(s);
	CHECK_INT(spawn_start(spawner, &options, &never, NULL, &late, &err), -ERR_DENIED);
	child_close_stdin(cat);
	loop_run(loop);

	CHECK(ended);
	spawner_free(spawner);
	loop_free(loop);
	folder_remove(dir);
}

int test_several(void)
{
	return RUN_TESTS(T(programs_of_each_of_two_sessions_are_under_the_rules_of_their_own),
			 T(the_end_of_one_session_changes_nothing_for_programs_of_the_other),
			 T(changed_settings_hold_for_programs_of_their_own_session_alone),
			 T(servers_that_sessions_shared_are_held_from_the_change_of_settings_on),
			 T(what_one_session_was_opened_with_gives_the_other_nothing),
			 T(private_addresses_are_open_to_the_session_alone_whose_settings_say_so),
			 T(a_program_whose_session_is_not_known_does_not_start),
			 T(a_session_that_is_over_starts_no_program_while_one_of_its_programs_runs));
}
