/* SPDX-License-Identifier: MIT
 * file_history.c - marks and changes out of their file. */
#include "core/store/file_history.h"
#include "lib/base/map.h"
#include "lib/io/file.h"
#include "lib/json/json.h"

enum { HISTORY_LIMIT = 256 * 1024 * 1024 };

struct loading {
	struct file_history *h;
	size_t mark_cap, change_cap;
	struct map seen; /* paths since the last mark */
	struct json_reader reader;
};

static void loading_release(struct loading *l)
{
	map_release(&l->seen);
	json_reader_release(&l->reader);
}

void file_history_release(struct file_history *h)
{
	free(h->marks);
	free(h->changes);
	arena_release(&h->arena);
}

static void *grown(void *list, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 16;
	return xrealloc(list, *cap * size);
}

static void take_mark(struct loading *l, const struct json *line)
{
	struct file_history *h = l->h;
	struct str uuid = json_str(json_get(line, "uuid"), &h->arena);
	const char *time = json_cstr(json_get(line, "time"), &h->arena);

	if (!id_is_uuid(uuid))
		return;
	h->marks = grown(h->marks, h->mark_count, &l->mark_cap, sizeof *h->marks);
	struct history_mark *m = &h->marks[h->mark_count++];
	*m = (struct history_mark){ .time = time ? time : "",
				    .is_rewind = json_get(line, "rewindTo"),
				    .first_change = h->change_count };
	memcpy(m->uuid, uuid.p, UUID_LEN);
	map_release(&l->seen);
	l->seen = (struct map){ 0 };
}

/* False: it cannot be used. What becomes a file name is checked to the letter. */
static bool read_version(const struct json *v, struct file_version *ret)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str sha256 = json_str(json_get(v, "sha256"), &a);
	uint64_t mode = 0;

	*ret = (struct file_version){ 0 };
	if (json_is(v, JSON_NULL))
		return true;
	(void)json_u64(json_get(v, "mode"), &mode);
	if (sha256.n != SHA256_DIGITS || mode > 07777)
		return false;
	for (size_t i = 0; i < sha256.n; i++)
		if (!memchr("0123456789abcdef", sha256.p[i], 16))
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
	h->changes = grown(h->changes, h->change_count, &l->change_cap, sizeof *h->changes);
	h->changes[h->change_count++] = change;
	if (h->mark_count && !map_set(&l->seen, str_from(change.path), l))
		h->marks[h->mark_count - 1].files++;
}

static void take_line(struct loading *l, struct str text)
{
	const struct json *line;

	if (json_parse(&l->reader, text.p, text.n, &line, NULL) < 0)
		return;
	if (json_str_is(json_get(line, "type"), "mark"))
		take_mark(l, line);
	else if (json_str_is(json_get(line, "type"), "change"))
		take_change(l, line);
}

int file_history_load(const char *dir, struct file_history *ret_history, struct err *err)
{
	CLEANUP(loading_release) struct loading l = { .h = ret_history };
	AUTO_BUF struct buf text = { 0 };

	*ret_history = (struct file_history){ 0 };
	if (file_read(checkpoint_history_path(&ret_history->arena, dir), HISTORY_LIMIT, &text, err) < 0) {
		arena_release(&ret_history->arena);
		return -(int)err->kind;
	}
	for (struct str rest = buf_str(&text); rest.n;)
		take_line(&l, str_cut(&rest, '\n'));
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
