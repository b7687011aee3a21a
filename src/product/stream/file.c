/* SPDX-License-Identifier: MIT
 * file.c - read_file: sends a file to the client, if the main agent may read it without a question. */
#include "lib/base/base64.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "product/stream/wire_int.h"

enum { USUAL_BYTES = 1 << 20, MOST_BYTES = 16 << 20 };

/* Checks the rules for Read. NULL: denied; otherwise the resolved path. */
static const char *find_readable(const struct wire_request *r, const char *path)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct tool *read = tool_set_find(&a->tools, STR("Read"));
	struct tool_use use = { .tool = read, .env = &a->env };
	struct permission_verdict v = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf input = { 0 };
	struct json_out w = json_out(&input);

	if (!read)
		return NULL;
	json_open(&w, '{');
	json_kcstr(&w, "file_path", path);
	json_close(&w);
	use.flags = read->flags;
	if (json_parse(&reader, input.p, input.n, &use.input, NULL) < 0)
		return NULL;
	permission_explain(&a->permission, use, PERMISSION_HINT_NONE, &v);
	bool allowed = v.decision == PERMISSION_ALLOW && v.file_target;
	const char *target = allowed ? arena_strdup(r->arena, v.file_target) : NULL;
	permission_verdict_release(&v);
	return target;
}

/* Its first bytes; one more than limit, if there are more. */
static int read_head(const char *target, size_t limit, struct buf *out, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	struct stat st;

	int rc = file_at_find("/", target, 0, &at, err);
	if (rc < 0)
		return rc;
	AUTO_CLOSE int fd = file_at_open(&at, &st, err);
	if (fd < 0)
		return fd;
	while (out->n <= limit) {
		buf_reserve(out, limit + 1 - out->n);
		ssize_t n = read(fd, out->p + out->n, limit + 1 - out->n);
		if (n < 0)
			return err_set(err, ERR_IO, "cannot read %s: %m", target);
		if (n == 0)
			break;
		out->n += (size_t)n;
	}
	return 0;
}

int wire_read_file(struct wire_request *r, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 }, text = { 0 };
	struct str wish = json_str(json_get(r->body, "path"), r->arena);
	const char *path = path_absolute(r->arena, r->wire->session->tree.main.env.cwd, wish);
	int64_t most;

	if (!json_i64(json_get(r->body, "max_bytes"), &most) || most < 0)
		most = USUAL_BYTES;
	size_t limit = (size_t)MIN(most, (int64_t)MOST_BYTES);
	if (!wish.n || memchr(wish.p, '\0', wish.n))
		return err_set(err, ERR_USAGE, "path is needed");
	const char *target = find_readable(r, path);
	if (!target)
		return err_set(err, ERR_DENIED, "%s may not be read", path);
	if (read_head(target, limit, &bytes, err) < 0)
		return -(int)err->kind;
	struct str head = { bytes.n ? bytes.p : "", MIN(bytes.n, limit) };
	bool as_base64 = json_str_is(json_get(r->body, "encoding"), "base64");
	if (as_base64)
		base64_add(&text, head);
	else
		utf8_add_repaired(&text, head);
	json_kstr(&r->out, "contents", buf_str(&text));
	if (as_base64)
		json_kcstr(&r->out, "encoding", "base64");
	else
		json_kbool(&r->out, "lossy", !utf8_valid(head));
	json_kcstr(&r->out, "absPath", path);
	json_kbool(&r->out, "truncated", bytes.n > limit);
	return 0;
}
