/* SPDX-License-Identifier: MIT
 * context.c - the system prompt of an agent, the context in its first message, and the head of its requests. */
#include "core/store/load.h"
#include "agents/agent/context.h"
#include <ctype.h>
#include <sys/utsname.h>
#include "core/model/catalog.h"
#include "core/model/head_json.h"
#include "config/settings/instructions.h"
#include "config/settings/settings.h"
#include "defs/agentdef/registry.h"
#include "defs/agentdef/describe.h"
#include "defs/policy/sources.h"
#include "mcp/client/pool.h"
#include "agents/agent/hooks.h"
#include "agents/agent/plan.h"
#include "agents/agent/servers.h"
#include "agents/agent/tree.h"

enum { USUAL_MAX_TOKENS = 32000, BYTES_PER_TOKEN = 4 };

static void write_environment(struct buf *out, struct agent *a)
{
	struct utsname system;

	buf_addf(out, "<system-reminder>\n# Environment\nWorking directory: %s\n", a->cwd);
	for (size_t i = 1; a->env.dirs[0] && a->env.dirs[i]; i++)
		buf_addf(out, "Additional working directory: %s\n", a->env.dirs[i]);
	buf_addf(out, "Git repository: %s\n", a->branch[0] ? "yes" : "no");
	if (a->branch[0])
		buf_addf(out, "Git branch: %s\n", a->branch);
	if (uname(&system) == 0)
		buf_addf(out, "Platform: %s %s\n", system.sysname, system.release);
	buf_addf(out, "Date: %.10s\nModel: %s\n", id_iso_now().text, a->model);
	if (a->branch[0] && a->tree->git_text && tool_set_find(&a->tools, STR("Bash")))
		buf_addstr(out, a->tree->git_text);
	if (plan_is_on(a)) {
		plan_explain(a, out);
		buf_addch(out, '\n');
	}
	buf_addstr(out, "</system-reminder>");
}

static void notify_instruction_hooks(struct agent *a, const struct instruction_file *file, const char *trigger)
{
	agent_notify_hooksf(a, HOOK_INSTRUCTIONS_LOADED, file->reason,
			    "{file_path:'%s', memory_type:'%s', load_reason:'%s', globs?:%s, trigger_file_path?:'%s', "
			    "parent_file_path?:'%s'}",
			    file->path, file->kind, file->reason, file->globs, trigger, file->parent);
}

static void on_first_instructions(void *data, const struct instruction_file *file)
{
	notify_instruction_hooks(data, file, NULL);
}

static struct instructions_spec instructions_spec(const struct agent *a)
{
	const struct agent_tree *t = a->tree;

	return (struct instructions_spec){ .cwd = t->main.cwd,
					   .config_dir = t->config_dir,
					   .managed_dir = t->managed_dir,
					   .skipped = SETTINGS_ALL & ~services_setting_sources(t->services),
					   .managed_text = t->claude_md,
					   .excludes = t->claude_excludes,
					   .is_denied = file_is_hidden,
					   .reader = &a->env,
					   .rules = t->instruction_rules };
}

static void emit_instruction_notes(struct agent_tree *t, const struct buf *notes)
{
	if (notes->n)
		t->on_event(t->data, &(struct event){ .kind = EVENT_ERROR, .text = str_trim(buf_str(notes)) });
}

/* Collected once for all agents of a tree: a reference, or NULL. managed_only: those that an agent cannot leave out. */
static struct segment *find_instructions(struct agent_tree *t, bool managed_only)
{
	struct tree_instructions *i = &t->instructions[managed_only];
	AUTO_BUF struct buf notes = { 0 };
	AUTO_BUF struct buf files = { 0 };
	AUTO_BUF struct buf text = { 0 };

	if (i->collected || env_is_on(services_variable(t->services, "CLAUDE_CODE_DISABLE_CLAUDE_MDS")))
		return i->text ? segment_ref(i->text) : NULL;
	i->collected = true;
	if (!managed_only && !t->instruction_rules)
		t->instruction_rules = xcalloc(1, sizeof *t->instruction_rules);
	struct instructions_spec spec = instructions_spec(&t->main);
	if (managed_only) {
		spec.cwd = spec.config_dir = NULL;
		spec.rules = NULL;
	} else {
		spec.on_file = on_first_instructions;
		spec.data = &t->main;
	}
	instructions_collect(&files, &notes, &spec);
	if (!managed_only)
		emit_instruction_notes(t, &notes);
	if (!files.n)
		return NULL;
	buf_addf(&text,
		 "<system-reminder>\n# Instructions of the user and the project\nFollow them; they win over your "
		 "defaults.\n\n%s</system-reminder>",
		 files.p);
	i->text = segment_text(buf_str(&text));
	return segment_ref(i->text);
}

/* Instructions that come with the files that an agent works on. */

struct path_instructions {
	struct agent *agent;
	const char *path;
};

/* A fork has the conversation of its parent up to its own first compaction. */
static bool is_first_look(void *data, const char *path)
{
	struct agent *a = ((struct path_instructions *)data)->agent;

	for (const struct agent *o = a; o; o = o->is_fork && !o->instructions_forgotten ? o->parent : NULL)
		if (map_get(&o->instructions_seen, str_from(path)))
			return false;
	map_set(&a->instructions_seen, str_from(path), a);
	return true;
}

static void on_path_instructions(void *data, const struct instruction_file *file)
{
	const struct path_instructions *p = data;

	notify_instruction_hooks(p->agent, file, p->path);
}

void agent_add_path_instructions(struct agent *a, const char *path, bool restored)
{
	AUTO_BUF struct buf notes = { 0 };
	AUTO_BUF struct buf files = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct agent_tree *t = a->tree;

	if ((a->definition && a->definition->omit_claude_md) ||
	    env_is_on(services_variable(t->services, "CLAUDE_CODE_DISABLE_CLAUDE_MDS")))
		return;
	if (!t->instruction_rules) { /* the conversation began in another process */
		t->instruction_rules = xcalloc(1, sizeof *t->instruction_rules);
		struct instructions_spec first = instructions_spec(&t->main);
		instructions_collect(&files, &notes, &first);
		files.n = notes.n = 0;
	}
	struct path_instructions p = { a, path };
	struct instructions_spec spec = instructions_spec(a);
	spec.is_new = is_first_look;
	spec.on_file = restored ? NULL : on_path_instructions;
	spec.data = &p;
	instructions_for_path(&files, &notes, &spec, path);
	if (restored)
		return;
	emit_instruction_notes(t, &notes);
	if (files.n) {
		buf_addf(
			&text,
			"<system-reminder>\n# Instructions for %s\nFollow them while you work there.\n\n%s</system-reminder>",
			path, files.p);
		query_notice(&a->query, NULL, buf_str(&text));
	}
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
	if (!a->parent && a->tree->switches.coordinator) {
		/* What a coordinator's workers can use, since it has none of it itself */
		const struct agent_tree *t = a->tree;
		AUTO_BUF struct buf text = { 0 };

		buf_addstr(&text, "<system-reminder>\n# workerToolsContext\nTools that workers have:\n");
		for (size_t i = 0; i < t->pool.count; i++)
			if (t->pool.tools[i]->flags & TOOL_BACKGROUND)
				buf_addf(&text, "- %s\n", t->pool.tools[i]->name);
		if (t->session_dir)
			buf_addf(
				&text,
				"Scratchpad: %s/scratchpad. Workers read and write it without questions. They can share their "
				"findings there.\n",
				t->session_dir);
		buf_addstr(&text, "</system-reminder>");
		ret_blocks[n++] = segment_text(buf_str(&text));
	}
	return n;
}

bool agent_memory_dirs(const struct agent *a, struct memory_dirs *ret_dirs)
{
	const struct agent_tree *t = a->tree;

	*ret_dirs = (struct memory_dirs){ t->config_dir, t->project_dir, t->switches.trusted };
	return a->definition && t->switches.memory_on &&
	       agent_memory_allowed(a->definition, agent_tree_trusts_definition(t, &a->definition->common));
}

/* Of the guide: its prompt ends with what is configured here. */
static void write_guide(struct buf *out, const struct agent *a)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct services *sv = a->tree->services;
	const struct mcp_selection *set = a->tree->main.servers;
	const struct catalog *skills = sv->skills;
	size_t server_count = set ? set->count : 0;
	size_t skill_count = skills ? skills->active_count : 0;
	size_t plugin_count = sv->plugins ? sv->plugins->enabled_count : 0;
	const char **servers = arena_calloc(&arena, (server_count + 1) * sizeof *servers);
	const char **names = arena_calloc(&arena, (skill_count + 1) * sizeof *names);
	const char **plugins = arena_calloc(&arena, (plugin_count + 1) * sizeof *plugins);

	for (size_t i = 0; i < server_count; i++)
		servers[i] = set->leases[i]->server->name;
	for (size_t i = 0; i < skill_count; i++)
		names[i] = skills->active[i]->name;
	for (size_t i = 0; i < plugin_count; i++)
		plugins[i] = sv->plugins->enabled[i]->name;
	guide_prompt(out, a->definition, sv->registry,
		     &(struct guide_facts){ .settings_files = settings_files(a->tree->policy->settings, &arena),
					    .mcp_servers = servers,
					    .skills = names,
					    .plugins = plugins });
}

int agent_make_prompt(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	struct memory_dirs dirs;
	bool memory = agent_memory_dirs(a, &dirs);

	if (!d)
		return 0; /* the usual main agent; a fork has its parent's, to the byte */
	if (a->tree->switches.memory_on && d->memory != MEMORY_NONE && !memory)
		buf_addf(&a->notes,
			 "this folder is not trusted, so %s has no memory in your own directory: run `cadre trust` to "
			 "record consent\n",
			 d->name);
	if (memory && agent_memory_prepare(d, &dirs, err) < 0)
		return a->parent ? -(int)err->kind : err_wrap(err, "agent %s", d->name);
	if (!a->parent && a->origin) {
		buf_add(&a->system, a->origin->system.p, a->origin->system.n);
		return 0;
	}
	if (a->parent && a->record->member) { /* without a name: members of one kind share it to the byte */
		buf_addf(&a->system, "%s\n\n%s", system_prompt_text, team_rules_text);
		if (d->source != SOURCE_BUILT_IN)
			buf_addf(&a->system, "\n\n# Your role\n\n%.*s", (int)d->prompt_len, d->prompt);
		if (memory)
			agent_memory_prompt(&a->system, d, &dirs);
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
		agent_memory_prompt(&a->system, d, &dirs);
	return 0;
}

/* Its tools: deferred ones are left out of the head until a call asks for them
 *
 * A tool is asked for while the calls of an answer run. It is loaded when all of them are recorded, between two requests,
 * so that a fork of this answer has the head that its history was made with. */

static bool is_forbidden(void *data, const struct tool *tool)
{
	const struct agent *a = data;

	return permission_forbids(&a->permission, tool);
}

void agent_defer_tools(struct agent *a)
{
	const struct deferral_policy *p = &a->tree->deferral;
	uint64_t context = (uint64_t)model_find(&a->tree->services->endpoints.providers, a->model).context;
	size_t bytes = deferral_bytes(&a->tools);
	size_t most = provider_most_tools(&a->tree->services->endpoints.providers, a->model);
	bool many = bytes && (p->when == DEFER_ALWAYS ||
			      (p->when != DEFER_NEVER && (bytes / BYTES_PER_TOKEN * 100 > context * p->percent ||
							  (most && a->tools.count > most))));
	const struct tool *finder = NULL;

	for (size_t i = 0; i < a->tools.count && !finder; i++)
		if (a->tools.tools[i]->flags & TOOL_FINDS_TOOLS)
			finder = a->tools.tools[i];
	/* Without a tool that finds them, deferred tools could never be used. */
	a->deferral.on = finder && !permission_forbids(&a->permission, finder) && (a->deferral.on || many);
	deferral_arrange(&a->deferral, &a->tools, is_forbidden, a);
}

void agent_load_tools(struct agent *a)
{
	const struct query *q = &a->query;

	if (!deferral_has_news(&a->deferral))
		return;
	deferral_arrange(&a->deferral, &a->tools, is_forbidden, a);
	query_set_head(&a->query, context_head_like(a, q->next_head ? q->next_head : q->config.head), a->model);
}

bool agent_offers(const struct agent *a, const struct tool *tool)
{
	return tool == a->tree->answer_tool || !permission_hides(&a->permission, tool);
}

static const char **agent_definitions(const struct agent *a, struct arena *arena)
{
	const struct deferral *d = &a->deferral;
	const char **list = arena_calloc(arena, (a->tools.count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < a->tools.count; i++) {
		const struct tool *tool = a->tools.tools[i];
		if (!agent_offers(a, tool))
			continue;
		if (tool->flags & TOOL_FINDS_TOOLS) {
			AUTO_BUF struct buf text = { 0 };
			deferral_describe(&text, d, tool->definition);
			if (d->known.count)
				list[n++] = arena_dup(arena, text.p, text.n);
		} else if (!d->on || !(tool->flags & TOOL_MAY_WAIT)) {
			list[n++] = tool->definition;
		}
	}
	for (size_t i = 0; i < d->loaded.count; i++)
		list[n++] = d->loaded.tools[i]->definition;
	return list;
}

/* Switches of the environment or the settings, also for one family of models */
static enum cache_marks cache_marks(const struct agent *a)
{
	static const char *const families[] = { "opus", "sonnet", "haiku", "fable" };
	const struct services *sv = a->tree->services;
	const struct settings *settings = a->tree->policy->settings;
	char name[64] = "DISABLE_PROMPT_CACHING";
	bool off = env_is_on(services_getenv(sv, settings, ENV_SAFE, name));

	for (size_t i = 0; i < COUNT_OF(families) && !off; i++) {
		size_t n = (size_t)snprintf(name, sizeof name, "DISABLE_PROMPT_CACHING_%s", families[i]);
		for (size_t k = n - strlen(families[i]); k < n; k++)
			name[k] = (char)(name[k] - 32);
		if (strstr(a->model, families[i]))
			off = env_is_on(services_getenv(sv, settings, ENV_SAFE, name));
	}
	if (off)
		return MARKS_NONE;
	return !env_is_on(services_getenv(sv, settings, ENV_SAFE, "FORCE_PROMPT_CACHING_5M")) &&
			       env_is_on(services_getenv(sv, settings, ENV_SAFE, "ENABLE_PROMPT_CACHING_1H"))
		       ? MARKS_HOUR
		       : MARKS_USUAL;
}

struct head *context_head(struct agent *a, struct str system, const char *effort)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	const struct agent_tree *t = a->tree;
	int64_t most = t->max_tokens;
	const struct providers *providers = &t->services->endpoints.providers;
	const char *thinking = t->thinking ? t->thinking : model_thinking(providers, a->model);

	/* The usual number of tokens is only for models that take one; the others decide themselves. */
	if (!t->thinking && thinking && t->usual_thinking) {
		if (!t->usual_thinking[0])
			thinking = NULL;
		else if (strcmp(thinking, "adaptive") != 0)
			thinking = t->usual_thinking;
	}
	head_write(
		&bytes,
		&(struct head_spec){
			.model = provider_sent_name(providers, a->model, &arena),
			.max_tokens = most ? most : MIN(model_find(providers, a->model).max_output, USUAL_MAX_TOKENS),
			.system = system,
			.marks = cache_marks(a),
			.effort = effort && model_takes_effort(providers, a->model, effort) ? effort : NULL,
			.thinking = thinking,
			.display = a->tree->thinking_display,
			.task_budget = a->parent ? 0 : a->tree->task_budget,
			.tools = agent_definitions(a, &arena),
		});
	struct head *head = head_intern(&a->tree->services->heads, buf_str(&bytes));
	head->marks = cache_marks(a);
	return head;
}

struct head *context_head_like(struct agent *a, const struct head *before)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct head_texts texts = head_read(&arena, before->bytes);

	return context_head(a, texts.system, texts.effort);
}

/* The call or the option first, then the definition, then the session. A number is not a level of the API: none is sent. */
static const char *find_effort(const struct agent *a)
{
	const struct agent_tree *t = a->tree;
	const char *level = a->parent ? a->record->request.effort : t->given.effort;

	if (!level && a->definition)
		level = a->definition->effort;
	if (!level)
		level = a->parent ? find_effort(&t->main) : t->effort;
	return level && isdigit((unsigned char)level[0]) ? NULL : level;
}

/* For the main agent, options and style are added to the prompt. An empty prompt of the host leaves the agent its own. */
static struct head *write_own_head(struct agent *a)
{
	AUTO_BUF struct buf system = { 0 };
	const struct agent_tree *t = a->tree;
	const char *given = t->given.system_prompt;
	const char *more = a->parent ? t->append_system_prompt : t->given.append_system_prompt;

	if (a->parent || (a->definition && (!given || !given[0])))
		buf_add(&system, a->system.p, a->system.n);
	else if (given || !t->style.on || t->style.keeps_prompt)
		buf_addstr(&system, given ? given : t->switches.coordinator ? coordinator_text : system_prompt_text);
	if (!a->parent && t->style.on && !given)
		buf_addf(&system, "%s" STR_FMT, system.n ? "\n\n" : "", STR_ARG(t->style.prompt));
	if (more && more[0])
		buf_addf(&system, "%s%s", system.n ? "\n\n" : "", more);
	return context_head(a, buf_str(&system), agent_turn_effort(a, find_effort(a)));
}

struct head *agent_first_head(struct agent *a)
{
	for (size_t i = 0; a->load && i < a->load->tool_count; i++)
		deferral_want(&a->deferral, a->load->tools[i]); /* loaded before the program ended */
	if (!agent_is_copy(a)) {
		if (a->parent)
			agent_defer_tools(a); /* the main agent's servers are not up yet */
		return write_own_head(a);
	}
	const struct query *q = &a->origin->query;
	struct head *theirs = a->load && q->next_head ? q->next_head : q->config.head;
	a->deferral.on = a->origin->deferral.on;
	for (size_t i = 0; i < a->origin->deferral.loaded.count; i++)
		deferral_want(&a->deferral, a->origin->deferral.loaded.tools[i]->name);
	deferral_arrange(&a->deferral, &a->tools, is_forbidden, a);
	if (a->deferral.loaded.count > a->origin->deferral.loaded.count)
		return context_head_like(a, theirs);
	return head_ref(theirs);
}

void agent_renew_head(struct agent *a)
{
	query_set_head(&a->query, write_own_head(a), a->model);
	a->query.next_endpoint = a->endpoint;
}
