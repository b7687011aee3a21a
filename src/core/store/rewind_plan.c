/* SPDX-License-Identifier: MIT
 * rewind_plan.c - plans and performs the restoration of files to a mark.
 *
 * Each line of the history says what a file was before and what it became, so the lines of one file form a chain. Where
 * the chain has a gap (between two lines, or between the last one and the disk), another program has changed the file.
 * A file that equals its state before the last line is not a gap: a crash prevented the change. */
#include "lib/base/map.h"
#include "lib/io/file_at.h"
#include "core/store/file_history.h"

static bool follows(const struct history_change *change, const struct file_version *v)
{
	return file_version_same(&change->after, v) || file_version_same(&change->before, v);
}

void rewind_plan_release(struct rewind_plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		buf_release(&p->files[i].then_bytes);
		buf_release(&p->files[i].now_bytes);
	}
	free(p->files);
	*p = (struct rewind_plan){ 0 };
}

static int read_then(struct rewind_file *f, const char *dir, struct err *err)
{
	struct file_version kept;

	if (!f->then.exists)
		return 0;
	if (file_version_read(dir, f->then.sha256, &kept, &f->then_bytes, err) < 0)
		return -(int)err->kind;
	if (!file_version_same(&kept, &f->then))
		return err_set(err, ERR_IO, "the stored content of %s is %s", f->path,
			       kept.exists ? "damaged" : "gone");
	return 0;
}

/* The chain of one file: from its first change since the mark to the disk. */
static int look_at(const struct file_history *h, size_t first, struct rewind_file *f, struct err *err)
{
	const struct history_change *last = &h->changes[first];

	f->path = last->path;
	f->then = last->before;
	for (size_t i = first + 1; i < h->change_count; i++) {
		const struct history_change *change = &h->changes[i];
		if (strcmp(change->path, f->path) != 0)
			continue;
		f->foreign = f->foreign || !follows(last, &change->before);
		last = change;
	}
	if (file_version_read("/", f->path, &f->now, &f->now_bytes, err) < 0)
		return -(int)err->kind;
	f->foreign = f->foreign || !follows(last, &f->now);
	return 0;
}

int rewind_plan_make(const struct file_history *h, const struct history_mark *mark, const char *dir,
		     struct rewind_plan *ret_plan, struct err *err)
{
	AUTO_PLAN struct rewind_plan plan = { 0 };
	struct map seen = { 0 };
	int status = 0;

	plan.files = xcalloc(h->change_count - mark->first_change + 1, sizeof *plan.files);
	for (size_t i = mark->first_change; i < h->change_count && status == 0; i++) {
		if (map_set(&seen, str_from(h->changes[i].path), &seen))
			continue;
		struct rewind_file *f = &plan.files[plan.count++];
		status = look_at(h, i, f, err);
		if (status == 0 && file_version_same(&f->now, &f->then) && f->now.mode == f->then.mode) {
			buf_release(&f->now_bytes);
			*f = (struct rewind_file){ 0 };
			plan.count--;
		} else if (status == 0) {
			status = read_then(f, dir, err);
		}
	}
	map_release(&seen);
	if (status < 0)
		return status;
	*ret_plan = plan;
	plan = (struct rewind_plan){ 0 };
	return 0;
}

int rewind_file_restore(const struct rewind_file *f, struct checkpoint *c, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };

	if (checkpoint_change(c, f->path, &f->then, err) < 0)
		return -(int)err->kind;
	if (!f->then.exists)
		return file_below_remove("/", f->path, err);
	int rc = file_at_find("/", f->path, 0777, &at, err);
	return rc < 0 ? rc : file_at_replace(&at, buf_str(&f->then_bytes), &f->then.mode, err);
}
