/* SPDX-License-Identifier: MIT
 * trace.c - which slices, instants and counters an event makes.
 *
 * Slices of one thread must nest, but the tools of an answer run at the same time. So an agent has lanes: the first tool
 * stands on the agent's own thread inside its turn, one that runs beside it on the next free thread of that agent. Between
 * tools the agent waits for the model, and so does the slice "model". */
#include "product/observe/trace_int.h"
#include <fcntl.h>

/* ---- who is where ------------------------------------------------------------------------------------------------ */

static const char *title_of(const struct event_agent *who, struct buf *scratch)
{
	if (!who->id[0])
		return "main";
	buf_addf(scratch, "%s: %s", who->type ? who->type : "agent", who->description ? who->description : who->id);
	return scratch->p;
}

static void name_lane(struct trace *t, const struct track *k, unsigned lane)
{
	AUTO_BUF struct buf name = { 0 };

	buf_addstr(&name, k->title);
	if (lane)
		buf_addf(&name, " (beside, %u)", lane);
	trace_name(t, "thread_name", k->pid, track_tid(k, lane), name.p);
	trace_order(t, k->pid, track_tid(k, lane));
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
	static const struct event_agent nobody = { .id = "" };
	AUTO_BUF struct buf key = { 0 };
	AUTO_BUF struct buf title = { 0 };

	who = who ? who : &nobody;
	buf_addf(&key, "%s/%s", session, who->id);
	struct track *k = map_get(&t->tracks, buf_str(&key));
	if (k)
		return k;
	k = xcalloc(1, sizeof *k);
	k->pid = session_pid(t, session);
	k->number = (unsigned)t->tracks.count + 1;
	k->title = xstrdup(title_of(who, &title));
	map_set(&t->tracks, buf_str(&key), k);
	name_lane(t, k, 0);
	return k;
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

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

static void tool_ended(struct trace *t, struct track *k, const struct event *event)
{
	for (unsigned lane = 0; lane < k->lane_count; lane++)
		if (k->lanes[lane] && !strcmp(k->lanes[lane], event->id))
			end_tool(t, k, lane, event->is_error);
	if (!k->busy)
		begin_waiting(t, k);
}

static void agent_started(struct trace *t, struct track *k, const struct event *event, const char *session)
{
	const struct event_agent parent = { .id = event->agent->parent_id };

	begin_life(t, k, event->agent->description);
	trace_flow(t, track_of(t, session, &parent), k);
	trace_count(t, k->pid, ++*trace_alive(t, k->pid));
}

static void agent_ended(struct trace *t, struct track *k, const struct event *event)
{
	if (k->living)
		trace_count(t, k->pid, --*trace_alive(t, k->pid));
	end_life(t, k, event->task ? event->task->state : NULL);
}

static void trace_event(struct trace *t, const char *session, const struct event *event)
{
	struct track *k = track_of(t, session, event->agent);

	switch (event->kind) {
	case EVENT_SESSION_STARTED:
		begin_life(t, k, "turn");
		break;
	case EVENT_TURN_ENDED:
		end_life(t, k, event->is_error ? "error" : NULL);
		break;
	case EVENT_AGENT_STARTED:
		agent_started(t, k, event, session);
		break;
	case EVENT_AGENT_ENDED:
		agent_ended(t, k, event);
		break;
	case EVENT_TOOL_STARTED:
		tool_started(t, k, event);
		break;
	case EVENT_TOOL_ENDED:
		tool_ended(t, k, event);
		break;
	case EVENT_PERMISSION_ASKED:
	case EVENT_QUESTION_ASKED:
		trace_instant(t, k, "asks", event);
		break;
	case EVENT_PERMISSION_DENIED:
		trace_instant(t, k, "denied", event);
		break;
	case EVENT_RETRY:
		trace_instant(t, k, "retry", event);
		break;
	case EVENT_NOTIFICATION:
		trace_instant(t, k, "notification", event);
		break;
	case EVENT_ERROR:
		trace_instant(t, k, "error", event);
		break;
	default: /* shown by what comes of it */
		break;
	}
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void trace_free(struct observer *o)
{
	struct trace *t = CONTAINER_OF(o, struct trace, observer);

	trace_finish(t);
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

/* A failure to write is an event of its own before the turn is over. */
static void trace_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	struct trace *t = CONTAINER_OF(o, struct trace, observer);
	struct err err = { 0 };

	trace_event(t, s->id, event);
	if (event->kind == EVENT_TURN_ENDED && trace_flush(t, &err) < 0)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
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
	trace_writer_init(t);
	services_observe(sv, &t->observer);
	return 0;
}
