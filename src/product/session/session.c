/* SPDX-License-Identifier: MIT
 * session.c - one conversation: opened, forked, closed. Its turns are in turn.c, where it is closed as well. */
#include "product/session/session_int.h"
#include <sys/stat.h>
#include "defs/policy/permissions.h"
#include "product/session/main_agent.h"
#include "product/session/schema.h"
#include "product/session/server_approval.h"
#include "product/session/servers.h"
#include "product/session/styles.h"
#include "product/session/todos.h"
#include "product/session/web_settings.h"
#include "lib/io/file.h"
#include "core/store/checkpoint.h"
#include "core/store/lock.h"
#include "lib/git/git_head.h"
#include "agents/agent/agent_tool.h"
#include "agents/agent/context.h"
#include "agents/agent/hooks.h"
#include "agents/agent/tool_load.h"

/* ---- making one ---------------------------------------------------------------------------------------------- */

struct directories {
	struct cadre_session *session;
	const char **list;
	size_t count;
};

static void add_directory(struct directories *d, const char *dir)
{
	const char **more = arena_alloc(&d->session->arena, (d->count + 2) * sizeof *more);

	if (d->count)
		memcpy(more, d->list, d->count * sizeof *more);
	more[d->count++] = dir;
	more[d->count] = NULL;
	d->list = more;
}

/* One that is not there grants nothing. */
static void add_from_settings(void *data, const struct settings_item *item)
{
	struct directories *d = data;
	struct cadre_session *s = d->session;
	const char *text = json_cstr(item->value, &s->arena);

	if (text)
		add_directory(d, path_absolute(&s->arena, s->tree.main.cwd, str_from(text)));
}

static int find_working_dirs(struct cadre_session *s, const struct options *o, struct err *err)
{
	struct agent *a = &s->tree.main;
	struct directories d = { .session = s };
	struct stat st;

	add_directory(&d, a->cwd);
	for (size_t i = 0; i < o->add_dir_count; i++) {
		char *dir = path_absolute(&s->arena, a->cwd, str_from(o->add_dirs[i]));
		if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, ERR_USAGE, "--add-dir %s: not a directory", o->add_dirs[i]);
		add_directory(&d, dir);
	}
	settings_each(s->services->policy.settings, "permissions.additionalDirectories", add_from_settings, &d);
	a->env.dirs = d.list;
	return 0;
}

static bool is_offered(const struct cadre_session *s, const struct tool *tool)
{
	if (tool == &tool_skill && !s->tree.skills.registry)
		return false;
	if (tool->flags & (TOOL_NEEDS_SERVERS | TOOL_FINDS_TOOLS))
		return false; /* they come with a server: session_update_tools() */
	if ((tool->flags & (TOOL_TASK_LIST | TOOL_TODOS)) && !session_offers_list(s, tool))
		return false;
	if ((tool->flags & TOOL_NEEDS_SEARCH) && !session_can_search(s))
		return false;
	return options_can_ask(&s->services->options) || !(tool->flags & TOOL_NEEDS_USER);
}

/* NULL: all; "": none; "default": all; otherwise a list, in the order of the table. */
static int choose_tools(struct cadre_session *s, const char *list, struct err *err)
{
	struct tool_set all = { 0 };
	bool everything = !list || !strcmp(list, "default");
	struct map wanted = { 0 };
	int status = 0;

	for (size_t i = 0; tool_table[i]; i++)
		tool_set_add(&all,
			     tool_table[i] == &tool_agent ? agent_tool_make(&s->tree, &tool_agent) : tool_table[i]);
	struct str rest = everything ? (struct str){ 0 } : str_from(list);
	while (rest.p && status == 0) {
		struct str name = str_trim(str_cut(&rest, ','));
		const struct tool *tool = name.n ? tool_set_find(&all, name) : NULL;
		if (name.n && !tool)
			status = err_set(err, ERR_USAGE, "--tools: there is no tool '" STR_FMT "'", STR_ARG(name));
		else if (tool)
			map_set(&wanted, str_from(tool->name), s);
	}
	for (size_t i = 0; i < all.count; i++)
		if ((everything && is_offered(s, all.tools[i])) || map_get(&wanted, str_from(all.tools[i]->name)))
			tool_set_add(session_pool(s), all.tools[i]);
	map_release(&wanted);
	tool_set_release(&all);
	return status;
}

static int make_permission(struct cadre_session *s, const struct options *o, struct err *err)
{
	struct permission *p = &s->tree.main.permission;

	p->can_ask = options_can_ask(o);
	p->root = s->tree.main.cwd;
	p->dirs = s->tree.main.env.dirs;
	app_add_flag_rules(p, o, NULL, NULL);
	if (app_start_mode(s->services->policy.settings, o, &p->mode, err) < 0)
		return -(int)err->kind;
	session_agent_mode(s, &p->mode);
	return 0;
}

static struct head *make_head(struct cadre_session *s)
{
	const struct options *o = &s->services->options;
	AUTO_BUF struct buf system = { 0 };

	context_system_prompt(&system, s);
	const char *own = s->tree.main.definition ? s->tree.main.definition->effort : NULL;
	const char *effort = o->effort ? o->effort : own ? own : s->effort;
	return context_head(&s->tree.main, buf_str(&system), agent_turn_effort(&s->tree.main, effort));
}

void session_renew_head(struct cadre_session *s)
{
	query_set_head(&s->tree.main.query, make_head(s), s->tree.main.model);
	query_set_endpoint(&s->tree.main.query, s->tree.main.endpoint);
}

/* head: takes the reference; NULL: one is made. */
static void open_main(struct cadre_session *s, struct head *head)
{
	const struct options *o = &s->services->options;
	const struct agent_definition *d = s->tree.main.definition;
	int64_t max_turns = o->max_turns ? o->max_turns : d ? d->max_turns : 0;

	session_watch_states(s);
	agent_open(&s->tree.main, &(struct agent_query_spec){
					  .head = head ? head : make_head(s),
					  .interrupt_note = "[Request interrupted by user]",
					  .reminder = d ? d->reminder : NULL,
					  .max_turns = (unsigned)MIN(max_turns, (int64_t)1 << 30),
					  .want_deltas = true,
					  .want_raw = o->partial_messages,
				  });
}

static struct cadre_session *session_new(struct services *sv, cadre_event_fn *on_event, void *data)
{
	struct cadre_session *s = xcalloc(1, sizeof *s);

	s->services = sv;
	s->on_event = on_event;
	s->data = data;
	return s;
}

static void link_session(struct cadre_session *s)
{
	s->next = s->services->sessions;
	s->services->sessions = s;
	s->services->session_count++;
	app_adjust_governor(s->services);
}

/* Before the tree is there: the main agent's place is known to everything that follows. */
static int find_place(struct cadre_session *s, struct err *err)
{
	struct services *sv = s->services;
	struct agent *a = &s->tree.main;
	const char *config;

	if (options_directories(&sv->options, &s->arena, &a->cwd, &config, err) < 0)
		return -(int)err->kind;
	if (!sv->store.config_dir) {
		store_init(&sv->store, sv->loop, config);
		sv->store.most_open = store_open_files(sv->descriptor_limit);
	}
	const char *root = git_root(&s->arena, a->cwd);
	a->branch = root ? git_branch(&s->arena, root) : "";
	return 0;
}

static int open_session(struct cadre_session *s, struct err *err)
{
	struct services *sv = s->services;
	const struct options *o = &sv->options;
	struct agent *a = &s->tree.main;

	s->tree.services = sv;
	agent_tree_open(&s->tree);
	turn_attach(s);
	if (find_place(s, err) < 0 || policy_load(sv, err) < 0 || find_working_dirs(s, o, err) < 0 ||
	    session_choose_model(s, err) < 0)
		return -(int)err->kind;
	char *project_dir = store_project_dir(&s->arena, sv->store.config_dir, a->cwd);
	if (session_find(s, o, project_dir, err) < 0 || session_open_tree(s, project_dir, err) < 0 ||
	    session_find_agent(s, err) < 0 || choose_tools(s, o->tools, err) < 0 || session_open_schema(s, err) < 0 ||
	    session_open_fallback(s, err) < 0 || make_permission(s, o, err) < 0 || session_open_servers(s, err) < 0 ||
	    session_become_agent(s, err) < 0)
		return -(int)err->kind;
	session_open_approval(s);
	s->effort = settings_cstr(sv->policy.settings, "effortLevel", &s->arena, NULL);
	s->tree.thinking = o->thinking;
	s->tree.thinking_display = o->thinking_display;
	s->tree.task_budget = o->task_budget;
	if (o->channels)
		buf_addf(&s->tree.main.notes, "no server can push messages: --channels has no effect\n");
	session_find_style(s);
	open_main(s, NULL);
	if (s->load)
		agent_recall_tools(a, s->load);
	if (s->load && s->origin_id) {
		transcript_fork(&s->load->transcript,
				&a->query.transcript); /* its marks are those of every other fork */
	} else if (s->load) {
		a->query.transcript = s->load->transcript;
		s->load->transcript = (struct transcript){ 0 };
		memcpy(a->recorder.last, s->load->last, sizeof a->recorder.last);
		session_find_children(s);
	}
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
	*ret_session = s;
	return 0;
}

/* ---- forking one --------------------------------------------------------------------------------------------- */

static int open_fork(struct cadre_session *s, struct cadre_session *f, struct err *err)
{
	struct agent *from = &s->tree.main, *a = &f->tree.main;
	struct options plain = { .no_persistence = from->journal == NULL };

	f->tree.services = s->services;
	agent_tree_open(&f->tree);
	turn_attach(f);
	a->cwd = arena_strdup(&f->arena, from->cwd);
	a->model = arena_strdup(&f->arena, from->model);
	a->endpoint = from->endpoint;
	a->branch = arena_strdup(&f->arena, from->branch);
	a->env.dirs = from->env.dirs;
	char *project_dir = store_project_dir(&f->arena, s->services->store.config_dir, a->cwd);
	if (session_find(f, &plain, project_dir, err) < 0 || session_open_tree(f, project_dir, err) < 0)
		return -(int)err->kind;
	f->tree.allowed_models = s->tree.allowed_models;
	session_share_agent(f, s);
	for (size_t i = 0; i < s->own_tools; i++) {
		const struct tool *tool = session_pool(s)->tools[i];
		if (s->schema && tool == &s->schema->tool)
			continue; /* each session has its own */
		tool_set_add(session_pool(f),
			     tool == &s->tree.agent_tool ? agent_tool_make(&f->tree, &tool_agent) : tool);
	}
	if (session_open_schema(f, err) < 0 || session_open_fallback(f, err) < 0 ||
	    make_permission(f, &s->services->options, err) < 0 || session_open_servers(f, err) < 0 ||
	    session_become_agent(f, err) < 0)
		return -(int)err->kind;
	f->effort = s->effort ? arena_strdup(&f->arena, s->effort) : NULL;
	f->tree.thinking = s->tree.thinking;
	f->tree.thinking_display = s->tree.thinking_display;
	f->tree.task_budget = s->tree.task_budget;
	session_find_style(f);
	open_main(f, head_ref(from->query.config.head));
	agent_defer_like(a, from);
	session_update_tools(f); /* the same connections, so the same tools */
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
	struct cadre_session *f = session_new(s->services, on_event, data);
	if (open_fork(s, f, &err) < 0) {
		session_free(f);
		return api_status(-(int)err.kind, &err, why, why_size);
	}
	struct fork_base *base = agent_fork_base(&s->tree.main);
	f->origin_id = arena_strdup(&f->arena, s->id);
	memcpy(f->origin_uuid, s->tree.main.recorder.last, sizeof f->origin_uuid);
	transcript_fork(&base->history, &f->tree.main.query.transcript);
	f->tree.main.query.last_mark = s->tree.main.query.last_mark;
	f->tree.main.query.fork_gate = fork_gate_ref(base->gate);
	link_session(f);
	*ret_session = f;
	return CADRE_OK;
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

void session_free(struct cadre_session *s)
{
	for (struct cadre_session **at = &s->services->sessions; *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		s->services->session_count--;
		app_adjust_governor(s->services);
		break;
	}
	if (s->load) {
		session_load_release(s->load);
		free(s->load);
	}
	session_unwatch_files(s);
	turn_release(s);
	for (struct observer *o = s->services->observers; o; o = o->next)
		if (o->on_close)
			o->on_close(o, s);
	session_drop_approval(s);
	session_release_servers(s);
	if (s->tree.main.journal)
		(void)journal_sync(s->tree.main.journal, NULL, NULL); /* on a thread, behind us */
	agent_tree_release(&s->tree);
	checkpoint_free(s->tree.checkpoint);
	session_release_schema(s);
	session_leave_places(s);
	if (s->locked_in)
		session_unlock(&s->services->locks, s->locked_in, s->id);
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

const char *cadre_session_id(const struct cadre_session *s)
{
	return s ? s->id : "";
}

const char *cadre_session_model(const struct cadre_session *s)
{
	return s ? s->tree.main.model : "";
}
