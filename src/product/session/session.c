/* SPDX-License-Identifier: MIT
 * session.c - one conversation: opened, forked, closed. Its turns are in turn.c, where it is closed as well. */
#include "agents/member/lead.h"
#include "agents/team/pane.h"
#include "product/session/session_int.h"
#include "product/session/server_pool.h"
#include "product/session/session.h"
#include "defs/policy/sources.h"
#include "agents/life/life.h"
#include "agents/agent/context.h"
#include "core/store/checkpoint.h"
#include "core/store/lock.h"
#include "lib/base/list.h"
#include "lib/git/git_head.h"
#include "agents/profile/main_definition.h"
#include "agents/profile/roster.h"
#include "agents/agent/classifier.h"
#include "agents/agent/one_shot.h"
#include "tools/web/web.h"

/* The web for the tools of a session. */

enum { RETRY_MS = 60 * 1000 }; /* an agent waits for the page */

static void on_answer(void *data, bool failed, struct str answer)
{
	struct web_question *q = data;

	q->asked = NULL;
	q->done(q, failed, answer);
}

static void web_cancel_question(struct web_question *q)
{
	if (q->asked)
		one_shot_cancel(q->asked);
}

static int web_ask_model(struct web *web, struct tool_env *env, struct web_question *q, struct err *err)
{
	const struct agent *a = env->owner;
	struct one_shot_spec spec = { .services = web->data,
				      .session_id = env->session_id,
				      .agent_id = a->who.id,
				      .label = q->label,
				      .instructions = q->instructions,
				      .server_tool = q->server_tool,
				      .text = q->text,
				      .retry_deadline_ms = RETRY_MS };

	q->cancel = web_cancel_question;
	q->asked = one_shot_start(&spec, on_answer, q, err);
	return q->asked ? 0 : -(int)err->kind;
}

static struct cadre_session *session_new(struct services *sv, cadre_event_fn *on_event, void *data)
{
	struct cadre_session *s = xnew(struct cadre_session, .services = sv, .on_event = on_event, .data = data,
				       .tree.services = sv, .name = sv->options.name);

	s->tree.arena = &s->arena;
	agent_tree_open(&s->tree);
	turn_attach(s);
	return s;
}

static void link_session(struct cadre_session *s)
{
	list_push(&s->services->sessions, s);
	map_set(&s->services->sessions_by_id, str_from(s->id), s);
	s->services->session_count++;
	services_adjust_governor(s->services);
}

static void on_state(struct query *q, const char *to)
{
	const struct agent *a = CONTAINER_OF(q, struct agent, query);

	for (struct observer *o = a->tree->services->observers; o; o = o->next)
		if (o->on_state)
			o->on_state(o, q, to);
}

static void on_idle(struct agent_tree *t)
{
	session_kick(t->data);
}

void session_use_policy(struct cadre_session *s)
{
	struct services *sv = s->services;

	agent_tree_use_policy(&s->tree);
	sv->most_children = s->tree.limits.alive;
	services_adjust_governor(sv);
	sv->store.power = json_str_is(settings_get(s->tree.policy->settings, "durability", NULL), "power");
	if (!sv->web) {
		sv->web = web_new(sv->loop);
		sv->web->ask = web_ask_model;
		sv->web->data = sv;
	}
}

/* What its agents share, and what the runtime makes with its first session. o: selects the session. */
static int open_tree(struct cadre_session *s, const struct options *o, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct services *sv = s->services;
	struct agent_tree *t = &s->tree;
	const struct json *checkpoints = settings_get(t->policy->settings, "fileCheckpointingEnabled", NULL);

	s->project_dir = store_project_dir(&s->arena, sv->store.config_dir, t->main.cwd);
	if (session_find(s, o, s->project_dir, err) < 0)
		return -(int)err->kind;
	s->mode_recorded = t->main.load && t->main.load->coordinator && !o->fork_session;
	if (t->main.load && !sv->registry) { /* its workers and its transcript fit that mode alone */
		bool wished = policy_coordinates(sv), recorded = t->main.load->coordinator;
		sv->recorded_mode = recorded ? "coordinator" : "normal";
		if (wished != recorded)
			buf_addf(&t->main.notes, "this session was %s coordinator mode, and stays so\n",
				 recorded ? "begun in" : "not begun in");
	}
	services_open_hooks(sv);
	if (services_open_endpoints(sv, err) < 0 ||
	    (!sv->registry && services_agents(sv, &a, &sv->registry, err) < 0) || services_open_skills(sv, err) < 0 ||
	    services_open_servers(sv, t->policy, err) < 0)
		return -(int)err->kind;
	if (!sv->classifier)
		sv->classifier = classifier_new(sv);
	t->kit = &tool_runtime;
	t->on_event = session_emit;
	t->on_permissions = session_update_permissions;
	t->on_async_hook = session_watch_more;
	t->on_idle = on_idle;
	t->data = s;
	agent_tree_configure(t, s->id, s->project_dir);
	session_use_policy(s);
	t->on_state = on_state; /* a log may begin later */
	/* A person at a terminal expects to be able to go back; a program asks for it. */
	if (t->session_dir && (env_is_on(services_variable(sv, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING")) ||
			       (checkpoints ? json_bool(checkpoints) : sv->options.interactive)))
		t->checkpoint = checkpoint_new(&sv->store, checkpoint_dir(&s->arena, t->config_dir, s->id));
	session_find_style(s);
	session_open_servers(s);
	return session_open_schema(s, err);
}

static int open_session(struct cadre_session *s, struct err *err)
{
	struct services *sv = s->services;
	const struct options *o = &sv->options;
	struct agent *a = &s->tree.main;
	struct agent_definition *d;
	const char *config;

	if ((o->agent_id || o->agent_name || o->team_name || o->lead_process) &&
	    lead_join(&s->tree, &sv->options, err) < 0)
		return -(int)err->kind;
	if (options_directories(o, &s->arena, &a->cwd, &config, err) < 0)
		return -(int)err->kind;
	if (o->config_root && !file_is_dir(services_project_dir(sv, &s->arena, a->cwd)))
		return err_set(err, ERR_USAGE, "--project-config-root %s: not a directory", o->config_root);
	if (!sv->store.config_dir) {
		store_init(&sv->store, sv->loop, config);
		sv->store.most_open = store_open_files(sv->descriptor_limit);
	}
	const char *root = git_root(&s->arena, a->cwd);
	a->branch = root ? git_branch(&s->arena, root) : "";
	/* The model is checked before anything is written: without an endpoint a session leaves no trace. */
	if (policy_open(sv, &s->tree.policy, err) < 0 || services_open_endpoints(sv, err) < 0 ||
	    agent_set_model(a, NULL, err) < 0 || open_tree(s, o, err) < 0)
		return -(int)err->kind;
	if (s->tree.no_shell) /* before the servers start */
		return err_set(err, ERR_USAGE, "%s", s->tree.no_shell);
	const char *stored = a->load ? a->load->agent : NULL;
	if (main_definition_find(sv, s->tree.policy->settings, sv->registry, sv->plugins, stored, &a->notes, &d, err) <
	    0)
		return -(int)err->kind;
	a->definition = d;
	if (d && definition_is_hidden(&a->env, &d->common))
		return err_set(err, ERR_DENIED, "the agent '%s' cannot be used: a deny rule forbids to read %s",
			       d->name, d->file);
	if (d)
		a->who.type = d->name;
	s->agent_recorded = d && stored && !strcmp(stored, d->name);
	if (agent_come_up(a, err) < 0)
		return -(int)err->kind;
	if (o->channels)
		buf_addf(&a->notes, "no server can push messages: --channels has no effect\n");
	agent_tree_warn_sandbox(&s->tree);
	session_open_approval(s);
	session_meet_lead(s);
	return 0;
}

int session_open(struct services *sv, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
		 struct err *err)
{
	struct cadre_session *s = session_new(sv, on_event, data);

	if (open_session(s, err) < 0) {
		session_free(s);
		return -(int)err->kind;
	}
	link_session(s);
	if (sv->options.interactive)
		session_kick(s);
	*ret_session = s;
	return 0;
}

static int open_fork(struct cadre_session *s, struct cadre_session *f, struct err *err)
{
	struct agent *from = &s->tree.main, *a = &f->tree.main;
	struct options plain = { .no_persistence = from->journal == NULL };

	f->tree.policy = policy_ref(s->tree.policy);
	a->cwd = arena_strdup(&f->arena, from->cwd);
	a->branch = arena_strdup(&f->arena, from->branch);
	if (open_tree(f, &plain, err) < 0)
		return -(int)err->kind;
	a->definition = from->definition ? agent_ref(from->definition) : NULL;
	if (a->definition)
		a->who.type = a->definition->name;
	f->agent_reported = from->definition;
	f->tree.given = s->tree.given;
	f->tree.effort = arena_strdup(&f->arena, s->tree.effort);
	f->tree.thinking = arena_strdup(&f->arena, s->tree.thinking);
	f->tree.thinking_display = s->tree.thinking_display;
	f->tree.task_budget = s->tree.task_budget;
	a->origin = from;
	if (agent_come_up(a, err) < 0)
		return -(int)err->kind;
	agent_tree_renew_pool(&f->tree); /* the same connections, so the same tools */
	return 0;
}

int cadre_fork(struct cadre_session *s, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
	       char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!s || !ret_session)
		return CADRE_USAGE;
	if (turn_is_running(&s->turn) || s->closing)
		return api_status(err_set(&err, ERR_BUSY, "a session is forked only while it is idle"), &err, why,
				  why_size);
	if (agent_record_origin(&s->tree.main, &err) < 0) /* of a fork without a turn */
		return api_status(-(int)err.kind, &err, why, why_size);
	struct cadre_session *f = session_new(s->services, on_event, data);
	if (open_fork(s, f, &err) < 0) {
		session_free(f);
		return api_status(-(int)err.kind, &err, why, why_size);
	}
	link_session(f);
	*ret_session = f;
	return CADRE_OK;
}

void session_free(struct cadre_session *s)
{
	if (s->prev) { /* it was linked */
		list_remove(s);
		if (map_get(&s->services->sessions_by_id, str_from(s->id)) == s)
			map_remove(&s->services->sessions_by_id, str_from(s->id));
		s->services->session_count--;
		services_adjust_governor(s->services);
	}
	session_unwatch_files(s);
	turn_release(s);
	team_close(&s->tree);
	pane_free_all(&s->tree);
	lead_close(&s->tree);
	for (struct observer *o = s->services->observers; o; o = o->next)
		if (o->on_close)
			o->on_close(o, s);
	session_drop_approval(s);
	session_drop_elicitations(s);
	agent_go_down(&s->tree.main);
	if (s->tree.main.journal)
		(void)journal_sync(s->tree.main.journal, NULL, NULL); /* on a thread, behind us */
	agent_tree_release(&s->tree);
	checkpoint_free(s->tree.checkpoint);
	if (s->schema)
		buf_release(&s->schema->output);
	free(s->schema);
	buf_release(&s->answer);
	agent_tree_remove_dirs(&s->tree);
	if (s->locked_in)
		session_unlock(&s->services->locks, s->locked_in, s->id);
	policy_unref(s->services, s->tree.policy);
	arena_release(&s->arena);
	free(s);
}

int cadre_background(struct cadre_session *s, const char *tool_use_id)
{
	int moved = 0;

	if (!s)
		return CADRE_USAGE;
	for (struct agent *c = s->tree.alive; c; c = c->next) {
		bool meant = tool_use_id ? !strcmp(c->record->tool_use_id, tool_use_id) : c->parent == &s->tree.main;
		moved += meant && agent_to_background(c);
	}
	return moved;
}

int cadre_tell(struct cadre_session *s, const char *agent, const char *text, char *why, size_t why_size)
{
	struct err err = { 0 };
	char id[UUID_LEN + 1];

	if (!s || !agent || !text || !*text)
		return CADRE_USAGE;
	id_uuid(id);
	struct agent_record *record = agent_tree_record(&s->tree, str_from(agent));
	int status = !record        ? err_set(&err, ERR_NOT_FOUND, "no agent of this session is called '%s'", agent)
		     : record->live ? agent_message(record->live, NULL, id, str_from(text), &err)
				    : agent_continue(record, str_from(text), NULL, true, 0, &err);
	return api_status(status, &err, why, why_size);
}

const char *cadre_session_id(const struct cadre_session *s)
{
	return s ? s->id : "";
}

const char *cadre_session_setting(const struct cadre_session *s, const char *path, size_t *ret_n)
{
	const struct json *value = s && path ? settings_get(s->tree.policy->settings, path, NULL) : NULL;
	struct str raw = value ? json_raw(value) : (struct str){ 0 };

	if (ret_n)
		*ret_n = raw.n;
	return raw.p;
}

const char *cadre_session_file(const struct cadre_session *s)
{
	return s && s->tree.main.journal ? journal_path(s->tree.main.journal) : "";
}

const char *cadre_session_model(const struct cadre_session *s)
{
	return s ? s->tree.main.model : "";
}

int cadre_session_is_trusted(const struct cadre_session *s)
{
	return s && s->tree.policy->trusted;
}

const char *cadre_session_mode(const struct cadre_session *s)
{
	return s ? permission_mode_name(permission_mode(&s->tree.main.permission)) : "";
}
