/* SPDX-License-Identifier: MIT
 * file_state.c - what one agent knows about files. */
#include "tools/file_state.h"

struct file_stamp file_stamp_of(const struct stat *st, struct str bytes)
{
	return (struct file_stamp){
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.size = st->st_size,
		.hash = str_hash(bytes),
		.has_hash = true,
	};
}

void file_state_note(struct file_state *state, const char *path, struct file_stamp stamp)
{
	struct file_stamp *known = map_get(&state->stamps, str_from(path));

	if (!known) {
		known = xmalloc(sizeof *known);
		map_set(&state->stamps, str_from(path), known);
	}
	*known = stamp;
	known->look = ++state->looks;
}

enum file_known file_state_check(const struct file_state *state, const char *path, struct file_stamp now)
{
	const struct file_stamp *known = map_get(&state->stamps, str_from(path));

	if (!known || known->partial)
		return FILE_UNREAD;
	if (known->has_hash && now.has_hash)
		return known->size == now.size && known->hash == now.hash ? FILE_CURRENT : FILE_CHANGED;
	return known->size == now.size && known->mtime_ns == now.mtime_ns ? FILE_CURRENT : FILE_CHANGED;
}

static int by_look(const void *a, const void *b)
{
	const struct file_stamp *x = (*(struct map_entry *const *)a)->value,
				*y = (*(struct map_entry *const *)b)->value;

	return (x->look > y->look) - (x->look < y->look);
}

void file_state_list(const struct file_state *state, size_t most, struct buf *out)
{
	size_t count = 0;
	AUTO_FREE struct map_entry **entries = xcalloc(state->stamps.count + 1, sizeof(struct map_entry *));

	for (struct map_entry *e = map_next(&state->stamps, NULL); e; e = map_next(&state->stamps, e))
		entries[count++] = e;
	qsort(entries, count, sizeof *entries, by_look);
	for (size_t i = count > most ? count - most : 0; i < count; i++)
		buf_addf(out, "%s\n", entries[i]->key);
}

void file_state_release(struct file_state *state)
{
	for (struct map_entry *e = map_next(&state->stamps, NULL); e; e = map_next(&state->stamps, e))
		free(e->value);
	map_release(&state->stamps);
}
