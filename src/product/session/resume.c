/* SPDX-License-Identifier: MIT
 * resume.c - which session a new handle is: a new one, one from disk, or a fork of one. */
#include "agents/team/team.h"
#include "product/session/session_int.h"
#include "core/store/session_list.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "core/store/line_file.h"
#include "core/store/lock.h"
#include "agents/subagent/subagent.h"
#include "agents/agent/record.h"
#include "agents/agent/context.h"
#include "product/session/rewind.h"
#include "config/settings/settings.h"
#include "tools/files/text_file.h"

static char *session_path(struct cadre_session *s, const char *dir, const char *id)
{
	return arena_printf(&s->arena, "%s/%s.jsonl", dir, id);
}

/* The id of the session to load, or NULL for a new one. */
static int wanted_session(struct cadre_session *s, const struct options *o, const char *dir, const char **ret_id,
			  struct err *err)
{
	AUTO_SESSIONS struct session_list list = { 0 };
	const struct session_entry *e;

	*ret_id = NULL;
	if (o->resume && id_is_uuid(str_from(o->resume))) {
		*ret_id = o->resume;
	} else if (o->resume) { /* the beginning of an id, or a title: all files of the project are searched */
		session_list_read(dir, NULL, &list);
		if (session_list_find(&list, o->resume, &e, err) < 0) {
			struct err why = *err;
			return err_set(err, ERR_USAGE, "--resume: %s", why.text);
		}
		*ret_id = arena_strdup(&s->arena, e->id);
	} else if (o->continue_newest) {
		*ret_id = session_newest(&s->arena, dir);
		if (!*ret_id)
			return err_set(err, ERR_USAGE, "no conversation to continue in %s", s->tree.main.cwd);
	}
	if (*ret_id && o->session_id && !o->fork_session)
		return err_set(err, ERR_USAGE,
			       "--session-id names a new session: with --resume or --continue it needs "
			       "--fork-session");
	if (!*ret_id && o->resume_at)
		return err_set(err, ERR_USAGE, "--resume-session-at needs --resume or --continue");
	if (o->resume_drops && !o->resume_at)
		return err_set(err, ERR_USAGE, "--resume-drops-turn needs --resume-session-at");
	if (o->session_id && file_exists(session_path(s, dir, o->session_id)))
		return err_set(err, ERR_USAGE, "session %s exists already: use --resume %s", o->session_id,
			       o->session_id);
	return 0;
}

static int load_session(struct cadre_session *s, const char *dir, const char *id, struct str until, struct err *err)
{
	struct session_load *l = xcalloc(1, sizeof *l);
	int status = session_load_until(session_path(s, dir, id), until, l, err);

	s->tree.main.load = l;
	if (status == 0)
		return 0;
	free(TAKE(s->tree.main.load));
	if (status == -ERR_NOT_FOUND)
		return err_set(err, ERR_USAGE, "No conversation found with session ID: %s", id);
	return err_wrap(err, "session %s", id);
}

/* --resume-drops-turn: what --resume-session-at leaves out must be the one turn that the host knows of. A prompt or a notification
 * that came later would otherwise be lost. */
static int check_dropped(const char *path, const struct options *o, struct err *err)
{
	CLEANUP(line_file_close) struct line_file f;
	AUTO_JSON struct json_reader reader = { 0 };
	bool behind = false;
	struct line_span place;
	struct str text;
	int more = line_file_open(&f, path, err);

	while (more >= 0 && (more = line_file_next(&f, &text, &place, err)) > 0) {
		const struct json *line;
		text = str_trim(text);
		if (!text.n || json_parse(&reader, text.p, text.n, &line, NULL) < 0)
			continue;
		const struct json *uuid = json_get(line, "uuid");
		const struct json *content = json_get(json_get(line, "message"), "content");
		const struct json *first = json_items(content);
		bool is_prompt = json_str_is(json_get(line, "type"), "user") && !json_bool(json_get(line, "isMeta")) &&
				 !json_bool(json_get(line, "isSidechain")) &&
				 !json_str_is(json_get(first, "type"), "tool_result");
		if (behind && is_prompt && !json_str_is(uuid, o->resume_drops))
			return err_set(err, ERR_USAGE,
				       "Resume rejected by --resume-drops-turn: after message %s there is more than "
				       "the turn of %s",
				       o->resume_at, o->resume_drops);
		behind = behind || json_str_is(uuid, o->resume_at);
	}
	return more;
}

int session_find(struct cadre_session *s, const struct options *o, const char *project_dir, struct err *err)
{
	struct agent *a = &s->tree.main;
	const char *wanted;
	int status = 0;

	if (wanted_session(s, o, project_dir, &wanted, err) < 0)
		return -(int)err->kind;
	if (wanted && !o->fork_session)
		snprintf(s->id, sizeof s->id, "%s", wanted);
	else if (o->session_id)
		snprintf(s->id, sizeof s->id, "%s", o->session_id);
	else
		id_uuid(s->id);
	if (!o->no_persistence)
		status = session_lock(&s->services->locks, project_dir, s->id, err);
	if (status == -ERR_BUSY)
		err_set(err, ERR_BUSY, "another process works on session %s: end it, or add --fork-session", s->id);
	if (status == -ERR_IO)
		err_wrap(err, "the session cannot be kept (--no-session-persistence runs without)");
	if (status < 0)
		return status;
	if (!o->no_persistence) {
		s->locked_in = project_dir;
		crash_point(lock_taken);
	}
	if (wanted && o->resume_drops && check_dropped(session_path(s, project_dir, wanted), o, err) < 0)
		return -(int)err->kind;
	if (wanted && load_session(s, project_dir, wanted, str_from(o->resume_at ? o->resume_at : ""), err) < 0)
		return -(int)err->kind;
	if (wanted && o->fork_session)
		a->from = (struct fork_origin){ .session_id = arena_strdup(&s->arena, wanted),
						.uuid = arena_strdup(&s->arena, a->load->last),
						.bytes = a->load->bytes };
	if (!o->no_persistence)
		a->journal = journal_new(&s->services->store, session_path(s, project_dir, s->id));
	return 0;
}

/* A team and agents that came behind the message to which the conversation was set back */
static void drop_later(struct cadre_session *s, const struct session_load *l, struct buf *notes)
{
	AUTO_BUF struct buf names = { 0 }, tasks = { 0 };
	struct err err = { 0 };

	agent_tree_set_back(&s->tree, &l->later, &names);
	if (names.n)
		buf_addf(notes, "the conversation was set back: agents that were started later are stopped: %s\n",
			 names.p);
	if (!l->team_later || !s->tree.team)
		return;
	buf_addf(notes, "the conversation was set back: team %s, which was made later, is deleted", s->tree.team->name);
	if (!team_delete(&s->tree, true, &names, &tasks, &err))
		buf_addf(notes, ": %s", err.text);
	else if (tasks.n)
		buf_addf(notes, "; its open tasks are in %s", tasks.p);
	buf_addch(notes, '\n');
}

int session_take_load(struct cadre_session *s, bool run, struct err *err)
{
	struct agent *a = &s->tree.main;
	AUTO_BUF struct buf notes = { 0 };

	if (!a->load)
		return 0;
	if (a->load->skipped)
		session_emit_error(s, "session %s has lines that are not JSON; they were skipped: %u", s->id,
				   a->load->skipped);
	if (!a->from.session_id) { /* a fork has no children of its own yet, and no team */
		meta_read_all(&s->tree, true, &notes);
		if (a->load->team.n)
			team_restore(&s->tree, a->load->team);
		drop_later(s, a->load, &notes);
		agent_tree_restore(a, &a->load->delivered);
		s->tree.old_notices = a->load->delivered;
		a->load->delivered = (struct map){ 0 };
		for (size_t i = 0; i < a->load->waiting_count; i++)
			map_set(&s->tree.old_notices, str_from(a->load->waiting[i].id), s);
	}
	if (notes.n)
		session_emit_error(s, STR_FMT, STR_ARG(str_trim(buf_str(&notes))));
	int status = agent_restore(a, run, err);
	agent_drop_load(a);
	return status;
}

/* Restores files as they were when a message came. */

void rewind_count_lines(const struct rewind_file *f, size_t *ret_added, size_t *ret_removed)
{
	line_diff_count(buf_str(&f->now_bytes), buf_str(&f->then_bytes), ret_added, ret_removed);
}

int rewind_look(struct rewind *r, const char *dir, const char *uuid, struct err *err)
{
	*r = (struct rewind){ 0 };
	int status = file_history_load(dir, &r->history, err);
	if (status == -ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, "No file checkpoints were kept for this session");
	if (status < 0)
		return status;
	r->mark = uuid ? file_history_find(&r->history, uuid) : file_history_latest(&r->history);
	if (!r->mark && uuid)
		return err_set(err, ERR_NOT_FOUND, "No file checkpoint found for message %.40s", uuid);
	if (!r->mark)
		return err_set(err, ERR_NOT_FOUND, "No message of this session changed files");
	status = rewind_plan_make(&r->history, r->mark, dir, &r->plan, err);
	if (status < 0)
		return status;
	for (size_t i = 0; i < r->plan.count; i++) {
		size_t added;
		size_t removed;
		rewind_count_lines(&r->plan.files[i], &added, &removed);
		r->added += added;
		r->removed += removed;
		r->foreign += r->plan.files[i].foreign;
	}
	return 0;
}

int rewind_go(struct rewind *r, struct checkpoint *c, struct err *err)
{
	if (!r->plan.count)
		return 0;
	id_uuid(r->undo);
	int status = checkpoint_mark(c, r->undo, r->mark->uuid, err);
	for (size_t i = 0; i < r->plan.count && status == 0; i++)
		status = rewind_file_restore(&r->plan.files[i], c, err);
	return status;
}
