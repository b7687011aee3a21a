/* SPDX-License-Identifier: MIT
 * queue.c - user messages that wait for their turn: `now` before `next` before `later`, each in the order of coming. */
#include "product/stream/wire_int.h"
#include "lib/base/list.h"

static void drop_blocks(struct wire_message *m)
{
	for (size_t i = 0; i < m->block_count; i++)
		segment_unref(m->blocks[i]);
	free(TAKE(m->blocks));
	m->block_count = 0;
}

static void add_block(struct wire_message *m, struct segment *block)
{
	m->blocks = xrealloc(m->blocks, (m->block_count + 1) * sizeof *m->blocks);
	m->blocks[m->block_count++] = block;
}

static void add_text(struct wire_message *m, struct str text)
{
	if (!text.n)
		return;
	buf_addf(&m->text, "%s" STR_FMT, m->text.n ? "\n" : "", STR_ARG(text));
	add_block(m, segment_text(text));
}

/* Drops blocks that are not objects with a type: the API would refuse the whole message. */
static void read_content(struct wire_message *m, const struct json *content, bool text_only)
{
	AUTO_ARENA struct arena a = { 0 };

	add_text(m, json_str(content, &a));
	for (const struct json *v = json_items(content); v; v = json_next(content, v)) {
		if (json_str_is(json_get(v, "type"), "text"))
			add_text(m, json_str(json_get(v, "text"), &a));
		else if (!text_only && json_is(json_get(v, "type"), JSON_STRING))
			add_block(m, segment_new(SEGMENT_OTHER, json_raw(v)));
	}
}

static void message_free(struct wire_message *m)
{
	drop_blocks(m);
	buf_release(&m->text);
	buf_release(&m->origin);
	free(m);
}

void wire_drop_message(struct cadre_wire *w, struct wire_message *m)
{
	list_drop(&w->queue, m);
	w->queued -= !m->waits;
	message_free(m);
}

void wire_take_message(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	struct wire_message *m = xcalloc(1, sizeof *m);
	struct str uuid = json_str(json_get(message, "uuid"), &a);
	struct err err = { 0 };

	const struct json *pasted = json_get(message, "pasted_content");
	read_content(m, json_get(json_get(message, "message"), "content"), false);
	for (const struct json *v = json_items(pasted); v; v = json_next(pasted, v))
		read_content(m, v, true);
	if (m->block_count == 1 && m->text.n)
		drop_blocks(m); /* the text says it all */
	m->verbatim = json_bool(json_get(message, "client_composed"));
	const struct json *word = json_get(message, "priority"), *asks = json_get(message, "shouldQuery");
	m->waits = asks && !json_bool(asks);
	m->priority = json_str_is(word, "now") ? WIRE_NOW : json_str_is(word, "later") ? WIRE_LATER : WIRE_NEXT;
	m->named = id_is_uuid(uuid);
	if (m->named)
		snprintf(m->uuid, sizeof m->uuid, STR_FMT, STR_ARG(uuid));
	else
		id_uuid(m->uuid);
	if (!json_get(json_get(message, "message"), "content")) {
		message_free(m);
		wire_warn(w, "a user message without content is left out");
		return;
	}
	const struct json *origin = json_get(message, "origin");
	if (json_is(origin, JSON_OBJECT))
		buf_addf(&m->origin, STR_FMT, STR_ARG(json_raw(origin)));
	if (wire_open_session(w, &err) < 0) {
		message_free(m);
		wire_fail_start(w, err.text);
		return;
	}
	if (w->replay) {
		/* Replays the accepted message of the client. */
		AUTO_BUF struct buf line = { 0 };
		struct json_out out = json_out(&line);

		json_putf(&out, "{type:'user'");
		json_kraw(&out, "message", json_raw(json_get(message, "message")));
		json_putf(&out, "parent_tool_use_id:null, session_id:'%s', uuid:'%s', isReplay:true}",
			  w->session ? w->session->id : "", m->uuid);
		wire_send(w, &line);
	}
	struct wire_message **at = &w->queue;
	while (*at && (*at)->priority <= m->priority)
		at = &(*at)->next;
	m->next = *at;
	*at = m;
	w->queued += !m->waits;
	if (m->priority == WIRE_NOW && w->working)
		cadre_interrupt(w->session);
	loop_kick(w->services->loop, &w->kick);
}

/* The result of a message that did not start a turn. why NULL: success. */
static void send_result(struct cadre_wire *w, const char *why)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = wire_frame_begin(&line, "result", why ? "error_during_execution" : "success");
	char id[UUID_LEN + 1];

	id_uuid(id);
	json_putf(&out, "is_error:!!%d, duration_ms:0, duration_api_ms:0, num_turns:0", why != NULL);
	json_putf(&out, why ? "errors:['%s']" : "result:'%s'", why ? why : "");
	json_putf(&out, "stop_reason:null, terminal_reason:'%s', total_cost_usd:%g, usage:",
		  why ? "turn_setup_failed" : "completed", w->session ? agent_tree_cost(&w->session->tree) : 0);
	usage_write(&out, &(struct usage){ 0 });
	json_putf(&out, "modelUsage:{}, permission_denials:[], origin?:%.*s", STR_ARG(buf_str(&w->origin)));
	buf_add(&line, w->sender.p, w->sender.n);
	w->failed = why != NULL;
	wire_frame_end(w, &out, w->session ? w->session->id : id);
}

void wire_fail_start(struct cadre_wire *w, const char *why)
{
	send_result(w, why);
	wire_refuse(w, why);
}

/* A new conversation with the same flags, but for those that chose the old one. */
static int reset_conversation(struct cadre_wire *w, struct err *err)
{
	AUTO_BUF struct buf line = { 0 };
	struct options *o = &w->services->options;
	struct cadre_session *old = TAKE(w->session);
	o->resume = o->session_id = o->resume_at = o->resume_drops = NULL;
	o->continue_newest = o->fork_session = false;
	if (wire_open_session(w, err) < 0) {
		w->session = old;
		return -(int)err->kind;
	}
	struct json_out out = wire_frame_begin(&line, "conversation_reset", NULL);
	json_kcstr(&out, "new_conversation_id", w->session->id);
	wire_frame_end(w, &out, old->id);
	memcpy(w->cleared_id, old->id, sizeof w->cleared_id);
	w->session->start_source = old->end_reason = "clear";
	old->on_event = NULL;
	old->queued = NULL;
	old->prompt_origin = NULL;
	w->session->host_elicits = old->host_elicits;
	cadre_close(old);
	return 0;
}

static void move_blocks(struct wire_message *m, struct segment ***blocks, size_t *count)
{
	size_t n = m->block_count ? m->block_count : m->text.n > 0;

	*blocks = xrealloc(*blocks, (*count + n + 1) * sizeof **blocks);
	for (size_t i = 0; i < n; i++)
		(*blocks)[(*count)++] = m->block_count ? m->blocks[i] : segment_text(buf_str(&m->text));
	free(TAKE(m->blocks));
	m->block_count = 0;
}

/* Takes the first prompt off the queue; what has waited for it becomes its beginning. NULL: there is none. */
static struct wire_message *take_prompt(struct cadre_wire *w)
{
	AUTO_BUF struct buf names = { 0 };
	struct wire_message *m = w->queue, *o;
	struct segment **blocks = NULL;
	size_t count = 0;

	while (m && m->waits)
		m = m->next;
	if (!m)
		return NULL;
	bool joins = m != w->queue;
	for (; (o = list_pop(&w->queue)) != m; message_free(o)) {
		move_blocks(o, &blocks, &count);
		if (o->named)
			buf_addf(&names, "\"%s\",", o->uuid);
	}
	w->queued--;
	if (joins) {
		move_blocks(m, &blocks, &count);
		m->blocks = blocks;
		m->block_count = count;
	}
	w->bound = 0;
	buf_clear(&w->sender);
	if (m->named)
		buf_addf(&w->sender, ",\"user_message_uuid\":\"%s\",\"user_message_uuids\":[" STR_FMT "\"%s\"]",
			 m->uuid, STR_ARG(buf_str(&names)), m->uuid);
	return m;
}

void wire_start_next(struct cadre_wire *w)
{
	struct err err = { 0 };

	if (w->working || !w->session || turn_is_running(&w->session->turn))
		return;
	struct wire_message *m = take_prompt(w);
	if (!m)
		return;
	struct session_prompt p = { .text = { m->text.n ? m->text.p : "", m->text.n },
				    .blocks = m->blocks,
				    .block_count = m->block_count,
				    .uuid = m->uuid,
				    .verbatim = m->verbatim };
	buf_release(&w->origin);
	w->origin = m->origin;
	m->origin = (struct buf){ 0 };
	struct str text = str_trim(p.text);
	bool clears = !m->verbatim && str_is(text, "/clear"), is_turn = !clears && (text.n || m->block_count);
	w->working = is_turn;
	int status = is_turn ? session_prompt(w->session, &p, &err) : clears ? reset_conversation(w, &err) : 0;
	if (!is_turn || status < 0) {
		w->working = false;
		send_result(w, status < 0 ? err.text : NULL);
		loop_kick(w->services->loop, &w->kick);
	}
	message_free(m);
}
