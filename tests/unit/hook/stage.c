/* SPDX-License-Identifier: MIT
 * stage.c - runs the hooks of an event and writes down what came of it. */
#include "stage.h"
#include "lib/json/json_write.h"

static const char *const permissions[] = { "", "allow", "ask", "defer", "deny" };

static void add(struct buf *out, const char *what, struct str text)
{
	buf_addf(out, "; %s: ", what);
	buf_add(out, text.p, text.n); /* may hold a NUL */
}

static void add_all(struct buf *out, const char *what, const struct str *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(out, what, list[i]);
}

static void on_done(void *data, const struct hook_outcome *o)
{
	struct stage *st = data;
	struct buf *out = &st->said;

	st->dones++;
	st->batch = NULL;
	buf_clear(out);
	buf_addf(out, "ran %zu", o->ran);
	if (o->cancelled)
		buf_addstr(out, "; cancelled");
	if (o->permission)
		add(out, permissions[o->permission], o->permission_reason);
	if (o->blocked)
		add(out, "blocked", o->block_reason);
	if (o->stop)
		add(out, "stop", o->stop_reason);
	if (o->updated_input.n)
		add(out, "input", o->updated_input);
	add_all(out, "context", o->contexts, o->context_count);
	add_all(out, "message", o->messages, o->message_count);
	add_all(out, "note", o->notes, o->note_count);
	if (o->terminal_sequence.n)
		buf_addf(out, "; sequence of %zu", o->terminal_sequence.n);
	for (enum hook_field i = HOOK_INITIAL_MESSAGE; i < HOOK_FIELD_COUNT; i++)
		if (o->fields[i].n)
			add(out, hook_fields[i].name, o->fields[i]);
}

static void on_started(void *data, const struct hook_report *r)
{
	struct stage *st = data;

	buf_addf(&st->log, "start " STR_FMT " " STR_FMT "\n", STR_ARG(r->name), STR_ARG(r->hook->label));
	if (++st->starts == st->cancel_at_start && st->batch)
		hook_cancel(st->batch);
}

static void on_ended(void *data, const struct hook_report *r)
{
	struct stage *st = data;

	buf_addf(&st->log, "end %s %d\n", hook_result_name(r->result), r->exit_code);
	buf_clear(&st->stdout_text);
	buf_clear(&st->stderr_text);
	buf_add(&st->stdout_text, r->out.p, r->out.n);
	buf_add(&st->stderr_text, r->err.p, r->err.n);
}

static void on_skipped(void *data, const struct hook_context *context, const struct hook *hook, const char *why)
{
	struct stage *st = data;

	(void)context;
	buf_addf(&st->log, "skipped " STR_FMT ": %s\n", STR_ARG(hook->label), why);
}

static void on_late(void *data, const struct hook_late *late)
{
	struct stage *st = data;

	buf_addf(&st->log, "late %s context " STR_FMT " message " STR_FMT " wake " STR_FMT "\n",
		 late->agent_id ? late->agent_id : "main", STR_ARG(late->context), STR_ARG(late->system_message),
		 STR_ARG(late->wake));
}

void stage_init_with(struct stage *st, unsigned loop_flags, const struct hook_engine_options *options)
{
	struct hook_engine_options all = *options;

	*st = (struct stage){ .loop = loop_new(loop_flags) };
	st->diagnostics.arena = &st->arena;
	st->spawner = spawner_new(st->loop);
	st->http = http_new(st->loop, &(struct http_options){ 0 });
	st->context = (struct hook_context){ .session_id = "s1", .transcript_path = "/t.jsonl", .cwd = "/tmp" };
	all.loop = st->loop;
	all.spawner = st->spawner;
	all.http = st->http;
	all.observer = (struct hook_observer){ on_started, on_ended, on_skipped, on_late, st };
	st->engine = hook_engine_new(&all);
}

void stage_init(struct stage *st, unsigned loop_flags)
{
	stage_init_with(st, loop_flags, &(struct hook_engine_options){ 0 });
}

static void on_drained(void *data)
{
	struct stage *st = data;

	hook_engine_free(st->engine);
	st->engine = NULL;
}

void stage_release(struct stage *st)
{
	hook_engine_drain(st->engine, on_drained, st);
	loop_run(st->loop);
	CHECK(!st->engine);
	hook_set_unref(st->set);
	http_free(st->http);
	spawner_free(st->spawner);
	loop_free(st->loop);
	buf_release(&st->said);
	buf_release(&st->log);
	buf_release(&st->stdout_text);
	buf_release(&st->stderr_text);
	arena_release(&st->arena);
}

void stage_hooks(struct stage *st, const char *hooks_json)
{
	struct hook_source source = { .layer = HOOK_FROM_USER, .file = "settings.json", .trusted = true };

	hook_set_unref(st->set);
	st->set = hook_set_parse(&source, str_from(hooks_json), NULL, &st->diagnostics);
}

void stage_handler(struct stage *st, enum hook_event event, const char *handler_json)
{
	AUTO_BUF struct buf json = { 0 };

	buf_addf(&json, "{\"%s\":[{\"hooks\":[%s]}]}", hook_events[event].name, handler_json);
	stage_hooks(st, json.p);
}

void stage_command(struct stage *st, enum hook_event event, const char *command)
{
	AUTO_BUF struct buf json = { 0 };

	buf_addstr(&json, "{\"type\":\"command\",\"command\":");
	json_add_quoted(&json, str_from(command));
	buf_addch(&json, '}');
	stage_handler(st, event, json.p);
}

struct hook_event_spec stage_spec(struct stage *st, enum hook_event event, const char *subject)
{
	return (struct hook_event_spec){
		.event = event,
		.subject = str_from(subject),
		.context = &st->context,
		.sets = &st->set,
		.set_count = 1,
	};
}

void stage_fire(struct stage *st, const struct hook_event_spec *spec)
{
	st->batch = hook_run_event(st->engine, spec, on_done, st);
}

const char *stage_run(struct stage *st, enum hook_event event, const char *subject)
{
	unsigned before = st->dones;
	struct hook_event_spec spec = stage_spec(st, event, subject);

	stage_fire(st, &spec);
	CHECK_INT(st->dones, before); /* never from inside */
	loop_run(st->loop);
	CHECK_INT(st->dones, before + 1);
	return st->said.p;
}
