/* SPDX-License-Identifier: MIT
 * session_prompt.c - the beginning of a turn: keeps the prompt while hooks see it, then writes it to disk, with the title of the
 * session and the context that the model needs before it. */
#include "product/session/session_int.h"
#include "guard/sandbox/sandbox.h"
#include "product/session/session.h"
#include "core/store/checkpoint.h"
#include "lib/json/json_write.h"
#include "agents/agent/context.h"
#include "agents/agent/hooks.h"
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/classifier.h"
#include "defs/policy/permissions.h"
#include "lib/io/file.h"

/* The definition's initialPrompt, which precedes the first prompt of a new session; empty: none. */
static struct str session_initial_prompt(const struct cadre_session *s)
{
	const char *text = s->tree.main.definition ? s->tree.main.definition->initial_prompt : NULL;
	bool is_new = !s->tree.main.load && !s->tree.main.from.session_id &&
		      !transcript_count(&s->tree.main.query.transcript);

	return text && is_new ? str_trim(str_from(text)) : STR("");
}

/* Notes of the steps that started the agent */
static void emit_agent_notes(struct cadre_session *s)
{
	struct str rest = str_trim(buf_str(&s->tree.main.notes));

	while (rest.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_cut(&rest, '\n') });
	buf_clear(&s->tree.main.notes);
}

static void on_preloaded(void *data)
{
	struct cadre_session *s = data;

	s->tree.main.preload = NULL;
	emit_agent_notes(s);
	turn_work_over(s);
}

bool session_preload(struct cadre_session *s)
{
	struct agent *a = &s->tree.main;

	if (!a->definition || !a->definition->skills.count || s->preloaded || a->load ||
	    transcript_count(&a->query.transcript))
		return false;
	turn_announce(s);
	s->preloaded = true;
	a->preload = preload_start(&(struct preload_spec){ .agent = a,
							   .names = &a->definition->skills,
							   .skills = &a->skills,
							   .notes = &a->notes,
							   .done = on_preloaded,
							   .data = s });
	if (!a->preload)
		emit_agent_notes(s); /* none of them is there */
	return a->preload;
}

/* Servers are up by now, or have failed. */
void session_report_agent(struct cadre_session *s)
{
	struct agent *m = &s->tree.main;

	if (s->agent_reported)
		return;
	s->agent_reported = true;
	for (size_t i = 0; m->definition && i < m->choice.unknown.count; i++)
		buf_addf(&m->notes, "%s names a tool that does not exist: %s\n", m->definition->name,
			 m->choice.unknown.list[i]);
	if (m->definition && servers_lacking(&s->tree, m->definition, &m->notes))
		buf_addch(&m->notes, '\n');
	if (m->definition && tool_choice_lacks(&m->choice, &m->notes))
		buf_addch(&m->notes, '\n');
	emit_agent_notes(s);
}

/* A hook's opening is added alone: the prompt follows when the model has answered it. */
int session_add_prompt(struct cadre_session *s, struct err *err)
{
	struct agent *a = &s->tree.main;
	struct query *q = &a->query;
	struct turn *t = &s->turn;

	if (!transcript_count(&q->transcript) || s->context_lacks) {
		s->context_lacks = agent_add_context(a, err) < 0;
		if (s->context_lacks)
			return -(int)err->kind;
	}
	if (agent_add_skills(a, err) < 0)
		return -(int)err->kind;
	if (t->context.n && agent_remind(a, buf_str(&t->context), err) < 0)
		return -(int)err->kind;
	buf_clear(&t->context); /* one that is not on disk waits for the next prompt: SessionStart hooks run once */
	if (t->opening.n) {
		struct segment *block = segment_text(buf_str(&t->opening));
		return query_add_user(q, &block, 1, false, err);
	}
	if (t->suppressed)
		return 0;
	if (session_add_mentions(s, err) < 0)
		return -(int)err->kind;
	if (s->tree.checkpoint && !t->uuid[0])
		id_uuid(t->uuid);
	if (s->tree.checkpoint && checkpoint_mark(s->tree.checkpoint, t->uuid, NULL, err) < 0)
		return -(int)err->kind;
	recent_prompts_add(&s->tree.recent_prompts, (struct str){ t->prompt.p + t->initial, t->prompt.n - t->initial });
	struct segment *text = t->blocks ? NULL : segment_text(buf_str(&t->prompt));
	struct user_line line = { .blocks = t->blocks ? t->blocks : &text,
				  .count = t->blocks ? t->block_count : 1,
				  .uuid = t->uuid[0] ? t->uuid : NULL };
	int status = query_add_line(q, &line, err);
	free(TAKE(t->blocks)); /* the query has what was in it */
	return status;
}

/* The last title of a session counts; the model does not see it. */
int session_set_title(struct cadre_session *s, struct str title, struct err *err)
{
	struct journal *journal = s->tree.main.journal;
	AUTO_BUF struct buf line = { 0 };

	if (!journal)
		return err_set(err, ERR_USAGE, "the session is not kept on disk");
	if (agent_record_origin(&s->tree.main, err) < 0)
		return -(int)err->kind;
	json_addf(&line, "{type:'custom-title', customTitle:'%.*s', sessionId:'%s'}", STR_ARG(title), s->id);
	return journal_append(journal, &line, err);
}

/* Hooks have accepted the prompt. */
int session_commit(struct cadre_session *s, struct err *err)
{
	struct agent *a = &s->tree.main;
	const char *name = s->name;
	bool asks = s->turn.prompt.n || s->turn.blocks;
	int status = agent_record_origin(a, err);

	if (status == 0 && a->definition && !s->agent_recorded) {
		status = recorder_setting(&a->recorder, "agent-setting", "agentSetting", a->definition->name, err);
		s->agent_recorded = status == 0;
	}
	if (status == 0 && s->tree.switches.coordinator && !s->mode_recorded) {
		status = recorder_setting(&a->recorder, "mode", "mode", "coordinator", err);
		s->mode_recorded = status == 0;
	}
	if (status == 0 && !s->name_kept && name && name[0] && a->journal) {
		status = session_set_title(s, str_from(name), err);
		s->name_kept = status == 0;
	}
	if (status == 0)
		status = session_take_load(s, !asks, err);
	if (status == 0 && asks)
		status = session_add_prompt(s, err);
	return status;
}

int cadre_has_initial_prompt(const struct cadre_session *s)
{
	return s && session_initial_prompt(s).n > 0;
}

int cadre_has_interrupted_turn(const struct cadre_session *s)
{
	const struct session_load *l = s ? s->tree.main.load : NULL;

	return l && (l->interrupted || l->waiting_count || agent_tree_unfinished(&s->tree, &l->delivered));
}

int session_check_prompt(struct cadre_session *s, const struct session_prompt *p, struct err *err)
{
	struct str text = p->text;

	if (turn_is_running(&s->turn) || s->closing)
		return err_set(err, ERR_BUSY, "a turn is running");
	if (!text.p && !cadre_has_interrupted_turn(s))
		return err_set(err, ERR_USAGE, "session %s has no interrupted turn to continue: give it a prompt",
			       s->id);
	if (text.p && !str_trim(text).n && !p->block_count && !session_initial_prompt(s).n)
		return err_set(err, ERR_USAGE, "the prompt is empty");
	return 0;
}

void session_drop_prompt(struct cadre_session *s)
{
	struct turn *t = &s->turn;

	session_drop_mentions(s);
	session_drop_expansion(s);
	buf_clear(&t->prompt);
	for (size_t i = 0; t->blocks && i < t->block_count; i++)
		segment_unref(t->blocks[i]);
	free(TAKE(t->blocks));
	t->block_count = 0;
	t->initial = 0;
	t->suppressed = t->verbatim = false;
	t->uuid[0] = '\0';
}

void session_keep_prompt(struct cadre_session *s, const struct session_prompt *p)
{
	struct turn *t = &s->turn;
	struct str initial = p->text.p ? session_initial_prompt(s) : STR("");

	session_drop_prompt(s);
	buf_add(&t->prompt, initial.p, initial.n);
	if (initial.n && str_trim(p->text).n)
		buf_addstr(&t->prompt, "\n\n");
	t->initial = t->prompt.n;
	buf_add(&t->prompt, p->text.p, p->text.n);
	t->verbatim = p->verbatim;
	if (p->uuid)
		snprintf(t->uuid, sizeof t->uuid, "%s", p->uuid);
	if (!p->block_count)
		return;
	t->blocks = xcalloc(p->block_count + 1, sizeof *t->blocks);
	if (t->initial)
		t->blocks[t->block_count++] = segment_text((struct str){ t->prompt.p, t->initial });
	for (size_t i = 0; i < p->block_count; i++)
		t->blocks[t->block_count++] = segment_ref(p->blocks[i]);
}

bool session_asks_compact(const struct cadre_session *s, struct str *ret_instructions)
{
	const struct buf *prompt = &s->turn.prompt;
	struct str text = str_trim((struct str){ prompt->p + s->turn.initial, prompt->n - s->turn.initial });
	struct str word = STR("/compact");

	if (s->turn.verbatim || s->services->options.no_slash_commands || !str_starts(text, word) ||
	    (text.n > word.n && !char_in(text.p[word.n], " \t\r\n")))
		return false;
	*ret_instructions = str_trim((struct str){ text.p + word.n, text.n - word.n });
	return true;
}

/* Options and settings that a host may change while a session runs; a change holds from the next request on. */

static void on_switched(void *data, const struct err *err)
{
	if (err && err->kind != ERR_CANCELLED)
		session_emit_error(data, "the model stays: %s", err->text);
}

static int set_model(struct cadre_session *s, const char *name, struct err *err)
{
	return MIN(session_switch_model(s, name, "command", on_switched, s, err), 0);
}

/* This never grants a permission that the command line did not offer. */
static int set_mode(struct cadre_session *s, const char *name, struct err *err)
{
	const struct options *given = &s->tree.policy->options;
	struct options o = *given;
	enum permission_mode mode;

	if (!name || !permission_mode_parse(str_from(name), &o.permission_mode))
		return err_set(err, ERR_USAGE, PERMISSION_MODE_UNKNOWN, name ? name : "");
	o.mode_given = true;
	if (o.permission_mode == PERMISSION_BYPASS && !given->may_bypass && given->permission_mode != PERMISSION_BYPASS)
		return err_set(err, ERR_DENIED,
			       "bypassPermissions was not allowed at the start: it needs "
			       "--allow-dangerously-skip-permissions");
	if (policy_start_mode(s->tree.policy->settings, &o, &mode, err) < 0)
		return -(int)err->kind;
	permission_choose_mode(&s->tree.main.permission, mode);
	agent_follow_mode(&s->tree.main);
	return 0;
}

static int set_thinking(struct cadre_session *s, const char *value, struct err *err)
{
	struct options o = { .thinking = NULL };
	int status = value ? options_set(&o, "max-thinking-tokens", value, err) : 0;

	if (status == 0) {
		s->tree.thinking = o.thinking ? arena_strdup(&s->arena, o.thinking) : s->services->options.thinking;
		agent_renew_head(&s->tree.main);
	}
	arena_release(&o.arena);
	return status;
}

static int set_thinking_display(struct cadre_session *s, const char *value, struct err *err)
{
	struct options o = { .thinking_display = NULL };
	int status = options_set(&o, "thinking-display", value, err);

	if (status == 0) {
		s->tree.thinking_display = o.thinking_display; /* a constant */
		agent_renew_head(&s->tree.main);
	}
	arena_release(&o.arena);
	return status;
}

static int set_effort(struct cadre_session *s, const char *value, struct err *err)
{
	struct options o = { .effort = NULL };
	int status = options_set(&o, "effort", value, err);

	if (status == 0) {
		s->tree.given.effort = o.effort; /* a constant */
		agent_renew_head(&s->tree.main);
	}
	arena_release(&o.arena);
	return status;
}

static int set_fallbacks(struct cadre_session *s, const char *value, struct err *err)
{
	return agent_tree_set_fallbacks(&s->tree, value ? value : "", err);
}

static int add_dir(struct cadre_session *s, const char *value, struct err *err)
{
	AUTO_FREE char *real = value && value[0] == '/' ? realpath(value, NULL) : NULL;

	if (!real || !file_is_dir(real))
		return err_set(err, ERR_USAGE, "'%s' is not the absolute path of a directory", value ? value : "");
	session_add_directory(s, real);
	agent_notify_hooksf(&s->tree.main, HOOK_DIRECTORY_ADDED, "slash_command",
			    "{directory:'%s', source:'slash_command'}", real);
	return 0;
}

/* One of a list of words, kept as the constant in it. */
static int set_word(const char *const *words, const char *value, const char **slot, struct err *err)
{
	for (; *words; words++)
		if (value && !strcmp(value, *words)) {
			*slot = *words;
			return 0;
		}
	return err_set(err, ERR_USAGE, "hooks know no '%s'", value ? value : "");
}

static int set_start_source(struct cadre_session *s, const char *value, struct err *err)
{
	static const char *const words[] = { "startup", "resume", "clear", "compact", "fork", NULL };

	return set_word(words, value, &s->start_source, err);
}

static int set_end_reason(struct cadre_session *s, const char *value, struct err *err)
{
	static const char *const words[] = { "clear", "resume", "logout", "prompt_input_exit", "other", NULL };

	return set_word(words, value, &s->end_reason, err);
}

static const struct {
	const char *option;
	int (*set)(struct cadre_session *s, const char *value, struct err *err);
} table[] = {
	{ "add-dir", add_dir },
	{ "effort", set_effort },
	{ "fallback-model", set_fallbacks },
	{ "model", set_model },
	{ "permission-mode", set_mode },
	{ "max-thinking-tokens", set_thinking },
	{ "thinking-display", set_thinking_display },
	{ "start-source", set_start_source },
	{ "end-reason", set_end_reason },
};

int cadre_session_set(struct cadre_session *s, const char *option, const char *value, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!s || !option)
		return CADRE_USAGE;
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (!strcmp(table[i].option, option))
			return api_status(table[i].set(s, value, &err), &err, why, why_size);
	return api_status(err_set(&err, ERR_USAGE, "'%s' cannot be changed while a session runs", option), &err, why,
			  why_size);
}

/* Settings from the host, in the layer of --settings: a key replaces, null removes. */

enum { FILE_MAX_BYTES = 2 << 20 };

/* While a session runs these are options of it, not settings. */
static const struct {
	const char *key, *option;
} steered[] = { { "model", "model" }, { "effortLevel", "effort" } };

static void merge_settings(struct buf *out, struct arena *a, const struct json *old, const struct json *more)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_put_members(&w, old, NULL, more);
	for (struct json_member m = json_members(more); m.key; m = json_member_next(more, m)) {
		struct str key = json_str(m.key, a);
		bool is_setting = !json_is(m.value, JSON_NULL);
		for (size_t i = 0; i < COUNT_OF(steered); i++)
			is_setting = is_setting && !str_is(key, steered[i].key);
		if (!is_setting)
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
}

int session_apply_settings(struct cadre_session *s, const struct json *more, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf layer = { 0 }, merged = { 0 };
	struct services *sv = s->services;
	const char *given = s->tree.policy->options.settings;
	const struct json *old = NULL;
	struct policy *changed;

	if (given && str_trim(str_from(given)).n && str_trim(str_from(given)).p[0] == '{')
		buf_addstr(&layer, given);
	else if (given && given[0] && file_read(given, FILE_MAX_BYTES, &layer, err) < 0)
		return -(int)err->kind;
	if (given && given[0] && json_parse(&reader, layer.p, layer.n, &old, err) < 0)
		return -(int)err->kind;
	const struct sandbox_policy *held = sandbox_get_policy(s->tree.sandbox);
	const struct json *wish = json_get(json_get(more, "sandbox"), "enabled");
	if (held && held->enabled && wish && !json_bool(wish))
		return err_set(err, ERR_DENIED, "sandbox.enabled cannot be switched off while the session runs");
	merge_settings(&merged, &a, old, more);
	const char *now = arena_strdup(&sv->options.arena, merged.p);
	s->tree.policy->options.settings = now;
	if (policy_renew(sv, s->tree.policy, &changed, err) < 0) {
		s->tree.policy->options.settings = given;
		return -(int)err->kind;
	}
	if (sv->options.settings == given) /* for sessions that are opened like this one */
		sv->options.settings = now;
	policy_apply(sv, s->tree.policy, changed);
	for (size_t i = 0; i < COUNT_OF(steered); i++) {
		const struct json *v = json_get(more, steered[i].key);
		int status =
			v ? cadre_session_set(s, steered[i].option, json_cstr(v, &a), err->text, sizeof err->text) : 0;
		if (status < 0) {
			err->kind = (enum err_kind) - status;
			return status;
		}
	}
	return 0;
}
