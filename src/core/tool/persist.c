/* SPDX-License-Identifier: MIT
 * persist.c - results that are too large for the conversation go to a file that the model can read in parts. */
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "core/tool/tool.h"

enum { PREVIEW = 2048, HEAD_AND_TAIL = 5000 };

/* Call ids come from the model's side: only their harmless characters become part of a path. */
char *tool_result_path(struct tool_call *call)
{
	char *name = arena_strdup(&call->arena, call->id);

	if (!call->env->results_dir)
		return NULL;
	for (char *c = name; *c; c++)
		if (!char_in(*c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"))
			*c = '_';
	return arena_printf(&call->arena, "%s/%.100s.txt", call->env->results_dir, name);
}

void tool_add_persisted(struct buf *out, uint64_t size, const char *path, struct str text)
{
	buf_addstr(out, "<persisted-output>\nOutput too large (");
	buf_addsize(out, size);
	buf_addf(out, "). Full output saved to: %s\n\nPreview (first 2KB):\n", path);
	utf8_add_repaired(out, utf8_cut(text, PREVIEW));
	buf_addstr(out, "\n...\n</persisted-output>");
}

static void add_ends(struct buf *out, struct str text, const char *why)
{
	struct str head = utf8_cut(text, HEAD_AND_TAIL);
	size_t tail_at = text.n - MIN(text.n, (size_t)HEAD_AND_TAIL);

	while (tail_at < text.n && ((unsigned char)text.p[tail_at] & 0xc0) == 0x80)
		tail_at++;
	utf8_add_repaired(out, head);
	buf_addstr(out, "\n\n[... ");
	buf_addsize(out, text.n);
	buf_addf(out, " in all; the middle is left out%s%s ...]\n\n", why[0] ? " because " : "", why);
	utf8_add_repaired(out, (struct str){ text.p + tail_at, text.n - tail_at });
}

void tool_persist(struct tool_call *call, struct str text, struct buf *out)
{
	struct err err = { 0 };
	char *path = tool_result_path(call);

	if (path && file_make_parents(path, &err) == 0 && file_replace(path, text.p, text.n, &err) == 0)
		tool_add_persisted(out, text.n, path, text);
	else
		add_ends(out, text, err.text);
}
