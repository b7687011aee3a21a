/* SPDX-License-Identifier: MIT
 * skill_command.c - what a user can call by /name, and a prompt that begins with one: a skill, or a prompt of an MCP server.
 * Several may stand one behind the other, and all get the arguments that follow the last. One that works in an agent of its own
 * stands alone. */
#include "product/session/skills.h"
#include "product/session/server_prompt.h"
#include "lib/json/json_write.h"
#include "defs/skill/registry.h"
#include "agents/agent/hooks.h"
#include "agents/agent/skill_use.h"
#include "defs/policy/plugins.h"
#include "lib/io/file.h"
#include "config/settings/settings.h"
#include "config/settings/settings_path.h"
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
	bool leave_prompt_out; /* a hook says so */
	bool cancelled;
	struct tool_gate gate; /* of the call that waits for an agent of its own */
	struct tool_call *call;
	struct buf task, why; /* of that agent; why: of a command that is none */
	struct kick kick;     /* says why */
};

/* ---- what can be typed ------------------------------------------------------------------------------------------ */

static const struct builtin_command compact_command = { "compact", "Sum the conversation up and go on from the summary",
							"[instructions for the summary]" };

const struct builtin_command *session_builtin(const struct cadre_session *s, size_t i)
{
	if (i > 0 || s->services->options.no_slash_commands || !s->tree.compact.possible)
		return NULL;
	return &compact_command;
}

static void put_builtin(struct json_out *w, const struct builtin_command *b)
{
	json_open(w, '{');
	json_kcstr(w, "name", b->name);
	json_kcstr(w, "description", b->description);
	json_kcstr(w, "argumentHint", b->hint);
	json_kbool(w, "builtin", true);
	json_close(w);
}

static void put_prompt(void *data, const char *name, const struct mcp_prompt *prompt)
{
	struct json_out *w = data;
	AUTO_BUF struct buf hint = { 0 };

	server_prompt_hint(&hint, prompt);
	json_open(w, '{');
	json_kcstr(w, "name", name);
	json_kcstr(w, "description", prompt->description);
	json_kstr(w, "argumentHint", buf_str(&hint));
	json_close(w);
}

void session_put_commands(struct json_out *w, const struct cadre_session *s)
{
	const struct catalog *r = s->tree.skills.registry;

	json_open(w, '[');
	for (size_t i = 0; session_builtin(s, i); i++)
		put_builtin(w, session_builtin(s, i));
	for (size_t i = 0; r && i < r->active_count; i++) {
		const struct catalog_entry *e = r->active[i];
		if (!(skill_views(e, s->tree.skills.overrides) & SKILL_FOR_USER))
			continue;
		json_open(w, '{');
		json_kcstr(w, "name", e->name);
		json_kcstr(w, "description", e->skill->description);
		json_kcstr(w, "argumentHint", e->skill->argument_hint ? e->skill->argument_hint : "");
		json_close(w);
	}
	if (r)
		server_prompts_each(s, put_prompt, w);
	json_close(w);
}

/* ---- what was typed ---------------------------------------------------------------------------------------------- */

static struct str cut_word(struct str *rest)
{
	size_t n = 0;

	*rest = str_trim(*rest);
	while (n < rest->n && !char_in(rest->p[n], " \t\r\n"))
		n++;
	struct str word = { rest->p, n };
	*rest = (struct str){ rest->p + n, rest->n - n };
	return word;
}

static bool is_name(struct str name)
{
	while (name.p)
		if (!skill_name_is_good(str_cut(&name, ':')))
			return false;
	return true;
}

/* "/usr/bin/x is slow" and "/tmp is full" are prompts. */
static bool is_path(struct str word)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str name = { word.p + 1, word.n - 1 };

	return !name.n || !is_name(name) || access(arena_str(&a, word).p, F_OK) == 0;
}

static struct str without_slash(struct str word)
{
	return (struct str){ word.p + 1, word.n - 1 };
}

static bool is_known(struct cadre_session *s, struct str word)
{
	return agent_skill(&s->tree.main, word) || server_prompt_is(s, without_slash(word));
}

/* The agent's part of a prompt is its author's: a name in it that is none is text. */
static bool has_command(struct cadre_session *s, struct str part, bool is_typed)
{
	struct str rest = str_trim(part);

	if (!s->tree.skills.registry || !str_starts(rest, STR("/")))
		return false;
	struct str word = cut_word(&rest);
	return is_known(s, word) || (is_typed && !is_path(word));
}

static struct str initial_part(const struct turn *t)
{
	return (struct str){ t->prompt.p, t->initial };
}

static struct str typed_part(const struct turn *t)
{
	return (struct str){ t->prompt.p + t->initial, t->prompt.n - t->initial };
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

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

/* ---- an agent of its own ----------------------------------------------------------------------------------------- */

static void allow(struct tool_gate *gate, struct tool_call *call)
{
	(void)gate;
	tool_call_decided(call, TOOL_ALLOW, STR("")); /* the user has typed it */
}

static void start_agent(struct tool_call *call)
{
	struct expansion *e = call->owner;

	skill_use_fork(&e->session->tree.main, e->commands[0].skill, buf_str(&e->task), call);
}

static void stop_agent(struct tool_call *call)
{
	struct expansion *e = call->owner;

	agent_stop_waited(&e->session->tree, call);
}

static const struct tool forked = {
	.name = "Skill",
	.definition = "{\"name\":\"Skill\",\"input_schema\":{\"type\":\"object\"}}",
	.flags = TOOL_DELEGATES | TOOL_OWN_LIMIT,
	.start = start_agent,
	.cancel = stop_agent,
};

/* Its report is part of the conversation, for what is asked later. */
static int record_report(struct expansion *e, struct str report, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text,
		 "<system-reminder>\nThe skill %s was carried out by an agent of its own. Its report:\n" STR_FMT
		 "\n</system-reminder>",
		 e->commands[0].name, STR_ARG(report));
	struct segment *block = segment_text(buf_str(&text));
	return query_add_user(&e->session->tree.main.query, &block, 1, true, err);
}

static void on_agent_done(struct tool_call *call)
{
	struct expansion *e = call->owner;
	struct str report = buf_str(&call->result);
	struct err err = { 0 };

	if (e->cancelled)
		expansion_over(e, EXPANSION_CANCELLED, STR(""));
	else if (record_report(e, report, &err) < 0)
		expansion_over(e, EXPANSION_REJECTED, str_from(err.text));
	else
		expansion_over(e, call->is_error ? EXPANSION_REJECTED : EXPANSION_ANSWERED, report);
}

/* What was typed is on disk before the agent starts. */
static void fork_off(struct expansion *e, struct str task)
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
	e->gate = (struct tool_gate){ .ask = allow };
	e->call = tool_call_new(&a->env, &e->gate, &forked, str_from(id), STR("Skill"), STR("{}"));
	e->call->owner = e;
	e->call->done = on_agent_done;
	tool_call_start(e->call);
}

/* ---- one after the other ----------------------------------------------------------------------------------------- */

static void go_on(struct expansion *e);

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
		fork_off(e, result->text);
	} else {
		if (result->is_known)
			buf_addf(&text,
				 "The text of the skill %s is in this conversation already, unchanged. Follow it.",
				 c->name);
		else
			skill_text_add(&text, c->name, result->text);
		add_text(e, segment_text(buf_str(&text)));
		go_on(e);
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
		go_on(e);
}

static void ask_server(struct expansion *e, const struct command *c)
{
	struct err err = { 0 };

	e->prompt = server_prompt_start(e->session, str_from(c->name), c->arguments, on_prompt, e, &err);
	if (e->prompt)
		return;
	buf_addstr(&e->why, err.text);
	loop_kick(e->session->services->loop, &e->kick);
}

static void make_ready(struct expansion *e)
{
	const struct command *c = &e->commands[e->at++];

	if (c->skill)
		e->use = skill_use_start(&e->session->tree.main, c->skill, c->arguments, true, on_ready, e);
	else
		ask_server(e, c);
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
		make_ready(e);
}

static bool tell_hooks(struct expansion *e)
{
	struct cadre_session *s = e->session;
	const struct command *c = &e->commands[e->at];
	struct hook_fire_spec spec = { .event = HOOK_USER_PROMPT_EXPANSION, .subject = str_from(c->name) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(&s->tree.main, &spec))
		return false;
	json_open(&w, '{');
	json_kcstr(&w, "expansion_type", c->skill ? "slash_command" : "mcp_prompt");
	json_kcstr(&w, "command_name", c->name);
	json_kstr(&w, "command_args", c->arguments);
	json_kcstr(&w, "command_source", c->skill ? definition_source_name(c->skill->source) : "mcp");
	json_kstr(&w, "prompt", buf_str(&s->turn.prompt));
	json_close(&w);
	spec.fields = buf_str(&fields);
	s->turn.firing = agent_run_hooks(&s->tree.main, &spec, on_hooks_done, e);
	return true;
}

static void go_on(struct expansion *e)
{
	if (e->at == e->count)
		give_texts(e);
	else if (!tell_hooks(e))
		make_ready(e);
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static void say_why(struct kick *kick)
{
	struct expansion *e = CONTAINER_OF(kick, struct expansion, kick);

	expansion_over(e, e->cancelled ? EXPANSION_CANCELLED : EXPANSION_REJECTED, buf_str(&e->why));
}

static void add_command(struct expansion *e, const char *name, struct skill *skill)
{
	struct command *c = &e->commands[e->count++];

	c->name = arena_strdup(&e->arena, name);
	c->skill = skill ? skill_ref(skill) : NULL;
}

/* False: why says what is wrong with it. */
static bool read_word(struct expansion *e, struct str word)
{
	struct agent *a = &e->session->tree.main;
	const struct catalog_entry *k = agent_skill(a, word);
	struct str name = without_slash(word);

	if (k && !(agent_skill_views(a, k) & SKILL_FOR_USER))
		buf_addf(&e->why, "The skill %s is for the model alone: it cannot be typed.", k->name);
	else if (k)
		add_command(e, k->name, k->skill);
	else if (server_prompt_is(e->session, name))
		add_command(e, arena_str(&e->arena, name).p, NULL);
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
		struct str word = cut_word(&tail);
		if (e->count > first && !is_known(e->session, word))
			break; /* a path among the arguments */
		if (!read_word(e, word))
			return false;
		rest = tail;
	}
	for (size_t i = first; i < e->count; i++)
		e->commands[i].arguments = arena_str(&e->arena, str_trim(rest));
	return true;
}

/* Returns false with the reason in e->why. */
static bool read_names(struct expansion *e)
{
	struct cadre_session *s = e->session;
	const struct turn *t = &s->turn;

	if (has_command(s, initial_part(t), false) && !read_part(e, initial_part(t)))
		return false;
	if (has_command(s, typed_part(t), true) && !read_part(e, typed_part(t)))
		return false;
	for (size_t i = 0; i < e->count; i++)
		if (e->commands[i].skill && e->commands[i].skill->is_fork && e->count > 1)
			buf_addf(&e->why, "The skill %s works in an agent of its own: type it alone.",
				 e->commands[i].name);
	return !e->why.n;
}

bool session_expand(struct cadre_session *s)
{
	const struct turn *t = &s->turn;

	if (!t->prompt.n || (!has_command(s, initial_part(t), false) && !has_command(s, typed_part(t), true)))
		return false;
	turn_announce(s);
	struct expansion *e = xcalloc(1, sizeof *e);
	e->session = s;
	e->kick.step = say_why;
	s->turn.expansion = e;
	if (read_names(e))
		go_on(e);
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

/* ---- which skills a runtime has --------------------------------------------------------------------------------------- */

int app_skill_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err)
{
	if (app_agent_sources(sv, a, ret_sources, err) < 0 || policy_load(sv, err) < 0)
		return -(int)err->kind;
	ret_sources->plugins = app_plugin_skills(sv->plugins, a, &ret_sources->plugin_count);
	ret_sources->plugins_only = app_plugins_only(sv->policy.settings, "skills");
	return 0;
}

int app_open_skills(struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct catalog_sources sources;

	if (sv->skills || sv->options.no_slash_commands)
		return 0;
	if (app_skill_sources(sv, &a, &sources, err) < 0)
		return -(int)err->kind;
	sv->skills = skill_registry_new(&sources);
	return 0;
}
