/* SPDX-License-Identifier: MIT
 * one_shot.c - one question to a model. If it may use tools, they only read, within the rules of the agent that the question is
 * about. */
#include "agents/agent/one_shot.h"
#include "lib/json/json_write.h"
#include "agents/agent/gate.h"
#include "agents/agent/tree.h"
#include "core/model/catalog.h"
#include "core/model/head_json.h"

enum { MOST_TURNS = 50, MOST_ANSWER_TOKENS = 4096 };

struct one_shot {
	struct services *services;
	one_shot_done_fn *done;
	void *data;
	struct arena arena;
	const struct tool_runtime *kit; /* borrowed; NULL: its env is not open */
	const char *session_id, *agent_id, *model;
	struct endpoint *endpoint; /* borrowed */
	struct tool_set tools;
	struct tool_env env;
	struct tool_gate gate;
	struct record_context record;
	struct recorder recorder;
	struct query query;
	bool gives_blocks; /* not the text alone */
};

/* NULL: it is gone. */
static struct agent *shot_agent(const struct one_shot *q)
{
	for (struct agent_tree *t = q->services->trees; t; t = t->next)
		if (t->session_id && !strcmp(t->session_id, q->session_id))
			return agent_tree_find(t, q->agent_id);
	return NULL;
}

static void on_ask(struct tool_gate *gate, struct tool_call *call)
{
	struct one_shot *q = CONTAINER_OF(gate, struct one_shot, gate);
	struct agent *a = shot_agent(q);

	q->env.permission = a ? &a->permission : NULL; /* the tool reads it when it starts */
	call->policy = (struct gate_policy){ .apart = true, .no_question = true, .by_hook = true };
	if (a)
		gate_check(a, call);
	else
		tool_call_decided(call, TOOL_DENY, STR("The agent has ended."));
}

static void on_usage(void *data, const struct usage *usage)
{
	const struct one_shot *q = data;
	struct agent *a = shot_agent(q);

	if (a)
		(void)agent_tree_spend(a->tree, &a->budget, q->model, usage);
}

static void shot_free(struct one_shot *q)
{
	if (q->query.config.loop)
		query_release(&q->query);
	if (q->kit)
		q->kit->close(&q->env);
	tool_set_release(&q->tools);
	arena_release(&q->arena);
	free(q);
}

/* An answer that was paused and continued is one answer. */
static void on_end(struct query *query, void *data)
{
	struct one_shot *q = data;
	bool failed = query->end != QUERY_DONE;
	struct str why = query->failure.text[0] ? str_from(query->failure.text) : STR("the model gave no answer");
	AUTO_BUF struct buf blocks = { 0 };
	struct json_out w = json_out(&blocks);

	if (q->gives_blocks && !failed) {
		json_open(&w, '[');
		for (uint32_t i = 0; i < transcript_count(&query->transcript); i++) {
			struct block block = transcript_block(&query->transcript, i);
			if (block.role == ROLE_ASSISTANT)
				json_put_raw(&w, block.json);
		}
		json_close(&w);
	}
	q->done(q->data, failed, failed ? why : q->gives_blocks ? buf_str(&blocks) : buf_str(&query->text));
	shot_free(q);
}

static void open_query(struct one_shot *q, const struct one_shot_spec *spec)
{
	struct services *sv = q->services;
	AUTO_BUF struct buf bytes = { 0 };
	const char **tools = arena_calloc(&q->arena, (q->tools.count + 2) * sizeof *tools);

	for (size_t i = 0; i < q->tools.count; i++)
		tools[i] = q->tools.tools[i]->definition;
	tools[q->tools.count] = spec->server_tool;
	head_write(&bytes,
		   &(struct head_spec){ .model = provider_sent_name(&sv->endpoints.providers, q->model, &q->arena),
					.max_tokens = MOST_ANSWER_TOKENS,
					.system = str_from(spec->instructions),
					.tools = tools });
	struct head *head = head_intern(&sv->heads, buf_str(&bytes));
	q->gate = (struct tool_gate){ .ask = on_ask, .cancel = gate_cancel };
	q->gives_blocks = spec->server_tool;
	q->record = (struct record_context){ .session_id = q->session_id, .cwd = "", .git_branch = "" };
	q->recorder = (struct recorder){ .store = &sv->store, .context = &q->record };
	query_init(&q->query, &(struct query_config){ .loop = sv->loop,
						      .endpoint = q->endpoint,
						      .head = head,
						      .tools = &q->tools,
						      .env = &q->env,
						      .gate = &q->gate,
						      .recorder = &q->recorder,
						      .session_id = q->session_id,
						      .agent = spec->label,
						      .model = q->model,
						      .max_turns = spec->reads ? MOST_TURNS : 0,
						      .retry_deadline_ms = spec->retry_deadline_ms,
						      .on_usage = on_usage,
						      .on_end = on_end,
						      .data = q });
	head_unref(head);
}

static int prepare_shot(struct one_shot *q, const struct one_shot_spec *spec, struct err *err)
{
	struct services *sv = q->services;
	const struct agent *a = shot_agent(q);
	const struct providers *providers = &sv->endpoints.providers;
	const char *small = providers_env(providers, "ANTHROPIC_SMALL_FAST_MODEL");
	const char *wish = spec->model ? spec->model : small ? small : "haiku";

	/* An account of a cloud may have no access to a small model that the user has not named. */
	if (a && !spec->model && !small && providers->usual->pin &&
	    !providers_env(providers, "ANTHROPIC_DEFAULT_HAIKU_MODEL"))
		wish = a->model;
	if (!a)
		return err_set(err, ERR_NOT_FOUND, "the agent has ended");
	if (budget_used_up(&a->budget))
		return err_set(err, ERR_LIMIT, "the budget is used up");
	if (model_resolve_at(&q->arena, &sv->endpoints.providers, wish, &q->model, err) < 0) {
		if (spec->model)
			return -(int)err->kind;
		q->model = arena_strdup(&q->arena, a->model); /* the provider has no small model of a known name */
	}
	if (endpoints_find(&sv->endpoints, q->model, &q->endpoint, err) < 0)
		return -(int)err->kind;
	q->env = (struct tool_env){ .loop = sv->loop,
				    .spawner = sv->spawner,
				    .cwd = arena_strdup(&q->arena, a->env.cwd),
				    .root = arena_strdup(&q->arena, a->env.root),
				    .dirs = arena_strdup_list(&q->arena, a->env.dirs, 0),
				    .session_id = q->session_id,
				    .envp = arena_strdup_list(&q->arena, a->env.envp, 0) };
	if (spec->reads) {
		q->kit = a->tree->kit;
		for (size_t i = 0; q->kit->table[i]; i++)
			if (q->kit->table[i]->flags & TOOL_SIDE_QUERY)
				tool_set_add(&q->tools, q->kit->table[i]);
		q->kit->open(&q->env);
	}
	open_query(q, spec);
	return 0;
}

struct one_shot *one_shot_start(const struct one_shot_spec *spec, one_shot_done_fn *done, void *data, struct err *err)
{
	struct one_shot *q = xnew(struct one_shot, .services = spec->services, .done = done, .data = data);

	q->session_id = arena_strdup(&q->arena, spec->session_id);
	q->agent_id = arena_strdup(&q->arena, spec->agent_id ? spec->agent_id : "");
	if (prepare_shot(q, spec, err) < 0) {
		shot_free(q);
		return NULL;
	}
	struct segment *block = segment_text(spec->text);
	(void)query_add_user(&q->query, &block, 1, false, err); /* nothing is written: it cannot fail */
	query_start(&q->query);
	return q;
}

void one_shot_cancel(struct one_shot *q)
{
	query_cancel(&q->query);
}
