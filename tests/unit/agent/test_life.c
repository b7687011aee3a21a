/* SPDX-License-Identifier: MIT
 * test_life.c - the one table of steps: the main agent, a child and forks come up by it, and a failure at any step leaves
 * nothing behind. */
#include "unit.h"
#include "lib/io/file.h"
#include "agents/life/life.h"
#include "product/session/session.h"
#include "agents/subagent/subagent.h"
#include "tests.h"

#define SETTINGS "{\"availableModels\":[\"haiku\"],\"permissions\":{\"disableAutoMode\":\"disable\"}}"
#define SERVERS  "{\"mcpServers\":{\"still\":{\"command\":\"cat\"}}}"

struct life_stage {
	char dir[FOLDER_MAX];
	struct cadre *c;
	struct services *services;
	struct cadre_session *session;
	struct arena arena;
	struct spawn_request request; /* of the next call */
	bool call_over;
	void (*on_started)(struct life_stage *st, struct agent *child);
	unsigned started;
};

static void set_option(struct life_stage *st, const char *option, const char *value)
{
	char why[256] = "";

	if (cadre_set(st->c, option, value, why, sizeof why) < 0)
		fail_msg("%s: %s", option, why);
}

static void on_event(const struct cadre_event *e, void *data)
{
	struct life_stage *st = data;

	if (e->event->kind != EVENT_AGENT_STARTED)
		return;
	st->started++;
	if (st->on_started)
		st->on_started(st, e->session->tree.alive);
}

static void open_stage(struct life_stage *st)
{
	char why[256] = "";

	*st = (struct life_stage){ 0 };
	folder_make(st->dir);
	file_put(path_join(&st->arena, st->dir, "model.txt"), STR("rule\n  text done\n"));
	st->c = cadre_new(why, sizeof why);
	st->services = cadre_services(st->c);
	set_option(st, "provider", "scripted");
	set_option(st, "scenario", path_join(&st->arena, st->dir, "model.txt"));
	set_option(st, "config-dir", path_join(&st->arena, st->dir, "config"));
	set_option(st, "cwd", st->dir);
	set_option(st, "setting-sources", "project");
	set_option(st, "settings", SETTINGS);
	if (cadre_open(st->c, on_event, st, &st->session, why, sizeof why) < 0)
		fail_msg("%s", why);
}

static void close_stage(struct life_stage *st)
{
	if (st->session)
		cadre_close(st->session);
	cadre_run(st->c);
	CHECK(st->services->trees == NULL);
	cadre_free(st->c);
	folder_remove(st->dir);
	arena_release(&st->arena);
}

static void put_agent(struct life_stage *st, const char *name, const char *fields)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "---\nname: %s\ndescription: d\n%s---\nYou work.\n", name, fields);
	file_put(arena_printf(&st->arena, "%s/.claude/agents/%s.md", st->dir, name), buf_str(&text));
}

static void ignore_event(void *data, const struct event *event)
{
	(void)data, (void)event;
}

static void ignore_servers(void *data)
{
	(void)data;
}

/* Another tree on the same services, whose main agent is not up */
static void open_tree(struct life_stage *st, struct agent_tree *t)
{
	*t = (struct agent_tree){ .services = st->services,
				  .arena = &st->arena,
				  .kit = &tool_runtime,
				  .on_event = ignore_event,
				  .on_servers = ignore_servers };
	agent_tree_open(t);
	t->main.cwd = st->dir;
	t->main.branch = "";
	agent_tree_configure(t, "22222222-2222-4333-8444-555555555555", st->dir);
	agent_tree_use_policy(t);
}

static void check_down(const struct agent *a)
{
	CHECK_INT(a->step, 0);
	CHECK(a->servers == NULL && a->env.servers == NULL);
	CHECK_INT(a->tree->pool.count, 0);
	CHECK_INT(a->choice.tools.count, 0);
	CHECK(a->hooks == NULL);
	CHECK(a->env.shells == NULL);
}

TEST(the_steps_have_one_order)
{
	static const char *const names[] = { "load",     "record",     "slot",        "model",
					     "worktree", "cwd",        "prompt",      "servers",
					     "tools",    "permission", "query",       "history",
					     "skills",   "hooks",      "start hooks", "check start hooks",
					     "announce" };

	CHECK_INT(life_count, COUNT_OF(names));
	for (size_t i = 0; i < life_count; i++) {
		CHECK_CSTR(life[i].name, names[i]);
		CHECK(life[i].up != NULL);
	}
}

TEST(a_main_agent_comes_up_by_the_table_and_goes_down_by_it)
{
	struct life_stage st;
	struct agent_tree t;
	struct err err = { 0 };
	open_stage(&st);
	set_option(&st, "mcp-config", SERVERS);
	open_tree(&st, &t);

	CHECK_INT(agent_come_up(&t.main, &err), 0);
	CHECK_INT(t.main.step, life_count);
	CHECK(t.main.model != NULL && t.main.endpoint != NULL);
	CHECK_CSTR(t.main.env.dirs[0], st.dir);
	CHECK(t.pool.count > 0 && t.main.tools.count == t.pool.count);
	CHECK(t.main.permission.root == t.main.cwd);
	CHECK(t.main.query.config.loop != NULL && t.main.query.config.head != NULL);
	CHECK_INT(t.slots.taken, 0);
	CHECK(t.main.record == NULL);

	agent_go_down(&t.main);
	check_down(&t.main);
	agent_go_down(&t.main); /* it is down */
	agent_tree_release(&t);
	agent_tree_remove_dirs(&t);
	close_stage(&st);
}

TEST(a_host_may_ask_for_agents_in_the_background)
{
	struct life_stage st;
	struct agent_tree t;
	open_stage(&st);
	set_option(&st, "background-agents", "");
	open_tree(&st, &t);

	CHECK(t.switches.background_host);
	CHECK(spawn_in_background(&t.switches, &(struct spawn_request){ 0 }, false));
	agent_tree_release(&t);
	agent_tree_remove_dirs(&t);
	close_stage(&st);
}

TEST(a_main_agent_that_fails_at_a_step_is_down_again)
{
	static const struct {
		const char *step, *option, *value, *why;
	} rows[] = {
		{ "model", "model", "opus", "opus" },
		{ "cwd", "add-dir", "/nonexistent", "--add-dir /nonexistent: not a directory" },
		{ "prompt", NULL, NULL, "agent keeper" },
		{ "tools", "tools", "Read,Nope", "--tools: no such tool: 'Nope'" },
		{ "permission", "permission-mode", "auto", "auto is disabled by" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct life_stage st;
		struct agent_tree t;
		struct err err = { 0 };
		open_stage(&st);
		if (rows[i].option) {
			set_option(&st, rows[i].option, rows[i].value);
		} else {
			put_agent(&st, "keeper", "memory: project\n");
			file_put(path_join(&st.arena, st.dir, ".claude/agent-memory"), STR("in the way"));
		}
		open_tree(&st, &t);
		if (!rows[i].option) {
			catalog_refresh(st.services->registry);
			t.main.definition = agent_registry_get(st.services->registry, STR("keeper"), &err);
			CHECK(t.main.definition != NULL);
		}

		CHECK(agent_come_up(&t.main, &err) < 0);
		if (!strstr(err.text, rows[i].why))
			fail_msg("%s: %s", rows[i].step, err.text);
		check_down(&t.main);
		CHECK(t.main.query.config.loop == NULL);
		agent_tree_release(&t);
		agent_tree_remove_dirs(&t);
		close_stage(&st);
	}
}

static void start_call(struct tool_call *call)
{
	struct life_stage *st = call->tool->ctx;

	agent_spawn(&st->session->tree.main, &st->request, call);
}

static void allow(struct tool_gate *gate, struct tool_call *call)
{
	(void)gate;
	tool_call_decided(call, TOOL_ALLOW, STR(""));
}

static void on_done(struct tool_call *call)
{
	struct life_stage *st = call->tool->ctx;

	st->call_over = true;
	loop_stop(st->services->loop);
}

/* Calls for a child and waits for the call's end; its result into out. */
static void call_child(struct life_stage *st, struct buf *out)
{
	struct tool tool = { .name = "Agent", .definition = "{}", .ctx = st, .start = start_call };
	struct tool_gate gate = { .ask = allow };
	struct agent_tree *t = &st->session->tree;
	struct tool_call *call = tool_call_new(&t->main.env, &gate, &tool, STR("toolu_1"), STR("Agent"), STR("{}"));

	call->done = on_done;
	st->call_over = false;
	tool_call_start(call);
	while (!st->call_over)
		loop_run(st->services->loop);
	buf_add(out, call->result.p, call->result.n);
	tool_call_free(call);
	CHECK(t->alive == NULL);
	CHECK_INT(t->alive_count, 0);
	CHECK_INT(t->main.children, 0);
	CHECK_INT(t->slots.taken + t->slots.waiting, 0);
}

TEST(a_child_that_fails_at_a_step_leaves_nothing)
{
	static const struct {
		const char *step, *fields;
		struct spawn_request request;
		const char *why;
	} rows[] = {
		{ "record", "", { .type = "worker" }, "meta.json" },
		{ "worktree",
		  "",
		  { .type = "worker", .isolation = "remote" },
		  "isolation \"remote\" is not available" },
		{ "worktree", "isolation: worktree\n", { .type = "worker" }, "git" },
		{ "prompt", "memory: project\n", { .type = "worker" }, "agent-memory" },
		{ "tools", "tools: Nope\n", { .type = "worker" }, "zero tools" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf result = { 0 };
		struct life_stage st;
		open_stage(&st);
		put_agent(&st, "worker", rows[i].fields);
		struct agent_tree *t = &st.session->tree;
		if (!strcmp(rows[i].step, "record"))
			file_put(t->session_dir, STR("in the way"));
		if (!strcmp(rows[i].step, "prompt"))
			file_put(path_join(&st.arena, st.dir, ".claude/agent-memory"), STR("in the way"));
		st.request = rows[i].request;
		st.request.description = STR("d");
		st.request.prompt = STR("go");

		call_child(&st, &result);
		if (!result.n || !strstr(result.p, rows[i].why))
			fail_msg("%s: %s", rows[i].step, result.n ? result.p : "");
		CHECK_INT(st.started, 0);
		CHECK_INT(t->records->state, AGENT_FAILED);
		CHECK(t->records->live == NULL);
		if (!strcmp(rows[i].step, "record"))
			unlink(t->session_dir);
		close_stage(&st);
	}
}

static void look_at_child(struct life_stage *st, struct agent *a)
{
	const struct agent_tree *t = &st->session->tree;

	CHECK(a->parent == &t->main && a->origin == NULL);
	CHECK_INT(t->slots.taken, 1);
	CHECK(a->query.config.head != t->main.query.config.head);
	CHECK(a->record->transcript != NULL && a->from.session_id == NULL);
}

TEST(a_child_comes_up_by_the_table_and_gives_its_slot_back)
{
	AUTO_BUF struct buf result = { 0 };
	struct life_stage st;
	open_stage(&st);
	put_agent(&st, "worker", "");
	st.on_started = look_at_child;
	st.request = (struct spawn_request){ .type = "worker", .description = STR("d"), .prompt = STR("go") };

	call_child(&st, &result);
	CHECK_INT(st.started, 1);
	CHECK(strstr(result.p, "done") != NULL);
	CHECK_INT(st.session->tree.records->state, AGENT_COMPLETED);
	close_stage(&st);
}

static void look_at_fork(struct life_stage *st, struct agent *a)
{
	const struct agent *m = &st->session->tree.main;
	struct context_measure counted = { 0 };

	/* A thousand forks do not read what they share a thousand times. */
	context_measure_blocks(&counted, &a->query.transcript, transcript_count(&m->query.transcript));
	CHECK_INT(a->query.measured.prompt_blocks, counted.prompt_blocks);
	CHECK_INT(a->query.measured.text, counted.text);
	CHECK(counted.text > 0);
	CHECK(a->is_fork && a->origin == m);
	CHECK(a->query.config.head == m->query.config.head);
	CHECK_INT(a->tools.count, m->tools.count);
	CHECK_CSTR(a->model, m->model);
	CHECK_INT(transcript_count(&a->query.transcript), transcript_count(&m->query.transcript));
	CHECK_CSTR(a->from.session_id, st->session->id);
	CHECK_CSTR(a->from.uuid, m->recorder.last);
}

TEST(a_fork_begins_with_head_tools_and_history_of_its_parent)
{
	AUTO_BUF struct buf result = { 0 };
	struct life_stage st;
	open_stage(&st);
	CHECK_INT(cadre_prompt(st.session, "hello", 5, NULL, 0), 0);
	cadre_run(st.c);
	CHECK(transcript_count(&st.session->tree.main.query.transcript) > 1);
	st.on_started = look_at_fork;
	st.request = (struct spawn_request){ .type = "fork", .description = STR("d"), .prompt = STR("go") };

	call_child(&st, &result);
	CHECK_INT(st.started, 1);
	CHECK(strstr(result.p, "done") != NULL);
	close_stage(&st);
}

TEST(a_forked_session_comes_up_by_the_same_table_and_outlives_its_origin)
{
	struct life_stage st;
	struct cadre_session *fork;
	open_stage(&st);
	CHECK_INT(cadre_session_set(st.session, "max-thinking-tokens", "2000", NULL, 0), 0);
	CHECK_INT(cadre_prompt(st.session, "hello", 5, NULL, 0), 0);
	cadre_run(st.c);
	uint32_t said = transcript_count(&st.session->tree.main.query.transcript);

	CHECK_INT(cadre_fork(st.session, NULL, NULL, &fork, NULL, 0), 0);
	const struct agent *a = &fork->tree.main;
	CHECK(a->origin == NULL);
	CHECK_INT(a->step, life_count);
	CHECK(a->query.config.head == st.session->tree.main.query.config.head);
	CHECK_INT(transcript_count(&a->query.transcript), said);
	CHECK_CSTR(a->from.session_id, st.session->id);
	cadre_close(TAKE(st.session));
	cadre_run(st.c);

	CHECK_CSTR(a->env.dirs[0], st.dir);
	CHECK_INT(cadre_session_set(fork, "effort", "low", NULL, 0), 0); /* its head is written again */
	CHECK_INT(cadre_prompt(fork, "more", 4, NULL, 0), 0);
	cadre_run(st.c);
	CHECK_INT(transcript_count(&a->query.transcript), said + 2);
	st.session = fork;
	close_stage(&st);
}

struct looking {
	struct kick kick;
	struct life_stage *stage;
	bool found[2];
	uint64_t time_ms[2];
	unsigned turns;
};

/* Two turns of the loop in the same millisecond; in between the file appears. */
static void look(struct kick *kick)
{
	struct looking *l = CONTAINER_OF(kick, struct looking, kick);
	struct loop *loop = l->stage->services->loop;
	AUTO_BUF struct buf why = { 0 };
	struct agent_definition *d = agent_find_definition(&l->stage->session->tree.main, "late", &why);

	l->found[l->turns] = d;
	l->time_ms[l->turns] = loop_now_ms(loop);
	agent_unref(d);
	if (l->turns++) {
		loop_stop(loop);
		return;
	}
	put_agent(l->stage, "late", "");
	loop_kick(loop, kick);
}

TEST(an_agent_file_is_found_in_the_next_turn_of_the_loop_of_the_same_millisecond)
{
	struct life_stage st;
	open_stage(&st);

	for (int i = 0; i < 1000; i++) { /* until both turns fall into one */
		struct looking l = { .kick.step = look, .stage = &st };
		unlink(arena_printf(&st.arena, "%s/.claude/agents/late.md", st.dir));
		loop_kick(st.services->loop, &l.kick);
		loop_run(st.services->loop);
		CHECK(l.found[1]);
		if (l.time_ms[0] == l.time_ms[1])
			break;
	}
	close_stage(&st);
}

int test_life(void)
{
	return RUN_TESTS(T(the_steps_have_one_order), T(a_main_agent_comes_up_by_the_table_and_goes_down_by_it),
			 T(a_host_may_ask_for_agents_in_the_background),
			 T(a_main_agent_that_fails_at_a_step_is_down_again),
			 T(a_child_that_fails_at_a_step_leaves_nothing),
			 T(a_child_comes_up_by_the_table_and_gives_its_slot_back),
			 T(a_fork_begins_with_head_tools_and_history_of_its_parent),
			 T(a_forked_session_comes_up_by_the_same_table_and_outlives_its_origin),
			 T(an_agent_file_is_found_in_the_next_turn_of_the_loop_of_the_same_millisecond));
}
