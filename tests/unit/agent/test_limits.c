/* SPDX-License-Identifier: MIT
 * test_limits.c - random trees of agents that really live: children, forks, members of a team, workers of a coordinator, in the
 * background, in worktrees; woken by a message when their ancestors have ended, parked, suspended, in a resumed session. At each
 * start, every call that the definition of one of its ancestors forbids must be denied. The test knows the tree by itself. */
#include "unit.h"
#include <sys/stat.h>
#include <sys/xattr.h>
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "agents/life/life.h"
#include "agents/subagent/subagent.h"
#include "product/session/session.h"
#include "tests.h"

enum { DEFINITIONS = 24, NODES = 160, ROOTS = 2, WAKES = 3, TREES_OF_SESSION = 8, DEEPEST = 4 };
enum kind { KIND_CHILD, KIND_BACKGROUND, KIND_FORK, KIND_WORKTREE, KIND_MEMBER, KIND_COUNT };
enum session_kind { SESSION_PLAIN, SESSION_TEAM, SESSION_COORDINATOR, SESSION_KINDS };

static const struct permission_limit limits[] = {
	{ "Bash", "rm *" },       { "Bash", "git push:*" },       { "Bash", "echo:*" },  { "Edit", "src/**" },
	{ "Read", ".env" },       { "WebFetch", "domain:x.org" }, { "Skill", "deploy" }, { "Bash", "ls:*" },
	{ "Read", "secrets/**" }, { "Write", "out.txt" },         { "Edit", "docs/**" }, { "Bash", "broken (" },
};

/* Inputs with ' for ", and @ for the checkout */
static const struct {
	struct tool tool;
	const char *input;
	bool writes;
} calls[] = {
	{ { .name = "Bash", .definition = "{}", .flags = TOOL_CONFINED }, "{'command':'rm f'}", false },
	{ { .name = "Bash", .definition = "{}", .flags = TOOL_CONFINED }, "{'command':'git push origin'}", false },
	{ { .name = "Bash", .definition = "{}", .flags = TOOL_CONFINED }, "{'command':'echo x'}", false },
	{ { .name = "Write", .definition = "{}", .flags = TOOL_EDITS },
	  "{'file_path':'@/src/new','content':''}",
	  true },
	{ { .name = "Write", .definition = "{}", .flags = TOOL_EDITS },
	  "{'file_path':'@/out.txt','content':''}",
	  true },
	{ { .name = "Edit", .definition = "{}", .flags = TOOL_EDITS }, "{'file_path':'@/src/app.ts'}", true },
	{ { .name = "Read", .definition = "{}", .flags = TOOL_READ_ONLY }, "{'file_path':'@/.env'}", false },
	{ { .name = "Read", .definition = "{}", .flags = TOOL_READ_ONLY }, "{'file_path':'@/secrets/k'}", false },
	{ { .name = "WebFetch", .definition = "{}" }, "{'url':'https://x.org/'}", false },
	{ { .name = "Skill", .definition = "{}" }, "{'skill':'deploy'}", false },
};

struct node {
	char id[AGENT_ID_LEN + 1];
	size_t parent, definition; /* definition: DEFINITIONS: a fork has none */
	bool worktree, plans;
	size_t by; /* a child that has continued it, until it is up; 0: none */
};

struct grove {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct cadre *c;
	struct cadre_session *session; /* NULL: it was closed */
	char id[UUID_LEN + 1];         /* of the session */
	enum session_kind kind;
	uint64_t dice;
	const char *modes[DEFINITIONS];
	bool forbids[DEFINITIONS][COUNT_OF(calls)];
	const struct json *inputs[COUNT_OF(calls)];
	struct node nodes[NODES]; /* 0 is the main agent */
	size_t count, wanted;     /* wanted: so many agents this tree is to have yet */
	size_t woken;             /* this one gets a message, and the session is closed, when a member waits; 0: none */
	unsigned close_after;     /* so many starts; 0: the session is not closed meanwhile */
	struct kick close;
	struct tool_gate gate;
	size_t calls, open; /* calls: so many were made; open: of these have not ended */
	size_t started[KIND_COUNT], refused, passed, denied;
};

static size_t roll(struct grove *g, size_t sides)
{
	g->dice ^= g->dice << 13;
	g->dice ^= g->dice >> 7;
	g->dice ^= g->dice << 17;
	return (size_t)(g->dice % sides);
}

static const char *spell(struct grove *g, const char *text)
{
	AUTO_BUF struct buf out = { 0 };

	for (; *text; text++) {
		if (*text == '@')
			buf_addstr(&out, g->dir);
		else
			buf_addch(&out, *text == '\'' ? '"' : *text);
	}
	return arena_str(&g->arena, buf_str(&out)).p;
}

static enum permission_decision decide(const struct permission *p, const struct tool_use *use,
				       enum permission_step *step)
{
	struct permission_verdict v = { 0 };

	permission_explain(p, *use, PERMISSION_HINT_ALLOW, &v);
	permission_verdict_release(&v);
	*step = v.step;
	return v.decision;
}

/* One definition as JSON, and what it forbids if it stands alone below an agent that may do anything. */
static void define(struct grove *g, size_t at, struct json_out *w)
{
	static const char *const tools[] = { "Read",     "Write", "Edit",  "Bash",
					     "WebFetch", "Skill", "Agent", "SendMessage" };
	static const char *const modes[] = { NULL, NULL, NULL, NULL, "plan", "bypassPermissions" };
	const char *dirs[] = { g->dir, NULL };
	struct tool_env env = { .cwd = g->dir, .root = g->dir, .dirs = dirs };
	struct permission top = { .mode = PERMISSION_BYPASS, .can_ask = true, .root = g->dir }, alone;
	struct permission_limit only[2], never[2];
	size_t only_count = roll(g, 3) ? 0 : 1 + roll(g, 2), never_count = roll(g, 3);

	for (size_t i = 0; i < 2; i++) {
		only[i] = limits[roll(g, COUNT_OF(limits) - 1)];
		never[i] = limits[roll(g, COUNT_OF(limits) - 1)];
	}
	g->modes[at] = modes[roll(g, COUNT_OF(modes))];
	json_key(w, arena_printf(&g->arena, "d%zu", at));
	json_putf(w, "{description:'d', prompt:'p', permissionMode?:'%s'", g->modes[at]);
	if (only_count) {
		json_kopen(w, "tools", '[');
		for (size_t i = 0; i < COUNT_OF(tools); i++) {
			bool limited = false;
			for (size_t k = 0; k < only_count; k++)
				limited = limited || !strcmp(tools[i], only[k].tool);
			if (!limited)
				json_put_cstr(w, tools[i]);
		}
		for (size_t i = 0; i < only_count; i++)
			json_put_cstr(w, arena_printf(&g->arena, "%s(%s)", only[i].tool, only[i].specifier));
		json_close(w);
	}
	json_kopen(w, "disallowedTools", '[');
	for (size_t i = 0; i < never_count; i++)
		json_put_cstr(w, arena_printf(&g->arena, "%s(%s)", never[i].tool, never[i].specifier));
	json_putf(w, "]}");
	permission_derive(&alone, &top,
			  &(struct permission_birth){
				  .only = only, .only_count = only_count, .never = never, .never_count = never_count });
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct tool_use use = {
			.tool = &calls[i].tool, .input = g->inputs[i], .env = &env, .flags = calls[i].tool.flags
		};
		enum permission_step step;
		g->forbids[at][i] = decide(&alone, &use, &step) == PERMISSION_DENY && step <= PERMISSION_STEP_LIMIT;
	}
	permission_release(&alone);
}

/* A call that an agent is to make, as a tool of its own: it ends up in the real one. */
struct wish {
	struct tool tool;
	struct grove *grove;
	const struct tool *real;
	enum kind kind;
	size_t definition, to; /* to: of a message */
	const char *mode;
};

static size_t node_of(const struct grove *g, const char *id)
{
	for (size_t i = 1; id[0] && i < g->count; i++)
		if (!strcmp(g->nodes[i].id, id))
			return i;
	return 0;
}

/* The Agent tool has made a record, unless it refused. Of a worktree, the directory is there already. */
static void start_agent(struct tool_call *call)
{
	struct wish *wish = call->tool->ctx;
	struct grove *g = wish->grove;
	const struct agent *parent = call->env->owner;
	const struct agent_tree *t = parent->tree;
	unsigned before = t->record_count;

	wish->real->start(call);
	if (t->record_count == before)
		return;
	struct agent_record *r = t->records;
	while (r->next)
		r = r->next;
	CHECK(g->count < NODES);
	struct node *n = &g->nodes[g->count++];
	*n = (struct node){ .parent = node_of(g, parent->who.id),
			    .definition = wish->definition,
			    .worktree = wish->kind == KIND_WORKTREE,
			    .plans = wish->mode != NULL };
	snprintf(n->id, sizeof n->id, "%s", r->id);
	g->started[wish->kind]++;
	if (!n->worktree)
		return;
	struct worktree *w = xcalloc(1, sizeof *w);
	w->path = arena_printf(&w->memory, "%s/trees/%zu", g->dir, g->count);
	CHECK_INT(mkdir(w->path, 0700), 0);
	(void)setxattr(w->path, "user.cadre.agent", r->id, strlen(r->id), 0);
	w->root = w->origin = arena_strdup(&w->memory, g->dir);
	w->agent_id = arena_strdup(&w->memory, r->id);
	w->branch = w->base = "";
	w->by_hook = r->hook_made = true;
	r->request.isolation = "worktree"; /* without it, where none was made yet, git is asked and refuses */
	r->live->worktree = w;
}

static void start_real(struct tool_call *call)
{
	const struct wish *wish = call->tool->ctx;
	struct grove *g = wish->grove;

	wish->real->start(call);
	if (call->result.n && strstr(call->result.p, "Resuming agent"))
		g->nodes[wish->to].by = node_of(g, ((const struct agent *)call->env->owner)->who.id);
}

static void allow(struct tool_gate *gate, struct tool_call *call)
{
	tool_call_decided(call, TOOL_ALLOW, STR(""));
}

static void on_done(struct tool_call *call)
{
	struct grove *g = ((const struct wish *)call->tool->ctx)->grove;

	g->refused += buf_str(&call->result).p &&
		      (strstr(call->result.p, "cannot continue") || strstr(call->result.p, "does not continue"));
	g->open--;
	tool_call_free(call);
	loop_stop(cadre_services(g->c)->loop);
}

/* Until no agent works any more; members of a team may wait. */
static void settle(struct grove *g)
{
	struct services *sv = cadre_services(g->c);

	do {
		cadre_run(g->c);
		const struct agent_tree *t = g->session ? &g->session->tree : NULL;
		if (!g->open && !sv->busy && !(t && t->alive_count > t->idle_count))
			return;
		loop_run(sv->loop);
	} while (true);
}

static void make_call(struct grove *g, struct agent *a, const char *tool, struct wish wish, const char *input)
{
	struct wish *w = arena_alloc(&g->arena, sizeof *w);
	char id[32];

	*w = wish;
	w->grove = g;
	for (size_t i = 0; i < a->tree->pool.count; i++)
		if (!strcmp(a->tree->pool.tools[i]->name, tool))
			w->real = a->tree->pool.tools[i];
	CHECK(w->real != NULL);
	w->tool = *w->real;
	w->tool.flags_for = NULL;
	w->tool.ctx = w;
	w->tool.start = strcmp(tool, "Agent") ? start_real : start_agent;
	snprintf(id, sizeof id, "toolu_%zu", ++g->calls);
	struct tool_call *call =
		tool_call_new(&a->env, &g->gate, &w->tool, str_from(id), str_from(tool), str_from(input));
	call->done = on_done;
	g->open++;
	tool_call_start(call);
}

static void spawn(struct grove *g, struct agent *a)
{
	struct wish wish = { .kind = roll(g, KIND_MEMBER), .definition = roll(g, DEFINITIONS) };
	const char *name = "";

	if (g->kind == SESSION_COORDINATOR && wish.kind == KIND_FORK)
		wish.kind = KIND_CHILD;
	if (g->kind == SESSION_TEAM && !a->parent && roll(g, 2)) {
		wish.kind = KIND_MEMBER;
		wish.mode = roll(g, 3) ? NULL : "plan";
		name = arena_printf(&g->arena, ", \"name\": \"n%zu\"%s", g->calls,
				    wish.mode ? ", \"mode\": \"plan\"" : "");
	}
	const char *type = arena_printf(&g->arena, "d%zu", wish.definition);
	if (wish.kind == KIND_FORK) {
		wish.definition = DEFINITIONS;
		type = "fork";
	}
	g->wanted--;
	make_call(
		g, a, "Agent", wish,
		arena_printf(
			&g->arena,
			"{\"description\":\"d\",\"prompt\":\"go\",\"subagent_type\":\"%s\",\"run_in_background\":%s%s}",
			type, wish.kind == KIND_BACKGROUND ? "true" : "false", name));
}

static bool is_forbidden(const struct grove *g, size_t at, size_t call)
{
	for (; at; at = g->nodes[at].parent) {
		const struct node *n = &g->nodes[at];
		if ((n->definition < DEFINITIONS && g->forbids[n->definition][call]) ||
		    (n->worktree && calls[call].writes))
			return true;
	}
	return false;
}

/* The nearest definition with a mode decides, but plan mode of a call holds for all below it. */
static bool must_plan(const struct grove *g, size_t at)
{
	bool decided = false, plans = false;

	for (; at; at = g->nodes[at].parent) {
		const struct node *n = &g->nodes[at];
		const char *mode = n->definition < DEFINITIONS ? g->modes[n->definition] : NULL;
		plans = plans || n->plans || (!decided && mode && !strcmp(mode, "plan"));
		decided = decided || mode;
	}
	return plans;
}

static void check_agent(struct grove *g, const struct agent *a)
{
	size_t at = node_of(g, a->who.id);

	CHECK(at > 0);
	size_t by = g->nodes[at].by;
	g->nodes[at].by = 0;
	if (must_plan(g, at) && permission_mode(&a->permission) != PERMISSION_PLAN)
		fail_msg("agent %zu of kind %d is in mode %s", at, g->kind,
			 permission_mode_name(permission_mode(&a->permission)));
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct tool_use use = {
			.tool = &calls[i].tool, .input = g->inputs[i], .env = &a->env, .flags = calls[i].tool.flags
		};
		enum permission_step step;
		bool denied = decide(&a->permission, &use, &step) == PERMISSION_DENY;
		g->denied += denied;
		g->passed += !denied;
		if (!denied && (is_forbidden(g, at, i) || is_forbidden(g, by, i)))
			fail_msg("%s %s passes in a session of kind %d", calls[i].tool.name, calls[i].input, g->kind);
	}
}

static void on_close(struct kick *kick)
{
	struct grove *g = CONTAINER_OF(kick, struct grove, close);

	if (g->session)
		cadre_close(TAKE(g->session));
}

static void wake(struct grove *g, struct agent *by, size_t at)
{
	make_call(g, by, "SendMessage", (struct wish){ .to = at },
		  arena_printf(&g->arena, "{\"to\":\"%s\",\"message\":\"more\",\"summary\":\"m\"}", g->nodes[at].id));
}

static void on_event(const struct cadre_event *e, void *data)
{
	struct grove *g = data;
	enum event_kind kind = e->event->kind;

	loop_stop(cadre_services(g->c)->loop);
	if ((kind != EVENT_AGENT_STARTED && kind != EVENT_MEMBER_STATE) || !e->event->agent)
		return;
	struct agent *a = agent_tree_find(&e->session->tree, e->event->agent->id);
	if (!a || !a->permission.parent)
		return;
	check_agent(g, a);
	if (g->woken && g->woken < g->count && a->phase == CHILD_WAITS) {
		wake(g, &e->session->tree.main, g->woken);
		g->close_after = 1;
	}
	if (kind == EVENT_AGENT_STARTED && a->who.depth < DEEPEST)
		for (size_t n = g->woken ? 1 : roll(g, 3); n && g->wanted; n--)
			spawn(g, a);
	if (kind == EVENT_AGENT_STARTED && !g->woken && !roll(g, 4))
		wake(g, a, 1 + roll(g, g->count - 1));
	if (g->close_after && !--g->close_after)
		loop_kick(cadre_services(g->c)->loop, &g->close);
}

static void set_option(struct grove *g, const char *option, const char *value)
{
	char why[256] = "";

	if (cadre_set(g->c, option, value, why, sizeof why) < 0)
		fail_msg("%s: %s", option, why);
}

static void open_session(struct grove *g)
{
	char why[256] = "";

	if (cadre_open(g->c, on_event, g, &g->session, why, sizeof why) < 0)
		fail_msg("%s", why);
	snprintf(g->id, sizeof g->id, "%s", g->session->id);
	struct tree_switches *s = &g->session->tree.switches;
	s->teams = s->implicit_team = g->kind == SESSION_TEAM;
	s->coordinator = g->kind == SESSION_COORDINATOR;
}

static void grove_open(struct grove *g)
{
	static const char *const files[] = { "f", ".env", "secrets/k", "src/app.ts", "trees/f", "config/f" };
	AUTO_BUF struct buf agents = { 0 };
	struct json_out w = json_out(&agents);
	char why[256] = "";

	folder_make(g->dir);
	for (size_t i = 0; i < COUNT_OF(files); i++)
		file_put(path_join(&g->arena, g->dir, files[i]), STR("x\n"));
	file_put(path_join(&g->arena, g->dir, "model.txt"), STR("rule\n  text done\n"));
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct json_reader reader = { 0 };
		const char *text = spell(g, calls[i].input);
		CHECK_INT(json_parse(&reader, text, strlen(text), &g->inputs[i], NULL), 0);
		g->inputs[i] = (const void *)arena_dup(&g->arena, reader.nodes, reader.used * sizeof *reader.nodes);
		json_reader_release(&reader);
	}
	json_open(&w, '{');
	for (size_t i = 0; i < DEFINITIONS; i++)
		define(g, i, &w);
	json_close(&w);
	g->gate.ask = allow;
	g->close.step = on_close;
	g->c = cadre_new(why, sizeof why);
	set_option(g, "provider", "scripted");
	set_option(g, "scenario", path_join(&g->arena, g->dir, "model.txt"));
	set_option(g, "config-dir", path_join(&g->arena, g->dir, "config"));
	set_option(g, "cwd", g->dir);
	set_option(g, "setting-sources", "user");
	set_option(g, "permission-mode", "bypassPermissions");
	set_option(g, "settings", "{\"subagents\":{\"maxDepth\":8,\"maxTotal\":100000}}");
	set_option(g, "agents", agents.p);
	g->count = 1;
	open_session(g);
	CHECK_INT(cadre_prompt(g->session, "hello", 5, NULL, 0), 0); /* what has no line cannot be resumed */
	settle(g);
}

static void grove_close(struct grove *g)
{
	if (g->session)
		cadre_close(TAKE(g->session));
	settle(g);
	CHECK_INT(g->open, 0);
	cadre_free(g->c);
	folder_remove(g->dir);
	arena_release(&g->arena);
}

/* A session that is closed meanwhile suspends its agents; they continue when it is resumed. */
static void session_again(struct grove *g)
{
	if (g->session)
		cadre_close(TAKE(g->session));
	settle(g);
	g->close_after = 0;
	set_option(g, "resume", g->id);
	open_session(g);
	CHECK_INT(cadre_prompt(g->session, "again", 5, NULL, 0), 0);
	settle(g);
}

static void grow_tree(struct grove *g)
{
	if (!g->session)
		session_again(g);
	g->wanted = 2 + roll(g, 7);
	g->close_after = roll(g, 4) ? 0 : 2 + (unsigned)roll(g, 3);
	for (size_t n = 1 + roll(g, ROOTS); n; n--) /* it is closed in cadre_run() only */
		spawn(g, &g->session->tree.main);
	settle(g);
	for (size_t i = 0; i < WAKES; i++) {
		if (!g->session || !roll(g, 16))
			session_again(g);
		g->wanted = roll(g, 3);
		wake(g, &g->session->tree.main, 1 + roll(g, g->count - 1));
		settle(g);
	}
}

/* CADRE_TREES=100000 for all of them; most of the time they wait, so several processes share them: CADRE_TREES_FROM=12504 CADRE_TREES=25008. */
TEST(in_any_tree_of_living_agents_no_call_passes_that_an_ancestor_forbids)
{
	const char *wanted = getenv("CADRE_TREES"), *begin = getenv("CADRE_TREES_FROM");
	size_t trees = wanted ? strtoul(wanted, NULL, 10) : 48, from = begin ? strtoul(begin, NULL, 10) : 0;
	struct grove sum = { .dice = 88172645463325252u };
	static struct grove g;

	setenv("IS_SANDBOX", "1", 1);
	for (size_t n = from; n < trees; n += TREES_OF_SESSION) {
		g = (struct grove){ .dice = sum.dice + n * 0x9e3779b97f4a7c15u,
				    .kind = n / TREES_OF_SESSION % SESSION_KINDS };
		grove_open(&g);
		for (size_t i = 0; i < TREES_OF_SESSION; i++)
			grow_tree(&g);
		for (size_t i = 0; i < KIND_COUNT; i++)
			sum.started[i] += g.started[i];
		sum.refused += g.refused;
		sum.denied += g.denied;
		sum.passed += g.passed;
		grove_close(&g);
		if ((n + TREES_OF_SESSION) % 10000 == 0)
			print_message("# %zu trees, %zu calls denied\n", n + TREES_OF_SESSION, sum.denied);
	}
	print_message(
		"# %zu trees: %zu children, %zu in the background, %zu forks, %zu worktrees, %zu members; %zu refused, "
		"%zu calls passed, %zu denied\n",
		trees - from, sum.started[KIND_CHILD], sum.started[KIND_BACKGROUND], sum.started[KIND_FORK],
		sum.started[KIND_WORKTREE], sum.started[KIND_MEMBER], sum.refused, sum.passed, sum.denied);
	for (size_t i = 0; i < KIND_COUNT; i++)
		CHECK(sum.started[i] > 0);
}

/* It is idle when a child of it, which had ended, gets a message. */
TEST(a_member_that_waits_stays_as_long_as_a_child_of_it_works)
{
	static struct grove g;

	setenv("IS_SANDBOX", "1", 1);
	g = (struct grove){ .dice = 88172645463325252u, .kind = SESSION_TEAM, .woken = 2, .wanted = 1 };
	grove_open(&g);
	make_call(&g, &g.session->tree.main, "Agent", (struct wish){ .kind = KIND_MEMBER },
		  "{\"description\":\"d\",\"prompt\":\"go\",\"subagent_type\":\"d0\",\"name\":\"m\"}");
	settle(&g);
	CHECK(!g.session);
	CHECK_INT(g.count, 3);
	grove_close(&g);
}

int test_limits(void)
{
	return RUN_TESTS(T(a_member_that_waits_stays_as_long_as_a_child_of_it_works),
			 T(in_any_tree_of_living_agents_no_call_passes_that_an_ancestor_forbids));
}
