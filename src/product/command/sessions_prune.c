/* SPDX-License-Identifier: MIT
 * sessions_prune.c - old sessions are removed with all that belongs to them:
 *
 *     <config>/projects/<key>/<session>.jsonl      the transcript, last: until it is gone the session is listed
 *     <config>/projects/<key>/<session>/           of its agents, and large results
 *     <config>/file-history/<session>/             files as they were
 *     <config>/tasks/<session>/, <config>/todos/<session>-agent-*.json
 *
 * What of these is left of a session that has no transcript in any project is an orphan and goes as well. A task list that was
 * named by somebody is no session's. */
#include <dirent.h>
#include <fts.h>
#include "defs/policy/sources.h"
#include "product/command/report.h"
#include "product/command/sessions.h"
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "defs/plugin/copy.h"
#include "core/store/lock.h"

enum { DAY_S = 86400, YOUNGEST_ORPHAN_S = 3600 }; /* a session makes its places before the first line is written */

struct belonging {
	char id[UUID_LEN + 1];
	const char *path;
	uint64_t bytes;
	int64_t changed_ms;
};

struct pruning {
	struct services *services;
	bool dry;
	int64_t limit_ms;
	struct session_list sessions; /* of this project */
	struct map known;             /* ids of all projects */
	struct belonging *belongings;
	size_t count, cap;
	struct arena arena; /* holds the paths */
	struct cadre_report *report;
	struct json_out json;
	uint64_t bytes; /* that went, or would go */
};

static void pruning_release(struct pruning *p)
{
	session_list_release(&p->sessions);
	map_release(&p->known);
	free(p->belongings);
	arena_release(&p->arena);
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

static void measure(struct belonging *b)
{
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

static void add_belonging(struct pruning *p, const char *dir, const char *name)
{
	if (p->count == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->belongings = xrealloc(p->belongings, p->cap * sizeof *p->belongings);
	}
	struct belonging *b = &p->belongings[p->count++];
	*b = (struct belonging){ .path = arena_printf(&p->arena, "%s/%s", dir, name) };
	memcpy(b->id, name, UUID_LEN);
	measure(b);
}

/* Names that are an id, or begin with one and then suffix. */
static void find_belongings(struct pruning *p, const char *dir, const char *suffix)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		struct str name = str_from(e->d_name);
		if (name.n >= UUID_LEN && id_is_uuid((struct str){ name.p, UUID_LEN }) &&
		    (suffix ? str_starts((struct str){ name.p + UUID_LEN, name.n - UUID_LEN }, str_from(suffix))
			    : name.n == UUID_LEN))
			add_belonging(p, dir, e->d_name);
	}
	if (d)
		closedir(d);
}

static void know_project(struct pruning *p, const char *dir)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		struct str name = str_from(e->d_name), id = { name.p, name.n - MIN(name.n, strlen(".jsonl")) };
		if (str_ends(name, STR(".jsonl")) && id_is_uuid(id))
			map_set(&p->known, id, p);
	}
	if (d)
		closedir(d);
}

static void know_all(struct pruning *p, const char *config)
{
	const char *projects = arena_printf(&p->arena, "%s/projects", config);
	DIR *d = opendir(projects);

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			know_project(p, arena_printf(&p->arena, "%s/%s", projects, e->d_name));
	if (d)
		closedir(d);
}

static int look(struct pruning *p, struct err *err)
{
	const char *cwd, *config;

	if (options_directories(&p->services->options, &p->arena, &cwd, &config, err) < 0 ||
	    session_list_read(p->services, NULL, &p->sessions, err) < 0)
		return -(int)err->kind;
	know_all(p, config);
	find_belongings(p, p->sessions.project_dir, NULL);
	find_belongings(p, arena_printf(&p->arena, "%s/file-history", config), NULL);
	find_belongings(p, arena_printf(&p->arena, "%s/tasks", config), NULL);
	find_belongings(p, arena_printf(&p->arena, "%s/todos", config), "-agent-");
	return 0;
}

/* ---- what goes --------------------------------------------------------------------------------------------------- */

static void tell(struct pruning *p, const char *id, const char *orphan, uint64_t bytes, const char *name,
		 const struct err *err)
{
	AUTO_BUF struct buf size = { 0 };
	bool kept = err->kind != 0;

	json_open(&p->json, '{');
	json_kcstr(&p->json, "sessionId", id);
	if (orphan)
		json_kcstr(&p->json, "orphan", orphan);
	json_ki64(&p->json, "bytes", (int64_t)bytes);
	json_kbool(&p->json, "removed", !p->dry && !kept);
	if (kept)
		json_kcstr(&p->json, "error", err->text);
	json_close(&p->json);
	buf_addsize(&size, bytes);
	p->bytes += kept ? 0 : bytes;
	p->report->bad = p->report->bad || (kept && err->kind != ERR_BUSY);
	report_row(p->report, kept ? CADRE_WARN : CADRE_PLAIN,
		   kept     ? "kept"
		   : p->dry ? "would be removed"
			    : "removed",
		   orphan ? orphan : id, size.p, kept ? err->text : name, NULL);
}

/* One that somebody works on stays, however old its file is. */
static int remove_session(struct pruning *p, const struct session_entry *e, struct err *err)
{
	const char *dir = p->sessions.project_dir;
	int status = session_lock(&p->services->locks, dir, e->id, err);

	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < p->count; i++)
		if (!strcmp(p->belongings[i].id, e->id))
			status = directory_remove(p->belongings[i].path, err);
	if (status == 0 && unlink(e->path) < 0)
		status = err_set(err, ERR_IO, "cannot remove %s: %m", e->path);
	session_unlock(&p->services->locks, dir, e->id);
	return status;
}

static void prune_session(struct pruning *p, const struct session_entry *e)
{
	struct err err = { 0 };
	uint64_t bytes = e->bytes;

	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->belongings[i].id, e->id))
			bytes += p->belongings[i].bytes;
	if (!p->dry)
		(void)remove_session(p, e, &err);
	tell(p, e->id, NULL, bytes, session_shown_name(e), &err);
}

static void prune_orphan(struct pruning *p, const struct belonging *b)
{
	struct err err = { 0 };

	if (!p->dry)
		(void)directory_remove(b->path, &err);
	tell(p, b->id, b->path, b->bytes, "its session is gone", &err);
}

static void prune(struct pruning *p)
{
	int64_t orphan_limit_ms = MIN(p->limit_ms, id_wall_ms() - (int64_t)YOUNGEST_ORPHAN_S * 1000);
	AUTO_BUF struct buf size = { 0 };

	json_open(&p->json, '[');
	for (size_t i = 0; i < p->sessions.count; i++)
		if (p->sessions.entries[i].changed_ms < p->limit_ms)
			prune_session(p, &p->sessions.entries[i]);
	for (size_t i = 0; i < p->count; i++)
		if (!map_get(&p->known, str_from(p->belongings[i].id)) && p->belongings[i].changed_ms < orphan_limit_ms)
			prune_orphan(p, &p->belongings[i]);
	json_close(&p->json);
	buf_addsize(&size, p->bytes);
	if (p->report->count)
		report_line(p->report, CADRE_NOTE, "%s in all", size.p);
	else
		report_line(p->report, CADRE_NOTE, "no session of this project is that old");
}

static int find_age(struct services *sv, int64_t *older_than_s, struct err *err)
{
	struct settings *settings;

	if (*older_than_s >= 0)
		return 0;
	if (app_settings(sv, &settings, err) < 0)
		return -(int)err->kind;
	*older_than_s = settings_i64(settings, "cleanupPeriodDays", 30) * DAY_S;
	settings_unref(settings);
	return 0;
}

int cadre_sessions_prune(struct cadre *c, int64_t older_than_s, int dry_run, struct cadre_report **ret_report,
			 char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	CLEANUP(pruning_release) struct pruning p = { .services = sv, .dry = dry_run };
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	if (find_age(sv, &older_than_s, &err) < 0 || look(&p, &err) < 0)
		return api_status(-(int)err.kind, &err, why, why_size);
	int64_t now_ms = id_wall_ms();
	p.limit_ms = older_than_s < now_ms / 1000 ? now_ms - older_than_s * 1000 : 0;
	p.report = *ret_report = xcalloc(1, sizeof *p.report);
	p.json = json_out(&p.report->json);
	prune(&p);
	return CADRE_OK;
}
