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

/* An agent */
struct track {
	unsigned pid, number;
	char *title;
	bool living, waiting, idling; /* slices that are open on its own thread */
	char **lanes;                 /* id of the call that is shown there; NULL: free */
	unsigned lane_count, busy;
};

struct trace {
	struct observer observer; /* first */
	struct loop *loop;
	int fd;
	struct kick kick; /* what a loop turn adds is written at its end, in one write */
	struct buf out;
	uint64_t started_ns;
	struct map sessions; /* id -> number */
	struct map tracks;   /* session/agent -> struct track */
	unsigned *alive;     /* children of each session, by its number - 1 */
	unsigned alive_count;
	unsigned flows;
	bool begun;         /* the array has an element */
	struct err failure; /* the first one; nothing is written after it */
	bool told;          /* announced in the file */
};

static unsigned track_tid(const struct track *k, unsigned lane)
{
	return k->number * MOST_LANES + lane;
}

/* ---- the file; times are microseconds since the trace began ---------------------------------------------------- */

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

/* Writes the buffer; -ERR_IO, once: nothing more is written after it. */
static int trace_flush(struct trace *t, struct err *err)
{
	trace_write(t);
	if (!t->failure.kind || t->told)
		return 0;
	t->told = true;
	return err_set(err, ERR_IO, "%s", t->failure.text);
}

static unsigned *trace_alive(struct trace *t, unsigned pid)
{
	if (pid > t->alive_count) {
		t->alive = xrealloc(t->alive, pid * sizeof *t->alive);
		while (t->alive_count < pid)
			t->alive[t->alive_count++] = 0;
	}
	return &t->alive[pid - 1];
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* Up to the members that a kind has of its own. */
static struct json_out trace_event_begin(struct trace *t, const char *phase, const char *name, unsigned pid,
					 unsigned tid)
{
	buf_addstr(&t->out, t->begun ? ",\n" : "[\n");
	t->begun = true;
	loop_kick(t->loop, &t->kick);
	struct json_out w = json_out(&t->out);
	json_putf(&w, "{ph:'%s', name:'%s', pid:%u, tid:%u, ts:%llu", phase, name, pid, tid,
		  (unsigned long long)(((uv_hrtime() - t->started_ns) / 1000)));
	return w;
}

static void put_args(struct json_out *w, const char *key, struct str text)
{
	json_kopen(w, "args", '{');
	if (text.n)
		json_kstr(w, key, utf8_cut(text, TEXT_LIMIT));
	json_close(w);
}

static void trace_name(struct trace *t, const char *what, unsigned pid, unsigned tid, const char *name)
{
	struct json_out w = trace_event_begin(t, "M", what, pid, tid);

	put_args(&w, "name", str_from(name));
	json_close(&w);
}

/* An element whose only argument is a number */
static void trace_number(struct trace *t, const char *phase, const char *name, unsigned pid, unsigned tid,
			 const char *key, unsigned value)
{
	struct json_out w = trace_event_begin(t, phase, name, pid, tid);

	json_kopen(&w, "args", '{');
	json_ki64(&w, key, value);
	json_putf(&w, "}}");
}

/* text: what it does; may be empty */
static void trace_begin(struct trace *t, const struct track *k, unsigned lane, const char *category, const char *name,
			struct str text)
{
	struct json_out w = trace_event_begin(t, "B", name, k->pid, track_tid(k, lane));

	json_kcstr(&w, "cat", category);
	put_args(&w, "text", text);
	json_close(&w);
}

/* state may be NULL */
static void trace_end(struct trace *t, const struct track *k, unsigned lane, const char *state)
{
	struct json_out w = trace_event_begin(t, "E", "", k->pid, track_tid(k, lane));

	put_args(&w, "end", str_from(state));
	json_close(&w);
}

static void trace_instant(struct trace *t, const struct track *k, const char *name, const struct event *event)
{
	AUTO_BUF struct buf title = { 0 };

	buf_addf(&title, "%s%s%s", name, event->name ? " " : "", event->name ? event->name : "");
	struct json_out w = trace_event_begin(t, "i", title.p, k->pid, track_tid(k, 0));
	json_putf(&w, "cat:'note', s:'t'");
	put_args(&w, "text", event->text);
	json_close(&w);
}

/* One half of the arrow from a parent to its child */
static void trace_flow(struct trace *t, const char *phase, const struct track *k)
{
	struct json_out w = trace_event_begin(t, phase, "starts", k->pid, track_tid(k, 0));

	json_putf(&w, "cat:'agent', id:%u", t->flows);
	if (phase[0] == 'f')
		json_kcstr(&w, "bp", "e"); /* binds to the slice around it, not to the next one */
	json_close(&w);
}

/* ---- slices, instants and counters ------------------------------------------------------------------------------- */

/* Slices of one thread must nest, but the tools of an answer run at the same time. So an agent has lanes: the first
 * tool is on the agent's own thread inside its turn, a parallel one on the next free thread of that agent. Between
 * tools the agent waits for the model, and so does the slice "model". */

static void name_lane(struct trace *t, const struct track *k, unsigned lane)
{
	AUTO_BUF struct buf name = { 0 };

	buf_addstr(&name, k->title);
	if (lane)
		buf_addf(&name, " (beside, %u)", lane);
	trace_name(t, "thread_name", k->pid, track_tid(k, lane), name.p);
	trace_number(t, "M", "thread_sort_index", k->pid, track_tid(k, lane), "sort_index", track_tid(k, lane));
}

static unsigned session_pid(struct trace *t, const char *session)
{
	AUTO_BUF struct buf name = { 0 };
	uintptr_t pid = (uintptr_t)map_get(&t->sessions, str_from(session));

	if (pid)
		return (unsigned)pid;
	pid = t->sessions.count + 1;
	map_set(&t->sessions, str_from(session), (void *)pid);
	buf_addf(&name, "session %s", session);
	trace_name(t, "process_name", (unsigned)pid, 0, name.p);
	return (unsigned)pid;
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
	k->pid = session_pid(t, session);
	k->number = (unsigned)t->tracks.count + 1;
	if (who->id[0])
		buf_addf(&title, "%s%s%s: %s", who->name ? who->name : "", who->name ? ", " : "",
			 who->type ? who->type : "agent", who->description ? who->description : who->id);
	k->title = xstrdup(title.n ? title.p : "main");
	map_set(&t->tracks, buf_str(&key), k);
	name_lane(t, k, 0);
	return k;
}

static void begin_waiting(struct trace *t, struct track *k)
{
	if (k->waiting || !k->living)
		return;
	k->waiting = true;
	trace_begin(t, k, 0, "model", "model", (struct str){ 0 });
}

static void end_waiting(struct trace *t, struct track *k)
{
	if (!k->waiting)
		return;
	k->waiting = false;
	trace_end(t, k, 0, NULL);
}

/* A member waits between its runs, for as long as this shows. */
static void end_idling(struct trace *t, struct track *k)
{
	if (!k->idling)
		return;
	k->idling = false;
	trace_end(t, k, 0, NULL);
}

static void member_state(struct trace *t, struct track *k, const char *state)
{
	end_waiting(t, k);
	end_idling(t, k);
	if (!strcmp(state, "running")) {
		begin_waiting(t, k);
	} else if (k->living) {
		k->idling = true;
		trace_begin(t, k, 0, "member", state, (struct str){ 0 });
	}
}

static void begin_life(struct trace *t, struct track *k, const char *name)
{
	if (k->living)
		return;
	k->living = true;
	trace_begin(t, k, 0, "agent", name, (struct str){ 0 });
	begin_waiting(t, k);
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
	end_waiting(t, k);
	end_idling(t, k);
	k->living = false;
	trace_end(t, k, 0, state);
}

static void tool_started(struct trace *t, struct track *k, const struct event *event)
{
	unsigned lane = 0;

	end_waiting(t, k);
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
	struct track *k = track_of(t, session, event->agent);

	switch (event->kind) {
	case EVENT_SESSION_STARTED:
		begin_life(t, k, "turn");
		break;
	case EVENT_TURN_ENDED:
		end_life(t, k, event->is_error ? "error" : NULL);
		break;
	case EVENT_AGENT_STARTED:
		begin_life(t, k, event->agent->description);
		t->flows++;
		trace_flow(t, "s", track_of(t, session, &(struct event_agent){ .id = event->agent->parent_id }));
		trace_flow(t, "f", k);
		trace_number(t, "C", "agents alive", k->pid, 0, "alive", ++*trace_alive(t, k->pid));
		break;
	case EVENT_AGENT_ENDED:
		if (k->living)
			trace_number(t, "C", "agents alive", k->pid, 0, "alive", --*trace_alive(t, k->pid));
		end_life(t, k, event->task ? event->task->state : NULL);
		break;
	case EVENT_MEMBER_STATE:
		member_state(t, k, event->task->member);
		break;
	case EVENT_TOOL_STARTED:
		tool_started(t, k, event);
		break;
	case EVENT_TOOL_ENDED:
		for (unsigned lane = 0; lane < k->lane_count; lane++)
			if (k->lanes[lane] && !strcmp(k->lanes[lane], event->id))
				end_tool(t, k, lane, event->is_error);
		if (!k->busy)
			begin_waiting(t, k);
		break;
	default: /* the effect of others is shown */
		if (event->kind < COUNT_OF(instants) && instants[event->kind])
			trace_instant(t, k, instants[event->kind], event);
		break;
	}
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

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
	map_release(&t->tracks);
	map_release(&t->sessions);
	free(t->alive);
	close(t->fd);
	buf_release(&t->out);
	free(t);
}

/* A write error is an event before the end of the turn. */
static void trace_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	struct trace *t = CONTAINER_OF(o, struct trace, observer);
	struct err err = { 0 };

	trace_event(t, s->id, event);
	if (event->kind == EVENT_TURN_ENDED && trace_flush(t, &err) < 0)
		session_emit_error(s, "%s", err.text);
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
