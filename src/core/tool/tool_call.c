/* SPDX-License-Identifier: MIT
 * tool_call.c - the one path of every tool call, built-in or not, main agent or child:
 *
 *     tool_call_new -> tool_call_start -> complaint? -> gate -> tool->start -> tool_call_end -> gate -> done (later)
 *                                            |            |
 *                                            +-- error ---+-- denied: the reason is the result
 *
 * Each arrow to an end goes through tool_call_end_as(), so that limits and UTF-8 repair hold for all of them. */
#include "core/tool/tool.h"
#include "lib/base/utf8.h"
#include "lib/json/json_schema.h"
#include "lib/json/json_write.h"
#include "core/tool/deferral.h"
#include "lib/io/file.h"

enum { PREVIEW = 2048, HEAD_AND_TAIL = 5000 };

static void on_kick(struct kick *kick)
{
	struct tool_call *call = CONTAINER_OF(kick, struct tool_call, kick);

	if (call->running && !call->settled && call->gate->after)
		call->gate->after(call->gate, call);
	else
		call->done(call);
}

/* The error text for a call that cannot run, or NULL. */
static char *find_complaint(struct tool_call *call, struct str input_json)
{
	struct err err = { 0 };
	AUTO_JSON struct json_reader schema_reader = { 0 };
	const struct json *definition;

	if (!call->tool)
		return arena_printf(&call->arena, "Error: No such tool available: %s.%s%s", call->name,
				    call->env->no_tool ? " " : "", call->env->no_tool ? call->env->no_tool : "");
	if (deferral_holds(call->env->deferral, call->tool))
		return arena_printf(
			&call->arena,
			"InputValidationError: %s is not loaded yet, and you have not seen its input schema. "
			"Call ToolSearch with the query \"select:%s\" first, then %s again.",
			call->tool->name, call->tool->name, call->tool->name);
	if (json_parse(&call->reader, input_json.p, input_json.n, &call->input, &err) < 0) {
		call->input = NULL;
		return arena_printf(&call->arena, "InputValidationError: %s was called with input that is not JSON: %s",
				    call->name, err.text);
	}
	const struct json *unread = json_get(call->input, "INVALID_JSON"); /* core/wire keeps it so */
	if (unread)
		return arena_printf(
			&call->arena,
			"InputValidationError: %s was called with input that is not a JSON object: " STR_FMT,
			call->name, STR_ARG(json_raw(unread)));
	AUTO_BUF struct buf newer = { 0 };
	if (call->tool->rewrite && call->tool->rewrite(call->input, &call->arena, &newer)) {
		struct str kept = arena_str(&call->arena, buf_str(&newer));
		json_reader_release(&call->reader);
		call->reader = (struct json_reader){ 0 };
		(void)json_parse(&call->reader, kept.p, kept.n, &call->input, NULL);
	}
	const char *text = call->tool->accepts ? call->tool->accepts : call->tool->definition;
	if (json_parse(&schema_reader, text, strlen(text), &definition, &err) < 0)
		return arena_printf(&call->arena, "Error: the definition of %s is broken: %s", call->name, err.text);
	if (json_schema_check(json_get(definition, "input_schema"), call->input, &err) < 0)
		return arena_printf(&call->arena, "InputValidationError: %s failed due to the following issue:\n%s",
				    call->name, err.text);
	return NULL;
}

static void take_input(struct tool_call *call, struct str json)
{
	const struct tool *tool = call->tool;

	call->complaint = find_complaint(call, arena_str(&call->arena, json));
	if (tool)
		call->flags = tool->flags_for && !call->complaint ? tool->flags_for(call) : tool->flags;
}

struct tool_call *tool_call_new(struct tool_env *env, struct tool_gate *gate, const struct tool *tool, struct str id,
				struct str name, struct str input_json)
{
	struct tool_call *call = xnew(struct tool_call, .env = env, .gate = gate, .tool = tool, .kick.step = on_kick);

	call->id = arena_dup(&call->arena, id.p, id.n);
	call->name = arena_dup(&call->arena, name.p, name.n);
	take_input(call, input_json);
	return call;
}

bool tool_call_set_input(struct tool_call *call, struct str json)
{
	take_input(call, json);
	call->amended = true;
	call->file = call->file_target = NULL;
	if (call->complaint)
		tool_call_reject(call, "%s", call->complaint);
	return !call->complaint;
}

void tool_call_start(struct tool_call *call)
{
	call->started = true;
	if (call->cancelled)
		tool_call_fail(call, "The call was cancelled before it ran.");
	else if (call->complaint)
		tool_call_reject(call, "%s", call->complaint);
	else
		call->gate->ask(call->gate, call);
}

struct str tool_call_summary(struct tool_call *call)
{
	const struct json *subject =
		call->tool && call->tool->subject ? json_get(call->input, call->tool->subject) : NULL;
	struct str text = json_is(subject, JSON_STRING) ? json_str(subject, &call->arena)
			  : call->input                 ? json_raw(call->input)
							: STR("");
	AUTO_BUF struct buf all = { 0 };
	const char *detail = call->tool && json_is(subject, JSON_STRING) ? call->tool->detail : NULL;
	buf_add(&all, text.p, text.n);
	for (struct json_member m = json_members(detail ? call->input : NULL); m.key;
	     m = json_member_next(call->input, m)) {
		struct str name = json_str(m.key, &call->arena);
		bool rest = !strcmp(detail, "*") && !str_is(name, call->tool->subject);
		if (!rest && !str_is(name, detail))
			continue;
		buf_addf(&all, rest ? ", " STR_FMT " " : ": ", STR_ARG(rest ? name : STR("")));
		buf_append(&all, json_is(m.value, JSON_STRING) ? json_str(m.value, &call->arena) : json_raw(m.value));
	}
	struct str line = arena_str(&call->arena, buf_str(&all));

	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] == '\n' || line.p[i] == '\r')
			((char *)(uintptr_t)line.p)[i] = ' ';
	return line;
}

void tool_call_decided(struct tool_call *call, enum tool_verdict verdict, struct str reason)
{
	if (call->finished)
		return; /* cancelled while the question was open */
	if (verdict == TOOL_DENY) {
		call->denied = true;
		buf_clear(&call->result);
		utf8_add_repaired(&call->result, reason);
		tool_call_end_as(call, true);
		return;
	}
	call->started_ms = loop_now_ms(call->env->loop);
	call->running = true;
	call->tool->start(call);
}

void tool_call_cancel(struct tool_call *call)
{
	if (call->cancelled)
		return;
	call->cancelled = true;
	if (call->gate->cancel)
		call->gate->cancel(call->gate, call);
	if (call->finished || !call->started)
		return;
	if (!call->running)
		tool_call_fail(call, "The call was cancelled before it ran.");
	else if (call->tool->cancel)
		call->tool->cancel(call);
}

void tool_call_free(struct tool_call *call)
{
	if (!call)
		return;
	kick_cancel(&call->kick);
	json_reader_release(&call->reader);
	buf_release(&call->result);
	buf_release(&call->result_json);
	buf_release(&call->result_blocks);
	buf_release(&call->blocked);
	arena_release(&call->arena);
	free(call);
}

void tool_call_add_text(struct tool_call *call, struct str text)
{
	utf8_add_repaired(&call->result, text);
	if (!call->result_blocks.n)
		return;
	call->result_blocks.n--; /* the bracket */
	buf_addstr(&call->result_blocks, ",{\"type\":\"text\",\"text\":");
	json_add_quoted(&call->result_blocks, text);
	buf_addstr(&call->result_blocks, "}]");
}

void tool_call_end_as(struct tool_call *call, bool is_error)
{
	if (call->finished)
		return;
	if (!utf8_valid(buf_str(&call->result))) {
		struct buf repaired = { 0 };
		utf8_add_repaired(&repaired, buf_str(&call->result));
		buf_release(&call->result);
		call->result = repaired;
	}
	if (call->result.n > TOOL_RESULT_LIMIT && !(call->flags & TOOL_OWN_LIMIT)) {
		struct buf notice = { 0 };
		tool_persist(call, buf_str(&call->result), &notice);
		buf_release(&call->result);
		call->result = notice;
	}
	call->is_error = is_error;
	call->finished = true;
	loop_kick(call->env->loop, &call->kick);
}

void tool_call_finish(struct tool_call *call, struct str text)
{
	if (call->finished)
		return; /* a result that comes after a cancel */
	buf_clear(&call->result);
	buf_append(&call->result, text);
	tool_call_end(call);
}

printf_like(4, 0) static void tool_call_vfail(struct tool_call *call, const char *before, const char *after,
					      const char *fmt, va_list ap)
{
	char *text = NULL;

	if (call->finished)
		return;
	if (vasprintf(&text, fmt, ap) < 0)
		base_oom(0);
	buf_clear(&call->result);
	buf_addf(&call->result, "%s%s%s", before, text, after);
	free(text);
	tool_call_end_as(call, true);
}

void tool_call_fail(struct tool_call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tool_call_vfail(call, "", "", fmt, ap);
	va_end(ap);
}

void tool_call_reject(struct tool_call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tool_call_vfail(call, "<tool_use_error>", "</tool_use_error>", fmt, ap);
	va_end(ap);
}

/* Results that are too large go to a file that the model can read in parts. */

/* Call ids come from the model's side: only their harmless characters become part of a path. */
char *tool_result_path(struct tool_call *call)
{
	char *name = arena_strdup(&call->arena, call->id);

	if (!call->env->results_dir)
		return NULL;
	for (char *c = name; *c; c++)
		if (!char_is_alnum(*c) && *c != '-')
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

void tool_persist(struct tool_call *call, struct str text, struct buf *out)
{
	struct err err = { 0 };
	char *path = tool_result_path(call);

	if (path && file_make_parents(path, &err) == 0 && file_replace(path, text.p, text.n, &err) == 0) {
		tool_add_persisted(out, text.n, path, text);
		return;
	}
	size_t tail_at = text.n - MIN(text.n, (size_t)HEAD_AND_TAIL);
	while (tail_at < text.n && ((unsigned char)text.p[tail_at] & 0xc0) == 0x80)
		tail_at++;
	utf8_add_repaired(out, utf8_cut(text, HEAD_AND_TAIL));
	buf_addstr(out, "\n\n[... ");
	buf_addsize(out, text.n);
	buf_addf(out, " in all; the middle is left out%s%s ...]\n\n", err.text[0] ? " because " : "", err.text);
	utf8_add_repaired(out, str_tail(text, tail_at));
}

bool tool_scheduler_pass(struct tool_scheduler *pass, const struct tool_call *call)
{
	bool shares = call->flags & (TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_DELEGATES);
	bool delegates = call->flags & TOOL_DELEGATES;
	bool may_run = shares ? !pass->exclusive_ahead : pass->ahead == 0;

	if ((call->flags & TOOL_AFTER_ANSWER) && pass->in_answer)
		may_run = false;
	if (pass->limit && pass->counted >= pass->limit && !delegates)
		may_run = false;
	pass->ahead++;
	pass->counted += !delegates;
	pass->exclusive_ahead |= !shares;
	return may_run && !call->started;
}

void tool_scheduler_cancel(struct tool_call *call)
{
	tool_call_cancel(call);
	if (!call->started)
		tool_call_start(call);
}

/* The part of a tool call that runs in libuv's thread pool. */

static void on_work(uv_work_t *work)
{
	struct tool_job *job = CONTAINER_OF(work, struct tool_job, work);

	if (!atomic_load(&job->stop))
		job->run(job);
}

static void on_worked(uv_work_t *work, int status)
{
	struct tool_job *job = CONTAINER_OF(work, struct tool_job, work);

	if (atomic_load(&job->stop))
		tool_call_fail(job->call, "The call was cancelled.");
	else
		job->report(job);
	if (job->release)
		job->release(job);
}

void tool_job_start(struct tool_job *job, struct tool_call *call)
{
	job->call = call;
	call->state = job;
	/* libuv refuses only a job without a function to run. */
	(void)uv_queue_work(loop_uv(call->env->loop), &job->work, on_work, on_worked);
}

void tool_job_cancel(struct tool_call *call)
{
	struct tool_job *job = call->state;

	if (!job)
		return;
	atomic_store(&job->stop, true);
	if (job->cancel)
		job->cancel(job);
	(void)uv_cancel((uv_req_t *)&job->work); /* it may be running already; then the flag ends it */
}
