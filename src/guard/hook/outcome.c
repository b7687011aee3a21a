/* SPDX-License-Identifier: MIT
 * outcome.c - many replies become one outcome. The order is that of the hooks in their sets, so that the same replies give
 * the same outcome, however long each hook took. */
#include "lib/base/utf8.h"
#include "guard/hook/hook_int.h"
#include "lib/io/file.h"
#include "core/tool/tool.h"

/* ---- long texts ---- */

static bool is_too_long(struct str s)
{
	size_t units = 0;

	for (size_t i = 0; i < s.n && units <= HOOK_TEXT_LIMIT; i++) {
		unsigned char c = (unsigned char)s.p[i];
		units += (c & 0xc0) == 0x80 ? 0 : c >= 0xf0 ? 2 : 1;
	}
	return units > HOOK_TEXT_LIMIT;
}

/* The file has the run's id and what it is about in its name; one hook has at most one text of each kind. */
static struct str limited(const struct hook_run *run, const char *kind, struct str text)
{
	struct hook_firing *f = run->firing;
	AUTO_BUF struct buf out = { 0 };
	struct err err = { 0 };

	if (!is_too_long(text))
		return text;
	const char *dir = f->context.results_dir;
	char *path = dir ? arena_printf(&f->arena, "%s/hook-%s-%s.txt", dir, run->id, kind) : NULL;
	if (path && file_make_parents(path, &err) == 0 && file_replace(path, text.p, text.n, &err) == 0) {
		tool_add_persisted(&out, text.n, path, text);
	} else {
		struct str head = utf8_cut(text, HOOK_TEXT_LIMIT);
		buf_add(&out, head.p, head.n);
		buf_addstr(&out, "\n[... the rest of ");
		buf_addsize(&out, text.n);
		buf_addstr(&out, " is left out ...]");
	}
	return arena_str(&f->arena, buf_str(&out));
}

/* ---- merging ---- */

static void merge_block(struct hook_firing *f, struct hook_outcome *o, const struct hook_run *run)
{
	if (!run->reply.block)
		return;
	struct str reason = limited(run, "block", run->reply.reason);
	if (!o->blocked) {
		o->blocked_by = run->hook;
		o->block_reason = reason;
	} else {
		o->block_reason = str_from(
			arena_printf(&f->arena, STR_FMT "\n" STR_FMT, STR_ARG(o->block_reason), STR_ARG(reason)));
	}
	o->blocked = true;
}

static void merge_texts(struct hook_outcome *o, const struct hook_run *run)
{
	const struct hook_reply *r = &run->reply;

	if (r->context.n)
		o->contexts[o->context_count++] = limited(run, "context", r->context);
	if (r->system_message.n)
		o->messages[o->message_count++] = limited(run, "message", r->system_message);
	if (r->terminal_sequence.n)
		o->terminal_sequence = r->terminal_sequence;
	o->suppress_output |= r->suppress_output;
	o->interrupt |= r->interrupt;
	for (size_t i = 0; i < HOOK_FIELD_COUNT; i++)
		if (r->fields[i].n)
			o->fields[i] = r->fields[i];
}

static struct str *make_list(struct hook_firing *f)
{
	return arena_calloc(&f->arena, f->run_count * sizeof(struct str));
}

void hook_outcome_merge(struct hook_firing *f)
{
	struct hook_outcome *o = &f->outcome;

	*o = (struct hook_outcome){ .cancelled = f->cancelled };
	if (f->run_count) {
		o->contexts = make_list(f);
		o->messages = make_list(f);
		o->notes = make_list(f);
	}
	for (const struct hook_run *run = f->runs; run; run = run->next) {
		if (run->async)
			continue;
		o->ran++;
		if (f->cancelled)
			continue;
		const struct hook_reply *r = &run->reply;
		if (r->permission > o->permission) {
			o->permission = r->permission;
			o->permission_reason = limited(run, "reason", r->permission_reason);
			o->decided_by = run->hook;
		}
		merge_block(f, o, run);
		if (run->reply.stop && !o->stop) {
			o->stop = true;
			o->stop_reason = limited(run, "stop", run->reply.stop_reason);
		}
		if (run->reply.note.n)
			o->notes[o->note_count++] = str_from(
				arena_printf(&f->arena, STR_FMT " hook (" STR_FMT "): " STR_FMT, STR_ARG(f->name),
					     STR_ARG(run->hook->label), STR_ARG(run->reply.note)));
		merge_texts(o, run);
	}
	if (o->permission != HOOK_PERMISSION_DENY && !o->blocked)
		o->updated_input = o->fields[HOOK_UPDATED_INPUT];
}
