/* SPDX-License-Identifier: MIT
 * pane_lead.c - what the lead and its members in panes say to each other, on the lead's side: the socket, who may connect, the
 * state of a member, its calls and its questions. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agents/team/pane.h"
#include "agents/agent/hooks.h"
#include "config/settings/settings.h"
#include "guard/permission/mode.h"
#include "lib/base/list.h"

enum { MOST_GUESTS = 64, MOST_MEMBER_ASKS = 32 };

extern char **environ;

static bool is_handed_over(const struct agent_tree *t, struct str name)
{
	static const char families[] = "ANTHROPIC_|CLAUDE_|CADRE_|AWS_|GOOGLE_|OPENAI_|LC_|XDG_";
	static const char names[] =
		"PATH|HOME|LANG|TZ|SSH_AUTH_SOCK|TMPDIR|IS_SANDBOX|CLAUDECODE|"
		"http_proxy|https_proxy|all_proxy|no_proxy|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|NO_PROXY";
	const struct json *more = settings_get(t->policy->settings, "teams.env", NULL);

	if (str_is(name, "CADRE_SPAWN") || str_starts(name, STR("CADRE_CRASH")))
		return false;
	if (str_starts_with_one_of(name, families) || str_is_one_of(name, names))
		return true;
	AUTO_ARENA struct arena a = { 0 };
	for (const struct json *v = json_items(more); v; v = json_next(more, v))
		if (str_eq(name, json_str(v, &a)))
			return true;
	return false;
}

static void send_environment(struct pane *p)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = json_out(&line);

	json_putf(&w, "{type:'env', env:{");
	for (char **each = environ; *each; each++) {
		struct str value = str_from(*each), name = str_cut(&value, '=');
		if (!value.p || !is_handed_over(p->all->tree, name))
			continue;
		json_key_str(&w, name);
		json_put_str(&w, value);
	}
	json_close(&w);
	const struct worktree *tree = p->worktree;
	if (tree)
		json_putf(
			&w,
			"worktree:{agentId:'%s', path:'%s', branch:'%s', base:'%s', root:'%s', origin:'%s', common:'%s', admin:'%s', sparse:!!%d}",
			tree->agent_id, tree->path, tree->branch, tree->base, tree->root, tree->origin, tree->common,
			tree->admin, tree->sparse);
	json_close(&w);
	link_send(&p->link, buf_str(&line));
}

static void on_state(struct pane *p, const struct json *line)
{
	struct agent_record *r = p->record;
	struct agent_member *m = r->member;
	struct team *t = r->tree->team;
	struct err ignored = { 0 };

	if (!t || m->state == MEMBER_GONE)
		return;
	m->active_ms = id_wall_ms();
	if (json_str_is(json_get(line, "state"), "works")) {
		team_run_begins(r);
		m->state = MEMBER_WORKS;
		r->state = AGENT_RUNNING;
		r->run++;
		t->closing_told = false;
	} else {
		AUTO_ARENA struct arena a = { 0 };
		struct str report = json_str(json_get(line, "report"), &a);
		const char *failure = json_cstr(json_get(line, "failure"), &r->arena);
		snprintf(r->run_id, sizeof r->run_id, "%s", json_cstr(json_get(line, "id"), &a));
		buf_clear(&r->report);
		buf_add(&r->report, report.p, report.n);
		m->failed = failure != NULL;
		m->interrupted = json_bool(json_get(line, "interrupted"));
		const char *completed = json_cstr(json_get(line, "completed"), &a);
		if (completed)
			snprintf(m->completed, sizeof m->completed, "%s", completed);
		r->failure = failure;
		r->state = failure ? AGENT_FAILED : AGENT_IDLE;
		m->state = m->plan ? MEMBER_AWAITS : failure ? MEMBER_FAILED : MEMBER_IDLE;
		int64_t seen = -1;
		(void)json_i64(json_get(line, "seen"), &seen);
		team_run_over(p->proxy, json_bool(json_get(line, "again")), seen == p->sent);
		(void)meta_write(r, &ignored);
		agent_record_end_waits(r);
	}
	pane_emit(p, EVENT_MEMBER_STATE);
	team_files_changed(t->files);
	agent_tree_kick(r->tree);
}

/* What waits for it: what it has and did not read, and what is still on its way */
static void on_waiting(struct pane *p, const struct json *line)
{
	struct agent_member *m = p->record->member;
	int64_t seen = 0, seen_bytes = 0, count = 0, bytes = 0;

	(void)json_i64(json_get(line, "seen"), &seen);
	(void)json_i64(json_get(line, "seenBytes"), &seen_bytes);
	(void)json_i64(json_get(line, "count"), &count);
	(void)json_i64(json_get(line, "bytes"), &bytes);
	m->unread = (uint32_t)MAX(p->sent - seen + count, 0);
	m->unread_bytes = (size_t)MAX(p->sent_bytes - seen_bytes + bytes, 0);
	if (m->unread)
		return;
	if (p->record->tree->team)
		team_files_drain(p->record->tree->team->files); /* what did not fit into its mailbox is in its inbox */
	agent_tree_kick(p->record->tree);
}

struct remote_call {
	struct remote_call *next, **prev; /* in pane->calls */
	struct tool_env env;
	struct pane *pane; /* NULL: it was freed */
};

void pane_drop_calls(struct pane *p)
{
	for (struct remote_call *rc = p->calls; rc; rc = rc->next)
		rc->pane = NULL;
	p->calls = NULL;
}

static void on_sent(struct tool_call *call)
{
	struct remote_call *rc = call->owner;

	if (rc->pane) {
		list_remove(rc);
		link_sendf(&rc->pane->link, "{type:'sent', call:'%s', error:!!%d, text:'%.*s', json:'%.*s'}", call->id,
			   call->is_error, STR_ARG(buf_str(&call->result)), STR_ARG(buf_str(&call->result_json)));
	}
	tool_call_free(call);
	free(rc);
}

static void on_send(struct pane *p, const struct json *line)
{
	AUTO_ARENA struct arena a = { 0 };
	struct remote_call *rc = xnew(struct remote_call, .env = p->all->tree->main.env, .pane = p);

	list_push(&p->calls, rc);
	rc->env.owner = p->proxy;
	rc->env.deferral = NULL;
	struct tool_call *call =
		tool_call_new(&rc->env, NULL, &p->all->tree->send_tool, json_str(json_get(line, "call"), &a),
			      STR("SendMessage"), json_raw(json_get(line, "input")));
	call->again = json_bool(json_get(line, "again"));
	call->owner = rc;
	call->done = on_sent;
	if (call->complaint)
		tool_call_reject(call, "%s", call->complaint);
	else if (!team_send(call))
		tool_call_reject(call, "The team has no such member.");
}

void pane_approve_plan(struct agent_record *to, bool approve)
{
	struct pane *p = pane_of(to);

	if (p)
		link_sendf(&p->link, "{type:'plan', approve:!!%d, mode:'%s'}", approve,
			   permission_mode_name(permission_mode(&to->tree->main.permission)));
}

static void send_decision(struct pane *p, const char *id, struct str decision)
{
	if (p->record->member->foreign)
		pane_post_decision(p->record, id, decision);
	else
		link_sendf(&p->link, "{type:'answer', id:'%s', decision:%.*s}", id, STR_ARG(decision));
}

/* The lead's host is asked: a person, a client, or the permission prompt tool. */
void pane_ask_host(struct pane *p, const struct json *line)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct agent_record *r = p->record;
	const char *id = json_cstr(json_get(line, "id"), &a), *tool = json_cstr(json_get(line, "tool"), &a);
	const char *rule = json_cstr(json_get(line, "rule"), &a);
	struct str input = json_raw(json_get(line, "input"));
	bool asks = json_bool(json_get(line, "question"));
	struct pane_ask **at = &p->asks;
	unsigned n = 0;

	if (!id || !tool || !input.n)
		return;
	for (; *at; at = &(*at)->next)
		n++;
	if (!permission_can_ask(&r->tree->main.permission) || n >= MOST_MEMBER_ASKS) {
		send_decision(
			p, id,
			asks ? STR("{\"behavior\":\"deny\",\"message\":\"No user is present to answer. Assume the most "
				   "likely answer, and say which one you assumed.\"}")
			     : STR("{\"behavior\":\"deny\",\"message\":\"Permission is needed, and no user can be "
				   "asked.\"}"));
		return;
	}
	struct pane_ask *ask = *at = xcalloc(1, sizeof *ask);
	ask->id = arena_strdup(&ask->arena, id);
	ask->tool = arena_strdup(&ask->arena, tool);
	ask->rule = arena_strdup(&ask->arena, rule);
	ask->input = arena_str(&ask->arena, input);
	r->tree->on_event(r->tree->data, &(struct event){ .kind = asks ? EVENT_QUESTION_ASKED : EVENT_PERMISSION_ASKED,
							  .agent = &p->proxy->who,
							  .name = tool,
							  .id = id,
							  .text = asks ? input : json_str(json_get(line, "text"), &a),
							  .patch = json_str(json_get(line, "patch"), &a),
							  .why = json_str(json_get(line, "why"), &a),
							  .rules = &rule,
							  .rule_count = rule != NULL });
}

static void ask_free(struct pane_ask *ask)
{
	arena_release(&ask->arena);
	free(ask);
}

void pane_drop_asks(struct pane *p)
{
	for (struct pane_ask *ask; (ask = list_pop(&p->asks));)
		ask_free(ask);
}

/* ret_pane may be NULL. */
static struct pane_ask **find_ask(const struct agent_tree *t, const char *id, struct pane **ret_pane)
{
	for (struct pane *p = t->panes ? t->panes->first : NULL; p; p = p->next)
		for (struct pane_ask **at = &p->asks; *at; at = &(*at)->next)
			if (!strcmp((*at)->id, id)) {
				if (ret_pane)
					*ret_pane = p;
				return at;
			}
	return NULL;
}

const struct pane_ask *pane_question(const struct agent_tree *t, const char *id)
{
	struct pane_ask **at = find_ask(t, id, NULL);

	return at ? *at : NULL;
}

bool pane_decide(struct agent_tree *t, const char *id, struct str decision)
{
	struct pane *p = NULL;
	struct pane_ask **at = find_ask(t, id, &p);

	if (!at)
		return false;
	struct pane_ask *ask = list_pop(at);
	send_decision(p, ask->id, decision);
	ask_free(ask);
	return true;
}

void pane_refuse(struct agent_tree *t, const char *id, struct str why)
{
	AUTO_BUF struct buf decision = { 0 };

	json_addf(&decision, "{behavior:'deny', message:'%.*s'}", STR_ARG(why));
	(void)pane_decide(t, id, buf_str(&decision));
}

void pane_tell_rule(struct agent_tree *t, const char *rule)
{
	for (struct pane *p = t->panes ? t->panes->first : NULL; p; p = p->next)
		link_sendf(&p->link, "{type:'rule', rule:'%s'}", rule);
}

struct pane_guest {
	struct pane_guest *next, **prev;
	struct panes *all;
	struct link link;
	char *agent; /* who it says it is; NULL: nothing yet */
};

static void on_member_line(struct link *l, const struct json *line)
{
	struct pane *p = CONTAINER_OF(l, struct pane, link);
	const struct json *type = json_get(line, "type");

	if (json_str_is(type, "up")) {
		p->up = true;
		if (p->state == PANE_RUNS)
			timer_stop(p->all->tree->services->loop, &p->limit);
		pane_send_mailbox(p);
	} else if (json_str_is(type, "state")) {
		on_state(p, line);
	} else if (json_str_is(type, "waiting")) {
		on_waiting(p, line);
	} else if (json_str_is(type, "send")) {
		on_send(p, line);
	} else if (json_str_is(type, "ask")) {
		pane_ask_host(p, line);
	} else if (json_str_is(type, "assign")) {
		AUTO_ARENA struct arena a = { 0 };
		const char *owner = json_cstr(json_get(line, "owner"), &a),
			   *change = json_cstr(json_get(line, "change"), &a);
		struct todo_info task = { json_cstr(json_get(line, "id"), &a), json_cstr(json_get(line, "subject"), &a),
					  json_cstr(json_get(line, "description"), &a) };

		if (p->all->tree->team && owner && change && task.id && task.subject)
			team_assign(p->all->tree->team, owner, &task, p->record->name, change, true);
	} else if (json_str_is(type, "plan")) {
		AUTO_ARENA struct arena a = { 0 };
		struct err err = { 0 };
		const char *call = json_cstr(json_get(line, "call"), &a), *path = json_cstr(json_get(line, "path"), &a);
		int status = team_put_plan(p->record, call, path, json_str(json_get(line, "text"), &a), &err);

		link_sendf(&p->link, "{type:'planned', call:'%s', error?:'%s', request?:'%s'}", call,
			   status < 0 ? err.text : NULL, status < 0 ? NULL : p->record->member->plan);
	} else if (json_str_is(type, "bye")) {
		p->left = true;
		p->by_user = json_str_is(json_get(line, "how"), "user");
		p->by_hook = json_str_is(json_get(line, "how"), "hook");
	}
}

static void on_member_end(struct link *l)
{
	CONTAINER_OF(l, struct pane, link)->up = false; /* the rest follows when its process is gone */
}

static void guest_free(struct pane_guest *g)
{
	list_remove(g);
	link_close(&g->link);
	free(g->agent);
	free(g);
}

void pane_meet_guests(struct panes *all)
{
	for (struct pane_guest *g = all->guests, *next; g; g = next) {
		next = g->next;
		struct pane *p = all->first;
		while (g->agent && p && !str_is_nocase(str_from(g->agent), p->record->name))
			p = p->next;
		if (!g->agent || (p && p->state == PANE_STARTS))
			continue;
		const struct agent_member *m = p ? p->record->member : NULL;
		if (m && p->state == PANE_RUNS && p->link.fd < 0 && link_peer_is(g->link.fd, m->pid, m->pid_start)) {
			int fd = dup(g->link.fd);
			p->link = (struct link){ .fd = -1, .on_line = on_member_line, .on_end = on_member_end };
			if (fd >= 0) {
				link_open(&p->link, all->tree->services->loop, fd);
				send_environment(p);
			}
		}
		guest_free(g);
	}
}

static void on_guest_line(struct link *l, const struct json *line)
{
	struct pane_guest *g = CONTAINER_OF(l, struct pane_guest, link);
	AUTO_ARENA struct arena a = { 0 };
	const char *agent = json_cstr(json_get(line, "agent"), &a);

	if (g->agent || !agent || !json_str_is(json_get(line, "type"), "hello"))
		return;
	g->agent = xstrdup(agent);
	loop_kick(g->all->tree->services->loop, &g->all->meet);
}

static void on_guest_end(struct link *l)
{
	struct pane_guest *g = CONTAINER_OF(l, struct pane_guest, link);

	free(g->agent);
	g->agent = xstrdup(""); /* none: it is let go from the loop */
	loop_kick(g->all->tree->services->loop, &g->all->meet);
}

static void on_meet(struct kick *kick)
{
	pane_meet_guests(CONTAINER_OF(kick, struct panes, meet));
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct panes *all = poll->data;
	int fd = accept4(all->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	unsigned n = 0;

	for (const struct pane_guest *g = all->guests; g; g = g->next)
		n++;
	if (fd < 0 || n >= MOST_GUESTS) {
		if (fd >= 0)
			close(fd);
		return;
	}
	struct pane_guest *g =
		xnew(struct pane_guest, .all = all, .link = { .on_line = on_guest_line, .on_end = on_guest_end });
	list_push(&all->guests, g);
	link_open(&g->link, all->tree->services->loop, fd);
}

int pane_listen(struct panes *all, struct err *err)
{
	struct sockaddr_un name;
	socklen_t n = link_address(&name, all->tree->session_id, getpid());
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, n) < 0 || listen(fd, MOST_GUESTS) < 0)
		return err_set(err, ERR_IO, "cannot listen for members: %m");
	all->fd = TAKE_FD(fd);
	all->meet.step = on_meet;
	all->listener = xcalloc(1, sizeof *all->listener);
	(void)uv_poll_init(loop_uv(all->tree->services->loop), all->listener, all->fd);
	all->listener->data = all;
	uv_unref((uv_handle_t *)all->listener);
	return uv_poll_start(all->listener, UV_READABLE, on_connection);
}

void pane_stop_listening(struct panes *all)
{
	while (all->guests)
		guest_free(all->guests);
	kick_cancel(&all->meet);
	uv_close((uv_handle_t *)TAKE(all->listener), loop_free_handle);
	close(all->fd);
	all->fd = -1;
}
