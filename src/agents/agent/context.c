/* SPDX-License-Identifier: MIT
 * context.c - what an agent knows before its first prompt: its system prompt, the head of its requests, and its context. */
#include "agents/agent/context.h"
#include <ctype.h>
#include <sys/utsname.h>
#include "lib/json/json_write.h"
#include "core/model/catalog.h"
#include "core/model/head_json.h"
#include "config/settings/instructions.h"
#include "config/settings/settings.h"
#include "defs/agentdef/builtin.h"
#include "defs/agentdef/describe.h"
#include "defs/plugin/list.h"
#include "mcp/client/selection.h"
#include "agents/agent/hooks.h"
#include "agents/agent/plan.h"
#include "agents/agent/servers.h"
#include "agents/agent/tool_load.h"
#include "agents/agent/tree.h"

enum { USUAL_MAX_TOKENS = 32000 };

/* ---- context ----------------------------------------------------------------------------------------------------- */

static void write_environment(struct buf *out, struct agent *a)
{
	struct utsname system;
	char now[ISO_TIME_LEN + 1];

	id_iso_time(id_wall_ms(), now);
	buf_addf(out, "<system-reminder>\n# Environment\nWorking directory: %s\n", a->cwd);
	for (size_t i = 1; a->env.dirs[0] && a->env.dirs[i]; i++)
		buf_addf(out, "Additional working directory: %s\n", a->env.dirs[i]);
	buf_addf(out, "Git repository: %s\n", a->branch[0] ? "yes" : "no");
	if (a->branch[0])
		buf_addf(out, "Git branch: %s\n", a->branch);
	if (uname(&system) == 0)
		buf_addf(out, "Platform: %s %s\n", system.sysname, system.release);
	buf_addf(out, "Date: %.10s\nModel: %s\n", now, a->model);
	if (a->branch[0] && a->tree->git_text && tool_set_find(&a->tools, STR("Bash")))
		buf_addstr(out, a->tree->git_text);
	if (plan_is_on(a)) {
		plan_explain(a, out);
		buf_addch(out, '\n');
	}
	buf_addstr(out, "</system-reminder>");
}

static void on_file(void *data, const struct instruction_file *file)
{
	struct agent_tree *t = data;
	const char *reason = file->parent ? "include" : "session_start";
	struct hook_fire_spec spec = { .event = HOOK_INSTRUCTIONS_LOADED, .subject = str_from(reason) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(&t->main, &spec))
		return;
	json_open(&w, '{');
	json_kcstr(&w, "file_path", file->path);
	json_kcstr(&w, "memory_type", file->kind);
	json_kcstr(&w, "load_reason", reason);
	if (file->parent)
		json_kcstr(&w, "parent_file_path", file->parent);
	json_close(&w);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&t->main, &spec);
}

static struct segment *collect(struct agent_tree *t, bool managed_only)
{
	AUTO_BUF struct buf notes = { 0 };
	AUTO_BUF struct buf files = { 0 };
	AUTO_BUF struct buf text = { 0 };

	instructions_collect(&files, &notes,
			     &(struct instructions_spec){ .cwd = managed_only ? NULL : t->main.cwd,
							  .config_dir = managed_only ? NULL : t->config_dir,
							  .managed_dir = t->managed_dir,
							  .managed_text = t->claude_md,
							  .excludes = t->claude_excludes,
							  .on_file = managed_only ? NULL : on_file,
							  .data = t });
	if (notes.n && !managed_only)
		t->on_event(t->data, &(struct event){ .kind = EVENT_ERROR, .text = str_trim(buf_str(&notes)) });
	if (!files.n)
		return NULL;
	buf_addf(&text,
		 "<system-reminder>\n# Instructions of the user and the project\nFollow them; they win over your "
		 "defaults.\n\n%s</system-reminder>",
		 files.p);
	return segment_text(buf_str(&text));
}

/* Collected once for all agents of a tree: a reference, or NULL. managed_only: what nobody may leave out. */
static struct segment *find_instructions(struct agent_tree *t, bool managed_only)
{
	struct tree_instructions *i = &t->instructions[managed_only];

	if (!i->collected && !getenv("CLAUDE_CODE_DISABLE_CLAUDE_MDS"))
		i->text = collect(t, managed_only);
	i->collected = true;
	return i->text ? segment_ref(i->text) : NULL;
}

/* What a coordinator's workers can use, since it has none of it itself */
static struct segment *describe_workers(const struct agent_tree *t)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text, "<system-reminder>\n# workerToolsContext\nTools that workers have:\n");
	for (size_t i = 0; i < t->pool.count; i++)
		if (t->pool.tools[i]->flags & TOOL_BACKGROUND)
			buf_addf(&text, "- %s\n", t->pool.tools[i]->name);
	if (t->session_dir)
		buf_addf(
			&text,
			"Scratchpad: %s/scratchpad. Workers read and write it without questions: what one of them finds out "
			"can be there for the others.\n",
			t->session_dir);
	buf_addstr(&text, "</system-reminder>");
	return segment_text(buf_str(&text));
}

size_t context_blocks(struct agent *a, struct segment *ret_blocks[CONTEXT_BLOCKS])
{
	AUTO_BUF struct buf environment = { 0 };
	AUTO_BUF struct buf servers = { 0 };
	size_t n = 0;

	write_environment(&environment, a);
	ret_blocks[n++] = segment_text(buf_str(&environment));
	struct segment *instructions = find_instructions(a->tree, a->definition && a->definition->omit_claude_md);
	if (instructions)
		ret_blocks[n++] = instructions;
	if (!a->parent && a->tree->memory_dir && !(a->definition && a->definition->memory)) {
		AUTO_BUF struct buf memory = { 0 };
		buf_addstr(&memory, "<system-reminder>\n");
		conversation_memory_prompt(&memory, a->tree->memory_dir);
		buf_addstr(&memory, "</system-reminder>");
		ret_blocks[n++] = segment_text(buf_str(&memory));
	}
	if (!a->parent)
		servers_describe(&servers, a);
	if (servers.n)
		ret_blocks[n++] = segment_text(buf_str(&servers));
	if (!a->parent && a->tree->switches.coordinator)
		ret_blocks[n++] = describe_workers(a->tree);
	return n;
}

/* ---- system prompt ------------------------------------------------------------------------------------------------ */

bool agent_memory_places(const struct agent *a, struct memory_places *ret_places)
{
	const struct agent_tree *t = a->tree;

	*ret_places = (struct memory_places){ t->config_dir, t->project_dir, t->switches.trusted };
	return a->definition && t->switches.memory_on && a->definition->memory != MEMORY_NONE;
}

/* Of the guide: its prompt ends with what is configured here. */
static void write_guide(struct buf *out, const struct agent *a)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct services *sv = a->tree->services;
	const struct mcp_selection *set = a->tree->main.servers;
	const struct catalog *skills = sv->skills;
	size_t server_count = set ? mcp_selection_count(set) : 0;
	size_t skill_count = skills ? skills->active_count : 0;
	size_t plugin_count = sv->plugins ? sv->plugins->enabled_count : 0;
	const char **servers = arena_calloc(&arena, (server_count + 1) * sizeof *servers);
	const char **names = arena_calloc(&arena, (skill_count + 1) * sizeof *names);
	const char **plugins = arena_calloc(&arena, (plugin_count + 1) * sizeof *plugins);

	for (size_t i = 0; i < server_count; i++)
		servers[i] = mcp_lease_server(mcp_selection_at(set, i))->name;
	for (size_t i = 0; i < skill_count; i++)
		names[i] = skills->active[i]->name;
	for (size_t i = 0; i < plugin_count; i++)
		plugins[i] = sv->plugins->enabled[i]->name;
	guide_prompt(out, a->definition, sv->registry,
		     &(struct guide_facts){ .settings_files = settings_files(sv->policy.settings, &arena),
					    .mcp_servers = servers,
					    .skills = names,
					    .plugins = plugins });
}

int agent_make_prompt(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	struct memory_places places;
	bool memory = agent_memory_places(a, &places);

	if (!d)
		return 0; /* the usual main agent; a fork has its parent's, to the byte */
	if (memory && agent_memory_prepare(d, &places, err) < 0)
		return a->parent ? -(int)err->kind : err_wrap(err, "agent %s", d->name);
	if (!a->parent && a->origin) {
		buf_add(&a->system, a->origin->system.p, a->origin->system.n);
		return 0;
	}
	if (a->parent && a->record->member) { /* names nobody: members of one kind share it to the byte */
		buf_addf(&a->system, "%s\n\n%s", system_prompt_text, team_rules_text);
		if (d->source != SOURCE_BUILT_IN)
			buf_addf(&a->system, "\n\n# Your role\n\n%.*s", (int)d->prompt_len, d->prompt);
		if (memory)
			agent_memory_prompt(&a->system, d, &places);
		return 0;
	}
	if (builtin_is_guide(d))
		write_guide(&a->system, a);
	else
		buf_add(&a->system, d->prompt, d->prompt_len);
	if (a->parent)
		buf_addf(&a->system, "%s%s", a->system.n ? "\n\n" : "", subagent_rules_text);
	else if (memory)
		buf_addstr(&a->system, a->system.n ? "\n\n" : "");
	if (memory) /* read once: a prompt that changed with it would cost the whole prefix */
		agent_memory_prompt(&a->system, d, &places);
	return 0;
}

/* Of the main agent options and style come to it. An empty prompt of the host leaves the agent its own. */
static void write_system(struct buf *out, const struct agent *a)
{
	const struct agent_tree *t = a->tree;
	const struct options *o = &t->services->options;
	const char *more = a->parent ? t->append_system_prompt : o->append_system_prompt;

	if (a->parent || (a->definition && (!o->system_prompt || !o->system_prompt[0])))
		buf_add(out, a->system.p, a->system.n);
	else if (o->system_prompt || !t->style.on || t->style.keeps_prompt)
		buf_addstr(out, o->system_prompt          ? o->system_prompt
				: t->switches.coordinator ? coordinator_text
							  : system_prompt_text);
	if (!a->parent && t->style.on && !o->system_prompt)
		buf_addf(out, "%s" STR_FMT, out->n ? "\n\n" : "", STR_ARG(t->style.prompt));
	if (more && more[0])
		buf_addf(out, "%s%s", out->n ? "\n\n" : "", more);
}

/* ---- the head of its requests ------------------------------------------------------------------------------------ */

/* A number of tokens is only for models that take one: the others know best themselves. */
static const char *thinking_of(const struct agent *a)
{
	const struct agent_tree *t = a->tree;
	const char *own = model_thinking(a->model);

	if (t->thinking || !own || !t->usual_thinking)
		return t->thinking ? t->thinking : own;
	if (!t->usual_thinking[0])
		return NULL;
	return !strcmp(own, "adaptive") ? own : t->usual_thinking;
}

struct head *context_head(struct agent *a, struct str system, const char *effort)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	int64_t most = a->tree->max_tokens;
	const char *other = json_cstr(json_get(a->tree->model_overrides, a->model), &arena);

	head_write(&bytes, &(struct head_spec){
				   .model = other ? other : a->model,
				   .max_tokens = most ? most : MIN(model_find(a->model)->max_output, USUAL_MAX_TOKENS),
				   .system = system,
				   .effort = effort,
				   .thinking = thinking_of(a),
				   .display = a->tree->thinking_display,
				   .task_budget = a->parent ? 0 : a->tree->task_budget,
				   .tools = agent_definitions(a, &arena),
			   });
	return head_intern(&a->tree->services->heads, buf_str(&bytes));
}

struct head *context_head_like(struct agent *a, const struct head *before)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct head_texts texts = head_read(&arena, before->bytes);

	return context_head(a, texts.system, texts.effort);
}

/* The call or the option first, then the definition, then the session. A number is no level of the API: none is sent. */
static const char *find_effort(const struct agent *a)
{
	const struct agent_tree *t = a->tree;
	const char *level = a->parent ? a->record->request.effort : t->services->options.effort;

	if (!level && a->definition)
		level = a->definition->effort;
	if (!level)
		level = a->parent ? find_effort(&t->main) : t->effort;
	return level && isdigit((unsigned char)level[0]) ? NULL : level;
}

static struct head *write_own_head(struct agent *a)
{
	AUTO_BUF struct buf system = { 0 };

	write_system(&system, a);
	return context_head(a, buf_str(&system), agent_turn_effort(a, find_effort(a)));
}

struct head *agent_first_head(struct agent *a)
{
	if (a->load)
		agent_recall_tools(a, a->load);
	if (!agent_is_copy(a)) {
		if (a->parent)
			agent_defer_tools(a); /* the main agent's servers are not up yet */
		return write_own_head(a);
	}
	const struct query *q = &a->origin->query;
	struct head *theirs = a->load && q->next_head ? q->next_head : q->config.head;
	agent_defer_like(a, a->origin);
	if (a->deferral.loaded.count > a->origin->deferral.loaded.count)
		return context_head_like(a, theirs);
	return head_ref(theirs);
}

void agent_renew_head(struct agent *a)
{
	query_set_head(&a->query, write_own_head(a), a->model);
	query_set_endpoint(&a->query, a->endpoint);
}
