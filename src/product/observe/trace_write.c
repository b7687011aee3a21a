/* SPDX-License-Identifier: MIT
 * trace_write.c - elements of the trace, and the file. Times are microseconds since the trace began. */
#include <errno.h>
#include <time.h>
#include "product/observe/trace_int.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"

enum { TEXT_LIMIT = 400 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void flush(struct trace *t)
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
	flush(CONTAINER_OF(kick, struct trace, kick));
}

int trace_flush(struct trace *t, struct err *err)
{
	flush(t);
	if (!t->failure.kind || t->told)
		return 0;
	t->told = true;
	return err_set(err, ERR_IO, "%s", t->failure.text);
}

void trace_writer_init(struct trace *t)
{
	t->kick.step = on_kick;
	t->started_ns = now_ns();
}

void trace_finish(struct trace *t)
{
	kick_cancel(&t->kick);
	buf_addstr(&t->out, t->begun ? "\n]\n" : "[]\n");
	flush(t);
}

unsigned *trace_alive(struct trace *t, unsigned pid)
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
static struct json_out begin(struct trace *t, const char *phase, const char *name, unsigned pid, unsigned tid)
{
	buf_addstr(&t->out, t->begun ? ",\n" : "[\n");
	t->begun = true;
	loop_kick(t->loop, &t->kick);
	struct json_out w = json_out(&t->out);
	json_open(&w, '{');
	json_kcstr(&w, "ph", phase);
	json_kcstr(&w, "name", name);
	json_ki64(&w, "pid", pid);
	json_ki64(&w, "tid", tid);
	json_ki64(&w, "ts", (int64_t)((now_ns() - t->started_ns) / 1000));
	return w;
}

static void put_args(struct json_out *w, const char *key, struct str text)
{
	json_key(w, "args");
	json_open(w, '{');
	if (text.n)
		json_kstr(w, key, utf8_cut(text, TEXT_LIMIT));
	json_close(w);
}

void trace_name(struct trace *t, const char *what, unsigned pid, unsigned tid, const char *name)
{
	struct json_out w = begin(t, "M", what, pid, tid);

	put_args(&w, "name", str_from(name));
	json_close(&w);
}

void trace_order(struct trace *t, unsigned pid, unsigned tid)
{
	struct json_out w = begin(t, "M", "thread_sort_index", pid, tid);

	json_key(&w, "args");
	json_open(&w, '{');
	json_ki64(&w, "sort_index", tid);
	json_close(&w);
	json_close(&w);
}

void trace_begin(struct trace *t, const struct track *k, unsigned lane, const char *category, const char *name,
		 struct str text)
{
	struct json_out w = begin(t, "B", name, k->pid, track_tid(k, lane));

	json_kcstr(&w, "cat", category);
	put_args(&w, "text", text);
	json_close(&w);
}

void trace_end(struct trace *t, const struct track *k, unsigned lane, const char *state)
{
	struct json_out w = begin(t, "E", "", k->pid, track_tid(k, lane));

	put_args(&w, "end", str_from(state));
	json_close(&w);
}

void trace_instant(struct trace *t, const struct track *k, const char *name, const struct event *event)
{
	AUTO_BUF struct buf title = { 0 };

	buf_addf(&title, "%s%s%s", name, event->name ? " " : "", event->name ? event->name : "");
	struct json_out w = begin(t, "i", title.p, k->pid, track_tid(k, 0));
	json_kcstr(&w, "cat", "note");
	json_kcstr(&w, "s", "t");
	put_args(&w, "text", event->text);
	json_close(&w);
}

void trace_count(struct trace *t, unsigned pid, unsigned alive)
{
	struct json_out w = begin(t, "C", "agents alive", pid, 0);

	json_key(&w, "args");
	json_open(&w, '{');
	json_ki64(&w, "alive", alive);
	json_close(&w);
	json_close(&w);
}

static void put_flow(struct trace *t, const char *phase, const struct track *k)
{
	struct json_out w = begin(t, phase, "starts", k->pid, track_tid(k, 0));

	json_kcstr(&w, "cat", "agent");
	json_ki64(&w, "id", t->flows);
	if (phase[0] == 'f')
		json_kcstr(&w, "bp", "e"); /* binds to the slice around it, not to the next one */
	json_close(&w);
}

void trace_flow(struct trace *t, const struct track *from, const struct track *to)
{
	t->flows++;
	put_flow(t, "s", from);
	put_flow(t, "f", to);
}
