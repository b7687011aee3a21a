/* SPDX-License-Identifier: MIT
 * lead.c - a session that is a member of a team in another process: it joins its lead, takes its mail, tells its state,
 * runs SendMessage at the lead, asks there for permission, and leaves when its lead is gone.
 *
 *     JOINED --up--> its task, or the turn that was cut --> works <--> idle --lead gone, 30 s, or told to end--> leaves */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agents/member/lead.h"
#include "agents/agent/context.h"
#include "agents/agent/gate.h"
#include "agents/agent/hooks.h"
#include "agents/agent/plan.h"
#include "agents/agent/question.h"
#include "agents/worktree/worktree.h"
#include "config/settings/settings.h"
#include "guard/permission/mode.h"
#include "lib/base/list.h"

struct lead_question {
	struct lead_question *next;
	bool asks; /* a question of an agent; otherwise it is about a call */
	const char *id, *agent, *tool, *rule;
	struct str text, why;
	struct arena arena; /* holds the texts */
};

/* A call that waits for the lead's answer */
struct lead_call {
	struct lead_call *next;
	struct tool_call *call;
};

struct lead {
	struct tree_lead info; /* first: tree->lead */
	struct agent_tree *tree;
	struct link link;
	int fd; /* until the link is open */
	struct lead_callbacks to;
	int64_t seen;       /* lines of its mailbox that came ... */
	int64_t seen_bytes; /* ... and their size */
	int64_t told_seen;  /* what the lead knows of them ... */
	uint32_t told_wait; /* ... and of those that no request has had yet */
	struct map known;   /* ids of its mailbox that it has */
	struct buf waiting; /* lines of mail that came before it could take them */
	bool begun;         /* it has its task */
	bool lost;          /* the lead is gone */
	bool ends, suspend; /* the lead wants it to end */
	bool leaving;       /* the program has to end ... */
	bool dismissed;     /* ... by a hook, and is not resumed */
	bool told, works;   /* what the lead knows */
	bool worked_alone;  /* it finished a turn after the lead was gone */
	struct timer alone;
	struct lead_question *questions;
	struct lead_call *calls;
};

static struct lead *lead_of(const struct agent_tree *t)
{
	return t->lead ? CONTAINER_OF(t->lead, struct lead, info) : NULL;
}

static void lead_prepare_process(const struct lead *l, const struct options *o)
{
	AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	struct services *sv = l->tree->services;

	if (fd >= 0)
		(void)!write(fd, "200", 3);
	services_setenv(sv, "CLAUDE_CODE_TEAM_NAME", l->info.team); /* for commands and hooks; not read here */
	services_setenv(sv, "CLAUDE_CODE_AGENT_NAME", l->info.name);
	services_setenv(sv, "CLAUDE_CODE_AGENT_ID", o->agent_id);
	if (o->agent_color)
		services_setenv(sv, "CLAUDE_CODE_AGENT_COLOR", o->agent_color);
	/* Commands of this member must not be able to attach to it: it obeys its lead only. */
	(void)prctl(PR_SET_DUMPABLE, 0);
}

static void on_alone(struct timer *timer);

int lead_join(struct agent_tree *t, struct options *o, struct err *err)
{
	AUTO_CLOSE int fd = -1;

	if (!o->agent_id || !o->agent_name || !o->team_name || !o->parent_session_id || !o->lead_process)
		return err_set(
			err, ERR_USAGE,
			"--agent-id, --agent-name, --team-name, --parent-session-id and --lead-process need each "
			"other: a lead starts its members with them");
	if (!team_name_fits(str_from(o->team_name)) || !team_name_fits(str_from(o->agent_name)))
		return err_set(err, ERR_USAGE, "--agent-name and --team-name have 1 to %d letters, digits, _ and -",
			       LONGEST_TEAM_NAME);
	struct worktree *worktree = NULL;
	if (lead_dial(o, &fd, &worktree, err) < 0)
		return -(int)err->kind;
	const char *plans = getenv("CLAUDE_CODE_PLAN_MODE_REQUIRED"); /* of the lead */
	o->plan_mode_required = o->plan_mode_required || (plans && !strcmp(plans, "true"));
	struct lead *l = xcalloc(1, sizeof *l);
	l->tree = t;
	l->fd = TAKE_FD(fd);
	l->link.fd = -1;
	l->alone.fire = on_alone;
	l->info = (struct tree_lead){ .name = arena_strdup(t->arena, o->agent_name),
				      .team = arena_strdup(t->arena, o->team_name),
				      .plan_required = o->plan_mode_required,
				      .worktree = worktree };
	t->lead = &l->info;
	lead_prepare_process(l, o);
	if (o->agent_type && !o->agent)
		o->agent = o->agent_type;
	if (o->plan_mode_required) {
		o->permission_mode = PERMISSION_PLAN;
		o->mode_given = true;
	}
	o->append_system_prompt =
		arena_printf(&o->arena, "%s%s%s", o->append_system_prompt ? o->append_system_prompt : "",
			     o->append_system_prompt ? "\n\n" : "", team_rules_text);
	return 0;
}

/* Before its first turn, or while its earlier turns are being loaded, nothing can be added to its transcript. */
static bool can_take_mail(const struct lead *l)
{
	const struct agent *a = &l->tree->main;

	return l->begun && !a->load && a->recorder.last[0];
}

static void take_mail(struct lead *l, const struct json *line)
{
	struct agent *a = &l->tree->main;
	AUTO_ARENA struct arena arena = { 0 };
	struct err err = { 0 };
	struct queue_line q = { .notice = notice_of_mail(line, &arena),
				.from = json_cstr(json_get(line, "from"), &arena),
				.team = l->info.team };

	if (!q.notice.id || map_get(&l->known, str_from(q.notice.id)))
		return;
	q.replaces = query_pending_notice(&a->query, q.notice.about);
	if (recorder_queue(&a->recorder, &q, &err) < 0) {
		agent_emit(a, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
		return; /* it stays in the mailbox, and comes again with the next start */
	}
	map_set(&l->known, str_from(q.notice.id), l);
	agent_put_notice(a, &q.notice);
}

static void take_waiting(struct lead *l)
{
	AUTO_BUF struct buf all = l->waiting;

	l->waiting = (struct buf){ 0 };
	for (struct str rest = buf_str(&all); rest.p && rest.n;) {
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *line = json_read(&reader, str_cut(&rest, '\n'));
		if (line)
			take_mail(l, line);
	}
}

static struct lead_call *take_call(struct lead *l, const struct json *line)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str id = json_str(json_get(line, "call"), &a);
	struct lead_call **at = &l->calls;

	while (*at && !str_is(id, (*at)->call->id))
		at = &(*at)->next;
	return list_pop(at);
}

static void on_sent(struct lead *l, const struct json *line)
{
	struct lead_call *c = take_call(l, line);
	AUTO_ARENA struct arena a = { 0 };

	if (!c)
		return;
	struct str text = json_str(json_get(line, "text"), &a), json = json_str(json_get(line, "json"), &a);
	buf_clear(&c->call->result);
	buf_add(&c->call->result, text.p, text.n);
	buf_add(&c->call->result_json, json.p, json.n);
	tool_call_end_as(c->call, json_bool(json_get(line, "error")));
	free(c);
}

static void on_planned(struct lead *l, const struct json *line)
{
	struct lead_call *c = take_call(l, line);
	AUTO_ARENA struct arena a = { 0 };
	const char *why = json_cstr(json_get(line, "error"), &a), *request = json_cstr(json_get(line, "request"), &a);
	struct agent *main = &l->tree->main;

	if (!c)
		return;
	struct tool_call *call = c->call;
	free(c);
	if (why || !request) {
		tool_call_fail(call, "The plan could not be sent to the lead: %s", why ? why : "");
		return;
	}
	team_answer_planned(main, call, json_str(json_get(call->input, "plan"), &a), request);
}

static void lead_question_free(struct lead_question *q)
{
	arena_release(&q->arena);
	free(q);
}

/* The answer of the lead's host. It counts only here, on the connection whose other end is the lead's process. */
static void on_answer(struct lead *l, const struct json *line)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct str id = json_str(json_get(line, "id"), &arena);

	for (struct lead_question **at = &l->questions; *at; at = &(*at)->next) {
		struct lead_question *q = *at;
		if (!str_is(id, q->id))
			continue;
		struct agent *a = agent_tree_find(l->tree, q->agent);
		struct tool_call *call = !a ? NULL : q->asks ? question_find(a, q->id) : agent_question(a, q->id);
		const struct json *decision = json_get(line, "decision");
		const char *message = json_cstr(json_get(decision, "message"), &arena);
		const struct json *answers = json_get(json_get(decision, "updatedInput"), "answers");
		*at = q->next;
		bool asks = q->asks;
		lead_question_free(q);
		if (call && !asks && !agent_decide(a, call, decision)) {
			agent_answer_question(a, call, false, STR("The lead gave no decision."));
		} else if (call && asks && json_is(answers, JSON_OBJECT)) {
			question_answer(call, answers);
		} else if (call && asks && message) {
			question_stop_wait(call);
			tool_call_fail(call, "%s", message);
		} else if (call && asks) {
			question_decline(call);
		}
		return;
	}
}

static void allow(struct lead *l, struct str rule)
{
	static const struct rule_origin origin = { .layer = "session" };

	(void)permission_add_rule(&l->tree->main.permission, RULE_ALLOW, rule, &origin, NULL, NULL, NULL);
}

static void on_plan_answer(struct lead *l, const struct json *line)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct agent *a = &l->tree->main;
	enum permission_mode mode;

	if (!json_bool(json_get(line, "approve")) || !plan_is_on(a))
		return;
	plan_leave(a);
	l->info.plan_required = false;
	if (permission_mode_parse(json_str(json_get(line, "mode"), &arena), &mode) && mode != PERMISSION_PLAN)
		permission_choose_mode(&a->permission, mode);
}

static void on_lead_line(struct link *link, const struct json *line)
{
	struct lead *l = CONTAINER_OF(link, struct lead, link);
	const struct json *type = json_get(line, "type");
	AUTO_ARENA struct arena a = { 0 };

	if (json_str_is(type, "mail") || json_str_is(type, "prompt")) {
		l->seen++;
		l->seen_bytes += (int64_t)json_raw(line).n;
	}
	if (json_str_is(type, "mail") && can_take_mail(l) && !l->waiting.n) {
		take_mail(l, line);
	} else if (json_str_is(type, "mail")) {
		struct str raw = json_raw(line);
		buf_add(&l->waiting, raw.p, raw.n);
		buf_addch(&l->waiting, '\n');
	} else if (json_str_is(type, "prompt") && !l->begun) {
		l->begun = true;
		l->to.prompt(l->to.data, json_str(json_get(line, "text"), &a));
	} else if (json_str_is(type, "sent")) {
		on_sent(l, line);
	} else if (json_str_is(type, "answer")) {
		on_answer(l, line);
	} else if (json_str_is(type, "rule")) {
		allow(l, json_str(json_get(line, "rule"), &a));
	} else if (json_str_is(type, "planned")) {
		on_planned(l, line);
	} else if (json_str_is(type, "plan")) {
		on_plan_answer(l, line);
	} else if (json_str_is(type, "end")) {
		l->ends = true;
		l->suspend = json_str_is(json_get(line, "how"), "suspend");
	}
	agent_tree_kick(l->tree); /* the session steps */
}

/* Its lead is gone: its user is asked here, calls to other agents fail. */
static void on_lead_end(struct link *link)
{
	struct lead *l = CONTAINER_OF(link, struct lead, link);

	l->lost = true;
	if (l->tree->main.worktree)
		worktree_hold(l->tree->main.worktree);
	for (struct lead_call *c; (c = list_pop(&l->calls));) {
		tool_call_fail(c->call, "The lead has ended; the message may or may not have arrived.");
		free(c);
	}
	for (struct lead_question *q; (q = list_pop(&l->questions));) {
		struct agent *a = agent_tree_find(l->tree, q->agent);
		if (a && (q->asks ? question_find(a, q->id) : agent_question(a, q->id)))
			agent_emit(a, &(struct event){ .kind = q->asks ? EVENT_QUESTION_ASKED : EVENT_PERMISSION_ASKED,
						       .name = q->tool,
						       .id = q->id,
						       .text = q->text,
						       .why = q->why,
						       .rules = &q->rule,
						       .rule_count = q->rule != NULL });
		lead_question_free(q);
	}
	agent_tree_kick(l->tree);
}

void lead_open(struct agent_tree *t, const struct lead_callbacks *callbacks)
{
	struct lead *l = lead_of(t);
	struct agent *a = &t->main;

	if (!l)
		return;
	l->to = *callbacks;
	l->begun = a->load && a->load->prompts;
	for (struct map_entry *e = a->load ? map_next(&a->load->delivered, NULL) : NULL; e;
	     e = map_next(&a->load->delivered, e))
		map_set(&l->known, (struct str){ e->key, e->key_len }, l);
	for (size_t i = 0; a->load && i < a->load->waiting_count; i++)
		map_set(&l->known, str_from(a->load->waiting[i].id), l);
	if (t->todo_dir)
		t->todo_dir = a->env.todo_dir = arena_printf(t->arena, "%s/tasks/%s", t->config_dir, l->info.team);
	/* who is in its team and what is to be done, without a question */
	allow(l, str_from(arena_printf(t->arena, "Read(/%s/teams/%s/config.json)", t->config_dir, l->info.team)));
	allow(l, str_from(arena_printf(t->arena, "Read(/%s/tasks/%s/**)", t->config_dir, l->info.team)));
	t->switches.implicit_team = false;
	l->link.on_line = on_lead_line;
	l->link.on_end = on_lead_end;
	link_open(&l->link, t->services->loop, l->fd);
	l->fd = -1;
	link_send(&l->link, STR("{\"type\":\"up\"}"));
	if (l->begun)
		l->to.resume(l->to.data);
}

static void lead_leave(struct lead *l)
{
	if (l->leaving)
		return;
	l->leaving = true;
	l->to.leave(l->to.data);
}

static void on_alone(struct timer *timer)
{
	lead_leave(CONTAINER_OF(timer, struct lead, alone));
}

static void tell_state(struct lead *l, bool works)
{
	const struct agent *a = &l->tree->main;
	AUTO_BUF struct buf report = { 0 };
	AUTO_BUF struct buf why = { 0 };

	if (works) {
		link_sendf(&l->link, "{type:'state', state:'works'}");
	} else {
		bool failed = l->told && a->query.end != QUERY_DONE && a->query.end != QUERY_HALTED &&
			      a->query.end != QUERY_CANCELLED;
		buf_add(&report, a->query.text.p, a->query.text.n);
		if (!report.n && !failed)
			agent_last_text(&report, &a->query.transcript);
		end_reason(&why, &a->query);
		link_sendf(&l->link,
			   "{type:'state', state:'idle', id:'%s', report:'%.*s', failure?:'%s', interrupted?:!!%d, "
			   "completed?:'%s', seen:%lld, again:!!%d}",
			   a->recorder.last, STR_ARG(buf_str(&report)), failed ? buf_str(&why).p : NULL,
			   l->told && a->query.end == QUERY_CANCELLED, l->info.completed[0] ? l->info.completed : NULL,
			   (long long)l->seen, !l->told);
		l->info.completed[0] = '\0';
	}
	l->told = true;
	l->works = works;
}

void lead_step(struct agent_tree *t, bool working)
{
	struct lead *l = lead_of(t);

	if (!l || l->fd >= 0)
		return;
	if (l->waiting.n && can_take_mail(l)) {
		take_waiting(l);
		working = working || query_wants_turn(&t->main.query);
	}
	/* An answer to its plan may come before the turn that submitted it has ended. */
	if (!working && t->main.query.end == QUERY_HALTED && query_wants_turn(&t->main.query)) {
		t->main.on_notice(&t->main);
		working = true;
	}
	/* Its lead lets only so many messages wait here. */
	const struct query *q = &t->main.query;
	if (!l->waiting.n && (l->told_seen != l->seen || l->told_wait != q->notice_count)) {
		link_sendf(&l->link, "{type:'waiting', seen:%lld, seenBytes:%lld, count:%u, bytes:%zu}",
			   (long long)l->seen, (long long)l->seen_bytes, q->notice_count, q->notice_bytes);
		l->told_seen = l->seen;
		l->told_wait = q->notice_count;
	}
	if (can_take_mail(l) && (!l->told || working != l->works))
		tell_state(l, working);
	if (l->ends && l->suspend && working)
		_exit(0); /* as after a kill -9: all is on disk, and the turn continues with the next start */
	if ((l->ends || l->dismissed) && !working)
		lead_leave(l);
	if (l->lost && !working && !timer_running(&l->alone)) {
		int64_t ms = settings_i64(t->policy->settings, "teams.suspendAfterMs");
		timer_start(t->services->loop, &l->alone, l->told && l->worked_alone ? 1 : (uint64_t)ms);
	}
	if (l->lost && working) {
		l->worked_alone = true;
		timer_stop(t->services->loop, &l->alone);
	}
}

bool lead_ask(struct agent_tree *t, const struct event *e)
{
	struct lead *l = lead_of(t);
	bool asks = e->kind == EVENT_QUESTION_ASKED;

	if (!l || l->lost || l->link.fd < 0 || (e->kind != EVENT_PERMISSION_ASKED && !asks) || e->offers_edits)
		return false;
	struct agent *a = agent_tree_find(t, e->agent ? e->agent->id : "");
	const struct tool_call *call = !a ? NULL : asks ? question_find(a, e->id) : agent_question(a, e->id);
	if (!call)
		return false; /* of a server, for instance */
	struct lead_question *q = xnew(struct lead_question, .next = l->questions, .asks = asks);
	q->id = arena_strdup(&q->arena, e->id);
	q->agent = arena_strdup(&q->arena, e->agent ? e->agent->id : "");
	q->tool = arena_strdup(&q->arena, e->name);
	q->rule = e->rule_count ? arena_strdup(&q->arena, e->rules[0]) : NULL;
	q->text = arena_str(&q->arena, e->text);
	q->why = arena_str(&q->arena, e->why);
	l->questions = q;
	link_sendf(
		&l->link,
		"{type:'ask', id:'%s', tool:'%s', question:!!%d, input:%.*s, text?:'%.*s', patch?:'%.*s', why:'%.*s', "
		"rule?:'%s'}",
		q->id, q->tool, asks, JSON_ARG(call->input), STR_ARG(asks ? STR("") : e->text), STR_ARG(e->patch),
		STR_ARG(e->why), q->rule);
	return true;
}

bool lead_send(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct lead *l = lead_of(a->tree);
	struct str to = str_trim(json_str(json_get(call->input, "to"), &call->arena));

	if (!l || a->parent || agent_tree_record(a->tree, to))
		return false;
	if (l->lost) {
		tool_call_fail(call, "The lead has ended, so no other member of the team can be reached.");
		return true;
	}
	l->calls = xnew(struct lead_call, .next = l->calls, .call = call);
	link_sendf(&l->link, "{type:'send', call:'%s', again:!!%d, input:%.*s}", call->id, call->again,
		   JSON_ARG(call->input));
	return true;
}

bool lead_plan(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct lead *l = lead_of(a->tree);

	if (!l || a->parent || !l->info.plan_required || l->lost || a->tree->switches.user_plans)
		return false;
	if (!plan_present(a, call))
		return true;
	l->calls = xnew(struct lead_call, .next = l->calls, .call = call);
	link_sendf(&l->link, "{type:'plan', call:'%s', path:'%s', text:'%.*s'}", call->id, plan_path(a),
		   STR_ARG(json_str(json_get(call->input, "plan"), &call->arena)));
	return true;
}

void lead_forget_call(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct lead *l = lead_of(a->tree);

	struct lead_call **at = l ? &l->calls : NULL;

	while (at && *at && (*at)->call != call)
		at = &(*at)->next;
	if (!at || !*at)
		return;
	free(list_pop(at));
	tool_call_fail(call, "The call was cancelled: the message may or may not have arrived.");
}

void lead_assign(const struct agent_tree *t, const char *owner, const struct todo_info *task, const char *change)
{
	link_sendf(&lead_of(t)->link,
		   "{type:'assign', owner:'%s', id:'%s', subject:'%s', description:'%s', change:'%s'}", owner, task->id,
		   task->subject, task->description ? task->description : "", change);
}

void lead_dismiss(struct agent_tree *t)
{
	struct lead *l = lead_of(t);

	if (l)
		l->dismissed = true;
}

void lead_close(struct agent_tree *t)
{
	struct lead *l = lead_of(t);

	if (!l)
		return;
	timer_stop(t->services->loop, &l->alone);
	link_sendf(&l->link, "{type:'bye', how:'%s'}", l->dismissed ? "hook" : l->leaving ? "end" : "user");
	/* The server of panes outside the user's tmux leaves its socket file; its lead would have removed it. */
	AUTO_ARENA struct arena a = { 0 };
	struct str path = str_from(getenv("TMUX") ? getenv("TMUX") : "");
	const char *own = arena_printf(&a, "/cadre-%.8s", l->tree->services->options.parent_session_id);
	path = str_cut(&path, ',');
	if (l->lost && str_ends(path, str_from(own)))
		(void)unlink(arena_str(&a, path).p);
	if (l->lost)
		lead_close_pane();
	link_close(&l->link);
	if (l->fd >= 0)
		close(l->fd);
	for (struct lead_question *q; (q = list_pop(&l->questions));)
		lead_question_free(q);
	for (struct lead_call *c; (c = list_pop(&l->calls));)
		free(c);
	map_release(&l->known);
	buf_release(&l->waiting);
	worktree_free(l->info.worktree);
	t->lead = NULL;
	free(l);
}
