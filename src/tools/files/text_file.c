/* SPDX-License-Identifier: MIT
 * text_file.c - loading and saving of text files, and what one agent knows about files. */
#include "tools/files/text_file.h"
#include <fcntl.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "guard/permission/resolved_path.h"

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

static int compare_look(const void *a, const void *b)
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
	qsort(entries, count, sizeof *entries, compare_look);
	for (size_t i = count > most ? count - most : 0; i < count; i++)
		buf_addf(out, "%s\n", entries[i]->key);
}

void file_state_release(struct file_state *state)
{
	for (struct map_entry *e = map_next(&state->stamps, NULL); e; e = map_next(&state->stamps, e))
		free(e->value);
	map_release(&state->stamps);
}

enum { BINARY_SAMPLE = 8192 };

void text_file_release(struct text_file *file)
{
	buf_release(&file->text);
}

int text_file_open(const char *path, int *ret_fd, struct stat *ret_st, struct err *err)
{
	int fd = file_below_open("/", path, ret_st, err);

	if (fd >= 0)
		*ret_fd = fd;
	return MIN(fd, 0);
}

int text_file_load(const char *path, struct text_file *file, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	AUTO_BUF struct buf bytes = { 0 };
	struct stat st;
	size_t mark_len;

	*file = (struct text_file){ .exact = true };
	int rc = text_file_open(path, &fd, &st, err);
	if (rc == -ERR_NOT_FOUND)
		return 0;
	if (rc < 0 || (rc = file_read_known(fd, &st, TEXT_FILE_LIMIT, &bytes, err)) < 0)
		return rc;
	file->exists = true;
	file->stamp = file_stamp_of(&st, buf_str(&bytes));
	file->encoding = text_encoding_of(buf_str(&bytes), &mark_len);
	buf_drop(&bytes, mark_len);
	if (file->encoding == TEXT_UTF16_LE || file->encoding == TEXT_UTF16_BE) {
		utf16_decode(buf_str(&bytes), file->encoding, &file->text, &file->exact);
	} else {
		file->text = bytes;
		bytes = (struct buf){ 0 };
	}
	return 0;
}

/* Just before the rename, so that a change after our load is not overwritten. */
static int check_unchanged(const struct file_at *at, const struct text_file *file, struct err *err)
{
	struct stat st;
	bool there = fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (there != file->exists)
		return err_set(err, ERR_BUSY, "%s was %s by another program in the meantime", at->path,
			       there ? "created" : "removed");
	if (!there)
		return 0;
	struct file_stamp now = file_stamp_of(&st, (struct str){ "", 0 });
	if (!S_ISREG(st.st_mode) || now.mtime_ns != file->stamp.mtime_ns || now.size != file->stamp.size)
		return err_set(err, ERR_BUSY, "%s was changed by another program in the meantime", at->path);
	return 0;
}

static void text_file_encode(const struct text_file *file, struct str text, struct buf *bytes)
{
	AUTO_BUF struct buf valid = { 0 };

	if (file->encoding == TEXT_UTF16_LE || file->encoding == TEXT_UTF16_BE) {
		utf8_add_repaired(&valid, text);
		text = buf_str(&valid);
	}
	text_encode(text, file->encoding, bytes);
}

static int text_file_save(const char *path, const struct text_file *file, struct str text, struct file_stamp *ret_stamp,
			  struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct stat st;

	text_file_encode(file, text, &bytes);
	int rc = file_at_find("/", path, file->exists ? 0 : 0777, &at, err);
	if (rc < 0 || (rc = check_unchanged(&at, file, err)) < 0)
		return rc;
	rc = file_at_replace(&at, buf_str(&bytes), NULL, NULL, err);
	if (rc < 0)
		return rc;
	if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, ERR_IO, "cannot stat %s: %m", path);
	*ret_stamp = file_stamp_of(&st, buf_str(&bytes));
	return 0;
}

bool text_looks_binary(struct str head)
{
	size_t mark_len;
	size_t invalid = 0;

	enum text_encoding encoding = text_encoding_of(head, &mark_len);
	if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE)
		return false;
	head.n = MIN(head.n, (size_t)BINARY_SAMPLE);
	if (head.n && memchr(head.p, '\0', head.n))
		return true;
	for (struct str rest = head; rest.n; invalid++) {
		size_t valid = utf8_valid_prefix(rest.p, rest.n);
		if (valid == rest.n)
			break;
		rest = (struct str){ rest.p + valid + 1, rest.n - valid - 1 };
	}
	/* Text in an old 8-bit encoding has a few such bytes in a line, compressed data has them everywhere. */
	return invalid > 32 && invalid > head.n / 4;
}

/* What the file tools share. */

char *file_tool_path(struct tool_call *call, const char *parameter)
{
	struct str path = json_str(json_get(call->input, parameter), &call->arena);

	if (!path.n || memchr(path.p, '\0', path.n)) {
		tool_call_reject(call, "%s must be a path, not an empty text or one with a NUL in it.", parameter);
		return NULL;
	}
	return path_absolute(&call->arena, call->env->cwd, path);
}

bool file_tool_find(struct tool_call *call, const char *parameter, char **ret_path, const char **ret_target)
{
	char *path = file_tool_path(call, parameter);

	if (!path)
		return false;
	*ret_path = call->file ? arena_strdup(&call->arena, call->file) : path;
	*ret_target = call->file ? call->file_target : resolved_path_find(&call->arena, "/", str_from(path)).target;
	if (!*ret_target)
		tool_call_fail(call, "cannot open %s: too many levels of symbolic links", path);
	return *ret_target;
}

void file_tool_missing(struct tool_call *call, bool reject)
{
	(reject ? tool_call_reject : tool_call_fail)(
		call, "File does not exist. Note: your current working directory is %s.", call->env->cwd);
}

bool file_tool_check_seen(struct tool_call *call, const char *path, const struct text_file *file)
{
	enum file_known known = file_state_check(call->env->files, path, file->stamp);

	if (!file->exists || known == FILE_CURRENT)
		return true;
	tool_call_reject(call, known == FILE_UNREAD
				       ? "File has not been read yet. Read it first before writing to it."
				       : "File has been modified since it was read, by the user or by a program. "
					 "Read it again before writing to it.");
	return false;
}

int file_tool_save(struct tool_call *call, const char *target, const struct text_file *file, struct str text,
		   struct file_stamp *ret_stamp, struct err *err)
{
	struct tool_env *env = call->env;
	AUTO_BUF struct buf bytes = { 0 };

	if (env->before_change) {
		text_file_encode(file, text, &bytes);
		int rc = env->before_change(env, target, buf_str(&bytes), err);
		if (rc < 0)
			return rc;
	}
	return text_file_save(target, file, text, ret_stamp, err);
}
