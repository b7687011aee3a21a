/* SPDX-License-Identifier: MIT
 * replay.c - builds a transcript from the lines of a file: skips discarded answers, orders results by their calls, and
 * returns the open calls of the last answer. */
#include "core/store/load_int.h"

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

static void add_call(struct replay *r, const struct json *block)
{
	struct session_load *out = r->out;

	if (out->call_count == r->call_cap) {
		r->call_cap = r->call_cap ? r->call_cap * 2 : 8;
		out->calls = xrealloc(out->calls, r->call_cap * sizeof *out->calls);
	}
	out->calls[out->call_count++] = (struct loaded_call){
		.id = arena_str(&out->arena, json_str(json_get(block, "id"), &out->arena)),
		.name = arena_str(&out->arena, json_str(json_get(block, "name"), &out->arena)),
		.input = arena_str(&out->arena, json_raw(json_get(block, "input"))),
	};
}

static void replay_answer(struct replay *r, const struct json *root)
{
	struct open_answer *a = &r->answer;
	const struct json *message = json_get(root, "message");
	const struct json *content = json_get(message, "content");
	const struct json *stop = json_get(message, "stop_reason");
	struct str id = json_str(json_get(message, "id"), &r->out->arena);

	const struct json *model = json_get(root, "requestedModel");
	model = model ? model : json_get(message, "model");
	if (json_is(model, JSON_STRING) && !json_str_is(model, "<synthetic>") &&
	    !(r->out->model && json_str_is(model, r->out->model)))
		r->out->model = json_cstr(model, &r->out->arena);
	if (!a->id.p || !str_eq(a->id, id)) {
		finish_answer(r);
		settle_calls(r, false);
		a->id = arena_str(&r->out->arena, id);
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		struct segment *s = segment_from_json(b);
		if (!s)
			continue;
		if (a->block_count == a->block_cap) {
			a->block_cap = a->block_cap ? a->block_cap * 2 : 4;
			a->blocks = xrealloc(a->blocks, a->block_cap * sizeof *a->blocks);
		}
		a->blocks[a->block_count++] = s;
		if (s->kind != SEGMENT_TOOL_USE)
			continue;
		add_call(r, b);
		r->out->tool_uses++;
	}
	if (json_is(stop, JSON_STRING)) {
		struct usage usage = { 0 };
		usage_merge(&usage, json_get(message, "usage"));
		usage_add(&r->out->usage, &usage);
	}
	a->closed = a->closed || !json_bool(json_get(root, "partial")) || json_is(stop, JSON_STRING);
	a->refused = a->refused || json_str_is(stop, "refusal");
	a->paused = a->paused || json_str_is(stop, "pause_turn");
}

/* A result without its call cannot be sent: it is passed over. */
static void take_result(struct replay *r, const struct json *block)
{
	struct str id = json_str(json_get(block, "tool_use_id"), &r->out->arena);

	for (size_t i = 0; i < r->out->call_count; i++) {
		struct loaded_call *call = &r->out->calls[i];
		if (str_eq(call->id, id) && !call->result) {
			call->result = segment_from_json(block);
			return;
		}
	}
}

/* Context without a prompt is not an unfinished turn. */
static void note_user(struct replay *r, const struct json *root)
{
	if (r->last != LAST_NONE || !json_bool(json_get(root, "isMeta")))
		r->last = LAST_USER;
}

static void replay_user(struct replay *r, const struct json *root)
{
	const struct json *content = json_get(json_get(root, "message"), "content");

	if (json_is(content, JSON_STRING)) {
		finish_answer(r);
		settle_calls(r, false);
		struct str text = json_str(content, &r->out->arena);
		if (text.n)
			transcript_add(&r->out->transcript, ROLE_USER, segment_text(text));
		note_user(r, root);
		return;
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		if (json_str_is(json_get(b, "type"), "tool_result")) {
			take_result(r, b); /* it waits until all of them are there */
			continue;
		}
		struct segment *s = segment_from_json(b);
		if (!s)
			continue;
		finish_answer(r);
		settle_calls(r, false);
		transcript_add(&r->out->transcript, ROLE_USER, s);
		note_user(r, root);
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

void replay_forget_figures(struct replay *r)
{
	r->out->usage = (struct usage){ 0 };
	r->out->tool_uses = 0;
}

void replay_line(struct replay *r, const struct line *line, struct str text)
{
	const struct json *root;

	if (json_parse(&r->reader, text.p, text.n, &root, NULL) < 0)
		return;
	char *cwd = json_cstr(json_get(root, "cwd"), &r->out->arena);
	if (cwd)
		r->out->cwd = cwd;
	if (line->type == LINE_ASSISTANT)
		replay_answer(r, root);
	else if (line->type == LINE_USER)
		replay_user(r, root);
	else if (line->type == LINE_END)
		replay_forget_figures(r);
}

/* A call without a result is made again, or is lost: it counts then. */
static void uncount_open_calls(struct session_load *out)
{
	for (size_t i = 0; i < out->call_count && out->tool_uses; i++)
		out->tool_uses -= !out->calls[i].result;
}

void replay_end(struct replay *r)
{
	finish_answer(r);
	settle_calls(r, true);
	uncount_open_calls(r->out);
	r->out->interrupted = r->out->call_count || r->last == LAST_USER || r->last == LAST_PAUSED;
	replay_drop_older_looks(r);
	json_reader_release(&r->reader);
}
