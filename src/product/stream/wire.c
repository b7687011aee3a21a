/* SPDX-License-Identifier: MIT
 * wire.c - one client: lines in, frames out. It also sends errors of the model service as messages of the assistant, and, with
 * --session-mirror, a copy of every line of the session's files. */
#include "product/stream/wire_int.h"
#include "core/wire/failure.h"
#include "lib/io/file.h"
#include "lib/base/list.h"

enum { LONGEST_LINE = 64 << 20 };

struct json_out wire_frame_begin(struct buf *line, const char *type, const char *subtype)
{
	struct json_out out = json_out(line);

	json_putf(&out, "{type:'%s', subtype?:'%s'", type, subtype);
	return out;
}

void wire_frame_end(struct cadre_wire *w, struct json_out *out, const char *session_id)
{
	char uuid[UUID_LEN + 1];

	id_uuid(uuid);
	json_putf(out, "session_id:'%s', uuid:'%s'}", session_id, uuid);
	wire_send(w, out->buf);
}

static void send_warning(struct cadre_wire *w, const char *text)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = wire_frame_begin(&line, "system", "informational");

	json_putf(&out, "level:'warning', content:'%s'", text);
	wire_frame_end(w, &out, w->session_id);
}

/* Clients expect the first frame to describe the session: earlier messages wait for it. */
static void wire_begin(struct cadre_wire *w)
{
	w->began = true;
	for (size_t i = 0; i < w->early.n; i += strlen(w->early.p + i) + 1)
		send_warning(w, w->early.p + i);
	buf_release(&w->early);
}

void wire_warn(struct cadre_wire *w, const char *fmt, ...)
{
	char message[512];

	PRINT_ARGS(message, fmt);
	if (w->began)
		send_warning(w, message);
	else
		buf_add(&w->early, message, strlen(message) + 1);
}

void wire_refuse(struct cadre_wire *w, const char *why)
{
	buf_clear(&w->error);
	buf_addstr(&w->error, why);
	cadre_stop(w->services->owner);
}

void wire_send_state(struct cadre_wire *w, const char *state)
{
	AUTO_BUF struct buf line = { 0 };

	if (!w->sends_state || !w->session || (w->state && !strcmp(w->state, state)))
		return;
	w->state = state;
	struct json_out out = wire_frame_begin(&line, "system", "session_state_changed");
	json_kcstr(&out, "state", state);
	wire_frame_end(w, &out, w->session->id);
}

/* An error of the model service as a message of the assistant, which clients show in the conversation */
static void send_failure(struct cadre_wire *w)
{
	const struct query *q = &w->session->tree.main.query;
	AUTO_BUF struct buf line = { 0 }, text = { 0 };
	char id[UUID_LEN + 1];

	if (q->end != QUERY_MODEL_ERROR)
		return;
	struct json_out out = wire_frame_begin(&line, "assistant", NULL);
	id_uuid(id);
	buf_addf(&text, "API Error: %s", q->failure.text);
	json_putf(&out, "message:{id:'%s', type:'message', role:'assistant', model:'<synthetic>', content:[{", id);
	json_putf(&out,
		  "type:'text', text:'%.*s'}], stop_reason:'stop_sequence', stop_sequence:'', usage:", STR_ARG(text));
	usage_write(&out, &(struct usage){ 0 });
	json_putf(&out, "}, parent_tool_use_id:null, error:'%s'", failure_name(&q->failure));
	wire_frame_end(w, &out, w->session->id);
}

/* --session-mirror: a line is sent after it is on disk and before its frame. */

static void on_line(void *data, const char *path, struct str line)
{
	const struct services *sv = data;
	struct cadre_wire *w = sv->wires;
	AUTO_BUF struct buf frame = { 0 };

	while (w && (!w->session_id[0] || !strstr(path, w->session_id)))
		w = w->next;
	if (!w)
		return;
	json_addf(&frame, "{type:'transcript_mirror', filePath:'%s', entries:[%.*s]}", path, STR_ARG(line));
	wire_send(w, &frame);
}

/* The meta file of an agent is sent as a line of its transcript. Agents also end while the session closes, without the wire. */
static void mirror_agent(struct cadre_wire *w, const struct cadre_event *e)
{
	AUTO_BUF struct buf line = { 0 }, meta = { 0 };
	const struct agent *a = agent_tree_find(&e->session->tree, cadre_event_agent(e));

	if (!w->services->options.session_mirror || !a || !a->record || !a->journal ||
	    file_read(a->record->meta, LONGEST_LINE, &meta, NULL) < 0)
		return;
	struct str object = str_trim(buf_str(&meta));
	if (object.n < 2 || object.p[0] != '{')
		return;
	buf_addf(&line, "{\"type\":\"agent_metadata\"," STR_FMT, (int)object.n - 1, object.p + 1);
	on_line(w->services, journal_path(a->journal), buf_str(&line));
}

/* The first frame of an answer, the first of its stream and the result name the message that they are about. */
static void name_sender(struct cadre_wire *w, const struct cadre_event *e, struct buf *line)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	bool answers =
		kind == CADRE_TURN_ENDED || kind == CADRE_DELTA || (kind == CADRE_MESSAGE && e->event->from_model);

	if (!answers || cadre_event_agent(e)[0] || w->session->turn.origin != TURN_BY_PROMPT || w->bound & 1U << kind)
		return;
	w->bound |= 1U << kind;
	line->n--;
	buf_addf(line, STR_FMT "}", STR_ARG(buf_str(&w->sender)));
}

static void on_event(const struct cadre_event *e, void *data)
{
	struct cadre_wire *w = data;
	enum cadre_event_kind kind = cadre_event_kind(e);
	size_t n = 0;
	const char *frame = cadre_event_frame(e, &n);

	if (kind == CADRE_TURN_ENDED || kind == CADRE_AGENT_ENDED || kind == CADRE_TOOL_ENDED)
		wire_sweep_questions(w);
	if (kind == CADRE_TURN_ENDED)
		send_failure(w);
	if (kind == CADRE_SESSION_STARTED) {
		w->working = true;
		struct err err = { 0 };

		if (w->title && w->session->tree.main.journal &&
		    session_set_title(w->session, str_from(w->title), &err) < 0)
			wire_warn(w, "the title is not kept: %s", err.text);
		free(TAKE(w->title));
		wire_send_state(w, "running");
	}
	if (frame && kind != CADRE_ERROR) {
		AUTO_BUF struct buf line = { 0 };
		buf_add(&line, frame, n);
		name_sender(w, e, &line);
		wire_send(w, &line);
		if (kind == CADRE_SESSION_STARTED)
			wire_begin(w);
	} else if (kind == CADRE_ERROR) {
		wire_warn(w, "%s", cadre_event_text(e, NULL));
	}
	if (kind == CADRE_AGENT_STARTED || kind == CADRE_AGENT_ENDED)
		mirror_agent(w, e);
	if (kind == CADRE_PERMISSION_ASKED || kind == CADRE_QUESTION_ASKED)
		wire_ask_call(w, e->event);
	if (kind == CADRE_ELICITATION_ASKED)
		wire_ask_elicitation(w, e->event);
	if (kind == CADRE_TURN_ENDED) {
		const struct query *q = &w->session->tree.main.query;
		w->working = false;
		w->api_ms += q->api_ms;
		w->failed = cadre_event_is_error(e) && q->end != QUERY_CANCELLED; /* an interrupt is not a failure */
		loop_kick(w->services->loop, &w->kick);
	}
}

int wire_open_session(struct cadre_wire *w, struct err *err)
{
	char why[sizeof err->text] = "";

	if (w->session)
		return 0;
	if (w->closing)
		return err_set(err, ERR_BUSY, "the session is closed");
	int status = cadre_open(w->services->owner, on_event, w, &w->session, why, sizeof why);
	if (status < 0)
		return err_set(err, (enum err_kind) - status, "%s", why);
	w->opened_ms = loop_now_ms(w->services->loop);
	w->session->queued = &w->queued;
	w->session->prompt_origin = &w->origin;
	snprintf(w->session_id, sizeof w->session_id, "%s", w->session->id);
	if (w->services->options.session_mirror) {
		w->services->store.on_line = on_line;
		w->services->store.data = w->services;
	}
	return 0;
}

static void set_variables(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *vars = json_get(message, "variables");

	for (struct json_member m = json_members(vars); m.key; m = json_member_next(vars, m)) {
		const char *name = json_cstr(m.key, &a), *value = json_cstr(m.value, &a);
		if (name && name[0] && !strchr(name, '=') && value && !env_is_dangerous(str_from(name)))
			services_setenv(w->services, name, value);
	}
	policy_renew_env(w->services);
	session_use_env(w->services);
}

static const struct {
	const char *type;
	void (*take)(struct cadre_wire *w, const struct json *message);
} types[] = {
	{ "user", wire_take_message },
	{ "control_request", wire_take_request },
	{ "control_response", wire_take_answer },
	{ "control_cancel_request", wire_withdraw },
	{ "keep_alive", NULL },
	{ "update_environment_variables", set_variables },
};

static void on_input_line(void *data, struct str line, bool cut)
{
	struct cadre_wire *w = data;
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LONGEST_LINE, .depth = 200 } };
	const struct json *root;
	struct err err = { 0 };

	line = str_trim(line);
	if (cut)
		wire_warn(w, "a line of the input is longer than %d MB and is left out", LONGEST_LINE >> 20);
	if (cut || !line.n || w->input_over)
		return;
	bool is_object = json_parse(&reader, line.p, line.n, &root, &err) == 0 && json_is(root, JSON_OBJECT);
	if (w->awaits && !(is_object && json_str_is(json_get(root, "type"), "control_request") &&
			   json_str_is(json_get(json_get(root, "request"), "subtype"), "initialize"))) {
		wire_refuse(w, "--await-initialize: the first line of the input is not the request initialize");
		return;
	}
	if (!is_object) {
		wire_warn(w, "a line of the input is not a JSON object and is left out: %s", err.text);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (types[i].take && json_str_is(json_get(root, "type"), types[i].type))
			types[i].take(w, root);
}

void cadre_wire_feed(struct cadre_wire *w, const char *bytes, size_t n)
{
	if (w && !w->input_over)
		line_reader_feed(&w->lines, bytes, n);
}

static void wire_finish(struct cadre_wire *w)
{
	wire_begin(w);
	if (w->queue)
		wire_warn(w, "no prompt followed a message with shouldQuery false: it is not kept");
	while (w->queue)
		wire_drop_message(w, w->queue);
	if (w->session) {
		w->closing = true;
		wire_asks_end(w, "the input is over");
		cadre_close(TAKE(w->session));
	}
	if (w->finishing)
		services_busy(w->services, -1);
	w->finishing = false;
}

static void on_kick(struct kick *kick)
{
	struct cadre_wire *w = CONTAINER_OF(kick, struct cadre_wire, kick);

	if (w->input_over)
		wire_asks_end(w, "the input is over");
	wire_start_next(w);
	if (!wire_is_idle(w))
		return;
	wire_send_state(w, "idle");
	if (w->input_over)
		wire_finish(w);
}

void cadre_wire_end_input(struct cadre_wire *w)
{
	if (!w || w->input_over)
		return;
	line_reader_end(&w->lines);
	if (w->input_over) /* the last line ended it */
		return;
	w->input_over = true;
	w->finishing = true;
	services_busy(w->services, 1);
	wire_asks_end(w, "the input is over");
	loop_kick(w->services->loop, &w->kick);
}

void cadre_wire_interrupt(struct cadre_wire *w)
{
	if (!w)
		return;
	cadre_wire_end_input(w);
	while (w->queue)
		wire_drop_message(w, w->queue);
	if (w->session && w->working)
		cadre_interrupt(w->session);
}

static void on_idle(struct services *sv)
{
	for (struct cadre_wire *w = sv->wires; w; w = w->next)
		loop_kick(sv->loop, &w->kick);
}

static void on_servers(struct services *sv)
{
	for (struct cadre_wire *w = sv->wires; w; w = w->next)
		wire_servers_changed(w);
}

struct cadre_wire *cadre_wire_new(struct cadre *c, cadre_wire_fn *out, void *data)
{
	struct services *sv = cadre_services(c);

	if (!sv || !out)
		return NULL;
	struct cadre_wire *w = xcalloc(1, sizeof *w);
	*w = (struct cadre_wire){ .services = sv, .out = out, .data = data, .kick = { .step = on_kick } };
	w->lines = (struct line_reader){ .limit_bytes = LONGEST_LINE, .line = on_input_line, .data = w };
	w->replay = sv->options.replay_user_messages;
	w->awaits = sv->options.await_initialize || sv->options.managed_in_initialize || sv->options.initialize_fields;
	w->sends_state = getenv("CLAUDE_CODE_SDK_READS_SESSION_STATE") != NULL;
	w->next = sv->wires;
	sv->wires = w;
	sv->on_idle = on_idle;
	sv->on_servers = on_servers;
	sv->host_transport = wire_make_transport;
	sv->hook_callback = &wire_hook_runner;
	return w;
}

int cadre_wire_status(const struct cadre_wire *w, const char **ret_why)
{
	if (!w)
		return CADRE_USAGE;
	if (ret_why)
		*ret_why = w->error.n ? w->error.p : "";
	return w->failed ? CADRE_CANCELLED : w->error.n ? CADRE_USAGE : CADRE_OK;
}

void cadre_wire_free(struct cadre_wire *w)
{
	if (!w)
		return;
	while (w->queue)
		wire_drop_message(w, w->queue);
	list_drop(&w->services->wires, w);
	/* A session may outlive its wire: then its events are dropped. */
	struct cadre_session *s = session_by_id(w->services, w->session_id);
	if (s) {
		s->on_event = NULL;
		s->queued = NULL;
		s->prompt_origin = NULL;
	}
	wire_finish(w);
	kick_cancel(&w->kick);
	wire_asks_end(w, "the wire is closed");
	wire_deferred_end(w);
	wire_settlings_end(w);
	while (w->servers)
		wire_drop_server(w, str_from(w->servers->name));
	map_release(&w->named_servers);
	free(w->title);
	line_reader_release(&w->lines);
	buf_release(&w->error);
	buf_release(&w->early);
	buf_release(&w->origin);
	buf_release(&w->sender);
	arena_release(&w->arena);
	free(w);
}
