/* SPDX-License-Identifier: MIT
 * stage.c - a directory of a test's own, and loaded sessions as text. */
#include "stage.h"
#include <sys/stat.h>
#include "lib/io/file.h"

void stage_init(struct stage *s)
{

	*s = (struct stage){ 0 };
	folder_make(s->dir);
}

void stage_release(struct stage *s)
{
	folder_remove(s->dir);
	arena_release(&s->arena);
}

char *stage_path(struct stage *s, const char *name)
{
	return path_join(&s->arena, s->dir, name);
}

char *stage_write(struct stage *s, const char *name, const char *text)
{
	char *path = stage_path(s, name);

	file_put(path, str_from(text));
	return path;
}

char *stage_read(struct stage *s, const char *name)
{
	return file_text(&s->arena, stage_path(s, name));
}

static void describe_block(struct buf *out, const struct block *b)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	struct str text = { 0 }, id = { 0 };

	CHECK_INT(json_parse(&reader, b->json.p, b->json.n, &root, NULL), 0);
	buf_addf(out, "%s%s:", out->n ? ", " : "", b->role == ROLE_USER ? "u" : "a");
	switch (b->kind) {
	case SEGMENT_TEXT:
		text = json_str(json_get(root, "text"), &arena);
		buf_addf(out, STR_FMT, STR_ARG(text));
		break;
	case SEGMENT_TOOL_USE:
		id = json_str(json_get(root, "id"), &arena);
		buf_addf(out, "call " STR_FMT, STR_ARG(id));
		break;
	case SEGMENT_TOOL_RESULT:
		id = json_str(json_get(root, "tool_use_id"), &arena);
		text = json_str(json_get(root, "content"), &arena);
		if (str_starts(text, STR("The program ended before")))
			text = STR("LOST");
		buf_addf(out, STR_FMT "=" STR_FMT, STR_ARG(id), STR_ARG(text));
		break;
	default:
		text = json_str(json_get(root, "type"), &arena);
		buf_addf(out, "<" STR_FMT ">", STR_ARG(text));
	}
}

char *stage_describe(struct stage *s, const struct session_load *l)
{
	AUTO_BUF struct buf out = { 0 };

	for (uint32_t i = 0; i < transcript_count(&l->transcript); i++) {
		struct block block = transcript_block(&l->transcript, i);
		describe_block(&out, &block);
	}
	for (size_t i = 0; i < l->call_count; i++)
		buf_addf(&out, "%s" STR_FMT "=%s", i ? " " : "; calls ", STR_ARG(l->calls[i].id),
			 l->calls[i].result ? "yes" : "no");
	if (l->interrupted)
		buf_addstr(&out, "; interrupted");
	if (l->agent)
		buf_addf(&out, "; agent %s", l->agent);
	if (l->skipped)
		buf_addf(&out, "; skipped %u", l->skipped);
	if (l->repaired)
		buf_addstr(&out, "; repaired");
	return arena_dup(&s->arena, out.p, out.n);
}
