/* SPDX-License-Identifier: MIT
 * send.c - SendMessage in a session with a team: addresses, plain and structured messages, and who may send which. An approval
 * counts only as a call of the lead: messages in files are text. */
#include "agents/team/pane.h"
#include "agents/teamfile/format.h"
#include <inttypes.h>
#include "agents/agent/plan.h"
#include "lib/base/crash.h"
#include "lib/base/utf8.h"

enum { LONGEST_SUMMARY = 200, LONGEST_PLAN = 40000, REF_LEN = 6 };

/* One call, as it is understood. Texts are in the call's arena. */
struct sending {
	struct tool_call *call;
	struct agent *from;
	struct team *team;
	struct str to, text, summary;
	const struct json *object; /* NULL: a plain message */
	struct json_reader reader; /* holds an object that came as a text */
};

static struct json_out answer_open(struct sending *s, bool success, struct str message)
{
	struct json_out w = json_out(&s->call->result);

	json_putf(&w, "{success:!!%d, message:'%.*s'", success, STR_ARG(message));
	return w;
}

/* The model and SDKs get the same object. Ends the call. */
static void answer_close(struct sending *s, struct json_out *w)
{
	json_close(w);
	buf_add(&s->call->result_json, s->call->result.p, s->call->result.n);
	tool_call_end(s->call);
}

static void answer_failure(struct sending *s, const char *why)
{
	struct json_out w = answer_open(s, false, str_from(why));

	answer_close(s, &w);
}

static void answer_request(struct sending *s, struct str message, const char *request_id, const char *target)
{
	struct json_out w = answer_open(s, true, message);

	json_putf(&w, "request_id:'%s', target?:'%s'", request_id, target);
	answer_close(s, &w);
}

static const char *color_of(const struct agent *a)
{
	return team_is_lead(a) ? NULL : a->record->member ? a->record->member->color : NULL;
}

static void put_routing(struct json_out *w, const struct sending *s, const char *target, const char *target_color)
{
	json_putf(w, "routing:{sender:'%s', senderColor?:'%s', target:'%s', targetColor?:'%s'", team_name_of(s->from),
		  color_of(s->from), target, target_color);
	json_putf(w, "summary:'%.*s', content:'%.*s'}", STR_ARG(s->summary), STR_ARG(s->text));
}

static void answer_sent(struct sending *s, const struct agent_record *to, const char *msg_id, bool resumed)
{
	struct arena *a = &s->call->arena;
	const char *name = to ? to->name : TEAM_LEAD;
	const char *message =
		resumed ? arena_printf(a, "Teammate \"%s\" was not running; resumed with your message.", name)
			: arena_printf(a, "Message sent to %s's inbox", name);
	struct json_out w = answer_open(s, true, str_from(message));

	json_kcstr(&w, "msg_id", msg_id);
	put_routing(&w, s, arena_printf(a, "@%s", name), to ? to->member->color : NULL);
	if (resumed)
		json_putf(&w, "pin:{id:'%s', name:'%s'}", to->id, name);
	answer_close(s, &w);
}

static int put_plain(struct sending *s, struct agent_record *to, char id[UUID_LEN + 1], struct err *err)
{
	mail_id(s->team->tree, s->call->id, to ? to->id : TEAM_LEAD, id);
	struct mail mail = { .id = id,
			     .from = team_name_of(s->from),
			     .color = color_of(s->from),
			     .summary = s->summary,
			     .text = s->text };
	if (to && team_is_lead(s->from))
		to->member->by_lead = true;
	int status = mail_put(s->team, to, &mail, s->call->again, err);
	if (status == 0 && !to && s->from->record && s->from->record->member)
		s->from->record->member->told_lead = true;
	if (status == 0 && to)
		s->team->closing_told = false;
	struct agent_member *m = status == 0 && to && s->from->record ? s->from->record->member : NULL;
	size_t n = m ? strlen(m->said) : 0;
	if (m)
		snprintf(m->said + n, sizeof m->said - n, "%s[to %s] " STR_FMT, n ? "; " : "", to->name,
			 STR_ARG(utf8_cut(s->summary, 60)));
	return status;
}

/* Only the lead undoes an end; what the user stopped stays stopped. */
static bool may_resume(struct sending *s, struct agent_record *to)
{
	struct arena *a = &s->call->arena;

	if (to->stopped_by_user)
		answer_failure(s, arena_printf(a, "%s was stopped by the user and stays stopped.", to->name));
	else if (!team_is_lead(s->from))
		answer_failure(s, arena_printf(a, "%s has ended; only the lead can start it again.", to->name));
	else if (!to->recorded)
		answer_failure(s, arena_printf(a, "%s has ended, and this session keeps no transcripts.", to->name));
	else
		return true;
	return false;
}

static void send_plain(struct sending *s, struct agent_record *to)
{
	char id[UUID_LEN + 1];
	struct err err = { 0 };
	bool gone = to && to->member->state == MEMBER_GONE;

	if (to && to == s->from->record) {
		answer_failure(s, "An agent cannot send messages to itself.");
		return;
	}
	if (gone && to->live) {
		answer_failure(
			s, arena_printf(&s->call->arena, "%s is about to end: send it again when it has.", to->name));
		return;
	}
	if (gone && !may_resume(s, to))
		return;
	if (gone)
		to->member->state = MEMBER_PARKED;
	if (put_plain(s, to, id, &err) < 0) {
		if (gone)
			to->member->state = MEMBER_GONE;
		answer_failure(s, err.text);
		return;
	}
	answer_sent(s, to, id, gone);
}

static void send_all(struct sending *s)
{
	AUTO_BUF struct buf names = { 0 };
	AUTO_BUF struct buf list = { 0 };
	AUTO_BUF struct buf ids = { 0 };
	struct json_out list_out = json_out(&list), ids_out = json_out(&ids);
	char id[UUID_LEN + 1];
	struct err err = { 0 };
	unsigned n = 0;

	json_open(&list_out, '[');
	json_open(&ids_out, '[');
	/* All members, then NULL: the lead */
	for (struct agent_record *r = s->team->tree->records, *next;; r = next) {
		next = r ? r->next : NULL;
		bool receives = r ? r->member && r->member->state != MEMBER_GONE && r != s->from->record
				  : !team_is_lead(s->from);
		if (receives && put_plain(s, r, id, &err) == 0) {
			const char *name = r ? r->name : TEAM_LEAD;
			buf_addf(&names, "%s%s", n++ ? ", " : "", name);
			json_put_cstr(&list_out, name);
			json_put_cstr(&ids_out, id);
		}
		if (!r)
			break;
	}
	json_close(&list_out);
	json_close(&ids_out);
	if (!n) {
		answer_failure(s, err.kind ? err.text : "The team has no other member to send it to.");
		return;
	}
	struct json_out w = answer_open(
		s, true,
		str_from(arena_printf(&s->call->arena, "Message broadcast to %u teammate(s): %s", n, names.p)));
	json_kraw(&w, "recipients", buf_str(&list));
	json_kraw(&w, "msg_ids", buf_str(&ids));
	put_routing(&w, s, "@team", NULL);
	answer_close(s, &w);
}

/* A structured message of the runtime or of a verdict, by an id that is known without being stored. */
static int put_object(struct sending *s, struct agent_record *to, const char *id, struct str text, struct err *err)
{
	return mail_put(
		s->team, to,
		&(struct mail){ .id = id, .from = team_name_of(s->from), .color = color_of(s->from), .text = text },
		s->call->again, err);
}

static void write_shutdown_request(struct buf *out, const char *id, struct str reason)
{
	json_addf(out, "{type:'shutdown_request', requestId:'%s', from:'%s', reason?:'%.*s', timestamp:'%s'}", id,
		  TEAM_LEAD, STR_ARG(reason), id_iso_now().text);
}

struct foreign_send {
	struct sending s;
	const char *name;
	const char *request; /* to shut down; NULL: it is a plain message */
	char id[UUID_LEN + 1];
};

static void answer_shutdown_sent(struct sending *s, const char *name, const char *request)
{
	const char *text = arena_printf(&s->call->arena, "Shutdown request sent to %s. Request ID: %s", name, request);

	answer_request(s, str_from(text), request, name);
}

static void on_posted(void *data, int status, const char *why)
{
	struct foreign_send *f = data;
	struct arena *a = &f->s.call->arena;

	if (status < 0) {
		answer_failure(&f->s, why);
		return;
	}
	if (f->request) {
		answer_shutdown_sent(&f->s, f->name, f->request);
		return;
	}
	struct json_out w = answer_open(&f->s, true, str_from(arena_printf(a, "Message sent to %s's inbox", f->name)));
	json_kcstr(&w, "msg_id", f->id);
	put_routing(&w, &f->s, arena_printf(a, "@%s", f->name), NULL);
	answer_close(&f->s, &w);
}

/* Into the file that it reads. The call is answered when it is there. */
static void send_foreign(struct sending *s, struct str name)
{
	struct arena *a = &s->call->arena;
	struct foreign_send *f = arena_alloc(a, sizeof *f);
	AUTO_BUF struct buf entry = { 0 };
	struct json_out w = json_out(&entry);

	*f = (struct foreign_send){ .s = *s, .name = arena_dup(a, name.p, name.n) };
	f->s.object = NULL;
	f->s.reader = (struct json_reader){ 0 };
	f->s.text = arena_str(a, s->text);
	struct agent_record *to = agent_tree_member(s->team->tree, name);
	if (to)
		to->member->state = MEMBER_WORKS;
	if (s->object) {
		AUTO_BUF struct buf text = { 0 };
		struct str reason = json_str(json_get(s->object, "reason"), a);
		const char *id = to && to->member->shutdown
					 ? to->member->shutdown
					 : arena_printf(a, "shutdown-%" PRId64 "@%s", id_wall_ms(), f->name);
		f->request = id;
		if (to && to->member->shutdown && !s->call->again) { /* one request is open at a time */
			answer_shutdown_sent(s, f->name, id);
			return;
		}
		if (to) /* in a pane: its answer ends it */
			to->member->shutdown = arena_strdup(&to->arena, id);
		write_shutdown_request(&text, id, reason);
		f->s.text = arena_str(a, buf_str(&text));
	}
	mail_id(s->team->tree, s->call->id, f->name, f->id);
	const struct pane *pane = to && team_is_lead(s->from) ? pane_of(to) : NULL;
	inbox_entry_write(&w,
			  &(struct inbox_entry){ .id = f->id,
						 .from = team_name_of(s->from),
						 .text = f->s.text,
						 .summary = s->summary,
						 .key = pane ? pane->key : NULL },
			  color_of(s->from), id_wall_ms());
	team_files_post(s->team->files, name, f->id, buf_str(&entry), s->call->again, on_posted, f);
}

static void ask_shutdown(struct sending *s, struct agent_record *to)
{
	struct arena *a = &s->call->arena;
	struct agent_member *m = to->member;
	struct str reason = json_str(json_get(s->object, "reason"), a);
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf tasks = { 0 };
	struct err err = { 0 };

	if (m->state == MEMBER_GONE) {
		answer_failure(s, arena_printf(a, "%s has already ended.", to->name));
		return;
	}
	(void)team_tasks_of(to->tree, to->name, &tasks);
	bool open = m->shutdown != NULL;
	const char *id =
		open ? m->shutdown : arena_printf(&to->arena, "shutdown-%" PRId64 "@%s", id_wall_ms(), to->name);
	m->shutdown = id;
	bool quiet = !s->team->asks && (m->state == MEMBER_IDLE || m->state == MEMBER_PARKED) && !tasks.n &&
		     !(to->live && query_wants_turn(&to->live->query));
	if (!open && quiet) { /* nothing is open there: no model needs to be asked */
		if (to->live) {
			agent_shut_down(to->live);
		} else {
			to->state = AGENT_COMPLETED;
			team_ops.gone(to);
		}
	} else if (!open || s->call->again) {
		write_shutdown_request(&text, id, reason);
		buf_addf(&text,
			 "\nTo agree, call SendMessage with to: \"%s\" and message: {\"type\":\"shutdown_response\","
			 "\"request_id\":\"%s\",\"approve\":true}; to refuse, with approve false and a reason.",
			 TEAM_LEAD, id);
		if (meta_write(to, &err) < 0 || put_object(s, to, id, buf_str(&text), &err) < 0) {
			m->shutdown = open ? m->shutdown : NULL;
			answer_failure(s, err.text);
			return;
		}
		crash_point(shutdown_sent);
	}
	answer_shutdown_sent(s, to->name, id);
}

static void answer_shutdown(struct sending *s, const char *request)
{
	struct arena *a = &s->call->arena;
	struct agent_record *r = s->from->record;
	struct agent_member *m = r->member;
	bool approve = json_bool(json_get(s->object, "approve"));
	const char *reason = json_cstr(json_get(s->object, "reason"), a);
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	if (approve)
		json_addf(&text,
			  "{type:'shutdown_approved', requestId:'%s', from:'%s', paneId:'%s', backendType:'%s', "
			  "timestamp:'%s'}",
			  request, r->name, m->in_pane ? m->pane : "in-process", m->in_pane ? "tmux" : "in-process",
			  id_iso_now().text);
	else
		json_addf(&text, "{type:'shutdown_rejected', requestId:'%s', from:'%s', reason:'%s', timestamp:'%s'}",
			  request, r->name, reason ? reason : "", id_iso_now().text);
	if (put_object(s, NULL, arena_printf(a, "%s.%s", request, approve ? "approved" : "rejected"), buf_str(&text),
		       &err) < 0) {
		answer_failure(s, err.text);
		return;
	}
	m->told_lead = true;
	if (!approve) {
		m->shutdown = NULL;
		(void)meta_write(r, &err);
		answer_request(s,
			       str_from(arena_printf(a, "Shutdown rejected. Reason: \"%s\". Continue your work.",
						     reason ? reason : "")),
			       request, NULL);
		return;
	}
	crash_point(shutdown_approved);
	if (m->in_pane) { /* its process ends when it has the result */
		r->state = AGENT_COMPLETED;
		team_ops.gone(r);
	} else {
		agent_shut_down(s->from);
		query_halt(&s->from->query, STR("shut down"));
	}
	answer_request(s, STR("Shutdown approved. You end now."), request, NULL);
}

static void answer_plan(struct sending *s, struct agent_record *to, const char *request)
{
	struct arena *a = &s->call->arena;
	struct agent_member *m = to->member;
	bool approve = json_bool(json_get(s->object, "approve"));
	struct str feedback = json_str(json_get(s->object, "feedback"), a);
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	buf_addf(&text, "[Plan %s] " STR_FMT, approve ? "Approved" : "Rejected",
		 STR_ARG(feedback.n ? feedback
			 : approve  ? STR("Begin with it.")
				    : STR("Change it and present it again.")));
	m->plan = NULL;
	m->plan_approved = approve;
	m->by_lead = true;
	if (meta_write(to, &err) < 0) { /* an approval counts only if it is on disk */
		m->plan = request;
		m->plan_approved = false;
		answer_failure(s, err.text);
		return;
	}
	crash_point(plan_answered);
	if (approve && to->live)
		plan_leave(to->live);
	if (m->in_pane)
		pane_approve_plan(to, approve);
	if (put_object(s, to, arena_printf(a, "%s.%s", request, approve ? "approved" : s->call->id), buf_str(&text),
		       &err) < 0) {
		answer_failure(s, err.text);
		return;
	}
	answer_request(
		s,
		str_from(approve ? arena_printf(a, "Plan approved for %s. It leaves plan mode and works.", to->name)
				 : arena_printf(a, "Plan rejected for %s with feedback: \"" STR_FMT "\"", to->name,
						STR_ARG(feedback))),
		request, NULL);
}

int team_put_plan(struct agent_record *r, const char *call_id, const char *path, struct str plan, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct agent_member *m = r->member;
	struct team *t = r->tree->team;
	AUTO_BUF struct buf text = { 0 };

	if (!t)
		return err_set(err, ERR_NOT_FOUND, "the team no longer exists");
	const char *before = m->plan;
	const char *id =
		before ? before
		       : arena_printf(&r->arena, "plan_approval-%" PRId64 "@%s@%s", id_wall_ms(), r->name, t->name);
	json_addf(&text,
		  "{type:'plan_approval_request', requestId:'%s', from:'%s', planFilePath:'%s', planContent:'%.*s', "
		  "timestamp:'%s'}",
		  id, r->name, path, STR_ARG(utf8_cut(plan, LONGEST_PLAN)), id_iso_now().text);
	buf_addf(&text,
		 "\nTo answer, call SendMessage with to: \"%s\" and message: {\"type\":\"plan_approval_response\","
		 "\"request_id\":\"%s\",\"approve\":true}, or approve false with feedback.",
		 r->name, id);
	m->plan = id;
	struct mail mail = { .id = arena_printf(&a, "%s.%s", id, call_id),
			     .from = r->name,
			     .color = m->color,
			     .text = buf_str(&text),
			     .about = arena_printf(&a, "plan %s", r->id) };
	if (meta_write(r, err) < 0 || mail_put(t, NULL, &mail, true, err) < 0) {
		m->plan = before;
		return -(int)err->kind;
	}
	crash_point(plan_sent);
	m->told_lead = true;
	return 0;
}

void team_answer_planned(struct agent *a, struct tool_call *call, struct str plan, const char *request)
{
	const char *path = plan_path(a);

	json_addf(&call->result_json,
		  "{plan:'%.*s', isAgent:true, filePath:'%s', awaitingLeaderApproval:true, requestId:'%s'}",
		  STR_ARG(plan), path, request);
	buf_addf(
		&call->result,
		"The plan was submitted to the lead and is kept in %s. Nothing can be changed before the lead approves it; "
		"you are woken by the answer.\nRequest ID: %s",
		path, request);
	query_halt(&a->query, STR("a plan waits for approval"));
	tool_call_end(call);
}

bool team_plan(struct agent *from, struct tool_call *call)
{
	struct agent_record *r = from->record;
	struct agent_member *m = r ? r->member : NULL;
	struct err err = { 0 };

	if (!m || !from->tree->team || !m->plan_required || from->tree->switches.user_plans)
		return false;
	if (call->again && !m->plan && m->plan_approved) { /* it was sent, and answered, before a crash */
		buf_addf(&call->result, "The plan was submitted to the lead and is kept in %s.", plan_path(from));
		tool_call_end(call);
		return true;
	}
	if (!plan_present(from, call))
		return true;
	struct str given = json_str(json_get(call->input, "plan"), &call->arena);
	if (team_put_plan(r, call->id, plan_path(from), given, &err) < 0) {
		tool_call_fail(call, "The plan could not be sent to the lead: %s", err.text);
		return true;
	}
	team_answer_planned(from, call, given, m->plan);
	return true;
}

/* A call that is made again after a crash may have closed it. */
static bool is_open(const struct sending *s, const char *open, const char *request)
{
	return open ? !strcmp(open, request) : s->call->again;
}

static void send_object(struct sending *s, struct agent_record *to, bool to_lead)
{
	struct arena *a = &s->call->arena;
	struct str type = json_str(json_get(s->object, "type"), a);
	const char *request = json_cstr(json_get(s->object, "request_id"), a);
	bool lead = team_is_lead(s->from);
	const struct agent_member *own = lead ? NULL : s->from->record->member;

	if (str_is(type, "shutdown_request") && lead && to) {
		ask_shutdown(s, to);
	} else if (str_is(type, "shutdown_request") && !lead && to_lead) {
		struct str reason = json_str(json_get(s->object, "reason"), a);
		s->text = str_from(arena_printf(a, "I would like to be released%s" STR_FMT, reason.n ? ": " : ".",
						STR_ARG(reason)));
		send_plain(s, NULL);
	} else if (str_is(type, "shutdown_response") && !lead && to_lead && own && request &&
		   is_open(s, own->shutdown, request)) {
		answer_shutdown(s, request);
	} else if (str_is(type, "plan_approval_response") && lead && to && request &&
		   (is_open(s, to->member->plan, request))) {
		answer_plan(s, to, arena_strdup(&to->arena, request));
	} else if (str_is(type, "shutdown_response") && !to_lead) {
		tool_call_reject(s->call, "A shutdown_response goes to %s.", TEAM_LEAD);
	} else if (str_is(type, "shutdown_response") || (str_is(type, "plan_approval_response") && lead)) {
		tool_call_reject(s->call, "No request '%s' is open there.", request ? request : "");
	} else {
		tool_call_reject(s->call, "Only the lead sends a " STR_FMT ", and to a member.", STR_ARG(type));
	}
}

static void send_resolved(struct sending *s, struct agent_record *to, bool to_lead)
{
	if (to_lead && team_is_lead(s->from))
		answer_failure(s, "That is you: an agent cannot send messages to itself.");
	else if (s->object)
		send_object(s, to, to_lead);
	else
		send_plain(s, to);
}

static bool read_call(struct sending *s)
{
	struct tool_call *call = s->call;
	const struct json *message = json_get(call->input, "message");
	AUTO_BUF struct buf summary = { 0 };

	s->to = str_trim(json_str(json_get(call->input, "to"), &call->arena));
	s->object = json_is(message, JSON_OBJECT) ? message : NULL;
	s->text = s->object ? json_raw(message) : json_str(message, &call->arena);
	struct str text = str_trim(s->text);
	if (!s->object && str_starts(text, STR("{"))) {
		/* A text that holds exactly one such object is taken as the object. */
		const struct json *root = json_read(&s->reader, text);
		struct str type = json_str(json_get(root, "type"), &call->arena);
		if (str_is_one_of(type, "shutdown_request|shutdown_response|plan_approval_response"))
			s->object = root;
	}
	s->summary = utf8_cut(str_trim(json_str(json_get(call->input, "summary"), &call->arena)), LONGEST_SUMMARY);
	if (!s->summary.n && !s->object) {
		mail_summary(&summary, s->text);
		s->summary = arena_str(&call->arena, buf_str(&summary));
	}
	if (!s->to.n)
		tool_call_reject(call, "to must not be empty");
	else if (!s->object && !str_trim(s->text).n)
		tool_call_reject(call, "message must not be empty");
	else if (s->text.n > LARGEST_MESSAGE)
		tool_call_reject(call, "The message has %zu bytes; the limit is %d. Write a file and send its path.",
				 s->text.n, LARGEST_MESSAGE);
	else
		return true;
	return false;
}

static bool send_to_address(struct sending *s)
{
	struct agent_tree *tree = s->team->tree;
	struct str name = s->to;
	AUTO_BUF struct buf why = { 0 };

	if (str_is(name, "*")) {
		if (s->object)
			tool_call_reject(s->call, "Structured messages cannot be broadcast: send them to one agent.");
		else
			send_all(s);
		return true;
	}
	if (str_starts(name, STR("bridge:"))) {
		answer_failure(s, "Sessions on other machines cannot be reached.");
		return true;
	}
	if (str_starts(name, STR("@")))
		name = (struct str){ name.p + 1, name.n - 1 };
	const char *ref = memchr(name.p, '[', name.n); /* NAME [REF], as ListAgents writes it */
	for (const struct agent_record *r = ref ? tree->records : NULL; r; r = r->next)
		if (r->member && (size_t)(name.p + name.n - ref) == REF_LEN + 2 &&
		    !strncmp(ref + 1, r->id + 1, REF_LEN))
			name = str_from(r->id);
	const char *at = memchr(name.p, '@', name.n);
	if (at) {
		struct str team = { at + 1, (size_t)(name.p + name.n - at - 1) };
		if (!str_is_nocase(team, s->team->name)) {
			tool_call_reject(s->call, "There is one team per session, and this one has %s.", s->team->name);
			return true;
		}
		name.n = (size_t)(at - name.p);
	}
	if (str_is_nocase(name, TEAM_LEAD) || str_is_nocase(name, "main")) {
		send_resolved(s, NULL, true);
		return true;
	}
	struct agent_record *to = agent_tree_member(tree, name);
	struct agent_record *other = agent_tree_record(tree, name);
	if (!to && other && other->member)
		to = other;
	bool shuts_down =
		s->object && team_is_lead(s->from) && json_str_is(json_get(s->object, "type"), "shutdown_request");
	if (to && to->member->foreign && to->member->state != MEMBER_GONE && (!s->object || shuts_down)) {
		send_foreign(s, str_from(to->name));
		return true;
	}
	if (to) {
		send_resolved(s, to, false);
		return true;
	}
	if (other)
		return false; /* a child that is not a member, as without a team */
	if (team_files_knows(s->team->files, name) && (!s->object || shuts_down)) {
		send_foreign(s, name);
		return true;
	}
	buf_addf(&why, "No agent named '" STR_FMT "' is reachable.\n%s", STR_ARG(s->to), TEAM_LEAD);
	for (const struct agent_record *r = tree->records; r; r = r->next)
		if (r->name && (!r->member || r->member->state != MEMBER_GONE))
			buf_addf(&why, ", %s", r->name);
	answer_failure(s, why.p);
	return true;
}

bool team_send(struct tool_call *call)
{
	struct agent *from = call->env->owner;
	struct sending s = { .call = call, .from = from, .team = from->tree->team };

	if (!s.team || (from->parent && !from->record->member))
		return false;
	bool done = !read_call(&s) || send_to_address(&s);
	json_reader_release(&s.reader);
	return done;
}
