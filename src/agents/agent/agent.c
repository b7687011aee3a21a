/* SPDX-License-Identifier: MIT
 * agent.c - an agent that runs. */
#include "agents/agent/agent.h"
#include "core/store/checkpoint.h"
#include "agents/agent/hooks.h"
#include "agents/agent/context.h"
#include "agents/agent/gate.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/tree.h"
#include "agents/worktree/worktree.h"

void agent_emit(void *data, const struct event *event)
{
	struct agent *a = data;
	struct event_task task;
	struct event e = *event;

	e.agent = &a->who;
	if (e.kind == EVENT_TOOL_STARTED) {
		a->tool_uses++;
		snprintf(a->last_tool, sizeof a->last_tool, "%s", e.name);
	}
	a->tree->on_event(a->tree->data, &e);
	if (e.kind == EVENT_TOOL_STARTED && a->parent) {
		agent_record_event(a->record, &task);
		agent_emit(a, &(struct event){ .kind = EVENT_AGENT_PROGRESS, .task = &task });
	}
}

void agent_kick(struct agent *a)
{
	loop_kick(a->tree->services->loop, &a->kick);
}

void agent_step_done(struct agent *a, const struct err *err)
{
	a->step_over = true;
	if (err)
		a->step_err = *err;
	agent_kick(a);
}

static void on_usage(void *data, const struct usage *usage)
{
	struct agent *a = data;

	a->turns++;
	usage_add(&a->usage, usage);
	/* a->model may be the next one's */
	a->cost_usd += agent_tree_spend(a->tree, &a->budget, a->query.config.model, usage);
}

static void on_request(struct query *q, void *data)
{
	agent_follow_mode(data);
}

static bool on_batch(struct query *q, void *data)
{
	agent_load_tools(data);
	return agent_show_batch(data);
}

static bool on_unavailable(struct query *q, void *data)
{
	return agent_fall_back(data);
}

static void on_query_end(struct query *q, void *data)
{
	struct agent *a = data;

	turn_hooks_drop(&a->batch_hooks);
	turn_hooks_drop(&a->compact_hooks);
	agent_load_tools(a); /* of calls whose turn ended with them */
	permission_revoke(&a->permission, NULL);
	a->on_turn_end(a);
}

static void env_set_cwd(struct tool_env *env, const char *path)
{
	struct agent *a = env->owner;
	AUTO_FREE char *from = xstrdup(env->cwd);

	char *to = xstrdup(path); /* may be in moved_cwd too */
	free(a->moved_cwd);
	a->moved_cwd = to;
	env->cwd = to;
	if (strcmp(from, to) != 0)
		agent_notify_hooksf(a, HOOK_CWD_CHANGED, "", "{old_cwd:'%s', new_cwd:'%s'}", from, to);
}

static void env_notify(struct tool_env *env, struct str text)
{
	struct agent *a = env->owner;

	agent_emit(a, &(struct event){ .kind = EVENT_NOTIFICATION, .text = text });
	agent_notice(a, NULL, text);
}

static void env_progress(struct tool_env *env, const char *call_id, struct str last_line, uint64_t lines)
{
	agent_emit(env->owner, &(struct event){ .kind = EVENT_TOOL_PROGRESS,
						.name = "Bash",
						.id = call_id,
						.text = last_line,
						.lines = lines });
}

/* A worktree can be thrown away as a whole: changes in one have no checkpoint. */
static int env_before_change(struct tool_env *env, const char *path, struct str bytes, struct err *err)
{
	const struct agent *owner = env->owner;

	for (const struct agent *a = owner; a->parent; a = a->parent)
		if (a->worktree)
			return 0;
	struct file_version after = file_version_of(bytes);
	return checkpoint_change(owner->tree->checkpoint, path, &after, err);
}

void agent_init(struct agent *a, struct agent_tree *tree, struct agent *parent)
{
	*a = (struct agent){ .tree = tree, .parent = parent };
	a->who = (struct event_agent){ .id = "", .depth = parent ? parent->who.depth + 1 : 0 };
	a->who.parent_id = parent ? parent->who.id : "";
	a->budget.parent = parent ? &parent->budget : &tree->budget;
	gate_init(&a->gate);
}

static void agent_open_env(struct agent *a)
{
	struct agent_tree *t = a->tree;

	a->env.loop = t->services->loop;
	a->env.spawner = t->services->spawner;
	a->env.cwd = a->env.root = a->cwd;
	a->env.session_id = t->session_id;
	a->env.results_dir = t->results_dir;
	a->env.agents_dir = t->agents_dir;
	a->env.tasks_dir = t->tasks_dir;
	a->env.todo_dir = t->todo_dir;
	a->env.todos = &t->todos;
	if (t->session_dir)
		a->env.todo_file = arena_printf(&a->arena, "%s/todos/%s-agent-%s.json", t->config_dir, t->session_id,
						a->parent ? a->who.id : t->session_id);
	a->env.envp = t->policy->envp;
	a->env.env_dir = t->env_dir;
	a->env.no_shell = t->no_shell;
	a->env.settings = &t->tool_settings;
	a->env.sandbox = t->sandbox;
	if (!a->parent && t->switches.coordinator)
		a->env.no_tool = "A coordinator has no such tool: start a worker for it.";
	else if (!a->parent && t->switches.lead_only)
		a->env.no_tool = "The lead has no such tool (teams.leadTools): give the work to a member.";
	a->env.permission = &a->permission;
	a->env.servers = a->servers ? a->servers : a->is_fork ? a->parent->env.servers : t->main.servers;
	a->env.deferral = &a->deferral;
	a->env.web = t->services->web;
	a->env.main_thread = !a->parent;
	a->env.set_cwd = env_set_cwd;
	a->env.notify = env_notify;
	a->env.progress = a->parent ? NULL : env_progress;
	a->env.before_change = t->checkpoint ? env_before_change : NULL;
	a->env.owner = a;
	t->kit->open(&a->env);
}

void agent_open(struct agent *a, const struct agent_query_spec *spec)
{
	struct agent_tree *t = a->tree;
	struct compact_policy compact = t->compact;
	int64_t own_window = a->parent && a->definition ? a->definition->compact_window : 0;
	const char *address = a->who.id;

	if (own_window)
		own_window = MAX(own_window, (int64_t)COMPACT_WINDOW_LEAST);
	if (own_window && (!compact.window || own_window < compact.window))
		compact.window = own_window; /* a definition can only make it come earlier */
	if (a->parent && a->record->member)
		address = arena_printf(&a->arena, "%s@%s", a->record->name, a->record->member->team);
	agent_open_env(a);
	a->record_context = (struct record_context){
		.session_id = t->session_id,
		.cwd = a->cwd,
		.git_branch = a->branch,
		.version = CADRE_VERSION,
		.entrypoint = t->entrypoint,
		.agent_id = a->parent ? a->who.id : NULL,
	};
	a->recorder =
		(struct recorder){ .journal = a->journal, .store = &t->services->store, .context = &a->record_context };
	query_init(&a->query, &(struct query_config){
				      .loop = t->services->loop,
				      .endpoint = a->endpoint,
				      .head = spec->head,
				      .tools = &a->tools,
				      .env = &a->env,
				      .gate = &a->gate,
				      .recorder = &a->recorder,
				      .session_id = t->session_id,
				      .agent = address,
				      .parent_agent = a->parent ? a->who.parent_id : NULL,
				      .model = a->model,
				      .slots = spec->needs_slot ? &t->slots : NULL,
				      .budget = &a->budget,
				      .interrupt_note = spec->interrupt_note,
				      .reminder = spec->reminder,
				      .max_turns = spec->max_turns,
				      .parallel_calls = t->parallel_calls,
				      .retry_deadline_ms = t->retry_deadline_ms,
				      .compact = compact,
				      .compact_owner = agent_compact_owner,
				      .on_event = agent_emit,
				      .want_deltas = spec->want_deltas,
				      .want_raw = spec->want_raw,
				      .on_usage = on_usage,
				      .on_request = on_request,
				      .on_batch = on_batch,
				      .on_unavailable = on_unavailable,
				      .on_end = on_query_end,
				      .data = a,
			      });
	a->query.trace = t->on_state;
	head_unref(spec->head); /* the query has its own reference */
}

void agent_release(struct agent *a)
{
	struct buf *const texts[] = { &a->failure, &a->message, &a->system,        &a->notes,
				      &a->skills,  &a->initial, &a->start_context, &a->start_refusal };

	if (a->query.config.loop)
		query_release(&a->query);
	if (a->tree && a->tree->kit) /* a session that could not be opened has none */
		a->tree->kit->close(&a->env);
	agent_drop_fork_base(a);
	permission_release(&a->permission);
	permission_line_release(&a->gone);
	hook_set_unref(a->hooks);
	map_release(&a->skills_told);
	skill_activation_free(a->activation);
	map_release(&a->instructions_seen);
	tool_set_release(&a->tools);
	deferral_release(&a->deferral);
	journal_free(a->journal);
	agent_drop_load(a);
	worktree_free(a->worktree);
	tool_choice_release(&a->choice);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		buf_release(texts[i]);
	agent_unref(a->definition);
	free(a->moved_cwd);
	arena_release(&a->arena);
	*a = (struct agent){ 0 };
}

struct fork_base *agent_fork_base(struct agent *a)
{
	struct query *q = &a->query;
	uint32_t count = transcript_count(&q->transcript);

	if (a->forks.gate && a->forks.count == count)
		return &a->forks;
	agent_drop_fork_base(a);
	a->forks = (struct fork_base){ .gate = fork_barrier_new(a->tree->services->loop), .count = count };
	transcript_fork(&q->transcript, &a->forks.history);
	for (uint32_t i = 0; i < q->call_count; i++)
		transcript_add(&a->forks.history, ROLE_USER, fork_placeholder(q->calls[i]->id));
	a->forks.measured = (struct context_measure){ .prompt_blocks = q->measured.prompt_blocks,
						      .text = q->measured.text,
						      .media = q->measured.media };
	context_measure_blocks(&a->forks.measured, &a->forks.history, transcript_count(&a->forks.history));
	return &a->forks;
}
