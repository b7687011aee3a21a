/* SPDX-License-Identifier: MIT
 * hooks.c - hooks of agents: how they are run, what they say, and the events of an agent, its calls and its todos. */
#include "agents/agent/hooks.h"
#include <errno.h>
#include <unistd.h>
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "core/tool/tool_facts.h"
#include "agents/agent/plan.h"
#include "agents/agent/tree.h"
#include "lib/base/list.h"

/* Shells read them in the order of these names: what changes more often has the last word. */
static const struct {
	enum hook_event event;
	const char *name;
} env_files[] = {
	{ HOOK_SETUP, "1-setup.sh" },
	{ HOOK_SESSION_START, "2-session-start.sh" },
	{ HOOK_CWD_CHANGED, "3-cwd-changed.sh" },
	{ HOOK_FILE_CHANGED, "4-file-changed.sh" },
};

/* Empties the event's file; its hooks may make it. NULL: it has none, or there is no directory for one. In the arena. */
static const char *env_file_begin(const struct agent_tree *t, enum hook_event event, struct arena *a)
{
	for (size_t i = 0; t->env_dir && i < COUNT_OF(env_files); i++)
		if (env_files[i].event == event && file_make_dirs(t->env_dir, 0700, NULL) == 0) {
			const char *path = path_join(a, t->env_dir, env_files[i].name);
			(void)unlink(path);
			return path;
		}
	return NULL;
}

void env_files_remove(const struct agent_tree *t)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!t->env_dir || rmdir(t->env_dir) == 0 || errno == ENOENT)
		return; /* most sessions have none */
	for (size_t i = 0; i < COUNT_OF(env_files); i++)
		(void)unlink(path_join(&a, t->env_dir, env_files[i].name));
	(void)rmdir(t->env_dir);
}

enum { SET_COUNT = 2 + MOST_SKILL_HOOKS };

static void find_sets(const struct agent *a, struct hook_set *sets[SET_COUNT])
{
	sets[0] = a->tree->policy->hooks;
	sets[1] = a->hooks;
	for (size_t i = 0; i < MOST_SKILL_HOOKS; i++)
		sets[2 + i] = a->tree->skill_hooks[i].set;
}

bool agent_has_hooks(const struct agent *a, const struct hook_event_spec *spec)
{
	struct hook_set *sets[SET_COUNT];
	struct hook_event_spec all = *spec;

	find_sets(a, sets);
	all.sets = sets;
	all.set_count = SET_COUNT;
	return a->tree->services->hooks && hook_wanted(&all);
}

struct hook_batch *agent_run_hooks(struct agent *a, struct hook_event_spec *spec, hook_done_fn *done, void *data)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct agent_tree *t = a->tree;
	struct hook_set *sets[SET_COUNT];
	const char *const *envp = t->policy->own_envp;
	if (a->env.own && envp) {
		size_t n = str_count(envp), more = str_count(a->env.own);
		const char **both = arena_alloc(&arena, (n + more + 1) * sizeof *both);
		memcpy(both, a->env.own, more * sizeof *both);
		memcpy(both + more, envp, (n + 1) * sizeof *both);
		envp = both;
	}
	const struct hook_context context = {
		.session_id = t->session_id,
		.transcript_path = t->main.journal ? journal_path(t->main.journal) : NULL,
		.cwd = a->env.cwd ? a->env.cwd : a->cwd,
		.permission_mode = permission_mode_name(permission_mode(&a->permission)),
		.agent_id = a->parent ? a->who.id : NULL,
		.agent_type = a->who.type,
		.project_dir = t->project_dir,
		.envp = envp,
		.results_dir = t->results_dir,
		.cage = t->cage,
		.env_file = env_file_begin(t, spec->event, &arena),
	};

	find_sets(a, sets);
	spec->sets = sets;
	spec->set_count = SET_COUNT;
	spec->context = &context;
	return hook_run_event(t->services->hooks, spec, done, data);
}

/* Owned by itself: a turn that is cancelled does not wait for it. */
struct turn_hooks {
	struct agent *agent; /* NULL: the turn is over */
	struct turn_hooks **slot;
	struct hook_batch *hook_batch;
};

struct agent *turn_hooks_end(void *data)
{
	struct turn_hooks *h = data;
	struct agent *a = h->agent;

	if (a)
		*h->slot = NULL;
	free(h);
	return a;
}

void turn_hooks_drop(struct turn_hooks **slot)
{
	if (!*slot)
		return;
	hook_cancel((*slot)->hook_batch);
	TAKE(*slot)->agent = NULL;
}

struct async_hook {
	struct agent_tree *tree;
	struct async_hook *next, **prev; /* in tree->async_hooks */
	struct hook_batch *hook_batch;
};

static void on_async_hook_done(void *data, const struct hook_outcome *outcome)
{
	struct async_hook *e = data;
	struct agent_tree *t = e->tree;

	emit_hook_messages(t, NULL, outcome);
	if (t->on_async_hook)
		t->on_async_hook(t, outcome);
	list_remove(e);
	free(e);
	if (!t->async_hooks)
		agent_tree_kick(t);
}

struct hook_batch *agent_vrun_hooks(struct agent *a, enum hook_event event, const char *subject, hook_done_fn *done,
				    void *data, const char *fields, va_list args)
{
	struct hook_event_spec spec = { .event = event, .subject = str_from(subject) };
	AUTO_BUF struct buf json = { 0 };
	struct json_out w = json_out(&json);

	if (!agent_has_hooks(a, &spec))
		return NULL;
	json_vputf(&w, fields, args);
	spec.fields = buf_str(&json);
	if (done)
		return agent_run_hooks(a, &spec, done, data);
	struct async_hook *e = xnew(struct async_hook, .tree = a->tree);
	list_push(&a->tree->async_hooks, e);
	e->hook_batch = agent_run_hooks(a, &spec, on_async_hook_done, e);
	return NULL;
}

struct hook_batch *agent_run_hooksf(struct agent *a, enum hook_event event, const char *subject, hook_done_fn *done,
				    void *data, const char *fields, ...)
{
	va_list args;

	va_start(args, fields);
	struct hook_batch *batch = agent_vrun_hooks(a, event, subject, done, data, fields, args);
	va_end(args);
	return batch;
}

bool turn_hooks_startf(struct agent *a, struct turn_hooks **slot, enum hook_event event, const char *subject,
		       hook_done_fn *done, const char *fields, ...)
{
	struct turn_hooks *h = xnew(struct turn_hooks, .agent = a, .slot = slot);
	va_list args;

	va_start(args, fields);
	h->hook_batch = agent_vrun_hooks(a, event, subject, done, h, fields, args);
	va_end(args);
	if (!h->hook_batch) {
		free(h);
		return false;
	}
	*slot = h;
	return true;
}

void agent_tree_cancel_async_hooks(struct agent_tree *t)
{
	for (struct async_hook *e = t->async_hooks; e; e = e->next)
		hook_cancel(e->hook_batch);
}

void emit_hook_messages(struct agent_tree *t, const struct event_agent *who, const struct hook_outcome *outcome)
{
	struct event e = { .kind = EVENT_ERROR, .agent = who };
	AUTO_BUF struct buf stop = { 0 };

	for (size_t i = 0; i < outcome->message_count + outcome->note_count; i++) {
		e.name = i < outcome->message_count ? "note" : NULL;
		e.text = i < outcome->message_count ? outcome->messages[i] : outcome->notes[i - outcome->message_count];
		t->on_event(t->data, &e);
	}
	if (outcome->terminal_sequence.n)
		t->on_event(t->data, &(struct event){ .kind = EVENT_TERMINAL_SEQUENCE,
						      .agent = who,
						      .text = outcome->terminal_sequence });
	if (outcome->stop && outcome->stop_reason.n) {
		buf_addf(&stop, "a hook ended the turn: " STR_FMT, STR_ARG(outcome->stop_reason));
		t->on_event(t->data, &(struct event){ .kind = EVENT_ERROR, .agent = who, .text = buf_str(&stop) });
	}
}

void hook_contexts_add(struct buf *out, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->context_count; i++)
		buf_addf(out, "%s" STR_FMT, out->n ? "\n" : "", STR_ARG(outcome->contexts[i]));
}

void agent_apply_hook_outcome(struct agent *a, const struct hook_outcome *outcome)
{
	for (size_t i = 0; i < outcome->context_count; i++) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(outcome->contexts[i]));
		query_notice(&a->query, NULL, buf_str(&text));
	}
	emit_hook_messages(a->tree, &a->who, outcome);
	if (outcome->stop)
		query_halt(&a->query, outcome->stop_reason);
}

/* Hooks of a project's agent run only in a folder that the user trusts; those of a plugin wait for its consent. */
int agent_step_hooks(struct agent *a, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct diagnostics problems = { .arena = &arena };
	const struct agent_definition *d = a->definition;
	const struct agent_tree *t = a->tree;
	struct buf *notes = &a->notes;

	if (!d || !d->hooks)
		return 0;
	if (agent_tree_bars(t, d->source, "hooks")) {
		buf_addf(notes, "hooks of %s do not run: managed settings allow only plugins to bring hooks\n",
			 d->name);
		return 0;
	}
	bool trusted = d->source == SOURCE_PLUGIN ? agent_tree_trusts_plugin(t, d->plugin)
						  : agent_tree_trusts_definition(t, &d->common);
	a->hooks = hook_set_parse(
		&(struct hook_source){
			.layer = HOOK_FROM_AGENT, .file = d->file, .trusted = trusted, .of_subagent = a->parent },
		str_from(d->hooks), &t->policy->hook_policy, &problems);
	for (size_t i = 0; i < problems.count; i++) {
		if (trusted && problems.list[i].level == DIAGNOSTIC_ERROR)
			return err_set(err, ERR_USAGE, "%s; the agent does not start without it",
				       problems.list[i].message);
		buf_addf(notes, "%s\n", problems.list[i].message);
	}
	if (a->parent && strstr(d->hooks, "\"Stop\""))
		services_log(t->services, "hooks",
			     "Converting Stop hook to SubagentStop for %s (subagents trigger SubagentStop)", d->name);
	services_log(t->services, "hooks", "Registered %zu frontmatter hook(s) for %s", a->hooks->count, d->name);
	if (!trusted)
		buf_addf(notes, "hooks of %s do not run: %s\n", d->name,
			 d->source == SOURCE_PLUGIN ? "its plugin is not trusted"
						    : "this folder is not trusted (`cadre trust` records consent)");
	return 0;
}

static void on_start_hooks(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;

	a->hook_batch = NULL;
	hook_contexts_add(&a->start_context, outcome);
	emit_hook_messages(a->tree, &a->who, outcome);
	if (outcome->stop)
		buf_addf(&a->start_refusal, "a SubagentStart hook ended it: " STR_FMT, STR_ARG(outcome->stop_reason));
	agent_step_done(a, NULL);
}

static void on_stop_hooks(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;
	bool more = outcome->blocked || outcome->context_count;

	a->hook_batch = NULL;
	emit_hook_messages(a->tree, &a->who, outcome);
	if (a->end == AGENT_COMPLETED && more && !outcome->stop && !outcome->cancelled &&
	    a->stop_blocks++ < MOST_STOP_BLOCKS) {
		/* It continues with the reason why it may not stop, or with context from the hook. */
		a->stop_blocked = true;
		buf_clear(&a->message);
		buf_add(&a->message, outcome->block_reason.p, outcome->block_reason.n);
		hook_contexts_add(&a->message, outcome);
	}
	agent_step_done(a, NULL);
}

int agent_start_hooks(struct agent *a, struct err *err)
{
	if (!a->parent)
		return 0; /* SessionStart is a part of its first turn */
	a->start_fired = true;
	a->hook_batch = agent_run_hooksf(a, HOOK_SUBAGENT_START, a->record->type, on_start_hooks, a, "{}");
	return a->hook_batch ? STEP_TAKES_TIME : 0;
}

/* An agent that failed to start has no end of its own. Its start hooks ran, so its stop hooks run, too. */
int agent_undo_start_hooks(struct agent *a, struct err *err)
{
	return a->lived || !a->parent ? 0 : agent_stop_hooks(a, err);
}

/* For every end of an agent whose start hooks ran. */
int agent_stop_hooks(struct agent *a, struct err *err)
{
	if (a->start_fired)
		a->hook_batch = agent_run_hooksf(
			a, HOOK_SUBAGENT_STOP, a->record->type, on_stop_hooks, a,
			"{stop_hook_active:!!%d, agent_transcript_path?:'%s', last_assistant_message?:'%.*s'}",
			a->stop_blocks > 0, a->record->transcript, STR_ARG(buf_str(&a->query.text)));
	return a->hook_batch ? STEP_TAKES_TIME : 0;
}

/* The path of a file tool is made absolute. */
static void put_input(struct json_out *w, struct tool_call *call)
{
	const struct tool_facts *facts = tool_facts_find(str_from(call->tool->name));
	bool has_path = facts && (facts->kind == SUBJECT_READ || facts->kind == SUBJECT_EDIT);
	const struct json *value = has_path ? json_get(call->input, facts->primary) : NULL;
	struct str path = json_str(value, &call->arena);

	if (!json_is(value, JSON_STRING) || str_starts(path, STR("/"))) {
		json_put_raw(w, json_raw(call->input));
		return;
	}
	json_open(w, '{');
	for (struct json_member m = json_members(call->input); m.key; m = json_member_next(call->input, m)) {
		struct str name = json_str(m.key, &call->arena);
		json_key_str(w, name);
		if (str_is(name, facts->primary))
			json_put_cstr(w, path_absolute(&call->arena, call->env->cwd, path));
		else
			json_put_raw(w, json_raw(m.value));
	}
	json_close(w);
}

void tool_event_open(struct json_out *w, struct agent *a, struct tool_call *call)
{
	json_putf(w, "{tool_name:'%s', tool_input:", call->tool->name);
	if (!(call->flags & TOOL_ENDS_PLAN)) {
		put_input(w, call);
		return;
	}
	AUTO_BUF struct buf kept = { 0 };
	struct str plan = json_str(json_get(call->input, "plan"), &call->arena);
	if (!str_trim(plan).n && plan_read(a, &kept))
		plan = buf_str(&kept);
	json_putf(w, "{plan:'%.*s', planFilePath:'%s'}", STR_ARG(plan), plan_path(a));
}

bool tool_event_amend(struct tool_call *call, struct str json)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf input = { 0 };
	const struct json *root = call->flags & TOOL_ENDS_PLAN ? json_read(&reader, json) : NULL;

	if (!root)
		return tool_call_set_input(call, json);
	json_addf(&input, "{plan:'%.*s'}", STR_ARG(json_str(json_get(root, "plan"), &call->arena)));
	return tool_call_set_input(call, buf_str(&input));
}

static void put_call(struct json_out *w, const struct query *q, struct str block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct segment *result = NULL;
	const struct json *root = json_read(&reader, block);

	for (uint32_t i = 0; i < q->call_count; i++)
		if (json_str_is(json_get(root, "id"), q->calls[i]->id))
			result = q->calls[i]->result;
	if (!result)
		return;
	json_putf(w, "{tool_name:%.*s, tool_input:%.*s, tool_use_id:%.*s", JSON_ARG(json_get(root, "name")),
		  JSON_ARG(json_get(root, "input")), JSON_ARG(json_get(root, "id")));
	root = json_read(&reader, segment_json(result));
	if (root)
		json_kraw(w, "tool_response", json_raw(json_get(root, "content")));
	json_close(w);
}

static void on_batch_seen(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = turn_hooks_end(data);

	if (!a)
		return;
	struct hook_outcome said = *outcome;
	if (said.blocked && !said.stop) {
		said.stop = true;
		said.stop_reason = said.block_reason;
	}
	agent_apply_hook_outcome(a, &said);
	query_batch_over(&a->query);
}

bool agent_show_batch(struct agent *a)
{
	struct hook_event_spec spec = { .event = HOOK_POST_TOOL_BATCH };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(a, &spec))
		return false;
	/* The calls are blocks of the last message. */
	const struct transcript *t = &a->query.transcript;
	uint32_t first = transcript_count(t);
	while (first > 0 && transcript_role(t, first - 1) == ROLE_ASSISTANT)
		first--;
	json_putf(&w, "{tool_calls:[");
	for (uint32_t i = first; i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TOOL_USE)
			put_call(&w, &a->query, b.json);
	}
	json_putf(&w, "]}");
	return turn_hooks_startf(a, &a->batch_hooks, spec.event, NULL, on_batch_seen, "%.*s",
				 STR_ARG(buf_str(&fields)));
}

/* In the call's arena */
struct showing {
	struct tool_call *call;
	struct hook_batch *hook_batch; /* NULL: it is over */
	todo_hooks_fn *then;
	const char *id;
};

static void on_todo_seen(void *data, const struct hook_outcome *outcome)
{
	struct showing *s = data;
	struct str refusal = { 0 };

	s->hook_batch = NULL;
	if (outcome->cancelled)
		refusal = STR("interrupted");
	else
		agent_apply_hook_outcome(s->call->env->owner, outcome);
	if (!outcome->cancelled && outcome->blocked)
		refusal = outcome->block_reason.n ? outcome->block_reason : STR("a hook refused it");
	s->then(s->call, s->id, refusal);
}

void todo_run_hooks(struct tool_call *call, bool completed, const struct todo_info *words, todo_hooks_fn *then)
{
	struct agent *a = call->env->owner;
	struct showing *s = arena_new(&call->arena, struct showing, .call = call, .then = then,
				      .id = arena_strdup(&call->arena, words->id));

	call->state = s;
	s->hook_batch =
		agent_run_hooksf(a, completed ? HOOK_TASK_COMPLETED : HOOK_TASK_CREATED, NULL, on_todo_seen, s,
				 "{task_id:'%s', task_subject:'%s', task_description:'%s', teammate_name?:'%s'}",
				 words->id, words->subject, words->description, a->parent ? a->record->name : NULL);
	if (!s->hook_batch)
		then(call, s->id, (struct str){ 0 });
}

void todo_hooks_cancel(struct tool_call *call)
{
	struct showing *s = call->state;

	if (s && s->hook_batch)
		hook_cancel(s->hook_batch);
}
