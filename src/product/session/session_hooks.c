/* SPDX-License-Identifier: MIT
 * session_hooks.c - hooks around a session and its turns: Setup, SessionStart, UserPromptSubmit, Stop, StopFailure, SessionEnd,
 * and ConfigChange for settings that have changed since the last turn. What their outcome leads to is decided in turn.c. */
#include "product/session/session_int.h"
#include <sys/stat.h>
#include "lib/json/json_write.h"
#include "mcp/servers/config.h"
#include "agents/agent/hooks.h"
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"
#include "config/catalog/catalog.h"
#include "lib/base/list.h"
#include "lib/io/file.h"
#include "lib/json/json.h"

/* A hook's JSON string. Anything else counts as "". */
static struct str hook_text(struct str json, struct arena *a)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	return json.n && json_parse(&reader, json.p, json.n, &root, NULL) == 0 ? str_trim(json_str(root, a)) : STR("");
}

void session_apply_hook_outcome(struct cadre_session *s, const struct hook_outcome *outcome)
{
	AUTO_ARENA struct arena a = { 0 };
	struct buf *context = &s->turn.context;
	struct str title = hook_text(outcome->fields[HOOK_SESSION_TITLE], &a);

	s->turn.hook_batch = NULL;
	hook_contexts_add(context, outcome);
	emit_hook_messages(&s->tree, NULL, outcome);
	if (title.n && s->tree.main.journal)
		(void)session_set_title(s, title, NULL); /* not worth a failure */
	session_watch_more(&s->tree, outcome);
	if (str_is(outcome->fields[HOOK_RELOAD_SKILLS], "true"))
		agent_tree_reload_skills(&s->tree);
}

static void on_hooks_over(void *data, const struct hook_outcome *outcome)
{
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_session *s = data;
	struct turn *t = &s->turn;

	session_apply_hook_outcome(s, outcome);
	if (t->state == TURN_START && !s->services->options.interactive) { /* on a terminal the user speaks first */
		struct str opening = hook_text(outcome->fields[HOOK_INITIAL_MESSAGE], &a);
		buf_add(&t->opening, opening.p, opening.n);
	}
	if (t->state == TURN_SUBMIT)
		t->suppressed = outcome->context_count && str_is(outcome->fields[HOOK_SUPPRESS_PROMPT], "true");
	t->hooks_over = true;
	t->hooks_stop = outcome->stop;
	t->hooks_block = outcome->blocked;
	t->interrupted = t->interrupted || (outcome->cancelled && turn_is_running(t));
	struct str reason = outcome->stop ? outcome->stop_reason : outcome->block_reason;
	buf_clear(&t->hook_reason);
	buf_add(&t->hook_reason, reason.p, reason.n);
	turn_work_over(s);
}

printf_like(4, 5) static bool run_turn_hooks(struct cadre_session *s, enum hook_event event, const char *subject,
					     const char *fields, ...)
{
	struct hook_event_spec spec = { .event = event, .subject = str_from(subject) };
	va_list args;

	if (turn_is_running(&s->turn) && agent_has_hooks(&s->tree.main, &spec))
		turn_announce(s);
	va_start(args, fields);
	s->turn.hook_batch = agent_vrun_hooks(&s->tree.main, event, subject, on_hooks_over, s, fields, args);
	va_end(args);
	return s->turn.hook_batch;
}

bool session_run_setup_hooks(struct cadre_session *s)
{
	const char *trigger = s->services->options.setup;

	if (!trigger || s->turn.setup_hooks_ran)
		return false;
	s->turn.setup_hooks_ran = true;
	return run_turn_hooks(s, HOOK_SETUP, trigger, "{trigger:'%s'}", trigger);
}

bool session_run_start_hooks(struct cadre_session *s)
{
	const struct agent *a = &s->tree.main;
	const char *source = a->from.session_id ? "fork" : a->load ? "resume" : "startup";

	if (s->turn.start_hooks_ran)
		return false;
	s->turn.start_hooks_ran = true;
	source = s->start_source ? s->start_source : source;
	return run_turn_hooks(s, HOOK_SESSION_START, source, "{source:'%s', model:'%s'}", source, a->model);
}

bool session_run_prompt_hooks(struct cadre_session *s)
{
	return s->turn.prompt.n &&
	       run_turn_hooks(s, HOOK_USER_PROMPT_SUBMIT, "", "{prompt:'%.*s'}", STR_ARG(s->turn.prompt));
}

/* An interrupt is not a stop; hooks cannot change a failure. */
bool session_run_stop_hooks(struct cadre_session *s)
{
	const struct query *q = &s->tree.main.query;

	if (q->end == QUERY_MODEL_ERROR) {
		const char *error = failure_name(&q->failure);
		agent_notify_hooksf(&s->tree.main, HOOK_STOP_FAILURE, error,
				    "{error:'%s', error_details:'%s', last_assistant_message?:'%.*s'}", error,
				    q->failure.text, STR_ARG(q->text));
	}
	if (q->end != QUERY_DONE || s->turn.interrupted)
		return false;
	return run_turn_hooks(s, HOOK_STOP, "", "{stop_hook_active:!!%d, last_assistant_message?:'%.*s'}",
			      s->turn.stop_blocks > 0, STR_ARG(q->text));
}

bool session_run_member_hooks(struct cadre_session *s)
{
	const struct tree_lead *lead = s->tree.lead;
	AUTO_ARENA struct arena a = { 0 };
	struct turn *t = &s->turn;
	struct todo_info task;

	if (!lead || s->tree.main.query.end != QUERY_DONE || t->interrupted || t->idle_shown)
		return false;
	while (s->tree.todo_dir && s->tree.kit->task_at(s->tree.todo_dir, lead->name, t->tasks_shown, &a, &task)) {
		t->tasks_shown++;
		if (run_turn_hooks(s, HOOK_TASK_COMPLETED, "",
				   "{task_id:'%s', task_subject:'%s', task_description:'%s', teammate_name:'%s', "
				   "team_name:'%s'}",
				   task.id, task.subject, task.description ? task.description : "", lead->name,
				   lead->team))
			return true;
	}
	t->idle_shown = true;
	return run_turn_hooks(s, HOOK_TEAMMATE_IDLE, "", "{teammate_name:'%s', team_name:'%s'}", lead->name,
			      lead->team);
}

bool session_run_end_hooks(struct cadre_session *s)
{
	const char *reason = s->end_reason ? s->end_reason : "other";

	if (s->turn.end_hooks_ran || !s->turn.start_hooks_ran)
		return false;
	s->turn.end_hooks_ran = run_turn_hooks(s, HOOK_SESSION_END, reason, "{reason:'%s'}", reason);
	return s->turn.end_hooks_ran;
}

/* Hooks see each changed file, one after the other, and may reject the change; changes to managed settings cannot be rejected.
 * Sessions with the same folder and options share the settings: what one of them accepts holds for all of these. */
struct changed_file {
	struct changed_file *next;
	enum settings_layer layer;
	const char *path;
};

struct config_change {
	struct arena arena;
	struct policy *policy;      /* owned: what the files say now */
	struct changed_file *files; /* that hooks have not looked at yet */
	bool blocked, forced;       /* a hook rejects it; a managed file is among them */
	struct buf reason;
};

void session_drop_change(struct cadre_session *s)
{
	struct config_change *c = TAKE(s->turn.change);

	if (!c)
		return;
	if (c->policy)
		policy_release(c->policy);
	free(c->policy);
	buf_release(&c->reason);
	arena_release(&c->arena);
	free(c);
}

void session_use_env(struct services *sv)
{
	for (struct cadre_session *s = sv->sessions; s; s = s->next) {
		if (servers_use_policy(&s->tree))
			s->servers_awaited = false; /* its next turn waits for them */
		s->tree.main.env.envp = s->tree.policy->envp;
		for (struct agent *a = s->tree.alive; a; a = a->next)
			a->env.envp = s->tree.policy->envp;
	}
}

void policy_apply(struct services *sv, struct policy *p, struct policy *changed)
{
	policy_adopt(p, changed);
	for (struct cadre_session *s = sv->sessions; s; s = s->next)
		if (s->tree.policy == p)
			session_use_policy(s);
	session_use_env(sv);
}

static bool show_next_change(struct cadre_session *s);

static void on_change_seen(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct config_change *c = s->turn.change;

	s->turn.hook_batch = NULL;
	emit_hook_messages(&s->tree, NULL, outcome);
	if (outcome->blocked) {
		c->blocked = true;
		buf_addf(&c->reason, "%s" STR_FMT, c->reason.n ? "\n" : "", STR_ARG(outcome->block_reason));
	}
	c->files = c->files->next;
	s->turn.interrupted = s->turn.interrupted || outcome->cancelled;
	if (s->turn.interrupted)
		session_drop_change(s);
	else if (show_next_change(s))
		return;
	turn_work_over(s);
}

/* Runs the hooks of the next file that has any. False: there is none left, and the change was accepted or rejected. */
static bool show_next_change(struct cadre_session *s)
{
	static const char *const sources[] = { [LAYER_USER] = "user_settings",
					       [LAYER_PROJECT] = "project_settings",
					       [LAYER_LOCAL] = "local_settings",
					       [LAYER_FLAG] = "user_settings",
					       [LAYER_MANAGED] = "policy_settings" };
	struct config_change *c = s->turn.change;

	for (; c->files; c->files = c->files->next) {
		const char *source = sources[c->files->layer];
		s->turn.hook_batch = agent_run_hooksf(&s->tree.main, HOOK_CONFIG_CHANGE, source, on_change_seen, s,
						      "{source:'%s', file_path:'%s'}", source, c->files->path);
		if (s->turn.hook_batch)
			return true;
	}
	if (!c->blocked || c->forced) {
		policy_apply(s->services, s->tree.policy, TAKE(c->policy));
		session_drop_change(s);
		return false;
	}
	policy_decline(s->tree.policy, TAKE(c->policy));
	session_emit_error(s, "changed settings do not count: a ConfigChange hook refused them%s" STR_FMT,
			   c->reason.n ? ": " : "", STR_ARG(buf_str(&c->reason)));
	session_drop_change(s);
	return false;
}

static void add_changed_file(void *data, enum settings_layer layer, const char *path)
{
	struct config_change *c = data;
	struct changed_file *f =
		arena_new(&c->arena, struct changed_file, .layer = layer, .path = arena_strdup(&c->arena, path));

	c->forced = c->forced || layer == LAYER_MANAGED;
	list_push_last(&c->files, f);
}

bool session_look_at_settings(struct cadre_session *s)
{
	struct policy *changed;
	struct err err = { 0 };
	int status = policy_look(s->services, s->tree.policy, &changed, &err);

	if (status < 0)
		session_emit_error(s, "%s", err.text);
	if (status <= 0)
		return false;
	struct config_change *c = xnew(struct config_change, .policy = changed);
	settings_each_change(s->tree.policy->settings, changed->settings, add_changed_file, c);
	s->turn.change = c;
	return show_next_change(s);
}

/* In a run without a person to ask, servers of a project need trust or an approval in the user's own settings. */
static void report_waiting_servers(struct cadre_session *s)
{
	const struct mcp_config *config = s->tree.policy->mcp_config;
	AUTO_BUF struct buf names = { 0 };

	for (size_t i = 0; config && i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->standing == MCP_UNAPPROVED)
			buf_addf(&names, "%s%s (%s:%u)", names.n ? ", " : "", item->name, item->file, item->line);
		const struct child_wishes *w = &item->wanted;
		if (item->standing == MCP_COUNTS && (w->write || w->hosts || w->sockets))
			session_emit_error(s, "MCP server %s: its \"sandbox\" has no effect: it was not approved",
					   item->name);
	}
	if (names.n)
		session_emit_error(s,
				   "this folder is not trusted, so these MCP servers do not run: %s; `cadre trust` "
				   "records consent, --trust-project gives it for one run",
				   names.p);
}

/* Files of one kind that were refused: the first few with their reasons, then how many more, each with the command that shows all. */
struct refusals {
	struct cadre_session *session;
	const char *noun, *command;
	size_t count;
};

enum { MOST_REFUSALS = 5 };

/* file: NULL if the message names it */
static void report_refusal(struct refusals *r, const char *file, unsigned line, const char *message)
{
	AUTO_BUF struct buf place = { 0 };

	if (r->count++ >= MOST_REFUSALS)
		return;
	buf_addstr(&place, file ? file : "");
	if (file && line)
		buf_addf(&place, ":%u", line);
	buf_addstr(&place, file ? ": " : "");
	session_emit_error(r->session, "%s%s; this %s is refused (`%s`)", buf_str(&place).p, message, r->noun,
			   r->command);
}

static void report_more_refusals(const struct refusals *r)
{
	if (r->count > MOST_REFUSALS)
		session_emit_error(r->session, "%zu more %ss are refused (`%s`)", r->count - MOST_REFUSALS, r->noun,
				   r->command);
}

static void report_failed_files(struct cadre_session *s, const struct catalog *r, const char *noun, const char *command)
{
	struct refusals refusals = { s, noun, command, 0 };
	const struct plugin_list *plugins = s->services->plugins;

	for (size_t i = 0; r && i < r->failed_count; i++) {
		const struct catalog_failure *f = &r->failed[i];
		bool reported =
			str_ends(str_from(f->path), STR(".json")); /* settings and plugins are reported as such */
		for (size_t k = 0; plugins && k < plugins->count; k++)
			reported = reported ||
				   (plugins->all[k]->state == PLUGIN_FAILED && !strcmp(f->path, plugins->all[k]->root));
		if (!reported)
			report_refusal(&refusals, f->path, f->line, f->message);
	}
	report_more_refusals(&refusals);
}

/* Agents that run with more rights than their files meant to give them. */
static void report_lost_restrictions(struct cadre_session *s, const struct catalog *agents)
{
	size_t count = 0;

	for (size_t i = 0; agents && i < agents->active_count; i++) {
		const struct definition *d = agents->active[i]->item;
		for (size_t k = 0; k < d->diagnostic_count; k++)
			if (d->diagnostics[k].level == DIAGNOSTIC_LOST && count++ < MOST_REFUSALS)
				session_emit_error(s, "%s:%u: %s (`cadre agents check`)", d->file,
						   d->diagnostics[k].line, d->diagnostics[k].message);
	}
	if (count > MOST_REFUSALS)
		session_emit_error(s, "%zu more restrictions of agents have no effect (`cadre agents check`)",
				   count - MOST_REFUSALS);
}

/* What an administrator or the user has switched off is not reported. */
static void report_refused_servers(struct cadre_session *s)
{
	const struct mcp_config *config = s->tree.policy->mcp_config;
	struct refusals refusals = { s, "MCP server", "cadre mcp list", 0 };
	struct str files = config ? str_trim(buf_str(&config->bad_files)) : (struct str){ 0 };

	while (files.n) {
		struct str line = str_cut(&files, '\n');
		session_emit_error(s, STR_FMT "; none of its servers runs (`cadre mcp list`)", STR_ARG(line));
	}
	for (size_t i = 0; config && i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->standing == MCP_REFUSED && item->error_type)
			report_refusal(&refusals, NULL, 0, item->reason);
	}
	report_more_refusals(&refusals);
}

/* Of one that works, a part may still be refused. */
static void report_refused_plugins(struct cadre_session *s)
{
	const struct plugin_list *list = s->services->plugins;
	struct refusals whole = { s, "plugin", "cadre plugin list", 0 };
	struct refusals part = { s, "part of it", "cadre plugin list", 0 };

	for (size_t i = 0; list && i < list->count; i++) {
		const struct plugin *p = list->all[i];
		for (size_t k = 0; p->state != PLUGIN_DISABLED && k < p->error_count; k++)
			report_refusal(p->state == PLUGIN_FAILED ? &whole : &part, p->errors[k].file, p->errors[k].line,
				       p->errors[k].message);
	}
	report_more_refusals(&whole);
	report_more_refusals(&part);
}

void session_report_policy(struct cadre_session *s)
{
	const struct policy *p = s->tree.policy;

	struct str rest = str_trim(buf_str(&p->notes));
	uint64_t notes = str_hash(rest); /* files that are read again say the same */
	while (s->policy_reported != p->generation + 1 && s->policy_notes != notes && rest.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_cut(&rest, '\n') });
	if (!s->policy_reported) {
		report_failed_files(s, s->services->registry, "agent", "cadre agents check");
		report_lost_restrictions(s, s->services->registry);
		report_failed_files(s, s->services->skills, "skill", "cadre skills check");
		report_refused_plugins(s);
		report_refused_servers(s);
	}
	if (!s->policy_reported && !s->services->options.interactive)
		report_waiting_servers(s);
	s->policy_reported = p->generation + 1;
	s->policy_notes = notes;
}

/* FileChanged: the files that hooks name in their matchers, below the working directory, and those that a hook
 * names in watchPaths. They are polled twice a second while a turn runs, which works on every file system, survives editors that
 * replace files, and costs one stat per file. */

enum { LOOK_MS = 500, MOST_FILES = 256 };

struct watched {
	char *path;
	bool there;
	struct timespec changed;
	off_t size;
};

struct file_watch {
	struct cadre_session *session;
	struct timer timer;
	struct watched *list;
	size_t count;
	bool is_full; /* and the user knows */
};

static void watched_read(struct watched *w)
{
	struct stat st;

	w->there = stat(w->path, &st) == 0;
	w->changed = w->there ? st.st_mtim : (struct timespec){ 0 };
	w->size = w->there ? st.st_size : 0;
}

static void watch_file(struct file_watch *f, const char *path)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].path, path))
			return;
	if (f->count == MOST_FILES) {
		if (!f->is_full)
			session_emit_error(f->session, "FileChanged hooks watch %d files at most: %s is not watched",
					   MOST_FILES, path);
		f->is_full = true;
		return;
	}
	f->list = xrealloc(f->list, (f->count + 1) * sizeof *f->list);
	f->list[f->count] = (struct watched){ .path = xstrdup(path) };
	watched_read(&f->list[f->count++]);
}

static void on_timer(struct timer *timer)
{
	struct file_watch *f = CONTAINER_OF(timer, struct file_watch, timer);

	for (size_t i = 0; i < f->count; i++) {
		struct watched before = f->list[i], *now = &f->list[i];
		watched_read(now);
		bool same = before.there == now->there && before.size == now->size &&
			    before.changed.tv_sec == now->changed.tv_sec &&
			    before.changed.tv_nsec == now->changed.tv_nsec;
		if (same)
			continue;
		const char *event = before.there && now->there ? "change" : now->there ? "add" : "unlink";
		agent_notify_hooksf(&f->session->tree.main, HOOK_FILE_CHANGED, strrchr(now->path, '/') + 1,
				    "{file_path:'%s', event:'%s'}", now->path, event);
	}
	if (turn_is_running(&f->session->turn))
		timer_start(f->session->services->loop, &f->timer, LOOK_MS);
}

void session_watch_files(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct hook_set *set = s->tree.policy->hooks;

	if (!set || !set->events[HOOK_FILE_CHANGED])
		return;
	if (!s->files)
		s->files = xnew(struct file_watch, .session = s, .timer.fire = on_timer);
	for (const struct hook *h = set->events[HOOK_FILE_CHANGED]; h; h = h->next) {
		for (struct str names = h->matcher->text; names.p;) {
			struct str name = str_trim(str_cut(&names, '|'));
			if (name.n && !str_is(name, "*"))
				watch_file(s->files, path_absolute(&a, s->tree.main.cwd, name));
		}
	}
	if (!timer_running(&s->files->timer))
		timer_start(s->services->loop, &s->files->timer, LOOK_MS);
}

void session_watch_more(struct agent_tree *t, const struct hook_outcome *outcome)
{
	struct cadre_session *s = t->data;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct str json = outcome->fields[HOOK_WATCH_PATHS];
	const struct json *list;

	if (!json.n || !s->files || json_parse(&reader, json.p, json.n, &list, NULL) < 0)
		return;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const char *path = json_cstr(v, &a);
		if (path && path[0] == '/')
			watch_file(s->files, path);
	}
}

void session_unwatch_files(struct cadre_session *s)
{
	struct file_watch *f = TAKE(s->files);

	if (!f)
		return;
	timer_stop(s->services->loop, &f->timer);
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	free(f->list);
	free(f);
}
