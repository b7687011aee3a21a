/* SPDX-License-Identifier: MIT
 * replay.c - builds a transcript from the lines of a file: skips discarded answers, orders results by their calls, and
 * returns the open calls of the last answer. Facts about results besides their text (files read, tools loaded) survive
 * compaction. */
#include "core/store/load_int.h"
#include "lib/base/id.h"

static void forget_calls(struct session_load *out)
{
	for (size_t i = 0; i < out->call_count; i++)
		segment_unref(out->calls[i].result);
	out->call_count = 0;
}

/* Puts the results of the finished answer's calls into the transcript. keep_open: unless one is missing. */
static void settle_calls(struct replay *r, bool keep_open)
{
	struct session_load *out = r->out;
	bool missing = false;

	for (size_t i = 0; i < out->call_count; i++)
		missing = missing || !out->calls[i].result;
	if (missing && keep_open)
		return;
	for (size_t i = 0; i < out->call_count; i++) {
		struct loaded_call *call = &out->calls[i];
		transcript_add(&out->transcript, ROLE_USER,
			       call->result ? TAKE(call->result) : segment_lost_result(call->id));
		r->last = LAST_USER;
	}
	forget_calls(out);
}

/* Ends the open answer: it is kept if it was closed and not refused, or if one of its tools may have run. */
static void finish_answer(struct replay *r)
{
	struct open_answer *a = &r->answer;
	/* A conversation begins with the user: what another program left in front of that cannot be sent. */
	bool first = !transcript_count(&r->out->transcript);
	bool counts = !first && ((a->closed && !a->refused) || r->out->call_count);

	if (!a->id.p)
		return;
	for (size_t i = 0; i < a->block_count; i++) {
		if (counts)
			transcript_add(&r->out->transcript, ROLE_ASSISTANT, a->blocks[i]);
		else
			segment_unref(a->blocks[i]);
	}
	if (!counts)
		forget_calls(r->out);
	if (a->refused || (counts && a->block_count))
		r->last = a->paused ? LAST_PAUSED : LAST_ANSWER;
	free(a->blocks);
	*a = (struct open_answer){ 0 };
}

static void replay_answer(struct replay *r, const struct json *root)
{
	struct open_answer *a = &r->answer;
	struct session_load *out = r->out;
	const struct json *message = json_get(root, "message");
	const struct json *content = json_get(message, "content");
	const struct json *stop = json_get(message, "stop_reason");
	struct str id = json_str(json_get(message, "id"), &out->arena);
	const char *origin = json_cstr(json_get(root, "origin"), &out->arena);

	const struct json *model = json_get(root, "requestedModel");
	model = model ? model : json_get(message, "model");
	if (json_is(model, JSON_STRING) && !json_str_is(model, "<synthetic>") &&
	    !(out->model && json_str_is(model, out->model)))
		out->model = json_cstr(model, &out->arena);
	if (!a->id.p || a->over || !str_eq(a->id, id)) {
		finish_answer(r);
		settle_calls(r, false);
		a->id = arena_str(&out->arena, id);
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		struct segment *s = segment_from_json(b);
		if (!s)
			continue;
		if (origin)
			segment_set_origin(s, (uint16_t)MAX(strtoul(origin, NULL, 16), ORIGIN_UNKNOWN));
		*xpush(a->blocks, a->block_count, a->block_cap) = s;
		if (s->kind != SEGMENT_TOOL_USE)
			continue;
		*xpush(out->calls, out->call_count, r->call_cap) = (struct loaded_call){
			.id = arena_str(&out->arena, json_str(json_get(b, "id"), &out->arena)),
			.name = arena_str(&out->arena, json_str(json_get(b, "name"), &out->arena)),
			.input = arena_str(&out->arena, json_raw(json_get(b, "input"))),
		};
		out->tool_uses++;
	}
	if (json_is(stop, JSON_STRING)) {
		struct usage usage = { 0 };
		usage_merge(&usage, json_get(message, "usage"));
		usage_add(&out->usage, &usage);
	}
	a->stopped = a->stopped || json_is(stop, JSON_STRING);
	a->closed = a->closed || !json_bool(json_get(root, "partial")) || json_is(stop, JSON_STRING);
	a->refused = a->refused || json_str_is(stop, "refusal");
	a->paused = a->paused || json_str_is(stop, "pause_turn");
}

/* block: NULL if the line has no text. Context without a prompt is not an unfinished turn. */
static void add_user_block(struct replay *r, const struct json *root, struct segment *block)
{
	finish_answer(r);
	settle_calls(r, false);
	if (block)
		transcript_add(&r->out->transcript, ROLE_USER, block);
	if (r->last != LAST_NONE || !json_bool(json_get(root, "isMeta")))
		r->last = LAST_USER;
}

static void replay_user(struct replay *r, const struct json *root)
{
	const struct json *content = json_get(json_get(root, "message"), "content");
	struct session_load *out = r->out;

	if (json_is(content, JSON_STRING)) {
		struct str text = json_str(content, &out->arena);
		add_user_block(r, root, text.n ? segment_text(text) : NULL);
		return;
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		if (json_str_is(json_get(b, "type"), "tool_result")) {
			/* A result without its call cannot be sent: it is dropped. The others wait for the last one. */
			struct str id = json_str(json_get(b, "tool_use_id"), &out->arena);
			size_t i = 0;
			while (i < out->call_count && (!str_eq(out->calls[i].id, id) || out->calls[i].result))
				i++;
			if (i < out->call_count)
				out->calls[i].result = segment_from_json(b);
			r->answer.over = r->answer.stopped;
			continue;
		}
		struct segment *s = segment_from_json(b);
		if (s)
			add_user_block(r, root, s);
	}
}

void replay_placeholder(struct replay *r, struct str text)
{
	finish_answer(r);
	for (size_t i = 0; i < r->out->call_count; i++) {
		struct loaded_call *call = &r->out->calls[i];
		segment_unref(call->result);
		call->result = segment_tool_result(call->id, text, false);
	}
	settle_calls(r, false);
}

void replay_reset_usage(struct replay *r)
{
	r->out->usage = (struct usage){ 0 };
	r->out->tool_uses = 0;
}

void replay_line(struct replay *r, const struct line *line, struct str text)
{
	const struct json *root = json_read(&r->reader, text);

	if (!root)
		return;
	char *cwd = json_cstr(json_get(root, "cwd"), &r->out->arena);
	if (cwd)
		r->out->cwd = cwd;
	if (line->type == LINE_ASSISTANT)
		replay_answer(r, root);
	else if (line->type == LINE_USER)
		replay_user(r, root);
	else if (line->type == LINE_END)
		replay_reset_usage(r);
}

void replay_end(struct replay *r)
{
	struct session_load *out = r->out;
	size_t kept = 0;

	finish_answer(r);
	settle_calls(r, true);
	/* A call without a result is made again, or is lost: it counts then. */
	for (size_t i = 0; i < out->call_count && out->tool_uses; i++)
		out->tool_uses -= !out->calls[i].result;
	out->interrupted = out->call_count || r->last == LAST_USER || r->last == LAST_PAUSED;
	/* The newest entry of each file wins. */
	for (size_t i = 0; i < out->file_count; i++)
		if ((size_t)map_get(&r->files, str_from(out->files[i].path)) == i + 1)
			out->files[kept++] = out->files[i];
	out->file_count = kept;
	map_release(&r->files);
	json_reader_release(&r->reader);
}

const struct line_trace *trace_read(struct arena *a, const struct json *root)
{
	const struct json *result = json_get(root, "toolUseResult");
	const struct json *file = json_get(result, "file");
	const struct json *found = json_get(result, "total_deferred_tools") ? json_get(result, "matches") : NULL;
	int64_t seen = 0, total = 0;
	struct line_trace t = { 0 };
	size_t cap = 0;

	t.file.path = json_cstr(json_get(file ? file : result, "filePath"), a);
	if (t.file.path) {
		(void)json_i64(json_get(file, "numLines"), &seen);
		(void)json_i64(json_get(file, "totalLines"), &total);
		(void)id_parse_time(json_cstr(json_get(root, "timestamp"), a), &t.file.time_ms);
		t.file.partial = seen < total;
	}
	/* Tools found by ToolSearch are loaded. */
	for (const struct json *v = json_first(found); v; v = json_next(found, v))
		cap++;
	if (cap)
		t.tools = arena_calloc(a, cap * sizeof *t.tools);
	for (const struct json *v = json_first(found); v; v = json_next(found, v))
		if (json_is(v, JSON_STRING))
			t.tools[t.tool_count++] = json_cstr(v, a);
	if (!t.file.path && !t.tool_count)
		return NULL;
	struct line_trace *kept = arena_calloc(a, sizeof *kept);
	*kept = t;
	return kept;
}

void replay_trace(struct replay *r, const struct line_trace *trace, bool summarized)
{
	struct session_load *out = r->out;

	if (trace->file.path) {
		map_set(&r->files, str_from(trace->file.path), (void *)(out->file_count + 1));
		*xpush(out->files, out->file_count, r->file_cap) = trace->file;
		out->files[out->file_count - 1].path = arena_strdup(&out->arena, trace->file.path);
		out->files[out->file_count - 1].summarized = summarized;
	}
	for (size_t i = 0; i < trace->tool_count; i++) {
		*xpush(out->tools, out->tool_count, r->tool_cap) = arena_strdup(&out->arena, trace->tools[i]);
	}
}
