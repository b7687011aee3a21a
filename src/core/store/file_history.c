/* SPDX-License-Identifier: MIT
 * file_history.c - reads the marks and changes of a session; plans and performs the restoration of files to a mark.
 *
 * Each change has the state of a file before and after it, so the changes of one file form a chain. Where the chain has a
 * gap (between two changes, or between the last one and the disk), another program has changed the file. A file that
 * equals its state before the last change is not a gap: a crash prevented the change. */
#include "core/store/file_history.h"
#include "lib/base/map.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json.h"

enum { HISTORY_LIMIT = 256 * 1024 * 1024 };

struct loading {
	struct file_history *h;
	size_t mark_cap, change_cap;
	struct map seen; /* paths since the last mark */
	struct json_reader reader;
};

void file_history_release(struct file_history *h)
{
	free(h->marks);
	free(h->changes);
	arena_release(&h->arena);
}

static void take_mark(struct loading *l, const struct json *line)
{
	struct file_history *h = l->h;
	struct str uuid = json_str(json_get(line, "uuid"), &h->arena);
	const char *time = json_cstr(json_get(line, "time"), &h->arena);

	if (!id_is_uuid(uuid))
		return;
	struct history_mark *m = xpush(h->marks, h->mark_count, l->mark_cap);
	*m = (struct history_mark){ .time = time ? time : "",
				    .is_rewind = json_get(line, "rewindTo"),
				    .first_change = h->change_count };
	memcpy(m->uuid, uuid.p, UUID_LEN);
	map_release(&l->seen);
	l->seen = (struct map){ 0 };
}

/* False: not valid. Every letter of the hash is checked, because it becomes a file name. */
static bool read_version(const struct json *v, struct file_version *ret)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str sha256 = json_str(json_get(v, "sha256"), &a);
	uint64_t mode = 0;

	*ret = (struct file_version){ 0 };
	if (json_is(v, JSON_NULL))
		return true;
	(void)json_u64(json_get(v, "mode"), &mode);
	if (sha256.n != SHA256_DIGITS || mode > 07777 || !str_is_hex(sha256))
		return false;
	ret->exists = true;
	ret->mode = (unsigned)mode;
	memcpy(ret->sha256, sha256.p, sha256.n);
	return true;
}

static void take_change(struct loading *l, const struct json *line)
{
	struct file_history *h = l->h;
	struct history_change change = { .path = json_cstr(json_get(line, "path"), &h->arena) };

	if (!change.path || change.path[0] != '/' || !read_version(json_get(line, "before"), &change.before) ||
	    !read_version(json_get(line, "after"), &change.after))
		return;
	*xpush(h->changes, h->change_count, l->change_cap) = change;
	if (h->mark_count && !map_set(&l->seen, str_from(change.path), l))
		h->marks[h->mark_count - 1].files++;
}

int file_history_load(const char *dir, struct file_history *ret_history, struct err *err)
{
	struct loading l = { .h = ret_history };
	AUTO_BUF struct buf text = { 0 };

	*ret_history = (struct file_history){ 0 };
	if (file_read(checkpoint_history_path(&ret_history->arena, dir), HISTORY_LIMIT, &text, err) < 0) {
		arena_release(&ret_history->arena);
		return -(int)err->kind;
	}
	for (struct str rest = buf_str(&text); rest.n;) {
		const struct json *line = json_read(&l.reader, str_cut(&rest, '\n'));
		if (json_str_is(json_get(line, "type"), "mark"))
			take_mark(&l, line);
		else if (json_str_is(json_get(line, "type"), "change"))
			take_change(&l, line);
	}
	map_release(&l.seen);
	json_reader_release(&l.reader);
	return 0;
}

const struct history_mark *file_history_find(const struct file_history *h, const char *uuid)
{
	for (size_t i = h->mark_count; i-- > 0;)
		if (!strcmp(h->marks[i].uuid, uuid))
			return &h->marks[i];
	return NULL;
}

const struct history_mark *file_history_latest(const struct file_history *h)
{
	for (size_t i = h->mark_count; i-- > 0;)
		if (h->marks[i].files && !h->marks[i].is_rewind)
			return &h->marks[i];
	return NULL;
}

static bool version_follows(const struct history_change *change, const struct file_version *v)
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

/* Follows the chain of one file, from its first change since the mark to the disk. */
static int follow_chain(const struct file_history *h, size_t first, struct rewind_file *f, struct err *err)
{
	const struct history_change *last = &h->changes[first];

	f->path = last->path;
	f->then = last->before;
	for (size_t i = first + 1; i < h->change_count; i++) {
		const struct history_change *change = &h->changes[i];
		if (strcmp(change->path, f->path) != 0)
			continue;
		f->foreign = f->foreign || !version_follows(last, &change->before);
		last = change;
	}
	if (file_version_read("/", f->path, &f->now, &f->now_bytes, err) < 0)
		return -(int)err->kind;
	f->foreign = f->foreign || !version_follows(last, &f->now);
	return 0;
}

int rewind_plan_make(const struct file_history *h, const struct history_mark *mark, const char *dir,
		     struct rewind_plan *ret_plan, struct err *err)
{
	AUTO_PLAN struct rewind_plan plan = { 0 };
	struct map seen = { 0 };
	struct file_version kept;
	int status = 0;

	plan.files = xcalloc(h->change_count - mark->first_change + 1, sizeof *plan.files);
	for (size_t i = mark->first_change; i < h->change_count && status == 0; i++) {
		if (map_set(&seen, str_from(h->changes[i].path), &seen))
			continue;
		struct rewind_file *f = &plan.files[plan.count++];
		status = follow_chain(h, i, f, err);
		if (status < 0)
			break;
		if (file_version_same(&f->now, &f->then) && f->now.mode == f->then.mode) {
			buf_release(&f->now_bytes);
			*f = (struct rewind_file){ 0 };
			plan.count--;
		} else if (f->then.exists) {
			status = file_version_read(dir, f->then.sha256, &kept, &f->then_bytes, err);
			if (status == 0 && !file_version_same(&kept, &f->then))
				status = err_set(err, ERR_IO, "the stored content of %s is %s", f->path,
						 kept.exists ? "damaged" : "gone");
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
	return rc < 0 ? rc : file_at_replace(&at, buf_str(&f->then_bytes), &f->then.mode, NULL, err);
}
