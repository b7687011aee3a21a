/* SPDX-License-Identifier: MIT
 * task_list.c - collects tasks from sockets, state.db and meta files, and finds one by its id or name. */
#include <dirent.h>
#include <sys/stat.h>
#include "product/observe/control.h"
#include "product/command/tasks.h"
#include "lib/io/file.h"
#include "agents/agent/record.h"

enum { ASK_MS = 5000 };
enum { MOST_NAMED = 4 };

static const char cut_off[] = "interrupted"; /* its process ended without an end line */

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
	l->sessions = xgrow(l->sessions, l->count, &l->cap, sizeof *l->sessions);
	struct task_session *s = &l->sessions[l->count++];
	*s = (struct task_session){ .id = arena_strdup(&l->arena, id), .project_dir = "", .cwd = "" };
	return s;
}

static struct task_row *add_task(struct task_session *s)
{
	s->tasks = xgrow(s->tasks, s->count, &s->cap, sizeof *s->tasks);
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
		return; /* its own answer has more */
	if (!s) {       /* <project dir>/<session>/subagents/agent-<id>.jsonl */
		const char *end = arena_printf(&l->arena, "/%s/subagents/", row->session);
		const char *at = strstr(row->transcript, end);
		s = add_session(l, row->session);
		if (at)
			s->project_dir = arena_dup(&l->arena, row->transcript, (size_t)(at - row->transcript));
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

void task_list_add_forgotten(struct task_list *l, const char *project_dir, bool all)
{
	AUTO_ARENA struct arena a = { 0 };
	char newest[UUID_LEN + 1] = "";
	struct timespec newest_time = { 0 };
	DIR *d = opendir(project_dir);
	struct stat st;

	for (const struct dirent *e; d && (e = readdir(d));) {
		if (!id_is_uuid(str_from(e->d_name)) ||
		    stat(arena_printf(&a, "%s/%s/subagents", project_dir, e->d_name), &st) < 0)
			continue;
		if (all && !find_session(l, e->d_name))
			(void)task_list_add_meta(l, project_dir, e->d_name);
		if (st.st_mtim.tv_sec < newest_time.tv_sec ||
		    (st.st_mtim.tv_sec == newest_time.tv_sec && st.st_mtim.tv_nsec <= newest_time.tv_nsec))
			continue;
		newest_time = st.st_mtim;
		snprintf(newest, sizeof newest, "%s", e->d_name);
	}
	if (d)
		closedir(d);
	if (newest[0] && !find_session(l, newest))
		(void)task_list_add_meta(l, project_dir, newest);
}

int task_places(struct services *sv, struct arena *a, struct task_places *ret, struct err *err)
{
	const char *cwd;

	if (options_directories(&sv->options, a, &cwd, &ret->config_dir, err) < 0)
		return -(int)err->kind;
	ret->project_dir = store_project_dir(a, ret->config_dir, cwd);
	return 0;
}

/* ---- finding an agent -------------------------------------------------------------------------------------------- */
bool task_is_running(const struct found_task *found)
{
	return found->session->socket && !strcmp(found->row->state, "running");
}

/* An id, then the name of one that runs, then the newest with that name (names are used again in later sessions), then the
 * beginning of an id. */
int task_list_find(const struct task_list *l, const char *agent, const char *session, struct found_task *ret,
		   struct err *err)
{
	enum { BY_ID, BY_RUNNING_NAME, BY_NAME, BY_PREFIX, WAYS };
	struct found_task found[WAYS][MOST_NAMED];
	size_t counts[WAYS] = { 0 };
	AUTO_BUF struct buf names = { 0 };

	for (size_t i = 0; agent[0] && i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		if (session && !str_starts(str_from(s->id), str_from(session)))
			continue;
		for (size_t k = 0; k < s->count; k++) {
			const struct found_task one = { s, &s->tasks[k] };
			bool is_named = one.row->name[0] && !strcmp(one.row->name, agent);
			bool matches[WAYS] = { [BY_ID] = !strcmp(one.row->agent, agent),
					       [BY_RUNNING_NAME] = is_named && task_is_running(&one),
					       [BY_PREFIX] = str_starts(str_from(one.row->agent), str_from(agent)) };
			for (size_t way = 0; way < WAYS; way++) {
				if (matches[way] && counts[way] < MOST_NAMED)
					found[way][counts[way]] = one;
				counts[way] += matches[way];
			}
			if (is_named &&
			    (!counts[BY_NAME] || one.row->started_ms >= found[BY_NAME][0].row->started_ms)) {
				found[BY_NAME][0] = one;
				counts[BY_NAME] = 1;
			}
		}
	}
	size_t way = 0;
	while (way < WAYS && !counts[way])
		way++;
	if (way == WAYS)
		return err_set(
			err, ERR_NOT_FOUND,
			"no such agent: %.60s; expected an id, the beginning of one, or a name (cadre tasks --all "
			"lists them)",
			agent);
	*ret = found[way][0];
	if (counts[way] == 1)
		return 0;
	for (size_t i = 0; i < MIN(counts[way], (size_t)MOST_NAMED); i++)
		buf_addf(&names, "%s%s (%.40s)", i ? ", " : "", found[way][i].row->agent,
			 found[way][i].row->description);
	return err_set(err, ERR_USAGE, "several agents match '%.40s': %s%s; name one by its id", agent, names.p,
		       counts[way] > MOST_NAMED ? " and more" : "");
}
