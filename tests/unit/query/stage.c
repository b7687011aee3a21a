/* SPDX-License-Identifier: MIT
 * stage.c - queries on a virtual clock with a model, tools and a session file of their own. */
#include "stage.h"
#include <sys/stat.h>
#include "lib/io/file.h"

static void ask(struct tool_gate *gate, struct tool_call *call)
{
	struct stage *s = CONTAINER_OF(gate, struct stage, gate);

	s->asked = call;
	if (!s->hold_gate)
		tool_call_decided(call, TOOL_ALLOW, STR(""));
}

void stage_init(struct stage *s, const struct reply *replies, size_t count)
{

	*s = (struct stage){ .loop = loop_new(LOOP_VIRTUAL_CLOCK), .gate.ask = ask };
	folder_make(s->dir);
	fake_model_init(&s->model, s->loop, replies, count);
	s->head = head_intern(&s->heads, STR("{\"model\":\"m\",\"messages\":["));
	tool_set_add(&s->tools, &fake_read);
	tool_set_add(&s->tools, &fake_write);
	tool_set_add(&s->tools, &fake_beside);
	buf_addstr(&s->log, "");
	s->env = (struct tool_env){ .loop = s->loop, .owner = &s->log };
	store_init(&s->store, s->loop, s->dir);
	s->path = path_join(&s->arena, s->dir, "s.jsonl");
	s->journal = journal_new(&s->store, s->path);
	s->context = (struct record_context){
		.session_id = "id", .cwd = "/w", .git_branch = "", .version = "0", .entrypoint = "cli"
	};
	s->config = (struct query_config){ .loop = s->loop,
					   .endpoint = &s->model.endpoint,
					   .head = s->head,
					   .tools = &s->tools,
					   .env = &s->env,
					   .gate = &s->gate,
					   .session_id = "id",
					   .agent = "",
					   .model = "m",
					   .interrupt_note = "[Request interrupted by user]" };
}

static void note_state(struct query *q, const char *to)
{
	struct agent *a = q->config.data;

	buf_addf(&a->trail, "%s ", to);
}

static void note_message(struct buf *out, const struct event *e)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	unsigned superseded = 0;

	CHECK_INT(json_parse(&reader, e->block->bytes, e->block->len, &root, NULL), 0);
	CHECK(id_is_uuid(str_from(e->uuid)));
	struct str id = json_str(json_get(root, e->from_model ? "id" : "tool_use_id"), &arena);
	struct str text = json_str(json_get(root, "text"), &arena);
	buf_addf(out, "%s" STR_FMT, e->from_model ? (id.n ? "call:" : "text:") : "=", STR_ARG(id.n ? id : text));
	while (e->supersedes && e->supersedes[superseded])
		superseded++;
	if (superseded)
		buf_addf(out, "(supersedes %u)", superseded);
	buf_addch(out, ' ');
}

static void note_event(void *data, const struct event *e)
{
	struct agent *a = data;

	switch (e->kind) {
	case EVENT_MESSAGE:
		note_message(&a->events, e);
		break;
	case EVENT_TOOL_STARTED:
		buf_addf(&a->events, "+%s ", e->id);
		break;
	case EVENT_TOOL_ENDED:
		buf_addf(&a->events, "%s%s ", e->is_error ? "!" : "-", e->id);
		break;
	case EVENT_RETRY:
		buf_addf(&a->events, "retry:%s:%u:%d ", e->error, e->attempt, e->status);
		break;
	case EVENT_DELTA:
		buf_addf(&a->events, "delta:" STR_FMT " ", STR_ARG(e->raw.n ? STR("raw") : e->text));
		break;
	case EVENT_COMPACTING:
	case EVENT_COMPACTED:
		buf_addf(&a->events, "%s:%s ", e->kind == EVENT_COMPACTED ? "compacted" : "compacting",
			 e->compact->result ? e->compact->result : "begins");
		break;
	default:
		buf_addf(&a->events, "event %d ", (int)e->kind);
	}
}

static void on_end(struct query *q, void *data)
{
	struct agent *a = data;

	CHECK_INT(q->state, QUERY_IDLE);
	a->ends++;
}

struct agent *stage_agent(struct stage *s)
{
	struct agent *a = &s->agents[s->agent_count];

	CHECK(s->agent_count < AGENTS);
	a->stage = s;
	a->recorder = (struct recorder){ .journal = s->agent_count ? NULL : s->journal,
					 .store = &s->store,
					 .context = &s->context };
	s->agent_count++;
	struct query_config config = s->config;
	config.recorder = &a->recorder;
	config.on_event = note_event;
	config.on_end = on_end;
	config.data = a;
	query_init(&a->q, &config);
	a->q.trace = note_state;
	buf_addstr(&a->trail, "");
	buf_addstr(&a->events, "");
	s->q = &s->agents[0].q;
	return a;
}

void stage_prompt(struct agent *a, const char *text)
{
	struct segment *block = segment_text(str_from(text));
	struct err err = { 0 };

	CHECK_INT(query_add_user(&a->q, &block, 1, false, &err), 0);
	query_start(&a->q);
}

struct agent *stage_run(struct stage *s)
{
	struct agent *a = stage_agent(s);

	stage_prompt(a, "hi");
	loop_run(s->loop);
	CHECK_INT(a->ends, 1);
	return a;
}

struct action {
	struct timer timer;
	struct query *q;
	void (*act)(struct query *q);
};

static void on_action(struct timer *timer)
{
	struct action *action = CONTAINER_OF(timer, struct action, timer);

	action->act(action->q);
}

void stage_after(struct stage *s, uint64_t ms, void (*act)(struct query *q))
{
	struct action action = { .timer.fire = on_action, .q = s->q, .act = act };

	timer_start(s->loop, &action.timer, ms);
	loop_run(s->loop);
}

static void describe(struct buf *out, struct block b)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;

	CHECK_INT(json_parse(&reader, b.json.p, b.json.n, &root, NULL), 0);
	struct str text = json_str(json_get(root, b.kind == SEGMENT_TOOL_RESULT ? "content" : "text"), &arena);
	struct str id = json_str(json_get(root, b.kind == SEGMENT_TOOL_RESULT ? "tool_use_id" : "id"), &arena);
	buf_addf(out, "%s%s:", out->n ? ", " : "", b.role == ROLE_USER ? "u" : "a");
	if (b.kind == SEGMENT_TOOL_USE)
		buf_addf(out, "call " STR_FMT, STR_ARG(id));
	else if (b.kind == SEGMENT_TOOL_RESULT)
		buf_addf(out, STR_FMT "=" STR_FMT, STR_ARG(id), STR_ARG(text));
	else
		buf_addf(out, STR_FMT, STR_ARG(b.kind == SEGMENT_TEXT ? text : STR("<thinking>")));
}

char *stage_transcript(struct stage *s, const struct query *q)
{
	AUTO_BUF struct buf out = { 0 };
	struct body body;

	body_init(&body, s->head, &q->transcript, UINT32_MAX);
	char *text = arena_alloc(&s->arena, body.size + 1);
	CHECK_INT(body_read(&body, text, body.size), body.size);
	text[body.size] = '\0';
	check_request(text);
	for (uint32_t i = 0; i < transcript_count(&q->transcript); i++)
		describe(&out, transcript_block(&q->transcript, i));
	return arena_dup(&s->arena, out.p, out.n);
}

void stage_check_disk(struct stage *s)
{
	struct session_load l;
	struct err err = { 0 };

	CHECK_INT(session_load(s->path, &l, &err), 0);
	CHECK_INT(l.call_count, 0);
	CHECK_INT(transcript_count(&l.transcript), transcript_count(&s->q->transcript));
	for (uint32_t i = 0; i < transcript_count(&l.transcript); i++) {
		struct block a = transcript_block(&l.transcript, i), b = transcript_block(&s->q->transcript, i);
		CHECK_INT(a.role, b.role);
		CHECK(str_eq(a.json, b.json));
	}
	CHECK_CSTR(l.last, s->agents[0].recorder.last);
	session_load_release(&l);
}

void stage_release(struct stage *s)
{
	for (unsigned i = 0; i < s->agent_count; i++) {
		query_release(&s->agents[i].q);
		buf_release(&s->agents[i].trail);
		buf_release(&s->agents[i].events);
	}
	journal_free(s->journal);
	store_release(&s->store);
	tool_set_release(&s->tools);
	fake_model_release(&s->model);
	head_unref(s->head);
	head_pool_release(&s->heads);
	buf_release(&s->log);
	loop_free(s->loop);
	folder_remove(s->dir);
	arena_release(&s->arena);
}
