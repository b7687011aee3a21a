/* SPDX-License-Identifier: MIT
 * hook_model.c - a hook's question is a small query of its own: no transcript on disk, no hooks, and for an agent three tools
 * that only read. What the asking agent may not read, it may not read either. */
#include "app/hook_model.h"
#include "app/app_int.h"
#include "model/catalog.h"

enum { MOST_AGENT_TURNS = 50, MOST_ANSWER_TOKENS = 4096 };

static const char rules[] =
	"You check one event in the run of another agent. The message says what to check and shows the "
	"event as JSON. Answer with one JSON object and nothing else: {\"ok\": true} if all is as it "
	"should be, otherwise {\"ok\": false, \"reason\": \"...\"} with a reason that the other agent can "
	"act on. If what is wanted cannot be done at all, add \"impossible\": true.";

static const char *const reading_tools[] = { "Glob", "Grep", "Read" };

struct runner {
	struct hook_runner hooks;
	struct cadre *cadre;
};

/* Whoever fired need not wait for a hook that was cancelled: nothing of the agent or the session is kept here but their ids. */
struct question {
	struct hook_call *call;
	struct cadre *cadre;
	struct arena arena;
	const char *session_id, *agent_id, *model;
	struct tool_set tools;
	struct tool_env env;
	struct tool_gate gate;
	struct record_context record;
	struct recorder recorder;
	struct query query;
};

static struct actor *asker(const struct question *q)
{
	struct cadre_session *s = app_session(q->cadre, q->session_id);

	return s ? agent_tree_actor(&s->tree, q->agent_id) : NULL;
}

/* ---- what it may do ------------------------------------------------------------------------------------------ */

static void on_ask(struct tool_gate *gate, struct tool_call *call)
{
	struct question *q = CONTAINER_OF(gate, struct question, gate);
	const struct actor *a = asker(q);
	AUTO_BUF struct buf reason = { 0 };

	if (a && permission_decide(&a->permission, call, &reason) == PERMISSION_ALLOW)
		tool_call_decided(call, TOOL_ALLOW, STR(""));
	else
		tool_call_decided(call, TOOL_DENY,
				  reason.n ? buf_str(&reason) : STR("It would have to be asked about."));
}

static const char *const *copy_dirs(struct question *q, const char *const *dirs)
{
	size_t n = 0;

	while (dirs[n])
		n++;
	const char **list = arena_calloc(&q->arena, (n + 1) * sizeof *list);
	for (size_t i = 0; i < n; i++)
		list[i] = arena_strdup(&q->arena, dirs[i]);
	return list;
}

static void give_tools(struct question *q)
{
	for (size_t i = 0; tool_table[i]; i++)
		for (size_t k = 0; k < COUNT_OF(reading_tools); k++)
			if (!strcmp(tool_table[i]->name, reading_tools[k]))
				tool_set_add(&q->tools, tool_table[i]);
	tool_kit.open(&q->env);
}

static void take_place(struct question *q, const struct tool_env *from)
{
	q->env = (struct tool_env){ .loop = q->cadre->loop,
				    .spawner = q->cadre->spawner,
				    .cwd = arena_strdup(&q->arena, from->cwd),
				    .root = arena_strdup(&q->arena, from->root),
				    .dirs = copy_dirs(q, from->dirs),
				    .session_id = q->session_id,
				    .envp = from->envp };
}

/* ---- the query ----------------------------------------------------------------------------------------------- */

static void on_usage(void *data, const struct usage *usage)
{
	const struct question *q = data;
	struct actor *a = asker(q);

	if (a)
		agent_tree_spend(a->tree, &a->budget, q->model, usage);
}

static void question_free(struct question *q)
{
	if (q->query.config.loop)
		query_release(&q->query);
	tool_kit.close(&q->env);
	tool_set_release(&q->tools);
	arena_release(&q->arena);
	free(q);
}

static void on_end(struct query *query, void *data)
{
	struct question *q = data;
	bool failed = query->end != QUERY_DONE;
	struct str why = query->failure.text[0] ? str_from(query->failure.text) : STR("the model gave no answer");

	q->call->state = NULL;
	hook_call_finish(q->call, failed, failed ? why : buf_str(&query->text));
	question_free(q);
}

static struct head *make_head(struct question *q)
{
	AUTO_BUF struct buf bytes = { 0 };
	const char *tools[COUNT_OF(reading_tools) + 1] = { 0 };

	for (size_t i = 0; i < q->tools.count; i++)
		tools[i] = q->tools.tools[i]->definition;
	head_write(&bytes, &(struct head_spec){ .model = q->model,
						.max_tokens = MOST_ANSWER_TOKENS,
						.system = str_from(rules),
						.tools = tools });
	return head_intern(&q->cadre->heads, buf_str(&bytes));
}

static void open_query(struct question *q, unsigned max_turns)
{
	struct cadre *c = q->cadre;
	struct head *head = make_head(q);

	q->gate.ask = on_ask;
	q->record = (struct record_context){ .session_id = q->session_id, .cwd = "", .git_branch = "" };
	q->recorder = (struct recorder){ .store = &c->store, .context = &q->record };
	query_init(&q->query, &(struct query_config){ .loop = c->loop,
						      .endpoint = c->endpoint,
						      .head = head,
						      .tools = &q->tools,
						      .env = &q->env,
						      .gate = &q->gate,
						      .recorder = &q->recorder,
						      .session_id = q->session_id,
						      .agent = "hook",
						      .model = q->model,
						      .max_turns = max_turns,
						      .on_usage = on_usage,
						      .on_end = on_end,
						      .data = q });
	head_unref(head);
}

/* ---- the runner ---------------------------------------------------------------------------------------------- */

static const char *small_model(void)
{
	const char *name = getenv("ANTHROPIC_SMALL_FAST_MODEL");

	return name && name[0] ? name : "haiku";
}

static struct question *question_new(struct runner *r, struct hook_call *call)
{
	struct question *q = xcalloc(1, sizeof *q);

	q->call = call;
	q->cadre = r->cadre;
	q->session_id = arena_strdup(&q->arena, call->session_id);
	q->agent_id = arena_strdup(&q->arena, call->agent_id ? call->agent_id : "");
	return q;
}

static int prepare(struct question *q, struct err *err)
{
	const struct hook *hook = q->call->hook;
	const struct actor *a = asker(q);

	if (!a)
		return err_set(err, ERR_NOT_FOUND, "the agent is gone");
	if (budget_used_up(&a->budget))
		return err_set(err, ERR_LIMIT, "the budget is used up");
	if (model_resolve(&q->arena, hook->model ? hook->model : small_model(), &q->model, err) < 0)
		return -(int)err->kind;
	take_place(q, &a->env);
	if (hook->type == HOOK_AGENT)
		give_tools(q);
	open_query(q, hook->type == HOOK_AGENT ? MOST_AGENT_TURNS : 0);
	return 0;
}

static void start(struct hook_runner *runner, struct hook_call *call)
{
	struct question *q = question_new(CONTAINER_OF(runner, struct runner, hooks), call);
	struct err err = { 0 };

	if (prepare(q, &err) < 0) {
		hook_call_finish(call, true, str_from(err.text));
		question_free(q);
		return;
	}
	call->state = q;
	struct segment *block = segment_text(call->text);
	(void)query_add_user(&q->query, &block, 1, false, &err); /* nothing is written: it cannot fail */
	query_start(&q->query);
}

static void cancel(struct hook_runner *runner, struct hook_call *call)
{
	struct question *q = call->state;

	(void)runner;
	if (q)
		query_cancel(&q->query);
}

struct hook_runner *hook_model_new(struct cadre *c)
{
	struct runner *r = xcalloc(1, sizeof *r);

	*r = (struct runner){ .hooks = { start, cancel }, .cadre = c };
	return &r->hooks;
}

void hook_model_free(struct hook_runner *runner)
{
	free(runner ? CONTAINER_OF(runner, struct runner, hooks) : NULL);
}
