/* SPDX-License-Identifier: MIT
 * tasks.c - `cadre tasks` and `cadre stop`: the agents of sessions of all processes. */
#include "product/command/command.h"
#include <sys/stat.h>
#include "product/command/tasks.h"
#include "product/observe/control.h"
#include "lib/base/utf8.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "agents/agent/record.h"
#include "core/model/catalog.h"
#include "core/store/session_list.h"

/* Collects tasks from sockets and files, and finds one by its id or name. */

enum { ASK_MS = 5000 };
enum { MOST_NAMED = 4 };

void task_list_release(struct task_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->sessions[i].tasks);
	free(l->sessions);
	arena_release(&l->arena);
	*l = (struct task_list){ 0 };
}

static struct task_session *add_session(struct task_list *l, const char *id)
{
	struct task_session *s = xpush(l->sessions, l->count, l->cap);
	*s = (struct task_session){ .id = arena_strdup(&l->arena, id), .project_dir = "", .cwd = "" };
	return s;
}

static int task_list_add_answer(struct task_list *l, const char *socket, struct str answer, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = CONTROL_ANSWER_LIMIT, .depth = 8 } };
	const struct json *root;

	if (json_parse(&reader, answer.p, answer.n, &root, err) < 0)
		return err_wrap(err, "the answer of a session");
	if (json_get(root, "error"))
		return err_set(err, ERR_NOT_FOUND, "%s", json_text(root, "error", &l->arena));
	const struct json *session = json_get(root, "session"), *tasks = json_get(session, "tasks");
	struct task_session *s = add_session(l, json_text(session, "sessionId", &l->arena));
	s->socket = arena_strdup(&l->arena, socket);
	s->project_dir = json_text(session, "projectDir", &l->arena);
	s->cwd = json_text(session, "cwd", &l->arena);
	s->cost_usd = json_double(json_get(session, "costUSD"));
	(void)json_i64(json_get(session, "pid"), &s->pid);
	for (const struct json *task = json_first(tasks); task; task = json_next(tasks, task))
		task_json_read(task, &l->arena, xpush(s->tasks, s->count, s->cap));
	return 0;
}

int task_session_ask(const struct task_session *s, struct str request, int limit_ms, struct task_list *after,
		     struct err *err)
{
	AUTO_BUF struct buf answer = { 0 };

	if (control_ask(s->socket, request, limit_ms, &answer, err) < 0)
		return err_wrap(err, "session %s", s->id);
	return task_list_add_answer(after, s->socket, buf_str(&answer), err);
}

static void add_live(void *data, const char *session, const char *path)
{
	AUTO_BUF struct buf answer = { 0 };
	struct err err = { 0 };

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

/* An end belongs to the run before it. */
static int count_line(void *data, struct str line)
{
	struct agent_record *t = data;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0)
		return 0; /* torn */
	const struct json *message = json_get(root, "message"), *content = json_get(message, "content");
	if (json_str_is(json_get(root, "type"), "agent-end")) {
		t->usage = (struct usage){ 0 };
		t->turns = t->tool_uses = 0;
	}
	if (!json_str_is(json_get(root, "type"), "assistant"))
		return 0;
	const struct json *model = json_get(root, "requestedModel");
	t->model = json_cstr(model ? model : json_get(message, "model"), &t->arena);
	for (const struct json *b = json_items(content); b; b = json_next(content, b)) {
		if (!json_str_is(json_get(b, "type"), "tool_use"))
			continue;
		t->tool_uses++;
		snprintf(t->last_tool, sizeof t->last_tool, STR_FMT, STR_ARG(json_str(json_get(b, "name"), &a)));
	}
	if (json_is(json_get(message, "stop_reason"), JSON_STRING)) { /* the last line of an answer */
		struct usage usage = { 0 };
		usage_merge(&usage, json_get(message, "usage"));
		usage_add(&t->usage, &usage);
		t->turns++;
	}
	return 0;
}

static void add_past_session(struct task_list *l, const char *project_dir, const char *session)
{
	AUTO_BUF struct buf notes = { 0 };
	struct agent_tree tree = { .session_id = session };
	struct task_row row;
	/* What they are read from goes before the list does. */
	const char **texts[] = { &row.session,   &row.agent,       &row.parent, &row.tool_use_id,
				 &row.type,      &row.name,        &row.model,  &row.state,
				 &row.last_tool, &row.description, &row.branch, &row.verdict,
				 &row.team,      &row.worktree,    &row.tasks,  &row.transcript };
	struct stat st;

	tree.records_end = &tree.records;
	tree.session_dir = path_join(&l->arena, project_dir, session);
	meta_read_all(&tree, false, &notes);
	if (!tree.record_count)
		return;
	struct task_session *s = add_session(l, session);
	s->project_dir = arena_strdup(&l->arena, project_dir);
	for (struct agent_record *record = tree.records; record; record = record->next) {
		if (!end_load(record) && l->counts) {
			(void)session_each_line(record->transcript, count_line, record, NULL);
			record->cost_usd = record->model ? model_cost_usd(NULL, record->model, &record->usage) : 0;
		}
		agent_record_row(record, &row);
		if (record->state == AGENT_SUSPENDED)
			row.state = record->cut_off ? "interrupted" : "suspended";
		if (stat(record->transcript, &st) == 0)
			row.updated_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
		s->cost_usd += row.cost_usd;
		for (size_t i = 0; i < COUNT_OF(texts); i++)
			*texts[i] = arena_strdup(&l->arena, *texts[i] ? *texts[i] : "");
		*xpush(s->tasks, s->count, s->cap) = row;
	}
	agent_tree_release(&tree);
}

/* Sessions of a project that do not run: those whose ids begin with prefix, or the newest of them. */
static void add_past(struct task_list *l, const char *project_dir, const char *prefix, bool newest_only)
{
	AUTO_ARENA struct arena a = { 0 };
	char newest[UUID_LEN + 1] = "";
	struct timespec newest_time = { 0 };
	AUTO_DIR DIR *d = opendir(project_dir);
	struct stat st;

	for (struct dirent *e; (e = dir_next(d));) {
		bool listed = false; /* it runs */
		for (size_t i = 0; i < l->count && !listed; i++)
			listed = !strcmp(l->sessions[i].id, e->d_name);
		if (listed || !id_is_uuid(str_from(e->d_name)) || !str_starts(str_from(e->d_name), str_from(prefix)) ||
		    stat(arena_printf(&a, "%s/%s/subagents", project_dir, e->d_name), &st) < 0)
			continue;
		if (!newest_only)
			add_past_session(l, project_dir, e->d_name);
		if (st.st_mtim.tv_sec < newest_time.tv_sec ||
		    (st.st_mtim.tv_sec == newest_time.tv_sec && st.st_mtim.tv_nsec <= newest_time.tv_nsec))
			continue;
		newest_time = st.st_mtim;
		snprintf(newest, sizeof newest, "%s", e->d_name);
	}
	if (newest_only && newest[0])
		add_past_session(l, project_dir, newest);
}

static void add_past_of_all_projects(struct task_list *l, const char *config_dir, const char *prefix)
{
	const char *projects = path_join(&l->arena, config_dir, "projects");
	AUTO_DIR DIR *d = opendir(projects);

	for (struct dirent *e; (e = dir_next(d));)
		if (e->d_name[0] != '.')
			add_past(l, path_join(&l->arena, projects, e->d_name), prefix, false);
}

int task_dirs(struct services *sv, struct arena *a, struct task_dirs *ret, struct err *err)
{
	const char *cwd;

	if (options_directories(&sv->options, a, &cwd, &ret->config_dir, err) < 0)
		return -(int)err->kind;
	ret->project_dir = store_project_dir(a, ret->config_dir, cwd);
	return 0;
}

int task_list_collect(struct task_list *l, struct services *sv, struct task_dirs *ret_dirs, struct err *err)
{
	int status = task_dirs(sv, &l->arena, ret_dirs, err);

	if (status == 0)
		status = task_list_add_live(l, err);
	if (status == 0)
		add_past(l, ret_dirs->project_dir, "", false);
	return status;
}

/* Finding an agent. */
bool task_is_running(const struct found_task *found)
{
	const char *state = found->row->state;
	bool waits = found->row->team && found->row->team[0] &&
		     (!strcmp(state, "idle") || !strcmp(state, "awaiting") || !strcmp(state, "failed"));

	return found->session->socket && (waits || !strcmp(state, "running"));
}

/* An id, then the name of one that runs, then the newest with that name (names are used again in later sessions), then the
 * beginning of an id. */
static int find_listed(const struct task_list *l, const char *agent, const char *session, struct found_task *ret,
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

int task_list_find(struct task_list *l, const struct task_dirs *dirs, const char *agent, const char *session,
		   struct found_task *ret, struct err *err)
{
	int status = find_listed(l, agent, session, ret, err);

	if (status != -ERR_NOT_FOUND)
		return status;
	add_past_of_all_projects(l, dirs->config_dir, session ? session : "");
	return find_listed(l, agent, session, ret, err);
}

enum { STOP_MS = 180000 };
enum { MOST_TITLE = 48, SHOWN_ID = 8 };

static int tasks_run(struct cadre_call *call);

const struct cadre_command command_tasks = {
	.name = "tasks",
	.summary = "show the agents of running and past sessions as a tree",
	.help = "Usage: cadre tasks              running sessions of this project, or the newest one with agents\n"
		"       cadre tasks --all        every session of this project with agents\n"
		"       cadre tasks SESSION      one session, by its id or the beginning of it\n"
		"\n"
		"Each agent is listed below the one that started it, with its state, turns, tokens, cost, time and\n"
		"last tool. Running sessions answer themselves, in whatever process; others are read from disk.\n"
		"\n"
		"Examples:\n"
		"  cadre tasks --all\n"
		"  watch -c cadre tasks\n",
	.words =
		(const struct cadre_command_word[]){
			{ "", "[SESSION]", CADRE_COMMAND_BLOCKS, tasks_run },
			{ .name = NULL },
		},
	.options =
		(const struct cadre_option[]){ { "all", .help = "Every session of this project." }, { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

static int stop_run(struct cadre_call *call);

const struct cadre_command command_stop = {
	.name = "stop",
	.summary = "stop a running agent",
	.help = "Usage: cadre stop AGENT [--session ID]    one agent and all below it\n"
		"       cadre stop --all [--session ID]    every running agent of this project, or of that session\n"
		"\n"
		"AGENT is an id, the beginning of one, or a name; `cadre tasks` lists them. Its parent is notified,\n"
		"and no agent can continue it. The command returns when the agent has ended, and exits with 1 if the\n"
		"agent does not exist or does not run.\n"
		"\n"
		"Examples:\n"
		"  cadre stop reviewer\n"
		"  cadre stop --all --session 2f1c\n",
	.words =
		(const struct cadre_command_word[]){
			{ "", "[AGENT]", CADRE_COMMAND_BLOCKS, stop_run },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { "all", .help = "Every running agent." },
						  { "session", NULL, 0, CADRE_OPTION_REQUIRED, 0, "session",
						    .help = "Only in this session." },
						  { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

/* A task in the tree: indices into the session's tasks + 1; 0: none */
struct node {
	size_t first, last, next;
};

/* A task without a known parent is at the top. */
static struct node *make_nodes(const struct task_session *s)
{
	struct node *nodes = xcalloc(s->count + 1, sizeof *nodes); /* the last one is the main agent */
	struct map by_id = { 0 };

	for (size_t i = 0; i < s->count; i++)
		map_set(&by_id, str_from(s->tasks[i].agent), (void *)(i + 1));
	for (size_t i = 0; i < s->count; i++) {
		size_t parent = (size_t)map_get(&by_id, str_from(s->tasks[i].parent));
		struct node *above = &nodes[parent && parent != i + 1 ? parent - 1 : s->count];
		if (above->last)
			nodes[above->last - 1].next = i + 1;
		else
			above->first = i + 1;
		above->last = i + 1;
	}
	map_release(&by_id);
	return nodes;
}

static void add_task_row(struct cadre_report *r, const struct task_row *row, unsigned depth)
{
	static const struct {
		const char *state;
		enum cadre_style style;
	} styles[] = {
		{ "running", CADRE_GOOD },    { "completed", CADRE_PLAIN },  { "suspended", CADRE_NOTE },
		{ "idle", CADRE_NOTE },       { "awaiting", CADRE_WARN },    { "killed", CADRE_WARN },
		{ "turn_limit", CADRE_WARN }, { "interrupted", CADRE_WARN },
	};
	enum cadre_style style = CADRE_BAD;
	AUTO_BUF struct buf title = { 0 }, state = { 0 }, turns = { 0 }, tokens = { 0 }, cost = { 0 }, span = { 0 };
	struct str text = utf8_cut(str_from(row->description), MOST_TITLE);
	char id[SHOWN_ID + 1];

	buf_addf(&title, "%*s" STR_FMT, (int)MIN(depth, 20u) * 2, "", STR_ARG(text));
	if (row->name[0])
		buf_addf(&title, " [%s]", row->name);
	snprintf(id, sizeof id, "%s", row->agent);
	buf_addf(&state, "%s%s%s", row->state, row->verdict[0] ? " " : "", row->verdict);
	if (row->ended_ms && (!strcmp(row->state, "idle") || !strcmp(row->state, "awaiting"))) {
		buf_addstr(&state, " for ");
		buf_addspan(&state, id_wall_ms() - row->ended_ms);
	}
	if (row->unread)
		buf_addf(&state, ", %lld unread", (long long)row->unread);
	for (struct str rest = str_trim(str_from(row->tasks ? row->tasks : "")); rest.p && rest.n;) {
		struct str line = str_cut(&rest, '\n'), number = str_cut(&line, ' ');
		buf_addf(&state, ", owns " STR_FMT, STR_ARG(number));
	}
	buf_addf(&turns, "%lld", (long long)row->turns);
	buf_addcount(&tokens, task_row_tokens(row));
	buf_addf(&cost, "$%.4f", row->cost_usd);
	buf_addspan(&span, task_row_duration_ms(row));
	for (size_t i = 0; i < COUNT_OF(styles); i++)
		if (!strcmp(row->state, styles[i].state))
			style = styles[i].style;
	report_row(r, style, title.p, id, row->type, state.p, turns.p, tokens.p, cost.p, span.p, row->last_tool, NULL);
}

static void add_tasks_below(struct cadre_report *r, const struct task_session *s, const struct node *nodes, size_t at,
			    unsigned depth)
{
	for (size_t i = nodes[at].first; i; i = nodes[i - 1].next) {
		add_task_row(r, &s->tasks[i - 1], depth);
		if (depth < 100)
			add_tasks_below(r, s, nodes, i - 1, depth + 1);
	}
}

static void report_session(struct cadre_report *r, struct json_out *w, const struct task_session *s)
{
	AUTO_FREE struct node *nodes = make_nodes(s);

	json_putf(w, "{sessionId:'%s', running:!!%d, pid?:%lld, cwd:'%s', costUSD:%g, tasks:[", s->id,
		  s->socket != NULL, (long long)s->pid, s->cwd[0] ? s->cwd : NULL, s->cost_usd);
	for (size_t i = 0; i < s->count; i++)
		task_json_write(w, &s->tasks[i]);
	json_putf(w, "]}");
	if (r->count)
		report_line(r, CADRE_PLAIN, "%s", "");
	if (s->socket)
		report_line(r, CADRE_GOOD, "Session %s runs (process %lld, $%.4f so far)", s->id, (long long)s->pid,
			    s->cost_usd);
	else
		report_line(r, CADRE_NOTE, "Session %s does not run", s->id);
	report_row(r, CADRE_HEAD, "AGENT", "ID", "TYPE", "STATE", "TURNS", "TOKENS", "COST", "TIME", "LAST TOOL", NULL);
	add_tasks_below(r, s, nodes, s->count, 0);
}

/* Keeps the session with this id, or those of the project: all, or those that run, or the newest if none does. */
static int choose_sessions(struct task_list *l, const struct task_dirs *dirs, const char *session, bool all,
			   struct err *err)
{
	AUTO_FREE bool *wanted = xcalloc(l->count + 1, sizeof *wanted);
	const struct task_session *newest = NULL;
	int64_t newest_ms = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		bool is_here = !strcmp(s->project_dir, dirs->project_dir);
		wanted[i] = session ? str_starts(str_from(s->id), str_from(session)) : is_here && (all || s->socket);
		n += wanted[i];
		int64_t last_ms = 0;
		for (size_t k = 0; k < s->count; k++)
			last_ms = MAX(last_ms, s->tasks[k].started_ms);
		if (!session && is_here && (!newest || last_ms > newest_ms)) {
			newest = s;
			newest_ms = last_ms;
		}
	}
	if (session && n > 1)
		return err_set(err, ERR_USAGE, "several sessions begin with '%.40s': give more of the id", session);
	if (session && n == 0)
		return err_set(
			err, ERR_NOT_FOUND,
			"session %.60s is not known, or it never had agents; `cadre tasks --all` lists those that had",
			session);
	if (n == 0 && newest)
		wanted[newest - l->sessions] = true;
	n = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (wanted[i])
			l->sessions[n++] = l->sessions[i];
		else
			free(l->sessions[i].tasks);
	}
	l->count = n;
	return 0;
}

static int tasks_run(struct cadre_call *call)
{
	AUTO_TASKS struct task_list l = { .counts = true };
	struct task_dirs dirs;
	const char *session = call->operands[0];
	bool all = args_has(&call->args, "all");

	if (session && all)
		return err_set(call->err, ERR_USAGE, "expected one session, or --all: cadre tasks [SESSION]");
	if (task_dirs(call->services, &l.arena, &dirs, call->err) < 0 || task_list_add_live(&l, call->err) < 0)
		return -(int)call->err->kind;
	if (session)
		add_past_of_all_projects(&l, dirs.config_dir, session);
	else
		add_past(&l, dirs.project_dir, "", !all);
	if (choose_sessions(&l, &dirs, session, all, call->err) < 0)
		return -(int)call->err->kind;
	struct json_out w = json_out(&call->report->json);
	json_putf(&w, "{sessions:[");
	if (!l.count)
		report_line(call->report, CADRE_NOTE, "no session of this directory had agents");
	for (size_t i = 0; i < l.count; i++)
		report_session(call->report, &w, &l.sessions[i]);
	json_putf(&w, "]}");
	return 0;
}

/* agent NULL: all that run there. The answer is added to ended. */
static int stop_agents_of(const struct task_session *s, const char *agent, struct task_list *ended, struct err *err)
{
	AUTO_BUF struct buf request = { 0 };

	if (agent)
		json_addf(&request, "{request:'stop', agents:['%s']}", agent);
	else
		json_addf(&request, "{request:'stop'}");
	return task_session_ask(s, buf_str(&request), STOP_MS, ended, err);
}

static int stop_run(struct cadre_call *call)
{
	AUTO_TASKS struct task_list l = { 0 }, ended = { 0 };
	struct json_out w = json_out(&call->report->json);
	const char *session = args_value(&call->args, "session");
	struct err *err = call->err;
	struct task_dirs dirs;
	struct found_task found;

	if (args_has(&call->args, "all") == (call->count == 1))
		return err_set(err, ERR_USAGE,
			       "expected one agent, or --all: cadre stop AGENT (cadre tasks lists them)");
	int status = task_list_collect(&l, call->services, &dirs, err);
	if (status == 0)
		status = call->count ? task_list_find(&l, &dirs, call->operands[0], session, &found, err)
				     : choose_sessions(&l, &dirs, session, false, err);
	if (status < 0)
		return status;
	if (call->count && !task_is_running(&found))
		return err_set(err, ERR_NOT_FOUND, "agent %s (%.60s) does not run: %s", found.row->agent,
			       found.row->description, found.row->state);
	if (call->count)
		status = stop_agents_of(found.session, found.row->agent, &ended, err);
	for (size_t i = 0; !call->count && status == 0 && i < l.count; i++)
		if (l.sessions[i].socket)
			status = stop_agents_of(&l.sessions[i], NULL, &ended, err);
	if (status < 0)
		return status;
	json_putf(&w, "{stopped:[");
	for (size_t i = 0; i < ended.count; i++) {
		for (size_t k = 0; k < ended.sessions[i].count; k++) {
			const struct task_row *row = &ended.sessions[i].tasks[k];
			task_json_write(&w, row);
			report_line(call->report, CADRE_GOOD, "Agent %s (%s) has ended: %s", row->agent,
				    row->description, row->state);
		}
	}
	json_putf(&w, "]}");
	if (!call->report->count)
		report_line(call->report, CADRE_NOTE, "No agent runs.");
	return 0;
}
