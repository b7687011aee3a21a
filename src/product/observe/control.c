/* SPDX-License-Identifier: MIT
 * control.c - the session's side of its socket. A visitor sends a line, gets a line, and may send another; meanwhile it is
 * not read. The socket never keeps a run going, and nothing here waits for a visitor: an answer is queued whole. */
#include "product/observe/control.h"
#include <sys/socket.h>
#include "product/observe/task_json.h"

/* The sockets of all sessions of a runtime */
struct control_table {
	struct observer observer;
	struct map by_session; /* id -> struct control */
};

struct control {
	struct cadre_session *session; /* borrowed; NULL: it is gone, only handles are left */
	uv_pipe_t server;
	struct visit *visits; /* list by next */
	unsigned visit_count;
	unsigned open; /* handles that are not closed yet: it is freed with the last */
	char *path;
};

/* An agent whose end a client waits for */
struct pending {
	struct agent_wait wait;
	struct visit *visit;
	struct agent_record *record;
};

struct visit {
	struct control *control;
	struct visit *next;
	uv_pipe_t pipe;
	uv_write_t write;
	struct buf in, out;
	struct pending *pending;
	size_t pending_count, pending_left;
	bool writing, closing;
};

static void next_request(struct visit *v);

/* ---- closing ----------------------------------------------------------------------------------------------------- */

static void handle_closed(struct control *c)
{
	if (--c->open)
		return;
	free(c->path);
	free(c);
}

static void on_server_closed(uv_handle_t *handle)
{
	handle_closed(handle->data);
}

static void on_visit_closed(uv_handle_t *handle)
{
	struct visit *v = handle->data;
	struct control *c = v->control;

	buf_release(&v->in);
	buf_release(&v->out);
	free(v);
	handle_closed(c);
}

static void forget_pending(struct visit *v)
{
	for (size_t i = 0; i < v->pending_count; i++)
		agent_wait_remove(v->pending[i].record, &v->pending[i].wait);
	free(TAKE(v->pending));
	v->pending_count = v->pending_left = 0;
}

static void end_visit(struct visit *v)
{
	if (v->closing)
		return;
	v->closing = true;
	for (struct visit **at = &v->control->visits; *at; at = &(*at)->next) {
		if (*at != v)
			continue;
		*at = v->next;
		v->control->visit_count--;
		break;
	}
	forget_pending(v);
	uv_close((uv_handle_t *)&v->pipe, on_visit_closed);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status)
{
	struct visit *v = CONTAINER_OF(write, struct visit, write);

	v->writing = false;
	buf_release(&v->out);
	if (v->closing)
		return;
	if (status < 0)
		end_visit(v);
	else
		next_request(v);
}

static void send_answer(struct visit *v)
{
	buf_addch(&v->out, '\n');
	uv_buf_t bytes = uv_buf_init(v->out.p, (unsigned)v->out.n);
	v->writing = true;
	if (uv_write(&v->write, (uv_stream_t *)&v->pipe, &bytes, 1, on_written) < 0) {
		v->writing = false;
		end_visit(v);
	}
}

static void answer_error(struct visit *v, const char *text)
{
	struct json_out w = json_out(&v->out);

	json_open(&w, '{');
	json_kcstr(&w, "error", text);
	json_close(&w);
	send_answer(v);
}

static void put_task(struct json_out *w, struct agent_record *record)
{
	struct task_row row;

	agent_record_row(record, &row);
	task_json_write(w, &row);
}

/* Up to the tasks, which the caller adds. */
static struct json_out begin_session(struct visit *v)
{
	const struct cadre_session *s = v->control->session;
	struct json_out w = json_out(&v->out);

	json_open(&w, '{');
	json_key(&w, "session");
	json_open(&w, '{');
	json_kcstr(&w, "sessionId", s->id);
	json_kcstr(&w, "cwd", s->tree.main.cwd);
	json_kcstr(&w, "model", s->tree.main.model);
	json_kcstr(&w, "projectDir", s->project_dir);
	json_ki64(&w, "pid", getpid());
	json_ki64(&w, "alive", s->tree.alive_count);
	json_key(&w, "costUSD");
	json_put_double(&w, agent_tree_cost(&s->tree));
	json_key(&w, "tasks");
	json_open(&w, '[');
	return w;
}

static void end_session(struct json_out *w)
{
	json_close(w);
	json_close(w);
	json_close(w);
}

static void answer_tasks(struct visit *v, const struct json *request)
{
	(void)request;
	struct json_out w = begin_session(v);

	for (struct agent_record *record = v->control->session->tree.records; record; record = record->next)
		put_task(&w, record);
	end_session(&w);
	send_answer(v);
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

static void answer_stopped(struct visit *v)
{
	struct json_out w = begin_session(v);

	for (size_t i = 0; i < v->pending_count; i++)
		put_task(&w, v->pending[i].record);
	end_session(&w);
	forget_pending(v);
	send_answer(v);
}

static void on_task_end(struct agent_wait *wait)
{
	struct visit *v = CONTAINER_OF(wait, struct pending, wait)->visit;

	if (--v->pending_left == 0)
		answer_stopped(v);
}

static void wait_for(struct visit *v, struct agent_record *record)
{
	v->pending[v->pending_count++] =
		(struct pending){ .wait = { .on_end = on_task_end }, .visit = v, .record = record };
}

static void choose_all(struct visit *v)
{
	const struct agent_tree *t = &v->control->session->tree;

	v->pending = xcalloc(t->alive_count + 1, sizeof *v->pending);
	for (const struct agent *s = t->alive; s; s = s->next)
		wait_for(v, s->record);
}

/* False: one of them cannot be stopped, and why was answered. */
static bool choose_named(struct visit *v, const struct json *agents)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf why = { 0 };

	v->pending = xcalloc(agents->count + 1, sizeof *v->pending);
	for (const struct json *name = json_first(agents); name; name = json_next(agents, name)) {
		struct str id = json_str(name, &a);
		struct agent_record *record = map_get(&v->control->session->tree.by_id, id);
		if (!record)
			buf_addf(&why, "there is no agent " STR_FMT, STR_ARG(id));
		else if (!record->live)
			buf_addf(&why, "agent %s is not running: %s", record->id, end_words(record->state)->state);
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

static void answer_stop(struct visit *v, const struct json *request)
{
	const struct json *agents = json_get(request, "agents");

	if (!json_is(agents, JSON_ARRAY))
		choose_all(v);
	else if (!choose_named(v, agents))
		return;
	v->pending_left = v->pending_count;
	for (size_t i = 0; i < v->pending_count; i++) {
		agent_wait_add(v->pending[i].record, &v->pending[i].wait);
		agent_stop(v->pending[i].record, true);
	}
	if (!v->pending_count)
		answer_stopped(v);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*answer)(struct visit *v, const struct json *request);
} requests[] = {
	{ "stop", answer_stop },
	{ "tasks", answer_tasks },
};

static void handle(struct visit *v, struct str line)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = CONTROL_REQUEST_LIMIT, .depth = 8 } };
	const struct json *root = NULL;
	struct err err = { 0 };

	if (json_parse(&reader, line.p, line.n, &root, &err) < 0) {
		answer_error(v, err.text);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		if (!json_str_is(json_get(root, "request"), requests[i].name))
			continue;
		requests[i].answer(v, root);
		return;
	}
	answer_error(v, "expected {\"request\":\"tasks\"} or {\"request\":\"stop\"}");
}

static void next_request(struct visit *v)
{
	const char *end = v->in.n ? memchr(v->in.p, '\n', v->in.n) : NULL;

	if (v->writing || v->pending || v->closing)
		return;
	if (!end) {
		if (v->in.n > CONTROL_REQUEST_LIMIT)
			end_visit(v);
		return;
	}
	size_t n = (size_t)(end - v->in.p);
	AUTO_FREE char *line = xstrndup(v->in.p, n);
	buf_drop(&v->in, n + 1);
	handle(v, (struct str){ line, n });
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct visit *v = handle->data;

	(void)wanted;
	buf_reserve(&v->in, CONTROL_REQUEST_LIMIT);
	*ret = uv_buf_init(v->in.p + v->in.n, CONTROL_REQUEST_LIMIT);
}

/* A visitor that sends ahead while it waits is sent away before its bytes become many. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
	struct visit *v = stream->data;

	(void)bytes;
	if (n > 0)
		v->in.n += (size_t)n;
	if (n < 0 || v->in.n > 4 * CONTROL_REQUEST_LIMIT)
		end_visit(v);
	else
		next_request(v);
}

/* ---- visitors ---------------------------------------------------------------------------------------------------- */

static bool is_ours(uv_pipe_t *pipe)
{
	struct ucred who;
	socklen_t n = sizeof who;
	int fd;

	return uv_fileno((uv_handle_t *)pipe, &fd) == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
	       who.uid == getuid();
}

static void on_visitor(uv_stream_t *server, int status)
{
	struct control *c = server->data;

	if (status < 0 || !c->session)
		return;
	struct visit *v = xcalloc(1, sizeof *v);
	v->control = c;
	uv_pipe_init(server->loop, &v->pipe, 0);
	v->pipe.data = v;
	uv_unref((uv_handle_t *)&v->pipe);
	c->open++;
	v->next = c->visits;
	c->visits = v;
	c->visit_count++;
	if (uv_accept(server, (uv_stream_t *)&v->pipe) < 0 || !is_ours(&v->pipe) || c->visit_count > CONTROL_VISITS ||
	    uv_read_start((uv_stream_t *)&v->pipe, give_room, on_read) < 0)
		end_visit(v);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int listen_at(struct control *c, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *dir;

	if (control_dir(&a, true, &dir, err) < 0)
		return -(int)err->kind;
	control_sweep(dir);
	c->path = xstrdup(control_path(&a, dir, c->session->id));
	int fd = control_listen(c->path, err);
	if (fd < 0)
		return fd;
	int status = uv_pipe_open(&c->server, fd);
	if (status < 0)
		close(fd);
	if (status == 0)
		status = uv_listen((uv_stream_t *)&c->server, CONTROL_VISITS, on_visitor);
	return status < 0 ? err_set(err, ERR_IO, "cannot listen on %s: %s", c->path, uv_strerror(status)) : 0;
}

static void control_open(struct control_table *table, struct cadre_session *s)
{
	struct control *c = xcalloc(1, sizeof *c);
	struct err err = { 0 };

	c->session = s;
	c->open = 1;
	map_set(&table->by_session, str_from(s->id), c);
	uv_pipe_init(loop_uv(s->services->loop), &c->server, 0);
	c->server.data = c;
	int status = listen_at(c, &err);
	uv_unref((uv_handle_t *)&c->server);
	if (status < 0) {
		err_wrap(&err, "cadre tasks and cadre stop cannot reach this session");
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
	}
}

/* ---- what it hears of ------------------------------------------------------------------------------------------- */

/* Open before the event leaves: a child that is known can be asked about. */
static void control_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	struct control_table *table = CONTAINER_OF(o, struct control_table, observer);

	if (event->kind == EVENT_AGENT_STARTED && !map_get(&table->by_session, str_from(s->id)))
		control_open(table, s);
}

static void control_on_close(struct observer *o, struct cadre_session *s)
{
	struct control_table *table = CONTAINER_OF(o, struct control_table, observer);
	struct control *c = map_get(&table->by_session, str_from(s->id));

	if (!c)
		return;
	map_remove(&table->by_session, str_from(s->id));
	while (c->visits)
		end_visit(c->visits);
	c->session = NULL;
	if (c->path)
		(void)unlink(c->path);
	uv_close((uv_handle_t *)&c->server, on_server_closed);
}

static void control_free(struct observer *o)
{
	struct control_table *table = CONTAINER_OF(o, struct control_table, observer);

	map_release(&table->by_session);
	free(table);
}

void control_observe(struct services *sv)
{
	struct control_table *table = xcalloc(1, sizeof *table);

	table->observer =
		(struct observer){ .on_event = control_on_event, .on_close = control_on_close, .free = control_free };
	services_observe(sv, &table->observer);
}
