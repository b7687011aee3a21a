/* SPDX-License-Identifier: MIT
 * sessions.c - `cadre sessions`: lists, shows, exports and prunes conversations. */
#include <fts.h>
#include "product/command/command.h"
#include "lib/json/json.h"
#include "lib/base/map.h"
#include "defs/plugin/fetch.h"
#include "core/store/lock.h"
#include "core/store/session_list.h"
#include "lib/io/dir.h"

enum {
	DAY_S = 86400,
	YOUNGEST_ORPHAN_S = 3600, /* a session makes its places before the first line is written */
	LARGEST_TEAM_FILE = 4 << 20,
};

static command_fn sessions_list, sessions_show, sessions_ids, sessions_prune;

const struct cadre_command command_sessions = {
	.name = "sessions",
	.summary = "list, search, show, export and prune sessions of this project",
	.help = "Usage: cadre sessions [list] [--all]                 newest first; --all: also those without answer\n"
		"       cadre sessions search TEXT                    sessions in which user or model wrote this text\n"
		"       cadre sessions show SESSION                   one session, in readable form\n"
		"       cadre sessions export SESSION [--format FORMAT]\n"
		"                                                     all of it: markdown (the default) or json\n"
		"       cadre sessions ids                            ids and titles separated by a tab, for shells\n"
		"       cadre sessions prune [--older-than AGE] [--dry-run]\n"
		"                                                     remove sessions unchanged for this long\n"
		"\n"
		"SESSION is an id, the beginning of one, or a title. An AGE is a number with s, m, h, d or w: 30d;\n"
		"the default is the setting cleanupPeriodDays. prune also removes what belongs to a session\n"
		"(transcripts of its agents, recorded files, task lists) and remains of deleted sessions. A session\n"
		"in use is never removed.\n"
		"\n"
		"Examples:\n"
		"  cadre sessions search \"race in the parser\"\n"
		"  cadre sessions export 2f1c --format markdown > session.md\n"
		"  cadre sessions prune --older-than 30d --dry-run\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, sessions_list },
			{ "export", "SESSION", 0, sessions_show },
			{ "ids", "", 0, sessions_ids },
			{ "prune", "", 0, sessions_prune },
			{ "search", "TEXT", 0, sessions_list },
			{ "show", "SESSION", 0, sessions_show },
			{ .name = NULL },
		},
	.options =
		(const struct cadre_option[]){ { "all", .help = "With list: also sessions without an answer." },
					       { "dry-run", .help = "With prune: only report what would be removed." },
					       { "format", NULL, 0, CADRE_OPTION_REQUIRED, 0, "format",
						 OPTION_CHOICES("markdown", "json"),
						 .help = "With export: markdown (the default) or json." },
					       { "older-than", NULL, 0, CADRE_OPTION_REQUIRED, 0, "age",
						 .help = "With prune: the age since the last change, such as 30d." },
					       { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

static const char *shown_name(const struct session_entry *e)
{
	return e->title[0] ? e->title : e->prompt[0] ? e->prompt : "(no prompt)";
}

static void put_entry(struct json_out *w, const struct session_entry *e)
{
	char when[ISO_TIME_LEN + 1];

	id_iso_time(e->changed_ms, when);
	json_putf(w, "{sessionId:'%s', title:'%s', firstPrompt:'%s', lastModified:'%s', cwd:'%s'", e->id,
		  e->title[0] ? e->title : NULL, e->prompt[0] ? e->prompt : NULL, when, e->cwd);
	json_putf(w, "gitBranch:'%s', messages:%u, agents:%u, bytes:%llu, path:'%s'}", e->branch, e->messages,
		  e->agents, (unsigned long long)e->bytes, e->path);
}

/* A run that failed before the first answer is shown only with --all, or if it has the text that is searched for. */
static int sessions_list(struct cadre_call *call)
{
	AUTO_SESSIONS struct session_list list = { 0 };
	struct cadre_report *r = call->report;
	struct json_out w = json_out(&r->json);
	const char *text = call->operands[0];
	bool all = text || args_has(&call->args, "all");
	size_t hidden = 0;

	if (services_list_sessions(call->services, text && text[0] ? text : NULL, &list, call->err) < 0)
		return -(int)call->err->kind;
	json_open(&w, '[');
	for (size_t i = 0; i < list.count; i++) {
		const struct session_entry *e = &list.entries[i];
		AUTO_BUF struct buf size = { 0 }, age = { 0 }, messages = { 0 };
		hidden += e->matches && !all && !e->answers;
		if (!e->matches || (!all && !e->answers))
			continue;
		if (!r->count)
			report_row(r, CADRE_HEAD, "SESSION", "AGE", "MESSAGES", "SIZE", "TITLE OR FIRST PROMPT", NULL);
		put_entry(&w, e);
		buf_addsize(&size, e->bytes);
		buf_addspan(&age, MAX(id_wall_ms() - e->changed_ms, (int64_t)0));
		buf_addf(&messages, "%u", e->messages);
		report_row(r, CADRE_PLAIN, e->id, age.p, messages.p, size.p, shown_name(e), NULL);
	}
	json_close(&w);
	if (!r->count && !hidden)
		report_line(r, CADRE_NOTE, "no session of this project %s",
			    list.count ? "holds this text" : "is on disk");
	if (hidden)
		report_line(r, CADRE_NOTE, "%zu session%s without an answer %s not shown; --all shows %s", hidden,
			    hidden == 1 ? "" : "s", hidden == 1 ? "is" : "are", hidden == 1 ? "it" : "them");
	return 0;
}

/* For shells: a line for each, the id and the title with a tab between. */
static int sessions_ids(struct cadre_call *call)
{
	AUTO_SESSIONS struct session_list list = { 0 };
	struct json_out w = json_out(&call->report->json);

	if (services_list_sessions(call->services, NULL, &list, call->err) < 0)
		return -(int)call->err->kind;
	json_open(&w, '[');
	for (size_t i = 0; i < list.count; i++) {
		AUTO_BUF struct buf title = { 0 };
		buf_addfolded(&title, str_from(shown_name(&list.entries[i])));
		report_line(call->report, CADRE_PLAIN, "%s\t%s", list.entries[i].id, title.p);
		put_entry(&w, &list.entries[i]);
	}
	json_close(&w);
	return 0;
}

/* Code in a fence that is longer than any run of backquotes in it */
static void markdown_code(struct buf *out, const char *language, struct str text)
{
	size_t run = 0, longest = 2;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	for (size_t i = 0; i <= longest; i++)
		buf_addch(out, '`');
	buf_addf(out, "%s\n" STR_FMT "%s", language, STR_ARG(text), str_ends(text, STR("\n")) ? "" : "\n");
	for (size_t i = 0; i <= longest; i++)
		buf_addch(out, '`');
	buf_addstr(out, "\n\n");
}

static void markdown_text(struct buf *out, const char *who, struct str text)
{
	text = str_trim(text);
	if (text.n)
		buf_addf(out, "## %s\n\n" STR_FMT "\n\n", who, STR_ARG(text));
}

struct shown_session {
	struct cadre_report *report;
	struct json_out json;
	bool markdown;
};

static void markdown_blocks(struct buf *out, const char *who, const struct json *content, struct arena *a)
{
	for (const struct json *b = json_items(content); b; b = json_next(content, b)) {
		const struct json *type = json_get(b, "type"), *result = json_get(b, "content");
		if (json_str_is(type, "text")) {
			markdown_text(out, who, json_str(json_get(b, "text"), a));
		} else if (json_str_is(type, "tool_use")) {
			buf_addf(out, "**" STR_FMT "**\n\n", STR_ARG(json_str(json_get(b, "name"), a)));
			markdown_code(out, "json", json_raw(json_get(b, "input")));
		} else if (json_str_is(type, "tool_result")) {
			buf_addf(out, "%s:\n\n", json_bool(json_get(b, "is_error")) ? "Error" : "Result");
			if (json_is(result, JSON_STRING))
				markdown_code(out, "", json_str(result, a));
			for (const struct json *c = json_items(result); c; c = json_next(result, c))
				markdown_code(out, "",
					      json_get(c, "text") ? json_str(json_get(c, "text"), a)
								  : STR("(not text)"));
		}
	}
}

static void add_markdown(struct cadre_report *r, const struct json *root)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	bool of_user = json_str_is(json_get(root, "type"), "user");
	const char *who = of_user ? "User" : "Assistant";
	const struct json *content = json_get(json_get(root, "message"), "content");

	if (json_bool(json_get(root, "isMeta")) || (!of_user && !json_str_is(json_get(root, "type"), "assistant")))
		return;
	if (json_is(content, JSON_STRING))
		markdown_text(&text, who, json_str(content, &a));
	markdown_blocks(&text, who, content, &a);
	if (!text.n)
		return;
	for (struct str rest = { text.p, text.n - 1 }; rest.p;) {
		struct str one = str_cut(&rest, '\n');
		report_line(r, CADRE_PLAIN, STR_FMT, STR_ARG(one));
	}
}

static int show_line(void *data, struct str line)
{
	struct shown_session *t = data;
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	bool ended;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0)
		return 0; /* torn */
	json_put_raw(&t->json, line);
	if (t->markdown)
		add_markdown(t->report, root);
	else
		logs_line(t->report, line, &ended);
	return 0;
}

static int sessions_show(struct cadre_call *call)
{
	AUTO_SESSIONS struct session_list list = { 0 };
	struct cadre_report *r = call->report;
	struct shown_session t = { .report = r,
				   .json = json_out(&r->json),
				   .markdown = !strcmp(call->word->name, "export") };
	const struct session_entry *e;

	if (!call->operands[0][0])
		return command_fail_usage(call, call->word->operands);
	if (services_list_sessions(call->services, NULL, &list, call->err) < 0 ||
	    session_list_find(&list, call->operands[0], &e, call->err) < 0)
		return -(int)call->err->kind;
	if (t.markdown) {
		report_line(r, CADRE_PLAIN, "# %s", shown_name(e));
		report_line(r, CADRE_PLAIN, "%s", "");
	}
	json_open(&t.json, '[');
	int status = session_each_line(e->path, show_line, &t, call->err);
	json_close(&t.json);
	return status;
}

/* Prune.
 * Old sessions are removed with all that belongs to them:
 *
 *     <config>/projects/<key>/<session>.jsonl      the transcript, last: until it is gone the session is listed
 *     <config>/projects/<key>/<session>/           of its agents, and large results
 *     <config>/file-history/<session>/             files as they were
 *     <config>/tasks/<session>/, <config>/todos/<session>-agent-*.json
 *     <config>/teams/<team>/, <config>/tasks/<team>/     of a team that it led
 *
 * What is left of a session without a transcript in any project is an orphan and is removed as well. A task list with a name of
 * its own does not belong to a session. */

struct belonging {
	char id[UUID_LEN + 1];
	const char *path;
	uint64_t bytes;
	int64_t changed_ms;
	struct belonging *next; /* of the same session */
};

struct pruning {
	struct services *services;
	bool dry;
	int64_t limit_ms;
	struct session_list sessions; /* of this project */
	struct map known;             /* ids of all projects */
	struct map belongings;        /* id -> the first struct belonging */
	struct arena arena;           /* holds the belongings and their paths */
	struct cadre_report *report;
	struct json_out json;
	uint64_t bytes; /* that went, or would go */
};

static void pruning_release(struct pruning *p)
{
	session_list_release(&p->sessions);
	map_release(&p->known);
	map_release(&p->belongings);
	arena_release(&p->arena);
}

static void add_belonging(struct pruning *p, const char *id, const char *dir, const char *name)
{
	struct belonging *b = arena_calloc(&p->arena, sizeof *b);
	b->path = arena_printf(&p->arena, "%s/%s", dir, name);
	memcpy(b->id, id, UUID_LEN);
	b->next = map_set(&p->belongings, str_from(b->id), b);
	char *const roots[] = { (char *)b->path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *e; walk && (e = fts_read(walk));) {
		if (e->fts_info == FTS_DP || !e->fts_statp)
			continue;
		const struct timespec *t = &e->fts_statp->st_mtim;
		b->changed_ms = MAX(b->changed_ms, (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000);
		if (e->fts_info == FTS_F)
			b->bytes += (uint64_t)e->fts_statp->st_size;
	}
	if (walk)
		fts_close(walk);
}

/* Names that are an id, or begin with one and then suffix. */
static void find_belongings(struct pruning *p, const char *dir, const char *suffix)
{
	AUTO_DIR DIR *d = opendir(dir);

	for (struct dirent *e; (e = dir_next(d));) {
		struct str name = str_from(e->d_name);
		if (name.n >= UUID_LEN && id_is_uuid((struct str){ name.p, UUID_LEN }) &&
		    (suffix ? str_starts((struct str){ name.p + UUID_LEN, name.n - UUID_LEN }, str_from(suffix))
			    : name.n == UUID_LEN))
			add_belonging(p, e->d_name, dir, e->d_name);
	}
}

/* Files and task lists of teams that a session led */
static void find_teams(struct pruning *p, const char *config)
{
	const char *dir = arena_printf(&p->arena, "%s/teams", config);
	AUTO_DIR DIR *d = opendir(dir);

	for (struct dirent *e; (e = dir_next(d));) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_TEAM_FILE, .depth = 32 } };
		const struct json *root;
		const char *path = arena_printf(&p->arena, "%s/%s/config.json", dir, e->d_name);
		if (e->d_name[0] == '.' || file_read(path, LARGEST_TEAM_FILE, &text, NULL) < 0 ||
		    json_parse(&reader, text.p, text.n, &root, NULL) < 0)
			continue;
		struct str id = json_str(json_get(root, "leadSessionId"), &p->arena);
		if (!id_is_uuid(id))
			continue;
		add_belonging(p, id.p, dir, e->d_name);
		if (file_exists(arena_printf(&p->arena, "%s/tasks/%s", config, e->d_name)))
			add_belonging(p, id.p, arena_printf(&p->arena, "%s/tasks", config), e->d_name);
	}
}

static int find_prunable(struct pruning *p, struct err *err)
{
	const char *cwd, *config;

	if (options_directories(&p->services->options, &p->arena, &cwd, &config, err) < 0 ||
	    services_list_sessions(p->services, NULL, &p->sessions, err) < 0)
		return -(int)err->kind;
	/* The ids of all transcripts of all projects */
	const char *projects = arena_printf(&p->arena, "%s/projects", config);
	AUTO_DIR DIR *all = opendir(projects);

	for (struct dirent *project; (project = dir_next(all));) {
		const char *dir = arena_printf(&p->arena, "%s/%s", projects, project->d_name);
		AUTO_DIR DIR *d = project->d_name[0] != '.' ? opendir(dir) : NULL;
		for (struct dirent *e; (e = dir_next(d));) {
			struct str name = str_from(e->d_name), id = { name.p, name.n - MIN(name.n, strlen(".jsonl")) };
			if (str_ends(name, STR(".jsonl")) && id_is_uuid(id))
				map_set(&p->known, id, p);
		}
	}
	find_belongings(p, p->sessions.project_dir, NULL);
	find_belongings(p, arena_printf(&p->arena, "%s/file-history", config), NULL);
	find_belongings(p, arena_printf(&p->arena, "%s/tasks", config), NULL);
	find_belongings(p, arena_printf(&p->arena, "%s/todos", config), "-agent-");
	find_teams(p, config);
	return 0;
}

static void report_pruned(struct pruning *p, const char *id, const char *orphan, uint64_t bytes, const char *name,
			  const struct err *err)
{
	AUTO_BUF struct buf size = { 0 };
	bool kept = err->kind != 0;

	json_putf(&p->json, "{sessionId:'%s', orphan?:'%s', bytes:%llu, removed:!!%d, error?:'%s'}", id, orphan,
		  (unsigned long long)bytes, !p->dry && !kept, kept ? err->text : NULL);
	buf_addsize(&size, bytes);
	p->bytes += kept ? 0 : bytes;
	p->report->bad = p->report->bad || (kept && err->kind != ERR_BUSY);
	report_row(p->report, kept ? CADRE_WARN : CADRE_PLAIN,
		   kept     ? "kept"
		   : p->dry ? "would be removed"
			    : "removed",
		   orphan ? orphan : id, size.p, kept ? err->text : name, NULL);
}

/* A session that is in use stays, however old its file is. */
static int remove_session(struct pruning *p, const struct session_entry *e, struct err *err)
{
	const char *dir = p->sessions.project_dir;
	int status = session_lock(&p->services->locks, dir, e->id, err);

	if (status < 0)
		return status;
	for (const struct belonging *b = map_get(&p->belongings, str_from(e->id)); b && status == 0; b = b->next)
		status = directory_remove(b->path, err);
	if (status == 0 && unlink(e->path) < 0)
		status = err_set(err, ERR_IO, "cannot remove %s: %m", e->path);
	session_unlock(&p->services->locks, dir, e->id);
	return status;
}

static void prune_sessions(struct pruning *p)
{
	for (size_t i = 0; i < p->sessions.count; i++) {
		const struct session_entry *e = &p->sessions.entries[i];
		struct err err = { 0 };
		uint64_t bytes = e->bytes;
		if (e->changed_ms >= p->limit_ms)
			continue;
		for (const struct belonging *b = map_get(&p->belongings, str_from(e->id)); b; b = b->next)
			bytes += b->bytes;
		if (!p->dry)
			(void)remove_session(p, e, &err);
		report_pruned(p, e->id, NULL, bytes, shown_name(e), &err);
	}
}

static void prune_orphans(struct pruning *p)
{
	int64_t limit_ms = MIN(p->limit_ms, id_wall_ms() - (int64_t)YOUNGEST_ORPHAN_S * 1000);

	for (struct map_entry *e = map_next(&p->belongings, NULL); e; e = map_next(&p->belongings, e))
		for (const struct belonging *b = e->value; b; b = b->next) {
			struct err err = { 0 };
			if (map_get(&p->known, str_from(b->id)) || b->changed_ms >= limit_ms)
				continue;
			if (!p->dry)
				(void)directory_remove(b->path, &err);
			report_pruned(p, b->id, b->path, b->bytes, "its session was deleted", &err);
		}
}

static int parse_age(const char *text, int64_t *ret_seconds, struct err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 } };
	struct str number = str_from(text);
	int64_t n;

	for (size_t i = 0; number.n && i < COUNT_OF(units); i++) {
		if (number.p[number.n - 1] != units[i].unit)
			continue;
		if (!str_to_i64((struct str){ number.p, number.n - 1 }, &n) || n < 0 || n > 1000000)
			break;
		*ret_seconds = n * units[i].seconds;
		return 0;
	}
	return err_set(err, ERR_USAGE, "--older-than expects an age such as 30d, 12h or 2w, not '%.40s'", text);
}

static int sessions_prune(struct cadre_call *call)
{
	CLEANUP(pruning_release)
	struct pruning p = { .services = call->services,
			     .dry = args_has(&call->args, "dry-run"),
			     .report = call->report,
			     .json = json_out(&call->report->json) };
	AUTO_BUF struct buf size = { 0 };
	const char *older_than = args_value(&call->args, "older-than");
	struct settings *settings;
	int64_t seconds = 0;

	if (older_than) {
		if (parse_age(older_than, &seconds, call->err) < 0)
			return -ERR_USAGE;
	} else {
		if (services_settings(call->services, &settings, call->err) < 0)
			return -(int)call->err->kind;
		const struct settings_note *bad = settings_misfit_of(settings, "cleanupPeriodDays");
		if (bad) /* the default could remove what was to be kept */
			(void)err_set(call->err, ERR_USAGE, "%s:%u: %s", bad->origin.file, bad->origin.line,
				      bad->message);
		int refused = bad ? -ERR_USAGE : settings_refusal(settings, call->err);
		seconds = settings_i64(settings, "cleanupPeriodDays") * DAY_S;
		settings_unref(settings);
		if (refused < 0)
			return refused;
	}
	if (find_prunable(&p, call->err) < 0)
		return -(int)call->err->kind;
	int64_t now_ms = id_wall_ms();
	p.limit_ms = seconds < now_ms / 1000 ? now_ms - seconds * 1000 : 0;
	json_open(&p.json, '[');
	prune_sessions(&p);
	prune_orphans(&p);
	json_close(&p.json);
	buf_addsize(&size, p.bytes);
	if (p.report->count)
		report_line(p.report, CADRE_NOTE, "%s in all", size.p);
	else
		report_line(p.report, CADRE_NOTE, "no session of this project is that old");
	return 0;
}
