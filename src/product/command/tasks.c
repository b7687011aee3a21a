/* SPDX-License-Identifier: MIT
 * tasks.c - `cadre tasks` and `cadre stop`: the agents of sessions of all processes. */
#include "product/command/command.h"
#include "product/command/tasks.h"
#include "product/observe/control.h"
#include "lib/base/utf8.h"

enum { STOP_MS = 180000 };
enum { MOST_TITLE = 48, SHOWN_ID = 8 };

static int tasks_run(struct cadre_call *call);

const struct cadre_command command_tasks = {
	.name = "tasks",
	.summary = "the agents of sessions that run, or ran, as a tree",
	.help = "Usage: cadre tasks              sessions of this project that run, or the newest that had agents\n"
		"       cadre tasks --all        every session of this project that had agents\n"
		"       cadre tasks SESSION      one session, by its id or the beginning of it\n"
		"\n"
		"Each agent stands below the one that started it, with its state, turns, tokens, cost, time and last tool.\n"
		"A running session is asked, in whatever process it runs; others are read from disk.\n",
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
	.summary = "end an agent that runs",
	.help = "Usage: cadre stop AGENT [--session ID]    one agent and all below it\n"
		"       cadre stop --all [--session ID]    every agent that runs in this project, or in that session\n"
		"\n"
		"AGENT is an id, the beginning of one, or a name; `cadre tasks` lists them. It is stopped for you: its parent\n"
		"is notified, and no agent continues it. The command returns when it has ended, and ends with 1 if the\n"
		"agent does not exist or does not run.\n",
	.words =
		(const struct cadre_command_word[]){
			{ "", "[AGENT]", CADRE_COMMAND_BLOCKS, stop_run },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { "all", .help = "Every agent that runs." },
						  { "session", NULL, 0, CADRE_OPTION_REQUIRED, 0, "session",
						    .help = "Only in this session." },
						  { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

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
		{ "running", CADRE_GOOD }, { "completed", CADRE_PLAIN }, { "suspended", CADRE_NOTE },
		{ "killed", CADRE_WARN },  { "turn_limit", CADRE_WARN }, { "interrupted", CADRE_WARN },
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

	json_open(w, '{');
	json_kcstr(w, "sessionId", s->id);
	json_kbool(w, "running", s->socket != NULL);
	if (s->pid)
		json_ki64(w, "pid", s->pid);
	json_kcstr(w, "cwd", s->cwd[0] ? s->cwd : NULL);
	json_key(w, "costUSD");
	json_put_double(w, s->cost_usd);
	json_kopen(w, "tasks", '[');
	for (size_t i = 0; i < s->count; i++)
		task_json_write(w, &s->tasks[i]);
	json_close(w);
	json_close(w);
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

/* ---- which sessions ---------------------------------------------------------------------------------------------- */

static int64_t newest_start(const struct task_session *s)
{
	int64_t newest = 0;

	for (size_t i = 0; i < s->count; i++)
		newest = MAX(newest, s->tasks[i].started_ms);
	return newest;
}

/* Keeps the session with this id, or those of the project: all, or those that run, or the newest if none does. */
static int choose_sessions(struct task_list *l, const struct task_places *places, const char *session, bool all,
			   struct err *err)
{
	AUTO_FREE bool *wanted = xcalloc(l->count + 1, sizeof *wanted);
	const struct task_session *newest = NULL;
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		bool is_here = !strcmp(s->project_dir, places->project_dir);
		wanted[i] = session ? str_starts(str_from(s->id), str_from(session)) : is_here && (all || s->socket);
		n += wanted[i];
		if (!session && is_here && (!newest || newest_start(s) > newest_start(newest)))
			newest = s;
	}
	if (session && n > 1)
		return err_set(err, ERR_USAGE, "several sessions begin with '%.40s': give more of the id", session);
	if (session && n == 0)
		return err_set(err, ERR_NOT_FOUND, "session %.60s is not known, or it never had agents", session);
	if (!session && !newest)
		return err_set(err, ERR_NOT_FOUND, "no session of this directory had agents");
	if (n == 0)
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

static int collect_tasks(struct services *sv, struct task_list *l, struct task_places *ret_places, struct err *err)
{
	int status = task_places(sv, &l->arena, ret_places, err);

	if (status == 0)
		status = task_list_add_live(l, err);
	if (status == 0)
		status = task_list_add_past(l, ret_places->config_dir, err);
	return status;
}

static int tasks_run(struct cadre_call *call)
{
	AUTO_TASKS struct task_list l = { 0 };
	struct task_places places;
	const char *session = call->operands[0];
	bool all = args_has(&call->args, "all");

	if (session && all)
		return err_set(call->err, ERR_USAGE, "expected one session, or --all: cadre tasks [SESSION]");
	if (collect_tasks(call->services, &l, &places, call->err) < 0)
		return -(int)call->err->kind;
	if (!session)
		task_list_add_forgotten(&l, places.project_dir, all);
	int status = choose_sessions(&l, &places, session, all, call->err);
	if (status == -ERR_NOT_FOUND && session && id_is_uuid(str_from(session)) &&
	    task_list_add_meta(&l, places.project_dir, session))
		status = choose_sessions(&l, &places, session, all, call->err);
	if (status < 0)
		return status;
	struct json_out w = json_out(&call->report->json);
	json_open(&w, '{');
	json_kopen(&w, "sessions", '[');
	for (size_t i = 0; i < l.count; i++)
		report_session(call->report, &w, &l.sessions[i]);
	json_close(&w);
	json_close(&w);
	return 0;
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

/* agent NULL: all that run there. The answer is added to ended. */
static int stop_agents_of(const struct task_session *s, const char *agent, struct task_list *ended, struct err *err)
{
	AUTO_BUF struct buf request = { 0 }, answer = { 0 };
	struct json_out w = json_out(&request);

	json_open(&w, '{');
	json_kcstr(&w, "request", "stop");
	if (agent) {
		json_kopen(&w, "agents", '[');
		json_put_cstr(&w, agent);
		json_close(&w);
	}
	json_close(&w);
	if (control_ask(s->socket, buf_str(&request), STOP_MS, &answer, err) < 0)
		return err_wrap(err, "session %s", s->id);
	return task_list_add_answer(ended, s->socket, buf_str(&answer), err);
}

static int stop_run(struct cadre_call *call)
{
	AUTO_TASKS struct task_list l = { 0 };
	AUTO_TASKS struct task_list ended = { 0 };
	struct json_out w = json_out(&call->report->json);
	const char *session = args_value(&call->args, "session");
	struct err *err = call->err;
	struct task_places places;
	struct found_task found;

	if (args_has(&call->args, "all") == (call->count == 1))
		return err_set(err, ERR_USAGE,
			       "expected one agent, or --all: cadre stop AGENT (cadre tasks lists them)");
	int status = collect_tasks(call->services, &l, &places, err);
	if (status == 0)
		status = call->count ? task_list_find(&l, call->operands[0], session, &found, err)
				     : choose_sessions(&l, &places, session, false, err);
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
	json_open(&w, '{');
	json_kopen(&w, "stopped", '[');
	for (size_t i = 0; i < ended.count; i++) {
		for (size_t k = 0; k < ended.sessions[i].count; k++) {
			const struct task_row *row = &ended.sessions[i].tasks[k];
			task_json_write(&w, row);
			report_line(call->report, CADRE_GOOD, "Agent %s (%s) has ended: %s", row->agent,
				    row->description, row->state);
		}
	}
	json_close(&w);
	json_close(&w);
	if (!call->report->count)
		report_line(call->report, CADRE_NOTE, "No agent runs.");
	return 0;
}
