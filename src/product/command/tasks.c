/* SPDX-License-Identifier: MIT
 * tasks.c - `cadre tasks` and `cadre stop`: the agents of sessions, seen from outside. */
#include "product/command/tasks.h"
#include "product/command/report.h"
#include "product/observe/control.h"
#include "product/observe/task_json.h"

enum { STOP_MS = 180000 };

static void put_session(struct json_out *w, const struct task_session *s)
{
	json_open(w, '{');
	json_kcstr(w, "sessionId", s->id);
	json_kbool(w, "running", s->socket != NULL);
	if (s->pid)
		json_ki64(w, "pid", s->pid);
	json_kcstr(w, "cwd", s->cwd[0] ? s->cwd : NULL);
	json_key(w, "costUSD");
	json_put_double(w, s->cost_usd);
	json_key(w, "tasks");
	json_open(w, '[');
	for (size_t i = 0; i < s->count; i++)
		task_json_write(w, &s->tasks[i]);
	json_close(w);
	json_close(w);
}

static void report_session(struct cadre_report *r, const struct task_session *s)
{
	if (r->count)
		report_line(r, CADRE_PLAIN, "%s", "");
	if (s->socket)
		report_line(r, CADRE_GOOD, "Session %s runs (process %lld, $%.4f so far)", s->id, (long long)s->pid,
			    s->cost_usd);
	else
		report_line(r, CADRE_NOTE, "Session %s does not run", s->id);
	task_tree_rows(r, s);
}

/* ---- which sessions ---------------------------------------------------------------------------------------------- */

static int64_t newest_start(const struct task_session *s)
{
	int64_t newest = 0;

	for (size_t i = 0; i < s->count; i++)
		newest = MAX(newest, s->tasks[i].started_ms);
	return newest;
}

static void keep_only(struct task_list *l, const bool *wanted)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		if (wanted[i])
			l->sessions[kept++] = l->sessions[i];
		else
			free(l->sessions[i].tasks);
	}
	l->count = kept;
}

static int choose_named(struct task_list *l, const char *session, bool *wanted, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		wanted[i] = str_starts(str_from(l->sessions[i].id), str_from(session));
		n += wanted[i];
	}
	if (n > 1)
		return err_set(err, ERR_USAGE, "several sessions begin with '%.40s': give more of the id", session);
	if (n == 0)
		return err_set(err, ERR_NOT_FOUND, "session %.60s is not known, or it never had agents", session);
	return 0;
}

static int choose_of_project(struct task_list *l, const char *project_dir, bool all, bool *wanted, struct err *err)
{
	const struct task_session *newest = NULL;
	bool any = false;

	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		if (strcmp(s->project_dir, project_dir) != 0)
			continue;
		wanted[i] = all || s->socket;
		any = any || wanted[i];
		if (!newest || newest_start(s) > newest_start(newest))
			newest = s;
	}
	if (!newest)
		return err_set(err, ERR_NOT_FOUND, "no session of this directory had agents");
	if (!any)
		wanted[newest - l->sessions] = true;
	return 0;
}

static int choose(struct task_list *l, const struct task_places *places, const char *session, bool all, struct err *err)
{
	AUTO_FREE bool *wanted = xcalloc(l->count + 1, sizeof *wanted);
	int status = session ? choose_named(l, session, wanted, err)
			     : choose_of_project(l, places->project_dir, all, wanted, err);

	if (status == 0)
		keep_only(l, wanted);
	return status;
}

static int collect(struct services *sv, struct task_list *l, struct task_places *ret_places, struct err *err)
{
	int status = task_places(sv, &l->arena, ret_places, err);

	if (status == 0)
		status = task_list_add_live(l, err);
	if (status == 0)
		status = task_list_add_past(l, ret_places->config_dir, err);
	return status;
}

static int tasks(struct services *sv, const char *session, bool all, struct cadre_report *r, struct err *err)
{
	AUTO_TASKS struct task_list l = { 0 };
	struct task_places places;

	if (collect(sv, &l, &places, err) < 0)
		return -(int)err->kind;
	if (!session)
		task_list_add_forgotten(&l, places.project_dir, all);
	int status = choose(&l, &places, session, all, err);
	if (status == -ERR_NOT_FOUND && session && id_is_uuid(str_from(session)) &&
	    task_list_add_meta(&l, places.project_dir, session))
		status = choose(&l, &places, session, all, err);
	if (status < 0)
		return status;
	struct json_out w = json_out(&r->json);
	json_open(&w, '{');
	json_key(&w, "sessions");
	json_open(&w, '[');
	for (size_t i = 0; i < l.count; i++) {
		put_session(&w, &l.sessions[i]);
		report_session(r, &l.sessions[i]);
	}
	json_close(&w);
	json_close(&w);
	return 0;
}

int cadre_tasks(struct cadre *c, const char *session, int all, struct cadre_report **ret_report, char *why,
		size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = services_may_block(sv, &err);
	if (status == 0)
		status = tasks(sv, session, all, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

/* agent NULL: all that run there. The answer is added to ended. */
static int stop_in(const struct task_session *s, const char *agent, struct task_list *ended, struct err *err)
{
	AUTO_BUF struct buf request = { 0 }, answer = { 0 };
	struct json_out w = json_out(&request);

	json_open(&w, '{');
	json_kcstr(&w, "request", "stop");
	if (agent) {
		json_key(&w, "agents");
		json_open(&w, '[');
		json_put_cstr(&w, agent);
		json_close(&w);
	}
	json_close(&w);
	if (control_ask(s->socket, buf_str(&request), STOP_MS, &answer, err) < 0)
		return err_wrap(err, "session %s", s->id);
	return task_list_add_answer(ended, s->socket, buf_str(&answer), err);
}

static int stop_one(const struct task_list *l, const char *agent, const char *session, struct task_list *ended,
		    struct err *err)
{
	struct found_task found;

	if (task_list_find(l, agent, session, &found, err) < 0)
		return -(int)err->kind;
	if (!task_is_running(&found))
		return err_set(err, ERR_NOT_FOUND, "agent %s (%.60s) does not run: %s", found.row->agent,
			       found.row->description, found.row->state);
	return stop_in(found.session, found.row->agent, ended, err);
}

static int stop_all(struct task_list *l, const struct task_places *places, const char *session, struct task_list *ended,
		    struct err *err)
{
	if (choose(l, places, session, false, err) < 0)
		return -(int)err->kind;
	for (size_t i = 0; i < l->count; i++)
		if (l->sessions[i].socket && stop_in(&l->sessions[i], NULL, ended, err) < 0)
			return -(int)err->kind;
	return 0;
}

static void report_ended(struct cadre_report *r, const struct task_list *ended)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_key(&w, "stopped");
	json_open(&w, '[');
	for (size_t i = 0; i < ended->count; i++) {
		for (size_t k = 0; k < ended->sessions[i].count; k++) {
			const struct task_row *row = &ended->sessions[i].tasks[k];
			task_json_write(&w, row);
			report_line(r, CADRE_GOOD, "Agent %s (%s) has ended: %s", row->agent, row->description,
				    row->state);
		}
	}
	json_close(&w);
	json_close(&w);
	if (!r->count)
		report_line(r, CADRE_NOTE, "No agent runs.");
}

static int stop(struct services *sv, const char *agent, const char *session, struct cadre_report *r, struct err *err)
{
	AUTO_TASKS struct task_list l = { 0 };
	AUTO_TASKS struct task_list ended = { 0 };
	struct task_places places;

	int status = collect(sv, &l, &places, err);
	if (status == 0 && agent)
		status = stop_one(&l, agent, session, &ended, err);
	else if (status == 0)
		status = stop_all(&l, &places, session, &ended, err);
	if (status == 0)
		report_ended(r, &ended);
	return status;
}

int cadre_tasks_stop(struct cadre *c, const char *agent, const char *session, struct cadre_report **ret_report,
		     char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = services_may_block(sv, &err);
	if (status == 0)
		status = stop(sv, agent, session, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
