/* SPDX-License-Identifier: MIT
 * rewind.c - `cadre rewind`. It holds the lock of the session, which must not be in use. */
#include "product/command/command.h"
#include "product/session/rewind.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"

static int rewind_run(struct cadre_call *call);

const struct cadre_command command_rewind = {
	.name = "rewind",
	.summary = "restore files to their state before a message",
	.help = "Usage: cadre rewind SESSION             to before the last message that changed files\n"
		"       cadre rewind SESSION --to UUID   to before this message\n"
		"       cadre rewind SESSION --dry-run   only report what would be done\n"
		"       cadre rewind SESSION --list      list the messages that --to accepts\n"
		"\n"
		"SESSION is an id or the beginning of one. Files that the tools of its agents changed (Write, Edit\n"
		"and the like) are restored, and new files are removed; changes by commands are not recorded. The\n"
		"conversation stays unchanged. If another program has changed one of the files too, nothing is\n"
		"changed, unless --force is given. A rewind keeps what it replaces, and prints the message that\n"
		"restores it.\n"
		"\n"
		"Files are recorded on the terminal, and elsewhere if the setting fileCheckpointingEnabled is true.\n"
		"\n"
		"Examples:\n"
		"  cadre rewind 2f1c --list\n"
		"  cadre rewind 2f1c --to 0b8c9a1e-5d2f-4c63-9a77-1f0e6d3b2a10 --dry-run\n",
	.words =
		(const struct cadre_command_word[]){
			{ "", "SESSION", 0, rewind_run },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { "to", NULL, 0, CADRE_OPTION_REQUIRED, 0, "uuid",
						    .help = "Restore the state before this message." },
						  { "dry-run", .help = "Only report what would be done." },
						  { "force", .help = "Also if another program has changed a file." },
						  { "list", .help = "List the messages that --to accepts." },
						  { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

/* Texts are in the arena of the report. */
struct kept_session {
	const char *id, *dir; /* of the session, and of what was kept for it */
	const char *project;  /* directory of its transcript; NULL: there is none any more */
};

/* The session whose id is, or begins with, the text; and the directory of its project. */
static int find_kept(struct services *sv, struct arena *a, struct kept_session *p, const char *text, struct err *err)
{
	const char *cwd, *config_dir;
	size_t hits = 0;

	if (options_directories(&sv->options, a, &cwd, &config_dir, err) < 0)
		return -(int)err->kind;
	AUTO_DIR DIR *kept = opendir(arena_printf(a, "%s/file-history", config_dir));
	for (struct dirent *e; (e = dir_next(kept));) {
		if (!id_is_uuid(str_from(e->d_name)) || !str_starts(str_from(e->d_name), str_from(text)))
			continue;
		p->id = arena_strdup(a, e->d_name);
		hits++;
	}
	if (!hits || !*text)
		return err_set(err, ERR_NOT_FOUND,
			       "no files were kept for a session %s; `cadre sessions` lists those of this project",
			       text);
	if (hits > 1)
		return err_set(err, ERR_USAGE, "the ids of %zu sessions begin with %s: give more of it", hits, text);
	p->dir = checkpoint_dir(a, config_dir, p->id);
	if (!sv->store.config_dir)
		store_init(&sv->store, sv->loop, config_dir);
	const char *projects = arena_printf(a, "%s/projects", config_dir);
	AUTO_DIR DIR *all = opendir(projects);
	for (struct dirent *e; !p->project && (e = dir_next(all));) {
		const char *dir = arena_printf(a, "%s/%s", projects, e->d_name);
		if (e->d_name[0] != '.' && file_exists(arena_printf(a, "%s/%s.jsonl", dir, p->id)))
			p->project = dir;
	}
	return 0;
}

static void report_rewind(struct cadre_report *r, const struct rewind *w, const struct kept_session *p, bool dry)
{
	struct json_out out = json_out(&r->json);

	json_putf(&out, "{sessionId:'%s', to:'%s', dryRun:!!%d, rewound:!!%d, undo:'%s', files:[", p->id, w->mark->uuid,
		  dry, w->undo[0] != '\0', w->undo[0] ? w->undo : NULL);
	for (size_t i = 0; i < w->plan.count; i++) {
		const struct rewind_file *f = &w->plan.files[i];
		const char *action = !f->then.exists ? "remove" : f->now.exists ? "restore" : "create";
		size_t added, removed;
		char lines[64];
		rewind_count_lines(f, &added, &removed);
		snprintf(lines, sizeof lines, "+%zu -%zu", added, removed);
		report_row(r, f->foreign ? CADRE_WARN : CADRE_PLAIN, action, f->path, lines,
			   f->foreign ? "also changed by another program" : NULL, NULL);
		json_putf(&out, "{path:'%s', action:'%s', insertions:%zu, deletions:%zu, changedByOthers:!!%d}",
			  f->path, action, added, removed, f->foreign);
	}
	json_putf(&out, "], insertions:%zu, deletions:%zu}", w->added, w->removed);
	if (!w->plan.count)
		report_line(r, CADRE_GOOD, "All files are as they were at message %s.", w->mark->uuid);
	else if (w->undo[0])
		report_line(r, CADRE_GOOD, "Files are as they were at message %s. Back again: cadre rewind %s --to %s",
			    w->mark->uuid, p->id, w->undo);
	else if (dry)
		report_line(r, CADRE_NOTE, "This would bring back message %s; nothing was changed.", w->mark->uuid);
	else
		report_line(
			r, CADRE_BAD,
			"Nothing was changed, because changes by other programs would be lost; --force overrides this.");
	r->bad = !dry && w->plan.count && !w->undo[0];
}

static void report_marks(struct cadre_report *r, const struct file_history *h, const struct kept_session *p)
{
	struct json_out w = json_out(&r->json);

	json_putf(&w, "{sessionId:'%s', messages:[", p->id);
	for (size_t i = 0; i < h->mark_count; i++) {
		const struct history_mark *m = &h->marks[i];
		char files[40];
		snprintf(files, sizeof files, "%zu file%s", m->files, m->files == 1 ? "" : "s");
		report_row(r, CADRE_PLAIN, m->uuid, m->time, files, m->is_rewind ? "a rewind" : NULL, NULL);
		json_putf(&w, "{uuid:'%s', time:'%s', files:%zu, isRewind:!!%d}", m->uuid, m->time, m->files,
			  m->is_rewind);
	}
	json_putf(&w, "]}");
}

static int rewind_run(struct cadre_call *call)
{
	struct kept_session p = { 0 };
	AUTO_HISTORY struct file_history history = { 0 };
	AUTO_REWIND struct rewind w = { 0 };
	struct services *sv = call->services;
	bool list = args_has(&call->args, "list"), dry = args_has(&call->args, "dry-run");

	if (list && call->args.given_count > 1)
		return err_set(call->err, ERR_USAGE, "--list takes no other word: cadre rewind SESSION --list");
	int status = find_kept(sv, &call->report->arena, &p, call->operands[0], call->err);
	if (status == 0 && list) {
		status = file_history_load(p.dir, &history, call->err);
		if (status == 0)
			report_marks(call->report, &history, &p);
		return status;
	}
	if (status == 0 && p.project)
		status = session_lock(&sv->locks, p.project, p.id, call->err);
	if (status == -ERR_BUSY)
		err_set(call->err, ERR_BUSY, "session %s is in use: end it first", p.id);
	if (status < 0)
		return status;
	status = rewind_look(&w, p.dir, args_value(&call->args, "to"), call->err);
	if (status == 0 && !dry && (!w.foreign || args_has(&call->args, "force"))) {
		struct checkpoint *checkpoint = checkpoint_new(&sv->store, p.dir);
		status = rewind_go(&w, checkpoint, call->err);
		checkpoint_free(checkpoint);
	}
	if (status == 0)
		report_rewind(call->report, &w, &p, dry);
	if (p.project)
		session_unlock(&sv->locks, p.project, p.id);
	return status;
}
