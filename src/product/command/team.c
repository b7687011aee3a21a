/* SPDX-License-Identifier: MIT
 * team.c - `cadre team`: the teams of all sessions, from the files that every member reads, and their members as the leading session
 * says it. */
#include "product/command/command.h"
#include "product/command/tasks.h"
#include "product/observe/control.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/spawn.h"
#include "tools/tasks/todo_list.h"

enum { LARGEST_CONFIG = 4 << 20, TELL_MS = 10000, STOP_MS = 180000 };

static command_fn team_list, team_show, team_ask_member, team_tasks;

const struct cadre_command command_team = {
	.name = "team",
	.summary = "list teams, message and stop their members",
	.help = "Usage: cadre team [list]                 every team, its lead and the progress of its tasks\n"
		"       cadre team show TEAM              members with state, messages and tasks; the task list\n"
		"       cadre team tasks TEAM             only the task list\n"
		"       cadre team message MEMBER TEXT    a prompt to a member; an idle member is woken\n"
		"       cadre team stop MEMBER            end a member for good; its tasks have no owner any more\n"
		"\n"
		"MEMBER is a name, or NAME@TEAM if several teams have a member of that name. Teams are read from\n"
		"their files in the configuration directory; the state of members, message and stop need a running\n"
		"lead.\n"
		"\n"
		"Examples:\n"
		"  cadre team show alpha\n"
		"  cadre team message ann \"Take the second task first\"\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", CADRE_COMMAND_BLOCKS, team_list },
			{ "message", "MEMBER TEXT", CADRE_COMMAND_BLOCKS, team_ask_member },
			{ "show", "TEAM", CADRE_COMMAND_BLOCKS, team_show },
			{ "stop", "MEMBER", CADRE_COMMAND_BLOCKS, team_ask_member },
			{ "tasks", "TEAM", CADRE_COMMAND_BLOCKS, team_tasks },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

const struct cadre_command command_tell = {
	.name = "tell",
	.summary = "send a prompt to a member of a team",
	.help = "Usage: cadre tell MEMBER TEXT    send a prompt to a member; the same as `cadre team message`\n"
		"\n"
		"MEMBER is a name, or NAME@TEAM if several teams have a member of that name.\n"
		"\n"
		"Example:\n"
		"  cadre tell ann@alpha \"The tests are green again\"\n",
	.words = (const struct cadre_command_word[]){ { "", "MEMBER TEXT", CADRE_COMMAND_BLOCKS, team_ask_member },
						      { .name = NULL } },
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

struct team_file {
	const char *name, *description, *session;
	int64_t pid;
	bool alive;         /* its lead */
	size_t members;     /* without the lead */
	const char **names; /* of them */
	size_t tasks, open;
	struct team_file *next;
};

static void open_tasks(struct todo_list *l, const char *config_dir, const char *team)
{
	AUTO_ARENA struct arena a = { 0 };

	(void)todo_list_open(l, arena_printf(&a, "%s/tasks/%s", config_dir, team), false,
			     NULL); /* reading cannot fail */
}

/* Whether it has any. */
static bool count_tasks(struct team_file *t, const char *config_dir)
{
	AUTO_TODO_LIST struct todo_list list;

	open_tasks(&list, config_dir, t->name);
	t->tasks = list.count;
	for (size_t i = 0; i < list.count; i++)
		t->open += list.items[i].status != TODO_COMPLETED;
	return t->tasks > 0;
}

static struct team_file *read_team(const char *config_dir, const char *name, struct arena *a)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_CONFIG, .depth = 32 } };
	struct team_file *t = arena_calloc(a, sizeof *t);
	const struct json *root;
	int64_t start = 0;

	if (file_read(arena_printf(a, "%s/teams/%s/config.json", config_dir, name), LARGEST_CONFIG, &text, NULL) < 0 ||
	    json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return NULL;
	const struct json *process = json_get(root, "leadProcess"), *members = json_get(root, "members");
	t->name = arena_strdup(a, name);
	t->description = json_text(root, "description", a);
	t->session = json_text(root, "leadSessionId", a);
	(void)json_i64(json_get(process, "pid"), &t->pid);
	(void)str_to_i64(json_str(json_get(process, "procStart"), a), &start);
	t->alive = process_lives(t->pid, start);
	t->names = arena_calloc(a, (json_is(members, JSON_ARRAY) ? members->count + 1 : 1) * sizeof *t->names);
	for (const struct json *m = json_items(members); m; m = json_next(members, m))
		if (!json_str_is(json_get(m, "name"), "team-lead"))
			t->names[t->members++] = json_text(m, "name", a);
	(void)count_tasks(t, config_dir);
	return t;
}

static struct team_file *read_teams(const char *config_dir, struct arena *a)
{
	AUTO_DIR DIR *d = opendir(arena_printf(a, "%s/teams", config_dir));
	struct team_file *first = NULL, **end = &first;

	for (struct dirent *e; (e = dir_next(d));) {
		struct team_file *t = e->d_name[0] == '.' ? NULL : read_team(config_dir, e->d_name, a);
		if (!t)
			continue;
		while (*end && strcmp((*end)->name, t->name) < 0)
			end = &(*end)->next;
		t->next = *end;
		*end = t;
		end = &first;
	}
	return first;
}

static int find_team(struct cadre_call *call, const char *config_dir, const char *name, struct arena *a,
		     struct team_file **ret)
{
	*ret = strchr(name, '/') || name[0] == '.' ? NULL : read_team(config_dir, name, a);
	return *ret ? 0
		    : err_set(call->err, ERR_NOT_FOUND, "no team %.60s in %s/teams (cadre team list shows them)", name,
			      config_dir);
}

static const char *lead_text(const struct team_file *t, struct arena *a)
{
	return t->alive ? arena_printf(a, "session %.8s (process %lld)", t->session, (long long)t->pid)
			: arena_printf(a, "session %.8s does not run", t->session);
}

static void put_team(struct json_out *w, const struct team_file *t)
{
	json_putf(w, "name:'%s', description:'%s', leadSessionId:'%s', running:!!%d, members:%zu, tasks:%zu", t->name,
		  t->description, t->session, t->alive, t->members, t->tasks);
	json_putf(w, "openTasks:%zu", t->open);
}

static int team_list(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_report *r = call->report;
	struct json_out w = json_out(&r->json);
	struct task_dirs dirs;

	if (task_dirs(call->services, &a, &dirs, call->err) < 0)
		return -(int)call->err->kind;
	json_putf(&w, "{teams:[");
	for (const struct team_file *t = read_teams(dirs.config_dir, &a); t; t = t->next) {
		if (!r->count)
			report_row(r, CADRE_HEAD, "TEAM", "MEMBERS", "TASKS", "LEAD", "DESCRIPTION", NULL);
		report_row(r, t->alive ? CADRE_GOOD : CADRE_NOTE, t->name, arena_printf(&a, "%zu", t->members),
			   arena_printf(&a, "%zu of %zu open", t->open, t->tasks), lead_text(t, &a), t->description,
			   NULL);
		json_open(&w, '{');
		put_team(&w, t);
		json_close(&w);
	}
	json_putf(&w, "]}");
	if (!r->count)
		report_line(r, CADRE_NOTE,
			    "No teams. With CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1 the model can form one.");
	return 0;
}

static void report_tasks(struct cadre_report *r, struct json_out *w, const char *config_dir, const char *team)
{
	AUTO_TODO_LIST struct todo_list list;

	open_tasks(&list, config_dir, team);
	json_putf(w, "taskList:[");
	if (list.count)
		report_row(r, CADRE_HEAD, "TASK", "STATUS", "OWNER", "WAITS FOR", "SUBJECT", NULL);
	else
		report_line(r, CADRE_NOTE, "The task list is empty.");
	for (size_t i = 0; i < list.count; i++) {
		const struct todo *t = &list.items[i];
		const char *owner = t->owner ? t->owner : "";
		bool done = t->status == TODO_COMPLETED;
		AUTO_BUF struct buf blockers = { 0 };
		for (size_t k = 0; k < t->blocked_by.count; k++)
			buf_addf(&blockers, "%s#%u", k ? ", " : "", t->blocked_by.ids[k]);
		report_row(r,
			   done       ? CADRE_NOTE
			   : owner[0] ? CADRE_GOOD
				      : CADRE_PLAIN,
			   arena_printf(&list.arena, "#%u", t->id), todo_status_name(t->status), owner[0] ? owner : "-",
			   done || !blockers.n ? "-" : blockers.p, t->subject, NULL);
		json_putf(w, "{id:%u, subject:'%s', status:'%s', owner:'%s', blockedBy:'%.*s'}", t->id, t->subject,
			  todo_status_name(t->status), owner, STR_ARG(buf_str(&blockers)));
	}
	json_close(w);
}

/* As the session says it that leads the team; without one, the names in the file. */
static void report_members(struct cadre_report *r, struct json_out *w, const struct team_file *t,
			   const struct task_list *live, struct arena *a)
{
	struct map shown = { 0 };

	json_putf(w, "roster:[");
	report_row(r, CADRE_HEAD, "MEMBER", "STATE", "UNREAD", "TASKS", "TYPE", "MODEL", NULL);
	for (size_t i = 0; i < live->count; i++) {
		const struct task_session *s = &live->sessions[i];
		for (size_t k = 0; !strcmp(s->id, t->session) && k < s->count; k++) {
			const struct task_row *row = &s->tasks[k];
			AUTO_BUF struct buf owned = { 0 };
			if (strcmp(row->team, t->name) != 0)
				continue;
			map_set(&shown, str_from(row->name), r);
			for (struct str rest = str_trim(str_from(row->tasks)); rest.p && rest.n;) {
				struct str line = str_cut(&rest, '\n'), number = str_cut(&line, ' ');
				buf_addf(&owned, "%s" STR_FMT, owned.n ? " " : "", STR_ARG(number));
			}
			bool works = !strcmp(row->state, "running");
			report_row(r, works ? CADRE_GOOD : CADRE_NOTE, row->name, row->state,
				   arena_printf(a, "%lld", (long long)row->unread), owned.n ? owned.p : "-", row->type,
				   row->model, NULL);
			task_json_write(w, row);
		}
	}
	for (size_t i = 0; i < t->members; i++) {
		if (map_get(&shown, str_from(t->names[i])))
			continue;
		report_row(r, CADRE_NOTE, t->names[i], t->alive ? "another program" : "does not run", "-", "-", "-",
			   "-", NULL);
		json_putf(w, "{name:'%s', state:'%s'}", t->names[i], t->alive ? "foreign" : "suspended");
	}
	json_close(w);
	map_release(&shown);
}

static int team_show(struct cadre_call *call)
{
	AUTO_TASKS struct task_list live = { 0 };
	struct arena *a = &live.arena;
	struct cadre_report *r = call->report;
	struct json_out w = json_out(&r->json);
	struct task_dirs dirs;
	struct team_file *t;

	if (task_dirs(call->services, a, &dirs, call->err) < 0 ||
	    find_team(call, dirs.config_dir, call->operands[0], a, &t) < 0 || task_list_add_live(&live, call->err) < 0)
		return -(int)call->err->kind;
	json_open(&w, '{');
	put_team(&w, t);
	report_line(r, t->alive ? CADRE_GOOD : CADRE_NOTE, "Team %s, led by %s%s%s", t->name, lead_text(t, a),
		    t->description[0] ? ": " : "", t->description);
	report_members(r, &w, t, &live, a);
	report_line(r, CADRE_PLAIN, "%s", "");
	report_tasks(r, &w, dirs.config_dir, t->name);
	json_close(&w);
	return 0;
}

static int team_tasks(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct json_out w = json_out(&call->report->json);
	struct task_dirs dirs;
	struct team_file *t;

	if (task_dirs(call->services, &a, &dirs, call->err) < 0)
		return -(int)call->err->kind;
	if (find_team(call, dirs.config_dir, call->operands[0], &a, &t) < 0) {
		/* A team that is over leaves its list. */
		t = arena_new(&a, struct team_file, .name = call->operands[0], .description = "", .session = "");
		if (strchr(t->name, '/') || t->name[0] == '.' || !count_tasks(t, dirs.config_dir))
			return -(int)call->err->kind;
		*call->err = (struct err){ 0 };
	}
	json_open(&w, '{');
	put_team(&w, t);
	report_tasks(call->report, &w, dirs.config_dir, t->name);
	json_close(&w);
	return 0;
}

/* NAME or NAME@TEAM, in sessions that run. */
static int find_member(struct cadre_call *call, struct task_list *l, struct found_task *ret)
{
	struct str name = str_from(call->operands[0]);
	struct str team = name;
	bool named = memchr(name.p, '@', name.n) != NULL;
	unsigned n = 0;

	if (named)
		name = str_cut(&team, '@');
	if (task_list_add_live(l, call->err) < 0)
		return -(int)call->err->kind;
	for (size_t i = 0; i < l->count; i++) {
		for (size_t k = 0; k < l->sessions[i].count; k++) {
			const struct task_row *row = &l->sessions[i].tasks[k];
			if (!row->team[0] || !str_is_nocase(name, row->name) || (named && !str_is(team, row->team)))
				continue;
			if (n++ == 0 || !strcmp(row->state, "running"))
				*ret = (struct found_task){ &l->sessions[i], row };
		}
	}
	if (!n)
		return err_set(call->err, ERR_NOT_FOUND,
			       "no member %.80s in a session that runs (cadre team show TEAM)", call->operands[0]);
	if (n > 1 && !named)
		return err_set(call->err, ERR_USAGE, "several teams have a member %.40s: name it as NAME@TEAM",
			       call->operands[0]);
	return 0;
}

/* Without a text, the member is to end. */
static int team_ask_member(struct cadre_call *call)
{
	const char *text = call->operands[1];
	AUTO_TASKS struct task_list l = { 0 }, after = { 0 };
	AUTO_BUF struct buf request = { 0 };
	struct json_out out = json_out(&call->report->json);
	struct found_task to = { 0 };

	if (find_member(call, &l, &to) < 0)
		return -(int)call->err->kind;
	if (text)
		json_addf(&request, "{request:'tell', agent:'%s', text:'%s'}", to.row->agent, text);
	else
		json_addf(&request, "{request:'stop', agents:['%s']}", to.row->agent);
	if (task_session_ask(to.session, buf_str(&request), text ? TELL_MS : STOP_MS, &after, call->err) < 0)
		return -(int)call->err->kind;
	const struct task_row *row = after.count && after.sessions[0].count ? &after.sessions[0].tasks[0] : to.row;
	task_json_write(&out, row);
	report_line(call->report, CADRE_GOOD, text ? "%s has your message (%s)" : "%s has ended: %s", row->name,
		    row->state);
	return 0;
}
