/* SPDX-License-Identifier: MIT
 * rewind.c - restores files as they were when a message came. */
#include "product/session/rewind.h"
#include "config/settings/settings.h"
#include "tools/files/line_diff.h"

/* A person at a terminal expects to be able to go back; a program asks for it. */
void session_open_checkpoint(struct cadre_session *s)
{
	struct agent_tree *t = &s->tree;
	const struct services *sv = s->services;

	if (t->session_dir && (env_is_on("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING") ||
			       settings_bool(sv->policy.settings, "fileCheckpointingEnabled", sv->options.interactive)))
		t->checkpoint = checkpoint_new(&s->services->store, checkpoint_dir(&s->arena, t->config_dir, s->id));
}

int session_mark_prompt(struct cadre_session *s, struct err *err)
{
	if (!s->tree.checkpoint)
		return 0;
	if (!s->turn.uuid[0])
		id_uuid(s->turn.uuid);
	return checkpoint_mark(s->tree.checkpoint, s->turn.uuid, NULL, err);
}

void rewind_release(struct rewind *r)
{
	rewind_plan_release(&r->plan);
	file_history_release(&r->history);
}

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
