/* SPDX-License-Identifier: MIT
 * control.c - the session's side of its socket. A client sends a line, gets a line, and may send another; meanwhile it is not
 * read. The socket never keeps a run alive, and nothing here waits for a client: an answer is queued whole. */
#include "product/observe/control.h"
#include "product/observe/observe.h"

/* An agent whose end a client waits for */
struct pending {
	struct agent_wait wait;
	struct client *client;
	struct agent_record *record;
};

struct client {
	struct control_client base;
	uv_write_t write;
	struct buf out;
	struct pending *pending;
	size_t pending_count, pending_left;
	bool writing;
};

static void next_request(struct client *v);

static void client_free(struct control_client *base)
{
	buf_release(&CONTAINER_OF(base, struct client, base)->out);
}

static void forget_pending(struct client *v)
{
	for (size_t i = 0; i < v->pending_count; i++)
		agent_wait_remove(v->pending[i].record, &v->pending[i].wait);
	free(TAKE(v->pending));
	v->pending_count = v->pending_left = 0;
}

static void on_client_close(struct control_client *base)
{
	forget_pending(CONTAINER_OF(base, struct client, base));
}

static void on_written(uv_write_t *write, int status)
{
	struct client *v = CONTAINER_OF(write, struct client, write);

	v->writing = false;
	buf_release(&v->out);
	if (v->base.closing)
		return;
	if (status < 0)
		control_client_close(&v->base);
	else
		next_request(v);
}

static void send_answer(struct client *v)
{
	buf_addch(&v->out, '\n');
	uv_buf_t bytes = uv_buf_init(v->out.p, (unsigned)v->out.n);
	v->writing = true;
	if (uv_write(&v->write, (uv_stream_t *)&v->base.pipe, &bytes, 1, on_written) < 0) {
		v->writing = false;
		control_client_close(&v->base);
	}
}

static void answer_error(struct client *v, const char *text)
{
	json_addf(&v->out, "{error:'%s'}", text);
	send_answer(v);
}

static void put_task(struct json_out *w, struct agent_record *record)
{
	const struct agent_tree *t = record->tree;
	AUTO_BUF struct buf tasks = { 0 };
	struct task_row row;

	agent_record_row(record, &row);
	if (record->member && t->todo_dir)
		t->kit->tasks_of(&t->main.env, record->name, &tasks);
	row.tasks = tasks.n ? tasks.p : NULL;
	task_json_write(w, &row);
}

/* The session with the records that were waited for, with this one, or with all. */
static void answer_session(struct client *v, struct agent_record *only)
{
	const struct cadre_session *s = v->base.server->session;
	struct agent_record *record = v->pending ? NULL : only ? only : s->tree.records;
	struct json_out w = json_out(&v->out);

	json_putf(&w, "{session:{sessionId:'%s', cwd:'%s', model:'%s', projectDir:'%s', pid:%d", s->id,
		  s->tree.main.cwd, s->tree.main.model, s->project_dir, getpid());
	json_putf(&w, "alive:%u, costUSD:%g, tasks:[", s->tree.alive_count, agent_tree_cost(&s->tree));
	for (size_t i = 0; i < v->pending_count; i++)
		put_task(&w, v->pending[i].record);
	for (; record; record = only ? NULL : record->next)
		put_task(&w, record);
	json_putf(&w, "]}}");
	forget_pending(v);
	send_answer(v);
}

static void on_task_end(struct agent_wait *wait)
{
	struct client *v = CONTAINER_OF(wait, struct pending, wait)->client;

	if (--v->pending_left == 0)
		answer_session(v, NULL);
}

static void wait_for(struct client *v, struct agent_record *record)
{
	v->pending[v->pending_count++] =
		(struct pending){ .wait = { .on_end = on_task_end }, .client = v, .record = record };
}

static bool is_parked(const struct agent_record *record)
{
	return !record->live && record->member && record->member->state != MEMBER_GONE && record->tree->team;
}

/* False: one of them cannot be stopped, and why was answered. */
static bool choose_named(struct client *v, const struct json *agents)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf why = { 0 };

	v->pending = xcalloc(agents->count + 1, sizeof *v->pending);
	for (const struct json *name = json_first(agents); name; name = json_next(agents, name)) {
		struct str id = json_str(name, &a);
		struct agent_record *record = map_get(&v->base.server->session->tree.by_id, id);
		if (!record)
			buf_addf(&why, "no such agent: " STR_FMT, STR_ARG(id));
		else if (!record->live && !is_parked(record))
			buf_addf(&why, "agent %s is not running: %s", record->id, end_states[record->state].state);
		else
			wait_for(v, record);
		if (!why.n)
			continue;
		free(TAKE(v->pending));
		v->pending_count = 0;
		answer_error(v, why.p);
		return false;
	}
	return true;
}

static void answer_stop(struct client *v, const struct json *request)
{
	const struct json *agents = json_get(request, "agents");
	const struct agent_tree *t = &v->base.server->session->tree;

	if (json_is(agents, JSON_ARRAY)) {
		if (!choose_named(v, agents))
			return;
	} else {
		v->pending = xcalloc(t->alive_count + 1, sizeof *v->pending);
		for (const struct agent *s = t->alive; s; s = s->next)
			wait_for(v, s->record);
	}
	v->pending_left = v->pending_count;
	for (size_t i = 0, n = v->pending_count; i < n && v->pending;
	     i++) { /* a parked one ends at once, the last one answers */
		struct agent_record *record = v->pending[i].record;
		agent_wait_add(record, &v->pending[i].wait);
		if (is_parked(record))
			record->tree->team_ops->stop(record, true);
		else
			agent_stop(record, true);
	}
	if (!v->pending_count && v->pending)
		answer_session(v, NULL);
}

static void answer_tell(struct client *v, const struct json *request)
{
	AUTO_ARENA struct arena a = { 0 };
	struct agent_tree *t = &v->base.server->session->tree;
	struct str name = json_str(json_get(request, "agent"), &a), text = json_str(json_get(request, "text"), &a);
	struct agent_record *record = agent_tree_member(t, name);
	char id[UUID_LEN + 1];
	struct err err = { 0 };

	if (!record)
		record = agent_tree_record(t, name);
	id_uuid(id);
	if (!t->team || !record || !record->member)
		err_set(&err, ERR_NOT_FOUND, "no member " STR_FMT " in this session", STR_ARG(name));
	else if (!str_trim(text).n)
		err_set(&err, ERR_USAGE, "the message is empty");
	else
		(void)t->team_ops->tell(record, id, text, &err);
	if (err.kind)
		answer_error(v, err.text);
	else
		answer_session(v, record);
}

static void handle_request(struct client *v, struct str line)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = CONTROL_REQUEST_LIMIT, .depth = 8 } };
	const struct json *root = NULL;
	struct err err = { 0 };

	if (json_parse(&reader, line.p, line.n, &root, &err) < 0)
		answer_error(v, err.text);
	else if (json_str_is(json_get(root, "request"), "stop"))
		answer_stop(v, root);
	else if (json_str_is(json_get(root, "request"), "tasks"))
		answer_session(v, NULL);
	else if (json_str_is(json_get(root, "request"), "tell"))
		answer_tell(v, root);
	else
		answer_error(v, "expected {\"request\":\"tasks\"}, {\"request\":\"stop\"} or {\"request\":\"tell\"}");
}

static void next_request(struct client *v)
{
	const char *end = v->base.in.n ? memchr(v->base.in.p, '\n', v->base.in.n) : NULL;

	if (v->writing || v->pending || v->base.closing)
		return;
	if (!end) {
		if (v->base.in.n > CONTROL_REQUEST_LIMIT)
			control_client_close(&v->base);
		return;
	}
	size_t n = (size_t)(end - v->base.in.p);
	AUTO_FREE char *line = xstrndup(v->base.in.p, n);
	buf_drop(&v->base.in, n + 1);
	handle_request(v, (struct str){ line, n });
}

/* A client that keeps sending while it waits is disconnected. */
static void on_read(struct control_client *base, bool ended)
{
	struct client *v = CONTAINER_OF(base, struct client, base);

	if (ended || base->in.n > 4 * CONTROL_REQUEST_LIMIT)
		control_client_close(base);
	else
		next_request(v);
}

/* Opens before the event is delivered: a child that the host knows can be listed and stopped. */
static void control_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	struct err err = { 0 };

	if (event->kind != EVENT_AGENT_STARTED || control_table_get(o, s))
		return;
	struct control_server *server = xnew(struct control_server, .client_size = sizeof(struct client),
					     .on_read = on_read, .on_close = on_client_close, .on_free = client_free);
	if (control_table_listen(o, s, server, CONTROL_SOCKET, &err) < 0)
		session_emit_error(s, "cadre tasks and cadre stop cannot reach this session: %s", err.text);
}

void control_observe(struct services *sv)
{
	control_table_observe(sv, &(struct observer){ .on_event = control_on_event });
}
