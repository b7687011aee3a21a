/* SPDX-License-Identifier: MIT
 * outcome.c - merges the replies of a batch into one outcome. The order is that of the hooks in their sets, so that the same replies give
 * the same outcome, however long each hook took. */
#include "lib/base/utf8.h"
#include "guard/hook/hook_int.h"
#include "lib/io/file.h"
#include "core/tool/tool.h"

/* A text above HOOK_TEXT_LIMIT goes to a file. Its name has the id of the run and the kind: a hook has at most one text of
 * each kind. */
static struct str limit_text(const struct hook_run *run, const char *kind, struct str text)
{
	struct hook_batch *batch = run->batch;
	const char *dir = batch->context.results_dir;
	AUTO_BUF struct buf out = { 0 };
	struct err err = { 0 };
	size_t units = 0;

	for (size_t i = 0; i < text.n && units <= HOOK_TEXT_LIMIT; i++) {
		unsigned char c = (unsigned char)text.p[i];
		units += (c & 0xc0) == 0x80 ? 0 : c >= 0xf0 ? 2 : 1;
	}
	if (units <= HOOK_TEXT_LIMIT)
		return text;
	char *path = dir ? arena_printf(&batch->arena, "%s/hook-%s-%s.txt", dir, run->id, kind) : NULL;
	if (path && file_make_parents(path, &err) == 0 && file_replace(path, text.p, text.n, &err) == 0) {
		tool_add_persisted(&out, text.n, path, text);
	} else {
		struct str head = utf8_cut(text, HOOK_TEXT_LIMIT);
		buf_add(&out, head.p, head.n);
		buf_addstr(&out, "\n[... the rest of ");
		buf_addsize(&out, text.n);
		buf_addstr(&out, " is left out ...]");
	}
	return arena_str(&batch->arena, buf_str(&out));
}

static void outcome_merge_run(struct hook_outcome *o, const struct hook_run *run)
{
	const struct hook_reply *r = &run->reply;
	struct arena *arena = &run->batch->arena;

	if (r->permission > o->permission) {
		o->permission = r->permission;
		o->permission_reason = limit_text(run, "reason", r->permission_reason);
	}
	if (r->block) {
		struct str reason = limit_text(run, "block", r->reason);
		if (o->blocked)
			reason = str_from(
				arena_printf(arena, STR_FMT "\n" STR_FMT, STR_ARG(o->block_reason), STR_ARG(reason)));
		o->block_reason = reason;
		o->blocked = true;
	}
	if (r->stop && !o->stop) {
		o->stop = true;
		o->stop_reason = limit_text(run, "stop", r->stop_reason);
	}
	if (r->note.n)
		o->notes[o->note_count++] =
			str_from(arena_printf(arena, STR_FMT " hook (" STR_FMT "): " STR_FMT, STR_ARG(run->batch->name),
					      STR_ARG(run->hook->label), STR_ARG(r->note)));
	if (r->context.n)
		o->contexts[o->context_count++] = limit_text(run, "context", r->context);
	if (r->system_message.n)
		o->messages[o->message_count++] = limit_text(run, "message", r->system_message);
	if (r->terminal_sequence.n)
		o->terminal_sequence = r->terminal_sequence;
	for (size_t i = 0; i < HOOK_FIELD_COUNT; i++)
		if (r->fields[i].n)
			o->fields[i] = r->fields[i];
	if (r->fields[HOOK_UPDATED_INPUT].n) {
		o->updated_by = run->hook;
		o->updated_permission = r->permission;
	}
}

void hook_outcome_merge(struct hook_batch *batch)
{
	struct hook_outcome *o = &batch->outcome;
	size_t size = batch->run_count * sizeof(struct str);

	*o = (struct hook_outcome){ .cancelled = batch->cancelled };
	if (size) {
		o->contexts = arena_calloc(&batch->arena, size);
		o->messages = arena_calloc(&batch->arena, size);
		o->notes = arena_calloc(&batch->arena, size);
	}
	for (const struct hook_run *run = batch->runs; run; run = run->next) {
		if (run->async)
			continue;
		o->ran++;
		if (!batch->cancelled)
			outcome_merge_run(o, run);
	}
	if (o->permission != HOOK_PERMISSION_DENY && !o->blocked)
		o->updated_input = o->fields[HOOK_UPDATED_INPUT];
}
