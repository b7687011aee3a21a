/* SPDX-License-Identifier: MIT
 * rewind_report.c - `cadre rewind`. The session must not be at work meanwhile: its lock is taken. */
#include <dirent.h>
#include "defs/policy/sources.h"
#include "product/command/report.h"
#include "product/session/rewind.h"
#include "lib/io/file.h"

struct place {
	struct arena arena;
	const char *id, *dir; /* of the session, and of what was kept for it */
	const char *project;  /* directory of its transcript; NULL: there is none any more */
};

static void place_release(struct place *p)
{
	arena_release(&p->arena);
}

/* ---- which session ----------------------------------------------------------------------------------------------- */

/* The one whose id is, or begins with, the text. */
static int find_session(struct place *p, const char *config_dir, const char *text, struct err *err)
{
	DIR *d = opendir(arena_printf(&p->arena, "%s/file-history", config_dir));
	size_t hits = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		if (!id_is_uuid(str_from(e->d_name)) || !str_starts(str_from(e->d_name), str_from(text)))
			continue;
		p->id = arena_strdup(&p->arena, e->d_name);
		hits++;
	}
	if (d)
		closedir(d);
	if (!hits || !*text)
		return err_set(err, ERR_NOT_FOUND, "no files were kept for a session %s", text);
	if (hits > 1)
		return err_set(err, ERR_USAGE, "the ids of %zu sessions begin with %s: give more of it", hits, text);
	p->dir = checkpoint_dir(&p->arena, config_dir, p->id);
	return 0;
}

static const char *find_project(struct place *p, const char *config_dir)
{
	const char *projects = arena_printf(&p->arena, "%s/projects", config_dir);
	const char *found = NULL;
	DIR *d = opendir(projects);

	for (struct dirent *e; d && !found && (e = readdir(d));) {
		const char *dir = arena_printf(&p->arena, "%s/%s", projects, e->d_name);
		if (e->d_name[0] != '.' && file_exists(arena_printf(&p->arena, "%s/%s.jsonl", dir, p->id)))
			found = dir;
	}
	if (d)
		closedir(d);
	return found;
}

static int find_place(struct services *sv, struct place *p, const char *session, struct err *err)
{
	const char *cwd;
	const char *config_dir;

	if (options_directories(&sv->options, &p->arena, &cwd, &config_dir, err) < 0 ||
	    find_session(p, config_dir, session, err) < 0)
		return -(int)err->kind;
	if (!sv->store.config_dir)
		store_init(&sv->store, sv->loop, config_dir);
	p->project = find_project(p, config_dir);
	return 0;
}

static int lock(struct services *sv, const struct place *p, struct err *err)
{
	int status = p->project ? session_lock(&sv->locks, p->project, p->id, err) : 0;

	if (status == -ERR_BUSY)
		err_set(err, ERR_BUSY, "session %s is at work: end it first", p->id);
	return status;
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static const char *action(const struct rewind_file *f)
{
	return !f->then.exists ? "remove" : f->now.exists ? "restore" : "create";
}

static void report_file(struct cadre_report *r, struct json_out *w, const struct rewind_file *f)
{
	size_t added;
	size_t removed;
	char lines[64];

	rewind_count_lines(f, &added, &removed);
	snprintf(lines, sizeof lines, "+%zu -%zu", added, removed);
	report_row(r, f->foreign ? CADRE_WARN : CADRE_PLAIN, action(f), f->path, lines,
		   f->foreign ? "changed by somebody else as well" : NULL, NULL);
	json_open(w, '{');
	json_kcstr(w, "path", f->path);
	json_kcstr(w, "action", action(f));
	json_ki64(w, "insertions", (int64_t)added);
	json_ki64(w, "deletions", (int64_t)removed);
	json_kbool(w, "changedByOthers", f->foreign);
	json_close(w);
}

static void report_end(struct cadre_report *r, const struct rewind *w, const struct place *p, bool dry)
{
	if (!w->plan.count)
		report_line(r, CADRE_GOOD, "All files are as they were at message %s.", w->mark->uuid);
	else if (w->undo[0])
		report_line(r, CADRE_GOOD, "Files are as they were at message %s. Back again: cadre rewind %s --to %s",
			    w->mark->uuid, p->id, w->undo);
	else if (dry)
		report_line(r, CADRE_NOTE, "This would bring back message %s; nothing was changed.", w->mark->uuid);
	else
		report_line(r, CADRE_BAD,
			    "Nothing was changed, because somebody else's changes would go too: --force does it.");
}

static void report_rewind(struct cadre_report *r, const struct rewind *w, const struct place *p, bool dry)
{
	struct json_out out = json_out(&r->json);

	json_open(&out, '{');
	json_kcstr(&out, "sessionId", p->id);
	json_kcstr(&out, "to", w->mark->uuid);
	json_kbool(&out, "dryRun", dry);
	json_kbool(&out, "rewound", w->undo[0] != '\0');
	json_kcstr(&out, "undo", w->undo[0] ? w->undo : NULL);
	json_key(&out, "files");
	json_open(&out, '[');
	for (size_t i = 0; i < w->plan.count; i++)
		report_file(r, &out, &w->plan.files[i]);
	json_close(&out);
	json_ki64(&out, "insertions", (int64_t)w->added);
	json_ki64(&out, "deletions", (int64_t)w->removed);
	json_close(&out);
	report_end(r, w, p, dry);
	r->bad = !dry && w->plan.count && !w->undo[0];
}

/* ---- the library's functions ------------------------------------------------------------------------------------- */

static int rewind_locked(struct services *sv, const struct place *p, const char *message, unsigned flags,
			 struct cadre_report *report, struct err *err)
{
	AUTO_REWIND struct rewind w = { 0 };
	bool dry = flags & CADRE_REWIND_DRY;
	int status = rewind_look(&w, p->dir, message, err);

	if (status == 0 && !dry && (!w.foreign || (flags & CADRE_REWIND_FORCE))) {
		struct checkpoint *checkpoint = checkpoint_new(&sv->store, p->dir);
		status = rewind_go(&w, checkpoint, err);
		checkpoint_free(checkpoint);
	}
	if (status == 0)
		report_rewind(report, &w, p, dry);
	return status;
}

int cadre_rewind(struct cadre *c, const char *session, const char *message, unsigned flags,
		 struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	CLEANUP(place_release) struct place p = { 0 };
	struct err err = { 0 };

	if (!sv || !session || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = find_place(sv, &p, session, &err);
	if (status == 0)
		status = lock(sv, &p, &err);
	if (status == 0) {
		status = rewind_locked(sv, &p, message, flags, report, &err);
		if (p.project)
			session_unlock(&sv->locks, p.project, p.id);
	}
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

static void report_marks(struct cadre_report *r, const struct file_history *h, const struct place *p)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_kcstr(&w, "sessionId", p->id);
	json_key(&w, "messages");
	json_open(&w, '[');
	for (size_t i = 0; i < h->mark_count; i++) {
		const struct history_mark *m = &h->marks[i];
		char files[40];
		snprintf(files, sizeof files, "%zu file%s", m->files, m->files == 1 ? "" : "s");
		report_row(r, CADRE_PLAIN, m->uuid, m->time, files, m->is_rewind ? "a rewind" : NULL, NULL);
		json_open(&w, '{');
		json_kcstr(&w, "uuid", m->uuid);
		json_kcstr(&w, "time", m->time);
		json_ki64(&w, "files", (int64_t)m->files);
		json_kbool(&w, "isRewind", m->is_rewind);
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
}

int cadre_rewind_list(struct cadre *c, const char *session, struct cadre_report **ret_report, char *why,
		      size_t why_size)
{
	struct services *sv = cadre_services(c);
	CLEANUP(place_release) struct place p = { 0 };
	AUTO_HISTORY struct file_history history = { 0 };
	struct err err = { 0 };

	if (!sv || !session || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = find_place(sv, &p, session, &err);
	if (status == 0)
		status = file_history_load(p.dir, &history, &err);
	if (status == 0)
		report_marks(report, &history, &p);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
