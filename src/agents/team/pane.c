/* SPDX-License-Identifier: MIT
 * pane.c - members in tmux panes, on the lead's side: their processes are started by tmux, watched by a pidfd, started again after
 * a crash, and ended. tmux is a command that runs; one at a time, so that panes are divided one after the other.
 *
 *     STARTS --pane and pid are recorded--> RUNS --crash--> STARTS, or GONE
 *     RUNS --pane_end()--> ENDS --process gone--> OVER */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agents/team/pane.h"
#include "agents/teamfile/signature.h"
#include "config/settings/settings.h"
#include "lib/base/crash.h"
#include "lib/base/list.h"
#include "lib/io/spawn.h"

enum { END_MS = 10000, KILL_MS = 2000, MOST_RESTARTS = 100, OLDEST_TMUX = 302 };

static void on_process_gone(uv_poll_t *poll, int status, int events);
static void on_pane_killed(struct child *c, int status);

/* Another process gets the options and the settings. What else limits the main agent (its definition, a skill, an answer, its worktree,
 * hooks of the host, what all agents together may spend) it cannot be given. */
static bool has_limits_of_its_own(const struct agent_tree *t)
{
	const struct permission *p = &t->main.permission;

	for (size_t i = 0; p->own && i < p->own->all.count; i++) {
		const struct rule *r = p->own->all.list[i];
		if (r->list != RULE_ALLOW && strcmp(r->origin->layer, "cliArg") != 0)
			return true;
	}
	for (const struct permission_grant *g = p->grants; g; g = g->next)
		for (size_t i = 0; i < g->rules->all.count; i++)
			if (g->rules->all.list[i]->list != RULE_ALLOW)
				return true;
	const struct options *o = &t->services->options;
	return p->narrowings || p->write_root || o->hooks || o->max_budget_usd > 0 || o->task_budget > 0;
}

bool pane_is_wanted(const struct agent_tree *t, struct buf *note)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct options *o = &t->services->options;
	const char *mode = o->teammate_mode ? o->teammate_mode : settings_cstr(t->policy->settings, "teammateMode", &a);
	bool automatic = !strcmp(mode, "auto");

	if (!strcmp(mode, "in-process") || (automatic && (!o->interactive || !tmux_is_around())))
		return false;
	if (!strcmp(mode, "iterm2"))
		buf_addstr(note, "teammateMode iterm2 is treated as tmux. ");
	if (!t->session_dir)
		buf_addstr(note, "It lives in this process: a session that keeps nothing has no panes. ");
	else if (!tmux_is_there())
		buf_addstr(note, "It lives in this process: tmux is not installed. ");
	else if (has_limits_of_its_own(t))
		buf_addstr(note,
			   "It lives in this process: limits of the main agent or hooks of the host hold here only. ");
	else
		return true;
	return false;
}

struct pane *pane_of(const struct agent_record *record)
{
	struct pane *p = record->tree->panes ? record->tree->panes->first : NULL;

	while (p && p->record != record)
		p = p->next;
	return p;
}

unsigned team_working(const struct agent_tree *t)
{
	unsigned n = t->team && t->team->jobs;

	for (const struct pane *p = t->panes ? t->panes->first : NULL; p; p = p->next) {
		enum member_state state = p->record->member->state;
		n += p->state != PANE_OVER &&
		     (state == MEMBER_STARTS || state == MEMBER_WORKS || p->record->member->unread);
	}
	return n;
}

static struct panes *panes_open(struct agent_tree *t, struct err *err)
{
	if (t->panes)
		return t->panes;
	int64_t limit = settings_i64(t->policy->settings, "teams.paneStartMs");
	struct panes *all = xnew(struct panes, .tree = t, .fd = -1, .server_fd = -1, .own_server = !tmux_is_around(),
				 .start_ms = (uint64_t)limit);
	if (pane_listen(all, err) < 0) {
		free(all);
		return NULL;
	}
	return t->panes = all;
}

static void on_limit(struct timer *timer);

static struct pane *pane_new(struct panes *all, struct agent_record *record)
{
	struct pane *p = pane_of(record);

	if (p)
		return p;
	p = xcalloc(1, sizeof *p);
	list_push_last(&all->first, p);
	p->all = all;
	p->record = record;
	p->state = PANE_OVER;
	p->link.fd = p->pidfd = -1;
	p->limit.fire = on_limit;
	p->proxy = xcalloc(1, sizeof *p->proxy);
	p->proxy->tree = all->tree;
	p->proxy->parent = &all->tree->main;
	p->proxy->record = record;
	p->proxy->who = agent_record_who(record);
	return p;
}

void pane_emit(struct pane *p, enum event_kind kind)
{
	struct agent_record *r = p->record;
	struct event_task task;

	agent_record_event(r, &task);
	agent_emit(p->proxy, &(struct event){ .kind = kind,
					      .task = &task,
					      .text = buf_str(&r->report),
					      .is_error = end_states[r->state].is_error });
	agent_tree_tasks_changed(r->tree);
}

static void pane_answer_call(struct pane *p)
{
	struct tool_call *call = TAKE(p->call);

	if (call)
		team_ops.spawned(call, p->record);
	free(TAKE(p->note));
}

/* It could not be started: a new member lives in this process, one of before waits for another try. */
void pane_start_failed(struct pane *p, const char *why)
{
	struct agent_record *r = p->record;
	AUTO_BUF struct buf note = { 0 };
	struct err err = { 0 };

	timer_stop(r->tree->services->loop, &p->limit);
	p->state = PANE_OVER;
	if (p->call && r->tree->closing) { /* nothing begins any more */
		tool_call_fail(TAKE(p->call), "The session is being closed.");
	} else if (p->call) {
		buf_addf(&note, "%sIt lives in this process: %s\n", p->note ? p->note : "", why);
		free(TAKE(p->note));
		r->member->in_pane = r->member->foreign = false;
		meta_set_paths(r);
		agent_spawn_here(r, TAKE(p->call), note.p);
		if (r->live)
			r->live->worktree = TAKE(p->worktree);
	} else {
		r->member->state = MEMBER_FAILED;
		r->failure = arena_printf(&r->arena, "its pane could not be made: %s", why);
		(void)meta_write(r, &err);
		team_tell_end(r, arena_printf(&r->arena, "%s.%lld", r->id, (long long)id_wall_ms()),
			      arena_printf(&r->arena, "%s is suspended, because %s. A message tries again.", r->name,
					   r->failure));
	}
	pane_release_worktree(p);
	pane_start_next(p->all);
	agent_tree_kick(p->all->tree);
}

static void watch_process(struct pane *p)
{
	p->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)p->record->member->pid, 0);
	p->watch = xcalloc(1, sizeof *p->watch);
	if (p->pidfd < 0) { /* it is gone already: the first look says so */
		int both[2];
		if (pipe2(both, O_CLOEXEC) < 0)
			abort();
		close(both[1]);
		p->pidfd = both[0];
	}
	(void)uv_poll_init(loop_uv(p->all->tree->services->loop), p->watch, p->pidfd);
	p->watch->data = p;
	(void)uv_poll_start(p->watch, UV_READABLE, on_process_gone);
}

static void on_server_gone(uv_poll_t *poll, int status, int events)
{
	struct panes *all = poll->data;

	uv_close((uv_handle_t *)TAKE(all->server_watch), loop_free_handle);
	close(all->server_fd);
	all->server_fd = -1;
	(void)waitpid((pid_t)all->server, NULL,
		      WNOHANG); /* it may have been given to us when it went into the background */
	all->server = 0;
	if (all->socket)
		(void)unlink(all->socket);
	agent_tree_kick(all->tree);
}

static void watch_server(struct panes *all, int64_t pid, const char *socket)
{
	if (!all->own_server || all->server)
		return;
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd < 0)
		return;
	all->server = pid;
	all->server_fd = fd;
	free(all->socket);
	all->socket = xstrdup(socket);
	all->server_watch = xcalloc(1, sizeof *all->server_watch);
	(void)uv_poll_init(loop_uv(all->tree->services->loop), all->server_watch, fd);
	all->server_watch->data = all;
	uv_unref((uv_handle_t *)all->server_watch);
	(void)uv_poll_start(all->server_watch, UV_READABLE, on_server_gone);
}

static void on_dressed(struct child *c, int status)
{
	struct pane *p = child_data(c);

	(void)status; /* without a title it works as well */
	p->tmux = NULL;
	pane_answer_call(p);
	if (p->pidfd < 0) /* its process has ended meanwhile, and its pane may show that for ever */
		tmux_kill_pane(p, p->record->member->pid, on_pane_killed);
	pane_start_next(p->all);
	agent_tree_kick(p->all->tree); /* it may be closing, and has waited for this */
}

static void on_started(struct child *c, int status)
{
	struct pane *p = child_data(c);
	struct agent_member *m = p->record->member;
	char pane[sizeof m->pane] = "", socket[256] = "";
	long long pid = 0, server = 0;
	struct err err = { 0 };

	p->tmux = NULL;
	buf_addch(&p->said, ' ');
	if (status != 0 || sscanf(p->said.p, "%15s %lld %lld %255[^\n]", pane, &pid, &server, socket) < 3 || pid <= 0) {
		AUTO_BUF struct buf why = { 0 };
		if (!p->in_window && !p->all->tree->closing &&
		    !p->late) { /* no room beside the others, or the one beside it is gone just now */
			p->in_window = true;
			pane_start_next(p->all);
			return;
		}
		if (p->late)
			buf_addf(&why, "tmux did not answer within %llu ms", (unsigned long long)p->all->start_ms);
		else
			buf_addf(&why, "tmux: " STR_FMT, STR_ARG(str_trim(buf_str(&p->said))));
		pane_start_failed(p, why.p);
		return;
	}
	watch_server(p->all, server, str_trim(str_from(socket)).n ? socket : "");
	memcpy(m->pane, pane, sizeof pane);
	m->pid = pid;
	m->pid_start = process_start(pid);
	p->state = PANE_RUNS;
	watch_process(p);
	(void)meta_write(p->record, &err);
	crash_point(pane_recorded);
	if (!p->announced)
		pane_emit(p, EVENT_AGENT_STARTED);
	p->announced = true;
	if (p->record->tree->team)
		team_files_changed(p->record->tree->team->files);
	timer_start(p->all->tree->services->loop, &p->limit, p->all->start_ms);
	if (m->foreign) { /* nothing else says that it is there */
		p->up = true;
		timer_stop(p->all->tree->services->loop, &p->limit);
		m->state = MEMBER_WORKS;
		pane_post_prompt(p->record);
	}
	pane_meet_guests(p->all);
	if (tmux_dress_pane(p, on_dressed, &err) < 0) {
		pane_answer_call(p);
		pane_start_next(p->all);
		agent_tree_kick(p->all->tree);
	}
}

/* "tmux 3.3a", "tmux next-3.5", "tmux openbsd-7.4": what has no number is taken as new enough. */
static void on_version(struct child *c, int status)
{
	struct pane *p = child_data(c);
	AUTO_BUF struct buf why = { 0 };
	unsigned major = 0, minor = 0;

	p->tmux = NULL;
	struct str text = str_trim(buf_str(&p->said));
	size_t at = text.p ? strcspn(text.p, "0123456789") : 0;
	bool numbered = status == 0 && text.p && sscanf(text.p + at, "%u.%u", &major, &minor) == 2;
	p->all->version = numbered ? major * 100 + minor : UINT_MAX;
	if (p->all->version < OLDEST_TMUX) {
		buf_addf(&why, STR_FMT " is too old, %d.%d or newer is needed", STR_ARG(text), OLDEST_TMUX / 100,
			 OLDEST_TMUX % 100);
		p->all->version = 0; /* another one may be found next time */
		pane_start_failed(p, why.p);
		return;
	}
	pane_start_next(p->all);
}

void pane_start_next(struct panes *all)
{
	struct pane *next = NULL;

	for (struct pane *p = all->first; p; p = p->next) {
		if (p->tmux)
			return;
		if (p->state == PANE_STARTS && !p->job && !next)
			next = p;
	}
	if (next) {
		struct agent_member *m = next->record->member;
		struct err err = { 0 };

		m->pane[0] = '\0';
		m->pid = m->pid_start = 0;
		next->up = next->left = next->termed = next->late = next->by_user = next->by_hook = false;
		timer_start(next->all->tree->services->loop, &next->limit, next->all->start_ms);
		if ((next->all->version ? tmux_make_pane(next, on_started, &err)
					: tmux_ask_version(next, on_version, &err)) < 0)
			pane_start_failed(next, err.text);
	}
}

void pane_start(struct pane *p)
{
	if (p->state == PANE_STARTS || p->state == PANE_RUNS || p->all->tree->closing)
		return;
	p->in_window = false;
	if (p->state == PANE_ENDS) { /* its process is on its way out: started when that is gone */
		p->suspend = p->again = true;
		return;
	}
	p->state = PANE_STARTS;
	p->record->member->state = MEMBER_STARTS;
	p->record->state = AGENT_RUNNING;
	pane_take_worktree(p);
	pane_start_next(p->all);
}

/* Beside the lead's own: both work in one directory. */
static void pane_set_transcript(struct agent_record *r)
{
	struct str dir = str_from(r->tree->session_dir);

	dir.n -= strlen(r->tree->session_id);
	r->transcript = arena_printf(&r->arena, STR_FMT "%s.jsonl", STR_ARG(dir), r->member->session);
}

void pane_spawn(struct agent_record *r, struct tool_call *call, const char *note)
{
	struct agent_member *m = r->member;
	char id[UUID_LEN + 1];
	struct err err = { 0 };
	struct panes *all = panes_open(r->tree, &err);
	const char *why = all ? pane_isolation(r) : err.text;

	if (why) {
		AUTO_BUF struct buf here = { 0 };
		buf_addf(&here, "%sIt lives in this process: %s.\n", note ? note : "", why);
		m->in_pane = false;
		agent_spawn_here(r, call, here.p);
		return;
	}
	id_uuid(id);
	meta_set_paths(r);
	m->foreign = tmux_foreign_program();
	if (!m->foreign) {
		m->session = arena_strdup(&r->arena, id);
		pane_set_transcript(r);
	}
	if ((!m->foreign && pane_put_prompt(r, &err) < 0) || meta_write(r, &err) < 0) {
		m->state = MEMBER_GONE;
		tool_call_fail(call, "%s", err.text);
		return;
	}
	struct pane *p = pane_new(all, r);
	p->key = m->foreign ? lead_key_new() : NULL;
	p->call = call;
	p->note = note ? xstrdup(note) : NULL;
	pane_start(p);
}

/* The lead was resumed. A process that still lives ends by itself; then the member is started again. */
bool pane_restore(struct agent_record *r)
{
	struct agent_member *m = r->member;
	struct err err = { 0 };

	pane_set_transcript(r);
	if (!tmux_is_there() && !process_lives(m->pid, m->pid_start))
		return false;
	struct panes *all = panes_open(r->tree, &err);
	if (!all) {
		m->state = MEMBER_FAILED;
		return true;
	}
	struct pane *p = pane_new(all, r);
	if (process_lives(m->pid, m->pid_start)) {
		p->state = PANE_ENDS;
		watch_process(p);
		m->state = MEMBER_STARTS;
	}
	pane_start(p);
	return true;
}

static void on_pane_killed(struct child *c, int status)
{
	struct pane *p = child_data(c);

	p->tmux = NULL;
	pane_start_next(p->all);
	agent_tree_kick(p->all->tree);
}

static void pane_crashed(struct pane *p)
{
	struct agent_record *r = p->record;
	struct agent_member *m = r->member;
	struct team *t = r->tree->team;
	int64_t most = settings_i64(r->tree->policy->settings, "teams.restartPanes");
	struct err err = { 0 };

	p->state = PANE_OVER;
	if (!t || m->state == MEMBER_GONE)
		return;
	if (p->late) {
		AUTO_BUF struct buf why = { 0 };
		buf_addf(&why, "its process did not join this session within %llu ms (setting teams.paneStartMs)",
			 (unsigned long long)p->all->start_ms);
		pane_start_failed(p, why.p);
	} else if (p->by_user) {
		r->stopped_by_user = true;
		r->state = AGENT_KILLED;
		team_ops.gone(r);
	} else if (p->by_hook) {
		r->state = AGENT_COMPLETED;
		team_ops.gone(r);
	} else if (p->left) {
		m->state = MEMBER_PARKED;
		(void)meta_write(r, &err);
	} else if (m->foreign) {
		r->state = AGENT_FAILED;
		r->failure = "its process has ended";
		team_ops.gone(r);
	} else if (p->restarts < MIN(most, (int64_t)MOST_RESTARTS)) {
		p->restarts++;
		team_tell_end(
			r, arena_printf(&r->arena, "%s.%s.%lld.crash", r->id, m->session, (long long)m->pid),
			arena_printf(&r->arena,
				     "The process of %s was killed or crashed. It was started again and continues.",
				     r->name));
		pane_start(p);
	} else {
		r->state = AGENT_FAILED;
		r->failure = "its process was killed or crashed again";
		team_ops.gone(r);
	}
}

void pane_announce_end(struct pane *p)
{
	if (!p->announced || p->job || p->record->member->state != MEMBER_GONE)
		return;
	p->announced = false;
	pane_emit(p, EVENT_AGENT_ENDED);
}

static void on_process_gone(uv_poll_t *poll, int status, int events)
{
	struct pane *p = poll->data;
	struct agent_member *m = p->record->member;
	struct err ignored = { 0 };

	uv_close((uv_handle_t *)TAKE(p->watch), loop_free_handle);
	close(p->pidfd);
	p->pidfd = -1;
	timer_stop(p->all->tree->services->loop, &p->limit);
	link_close(&p->link);
	pane_drop_asks(p);
	tmux_kill_pane(p, m->pid, on_pane_killed);
	if (p->state == PANE_ENDS) {
		p->state = PANE_OVER;
		if (p->again) {
			p->again = false;
			pane_start(p);
		} else if (p->suspend && m->state != MEMBER_GONE) {
			m->state = MEMBER_PARKED;
		}
		(void)meta_write(p->record, &ignored);
	} else {
		pane_crashed(p);
	}
	pane_release_worktree(p);
	pane_announce_end(p);
	agent_tree_kick(p->all->tree);
}

static void on_limit(struct timer *timer)
{
	struct pane *p = CONTAINER_OF(timer, struct pane, limit);

	if (p->state == PANE_STARTS || (p->state == PANE_RUNS && !p->up))
		p->late = true; /* tmux does not answer, or the process does not */
	if (p->state == PANE_STARTS && p->tmux) {
		child_kill(p->tmux, SIGKILL);
		return;
	}
	const struct agent_member *m = p->record->member;
	if (m->pid > 1 && process_lives(m->pid, m->pid_start))
		(void)kill((pid_t)-m->pid, p->termed ? SIGKILL : SIGTERM);
	if (!p->termed)
		timer_start(p->all->tree->services->loop, timer, KILL_MS);
	p->termed = true;
}

static void pane_ask_end(struct pane *p, bool suspend)
{
	const char *limit = services_variable(p->all->tree->services, "CLAUDE_CODE_TEAM_TEARDOWN_PARK_TIMEOUT_MS");
	uint64_t ms = END_MS;

	p->again = false;
	if (p->state == PANE_STARTS && !p->tmux) {
		p->state = PANE_OVER;
		if (p->job)
			worktree_job_cancel(p->job);
		pane_release_worktree(p);
		if (p->call)
			tool_call_fail(TAKE(p->call), "The session is being closed.");
	}
	if (p->state != PANE_RUNS)
		return;
	if (limit)
		(void)str_to_u64(str_from(limit), &ms);
	p->state = PANE_ENDS;
	p->suspend = suspend;
	link_sendf(&p->link, "{type:'end', how:'%s'}", suspend ? "suspend" : "shutdown");
	timer_start(p->all->tree->services->loop, &p->limit, p->up && !p->record->member->foreign ? ms : 1);
}

void pane_end(struct agent_record *record)
{
	struct pane *p = pane_of(record);

	if (p)
		pane_ask_end(p, false);
}

bool pane_end_all(struct agent_tree *t)
{
	bool any = false;

	for (struct pane *p = t->panes ? t->panes->first : NULL; p; p = p->next) {
		pane_ask_end(p, true);
		any = any || p->state != PANE_OVER || p->tmux || p->job;
	}
	if (t->panes && !any && t->panes->server_watch) { /* the last pane is gone: so is the server, in a moment */
		uv_ref((uv_handle_t *)t->panes->server_watch);
		any = true;
	}
	return any;
}

void pane_free_all(struct agent_tree *t)
{
	struct panes *all = TAKE(t->panes);

	if (!all)
		return;
	pane_stop_listening(all);
	for (struct pane *p; (p = list_pop(&all->first));) {
		timer_stop(t->services->loop, &p->limit);
		if (p->watch) { /* the loop ended before it did: it sees its lead's end */
			uv_close((uv_handle_t *)TAKE(p->watch), loop_free_handle);
			close(p->pidfd);
		}
		link_close(&p->link);
		pane_drop_asks(p);
		pane_drop_calls(p);
		buf_release(&p->said);
		lead_key_free(p->key);
		free(p->note);
		free(p->proxy);
		worktree_free(p->worktree);
		p->all = NULL;
		if (!p->job) /* its end frees it otherwise */
			free(p);
	}
	if (all->server_watch) {
		uv_close((uv_handle_t *)TAKE(all->server_watch), loop_free_handle);
		close(all->server_fd);
	}
	free(all->socket);
	free(all);
}
