/* SPDX-License-Identifier: MIT
 * trace.c - events as a trace file: the array form of the Trace Event Format, which ui.perfetto.dev and chrome://tracing open. A
 * process is a session, a thread an agent; a slice is a turn, the life of a child, a model request or a tool call; instants mark
 * other events, and a counter shows the number of live children. Elements are written whole: a killed run lacks only the closing
 * bracket, which readers accept. */
#include <fcntl.h>
#include <errno.h>

#include "product/observe/observe.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"

enum { MOST_LANES = 64, TEXT_LIMIT = 400 };

struct trace_session {
	unsigned pid;   /* its number in the trace */
	unsigned alive; /* its children */
};

/* An agent */
struct track {
	struct trace_session *session;
	unsigned number;
	char *title;
	bool living, paused; /* slices that are open on its own thread */
	char **lanes;        /* id of the call that is shown there; NULL: free */
	unsigned lane_count, busy;
};

struct trace {
	struct observer observer; /* first */
	struct loop *loop;
	int fd;
	struct kick kick; /* what a loop turn adds is written at its end, in one write */
	struct buf out;
	uint64_t started_ns;
	struct map sessions; /* id -> struct trace_session */
	struct map tracks;   /* session/agent -> struct track */
	unsigned flows;
	bool begun;         /* the array has an element */
	struct err failure; /* the first one; nothing is written after it */
	bool reported;      /* the failure, as an event */
};

static unsigned track_tid(const struct track *k, unsigned lane)
{
	return k->number * MOST_LANES + lane;
}

/* The file; times are microseconds since the trace began. */

static void trace_write(struct trace *t)
{
	size_t at = 0;

	while (at < t->out.n && !t->failure.kind) {
		ssize_t n = write(t->fd, t->out.p + at, t->out.n - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err_set(&t->failure, ERR_IO, "the trace cannot be written: %m");
		else
			at += (size_t)n;
	}
	buf_clear(&t->out);
}

static void on_kick(struct kick *kick)
{
	trace_write(CONTAINER_OF(kick, struct trace, kick));
}

/* rest: the members that a kind has of its own, and the end */
static void printf_like(6, 7) trace_put(struct trace *t, const char *phase, const char *name, unsigned pid,
					unsigned tid, const char *rest, ...)
{
	va_list args;

	buf_addstr(&t->out, t->begun ? ",\n" : "[\n");
	t->begun = true;
	loop_kick(t->loop, &t->kick);
	struct json_out w = json_out(&t->out);
	json_putf(&w, "{ph:'%s', name:'%s', pid:%u, tid:%u, ts:%llu", phase, name, pid, tid,
		  (unsigned long long)((uv_hrtime() - t->started_ns) / 1000));
	va_start(args, rest);
	json_vputf(&w, rest, args);
	va_end(args);
}

/* text: what it does; may be empty */
static void trace_begin(struct trace *t, const struct track *k, unsigned lane, const char *category, const char *name,
			struct str text)
{
	text = utf8_cut(text, TEXT_LIMIT);
	trace_put(t, "B", name, k->session->pid, track_tid(k, lane), "cat:'%s', args:{text?:'%.*s'}}", category,
		  STR_ARG(text));
}

/* state may be NULL */
static void trace_end(struct trace *t, const struct track *k, unsigned lane, const char *state)
{
	trace_put(t, "E", "", k->session->pid, track_tid(k, lane), "args:{end?:'%s'}}", state);
}

/* Slices of one thread must nest, but the tools of an answer run at the same time. So an agent has lanes: the first
 * tool is on the agent's own thread inside its turn, a parallel one on the next free thread of that agent. Between
 * tools the agent waits for the model, and so does the slice "model". */

static void name_lane(struct trace *t, const struct track *k, unsigned lane)
{
	AUTO_BUF struct buf name = { 0 };
	unsigned tid = track_tid(k, lane);

	buf_addstr(&name, k->title);
	if (lane)
		buf_addf(&name, " (beside, %u)", lane);
	struct str shown = utf8_cut(buf_str(&name), TEXT_LIMIT);
	trace_put(t, "M", "thread_name", k->session->pid, tid, "args:{name:'%.*s'}}", STR_ARG(shown));
	trace_put(t, "M", "thread_sort_index", k->session->pid, tid, "args:{sort_index:%u}}", tid);
}

static struct trace_session *session_of(struct trace *t, const char *id)
{
	struct trace_session *s = map_get(&t->sessions, str_from(id));
	AUTO_BUF struct buf name = { 0 };

	if (s)
		return s;
	s = xnew(struct trace_session, .pid = t->sessions.count + 1);
	map_set(&t->sessions, str_from(id), s);
	buf_addf(&name, "session %s", id);
	trace_put(t, "M", "process_name", s->pid, 0, "args:{name:'%s'}}", name.p);
	return s;
}

static struct track *track_of(struct trace *t, const char *session, const struct event_agent *who)
{
	static const struct event_agent main_agent = { .id = "" };
	AUTO_BUF struct buf key = { 0 };
	AUTO_BUF struct buf title = { 0 };

	who = who ? who : &main_agent;
	buf_addf(&key, "%s/%s", session, who->id);
	struct track *k = map_get(&t->tracks, buf_str(&key));
	if (k)
		return k;
	k = xcalloc(1, sizeof *k);
	k->session = session_of(t, session);
	k->number = (unsigned)t->tracks.count + 1;
	if (who->id[0])
		buf_addf(&title, "%s%s%s: %s", who->name ? who->name : "", who->name ? ", " : "",
			 who->type ? who->type : "agent", who->description ? who->description : who->id);
	k->title = xstrdup(title.n ? title.p : "main");
	map_set(&t->tracks, buf_str(&key), k);
	name_lane(t, k, 0);
	return k;
}

/* A slice inside the agent's life: it waits for the model, or a member waits between its runs. */
static void begin_pause(struct trace *t, struct track *k, const char *category, const char *name)
{
	if (k->paused || !k->living)
		return;
	k->paused = true;
	trace_begin(t, k, 0, category, name, (struct str){ 0 });
}

static void end_pause(struct trace *t, struct track *k)
{
	if (k->paused)
		trace_end(t, k, 0, NULL);
	k->paused = false;
}

static void begin_life(struct trace *t, struct track *k, const char *name)
{
	if (k->living)
		return;
	k->living = true;
	trace_begin(t, k, 0, "agent", name, (struct str){ 0 });
	begin_pause(t, k, "model", "model");
}

static void end_tool(struct trace *t, struct track *k, unsigned lane, bool is_error)
{
	trace_end(t, k, lane, is_error ? "error" : NULL);
	free(TAKE(k->lanes[lane]));
	k->busy--;
}

static void end_life(struct trace *t, struct track *k, const char *state)
{
	if (!k->living)
		return;
	for (unsigned lane = 0; lane < k->lane_count; lane++)
		if (k->lanes[lane])
			end_tool(t, k, lane, true);
	end_pause(t, k);
	k->living = false;
	trace_end(t, k, 0, state);
}

static void tool_started(struct trace *t, struct track *k, const struct event *event)
{
	unsigned lane = 0;

	end_pause(t, k);
	while (lane < k->lane_count && k->lanes[lane])
		lane++;
	if (lane == MOST_LANES)
		return;
	if (lane == k->lane_count) {
		k->lanes = xrealloc(k->lanes, ++k->lane_count * sizeof *k->lanes);
		if (lane)
			name_lane(t, k, lane);
	}
	k->lanes[lane] = xstrdup(event->id);
	k->busy++;
	trace_begin(t, k, lane, "tool", event->name, event->text);
}

static void trace_event(struct trace *t, const char *session, const struct event *event)
{
	static const char *const instants[] = {
		[EVENT_PERMISSION_ASKED] = "asks",     [EVENT_QUESTION_ASKED] = "asks",
		[EVENT_PERMISSION_DENIED] = "denied",  [EVENT_RETRY] = "retry",
		[EVENT_NOTIFICATION] = "notification", [EVENT_ERROR] = "error",
	};
	struct track *k = track_of(t, session, event->agent), *parent;
	struct str text = utf8_cut(event->text, TEXT_LIMIT);
	AUTO_BUF struct buf title = { 0 };

	switch (event->kind) {
	case EVENT_SESSION_STARTED:
		begin_life(t, k, "turn");
		break;
	case EVENT_TURN_ENDED:
		end_life(t, k, event->is_error ? "error" : NULL);
		break;
	case EVENT_AGENT_STARTED:
		begin_life(t, k, event->agent->description);
		/* The arrow from the parent; its end binds to the slice around it, not to the next one. */
		parent = track_of(t, session, &(struct event_agent){ .id = event->agent->parent_id });
		trace_put(t, "s", "starts", parent->session->pid, track_tid(parent, 0), "cat:'agent', id:%u}",
			  ++t->flows);
		trace_put(t, "f", "starts", k->session->pid, track_tid(k, 0), "cat:'agent', id:%u, bp:'e'}", t->flows);
		trace_put(t, "C", "agents alive", k->session->pid, 0, "args:{alive:%u}}", ++k->session->alive);
		break;
	case EVENT_AGENT_ENDED:
		if (k->living)
			trace_put(t, "C", "agents alive", k->session->pid, 0, "args:{alive:%u}}", --k->session->alive);
		end_life(t, k, event->task ? event->task->state : NULL);
		break;
	case EVENT_MEMBER_STATE:
		end_pause(t, k);
		if (!strcmp(event->task->member, "running"))
			begin_pause(t, k, "model", "model");
		else
			begin_pause(t, k, "member", event->task->member);
		break;
	case EVENT_TOOL_STARTED:
		tool_started(t, k, event);
		break;
	case EVENT_TOOL_ENDED:
		for (unsigned lane = 0; lane < k->lane_count; lane++)
			if (k->lanes[lane] && !strcmp(k->lanes[lane], event->id))
				end_tool(t, k, lane, event->is_error);
		if (!k->busy)
			begin_pause(t, k, "model", "model");
		break;
	default: /* the effect of others is shown */
		if (event->kind >= COUNT_OF(instants) || !instants[event->kind])
			break;
		buf_addf(&title, "%s%s%s", instants[event->kind], event->name ? " " : "",
			 event->name ? event->name : "");
		trace_put(t, "i", title.p, k->session->pid, track_tid(k, 0), "cat:'note', s:'t', args:{text?:'%.*s'}}",
			  STR_ARG(text));
	}
}

static void trace_free(struct observer *o)
{
	struct trace *t = CONTAINER_OF(o, struct trace, observer);

	/* The end of the array */
	kick_cancel(&t->kick);
	buf_addstr(&t->out, t->begun ? "\n]\n" : "[]\n");
	trace_write(t);
	for (struct map_entry *e = map_next(&t->tracks, NULL); e; e = map_next(&t->tracks, e)) {
		struct track *k = e->value;
		for (unsigned lane = 0; lane < k->lane_count; lane++)
			free(k->lanes[lane]);
		free(k->lanes);
		free(k->title);
		free(k);
	}
	for (struct map_entry *e = map_next(&t->sessions, NULL); e; e = map_next(&t->sessions, e))
		free(e->value);
	map_release(&t->tracks);
	map_release(&t->sessions);
	close(t->fd);
	buf_release(&t->out);
	free(t);
}

/* A write error is an event before the end of the turn. */
static void trace_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	struct trace *t = CONTAINER_OF(o, struct trace, observer);

	trace_event(t, s->id, event);
	if (event->kind != EVENT_TURN_ENDED)
		return;
	trace_write(t);
	if (t->failure.kind && !t->reported)
		session_emit_error(s, "%s", t->failure.text);
	t->reported = t->failure.kind;
}

int trace_observe(struct services *sv, struct err *err)
{
	const char *path = sv->options.trace;

	if (!path)
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_USAGE, "--trace %s: %m", path);
	struct trace *t = xcalloc(1, sizeof *t);
	t->observer = (struct observer){ .on_event = trace_on_event, .free = trace_free };
	t->loop = sv->loop;
	t->fd = fd;
	t->kick.step = on_kick;
	t->started_ns = uv_hrtime();
	services_observe(sv, &t->observer);
	return 0;
}
