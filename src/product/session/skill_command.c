/* SPDX-License-Identifier: MIT
 * skill_command.c - the commands of a user, and prompts that begin with one: a skill, or a prompt of an MCP server. Several
 * commands may follow each other; all get the arguments behind the last. A skill that runs in a subagent must be alone. */
#include "product/session/session_int.h"
#include "agents/agent/hooks.h"
#include "product/session/server_pool.h"
#include "lib/json/json_write.h"
#include "defs/skill/registry.h"
#include "agents/agent/skill_use.h"
#include "defs/policy/plugins.h"
#include "config/settings/settings.h"
#include "defs/policy/sources.h"

enum { MOST_STACKED = 6 };

struct command {
	const char *name;
	struct skill *skill; /* reference; NULL: it is a server's prompt */
	struct str arguments;
};

struct expansion {
	struct cadre_session *session;
	struct arena arena;
	struct command commands[MOST_STACKED]; /* in the order of the prompt */
	size_t count, at;
	struct skill_use *use;        /* NULL: none is being made ready */
	struct server_prompt *prompt; /* the same */
	struct segment **texts;       /* owned */
	size_t text_count;
	bool leave_prompt_out; /* a hook asks for it */
	bool cancelled;
	struct tool_gate gate; /* of the call that waits for a subagent */
	struct tool_call *call;
	struct buf task, why; /* of that subagent; why: a command cannot be used */
	struct kick kick;     /* reports why */
};

static const struct builtin_command compact_command = { "compact",
							"Summarize the conversation and continue from the summary",
							"[instructions for the summary]" };

const struct builtin_command *session_builtin(const struct cadre_session *s, size_t i)
{
	if (i > 0 || s->services->options.no_slash_commands || !s->tree.compact.possible)
		return NULL;
	return &compact_command;
}

static void put_command(struct json_out *w, const char *name, const char *summary, struct str hint, bool is_builtin)
{
	json_putf(w, "{name:'%s', description:'%s', argumentHint:'%.*s', builtin?:!!%d}", name, summary, STR_ARG(hint),
		  is_builtin);
}

static bool put_prompt(void *data, struct mcp_lease *link, const char *name, const struct mcp_prompt *prompt)
{
	AUTO_BUF struct buf hint = { 0 };

	server_prompt_hint(&hint, prompt);
	put_command(data, name, prompt->description, buf_str(&hint), false);
	return true;
}

void session_put_commands(struct json_out *w, const struct cadre_session *s)
{
	const struct catalog *r = s->tree.skills.registry;
	const struct builtin_command *b;

	json_open(w, '[');
	for (size_t i = 0; (b = session_builtin(s, i)); i++)
		put_command(w, b->name, b->description, str_from(b->hint), true);
	for (size_t i = 0; r && i < r->active_count; i++) {
		const struct catalog_entry *e = r->active[i];
		const char *hint = e->skill->argument_hint;
		if (agent_skill_views(&s->tree.main, e) & SKILL_FOR_USER)
			put_command(w, e->name, e->skill->description, str_from(hint ? hint : ""), false);
	}
	if (r)
		server_prompts_each(s, put_prompt, w);
	json_close(w);
}

static bool is_command(struct cadre_session *s, struct str word)
{
	return agent_skill(&s->tree.main, word) || server_prompt_is(s, (struct str){ word.p + 1, word.n - 1 });
}

/* "/usr/bin/x is slow" and "/tmp is full" are prompts. The agent's part of a prompt is its author's: an unknown name in it is text. */
static bool has_command(struct cadre_session *s, struct str part, bool is_typed)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str rest = str_trim(part);

	if (!s->tree.skills.registry || !str_starts(rest, STR("/")))
		return false;
	struct str word = str_cut_word(&rest);
	if (is_command(s, word))
		return true;
	if (!is_typed || word.n < 2)
		return false;
	for (struct str name = { word.p + 1, word.n - 1 }; name.p;)
		if (!skill_name_is_good(str_cut(&name, ':')))
			return false;
	return access(arena_str(&a, word).p, F_OK) != 0;
}

void session_drop_expansion(struct cadre_session *s)
{
	struct expansion *e = TAKE(s->turn.expansion);

	if (!e)
		return;
	kick_cancel(&e->kick);
	for (size_t i = 0; i < e->count; i++)
		skill_unref(e->commands[i].skill);
	for (size_t i = 0; i < e->text_count; i++)
		segment_unref(e->texts[i]);
	free(e->texts);
	tool_call_free(e->call);
	buf_release(&e->task);
	buf_release(&e->why);
	arena_release(&e->arena);
	free(e);
}

/* Records it; the turn drops the expansion. */
static void expansion_over(struct expansion *e, enum expansion_end how, struct str text)
{
	struct turn *t = &e->session->turn;

	t->expansion_end = how;
	buf_clear(&t->answer);
	buf_add(&t->answer, text.p, text.n);
	turn_work_over(e->session);
}

/* The model gets the prompt as it was typed, with what the host sent along, and behind it the texts. */
static void give_texts(struct expansion *e)
{
	struct turn *t = &e->session->turn;
	size_t before = t->blocks ? t->block_count : 1;
	struct segment **blocks = xcalloc(before + e->text_count, sizeof(struct segment *));
	size_t n = 0;

	for (size_t i = 0; i < before; i++) {
		struct segment *block = t->blocks ? t->blocks[i] : segment_text(buf_str(&t->prompt));
		if (e->leave_prompt_out && block->kind == SEGMENT_TEXT)
			segment_unref(block);
		else
			blocks[n++] = block;
	}
	for (size_t i = 0; i < e->text_count; i++)
		blocks[n++] = e->texts[i];
	e->text_count = 0;
	free(t->blocks);
	t->blocks = blocks;
	t->block_count = n;
	expansion_over(e, EXPANSION_EXPANDED, STR(""));
}

static void allow_forked_skill(struct tool_gate *gate, struct tool_call *call)
{
	tool_call_decided(call, TOOL_ALLOW, STR("")); /* the user has typed it */
}

static void start_forked_skill(struct tool_call *call)
{
	struct expansion *e = call->owner;

	skill_use_fork(&e->session->tree.main, e->commands[0].skill, buf_str(&e->task), call);
}

static void stop_forked_skill(struct tool_call *call)
{
	struct expansion *e = call->owner;

	agent_stop_waited(&e->session->tree, call);
}

static const struct tool forked_skill_tool = {
	.name = "Skill",
	.definition = "{\"name\":\"Skill\",\"input_schema\":{\"type\":\"object\"}}",
	.flags = TOOL_DELEGATES | TOOL_OWN_LIMIT,
	.start = start_forked_skill,
	.cancel = stop_forked_skill,
};

static void on_agent_done(struct tool_call *call)
{
	struct expansion *e = call->owner;
	struct str report = buf_str(&call->result);
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	if (e->cancelled) {
		expansion_over(e, EXPANSION_CANCELLED, STR(""));
		return;
	}
	/* Its report is part of the conversation, for later questions. */
	buf_addf(&text,
		 "<system-reminder>\nThe skill %s was carried out by a subagent. Its report:\n" STR_FMT
		 "\n</system-reminder>",
		 e->commands[0].name, STR_ARG(report));
	struct segment *block = segment_text(buf_str(&text));
	if (query_add_user(&e->session->tree.main.query, &block, 1, true, &err) < 0)
		expansion_over(e, EXPANSION_REJECTED, str_from(err.text));
	else
		expansion_over(e, call->is_error ? EXPANSION_REJECTED : EXPANSION_ANSWERED, report);
}

/* The prompt is on disk before the agent starts. */
static void fork_skill(struct expansion *e, struct str task)
{
	struct agent *a = &e->session->tree.main;
	struct err err = { 0 };
	char id[UUID_LEN + 1];

	if (session_commit(e->session, &err) < 0) {
		expansion_over(e, EXPANSION_REJECTED, str_from(err.text));
		return;
	}
	id_uuid(id);
	buf_add(&e->task, task.p, task.n);
	e->gate = (struct tool_gate){ .ask = allow_forked_skill };
	e->call = tool_call_new(&a->env, &e->gate, &forked_skill_tool, str_from(id), STR("Skill"), STR("{}"));
	e->call->owner = e;
	e->call->done = on_agent_done;
	tool_call_start(e->call);
}

static void expand_next(struct expansion *e);

static void add_text(struct expansion *e, struct segment *text)
{
	e->texts = xrealloc(e->texts, (e->text_count + 1) * sizeof(struct segment *));
	e->texts[e->text_count++] = text;
}

static void on_ready(void *data, const struct skill_result *result)
{
	struct expansion *e = data;
	const struct command *c = &e->commands[e->at - 1];
	AUTO_BUF struct buf text = { 0 };

	e->use = NULL;
	if (e->cancelled) {
		expansion_over(e, EXPANSION_CANCELLED, STR(""));
	} else if (result->failure.n) {
		expansion_over(e, EXPANSION_REJECTED, result->failure);
	} else if (c->skill->is_fork) {
		fork_skill(e, result->text);
	} else {
		if (result->is_known)
			buf_addf(&text,
				 "The text of the skill %s is in this conversation already, unchanged. Follow it.",
				 c->name);
		else
			skill_text_add(&text, c->name, result->text);
		add_text(e, segment_text(buf_str(&text)));
		expand_next(e);
	}
}

static void on_prompt(void *data, struct segment **blocks, size_t count, struct str failure)
{
	struct expansion *e = data;

	e->prompt = NULL;
	for (size_t i = 0; i < count; i++)
		add_text(e, blocks[i]);
	if (e->cancelled)
		expansion_over(e, EXPANSION_CANCELLED, STR(""));
	else if (failure.n)
		expansion_over(e, EXPANSION_REJECTED, failure);
	else
		expand_next(e);
}

static void expand_command(struct expansion *e)
{
	const struct command *c = &e->commands[e->at++];
	struct cadre_session *s = e->session;
	struct err err = { 0 };

	if (c->skill) {
		e->use = skill_use_start(&s->tree.main, c->skill, c->arguments, true, on_ready, e);
		return;
	}
	e->prompt = server_prompt_start(s, str_from(c->name), c->arguments, on_prompt, e, &err);
	if (e->prompt)
		return;
	buf_addstr(&e->why, err.text);
	loop_kick(s->services->loop, &e->kick);
}

static void on_hooks_done(void *data, const struct hook_outcome *outcome)
{
	struct expansion *e = data;

	session_apply_hook_outcome(e->session, outcome);
	e->leave_prompt_out |= str_is(outcome->fields[HOOK_SUPPRESS_PROMPT], "true");
	if (outcome->cancelled || e->cancelled)
		expansion_over(e, EXPANSION_CANCELLED, STR(""));
	else if (outcome->stop)
		expansion_over(e, EXPANSION_HALTED, outcome->stop_reason);
	else if (outcome->blocked)
		expansion_over(e, EXPANSION_BLOCKED, outcome->block_reason);
	else
		expand_command(e);
}

static void expand_next(struct expansion *e)
{
	struct cadre_session *s = e->session;
	const struct command *c = &e->commands[e->at];

	if (e->at == e->count) {
		give_texts(e);
		return;
	}
	s->turn.hook_batch = agent_run_hooksf(
		&s->tree.main, HOOK_USER_PROMPT_EXPANSION, c->name, on_hooks_done, e,
		"{expansion_type:'%s', command_name:'%s', command_args:'%.*s', command_source:'%s', prompt:'%.*s'}",
		c->skill ? "slash_command" : "mcp_prompt", c->name, STR_ARG(c->arguments),
		c->skill ? definition_source_name(c->skill->source) : "mcp", STR_ARG(buf_str(&s->turn.prompt)));
	if (!s->turn.hook_batch)
		expand_command(e);
}

static void on_expansion_failed(struct kick *kick)
{
	struct expansion *e = CONTAINER_OF(kick, struct expansion, kick);

	expansion_over(e, e->cancelled ? EXPANSION_CANCELLED : EXPANSION_REJECTED, buf_str(&e->why));
}

/* False: why has the reason. */
static bool read_word(struct expansion *e, struct str word)
{
	struct agent *a = &e->session->tree.main;
	const struct catalog_entry *k = agent_skill(a, word);
	struct str name = { word.p + 1, word.n - 1 };

	if (k && !(agent_skill_views(a, k) & SKILL_FOR_USER))
		buf_addf(&e->why, "Only the model can use the skill %s.", k->name);
	else if (k || server_prompt_is(e->session, name))
		e->commands[e->count++] =
			(struct command){ .name = k ? arena_strdup(&e->arena, k->name) : arena_str(&e->arena, name).p,
					  .skill = k ? skill_ref(k->skill) : NULL };
	else
		agent_explain_no_skill(&e->why, a, name);
	return !e->why.n;
}

/* Reads leading names; the rest are arguments of all of them. */
static bool read_part(struct expansion *e, struct str part)
{
	struct str rest = str_trim(part);
	size_t first = e->count;

	while (e->count < MOST_STACKED && str_starts(str_trim(rest), STR("/"))) {
		struct str tail = rest;
		struct str word = str_cut_word(&tail);
		if (e->count > first && !is_command(e->session, word))
			break; /* a path among the arguments */
		if (!read_word(e, word))
			return false;
		rest = tail;
	}
	for (size_t i = first; i < e->count; i++)
		e->commands[i].arguments = arena_str(&e->arena, str_trim(rest));
	return true;
}

bool session_expand(struct cadre_session *s)
{
	const struct buf *prompt = &s->turn.prompt;
	struct str initial = { prompt->p, s->turn.initial };
	struct str typed = { prompt->p + s->turn.initial, prompt->n - s->turn.initial };
	bool in_initial = prompt->n && has_command(s, initial, false);
	bool in_typed = prompt->n && has_command(s, typed, true);

	if (s->turn.verbatim || (!in_initial && !in_typed))
		return false;
	turn_announce(s);
	struct expansion *e = xnew(struct expansion, .session = s, .kick.step = on_expansion_failed);
	s->turn.expansion = e;
	bool is_good = (!in_initial || read_part(e, initial)) && (!in_typed || read_part(e, typed));
	for (size_t i = 0; is_good && e->count > 1 && i < e->count; i++)
		if (e->commands[i].skill && e->commands[i].skill->is_fork)
			buf_addf(&e->why, "The skill %s runs in a subagent: use it alone.", e->commands[i].name);
	if (!e->why.n)
		expand_next(e);
	else
		loop_kick(s->services->loop, &e->kick);
	return true;
}

void session_expand_cancel(struct cadre_session *s)
{
	struct expansion *e = s->turn.expansion;

	if (!e)
		return;
	e->cancelled = true;
	if (e->use)
		skill_use_cancel(e->use);
	if (e->prompt)
		server_prompt_cancel(e->prompt);
	if (e->call)
		tool_call_cancel(e->call);
}

int services_skill_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err)
{
	if (services_agent_sources(sv, a, ret_sources, err) < 0 || policy_load(sv, err) < 0)
		return -(int)err->kind;
	catalog_sources_hold(ret_sources, a, sv->policy.settings);
	ret_sources->plugins = plugin_list_definitions(sv->plugins, PLUGIN_SKILLS, a, &ret_sources->plugin_count);
	ret_sources->plugins_only = policy_plugins_only(sv->policy.settings, "skills");
	return 0;
}

int services_open_skills(struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct catalog_sources sources;

	if (sv->skills || sv->options.no_slash_commands)
		return 0;
	if (services_skill_sources(sv, &a, &sources, err) < 0)
		return -(int)err->kind;
	sv->skills = skill_registry_new(&sources);
	return 0;
}
