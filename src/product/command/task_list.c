/* SPDX-License-Identifier: MIT
 * task_list.c - where the tasks of a list come from, and which of them is meant. */
#include <dirent.h>
#include <sys/stat.h>
#include "product/observe/control.h"
#include "product/observe/task_json.h"
#include "product/command/tasks.h"
#include "lib/io/file.h"
#include "agents/agent/record.h"

enum { ASK_MS = 5000 };
enum { MOST_NAMED = 4 };

static const char cut_off[] = "interrupted"; /* it has no end: its process went before */

void task_list_release(struct task_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->sessions[i].tasks);
	free(l->sessions);
	arena_release(&l->arena);
	*l = (struct task_list){ 0 };
}

static struct task_session *find_session(const struct task_list *l, const char *id)
{
	for (size_t i = l->count; i > 0; i--) /* rows of one session come together */
		if (!strcmp(l->sessions[i - 1].id, id))
			return &l->sessions[i - 1];
	return NULL;
}

static struct task_session *add_session(struct task_list *l, const char *id)
{
	if (l->count == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 8;
		l->sessions = xrealloc(l->sessions, l->cap * sizeof *l->sessions);
	}
	struct task_session *s = &l->sessions[l->count++];
	*s = (struct task_session){ .id = arena_strdup(&l->arena, id), .project_dir = "", .cwd = "" };
	return s;
}

static struct task_row *add_task(struct task_session *s)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 16;
		s->tasks = xrealloc(s->tasks, s->cap * sizeof *s->tasks);
	}
	return &s->tasks[s->count++];
}

/* ---- sessions that run ------------------------------------------------------------------------------------------- */

static const char *json_text(struct task_list *l, const struct json *object, const char *key)
{
	const char *text = json_cstr(json_get(object, key), &l->arena);

	return text ? text : "";
}

int task_list_add_answer(struct task_list *l, const char *socket, struct str answer, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = CONTROL_ANSWER_LIMIT, .depth = 8 } };
	const struct json *root;

	if (json_parse(&reader, answer.p, answer.n, &root, err) < 0)
		return err_wrap(err, "the answer of a session");
	if (json_get(root, "error"))
		return err_set(err, ERR_NOT_FOUND, "%s", json_text(l, root, "error"));
	const struct json *session = json_get(root, "session"), *tasks = json_get(session, "tasks");
	struct task_session *s = add_session(l, json_text(l, session, "sessionId"));
	s->socket = arena_strdup(&l->arena, socket);
	s->project_dir = json_text(l, session, "projectDir");
	s->cwd = json_text(l, session, "cwd");
	s->cost_usd = json_double(json_get(session, "costUSD"));
	(void)json_i64(json_get(session, "pid"), &s->pid);
	for (const struct json *task = json_first(tasks); task; task = json_next(tasks, task))
		task_json_read(task, &l->arena, add_task(s));
	return 0;
}

static void add_live(void *data, const char *session, const char *path)
{
	AUTO_BUF struct buf answer = { 0 };
	struct err err = { 0 };

	(void)session;
	if (control_ask(path, STR("{\"request\":\"tasks\"}"), ASK_MS, &answer, &err) == 0)
		(void)task_list_add_answer(data, path, buf_str(&answer), &err);
}

int task_list_add_live(struct task_list *l, struct err *err)
{
	const char *dir;
	int status = control_dir(&l->arena, false, &dir, err);

	if (status == 0)
		control_each(dir, add_live, l);
	return status == -ERR_NOT_FOUND ? 0 : status;
}

/* ---- those of the past ------------------------------------------------------------------------------------------- */

/* <project dir>/<session>/subagents/agent-<id>.jsonl */
static const char *project_of(struct arena *a, const struct task_row *row)
{
	const char *end = arena_printf(a, "/%s/subagents/", row->session);
	const char *at = strstr(row->transcript, end);

	return at ? arena_dup(a, row->transcript, (size_t)(at - row->transcript)) : "";
}

static void copy_row(struct arena *a, const struct task_row *from, struct task_row *to)
{
	*to = *from;
	const char **texts[] = { &to->session, &to->agent,   &to->parent,   &to->tool_use_id, &to->type,
				 &to->name,    &to->model,   &to->state,    &to->description, &to->last_tool,
				 &to->branch,  &to->verdict, &to->worktree, &to->transcript };

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		*texts[i] = arena_strdup(a, *texts[i] ? *texts[i] : "");
}

static void add_past_row(void *data, const struct task_row *row)
{
	struct task_list *l = data;
	struct task_session *s = find_session(l, row->session);

	if (s && s->socket)
		return; /* it has told more */
	if (!s) {
		s = add_session(l, row->session);
		s->project_dir = project_of(&l->arena, row);
	}
	struct task_row *copy = add_task(s);
	copy_row(&l->arena, row, copy);
	s->cost_usd += row->cost_usd;
	if (!strcmp(row->state, "running") && !task_owner_lives(row))
		copy->state = cut_off;
}

int task_list_add_past(struct task_list *l, const char *config_dir, struct err *err)
{
	return state_each_task(config_dir, add_past_row, l, err);
}

bool task_list_add_meta(struct task_list *l, const char *project_dir, const char *session)
{
	AUTO_BUF struct buf notes = { 0 };
	struct agent_tree tree = { .session_id = session };
	struct task_row row;

	tree.records_end = &tree.records;
	tree.session_dir = path_join(&l->arena, project_dir, session);
	meta_read_all(&tree, false, &notes);
	if (!tree.record_count)
		return false;
	struct task_session *s = add_session(l, session);
	s->project_dir = arena_strdup(&l->arena, project_dir);
	for (struct agent_record *record = tree.records; record; record = record->next) {
		agent_record_row(record, &row);
		if (record->state == AGENT_SUSPENDED)
			row.state = cut_off;
		copy_row(&l->arena, &row, add_task(s));
	}
	agent_tree_release(&tree);
	return true;
}

/* ---- sessions that state.db does not know ------------------------------------------------------------------------ */

/* The newest, unless all are wanted; by the directory of their children. */
struct search {
	struct task_list *list;
	const char *project_dir;
	char newest[UUID_LEN + 1];
	struct timespec newest_time;
};

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static void look_at_session(struct search *s, const char *session, bool all)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (!id_is_uuid(str_from(session)) ||
	    stat(arena_printf(&a, "%s/%s/subagents", s->project_dir, session), &st) < 0)
		return;
	if (all && !find_session(s->list, session))
		(void)task_list_add_meta(s->list, s->project_dir, session);
	if (!is_newer(&st.st_mtim, &s->newest_time))
		return;
	s->newest_time = st.st_mtim;
	snprintf(s->newest, sizeof s->newest, "%s", session);
}

void task_list_add_forgotten(struct task_list *l, const char *project_dir, bool all)
{
	struct search s = { .list = l, .project_dir = project_dir };
	DIR *d = opendir(project_dir);

	for (const struct dirent *e; d && (e = readdir(d));)
		look_at_session(&s, e->d_name, all);
	if (d)
		closedir(d);
	if (s.newest[0] && !find_session(l, s.newest))
		(void)task_list_add_meta(l, project_dir, s.newest);
}

int task_places(struct services *sv, struct arena *a, struct task_places *ret, struct err *err)
{
	const char *cwd;

	if (options_directories(&sv->options, a, &cwd, &ret->config_dir, err) < 0)
		return -(int)err->kind;
	ret->project_dir = store_project_dir(a, ret->config_dir, cwd);
	return 0;
}

/* ---- which agent is meant ---------------------------------------------------------------------------------------- */

/* What was found so far, by one way of looking */
struct hits {
	struct found_task first[MOST_NAMED];
	size_t count;
};

typedef bool match_fn(const struct task_row *row, const char *agent);

bool task_is_running(const struct found_task *found)
{
	return found->session->socket && !strcmp(found->row->state, "running");
}

static bool has_id(const struct task_row *row, const char *agent)
{
	return !strcmp(row->agent, agent);
}

static bool has_name(const struct task_row *row, const char *agent)
{
	return row->name[0] && !strcmp(row->name, agent);
}

static bool begins_with(const struct task_row *row, const char *agent)
{
	return str_starts(str_from(row->agent), str_from(agent));
}

static bool session_counts(const struct task_session *s, const char *wanted)
{
	return !wanted || str_starts(str_from(s->id), str_from(wanted));
}

static void collect_hits(const struct task_list *l, const char *agent, const char *session, match_fn *matches,
			 bool running, struct hits *ret)
{
	*ret = (struct hits){ 0 };
	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		for (size_t k = 0; session_counts(s, session) && k < s->count; k++) {
			struct found_task found = { s, &s->tasks[k] };
			if (!matches(found.row, agent) || (running && !task_is_running(&found)))
				continue;
			if (ret->count < MOST_NAMED)
				ret->first[ret->count] = found;
			ret->count++;
		}
	}
}

static int fail_several(const struct hits *hits, const char *agent, struct err *err)
{
	AUTO_BUF struct buf names = { 0 };

	for (size_t i = 0; i < MIN(hits->count, (size_t)MOST_NAMED); i++)
		buf_addf(&names, "%s%s (%.40s)", i ? ", " : "", hits->first[i].row->agent,
			 hits->first[i].row->description);
	return err_set(err, ERR_USAGE, "several agents match '%.40s': %s%s; name one by its id", agent, names.p,
		       hits->count > MOST_NAMED ? " and more" : "");
}

/* Names are given again in later sessions: the newest is meant. */
static void newest_named(const struct task_list *l, const char *agent, const char *session, struct found_task *ret)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		for (size_t k = 0; session_counts(s, session) && k < s->count; k++)
			if (has_name(&s->tasks[k], agent) &&
			    (!ret->row || s->tasks[k].started_ms >= ret->row->started_ms))
				*ret = (struct found_task){ s, &s->tasks[k] };
	}
}

int task_list_find(const struct task_list *l, const char *agent, const char *session, struct found_task *ret,
		   struct err *err)
{
	static const struct {
		match_fn *matches;
		bool running;
	} ways[] = { { has_id, false }, { has_name, true }, { begins_with, false } };
	struct found_task named = { 0 };
	struct hits hits;

	newest_named(l, agent, session, &named);
	for (size_t i = 0; agent[0] && i < COUNT_OF(ways); i++) {
		collect_hits(l, agent, session, ways[i].matches, ways[i].running, &hits);
		if (!hits.count && ways[i].running && named.row) {
			*ret = named;
			return 0;
		}
		if (hits.count > 1)
			return fail_several(&hits, agent, err);
		if (hits.count == 0)
			continue;
		*ret = hits.first[0];
		return 0;
	}
	return err_set(err, ERR_NOT_FOUND,
		       "there is no agent '%.60s': expected an id, the beginning of one, or a name (cadre tasks --all "
		       "lists them)",
		       agent);
}
